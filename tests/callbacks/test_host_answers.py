"""Test `host_function` with wrong `out` functions, wrong derivatives, booleans, and `verify` in a trace."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from bessel import bessel_jv

from jaxguide.callbacks import host_function, io_function

X = np.linspace(0.5, 2.0, 3, dtype=np.float32)
STRUCT = jax.ShapeDtypeStruct


def twice(x):
    return 2 * x


def message_of(call, *args, kind=TypeError):
    """Return the one-line message of the error that a call raises."""
    with pytest.raises(kind) as caught:
        call(*args)
    assert "\n" not in str(caught.value)
    return str(caught.value)


WRONG_OUT = {
    "uses values": (
        lambda x: x.sum(),
        "`out` of `twice` raised AttributeError: 'ShapeDtypeStruct' object has no attribute 'sum' "
        "(test_host_answers.py, line ",
    ),
    "takes another number": (lambda a, b: a, "missing 1 required positional argument: 'b': it is called with a"),
    "is a builtin": (max, "`out` of `twice` raised TypeError: "),
    "returns None": (lambda x: None, "`out` of `twice` contains None: pass a `jax.ShapeDtypeStruct(shape"),
    "returns a number": (lambda x: 3, "contains the int 3: pass"),
    "returns text": (lambda x: ["abc"], "contains the str 'abc': pass"),
    "returns a function": (lambda x: jnp.sin, "contains the function `sin`: pass"),
    "is a number": (3, "`out` of `twice` contains the int 3: pass"),
    "contains text": ({"y": None, "z": np.array(["a"])}, "`out` of `twice` contains "),
    "returns a key": (lambda x: jax.random.key(0), " key<fry>[]: pass"),
}


class TestOut:
    @pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
    @pytest.mark.parametrize(("out", "message"), WRONG_OUT.values(), ids=WRONG_OUT)
    def test_a_wrong_function_is_one_sentence(self, wrap, out, message):
        assert message in message_of(wrap(host_function(twice, out=out)), X)
        assert message in message_of(io_function(twice, out=out), X)
        assert message in message_of(host_function(twice, elementwise=True, out=out), X)

    def test_the_error_of_the_function_is_the_cause_and_its_way_of_being_called_is_told(self):
        with pytest.raises(
            TypeError, match=r"`jax.ShapeDtypeStruct` for each array \(in this call float32\[3\]\)"
        ) as caught:
            host_function(twice, out=lambda x: 1 / 0)(X)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)


class TestDerivative:
    @pytest.mark.parametrize(
        ("rule", "got"),
        [
            (lambda dx, y, x: dx.sum(), "float32[]"),
            (lambda dx, y, x: dx[None], "float32[1,3]"),
        ],
    )
    @pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
    def test_a_linear_map_of_another_shape_than_the_result_is_refused(self, wrap, rule, got):
        f = host_function(twice, out=lambda x: x, derivative=rule)
        for ask in (jax.jacfwd(f), jax.jacrev(f), lambda x: jax.jvp(f, (x,), (x,))):
            assert message_of(wrap(ask), X) == (
                f"The derivative of `twice` with respect to `x` returned {got}, but float32[3] was expected, like the "
                "result."
            )


class TestBooleansAndShortIntegers:
    """For one-byte dtypes, NumPy computes in float16 and SciPy in float32: the dtype or precision would be wrong."""

    @pytest.mark.parametrize("fn", [np.sin, scipy.special.ndtr], ids=["NumPy", "SciPy"])
    @pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int32])
    @pytest.mark.parametrize("transform", [lambda f: f, jax.jit, jax.vmap])
    def test_they_give_the_promised_float_in_full_precision(self, fn, dtype, transform):
        f = transform(host_function(fn, elementwise=True))
        x = np.array([0, 1, 1], dtype)
        out = f(x)
        assert out.dtype == jnp.float32
        np.testing.assert_allclose(out, fn(x.astype(float)), rtol=1e-7)

    def test_they_stay_as_they_are_beside_floats_and_where_out_is_given(self):
        seen = []

        def choose(flag, x):
            seen.append(flag.dtype.name)
            return np.where(~flag, x, -x)

        flag = np.array([True, False, True])
        np.testing.assert_allclose(host_function(choose, elementwise=True)(flag, X), np.where(~flag, X, -X))
        invert = host_function(lambda flag: ~flag, elementwise=True, out=bool)
        assert list(invert(flag)) == [False, True, False]
        assert seen == ["bool"]


class TestVerify:
    def test_arguments_may_be_named(self):
        assert str(bessel_jv.verify(z=2.0, v=1)) == str(bessel_jv.verify(1, 2.0))

    @pytest.mark.parametrize("transform", [jax.jit, jax.vmap, jax.grad])
    def test_in_a_trace_it_says_where_to_call_it(self, transform):
        f = host_function(np.sin, elementwise=True, derivative=jnp.cos)
        x = X[0] if transform is jax.grad else X
        for given in (lambda x: x, lambda x: 1.0):
            message = message_of(transform(lambda x, given=given: f.verify(given(x)) and x), x, kind=RuntimeError)
            assert message == (
                "`sin.verify` was called while JAX is tracing or transforming a function, when arrays have no values "
                "yet: call it outside `jax.jit`, `jax.vmap` and `jax.grad`, on the whole function."
            )
