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
from jaxguide.grading.batch.submission_result import State
from jaxguide.grading.reports.csv_tables import file_names, points_cell
from jaxguide.grading.reports.marks import Mark, Row, totals_of
from jaxguide.grading.reports.page import line, rendered

_WIDTH = 100
_SHORT = 160  # characters
_RULE = f"\n{'-' * 40}\n"
_COLUMNS = {"Exercise": "title", "Points": "points", "Result": "verdict", "Why": "why"}

# The headings above the cards.
_WRONG, _NOT_GRADED = "What went wrong, the most points first", "Not graded yet"
_FOLDED = _PASSED, _NOT_ATTEMPTED = "Passed", "Not attempted"


def feedback_html(row: Row, batch: BatchResult, reveal: bool = False) -> str:
    """Return a student's page; with `reveal`, it includes the details of hidden checks."""
    return rendered("feedback.html", feedback_view(row, batch, reveal))


def feedback_view(row: Row, batch: BatchResult, reveal: bool) -> dict[str, Any]:
    """Return the values and cards for the template `feedback.html`; each group has the numbers of its exercises."""
    shown = [(mark, mark.result) for mark in row.marks.values() if mark.result is not None]
    groups: dict[str, list[int]] = {heading: [] for heading in (_WRONG, _NOT_GRADED, *_FOLDED)}
    for number, (mark, result) in sorted(enumerate(shown), key=lambda one: -one[1][0].lost):
        groups[_heading(mark, result)].append(number)
    return {
        "title": f"Feedback for {clean(row.student, 100)}",
        "student": row.student,
        "files": ", ".join(file_names(row)),
        "summary": list(_summary(row, batch)),
        "notes": list(_notes(row, batch)),
        "exercises": [_exercise(mark, result, reveal) for mark, result in shown],
        "groups": [(heading, heading in _FOLDED, numbers) for heading, numbers in groups.items() if numbers],
    }


def _heading(mark: Mark, result: ExerciseResult) -> str:
    if mark.is_missing:
        return _NOT_GRADED
    if result.verdict is Verdict.NOT_ATTEMPTED and mark.override is None:
        return _NOT_ATTEMPTED
    return _PASSED if result.verdict is Verdict.PASSED and (mark.override is None or mark.lost <= 0) else _WRONG


def _exercise(mark: Mark, result: ExerciseResult, reveal: bool) -> dict[str, Any]:
    """Return an exercise's line of the table, and its card, or that it is not graded."""
    card = Card(result, reveal)
    given = mark.override and f"Your instructor gave these points. {line(mark.override.comment)}".rstrip()
    found = {
        "name": mark.column.name,
        "title": mark.column.title,
        "points": (points_cell(mark.score) or "\u2013") + f" of {mark.column.points:g}",
        "given": given or "",
    }
    if mark.is_missing:
        # The grader's error may reveal a hidden check's inputs, so only the instructor sees it.
        said = f"{line(mark.column.title)}: not graded yet. This is not your fault; your instructor knows."
        return {**found, "verdict": "Not graded yet", "why": "", "card": None, "not_graded": said}
    badge = card.face.badge
    return {**found, "verdict": f"{badge.glyph} {badge.word}", "why": given or _why(card), "card": card}


def _why(card: Card) -> str:
    """Return why a card is not right: the misconception if it is known, or else a short sentence if there is one."""
    if card.result.verdict in (Verdict.PASSED, Verdict.NOT_ATTEMPTED):
        return ""
    ranks = {BEHIND: 0, "": 1}
    prose = (part for part in card.face.parts if isinstance(part, Prose))
    first = min(prose, key=lambda one: (ranks.get(one.label, 2), len(one.text) > _SHORT), default=Prose(""))
    return re.split(r"(?<=[.!?]) ", line(first.text))[0]


def feedback_text(row: Row, batch: BatchResult, reveal: bool = False) -> str:
    """Return the feedback as plain text; what passed or was not attempted is only in its table."""
    view = feedback_view(row, batch, reveal)
    lines = [": ".join(part for part in (line(row.student), view["files"]) if part), "", *view["summary"]]
    table = Table(*_COLUMNS, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for one in view["exercises"]:
        table.add_row(*(Text(line(one[part])) for part in _COLUMNS.values()))
    lines += [_RULE, plain_text(table, _WIDTH)] if view["exercises"] else []
    if view["notes"]:
        lines += ["", "While reading your file:", *(f"  - {note}" for note in view["notes"])]
    shown = [numbers for _heading, is_folded, numbers in view["groups"] if not is_folded]
    for one in (view["exercises"][number] for numbers in shown for number in numbers):
        said = _card_text(json.dumps(result_to_plain(one["card"].result)), reveal) if one["card"] else one["not_graded"]
        lines += [_RULE, said, "", f"{one['points']} points", *filter(None, [one["given"]])]
    return "\n".join([*lines, ""])


@functools.lru_cache(maxsize=256)
def _card_text(result: str, reveal: bool) -> str:
    """Format a card. Cached: formatting takes as long as running a small answer, and many students get the same."""
    return Card(result_from_plain(json.loads(result)), reveal).text(_WIDTH)


def _summary(row: Row, batch: BatchResult) -> Iterator[str]:
    """Yield the sentences about the submission as a whole."""
    totals = totals_of(row) if row.state is not State.ABSENT else {}
    if row.score is not None and len(totals) != 1:
        yield f"{row.score:g} of {row.points:g} points"
    for lesson, (score, points) in totals.items():
        yield line(f"{lesson}: {'no mark,' if score is None else f'{score:g}'} of {points:g} points")
    if batch.beyond:
        yield "Only the core of each lesson counts."
    given = any(mark.override is not None for mark in row.marks.values())
    for one in row.submissions:
        if one.members:
            yield f"Handed in by {line(', '.join(one.members))}."
    if row.state is State.ABSENT:
        lessons = "" if batch.only is None else f" for {line(', '.join(batch.lessons))}"
        yield f"Nothing was handed in{lessons}" + ("; the points were given by hand." if given else ".")
        yield from (line(note) for one in row.submissions for note in one.repairs)
    for one in row.submissions:
        if one.unreadable is not None:
            whole = "Nothing was graded; the points were given by hand." if given else "Nothing was graded."
            said = whole if len(row.submissions) == 1 else f"{line(one.path.name)}: not graded."
            yield f"{said} {line(one.unreadable)}"
    if row.state is State.UNREADABLE and row.score is None and any(mark.result for mark in row.marks.values()):
        yield "There is no total, since not every answer could be read."
    if row.state is State.NOT_GRADED:
        yield "Not everything is graded yet. This is not your fault; your instructor knows."


def _notes(row: Row, batch: BatchResult) -> Iterator[str]:
    for one in row.submissions if row.state is not State.ABSENT else ():
        yield from (line(repair) for repair in one.repairs)
    for one in batch.submissions:
        if one.state is State.SUPERSEDED and one.student == row.student:
            yield f"{line(one.path.name)} does not count, since another file of yours does."
