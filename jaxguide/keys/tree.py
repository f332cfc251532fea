"""Draw a program's tree of keys, from the seed through splits and folds to the draws."""

import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from jaxguide.base.render import Drawing, Picture, drawn
from jaxguide.base.render.svg import text_width
from jaxguide.base.text import plural
from jaxguide.code.lines import function_name
from jaxguide.jaxpr.devices import is_key_array
from jaxguide.keys.events import Bits, KeyLog, key_rows, key_words
from jaxguide.keys.forest import KeyNode, KeyOperation, chain, descendants, grow
from jaxguide.keys.key_report import KeyReport
from jaxguide.keys.names import statement_text
from jaxguide.keys.origins import CallSite
from jaxguide.keys.stream import START

_MOST_GIVEN = 100_000
_MOST_ROWS, _DEEPEST, _LONGEST_SOURCE = 40, 12, 72
# Of more lines side by side than these, the first two, the last and at most two that are reused are shown.
_MOST_SIDE_BY_SIDE = 6

_GLYPHS = {"spent": "✓", "reused": "✗", "unused": "○", "left": "…", "folded": "", "": ""}
_TONES = {"spent": "good", "reused": "bad"}
_HOW = {
    "parent_used_after_split": "split and drawn from",
    "parent_used_after_fold": "folded into and drawn from",
    "split_twice": "split twice",
    "fold_twice_same_data": "same number folded in twice",
    "split_and_fold_mixed": "split and folded into",
    "same_key_for_all_rows": "same key for all rows",
    "seed_built_twice": "built twice from the same number",
}


@dataclass(frozen=True)
class _Row:
    """A line of the picture and the lines below it.

    Args:
        name: the key's name; empty for an operation on the key above.
        action: what was done with it; empty if several things were, or none.
        state: 'spent', 'reused', 'unused', 'left' or 'folded'; empty for an operation.
        words: the state in words.
        place, source: the call that did it, and the text of its line.
        below: the rows below it.
        last: for it and each row above, whether it is the last of its siblings.
    """

    name: str
    action: str = ""
    state: str = ""
    words: str = ""
    place: CallSite | None = None
    source: str = ""
    below: tuple["_Row", ...] = ()
    last: tuple[bool, ...] = ()

    @property
    def told(self) -> str:
        """Return the state with its sign."""
        return f"{_GLYPHS[self.state]} {self.words}".strip()


