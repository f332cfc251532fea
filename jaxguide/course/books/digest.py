"""Compute a digest that identifies the state of a course: contracts, checks, keys, and settings that affect marks."""

import ast
import functools
import hashlib
import json
from collections.abc import Iterator

from jaxguide.code.sameness import canonical
from jaxguide.code.slices import bound_names, changed_names
from jaxguide.course.books.library import Course
from jaxguide.course.books.percent import decorator_name, split_cells
from jaxguide.course.set_up import process_settings

# Cells of these kinds run completely when a book is loaded; in a key, all cells do.
_RUN_WHOLE = ("exercise", "check")
_PROSE = ("[markdown]", "documented")
_SAID_ONLY = {
    "exercise": frozenset({"hints", "title", "keeps", "why_keeps", "core", "minutes"}),
    "prediction": frozenset({"hints", "title", "core", "minutes"}),
    "reveal": frozenset({"why", "shows"}),
}


@functools.lru_cache(maxsize=64)
def course_digest(course: Course, lessons: frozenset[str] | None = None) -> str:
    """Return a digest of everything in a course that affects marks: contracts, checks, keys, files and some settings.

    Prose, comments, layout, titles, hints, limits and the versions of Python, JAX and NumPy are not included.

    Args:
        course: the course.
        lessons: the lessons that matter; by default all.

    Returns:
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    settings = process_settings(course.settings) | {"x64": course.settings.x64}
    if any(settings.values()):
        digest.update(f"settings {json.dumps(settings, sort_keys=True)}\n".encode())
    for name, path in sorted(course.files.items()):
        digest.update(f"file {name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    for topic, book in sorted((topic, course.books[topic]) for topic in lessons or course.books):
        for part in what_decides(book.path.read_text("utf-8"), is_key=False):
            digest.update(f"{topic} book {part}\n".encode("utf-8", "backslashreplace"))
        for path in sorted({exercise.key.answer.path for exercise in book.exercises if exercise.key is not None}):
            for part in what_decides(path.read_text("utf-8"), is_key=True):
                digest.update(f"{topic} key {part}\n".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def what_decides(text: str, is_key: bool) -> Iterator[str]:
    """Yield the statements of a book or key that can affect marks, each in canonical form.

    Args:
        text: the file's text, in cells.
        is_key: whether it is a key, in which every statement runs; a book's examples only define and change names.

    >>> list(what_decides("# %%\\nx   = 1  # one\\nprint(x)", is_key=False))
    ["(Assign targets=[(Name id='x')] value=(Constant value=1))"]
    """
    found = split_cells(text)
    cells = [(kind, ast.parse(source).body) for kind, source, _line in found if not (kind or "").startswith(_PROSE)]
    imports = [node for _kind, body in cells for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    imported = frozenset().union(*map(bound_names, imports))
    for kind, body in cells:
        for node in body:
            if is_key or kind in _RUN_WHOLE or not isinstance(node, ast.Expr) or changed_names(node)[0] - imported:
                yield canonical(_without_words(node))


def _without_words(statement: ast.stmt) -> ast.stmt:
    for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Name) and call.func.id in _SAID_ONLY:
            call.keywords = [k for k in call.keywords if k.arg not in _SAID_ONLY[call.func.id]]
    if isinstance(statement, ast.FunctionDef):  # `@answer` has only words as arguments
        statement.decorator_list = [
            one.func if isinstance(one, ast.Call) and decorator_name(one) == "answer" else one
            for one in statement.decorator_list
        ]
    return statement
