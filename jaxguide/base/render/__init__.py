"""Render results as text, HTML and SVG that suit light and dark themes and screen readers."""

from dataclasses import dataclass
from html import escape
from typing import Any

from jaxguide.base.render.prose import prose_html
from jaxguide.base.render.svg import Drawing
from jaxguide.base.render.theme import CODE, frame

__all__ = ["Drawing", "Picture", "drawn"]


@dataclass(frozen=True, repr=False)
class Picture:
    """A result to display: as text in a terminal, as HTML in a notebook, and as an SVG file if it is a drawing.

    >>> Picture("a -> b", html="<p>a to b</p>")
    a -> b

    Args:
        text: for terminals, and for readers who cannot see the drawing.
        html: for notebooks; empty to show the text.
        svg: the drawing as a standalone file; empty if there is none.
    """

    text: str
    html: str = ""
    svg: str = ""

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        # No image/svg+xml: JupyterLab shows it as an image, which does not follow the page's theme.
        return {"text/plain": self.text} | ({"text/html": self.html} if self.html else {})


def drawn(drawing: Drawing, summary: str, text: str, below: str = "", tone: str = "good") -> Picture:
    """Return a drawing in a frame, below a summary of it; a notebook folds `text`, which says the same.

    Without a text, nothing was to draw, and only the summary is shown. The lines `below` are what to say about it.
    """
    shown = "\n\n".join(filter(None, (summary, text, below)))
    said = "".join(f'<p style="margin:0.2em 0">{prose_html(line)}</p>' for line in below.splitlines())
    inside = (
        f"{drawing.html()}{said}<details><summary>As text</summary>"
        f'<pre style="{CODE};white-space:pre;overflow-x:auto">{escape(text)}</pre></details>'
    )
    html = f'<div style="{frame(tone)};max-width:none"><div>{escape(summary)}</div>{inside if text else ""}</div>'
    return Picture(shown, html, drawing.svg())
