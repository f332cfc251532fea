"""Make submissions from a real lesson: solved, untouched, or with planted wrong answers."""

import json
from collections.abc import Mapping
from pathlib import Path

from jaxguide.course.books.book import Book
from jaxguide.course.books.printer import notebook_text, printed_cells


def submission(book: Book, path: Path, answers: Mapping[str, str]) -> Path:
    """Write the printed lesson as a notebook, with `answers` (name -> source) instead of their stubs."""
    notebook = json.loads(notebook_text(book))
    for printed, cell in zip(printed_cells(book), notebook["cells"], strict=True):
        if printed.kind == "exercise":
            name = printed.source.rsplit("check(", 1)[1].rstrip(")")
            if name in answers:
                cell["source"] = f"{answers[name]}\n\ncheck({name})".splitlines(keepends=True)
    path.write_text(json.dumps(notebook))
    return path


def right_answers(book: Book) -> dict[str, str]:
    """Return the key's answers."""
    return {e.name: e.key.answer.source for e in book.exercises if e.key}


def wrong_answers(book: Book, number: int) -> dict[str, tuple[str, str, str]]:
    """Return one planted wrong answer for each coding exercise: name -> (misconception, check, source)."""
    found = {}
    for exercise in book.exercises:
        if exercise.key and exercise.key.wrong:
            planted = exercise.key.wrong[number % len(exercise.key.wrong)]
            found[exercise.name] = (planted.name, planted.rejected_by, planted.source)
    return found
