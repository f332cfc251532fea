"""Find near-identical answers in a class, as information for the instructor, never as a verdict."""

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from jaxguide.grading.batch.submission_result import SubmissionResult

ALIKE_FROM = 0.8
_DIGITS = 12
# With fewer answers, it is not clear which ones are common.
_SMALL_CLASS = 5


@dataclasses.dataclass(frozen=True)
class SimilarGroup:
    """Students whose answers to one exercise are near-identical.

    Args:
        exercise: the exercise's name.
        students: two or more names, sorted; the members of a group are one of them.
        share: the lowest overlap among the similar pairs that form the group, from 0 to 1.
        says: `share` in words.
    """

    exercise: str
    students: list[str]
    share: float
    says: str


def similar_groups(submissions: Iterable[SubmissionResult]) -> list[SimilarGroup]:
    """Return the groups of near-identical answers to each exercise, the most similar first.

    If 5 or more students answered an exercise, answers shared by more than half of them are common and not reported.
    """
    answers: dict[str, dict[str, frozenset[str]]] = {}
    for one in submissions:
        for exercise, runs in one.fingerprints.items():
            answers.setdefault(exercise, {})[one.submitted_by] = _runs_in(runs)
    found = [group for exercise, own in answers.items() for group in _groups(exercise, own)]
    return sorted(found, key=lambda group: (-group.share, group.exercise, group.students))


def fingerprint(runs: Iterable[int]) -> str:
    """Return the hashes of the runs of words in an answer as text, with 12 hexadecimal digits for each.

    >>> fingerprint([7, 255])
    '0000000000070000000000ff'
    """
    return "".join(f"{run:0{_DIGITS}x}" for run in runs)


def _runs_in(text: str) -> frozenset[str]:
    return frozenset(text[start : start + _DIGITS] for start in range(0, len(text), _DIGITS))


def _groups(exercise: str, answers: Mapping[str, frozenset[str]]) -> Iterator[SimilarGroup]:
    equal: dict[frozenset[str], list[str]] = {}
    for student, runs in answers.items():
        equal.setdefault(runs, []).append(student)
    most = len(answers) / 2 if len(answers) >= _SMALL_CLASS else len(answers)
    usual = {runs for runs, students in equal.items() if len(students) > most}
    different = [runs for runs in equal if runs not in usual]
    pairs = list(_alike(different))
    group = {number: {number} for number in range(len(different))}
    for first, second, _share in pairs:
        if group[first] is not group[second]:
            both = group[first] | group[second]
            group.update(dict.fromkeys(both, both))
    for numbers in {min(numbers): numbers for numbers in group.values()}.values():
        students = [student for number in numbers for student in equal[different[number]]]
        if 2 <= len(students) <= most:
            share = round(min((share for first, _second, share in pairs if first in numbers), default=1.0), 2)
            says = "identical" if share == 1 else f"{int(100 * share)} % in common"
            yield SimilarGroup(exercise, sorted(students), share, says)


def _alike(answers: Sequence[frozenset[str]]) -> Iterator[tuple[int, int, float]]:
    """Yield the pairs of answers that overlap enough, with their overlap.

    Two sets that overlap this much share at least one of the rarest runs of each, so only those are looked up. A class
    of a thousand is compared in seconds.
    """
    count = collections.Counter(run for runs in answers for run in runs)
    having: dict[str, list[int]] = {}
    for number, runs in enumerate(answers):
        rarest = sorted(runs, key=lambda run: (count[run], run))
        looked_up = rarest[: len(runs) - int(ALIKE_FROM * len(runs)) + 1]
        for other in sorted({other for run in looked_up for other in having.get(run, ())}):
            share = len(runs & answers[other]) / len(runs | answers[other])
            if share >= ALIKE_FROM:
                yield other, number, share
        for run in looked_up:
            having.setdefault(run, []).append(number)
