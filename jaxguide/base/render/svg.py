"""Draw boxes, lines and words as SVG with a title and a description for screen readers."""

import itertools
from dataclasses import dataclass, field
from html import escape

from jaxguide.base.render.theme import BACKGROUND, CODE_FONT, EDGES, FOREGROUND

# Of the monospaced fonts in use; a box made with it holds its words in all of them.
CHARACTER_WIDTH = 0.62
_IDS = itertools.count(1)
# A file of its own has no page around it to take colours from.
_ALONE = (
    "<style>:root{color:#111;background:#fff}"
    "@media(prefers-color-scheme:dark){:root{color:#eee;background:#111}}</style>"
)


def text_width(words: str, size: float = 13) -> float:
    """Return how wide words are at most, in SVG units, in a monospaced font of this size."""
    return len(words) * size * CHARACTER_WIDTH


@dataclass
class Drawing:
    """A drawing that takes the theme's text colour; only edges have colours of their own, each beside a word or glyph.

    >>> drawing = Drawing("Two keys", "One key, split into two.", width=120, height=40)
    >>> drawing.box(4, 4, 60, 20, "key", tone="good")
    >>> drawing.svg().startswith("<svg"), "<title" in drawing.svg(), "<desc" in drawing.html()
    (True, True, True)

    Args:
        title: what it shows, in a few words: read aloud, and shown under the pointer.
        description: what it says, for someone who cannot see it.
        width, height: in SVG units, which are pixels where there is room.
    """

    title: str
    description: str
    width: float
    height: float
    _parts: list[str] = field(default_factory=list)

    def words(
        self, x: float, y: float, text: str, *, size: float = 13, bold: bool = False, anchor: str = "start"
    ) -> None:
        """Write one line of text with its baseline at (x, y); `anchor` is 'start', 'middle' or 'end'."""
        weight = ' font-weight="bold"' if bold else ""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"{weight} '
            f'style="white-space:pre">{escape(text)}</text>'
        )

    def box(
        self, x: float, y: float, width: float, height: float, text: str = "", *, tone: str = "quiet", note: str = ""
    ) -> None:
        """Draw a box with its words inside; `tone` colours its edge, `note` is shown under the pointer."""
        title = f"<title>{escape(note)}</title>" if note else ""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="none" '
            f'stroke-width="1.5" style="{_stroke(tone)}">{title}</rect>'
        )
        if text:
            self.words(x + 6, y + height / 2 + 4.5, text)

    def path(self, d: str, *, tone: str = "quiet", dashed: bool = False, arrow: bool = False, note: str = "") -> None:
        """Draw a line along an SVG path; `arrow` puts a head on its end."""
        title = f"<title>{escape(note)}</title>" if note else ""
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        head = ' marker-end="url(#ARROW)"' if arrow else ""
        self._parts.append(
            f'<path d="{d}" fill="none" stroke-width="1.5"{dash}{head} style="{_stroke(tone)}">{title}</path>'
        )

    def svg(self) -> str:
        """Return the drawing as the text of an SVG file."""
        return self._svg(_ALONE, "")

    def html(self) -> str:
        """Return the drawing to put into a page: it takes the page's colours and scrolls when it is too wide."""
        colours = f"color:{FOREGROUND};background-color:{BACKGROUND};"
        return f'<div style="overflow-x:auto">{self._svg("", colours)}</div>'

    def _svg(self, head: str, style: str) -> str:
        number = next(_IDS)  # ids are the page's, and a page may hold many drawings
        arrow = f"jaxguide-arrow-{number}"
        body = "".join(self._parts).replace("url(#ARROW)", f"url(#{arrow})")
        marker = (
            f'<defs><marker id="{arrow}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="currentColor"/></marker></defs>'
            if f"#{arrow}" in body
            else ""
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="jaxguide-title-{number} '
            f'jaxguide-desc-{number}" viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" '
            f'height="{self.height:g}" fill="currentColor" style="{style}font-family:{CODE_FONT}">'
            f'<title id="jaxguide-title-{number}">{escape(self.title)}</title>'
            f'<desc id="jaxguide-desc-{number}">{escape(self.description)}</desc>{head}{marker}{body}</svg>'
        )


def _stroke(tone: str) -> str:
    own, theme = EDGES[tone]
    return f"stroke:{own};stroke:{theme}"
