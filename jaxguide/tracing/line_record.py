"""Record what happens on each line of a function: its names, the primitives that come from it, how often it runs."""

import inspect
import itertools
import types
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.jaxpr.interpret import called_jaxpr, inner_jaxprs
from jaxguide.tracing.function_source import FunctionSource, StatementLines
from jaxguide.tracing.functions import codes_within
from jaxguide.tracing.value_description import ValueDescription, describe_value

_OF_ARRAYS = frozenset({"shape", "dtype", "ndim", "size"})
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
_MISSING = object()


@dataclass(frozen=True)
class Name(ValueDescription):
    """One name on a line, or an attribute such as `x.shape`: what it was at the end.

    Its `text` has the first and the last type or value if it changed.

    Args:
        name: as written; variables of a lambda are marked, as in `x (lambda)`.
    """

    name: str = ""


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


class Recorder:
    """Record the lines of a function, and of functions and lambdas defined inside it, from the events of their code.

    Values are noted as descriptions, which keep no tracer alive.
    """

    def __init__(self, source: FunctionSource) -> None:
        self.source = source
        self.codes = [inner for inner in codes_within(source.code) if inner.co_name not in _COMPREHENSIONS]
        self._at: dict[int, StatementLines | None] = {}  # by the frame's id; keeping frames would keep tracers alive

    def heard(self, frame: FrameType, event: str) -> None:
        """Note an event of one of the frames; see `code_events`."""
        definition = self.source.statements.get(frame.f_code.co_firstlineno, self.source.definition)
        here = self._at.get(id(frame))
        now = self.source.statements.get(frame.f_lineno)
        if event == "call":
            self._at[id(frame)] = None
            definition.times += frame.f_code is self.source.code
            args, rest, more, _values = inspect.getargvalues(frame)
            self._note(definition, frame, [*args, *filter(None, (rest, more))])
        elif event == "exception":
            self._at[id(frame)] = None  # the statement binds nothing
        elif event == "return" or (now is not None and now is not here):
            if here is not None:
                self._note(here, frame, here.binds)
            if event == "line" and now is not None:
                self._at[id(frame)] = now
                # A one-line function was counted by its call or its `def`, a lambda by the line that contains it.
                now.times += now is not definition and not self._is_lambda(frame)
                self._note(now, frame, now.uses)

    def _note(self, statement: StatementLines, frame: FrameType, names: list[str]) -> None:
        """Note what names are on a statement, unless it equals what they were before."""
        own, mark = frame.f_code.co_varnames, ""
        if self._is_lambda(frame):  # names from the scope around it are noted in that scope
            names, mark = [name for name in [*names, *own] if name.split(".")[0] in own], " (lambda)"
        for name in names:
            for value in _values(name, frame):
                described, seen = describe_value(value), statement.seen.setdefault(name + mark, [])
                if not seen or seen[-1] != described:
                    # Only the first and the last are shown, and whether there were more: three are enough.
                    seen[2:] = [described] if len(seen) > 2 else [*seen[2:], described]

    def _is_lambda(self, frame: FrameType) -> bool:
        return frame.f_code is not self.source.code and frame.f_code.co_name == "<lambda>"


def _values(name: str, frame: FrameType) -> Iterator[Any]:
    """Yield a name's value if worth showing: no modules, and functions only as variables with another name."""
    code, local = frame.f_code, frame.f_locals
    base, _, attribute = name.partition(".")
    is_local = base in code.co_varnames or base in code.co_cellvars or base in code.co_freevars
    value = local.get(base, _MISSING if is_local else frame.f_globals.get(base, _MISSING))
    if value is _MISSING or isinstance(value, types.ModuleType):
        return
    if not attribute:
        if not callable(value) or (base in local and getattr(value, "__name__", None) != base):
            yield value
    elif attribute in (_OF_ARRAYS if isinstance(value, jax.Array | np.ndarray) else getattr(value, "_fields", ())):
        yield getattr(value, attribute)
    elif hasattr(value, "__dict__") and not isinstance(value, type | jax.Array):
        stored = vars(value).get(attribute, _MISSING)  # no property of the user's runs
        if stored is not _MISSING and not callable(stored):
            yield stored


def make_rows(source: FunctionSource, raised: tuple[int, str] | None) -> tuple[LineRow, ...]:
    """Return one row for each statement, and one for each line between statements.

    Args:
        source: the function, with what happened on each statement.
        raised: the line that stopped the function, and the error; None if it returned.
    """
    rows = []
    numbers = range(source.start, source.start + len(source.lines))
    with_code = {line for code in codes_within(source.code) for _start, _end, line in code.co_lines()}
    for statement, numbers_of_it in itertools.groupby(numbers, lambda number: source.statements.get(number, number)):
        group = list(numbers_of_it)
        number = group[0]
        lines = tuple(source.lines[one - source.start] for one in group)
        if isinstance(statement, int):
            rows.append(LineRow(number, lines, "no code"))
            continue
        error = raised[1] if raised and raised[0] in group else None
        names = [_name(name, seen) for name, seen in statement.seen.items()]
        dotted = {name.name.split(".")[0] for name in names if "." in name.name}
        # If attributes of an object are shown, its type alone adds nothing.
        names = [name for name in names if name.shape is not None or name.name not in dotted]
        times = statement.times
        if times and statement.body is not None:
            times = source.statements[statement.body].times or 1
        happened = "ran" if times or statement.primitives else "no code" if with_code.isdisjoint(group) else "not run"
        state = "raised" if error else happened
        rows.append(LineRow(number, lines, state, times, tuple(names), dict(statement.primitives), error))
    return tuple(rows)


def _name(name: str, seen: list[ValueDescription]) -> Name:
    first, last = seen[0], seen[-1]
    text = last.text
    if len(seen) > 1:
        texts = [one.text if first.kind == last.kind else f"{one.kind} {one.text}" for one in (first, last)]
        text = (" → " if len(seen) == 2 else " ... ").join(texts)
    return Name(last.kind, text, last.shape, last.dtype, last.weak_type, name)


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
