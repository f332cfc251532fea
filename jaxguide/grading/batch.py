"""A batch of submissions: what it came to."""

import dataclasses
from typing import Any

from jaxguide.course.draw import DEFAULT_SEED
from jaxguide.grading.result import State, SubmissionResult
from jaxguide.grading.usage import Limits


@dataclasses.dataclass(frozen=True)
class Override:
    """Points that an instructor gives in place of the grader's.

    Args:
        student, exercise: whose, and for what.
        points: the points that count.
        comment: what the instructor says to it.
        was: the grader's own points, None where it gave none.
    """

    student: str
    exercise: str
    points: float
    comment: str = ""
    was: float | None = None


@dataclasses.dataclass
class BatchResult:
    """Everything that reports are made from; the same record gives the same reports.

    Args:
        submissions: a row for each file and each absent student, in the order of their paths, absent students last.
        course_name: of the course's folder, '' for the course that comes with the package.
        course_digest: of what decided.
        seed: what every input derives from.
        limits: what one exercise could use.
        tier: the name of the isolation tier, '' where no code ran.
        layers: its layers as plain data.
        versions: of Python, jax, jaxlib, numpy and jaxguide.
        complete: whether every exercise of every file that counts has a mark.
        all_or_nothing: no partial marks were given.
        only: the exercises that alone were graded, None for all.
        roster: the students of the course by their names, None where no roster was given.
        unknown: students that handed in and are not on the roster.
        similar: groups of answers that are near-identical, as information.
        overrides: those that were applied.
    """

    submissions: list[SubmissionResult]
    course_name: str = ""
    course_digest: str = ""
    seed: int = DEFAULT_SEED
    limits: Limits = dataclasses.field(default_factory=Limits)
    tier: str = ""
    layers: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    complete: bool = True
    all_or_nothing: bool = False
    only: list[str] | None = None
    roster: list[str] | None = None
    unknown: list[str] = dataclasses.field(default_factory=list)
    similar: list[Any] = dataclasses.field(default_factory=list)
    overrides: list[Override] = dataclasses.field(default_factory=list)

    @property
    def counted(self) -> list[SubmissionResult]:
        """The rows that marks are of: all but superseded files."""
        return [one for one in self.submissions if one.state is not State.SUPERSEDED]
