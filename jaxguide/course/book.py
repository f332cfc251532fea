"""A book: one lesson as percent-format Python, read into cells and exercises."""

import ast
import contextlib
import dataclasses
import functools
import inspect
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jaxguide.course import author
from jaxguide.course.author import Mark
from jaxguide.course.exercise import AuthorError, Check, Exercise
from jaxguide.course.slices import Statement, global_names, needed, statements
from jaxguide.course.source import Cell, decorators, mark_line, parse_cells, run_cell
from jaxguide.course.verdict import STAGES, Kind
from jaxguide.text import _, plural

RESERVED = frozenset({"check", "hint", "solution", "start", "progress", "jaxguide"})
EXERCISE_MARKS = ("exercise", "prediction")
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
    specs = {id(cell): _exercise_node(path, cell) for cell in cells if cell.kind == "exercise"}
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
        exercise = _make_exercise(book, cell, node, mark)
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


def _exercise_node(path: Path, cell: Cell) -> tuple[ast.FunctionDef, str]:
    """Return the one function of an exercise cell that carries an exercise decorator."""
    functions = [node for node in ast.parse(cell.source).body if isinstance(node, ast.FunctionDef)]
    marked = [(n, d) for n in functions for d in decorators(n) if d in EXERCISE_MARKS]
    if len(marked) != 1:
        line = cell.line if len(marked) < 2 else mark_line(marked[1][0], cell)
        message = _(
            "an exercise cell needs exactly one function with `@exercise` or `@prediction`; this one has {count}"
        )
        raise AuthorError(path, line, message.format(count=len(marked)))
    node = marked[0][0]
    if node.name in RESERVED:
        message = _("`{name}` is a reserved name; give the exercise another")
        raise AuthorError(path, mark_line(node, cell), message.format(name=node.name))
    return marked[0]


def _make_exercise(book: Book, cell: Cell, node: ast.FunctionDef, mark: Mark) -> Exercise:
    lines = cell.source.split("\n")
    options = mark.options
    return Exercise(
        name=node.name,
        title=options["title"],
        points=options["points"],
        hints=options["hints"],
        reproduces=options["reproduces"],
        why_so_many=options["why_so_many"],
        lesson=book.topic,
        signature=f"({ast.unparse(node.args)})",
        contract=inspect.getdoc(mark.function) or "",
        starter=node,
        starter_source="\n".join([*other_decorators(node, lines), *lines[node.lineno - 1 : node.end_lineno]]),
        path=book.path,
        line=mark_line(node, cell),
    )


def other_decorators(node: ast.FunctionDef, lines: list[str]) -> list[str]:
    """Return the lines of a function's decorators that are not the author's marks."""
    kept = []
    for decorator in node.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(call, ast.Name) and call.id in author.__all__:
            continue
        kept += lines[decorator.lineno - 1 : decorator.end_lineno]
    return kept


def _target(path: Path, mark: Mark, exercises: Mapping[str, Exercise]) -> Exercise:
    target = mark.options["target"]
    name = target if isinstance(target, str) else getattr(target, "__name__", "?")
    if name not in exercises:
        message = _("the check `{check}` names the exercise `{name}`, which this book does not have")
        raise AuthorError(path, function_line(mark), message.format(check=mark.function.__name__, name=name))
    return exercises[name]


def function_line(mark: Mark) -> int:
    """Return the line in which the marked function stands."""
    code = getattr(mark.function, "__code__", None)
    return int(code.co_firstlineno) if code else 1


def make_check(path: Path, mark: Mark, is_hidden: bool) -> Check:
    """Make the check that a mark declares.

    Raises:
        AuthorError: its stage or kind is unknown, or it states no fact.
    """
    options, line = mark.options, function_line(mark)
    stage = options["stage"]
    if stage not in STAGES[2:]:
        message = _("`{stage}` is no stage; the stages are {stages}")
        raise AuthorError(path, line, message.format(stage=stage, stages=", ".join(STAGES[2:])))
    kind = options["kind"] or ("observed" if stage in ("traces", "keys", "cost") else "value")
    if kind not in list(Kind):
        message = _("`{kind}` is no kind of check; the kinds are {kinds}")
        raise AuthorError(path, line, message.format(kind=kind, kinds=", ".join(Kind)))
    fact = (inspect.getdoc(mark.function) or "").split("\n\n")[0].replace("\n", " ")
    if not fact:
        message = _("the check `{name}` has no docstring to say which fact it checks")
        raise AuthorError(path, line, message.format(name=mark.function.__name__))
    required = options["required"]
    if required is None:
        required = kind == "value" and stage in ("shape", "dtype", "value")
    return Check(
        name=mark.function.__name__,
        fact=fact,
        function=mark.function,
        stage=stage,
        kind=Kind(kind),
        weight=options["weight"],
        required=required,
        idea=options["idea"],
        misconception=options["misconception"],
        reproduces=options["reproduces"],
        hidden=is_hidden,
        line=line,
        path=path,
    )


def add_check(checks: list[Check], check: Check) -> None:
    """Add a check to an exercise's list.

    Raises:
        AuthorError: the exercise has one of this name.
    """
    if any(other.name == check.name for other in checks):
        message = _("the check `{name}` stands twice for one exercise")
        raise AuthorError(check.path, check.line, message.format(name=check.name))
    checks.append(check)


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


def printable_source(book: Book, cell: Cell) -> str:
    """Return an exercise cell as students get it: title and points, no decorator of ours, `check(<name>)` below."""
    node, _decorator = _exercise_node(book.path, cell)
    lines = cell.source.split("\n")
    start = min(d.lineno for d in node.decorator_list)
    body = [*other_decorators(node, lines), *lines[node.lineno - 1 : node.end_lineno]]
    kept = [*lines[: start - 1], *body, *lines[node.end_lineno :]]
    exercise = next(e for e in book.exercises if e.name == node.name)
    return f"{_heading(exercise)}\n" + "\n".join(kept).rstrip() + f"\n\n\ncheck({node.name})"


def _heading(exercise: Exercise) -> str:
    title = exercise.title if exercise.is_prediction else _("Exercise: {title}").format(title=exercise.title)
    points = plural("{count} point", "{count} points", exercise.points)
    return f"# {title} ({points})"
