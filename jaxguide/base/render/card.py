"""Describe a card once; `card_html` lays it out for a notebook, and `terminal` for a terminal.

Texts are shown as they are, so whoever makes a card cleans what comes from a student's code (`base.clean`).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Badge:
    """A state as a glyph (and one for ASCII-only terminals), a word, and a tone for the edge."""

    glyph: str
    ascii_glyph: str
    word: str
    tone: str


STATELESS = Badge("", "", "", "quiet")
"""The badge of a card that tells no state."""


@dataclass(frozen=True)
class Prose:
    """Sentences, with code in backticks, after an optional label; only an author's text `has_links` to follow."""

    text: str
    label: str = ""
    has_links: bool = False


@dataclass(frozen=True)
class Code:
    """Lines shown verbatim in a code font, after an optional label.

    Args:
        text: the lines.
        label: what they are.
        is_python: whether to highlight them as Python.
        marked: ranges of characters to mark, as (first, end) in `text`.
    """

    text: str
    label: str = ""
    is_python: bool = False
    marked: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Pair:
    """Two codes to compare: side by side where they fit, and one below the other elsewhere."""

    first: Code
    second: Code


@dataclass(frozen=True)
class Diff:
    """How lines differ, as `line_diff` writes it, below a label that says what `-` and `+` stand for."""

    text: str
    label: str


@dataclass(frozen=True)
class Item:
    """One entry of a list: a state, a sentence, and lines of code below it; in a notebook, it may be a link."""

    badge: Badge
    text: str
    lines: tuple[str, ...] = ()
    link: str = ""


@dataclass(frozen=True)
class Items:
    """A list of entries."""

    items: tuple[Item, ...]


@dataclass(frozen=True)
class Bar:
    """How much is done: a share from 0 to 1, and in words all that it says."""

    share: float
    text: str


@dataclass(frozen=True)
class Folded:
    """Parts that a notebook shows after a click on `title`, and a terminal only if it is asked for all details.

    Args:
        title: what is folded away, which is always shown.
        parts: what is folded.
    """

    title: str
    parts: "tuple[Part, ...]"


Part = Prose | Code | Pair | Diff | Items | Bar | Folded


@dataclass(frozen=True)
class CardFace:
    """What a card shows: a state and a title, the name in code beside it, and its parts from top to bottom.

    A card without a title has no head.
    """

    badge: Badge
    title: str
    name: str = ""
    parts: tuple[Part, ...] = ()
