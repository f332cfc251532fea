"""Render trees of keys as text, HTML and SVG."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from jaxguide.base.render import Drawing, Picture
from jaxguide.base.render.prose import prose_html
from jaxguide.base.render.svg import text_width
from jaxguide.base.render.theme import CODE, frame
from jaxguide.base.text import _, plural
from jaxguide.keys.forest import KeyNode, descendants
from jaxguide.keys.key_record import KeyProblem
from jaxguide.keys.picture_rows import Twig, fold

_GLYPHS = {"spent": "✓", "reused": "✗", "unused": "○", "folded": "", "": ""}
_TONES = {"spent": "good", "reused": "bad", "unused": "quiet", "folded": "quiet", "": "quiet"}


@dataclass(frozen=True)
class _Row:
    """A line of the picture: a twig, and for it and each twig above, whether it is the last of its siblings."""

    twig: Twig
    last: tuple[bool, ...]


def _rows(twigs: Sequence[Twig], last: tuple[bool, ...] = ()) -> list[_Row]:
    found = []
    for i, twig in enumerate(twigs):
        here = (*last, i == len(twigs) - 1)
        found += [_Row(twig, here), *_rows(twig.twigs, here)]
    return found


def picture(name: str, roots: Sequence[KeyNode], problems: Sequence[KeyProblem]) -> Picture:
    """Return the picture of a function's keys and of its problems with them."""
    title = _("Keys of {name}").format(name=name)
    summary = f"{title}: {_summary(roots)}"
    rows = _rows(fold(roots))
    messages = [problem.message for problem in problems]
    tree = "\n".join(_text(rows))
    text = "\n\n".join(filter(None, (summary, tree, "\n".join(f"✗ {message}" for message in messages))))
    drawing = _draw(title, " ".join((summary, *messages)), rows)
    return Picture(text, _html(summary, drawing, tree, messages), drawing.svg())


def _summary(roots: Sequence[KeyNode]) -> str:
    keys = descendants(roots)
    if not keys:
        return _("no keys were used.")
    draws = sum(len(o.events) for key in keys for o in key.operations if o.kind == "draw")
    reused, unused = sum(bool(key.problems) for key in keys), sum(not key.used for key in keys)
    parts = [
        plural("{count} key made", "{count} keys made", len(keys) - sum(not root.seeds for root in roots)),
        plural("{count} draw", "{count} draws", draws),
        plural("{count} key reused", "{count} keys reused", reused) if reused else _("no key reused"),
        plural("{count} key not used", "{count} keys not used", unused) if unused else "",
    ]
    return f"{', '.join(filter(None, parts))}."


def _state(twig: Twig) -> str:
    return f"{_GLYPHS[twig.state]} {twig.words}".strip()


def _places(rows: Sequence[_Row]) -> list[str]:
    """Return the line of code for each row, with the file if there are several."""
    files = {row.twig.place.line.file for row in rows if row.twig.place is not None}
    found = []
    for twig in (row.twig for row in rows):
        if twig.place is None:
            found.append("")
            continue
        line = twig.place.line
        number = _("line {number}").format(number=line.number) if len(files) == 1 else str(line)
        found.append(f"{number}: {twig.source}" if twig.source else number)
    return found


def _text(rows: Sequence[_Row]) -> list[str]:
    """Return the rows as text, in columns."""
    names = []
    for row in rows:
        bars = "".join("   " if last else "│  " for last in row.last[1:-1])
        fork = ("└─ " if row.last[-1] else "├─ ") if len(row.last) > 1 else ""
        names.append(f"{bars}{fork}{row.twig.name}")
    columns = [names, [row.twig.action for row in rows], [_state(row.twig) for row in rows], _places(rows)]
    widths = [max(map(len, column), default=0) for column in columns]
    lines = []
    for cells in zip(*columns, strict=True):
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append("  ".join(itertools.compress(padded, widths)).rstrip())
    return lines


_STEP, _HEIGHT, _BOX, _MARGIN, _GAP = 26, 30, 22, 8, 16


def _draw(title: str, description: str, rows: Sequence[_Row]) -> Drawing:
    states, places = [_state(row.twig) for row in rows], _places(rows)
    lefts = [_MARGIN + _STEP * (len(row.last) - 1) for row in rows]
    boxes = [text_width(row.twig.name) + 12 if row.twig.name else 0 for row in rows]
    actions = [text_width(row.twig.action) + 12 if row.twig.action else 0 for row in rows]
    ends = [
        left + box + (_GAP if box and action else 0) + action
        for left, box, action in zip(lefts, boxes, actions, strict=True)
    ]
    state_at = max(ends, default=0) + 20
    place_at = state_at + max(map(text_width, states), default=0) + 20
    width = place_at + max((text_width(place, 12) for place in places), default=0) + _MARGIN
    drawing = Drawing(title, description, width, _HEIGHT * len(rows) + 2 * _MARGIN)
    stems: dict[int, float] = {}  # depth -> the lower end of the box above the children
    above: dict[int, Twig] = {}
    for i, row in enumerate(rows):
        twig, left, middle = row.twig, lefts[i], _MARGIN + _HEIGHT * i + _HEIGHT / 2
        depth, tone = len(row.last), _TONES[twig.state]
        if depth > 1:
            wrong = above[depth - 1].state == "reused" and not twig.name
            stem = f"M{left - _STEP + 10:g} {stems[depth - 1]:g} V{middle:g} H{left:g}"
            drawing.path(stem, tone="bad" if wrong else "quiet")
        stems[depth], above[depth] = middle + _BOX / 2, twig
        if twig.state == "folded" or (twig.name and not twig.state):
            drawing.words(left + 6, middle + 4.5, twig.name)
        elif twig.name:
            drawing.box(left, middle - _BOX / 2, boxes[i], _BOX, twig.name, tone=tone, note=_state(twig))
        if twig.action:
            start = left + boxes[i] + (_GAP if boxes[i] else 0)
            if boxes[i]:
                drawing.path(f"M{left + boxes[i]:g} {middle:g} H{start:g}")
            drawing.words(start + 6, middle + 4.5, twig.action)
        drawing.words(state_at, middle + 4.5, states[i], bold=twig.state == "reused")
        drawing.words(place_at, middle + 4.5, places[i], size=12)
    return drawing


def _html(summary: str, drawing: Drawing, tree: str, messages: Sequence[str]) -> str:
    marks = "".join(f'<li style="margin:0.2em 0">✗ {prose_html(message)}</li>' for message in messages)
    listed = f'<ul style="list-style:none;padding:0;margin:0.3em 0">{marks}</ul>' if marks else ""
    as_text = (
        f'<details><summary>{escape(_("As text"))}</summary><pre style="{CODE};white-space:pre;overflow-x:auto">'
        f"{escape(tree)}</pre></details>"
    )
    body = f"{drawing.html()}{listed}{as_text}" if tree else ""
    return (
        f'<div style="{frame("bad" if messages else "good")};max-width:none"><div>{escape(summary)}</div>{body}</div>'
    )
