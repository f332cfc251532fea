"""Load a book: one lesson as percent-format Python, with its cells and exercises."""

import ast
import contextlib
import dataclasses
import functools
import io
import linecache
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jaxguide import compat
from jaxguide.code.slices import Statement, bound_names, global_names, left_out, needed, statements
from jaxguide.course import author
from jaxguide.course.author import Declaration
from jaxguide.course.books.book_text import check_whole, read_tasks, title_of
from jaxguide.course.books.declarations import make_check
from jaxguide.course.books.documented_cells import DocumentedCell, documented_cells
from jaxguide.course.books.first_cells import INSTALL_CELL
from jaxguide.course.books.outline import Lesson
from jaxguide.course.books.percent import BOOK_KINDS, PercentCell, check_syntax, parse_cells, run_cell
from jaxguide.course.exercise import AuthorError, Exercise, Mistakes
from jaxguide.course.judging.evaluate import given_files
from jaxguide.course.settings import read_settings


@dataclasses.dataclass(eq=False)
class Book(Lesson):
    """A lesson whose book has been run, with its cells in order and its namespace.

    `documented` are its documented examples, `read_by_inputs` the names that inputs of the key read, and `x64` says
    whether its code runs with 64-bit types, None for those of the process.
    """

    exercises: list[Exercise]
    cells: list[PercentCell]
    namespace: dict[str, Any]
    documented: list[DocumentedCell]
    read_by_inputs: frozenset[str] = frozenset()
    x64: bool | None = None

    @functools.cached_property
    def given(self) -> list[Statement]:
        """What students get: imports of the printed lesson, example cells, and exercise cells but for the exercises."""
        found = [s for s in statements(INSTALL_CELL) if s.is_import]
        for cell in self.cells:
            if cell.kind == "example":
                found += statements(cell.source, cell.line + 1)
            elif cell.kind == "exercise":
                found += [s for s in statements(cell.source, cell.line + 1) if not s.binds & self.exercise_names]
        return found

    def setup_source(self, names: Iterable[str]) -> str:
        """Return the code that must run before an answer: imports, and given definitions that it and `names` need."""
        wanted = {*names, *self._needed, *self.read_by_inputs}
        return "\n".join(s.source for s in needed(self.given, wanted)) + "\n"

    @property
    def left_out(self) -> list[tuple[Statement, frozenset[str]]]:
        """The statements that change what exercises need and that do not run with answers; see `slices.left_out`."""
        answers = [exercise.key.answer.source for exercise in self.exercises if exercise.key is not None]
        return left_out(self.given, self._needed.union(self.read_by_inputs, *map(global_names, answers)))

    # Cached: each answer runs in a new namespace and needs these names, but parsing the book once is enough.
    @functools.cached_property
    def _sent_by_name(self) -> set[str]:
        """Return the functions of example cells that a check names, in code or in a string."""
        named: set[str] = set()
        for cell in self.cells:
            if cell.kind == "check":
                named |= global_names(cell.source)
                nodes = ast.walk(ast.parse(cell.source))
                named |= {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        return {name for s in self.given if s.is_definition for name in s.binds & named}

    @functools.cached_property
    def _needed(self) -> frozenset[str]:
        """The names that all answers get: those that starters read, exercise cells define and checks send by name."""
        cells = [cell for cell in self.cells if cell.kind == "exercise"]
        defined = {name for cell in cells for s in statements(cell.source) for name in s.binds} - self.exercise_names
        return frozenset(defined).union(self._sent_by_name, *(global_names(e.starter_source) for e in self.exercises))

    @property
    def names(self) -> Mapping[str, Any]:
        """The functions that can be passed to an answer by name."""
        return {name: value for name, value in self.namespace.items() if callable(value)}


def run_answer(
    book: Book, source: str, filename: str = "<submission answer>", also: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Run an answer's source in a new student namespace, which has the names `also`, too, and return the namespace."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    setup = compile(book.setup_source(global_names(source) | also), f"<setup {book.topic}>", "exec")
    with compat.float64(book.x64):
        # Discard what an example prints while it defines a name.
        with contextlib.redirect_stdout(io.StringIO()):
            exec(setup, namespace)
        exec(compile(source, filename, "exec"), namespace)
    return namespace


def load_book(path: Path) -> Book:
    """Read a book and run the code that its checks and exercises need.

    Raises:
        AuthorError: the book has a mistake.
    """
    cells = parse_cells(path, BOOK_KINDS)
    check_syntax(path, cells, "prose")
    tasks = read_tasks(path, cells)
    x64 = read_settings(path.absolute().parents[1]).x64_of(path.stem)
    exercises = {task.name: Exercise(**vars(task), x64=x64) for task in tasks}
    title = title_of(path.stem, cells)
    namespace, documented = {"__name__": "__main__"}, documented_cells(path, cells, tasks)
    book = Book(path.stem, path, title, list(exercises.values()), cells, namespace, documented, x64=x64)
    given_files.add(str(path))
    mistakes = Mistakes()
    with author.collecting() as declarations, compat.float64(x64):
        _run(book, mistakes)
    for declaration in declarations:
        with mistakes.noted():
            if declaration.role == "visible":
                exercise = _target(path, declaration, exercises)
                exercise.checks.append(make_check(path, declaration, exercise.checks, is_hidden=False))
            elif declaration.role == "reveal":
                _add_reveal(path, declaration, exercises)
    checks = [cell.source for cell in cells if cell.kind == "check"]
    for exercise in book.exercises:
        # If a check has a mistake, its exercise only seems to have none.
        seems_unchecked = bool(mistakes.found) and any(exercise.name in global_names(source) for source in checks)
        with mistakes.noted():
            _finish(exercise, seems_unchecked)
    mistakes.tell()
    return book


def _run(book: Book, mistakes: Mistakes) -> None:
    """Run the exercise and check cells, and the statements of example cells that they need.

    What has a mistake is noted, and what reads a name from it is left out.
    """
    code = [cell for cell in book.cells if cell.kind in ("exercise", "check")]
    wanted = set().union(*(global_names(cell.source) for cell in code)) | book._sent_by_name
    kept = {(s.line, s.source) for s in needed(book.given, wanted)}
    broken: set[str] = set()
    for cell in book.cells:
        parts = [(cell.source, cell.line + 1)] if cell in code else []
        if cell.kind == "example":
            found = [(s.source, s.line) for s in statements(cell.source, cell.line + 1)]
            parts = [(source, line) for source, line in found if (line, source) in kept]
        for source, line in parts:
            with mistakes.noted():
                if not broken & global_names(source):
                    run_cell(book.path, source, line, book.namespace)
                    continue
            broken |= frozenset().union(*map(bound_names, ast.parse(source).body))


def _target(path: Path, declaration: Declaration, exercises: Mapping[str, Exercise]) -> Exercise:
    target = declaration.options["target"]
    name = target if isinstance(target, str) else getattr(target, "__name__", "?")
    if name not in exercises:
        message = f"the check `{declaration.name}` is for the exercise `{name}`, which is not in this book"
        raise AuthorError(path, declaration.line, message)
    return exercises[name]


def _add_reveal(path: Path, declaration: Declaration, exercises: Mapping[str, Exercise]) -> None:
    exercise = _target(path, declaration, exercises)
    if not exercise.is_prediction:
        message = f"`@reveal` needs a prediction, but `{exercise.name}` is an ordinary exercise"
        raise AuthorError(path, declaration.line, message)
    exercise.reveal = declaration.function
    exercise.why, exercise.shows = declaration.options["why"], declaration.options["shows"]


def _finish(exercise: Exercise, seems_unchecked: bool) -> None:
    """Check that an exercise is complete; whether it is checked, unless it only seems not to be."""
    check_whole(exercise)
    if seems_unchecked:
        return
    message = ""
    if exercise.is_prediction and exercise.reveal is None:
        message = f"the prediction `{exercise.name}` has no `@reveal` in a check cell"
    elif not exercise.is_prediction and not exercise.checks:
        message = f"`{exercise.name}` has no visible check; add a check cell below it"
    if message:
        raise AuthorError(exercise.path, exercise.line, message)
