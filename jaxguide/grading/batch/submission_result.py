"""The result of one submission, as a record that converts to JSON and back without loss."""

import base64
import dataclasses
import enum
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from jaxguide.course.judging.values import Data
from jaxguide.course.verdict import ExerciseResult
from jaxguide.grading.intake.student_names import joined
from jaxguide.grading.workers import wire

# Fields that earlier versions recorded.
_OF_EARLIER_VERSIONS = ("withheld_repairs", "habits", "tier", "layers")


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


def _packed(data: Data) -> str:
    return base64.b64encode(wire.encode(data)).decode("ascii")


def _unpacked(text: str) -> Data:
    return wire.decode(base64.b64decode(text))


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
        score, points: the sums over `results`.
        repairs: notes on code that was left out or repaired; if absent, on what the student handed in instead.
        cells: a `CellFact` for each cell, as plain data.
        fingerprints: exercise -> fingerprint of the answer (`jaxguide.grading.batch.similarity`).
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
    score: float = 0.0
    points: float = 0.0
    repairs: list[str] = dataclasses.field(default_factory=list)
    cells: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    fingerprints: dict[str, list[int]] = dataclasses.field(default_factory=dict)
    unreadable: str | None = None
    not_graded: dict[str, str] = dataclasses.field(default_factory=dict)
    course_digest: str = ""
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    cpu_s: float = 0.0
    wall_s: float = 0.0
    memory_bytes: int = 0
    members: list[str] = dataclasses.field(default_factory=list)

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
        results = [one for one in self.results if one.name in names]
        return dataclasses.replace(
            self,
            results=results,
            not_graded={name: why for name, why in self.not_graded.items() if not name or name in names},
            score=round(sum(one.score for one in results), 2),
            points=sum(one.points for one in results),
        )

    def to_plain(self, write: Callable[[Data], str] = _packed) -> dict[str, Any]:
        """Return the record as JSON data, which `from_plain` converts back to an equal record.

        Args:
            write: converts a revealed value to text, by default without loss.

        >>> ada = SubmissionResult(Path("ada.ipynb"), "ada", score=1 / 3)
        >>> SubmissionResult.from_plain(ada.to_plain()) == ada
        True
        """
        results = [one.to_plain(write) for one in self.results]
        return {**vars(self), "path": str(self.path), "state": self.state.value, "results": results}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], read: Callable[[str], Data] = _unpacked) -> "SubmissionResult":
        """Build a result from the output of `to_plain`; `read` must be the inverse of its `write`."""
        results = [ExerciseResult.from_plain(one, read) for one in plain["results"]]
        plain = {name: value for name, value in plain.items() if name not in _OF_EARLIER_VERSIONS}
        return cls(**{**plain, "path": Path(plain["path"]), "state": State(plain["state"]), "results": results})
