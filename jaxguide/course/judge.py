"""Judge an answer to an exercise: run its checks in order and decide verdict and marks."""

import inspect
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxguide.course import verdict
from jaxguide.course.answer import Answer
from jaxguide.course.draw import DEFAULT_SEED, Draw
from jaxguide.course.exercise import Check, Exercise
from jaxguide.course.values import ArrayData, Data, Unsupported, describe_type, show, to_data
from jaxguide.course.verdict import (
    STAGES,
    AnswerGone,
    CheckFailed,
    CheckResult,
    ExerciseResult,
    Kind,
    NotJudged,
    StudentError,
    Verdict,
)
from jaxguide.text import _

_GONE = (Verdict.ERROR, Verdict.OUT_OF_TIME, Verdict.OUT_OF_MEMORY, Verdict.DIED)


def judge(
    exercise: Exercise,
    answer: Answer | None,
    *,
    seed: int = DEFAULT_SEED,
    reference: Answer | None = None,
    all_or_nothing: bool = False,
) -> ExerciseResult:
    """Run an exercise's checks on an answer.

    Args:
        exercise: what is asked; its hidden checks run only with a `reference`.
        answer: the student's function, or None where it was not attempted.
        seed: what every input derives from.
        reference: the key's answer.
        all_or_nothing: no partial marks.

    Returns:
        The verdict, the marks, and the outcome of every check, in the order they ran.
    """
    checks = ordered(exercise, hidden=reference is not None)
    required = _required(checks)
    results = [_result(check, exercise, check.name in required) for check in checks]
    outcome = ExerciseResult(
        name=exercise.name,
        title=exercise.title,
        lesson=exercise.lesson,
        points=exercise.points,
        verdict=Verdict.NOT_ATTEMPTED,
        score=0.0,
        seed=seed,
        checks=results,
    )
    if answer is None:
        return outcome
    if exercise.reveal is not None:
        return _judge_prediction(exercise, answer, outcome)
    failed_at = len(STAGES)
    for check, result in zip(checks, results, strict=True):
        if STAGES.index(check.stage) > failed_at:
            continue
        gone = _run(check, result, exercise, answer, reference, seed)
        if not result.passed:
            failed_at = min(failed_at, STAGES.index(check.stage))
        if gone:
            break
    outcome.score = verdict.score(exercise.points, results, all_or_nothing)
    outcome.verdict = _verdict(outcome)
    outcome.printed = answer.log.printed
    return outcome


def ordered(exercise: Exercise, hidden: bool) -> list[Check]:
    """Return an exercise's checks in the order in which they run: by stage, visible ones first."""
    checks = exercise.all_checks() if hidden else exercise.checks
    return sorted(checks, key=lambda check: (STAGES.index(check.stage), check.hidden))


def _required(checks: list[Check]) -> set[str]:
    """Return the names of the checks without which nothing is earned.

    Where a contract fixes no value, the relations that stand in its place are required.
    """
    required = {check.name for check in checks if check.required}
    if not any(check.kind is Kind.VALUE and check.stage == "value" for check in checks):
        required |= {c.name for c in checks if c.kind is Kind.RELATION and c.stage == "value"}
    return required


def _result(check: Check, exercise: Exercise, required: bool) -> CheckResult:
    return CheckResult(
        name=check.name,
        fact=check.fact,
        stage=check.stage,
        kind=check.kind,
        weight=check.weight,
        hidden=check.hidden,
        verdict=Verdict.NOT_CHECKED,
        required=required,
    )


