"""Say where a course has each documented example: in which lesson, exercise and cell."""

import dataclasses
from typing import TYPE_CHECKING

from jaxguide.course import ledger
from jaxguide.course.books.printer import printed_cells, script_cell

if TYPE_CHECKING:  # this import loads JAX
    from jaxguide.course.books.library import Course

_INTRODUCTION = """# The documented examples

The lessons reproduce every example of these pages as an exercise. Cells are counted from the top of the notebook. Each
link leads to *The document's example, today*, a folded cell below the exercise.
"""


@dataclasses.dataclass(frozen=True)
class ExamplePlace:
    """Where an example is shown; cells are counted from 1, and `line` is that in the script."""

    lesson: str
    exercise: str
    cell: int
    cell_id: str
    line: int


def example_places(course: "Course") -> dict[str, ExamplePlace]:
    """Return where a course shows the documented examples that its exercises reproduce: id -> place, sorted by id."""
    found: dict[str, ExamplePlace] = {}
    for topic, book in course.books.items():
        exercises = {example: one.name for one in book.exercises for example in one.reproduces}
        line = 1
        for number, cell in enumerate(printed_cells(book), 1):
            for example in cell.examples:
                found[example] = ExamplePlace(topic, exercises[example], number, cell.id, line)
            line += script_cell(cell).count("\n") + 2
    return dict(sorted(found.items()))


def index_text(course: "Course") -> str:
    """Return a table of a course's documented examples for each page of the documents, in Markdown; '' if it has none.

    Links lead to the cell in JupyterLab, and elsewhere to the notebook.
    """
    lines, heading = [], ""
    for example, place in example_places(course).items():
        title, address = ledger.page_of(example)
        if title != heading:
            lines += ["", f"## [{title}]({address})", "", "| example | what it shows | lesson | exercise | cell |"]
            lines += ["| --- | --- | --- | --- | --- |"]
            heading = title
        says, link = ledger.entries()[example]["says"], f"{place.lesson}.ipynb"
        row = f"[{place.lesson}]({link}) | `{place.exercise}` | [{place.cell}]({link}#cell-id={place.cell_id})"
        lines.append(f"| {example} | {says} | {row} |")
    return _INTRODUCTION + "\n".join([*lines, ""]) if lines else ""
