"""Read the answers of a key from its text, without running it."""

import ast
import dataclasses
import re
from pathlib import Path
from typing import Any

from jaxguide.code.slices import Statement, first_line_of, needed, statements
from jaxguide.course.books.book_text import DECORATORS, PLANTED_DECORATORS, other_decorators
from jaxguide.course.books.outline import Lesson
from jaxguide.course.books.percent import PercentCell, check_syntax, decorator_name, parse_cells
from jaxguide.course.exercise import AuthorError, Mistakes, Planted

_VALUES = {"alternative_value": "alternative", "wrong_value": "wrong"}


def key_cells(path: Path, lesson: Lesson) -> list[PercentCell]:
    """Return the code cells of a lesson's key.

    Raises:
        AuthorError: the key is missing, an exercise has no cell or two cells, or a cell's title is missing or is not an
            exercise.
    """
    if not path.exists():
        names = ", ".join(f"`{task.name}`" for task in lesson.exercises)
        message = f"the key of {lesson.path.name} is missing; it must have a cell for each of its exercises: {names}"
        raise AuthorError(path, 1, message)
    every_cell = parse_cells(path, None)
    check_syntax(path, every_cell, "[markdown]")
    cells = [cell for cell in every_cell if cell.kind != "[markdown]"]
    seen: set[str] = set()
    for cell in cells:
        marked = [] if cell.kind else [s for s in statements(cell.source, cell.line + 1) if _is_authors(s.source)]
        if marked:
            raise without_a_title(path, marked[0].line)
        if cell.kind and cell.kind not in lesson.exercise_names:
            message = f"the key has a cell for `{cell.kind}`, but the book `{lesson.path.name}` has no such exercise"
            raise AuthorError(path, cell.line, message)
        if cell.kind in seen:
            raise AuthorError(path, cell.line, f"the key has two cells for `{cell.kind}`")
        seen |= {cell.kind} - {""}
    mistakes = Mistakes()
    for task in lesson.exercises:
        with mistakes.noted():
            if task.name not in seen:
                message = f"the exercise `{task.name}` has no cell in the key {path}: add `# %% {task.name}` there"
                raise AuthorError(task.path, task.line, message)
    mistakes.tell()
    return cells


def without_a_title(path: Path, line: int) -> AuthorError:
    """Return the error for an answer or check in a cell without a title."""
    message = "an answer or check is in a cell without a title; title the cell `# %% name_of_the_exercise`"
    return AuthorError(path, line, message)


def has_hidden_checks(path: Path, name: str) -> bool:
    """Return whether a key has hidden checks of an exercise."""
    source = next((cell.source for cell in parse_cells(path, None) if cell.kind == name), "")
    return re.search(r"^@hidden\b", source, re.MULTILINE) is not None


def right_answers(path: Path, name: str) -> list[Planted]:
    """Return the key's answer to an exercise, followed by the alternatives; only the exercise's cell is read.

    Raises:
        AuthorError: the key has no such cell, or the cell shows a mistake.
    """
    cell = next((cell for cell in parse_cells(path, None) if cell.kind == name), None)
    if cell is None:
        raise AuthorError(path, 1, f"the key has no cell for `{name}`")
    try:
        check_syntax(path, [cell], "[markdown]")
        planted = planted_in(path, cell)
    except SyntaxError as error:  # an error that parsing does not find, such as two parameters with one name
        raise AuthorError(path, 1, f"syntax error: {error.msg}") from None
    return [*planted["answer"], *planted["alternative"]]


def planted_in(path: Path, cell: PercentCell) -> dict[str, list[Planted]]:
    """Return the answers in a cell of a key by decorator, without the checks that must reject them.

    Raises:
        AuthorError: there is not exactly one answer to the exercise, or two have the same name.
    """
    found: list[tuple[str, Planted]] = []
    for node in ast.parse(cell.source).body:
        line = first_line_of(node)
        if isinstance(node, ast.FunctionDef):
            said, source = _said_of_answer(path, cell, node), function_source(cell, node, cell.kind)
            roles = [role for role in map(decorator_name, node.decorator_list) if role in PLANTED_DECORATORS]
            found += [(role, Planted(node.name, source, line, path, **said)) for role in roles[:1]]
        elif role := _value_role(node):
            assert isinstance(node, ast.Expr)
            assert isinstance(node.value, ast.Call)
            name, value = node.value.args
            source = f"{cell.kind} = {ast.get_source_segment(cell.source, value)}"
            found.append((role, Planted(ast.literal_eval(name), source, line, path)))
    names = frozenset(one.name for _role, one in found)
    helpers = [s for s in statements(cell.source) if not _is_authors(s.source)]
    planted: dict[str, list[Planted]] = {role: [] for role in PLANTED_DECORATORS}
    for role, one in found:
        source = _with_helpers(helpers, one, cell.kind, names)
        planted[role].append(dataclasses.replace(one, source=source, line=cell.line + one.line))
    _check_planted(path, cell, planted)
    return planted


