"""Draw a function's program as text: one row per equation, in order; a large program is folded."""

import inspect
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax

from jaxguide.base.text import plural
from jaxguide.code.lines import Line, function_name, place_name
from jaxguide.jaxpr.stage import Staged
from jaxguide.tracing.diagram import DiagramRow, Path, diagram_rows
from jaxguide.tracing.value_description import describe_value

_MOST_ROWS, _MOST_ENDS, _MOST_STATICS = 40, 8, 4
_WIDEST = 46  # characters of a column


def planned_drawing(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], found: Staged, names: Mapping[int, str]
) -> Callable[[int], str]:
    """Return a function that draws a program, given the number of its equations; it keeps no argument alive.

    Args:
        fn, args, kwargs: the call.
        found: the program of the call.
        names: the ids of its constants -> their names in the user's code.
    """
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = list(zip(_named_arguments(parameters, args, kwargs), found.traced, strict=True))
    inputs = [path for (path, _value), is_traced in named if is_traced]
    statics = [f"{''.join(path)} = {describe_value(value).text}" for (path, value), is_traced in named if not is_traced]
    outputs = [_parts(path) for path, _leaf in jax.tree_util.tree_leaves_with_path(found.result)]
    jaxpr, needs_values = found.jaxpr, found.needs_values

    def draw(equations: int) -> str:
        count = plural("{count} equation", "{count} equations", equations)
        title = f"{function_name(fn)}({_cut(', '.join(one.name for one in parameters))}): {count}"
        more = [f"{len(statics) - _MOST_STATICS} more"] if len(statics) > _MOST_STATICS else []
        if statics:
            title += f"; static: {', '.join([*map(_cut, statics[:_MOST_STATICS]), *more])}"
        if needs_values:
            title += " (Python needs these values: jax.jit fails)"
        return _as_text(title, _folded(*diagram_rows(jaxpr, inputs, outputs, names)))

    return draw


def _named_arguments(
    parameters: Sequence[inspect.Parameter], args: Sequence[Any], kwargs: dict[str, Any]
) -> Iterator[tuple[Path, Any]]:
    """Yield the leaves of the arguments in JAX's order, each with its path, such as `("params", "['w']")`."""
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    firsts = [(name,) for name in names[: len(args)]] + [(rest, f"[{i}]") for i in range(len(args) - len(names))]
    for first, value in [*zip(firsts, args, strict=True), *(((name,), kwargs[name]) for name in sorted(kwargs))]:
        for path, leaf in jax.tree_util.tree_leaves_with_path(value):
            yield (*first, *_parts(path)), leaf


def _parts(path: Sequence[Any]) -> Path:
    return tuple(jax.tree_util.keystr((key,)) for key in path)


def _folded(inputs: list[DiagramRow], body: list[DiagramRow], results: list[DiagramRow]) -> list[DiagramRow]:
    """Return at most 40 rows: those whose paths start with the same parts become one row."""
    if len(inputs) + len(body) + len(results) <= _MOST_ROWS:
        return [*inputs, *body, *results]
    first, last = _grouped(inputs, _MOST_ENDS), _grouped(results, _MOST_ENDS)
    groups = [*first, *_grouped(body, _MOST_ROWS - len(first) - len(last)), *last]
    return list(map(_summary, groups))


def _grouped(rows: list[DiagramRow], most: int) -> list[list[DiagramRow]]:
    """Group rows whose paths start with the same parts; as many parts count as give at most `most` groups.

    What lies between equal starts belongs to their group, as the lines of a loop that Python unrolls.
    """
    starts = [0] * len(rows)
    paths = [(*row.path, i) for i, row in enumerate(rows)]
    groups = [rows] if rows else []
    for level in range(max(map(len, paths), default=0)):
        numbers: dict[Any, int] = {}  # each start of a path has one
        starts = [
            numbers.setdefault((start, path[level : level + 1]), len(numbers))
            for start, path in zip(starts, paths, strict=True)
        ]
        last = {start: i for i, start in enumerate(starts)}
        ends = list(itertools.accumulate((last[start] for start in starts), max))
        bounds = [0, *(i + 1 for i, end in enumerate(ends) if i == end)]
        if len(bounds) - 1 > most:
            break
        groups = [rows[slice(*bound)] for bound in itertools.pairwise(bounds)]
    return groups


def _summary(rows: list[DiagramRow]) -> DiagramRow:
    """Return the row that stands for several."""
    first = rows[0]
    if len(rows) == 1:
        return first
    primitives = Counter(itertools.chain.from_iterable(row.primitives for row in rows))
    count = plural("{count} equation", "{count} equations", primitives.total())
    if sum(row.depth == first.depth for row in rows) == 1:  # a box
        return replace(first, words=f"{first.words} ({count} inside)")
    same = itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*(row.path for row in rows), strict=False))
    common = [parts[0] for parts in same]
    if not primitives:
        kinds = list(dict.fromkeys(row.types for row in rows))
        place = "".join(map(str, common)).strip()
        place = place if len(place) <= 27 else f"{place[:7]}...{place[-16:]}"
        words = f"{place}{': ' if place else ''}{len(rows)} arrays"
        return DiagramRow(first.depth, words, note=", ".join(kinds if len(kinds) <= 2 else [*kinds[:2], "..."]))
    functions = [part for part in common if isinstance(part, str)]
    words = f"... {count} in `{functions[-1]}`" if len(set(functions)) > 1 else f"... {count}"
    line = next((part for part in (*reversed(common), *first.path) if isinstance(part, Line)), None)
    note = counted(dict(primitives.most_common(3))) + ", ..." * (len(primitives) > 3)
    return DiagramRow(first.depth, words, line=line, note=note)


def counted(primitives: Mapping[str, int]) -> str:
    """Return primitives and their counts as text.

    >>> counted({"sin": 1, "add": 2})
    'sin, 2 add'
    """
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in primitives.items())


def _as_text(title: str, rows: Sequence[DiagramRow]) -> str:
    table = [
        ("| " * row.depth + _cut(row.words), _cut(row.types), place)
        for row, place in zip(rows, _places(rows), strict=True)
    ]
    widths = [max((len(line[column]) for line in table), default=0) for column in (0, 1)]
    lines = [f"  {words:{widths[0]}}  {types:{widths[1]}}  {place}".rstrip() for words, types, place in table]
    return "\n".join([title, *lines])


def _places(rows: Sequence[DiagramRow]) -> Iterator[str]:
    """Yield the place shown for each row: its line, with the file if that is new, and the source if the line is new."""
    before: Line | None = None
    for row in rows:
        line = row.line
        if line is None:
            yield ""
            continue
        words = f"line {line.number}"
        if before is None or line.file != before.file:
            words = f"{place_name(line.file)}, {words}"
        source = line.text() if line != before else None
        yield f"{words}: {_cut(source)}" if source else words
        before = line


def _cut(words: str) -> str:
    return words if len(words) <= _WIDEST else f"{words[: _WIDEST - 3]}..."
