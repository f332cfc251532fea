"""Write `report.html` for the instructor, one page for the whole class. The part before names can be projected."""

import collections
import dataclasses
import shlex
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from jaxguide.base.clean import clean
from jaxguide.base.text import plural
from jaxguide.course.limits import write_limits
from jaxguide.course.verdict import CheckResult, ExerciseResult, Outcome, Verdict, about
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.submission_result import CellState, State, SubmissionResult
from jaxguide.grading.intake.submission import why_passed_over
from jaxguide.grading.reports.csv_tables import file_names, points_cell
from jaxguide.grading.reports.marks import GIVEN, NOT_GRADED, NOT_HANDED_IN, Row, columns_of, rows_of, totals_of
from jaxguide.grading.reports.page import of_student, percent, rendered
from jaxguide.grading.reports.results_json import feedback_stems
from jaxguide.keys.problems import IN_WORDS

BINS = 10
_SHOWN = 12
# (student or file, reason)
_Entries = list[tuple[str, str]]
# Fates of cells that need no mention in the report.
_EXPECTED_FATES = (CellState.RAN, CellState.AS_PRINTED, CellState.EMPTY)


def report_html(batch: BatchResult, names: bool = False) -> str:
    """Return the instructor's page. Without `names`, only its first list and those at the end name students."""
    return rendered("report.html", report_view(batch, names))


def report_view(batch: BatchResult, names: bool) -> dict[str, Any]:
    """Return the values for the template `report.html`."""
    rows, columns = rows_of(batch), columns_of(batch)
    lessons = list(dict.fromkeys(column.lesson for column in columns))
    attention, lists = _entries(batch, rows, columns)
    marks = distribution_of(rows)
    rates = sorted(rates_of(batch), key=lambda rate: (rate["is_untried"], -rate["lost"]))
    causes = misconceptions_of(batch)
    named = [one for one in causes if one.is_named]
    files = sum(len(file_names(row)) for row in rows)
    students = plural("{count} student", "{count} students", len(rows))
    count = f"{plural('{count} file', '{count} files', files)} of {students}"
    core = ["only the core counts"] if batch.beyond else []
    return {
        "title": f"Grading of {batch.course_name}" if batch.course_name else "Grading of a class",
        "count": " · ".join([count, *(f"lesson {one}" for one in batch.lessons), *core]),
        "tiles": _tiles(rows, marks["median"] / 100 if marks else None),
        "marks": marks,
        "rates": rates,
        "outcomes": [group for group in Outcome if any(rate["counts"][group] for rate in rates)],
        "misconceptions": named[:_SHOWN],
        "other_misconceptions": named[_SHOWN:],
        "errors": [one for one in causes if not one.is_named],
        "names": names,
        "how": _how(batch),
        "command": reproduce(batch),
        "checks": _checks_of(batch, columns),
        "attention": [(title, entries) for title, entries in attention.items() if entries],
        "lists": [(title, entries) for title, entries in lists.items() if entries],
        "lessons": lessons if len(lessons) > 1 else [],
        "columns": [column.name for column in columns],
        "students": _students(batch, rows, columns),
        "similar": batch.similar,
    }


def _tiles(rows: list[Row], median: float | None) -> list[tuple[str, str]]:
    """Return the numbers at the top of the page, each with its label."""
    states = collections.Counter(row.state for row in rows)
    marked = sum(row.score is not None for row in rows)
    return [
        (str(len(rows)), plural("student", "students", len(rows))),
        (str(marked), plural("has marks", "have marks", marked)),
        (percent(median), "median of the points"),
        *((str(states[one]), one.word) for one in (State.ABSENT, State.UNREADABLE, State.NOT_GRADED) if states[one]),
    ]


def rates_of(batch: BatchResult) -> list[dict[str, Any]]:
    """Return the results of each exercise over all students who handed in its lesson, in the course's order.

    `share` is that of students with a mark who passed; `lost` points are of those who tried.
    """
    rows = rows_of(batch)
    rates = []
    for column in columns_of(batch):
        counts, lost = dict.fromkeys(Outcome, 0), 0.0
        for mark in (row.marks[column.name] for row in rows):
            if mark.said == NOT_GRADED:
                counts[Outcome.NOT_GRADED] += 1
            elif mark.said not in (NOT_HANDED_IN, GIVEN) and mark.result is not None:
                outcome = about(mark.result.verdict).outcome
                counts[outcome] += 1
                lost += mark.lost if outcome is not Outcome.NOT_ATTEMPTED else 0
        total = sum(counts.values())
        graded = total - counts[Outcome.NOT_GRADED]
        is_untried = counts[Outcome.NOT_ATTEMPTED] == total
        words = ", ".join(f"{count} {group}" for group, count in counts.items() if count)
        share = counts[Outcome.PASSED] / graded if graded else None
        found = {"column": column, "counts": counts, "lost": lost, "share": share, "is_untried": is_untried}
        rates.append({**found, "words": "nobody attempted it" if is_untried else words})
    return rates


