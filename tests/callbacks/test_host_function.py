"""Test `host_function`: values, transformations, derivatives, result types, errors, `verify`, and programs."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo import normalised_hlo
from jax import lax
from jax.test_util import check_grads

from jaxguide import compat
from jaxguide.callbacks import DerivativeError, HostFunctionError, host_function

VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")
X = np.linspace(0.5, 2.0, 3, dtype=np.float32)


def like_first(*args):
    return args[0]


sin = host_function(np.sin, elementwise=True, derivative=lambda x: cos(x))
cos = host_function(np.cos, elementwise=True, derivative=lambda x: -sin(x))
power = host_function(
    np.power, elementwise=True, derivative=(lambda x, y: y * power(x, y - 1), lambda x, y: power(x, y) * jnp.log(x))
)
inv = host_function(np.linalg.inv, out=like_first, derivative=lambda da, inverse, a: -inverse @ da @ inverse)


class TestValues:
    @pytest.mark.parametrize("transformed", [sin, jax.jit(sin), jax.vmap(sin), jax.jit(jax.vmap(sin))])
    def test_numpy_values_come_back_in_float32(self, transformed):
        out = transformed(X)
        assert out.dtype == jnp.float32
        np.testing.assert_allclose(out, np.sin(X), rtol=1e-6)

    def test_it_works_in_scan_while_and_cond(self):
        np.testing.assert_allclose(lax.scan(lambda c, x: (c, sin(x)), None, X)[1], np.sin(X), rtol=1e-6)
        twice = lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, sin(s[1])), (0, jnp.float32(1)))[1]
        np.testing.assert_allclose(twice, np.sin(np.sin(1)), rtol=1e-6)
        np.testing.assert_allclose(lax.cond(True, sin, cos, 1.0), np.sin(1), rtol=1e-6)

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ((2, 3), "float32[]"),
            ((np.ones((2, 1), np.float32), np.arange(3)), "float32[2,3]"),
            ((jnp.ones(2, jnp.bfloat16), 2), "bfloat16[2]"),
            ((jnp.ones(2, jnp.float16), 2), "float16[2]"),
            ((jnp.ones(2, jnp.complex64), 2.0), "complex64[2]"),
        ],
    )
    def test_shape_and_dtype_of_elementwise_functions_follow_from_the_arguments(self, arguments, expected):
        shape = jax.eval_shape(power, *arguments)
        out = power(*arguments)
        assert f"{out.dtype}[{','.join(map(str, out.shape))}]" == expected
        assert (shape.shape, shape.dtype) == (out.shape, out.dtype)

    def test_float64_results_come_back_where_64_bit_types_are_on(self):
        with compat.float64():
            out = sin(np.float64(1))
        assert out.dtype == np.float64
        assert float(out) == math.sin(1)

    def test_out_may_be_a_dtype_or_several_for_elementwise_functions(self):
        assert host_function(np.isnan, elementwise=True, out=bool)(X).dtype == bool
        fraction, whole = jax.jit(host_function(np.modf, elementwise=True, out=(jnp.float32, "float32")))(X)
        np.testing.assert_allclose(fraction + whole, X)

    @pytest.mark.parametrize(
        "out", [jax.ShapeDtypeStruct((2,), jnp.float32), np.zeros(2, np.float32), lambda a: a[0], lambda a: a[1]]
    )
    def test_out_may_be_a_struct_an_array_or_a_function_of_the_arguments(self, out):
        pair = host_function(lambda pair: pair[0] + pair[1], out=out)
        np.testing.assert_allclose(pair((jnp.ones(2), jnp.ones(2))), [2, 2])

    def test_pytrees_come_back_and_namedtuples_count_as_tuples(self):
        eigh = host_function(np.linalg.eigh, out=lambda a: (jax.ShapeDtypeStruct(a.shape[:1], a.dtype), a))
        values, vectors = jax.jit(eigh)(jnp.diag(jnp.array([2.0, 1.0])))
        np.testing.assert_allclose(values, [1, 2])
        assert vectors.shape == (2, 2)

    def test_the_host_gets_numpy_arrays_once_for_each_call(self):
        seen = []
        note = host_function(lambda x: seen.append(x) or x, out=like_first)
        note(X), jax.jit(note)(X)
        assert [type(x) for x in seen] == [np.ndarray, np.ndarray]

    def test_names_of_arguments_may_be_given(self):
        minus = host_function(lambda a, b=1.0: a - b, elementwise=True)
        assert float(minus(b=2.0, a=5.0)) == 3
        assert float(minus(5.0)) == 4

    def test_eager_calls_of_one_signature_compile_once(self):
        fresh = host_function(np.tanh, elementwise=True)
        compiled = []

        def listen(event, duration, **details):
            if event.endswith("backend_compile_duration"):
                compiled.append(details)

        jax.monitoring.register_event_duration_secs_listener(listen)
        try:
            fresh(X), fresh(2 * X), fresh(3 * X)
        finally:
            jax.monitoring.unregister_event_duration_listener(listen)
        assert len(compiled) == 1


class TestVmap:
    @pytest.mark.parametrize("method", VMAP_METHODS)
    def test_every_method_gives_the_same_rows(self, method):
        f = host_function(np.add, elementwise=True, vmap_method=method)
        rows, column = np.ones((4, 3), np.float32), np.arange(4, dtype=np.float32)
        np.testing.assert_allclose(jax.vmap(f)(rows, rows), 2 * rows)
        np.testing.assert_allclose(jax.jit(jax.vmap(f, (0, None)))(rows, rows[0]), 2 * rows)
        if method != "legacy_vectorized":  # it passes arguments on unchanged, which is why JAX replaced it
            np.testing.assert_allclose(jax.vmap(f)(rows, column), rows + column[:, None])

    @pytest.mark.parametrize("method", [None, "broadcast_all", "sequential"])
    def test_ranks_are_aligned_where_rows_have_different_ranks(self, method):
        f = host_function(np.subtract, elementwise=True, vmap_method=method)
        a, b = np.arange(3.0, dtype=np.float32), np.arange(15.0, dtype=np.float32).reshape(3, 5)
        np.testing.assert_allclose(jax.vmap(f)(a, b), a[:, None] - b)
        np.testing.assert_allclose(jax.vmap(f, (0, None))(a, b[0]), a[:, None] - b[0])
        inner = jax.vmap(f, (None, 0))
        np.testing.assert_allclose(jax.vmap(inner, (0, None))(a, b), a[:, None, None] - b)
        np.testing.assert_allclose(jax.vmap(jax.vmap(f, (0, None)), (None, 0))(a, b), a[:, None] - b[:, None])

    def test_an_argument_that_is_not_used_may_be_the_mapped_one(self):
        f = host_function(lambda v, z: np.sin(z), elementwise=True)
        np.testing.assert_allclose(jax.vmap(f, (0, None))(np.arange(2), X), np.sin([X, X]), rtol=1e-6)

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [({"elementwise": True}, [(4, 3)]), ({"out": like_first}, [(3,)] * 4)],
    )
    def test_by_default_elementwise_functions_are_called_once_and_others_for_each_row(self, arguments, expected):
        shapes = []
        f = host_function(lambda x: shapes.append(x.shape) or x, **arguments)
        jax.jit(jax.vmap(f))(np.ones((4, 3), np.float32))
        assert shapes == expected


class TestDerivatives:
    @pytest.mark.parametrize("modes", [["fwd"], ["rev"], ["fwd", "rev"]])
    def test_derivatives_of_any_order_are_right_in_both_modes(self, modes):
        with compat.float64():
            check_grads(sin, (X.astype(float),), order=3, modes=modes, atol=1e-4, rtol=1e-4)
            check_grads(lambda a: inv(a + 3 * jnp.eye(2)), (np.ones((2, 2)),), 2, modes=modes, atol=1e-4, rtol=1e-4)

    @pytest.mark.parametrize("method", VMAP_METHODS)
    def test_every_vmap_method_has_gradients(self, method):
        f = host_function(np.exp, elementwise=True, vmap_method=method, derivative=lambda x: f(x))
        np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(f)))(X), np.exp(X), rtol=1e-6)
        np.testing.assert_allclose(jax.jit(jax.grad(lambda x: jax.vmap(f)(x).sum()))(X), np.exp(X), rtol=1e-6)

    def test_each_argument_has_its_own_and_shapes_broadcast(self):
        x, y = X[:, None], np.array([1.0, 2.0], np.float32)
        for i in (0, 1):
            got = jax.grad(lambda x, y: power(x, y).sum(), i)(x, y)
            np.testing.assert_allclose(got, jax.grad(lambda x, y: jnp.power(x, y).sum(), i)(x, y), rtol=1e-5)

    def test_a_constant_partial_fills_the_shape_of_the_result(self):
        add = host_function(np.add, elementwise=True, derivative=(lambda a, b: 1.0, lambda a, b: 1.0))
        np.testing.assert_allclose(jax.grad(lambda a: add(a, jnp.ones((2, 3))).sum())(jnp.ones(3)), 2 * np.ones(3))

    def test_a_derivative_in_another_precision_is_cast(self):
        f = host_function(np.sin, elementwise=True, derivative=lambda x: jnp.cos(x.astype(jnp.float32)))
        out = jax.grad(lambda x: f(x).sum())(jnp.ones(2, jnp.float16))
        assert out.dtype == jnp.float16
        np.testing.assert_allclose(out, np.cos([1, 1]), rtol=1e-3)

    def test_pytrees_of_arguments_and_results_have_derivatives(self):
        f = host_function(
            lambda p, n: {"y": p["w"] * p["x"], "n": n},
            out=lambda p, n: {"y": p["w"], "n": n},
            derivative={"p": lambda dp, out, p, n: {"y": dp["w"] * p["x"] + p["w"] * dp["x"], "n": 0}},
        )
        point = {"w": jnp.ones(2), "x": jnp.full(2, 3.0)}
        got = jax.jit(jax.grad(lambda p: f(p, 4)["y"].sum()))(point)
        np.testing.assert_allclose(got["w"], [3, 3])
        got = jax.grad(lambda w: f({**point, "w": w}, 4)["y"].sum())(point["w"])
        np.testing.assert_allclose(got, [3, 3])

    def test_results_without_derivative_by_nature_need_none(self):
        is_large = host_function(lambda x: x > 1, elementwise=True, out=bool)
        np.testing.assert_allclose(jax.grad(lambda x: jnp.where(is_large(x), x**2, 0).sum())(X), [0, 2.5, 4])

    def test_complex_functions_are_differentiated_holomorphically(self):
        exp = host_function(np.exp, elementwise=True, derivative=jnp.exp)
        z = 1 + 2j
        np.testing.assert_allclose(jax.grad(exp, holomorphic=True)(z), np.exp(z), rtol=1e-6)

    def test_a_rule_of_ones_own_can_be_given_to_a_ufunc_without_derivative(self):
        sine = jax.custom_jvp(host_function(np.sin, elementwise=True))
        sine.defjvp(lambda primals, tangents: (sine(*primals), cos(*primals) * tangents[0]))
        np.testing.assert_allclose(jax.jvp(sine, (X,), (jnp.ones(3),))[1], np.cos(X), rtol=1e-6)

    def test_an_argument_without_derivative_is_named_when_asked_for(self):
        scaled = host_function(lambda x, scale: x * scale, elementwise=True, derivative={"x": lambda x, scale: scale})
        assert float(jax.grad(scaled)(3.0, 2.0)) == 2
        for ask in (
            jax.grad(scaled, 1),
            jax.jit(jax.jacfwd(scaled, 1)),
            jax.vmap(jax.grad(scaled, 1), (None, None), axis_size=2),
            lambda x, s: jax.jvp(scaled, (x, s), (0.0, 1.0)),
        ):
            with pytest.raises(TypeError) as caught:
                ask(3.0, 2.0)
            assert str(caught.value) == (
                "`<lambda>` has no derivative with respect to `scale`: pass one to `host_function(..., "
                "derivative=...)`, choose other `argnums`, or hold `scale` constant with `jax.lax.stop_gradient`."
            )
        assert float(jax.grad(lambda s: scaled(3.0, lax.stop_gradient(s)))(2.0)) == 0

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (None, "returned None"),
            (np.ones(2), r"returned float32\[2\]"),
            (1j, r"returned complex64\[\]"),
            ((1.0, 1.0), "returned a tuple of 2"),
            ("two", "returned the str 'two'"),
        ],
    )
    def test_a_derivative_of_another_kind_is_refused(self, value, message):
        message = rf"The derivative of `sin` with respect to `x1` {message}, but float32\[\] was expected, like the"
        with pytest.raises(TypeError, match=message):
            jax.grad(host_function(np.sin, elementwise=True, derivative=lambda x: value))(1.0)


def two(order, z):
    return z


class TestMistakes:
    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: host_function(3, elementwise=True), "needs a function, but got the int 3"),
            (lambda: host_function(np.cumsum), "`host_function` cannot know what `cumsum` returns: pass"),
            (
                lambda: host_function(two, elementwise=True, derivative=lambda v, z: 1),
                "is the function `<lambda>`: pass a tuple",
            ),
            (
                lambda: host_function(two, elementwise=True, derivative=(None,)),
                "is a tuple of 1: pass a tuple",
            ),
            (
                lambda: host_function(two, elementwise=True, derivative={"ordr": two}),
                "not an argument of `two(order, z)`",
            ),
            (lambda: host_function(two, elementwise=True, derivative=(None, 3)), "is a tuple of 2: pass"),
            (lambda: host_function(two, elementwise=True, derivative=3), "is the int 3: pass a tuple"),
        ],
    )
    def test_where_it_is_made(self, make, message):
        with pytest.raises((TypeError, ValueError)) as caught:
            make()
        assert message in str(caught.value)

    @pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
    def test_in_the_shapes_of_elementwise_arguments(self, wrap):
        with pytest.raises(TypeError, match=r"called with float32\[3\], float32\[2\], whose shapes do not broadcast"):
            wrap(power)(X, X[:2])

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: host_function(two, elementwise=True)(1), "`two(order, z)` cannot be called so: missing"),
            (lambda: host_function(two, elementwise=True)(1, 2, y=1), "unexpected keyword argument 'y'"),
            (lambda: power(1, 2, out=3), "got an unexpected keyword argument 'out'"),
            (lambda: host_function(two, elementwise=True)([1], 2), "as `order`, but got a list of 1: only arrays are"),
            (lambda: host_function(two, out=like_first)("a", 2), "as `order`, but got the str 'a': only arrays are"),
            (lambda: host_function(lambda *, x: x, out=like_first)(x=1), "Bind argument `x` of `<lambda>` first"),
            (lambda: host_function(two, out=like_first)(jax.random.key(0), 2), "pass `jax.random.key_data(key)`"),
        ],
    )
    def test_in_the_arguments(self, call, message):
        with pytest.raises(TypeError) as caught:
            call()
        assert message in str(caught.value)


def raises(x):
    raise ValueError("negative\norder")


BROKEN = [
    (raises, "`raises` raised ValueError: negative order (test_host_function.py, line "),
    (lambda x: None, "`<lambda>` returned None, but float32[3] was promised. Is a `return` missing?"),
    (lambda x: x[:2], "returned float32[2], but float32[3] was promised. Return an array of the promised shape"),
    (lambda x: x + 1j, "returned complex64[3], but float32[3] was promised. Convert it with `.astype`"),
    (lambda x: "abc", "returned the str 'abc', but float32[3] was promised"),
    (lambda x: (x, x), "returned a tuple of 2, but float32[3] was promised"),
    (lambda x: [1.0, 2.0, 3.0], "returned a list of 3, but float32[3] was promised"),
    (lambda x: {"x": x}, "returned a dict of 1, but float32[3] was promised. Return NumPy arrays"),
]


class TestPromises:
    @pytest.mark.parametrize(("fn", "message"), BROKEN)
    def test_an_eager_call_raises_the_sentence_itself_and_under_jit_it_is_the_last_line(self, fn, message):
        broken = host_function(fn, out=like_first)
        with pytest.raises(HostFunctionError) as caught:
            broken(X)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
        with pytest.raises(HostFunctionError):
            jax.vmap(broken)(X[None])
        with pytest.raises(jax.errors.JaxRuntimeError) as caught:
            jax.jit(broken)(X)
        last = str(caught.value).strip().splitlines()[-1]
        assert "HostFunctionError: " in last
        assert message in last

    @pytest.mark.parametrize("dtype", [float, int, bool, np.float16])
    def test_results_of_the_same_kind_are_converted(self, dtype):
        assert host_function(lambda x: x.astype(dtype), out=jax.ShapeDtypeStruct((3,), float))(X).dtype == jnp.float32
        assert host_function(lambda x: dtype(1), elementwise=True)(2).dtype == jnp.float32

    def test_integers_that_do_not_fit_are_not_wrapped_round(self):
        with pytest.raises(HostFunctionError, match="Some of its values do not fit"):
            host_function(lambda x: np.full(3, 2**40), elementwise=True, out=int)(X)

    def test_floats_that_do_not_fit_become_infinite_without_a_warning(self):
        assert np.isinf(host_function(lambda x: x.astype(float) * 1e300, elementwise=True)(X)).all()

    def test_a_function_that_sees_all_rows_at_once_is_told_so(self):
        total = host_function(np.sum, out=jax.ShapeDtypeStruct((), jnp.float32), vmap_method="expand_dims")
        with pytest.raises(HostFunctionError, match=r'float32\[2\] was promised. Under `vmap` .*"sequential"'):
            jax.vmap(total)(np.ones((2, 3), np.float32))


class TestVerify:
    def test_right_derivatives_pass_and_are_listed(self):
        x = np.array([0.5, 1.5, 3.0])
        assert str(power.verify(x, np.array([[2.0], [3.0]]))).splitlines()[0] == (
            "The derivative of `power` agrees with finite differences."
        )
        assert all(difference < 1e-6 for difference in power.verify(x, 2.0).differences.values())
        assert list(inv.verify(np.array([[1.0, 2.0], [3.0, 5.0]])).differences) == ["`a`"]
        sin.verify(np.linspace(-50, 50, 40))

    @pytest.mark.parametrize(
        ("fn", "derivative", "x"),
        [
            (np.log, lambda x: 1 / x, 10.0 ** np.arange(-9, 9)),
            (np.sqrt, lambda x: 0.5 / jnp.sqrt(x), np.arange(1, 4.0)),
            (lambda x: np.sin(1000 * x), lambda x: 1000 * jnp.cos(1000 * x), np.linspace(-1, 5, 40)),
            (lambda x: np.sin(x.astype(np.float32)), jnp.cos, np.linspace(-1, 5, 10)),
            (np.cos, lambda x: -jnp.sin(x), np.array([0.0, np.pi, 1e-9])),
            (np.exp, jnp.exp, np.array([1 + 2j, -1j])),
            (lambda x: 0 * x + 3, lambda x: 0.0, np.arange(3.0)),
        ],
    )
    def test_right_derivatives_pass_at_hard_points(self, fn, derivative, x):
        host_function(fn, elementwise=True, derivative=derivative).verify(x)

    @pytest.mark.parametrize(
        ("fn", "derivative", "x"),
        [
            (np.log, lambda x: 1.001 / x, 10.0 ** np.arange(-9, 9)),
            (np.sin, lambda x: jnp.cos(x) + 1e-4, np.arange(3.0)),
            (lambda x: np.sin(x.astype(np.float32)), lambda x: 1.001 * jnp.cos(x), np.arange(3.0)),
            (np.exp, lambda z: jnp.exp(jnp.conj(z)), np.array([1 + 2j])),
            (np.sin, lambda x: jnp.nan * x, np.arange(3.0)),
        ],
    )
    def test_wrong_derivatives_fail(self, fn, derivative, x):
        with pytest.raises(DerivativeError):
            host_function(fn, elementwise=True, derivative=derivative).verify(x)

    def test_the_wrong_argument_is_named_with_place_and_size(self):
        wrong = host_function(
            lambda a, b: a * b, elementwise=True, derivative={"a": lambda a, b: b, "b": lambda a, b: a + (a == 2)}
        )
        with pytest.raises(DerivativeError) as caught:
            wrong.verify(np.arange(3.0), 2.0)
        assert str(caught.value) == (
            "The derivative of `<lambda>` with respect to `b` is 3 at [2], but finite "
            "differences give 2 (difference 1)."
        )

    def test_linear_maps_are_compared_in_every_leaf(self):
        def pair(x):
            return {"sum": x.sum(), "square": x**2}

        def rule(scale):
            return lambda dx, out, x: {"sum": dx.sum(), "square": scale * x * dx}

        out = lambda x: {"sum": jax.ShapeDtypeStruct((), x.dtype), "square": x}  # noqa: E731
        host_function(pair, out=out, derivative=rule(2)).verify(np.arange(3.0))
        with pytest.raises(DerivativeError, match=r"at \['square'\]\[\d\]"):
            host_function(pair, out=out, derivative=rule(3)).verify(np.arange(3.0))

    def test_the_same_report_comes_out_each_time_and_settings_stay(self):
        first, second = (str(inv.verify(np.eye(2) + 1)) for _ in range(2))
        assert first == second
        assert jnp.ones(1).dtype == jnp.float32
        assert not jax.config.jax_enable_x64

    def test_differences_are_taken_in_float64(self):
        dtypes = set()
        f = host_function(lambda x: dtypes.add(x.dtype.name) or np.sin(x), elementwise=True, derivative=jnp.cos)
        assert f.verify(X).differences["`x`"] < 1e-9
        assert dtypes == {"float64"}

    def test_what_cannot_be_compared_is_said(self):
        with pytest.raises(TypeError, match="`sin` has no derivative to verify"):
            host_function(np.sin, elementwise=True).verify(1.0)
        with pytest.raises(TypeError, match="not compared: pass floats instead of integers"):
            sin.verify(1)
        with pytest.raises(TypeError, match="no finite differences at these arguments"):
            host_function(lambda x: x * np.nan, elementwise=True, derivative=lambda x: x).verify(1.0)

    def test_a_rule_that_works_forward_only_is_found(self):
        solve = host_function(
            np.linalg.solve,
            out=lambda a, b: b,
            derivative=(None, lambda db, x, a, b: solve(a, db)),
        )
        with pytest.raises(
            DerivativeError, match="works only in forward mode: it calls a host function on the tangent"
        ):
            solve.verify(np.eye(2), np.ones(2))


class TestCompiledProgram:
    """The wrapper does its checks on the host and adds nothing to the program."""

    @pytest.mark.parametrize(
        ("f", "rows", "axes"),
        [
            (sin, [np.ones((2, 3), np.float32)], 0),
            (inv, [np.ones((2, 3, 3), np.float32)], 0),
            (power, [np.ones((2, 3), np.float32), np.ones(3, np.float32)], (0, None)),
        ],
    )
    def test_equals_the_raw_call(self, f, rows, axes):
        method = "sequential" if f is inv else "expand_dims"

        def raw(*args):
            return jax.pure_callback(
                np.sin, jax.ShapeDtypeStruct(args[0].shape, jnp.float32), *args, vmap_method=method
            )

        def wrapped(*args):
            return f(*args)

        row = [rows[0][0], *rows[1:]]
        assert normalised_hlo(wrapped, *row) == normalised_hlo(raw, *row)
        assert normalised_hlo(jax.vmap(wrapped, axes), *rows) == normalised_hlo(jax.vmap(raw, axes), *rows)

    def test_gradients_equal_those_of_the_raw_call_with_custom_jvp(self):
        def host(fn, x):
            return jax.pure_callback(fn, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims")

        @jax.custom_jvp
        def raw(x):
            return host(np.sin, x)

        raw.defjvp(lambda x, dx: (raw(*x), dx[0] * host(np.cos, x[0])))
        for transform in (jax.grad, lambda f: jax.vmap(jax.grad(f))):
            x = X if transform is not jax.grad else X[0]
            assert normalised_hlo(transform(lambda x: sin(x)), x) == normalised_hlo(transform(lambda x: raw(x)), x)


def test_a_derivative_of_the_wrong_arity_is_named():
    norm = host_function(
        np.linalg.norm, out=lambda x: jax.ShapeDtypeStruct((), x.dtype), derivative=lambda x: x / jnp.linalg.norm(x)
    )
    message = r"`derivative` of `norm` for `x` is called with \(tangent, out, x\), but takes \(x\)\."
    with pytest.raises(TypeError, match=message):
        jax.grad(norm)(jnp.array([3.0, 4.0]))
    partial = host_function(two, elementwise=True, derivative={"z": lambda z: 1})
    with pytest.raises(TypeError, match=r"for `z` is called with \(order, z\), but takes \(z\)"):
        jax.grad(partial, 1)(1.0, 2.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: host_function(np.convolve, out=lambda a, v: a)(jnp.ones(3), jnp.ones(2), mode="same"),
            r"as `mode`, but got the str 'same': .* with `functools\.partial`",
        ),
        (
            lambda: host_function(np.sum, out=float)(jnp.ones(3)),
            r"contains the class `float`: pass a `jax.ShapeDtypeStruct\(",
        ),
        (lambda: host_function(math.sin, elementwise=True)(jnp.ones(3)), r"`np\.vectorize`"),
        (lambda: host_function(lambda x: x.sort(), out=lambda x: x)(jnp.ones(3)), r"`\.copy\(\)`"),
    ],
    ids=["an option", "a dtype", "one number at a time", "in place"],
)
def test_the_message_says_what_to_do(call, message):
    with pytest.raises((TypeError, HostFunctionError), match=message):
        call()
