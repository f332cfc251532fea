"""Test programs as data: the primitives, outputs, constants and matrix products of a jaxpr."""

import functools
import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxguide.jaxpr.interpret import Observer, run
from jaxguide.jaxpr.stage import stage
from jaxguide.tracing import (
    Output,
    Program,
    program,
)


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


def test_the_body_of_a_scan_counts_as_often_as_it_is_unrolled():
    def loop(x, unroll):
        return lax.scan(lambda c, _: (jnp.sin(c), None), x, length=6, unroll=unroll)[0]

    sines = [program(loop, jnp.float32(1), unroll).primitives["sin"] for unroll in (1, 2, 6, True, 99)]
    assert sines == [1, 2, 6, 6, 6]


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
    again = Program.from_plain(json.loads(json.dumps(seen.to_plain())))
    assert again == seen
    assert str(again) == "mlp: 2 dot_general, 2 tanh"


def helper(x):
    return jnp.sin(x)  # in helper


def uses_helper(x):
    y = helper(x)
    picked = jnp.where(y > 0, y, 0.0)  # library code
    return picked * jnp.ones(3)  # after it


def line_number(words):
    with open(__file__) as file:
        (number,) = [i for i, line in enumerate(file, 1) if line.rstrip().endswith(words)]
    return number


def test_each_equation_has_its_line():
    def lines(text):
        return [(name, int(number)) for name, number in re.findall(r"= (\w+) .* line (\d+)", text)]

    first, library = line_number("# in helper"), line_number("# library code")
    assert lines(str(program(uses_helper, 1.0)))[:3] == [("sin", first), ("gt", library), ("select_n", library)]
    # If another line reuses the cached inner trace, its equations belong to that line.
    again = lines(str(program(lambda y: jnp.where(y > 0, y, 0.0), 1.0)))
    assert {number for _name, number in again} == {line_number("jnp.where(y > 0, y, 0.0), 1.0)))")}


TABLE = jnp.arange(10.0)
WEIGHTS = {"w": np.linspace(0, 1, 10)}


def uses_constants(x):
    def inner(y):
        return y * WEIGHTS["w"]  # the weights

    table = jnp.sin(TABLE)  # the table
    return jax.jit(inner)(x) + table, x * np.ones(10)


def test_constants_have_their_names_and_lines():
    seen = program(uses_constants, 1.0)
    named = [(one.name, one.line.number) for one in seen.constants]
    assert named[:2] == [("TABLE", line_number("# the table")), ("WEIGHTS['w']", line_number("# the weights"))]
    assert named[2:] == [("", line_number("np.ones(10)"))]
    assert seen.constants[0].size_bytes == 40
    assert "TABLE, a constant  float32[10]" in re.sub(" {2,}", "  ", str(seen))
    assert Program.from_plain(seen.to_plain()).constants == seen.constants


@pytest.mark.parametrize(
    ("fn", "args", "message"),
    [
        (3, (), "`program` needs a function, but got the int 3"),
        (
            mlp,
            (1.0,),
            r"`program` cannot call `mlp\(params, x\)` with 1 argument: missing a required argument: 'x'",
        ),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(fn, args, message):
    with pytest.raises(TypeError, match=message):
        program(fn, *args)


# The interpreter shared by key use and programs.


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


def test_an_argument_whose_value_is_needed_is_no_constant():
    weights, x = jnp.ones((3, 2)), jnp.ones((4, 3))
    seen = program(lambda x, scale: (x @ weights) * 2 if scale > 1 else x @ weights, x, 1.0)
    assert [constant.shape for constant in seen.constants] == [(3, 2)]


def test_a_program_for_given_values_says_so():
    def relu(x):
        return x if x > 0 else 0.0

    assert "(Python needs these values: jax.jit fails)" in str(program(relu, 1.0))
    assert "values" not in str(program(jnp.sin, 1.0))


def test_results_are_counted_by_their_type() -> None:
    half = jnp.ones(3, jnp.bfloat16)
    assert program(lambda x: 0.5 * x + 1, half).results == {"bfloat16[3]": 2}
    assert "float32[3]" in program(lambda x: (np.float32(0.5) * x).astype(x.dtype), half).results


def test_what_is_computed_and_thrown_away_is_unused() -> None:
    def wasteful(x: jax.Array) -> jax.Array:
        jnp.cos(x) + 1
        jax.jit(lambda v: jnp.tan(v))(x)
        return jnp.sin(x)

    assert program(wasteful, 1.0).unused == {"cos": 1, "add": 1, "tan": 1}
    assert program(jax.jit(wasteful), 1.0).unused == {"cos": 1, "add": 1, "tan": 1}
    assert program(lambda x: jax.debug.print("{}", x), 1.0).unused == {}


def test_primitives_outside_of_the_users_jitted_functions() -> None:
    product = jax.jit(lambda x: 2 * x)
    assert program(lambda x: product(x) + 1, 1.0).unjitted == {"add": 1}
    assert program(jax.jit(lambda x: product(x) + 1), 1.0).unjitted == {}
    # A function of JAX's that is jitted itself is not the user's.
    assert "conv_general_dilated" in program(lambda x: jnp.convolve(x, x), jnp.ones(3)).unjitted


def test_primitives_that_the_user_calls_directly() -> None:
    def by_hand(x: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(x[None, None], x[None, None], (1,), [(2, 2)])[0, 0]

    one = jnp.ones(3)
    assert program(by_hand, one).direct["conv_general_dilated"] == 1
    assert program(jax.jit(by_hand), one).direct["conv_general_dilated"] == 1
    assert "conv_general_dilated" not in program(lambda x: jnp.convolve(x, x), one).direct


def test_effects_say_whether_prints_keep_their_order() -> None:
    for ordered, wanted in ((False, ["Debug"]), (True, ["OrderedDebug"])):
        show = functools.partial(jax.debug.print, "{}", ordered=ordered)
        assert program(jax.jit(show), 1.0).effects == wanted
    assert program(jnp.sin, 1.0).effects == []
