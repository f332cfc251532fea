"""Compute statistics of a class: distribution of marks, pass rates, results of checks."""

import collections
import dataclasses
import statistics
from collections.abc import Sequence

from jaxguide.course.verdict import Kind, Outcome, Verdict, about
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.reports.marks import GIVEN, NOT_GRADED, NOT_HANDED_IN, Column, Row, columns_of, rows_of

BINS = 10


@dataclasses.dataclass(frozen=True)
class Distribution:
    """The distribution of marks.

    Args:
        counts: the number of students in each tenth of the points; the last tenth includes full marks.
        low, median, high: the quartiles, as shares from 0 to 1; None if there are no marks.
        full, none: the number of students with full marks, and with no points.
    """

    counts: tuple[int, ...]
    low: float | None = None
    median: float | None = None
    high: float | None = None
    full: int = 0
    none: int = 0

    @property
    def total(self) -> int:
        return sum(self.counts)


def distribution_of(rows: Sequence[Row]) -> Distribution:
    """Return the distribution of the marks; students without one do not count."""
    shares = [row.share for row in rows if row.share is not None]
    # Add a tiny amount, so that rounding errors do not move a share on a boundary into the bin below.
    bins = collections.Counter(max(0, min(BINS - 1, int(share * BINS + 1e-9))) for share in shares)
    counts = tuple(bins[number] for number in range(BINS))
    if not shares:
        return Distribution(counts)
    low, median, high = statistics.quantiles(shares, method="inclusive") if len(shares) > 1 else shares * 3
    full, none = sum(share >= 1 for share in shares), sum(share <= 0 for share in shares)
    return Distribution(counts, low, median, high, full, none)


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


@dataclasses.dataclass
class CheckCount:
    """The results of one check over the class."""

    exercise: str
    fact: str
    kind: Kind
    hidden: bool
    passed: int = 0
    failed: int = 0
    not_checked: int = 0


def checks_of(batch: BatchResult) -> list[CheckCount]:
    """Return the results of each check, in the course's order."""
    places = {column.name: place for place, column in enumerate(columns_of(batch))}
    counts: dict[tuple[str, str], CheckCount] = {}
    for result in (one for submission in batch.counted for one in submission.results):
        for check in result.checks:
            new = CheckCount(result.name, check.fact or check.name, check.kind, check.hidden)
            found = counts.setdefault((result.name, check.name), new)
            is_open = check.verdict is Verdict.NOT_CHECKED
            found.passed += check.passed
            found.failed += not check.passed and not is_open
            found.not_checked += is_open
    return sorted(counts.values(), key=lambda check: places[check.exercise])
