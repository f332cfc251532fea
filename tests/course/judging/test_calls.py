"""Test that a failed check shows the call that gave the value, what it returned, and what was derived from it."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide.course.exercise import Check
from jaxguide.course.judging.answer import Answer, LocalAnswer
from jaxguide.course.judging.calls import CallLog
from jaxguide.course.judging.draw import Draw
from jaxguide.course.judging.evaluate import Request
from jaxguide.course.judging.expect import (
    expect_close,
    expect_different,
    expect_documented,
    expect_dtype,
    expect_equal,
    expect_no_key_problem,
    expect_raises,
    expect_shape,
    expect_that,
)
from jaxguide.course.judging.judge import not_checked
from jaxguide.course.judging.run_check import run_check
from jaxguide.course.judging.values import to_data
from jaxguide.course.verdict import CheckFailed, CheckResult, Kind, Verdict

ONE, TWO = np.float32(1), np.float32(2)


def failed(check: Callable[[Any], None], function: Callable[..., Any], on: str = "") -> CheckResult:
    """Return the result of a check that an answer must fail."""

    of = Check("c", "A fact.", check, False, 1, Path(), Kind.VALUE, True, on=on)
    result = not_checked(of, required=True)
    run_check(of, result, LocalAnswer("f", function, {}), None, Draw(0, "f", "c"))
    assert result.verdict is not Verdict.PASSED
    return result


def shown(result: CheckResult) -> tuple[str, str, str, str, str]:
    return result.call, result.got, result.label, result.compared, result.expected


def test_got_is_what_the_function_returned() -> None:
    result = failed(lambda answer: expect_close(answer(TWO), np.float32(3)), lambda x: 2 * x)
    assert shown(result) == ("f(np.float32(2.0))", "np.float32(4.0)", "", "", "np.float32(3.0)")


def test_call_is_the_call_that_gave_got_though_others_follow() -> None:
    def check(answer: Answer) -> None:
        first = answer(ONE)
        answer(TWO)
        expect_close(first, np.float32(3))

    result = failed(check, lambda x: [x])
    assert (result.call, result.got) == ("f(np.float32(1.0))", "[np.float32(1.0)]")

    def check_part(answer: Answer) -> None:
        first = answer(ONE)
        answer(TWO)
        expect_close(first[0], np.float32(3))

    result = failed(check_part, lambda x: [x])
    assert shown(result)[:4] == ("f(np.float32(1.0))", "[np.float32(1.0)]", "result[0]", "np.float32(1.0)")


def test_what_was_derived_stands_under_a_label_of_its_own() -> None:
    def derives(answer: Answer) -> None:
        expect_equal(float(np.sum(answer(TWO))), 9.0)

    result = failed(derives, lambda x: jnp.array([x, x]))
    assert shown(result) == (
        "f(np.float32(2.0))",
        "jnp.array([2., 2.], dtype=jnp.float32)",
        "",
        "4.0",
        "9.0",
    )

    def labels(answer: Answer) -> None:
        expect_close(float(np.sum(answer(TWO))), 9.0, label="the sum")

    assert failed(labels, lambda x: jnp.array([x, x])).label == "the sum"


def test_an_array_that_shares_memory_is_traced_to_its_call() -> None:
    def check(answer: Answer) -> None:
        first, _second = answer(ONE), answer(TWO)
        expect_that(False, "No.", np.asarray(first)[1:], "other")

    result = failed(check, lambda x: jnp.array([x, x + 1]))
    assert result.call == "f(np.float32(1.0))"
    assert result.got == "jnp.array([1., 2.], dtype=jnp.float32)"
    assert result.compared == "np.array([2.], dtype=np.float32)"


def test_calls_that_an_expectation_accepted_are_not_shown() -> None:
    def check(answer: Answer) -> None:
        for x in (1, 2, 3):
            expect_that(float(answer(np.float32(x))) < 2.5, "Should be below 2.5.")

    result = failed(check, lambda x: x)
    assert (result.call, result.got) == ("f(np.float32(3.0))", "np.float32(3.0)")


def test_of_several_calls_the_first_that_is_wrong_is_shown() -> None:
    def check(answer: Answer) -> None:
        got = [float(answer(np.float32(x))) for x in (1, 2, 3)]
        expect_equal(got, [1.0, 3.0, 4.0])

    result = failed(check, lambda x: x)
    assert shown(result) == ("f(np.float32(2.0))", "np.float32(2.0)", "", "", "3.0")
    named = failed(lambda answer: expect_equal({n: answer(n) for n in "ab"}, {"a": "a", "b": "c"}), lambda x: x)
    assert shown(named) == ("f('b')", "'b'", "", "", "'c'")


def test_a_call_that_is_right_within_the_tolerance_is_not_the_one_that_is_wrong() -> None:
    def check(answer: Answer) -> None:
        expect_close([float(answer(np.float32(x))) for x in (0.1, 0.2)], [0.1, 0.3], rtol=1e-5)

    assert failed(check, lambda x: x).call == "f(np.float32(0.2))"


def test_of_several_calls_that_a_value_was_derived_from_each_stands_on_its_line() -> None:
    result = failed(lambda answer: expect_equal([2 * answer(x) for x in (1.5, 2.5)], [2.0, 3.0]), lambda x: x)
    assert shown(result) == ("f(1.5)\nf(2.5)", "1.5\n2.5", "", "[3.0, 5.0]", "[2.0, 3.0]")
    many = failed(lambda answer: expect_equal([float(answer(np.float32(x))) for x in range(9)], []), lambda x: x)
    assert many.call == "…\nf(np.float32(6.0))\nf(np.float32(7.0))\nf(np.float32(8.0))"


def test_printed_lines_and_traces_are_not_taken_for_what_was_returned() -> None:
    def lines(answer: Answer) -> None:
        seen = answer.observe(ONE)
        expect_that(seen.lines == ["2"], "It should print 2.", seen.lines, ["2"])

    result = failed(lines, lambda x: print(int(x)))
    assert shown(result) == ("f(np.float32(1.0))", "", "Printed", "['1']", "['2']")

    def traces(answer: Answer) -> None:
        first, second = answer.jit.observe_calls([(ONE,), (np.ones(2),)])
        expect_equal(first.traces, 1)
        expect_equal(second.traces, 0)

    result = failed(traces, lambda x: 1)
    assert result.call == "jax.jit(f)(np.float32(1.0))\njax.jit(f)(np.array([1., 1.], dtype=np.float64))"
    assert (result.compared, result.expected) == ("1", "0")


def test_the_call_that_raised_is_shown() -> None:
    def check(answer: Answer) -> None:
        answer.observe_calls([(ONE,), (TWO,)])

    def refuses_two(x: Any) -> Any:
        if x == 2:
            raise ValueError("two")
        return x

    assert failed(check, refuses_two).call == "f(np.float32(2.0))"


def test_messages_name_the_part_that_the_check_was_given() -> None:
    def part(answer: Answer) -> None:
        expect_close(answer(ONE)["w"], (np.float32(1), np.float32(5)))

    assert "at `result['w'][1]`" in failed(part, lambda x: {"w": (x, x)}).message

    def derived(answer: Answer) -> None:
        expect_close([float(answer(ONE)), 1.0], [1.0, 2.0])

    assert "at `found[1]`" in failed(derived, lambda x: x).message


def test_of_a_long_value_the_part_and_the_place_that_differ_are_shown() -> None:
    def check(answer: Answer) -> None:
        x = jnp.arange(100.0) ** 2
        expect_close(answer(x), (x, x))

    result = failed(check, lambda x: (x, x.at[57].set(-1)))
    assert shown(result)[2:] == ("result[1][57]", "-1.0", "3249.0")
    assert result.got.startswith("(float32[100] [")
    assert result.extent == "1 of 100 elements differs."


@pytest.mark.parametrize(
    ("got", "extent"),
    [
        ([1.0, 9.0, 2.0], "2 of 3 elements differ. The largest difference is 7, at [1]."),
        ([1.0, 2.0, np.nan], "1 of 3 elements differs: NaN."),
        ([np.nan, 3.0, np.nan], "3 of 3 elements differ, 2 of them NaN. The largest difference is 1, at [1]."),
        ([np.inf, np.nan, 3.0], "2 of 3 elements differ, 1 of them NaN."),
    ],
)
def test_of_an_array_it_is_said_how_many_elements_differ_and_by_how_much(got: list[float], extent: str) -> None:
    result = failed(lambda answer: expect_close(answer(ONE), jnp.array([1.0, 2.0, 3.0])), lambda x: jnp.array(got))
    assert result.extent == extent


def test_of_a_nested_value_the_part_that_differs_is_shown() -> None:
    wanted = {"weights": (jnp.zeros(3), "a" * 40), "bias": jnp.float32(1)}
    result = failed(lambda answer: expect_close(answer(ONE), wanted), lambda x: {**wanted, "bias": jnp.float32(2)})
    assert shown(result)[2:] == ("result['bias']", "jnp.float32(2.0)", "jnp.float32(1.0)")


@pytest.mark.parametrize("got", ["a\nb = f x\nc", ["a", "b = f x", "c", "d" * 60], "x" * 70 + " = f x"])
def test_long_strings_and_lines_are_compared_by_lines(got: Any) -> None:
    wanted = got.replace("f x", "f(x)") if isinstance(got, str) else [line.replace("f x", "f(x)") for line in got]
    result = failed(lambda answer: expect_equal(answer(ONE), wanted), lambda x: got)
    rows = [line for line in result.difference.split("\n") if not line.startswith("  ")]
    assert [row[0] for row in rows] == ["-", "?", "+", "?"]
    assert rows[0].rstrip("'").endswith("= f x")
    assert rows[3].count("^") == 2


def test_the_numbers_of_a_result_in_other_clothes_are_shown_as_they_were_returned() -> None:
    def flat(answer: Answer) -> None:
        w, b = answer(ONE)
        expect_close([float(w[0]), float(w[1]), float(b)], [1.0, 2.0, 4.0])

    result = failed(flat, lambda x: (jnp.array([1.0, 2.0]), 3))
    assert shown(result)[1:] == ("(jnp.array([1., 2.], dtype=jnp.float32), 3)", "", "", "[1.0, 2.0, 4.0]")
    part = failed(lambda answer: expect_equal(float(answer(ONE)[1]), 4.0), lambda x: (jnp.ones(2), jnp.float32(3)))
    assert shown(part)[2:] == ("result[1]", "3.0", "4.0")


def test_strings_that_were_returned_have_quotes_and_words_of_a_check_have_none() -> None:
    def check(answer: Answer) -> None:
        got = answer(ONE)
        expect_that(got == "output", "It should be told.", got, "output")

    assert shown(failed(check, lambda x: "nothing"))[1:] == ("'nothing'", "", "", "'output'")
    words = failed(lambda answer: expect_that(not answer(ONE), "No.", "8 traces", "1 trace"), lambda x: x)
    assert shown(words)[3:] == ("8 traces", "1 trace")


def test_shape_and_dtype_have_labels_and_the_value_stays() -> None:
    shape = failed(lambda answer: expect_shape(answer(ONE), (2,)), lambda x: jnp.zeros((1, 2)))
    assert shown(shape)[1:] == ("jnp.array([[0., 0.]], dtype=jnp.float32)", "result.shape", "(1, 2)", "(2,)")
    dtype = failed(lambda answer: expect_dtype(answer(ONE), "float32"), lambda x: np.zeros(1))
    assert shown(dtype)[1:] == ("np.array([0.], dtype=np.float64)", "result.dtype", "float64", "float32")


def test_numpy_is_named_only_where_the_array_is_numpys() -> None:
    numpy = failed(lambda answer: expect_dtype(answer(ONE), "float32"), lambda x: np.zeros(1))
    assert "NumPy" in numpy.message
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        wide = jnp.zeros(1, "float64")
    assert "NumPy" not in failed(lambda answer: expect_dtype(answer(ONE), "float32"), lambda x: wide).message


def test_each_expectation_shows_its_call() -> None:
    from jaxguide.course import ledger

    key = jax.random.key(0)
    checks: list[tuple[Callable[[Any], None], Callable[..., Any], str]] = [
        (lambda answer: expect_different(answer(ONE), answer(ONE), "Same."), lambda x: x, "np.float32(1.0)"),
        (lambda answer: expect_raises(answer.observe_error(ONE), "ValueError"), lambda x: x, "np.float32(1.0)"),
        (
            lambda answer: expect_raises(answer.observe_error(ONE), "ValueError"),
            lambda x: [][0],
            "IndexError: list index out",
        ),
        (
            lambda answer: expect_no_key_problem(answer.key_use(key)),
            lambda k: jax.random.normal(k) + jax.random.normal(k),
            "",
        ),
        (lambda answer: expect_documented("S0-35", answer(ONE)), lambda x: "something else", "'something else'"),
    ]
    for check, function, got in checks:
        result = failed(check, function)
        assert result.call.startswith("f("), result
        assert result.got.startswith(got)
    assert ledger.entries()
    assert "S0-35" not in failed(checks[-1][0], checks[-1][1]).message


def test_a_none_that_a_check_derived_is_not_said_to_be_returned() -> None:
    def check(answer: Answer) -> None:
        expect_close({1: answer(ONE)}.get(2), np.float32(1))

    message = failed(check, lambda x: x).message
    assert "return" not in message


def test_a_failure_that_a_check_raises_itself_shows_its_calls() -> None:
    def check(answer: Answer) -> None:
        answer(ONE)
        raise CheckFailed("No.", "this", "that")

    assert shown(failed(check, lambda x: x)) == ("f(np.float32(1.0))", "this", "", "", "that")


@pytest.mark.parametrize("of_check", ["", "any row"])
def test_the_kind_of_input_is_the_expectations_or_else_the_checks(of_check: str) -> None:
    def check(answer: Answer) -> None:
        expect_close(answer(ONE), np.float32(5), on="a row of one")

    assert failed(check, lambda x: x, of_check).on == "a row of one"

    def tells(answer: Answer) -> None:
        expect_close(answer(ONE), np.float32(5), on=f"a row of {ONE}")

    assert failed(tells, lambda x: x, of_check).on == of_check


def test_finding_where_a_value_came_from_takes_little_memory_however_long_a_name_is() -> None:
    log = CallLog("f")
    log.add(Request((), "value", (((), {}),)), 0, {"x" * 1_000_000: [[] for _number in range(1_000)]})
    tracemalloc.start()
    log.origin(object())
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000


def test_large_values_of_earlier_calls_are_not_kept() -> None:
    log, request = CallLog("f"), Request((), "value", (((), {}),))
    for number in range(20):
        log.add(request, number, to_data(np.zeros(2**22, np.float32)))
    assert 1 < len(log.calls) < 10
    assert log.calls[-1].number == 19
