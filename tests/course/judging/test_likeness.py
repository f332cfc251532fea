"""Test that a misconception is named only where an answer fails as that planted answer does, on the same input."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_course import edit

from jaxguide.course.books.book import run_answer
from jaxguide.course.books.library import Course, load_course
from jaxguide.course.exercise import Check, Exercise, Planted
from jaxguide.course.judging.answer import Answer, LocalAnswer
from jaxguide.course.judging.judge import Judging
from jaxguide.course.judging.likeness import Failure
from jaxguide.course.verdict import CheckResult


def in_this_process(
    course: Course, exercise: Exercise, planted: Planted, check: Check, judge: Callable[[Answer], Failure | None]
) -> Failure | None:
    """Run a planted answer in this process."""
    names = run_answer(course.book_of(exercise), planted.source)
    return judge(LocalAnswer(exercise.name, names[exercise.name], names))


def first_failure(folder: Path, function: Callable[..., Any]) -> CheckResult:
    course = load_course(folder)
    answer, reference = (LocalAnswer("double", one, {}) for one in (function, lambda x: 2 * x))
    planted = functools.partial(in_this_process, course)
    result = Judging(course.exercise("double"), reference=reference, planted=planted).judge(answer)
    assert result.first_failure is not None
    return result.first_failure


def test_an_answer_that_does_the_same_is_named_with_the_authors_sentence(tiny: Path) -> None:
    for squares in (lambda x: x * x, lambda x: x**2, lambda x: jnp.stack([one * one for one in x])):
        failure = first_failure(tiny, squares)
        assert (failure.misconceptions, failure.says) == (("squares",), ("Squares instead of doubling.",))


@pytest.mark.parametrize("other", [lambda x: 3 * x, lambda x: [x * x], lambda x: np.asarray(x * x)[:1], lambda x: None])
def test_an_answer_that_fails_otherwise_is_not(tiny: Path, other: Callable[..., Any]) -> None:
    failure = first_failure(tiny, other)
    assert (failure.misconceptions, failure.says) == ((), ())


def test_an_answer_that_raises_as_the_planted_one_does_is_named(tiny: Path) -> None:
    failure = first_failure(tiny, lambda x: jnp.asarray(np.asarray(x) * np.float32(2)))
    assert failure.says == ("NumPy cannot be traced.",)
    assert first_failure(tiny, lambda x: x + x if not isinstance(x, jax.core.Tracer) else x.nothing).says == ()


def test_the_same_value_on_another_input_is_not_enough(tiny: Path) -> None:
    def right_for_two(x: Any) -> Any:  # the planted answer fails with two numbers, this one with five
        return 2 * x if len(x) == 2 else x * x

    assert first_failure(tiny, right_for_two).says == ()


def test_two_planted_answers_that_a_check_cannot_tell_apart_are_both_named(tiny: Path) -> None:
    edit(
        tiny,
        "solutions/tiny.py",
        '@wrong(rejected_by="works_under_jit"',
        '@wrong(rejected_by="twice_the_input")\ndef to_the_power_of_two(x):\n    return x**2\n\n\n'
        '@wrong(rejected_by="works_under_jit"',
    )
    failure = first_failure(tiny, lambda x: x * x)
    assert failure.misconceptions == ("squares", "to_the_power_of_two")
    assert failure.says == ("Squares instead of doubling.", "to the power of two")


def test_a_check_does_not_name_what_the_answer_does_not_do(tiny: Path) -> None:
    edit(
        tiny,
        "exercises/tiny.py",
        "expect_close(answer(x), FACTOR * x)",
        'expect_close(answer(x), FACTOR * x, misconception="squares")',
    )
    assert first_failure(tiny, lambda x: 3 * x).says == ()
    assert first_failure(tiny, lambda x: x * x).misconceptions == ("squares",)


def test_what_a_check_itself_saw_is_named_without_the_key(tiny: Path) -> None:
    said = "It gives back what it gets."
    body = f'''    got = answer(x)
        expect_that(abs(got[0] - x[0]) > 0, "Should double.", got, misconception="{said}")
        expect_close(got, FACTOR * x)'''
    edit(tiny, "exercises/tiny.py", "    expect_close(answer(x), FACTOR * x)", body)
    edit(tiny, "exercises/tiny.py", "    expect_no_key_problem,\n", "    expect_no_key_problem,\n    expect_that,\n")
    exercise = load_course(tiny, keys=False).exercise("double")
    for function, says in ((lambda x: x, (said,)), (lambda x: 3 * x, ())):
        failure = Judging(exercise).judge(LocalAnswer("double", function, {})).first_failure
        assert failure is not None
        assert failure.says == says
    assert first_failure(tiny, lambda x: x).says == (said,)


DRAWS = '''
@visible(double, stage="keys", kind="observed")
def draws_once(answer, draw):
    """It draws once."""
    seen = answer.observe(draw.floats(2))
    expect_that(seen.lines == [], "It should print nothing.", seen.lines, [])
    expect_that(answer.program(draw.floats(2)).primitives.get("mul", 0) == 0, "It should not multiply.")


@visible(double, stage="jit"'''


def test_of_observations_and_programs_what_was_observed_counts(tiny: Path) -> None:
    edit(tiny, "exercises/tiny.py", '@visible(double, stage="jit"', DRAWS.lstrip())
    edit(tiny, "exercises/tiny.py", "    expect_no_key_problem,\n", "    expect_no_key_problem,\n    expect_that,\n")
    planted = {
        "prints": "    print('twice')\n    return x + x",
        "multiplies": "    return x * 2",
        "multiplies_twice": "    return x * 4 * 0.5",
    }
    for name, body in planted.items():
        edit(
            tiny,
            "solutions/tiny.py",
            "@alternative\n",
            f'@wrong(rejected_by="draws_once")\ndef {name}(x):\n{body}\n\n\n@alternative\n',
        )

    def twice(x: Any) -> Any:
        print("twice")
        return x + x

    def says_other(x: Any) -> Any:
        print("other")
        return x + x

    assert first_failure(tiny, twice).misconceptions == ("prints",)
    assert first_failure(tiny, says_other).misconceptions == ()
    assert first_failure(tiny, lambda x: 2 * x).misconceptions == ("multiplies",)
    assert first_failure(tiny, lambda x: 8 * x * 0.25).misconceptions == ("multiplies_twice",)
