"""Tell one state of a course from another: a digest of its contracts, checks and keys, and of nothing else."""

import ast
import functools
import hashlib
from collections.abc import Iterator
from typing import Any

from jaxguide.course.library import Course
from jaxguide.course.source import split_cells

# A book's cells of these kinds run as a whole when it is loaded, and a key's of every kind.
_RUN_WHOLE = ("exercise", "check")
_PROSE = "[markdown]"
_SAID_ONLY = frozenset({"hints", "title"})


@functools.lru_cache(maxsize=4)
def course_digest(course: Course) -> str:
    """Return a digest of what decides about a course's marks: its contracts, checks and keys.

    Prose, comments, layout, titles and hints are not part of it, nor are the versions of Python, JAX and NumPy.

    Returns:
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for topic, book in sorted(course.books.items()):
        for part in what_decides(book.path.read_text("utf-8"), is_key=False):
            digest.update(f"{topic} book {part}\n".encode("utf-8", "backslashreplace"))
        for path in sorted({exercise.key.answer.path for exercise in book.exercises if exercise.key is not None}):
            for part in what_decides(path.read_text("utf-8"), is_key=True):
                digest.update(f"{topic} key {part}\n".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def what_decides(text: str, is_key: bool) -> Iterator[str]:
    """Yield, in one canonical form each, the statements of a book or key that can decide about marks.

    Args:
        text: the file's text, in cells.
        is_key: whether it is a key: each of its statements runs, while a book's examples only define names.

    >>> list(what_decides("# %%\\nx   = 1  # one\\nprint(x)", is_key=False))
    ["(Assign targets=[(Name id='x')] value=(Constant value=1))"]
    """
    for kind, source, _line in split_cells(text):
        if kind == _PROSE:
            continue
        for node in ast.parse(source).body:
            if is_key or kind in _RUN_WHOLE or not isinstance(node, ast.Expr):
                yield _canonical(_without_words(node))


def _without_words(statement: ast.stmt) -> ast.stmt:
    for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Name) and call.func.id in ("exercise", "prediction"):
            call.keywords = [keyword for keyword in call.keywords if keyword.arg not in _SAID_ONLY]
    return statement


def _canonical(node: Any) -> str:
    """Write a syntax tree so that every Python writes it alike.

    `ast.dump` leaves out empty fields since Python 3.13, and each Python's own `ast.unparse` has its own quotes.
    """
    if isinstance(node, list):
        return f"[{' '.join(map(_canonical, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    skipped = ("ctx", "kind", "type_comment")
    fields = [(name, value) for name, value in ast.iter_fields(node) if name not in skipped and value not in (None, [])]
    if isinstance(node, ast.Constant):
        fields = [("value", node.value)]
    if isinstance(node, ast.JoinedStr):
        # Python 3.12 puts empty text behind a format that ends in a value.
        fields = [("values", [part for part in node.values if not isinstance(part, ast.Constant) or part.value])]
    return f"({' '.join([type(node).__name__, *(f'{name}={_canonical(value)}' for name, value in fields)])})"
