"""Hold one thing to show in each form that a front end may ask for."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, repr=False)
class Picture:
    """One thing to look at: as text in a terminal, as HTML in a notebook, as SVG in a file where it is a drawing.

    >>> Picture("a -> b", html="<p>a to b</p>")
    a -> b

    Args:
        text: what a terminal shows, and what a reader gets who cannot see the drawing.
        html: what a notebook shows; empty for text alone.
        svg: the drawing as a file of its own; empty where there is none.
    """

    text: str
    html: str = ""
    svg: str = ""

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        # No image/svg+xml: JupyterLab shows it as an image, which the page's theme does not reach.
        return {"text/plain": self.text} | ({"text/html": self.html} if self.html else {})
