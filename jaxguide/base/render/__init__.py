"""Render results as text, HTML and SVG that suit light and dark themes and screen readers."""

from dataclasses import dataclass
from typing import Any

from jaxguide.base.render.svg import Drawing

__all__ = ["Drawing", "Picture"]


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
