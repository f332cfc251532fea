"""Draw a function's program: one row per equation, in order, with arcs that show the data flow."""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax

from jaxguide.base.render import Drawing, Picture
from jaxguide.base.render.svg import text_width
from jaxguide.base.text import plural
from jaxguide.code.lines import Line, function_name, place_name
from jaxguide.jaxpr.stage import Staged
from jaxguide.jaxpr.value_words import describe
from jaxguide.tracing.diagram import DiagramRow, diagram_rows
from jaxguide.tracing.program_folding import folded

_MOST_STATICS = 4
_ROW, _INDENT, _GAP, _WIDEST = 22, 18, 24, 46  # the last in characters


def planned_drawing(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], found: Staged, names: Mapping[int, str]
) -> Callable[[int], Picture]:
    """Return a function that draws a program, given the number of its equations; it keeps no argument alive.

    Args:
        fn, args, kwargs: the call.
        found: the program of the call.
        names: the ids of its constants -> their names in the user's code.
    """
    named = list(zip(_named_arguments(fn, args, kwargs), found.traced, strict=True))
    inputs = [path for (path, _value), is_traced in named if is_traced]
    statics = [f"{''.join(path)} = {_brief(value)}" for (path, value), is_traced in named if not is_traced]
    outputs = [_parts(path) or ("",) for path, _leaf in jax.tree_util.tree_leaves_with_path(found.result)]
    jaxpr, needs_values = found.jaxpr, found.needs_values

    def draw(equations: int) -> Picture:
        rows = folded(diagram_rows(jaxpr, inputs, outputs, names))
        title = _title(fn, equations, statics) + " (Python needs these values: jax.jit fails)" * needs_values
        places = list(_places(rows))
        text = _as_text(title, rows, places)
        drawing = _as_drawing(title, text, rows, places)
        return Picture(text, drawing.html(), drawing.svg())

    return draw


def _named_arguments(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the leaves of the arguments in JAX's order, each with its path, such as `("params", "['w']")`."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    firsts = [(name,) for name in names[: len(args)]] + [(rest, f"[{i}]") for i in range(len(args) - len(names))]
    for first, value in [*zip(firsts, args, strict=True), *(((name,), kwargs[name]) for name in sorted(kwargs))]:
        for path, leaf in jax.tree_util.tree_leaves_with_path(value):
            yield (*first, *_parts(path)), leaf


def _parts(path: Sequence[Any]) -> tuple[str, ...]:
    return tuple(jax.tree_util.keystr((key,)) for key in path)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 30 and "\n" not in text else describe(value)


def _title(fn: Callable[..., Any], equations: int, statics: Sequence[str]) -> str:
    try:
        parameters = ", ".join(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        parameters = "..."
    count = plural("{count} equation", "{count} equations", equations)
    title = f"{function_name(fn)}({_cut(parameters)}): {count}"
    if len(statics) > _MOST_STATICS:
        statics = [*statics[:_MOST_STATICS], f"{len(statics) - _MOST_STATICS} more"]
    return f"{title}; static: {', '.join(map(_cut, statics))}" if statics else title


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


def _cut(words: str, most: int = _WIDEST) -> str:
    return words if len(words) <= most else f"{words[: most - 3]}..."


def _as_text(title: str, rows: Sequence[DiagramRow], places: Sequence[str]) -> str:
    table = [
        ("| " * row.depth + _cut(row.words), _cut(row.types), place) for row, place in zip(rows, places, strict=True)
    ]
    widths = [max((len(line[column]) for line in table), default=0) for column in (0, 1)]
    lines = [f"  {words:{widths[0]}}  {types:{widths[1]}}  {place}".rstrip() for words, types, place in table]
    return "\n".join([title, *lines])


def _as_drawing(title: str, text: str, rows: Sequence[DiagramRow], places: Sequence[str]) -> Drawing:
    spans = [i - source for i, row in enumerate(rows) for source in row.sources]
    gutter = 16 + max((_bulge(span) for span in spans), default=0)
    lefts = [gutter + _INDENT * row.depth for row in rows]
    second = max((left + text_width(_cut(row.words)) for left, row in zip(lefts, rows, strict=True)), default=0) + _GAP
    third = second + max((text_width(_cut(row.types, 30)) for row in rows), default=0) + _GAP
    right = third + max(map(text_width, places), default=0) + 8
    drawing = Drawing(title, text, max(right, text_width(title) + 16), _ROW * (len(rows) + 1) + 16)
    drawing.words(8, 17, title, bold=True)

    def middle(i: int) -> float:
        return _ROW * (i + 1) + 16

    for i, row in enumerate(rows):
        if row.kind == "box":
            last = next((j for j in range(i + 1, len(rows)) if rows[j].depth <= row.depth), len(rows)) - 1
            inset = 4.0 * row.depth
            top, bottom = middle(i) - _ROW / 2 + 1, middle(last) + _ROW / 2 - 1
            drawing.box(lefts[i] - 6, top + 0, right - lefts[i] - inset, bottom - top - inset / 2, note=row.words)
    for i, row in enumerate(rows):
        for source in row.sources:
            bulge = _bulge(i - source)
            start, stop = lefts[source] - 3, lefts[i] - 3
            y, end = middle(source) + 3, middle(i) - 3
            path = f"M{start:g} {y:g} C{start - bulge:g} {y:g} {stop - bulge:g} {end:g} {stop:g} {end:g}"
            drawing.path(path, note=f"{rows[source].words} -> {row.words}")
            drawing.arrowhead(stop, end)
    for i, row in enumerate(rows):
        plain = row.kind in ("equation", "box")
        drawing.words(lefts[i] + 2, middle(i) + 4.5, _cut(row.words), bold=plain)
        drawing.words(second, middle(i) + 4.5, _cut(row.types, 30))
        drawing.words(third, middle(i) + 4.5, places[i])
    return drawing


def _bulge(span: int) -> float:
    """Return how far an arc over `span` rows bulges: longer arcs more, so that they do not cover shorter ones."""
    return min(14 + 9 * math.sqrt(max(span - 1, 0)), 90)
