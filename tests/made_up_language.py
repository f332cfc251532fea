"""A made-up language that puts each English text between ⟦ and ⟧: text outside them cannot be translated."""

import contextlib
import functools
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from jaxguide.base.catalogues import COURSE, PACKAGE
from jaxguide.course.books.folders import CourseFolders
from jaxguide.course.cards.content import Content, content_of
from jaxguide.course.verdict import ExerciseResult
from jaxguide.translation.extract import course_messages, package_messages
from jaxguide.translation.update import compiled, template

NAME = "xx"
# How a part of what a function returned, or a check compared, is written, which is Python.
_PART = re.compile(r"(result|compared)[\[.].*")
_INNERMOST = re.compile(r"⟦[^⟦⟧]*⟧")


def wrapped(text: str) -> str:
    """Translate a text into the made-up language."""
    return f"⟦{text}⟧"


def outside(text: str) -> str:
    """Return the parts of a text outside ⟦ and ⟧; a bracket whose end was cut off counts as closed.

    >>> outside("1 ⟦of {⟦two⟧}⟧ and")
    '1  and'
    """
    text += "⟧" * max(0, text.count("⟦") - text.count("⟧"))
    before = ""
    while before != text:
        before, text = text, _INNERMOST.sub("", text)
    return text


def words_outside(text: str, known: Iterable[str] = ()) -> list[str]:
    """Return the untranslated words of two or more letters, except `known` ones and code in backticks."""
    left = re.sub(r"`[^`]*`", "", outside(text))
    return [word for word in re.findall(r"[^\W\d_]{2,}", left) if word not in set(known)]


def left_on_card(result: ExerciseResult) -> list[str]:
    """Return the untranslated texts of a result's card, for students and for instructors."""
    left = []
    for reveal in (False, True):
        texts = [text for text in _texts_of(content_of(result, reveal)) if not _PART.fullmatch(text)]
        left += [text for text in texts if words_outside(text, {result.name})]
    return left


def _texts_of(content: Content) -> list[str]:
    """Return the text of a card, without calls and values."""
    shown = content.on, content.call, *content.pair, content.error, content.hint, content.printed
    rows = [row.label for row in shown if row] + ([content.on.text] if content.on else [])
    checks = [text for state, fact, _cases in content.checks for text in (state.word, fact)]
    behind = [content.misconceptions.text] if content.misconceptions else []
    said = [content.badge.word, content.title, content.failed, content.message, content.idea, content.counts]
    return [*said, *rows, *checks, *behind]


def write_package(folder: Path) -> None:
    """Write the catalogue of the package's messages in the made-up language."""
    _write(folder, PACKAGE, _package())


def write_course(folder: Path, places: CourseFolders) -> None:
    """Write the catalogue of a course's texts in the made-up language."""
    _write(folder, COURSE, _course(places))


@contextlib.contextmanager
def spoken(folder: Path, places: CourseFolders) -> Iterator[None]:
    """Write the catalogues into `folder`, and set the made-up language within the block."""
    folder.chmod(0o755)  # workers may run as a user of their own
    write_package(folder)
    write_course(folder, places)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAXGUIDE_LANG", NAME)
        patch.setenv("JAXGUIDE_CATALOGUES", str(folder))
        yield


# To look for all messages takes seconds, and no test changes them.
@functools.cache
def _package() -> bytes:
    return _compiled(template(package_messages()))


@functools.cache
def _course(places: CourseFolders) -> bytes:
    return _compiled(template(course_messages(places)))


def _compiled(wanted: Catalog) -> bytes:
    for message in wanted:
        if isinstance(message.id, tuple):
            message.string = tuple(map(wrapped, message.id))
        elif message.id:
            message.string = wrapped(str(message.id))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "messages.po"
        done = compiled(path, wanted)
        assert done.problems == ()
        assert done.translated == done.messages
        return path.with_suffix(".mo").read_bytes()


def _write(folder: Path, domain: str, catalogue: bytes) -> None:
    path = folder / NAME / "LC_MESSAGES" / f"{domain}.mo"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(catalogue)
