"""Test that a later check that names the cause of wrong values is shown, and decides nothing."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxguide.course.books.library import load_course
from jaxguide.course.cards import Card, result_from_plain, result_to_plain
from jaxguide.course.exercise import Exercise
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.evaluate import Request
from jaxguide.course.judging.judge import Judging
from jaxguide.course.verdict import AnswerGone, CheckFailed, ExerciseResult, Kind, Verdict

BOOK = '''\
# %% check
from jaxguide.course.author import exercise, expect_close, expect_different, expect_no_key_problem, expect_that, visible

# %% [markdown]
# # Noise

# %%
import jax
import jax.numpy as jnp

# %% exercise
@exercise(title="Two draws", points=4, hints=[])
def two_draws(key, n):
    """Return two independent draws."""
    ...

# %% check
@visible(two_draws)
def draws_differ(answer, draw):
    """The two draws differ."""
    first, second = answer(draw.key(), 3)
    expect_different(first, second, "They are the same.")


@visible(two_draws, required=False)
def draws_are_floats(answer, draw):
    """The draws are floats."""
    expect_that(answer(draw.key(), 3)[0].dtype == "float32", "These are no floats.")


@visible(two_draws, stage="jit")
def draws_any_number(answer, draw):
    """It draws any number."""
    answer(draw.key(), 5)


@visible(two_draws, stage="keys")
def keys_are_fresh(answer, draw):
    """No key is used twice."""
    expect_no_key_problem(answer.key_use(draw.key(), 3))


@visible(two_draws, stage="cost", misconception="zeros_for_noise")
def noise_is_drawn(answer, draw):
    """Noise is drawn."""
    program = answer.program(draw.key(), 3)
    expect_that("sin" not in program.primitives, "A sine is no noise.")
    drawn = any("random" in name for name in program.primitives)
    expect_that(drawn, "Nothing is drawn.", misconception="zeros_for_noise")


@visible(two_draws, stage="cost")
def program_is_short(answer, draw):
    """The program is short."""
    answer.program(draw.key(), 3)
'''
KEY = '''\
# %%
import jax
import jax.numpy as jnp
from jaxguide.course.author import answer, expect_no_key_problem, expect_that, hidden, wrong

# %% two_draws
@answer
def two_draws(key, n):
    first, second = jax.random.split(key)
    return jax.random.normal(first, (n,)), jax.random.normal(second, (n,))


@wrong(rejected_by="draws_differ", says="Nothing is random.")
def zeros_for_noise(key, n):
    return jnp.zeros(n), jnp.zeros(n)


@hidden()
def second_draw_is_no_zero(answer, draw):
    """The second draw is not 0."""
    expect_that(answer(draw.key(), 4)[1].any(), "It is 0.")


@hidden(stage="keys")
def keys_are_fresh_for_other_sizes(answer, draw):
    """No key is used twice for another size."""
    expect_no_key_problem(answer.key_use(draw.key(), 5))
'''


def right(key: Any, n: int) -> Any:
    first, second = jax.random.split(key)
    return jax.random.normal(first, (n,)), jax.random.normal(second, (n,))


def one_key_for_both(key: Any, n: int) -> Any:
    return jax.random.normal(key, (n,)), jax.random.normal(key, (n,))


def same_draw(key: Any, n: int) -> Any:
    noise = jax.random.normal(key, (n,))
    return noise, noise


def zeros(key: Any, n: int) -> Any:
    return jnp.zeros(n), jnp.zeros(n)


def sines(key: Any, n: int) -> Any:
    return jnp.sin(jnp.zeros(n)), jnp.sin(jnp.zeros(n))


@pytest.fixture
def two_draws(tmp_path: Path) -> Exercise:
    for folder, text in (("exercises", BOOK), ("solutions", KEY)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "noise.py").write_text(text)
    return load_course(tmp_path).exercise("two_draws")


def judged(exercise: Exercise, function: Callable[..., Any], hidden: bool = False, **options: Any) -> ExerciseResult:
    """Judge a function; looking for the cause must change nothing that counts."""
    answer, reference = LocalAnswer("two_draws", function, {}), LocalAnswer("two_draws", right, {}) if hidden else None
    found = Judging(exercise, reference=reference, find_cause=True, **options).judge(answer)
    plain = Judging(exercise, reference=reference, **options).judge(answer)
    assert [check.verdict for check in found.checks] == [check.verdict for check in plain.checks]
    assert (found.verdict, found.score) == (plain.verdict, plain.score)
    assert found.first_failure == plain.first_failure
    assert plain.leading == plain.first_failure
    return found


def leading(result: ExerciseResult) -> str:
    return result.leading.name if result.leading else ""


def afterwards(result: ExerciseResult) -> dict[str, Verdict]:
    return {check.name: check.after_failure for check in result.checks if check.after_failure is not None}


def test_a_key_used_twice_leads_over_the_wrong_values(two_draws: Exercise) -> None:
    result = judged(two_draws, one_key_for_both)
    assert result.first_failure is not None
    assert (result.first_failure.name, leading(result)) == ("draws_differ", "keys_are_fresh")
    assert (result.verdict, result.score) == (Verdict.FAILED, 0)
    _verdict, first, *_rest = Card(result).text(200).splitlines()
    assert result.leading is not None
    assert result.leading.message.startswith(first.strip())
    assert "✗ failed       The two draws differ." in Card(result).text(200)


def test_wrong_values_lead_if_the_keys_are_right(two_draws: Exercise) -> None:
    result = judged(two_draws, same_draw)
    assert leading(result) == "draws_differ"
    assert afterwards(result) == {"keys_are_fresh": Verdict.PASSED, "noise_is_drawn": Verdict.PASSED}


def test_a_program_leads_only_if_it_shows_the_misconception_that_its_check_declares(two_draws: Exercise) -> None:
    assert leading(judged(two_draws, zeros)) == "noise_is_drawn"
    result = judged(two_draws, sines)
    assert leading(result) == "draws_differ"
    assert afterwards(result) == {"keys_are_fresh": Verdict.PASSED}


def test_what_points_a_check_after_a_failure_would_have_earned_it_does_not_earn(two_draws: Exercise) -> None:
    for check in two_draws.checks:
        object.__setattr__(check, "required", check.name == "draws_are_floats")
    result = judged(two_draws, same_draw)
    assert (result.verdict, result.score) == (Verdict.PARTLY_RIGHT, 0.67)  # 1 of 6 checks


def test_after_an_error_a_wrong_form_or_an_observed_failure_nothing_is_looked_for(two_draws: Exercise) -> None:
    def raises(key: Any, n: int) -> Any:
        return one_key_for_both(key, n)[2]

    def one_draw(key: Any, n: int) -> Any:
        return one_key_for_both(key, n)[:1]

    for function in (raises, one_draw):
        assert afterwards(judged(two_draws, function)) == {}
    checks = [dataclasses.replace(check, kind=Kind.OBSERVED) for check in two_draws.checks]
    assert afterwards(judged(dataclasses.replace(two_draws, checks=checks), one_key_for_both)) == {}


def test_a_later_check_that_cannot_handle_the_value_stays_not_checked(two_draws: Exercise) -> None:
    def fails(answer: Any, draw: Any) -> None:
        answer.key_use(draw.key(), 3)
        raise ValueError("no such row")

    def is_written_by_hand(answer: Any, draw: Any) -> None:
        answer.key_use(draw.key(), 3)
        raise CheckFailed("This may be an effect of the value.")

    for function in (fails, is_written_by_hand):
        checks = [dataclasses.replace(c, function=function) if c.stage == "keys" else c for c in two_draws.checks]
        result = judged(dataclasses.replace(two_draws, checks=checks), one_key_for_both)
        assert (leading(result), "keys_are_fresh" in afterwards(result)) == ("draws_differ", False)


class Asked(LocalAnswer):
    """Notes what it is asked, and ends at one question."""

    questions: list[str]
    last: int

    def _ask(self, request: Request) -> dict[str, Any]:
        self.questions.append(request.question)
        if len(self.questions) == self.last:
            raise AnswerGone(Verdict.OUT_OF_TIME, "Out of time.")
        return super()._ask(request)


@pytest.mark.parametrize("last", [2, 3])
def test_a_stop_ends_the_looking_and_changes_nothing(two_draws: Exercise, last: int) -> None:
    results = []
    for find_cause in (False, True):
        answer = Asked("two_draws", one_key_for_both, {})
        answer.questions, answer.last = [], last
        results.append(Judging(two_draws, find_cause=find_cause).judge(answer))
    assert answer.questions == ["value", "value", "key_use"][:last]
    assert results[0] == results[1]


def test_hidden_checks_never_name_a_cause(two_draws: Exercise) -> None:
    result = judged(two_draws, one_key_for_both, hidden=True)
    assert leading(result) == "keys_are_fresh"
    assert {check.hidden for check in result.checks if check.after_failure} == {False}


def test_a_visible_check_may_name_the_cause_of_what_a_hidden_one_found(two_draws: Exercise) -> None:
    def second_is_zero(key: Any, n: int) -> Any:
        first, second = one_key_for_both(key, n)
        return first, jnp.zeros(n) if n == 4 else second + 1

    result = judged(two_draws, second_is_zero, hidden=True)
    assert result.first_failure is not None
    assert (result.first_failure.hidden, leading(result)) == (True, "keys_are_fresh")


def test_it_crosses_as_plain_data(two_draws: Exercise) -> None:
    result = judged(two_draws, one_key_for_both)
    assert result_from_plain(result_to_plain(result)) == result
    old = result_to_plain(result)
    for check in old["checks"]:
        del check["after_failure"], check["names_cause"]
    assert leading(result_from_plain(old)) == "draws_differ"
