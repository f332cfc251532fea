"""Split a command's help into the paragraphs that are translated one by one."""

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
