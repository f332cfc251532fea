"""Display a card: as text in a terminal, and as HTML in a notebook."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType

from jaxguide.base.render.card import CardFace
from jaxguide.base.render.card_html import card_html
from jaxguide.base.render.terminal import Layout, card_lines, plain_text


class CardView:
    """A card to display.

    Args:
        face: what it shows.
        unfolded: whether a terminal shows what a notebook folds away.
    """

    def __init__(self, face: CardFace, unfolded: bool = False):
        self.face, self.unfolded = face, unfolded

    def text(self, width: int | None = None) -> str:
        """Return the card as plain text with all details, wrapped at `width` (by default, the terminal's)."""
        return plain_text(CardView(self.face, unfolded=True), width)

    def html(self) -> str:
        """Return the card as HTML with inline style, for light and dark themes."""
        return card_html(self.face)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield from card_lines(self.face, Layout(options.max_width, options.ascii_only, self.unfolded))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": self.text(), "text/html": self.html()}

    def __repr__(self) -> str:
        return self.text()
