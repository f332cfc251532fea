"""Decide which cells of a submission run, and what must have run before them."""

import dataclasses
import difflib
import functools
from typing import TYPE_CHECKING

from jaxguide.base.text import _
from jaxguide.code.sameness import meaning, starters_in
from jaxguide.code.slices import global_names
from jaxguide.course.books.printer import printed_cells
from jaxguide.course.verdict import AnswerGone, StudentError, Verdict
from jaxguide.grading.intake.submission import Submission, SubmittedCell

if TYPE_CHECKING:  # which imports JAX
    from jaxguide.course.books.book import Book
    from jaxguide.course.books.library import Course
    from jaxguide.course.books.outline import Outline

CLOSE = 0.8


@dataclasses.dataclass(frozen=True)
class PlannedCell:
    """A cell to run, and the exercises whose printed starter it still contains."""

    cell: SubmittedCell
    starters: frozenset[str]


@dataclasses.dataclass
class Plan:
    """How one submission is run for one lesson.

    Args:
        setup: the book's code that runs first.
        cells: the cells that run next, in the file's order.
        broken: exercise -> the error, for exercises whose definition is not valid Python, was rejected or is missing.
        repairs: what was left out or repaired, a sentence each, for the report.
    """

    setup: str
    cells: list[PlannedCell]
    broken: dict[str, StudentError | AnswerGone]
    repairs: list[str]


def lessons_of(submission: Submission, course: "Outline") -> list[str]:
    """Return the lessons that a submission answers: by its definitions, else by its `start` calls, else by its name."""
    defined = frozenset().union(*(cell.defines for cell in submission.cells))
    found = [topic for topic, book in course.books.items() if book.exercise_names & defined]
    if not found:
        found = [topic for topic in dict.fromkeys(submission.topics()) if topic in course.books]
    if not found:
        found = [topic for topic in course.books if topic in submission.path.stem]
    return found


def make_plan(submission: Submission, book: "Book", course: "Course") -> Plan:
    """Plan how to run a submission for one lesson."""
    printed = _printed(course)
    exercises = {exercise.name: exercise for exercise in book.exercises}
    plan = Plan("", [], {}, [])
    reads: set[str] = set()
    for cell in submission.cells:
        for magic in cell.magics:
            message = _("{label}: the magic or shell line `{line}` was removed, not run.")
            plan.repairs.append(message.format(label=cell.label, line=magic[:100]))
        if cell.rejected:
            message = _("{label}: rejected, not run. {why}")
            plan.repairs.append(message.format(label=cell.label, why=cell.rejected))
            gone = AnswerGone(Verdict.REJECTED, cell.rejected)
            plan.broken.update(dict.fromkeys(cell.defines & book.exercise_names, gone))
        elif cell.error is not None:
            message = _("{label}: not run. Python cannot read it: {error} (line {line}).")
            line = cell.error.line or "?"
            plan.repairs.append(message.format(label=cell.label, error=cell.error.message, line=line))
            plan.broken.update(dict.fromkeys(cell.defines & book.exercise_names, StudentError(cell.error)))
        elif cell.tree is not None and cell.tree.body and meaning(cell.source) not in printed:
            plan.cells.append(PlannedCell(cell, frozenset(starters_in(cell.tree, exercises))))
            reads |= _reads(cell.source)
    for name, sentence in _missing(submission, book).items():
        plan.broken[name] = AnswerGone(Verdict.NO_SUCH_FUNCTION, sentence)
    # Include the book's functions that checks send by name.
    plan.setup = book.setup_source({*reads, *book.exercise_setup_names})
    return plan


@functools.lru_cache(maxsize=4)
def _printed(course: "Course") -> frozenset[str]:
    """Return the meaning of every code cell of the printed lessons."""
    cells = (cell for book in course.books.values() for cell in printed_cells(book))
    return frozenset(meaning(cell.source) for cell in cells if cell.kind != "prose")


def _missing(submission: Submission, book: "Book") -> dict[str, str]:
    """Return a sentence for each exercise whose function is missing because it was renamed or its cell deleted.

    In a file that is not the lesson's own, the other exercises were not attempted.
    """
    defined = frozenset[str]().union(*(cell.defines for cell in submission.cells))
    missing: dict[str, str] = {}
    absent = sorted(book.exercise_names - defined)
    is_lesson = bool(absent) and book.topic in submission.topics()
    for name in absent:
        close = difflib.get_close_matches(name, sorted(defined - book.exercise_names), n=1, cutoff=CLOSE)
        if close:
            message = _("Your file has no function `{name}`, but a similar `{other}`. Give it the exercise's name.")
            missing[name] = message.format(name=name, other=close[0])
        elif is_lesson:
            message = _("Your file has no function `{name}`. Was its cell deleted, or the function renamed?")
            missing[name] = message.format(name=name)
    return missing


def _reads(source: str) -> frozenset[str]:
    try:
        return global_names(source)
    except (SyntaxError, ValueError, RecursionError):  # `return` at top level is only found when a cell is compiled
        return frozenset()
