"""Load a key: the answers, alternative and wrong answers, and hidden checks of a book's exercises."""

import ast
import builtins
import contextlib
import dataclasses
from pathlib import Path
from typing import Any

from jaxguide import compat
from jaxguide.code.slices import global_names
from jaxguide.course import author
from jaxguide.course.author import Declaration
from jaxguide.course.books.book import Book
from jaxguide.course.books.declarations import make_check
from jaxguide.course.books.key_text import function_source, key_cells, planted_in, without_a_title
from jaxguide.course.books.percent import PercentCell, run_cell
from jaxguide.course.exercise import AuthorError, Check, Exercise, ExerciseKey, Mistakes
from jaxguide.course.judging.values import SOURCE_LIMIT, InputFunction


def load_key(path: Path, book: Book) -> None:
    """Read a key and set the `key` of each exercise of the book.

    Raises:
        AuthorError: the key has a mistake, or lacks an exercise of the book.
    """
    namespace = {**{name: getattr(author, name) for name in author.__all__}, **book.namespace}
    exercises = {exercise.name: exercise for exercise in book.exercises}
    mistakes = Mistakes()
    for cell in key_cells(path, book):
        with mistakes.noted():
            _import_what_it_reads(book, cell, namespace)
            with author.collecting() as declared, compat.float64(book.x64):
                run_cell(path, cell.source, cell.line + 1, namespace)
            declarations = [one for one in declared if one.role != "input"]
            for declaration in declared:
                if declaration.role == "input":
                    _add_input(path, cell, declaration.function, book)
            if cell.kind:
                exercises[cell.kind].key = _read_cell(path, cell, declarations, exercises[cell.kind])
            elif declarations:
                raise without_a_title(path, declarations[0].line)
    mistakes.tell()


def _import_what_it_reads(book: Book, cell: PercentCell, namespace: dict[str, Any]) -> None:
    """Run the book's imports that a cell of its key uses and that loading the book skipped."""
    with contextlib.suppress(SyntaxError):  # reported when the cell is run
        missing = global_names(cell.source) - namespace.keys()
        for statement in book.given:
            if statement.is_import and statement.binds & missing:
                run_cell(book.path, statement.source, statement.line, namespace)


def _add_input(path: Path, cell: PercentCell, function: Any, book: Book) -> None:
    """Note the source of an `@input`, which may need nothing that does not go over with it."""
    name = getattr(function, "__name__", "")
    nodes = [n for n in ast.parse(cell.source).body if isinstance(n, ast.FunctionDef) and n.name == name]
    if not nodes:
        message = "`@input` belongs on a function that is defined in a cell"
        raise AuthorError(path, cell.line + 1, message)
    source = function_source(cell, nodes[-1], name)
    line = cell.line + nodes[-1].lineno
    if len(source) > SOURCE_LIMIT:
        message = f"has {len(source)} characters of source, but at most {SOURCE_LIMIT} go to a submission"
        raise AuthorError(path, line, f"the input `{name}` {message}")
    reads = global_names(source) - {name} - vars(builtins).keys()
    unknown = sorted(reads - {bound for statement in book.given for bound in statement.binds})
    if unknown:
        names = ", ".join(f"`{one}`" for one in unknown)
        message = (
            f"the input `{name}` reads {names}, which the book does not define; only the input's own source goes to a "
            "submission, so define or import it inside"
        )
        raise AuthorError(path, line, message)
    author.inputs[function] = InputFunction(name, source)
    book.read_by_inputs |= reads


def _read_cell(path: Path, cell: PercentCell, declarations: list[Declaration], exercise: Exercise) -> ExerciseKey:
    planted = planted_in(path, cell)
    options = {one.name: one.options for one in declarations if one.role == "wrong"}
    wrong = [dataclasses.replace(one, **options[one.name]) for one in planted["wrong"]]
    hidden: list[Check] = []
    for declaration in declarations:
        if declaration.role == "hidden":
            hidden.append(make_check(path, declaration, [*exercise.checks, *hidden], is_hidden=True))
    marks = {d.options["mutant"]: d.options["because"] for d in declarations if d.role == "equivalent"}
    if not exercise.keeps:
        points = {one.rejected_by for one in wrong if one.misses_the_point}
        for checks in (exercise.checks, hidden):
            checks[:] = [dataclasses.replace(c, required=c.required or c.name in points) for c in checks]
    return ExerciseKey(planted["answer"][0], wrong, planted["alternative"], hidden, marks)