def _run(
    check: Check, result: CheckResult, exercise: Exercise, answer: Answer, reference: Answer | None, seed: int
) -> bool:
    """Run one check and fill in its result; return whether the answer is gone."""
    answer.log.request = None
    given: dict[str, Any] = {"answer": answer, "draw": Draw(seed, exercise.name, check.name), "reference": reference}
    try:
        _call(check.function, given)
    except CheckFailed as failure:
        result.verdict = Verdict.FAILED
        result.message, result.got, result.expected = failure.message, failure.got, failure.expected
        _name_misconceptions(result, check, exercise, failure.misconception)
    except StudentError as failure:
        result.verdict = Verdict.ERROR
        is_stopped = failure.info.type_name == "KeyboardInterrupt"
        result.error = failure.info
        result.message = _error_sentence(failure)
        if failure.info.type_name == "MemoryError" or "RESOURCE_EXHAUSTED" in failure.info.message:
            result.verdict = Verdict.OUT_OF_MEMORY
            result.message = _("It asked for more memory than there is.")
        _name_misconceptions(result, check, exercise)
        # The idea behind a check says little of an exception, unless the check is about a transformation.
        result.idea = check.idea if check.stage in ("jit", "traces", "gradient") else ""
        result.call = answer.log.last
        return is_stopped
    except AnswerGone as gone:
        result.verdict, result.message = gone.verdict, gone.note
        result.call = answer.log.last
        return True
    except NotJudged:
        raise
    except (MemoryError, OSError) as error:
        # The student's own arrive as a StudentError: these are this machine's.
        raise NotJudged(f"{type(error).__name__}: {error}") from error
    except Exception as error:
        # `verify` proves each check on right answers, so what a check cannot handle is the form of this answer's value.
        if answer.log.request is None:
            raise
        result.verdict, result.got = Verdict.FAILED, show(answer.log.value)
        result.message = _("What your function returned has another form than the contract asks for.")
        if answer.log.value is None:
            result.message = _("Your function returned None. Is the `return` missing?")
        result.trouble = _trouble(error)
        _name_misconceptions(result, check, exercise)
    else:
        result.verdict = Verdict.PASSED
        return False
    result.idea = check.idea
    result.call = answer.log.last
    return False


def _trouble(error: Exception) -> str:
    """Write a check's own exception for its author."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"


def _call(function: Callable[..., None], given: dict[str, Any]) -> None:
    function(**{name: given[name] for name in inspect.signature(function).parameters})


def _error_sentence(failure: StudentError) -> str:
    if failure.info.type_name == "SystemExit":
        return _("Your code called sys.exit(), which ends the program. Return the value instead.")
    if failure.info.type_name == "KeyboardInterrupt":
        return _("The check was stopped while your code ran.")
    if failure.info.type_name == "NotImplementedError" and not failure.info.message:
        return _("Your code raised NotImplementedError: this part is not written yet.")
    return _("Your code raised {name}: {message}").format(name=failure.info.type_name, message=failure.info.message)


def _name_misconceptions(result: CheckResult, check: Check, exercise: Exercise, named: str = "") -> None:
    """Say which planted wrong answers a failure points to: the one it names, or all that the check rejects."""
    wrong = {p.name: p.says for p in exercise.key.wrong if p.rejected_by == check.name} if exercise.key else {}
    named = named or check.misconception
    result.misconceptions = (named,) if named in wrong else tuple(wrong)
    says = [wrong[name] for name in result.misconceptions if wrong[name]]
    # In a sentence, where there is one: the check's own words, or the key's of the only answer that it rejects.
    result.misconception = named if named not in wrong else ""
    if not result.misconception and len(says) == 1:
        result.misconception = says[0]


def _verdict(outcome: ExerciseResult) -> Verdict:
    failure = outcome.first_failure
    if failure is None:
        return Verdict.PASSED
    if failure.verdict in _GONE[1:]:
        return failure.verdict
    if outcome.score > 0:
        return Verdict.PARTLY_RIGHT
    return failure.verdict if failure.verdict in _GONE else Verdict.FAILED


def _judge_prediction(exercise: Exercise, answer: Answer, outcome: ExerciseResult) -> ExerciseResult:
    """Give the points for an answered prediction, and show what JAX gives."""
    assert exercise.reveal is not None
    try:
        guess = answer()
    except StudentError as failure:
        outcome.verdict, outcome.note = Verdict.ERROR, _error_sentence(failure)
        return outcome
    except AnswerGone as gone:
        outcome.verdict, outcome.note = gone.verdict, gone.note
        return outcome
    if guess is None or guess is Ellipsis or isinstance(guess, Unsupported):
        return outcome
    live = to_data(exercise.reveal())
    guess = _as_python(guess)
    if type(guess) is not type(live):
        message = _("Your guess is {got}; it should be {expected}. Nothing is locked yet: guess again.")
        outcome.note = message.format(got=describe_type(guess), expected=describe_type(live))
        return outcome
    outcome.reveal, outcome.note = live, show(guess)
    outcome.verdict, outcome.score = Verdict.PASSED, exercise.points
    return outcome


def _as_python(guess: Data) -> Data:
    """Return an array scalar as the Python scalar that it stands for."""
    return guess.values.item() if isinstance(guess, ArrayData) and guess.shape == () else guess


def guessed_right(outcome: ExerciseResult) -> bool:
    """Return whether a prediction's guess is what JAX gives."""
    return outcome.note == show(outcome.reveal)
