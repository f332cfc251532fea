"""Programs described from `jax.ShapeDtypeStruct` in place of arrays, and keywords that are the function's own."""

import jax
import jax.numpy as jnp
import pytest

from jaxguide.debug import find_nan
from jaxguide.tracing import draw_program, program, show_lines, side_effects

HELPERS = [program, draw_program, show_lines, side_effects]
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


@pytest.mark.parametrize("helper", [program, draw_program])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["plain", "jit"])
def test_a_value_that_is_needed_of_a_shape_is_refused_in_one_sentence(helper, wrap):
    with pytest.raises(TypeError) as caught:
        helper(wrap(absolute), X)
    assert str(caught.value) == (
        f"`{helper.__name__}` was given a `jax.ShapeDtypeStruct`, which has no values, and Python needs the value of "
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
