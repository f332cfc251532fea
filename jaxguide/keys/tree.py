"""Draw a program's tree of keys, from the seed through splits and folds to the draws."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jaxguide.base.render import Drawing, Picture, drawn
from jaxguide.base.render.svg import text_width
from jaxguide.base.text import plural
from jaxguide.keys.forest import KeyNode, KeyOperation, chain, descendants
from jaxguide.keys.key_report import KeyReport
from jaxguide.keys.names import statement_text
from jaxguide.keys.origins import CallSite
from jaxguide.keys.problems import IN_WORDS
from jaxguide.keys.stream import START

_MOST_ROWS, _DEEPEST, _LONGEST_SOURCE = 40, 12, 72
# Of more lines side by side than these, the first two, the last and at most two that are reused are shown.
_MOST_SIDE_BY_SIDE = 5


@dataclass(frozen=True)
class _Row:
    """A line of the picture and the lines below it.

    Args:
        name: the key's name; empty for an operation on the key above.
        action: what was done with it; empty if several things were, or none.
        state: what became of it, beginning with a sign; empty for an operation.
        place: the call that did it.
        below: the rows below it.
    """

    name: str
    action: str = ""
    state: str = ""
    place: CallSite | None = None
    below: tuple["_Row", ...] = ()

    @property
    def reused(self) -> bool:
        return self.state.startswith("✗")


def draw_tree(title: str, roots: Sequence[KeyNode], report: KeyReport) -> Picture:
    """Return the picture of the keys of a function that was run, and of its problems with them."""
    summary = f"{title}: {_summary(roots)}"
    rows: list[tuple[str, _Row]] = []
    for deepest in range(_DEEPEST, 0, -1):
        rows = [line for root in _siblings([_key(root, deepest) for root in roots]) for line in _flat(root)]
        if len(rows) <= _MOST_ROWS:
            break
    columns = [
        [name for name, _row in rows],
        [row.action for _name, row in rows],
        [row.state for _name, row in rows],
        _lines([row.place for _name, row in rows]),
    ]
    widths = [max(map(len, column), default=0) for column in columns]
    marked = report.marked_lines()
    drawing = _draw(title, " ".join((summary, *marked)), columns, widths)
    padded = (
        [cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in zip(*columns, strict=True)
    )
    text = "\n".join("  ".join(itertools.compress(cells, widths)).rstrip() for cells in padded)
    return drawn(drawing, summary, text, "\n".join(marked), "bad" if report else "good")


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
    row = _Row(
        key.label, _seeds(key), _state(key), key.seeds[0].places[0] if key.seeds and key.seeds[0].places else None
    )
    operations = [_operation(operation, key, depth - 1) for operation in key.operations.values()]
    if len(operations) == 1 and not key.seeds:
        (only,) = operations
        return replace(only, name=row.name, state=row.state)
    folded = map(_with_its_key, operations) if len(operations) > 1 else operations
    return replace(row, below=_siblings(list(folded)))


def _with_its_key(row: _Row) -> _Row:
    """Return one line for a fold and the one key that it made."""
    if len(row.below) != 1 or not row.action.startswith("fold_in") or row.below[0].name.startswith("…"):
        return row
    (made,) = row.below
    name = row.action if made.name == "a key" else f"{made.name}, {row.action}"
    return replace(made, name=name, place=made.place or row.place)


def _operation(operation: KeyOperation, key: KeyNode, depth: int) -> _Row:
    row = _Row("", _action(operation), place=_telling_place(operation, key))
    if depth < 0 and operation.made:
        below = descendants(operation.made)
        text = plural("… {count} key below", "… {count} keys below", len(below))
        return replace(row, below=(_folded(text, sum(key.reused for key in below)),))
    return replace(row, below=_siblings([_key(child, depth) for child in operation.made]))


def _telling_place(operation: KeyOperation, key: KeyNode) -> CallSite | None:
    """Return the innermost place that tells an operation from the key's others; for a helper called twice, the call."""
    alike = [other.places for other in key.operations.values() if other is not operation]
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
        others = [_operation(other, key, depth - 2) for other in key.operations.values() if other is not step]
        others += [_key(child, depth - 2) for i, child in enumerate(step.made) if i != carried]
        row = _Row(f"round {number}", state=_state(key) if number > 1 and key.reused else "", below=_siblings(others))
        if len(others) == 1 and others[0].name and not row.state:
            row = replace(others[0], name=f"{row.name}: {others[0].name}")
        rounds.append(row)
    after = [_key(child, depth - 2) for child in links[-1][1].made[carried : carried + 1]]
    after = [replace(row, name=f"{row.name} after round {len(links)}") for row in after]
    inside = not first.reused and any(key.reused for key, _step in links)
    state = "✗ reused: a key in it is reused" if inside else _state(first)
    action = ", ".join(filter(None, (_seeds(first), _action(operation), f"{len(links)} times over")))
    place = operation.places[0] if operation.places else None
    return _Row(first.label, action, state, place, (*_siblings(rounds), *after))


