"""Print a book for students as a notebook and a `.py` with the same cells. The output is reproducible."""

import dataclasses
import hashlib
import json
from typing import TYPE_CHECKING, Any

from jaxguide.course.books.core_time import with_core
from jaxguide.course.books.documented_cells import folded
from jaxguide.course.books.first_cells import INSTALL_CELL, setup_cell
from jaxguide.course.books.statement import statement, stub_cell
from jaxguide.course.exercise import Task

if TYPE_CHECKING:  # this import loads JAX
    from jaxguide.course.books.book import Book

_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@dataclasses.dataclass(frozen=True)
class PrintedCell:
    """One cell as students get it: `source` is Markdown if `kind` is 'prose'; in the others it is code.

    The kinds of code are 'setup', 'example', 'exercise' and 'help'. `examples` are the documented examples that it
    shows.
    """

    kind: str
    source: str
    id: str
    examples: tuple[str, ...] = ()


def printed_cells(book: "Book") -> list[PrintedCell]:
    """Return a lesson's cells as students get them: no checks, no decorators, the setup after the first prose."""
    cells: list[PrintedCell] = []
    seen: dict[str, int] = {}

    def add(kind: str, source: str, examples: tuple[str, ...] = ()) -> None:
        # An id depends on the cell's content, so that inserting a cell does not change the ids of others.
        digest = hashlib.sha256(f"{book.topic}/{kind}/{source}".encode()).hexdigest()[:12]
        seen[digest] = seen.get(digest, 0) + 1
        cells.append(PrintedCell(kind, source, digest if seen[digest] == 1 else f"{digest}-{seen[digest]}", examples))

    exercises, documented = iter(book.exercises), iter(book.documented)  # one for each cell of its kind
    for cell in book.cells:
        if cell.kind == "prose":
            is_first = all(c.kind != "setup" for c in cells)
            add("prose", with_core(cell.prose, book) if is_first else cell.prose)
            if is_first:
                add("setup", INSTALL_CELL)
                add("setup", setup_cell(book.topic, book.start_course))
        elif cell.kind == "example":
            add("example", cell.source)
        elif cell.kind == "exercise":
            exercise = next(exercises)
            add("prose", statement(exercise))
            add("exercise", printable_source(exercise))
            add("help", help_cell(exercise, book.start_course))
        elif cell.kind == "documented":
            add("prose", folded(next(documented)), cell.ids)
    return cells


def printed_code(book: "Book") -> list[str]:
    """Return the code of a printed lesson, by whatever version: up to comments and docstrings, which differ."""
    examples = [cell.source for cell in book.cells if cell.kind == "example"]
    stubs = [_with_check(exercise.cell_source, exercise) for exercise in book.exercises]
    return [INSTALL_CELL, setup_cell(book.topic, book.start_course), *examples, *stubs]


def notebook_text(book: "Book") -> str:
    """Return the lesson as a notebook: nbformat 4.5, no outputs."""
    cells: list[dict[str, Any]] = []
    for cell in printed_cells(book):
        plain = {"id": cell.id, "metadata": {}, "source": cell.source.splitlines(keepends=True)}
        code: dict[str, Any] = {"cell_type": "code", "execution_count": None, "outputs": []}
        cells.append(plain | ({"cell_type": "markdown"} if cell.kind == "prose" else code))
    notebook = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def script_text(book: "Book") -> str:
    """Return the lesson as percent-format Python."""
    return "\n\n".join(map(script_cell, printed_cells(book))) + "\n"


def script_cell(cell: PrintedCell) -> str:
    """Return a cell as it is in the script, without the empty line below it."""
    if cell.kind != "prose":
        return "# %%\n" + cell.source
    return "\n".join(["# %% [markdown]", *(f"# {line}".rstrip() for line in cell.source.splitlines())])


def printed_files(book: "Book") -> dict[str, bytes]:
    """Return a book's printed files by name."""
    return {f"{book.topic}.ipynb": notebook_text(book).encode(), f"{book.topic}.py": script_text(book).encode()}


def printable_source(exercise: Task) -> str:
    """Return an exercise's cell as students get it below its statement: the stub, and `check(<name>)` below."""
    return _with_check(stub_cell(exercise), exercise)


def whole_source(exercise: Task) -> str:
    """Return an exercise's cell with all that it asks for, as in lessons printed by earlier versions of jaxguide."""
    heading = statement(exercise).partition("\n")[0].lstrip("#")
    return _with_check(f"#{heading}\n{exercise.cell_source}", exercise)


def _with_check(source: str, exercise: Task) -> str:
    return f"{source}\n\n\ncheck({exercise.name})"


def help_cell(exercise: Task, course: str = "") -> str:
    """Return the cell below an exercise: lines to uncomment; like `start`, without solutions in a `course`."""
    lines = [f"hint({exercise.name})", *(() if course else (f"solution({exercise.name})",))]
    return "\n".join(["# Stuck? Uncomment a line and run the cell.", *(f"# {line}" for line in lines)])
