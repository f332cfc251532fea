"""Fold the rows of a large program: by parts of pytrees, and by the user's functions and lines."""

import itertools
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from jaxguide.base.text import plural
from jaxguide.tracing.diagram import DiagramRow, counted

_MOST_ROWS = 40
_MOST_ENDS, _MOST_CONSTANTS = 8, 4
_Path = tuple[Hashable, ...]


def folded(rows: list[DiagramRow], most: int = _MOST_ROWS) -> list[DiagramRow]:
    """Return about `most` rows for a program.

    Each row has a path: where an argument lies in its pytree, or the user's functions and lines that led to an
    equation. Rows whose paths start with the same parts become one row; as many parts count as there is room for. A
    box is opened if there is room for its body.
    """
    if len(rows) <= most:
        return rows
    ends = [row.path and row.kind for row in rows]
    first = next((i for i, end in enumerate(ends) if end != "input"), len(rows))
    start = next((i for i in range(first, len(rows)) if rows[i].kind != "input"), len(rows))
    last = next((i + 1 for i in reversed(range(first, len(rows))) if ends[i] != "result"), first)
    paths = [(*row.path, i) for i, row in enumerate(rows)]
    constants = [(first, start)] if start - first > _MOST_CONSTANTS else [(i, i + 1) for i in range(first, start)]
    inputs = [*_parts(rows, paths, 0, first, _MOST_ENDS), *constants]
    outputs = _parts(rows, paths, last, len(rows), _MOST_ENDS)
    body = _parts(rows, paths, start, last, most - len(inputs) - len(outputs))
    parts = list(filter(lambda part: part[0] < part[1], [*inputs, *body, *outputs]))
    place = {i: number for number, part in enumerate(parts) for i in range(*part)}
    merged = []
    for number, part in enumerate(parts):
        sources = {place[source] for i in range(*part) for source in rows[i].sources} - {number}
        merged.append(replace(_summary(rows[slice(*part)], paths[slice(*part)]), sources=sorted(sources)))
    return merged


def prefix_groups(paths: Sequence[_Path], most: int) -> list[tuple[int, int]]:
    """Return the first path and the one after the last of each group: those that start with the same parts.

    >>> prefix_groups([("x",), ("p", "['a']"), ("p", "['b']", "[0]"), ("p", "['b']", "[1]")], 3)
    [(0, 1), (1, 2), (2, 4)]

    As many parts count as give at most `most` groups. What lies between equal starts belongs to their group, as the
    lines of a loop that Python unrolls.

    >>> prefix_groups([("for", 1), ("add", 2), ("for", 3), ("add", 4), ("return", 5)], 3)
    [(0, 4), (4, 5)]
    """
    groups = [(0, len(paths))]
    starts = [0] * len(paths)
    for level in range(max(map(len, paths), default=0)):
        numbers: dict[Any, int] = {}  # each start of a path has one
        starts = [
            numbers.setdefault((start, path[level : level + 1]), len(numbers))
            for start, path in zip(starts, paths, strict=True)
        ]
        last = {start: i for i, start in enumerate(starts)}
        finer, first, end = [], 0, 0
        for i, start in enumerate(starts):
            end = max(end, last[start])
            if i == end:
                finer.append((first, i + 1))
                first = i + 1
        if len(finer) > most:
            break
        groups = finer
    return groups


def _parts(rows: list[DiagramRow], paths: list[_Path], start: int, stop: int, most: int) -> list[tuple[int, int]]:
    """Return the first row and the one after the last of each row to show, of those from `start` up to `stop`."""
    items = list(_items(rows, start, stop))
    groups = prefix_groups([paths[i] for i, _end in items], most)
    room = most - len(groups)
    parts = []
    for first, last in groups if items else ():
        begin, end = items[first][0], items[last - 1][1]
        body = _parts(rows, paths, begin + 1, end, room) if last - first == 1 else []
        if body and len(body) <= room and (len(body) > 1 or end - begin == 2):
            parts += [(begin, begin + 1), *body]
            room -= len(body)
        else:
            parts.append((begin, end))
    return parts


def _items(rows: list[DiagramRow], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the rows of the lowest depth, each with the body that belongs to it."""
    while start < stop:
        end = next((i for i in range(start + 1, stop) if rows[i].depth <= rows[start].depth), stop)
        yield start, end
        start = end


def _summary(rows: list[DiagramRow], paths: list[_Path]) -> DiagramRow:
    """Return the row that stands for several."""
    first = rows[0]
    if len(rows) == 1:
        return first
    level = [path for row, path in zip(rows, paths, strict=True) if row.depth == first.depth]
    common = [parts[0] for parts in itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*level, strict=False))]
    if first.kind in ("input", "result"):
        arrays = plural("{count} array", "{count} arrays", len(rows))
        if not first.path:
            return DiagramRow("input", first.depth, f"{len(rows)} constants", note=_kinds(rows))
        words = ("return " * (first.kind == "result") + _shortened("".join(map(str, common)))).strip()
        return DiagramRow(first.kind, first.depth, f"{words}: {arrays}" if words else arrays, note=_kinds(rows))
    primitives = Counter(itertools.chain.from_iterable(row.primitives.elements() for row in rows))
    count = plural("{count} equation", "{count} equations", primitives.total())
    if len(level) == 1:
        return replace(first, kind="equation", words=f"{first.words} ({count} inside)", primitives=primitives)
    functions, lines = common[1::2], common[2::2]
    words = f"... {count} in `{functions[-1]}`" if len(functions) > 1 else f"... {count}"
    line: Any = lines[-1] if lines else next(iter(paths[0][2:3]), None)
    most = dict(primitives.most_common(3))
    note = counted(most) + ", ..." * (len(primitives) > 3)
    return DiagramRow("fold", first.depth, words, line=line, primitives=primitives, note=note)


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
