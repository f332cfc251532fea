"""Translate what a reader meets through gettext: the package's own messages, and what authors wrote."""

import math

from jaxguide.base.catalogues import COURSE, PACKAGE, PLACEHOLDER, catalogues


def _(message: str) -> str:
    """Return `message` in the reader's language, or as it is where no translation exists.

    `JAXGUIDE_LANG` decides, then the locale. English is the source.
    A translation with other placeholders counts as none.

    >>> _("Passed")
    'Passed'
    """
    for catalogue in catalogues(PACKAGE):
        found = catalogue.text(message)
        if found is not None:
            return found
    return message


def plural(one: str, many: str, count: float, **words: object) -> str:
    """Return the form of a message that fits `count`, with `{count}` and `words` filled in.

    >>> plural("{count} check", "{count} checks", 3)
    '3 checks'
    """
    number = math.ceil(count)
    found = (catalogue.plural(one, many, number) for catalogue in catalogues(PACKAGE))
    message = next((text for text in found if text is not None), one if number == 1 else many)
    return message.format(count=f"{count:g}", **words)


def translated(text: str) -> str:
    """Return what an author wrote in the reader's language: a title, a hint, a check's message; else as it is.

    Authors write plain strings and f-strings: of a text made by one, the f-string's translation is filled in anew.

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
