"""Translate the package's messages and the texts of course authors with gettext."""

import math

from jaxguide.base.catalogues import COURSE, PACKAGE, PLACEHOLDER, catalogues


def _(message: str) -> str:
    """Return `message` in the reader's language, or unchanged if it has no translation.

    The language comes from `JAXGUIDE_LANG` or else the locale. Messages are written in English.
    A translation whose placeholders differ from the original's is ignored.

    >>> _("Passed")
    'Passed'
    """
    for catalogue in catalogues(PACKAGE):
        found = catalogue.text(message)
        if found is not None:
            return found
    return message


def plural(one: str, many: str, count: float, **words: object) -> str:
    """Return the singular or plural message for `count`, with `{count}` and `words` filled in.

    >>> plural("{count} check", "{count} checks", 3)
    '3 checks'
    """
    number = math.ceil(count)
    found = (catalogue.plural(one, many, number) for catalogue in catalogues(PACKAGE))
    message = next((text for text in found if text is not None), one if number == 1 else many)
    return message.format(count=f"{count:g}", **words)


def translated(text: str) -> str:
    """Return an author's text (a title, a hint, a check's message) in the reader's language, or unchanged.

    If an f-string produced the text, its translation is filled in with the same values.

    >>> translated("Both draws are the same number.")
    'Both draws are the same number.'
    """
    for catalogue in catalogues(COURSE):
        found = catalogue.text(text)
        if found is not None:
            return found
        filled = catalogue.filled(text)
        if filled is not None:
            translation, values = filled
            said = {name: translated(value) for name, value in values.items()}
            return PLACEHOLDER.sub(lambda match, said=said: said[match[1]], translation)  # type: ignore[misc]
    return text
