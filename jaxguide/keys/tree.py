"""Draw a program's tree of keys, from the seed through splits and folds to the draws."""

import inspect
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxguide.base.render import Drawing, Picture, drawn
from jaxguide.base.render.svg import text_width
from jaxguide.base.text import plural
from jaxguide.code.lines import function_name
from jaxguide.jaxpr.arguments import require_call
from jaxguide.keys.check import require_key_values, warn_of_unseen
from jaxguide.keys.events import Bits, KeyLog, is_key, key_rows, key_words
from jaxguide.keys.forest import KeyNode, descendants, grow
from jaxguide.keys.ignoring import read_ignored
from jaxguide.keys.key_cards import marked_lines
from jaxguide.keys.key_record import KeyProblems
from jaxguide.keys.observe import observe_keys
from jaxguide.keys.problems import find_clashes, find_problems
from jaxguide.keys.tree_rows import TreeRow, fold

_MOST_GIVEN = 100_000


def key_tree(fn: Callable[..., Any], /, *args: Any, ignore: str | Collection[str] = (), **kwargs: Any) -> Picture:
    """Draw which keys a program makes from which, what it draws from each, and which it uses twice.

    >>> import jax
    >>> def noise(key):
    ...     first, second, third = jax.random.split(key, 3)
    ...     x = jax.random.normal(first)
    ...     return x + jax.random.normal(second) + jax.random.uniform(second)
    >>> key_tree(noise, jax.random.key(0))
    Keys of noise: 3 keys made, 3 draws, 1 key reused, 1 key not used.
    <BLANKLINE>
    key        split into 3  ✓ spent                     line 2: first, second, third = jax.random.split(key, 3)
    ├─ first   normal        ✓ spent                     line 3: x = jax.random.normal(first)
    ├─ second                ✗ reused: drawn from twice
    │  ├─      normal                                    line 4: return x + jax.random.normal(second) + ...
    │  └─      uniform                                   line 4: return x + jax.random.normal(second) + ...
    └─ third                 ○ not used
    <BLANKLINE>
    ✗ `second` was drawn from twice ...

    A notebook shows a drawing; `key_tree(...).svg` is the text of an SVG file. Of many similar keys, from a large split
    or a long loop, only the first two and the last are shown, with a line that counts the others.

    The program really runs, once, on these arguments; `jaxguide.keys.check_keys` says what is seen.

    Args:
        fn: any function, also jitted or vmapped.
        args, kwargs: its arguments, which must be real values, not tracers or `jax.ShapeDtypeStruct`.
        ignore: problems to leave out, as for `check_keys`.

    Returns:
        The picture. Keys are named as in the source if possible, such as `keys[1]`; `k #1` is the second key that a
        call returned, and `k (3)` the one with 3 folded in. A key that is used once, or split, is spent; a key that is
        only returned is not used. Of a loop, the first 64 iterations are followed, as by `check_keys`; keys for the
        others are marked "not followed".

    Raises:
        TypeError: `fn` is not a function, does not take these arguments, or returns before its body has run, as a
            generator function does.
        RuntimeError: it was called inside `jax.jit`, `jax.vmap` or another transformation.
        Exception: whatever the program raises.

    Warns:
        UserWarning: keys are used inside a primitive that it cannot look into.

    Uses `jax.make_jaxpr`, and reads the keys' bits with `jax.random.key_data`.
    """
    require_call("key_tree", fn, args, kwargs)
    require_key_values("key_tree", args, kwargs)
    ignored = read_ignored("key_tree", ignore, fn)
    log = observe_keys(fn, args, kwargs)
    warn_of_unseen(log, stacklevel=3)
    events = log.events
    clashes = find_clashes(events, ignored)
    roots = grow(events, clashes, _given(fn, args, kwargs, {e.use.bits for e in events}), _left(log))
    return _picture(function_name(fn), roots, find_problems(log, ignored))


def _left(log: KeyLog) -> set[Bits]:
    """Return the keys that went into iterations that were not followed, and perhaps other numbers."""
    return {row for value in log.left for row in key_rows(key_words(value))}


def _given(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], used: set[Bits]) -> dict[Bits, str]:
    """Return the names of the keys among the arguments: of all typed keys, and of uint32 keys that were used."""
    try:
        arguments = inspect.signature(fn).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return {}
    found: dict[Bits, str] = {}
    for argument, value in arguments.items():
        for path, leaf in jax.tree_util.tree_leaves_with_path(value):
            data = isinstance(leaf, jax.Array | np.ndarray) and leaf.dtype == np.uint32 and leaf.ndim > 0
            if not (is_key(leaf) or data) or np.size(leaf) > _MOST_GIVEN:
                continue
            name = f"{argument}{jax.tree_util.keystr(path)}"
            rows = key_rows(key_words(leaf))
            for i, row in enumerate(rows):
                if row in used or is_key(leaf):
                    found.setdefault(row, name if len(rows) == 1 else f"{name}[{i}]")
    return found


_GLYPHS = {"spent": "✓", "reused": "✗", "unused": "○", "left": "…", "folded": "", "": ""}
_TONES = {"spent": "good", "reused": "bad", "unused": "quiet", "left": "quiet", "folded": "quiet", "": "quiet"}


@dataclass(frozen=True)
class _Row:
    """A line of the picture: an entry, and for it and each entry above, whether it is the last of its siblings."""

    entry: TreeRow
    last: tuple[bool, ...]


