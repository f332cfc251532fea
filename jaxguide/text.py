"""Translate the package's own messages through gettext."""

import functools
import gettext
import math
import os
from pathlib import Path

_CATALOGUES = Path(__file__).parent / "locale"


@functools.cache
def _translations(language: str | None) -> gettext.NullTranslations:
    languages = [language] if language else None
    return gettext.translation("jaxguide", _CATALOGUES, languages=languages, fallback=True)


def _(message: str) -> str:
    """Return `message` in the reader's language, or as it is where no translation exists.

    `JAXGUIDE_LANG` decides, then the locale. English is the source.

    >>> _("Passed")
    'Passed'
    """
    return _translations(os.environ.get("JAXGUIDE_LANG")).gettext(message)


def plural(one: str, many: str, count: float, **words: object) -> str:
    """Return the form of a message that fits `count`, with `{count}` and `words` filled in.

    >>> plural("{count} check", "{count} checks", 3)
    '3 checks'
    """
    message = _translations(os.environ.get("JAXGUIDE_LANG")).ngettext(one, many, math.ceil(count))
    return message.format(count=f"{count:g}", **words)