def draw_tree(
    report: KeyReport,
    log: KeyLog,
    clashes: Iterable[tuple[str, Bits]],
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Picture:
    """Return the picture of the keys of a function that was run, and of its problems with them."""
    left = {row for value in log.left for row in key_rows(key_words(value))}
    roots = grow(log.events, clashes, _given(fn, args, kwargs, {use.bits for use in report.uses}), left)
    title = f"Keys of {function_name(fn)}"
    summary = f"{title}: {_summary(roots)}"
    rows: list[_Row] = []
    for deepest in range(_DEEPEST, 0, -1):
        rows = _flat(_siblings([_key(root, deepest) for root in roots]))
        if len(rows) <= _MOST_ROWS:
            break
    marked = report.marked_lines()
    drawing = _draw(title, " ".join((summary, *marked)), rows)
    return drawn(drawing, summary, "\n".join(_text(rows)), "\n".join(marked), "bad" if report else "good")


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
            if not (is_key_array(leaf) or data) or np.size(leaf) > _MOST_GIVEN:
                continue
            name = f"{argument}{jax.tree_util.keystr(path)}"
            rows = key_rows(key_words(leaf))
            for i, row in enumerate(rows):
                if row in used or is_key_array(leaf):
                    found.setdefault(row, name if len(rows) == 1 else f"{name}[{i}]")
    return found


def _summary(roots: Sequence[KeyNode]) -> str:
    keys = descendants(roots)
    if not keys:
        return "no keys were used."
    reused, unused = sum(key.reused for key in keys), sum(not key.used and not key.left for key in keys)
    parts = [
        plural("{count} key made", "{count} keys made", len(keys) - sum(not root.seeds for root in roots)),
        plural("{count} draw", "{count} draws", sum(key.draws for key in keys)),
        plural("{count} key reused", "{count} keys reused", reused) if reused else "no key reused",
        plural("{count} key not used", "{count} keys not used", unused) if unused else "",
    ]
    return f"{', '.join(filter(None, parts))}."


def _key(key: KeyNode, depth: int) -> _Row:
    if links := chain(key):
        return _loop(links, depth)
    operations = [_operation(operation, key.operations, depth - 1) for operation in key.operations]
    row = _Row(_name(key), **_state(key))
    if key.seeds:
        return replace(row, **_seed(key), below=_siblings(operations))
    if len(operations) != 1:
        return replace(row, below=_siblings(list(map(_merged, operations))))
    (only,) = operations
    return replace(row, action=only.action, place=only.place, source=only.source, below=only.below)


def _merged(row: _Row) -> _Row:
    """Merge a fold and the one key that it made into one line."""
    made = row.below[0] if len(row.below) == 1 else _Row("")
    if not row.action.startswith("fold_in") or not made.state or made.name.startswith("…"):
        return row
    if made.place is None:
        made = replace(made, place=row.place, source=row.source)
    name = row.action if made.name.startswith("a key") else f"{made.name}, {row.action}"
    return replace(made, name=name)


def _operation(operation: KeyOperation, others: Sequence[KeyOperation], depth: int) -> _Row:
    row = _Row("", _action(operation), **_placed(_telling_place(operation, others)))
    if depth < 0 and operation.made:
        below = descendants(operation.made)
        text = plural("… {count} key below", "… {count} keys below", len(below))
        return replace(row, below=(_folded(text, sum(key.reused for key in below)),))
    made = [_key(child, depth) for child in operation.made]
    again = [_Row(f"{name or 'a key'}: the same key as {_name(other)}") for name, other in operation.again]
    return replace(row, below=_siblings([*made, *again]))


def _telling_place(operation: KeyOperation, others: Sequence[KeyOperation]) -> CallSite | None:
    """Return the innermost place that tells an operation from the others; for a helper called twice, the call."""
    alike = [other.places for other in others if other is not operation and other.places[:1] == operation.places[:1]]
    for depth, place in enumerate(operation.places):
        if all(places[depth : depth + 1] != (place,) for places in alike):
            return place
    return operation.places[0] if operation.places else None


def _loop(links: Sequence[tuple[KeyNode, KeyOperation]], depth: int) -> _Row:
    """Return the line of a loop that carries its key, with a line for each round."""
    first, operation = links[0]
    carried = operation.made.index(links[1][0])
    rounds = []
    for number, (key, step) in enumerate(links, 1):
        others = [_operation(other, key.operations, depth - 2) for other in key.operations if other is not step]
        others += [_key(child, depth - 2) for i, child in enumerate(step.made) if i != carried]
        state = _state(key) if number > 1 and key.reused else {}
        if len(others) == 1 and others[0].name and not state:
            rounds.append(replace(others[0], name=f"round {number}: {others[0].name}"))
        else:
            rounds.append(_Row(f"round {number}", **state, below=_siblings(others)))
    after = [_key(child, depth - 2) for child in links[-1][1].made[carried : carried + 1]]
    after = [replace(row, name=f"{row.name} after round {len(links)}") for row in after]
    state = _state(first)
    if not first.reused and any(key.reused for key, _step in links):
        state = {"state": "reused", "words": "a key in it is reused"}
    seed = f"{_seed(first)['action']}, " if first.seeds else ""
    action = f"{seed}{_action(operation)}, {len(links)} times over"
    place = operation.places[0] if operation.places else None
    return _Row(_name(first), action, **state, **_placed(place), below=(*_siblings(rounds), *after))


def _siblings(rows: Sequence[_Row]) -> tuple[_Row, ...]:
    """Return the lines, or of many the first two and the last, and a line that counts the others.

    What is below a line is left out if it is like that of the line above.
    """
    short = list(rows)
    for i, (above, row) in enumerate(itertools.pairwise(rows), 1):
        if row.below and _alike(row) == _alike(above):
            short[i] = replace(row, words=f"{row.words}, as above".strip(", "), below=())
    if len(rows) <= _MOST_SIDE_BY_SIDE:
        return tuple(short)
    reused = [i for i, row in enumerate(rows) if row.state == "reused"][:2]
    shown = sorted({0, 1, *reused, len(rows) - 1})
    found: list[_Row] = []
    for before, i in itertools.pairwise([-1, *shown]):
        hidden = rows[before + 1 : i]
        if hidden:
            text = plural("… {count} more", "… {count} more", len(hidden))
            found.append(_folded(text, sum(map(_reused, hidden))))
        found.append(short[i])
    return tuple(found)


def _alike(row: _Row) -> tuple[object, ...]:
    """Return a value that is equal for similar lines, which may differ in names and numbers."""
    return row.action, row.words, row.place, tuple(map(_alike, row.below))


def _reused(row: _Row) -> int:
    return (row.state == "reused") + sum(map(_reused, row.below))


def _folded(text: str, reused: int) -> _Row:
    words = plural("{count} of them reused", "{count} of them reused", reused)
    return _Row(text, state="reused", words=words) if reused else _Row(text, state="folded")


def _name(key: KeyNode) -> str:
    name = key.name or "a key"
    if key.number is not None:
        return f"{name} ({key.number})"
    return name if key.name or key.position is None else f"{name} #{key.position}"


def _state(key: KeyNode) -> dict[str, Any]:
    if key.reused:
        how = _HOW.get(next(iter(key.problems), ""))
        if how is None or "drawn_twice" in key.problems:
            how = f"drawn from {key.draws} times" if key.draws > 2 else "drawn from twice"
        return {"state": "reused", "words": f"reused: {how}"}
    if key.used:
        return {"state": "spent", "words": "spent"}
    return {"state": "left", "words": "not followed"} if key.left else {"state": "unused", "words": "not used"}


def _action(operation: KeyOperation) -> str:
    first, times = operation.events[0].use, len(operation.events)
    if operation.kind == "split":
        text = f"split into {first.count}"
    elif operation.kind == "fold_in":
        numbers = list(dict.fromkeys(event.use.data for event in operation.events))
        if numbers == [START]:
            return "KeyStream"
        if len(numbers) > 1:
            return f"fold_in, {len(numbers)} numbers"
        text = f"fold_in {numbers[0]}"
    else:
        text = first.sampler or operation.kind
    return text if times == 1 else f"{text}, {times} times"


def _seed(key: KeyNode) -> dict[str, Any]:
    event = key.seeds[0]
    text = f"from seed {event.use.data}" if event.use.data is not None else "from a seed"
    action = text if len(key.seeds) == 1 else f"{text}, {len(key.seeds)} times"
    return {"action": action, **_placed(event.places[0] if event.places else None)}


def _placed(place: CallSite | None) -> dict[str, Any]:
    source = " ".join(((place and statement_text(place)) or "").split())
    return {
        "place": place,
        "source": source if len(source) <= _LONGEST_SOURCE else f"{source[: _LONGEST_SOURCE - 1]}…",
    }


def _flat(rows: Sequence[_Row], last: tuple[bool, ...] = ()) -> list[_Row]:
    found = []
    for i, row in enumerate(rows):
        here = (*last, i == len(rows) - 1)
        found += [replace(row, last=here), *_flat(row.below, here)]
    return found


def _lines(rows: Sequence[_Row]) -> list[str]:
    """Return the line of code for each row, with the file if there are several."""
    places = [row.place.line for row in rows if row.place]
    one_file = len({line.file for line in places}) == 1
    lines = []
    for row in rows:
        where = "" if row.place is None else f"line {row.place.line.number}" if one_file else str(row.place.line)
        lines.append(f"{where}: {row.source}" if row.source else where)
    return lines


def _text(rows: Sequence[_Row]) -> list[str]:
    """Return the rows as text, in columns."""
    names = []
    for row in rows:
        bars = "".join("   " if last else "│  " for last in row.last[1:-1])
        fork = ("└─ " if row.last[-1] else "├─ ") if len(row.last) > 1 else ""
        names.append(f"{bars}{fork}{row.name}")
    columns = [names, [row.action for row in rows], [row.told for row in rows], _lines(rows)]
    widths = [max(map(len, column), default=0) for column in columns]
    lines = []
    for cells in zip(*columns, strict=True):
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append("  ".join(itertools.compress(padded, widths)).rstrip())
    return lines


_STEP, _HEIGHT, _BOX, _MARGIN, _GAP = 26, 30, 22, 8, 16


def _draw(title: str, description: str, rows: Sequence[_Row]) -> Drawing:
    lines = _lines(rows)
    lefts = [_MARGIN + _STEP * (len(row.last) - 1) for row in rows]
    boxes = [text_width(row.name) + 12 if row.name else 0 for row in rows]
    starts = [left + box + (_GAP if box else 0) for left, box in zip(lefts, boxes, strict=True)]
    actions = [text_width(row.action) + 12 if row.action else 0 for row in rows]
    state_at = max(map(sum, zip(starts, actions, strict=True)), default=0) + 20
    place_at = state_at + max((text_width(row.told) for row in rows), default=0) + 20
    width = place_at + max((text_width(line, 12) for line in lines), default=0) + _MARGIN
    drawing = Drawing(title, description, width, _HEIGHT * len(rows) + 2 * _MARGIN)
    above: dict[int, tuple[float, _Row]] = {}  # depth -> the lower end of the box above, and its row
    for i, row in enumerate(rows):
        left, middle, depth = lefts[i], _MARGIN + _HEIGHT * i + _HEIGHT / 2, len(row.last)
        if depth > 1:
            end, parent = above[depth - 1]
            wrong = parent.state == "reused" and not row.name
            drawing.path(f"M{left - _STEP + 10:g} {end:g} V{middle:g} H{left:g}", tone="bad" if wrong else "quiet")
        above[depth] = middle + _BOX / 2, row
        if row.name and row.state in ("", "folded"):
            drawing.words(left + 6, middle + 4.5, row.name)
        elif row.name:
            tone = _TONES.get(row.state, "quiet")
            drawing.box(left, middle - _BOX / 2, boxes[i], _BOX, row.name, tone=tone, note=row.told)
        if row.action:
            if boxes[i]:
                drawing.path(f"M{left + boxes[i]:g} {middle:g} H{starts[i]:g}")
            drawing.words(starts[i] + 6, middle + 4.5, row.action)
        drawing.words(state_at, middle + 4.5, row.told, bold=row.state == "reused")
        drawing.words(place_at, middle + 4.5, lines[i], size=12)
    return drawing
