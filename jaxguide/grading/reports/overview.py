"""Write `report.html` for the instructor, one page for the whole class. The part before names can be projected."""

import collections
from collections.abc import Mapping
from typing import Any

from jaxguide.base.clean import clean
from jaxguide.base.text import plural
from jaxguide.course.verdict import Outcome, Verdict
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.submission_result import State
from jaxguide.grading.reports.csv_tables import file_names
from jaxguide.grading.reports.insight import BINS, Distribution, distribution_of, rates_of
from jaxguide.grading.reports.marks import Row, rows_of
from jaxguide.grading.reports.misconceptions import Example, Misconception, misconceptions_of
from jaxguide.grading.reports.page import rendered
from jaxguide.grading.reports.record_sections import of_student, record_view

_SHOWN = 12


def report_html(batch: BatchResult, names: bool = False) -> str:
    """Return the instructor's page.

    Args:
        batch: the graded batch.
        names: whether misconceptions name the students; if False, only the first list and those at the end do.
    """
    return rendered("report.html", report_view(batch, names))


def report_view(batch: BatchResult, names: bool) -> dict[str, Any]:
    """Return the values for the template `report.html`."""
    rows = rows_of(batch)
    found = distribution_of(rows)
    causes = misconceptions_of(batch)
    named = [one for one in causes if one.is_named]
    core = ["only the core counts"] if batch.beyond else []
    return {
        "title": f"Grading of {batch.course_name}" if batch.course_name else "Grading of a class",
        "count": " · ".join([_count_line(rows), *(f"lesson {one}" for one in batch.lessons), *core]),
        "tiles": _tiles(rows, found),
        "marks": _marks(found),
        "exercises": _exercises(batch),
        "misconceptions": _misconceptions(batch, named, names),
        "errors": [_error(one, names) for one in causes if not one.is_named],
        **record_view(batch, rows),
    }


def _count_line(rows: list[Row]) -> str:
    """Return the number of files and students in one line."""
    files = sum(len(file_names(row)) for row in rows)
    return plural("{count} file of {{students}}", "{count} files of {{students}}", files).format(
        students=plural("{count} student", "{count} students", len(rows))
    )


def _tiles(rows: list[Row], found: Distribution) -> list[tuple[str, str]]:
    """Return the numbers at the top of the page, each with its label."""
    states = [row.state for row in rows]
    marked = sum(row.score is not None for row in rows)
    tiles = [
        (str(len(rows)), plural("student", "students", len(rows))),
        (str(marked), plural("has marks", "have marks", marked)),
        (_percent(found.median), "median of the points"),
    ]
    tiles += [
        (str(states.count(state)), state.word)
        for state in (State.ABSENT, State.UNREADABLE, State.NOT_GRADED)
        if state in states
    ]
    return tiles


def _marks(found: Distribution) -> dict[str, Any] | None:
    """Return the distribution of the marks, or None if there are none."""
    if found.low is None or found.median is None or found.high is None:
        return None
    said = (
        "Half of the class has {median:.0f} % of the points or more; "
        "the middle half is between {low:.0f} and {high:.0f} %."
    )
    words = [said.format(median=100 * found.median, low=100 * found.low, high=100 * found.high)]
    if found.full:
        words.append(plural("{count} student has full marks.", "{count} students have full marks.", found.full))
    if found.none:
        words.append(plural("{count} student has no points.", "{count} students have no points.", found.none))
    return {"words": " ".join(words), "chart": _histogram(found, found.median)}


def _histogram(found: Distribution, median: float) -> dict[str, Any]:
    """Return the histogram of marks in words, and each bar's count and height and the median, in percent."""
    most = max(found.counts)
    title = plural("Marks of {count} student", "Marks of {count} students", found.total)
    bins = (f"{100 * n // BINS} to {100 * (n + 1) // BINS} %: {count}" for n, count in enumerate(found.counts) if count)
    return {
        "description": "; ".join([f"{title} by share of the points", *bins]) + ".",
        "bars": [(count, 100 * count / most) for count in found.counts],
        "median": 100 * median,
    }