def _rows(children: Sequence[TreeRow], last: tuple[bool, ...] = ()) -> list[_Row]:
    found = []
    for i, entry in enumerate(children):
        here = (*last, i == len(children) - 1)
        found += [_Row(entry, here), *_rows(entry.children, here)]
    return found


def _picture(name: str, roots: Sequence[KeyNode], problems: KeyProblems) -> Picture:
    """Return the picture of a function's keys and of its problems with them."""
    title = f"Keys of {name}"
    summary = f"{title}: {_summary(roots)}"
    rows = _rows(fold(roots))
    marked = marked_lines(problems, problems.cut_loops)
    drawing = _draw(title, " ".join((summary, *marked)), rows)
    return drawn(drawing, summary, "\n".join(_text(rows)), "\n".join(marked), "bad" if problems else "good")


def _summary(roots: Sequence[KeyNode]) -> str:
    keys = descendants(roots)
    if not keys:
        return "no keys were used."
    draws = sum(len(o.events) for key in keys for o in key.operations if o.kind == "draw")
    reused, unused = sum(bool(key.problems) for key in keys), sum(not key.used and not key.left for key in keys)
    parts = [
        plural("{count} key made", "{count} keys made", len(keys) - sum(not root.seeds for root in roots)),
        plural("{count} draw", "{count} draws", draws),
        plural("{count} key reused", "{count} keys reused", reused) if reused else "no key reused",
        plural("{count} key not used", "{count} keys not used", unused) if unused else "",
    ]
    return f"{', '.join(filter(None, parts))}."


def _state(entry: TreeRow) -> str:
    return f"{_GLYPHS[entry.state]} {entry.words}".strip()


def _places(rows: Sequence[_Row]) -> list[str]:
    """Return the line of code for each row, with the file if there are several."""
    files = {row.entry.place.line.file for row in rows if row.entry.place is not None}
    found = []
    for entry in (row.entry for row in rows):
        if entry.place is None:
            found.append("")
            continue
        line = entry.place.line
        number = f"line {line.number}" if len(files) == 1 else str(line)
        found.append(f"{number}: {entry.source}" if entry.source else number)
    return found


def _text(rows: Sequence[_Row]) -> list[str]:
    """Return the rows as text, in columns."""
    names = []
    for row in rows:
        bars = "".join("   " if last else "│  " for last in row.last[1:-1])
        fork = ("└─ " if row.last[-1] else "├─ ") if len(row.last) > 1 else ""
        names.append(f"{bars}{fork}{row.entry.name}")
    columns = [names, [row.entry.action for row in rows], [_state(row.entry) for row in rows], _places(rows)]
    widths = [max(map(len, column), default=0) for column in columns]
    lines = []
    for cells in zip(*columns, strict=True):
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append("  ".join(itertools.compress(padded, widths)).rstrip())
    return lines


_STEP, _HEIGHT, _BOX, _MARGIN, _GAP = 26, 30, 22, 8, 16


def _draw(title: str, description: str, rows: Sequence[_Row]) -> Drawing:
    states, places = [_state(row.entry) for row in rows], _places(rows)
    lefts = [_MARGIN + _STEP * (len(row.last) - 1) for row in rows]
    boxes = [text_width(row.entry.name) + 12 if row.entry.name else 0 for row in rows]
    actions = [text_width(row.entry.action) + 12 if row.entry.action else 0 for row in rows]
    ends = [
        left + box + (_GAP if box and action else 0) + action
        for left, box, action in zip(lefts, boxes, actions, strict=True)
    ]
    state_at = max(ends, default=0) + 20
    place_at = state_at + max(map(text_width, states), default=0) + 20
    width = place_at + max((text_width(place, 12) for place in places), default=0) + _MARGIN
    drawing = Drawing(title, description, width, _HEIGHT * len(rows) + 2 * _MARGIN)
    stems: dict[int, float] = {}  # depth -> the lower end of the box above the children
    above: dict[int, TreeRow] = {}
    for i, row in enumerate(rows):
        entry, left, middle = row.entry, lefts[i], _MARGIN + _HEIGHT * i + _HEIGHT / 2
        depth, tone = len(row.last), _TONES[entry.state]
        if depth > 1:
            wrong = above[depth - 1].state == "reused" and not entry.name
            stem = f"M{left - _STEP + 10:g} {stems[depth - 1]:g} V{middle:g} H{left:g}"
            drawing.path(stem, tone="bad" if wrong else "quiet")
        stems[depth], above[depth] = middle + _BOX / 2, entry
        if entry.state == "folded" or (entry.name and not entry.state):
            drawing.words(left + 6, middle + 4.5, entry.name)
        elif entry.name:
            drawing.box(left, middle - _BOX / 2, boxes[i], _BOX, entry.name, tone=tone, note=_state(entry))
        if entry.action:
            start = left + boxes[i] + (_GAP if boxes[i] else 0)
            if boxes[i]:
                drawing.path(f"M{left + boxes[i]:g} {middle:g} H{start:g}")
            drawing.words(start + 6, middle + 4.5, entry.action)
        drawing.words(state_at, middle + 4.5, states[i], bold=entry.state == "reused")
        drawing.words(place_at, middle + 4.5, places[i], size=12)
    return drawing
