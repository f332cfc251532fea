"""The record sections of `report.html`: names, how far to trust the results, and how to grade again."""

import shlex
from collections.abc import Iterator
from typing import Any

from jaxguide.base.clean import clean
from jaxguide.course.limits import write_limits
from jaxguide.course.verdict import CheckResult, Outcome, Verdict, about
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.submission_result import CellFact, CellState, State, SubmissionResult
from jaxguide.grading.intake.submission import why_passed_over
from jaxguide.grading.reports.csv_tables import points_cell
from jaxguide.grading.reports.marks import Column, LessonTotal, Row, columns_of, totals_of
from jaxguide.grading.reports.page import of_student
from jaxguide.grading.reports.results_json import feedback_stems

# (title, [(student or file, reason), ...])
_Lists = list[tuple[str, list[tuple[str, str]]]]
# Fates of cells that need no mention in the report.
_EXPECTED_FATES = (CellState.RAN, CellState.AS_PRINTED, CellState.EMPTY)


def record_view(batch: BatchResult, rows: list[Row]) -> dict[str, Any]:
    """Return the values for the template `record_sections.html`."""
    columns = columns_of(batch)
    return {
        "how": _how(batch),
        "command": reproduce(batch),
        "checks": checks_of(batch),
        "attention": [(title, entries) for title, entries in _before_publishing(batch, rows) if entries],
        "lists": [(title, entries) for title, entries in _names(batch, rows) if entries],
        "lessons": [total.lesson for row in rows[:1] for total in _totals(row)],
        "columns": [column.name for column in columns],
        "students": _students(batch, rows, columns),
        "similar": batch.similar,
    }


def _how(batch: BatchResult) -> dict[str, Any]:
    """Return the facts under "How this was graded"."""
    # The work of a group ran once.
    ran = list({one.path: one for one in batch.submissions if one.cpu_s or one.wall_s}.values())
    used = "{cpu:.1f} s of processor time in all, at most {memory:.0f} MB per submission"
    limits = "{cpu:g} s of processor time and {memory:g} MB per exercise"
    return {
        "seed": batch.seed,
        "course": batch.course_name,
        "digest": batch.course_digest[:12],
        "versions": ", ".join(f"{name} {version}" for name, version in batch.versions.items()),
        "limits": limits.format(cpu=batch.limits.cpu_s, memory=batch.limits.memory_bytes / 2**20),
        "marks": "all or nothing" if batch.all_or_nothing else "partial marks are given",
        "only": batch.only,
        "used": used.format(cpu=sum(one.cpu_s for one in ran), memory=max(one.memory_bytes for one in ran) / 2**20)
        if ran
        else "",
    }


def _before_publishing(batch: BatchResult, rows: list[Row]) -> _Lists:
    """Return what the instructor should look at before students get their marks."""
    not_graded = [
        (row.student, f"{exercise}: {why}" if exercise else why)
        for row in rows
        if row.state is State.NOT_GRADED
        for one in row.submissions
        for exercise, why in one.not_graded.items()
    ]
    unreadable = [(one.student, f"{one.path.name}: {one.unreadable}") for one in batch.counted if one.unreadable]
    stopped = [
        (one.student, f"{result.name}: {of_student(result.first_failure.message)}")
        for one in batch.counted
        for result in one.results
        if result.first_failure is not None and about(result.verdict).outcome is Outcome.STOPPED
    ]
    above = [(one.student, result.name) for one in batch.counted for result in one.above_the_points]
    return [
        ("Not graded, through no fault of theirs: grade again to fill in the marks", not_graded),
        ("Not readable", unreadable),
        ("Points by hand above those of the exercise: change them if no bonus is meant", above),
        ("Stopped at a limit, or ended early", stopped),
        ("Cells that failed or did not run", list(_cells(batch))),
        ("Handed in without points", [(row.student, "") for row in rows if row.score == 0]),
        ("Passed over", [(path, why_passed_over(path)) for path in batch.passed_over]),
    ]


