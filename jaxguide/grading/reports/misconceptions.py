"""What a class misunderstands: which misconceptions its failures point to, how often, and an example of each."""

import collections
import dataclasses

from jaxguide.base.clean import clean
from jaxguide.base.text import _
from jaxguide.course.verdict import CheckResult, ExerciseResult, Verdict
from jaxguide.grading.batch.batch_result import BatchResult


@dataclasses.dataclass(frozen=True)
class Example:
    """One failure: whose, and what was seen."""

    student: str
    result: ExerciseResult
    check: CheckResult


@dataclasses.dataclass(frozen=True)
class Misconception:
    """One cause of failures.

    Args:
        names: the planted wrong answers that fail so, in words; several where the check cannot tell which it was.
        says: what is behind it, in a sentence; '' where the key does not say.
        idea: the idea that the failed check tells students of.
        is_named: it was a check that found it, not an exception or a limit, which may have many causes.
        students: who met it.
        exercises: the titles of the exercises where they did.
        example: one failure, from a visible check where there is one.
    """

    names: tuple[str, ...]
    says: str
    idea: str
    is_named: bool
    students: tuple[str, ...]
    exercises: tuple[str, ...]
    example: Example


def misconceptions_of(batch: BatchResult) -> list[Misconception]:
    """Return what the class's failures point to, the most frequent first.

    Only the first failure of an exercise counts, since what comes after it may have the same cause.
    """
    groups: dict[tuple[str, ...], list[Example]] = collections.defaultdict(list)
    for submission in batch.counted:
        for result in submission.results:
            failure = result.first_failure
            if failure is not None and result.name not in submission.not_graded:
                groups[_names(failure)].append(Example(submission.student, result, failure))
    found = [_misconception(names, examples) for names, examples in groups.items()]
    return sorted(found, key=lambda one: (-len(one.students), one.names))


def _misconception(names: tuple[str, ...], examples: list[Example]) -> Misconception:
    # The same in whatever order the files come; visible checks first, since examples are shown round.
    example = min(examples, key=lambda one: (one.check.hidden, not one.check.got, one.result.name, one.student))
    return Misconception(
        names=names,
        says=next((one.check.misconception for one in examples if _is_sentence(one.check.misconception, names)), ""),
        idea=example.check.idea,
        is_named=example.check.verdict is Verdict.FAILED,
        students=tuple(sorted({one.student for one in examples})),
        exercises=tuple(dict.fromkeys(one.result.title for one in sorted(examples, key=lambda one: one.result.name))),
        example=example,
    )


def _is_sentence(says: str, names: tuple[str, ...]) -> bool:
    return bool(says) and misconception_in_words(says) not in names


def _names(failure: CheckResult) -> tuple[str, ...]:
    """Say what a failure points to, by what is known of it: a misconception, an exception, a limit, the check."""
    if failure.verdict is Verdict.ERROR and failure.error is not None:
        return (_("raised {name}").format(name=clean(failure.error.type_name, 60)),)
    if failure.verdict is not Verdict.FAILED:
        return (failure.verdict.value,)
    if failure.misconceptions:
        return tuple(misconception_in_words(name) for name in failure.misconceptions)
    if failure.misconception:
        return (misconception_in_words(failure.misconception),)
    return (_("fails: {fact}").format(fact=clean(failure.fact or failure.name, 200)),)


def misconception_in_words(name: str) -> str:
    """Return a misconception's name as words.

    >>> misconception_in_words("one_key_for_all_rows")
    'one key for all rows'
    """
    return clean(name, 200).replace("_", " ")
