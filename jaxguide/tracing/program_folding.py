"""Fold the rows of a large program: inputs and outputs by pytree prefix, equations by the user's function."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import CodeType
from typing import NamedTuple

from jaxguide import compat
from jaxguide.base.text import plural
from jaxguide.code.lines import Line, user_frames
from jaxguide.tracing.diagram import DiagramRow
from jaxguide.tracing.programs import counted

_MOST_ROWS = 40
_MOST_INPUTS, _MOST_OUTPUTS, _MOST_CONSTANTS = 12, 8, 4


class _Call(NamedTuple):
    """A frame of the user's: the function, and the line that it had reached."""

    function: str
    line: Line


class _Part(NamedTuple):
    """Consecutive rows, from `start` up to `stop`.

    Args:
        start, stop: the rows.
        level: how many calls all its equations share, or how many parts of their path all its inputs share.
        whole: whether they are shown as they are; otherwise as one row, or as smaller parts.
        box: whether they are a box with its body.
    """

    start: int
    stop: int
    level: int = 0
    whole: bool = False
    box: bool = False


def folded(rows: list[DiagramRow], most: int = _MOST_ROWS) -> list[DiagramRow]:
    """Return at most `most` rows for a program, or more if `most` is less than 30.

    Inputs and outputs are folded by pytree prefix. Of the equations, the user's functions are told apart first, then
    their lines, as far as there is room; boxes are opened if there is room for their bodies.
    """
    if len(rows) <= most:
        return rows
    first = next((i for i, row in enumerate(rows) if row.kind != "input" or not row.path), len(rows))
    last = next((i + 1 for i in reversed(range(first, len(rows))) if not rows[i].path), first)
    inputs = _by_prefix(rows, 0, first, _MOST_INPUTS)
    outputs = _by_prefix(rows, last, len(rows), _MOST_OUTPUTS)
    folding = _Folding(rows)
    parts = [*inputs, *folding.fold(first, last, most - len(inputs) - len(outputs)), *outputs]
    place = {i: number for number, part in enumerate(parts) for i in range(part.start, part.stop)}
    merged = []
    for number, part in enumerate(parts):
        members = rows[part.start : part.stop]
        sources = {place[source] for member in members for source in member.sources} - {number}
        merged.append(replace(folding.summary(part), sources=sorted(sources)))
    return merged


def prefix_groups(paths: Sequence[tuple[str, ...]], most: int) -> list[tuple[int, int, tuple[str, ...]]]:
    """Group consecutive leaves of a pytree by prefix: the largest are split while at most `most` groups result.

    >>> prefix_groups([("x",), ("p", "['a']"), ("p", "['b']", "[0]"), ("p", "['b']", "[1]")], 3)
    [(0, 1, ('x',)), (1, 2, ('p', "['a']")), (2, 4, ('p', "['b']"))]

    Args:
        paths: the path of each leaf, in the order of `jax.tree.leaves`.
        most: the number of groups; there is at least one.

    Returns:
        For each group the first leaf, the one after the last, and what their paths have in common.
    """
    groups: list[tuple[int, int, tuple[str, ...]]] = [(0, len(paths), ())] if paths else []
    final: set[tuple[int, int, tuple[str, ...]]] = set()
    while candidates := [group for group in groups if group not in final]:
        size = max(stop - start for start, stop, _prefix in candidates)
        # Parameters and moments are alike, and so are layers: split all of them or none.
        alike = [group for group in candidates if group[1] - group[0] == size]
        children = {group: _children(paths, group) for group in alike}
        fits = len(groups) + sum(map(len, children.values())) - len(alike) <= most
        if not fits or all(inner == [group] for group, inner in children.items()):
            final.update(alike)
        else:
            groups = [inner for group in groups for inner in children.get(group, [group])]
    return groups


def _children(
    paths: Sequence[tuple[str, ...]], group: tuple[int, int, tuple[str, ...]]
) -> list[tuple[int, int, tuple[str, ...]]]:
    start, stop, prefix = group
    children = []
    for path, run in itertools.groupby(paths[start:stop], key=lambda path: path[: len(prefix) + 1]):
        stop = start + len(list(run))
        children.append((start, stop, path))
        start = stop
    return children


