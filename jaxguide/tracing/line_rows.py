"""Combine what was recorded for each line: its names, the primitives that came from it, how often it ran."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jaxguide import compat
from jaxguide.code.frames import is_own, is_users_code, package_name
from jaxguide.code.lines import Line
from jaxguide.jaxpr.interpret import called_jaxpr, inner_jaxprs
from jaxguide.tracing.function_source import FunctionSource, StatementLines
from jaxguide.tracing.line_record import Visits
from jaxguide.tracing.value_description import ValueDescription


@dataclass(frozen=True)
class Name:
    """One name on a line, or an attribute such as `x.shape`.

    Args:
        name: as written; variables of a lambda or comprehension are marked, as in `x (lambda)`.
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
        times: how often Python ran it while JAX traced.
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


@dataclass(frozen=True)
class LibraryRow:
    """What a library's code added to the program outside of the lines that are shown.

    Args:
        package: the library, such as 'flax'.
        line: the user's line that led there, such as 'lesson.py, line 3', or None if no line of the user's did.
        primitives: the primitives that it added, by name and count.
    """

    package: str
    line: str | None
    primitives: dict[str, int]


def make_rows(
    source: FunctionSource,
    visits: Mapping[StatementLines, Visits],
    primitives: Mapping[StatementLines, Mapping[str, int]],
    raised: tuple[int, str] | None,
) -> tuple[LineRow, ...]:
    """Return one row for each statement, and one for each line between statements.

    Args:
        source: the function's source.
        visits: what was recorded of each statement.
        primitives: the primitives that each statement added to the program.
        raised: the line that stopped the function, and the error; None if it returned.
    """
    rows: list[LineRow] = []
    number, last = source.start, source.start + len(source.lines) - 1
    while number <= last:
        statement = source.statements.get(number)
        end = number
        while end < last and source.statements.get(end + 1) is statement:
            end += 1
        lines = tuple(source.lines[number - source.start : end + 1 - source.start])
        if statement is None:
            rows += [LineRow(number + i, (line,), "no code") for i, line in enumerate(lines)]
        else:
            error = raised[1] if raised and number <= raised[0] <= end else None
            body = source.statements[statement.body] if statement.body and not statement.repeats else None
            rows.append(_row(number, lines, statement, body, visits, primitives.get(statement, {}), error))
        number = end + 1
    return tuple(rows)


def _row(
    number: int,
    lines: tuple[str, ...],
    statement: StatementLines,
    body: StatementLines | None,
    visits: Mapping[StatementLines, Visits],
    primitives: Mapping[str, int],
    error: str | None,
) -> LineRow:
    seen = visits.get(statement, Visits())
    names = tuple(_name(scope, name, seen.seen[scope, name]) for scope, name in seen.seen)
    dotted = {name.name.split(".")[0] for name in names if "." in name.name}
    # If attributes of an object are shown, its type alone adds nothing.
    names = tuple(name for name in names if name.shape is not None or name.name not in dotted)
    state = "raised" if error else "ran" if seen.times or primitives else "not run" if statement.runs else "no code"
    # A loop's head runs once more than its body, to end the loop.
    times = seen.times if body is None or not seen.times else visits.get(body, Visits()).times or 1
    return LineRow(number, lines, state, times, names, dict(primitives), error)


def _name(scope: str, name: str, seen: list[ValueDescription]) -> Name:
    first, last = seen[0], seen[-1]
    text = last.text
    if len(seen) == 2:
        text = f"{_marked(first, last)} → {_marked(last, first)}"
    elif len(seen) > 2:
        text = f"{_marked(first, last)} ... {_marked(last, first)}"
    shown = f"{name} ({scope})" if scope else name
    return Name(shown, last.kind, text, last.shape, last.dtype, last.weak_type)


def _marked(seen: ValueDescription, other: ValueDescription) -> str:
    words = {"traced": "traced", "static": "static", "mixed": "mixed"}
    return seen.text if seen.kind == other.kind else f"{words[seen.kind]} {seen.text}"


def primitives_by_statement(
    jaxpr: Any, source: FunctionSource, codes: set[int]
) -> tuple[dict[StatementLines, dict[str, int]], tuple[LibraryRow, ...]]:
    """Return the primitives that each statement added to the program, and those that come from other code.

    Calls are inlined, as in `jaxguide.program`; the body of a loop counts once. Primitives from an inner function
    belong to its own lines if it is defined inside the function, otherwise to the line that called it.

    Args:
        jaxpr: the traced program.
        source: the function's source.
        codes: the ids of the code objects in it.
    """
    found: dict[StatementLines, Counter[str]] = {}
    elsewhere: dict[tuple[str, str | None], Counter[str]] = {}

    def note(place: StatementLines | None, eqn: Any) -> None:
        if place is None:
            counts = elsewhere.setdefault(_library(eqn.source_info), Counter())
        else:
            counts = found.setdefault(place, Counter())
        counts[eqn.primitive.name] += 1

    def visit(inner: Any, outer: StatementLines | None) -> set[StatementLines | None]:
        statements: set[StatementLines | None] = set()
        for eqn in compat.jaxpr_parts(inner)[0].eqns:
            here = _place(eqn.source_info, source, codes) or outer  # inside a call JAX's tracebacks end at the call
            called = called_jaxpr(eqn)
            if called is None:
                note(here, eqn)
                for body in inner_jaxprs(eqn):
                    visit(body, here)
            elif visit(called, here) - {here} and here is not None:
                note(here, eqn)
            statements.add(here)
        return statements

    visit(jaxpr, None)
    rows = tuple(LibraryRow(package, line, dict(counts)) for (package, line), counts in elsewhere.items())
    return {statement: dict(counts) for statement, counts in found.items()}, rows


def _library(source_info: Any) -> tuple[str, str | None]:
    """Return the package whose code made an equation, as the user's line called it, and that line."""
    called = "jax"
    for code, instruction in compat.traceback_frames(source_info):
        if is_users_code(code):
            return called, str(Line(code.co_filename, compat.frame_line(code, instruction)))
        if is_own(code.co_filename):
            break
        package = package_name(code.co_filename)
        if package not in ("jax", "Python"):  # JAX's transformations and decorators are around every library
            called = package
    return called, None


def _place(source_info: Any, source: FunctionSource, codes: set[int]) -> StatementLines | None:
    for code, instruction in compat.traceback_frames(source_info):
        if id(code) in codes:
            statement = source.statements.get(compat.frame_line(code, instruction))
            if statement is not None:
                return statement
    return None
