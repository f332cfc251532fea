"""A book: one lesson as percent-format Python, read into cells and exercises."""

import ast
import contextlib
import dataclasses
import functools
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jaxguide.course import author
from jaxguide.course.author import Mark
from jaxguide.course.declared import EXERCISE_MARKS, add_check, exercise_node, function_line, make_check, make_exercise
from jaxguide.course.exercise import AuthorError, Exercise
from jaxguide.course.slices import Statement, global_names, needed, statements
from jaxguide.course.source import Cell, parse_cells, run_cell
from jaxguide.text import _

_KINDS = {None: "example", "[markdown]": "prose", "exercise": "exercise", "check": "check"}


@dataclasses.dataclass
class Book:
    """One lesson: its cells in order, its exercises, and the names that it gives to students."""

    topic: str
    path: Path
    cells: list[Cell]
    exercises: list[Exercise]
    namespace: dict[str, Any]

    @property
    def title(self) -> str:
        """The first heading of the prose."""
        for cell in self.cells:
            match = re.search(r"^# (.+)$", cell.prose, re.MULTILINE) if cell.kind == "prose" else None
            if match:
                return match[1]
        return self.topic

    @functools.cached_property
    def given(self) -> list[Statement]:
        """The statements that a student gets: of example cells, and of exercise cells all but the exercise."""
        found = []
        for cell in self.cells:
            if cell.kind == "example":
                found += statements(cell.source, cell.line + 1)
            elif cell.kind == "exercise":
                found += [s for s in statements(cell.source, cell.line + 1) if not s.binds & self.exercise_names]
        return found

    @functools.cached_property
    def exercise_names(self) -> frozenset[str]:
        return frozenset(exercise.name for exercise in self.exercises)

    def setup_source(self, names: Iterable[str]) -> str:
        """Return the code that must run before an answer: imports, given definitions, and what defines `names`."""
        wanted = {*names, *self._given_in_exercises, *self._sent_by_name}
        return "\n".join(s.source for s in needed(self.given, wanted)) + "\n"

    # Each answer is run in a namespace of its own, and asks for these anew: a book is parsed for them once.
    @functools.cached_property
    def _sent_by_name(self) -> set[str]:
        """Return the functions of example cells that a check names, in code or in quotes."""
        named: set[str] = set()
        for cell in self.cells:
            if cell.kind == "check":
                named |= global_names(cell.source)
                nodes = ast.walk(ast.parse(cell.source))
                named |= {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        return {name for s in self.given if s.is_definition for name in s.binds & named}

    @functools.cached_property
    def _given_in_exercises(self) -> set[str]:
        cells = [cell for cell in self.cells if cell.kind == "exercise"]
        found = [s for cell in cells for s in statements(cell.source)]
        return {name for s in found for name in s.binds} - self.exercise_names

    @functools.cached_property
    def exercise_setup_names(self) -> frozenset[str]:
        """Return the names that the exercises' starters read from the lesson."""
        return frozenset().union(*(global_names(e.starter_source) for e in self.exercises))

    @property
    def names(self) -> Mapping[str, Any]:
        """The functions that may be sent to an answer by name."""
        return {name: value for name, value in self.namespace.items() if callable(value)}

    def student_namespace(self, names: Iterable[str] = ()) -> dict[str, Any]:
        """Return a new namespace in which the lesson's setup has run, as a worker makes it."""
        namespace: dict[str, Any] = {"__name__": "__main__"}
        source = self.setup_source({*names, *self.exercise_setup_names})
        # An example may print while it defines a name; that is nobody's output here.
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, f"<setup {self.topic}>", "exec"), namespace)
        return namespace


def load_book(path: Path) -> Book:
    """Read a book and run what its checks and exercises need of it.

    Raises:
        AuthorError: something in it is wrong; file, line and one sentence.
    """
    cells = parse_cells(path, _KINDS)
    specs = {id(cell): exercise_node(path, cell) for cell in cells if cell.kind == "exercise"}
    names = frozenset(node.name for node, _decorator in specs.values())
    book = Book(path.stem, path, cells, [], {"__name__": "__main__"})
    book.exercise_names = names
    with author.collecting() as marks:
        _run(book)
    exercises = {}
    for cell in cells:
        if cell.kind != "exercise":
            continue
        node, _decorator = specs[id(cell)]
        mark = next(m for m in marks if m.role in EXERCISE_MARKS and m.function.__name__ == node.name)
        exercise = make_exercise(book.topic, path, cell, node, mark)
        if exercise.name in exercises:
            raise AuthorError(path, exercise.line, _("the exercise `{name}` stands twice").format(name=exercise.name))
        exercises[exercise.name] = exercise
    predictions = {m.function.__name__ for m in marks if m.role == "prediction"}
    for mark in marks:
        if mark.role == "visible":
            exercise = _target(path, mark, exercises)
            add_check(exercise.checks, make_check(path, mark, is_hidden=False))
        elif mark.role == "reveal":
            _add_reveal(path, mark, exercises, predictions)
    book.exercises = list(exercises.values())
    for exercise in book.exercises:
        _finish(exercise, predictions)
    return book


def _run(book: Book) -> None:
    """Run the exercise and check cells, and of the example cells what those need."""
    code = [cell for cell in book.cells if cell.kind in ("exercise", "check")]
    wanted = set().union(*(global_names(cell.source) for cell in code)) | book._sent_by_name
    kept = {(s.line, s.source) for s in needed(book.given, wanted)}
    for cell in book.cells:
        if cell.kind in ("exercise", "check"):
            run_cell(book.path, cell.source, cell.line + 1, book.namespace)
        elif cell.kind == "example":
            for statement in statements(cell.source, cell.line + 1):
                if (statement.line, statement.source) in kept:
                    run_cell(book.path, statement.source, statement.line, book.namespace)


def _target(path: Path, mark: Mark, exercises: Mapping[str, Exercise]) -> Exercise:
    target = mark.options["target"]
    name = target if isinstance(target, str) else getattr(target, "__name__", "?")
    if name not in exercises:
        message = _("the check `{check}` names the exercise `{name}`, which this book does not have")
        raise AuthorError(path, function_line(mark), message.format(check=mark.function.__name__, name=name))
    return exercises[name]


def _add_reveal(path: Path, mark: Mark, exercises: Mapping[str, Exercise], predictions: set[str]) -> None:
    exercise = _target(path, mark, exercises)
    if exercise.name not in predictions:
        message = _("`@reveal` belongs to a prediction, and `{name}` is an exercise in code")
        raise AuthorError(path, function_line(mark), message.format(name=exercise.name))
    exercise.reveal = mark.function


def _finish(exercise: Exercise, predictions: set[str]) -> None:
    """Check that an exercise is whole."""

    def wrong(message: str) -> AuthorError:
        return AuthorError(exercise.path, exercise.line, message.format(name=exercise.name))

    if len(exercise.hints) < 3:
        message = _("`{name}` has {count} hints; it needs three: a question, the concept with a link, a skeleton")
        raise wrong(message.replace("{count}", str(len(exercise.hints))))
    if not exercise.contract:
        raise wrong(_("`{name}` has no docstring; it is the contract that students read"))
    if exercise.name in predictions:
        if exercise.reveal is None:
            raise wrong(_("the prediction `{name}` has no `@reveal` in a check cell"))
        if exercise.signature != "()":
            raise wrong(_("the prediction `{name}` must take no arguments"))
    elif not exercise.checks:
        raise wrong(_("`{name}` has no visible check; add a check cell below it"))
