"""Define exercises: contract, starter, checks, hints and key."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jaxguide.course.verdict import Kind


class AuthorError(Exception):
    """A mistake in a book or a key, described in one sentence with file and line; `others` were found with it."""

    def __init__(self, path: Path | str, line: int, message: str):
        self.path, self.line, self.message = path, line, message
        self.others: list[AuthorError] = []
        super().__init__(f"{path}:{line}: {message}")


class Mistakes:
    """Collect an author's mistakes, to report all of them at once."""

    def __init__(self) -> None:
        self.found: list[AuthorError] = []

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Go on after the block if it raises an AuthorError."""
        try:
            yield
        except AuthorError as error:
            self.found += [error, *error.others]

    def tell(self) -> None:
        """Raise the first mistake, with the others, if there is one."""
        if self.found:
            first, *first.others = self.found
            raise first


@dataclasses.dataclass(frozen=True)
class Check:
    """One check of one exercise: a function that tests an answer, and the words for when it fails."""

    name: str
    fact: str
    function: Callable[..., None]
    stage: str
    kind: Kind
    weight: float
    required: bool
    idea: str
    on: str
    misconception: str
    reproduces: tuple[str, ...]
    hidden: bool
    line: int
    path: Path


@dataclasses.dataclass(frozen=True)
class Planted:
    """An answer in the key: the right one, an alternative, or a wrong one with the check that must reject it.

    `source` defines the exercise's function; it runs in a student's namespace, after the lesson's setup. An answer that
    `misses_the_point` may keep only the points that its exercise `keeps`.
    """

    name: str
    source: str
    line: int
    path: Path
    rejected_by: str = ""
    says: str = ""
    misses_the_point: bool = False

    @property
    def sentence(self) -> str:
        """What it gets wrong: the author's sentence, or else its name in words."""
        return self.says or self.name.replace("_", " ")


@dataclasses.dataclass
class ExerciseKey:
    """The key's part for one exercise. `equivalent` has mutants that are right, too, each with the author's reason."""

    answer: Planted
    wrong: list[Planted]
    alternatives: list[Planted]
    hidden: list[Check]
    equivalent: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Task:
    """The task that an exercise sets: everything that can be read from the book without running it.

    Args:
        contract: the docstring.
        starter_source: the function that students start from.
        cell_source: the whole cell as students get it, without the author's decorator.
        headings: the headings above it in its lesson, without the lesson's title.
        line: the line of its decorator in the book.
        lesson: the topic of the book.
        path: the book.
        keeps, why_keeps: the share of the points that an answer may keep although it misses the point, and the reason.
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
    keeps: float = 0.0
    why_keeps: str = ""


@dataclasses.dataclass
class Exercise(Task):
    """One exercise of a book that has been run, with its visible checks; `key` is set after the key is loaded.

    `x64` says whether its checks run with 64-bit types, None for those of the process.
    """

    checks: list[Check] = dataclasses.field(default_factory=list)
    reveal: Callable[[], Any] | None = None
    key: ExerciseKey | None = None
    x64: bool | None = None

    def all_checks(self) -> list[Check]:
        return [*self.checks, *(self.key.hidden if self.key else [])]
