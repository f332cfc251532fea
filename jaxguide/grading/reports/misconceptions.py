"""Misconceptions in a class: how many answers fail as a planted wrong answer does, with an example."""

import collections
import dataclasses

from jaxguide.base.clean import clean
from jaxguide.course.verdict import CheckResult, ExerciseResult, Verdict
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.keys.problems import IN_WORDS


@dataclasses.dataclass(frozen=True)
class Example:
    """One failed check of one student."""

    student: str
    result: ExerciseResult
    check: CheckResult


@dataclasses.dataclass(frozen=True)
class Misconception:
    """What several answers get wrong.

    Args:
        names: what the planted wrong answers do that fail in this way, in the author's sentences; several if the check
            cannot tell them apart. If there are none, the problem in the use of keys, the exception, the limit or the
            check, in words.
        idea: the idea that the failed check shows to students.
        is_named: whether a check failed or a planted wrong answer does the same. An exception or a limit alone can have
            many causes.
        answers: the number of answers, one for each student and exercise.
        students: the students who gave them.
        exercises: the titles of the exercises in which they failed.
        example: one failure, from a check that students may see in full if possible.
    """

    names: tuple[str, ...]
    idea: str
    is_named: bool
    answers: int
    students: tuple[str, ...]
    exercises: tuple[str, ...]
    example: Example


def misconceptions_of(batch: BatchResult) -> list[Misconception]:
    """Return the misconceptions of a class, the most frequent first.

    An answer counts once, with its first failure, since later ones may have the same cause.
    """
    groups: dict[tuple[str, ...], list[Example]] = collections.defaultdict(list)
    for submission in batch.counted:
        for result in submission.results:
            failure = result.first_failure
            if failure is not None and result.name not in submission.not_graded:
                groups[_names(failure)].append(Example(submission.student, result, failure))
    found = [_misconception(names, examples) for names, examples in groups.items()]
    return sorted(found, key=lambda one: (-one.answers, one.names))


def _misconception(names: tuple[str, ...], examples: list[Example]) -> Misconception:
    # Do not depend on the order of the files; prefer what students may see, since instructors show it to the class.
    example = min(examples, key=lambda one: (one.check.hidden, not one.check.got, one.result.name, one.student))
    return Misconception(
        names=names,
        idea=example.check.idea,
        is_named=bool(example.check.says) or example.check.verdict is Verdict.FAILED,
        answers=len(examples),
        students=tuple(sorted({one.student for one in examples})),
        exercises=tuple(dict.fromkeys(one.result.title for one in sorted(examples, key=lambda one: one.result.name))),
        example=example,
    )


def _names(failure: CheckResult) -> tuple[str, ...]:
    """Name what a failure points to: a misconception, or else a reused key, an exception, a limit or the check."""
    if failure.says:
        return tuple(clean(sentence, 200) for sentence in failure.says)
    if failure.names_cause and (problem := failure.compared.replace(" ", "_")) in IN_WORDS:
        return (IN_WORDS[problem],)
    if failure.verdict is Verdict.ERROR and failure.error is not None:
        return (f"raised {clean(failure.error.type_name, 60)}",)
    if failure.verdict is not Verdict.FAILED:
        return (failure.verdict.value,)
    return (f"fails: {clean(failure.fact or failure.name, 200)}",)