def distribution_of(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Return the distribution of the marks in words and as a histogram, in percent; None if there are none."""
    shares = [row.share for row in rows if row.share is not None]
    if not shares:
        return None
    low, median, high = statistics.quantiles(shares, method="inclusive") if len(shares) > 1 else shares * 3
    half = f"Half of the class has {100 * median:.0f} % of the points or more"
    words = [f"{half}; the middle half is between {100 * low:.0f} and {100 * high:.0f} %."]
    if full := sum(share >= 1 for share in shares):
        words.append(plural("{count} student has full marks.", "{count} students have full marks.", full))
    if none := sum(share <= 0 for share in shares):
        words.append(plural("{count} student has no points.", "{count} students have no points.", none))
    # Add a tiny amount, so that rounding errors do not move a share on a boundary into the bin below.
    binned = collections.Counter(max(0, min(BINS - 1, int(share * BINS + 1e-9))) for share in shares)
    counts = [binned[number] for number in range(BINS)]
    title = plural("Marks of {count} student", "Marks of {count} students", len(shares))
    bins = (f"{100 * n // BINS} to {100 * (n + 1) // BINS} %: {count}" for n, count in enumerate(counts) if count)
    return {
        "words": " ".join(words),
        "description": "; ".join([f"{title} by share of the points", *bins]) + ".",
        "bars": [(count, 100 * count / max(counts)) for count in counts],
        "median": 100 * median,
    }


@dataclasses.dataclass(frozen=True)
class Misconception:
    """What several answers get wrong.

    Args:
        names: what the planted wrong answers do that fail in this way, in the author's sentences; several if the check
            cannot tell them apart. If there are none, the problem in the use of keys, the exception, the limit or the
            check, in words.
        is_named: whether a check failed or a planted wrong answer does the same. An exception or a limit alone can have
            many causes.
        student, check: one failure, from a check that students may see in full if possible.
    """

    names: tuple[str, ...]
    is_named: bool
    answers: int
    share: float
    students: tuple[str, ...]
    exercises: tuple[str, ...]
    student: str
    check: CheckResult

    @property
    def title(self) -> str:
        """The names as one text."""
        text = ", or ".join(self.names)
        return text[:1].upper() + text[1:]


def misconceptions_of(batch: BatchResult) -> list[Misconception]:
    """Return the misconceptions of a class, the most frequent first.

    An answer counts once, with its first failure, since later ones may have the same cause.
    """
    groups = collections.defaultdict[tuple[str, ...], list[tuple[str, ExerciseResult, CheckResult]]](list)
    judged = collections.Counter[str]()
    for submission in batch.counted:
        for result in submission.results:
            if result.name not in submission.not_graded:
                judged[result.title] += result.verdict is not Verdict.NOT_ATTEMPTED
                if (failure := result.first_failure) is not None:
                    groups[_names(failure)].append((submission.student, result, failure))
    found = []
    for names, failures in groups.items():
        # Do not depend on the order of the files; prefer what students may see, since instructors show it to the class.
        failures.sort(key=lambda one: (one[1].name, one[0]))
        student, _result, check = min(failures, key=lambda one: (one[2].hidden, not one[2].got))
        exercises = tuple(dict.fromkeys(result.title for _student, result, _check in failures))
        share = len(failures) / max(1, sum(judged[title] for title in exercises))
        students = tuple(sorted({one[0] for one in failures}))
        is_named = bool(check.says) or check.verdict is Verdict.FAILED
        found.append(Misconception(names, is_named, len(failures), share, students, exercises, student, check))
    return sorted(found, key=lambda one: (-one.answers, one.names))


def _names(failure: CheckResult) -> tuple[str, ...]:
    """Name what a failure points to: a misconception, or else a reused key, an exception, a limit or the check."""
    if failure.says:
        return tuple(clean(sentence, 200) for sentence in failure.says)
    if failure.names_cause and (problem := failure.compared.replace(" ", "_")) in IN_WORDS:
        return (IN_WORDS[problem],)
    if failure.verdict is Verdict.ERROR and failure.error is not None:
        return (f"raised {clean(failure.error.type_name, 60)}",)
    if failure.verdict is not Verdict.FAILED:
        return (failure.verdict.value,)
    return (f"fails: {clean(failure.fact or failure.name, 200)}",)


def _how(batch: BatchResult) -> dict[str, Any]:
    """Return the facts under "How this was graded"."""
    # The work of a group ran once.
    ran = list({one.path: one for one in batch.submissions if one.cpu_s or one.wall_s}.values())
    memory = max((one.memory_bytes for one in ran), default=0) / 2**20
    cpu = f"{sum(one.cpu_s for one in ran):.1f} s of processor time in all"
    limit = batch.limits.memory_bytes / 2**20
    return {
        "seed": batch.seed,
        "course": batch.course_name,
        "digest": batch.course_digest[:12],
        "versions": ", ".join(f"{name} {version}" for name, version in batch.versions.items()),
        "limits": f"{batch.limits.cpu_s:g} s of processor time and {limit:g} MB per exercise",
        "marks": "all or nothing" if batch.all_or_nothing else "partial marks are given",
        "only": batch.only,
        "used": f"{cpu}, at most {memory:.0f} MB per submission" if ran else "",
    }


def _entries(
    batch: BatchResult, rows: list[Row], columns: list[ExerciseResult]
) -> tuple[dict[str, _Entries], dict[str, _Entries]]:
    """Return what the instructor should look at before students get their marks, and lists for the record."""
    unreadable, above, stopped, cells, repairs, given = (_Entries() for _list in range(6))
    for one in batch.counted:
        unreadable += [(one.student, f"{one.path.name}: {one.unreadable}")] if one.unreadable else []
        above += [(one.student, result.name) for result in one.above_the_points]
        stopped += [
            (one.student, f"{result.name}: {of_student(failure.message)}")
            for result in one.results
            if (failure := result.first_failure) is not None and about(result.verdict).outcome is Outcome.STOPPED
        ]
        marks = {result.name: f"{result.name}: {result.score:g} of {result.points:g} points" for result in one.results}
        said = set[str]()
        for cell in (cell for cell in one.cells if cell.fate not in _EXPECTED_FATES):
            notes = [line for line in one.repairs if line.startswith(f"{cell.label}: ")]
            said.update(notes)
            why = " ".join(notes) or ": ".join(filter(None, (cell.label, cell.fate.value, cell.why)))
            defines = "; ".join(marks[name] for name in cell.answers if name in marks) or "it defines no exercise"
            cells.append((one.student, f"{of_student(why)} ({defines})"))
        if one.state is not State.ABSENT:
            repairs += [(one.student, of_student(line)) for line in one.repairs if line not in said]
    most = {column.name: column.points for column in columns}
    for override in batch.overrides:
        was = "no mark" if override.was is None else f"{override.was:g}"
        points = f"{override.points:g} of {most.get(override.exercise, override.points):g} instead of {was}"
        old = " (older than the student's file)" if batch.outdated(override) else ""
        given.append((override.student, f"{override.exercise}: {points}. {override.comment}{old}"))
    missing = [
        (row.student, f"{exercise}: {why}" if exercise else why)
        for row in rows
        for one in (row.submissions if row.state is State.NOT_GRADED else ())
        for exercise, why in one.not_graded.items()
    ]
    absent = [row for row in rows if row.state is State.ABSENT]
    groups = {one.path: (one.path.name, ", ".join(one.members)) for one in batch.counted if one.members}
    replaced = [(one.student, one.path.name) for one in batch.submissions if one.state is State.SUPERSEDED]
    return {
        "Not graded, through no fault of theirs: grade again to fill in the marks": missing,
        "Not readable": unreadable,
        "Points by hand above those of the exercise: change them if no bonus is meant": above,
        "Stopped at a limit, or ended early": stopped,
        "Cells that failed or did not run": cells,
        "Handed in without points": [(row.student, "") for row in rows if row.score == 0],
        "Passed over": [(path, why_passed_over(path)) for path in batch.passed_over],
    }, {
        "Absent": [(row.student, " ".join(note for one in row.submissions for note in one.repairs)) for row in absent],
        "Not on the roster": [(student, "") for student in batch.unknown],
        "Files that do not count, since another one does": replaced,
        "Points given by hand": given,
        "Handed in together": list(groups.values()),
        "Repaired while reading": repairs,
    }


def _students(batch: BatchResult, rows: list[Row], columns: list[ExerciseResult]) -> Iterator[dict[str, Any]]:
    """Yield each student's marks lazily, since in a class of thousands they are most of the page."""
    stems = feedback_stems(row.student for row in rows)
    for row in rows:
        totals = totals_of(row)
        yield {
            "stem": stems[row.student],
            "student": row.student,
            "state": row.state.word,
            "points": _points(row.score),
            "totals": [_points(score) for score, _points_of in totals.values()] if len(totals) > 1 else [],
            "marks": [_points(row.marks[column.name].score) for column in columns],
            "commands": [reproduce(batch, one) for one in row.submissions if one.path.name],
        }


def _points(points: float | None) -> str:
    return points_cell(points) or "\u2013"


def _checks_of(batch: BatchResult, columns: list[ExerciseResult]) -> list[tuple[str, CheckResult, dict[str, int]]]:
    """Return the name of an exercise, a result of one of its checks, and how it came out, in the course's order."""
    found: dict[str, dict[str, tuple[str, CheckResult, dict[str, int]]]] = {column.name: {} for column in columns}
    for result in (one for submission in batch.counted for one in submission.results):
        for check in result.checks:
            new = result.name, check, dict.fromkeys(("passed", "failed", "not_checked"), 0)
            counts = found[result.name].setdefault(check.name, new)[2]
            is_open = check.verdict is Verdict.NOT_CHECKED
            counts["passed" if check.passed else "not_checked" if is_open else "failed"] += 1
    return [one for own in found.values() for one in own.values()]


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
