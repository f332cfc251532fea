"""Write `report.html` for the instructor, one page for the whole class. The part before names can be projected."""

import collections
import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from jaxguide.base.clean import clean
from jaxguide.base.text import plural
from jaxguide.course.verdict import CheckResult, ExerciseResult, Outcome, Verdict, about
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.submission_result import State
from jaxguide.grading.reports.csv_tables import file_names
from jaxguide.grading.reports.marks import GIVEN, NOT_GRADED, NOT_HANDED_IN, Column, Row, columns_of, rows_of
from jaxguide.grading.reports.page import percent, rendered
from jaxguide.grading.reports.record_sections import record_view
from jaxguide.keys.problems import IN_WORDS

BINS = 10
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
    marks = distribution_of(rows)
    rates = sorted(rates_of(batch), key=lambda rate: (rate.is_untried, -rate.lost))
    causes = misconceptions_of(batch)
    named = [one for one in causes if one.is_named]
    core = ["only the core counts"] if batch.beyond else []
    return {
        "title": f"Grading of {batch.course_name}" if batch.course_name else "Grading of a class",
        "count": " · ".join([_count_line(rows), *(f"lesson {one}" for one in batch.lessons), *core]),
        "tiles": _tiles(rows, marks["median"] / 100 if marks else None),
        "marks": marks,
        "rates": rates,
        "outcomes": [group for group in Outcome if any(rate.counts[group] for rate in rates)],
        "misconceptions": named[:_SHOWN],
        "other_misconceptions": named[_SHOWN:],
        "errors": [one for one in causes if not one.is_named],
        "names": names,
        **record_view(batch, rows),
    }


@dataclasses.dataclass(frozen=True)
class Rate:
    """The results of one exercise, over all students who handed in its lesson; `lost` points are of those who tried."""

    column: Column
    counts: dict[Outcome, int]
    lost: float

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def share(self) -> float | None:
        """The share of students with a mark who passed; None if no one has a mark."""
        graded = self.total - self.counts[Outcome.NOT_GRADED]
        return self.counts[Outcome.PASSED] / graded if graded else None

    @property
    def is_untried(self) -> bool:
        return self.counts[Outcome.NOT_ATTEMPTED] == self.total

    @property
    def words(self) -> str:
        """The size of each group: '12 passed, 3 not right'."""
        if self.is_untried:
            return "nobody attempted it"
        return ", ".join(f"{count} {group}" for group, count in self.counts.items() if count)


def rates_of(batch: BatchResult) -> list[Rate]:
    """Return the results of each exercise, in the course's order."""
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
                lost += column.points - (mark.score or 0) if outcome is not Outcome.NOT_ATTEMPTED else 0
        rates.append(Rate(column, counts, lost))
    return rates


def _count_line(rows: list[Row]) -> str:
    """Return the number of files and students in one line."""
    files = sum(len(file_names(row)) for row in rows)
    students = plural("{count} student", "{count} students", len(rows))
    return f"{plural('{count} file', '{count} files', files)} of {students}"


def _tiles(rows: list[Row], median: float | None) -> list[tuple[str, str]]:
    """Return the numbers at the top of the page, each with its label."""
    states = [row.state for row in rows]
    marked = sum(row.score is not None for row in rows)
    tiles = [
        (str(len(rows)), plural("student", "students", len(rows))),
        (str(marked), plural("has marks", "have marks", marked)),
        (percent(median), "median of the points"),
    ]
    tiles += [
        (str(states.count(state)), state.word)
        for state in (State.ABSENT, State.UNREADABLE, State.NOT_GRADED)
        if state in states
    ]
    return tiles


def distribution_of(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Return the distribution of the marks in words and as a histogram, in percent; None if there are none."""
    shares = [row.share for row in rows if row.share is not None]
    if not shares:
        return None
    low, median, high = statistics.quantiles(shares, method="inclusive") if len(shares) > 1 else shares * 3
    said = (
        f"Half of the class has {100 * median:.0f} % of the points or more; "
        f"the middle half is between {100 * low:.0f} and {100 * high:.0f} %."
    )
    words = [said]
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
class Example:
    """One failed check of one student."""

    student: str
    result: ExerciseResult
    check: CheckResult


@dataclasses.dataclass(frozen=True)
class Misconception:
    """What several answers get wrong.

    Args:
        names: what the planted wrong answers do that fail in this way, in the author's sentences; several if the check
            cannot tell them apart. If there are none, the problem in the use of keys, the exception, the limit or the
            check, in words.
        is_named: whether a check failed or a planted wrong answer does the same. An exception or a limit alone can have
            many causes.
        answers: the number of answers, one for each student and exercise.
        share: their share of the answers to these exercises.
        students: the students who gave them.
        exercises: the titles of the exercises in which they failed.
        example: one failure, from a check that students may see in full if possible.
    """

    names: tuple[str, ...]
    is_named: bool
    answers: int
    share: float
    students: tuple[str, ...]
    exercises: tuple[str, ...]
    example: Example

    @property
    def title(self) -> str:
        """The names as one text."""
        first, *others = self.names
        return first[:1].upper() + first[1:] + "".join(f", or {name}" for name in others)


def misconceptions_of(batch: BatchResult) -> list[Misconception]:
    """Return the misconceptions of a class, the most frequent first.

    An answer counts once, with its first failure, since later ones may have the same cause.
    """
    groups: dict[tuple[str, ...], list[Example]] = collections.defaultdict(list)
    judged = collections.Counter[str]()
    for submission in batch.counted:
        for result in submission.results:
            if result.name in submission.not_graded:
                continue
            judged[result.title] += result.verdict is not Verdict.NOT_ATTEMPTED
            if (failure := result.first_failure) is not None:
                groups[_names(failure)].append(Example(submission.student, result, failure))
    found = [_misconception(names, examples, judged) for names, examples in groups.items()]
    return sorted(found, key=lambda one: (-one.answers, one.names))


def _misconception(names: tuple[str, ...], examples: list[Example], judged: collections.Counter[str]) -> Misconception:
    """Describe a misconception; `judged` counts the answers to each exercise."""
    # Do not depend on the order of the files; prefer what students may see, since instructors show it to the class.
    example = min(examples, key=lambda one: (one.check.hidden, not one.check.got, one.result.name, one.student))
    exercises = tuple(dict.fromkeys(one.result.title for one in sorted(examples, key=lambda one: one.result.name)))
    return Misconception(
        names=names,
        is_named=bool(example.check.says) or example.check.verdict is Verdict.FAILED,
        answers=len(examples),
        share=len(examples) / max(1, sum(judged[title] for title in exercises)),
        students=tuple(sorted({one.student for one in examples})),
        exercises=exercises,
        example=example,
    )


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
