"""Test verdicts, the order of checks, and marks."""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_course import edit

from jaxguide.course.books.library import load_course
from jaxguide.course.cards import result_to_plain
from jaxguide.course.exercise import Exercise
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.judge import Judging
from jaxguide.course.verdict import ExerciseResult, Verdict


@pytest.fixture
def double(tiny: Path) -> Exercise:
    return load_course(tiny).exercise("double")


def _judge(
    exercise: Exercise, function: Callable[..., Any], until_decided: bool = False, **options: Any
) -> ExerciseResult:
    return Judging(exercise, **options).judge(LocalAnswer("double", function, {}), until_decided)


def _hidden(exercise: Exercise, function: Callable[..., Any], **options: Any) -> ExerciseResult:
    return _judge(exercise, function, reference=LocalAnswer("double", lambda x: 2 * x, {}), **options)


def test_a_right_answer_passes_with_full_marks(double: Exercise) -> None:
    result = _hidden(double, lambda x: x + x)
    assert (result.verdict, result.score) == (Verdict.PASSED, 2)
    assert [check.name for check in result.checks] == ["twice_the_input", "matches_the_key", "works_under_jit"]


def test_without_right_values_nothing_is_earned_and_later_stages_are_not_checked(double: Exercise) -> None:
    result = _hidden(double, lambda x: 3 * x)
    assert (result.verdict, result.score) == (Verdict.FAILED, 0)
    assert [check.verdict for check in result.checks] == [Verdict.FAILED, Verdict.FAILED, Verdict.NOT_CHECKED]
    assert result.checks[0].call.startswith("double(jnp.array([")
    assert result.checks[0].got.endswith("dtype=jnp.float32)")


def test_until_it_is_decided_no_check_runs_after_the_first_required_one_that_fails(double: Exercise) -> None:
    def seen(exercise: Exercise, function: Callable[..., Any]) -> list[Verdict]:
        result, whole = _hidden(exercise, function, until_decided=True), _hidden(exercise, function)
        assert (result.verdict, result.score) == (whole.verdict, whole.score)
        return [check.verdict for check in result.checks]

    assert seen(double, lambda x: 3 * x) == [Verdict.FAILED, Verdict.NOT_CHECKED, Verdict.NOT_CHECKED]
    assert seen(double, lambda x: x + x) == [Verdict.PASSED] * 3
    double.checks = [dataclasses.replace(check, required=False) for check in double.checks]
    assert seen(double, lambda x: 3 * x) == [Verdict.FAILED, Verdict.FAILED, Verdict.NOT_CHECKED]


def test_right_values_and_no_jit_is_partly_right(double: Exercise) -> None:
    result = _hidden(double, lambda x: jnp.asarray(np.asarray(x) * np.float32(2)))
    assert (result.verdict, result.score) == (Verdict.PARTLY_RIGHT, 1.5)
    assert result.first_failure is not None
    assert result.first_failure.error is not None
    assert result.first_failure.error.type_name == "TracerArrayConversionError"
    assert _hidden(double, lambda x: jnp.asarray(np.asarray(x) * 2), all_or_nothing=True).score == 0


def test_the_smallest_failing_input_is_shown(double: Exercise) -> None:
    failure = _judge(double, lambda x: x).first_failure
    assert failure is not None
    assert eval(failure.got, {"jnp": jnp}).shape == (2,)


def test_an_exception_is_told_with_the_students_line(double: Exercise) -> None:
    def crashes(x: Any) -> Any:
        y = x + 1
        return y.nothing

    result = _judge(double, crashes)
    assert result.verdict is Verdict.ERROR
    failure = result.first_failure
    assert failure is not None
    assert failure.error is not None
    assert failure.error.source == "return y.nothing"
    assert "AttributeError" in failure.message


@pytest.mark.parametrize(("given", "code"), [((), "0"), ((3,), "3"), ((None,), "0"), (("no more",), "1")])
def test_sys_exit_ends_the_check_and_not_the_program(double: Exercise, given: tuple[Any, ...], code: str) -> None:
    result = _judge(double, lambda x: (_ for _ in ()).throw(SystemExit(*given)))
    assert result.verdict is Verdict.EXITED
    assert result.first_failure is not None
    assert f"sys.exit() (exit code {code})" in result.first_failure.message


def test_warnings_and_stderr_never_change_a_mark(double: Exercise) -> None:
    def noisy(x: Any) -> Any:
        import sys
        import warnings

        warnings.warn("careful", stacklevel=1)
        print("to stderr", file=sys.stderr)
        return 2 * x

    assert _hidden(double, noisy).verdict is Verdict.PASSED


def test_not_attempted_runs_nothing(double: Exercise) -> None:
    result = Judging(double).judge(None)
    assert result.verdict is Verdict.NOT_ATTEMPTED
    assert {check.verdict for check in result.checks} == {Verdict.NOT_CHECKED}


def test_the_same_answer_gets_the_same_card_every_time(double: Exercise) -> None:
    @jax.jit
    def wrong_under_jit(x: Any) -> Any:
        return x * 2.5

    first = result_to_plain(_judge(double, wrong_under_jit))
    wrong_under_jit(jnp.ones(3))
    assert [result_to_plain(_judge(double, wrong_under_jit)) for _ in range(2)] == [first, first]


def test_the_same_seed_gives_the_same_inputs_and_another_seed_others(double: Exercise) -> None:
    calls = [_judge(double, lambda x: x, seed=seed).checks[0].call for seed in (4, 4, 5)]
    assert calls[0] == calls[1] != calls[2]


def test_a_prediction_earns_its_points_for_being_answered(tiny: Path) -> None:
    exercise = load_course(tiny).exercise("guess_shape")
    wrong = Judging(exercise).judge(LocalAnswer("guess_shape", lambda: (4,), {}))
    assert (wrong.verdict, wrong.score, wrong.note, wrong.reveal) == (Verdict.PASSED, 1, "(4,)", (3,))
    empty = Judging(exercise).judge(LocalAnswer("guess_shape", lambda: None, {}))
    assert (empty.verdict, empty.score) == (Verdict.NOT_ATTEMPTED, 0)


def test_relations_are_required_where_no_value_is_fixed(tiny: Path) -> None:
    edit(tiny, "exercises/tiny.py", '@visible(double, idea="Twice is two times.")', '@visible(double, kind="relation")')
    edit(tiny, "solutions/tiny.py", '@hidden(idea="Any input.", weight=2)', '@hidden(kind="relation")')
    result = _hidden(load_course(tiny).exercise("double"), lambda x: 3 * x)
    assert [check.required for check in result.checks] == [True, True, False]
    assert result.score == 0


def test_a_check_that_cannot_cope_with_a_value_fails_it_and_keeps_its_trouble_for_authors(tiny: Path) -> None:
    edit(tiny, "exercises/tiny.py", "expect_close(answer(x), FACTOR * x)", "expect_close(answer(x)[9], FACTOR * x)")
    failure = _judge(load_course(tiny).exercise("double"), lambda x: x).first_failure
    assert failure is not None
    assert failure.verdict is Verdict.FAILED
    assert "another form" in failure.message
    assert re.fullmatch(r"IndexError: .* \(tiny\.py:53\)", failure.trouble)
