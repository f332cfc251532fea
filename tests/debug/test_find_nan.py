"""Test `find_nan`: the equation that made the first NaN, its line, loop and pass, and what happens to the gradient."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide import compat
from jaxguide.debug import find_nan
from jaxguide.jaxpr import interpret

ROWS = np.eye(3)


def safe_log(x):
    return jnp.where(x > 0, jnp.log(x), 0.0)  # masked


def safe_input(x):
    return jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1.0)), 0.0)


def counts_down(x):
    def body(c, a):
        c = c - 1.0
        return c, jnp.log(c) + a  # in the scan

    return jax.lax.scan(body, 3.5, x)[1].sum()


def logs_again(x):
    def body(c):
        return c[0] + 1, jnp.log(c[1])  # in the while

    return jax.lax.while_loop(lambda c: c[0] < 5, body, (0, x))[1]


def halves(x):
    def body(c, a):
        return c * 0.5, jnp.sqrt(a * c)  # root in the scan

    return jax.lax.scan(body, 1.0, x)[1].sum()


def line_of(mark: str) -> int:
    source, _ = inspect.findsource(inspect.getmodule(line_of))
    return next(i for i, text in enumerate(source, 1) if text.rstrip().endswith(f"# {mark}"))


def test_a_finite_program_has_nothing_found():
    report = find_nan(safe_input, jnp.array([1.0, 0.0]))
    assert not report
    assert (report.first, report.result_is_finite, report.gradient_is_finite) == (None, True, True)
    assert str(report) == "✓ No NaN or infinity in the result or its gradient."


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, lambda f: jax.jit(jax.jit(f))], ids=["eager", "jit", "nested"])
def test_the_equation_and_its_operands_at_the_first_bad_place(wrap):
    def ratio(a, b):
        return (a / b) * 2.0  # the ratio

    report = find_nan(wrap(ratio), jnp.array([[1.0, 2.0, 3.0]]), jnp.array([[1.0], [0.0]]))
    bad = report.first
    assert (bad.primitive, bad.made, bad.index, bad.operands) == ("div", "inf", (1, 0), ("1.0", "0.0"))
    assert (bad.line.number, bad.backward, bad.loops) == (line_of("the ratio"), False, ())
    assert report.result_is_finite is False
    assert [other.primitive for other in report.found] == ["div"], "operations that only pass it on must not be blamed"


def test_the_iteration_of_a_scan_counted_from_zero():
    bad = find_nan(counts_down, jnp.ones(6)).first
    assert (bad.primitive, bad.line.number, bad.operands) == ("log", line_of("in the scan"), ("-0.5",))
    (loop,) = bad.loops
    assert (loop.kind, loop.iteration, loop.length) == ("scan", 3, 6)


@pytest.mark.parametrize(("fn", "x", "iteration"), [(logs_again, 3.0, 3), (jax.vmap(logs_again), [3.0, 2.0], 2)])
def test_the_iteration_of_a_while_also_when_rows_are_batched(fn, x, iteration):
    bad = find_nan(fn, jnp.array(x)).first
    assert (bad.primitive, bad.line.number) == ("log", line_of("in the while"))
    assert [(loop.kind, loop.iteration, loop.length) for loop in bad.loops] == [("while", iteration, None)]


def test_a_row_that_is_done_and_computed_on_is_not_blamed():
    def divides(x):  # the row with x = 1 is done first, and its 1 / (1 - 1) is discarded
        def body(carry):
            i, _, x = carry
            return i + 1.0, 1.0 / (x - i), x

        return jax.lax.while_loop(lambda carry: carry[0] < carry[2], body, (0.0, 0.0, x))[1]

    assert not find_nan(jax.vmap(divides), jnp.array([1.0, 4.0])).found


def test_a_masked_value_is_harmless_forward_and_dangerous_for_the_gradient():
    report = find_nan(safe_log, jnp.array([1.0, 0.0, 2.0]))
    forward, backward = report.found
    assert (forward.primitive, forward.made, forward.masked, forward.backward) == ("log", "-inf", True, False)
    assert forward.masked_at.number == line_of("masked")
    assert (backward.primitive, backward.made, backward.backward) == ("div", "nan", True)
    assert (report.result_is_finite, report.gradient_is_finite) == (True, False)
    text = str(report)
    assert text.startswith(
        "✗ The result is finite, but its gradient with respect to `x` contains a NaN or an infinity."
    )
    assert "harmless forward, dangerous for the gradient" in text
    assert "Make the input safe before the risky operation" in text
    # The advice is right: JAX's gradient is not finite there, and that of the repaired function is.
    x = jnp.array([1.0, 0.0, 2.0])
    assert not np.isfinite(jax.grad(lambda x: safe_log(x).sum())(x)).all()
    assert np.isfinite(jax.grad(lambda x: safe_input(x).sum())(x)).all()


def test_a_masked_value_with_a_finite_gradient_is_told_to_be_harmless():
    def masked_and_stopped(x):
        return jnp.where(x > 0, jnp.log(jax.lax.stop_gradient(x)), 0.0) + x

    report = find_nan(masked_and_stopped, jnp.array([0.0]))
    assert (report.result_is_finite, report.gradient_is_finite) == (True, True)
    assert "harmless forward, and the gradient is finite too" in str(report)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_gradient_function_tells_the_way_back_from_the_way_forth(wrap):
    masked, back = find_nan(wrap(jax.grad(lambda x: safe_log(x).sum())), jnp.array([1.0, 0.0])).found[::-1]
    assert (masked.primitive, masked.backward) == ("log", False)
    assert (back.primitive, back.backward) == ("div", True)
    root = find_nan(wrap(jax.value_and_grad(jnp.sqrt)), 0.0).first
    assert (root.primitive, root.backward, root.operands) == ("div", True, ("0.5", "0.0"))


def test_the_backward_pass_of_a_scan_counts_iterations_as_the_forward_pass_does():
    bad = find_nan(halves, jnp.array([1.0, 2.0, 0.0, 3.0])).first
    assert (bad.backward, bad.line.number) == (True, line_of("root in the scan"))
    assert [(loop.iteration, loop.length) for loop in bad.loops] == [(2, 4)]


def test_an_infinity_written_into_the_code_is_blamed_only_where_it_gets_out():
    def attention(mask, x):
        return jax.nn.softmax(jnp.where(mask, x, -jnp.inf))

    assert not find_nan(attention, jnp.array([True, False]), jnp.ones(2))
    bad = find_nan(attention, jnp.array([False, False]), jnp.ones(2)).found[-1]
    assert (bad.primitive, bad.made, bad.operands) == ("sub", "nan", ("-inf", "-inf"))
    bad = find_nan(lambda x: x + jnp.inf, 1.0).first
    assert bad.kind == "written"
    assert "as a constant in the code" in str(bad)


def test_an_argument_that_is_bad_already_is_named():
    report = find_nan(lambda params, x: params["w"] * x, {"w": jnp.array([1.0, jnp.nan])}, 2.0)
    assert report.bad_arguments == ["params['w']"]
    assert report.found == []
    assert bool(report)
    assert "The argument `params['w']` already contains a NaN or an infinity." in str(report)


def test_a_function_that_needs_real_values_is_run_as_it_is():
    def branches(x):
        if x > 0:
            return jnp.log(x - x)  # after an if
        return x

    bad = find_nan(branches, 3.0).first
    assert (bad.primitive, bad.line.number) == ("log", line_of("after an if"))
    assert not find_nan(branches, -3.0)


def test_nothing_to_differentiate_and_no_way_back_are_told_apart():
    integers = find_nan(lambda n: 1.0 / jnp.arange(3)[n], 1)
    assert (integers.gradient_is_finite, integers.gradient_note) == (None, "no_floats")
    no_reverse = find_nan(logs_again, 1e30)
    assert no_reverse.gradient_is_finite is None or not no_reverse.result_is_finite
    loop = find_nan(lambda x: jax.lax.while_loop(lambda c: c < 5.0, lambda c: c + 1.0, x), 0.0)
    assert loop.gradient_is_finite is None
    assert "The gradient was not checked: ValueError: Reverse-mode differentiation" in str(loop)


def test_library_calls_are_named_by_the_users_line():
    def distance(x):
        return jnp.linalg.norm(x)  # the norm

    bad = find_nan(distance, jnp.zeros(3)).first
    assert (bad.line.number, bad.backward) == (line_of("the norm"), True)


def test_other_float_types_and_keys_pass_through():
    def noisy(key, x):
        return jax.random.normal(key, x.shape, x.dtype) + x / (x - x)

    bad = find_nan(noisy, jax.random.key(0), jnp.ones(2, jnp.bfloat16)).first
    assert (bad.primitive, bad.made) == ("div", "inf")


def test_the_card_says_the_same_in_html():
    html = find_nan(safe_log, jnp.array([0.0]))._repr_html_()
    assert "dangerous for the gradient" in html
    assert "<script" not in html


def of_numpy(x):
    y = 2 * x
    return np.log(y).sum()  # NumPy


def of_numpy_and_jax(x):
    y = np.log(2 * x)  # NumPy's, before JAX
    return jnp.sum(y)  # JAX


def report_of(fn, *args):
    with np.errstate(all="ignore"):
        return find_nan(fn, *args)


def test_what_numpy_computes_outside_of_jax_is_said_with_what_to_use():
    x = jnp.array([-1.0])
    assert str(report_of(np.log, x)) == (
        "✗ The result contains a NaN or an infinity.\n"
        "  NumPy or SciPy ran on the host, outside JAX, where equations cannot be seen: use `jax.numpy` or `jax.scipy`."
    )
    assert (
        f"ran on the host at test_find_nan.py, line {line_of('NumPy')}, outside JAX" in report_of(of_numpy, x).outside
    )


def test_a_nan_that_numpy_made_is_not_called_a_constant():
    report = report_of(of_numpy_and_jax, jnp.array([-1.0]))
    assert (report.first.kind, report.first.line.number) == ("outside", line_of("JAX"))
    assert f"nan came in at test_find_nan.py, line {line_of('JAX')}, not computed by JAX" in str(report)


def test_a_finite_result_of_numpy_is_told_to_be_unseen():
    report = report_of(of_numpy, jnp.array([1.0]))
    assert not report
    assert "NumPy or SciPy ran on the host" in report.outside
    assert str(report).endswith("The gradient was not checked: JAX has no derivative of what NumPy computes.")
    assert find_nan(safe_input, jnp.array([1.0])).outside == ""


@pytest.mark.parametrize("fn", [lambda x: float(x) * float("nan"), lambda x: jnp.nan], ids=["Python", "written"])
def test_a_nan_that_no_equation_made_is_told_so(fn):
    assert str(find_nan(fn, jnp.float32(1))) == (
        "✗ The result contains a NaN or an infinity.\n"
        "  No equation made it: it is written in the code, or was computed in Python outside JAX."
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda x: jax.jit(lambda x: find_nan(jnp.log, x) and x)(x),
        lambda x: jax.jit(lambda y: find_nan(jnp.log, x) and y)(x),
        lambda x: jax.vmap(lambda x: find_nan(jnp.log, x) and x)(x),
        lambda x: jax.grad(lambda x: find_nan(jnp.log, x) and x.sum())(x),
    ],
    ids=["jit", "closed over", "vmap", "grad"],
)
def test_inside_a_trace_it_is_refused_in_one_sentence(call):
    with pytest.raises(RuntimeError, match=r"^`find_nan` was called while JAX is tracing or transforming") as caught:
        call(jnp.ones(2))
    assert "\n" not in str(caught.value)


def test_a_shape_without_values_is_refused_in_one_sentence():
    with pytest.raises(TypeError, match=r"^`find_nan` runs the program, but got a `jax.ShapeDtypeStruct`"):
        find_nan(lambda p: jnp.log(p["w"]), {"w": jax.ShapeDtypeStruct((2,), "float32")})


def test_bad_arguments_are_one_sentence():
    with pytest.raises(
        TypeError, match=r"^`find_nan` needs a function, but got an array float32\[2\]: pass the function"
    ):
        find_nan(jnp.zeros(2))
    with pytest.raises(TypeError, match=r"`find_nan` cannot call `safe_log.x.` with 2 arguments: too many"):
        find_nan(safe_log, 1.0, 2.0)
    with pytest.raises(ZeroDivisionError):
        find_nan(lambda x: x * (1 // 0), 1.0)


def test_nothing_is_called_harmless_beside_what_spoils_the_result():
    report = find_nan(lambda x: jnp.exp(x) / jnp.exp(x).sum(), jnp.array([1.0, 1000.0]))
    assert "harmless" not in str(report)


def deep(params, x):
    for _ in range(60):
        x = jnp.tanh(x * params["w"]) + params["b"]
    return x.sum()


def deep_and_masked(params, x):
    return deep(params, x) + jnp.where(x > 5, jnp.log(x), 0.0).sum()


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_large_program_is_run_compiled(wrap, monkeypatch):
    params = {"w": jnp.ones(2), "b": jnp.zeros(2)}
    searched = find_nan(wrap(deep_and_masked), params, jnp.zeros(2))
    assert searched.first.line.text().startswith("return deep(params, x) + jnp.where(")
    assert "`jnp.where` selects the right branch" in str(searched)
    assert find_nan(wrap(deep), params, jnp.full(2, jnp.inf)).bad_arguments == ["x"]
    bind = interpret.bind
    monkeypatch.setattr(interpret, "bind", lambda *args: bind(*args) if compat.under_trace() else pytest.fail("alone"))
    assert str(find_nan(wrap(deep), params, jnp.ones(2))) == "✓ No NaN or infinity in the result or its gradient."


def test_leaves_of_the_result_and_of_the_gradient_are_named():
    def loss(params, x):
        return jnp.sqrt(params["w"] * x).sum() + params["b"]

    params = {"w": jnp.zeros(2), "b": 0.0}
    report = find_nan(loss, params, jnp.ones(2))
    assert report.bad_gradients == ["params['w']", "x"]
    assert "but its gradient with respect to `params['w']` (and 1 more) contains" in str(report)
    report = find_nan(jax.grad(loss), params, jnp.ones(2))
    assert report.bad_results == ["result['w']"]
    assert str(report).startswith("✗ The result contains a NaN or an infinity: `result['w']`.")


def test_a_model_with_a_python_float_is_differentiated():
    eqx = pytest.importorskip("equinox")
    model = eqx.nn.Dropout(0.5), eqx.nn.Linear(2, 2, key=jax.random.key(0))

    @eqx.filter_jit
    def loss(model, x, key):
        dropout, linear = model
        return jnp.sqrt(dropout(linear(x) * 0, key=key)).sum()

    report = find_nan(loss, model, jnp.ones(2), jax.random.key(1))
    assert report.gradient_is_finite is False
    assert "model[1].weight" in report.bad_gradients


def test_loops_of_a_large_program_are_looked_into_if_something_is_wrong():
    def loss(params, x):
        def body(c, a):
            return c, jnp.where(a > 0, jnp.log(a), 0.0)  # masked in the scan

        return deep(params, x) + jax.lax.scan(body, 0.0, x)[1].sum()

    params = {"w": jnp.ones(2), "b": jnp.zeros(2)}
    assert not find_nan(loss, params, jnp.ones(2))
    bad = find_nan(loss, params, jnp.zeros(2)).first
    assert (bad.primitive, bad.line.number, bad.masked) == ("log", line_of("masked in the scan"), True)
