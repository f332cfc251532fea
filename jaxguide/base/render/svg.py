"""Draw boxes, lines and text as SVG, with a title and a description for screen readers."""

from dataclasses import dataclass, field
from html import escape

from jaxguide.base.render.theme import BACKGROUND, CODE_FONT, EDGES, FOREGROUND

# The widest of the monospaced fonts in use, so that text fits into its box in all of them.
CHARACTER_WIDTH = 0.62
# A standalone file has no page to inherit colours from.
_ALONE = (
    "<style>:root{color:#111;background:#fff}"
    "@media(prefers-color-scheme:dark){:root{color:#eee;background:#111}}</style>"
)


def text_width(words: str, size: float = 13) -> float:
    """Return the maximum width of a text, in SVG units, in a monospaced font of this size."""
    return len(words) * size * CHARACTER_WIDTH


@dataclass
class Drawing:
    """A drawing in the theme's text colour; only edges have other colours, each with a word or glyph beside it.

    >>> drawing = Drawing("Two keys", "One key, split into two.", width=120, height=40)
    >>> drawing.box(4, 4, 60, 20, "key", tone="good")
    >>> drawing.svg().startswith("<svg"), "<title" in drawing.svg(), "<desc" in drawing.html()
    (True, True, True)

    Args:
        title: what it shows, in a few words; read aloud, and shown as a tooltip.
        description: its content in words, for readers who cannot see it.
        width, height: in SVG units, which are pixels unless the page scales the drawing.
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
        """Draw a box with a text inside; `tone` colours its edge, `note` is its tooltip."""
        title = f"<title>{escape(note)}</title>" if note else ""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="none" '
            f'stroke-width="1.5" style="{_stroke(tone)}">{title}</rect>'
        )
        if text:
            self.words(x + 6, y + height / 2 + 4.5, text)

    def path(self, d: str, *, tone: str = "quiet", dashed: bool = False, note: str = "") -> None:
        """Draw a line along an SVG path; `note` is its tooltip."""
        title = f"<title>{escape(note)}</title>" if note else ""
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self._parts.append(f'<path d="{d}" fill="none" stroke-width="1.5"{dash} style="{_stroke(tone)}">{title}</path>')

    def arrowhead(self, x: float, y: float) -> None:
        """Draw an arrowhead that points to the right, with its tip at (x, y)."""
        # A `marker` needs an id, which the same picture shown twice on a page would share.
        self._parts.append(f'<polygon points="{x - 9:g},{y - 5:g} {x + 1:g},{y:g} {x - 9:g},{y + 5:g}" stroke="none"/>')

    def svg(self) -> str:
        """Return the drawing as the text of an SVG file."""
        return self._svg(_ALONE, "")

    def html(self) -> str:
        """Return the drawing as HTML for a page: it has the page's colours, and scrolls if it is too wide."""
        colours = f"color:{FOREGROUND};background-color:{BACKGROUND};"
        return f'<div style="overflow-x:auto;max-width:100%">{self._svg("", colours)}</div>'

    def _svg(self, head: str, style: str) -> str:
        # JupyterLab scales drawings to the width of the page, and would make their text too small to read.
        size = f"width:{self.width:g}px;min-width:{self.width:g}px;max-width:none;height:{self.height:g}px"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(self.title)}" '
            f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" height="{self.height:g}" '
            f'fill="currentColor" style="{style}{size};font-family:{CODE_FONT}">'
            f"<title>{escape(self.title)}</title><desc>{escape(self.description)}</desc>"
            f"{head}{''.join(self._parts)}</svg>"
        )


def _stroke(tone: str) -> str:
    own, theme = EDGES[tone]
    return f"stroke:{own};stroke:{theme}"
