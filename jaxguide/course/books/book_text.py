"""Read the exercises of a book from its text, without running it."""

import ast
import inspect
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxguide.course.books.outline import Lesson
from jaxguide.course.books.percent import (
    BOOK_KINDS,
    PercentCell,
    decorator_line,
    decorator_name,
    parse_cells,
    parse_code,
)
from jaxguide.course.exercise import AuthorError, Mistakes, Task, exercise, prediction

RESERVED = frozenset({"check", "hint", "solution", "start", "progress", "jaxguide"})
_EXERCISE_DECORATORS = {"exercise": exercise, "prediction": prediction}
PLANTED_DECORATORS = ("answer", "wrong", "alternative")
DECORATORS = frozenset({*_EXERCISE_DECORATORS, "visible", "reveal", "hidden", "input", *PLANTED_DECORATORS})
"""The decorators of `jaxguide.course.author`."""
MOST_KEEPS = 0.3
"""The largest share of its points that an exercise may leave to answers that miss its point."""


def read_lesson(path: Path) -> Lesson:
    """Read a lesson from its book. Mistakes in checks and other code are found only when the book is run.

    Raises:
        AuthorError: the book has a mistake.
    """
    cells = parse_cells(path, BOOK_KINDS)
    tasks = read_tasks(path, cells)
    mistakes = Mistakes()
    for task in tasks:
        with mistakes.noted():
            check_whole(task)
    mistakes.tell()
    return Lesson(path.stem, path, title_of(path.stem, cells), tasks, cells)


def read_tasks(path: Path, cells: Sequence[PercentCell]) -> list[Task]:
    """Read the tasks of a book, one for each exercise cell.

    Raises:
        AuthorError: a cell does not define one exercise, or two define the same.
    """
    above, mistakes = _headings(cells), Mistakes()
    tasks: dict[str, Task] = {}
    for cell in cells:
        if cell.kind == "exercise":
            with mistakes.noted():
                task = _task(path, cell, above[cell.line])
                if task.name in tasks:
                    raise AuthorError(path, task.line, f"the exercise `{task.name}` is defined twice")
                tasks[task.name] = task
    mistakes.tell()
    marks_core = any(task.core for task in tasks.values())
    for task in tasks.values():
        task.is_more = marks_core and not task.core
    return list(tasks.values())


def _exercise_node(path: Path, cell: PercentCell) -> tuple[ast.FunctionDef, ast.expr]:
    """Return the one function of an exercise cell that has an exercise decorator, and the decorator."""
    functions = [node for node in parse_code(path, cell).body if isinstance(node, ast.FunctionDef)]
    marked = [(n, d) for n in functions for d in n.decorator_list if decorator_name(d) in _EXERCISE_DECORATORS]
    if len(marked) != 1:
        line = cell.line if len(marked) < 2 else decorator_line(marked[1][0], cell)
        message = (
            "an exercise cell needs exactly one function with `@exercise` or `@prediction`; this one has "
            f"{len(marked)}. Instead of a variable or a class, which are not supported, ask for a function that "
            "returns or uses it"
        )
        raise AuthorError(path, line, message)
    node = marked[0][0]
    if node.name in RESERVED:
        message = f"`{node.name}` is a reserved name; give the exercise another"
        raise AuthorError(path, decorator_line(node, cell), message)
    return marked[0]


def _task(path: Path, cell: PercentCell, above: tuple[str, ...]) -> Task:
    """Read the task of an exercise cell below the headings `above`."""
    node, decorator = _exercise_node(path, cell)
    lines = cell.source.split("\n")
    starter = [*other_decorators(node, lines), *lines[node.lineno - 1 : node.end_lineno]]
    first = min(decorator.lineno for decorator in node.decorator_list)
    return Task(
        name=node.name,
        is_prediction=decorator_name(decorator) == "prediction",
        signature=f"({ast.unparse(node.args)})",
        contract=ast.get_docstring(node) or "",
        contract_line=_docstring_line(node, cell),
        starter_source="\n".join(starter),
        cell_source="\n".join([*lines[: first - 1], *starter, *lines[node.end_lineno :]]).rstrip(),
        headings=above,
        line=decorator_line(node, cell),
        lesson=path.stem,
        path=path,
        **_options(path, cell, decorator),
    )