def _by_prefix(rows: list[DiagramRow], start: int, stop: int, most: int) -> list[_Part]:
    groups = prefix_groups([row.path for row in rows[start:stop]], most)
    return [_Part(start + first, start + end, level=len(prefix)) for first, end, prefix in groups]


class _Folding:
    """Decide which equations to show: from one row for all of them, open the largest part that there is room for."""

    def __init__(self, rows: list[DiagramRow]) -> None:
        self._rows = rows
        self._calls: dict[int, tuple[_Call, ...]] = {}
        self._places: dict[tuple[int, int], _Call] = {}

    def fold(self, start: int, stop: int, most: int) -> list[_Part]:
        """Return the parts to show of the rows from `start` up to `stop`."""
        equations = next((i for i in range(start, stop) if self._rows[i].kind != "input"), stop)
        parts = [_Part(i, i + 1, whole=True) for i in range(start, equations)]
        if len(parts) > _MOST_CONSTANTS:
            parts = [_Part(start, equations)]
        final = set(parts)
        if equations < stop:
            parts.append(_Part(equations, stop))
        while candidates := [part for part in parts if not part.whole and part not in final]:
            part = max(candidates, key=lambda part: part.stop - part.start)
            opened = self._opened(part)
            if len(parts) - 1 + len(opened) > most:
                final.add(part)
            else:
                place = parts.index(part)
                parts[place : place + 1] = opened
        return self._with_ends(parts, most - len(parts))

    def _opened(self, part: _Part) -> list[_Part]:
        """Return the smaller parts of a part: those of its box, the user's functions in it, or its rows."""
        if part.box:
            return list(self._of_box(part))
        items = list(self._items(part.start, part.stop))
        level = part.level
        runs = self._runs(items, level)
        while len(runs) == 1 and self._call(items[0], level) is not None:
            level += 1
            runs = self._runs(items, level)
        # Calls that alternate, as in the layers of a network, say more as a whole.
        if len(runs) == 1 or len(runs) > 2 * len({self._call(run[0], level) for run in runs}):
            runs = [[item] for item in items]
        parts = []
        for run in runs:
            start, stop = run[0][0], run[-1][1]
            if len(run) == 1:
                parts.append(_Part(start, stop, level, whole=stop - start == 1, box=stop - start > 1))
            else:
                parts.append(_Part(start, stop, level + 1))
        return parts

    def _runs(self, items: list[tuple[int, int]], level: int) -> list[list[tuple[int, int]]]:
        return [list(run) for _key, run in itertools.groupby(items, key=lambda item: self._call(item, level))]

    def _items(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the rows of the lowest depth, each with the body that belongs to it."""
        depth = min(row.depth for row in self._rows[start:stop])
        at = start
        while at < stop:
            end = at + 1
            while end < stop and self._rows[end].depth > depth:
                end += 1
            yield at, end
            at = end

    def _of_box(self, part: _Part) -> Iterator[_Part]:
        """Yield a box's first row, its inputs, its body and its results."""
        start, stop = part.start + 1, part.stop
        while start < stop and self._rows[start].kind == "input":
            start += 1
        depth = self._rows[part.start].depth + 1
        while stop > start and self._rows[stop - 1].kind == "result" and self._rows[stop - 1].depth == depth:
            stop -= 1
        for i in range(part.start, start):
            yield _Part(i, i + 1, whole=True)
        if stop > start:
            yield _Part(start, stop, part.level, whole=stop - start == 1)
        for i in range(stop, part.stop):
            yield _Part(i, i + 1, whole=True)

    def _with_ends(self, parts: list[_Part], room: int) -> list[_Part]:
        """Use the room that is left to show how the longest part outside of boxes starts and ends."""
        long = [part for part in parts if not part.whole and not part.box]
        outside = [part for part in long if (row := self._rows[part.start]).depth == 0 and row.kind != "input"]
        if room < 6 or not outside:
            return parts
        longest = max(outside, key=lambda part: part.stop - part.start)
        items = list(self._items(longest.start, longest.stop))

        def is_row(item: tuple[int, int]) -> bool:
            return item[1] - item[0] == 1

        first = list(itertools.takewhile(is_row, items[: room * 2 // 3]))
        last = list(itertools.takewhile(is_row, reversed(items[-(room // 3) :])))
        middle = _Part(longest.start + len(first), longest.stop - len(last), longest.level)
        ends = [[_Part(a, b, whole=True) for a, b in run] for run in (first, reversed(last))]
        place = parts.index(longest)
        return [*parts[:place], *ends[0], middle, *ends[1], *parts[place + 1 :]]

    def _call(self, item: tuple[int, int], level: int) -> _Call | None:
        calls = self._calls_of(item[0])
        return calls[level] if level < len(calls) else None

    def _calls_of(self, i: int) -> tuple[_Call, ...]:
        """Return the user's calls that led to a row, outermost first."""
        if i not in self._calls:
            origin = self._rows[i].origin
            frames = user_frames(compat.traceback_frames(origin.source_info)) if origin is not None else []
            self._calls[i] = tuple(self._call_at(*frame) for frame in reversed(frames))
        return self._calls[i]

    def _call_at(self, code: CodeType, instruction: int) -> _Call:
        place = (id(code), instruction)  # the rows keep the code alive
        if place not in self._places:
            line = Line(code.co_filename, compat.frame_line(code, instruction))
            self._places[place] = _Call(code.co_qualname.rpartition("<locals>.")[2], line)
        return self._places[place]

    def summary(self, part: _Part) -> DiagramRow:
        """Return the row that stands for a part."""
        rows = self._rows[part.start : part.stop]
        first = rows[0]
        if len(rows) == 1:
            return first
        if first.path:
            words = _shortened("".join(first.path[: part.level]))
            if first.kind == "result":
                words = f"return {words}".rstrip()
            arrays = plural("{count} array", "{count} arrays", len(rows))
            return DiagramRow(first.kind, first.depth, f"{words}: {arrays}" if words else arrays, _kinds(rows))
        if first.kind == "input":
            words = plural("{count} constant", "{count} constants", len(rows))
            return DiagramRow("input", first.depth, words, _kinds(rows))
        primitives: Counter[str] = Counter()
        for row in rows:
            primitives.update(row.primitives)
        count = plural("{count} equation", "{count} equations", primitives.total())
        if part.box:
            words = f"{first.words} ({count} inside)"
            return DiagramRow("equation", first.depth, words, first.types, first.found_line(), primitives=primitives)
        function, line = self._common(part)
        most = dict(primitives.most_common(3))
        names = counted(most) + (", ..." if len(primitives) > 3 else "")
        words = f"... {count}"
        if function is not None:
            words = f"... {count} in `{function}`"
        return DiagramRow("fold", first.depth, words, names, line, primitives=primitives)

    def _common(self, part: _Part) -> tuple[str | None, Line | None]:
        """Return the function inside `fn` that all equations of a part come from, and the line that called it."""
        calls = [self._calls_of(start) for start, _stop in self._items(part.start, part.stop)]
        level = 0
        while level < min(map(len, calls)) and all(one[level] == calls[0][level] for one in calls):
            level += 1
        line = calls[0][level - 1].line if level else None
        inner = {one[level].function if level < len(one) else None for one in calls}
        function = inner.pop() if len(inner) == 1 else None
        if function is None and level:
            function = calls[0][level - 1].function
            level -= 1
        return (function if level else None), line


def _shortened(place: str, most: int = 26) -> str:
    """Return a path without its middle if it is long.

    >>> _shortened("state.opt_state[0].mu['params']['Block_1']")
    "state.o...ams']['Block_1']"
    """
    return place if len(place) <= most + 1 else f"{place[:7]}...{place[10 - most :]}"


def _kinds(rows: list[DiagramRow]) -> str:
    """Return the types of several rows: the first few different ones."""
    kinds = list(dict.fromkeys(row.types for row in rows))
    return ", ".join(kinds if len(kinds) <= 2 else [*kinds[:2], "..."])
