"""Display one result as the card that students read after `check`: as text, HTML and JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType

from jaxguide.base.render.card import CardFace
from jaxguide.base.render.card_html import card_html
from jaxguide.base.render.terminal import Layout, card_lines, plain_text
from jaxguide.course.cards.content import face_of
from jaxguide.course.cards.shown import result_from_plain, result_to_plain
from jaxguide.course.cards.student_view import for_student
from jaxguide.course.cards.summary import LessonSummary
from jaxguide.course.verdict import ExerciseResult

__all__ = ["Card", "LessonSummary", "for_student", "result_from_plain", "result_to_plain"]

# Not application/json: JupyterLab would show a JSON tree instead of the HTML.
JSON_TYPE = "application/vnd.jaxguide.result+json"


class Card:
    """One exercise's result, for a terminal, a notebook or a program.

    A card shows the student's view: of a hidden check, only its verdict, fact, idea, kind of input and misconceptions.
    With `reveal`, it shows everything, for instructors. `cases` maps names of checks to lines to show below them. With
    `verbose`, a terminal shows what a notebook folds away.
    """

    def __init__(
        self,
        result: ExerciseResult,
        reveal: bool = False,
        cases: Mapping[str, list[str]] | None = None,
        verbose: bool = False,
    ):
        self.result = result
        self.reveal = reveal
        self.cases = cases or {}
        self.verbose = verbose

    @property
    def face(self) -> CardFace:
        """The card's description."""
        return face_of(self.result, self.reveal, self.cases)

    def text(self, width: int | None = None) -> str:
        """Return the card as plain text with all details, wrapped at `width` (by default, the terminal's)."""
        return plain_text(Card(self.result, self.reveal, self.cases, verbose=True), width)

    def html(self) -> str:
        """Return the card as HTML with inline style, for light and dark themes."""
        return card_html(self.face)

    def plain(self) -> dict[str, Any]:
        """Return the card's result as JSON data."""
        return result_to_plain(self.result if self.reveal else for_student(self.result))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield from card_lines(self.face, Layout(options.max_width, options.ascii_only, unfolded=self.verbose))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": self.text(), "text/html": self.html(), JSON_TYPE: self.plain()}

    def __repr__(self) -> str:
        return self.text()
