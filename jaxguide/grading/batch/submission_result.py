"""What one submission came to, as a record that JSON carries without loss."""

import base64
import dataclasses
import enum
import sys
from pathlib import Path
from typing import Any

from jaxguide.course.judging.draw import DEFAULT_SEED
from jaxguide.course.verdict import CheckResult, ErrorInfo, ExerciseResult, Kind, Verdict
from jaxguide.grading.workers import wire


class State(enum.StrEnum):
    """What a row of a batch stands for. Only `GRADED` and `UNREADABLE` are final: the others have no marks."""

    GRADED = "graded"
    UNREADABLE = "unreadable"
    NOT_GRADED = "not graded"
    ABSENT = "absent"
    SUPERSEDED = "superseded"


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
        seed: what every input derives from.
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
    seed: int = DEFAULT_SEED
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

    def to_plain(self) -> dict[str, Any]:
        """Return everything as JSON data; `from_plain` gives an equal record back.

        >>> ada = SubmissionResult(Path("ada.ipynb"), "ada", score=1 / 3)
        >>> SubmissionResult.from_plain(ada.to_plain()) == ada
        True
        """
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        plain.update(path=str(self.path), state=self.state.value, results=[_exercise(one) for one in self.results])
        return plain

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "SubmissionResult":
        """Build a result again from what `to_plain` returned."""
        results = [_exercise_from(one) for one in plain["results"]]
        return cls(**{**plain, "path": Path(plain["path"]), "state": State(plain["state"]), "results": results})


def _exercise(result: ExerciseResult) -> dict[str, Any]:
    plain = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    reveal = None if result.reveal is None else base64.b64encode(wire.encode(result.reveal)).decode("ascii")
    checks = [_check(check) for check in result.checks]
    return {**plain, "verdict": result.verdict.value, "reveal": reveal, "checks": checks}


def _exercise_from(plain: dict[str, Any]) -> ExerciseResult:
    reveal = None if plain["reveal"] is None else wire.decode(base64.b64decode(plain["reveal"]))
    checks = [_check_from(check) for check in plain["checks"]]
    return ExerciseResult(
        **{**_shared(plain), "verdict": Verdict(plain["verdict"]), "reveal": reveal, "checks": checks}
    )


def _check(check: CheckResult) -> dict[str, Any]:
    plain = {field.name: getattr(check, field.name) for field in dataclasses.fields(check)}
    changed = {"kind": check.kind.value, "verdict": check.verdict.value, "misconceptions": list(check.misconceptions)}
    return {**plain, **changed, "error": check.error and check.error.to_plain()}


# What a course says of each check and exercise: one copy for a class of any size.
_SAID_BY_THE_COURSE = ("name", "title", "lesson", "fact", "stage", "idea", "misconception")


def _shared(plain: dict[str, Any]) -> dict[str, Any]:
    return {key: sys.intern(value) if key in _SAID_BY_THE_COURSE else value for key, value in plain.items()}


def _check_from(plain: dict[str, Any]) -> CheckResult:
    changed = {
        "kind": Kind(plain["kind"]),
        "verdict": Verdict(plain["verdict"]),
        "misconceptions": tuple(map(sys.intern, plain["misconceptions"])),
        "error": plain["error"] and ErrorInfo.from_plain(plain["error"]),
    }
    return CheckResult(**{**_shared(plain), **changed})
