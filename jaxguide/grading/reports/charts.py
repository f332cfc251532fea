"""Lay out the report's charts, with titles, descriptions and labels; `charts.html` draws them."""

import dataclasses
from collections.abc import Iterable

from jaxguide.base.text import plural
from jaxguide.course.verdict import Outcome
from jaxguide.grading.reports.insight import BINS, Distribution

# The fill of each group. The patterns differ too, so that readers need no colour to tell the groups apart.
_FILLS = {
    Outcome.PASSED: "fill:var(--good)",
    Outcome.PARTLY: "fill:url(#stripes)",
    Outcome.FAILED: "fill:url(#crosses)",
    Outcome.STOPPED: "fill:url(#dots)",
    Outcome.NOT_ATTEMPTED: "fill:none;stroke:var(--quiet)",
    Outcome.NOT_GRADED: "fill:none;stroke:var(--partly);stroke-dasharray:3 3",
}

_HIGH = 132
_LEFT, _TOP, _WIDE = 10, 44, 54
# The width of a chart with a single bar.
_BAR = 300


@dataclasses.dataclass(frozen=True)
class ChartText:
    """One line of text with its baseline at (x, y); its 'start', 'middle' or 'end' (`anchor`) is at x."""

    x: float
    y: float
    words: str
    anchor: str = "middle"


@dataclasses.dataclass(frozen=True)
class Bar:
    """One bin of a histogram; `count` is None if the bin is empty, and `tick` if the axis has no label there."""

    x: int
    y: float
    width: int
    height: float
    count: ChartText | None
    tick: ChartText | None


@dataclasses.dataclass(frozen=True)
class Histogram:
    """The number of students by share of the points; `end` is the label at the end of the axis."""

    title: str
    description: str
    box: str
    left: int
    right: int
    bottom: int
    bars: list[Bar]
    end: ChartText
    median_x: float
    median: ChartText | None


@dataclasses.dataclass(frozen=True)
class Part:
    """One group's part of a bar, and its count in words."""

    x: float
    width: float
    fill: str
    said: str


@dataclasses.dataclass(frozen=True)
class StackedBar:
    """The outcomes of one exercise for the class."""

    title: str
    description: str
    box: str
    parts: list[Part]


@dataclasses.dataclass(frozen=True)
class ShareBar:
    """A share, drawn as a part of a bar."""

    title: str
    description: str
    box: str
    width: float


@dataclasses.dataclass(frozen=True)
class Group:
    """The name and fill of a group."""

    name: str
    fill: str


def histogram(distribution: Distribution) -> Histogram:
    """Return the histogram of marks."""
    most = max(distribution.counts, default=0) or 1
    width = 2 * _LEFT + BINS * _WIDE
    bottom = _TOP + _HIGH
    bars = []
    for number, count in enumerate(distribution.counts):
        left, high = _LEFT + number * _WIDE, round(_HIGH * count / most, 1)
        label = ChartText(left + _WIDE / 2, bottom - high - 6, str(count)) if count else None
        anchor = "middle" if number else "start"
        tick = ChartText(left, bottom + 20, str(100 * number // BINS), anchor) if number % 2 == 0 else None
        bars.append(Bar(left + 3, bottom - high, _WIDE - 6, high, label, tick))
    median, at = None, 0.0
    if distribution.median is not None:
        at = round(_LEFT + distribution.median * BINS * _WIDE, 1)
        side, shift = ("end", -8) if distribution.median > 0.5 else ("start", 8)
        median = ChartText(at + shift, 18, f"median {100 * distribution.median:.0f} %", side)
    bins = (
        f"{100 * n // BINS} to {100 * (n + 1) // BINS} %: {count}"
        for n, count in enumerate(distribution.counts)
        if count
    )
    return Histogram(
        title=plural("Marks of {count} student", "Marks of {count} students", distribution.total),
        description="; ".join(["Students by share of the points", *bins]) + ".",
        box=f"0 0 {width} {bottom + 26}",
        left=_LEFT,
        right=width - _LEFT,
        bottom=bottom,
        bars=bars,
        end=ChartText(width - _LEFT, bottom + 20, "100 %", "end"),
        median_x=at,
        median=median,
    )


def stacked_bar(title: str, counts: dict[Outcome, int]) -> StackedBar:
    """Return the bar with the outcomes of one exercise for the class."""
    total = sum(counts.values()) or 1
    parts, left = [], 0.0
    for group, count in counts.items():
        if count:
            wide = _BAR * count / total
            # Leave a margin, so that outlines are not cut off.
            parts.append(Part(left + 1, max(1.0, wide - 2), _FILLS[group], _count(group, count)))
            left += wide
    return StackedBar(title, in_words(counts) + ".", f"0 0 {_BAR} 18", parts)


def share_bar(title: str, share: float) -> ShareBar:
    """Return the bar for a share."""
    said = f"{100 * share:.0f} % of the answers."
    return ShareBar(title, said, f"0 0 {_BAR} 10", (_BAR - 1) * share)


def legend(groups: Iterable[Outcome]) -> list[Group]:
    """Return the names and fills of the groups, for the legend."""
    return [Group(_name(group), _FILLS[group]) for group in groups]


def in_words(counts: dict[Outcome, int]) -> str:
    """Return the size of each group in words: '12 passed, 3 not right'."""
    return ", ".join(_count(group, count) for group, count in counts.items() if count)


def _count(group: Outcome, count: int) -> str:
    return f"{count} {_name(group).split(' (')[0]}"


def _name(group: Outcome) -> str:
    return {
        Outcome.PASSED: "passed",
        Outcome.PARTLY: "partly right",
        Outcome.FAILED: "not right",
        Outcome.STOPPED: "ended early",
        Outcome.NOT_ATTEMPTED: "not attempted",
        Outcome.NOT_GRADED: "not graded",
    }[group]