def _said_of_answer(path: Path, cell: PercentCell, node: ast.FunctionDef) -> dict[str, Any]:
    """Return what `@answer` says of the function that it decorates: its arguments by name; none may be computed."""
    calls = [one for one in node.decorator_list if isinstance(one, ast.Call) and decorator_name(one) == "answer"]
    try:
        return {str(k.arg): ast.literal_eval(k.value) for call in calls for k in call.keywords}
    except (ValueError, TypeError):
        message = "write out the arguments of `@answer`: they are read without running the key"
        raise AuthorError(path, cell.line + calls[0].lineno, message) from None


def _value_role(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name):
        return _VALUES.get(node.value.func.id)
    return None


def function_source(cell: PercentCell, node: ast.FunctionDef, name: str) -> str:
    """Return the source of a function of a key, under another name and without the author's decorators."""
    lines = cell.source.split("\n")
    body = lines[node.lineno - 1 : node.end_lineno]
    body[0] = re.sub(rf"\bdef\s+{node.name}\b", f"def {name}", body[0], count=1)
    return "\n".join([*other_decorators(node, lines), *body])


def _with_helpers(helpers: list[Statement], planted: Planted, exercise: str, names: frozenset[str]) -> str:
    """Return an answer with the statements of its cell that it needs or that change it, in the cell's order.

    Args:
        helpers: the cell's statements that are not declarations.
        planted: the answer alone, with its line in the cell. In its source, it bears the exercise's name.
        exercise: the exercise.
        names: the names of all answers in the cell.
    """
    if planted.name != exercise:  # leave out what changes the key's answer
        helpers = [s for s in helpers if exercise not in s.binds | s.touches]
    above = [s for s in helpers if s.line < planted.line]
    below = [s for s in helpers if s.line >= planted.line]
    own = statements(planted.source)[0]
    pool = [_renamed_statement(s, planted.name, exercise) for s in (*above, own, *below)]
    elsewhere = frozenset[str]().union(*(s.reads for s in pool)) - names
    return "\n\n\n".join(s.source for s in needed(pool, {exercise}, elsewhere)) + "\n"


def _renamed_statement(statement: Statement, old: str, new: str) -> Statement:
    """Return a statement that reads and changes the name `new` instead of `old`."""
    if old == new or old not in statement.reads | statement.binds:
        return statement
    lines = statement.source.encode().split(b"\n")  # columns count bytes
    nodes = [node for node in ast.walk(ast.parse(statement.source)) if isinstance(node, ast.Name) and node.id == old]
    for node in sorted(nodes, key=lambda node: node.col_offset, reverse=True):
        line, first, last = lines[node.lineno - 1], node.col_offset, node.end_col_offset
        if line[first:last] == old.encode():  # before Python 3.12, places in f-strings are not exact
            lines[node.lineno - 1] = line[:first] + new.encode() + line[last:]
    return statements(b"\n".join(lines).decode())[0]


def _is_authors(source: str) -> bool:
    """Return whether a statement declares an answer or check, rather than a helper of the cell."""
    node = ast.parse(source).body[0]
    if isinstance(node, ast.FunctionDef):
        return any(decorator_name(one) in DECORATORS for one in node.decorator_list)
    return _value_role(node) is not None


def _check_planted(path: Path, cell: PercentCell, planted: dict[str, list[Planted]]) -> None:
    answers, exercise = planted["answer"], cell.kind
    if len(answers) != 1 or answers[0].name != exercise:
        message = f"the cell of `{exercise}` needs exactly one function `{exercise}` with `@answer`"
        raise AuthorError(path, cell.line, message)
    seen: set[str] = set()
    for one in [*planted["wrong"], *planted["alternative"]]:
        if one.name in seen:
            message = f"two answers in the key of `{exercise}` are named `{one.name}`"
            raise AuthorError(path, one.line, message)
        seen.add(one.name)