def _siblings(rows: Sequence[_Row]) -> tuple[_Row, ...]:
    """Return the lines, or of many the first two and the last, and a line that counts the others."""
    if len(rows) <= _MOST_SIDE_BY_SIDE:
        return tuple(rows)
    reused = [i for i, row in enumerate(rows) if row.reused][:2]
    found: list[_Row] = []
    for before, i in itertools.pairwise([-1, *sorted({0, 1, *reused, len(rows) - 1})]):
        if hidden := rows[before + 1 : i]:
            found.append(_folded(f"… {len(hidden)} more", sum(map(_count_reused, hidden))))
        found.append(rows[i])
    return tuple(found)


def _count_reused(row: _Row) -> int:
    return row.reused + sum(map(_count_reused, row.below))


def _folded(text: str, reused: int) -> _Row:
    return _Row(text, state=f"✗ {reused} of them reused" if reused else "")


def _state(key: KeyNode) -> str:
    if key.reused:
        kind = next(iter(key.problems), "drawn_twice")
        often = kind == "drawn_twice" and key.draws > 2
        return f"✗ reused: {f'drawn from {key.draws} times' if often else IN_WORDS[kind].removeprefix('a key was ')}"
    if key.used:
        return "✓ spent"
    return "… not followed" if key.left else "○ not used"


def _action(operation: KeyOperation) -> str:
    first, times = operation.events[0].use, len(operation.events)
    text = first.sampler or operation.kind
    if operation.kind == "split":
        text = f"split into {first.count}"
    elif operation.kind == "fold_in":
        numbers = {event.use.data for event in operation.events}
        if numbers == {START}:
            return "KeyStream"
        if len(numbers) > 1:
            return f"fold_in, {len(numbers)} numbers"
        text = f"fold_in {first.data}"
    return _repeated(text, times)


def _seeds(key: KeyNode) -> str:
    if not key.seeds:
        return ""
    number = key.seeds[0].use.data
    return _repeated("from a seed" if number is None else f"from seed {number}", len(key.seeds))


def _repeated(text: str, times: int) -> str:
    return text if times == 1 else f"{text}, {times} times"


def _flat(row: _Row, bars: str = "", fork: str = "") -> list[tuple[str, _Row]]:
    """Return a row and those below it, each with its name behind the lines of the tree."""
    found = [(f"{bars}{fork}{row.name}", row)]
    bars += {"": "", "├─ ": "│  ", "└─ ": "   "}[fork]
    for i, child in enumerate(row.below, 1):
        found += _flat(child, bars, "└─ " if i == len(row.below) else "├─ ")
    return found


def _lines(places: Sequence[CallSite | None]) -> list[str]:
    """Return the line of code for each row, with the file if there are several."""
    one_file = len({place.line.file for place in places if place}) == 1
    lines = []
    for place in places:
        where = "" if place is None else f"line {place.line.number}" if one_file else str(place.line)
        source = " ".join(((place and statement_text(place)) or "").split())
        source = source if len(source) <= _LONGEST_SOURCE else f"{source[: _LONGEST_SOURCE - 1]}…"
        lines.append(f"{where}: {source}" if source else where)
    return lines


_HEIGHT, _MARGIN, _GAP = 16, 8, 16


def _draw(title: str, description: str, columns: Sequence[Sequence[str]], widths: Sequence[int]) -> Drawing:
    """Return the columns of text as a drawing, with a box around each line of a key that is reused."""
    lefts = [*itertools.accumulate((text_width(" " * width) + _GAP for width in widths), initial=_MARGIN)]
    drawing = Drawing(title, description, lefts[-1], _HEIGHT * len(columns[0]) + 2 * _MARGIN)
    for i, cells in enumerate(zip(*columns, strict=True)):
        top, wrong = _MARGIN + _HEIGHT * i, cells[2].startswith("✗")
        if wrong:
            drawing.box(2, top, lefts[-1] - 4, _HEIGHT, tone="bad", note=cells[2])
        for left, cell in zip(lefts, cells, strict=False):
            drawing.words(left, top + 12, cell, bold=wrong and cell == cells[2])
    return drawing
