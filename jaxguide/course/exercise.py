"""Define exercises: contract, starter, checks, hints and key."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from jaxguide.base.text import plural
from jaxguide.course.verdict import Kind

F = TypeVar("F", bound=Callable[..., Any])


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
    hidden: bool
    line: int
    path: Path
    kind: Kind
    required: bool
    stage: str = "value"
    weight: float = 1.0
    idea: str = ""
    on: str = ""
    misconception: str = ""
    reproduces: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Planted:
    """An answer in the key: the right one, an alternative, or a wrong one with the check that must reject it.

    `source` defines the exercise's function; it runs in a student's namespace, after the lesson's setup. An answer that
    `misses_the_point` may keep only the points that its exercise `keeps`. One that `lacks` a documented example
    reproduces the exercise's others. Of the right one, `notice` says what to notice in it, and `another_way` what
    another way costs.
    """

    name: str
    source: str
    line: int
    path: Path
    rejected_by: str = ""
    says: str = ""
    misses_the_point: bool = False
    lacks: str = ""
    notice: str = ""
    another_way: str = ""

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
        contract_line: the line in the book at which its text begins, 0 without one.
        starter_source: the function that students start from.
        cell_source: the whole cell as students get it, without the author's decorator.
        headings: the headings above it in its lesson, without the lesson's title.
        line: the line of its decorator in the book.
        lesson: the topic of the book.
        path: the book.
        keeps, why_keeps: the share of the points that an answer may keep although it misses the point, and the reason.
        core, minutes: whether it is marked as core, and the time that it takes, 0 if the book does not say.
        is_more: whether its lesson marks a core, to which it does not belong.
    """

    name: str
    title: str
    points: float
    hints: tuple[str, ...]
    is_prediction: bool
    signature: str
    contract: str
    contract_line: int
    starter_source: str
    cell_source: str
    headings: tuple[str, ...]
    line: int
    lesson: str
    path: Path
    reproduces: tuple[str, ...] = ()
    follows: dict[str, tuple[str, str]] | None = None
    why_so_many: str = ""
    keeps: float = 0.0
    why_keeps: str = ""
    core: bool = False
    minutes: float = 0.0
    is_more: bool = False

    @property
    def worth(self) -> str:
        """The points in words, and whether it goes beyond the core: '2 points, beyond the core'."""
        return plural("{count} point", "{count} points", self.points) + (", beyond the core" if self.is_more else "")

    @property
    def full_title(self) -> str:
        """The title after "Exercise:" or "Prediction:", unless it says itself what to do: 'Repair: the leak'."""
        kind = "Prediction" if self.is_prediction else "Exercise"
        return self.title if ": " in self.title else f"{kind}: {self.title}"


def exercise(
    *,
    title: str,
    points: float = 1,
    hints: Sequence[str] = (),
    reproduces: Sequence[str] = (),
    follows: dict[str, tuple[str, str]] | None = None,
    why_so_many: str = "",
    keeps: float = 0,
    why_keeps: str = "",
    core: bool = False,
    minutes: float = 0,
) -> Callable[[F], F]:
    """Declare the function below to be an exercise: its signature, contract and starter.

    Args:
        title: a few words.
        points: the points that it is worth.
        hints: none, or best in this order: a question, the concept with a link, a skeleton with a blank and a worked
            sibling: Python that runs after the lesson's cells and solves a similar task.
        reproduces: ids of the documented examples that its checks reproduce.
        follows: those of them that cannot be right if another is not, each with the other and the reason.
        why_so_many: the reason, if there are more than four ids.
        keeps: the share of the points that a wrong answer may keep although it misses the point, at most 0.3.
        why_keeps: the reason, if that is more than nothing.
        core: whether it belongs to the core of its lesson; a lesson that marks none is all core.
        minutes: the time that it takes.
    """
    return lambda function: function


def prediction(
    *, title: str, points: float = 1, hints: Sequence[str] = (), core: bool = False, minutes: float = 0
) -> Callable[[F], F]:
    """Declare the function below, which takes no arguments, to be a prediction; `reveal` computes the answer."""

    return lambda function: function


@dataclasses.dataclass
class Exercise(Task):
    """One exercise of a book that has been run, with its visible checks; `key` is set after the key is loaded.

    Of a prediction, `why` says why JAX gives what `reveal` returns, and the code in `shows` shows it. `x64` says
    whether its checks run with 64-bit types, None for those of the process.
    """

    checks: list[Check] = dataclasses.field(default_factory=list)
    reveal: Callable[[], Any] | None = None
    why: str = ""
    shows: str = ""
    key: ExerciseKey | None = None
    x64: bool | None = None

    def all_checks(self) -> list[Check]:
        return [*self.checks, *(self.key.hidden if self.key else [])]

    @property
    def files(self) -> list[Path]:
        """The book and, once it is loaded, the key."""
        return [self.path, *([self.key.answer.path] if self.key else [])]
