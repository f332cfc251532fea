"""Take a command's help apart into the paragraphs that are translated one by one."""

VERBATIM = "\b"
"""The line with which click marks a paragraph whose lines stay as they are."""


def paragraphs(text: str) -> list[tuple[bool, str]]:
    r"""Take a command's help apart: whether a paragraph's lines stay as they are, and its words.

    >>> paragraphs("Say\nit.\n\n\b\nExample: jaxguide hint f")
    [(False, 'Say it.'), (True, 'Example: jaxguide hint f')]
    """
    found = []
    for part in text.strip().split("\n\n"):
        is_verbatim = part.lstrip().startswith(VERBATIM)
        words = part.strip().removeprefix(VERBATIM).strip("\n")
        found.append((is_verbatim, words if is_verbatim else " ".join(words.split())))
    return found
