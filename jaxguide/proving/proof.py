"""What proving a course gives: problems, notes, verdicts, and how much was tried."""

import dataclasses
from pathlib import Path
from typing import Any

from jaxguide.course.books.digest import course_digest
from jaxguide.course.books.library import Course
from jaxguide.course.exercise import Exercise, Planted
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import CheckResult, ExerciseResult, Verdict
from jaxguide.proving.rewording import STARTERS


@dataclasses.dataclass(frozen=True)
class Problem:
    """Something that is missing or wrong in a book or key; `details` are lines for below the message."""

    path: Path
    line: int
    message: str
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"

    def to_plain(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "path": str(self.path), "details": list(self.details)}


def what_is(planted: Planted, exercise: Exercise) -> str:
    """Return how messages call one of an exercise's planted answers."""
    assert exercise.key is not None
    if planted.name in STARTERS:
        return f"the starter of `{exercise.name}`{STARTERS[planted.name]}"
    if planted is exercise.key.answer:
        return "the key's answer"
    return f"the {'wrong' if planted.rejected_by else 'right'} answer `{planted.name}`"


def call_and_values(failure: CheckResult | None) -> tuple[str, ...]:
    """Return lines that show the call behind a failure, what it gave and what was expected."""
    if failure is None:
        return ()
    rows = (
        ("Call", failure.call),
        ("Got", failure.got),
        (failure.label or "Found", failure.compared),
        ("Expected", failure.expected),
        ("Line", failure.error.source if failure.error else ""),
    )
    return tuple(f"{name}: {value}" for name, value in rows if value)


@dataclasses.dataclass(frozen=True)
class Kept:
    """The points that a planted wrong answer keeps although it misses the point of its exercise."""

    exercise: str
    answer: str
    kept: float
    points: float


@dataclasses.dataclass(frozen=True)
class Verdicts:
    """The verdicts on an answer and on each check of it, and its points."""

    verdict: Verdict
    score: float
    checks: dict[str, Verdict]

    @classmethod
    def of(cls, result: ExerciseResult) -> "Verdicts":
        return cls(result.verdict, result.score, {check.name: check.verdict for check in result.checks})


@dataclasses.dataclass(frozen=True)
class ProofSettings:
    """How answers are judged.

    Args:
        seeds: the number of seeds to judge the key's answers with; others get one less, but at least one. No verdict
            may depend on the seed.
        limits: the limits of one answer; in this process, only `cpu` and `idle` hold.
        course_digest: the digest from which graders derive the hidden inputs of the first seed; see `Draw.hidden`.
    """

    seeds: int = 2
    limits: Limits = dataclasses.field(default_factory=Limits)
    course_digest: str = ""

    @classmethod
    def of_course(cls, course: Course, seeds: int = 2) -> "ProofSettings":
        """Return the settings with which graders judge answers to a course, for a first seed that they use, too."""
        return cls(seeds, course.settings.limits, course_digest(course))


@dataclasses.dataclass
class Proof:
    """The proof of a course: the problems found, and how much was tried.

    `advice` are notes on what good teaching needs, and `notes` the others.
    `reproduced` are documented examples, each proven by itself.
    `verdicts` has those on each answer with the first seed, by the names of exercise and answer. `cpu_s` is the
    processor time of all judging, and `key_cpu_s` that of judging the key's answers once.
    """

    problems: list[Problem] = dataclasses.field(default_factory=list)
    notes: list[Problem] = dataclasses.field(default_factory=list)
    advice: list[Problem] = dataclasses.field(default_factory=list)
    exercises: int = 0
    predictions: int = 0
    checks: int = 0
    hidden_checks: int = 0
    wrong: int = 0
    alternatives: int = 0
    judged: int = 0
    seeds: int = 0
    cpu_s: float = 0.0
    key_cpu_s: float = 0.0
    reproduced: set[str] = dataclasses.field(default_factory=set)
    kept: list[Kept] = dataclasses.field(default_factory=list)
    verdicts: dict[tuple[str, str], Verdicts] = dataclasses.field(default_factory=dict)

    def add(self, other: "Proof") -> None:
        """Add the proof of other exercises, made with as many seeds."""
        for name in [field.name for field in dataclasses.fields(self) if field.name != "seeds"]:
            mine, others = getattr(self, name), getattr(other, name)
            setattr(self, name, mine | others if isinstance(mine, set | dict) else mine + others)

    @property
    def share_kept(self) -> float:
        """The share of the points that answers keep although they miss the point."""
        return sum(one.kept for one in self.kept) / max(sum(one.points for one in self.kept), 1e-9)

    def to_plain(self) -> dict[str, Any]:
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del plain["verdicts"]
        return {
            **plain,
            **{name: [one.to_plain() for one in getattr(self, name)] for name in ("problems", "notes", "advice")},
            "reproduced": sorted(self.reproduced),
            "kept": [dataclasses.asdict(one) for one in self.kept],
            "cpu_s": round(self.cpu_s, 3),
            "key_cpu_s": round(self.key_cpu_s, 3),
        }
