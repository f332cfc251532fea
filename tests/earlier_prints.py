"""Lessons as versions before the one with statements in Markdown printed them."""

import json
from collections.abc import Iterator
from pathlib import Path

from jaxguide.course.books.book import Book
from jaxguide.course.books.first_cells import INSTALL_CELL, setup_cell
from jaxguide.course.exercise import Task


def earlier_cell(exercise: Task) -> str:
    """Return an exercise's cell, with all of its docstring."""
    title = exercise.title if exercise.is_prediction else f"Exercise: {exercise.title}"
    points = f"{exercise.points:g} {'point' if exercise.points == 1 else 'points'}"
    return f"# {title} ({points})\n{exercise.cell_source}\n\n\ncheck({exercise.name})"


def _cells(book: Book) -> Iterator[tuple[str, str]]:
    exercises, is_first = iter(book.exercises), True
    for cell in book.cells:
        if cell.kind == "prose":
            yield "markdown", cell.prose
            if is_first:
                yield "code", INSTALL_CELL
                yield "code", setup_cell(book.topic, book.start_course)
            is_first = False
        elif cell.kind == "example":
            yield "code", cell.source
        elif cell.kind == "exercise":
            yield "code", earlier_cell(next(exercises))


def print_earlier(book: Book, folder: Path) -> list[Path]:
    """Write a lesson's notebook and `.py` file into a folder, and return them."""
    notebook, script = folder / f"{book.topic}.ipynb", folder / f"{book.topic}.py"
    code: dict[str, object] = {"execution_count": None, "metadata": {}, "outputs": []}
    cells = [
        {"cell_type": kind, "source": text.splitlines(keepends=True), **(code if kind == "code" else {"metadata": {}})}
        for kind, text in _cells(book)
    ]
    notebook.write_text(
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False)
        + "\n",
        "utf-8",
    )
    parts = []
    for kind, text in _cells(book):
        lines = text if kind == "code" else "\n".join(f"# {line}".rstrip() for line in text.splitlines())
        parts.append(f"# %%{'' if kind == 'code' else ' [markdown]'}\n{lines}")
    script.write_text("\n\n".join(parts) + "\n", "utf-8")
    return [notebook, script]
