"""Combine what was recorded for each line: its names, the primitives that came from it, how often it ran."""

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from jaxguide import compat
from jaxguide.jaxpr.interpret import called_jaxpr, inner_jaxprs
from jaxguide.tracing.function_source import FunctionSource, StatementLines
from jaxguide.tracing.functions import codes_within
from jaxguide.tracing.value_description import ValueDescription


@dataclass(frozen=True)
class Name:
    """One name on a line, or an attribute such as `x.shape`.

    Args:
        name: as written; variables of a lambda are marked, as in `x (lambda)`.
        kind: 'traced', 'static', or 'mixed' for a container that holds both; the last one if it changed.
        text: its type or value; if it changed, the first and the last.
        shape, dtype, weak_type: of an array, at the end; None for other values.
    """

    name: str
    kind: str
    text: str
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    weak_type: bool | None = None


@dataclass(frozen=True)
class LineRow:
    """One statement, or one line outside of statements.

    Args:
        number: its first line in the file.
        source: its lines, without the function's indentation.
        state: 'ran', 'not run', 'raised', or 'no code' (blank lines, comments, docstrings, declarations, `case`).
        times: how often Python ran it while JAX traced; a loop on one line counts once.
        names: what each name on it was.
        primitives: the primitives that it added to the program, by name and count.
        error: the error that it raised, in one line, or None.
    """

    number: int
    source: tuple[str, ...]
    state: str
    times: int = 0
    names: tuple[Name, ...] = ()
    primitives: dict[str, int] = field(default_factory=dict)
    error: str | None = None


def make_rows(source: FunctionSource, raised: tuple[int, str] | None) -> tuple[LineRow, ...]:
    """Return one row for each statement, and one for each line between statements.

    Args:
        source: the function, with what happened on each statement.
        raised: the line that stopped the function, and the error; None if it returned.
    """
    rows = []
    numbers = range(source.start, source.start + len(source.lines))
    for statement, group in itertools.groupby(numbers, lambda number: source.statements.get(number, number)):
        number, *more = group
        lines = tuple(source.lines[number - source.start : number - source.start + 1 + len(more)])
        if isinstance(statement, int):
            rows.append(LineRow(number, lines, "no code"))
            continue
        error = raised[1] if raised and number <= raised[0] <= number + len(more) else None
        names = [_name(name, seen) for name, seen in statement.seen.items()]
        dotted = {name.name.split(".")[0] for name in names if "." in name.name}
        # If attributes of an object are shown, its type alone adds nothing.
        names = [name for name in names if name.shape is not None or name.name not in dotted]
        times = statement.times
        if times and statement.body is not None:
            times = source.statements[statement.body].times or 1
        happened = "ran" if times or statement.primitives else "not run" if statement.runs else "no code"
        state = "raised" if error else happened
        rows.append(LineRow(number, lines, state, times, tuple(names), dict(statement.primitives), error))
    return tuple(rows)


def _name(name: str, seen: list[ValueDescription]) -> Name:
    first, last = seen[0], seen[-1]
    text = last.text
    if len(seen) > 1:
        texts = [one.text if first.kind == last.kind else f"{one.kind} {one.text}" for one in (first, last)]
        text = (" → " if len(seen) == 2 else " ... ").join(texts)
    return Name(name, last.kind, text, last.shape, last.dtype, last.weak_type)


def count_primitives(jaxpr: Any, source: FunctionSource) -> dict[str, int]:
    """Count the primitives that each statement added to the program, and return the counts of those from other code.

    Calls are inlined, as in `jaxguide.program`; the body of a loop counts once. Primitives from an inner function
    belong to its own lines if it is defined inside the function, otherwise to the line that called it.
    """
    codes = {id(code) for code in codes_within(source.code)}
    elsewhere: Counter[str] = Counter()

    def visit(inner: Any, outer: StatementLines | None) -> set[StatementLines | None]:
        places = set()
        for eqn in compat.jaxpr_parts(inner)[0].eqns:
            frames = compat.traceback_frames(eqn.source_info)
            lines = (compat.frame_line(code, instruction) for code, instruction in frames if id(code) in codes)
            # Inside a call, JAX's tracebacks end at the call.
            here = next((source.statements[line] for line in lines if line in source.statements), outer)
            called = called_jaxpr(eqn)
            is_elsewhere = called is not None and bool(visit(called, here) - {here}) and here is not None
            if called is None or is_elsewhere:
                (elsewhere if here is None else here.primitives)[eqn.primitive.name] += 1
            if called is None:
                for body in inner_jaxprs(eqn):
                    visit(body, here)
            places.add(here)
        return places

    visit(jaxpr, None)
    return dict(elsewhere)