def _docstring_line(node: ast.FunctionDef, cell: PercentCell) -> int:
    text = ast.get_docstring(node, clean=False) or ""
    return cell.line + node.body[0].lineno + text[: len(text) - len(text.lstrip())].count("\n") if text else 0


def _options(path: Path, cell: PercentCell, decorator: ast.expr) -> dict[str, Any]:
    """Return the arguments of an exercise's decorator, with its defaults; none may be computed."""
    name, given = decorator_name(decorator), {}
    for keyword in decorator.keywords if isinstance(decorator, ast.Call) else []:
        try:
            value = ast.literal_eval(keyword.value)
        except (ValueError, TypeError):
            message = f"write out the arguments of `@{name}`: they are read without running the book"
            raise AuthorError(path, cell.line + keyword.value.lineno, message) from None
        given[keyword.arg or "**"] = tuple(value) if isinstance(value, list) else value
    try:
        options = inspect.signature(_EXERCISE_DECORATORS[name]).bind(**given)
    except TypeError as error:
        raise AuthorError(path, cell.line + decorator.lineno, f"`@{name}`: {error}") from None
    options.apply_defaults()
    return options.arguments


def other_decorators(node: ast.FunctionDef, lines: list[str]) -> list[str]:
    """Return the lines of a function's decorators that do not belong to the author interface."""
    others = [one for one in node.decorator_list if decorator_name(one) not in DECORATORS]
    return [line for one in others for line in lines[one.lineno - 1 : one.end_lineno]]


def check_whole(task: Task) -> None:
    """Check that an exercise has everything that grading needs.

    Raises:
        AuthorError: hints or ids are not texts, a prediction takes arguments, or the points make no sense.
    """
    name, message = task.name, ""
    lists = (task.hints, task.reproduces)
    if not all(type(texts) is tuple and all(isinstance(text, str) for text in texts) for texts in lists):
        message = f"`hints` and `reproduces` of `{name}` must be lists of texts"
    elif task.is_prediction and task.signature != "()":
        message = f"the prediction `{name}` must take no arguments"
    elif not is_number(task.points) or task.points < 0:
        message = f"the points of `{name}` must be a number, 0 or more, but are {task.points!r}"
    elif not is_number(task.keeps) or not 0 <= task.keeps <= MOST_KEEPS:
        message = f"`keeps` of `{name}` must be a share of its points from 0 to {MOST_KEEPS:g}, but is {task.keeps!r}"
    elif type(task.core) is not bool or not is_number(task.minutes) or task.minutes < 0:
        message = f"`core` of `{name}` must be True or False, and `minutes` a number, 0 or more"
    if message:
        raise AuthorError(task.path, task.line, message)


def is_number(value: object) -> bool:
    """Return whether a value is an int or a finite float.

    >>> is_number(2), is_number(True), is_number("2"), is_number(float("nan"))
    (True, False, False, False)
    """
    return type(value) is int or (type(value) is float and math.isfinite(value))


def title_of(topic: str, cells: Sequence[PercentCell]) -> str:
    """Return a lesson's title: the first top-level heading of its prose, or else its topic."""
    found = (text for cell in cells if cell.kind == "prose" for level, text in _headings_in(cell) if level == 1)
    return next(found, topic)


def _headings_in(cell: PercentCell) -> list[tuple[int, str]]:
    return [(len(match[1]), match[2].strip()) for match in re.finditer(r"^(#+) (.+)$", cell.prose, re.MULTILINE)]


def _headings(cells: Sequence[PercentCell]) -> dict[int, tuple[str, ...]]:
    """Return the headings above each exercise cell, without the lesson's title, by the cell's line."""
    found: dict[int, tuple[str, ...]] = {}
    above: dict[int, str] = {}
    for cell in cells:
        if cell.kind == "prose":
            for level, text in _headings_in(cell):
                above = {n: other for n, other in above.items() if n < level} | {level: text}
        elif cell.kind == "exercise":
            found[cell.line] = tuple(text for level, text in sorted(above.items()) if level > 1)
    return found
