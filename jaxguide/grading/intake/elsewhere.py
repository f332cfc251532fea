"""Find why a file does not define an exercise's function: it is where it does not run, or has another name."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator

from jaxguide.code.sameness import HasStarter
from jaxguide.grading.intake.submission import Submission, seen_definitions

_NAME_LIMIT = 100
_COMMENT = re.compile(r"^[ \t]*#[ \t]?", re.MULTILINE)


def elsewhere(submission: Submission, absent: Iterable[HasStarter]) -> dict[str, str]:
    """Return a sentence for each exercise whose function is in a file without being defined.

    Args:
        submission: the file.
        absent: the exercises that it does not define.
    """
    found: dict[str, str] = {}
    for message, fields, names in _places(submission):
        for exercise in absent:
            if exercise.name in names:
                found.setdefault(exercise.name, message.format(name=exercise.name, **fields))
    return found


def _places(submission: Submission) -> Iterator[tuple[str, dict[str, str], Collection[str]]]:
    """Yield a message, its fields, and the names of what is there, for each place that defines nothing."""
    for kind, source in submission.other_cells:
        message = "`{name}` is in a {kind} cell, which does not run. Turn it into a code cell."
        yield message, {"kind": "Markdown" if kind == "markdown" else "raw"}, seen_definitions(source)
    for cell in submission.cells:
        for magic, text in cell.not_python:
            message = "`{name}` is below `{magic}` in {label}, which is not run as Python. Delete `{magic}`."
            yield message, {"magic": magic[:_NAME_LIMIT], "label": cell.label}, seen_definitions(text)
        nodes = ast.walk(cell.tree) if cell.tree is not None else ()
        for outer in nodes:
            if isinstance(outer, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                inner = [n.name for n in ast.walk(outer) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
                message = "`{name}` is inside `{outer}` in {label}. Define it at the beginning of a line."
                yield message, {"outer": outer.name[:_NAME_LIMIT], "label": cell.label}, {*inner} - {outer.name}
    for cell in submission.cells:
        comments = "\n".join(line for line in cell.source.split("\n") if _COMMENT.match(line))
        message = "`{name}` is in a comment in {label}, which does not run. Delete the `#` of its lines."
        yield message, {"label": cell.label}, seen_definitions(_COMMENT.sub("", comments))


def alike(submission: Submission, absent: Iterable[HasStarter], known: Collection[str]) -> dict[str, str]:
    """Return a function with the same parameters for each exercise that has one.

    Args:
        submission: the file.
        absent: the exercises that the file does not define.
        known: names that mean something else: those of exercises, and of what books define.
    """
    nodes = [node for cell in submission.cells if cell.tree is not None for node in cell.tree.body]
    functions = {node.name: _parameters(node) for node in nodes if isinstance(node, ast.FunctionDef)}
    others = {name: own for name, own in functions.items() if own and name not in known and len(name) <= _NAME_LIMIT}
    stubs = {one.name: _parameters(node) for one in absent for node in ast.parse(one.starter_source).body}
    found = {name: [other for other, own in others.items() if own == wanted] for name, wanted in stubs.items()}
    return {name: same[-1] for name, same in found.items() if same}


def _parameters(node: ast.stmt) -> list[str]:
    return (
        [part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)]
        if isinstance(node, ast.FunctionDef)
        else []
    )
