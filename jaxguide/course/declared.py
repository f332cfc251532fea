"""What authors declare in cells, made into exercises and checks."""

import ast
import inspect
from pathlib import Path

from jaxguide.course import author
from jaxguide.course.author import Mark
from jaxguide.course.exercise import AuthorError, Check, Exercise
from jaxguide.course.source import Cell, decorators, mark_line
from jaxguide.course.verdict import STAGES, Kind
from jaxguide.text import _

RESERVED = frozenset({"check", "hint", "solution", "start", "progress", "jaxguide"})
EXERCISE_MARKS = ("exercise", "prediction")


def exercise_node(path: Path, cell: Cell) -> tuple[ast.FunctionDef, str]:
    """Return the one function of an exercise cell that carries an exercise decorator, and that decorator's name.

    Raises:
        AuthorError: there is not exactly one, or its name is reserved.
    """
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


def make_exercise(topic: str, path: Path, cell: Cell, node: ast.FunctionDef, mark: Mark) -> Exercise:
    """Make the exercise that a mark declares in a cell, without its checks."""
    lines = cell.source.split("\n")
    options = mark.options
    return Exercise(
        name=node.name,
        title=options["title"],
        points=options["points"],
        hints=options["hints"],
        reproduces=options["reproduces"],
        why_so_many=options["why_so_many"],
        lesson=topic,
        signature=f"({ast.unparse(node.args)})",
        contract=inspect.getdoc(mark.function) or "",
        starter=node,
        starter_source="\n".join([*other_decorators(node, lines), *lines[node.lineno - 1 : node.end_lineno]]),
        path=path,
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
