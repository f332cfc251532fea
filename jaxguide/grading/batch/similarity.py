"""Find near-identical answers in a class, as information for the instructor, never as a verdict."""

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from jaxguide.grading.batch.submission_result import SubmissionResult

ALIKE_FROM = 0.8
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
    answers: dict[str, dict[str, frozenset[int]]] = {}
    for one in submissions:
        for exercise, runs in one.fingerprints.items():
            answers.setdefault(exercise, {})[one.submitted_by] = frozenset(runs)
    found = [group for exercise, own in answers.items() for group in _groups(exercise, own)]
    return sorted(found, key=lambda group: (-group.share, group.exercise, group.students))


def _groups(exercise: str, answers: Mapping[str, frozenset[int]]) -> Iterator[SimilarGroup]:
    equal: dict[frozenset[int], list[str]] = {}
    for student, runs in answers.items():
        equal.setdefault(runs, []).append(student)
    most = len(answers) / 2 if len(answers) >= _SMALL_CLASS else len(answers)
    usual = {runs for runs, students in equal.items() if len(students) > most}
    different = [runs for runs in equal if runs not in usual]
    joined = list(range(len(different)))
    shares: dict[int, float] = {}

    def root(number: int) -> int:
        while joined[number] != number:
            number = joined[number]
        return number

    for first, second, share in _alike(different):
        low, high = sorted((root(first), root(second)))
        joined[high] = low
        shares[low] = min(share, shares.get(low, 1.0), shares.get(high, 1.0))
    members: dict[int, list[str]] = {}
    for number, runs in enumerate(different):
        members.setdefault(root(number), []).extend(equal[runs])
    for number, students in members.items():
        if 2 <= len(students) <= most:
            share = round(shares.get(number, 1.0), 2)
            says = "identical" if share == 1 else f"{int(100 * share)} % in common"
            yield SimilarGroup(exercise, sorted(students), share, says)


def _alike(answers: Sequence[frozenset[int]]) -> Iterator[tuple[int, int, float]]:
    """Yield the pairs of answers that overlap enough, with their overlap.

    Two sets that overlap this much share at least one of the rarest runs of each, so only those are looked up. A class
    of a thousand is compared in seconds.
    """
    count = collections.Counter(run for runs in answers for run in runs)
    having: dict[int, list[int]] = {}
    for number, runs in enumerate(answers):
        rarest = sorted(runs, key=lambda run: (count[run], run))
        looked_up = rarest[: len(runs) - int(ALIKE_FROM * len(runs)) + 1]
        for other in sorted({other for run in looked_up for other in having.get(run, ())}):
            share = len(runs & answers[other]) / len(runs | answers[other])
            if share >= ALIKE_FROM:
                yield other, number, share
        for run in looked_up:
            having.setdefault(run, []).append(number)
