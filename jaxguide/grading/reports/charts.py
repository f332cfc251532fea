"""Describe the report's charts in numbers and words; `charts.html` draws them."""

import dataclasses

from jaxguide.base.text import plural
from jaxguide.course.verdict import Outcome
from jaxguide.grading.reports.insight import BINS, Distribution


@dataclasses.dataclass(frozen=True)
class Histogram:
    """The number of students by share of the points: each bar's count and height, and the median, in percent."""

    description: str
    bars: list[tuple[int, float]]
    median: float


def histogram(distribution: Distribution, median: float) -> Histogram:
    """Return the histogram of marks."""
    most = max(distribution.counts)
    bins = (
        f"{100 * n // BINS} to {100 * (n + 1) // BINS} %: {count}"
        for n, count in enumerate(distribution.counts)
        if count
    )
    title = plural("Marks of {count} student", "Marks of {count} students", distribution.total)
    description = "; ".join([f"{title} by share of the points", *bins]) + "."
    return Histogram(description, [(count, 100 * count / most) for count in distribution.counts], 100 * median)


def in_words(counts: dict[Outcome, int]) -> str:
    """Return the size of each group in words: '12 passed, 3 not right'."""
    if counts[Outcome.NOT_ATTEMPTED] == sum(counts.values()):
        return "nobody attempted it"
    return ", ".join(f"{count} {group}" for group, count in counts.items() if count)
