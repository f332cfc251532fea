"""Write `report.html` for the instructor, one page for the whole class. The part before names can be projected."""

import collections
from collections.abc import Iterable, Mapping
from typing import Any

from jaxguide.base.clean import clean
from jaxguide.base.text import plural
from jaxguide.course.verdict import Outcome, Verdict
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.submission_result import State
from jaxguide.grading.isolation.tier import PROCESS
from jaxguide.grading.reports.charts import histogram, in_words
from jaxguide.grading.reports.csv_tables import file_names
from jaxguide.grading.reports.insight import Distribution, distribution_of, rates_of
from jaxguide.grading.reports.marks import Row, rows_of
from jaxguide.grading.reports.misconceptions import Example, Misconception, misconceptions_of
from jaxguide.grading.reports.page import rendered
from jaxguide.grading.reports.record_sections import of_student, record_view, tier_sentence

_SHOWN = 12


def report_html(batch: BatchResult, names: bool = False) -> str:
    """Return the instructor's page.

    Args:
        batch: the graded batch.
        names: whether misconceptions name the students; if False, only the folded lists at the end do.
    """
    return rendered("report.html", report_view(batch, names))


def report_view(batch: BatchResult, names: bool) -> dict[str, Any]:
    """Return the values for the template `report.html`."""
    rows = rows_of(batch)
    causes = misconceptions_of(batch)
    named = [one for one in causes if one.is_named]
    core = ["only the core counts"] if batch.beyond else []
    return {
        "title": f"Grading of {batch.course_name}" if batch.course_name else "Grading of a class",
        "count": " · ".join([_count_line(rows), *(f"lesson {one}" for one in batch.lessons), *core]),
        "warnings": _warnings(batch),
        "weak_isolation": "Weak isolation." + " " + tier_sentence(PROCESS) if batch.tier == PROCESS else "",
        "tiles": _tiles(rows),
        "marks": _marks(distribution_of(rows)),
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


def _warnings(batch: BatchResult) -> list[str]:
    warnings = []
    missing = sum(not one.is_complete for one in batch.counted if one.state.value == "not graded")
    if missing:
        said = plural(
            "{count} submission is only partly graded, and its missing marks are left empty. "
            "Grade again to fill them in.",
            "{count} submissions are only partly graded, and their missing marks are left empty. "
            "Grade again to fill them in.",
            missing,
        )
        warnings.append(said)
    above = sum(len(one.above_the_points) for one in batch.counted)
    if above:
        said = plural(
            "{count} mark given by hand is above the points of its exercise. If no bonus is meant, change it.",
            "{count} marks given by hand are above the points of their exercises. If no bonus is meant, change them.",
            above,
        )
        warnings.append(said)
    return warnings


def _tiles(rows: list[Row]) -> list[tuple[str, str]]:
    """Return the numbers at the top of the page, each with its label."""
    states = [row.state for row in rows]
    marked = sum(row.score is not None for row in rows)
    median = distribution_of(rows).median
    tiles = [
        (str(len(rows)), plural("student", "students", len(rows))),
        (str(marked), plural("has marks", "have marks", marked)),
        (_percent(median), "median of the points"),
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
    return {"words": " ".join(words), "chart": histogram(found, found.median)}


def _exercises(batch: BatchResult) -> dict[str, Any] | None:
    """Return the pass rate of each exercise, or None if nothing was graded."""
    rates = rates_of(batch)
    if not rates:
        return None
    rows = [
        {
            "title": clean(rate.column.title, 200),
            "name": rate.column.name,
            "share": _percent(rate.share),
            "counts": list(rate.counts.items()),
            "words": in_words(rate.counts),
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
        "met_in": f"Exercises: {_exercises_of(one)}",
        "met_by": _met_by(clean(student, 100) for student in one.students) if names else "",
        "example": _example(one.example, names),
    }


def _title(one: Misconception) -> str:
    first, *others = one.names
    return first[:1].upper() + first[1:] + "".join(f", or {name}" for name in others)


def _exercises_of(one: Misconception) -> str:
    return ", ".join(clean(title, 200) for title in one.exercises)


def _met_by(students: Iterable[str]) -> str:
    return "Students: {students}".format(students=", ".join(students))


def _example(example: Example, names: bool) -> dict[str, Any]:
    """Return one failure; the page folds those that students must not see, since it may be shown to the class."""
    check = example.check
    title = "An example, from a hidden check" if check.hidden else "An example"
    if example.is_private and not check.hidden:
        title = "An example that students do not see"
    return {
        "is_private": example.is_private,
        "title": title,
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
        "met_in": _exercises_of(one),
        "met_by": _met_by(one.students) if names else "",
        "message": said,
    }


def _percent(share: float | None) -> str:
    return "\u2013" if share is None else f"{100 * share:.0f} %"
