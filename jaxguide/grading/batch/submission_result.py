"""The result of one submission, as `results.json` and the store record it."""

import dataclasses
import enum
from collections.abc import Collection
from pathlib import Path
from typing import Any

from jaxguide.base.plain import plain_of, read_plain
from jaxguide.course.cards.shown import result_from_plain, result_to_plain
from jaxguide.course.verdict import ExerciseResult
from jaxguide.grading.intake.student_names import joined


class State(enum.StrEnum):
    """The state of a row of a batch. Only `GRADED` and `UNREADABLE` are final."""

    GRADED = "graded"
    UNREADABLE = "unreadable"
    NOT_GRADED = "not graded"
    ABSENT = "absent"
    SUPERSEDED = "superseded"

    @property
    def word(self) -> str:
        """The word for this state in reports and in the terminal."""
        return {State.UNREADABLE: "not readable", State.SUPERSEDED: "replaced"}.get(self, self.value)


class CellState(enum.StrEnum):
    """What happened to a cell."""

    RAN = "ran"
    FAILED = "failed"
    LEFT_OUT = "left out"
    NOT_PYTHON = "not Python"
    REJECTED = "rejected"
    AS_PRINTED = "as printed"
    EMPTY = "empty"


@dataclasses.dataclass(frozen=True)
class CellFact:
    """What happened to one cell while one lesson was graded.

    Args:
        lesson: the lesson's name.
        number: the cell's position among the file's code cells, from 1.
        label: the cell's name in reports.
        fate: what happened to the cell.
        why: the error it raised or the reason it did not run, or '' if it ran.
        magics: the IPython lines that were removed from it.
        answers: the exercises whose names it defines; a name defined by several cells is a duplicate.
        counts: the exercises among `answers` for which this cell's definition counts.
    """

    lesson: str
    number: int
    label: str
    fate: CellState
    why: str = ""
    magics: list[str] = dataclasses.field(default_factory=list)
    answers: list[str] = dataclasses.field(default_factory=list)
    counts: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class SubmissionResult:
    """The result of one file.

    Args:
        path: the file's path; for a file in an archive, the archive's path followed by the path inside it.
        student: the student who submitted it.
        members: all students who submitted it together; [] if the student was alone.
        state: whether the file has marks, and if not, why.
        digest: SHA-256 of the file's bytes as hexadecimal digits, or '' if they could not be read.
        lessons: the lessons that the file answers.
        results: the results of all exercises of these lessons.
        repairs: notes on code that was left out or repaired; if absent, on what the student handed in instead.
        cells: what happened to each cell.
        fingerprints: exercise -> fingerprint of the answer, see `jaxguide.grading.batch.similarity`.
        unreadable: why the file could not be read, or None.
        not_graded: exercise -> why the grader could not grade it, through no fault of the student. The name '' gives
            the reason why nothing was graded.
        course_digest: digest of the course and the JAX version, see `course_state_digest`.
        versions: the versions of Python, jax, jaxlib, numpy and jaxguide in the worker.
        cpu_s: processor time of the workers.
        wall_s: elapsed time.
        memory_bytes: the most memory that a worker needed beyond what it needs before it runs code.
    """

    path: Path
    student: str
    state: State = State.GRADED
    digest: str = ""
    lessons: list[str] = dataclasses.field(default_factory=list)
    results: list[ExerciseResult] = dataclasses.field(default_factory=list)
    repairs: list[str] = dataclasses.field(default_factory=list)
    cells: list[CellFact] = dataclasses.field(default_factory=list)
    fingerprints: dict[str, str] = dataclasses.field(default_factory=dict)
    unreadable: str | None = None
    not_graded: dict[str, str] = dataclasses.field(default_factory=dict)
    course_digest: str = ""
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    cpu_s: float = 0.0
    wall_s: float = 0.0
    memory_bytes: int = 0
    members: list[str] = dataclasses.field(default_factory=list)

    @property
    def score(self) -> float:
        """The sum of the scores."""
        return round(sum((one.score for one in self.results), 0.0), 2)

    @property
    def points(self) -> float:
        """The most points that its exercises give."""
        return sum(one.points for one in self.results) or 0.0

    @property
    def submitted_by(self) -> str:
        """The names of all students who submitted it."""
        return joined(self.members) or self.student

    @property
    def is_complete(self) -> bool:
        """Whether every exercise has a mark."""
        return self.state is State.GRADED and self.unreadable is None and not self.not_graded

    @property
    def above_the_points(self) -> list[ExerciseResult]:
        """The exercises whose score exceeds their points, which is possible only through an instructor's override."""
        return [one for one in self.results if one.score > round(one.points, 2)]  # the grader rounds the same way

    def of_exercises(self, names: Collection[str]) -> "SubmissionResult":
        """Return the result of the same file for these exercises alone."""
        return dataclasses.replace(
            self,
            results=[one for one in self.results if one.name in names],
            not_graded={name: why for name, why in self.not_graded.items() if not name or name in names},
        )

    def to_plain(self) -> dict[str, Any]:
        """Return the record as JSON data. A score is None if there is no mark, and a revealed value is its text.

        >>> ada = SubmissionResult(Path("ada.ipynb"), "ada", State.UNREADABLE, unreadable="The file is empty.")
        >>> ada.to_plain()["score"], SubmissionResult.from_plain(ada.to_plain()) == ada
        (None, True)
        """
        exercises = [result_to_plain(one) for one in self.results]
        return {
            **{name: plain_of(getattr(self, name)) for name in _PLAIN},
            "path": str(self.path) if self.path.name else "",
            "score": self.score if self.is_complete else None,
            "points": self.points,
            "exercises": [one | ({"score": None} if one["name"] in self.not_graded else {}) for one in exercises],
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "SubmissionResult":
        """Build a result from the data of `to_plain`; parts that only later versions write may be missing.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: the data is damaged.
        """
        exercises = [one | {"score": one["score"] or 0.0} for one in plain["exercises"]]
        known = {name: plain[name] for name in _PLAIN if name in plain or name not in _OPTIONAL}
        found: SubmissionResult = read_plain(cls, {"path": "", **known})
        found.path = Path(plain["path"])
        found.results = [result_from_plain(one) for one in exercises]
        return found


_PLAIN = [field.name for field in dataclasses.fields(SubmissionResult) if field.name not in ("path", "results")]
_OPTIONAL = ("members", "course_digest", "versions")
