"""Say where a course has each documented example: in which lesson, exercise and cell."""

import dataclasses
from typing import TYPE_CHECKING

from jaxguide.course import ledger
from jaxguide.course.books.printer import printed_cells, script_cell

if TYPE_CHECKING:  # this import loads JAX
    from jaxguide.course.books.book import Book
    from jaxguide.course.books.library import Course


@dataclasses.dataclass(frozen=True)
class CellPlace:
    """A cell of a printed lesson: its number in the notebook, from 1, its line in the script, and its id."""

    number: int
    line: int
    id: str


@dataclasses.dataclass(frozen=True)
class ExamplePlace:
    """Where a course has a documented example: `statement` asks for it, and `shown` shows it, if a cell does."""

    lesson: str
    exercise: str
    statement: CellPlace
    shown: CellPlace | None


def example_places(course: "Course") -> dict[str, ExamplePlace]:
    """Return where a course has the documented examples that its exercises reproduce: id -> place, sorted by id."""
    found: dict[str, ExamplePlace] = {}
    for book in course.books.values():
        statements, shown = _cell_places(book)
        for exercise, place in zip(book.exercises, statements, strict=True):
            for example in exercise.reproduces:
                found[example] = ExamplePlace(book.topic, exercise.name, place, shown.get(example))
    return dict(sorted(found.items()))


def _cell_places(book: "Book") -> tuple[list[CellPlace], dict[str, CellPlace]]:
    """Return the cells with the exercises' statements, in order, and the cell that shows each documented example."""
    statements, shown, line, above = [], {}, 1, None
    for number, cell in enumerate(printed_cells(book), 1):
        place = CellPlace(number, line, cell.id)
        if cell.kind == "exercise" and above:
            statements.append(above)
        shown |= dict.fromkeys(cell.shows, place)
        line += script_cell(cell).count("\n") + 2
        above = place
    return statements, shown


def index_text(course: "Course") -> str:
    """Return a table of a course's documented examples for each page of the documents, in Markdown; '' if it has none.

    Links lead to the cell in JupyterLab, and elsewhere to the notebook.
    """
    text, heading = "", ""
    for example, place in example_places(course).items():
        title, address = ledger.page_of(example)
        if title != heading:
            text += f"\n## [{title}]({address})\n\n| example | what it shows | lesson | exercise | cell |\n"
            text += "| --- | --- | --- | --- | --- |\n"
            heading = title
        link, shown = f"{place.lesson}.ipynb", place.shown or place.statement
        says = ledger.entries()[example]["says"]
        text += f"| {example} | {says} | [{place.lesson}]({link}) | `{place.exercise}` | "
        text += f"[{shown.number}]({link}#cell-id={shown.id}) |\n"
    return text and f"{_INTRODUCTION}{text}"


_INTRODUCTION = """# The documented examples

The lessons reproduce every example of these pages as an exercise. Cells are counted from the top of the notebook. The
one named here is *The document's example, today*, which is folded below the exercise, or, if the lesson has none yet,
the exercise itself.
"""
