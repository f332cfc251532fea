"""Show the commands' help in the reader's language: docstrings, help of options, and click's own words."""

import contextlib
import copy
import gettext
import inspect
import os
from collections.abc import Iterator
from typing import Any

import click

from jaxguide.base.catalogues import PACKAGE, files, languages
from jaxguide.base.text import _


def translated_command(command: click.Command) -> click.Command:
    """Return a copy of a command with its help in the reader's language, translated paragraph by paragraph."""
    if not languages():
        return command
    found = copy.copy(command)
    if found.help:
        said = [
            (f"{VERBATIM}\n" if verbatim else "") + _(words)
            for verbatim, words in paragraphs(inspect.cleandoc(found.help))
        ]
        found.help = "\n\n".join(said)
    if found.short_help:
        found.short_help = _(found.short_help)
    found.params = [_spoken_parameter(parameter) for parameter in found.params]
    if isinstance(found, click.Group):
        found.commands = {name: translated_command(one) for name, one in found.commands.items()}
    return found


def _spoken_parameter(parameter: click.Parameter) -> click.Parameter:
    found = copy.copy(parameter)
    if isinstance(found, click.Option) and found.help:
        found.help = _(found.help)
    return found


@contextlib.contextmanager
def click_translated() -> Iterator[None]:
    """Let click look up its own words (Usage, Options, errors) in the package's catalogues while a command runs."""
    found = files(PACKAGE, languages()) if languages() else []
    if not found:
        yield
        return
    before: dict[str, Any] = {"domain": gettext.textdomain(), "LANGUAGE": os.environ.get("LANGUAGE")}
    # The file is folder/de/LC_MESSAGES/jaxguide.mo; gettext needs `folder`.
    gettext.bindtextdomain(PACKAGE, str(found[0].parents[2]))
    gettext.textdomain(PACKAGE)
    os.environ["LANGUAGE"] = ":".join(languages())
    try:
        yield
    finally:
        gettext.textdomain(before["domain"])
        os.environ.pop("LANGUAGE")
        if before["LANGUAGE"] is not None:
            os.environ["LANGUAGE"] = before["LANGUAGE"]


VERBATIM = "\b"
"""The line that tells click not to rewrap the paragraph below."""


def paragraphs(text: str) -> list[tuple[bool, str]]:
    r"""Split a command's help into paragraphs: for each, whether its line breaks are kept, and its text.

    >>> paragraphs("Say\nit.\n\n\b\nExample: jaxguide hint f")
    [(False, 'Say it.'), (True, 'Example: jaxguide hint f')]
    """
    found = []
    for part in text.strip().split("\n\n"):
        is_verbatim = part.lstrip().startswith(VERBATIM)
        words = part.strip().removeprefix(VERBATIM).strip("\n")
        found.append((is_verbatim, words if is_verbatim else " ".join(words.split())))
    return found