def _names(batch: BatchResult, rows: list[Row]) -> _Lists:
    """Return lists of students for the record."""
    absent = [
        (row.student, " ".join(note for one in row.submissions for note in one.repairs))
        for row in rows
        if row.state is State.ABSENT
    ]
    replaced = [(one.student, one.path.name) for one in batch.submissions if one.state is State.SUPERSEDED]
    repairs = [
        (one.student, of_student(line))
        for one in batch.counted
        for line in one.repairs
        if one.state is not State.ABSENT and not any(line in _notes_on(cell, one) for cell in _lost_cells(one))
    ]
    groups = {one.path: (one.path.name, ", ".join(one.members)) for one in batch.counted if one.members}
    most = {column.name: column.points for column in columns_of(batch)}
    given = []
    for one in batch.overrides:
        was = "no mark" if one.was is None else f"{one.was:g}"
        points = f"{one.points:g} of {most.get(one.exercise, one.points):g}"
        old = " (older than the student's file)" if batch.outdated(one) else ""
        given.append((one.student, f"{one.exercise}: {points} instead of {was}. {one.comment}{old}"))
    return [
        ("Absent", absent),
        ("Not on the roster", [(student, "") for student in batch.unknown]),
        ("Files that do not count, since another one does", replaced),
        ("Points given by hand", given),
        ("Handed in together", list(groups.values())),
        ("Repaired while reading", repairs),
    ]


def _cells(batch: BatchResult) -> Iterator[tuple[str, str]]:
    """Yield each student's cells that failed or did not run, with the points of the exercises that they define."""
    for one in batch.counted:
        marks = {result.name: f"{result.name}: {result.score:g} of {result.points:g} points" for result in one.results}
        for cell in _lost_cells(one):
            said = ": ".join(filter(None, (cell.label, cell.fate.value, cell.why)))
            defines = "; ".join(marks[name] for name in cell.answers if name in marks) or "it defines no exercise"
            yield one.student, f"{of_student(' '.join(_notes_on(cell, one)) or said)} ({defines})"


def _lost_cells(one: SubmissionResult) -> list[CellFact]:
    return [cell for cell in one.cells if cell.fate not in _EXPECTED_FATES]


def _notes_on(cell: CellFact, one: SubmissionResult) -> list[str]:
    return [line for line in one.repairs if line.startswith(f"{cell.label}: ")]


def _students(batch: BatchResult, rows: list[Row], columns: list[Column]) -> Iterator[dict[str, Any]]:
    """Yield each student's marks lazily, since in a class of thousands they are most of the page."""
    stems = feedback_stems(row.student for row in rows)
    for row in rows:
        yield {
            "stem": stems[row.student],
            "student": row.student,
            "state": row.state.word,
            "points": _points(row.score),
            "totals": [_points(total.score) for total in _totals(row)],
            "marks": [_points(row.marks[column.name].score) for column in columns],
            "commands": [reproduce(batch, one) for one in row.submissions if one.path.name],
        }


def _totals(row: Row) -> list[LessonTotal]:
    """Return the points for each lesson if there are several."""
    return totals if len(totals := totals_of(row)) > 1 else []


def _points(points: float | None) -> str:
    return points_cell(points) or "\u2013"


def checks_of(batch: BatchResult) -> list[tuple[str, CheckResult, dict[str, int]]]:
    """Return the name of an exercise, a result of one of its checks, and how it came out, in the course's order."""
    places = {column.name: place for place, column in enumerate(columns_of(batch))}
    found: dict[tuple[str, str], tuple[str, CheckResult, dict[str, int]]] = {}
    for result in (one for submission in batch.counted for one in submission.results):
        for check in result.checks:
            new = result.name, check, dict.fromkeys(("passed", "failed", "not_checked"), 0)
            counts = found.setdefault((result.name, check.name), new)[2]
            is_open = check.verdict is Verdict.NOT_CHECKED
            counts["passed" if check.passed else "not_checked" if is_open else "failed"] += 1
    return sorted(found.values(), key=lambda one: places[one[0]])


def reproduce(batch: BatchResult, one: SubmissionResult | None = None) -> str:
    """Return the command that grades a submission again with the same inputs, or its general form if `one` is None.

    >>> from pathlib import Path
    >>> reproduce(BatchResult([], seed=7), SubmissionResult(Path("my class/ada.ipynb"), "ada"))
    "jaxguide grade 'my class/ada.ipynb' --seed 7 --out again"
    >>> reproduce(BatchResult([], seed=7, course_name="spring", course_folder="../spring"))
    'jaxguide grade FILE --course ../spring --seed 7 --only EXERCISE --out again'
    """
    words = ["jaxguide", "grade", clean(str(one.path), 500) if one else "FILE"]
    words += ["--course", clean(batch.course_folder, 500)] if batch.course_folder else []
    words += ["--seed", str(batch.seed)]
    failed = next((r.name for r in one.results if r.first_failure), "") if one else "EXERCISE"
    words += ["--only", clean(failed, 100)] if failed else []
    words += ["--all-or-nothing"] if batch.all_or_nothing else []
    words += ["--limits", limits] if (limits := write_limits(batch.limits)) else []
    return shlex.join([*words, "--out", "again"])
