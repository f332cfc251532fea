"""Decide which cells of a submission run, and what must have run before them."""

import dataclasses
from typing import TYPE_CHECKING

from jaxguide.course.verdict import AnswerGone, StudentError, Verdict
from jaxguide.grading.intake.reading import ReadCell, ReadSubmission

if TYPE_CHECKING:  # which imports JAX
    from jaxguide.course.books.book import Book


@dataclasses.dataclass
class Plan:
    """How one submission is run for one lesson.

    Args:
        setup: the book's code that runs first.
        cells: the cells that run next, in the file's order.
        broken: exercise -> the error, for exercises whose definition is not valid Python, was rejected or is missing.
        repairs: what was left out or repaired, a sentence each, for the report.
        may_await: whether cells may await outside of functions.
    """

    setup: str
    cells: list[ReadCell]
    broken: dict[str, StudentError | AnswerGone]
    repairs: list[str]
    may_await: bool = False


def make_plan(submission: ReadSubmission, book: "Book") -> Plan:
    """Plan how to run a submission for one lesson."""
    plan = Plan("", [], {}, [], submission.may_await)
    if submission.other_course:
        message = "The file was started for another course, `{course}`; what it answers of this one is graded."
        plan.repairs.append(message.format(course=submission.other_course))
    reads: set[str] = set()
    for cell in submission.cells:
        for magic in cell.magics:
            message = "{label}: the magic or shell line `{line}` was removed, not run."
            plan.repairs.append(message.format(label=cell.label, line=magic[:100]))
        own = book.exercise_names.intersection(cell.defines)
        if cell.rejected:
            message = "{label}: rejected, not run. {why}"
            plan.repairs.append(message.format(label=cell.label, why=cell.rejected))
            plan.broken.update(dict.fromkeys(own, AnswerGone(Verdict.REJECTED, cell.rejected)))
        elif cell.error is not None:
            message = "{label}: not run. Python cannot read it: {error} (line {line})."
            line = cell.error.line or "?"
            plan.repairs.append(message.format(label=cell.label, error=cell.error.message, line=line))
            plan.broken.update(dict.fromkeys(own, StudentError(cell.error)))
        elif cell.runs:
            plan.cells.append(cell)
            reads.update(cell.reads)
            for name in cell.late_settings:
                message = "{label}: sets `{name}`, which has no effect here: JAX has already started."
                plan.repairs.append(message.format(label=cell.label, name=name))
    for name, sentence in _missing(submission, book).items():
        plan.broken[name] = AnswerGone(Verdict.NO_SUCH_FUNCTION, sentence)
    plan.setup = book.setup_source(reads)
    return plan


def _missing(submission: ReadSubmission, book: "Book") -> dict[str, str]:
    """Return a sentence for each exercise whose function is missing because it is elsewhere, renamed or deleted.

    In a file that is not the lesson's own, or is of an earlier edition, the other exercises were not attempted.
    """
    missing: dict[str, str] = {}
    is_lesson = book.topic in submission.topics and not submission.dropped
    for name in sorted(book.exercise_names - submission.defined):
        other = submission.misspelled.get(name)
        if name in submission.elsewhere:
            missing[name] = submission.elsewhere[name]
        elif other is not None:
            message = "Your file has no function `{name}`, but a similar `{other}`. Give it the exercise's name."
            missing[name] = message.format(name=name, other=other)
        elif is_lesson and name in submission.alike:
            message = "Your file has no function `{name}`, but `{other}` has its parameters. Was it renamed?"
            missing[name] = message.format(name=name, other=submission.alike[name])
        elif is_lesson:
            message = (
                "Your file has no function `{name}`. Was its cell deleted, the function renamed, or is the file old?"
            )
            missing[name] = message.format(name=name)
    return missing
