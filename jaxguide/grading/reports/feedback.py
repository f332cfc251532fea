"""Write the feedback for one student, as a page and as text: a table of the exercises, and a card for each.

What went wrong comes first, the most lost points on top; what passed or was not attempted is folded.
"""

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from jaxguide.base.clean import clean
from jaxguide.base.render.card import Prose
from jaxguide.base.render.terminal import plain_text
from jaxguide.course.cards import BEHIND, Card, result_from_plain, result_to_plain
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.reports.csv_tables import file_names, points_cell
from jaxguide.grading.reports.marks import Mark, Row, totals_of
from jaxguide.grading.reports.page import rendered

_WIDTH = 100
_SHORT = 160  # characters
_RULE = f"\n{'-' * 40}\n"
_COLUMNS = {"Exercise": "title", "Points": "points", "Result": "verdict", "Why": "said"}

# The headings above the cards.
_WRONG, _NOT_GRADED, _PASSED, _NOT_ATTEMPTED = "What went wrong", "Not graded yet", "Passed", "Not attempted"
_FOLDED = (_PASSED, _NOT_ATTEMPTED)


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
        "table": [_table_row(mark, result, reveal) for mark, result in _shown(row)],
        "groups": [
            (group, group in _FOLDED, [_entry(mark, result, reveal) for mark, result in found])
            for group, found in _grouped(row).items()
        ],
    }


def _entry(mark: Mark, result: ExerciseResult, reveal: bool) -> dict[str, Any]:
    """Return what the page shows below the table of one exercise."""
    return {
        "name": mark.column.name,
        "card": None if mark.is_missing else Card(result, reveal),
        "not_graded": _not_graded(mark) if mark.is_missing else "",
        "points": list(_points(mark)),
    }


def _table_row(mark: Mark, result: ExerciseResult, reveal: bool) -> dict[str, str]:
    """Return one exercise's points, its verdict as its card has it, and why in one sentence."""
    face = Card(result, reveal).face
    if mark.override is not None:
        said = list(_points(mark))[-1]
    elif mark.is_missing or result.verdict in (Verdict.PASSED, Verdict.NOT_ATTEMPTED):
        said = ""
    else:  # the misconception if it is known, or else a short sentence if there is one
        prose = (part for part in face.parts if isinstance(part, Prose))
        ranks = {BEHIND: 0, "": 1}
        first = min(prose, key=lambda one: (ranks.get(one.label, 2), len(one.text) > _SHORT), default=Prose(""))
        said = re.split(r"(?<=[.!?]) ", _line(first.text))[0]
    return {
        "name": mark.column.name,
        "title": mark.column.title,
        "points": (points_cell(mark.score) or "\u2013") + f" of {mark.column.points:g}",
        "verdict": "Not graded yet" if mark.is_missing else f"{face.badge.glyph} {face.badge.word}",
        "said": said,
    }


def _grouped(row: Row) -> dict[str, list[tuple[Mark, ExerciseResult]]]:
    """Return the exercises below each heading that has some: wrong ones by points lost, others as in the lessons."""
    groups: dict[str, list[tuple[Mark, ExerciseResult]]] = {group: [] for group in (_WRONG, _NOT_GRADED, *_FOLDED)}
    for mark, result in _shown(row):
        groups[_group(mark, result)].append((mark, result))
    groups[_WRONG].sort(key=lambda one: -_lost(one[0]))
    return {group: found for group, found in groups.items() if found}


def _group(mark: Mark, result: ExerciseResult) -> str:
    if mark.is_missing:
        return _NOT_GRADED
    if result.verdict is Verdict.NOT_ATTEMPTED and mark.override is None:
        return _NOT_ATTEMPTED
    return _PASSED if result.verdict is Verdict.PASSED and _lost(mark) <= 0 else _WRONG


def _lost(mark: Mark) -> float:
    return mark.column.points - (mark.score or 0)


def feedback_text(row: Row, batch: BatchResult, reveal: bool = False) -> str:
    """Return the feedback as plain text; what passed or was not attempted is only in its table."""
    lines = [": ".join(part for part in (_line(row.student), _files(row)) if part), "", *_summary(row, batch)]
    shown = _shown(row)
    lines += [_RULE, _table_text([_table_row(mark, result, reveal) for mark, result in shown])] if shown else []
    notes = list(_notes(row, batch))
    if notes:
        lines += ["", "While reading your file:", *(f"  - {note}" for note in notes)]
    for mark, result in (one for group, found in _grouped(row).items() if group not in _FOLDED for one in found):
        said = _not_graded(mark) if mark.is_missing else _card_text(result, reveal)
        lines += [_RULE, said, "", *_points(mark)]
    return "\n".join([*lines, ""])


def _table_text(rows: list[dict[str, str]]) -> str:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading, part in _COLUMNS.items():
        table.add_column(heading, justify="right" if part == "points" else "left", no_wrap=part == "points")
    for one in rows:
        table.add_row(*(Text(_line(one[part])) for part in _COLUMNS.values()))
    return plain_text(table, _WIDTH)


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
