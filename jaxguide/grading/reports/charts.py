"""The report's charts as SVG: a title and a description for who cannot see them, and every number in words too."""

from collections.abc import Sequence
from html import escape

from jaxguide.base.text import _, plural
from jaxguide.course.verdict import Outcome
from jaxguide.grading.reports.insight import BINS, Distribution

# How each group is drawn: a tone, and a pattern of its own, so that no colour is needed to tell them apart.
_FILLS = {
    Outcome.PASSED: "fill:var(--good)",
    Outcome.PARTLY: "fill:url(#stripes)",
    Outcome.FAILED: "fill:url(#crosses)",
    Outcome.STOPPED: "fill:url(#dots)",
    Outcome.NOT_ATTEMPTED: "fill:none;stroke:var(--quiet)",
    Outcome.NOT_GRADED: "fill:none;stroke:var(--partly);stroke-dasharray:3 3",
}

# Defined once in a page, before the charts.
PATTERNS = (
    '<svg width="0" height="0" aria-hidden="true" focusable="false" style="position:absolute"><defs>'
    '<pattern id="stripes" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path d="M2 0V7" style="stroke:var(--partly);stroke-width:4"/></pattern>'
    '<pattern id="crosses" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path d="M0 2H7M2 0V7" style="stroke:var(--bad);stroke-width:2.2"/></pattern>'
    '<pattern id="dots" width="6" height="6" patternUnits="userSpaceOnUse">'
    '<circle cx="3" cy="3" r="2" style="fill:var(--bad)"/></pattern>'
    "</defs></svg>"
)

_HIGH = 132
_LEFT, _TOP, _WIDE = 10, 44, 54


def histogram(distribution: Distribution) -> str:
    """Draw how many students have how many of the points."""
    most = max(distribution.counts, default=0) or 1
    width = 2 * _LEFT + BINS * _WIDE
    bottom = _TOP + _HIGH
    parts = [f'<path d="M{_LEFT} {bottom}H{width - _LEFT}" style="stroke:var(--quiet)"/>']
    counts = []  # drawn last, over the median's line
    for number, count in enumerate(distribution.counts):
        left, high = _LEFT + number * _WIDE, round(_HIGH * count / most, 1)
        if count:
            box = f'x="{left + 3}" y="{bottom - high:g}" width="{_WIDE - 6}" height="{high:g}"'
            parts.append(f'<rect {box} rx="2" style="fill:var(--good)"/>')
            counts.append(_words(left + _WIDE / 2, bottom - high - 6, str(count), bold=True))
        if number % 2 == 0:
            parts.append(_words(left, bottom + 20, str(100 * number // BINS), anchor="middle" if number else "start"))
    parts.append(_words(width - _LEFT, bottom + 20, "100 %", anchor="end"))
    if distribution.median is not None:
        at = round(_LEFT + distribution.median * BINS * _WIDE, 1)
        parts.append(f'<path d="M{at:g} 6V{bottom}" style="stroke:var(--text);stroke-width:2;stroke-dasharray:5 4"/>')
        side, shift = ("end", -8) if distribution.median > 0.5 else ("start", 8)
        parts.append(_words(at + shift, 18, _("median {share:.0f} %").format(share=100 * distribution.median), side))
    bins = (
        _("{low} to {high} %: {count}").format(low=100 * n // BINS, high=100 * (n + 1) // BINS, count=count)
        for n, count in enumerate(distribution.counts)
        if count
    )
    title = plural("Marks of {count} student", "Marks of {count} students", distribution.total)
    description = "; ".join([_("Students by the share of the points that they have"), *bins]) + "."
    return _svg(
        "marks", title, description, f"0 0 {width} {bottom + 26}", "".join(parts + counts), "width:100%;height:auto"
    )


def stacked_bar(name: str, title: str, counts: dict[Outcome, int]) -> str:
    """Draw how one exercise ended for the class, as parts of one bar."""
    total = sum(counts.values()) or 1
    parts, left = [], 0.0
    for group, count in counts.items():
        if count:
            wide = 300 * count / total
            said = escape(group_count(group, count))
            # Half a unit inside, so that an outline is whole.
            box = f'x="{left + 1:.1f}" y="1" width="{max(1.0, wide - 2):.1f}" height="16"'
            parts.append(f'<rect {box} style="{_FILLS[group]}"><title>{said}</title></rect>')
            left += wide
    description = ", ".join(group_count(group, count) for group, count in counts.items() if count) + "."
    return _svg(f"bar-{name}", title, description, "0 0 300 18", "".join(parts), _BAR, _STRETCH)


def share_bar(name: str, title: str, share: float) -> str:
    """Draw one share as a bar."""
    parts = (
        '<rect x="0.5" y="0.5" width="299" height="9" rx="4" style="fill:none;stroke:var(--quiet)"/>'
        f'<rect x="0.5" y="0.5" width="{299 * share:.1f}" height="9" rx="4" style="fill:var(--bad)"/>'
    )
    said = _("{share:.0f} % of the class.").format(share=100 * share)
    return _svg(f"share-{name}", title, said, "0 0 300 10", parts, "width:100%;height:10px", _STRETCH)


def legend(groups: Sequence[Outcome]) -> str:
    """Say what the patterns of the bars stand for."""
    items = "".join(
        '<li><svg width="22" height="14" aria-hidden="true" focusable="false">'
        f'<rect x="1" y="1" width="20" height="12" style="{_FILLS[group]}"/></svg> {escape(group_name(group))}</li>'
        for group in groups
    )
    return f'<ul class="legend">{items}</ul>'


def group_name(group: Outcome) -> str:
    """Return what a group is called."""
    return {
        Outcome.PASSED: _("passed"),
        Outcome.PARTLY: _("partly right"),
        Outcome.FAILED: _("not right"),
        Outcome.STOPPED: _("ended early (time, memory, crash)"),
        Outcome.NOT_ATTEMPTED: _("not attempted"),
        Outcome.NOT_GRADED: _("not graded"),
    }[group]


def group_count(group: Outcome, count: int) -> str:
    """Return how many are in a group, in words: '12 passed'."""
    return f"{count} {group_name(group).split(' (')[0]}"


_STRETCH = 'preserveAspectRatio="none"'
_BAR = "width:100%;height:18px"


def _words(x: float, y: float, words: str, anchor: str = "middle", bold: bool = False) -> str:
    weight = ' font-weight="700" class="halo"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="14" text-anchor="{anchor}"{weight}>{escape(words)}</text>'


def _svg(name: str, title: str, description: str, box: str, body: str, style: str, more: str = "") -> str:
    return (
        f'<svg viewBox="{box}" {more} style="{style}" role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
        f"{body}</svg>"
    )
