"""Find the reader's languages and their gettext catalogues, in the package and in courses."""

import contextlib
import contextvars
import functools
import gettext
import os
import re
import string
import struct
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "jaxguide"
"""The gettext domain of the package's messages."""
COURSE = "course"
"""The gettext domain of texts by course authors."""
STUDENTS = "students"
"""The name of a course's catalogue without the texts of its key; students get it under the name of the domain."""
LOCALE = Path(__file__).parents[1] / "locale"
"""The folder of the package's catalogues."""
PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*|\d+)\}")

# Longer texts do not come from f-strings, and matching them would be slow.
_FILLED_LIMIT = 1000
_NAME = re.compile(r"[A-Za-z]{2,8}(_[A-Za-z0-9]{2,8})*(@[A-Za-z0-9]+)?")
_ENGLISH = re.compile(r"(en(_.*)?|C|POSIX)")
_asked: contextvars.ContextVar[str | None] = contextvars.ContextVar("language", default=None)
_courses: list[Path] = []


@contextlib.contextmanager
def in_language(name: str) -> Iterator[None]:
    """Translate to the given languages inside a `with` block, whatever the reader's are; 'en' leaves texts as written.

    >>> with in_language("de:fr"):
    ...     languages()
    ('de', 'fr')
    """
    token = _asked.set(name)
    try:
        yield
    finally:
        _asked.reset(token)


def languages() -> tuple[str, ...]:
    """Return the reader's languages, preferred first, from `JAXGUIDE_LANG` or else the locale; empty for English."""
    asked = _asked.get()
    if asked is None:
        # gettext's order
        names = ("JAXGUIDE_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
        asked = next((value for name in names if (value := os.environ.get(name))), "")
    return named(asked)


@functools.lru_cache(maxsize=64)
def named(names: str) -> tuple[str, ...]:
    """Return the languages in a colon-separated list of locales, up to the first English one.

    >>> named("zh_CN.UTF-8"), named("pt-BR:de:en:fr"), named("C")
    (('zh_CN',), ('pt_BR', 'de'), ())
    """
    found: list[str] = []
    for name in names.split(":"):
        name = re.sub(r"\..*?(?=@|$)", "", name.strip()).replace("-", "_")
        if _ENGLISH.fullmatch(name):
            break  # texts are written in English, so later languages are not needed
        if _NAME.fullmatch(name):
            found.append(name)
    return tuple(found)


def add_course(locale: Path) -> None:
    """Also look for translations of authors' texts in this folder, before the package's own catalogues."""
    if locale not in _courses and locale.is_dir():
        _courses.insert(0, locale)


class Catalogue:
    """A compiled catalogue (`.mo` file).

    Raises:
        OSError, ValueError: the file cannot be read or is not a catalogue.
    """

    def __init__(self, path: Path):
        try:
            with path.open("rb") as file:
                self._texts = gettext.GNUTranslations(file)
            self._templates = [_pattern(text) for text in _message_ids(path) if PLACEHOLDER.search(text)]
        except (struct.error, UnicodeError, LookupError, SyntaxError) as error:
            raise ValueError(f"{path}: {error}") from error

    def text(self, message: str) -> str | None:
        """Return a message's translation, or None if it is missing or its placeholders differ from the message's."""
        found = self._texts.gettext(message) if message else message
        return found if found != message and same_fields(message, found) else None

    def plural(self, one: str, many: str, count: int) -> str | None:
        """Return the translated form of a message for a count; None in the same cases as `text`."""
        found = self._texts.ngettext(one, many, count)
        # A singular such as "One check" may leave out the number.
        return found if found not in (one, many) and same_fields(one + many, found, or_fewer=True) else None

    def filled(self, text: str) -> tuple[str, dict[str, str]] | None:
        """Return the translation of the f-string that produced a text, and the values that were filled in."""
        for pattern, template in self._templates if len(text) <= _FILLED_LIMIT else []:
            match = pattern.fullmatch(text)
            translation = self.text(template) if match else None
            if match and translation:
                names = PLACEHOLDER.findall(template)
                return translation, dict(zip(names, match.groups(), strict=True))
        return None


def same_fields(message: str, translation: str, or_fewer: bool = False) -> bool:
    """Return whether a translation has the same placeholders as its message.

    >>> same_fields("{count} checks", "{count} Prüfungen"), same_fields("{count} checks", "{zahl} Prüfungen")
    (True, False)
    """
    try:
        wanted = fields(message)
    except ValueError:  # the text has literal braces and is never formatted
        return True
    try:
        given = fields(translation)
    except ValueError:
        return False
    return given == wanted or (or_fewer and given < wanted)


def fields(text: str) -> set[str]:
    """Return the names of a message's placeholders.

    >>> sorted(fields("{{passed}} of {count}"))
    ['count', 'passed']

    Raises:
        ValueError: the text is not a valid format string.
    """
    # `{{passed}} of {count}` is formatted twice.
    found = {name for _text, name, _spec, _conversion in string.Formatter().parse(text) if name is not None}
    return found | set(re.findall(r"\{\{(\w+)\}\}", text))


def catalogues(domain: str) -> list[Catalogue]:
    """Return a domain's catalogues in the reader's languages, in the order in which to look texts up.

    Unreadable catalogues are skipped, so the reader gets English.
    """
    names = languages()
    return _loaded(tuple(files(domain, names))) if names else []


def files(domain: str, names: tuple[str, ...]) -> list[Path]:
    """Return these languages' catalogue files: in the folder `JAXGUIDE_CATALOGUES`, in courses, in the package."""
    own = os.environ.get("JAXGUIDE_CATALOGUES")
    return _found(domain, names, (*([Path(own)] if own else []), *(_courses if domain == COURSE else []), LOCALE))


@functools.lru_cache(maxsize=256)
def _found(domain: str, names: tuple[str, ...], folders: tuple[Path, ...]) -> list[Path]:
    places = [(name, folder) for name in names for folder in folders]
    return [Path(path) for name, folder in places for path in gettext.find(domain, folder, [name], all=True)]


@functools.lru_cache(maxsize=256)
def _loaded(paths: tuple[Path, ...]) -> list[Catalogue]:
    found = []
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            found.append(Catalogue(path))
    return found


def _pattern(template: str) -> tuple[re.Pattern[str], str]:
    parts = PLACEHOLDER.split(template)[::2]
    return re.compile("(.+?)".join(map(re.escape, parts)), re.DOTALL), template


def _message_ids(path: Path) -> list[str]:
    """Return a catalogue's messages, longest first so that the most specific f-string matches first."""
    data = path.read_bytes()
    order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
    count, start = struct.unpack_from(f"{order}2I", data, 8)
    found = []
    for number in range(count):
        length, offset = struct.unpack_from(f"{order}2I", data, start + 8 * number)
        found.append(data[offset : offset + length].decode("utf-8"))
    return sorted((text for text in found if "\0" not in text and "\4" not in text), key=len, reverse=True)