def _in_words(counts: dict[Outcome, int]) -> str:
    """Return the size of each group in words: '12 passed, 3 not right'."""
    if counts[Outcome.NOT_ATTEMPTED] == sum(counts.values()):
        return "nobody attempted it"
    return ", ".join(f"{count} {group}" for group, count in counts.items() if count)


def _exercises(batch: BatchResult) -> dict[str, Any] | None:
    """Return the pass rate of each exercise, or None if nothing was graded."""
    rates = sorted(rates_of(batch), key=lambda rate: (rate.counts[Outcome.NOT_ATTEMPTED] == rate.total, -rate.lost))
    if not rates:
        return None
    rows = [
        {
            "title": clean(rate.column.title, 200),
            "name": rate.column.name,
            "share": _percent(rate.share),
            "counts": list(rate.counts.items()),
            "words": _in_words(rate.counts),
        }
        for rate in rates
    ]
    return {"legend": [group for group in Outcome if any(rate.counts[group] for rate in rates)], "rows": rows}


def _misconceptions(batch: BatchResult, found: list[Misconception], names: bool) -> dict[str, Any] | None:
    """Return the misconceptions, each with an example, or None if there are none; `names` adds students' names."""
    if not found:
        return None
    judged = collections.Counter(
        result.title
        for one in batch.counted
        for result in one.results
        if result.name not in one.not_graded and result.verdict is not Verdict.NOT_ATTEMPTED
    )
    left = len(found) - _SHOWN
    return {
        "shown": [_misconception(one, judged, names) for one in found[:_SHOWN]],
        "others_title": plural("{count} more, less frequent", "{count} more, less frequent", left) if left > 0 else "",
        "others": [(_title(one), one.answers) for one in found[_SHOWN:]],
    }


def _misconception(one: Misconception, judged: Mapping[str, int], names: bool) -> dict[str, Any]:
    """Describe a misconception and its share of the answers to its exercises, which `judged` counts."""
    title = _title(one)
    share = one.answers / max(1, sum(judged[title] for title in one.exercises))
    return {
        "title": title,
        "count": plural("{count} answer", "{count} answers", one.answers) + f", {_percent(share)}",
        "share": 100 * share,
        "idea": one.idea if one.idea not in one.names else "",
        "met_in": "Exercises: " + ", ".join(one.exercises),
        "met_by": "Students: " + ", ".join(one.students) if names else "",
        "example": _example(one.example, names),
    }


def _title(one: Misconception) -> str:
    first, *others = one.names
    return first[:1].upper() + first[1:] + "".join(f", or {name}" for name in others)


def _example(example: Example, names: bool) -> dict[str, Any]:
    """Return one failure; the page folds those that students must not see, since it may be shown to the class."""
    check = example.check
    return {
        "is_private": check.hidden,
        "title": "An example, from a hidden check" if check.hidden else "An example",
        "check": check.fact or check.name,
        "message": of_student(check.message),
        "on": check.on,
        "call": check.call,
        "got": check.got,
        "label": (clean(check.label, 60) or "Found") if check.compared else "",
        "compared": check.compared,
        "expected": check.expected,
        "difference": check.difference,
        "extent": check.extent,
        "line": check.error.source if check.error is not None else "",
        "student": example.student if names else "",
    }


def _error(one: Misconception, names: bool) -> dict[str, Any]:
    """Return an error, such as an exception or an exceeded limit."""
    check = one.example.check
    said = check.error.message if check.error else of_student(check.message)
    return {
        "title": _title(one),
        "students": len(one.students),
        "met_in": ", ".join(one.exercises),
        "met_by": "Students: " + ", ".join(one.students) if names else "",
        "message": said,
    }


def _percent(share: float | None) -> str:
    return "\u2013" if share is None else f"{100 * share:.0f} %"
