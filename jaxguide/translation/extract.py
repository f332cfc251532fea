"""Extract the messages to translate, with methods that also work as Babel's, for `pybabel extract`."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click
from babel.messages import extract as babel_extract

from jaxguide.course.books.folders import CourseFolders, books_as_far_as_readable
from jaxguide.translation.authored import Found, texts_in_book, texts_in_key
from jaxguide.translation.command_help import paragraphs

KEYWORDS: dict[str, tuple[int, ...] | None] = {"_": None, "gettext": None, "plural": (1, 2), "ngettext": (1, 2)}
_PACKAGE = Path(__file__).parents[1]
_COMMANDS = frozenset({"command", "group"})

# What Babel expects: line, function, message or (singular, plural), comments.
Extracted = tuple[int, str, Any, list[str]]


def extract_book(file: BinaryIO, keywords: Any, comment_tags: Any, options: Any) -> Iterator[Extracted]:
    """Yield the texts of a book, for Babel."""
    yield from map(_extracted, texts_in_book(file.read().decode("utf-8")))


def extract_key(file: BinaryIO, keywords: Any, comment_tags: Any, options: Any) -> Iterator[Extracted]:
    """Yield the texts of a key, for Babel."""
    yield from map(_extracted, texts_in_key(file.read().decode("utf-8")))


def extract_package(file: BinaryIO, keywords: Any, comment_tags: Any, options: Any) -> Iterator[Extracted]:
    """Yield the messages of a module of the package: arguments of `_` and `plural`, and the help of commands."""
    # Babel's own method reads tokens, and in Python 3.11 an f-string is one token: it would miss messages inside.
    for node in ast.walk(ast.parse(file.read())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KEYWORDS:
            said = [one.value for one in node.args[:2] if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            if len(said) == len(KEYWORDS[node.func.id] or (1,)):
                yield node.lineno, node.func.id, tuple(said), []
        if isinstance(node, ast.FunctionDef) and any(_is_command(one) for one in node.decorator_list):
            for verbatim, words in paragraphs(ast.get_docstring(node) or ""):
                yield node.lineno, "", words, ["an example"] if verbatim else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            for keyword in node.keywords:
                if keyword.arg in ("help", "short_help") and isinstance(keyword.value, ast.Constant):
                    yield keyword.value.lineno, "", keyword.value.value, []


def _extracted(found: Found) -> Extracted:
    return found.line, "", found.text, [found.what]


def _is_command(decorator: ast.expr) -> bool:
    call = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(call, ast.Attribute) and call.attr in _COMMANDS


def package_messages() -> Iterator[tuple[str, Extracted]]:
    """Yield every message of the package's modules and templates, and of click, with its file."""
    for path in sorted(_PACKAGE.rglob("*.py")):
        if "_course" not in path.parts:
            with path.open("rb") as file:
                for line, message, comments, _context in babel_extract.extract(extract_package, file, KEYWORDS):  # type: ignore[arg-type]
                    yield f"jaxguide/{path.relative_to(_PACKAGE).as_posix()}", (line, "", message, comments)
    for path in sorted(_PACKAGE.rglob("templates/*.html")):
        with path.open("rb") as file:
            for line, message, comments, _context in babel_extract.extract("jinja2", file, KEYWORDS):
                yield f"jaxguide/{path.relative_to(_PACKAGE).as_posix()}", (line, "", message, comments)
    place = Path(click.__file__).parent
    for path in sorted(place.glob("*.py")):
        with path.open("rb") as file:
            for line, message, comments, _context in babel_extract.extract("python", file, KEYWORDS):
                yield f"click/{path.name}", (line, "", message, comments)


def book_messages(places: CourseFolders) -> Iterator[tuple[str, Extracted]]:
    """Yield every text for students in a course's books, with its file."""
    for book in books_as_far_as_readable(places):
        for found in texts_in_book(book.read_text("utf-8")):
            yield f"exercises/{book.name}", _extracted(found)


def course_messages(places: CourseFolders) -> Iterator[tuple[str, Extracted]]:
    """Yield every text for students in a course's books and keys, with its file."""
    yield from book_messages(places)
    for key in sorted(places.solutions.glob("*.py")):
        for found in texts_in_key(key.read_text("utf-8")):
            yield f"solutions/{key.name}", _extracted(found)
