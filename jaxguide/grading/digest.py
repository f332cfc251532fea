"""Tell one state of a course from another: a digest of all that decides about marks, and of nothing else."""

import ast
import hashlib
from collections.abc import Iterable
from pathlib import Path

import jax

from jaxguide.course.library import Course


def course_digest(course: Course) -> str:
    """Return a digest of a course's contracts, checks and keys, and of the JAX version that they run on.

    Prose, comments, layout and hints are not part of it: correcting them changes nobody's marks.

    Returns:
        64 hexadecimal digits.
    """
    digest = hashlib.sha256(f"jax {jax.__version__}\n".encode())
    for topic, book in course.books.items():
        for path in (book.path, *_key_paths(course, topic)):
            digest.update(f"{topic}/{path.name}\n".encode())
            digest.update(what_decides(path.read_text("utf-8")).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def _key_paths(course: Course, topic: str) -> Iterable[Path]:
    keys = [exercise.key for exercise in course.books[topic].exercises if exercise.key is not None]
    return dict.fromkeys(path for key in keys for path in (key.answer.path, *(check.path for check in key.hidden)))


def what_decides(source: str) -> str:
    """Return a book's or key's code without what decides nothing: prose, comments, layout, hints, loose expressions.

    >>> what_decides("# %% [markdown]\\n# # Title\\n\\n# %%\\nx   = 1  # one\\nprint(x)")
    'x = 1'
    """
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if not isinstance(node, ast.Expr)]
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Name) and call.func.id == "exercise":
            call.keywords = [keyword for keyword in call.keywords if keyword.arg != "hints"]
    return ast.unparse(tree)
