"""Test that `answer.observe` sees the same of a call each time, whatever was called before."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.expect import expect_raises
from jaxguide.course.judging.values import Unsupported
from jaxguide.course.verdict import CheckFailed, StudentError

X = jnp.ones(3)


def test_what_prints_while_it_is_traced_is_seen_at_the_first_call() -> None:
    @jax.jit
    def double(x: jax.Array) -> jax.Array:
        print("traced")
        jax.debug.print("ran with {}", x[0])
        return 2 * x

    answer = LocalAnswer("double", double, {})
    for _time in range(2):
        first, second = answer.observe_calls([(X,), (X,)])
        assert [first.lines, second.lines] == [["traced", "ran with 1.0"], ["ran with 1.0"]]
        assert [first.traces, second.traces] == [1, 0]
        assert np.array_equal(second.value.values, [2, 2, 2])


def picky(x: jax.Array) -> jax.Array:
    warnings.warn("careful", stacklevel=1)
    if x.ndim == 1:
        raise ValueError("one axis is too few")
    return x


def test_an_exception_is_seen_where_it_is_looked_for() -> None:
    answer = LocalAnswer("picky", picky, {})
    seen = answer.observe_error(X)
    expect_raises(seen, "ValueError", "too few")
    assert seen.error is not None
    assert seen.error.source == 'raise ValueError("one axis is too few")'
    with pytest.raises(CheckFailed, match="without an error"):
        expect_raises(answer.observe_error(X[None]), "ValueError")


def test_an_exception_is_the_students_error_where_none_is_looked_for() -> None:
    answer = LocalAnswer("picky", picky, {})
    assert answer.observe(X[None]).warnings == ["UserWarning: careful"]
    for ask in (lambda: answer.observe(X), lambda: answer.observe_calls([(X[None],), (X,)])):
        with pytest.raises(StudentError, match="one axis is too few"):
            ask()


def test_a_sys_exit_is_seen_as_the_error_that_it_is() -> None:
    def leaves(x: jax.Array) -> None:
        raise SystemExit(0)

    seen = LocalAnswer("leaves", leaves, {}).observe_error(X)
    assert seen.error is not None
    assert seen.error.type_name == "SystemExit"


def test_an_exception_of_a_host_function_is_told_without_the_traceback_around_it() -> None:
    def refuse(value: jax.Array) -> None:
        raise ValueError("no such order")

    def ask(x: jax.Array) -> jax.Array:
        return jax.pure_callback(refuse, x, x)

    error = LocalAnswer("ask", ask, {}).observe_error(X).error
    assert error is not None
    assert error.message.endswith("calling callback: ValueError: no such order")
    assert "File" not in error.message


def test_everything_in_a_result_is_added_up_so_that_it_has_a_gradient() -> None:
    answer = LocalAnswer("both", lambda x: (x**2, {"last": 3 * x[-1]}), {})
    assert float(np.asarray(answer.sum(X))) == 6
    assert np.array_equal(np.asarray(answer.sum.grad()(X)), [2, 2, 5])
    called = "jax.grad((lambda *args: sum(jnp.sum(x) for x in jax.tree.leaves(both(*args)))))"
    assert answer.log.last == f"{called}(jnp.array([1., 1., 1.], dtype=jnp.float32))"


def test_arguments_are_seen_as_the_call_left_them() -> None:
    def change(x: np.ndarray, names: list[str]) -> None:
        x[0] = 7
        names.append("b")

    seen = LocalAnswer("change", change, {}).observe(np.zeros(2), ["a"])
    assert seen.arguments[0].values.tolist() == [7, 0]
    assert seen.arguments[1] == ["a", "b"]


def test_an_argument_that_a_call_donates_is_gone_and_no_error() -> None:
    seen = LocalAnswer("step", jax.jit(lambda x: x + 1, donate_argnums=0), {}).observe(X)
    assert np.array_equal(np.asarray(seen.value), [2, 2, 2])
    assert seen.arguments == (Unsupported("deleted array"),)


def test_a_function_that_an_answer_returns_is_made_once_for_calls_in_a_row() -> None:
    def times(factor: float) -> object:
        return jax.jit(lambda x: factor * x)

    seen = LocalAnswer("times", times, {}).then(3.0).observe_calls([(X,), (X,), (jnp.ones(4),)])
    assert [one.traces for one in seen] == [1, 0, 1]


def test_commands_are_typed_at_the_breakpoints_of_an_answer() -> None:
    def half(x: float) -> object:
        y = x / 2
        jax.debug.breakpoint()
        return y

    answer = LocalAnswer("half", jax.jit(half), {}).at_breakpoints("p y", "c")
    value, stops, answers = answer(3.0)
    assert (float(value), stops, answers) == (1.5, 1, ["Array(1.5, dtype=float32)", ""])
    assert answer.log.last == "[typed in the debugger: p y, c] half(3.0)"
