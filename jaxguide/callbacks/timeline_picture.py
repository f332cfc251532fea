"""Show a timeline of host calls as text, HTML and SVG: a lane for each callback, a column for each call."""

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from jaxguide.base.render import Drawing, Picture
from jaxguide.base.render.svg import text_width
from jaxguide.base.render.theme import CODE, frame
from jaxguide.base.text import _, plural

if TYPE_CHECKING:
    from jaxguide.callbacks.timeline import HostRun, Site, Timeline

# More columns than this are told in words alone.
_MOST = 24
_LANE, _BOX, _MARGIN, _TOP = 34, 22, 8, 8
_COLUMN = 54


def picture(timeline: "Timeline") -> Picture:
    """Return the picture of one run of a program."""
    title = _("Host calls of {name}").format(name=timeline.name)
    summary = f"{title}: {_summary(timeline)}"
    lines = _lines(timeline)
    drawing = _draw(title, " ".join([summary, *lines]), timeline)
    listed = "\n".join(lines)
    as_text = (
        f"<details><summary>{escape(_('As text'))}</summary>"
        f'<pre style="{CODE};white-space:pre;overflow-x:auto">{escape(listed)}</pre></details>'
    )
    html = f'<div style="{frame("good")};max-width:none"><div>{escape(summary)}</div>{drawing.html()}{as_text}</div>'
    return Picture(f"{summary}\n\n{listed}", html, drawing.svg())


def _summary(timeline: "Timeline") -> str:
    if not timeline.sites:
        return _("there is no callback in its program.")
    sites = plural("{count} callback", "{count} callbacks", len(timeline.sites))
    runs = plural("{count} call of {sites}.", "{count} calls of {sites}.", len(timeline.runs), sites=sites)
    back = _("The call was back after {returned}, its result was there after {ready}.")
    return f"{runs} {back.format(returned=_ms(timeline.returned_s), ready=_ms(timeline.ready_s))}"


def _ms(seconds: float) -> str:
    return _("{ms:.2f} ms").format(ms=seconds * 1000)


def _label(site: "Site") -> str:
    name = repr(site.name) if site.kind == "debug.print" else site.name
    return f"{name} · {site.kind}" + (f" · {_('ordered')}" if site.ordered else "")


@dataclass(frozen=True)
class _Mark:
    """What happened between the calls on the host: the call came back, or all was done."""

    start_s: float
    is_end: bool

    def __str__(self) -> str:
        return _("result ready") if self.is_end else _("back in Python")


def _columns(timeline: "Timeline") -> list["HostRun | _Mark"]:
    """Return what happened, as it began."""
    marks = [_Mark(timeline.returned_s, is_end=False), _Mark(timeline.ready_s, is_end=True)]
    return sorted([*timeline.runs, *marks], key=lambda what: what.start_s)


def _lines(timeline: "Timeline") -> list[str]:
    """Return what happened in words, a line each; equal neighbours only where there are few."""
    found, number = [], 0
    for what in _columns(timeline):
        if isinstance(what, _Mark):
            found.append(f"   - {_ms(what.start_s):>12}  {what}")
            continue
        number += 1
        if number <= _MOST:
            took = _("{ms} long").format(ms=_ms(what.end_s - what.start_s))
            given = f"({what.given})"
            found.append(f"{number:>4} {_ms(what.start_s):>12}  {_label(what.site)}  {given}  {took}")
        elif number == _MOST + 1:
            found.append("     " + plural("{count} more call", "{count} more calls", len(timeline.runs) - _MOST))
    never = [site for site in timeline.sites if all(run.site is not site for run in timeline.runs)]
    return found + [_("never called: {site}").format(site=_label(site)) for site in never]


def _draw(title: str, description: str, timeline: "Timeline") -> Drawing:
    runs = 0
    columns = []
    for what in _columns(timeline):
        runs += not isinstance(what, _Mark)
        if isinstance(what, _Mark) or runs <= _MOST:
            columns.append(what)
    labels = [_label(site) for site in timeline.sites]
    left = _MARGIN + max(text_width(label) for label in (_("your Python"), *labels)) + 16
    width = left + _COLUMN * len(columns) + text_width(_("result ready"), 11) + _MARGIN
    floor = _TOP + _LANE * (len(labels) + 1)
    drawing = Drawing(title, description, width, floor + 34)
    lanes = {id(site): _TOP + _LANE * (i + 1) + _LANE / 2 for i, site in enumerate(timeline.sites)}
    for label, y in zip(labels, lanes.values(), strict=True):
        drawing.words(_MARGIN, y + 4.5, label)
    python = _TOP + _LANE / 2
    drawing.words(_MARGIN, python + 4.5, _("your Python"), bold=True)
    number = 0
    for i, what in enumerate(columns):
        x = left + _COLUMN * i
        middle = x + _COLUMN / 2
        here = None if isinstance(what, _Mark) else lanes[id(what.site)]
        for y in lanes.values():
            half = _COLUMN / 2 - 15
            drawing.path(
                f"M{x:g} {y:g} h{half:g} m30 0 h{half:g}" if y == here else f"M{x:g} {y:g} h{_COLUMN}", dashed=True
            )
        if isinstance(what, _Mark):
            drawing.path(f"M{middle:g} {_TOP:g} V{floor:g}", note=str(what))
            drawing.words(middle, floor + 14, str(what), size=11, anchor="start" if what.is_end else "end")
            if not what.is_end:
                drawing.path(f"M{left:g} {python:g} H{middle:g}", arrow=True)
            continue
        number += 1
        y = lanes[id(what.site)]
        drawing.box(middle - 15, y - _BOX / 2, 30, _BOX, tone="good", note=f"{_label(what.site)} ({what.given})")
        drawing.words(middle, y + 4.5, str(number), anchor="middle")
        drawing.words(middle, floor + 30, _ms(what.start_s), size=10, anchor="middle")
    return drawing
