"""Combine what was recorded for each line: its names, the primitives that came from it, how often it ran."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jaxguide import compat
from jaxguide.jaxpr.interpret import called_jaxpr, inner_jaxprs
from jaxguide.tracing.function_source import StatementLines
from jaxguide.tracing.functions import codes_within
from jaxguide.tracing.line_record import Recorder, Visits
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
        state: 'ran', 'not run', 'raised', or 'no code' (blank lines, comments, docstrings, declarations).
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


def make_rows(
    recorder: Recorder, primitives: Mapping[StatementLines | None, Mapping[str, int]], raised: tuple[int, str] | None
) -> tuple[LineRow, ...]:
    """Return one row for each statement, and one for each line between statements.

    Args:
        recorder: what was recorded.
        primitives: the primitives that each statement added to the program.
        raised: the line that stopped the function, and the error; None if it returned.
    """
    source, rows = recorder.source, []
    number, last = source.start, source.start + len(source.lines) - 1
    while number <= last:
        statement = source.statements.get(number)
        end = number
        while statement is not None and end < last and source.statements.get(end + 1) is statement:
            end += 1
        lines = tuple(source.lines[number - source.start : end + 1 - source.start])
        if statement is None:
            rows.append(LineRow(number, lines, "no code"))
        else:
            error = raised[1] if raised and number <= raised[0] <= end else None
            rows.append(_row(number, lines, statement, recorder, primitives.get(statement, {}), error))
        number = end + 1
    return tuple(rows)


def _row(
    number: int,
    lines: tuple[str, ...],
    statement: StatementLines,
    recorder: Recorder,
    primitives: Mapping[str, int],
    error: str | None,
) -> LineRow:
    visits = recorder.visits.get(statement, Visits())
    names = [_name(name, seen) for name, seen in visits.seen.items()]
    dotted = {name.name.split(".")[0] for name in names if "." in name.name}
    # If attributes of an object are shown, its type alone adds nothing.
    names = [name for name in names if name.shape is not None or name.name not in dotted]
    times = visits.times
    if times and statement.body is not None:  # a loop's head runs once more than its body, to end the loop
        times = recorder.visits.get(recorder.source.statements[statement.body], Visits()).times or 1
    state = "raised" if error else "ran" if times or primitives else "not run" if statement.runs else "no code"
    return LineRow(number, lines, state, times, tuple(names), dict(primitives), error)


def _name(name: str, seen: list[ValueDescription]) -> Name:
    first, last = seen[0], seen[-1]
    text = last.text
    if len(seen) > 1:
        texts = [one.text if first.kind == last.kind else f"{one.kind} {one.text}" for one in (first, last)]
        text = (" → " if len(seen) == 2 else " ... ").join(texts)
    return Name(name, last.kind, text, last.shape, last.dtype, last.weak_type)


def primitives_by_statement(jaxpr: Any, recorder: Recorder) -> dict[StatementLines | None, dict[str, int]]:
    """Return the primitives that each statement added to the program, and under None those that come from other code.

    Calls are inlined, as in `jaxguide.program`; the body of a loop counts once. Primitives from an inner function
    belong to its own lines if it is defined inside the function, otherwise to the line that called it.
    """
    source, codes = recorder.source, {id(code) for code in codes_within(recorder.code)}
    found: dict[StatementLines | None, Counter[str]] = defaultdict(Counter)

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
                found[here][eqn.primitive.name] += 1
            if called is None:
                for body in inner_jaxprs(eqn):
                    visit(body, here)
            places.add(here)
        return places

    visit(jaxpr, None)
    return {statement: dict(counts) for statement, counts in found.items()}
