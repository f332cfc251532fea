"""The exercises of a book by name and title, read from its text alone."""

import ast
from pathlib import Path

_MARKS = ("exercise", "prediction")


def outline(path: Path) -> list[tuple[str, str]]:
    """Return a book's exercises as (name, title), in order; nothing of the book is run, so that it takes no time.

    Raises:
        OSError: the book cannot be read.
        SyntaxError, ValueError: it is no Python.
    """
    functions = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]
    marked = [(node.name, title) for node in functions for d in node.decorator_list for title in _titles(d)]
    return list(dict(marked).items())


def _titles(decorator: ast.expr) -> list[str]:
    """Return the title in `@exercise(title="...")`, nothing where it is another decorator."""
    if not isinstance(decorator, ast.Call) or ast.unparse(decorator.func) not in _MARKS:
        return []
    given = [keyword.value for keyword in decorator.keywords if keyword.arg == "title"] + decorator.args[:1]
    return [str(value.value) for value in given if isinstance(value, ast.Constant)] or [""]
