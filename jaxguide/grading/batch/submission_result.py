"""What one submission came to, as a record that JSON carries without loss."""

import base64
import dataclasses
import enum
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxguide.course.judging import plain_result
from jaxguide.course.judging.values import Data
from jaxguide.course.verdict import ExerciseResult
from jaxguide.grading.workers import wire


class State(enum.StrEnum):
    """What a row of a batch stands for. Only `GRADED` and `UNREADABLE` are final: the others have no marks."""

    GRADED = "graded"
    UNREADABLE = "unreadable"
    NOT_GRADED = "not graded"
    ABSENT = "absent"
    SUPERSEDED = "superseded"


def _packed(data: Data) -> str:
    return base64.b64encode(wire.encode(data)).decode("ascii")


def _unpacked(text: str) -> Data:
    return wire.decode(base64.b64decode(text))


@dataclasses.dataclass
class SubmissionResult:
    """What one file came to.

    Args:
        path: the file; of a file in an archive, the archive's path and the file's in it.
        student: whose it is.
        state: whether there are marks, and if not, why.
        digest: SHA-256 of the file's bytes in hexadecimal digits; '' where they could not be read.
        lessons: the lessons that it answers.
        results: every exercise of these lessons.
        score, points: the sums.
        repairs: what was left out or mended.
        cells: what became of each cell, as plain data (`jaxguide.grading.batch.cell_fates`).
        fingerprints: exercise -> what tells the answer from others' (`jaxguide.grading.batch.similarity`).
        unreadable: why nothing could be graded, else None.
        not_graded: exercises for which the grader, not the student, is to blame: name -> why. Under the name '' stands
            why nothing at all was graded.
        tier: the name of the isolation tier that held, '' where no code ran.
        layers: the tier's layers as plain data: what each keeps off, whether it held, why not.
        course_digest: of the contracts, checks, keys and the JAX version that decided.
        versions: of Python, jax, jaxlib, numpy and jaxguide in the worker.
        habits: for each exercise what the student's workspace recorded, as plain data (`grading.batch.habits`).
        cpu_s, wall_s: processor time of its workers, and time on the clock.
        memory_bytes: the most that one of its workers held at once and shared with no other process.
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
    tier: str = ""
    layers: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    course_digest: str = ""
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    habits: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    cpu_s: float = 0.0
    wall_s: float = 0.0
    memory_bytes: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether every exercise has a mark."""
        return self.state is State.GRADED and self.unreadable is None and not self.not_graded

    @property
    def above_the_points(self) -> list[ExerciseResult]:
        """Exercises with more points than they give, which only an instructor's override has."""
        return [one for one in self.results if one.score > round(one.points, 4)]  # the grader's points are rounded so

    def to_plain(self, write: Callable[[Data], str] = _packed) -> dict[str, Any]:
        """Return everything as JSON data; `from_plain` gives an equal record back.

        Args:
            write: writes a revealed value as text, by default without loss.

        >>> ada = SubmissionResult(Path("ada.ipynb"), "ada", score=1 / 3)
        >>> SubmissionResult.from_plain(ada.to_plain()) == ada
        True
        """
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        results = [plain_result.to_plain(one, write) for one in self.results]
        return {**plain, "path": str(self.path), "state": self.state.value, "results": results}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], read: Callable[[str], Data] = _unpacked) -> "SubmissionResult":
        """Build a result again from what `to_plain` returned; `read` reads what its `write` wrote."""
        results = [plain_result.from_plain(one, read) for one in plain["results"]]
        return cls(**{**plain, "path": Path(plain["path"]), "state": State(plain["state"]), "results": results})
