"""Programs as data: primitives, outputs, constants and matrix products of a jaxpr."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxguide.interpret import Observer, run
from jaxguide.staging import stage
from jaxguide.tracing import Output, Program, program


def mlp(params, x):
    for w in params:
        x = jnp.tanh(w @ x)
    return x


def test_calls_are_written_out_where_they_are_called():
    def plain(x):
        return jnp.sin(jnp.sin(x))

    sin = jax.jit(jnp.sin)

    @jax.custom_jvp
    def custom(x):
        return jnp.sin(x)

    custom.defjvps(lambda t, out, x: t * jnp.cos(x))
    expected = program(plain, 1.0)
    assert expected.primitives == {"sin": 2}
    assert expected.equations == 2
    assert program(lambda x: sin(sin(x)), 1.0) == expected
    assert program(jax.jit(plain), 1.0) == expected
    assert program(jax.checkpoint(plain), 1.0) == expected
    assert program(lambda x: custom(custom(x)), 1.0) == expected


def test_loops_count_once_with_their_bodies():
    def loop(x):
        return lax.scan(lambda c, y: (jnp.sin(c) + y, None), x, jnp.zeros(7))[0]

    assert program(loop, jnp.float32(1)).primitives == {"broadcast_in_dim": 1, "scan": 1, "sin": 1, "add": 1}


def test_a_python_loop_grows_and_vmap_does_not():
    def unrolled(xs):
        return jnp.stack([jnp.sin(x) for x in xs])

    small, large = (program(unrolled, jnp.ones(n)).equations for n in (3, 6))
    assert large > small
    small, large = (program(jax.vmap(jnp.sin), jnp.ones(n)).equations for n in (3, 6))
    assert large == small


def test_matmul_flops_go_through_loops_and_batches():
    w, x = jnp.ones((3, 4)), jnp.ones((4, 5))
    assert program(jnp.matmul, w, x).matmul_flops == 2 * 3 * 4 * 5
    assert program(jax.vmap(lambda row: w @ row), jnp.ones((6, 4))).matmul_flops == 2 * 3 * 4 * 6

    def steps(v):
        return lax.scan(lambda c, _: (jnp.ones((4, 4)) @ c, None), v, None, length=10)[0]

    assert program(jax.jit(steps), jnp.ones(4)).matmul_flops == 10 * 2 * 4 * 4
    assert program(jax.grad(lambda v: steps(v).sum()), jnp.ones(4)).matmul_flops >= 2 * 10 * 2 * 4 * 4

    def either(p, v):
        return lax.cond(p, lambda v: w @ v, lambda v: w @ (x @ (x.T @ v)), v)

    assert program(either, True, jnp.ones(4)).matmul_flops == 2 * (5 * 4 + 4 * 5 + 3 * 4)


def test_outputs_tell_shape_dtype_and_weak_type():
    seen = program(lambda x, k: {"a": x.sum(), "b": (k, 1.0, x > 0)}, jnp.ones((2, 3)), jax.random.key(0))
    assert seen.outputs == [
        Output((), "float32", False),
        Output((), "key<fry>", False),
        Output((), "float32", True),
        Output((2, 3), "bool", False),
    ]


def test_the_largest_constant_is_seen_inside_jit():
    table = np.ones((50, 20), np.float32)
    assert program(lambda x: x + 1, 1.0).largest_constant_bytes == 0
    assert program(jax.jit(lambda x: x * table), 1.0).largest_constant_bytes == 4000


def test_ints_are_static_and_python_branches_on_values_are_followed():
    assert program(lambda x, n: jnp.zeros(n) + x, 1.0, 4).outputs == [Output((4,), "float32", False)]

    def branch(x):
        return jnp.sin(x) if x > 0 else jnp.cos(x)

    assert program(branch, 2.0).primitives == {"sin": 1}


def test_a_function_that_cannot_be_traced_raises_its_own_error():
    def fn(x):
        return jnp.zeros(3) + jnp.zeros(4)

    with pytest.raises(TypeError, match="shapes"):
        program(fn, jnp.ones(2))


def test_a_program_crosses_as_plain_data():
    seen = program(mlp, [jnp.ones((3, 2)), jnp.ones((1, 3))], jnp.ones(2))
    assert Program.from_plain(json.loads(json.dumps(seen.to_plain()))) == seen


# The interpreter that key use and programs share.


class Lazy(Observer):
    lazy = True

    def watches(self, eqn):
        return eqn.primitive.name in ("scan", "while", "cond", "jit", "sin")


def through_everything(x, xs):
    @jax.custom_jvp
    def cube(v):
        return v**3

    cube.defjvps(lambda t, out, v: 3 * t * v**2)
    carry, ys = lax.scan(lambda c, y: (c + jnp.sin(y), (c, y * 2)), x, xs, reverse=True)
    i, total = lax.while_loop(lambda c: c[1] < 20, lambda c: (c[0] + 1, c[1] + cube(c[0])), (1.0, carry))
    chosen = lax.switch(jnp.int32(1), [jnp.sin, jnp.cos, jnp.tanh], total)
    rows = jax.vmap(lambda r: lax.while_loop(lambda c: c < 3, lambda c: c * 1.5, r))(xs)
    return jax.jit(jnp.tanh)(i), ys, chosen, jax.checkpoint(jnp.sin)(rows), jax.grad(cube)(x), xs.astype(jnp.bfloat16)


@pytest.mark.parametrize("observer", [Observer, Lazy])
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
def test_the_interpreter_gives_what_jax_gives(observer, transform):
    args = (jnp.float32(0.5), jnp.linspace(0.2, 2.0, 4))
    staged = stage(transform(through_everything), args, {})
    expected = jax.tree.leaves(through_everything(*args))
    for got, want in zip(run(staged.jaxpr, staged.arguments, observer()), expected, strict=True):
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(np.asarray(got, np.float32), np.asarray(want, np.float32), rtol=1e-6)


def test_the_interpreter_carries_keys_and_empty_loops():
    def fn(key):
        key, subs = lax.scan(lambda k, _: tuple(jax.random.split(k)), key, None, length=3)
        return lax.scan(lambda c, k: (c, k), key, subs[:0])[0], subs

    key = jax.random.key(3)
    last, subs = run(jax.make_jaxpr(fn)(key), [key], Observer())
    want_last, want_subs = fn(key)
    assert jnp.array_equal(jax.random.key_data(last), jax.random.key_data(want_last))
    assert jnp.array_equal(jax.random.key_data(subs), jax.random.key_data(want_subs))


def test_an_observer_hears_each_equation_with_its_values():
    heard = []

    class Hearing(Observer):
        def after(self, step, outputs):
            heard.append((step.eqn.primitive.name, step.scope.iteration, [np.shape(x) for x in step.inputs]))

    staged = stage(lambda x: lax.fori_loop(0, 2, lambda i, c: jnp.sin(c), x), (1.0,), {})
    run(staged.jaxpr, staged.arguments, Hearing())
    assert [(name, iteration) for name, iteration, _ in heard if name == "sin"] == [("sin", 0), ("sin", 1)]
    assert heard[-1][0] in ("while", "scan")
