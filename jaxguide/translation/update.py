"""Bring a language's catalogue up to date with the messages to translate, check it for mistakes, and compile it."""

import dataclasses
import io
from collections.abc import Iterable
from pathlib import Path

from babel import Locale, UnknownLocaleError
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import PoFileError, read_po, write_po

from jaxguide.base.catalogues import STUDENTS, Catalogue, fields, same_fields
from jaxguide.base.files import write_whole
from jaxguide.base.text import _, plural
from jaxguide.translation.extract import Extracted

_SHOWN = 60


class BadCatalogue(Exception):
    """A catalogue cannot be read, or its language does not exist; the message says what to do."""


@dataclasses.dataclass(frozen=True)
class Updated:
    """An updated catalogue: its file, how much is translated, and a sentence for each mistake in it."""

    path: Path
    messages: int
    translated: int
    problems: tuple[str, ...]


def template(messages: Iterable[tuple[str, Extracted]]) -> Catalog:
    """Return a catalogue without translations; a message that occurs in several places is in it once."""
    found = Catalog(project="jaxguide", charset="utf-8", fuzzy=False)
    for file, (line, _function, message, comments) in messages:
        one = message if isinstance(message, str) else tuple(message)
        if one and (one[0] if isinstance(one, tuple) else one).strip():
            found.add(one, locations=[(file, line)], auto_comments=comments)
    return found


def update(folder: Path, domain: str, language: str, wanted: Catalog) -> Updated:
    """Write `folder/language/LC_MESSAGES/domain.po` and `.mo`, keeping translations and adding new messages.

    Args:
        folder: the folder that contains one folder for each language.
        domain: the file's name without its suffix.
        language: the language, such as 'de' or 'zh_CN'.
        wanted: the messages to translate, as `template` returns them.

    Raises:
        BadCatalogue: the existing file cannot be read, or Babel does not know the language.
    """
    path = folder / language / "LC_MESSAGES" / f"{domain}.po"
    catalogue = _read(path, _locale(language), domain)
    # Guessing which old message became a new one takes minutes for a course; old ones are kept at the end of the file.
    catalogue.update(wanted, no_fuzzy_matching=True, update_creation_date=False)
    out = io.BytesIO()
    # Leave out line numbers, which change with every line that an author adds.
    write_po(out, catalogue, width=120, include_lineno=False)
    write_whole(path, out.getvalue().decode("utf-8"))
    return compiled(path, catalogue)


def compile_for_students(path: Path, books: Catalog) -> None:
    """Write next to a course's catalogue one without the texts of its key, for students, who get nothing of the key.

    Args:
        path: the course's `.po` file, which has been compiled.
        books: the texts of its books.
    """
    with path.with_suffix(".mo").open("rb") as file:
        catalogue = read_mo(file)
    for message in [message for message in catalogue if message.id and message.id not in books]:
        catalogue.delete(message.id, message.context)
    with path.with_name(f"{STUDENTS}.mo").open("wb") as file:
        write_mo(file, catalogue)


def compiled(path: Path, catalogue: Catalog) -> Updated:
    """Write the `.mo` file next to a `.po`, without faulty translations, whose messages stay English."""
    problems = []
    lines: dict[str, int] = {}
    for message in catalogue:
        wrong = _problem(message) if message.id and _is_translated(message) else ""
        if wrong:
            lines = lines or _lines(path)
            line = lines.get(_first(message), 1)
            problems.append(f"{path}:{line}: {wrong}")
            message.string = tuple("" for _form in message.string) if isinstance(message.string, tuple) else ""
    done = sum(bool(message.id) and _is_translated(message) for message in catalogue)
    target = path.with_suffix(".mo")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        write_mo(file, catalogue)
    Catalogue(target)  # fails now, and not for readers, if jaxguide cannot read the file
    return Updated(path, len(catalogue), done, tuple(problems))


def translation_summary(updated: Updated) -> str:
    """Return a sentence that says how much of a catalogue is translated."""
    words = plural(
        "{path}: {done} of {count} message translated",
        "{path}: {done} of {count} messages translated",
        updated.messages,
        path=updated.path,
        done=updated.translated,
    )
    if not updated.problems:
        return words
    wrong = plural("{count} with a mistake", "{count} with mistakes", len(updated.problems))
    return f"{words}, {wrong}"


def _locale(language: str) -> Locale:
    try:
        return Locale.parse(language)
    except (UnknownLocaleError, ValueError, TypeError):
        message = _("There is no language `{name}`; use a name such as `de`, `pt_BR` or `zh_CN`.")
        raise BadCatalogue(message.format(name=language)) from None


def _read(path: Path, locale: Locale, domain: str) -> Catalog:
    if not path.is_file():
        return Catalog(locale=locale, domain=domain, project="jaxguide", charset="utf-8", fuzzy=False)
    try:
        with path.open("rb") as file:
            return read_po(file, locale=locale, domain=domain, charset="utf-8", abort_invalid=True)
    except PoFileError as error:
        line = f":{error.lineno + 1}" if error.lineno is not None else ""
        message = _("{path}{line}: this is not a valid catalogue: {error}.")
        raise BadCatalogue(message.format(path=path, line=line, error=error)) from None
    except (OSError, ValueError) as error:
        raise BadCatalogue(_("{path} cannot be read: {error}.").format(path=path, error=error)) from None


def _lines(path: Path) -> dict[str, int]:
    """Return the line on which each message begins."""
    with path.open("rb") as file:
        return {_first(message): message.lineno or 1 for message in read_po(file, charset="utf-8")}


def _first(message: Message) -> str:
    return message.id if isinstance(message.id, str) else message.id[0]


def _is_translated(message: Message) -> bool:
    strings = message.string if isinstance(message.string, tuple) else (message.string,)
    return not message.fuzzy and all(strings)


def _problem(message: Message) -> str:
    """Return what is wrong with a translation, or '' if it has the placeholders of its message."""
    if isinstance(message.id, str):
        wanted, strings, or_fewer = message.id, [str(message.string)], False
    else:
        wanted, strings, or_fewer = "".join(message.id), [str(form) for form in message.string or ()], True
    for string in strings:
        if not same_fields(wanted, string, or_fewer):
            words = _("`{text}` needs the placeholders {wanted}; the translation has {got}. It is left in English.")
            return words.format(text=_short(wanted), wanted=_listed(wanted), got=_listed(string))
    return ""


def _listed(text: str) -> str:
    try:
        return ", ".join(f"{{{name}}}" for name in sorted(fields(text))) or _("none")
    except ValueError:
        return _("broken ones")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
