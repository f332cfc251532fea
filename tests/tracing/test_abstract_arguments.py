"""Test what the tracing helpers accept and reject: shapes without values, string arrays, keywords, results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide.callbacks import callback_timeline
from jaxguide.debug import find_nan
from jaxguide.tracing import program, show_lines, side_effects

HELPERS = [program, show_lines, side_effects]
X = jax.ShapeDtypeStruct((2, 3), "float32")


def affine(x, n, *, params):
    return (x * n + params["b"]).sum()


def absolute(x):
    return x if x.sum() > 0 else -x


@pytest.mark.parametrize("helper", HELPERS)
@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: jax.jit(f, static_argnums=1)], ids=["plain", "jit"])
def test_a_shape_and_a_dtype_tell_as_much_as_an_array(helper, wrap):
    def shown(x):
        return str(helper(wrap(affine), x, 2, params={"b": x}))

    assert shown(X) == shown(jnp.ones(X.shape, X.dtype))


def test_keys_and_weak_types_are_described_too():
    key = jax.eval_shape(lambda: jax.random.key(0))
    assert program(jax.random.normal, key).outputs[0].shape == ()
    weak = jax.ShapeDtypeStruct((), "float32", weak_type=True)
    assert [program(lambda x: 2 * x, x).outputs[0].weak_type for x in (weak, X)] == [True, False]


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["plain", "jit"])
def test_a_value_that_is_needed_of_a_shape_is_refused_in_one_sentence(wrap):
    with pytest.raises(TypeError) as caught:
        program(wrap(absolute), X)
    assert str(caught.value) == (
        "`program` got a `jax.ShapeDtypeStruct`, which has no values, but Python needs the value of "
        "an argument of `absolute` (TracerBoolConversionError): pass arrays, such as `jnp.ones`."
    )


def test_show_lines_marks_the_line_that_needs_a_value():
    (raised,) = [row for row in show_lines(absolute, X).rows if row.state == "raised"]
    assert raised.source[0].strip().startswith("return x if x.sum() > 0")


@pytest.mark.parametrize("helper", [*HELPERS, find_nan])
@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: jax.jit(f, static_argnames="fn")], ids=["plain", "jit"])
def test_a_keyword_named_fn_is_the_functions_own(helper, wrap):
    def power(x, fn):
        return x**fn

    assert str(helper(wrap(power), 2.0, fn=3)) == str(helper(wrap(power), 2.0, 3))


def named(x):
    return {"y": x, "name": "y"}


def named_by_value(x):
    return named(x) if x > 0 else x


@pytest.mark.parametrize("fn", [named, named_by_value])
def test_a_result_that_is_no_array_is_refused_in_one_sentence(fn):
    with pytest.raises(TypeError) as caught:
        program(fn, 1.0)
    assert str(caught.value) == (
        f"`program` needs a function that returns arrays, numbers or a pytree of them, but `{fn.__name__}` "
        "returned the str 'y': return only values that JAX can compute."
    )


@pytest.mark.parametrize("helper", HELPERS)
def test_an_array_of_strings_stays_as_it_is(helper):
    def first_letters(x, names):
        return x * len([name[0] for name in names])

    assert str(helper(first_letters, 1.0, np.array(["ada", "alan"])))


def test_numbers_that_are_returned_are_written_as_numbers():
    assert str(program(lambda x: (2, x.shape[0], True), jnp.ones(3))).splitlines()[2:] == [
        "  return [0]: 2     int32[]",
        "  return [1]: 3     int32[]",
        "  return [2]: True  bool[]",
    ]


@pytest.mark.parametrize("helper", [*HELPERS, callback_timeline])
@pytest.mark.parametrize("jitted", [True, False])
def test_floats_and_functions_of_a_model_stay_static_as_in_filter_jit(helper, jitted):
    eqx, optax = pytest.importorskip("equinox"), pytest.importorskip("optax")
    model = eqx.nn.Sequential([eqx.nn.MLP(3, 1, 4, 1, key=jax.random.key(0)), eqx.nn.Dropout(0.5)])
    optimizer = optax.adam(1e-3)

    def step(model, state, x, key):
        grads = eqx.filter_grad(lambda model: model(x, key=key).sum())(model)
        updates, state = optimizer.update(grads, state)
        return eqx.apply_updates(model, updates), state

    state = optimizer.init(eqx.filter(model, eqx.is_array))
    shown = str(helper(eqx.filter_jit(step) if jitted else step, model, state, jnp.ones(3), jax.random.key(1)))
    assert "step" in shown
    assert "Error" not in shown


def test_floats_for_a_function_of_equinox_stay_static():
    eqx = pytest.importorskip("equinox")
    seen = program(eqx.filter_jit(lambda x, options: x if options["rate"] > 0 else -x), jnp.ones(3), {"rate": 0.5})
    assert (seen.primitives, seen.needs_values) == ({}, False)


def test_types_have_the_axes_of_an_explicit_mesh():
    mesh = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Explicit,))
    x = jax.device_put(jnp.ones((8, 4)), jax.NamedSharding(mesh, jax.P("d")))
    seen = program(lambda x: jnp.sin(x) * 2, x)
    assert str(seen).count("float32[8@d,4]") == 4
    assert str(jax.make_jaxpr(jnp.sin)(x).in_avals[0]) == "float32[8@d,4]"
    assert "x  float32[8@d,4]" in str(show_lines(lambda x: jnp.sin(x), x))
