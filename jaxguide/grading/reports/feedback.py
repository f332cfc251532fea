"""Write the feedback for one student, as a page and as text: points, repairs, and a card for each exercise."""

import functools
import json
from collections.abc import Iterator
from typing import Any

from jaxguide.base.clean import clean
from jaxguide.course.cards import Card, result_from_plain, result_to_plain
from jaxguide.course.verdict import ExerciseResult
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.reports.csv_tables import file_names
from jaxguide.grading.reports.marks import Mark, Row, totals_of
from jaxguide.grading.reports.page import rendered

_WIDTH = 100


def feedback_html(row: Row, batch: BatchResult, reveal: bool = False) -> str:
    """Return a student's page; with `reveal`, it includes the details of hidden checks."""
    return rendered("feedback.html", feedback_view(row, batch, reveal))


def feedback_view(row: Row, batch: BatchResult, reveal: bool) -> dict[str, Any]:
    """Return the values and cards for the template `feedback.html`."""
    return {
        "title": f"Feedback for {clean(row.student, 100)}",
        "student": row.student,
        "files": _files(row),
        "summary": list(_summary(row, batch)),
        "notes": list(_notes(row, batch)),
        "exercises": [
            {
                "card": None if mark.is_missing else Card(result, reveal),
                "not_graded": _not_graded(mark) if mark.is_missing else "",
                "points": list(_points(mark)),
            }
            for mark, result in _shown(row)
        ],
    }


def feedback_text(row: Row, batch: BatchResult, reveal: bool = False) -> str:
    """Return the feedback as plain text."""
    lines = [": ".join(part for part in (_line(row.student), _files(row)) if part), "", *_summary(row, batch)]
    notes = list(_notes(row, batch))
    if notes:
        lines += ["", "While reading your file" + ":", *(f"  - {note}" for note in notes)]
    for mark, result in _shown(row):
        said = _not_graded(mark) if mark.is_missing else _card_text(result, reveal)
        lines += ["", "-" * 40, "", said, "", *_points(mark)]
    return "\n".join([*lines, ""])


def _card_text(result: ExerciseResult, reveal: bool) -> str:
    return _text_of(json.dumps(result_to_plain(result)), reveal)


@functools.lru_cache(maxsize=256)
def _text_of(result: str, reveal: bool) -> str:
    """Format a card. Cached: formatting takes as long as running a small answer, and many students get the same."""
    return Card(result_from_plain(json.loads(result)), reveal).text(_WIDTH)


def _summary(row: Row, batch: BatchResult) -> Iterator[str]:
    """Yield the sentences about the submission as a whole."""
    totals = totals_of(row) if row.state is not State.ABSENT else []
    if row.score is not None and len(totals) != 1:
        yield points_of(row)
    yield from (_line(total.said) for total in totals)
    if batch.beyond:
        yield "Only the core of each lesson counts."
    given = any(mark.override is not None for mark in row.marks.values())
    for one in row.submissions:
        if one.members:
            yield "Handed in by {students}.".format(students=_line(", ".join(one.members)))
    if row.state is State.ABSENT:
        nothing = "Nothing was handed in" if batch.only is None else "Nothing was handed in for {lessons}"
        nothing = nothing.format(lessons=_line(", ".join(batch.lessons)))
        yield nothing + ("; the points were given by hand." if given else ".")
        yield from (_line(note) for one in row.submissions for note in one.repairs)
    for one in row.submissions:
        if one.unreadable is not None:
            yield _unreadable(one, alone=len(row.submissions) == 1, given=given)
    if row.state is State.UNREADABLE and row.score is None and _shown(row):
        yield "There is no total, since not every answer could be read."
    if row.state is State.NOT_GRADED:
        yield "Not everything is graded yet. This is not your fault; your instructor knows."


def _unreadable(one: SubmissionResult, alone: bool, given: bool) -> str:
    if not alone:
        message = "{file}: not graded. {why}"
    elif given:
        message = "Nothing was graded; the points were given by hand. {why}"
    else:
        message = "Nothing was graded. {why}"
    return message.format(file=_line(one.path.name), why=_line(one.unreadable or ""))


def points_of(row: Row) -> str:
    """Return a student's points in words: '7.5 of 10 points'."""
    return f"{row.score:g} of {row.points:g} points"


def _notes(row: Row, batch: BatchResult) -> Iterator[str]:
    for one in row.submissions if row.state is not State.ABSENT else ():
        yield from (_line(repair) for repair in one.repairs)
    for one in batch.submissions:
        if one.state is State.SUPERSEDED and one.student == row.student:
            yield f"{_line(one.path.name)} does not count, since another file of yours does."


def _shown(row: Row) -> list[tuple[Mark, ExerciseResult]]:
    return [(mark, mark.result) for mark in row.marks.values() if mark.result is not None]


def _points(mark: Mark) -> Iterator[str]:
    if mark.score is not None:
        yield f"{mark.score:g} of {mark.column.points:g} points"
    if mark.override is not None:
        said = _line(mark.override.comment)
        yield "Your instructor gave these points." + (f" {said}" if said else "")


def _not_graded(mark: Mark) -> str:
    # The grader's error may reveal a hidden check's inputs, so only the instructor sees it.
    message = "{title}: not graded yet. This is not your fault; your instructor knows."
    return message.format(title=_line(mark.column.title))


def _files(row: Row) -> str:
    return ", ".join(file_names(row))


def _line(words: str) -> str:
    return " ".join(clean(words, 500).split())
