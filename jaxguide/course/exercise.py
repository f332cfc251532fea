"""What an exercise is: its contract, its starter, its checks, its hints, and its key."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxguide.course.verdict import Kind


class AuthorError(Exception):
    """A mistake in a book or a key, said in one sentence with its file and line."""

    def __init__(self, path: Path | str, line: int, message: str):
        self.path, self.line, self.message = path, line, message
        super().__init__(f"{path}:{line}: {message}")


@dataclasses.dataclass(frozen=True)
class Check:
    """One check of one exercise: a function of an answer, and what is said when it fails."""

    name: str
    fact: str
    function: Callable[..., None]
    stage: str
    kind: Kind
    weight: float
    required: bool
    idea: str
    misconception: str
    reproduces: tuple[str, ...]
    hidden: bool
    line: int
    path: Path


@dataclasses.dataclass(frozen=True)
class Planted:
    """An answer that the key plants: the right one, another right one, or a wrong one with what must reject it.

    `source` defines the exercise's name in the namespace of a student who has run the lesson's setup.
    """

    name: str
    source: str
    line: int
    path: Path
    rejected_by: str = ""
    says: str = ""


@dataclasses.dataclass
class ExerciseKey:
    """What the key holds for one exercise."""

    answer: Planted
    wrong: list[Planted]
    alternatives: list[Planted]
    hidden: list[Check]


@dataclasses.dataclass
class Task:
    """What an exercise asks of a student: all of it that can be read in the book, without running anything.

    Args:
        contract: the docstring.
        starter_source: the function that students begin with.
        cell_source: the cell that it is printed in, without the author's mark.
        headings: what it stands under in its lesson, below the lesson's title.
        line: where its mark is in the book.
        lesson: the topic of the book.
        path: the book.
    """

    name: str
    title: str
    points: float
    hints: tuple[str, ...]
    reproduces: tuple[str, ...]
    why_so_many: str
    is_prediction: bool
    signature: str
    contract: str
    starter_source: str
    cell_source: str
    headings: tuple[str, ...]
    line: int
    lesson: str
    path: Path


@dataclasses.dataclass
class Exercise(Task):
    """One exercise of a book that was run, with its visible checks; `key` is there once a key was loaded."""

    checks: list[Check] = dataclasses.field(default_factory=list)
    reveal: Callable[[], Any] | None = None
    key: ExerciseKey | None = None

    def all_checks(self) -> list[Check]:
        return [*self.checks, *(self.key.hidden if self.key else [])]
