"""A key: the answers, the planted wrong and other right answers, and the hidden checks of a book's exercises."""

import ast
import contextlib
import re
from pathlib import Path
from typing import Any

from jaxguide.course import author
from jaxguide.course.author import Mark
from jaxguide.course.book import Book
from jaxguide.course.declared import add_check, function_line, make_check, other_decorators
from jaxguide.course.exercise import AuthorError, Check, Exercise, Key, Planted
from jaxguide.course.slices import Statement, global_names, needed, statements
from jaxguide.course.source import Cell, decorators, mark_line, parse_cells, run_cell
from jaxguide.text import _

_PLANTED = ("answer", "wrong", "alternative")
_VALUES = {"alternative_value": "alternative", "wrong_value": "wrong"}


def load_key(path: Path, book: Book) -> None:
    """Read a key and give each exercise of the book its part.

    Raises:
        AuthorError: something in it is wrong, or an exercise of the book is missing from it.
    """
    namespace = {**book.namespace}
    exercises = {exercise.name: exercise for exercise in book.exercises}
    for cell in parse_cells(path, None):
        if cell.kind == "[markdown]":
            continue
        if cell.kind and cell.kind not in exercises:
            message = _("the key has a cell for `{name}`, and the book `{book}` has no such exercise")
            raise AuthorError(path, cell.line, message.format(name=cell.kind, book=book.path.name))
        if cell.kind and exercises[cell.kind].key is not None:
            raise AuthorError(path, cell.line, _("the key has two cells for `{name}`").format(name=cell.kind))
        _import_what_it_reads(book, cell, namespace)
        with author.collecting() as marks:
            run_cell(path, cell.source, cell.line + 1, namespace)
        if cell.kind:
            exercises[cell.kind].key = _read_cell(path, cell, marks, exercises[cell.kind])
        elif marks:
            message = _("an answer or check stands in a cell without a title; title it `# %% name_of_the_exercise`")
            raise AuthorError(path, function_line(marks[0]), message)
    for exercise in book.exercises:
        if exercise.key is None:
            message = _("the exercise `{name}` has no cell in the key {key}: add `# %% {name}` there")
            raise AuthorError(exercise.path, exercise.line, message.format(name=exercise.name, key=path.name))


def _import_what_it_reads(book: Book, cell: Cell, namespace: dict[str, Any]) -> None:
    """Run those of the book's imports that a cell of its key reads and that the book itself did not need."""
    with contextlib.suppress(SyntaxError):  # which is told when the cell is run
        missing = global_names(cell.source) - namespace.keys()
        for statement in book.given:
            if statement.is_import and statement.binds & missing:
                run_cell(book.path, statement.source, statement.line, namespace)


def _read_cell(path: Path, cell: Cell, marks: list[Mark], exercise: Exercise) -> Key:
    planted: dict[str, list[Planted]] = {role: [] for role in _PLANTED}
    options = {(mark.role, _name(mark)): mark.options for mark in marks}
    helpers = [s for s in statements(cell.source) if not _is_authors(s.source)]
    for node in ast.parse(cell.source).body:
        if isinstance(node, ast.FunctionDef):
            roles = [role for role in decorators(node) if role in _PLANTED]
            if roles:
                source = _function_source(cell, node, exercise.name)
                planted[roles[0]].append(
                    _planted(path, helpers, node.name, source, mark_line(node, cell), options[roles[0], node.name])
                )
        elif role := _value_role(node):
            assert isinstance(node, ast.Expr)
            assert isinstance(node.value, ast.Call)
            name = ast.literal_eval(node.value.args[0])
            source = f"{exercise.name} = {ast.get_source_segment(cell.source, node.value.args[1])}"
            planted[role].append(_planted(path, helpers, name, source, cell.line + node.lineno, options[role, name]))
    _check_planted(path, cell, exercise, planted)
    hidden: list[Check] = []
    for mark in marks:
        if mark.role == "hidden":
            check = make_check(path, mark, is_hidden=True)
            if any(check.name == other.name for other in exercise.checks):
                message = _("the hidden check `{name}` has the name of a visible one")
                raise AuthorError(path, check.line, message.format(name=check.name))
            add_check(hidden, check)
    return Key(planted["answer"][0], planted["wrong"], planted["alternative"], hidden)


def _name(mark: Mark) -> Any:
    return mark.options.get("name") or getattr(mark.function, "__name__", "")


def _value_role(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name):
        return _VALUES.get(node.value.func.id)
    return None


def _function_source(cell: Cell, node: ast.FunctionDef, name: str) -> str:
    lines = cell.source.split("\n")
    body = lines[node.lineno - 1 : node.end_lineno]
    body[0] = re.sub(rf"\bdef\s+{node.name}\b", f"def {name}", body[0], count=1)
    return "\n".join([*other_decorators(node, lines), *body])


def _planted(
    path: Path, helpers: list[Statement], name: str, source: str, line: int, options: dict[str, Any]
) -> Planted:
    used = [s.source for s in needed(helpers, global_names(source))]
    full = "\n\n\n".join([*used, source]) + "\n"
    return Planted(name, full, line, path, options.get("rejected_by", ""), options.get("says", ""))


def _is_authors(source: str) -> bool:
    """Return whether a statement is a marked function or value, not a helper of the cell."""
    node = ast.parse(source).body[0]
    if isinstance(node, ast.FunctionDef):
        return any(role in author.__all__ for role in decorators(node))
    return _value_role(node) is not None


def _check_planted(path: Path, cell: Cell, exercise: Exercise, planted: dict[str, list[Planted]]) -> None:
    answers = planted["answer"]
    if len(answers) != 1 or answers[0].name != exercise.name:
        message = _("the cell of `{name}` needs exactly one function `{name}` with `@answer`")
        raise AuthorError(path, cell.line, message.format(name=exercise.name))
    seen: set[str] = set()
    for one in [*planted["wrong"], *planted["alternative"]]:
        if one.name in seen:
            message = _("two planted answers of `{exercise}` are called `{name}`")
            raise AuthorError(path, one.line, message.format(exercise=exercise.name, name=one.name))
        seen.add(one.name)
