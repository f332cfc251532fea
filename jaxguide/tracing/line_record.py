"""Record what each name is while a function runs, line by line, as descriptions that keep no tracer alive."""

import inspect
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import jax
import numpy as np

from jaxguide.tracing.function_source import FunctionSource, StatementLines
from jaxguide.tracing.functions import codes_within
from jaxguide.tracing.value_description import ValueDescription, describe_value

_OF_ARRAYS = frozenset({"shape", "dtype", "ndim", "size"})
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
_MISSING = object()


@dataclass(eq=False)
class Visits:
    """How often a statement ran, and what each of its names was, first to last.

    Args:
        times: how often it ran.
        seen: by name; the names of a lambda's own variables end in " (lambda)".
    """

    times: int = 0
    seen: dict[str, list[ValueDescription]] = field(default_factory=dict)

    def note(self, name: str, value: Any) -> None:
        """Note a value, unless it equals the previous one."""
        found = self.seen.setdefault(name, [])
        described = describe_value(value)
        if not found or found[-1] != described:
            # Only the first and the last are shown, and whether there were more: three are enough.
            found[2:] = [described] if len(found) > 2 else [*found[2:], described]


class Recorder:
    """Record the lines of a function, and of functions and lambdas defined inside it, from the events of their code."""

    def __init__(self, source: FunctionSource, code: CodeType) -> None:
        self.visits: dict[StatementLines, Visits] = {}
        self.traced_arguments: dict[str, bool] | None = None
        self.source = source
        self.code = code
        self.codes = [inner for inner in codes_within(code) if inner.co_name not in _COMPREHENSIONS]
        self._at: dict[int, StatementLines | None] = {}  # by the frame's id; keeping frames would keep tracers alive
        self._raising: set[int] = set()

    def heard(self, frame: FrameType, event: str) -> None:
        """Note an event of one of the frames; see `code_events`."""
        here = self._at.get(id(frame))
        if event == "call":
            self._called(frame)
        elif event == "exception":
            self._raising.add(id(frame))
        elif event == "return":
            self._leave(frame, here)
        elif (now := self.source.statements.get(frame.f_lineno)) is not None and now is not here:
            self._leave(frame, here)
            self._enter(frame, here, now)

    def _called(self, frame: FrameType) -> None:
        code = frame.f_code
        statement = self.source.head(code.co_firstlineno)
        if statement is not None:
            extra = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + extra]
            values = {name: frame.f_locals[name] for name in names if name in frame.f_locals}
            if code is self.code:
                if self.traced_arguments is None:
                    self.traced_arguments = {name: _has_tracer(value) for name, value in values.items()}
                self._visited(statement).times += 1
            for name, value in values.items():
                self._visited(statement).note(self._scoped(code, name), value)
        self._at[id(frame)] = None
        self._raising.discard(id(frame))

    def _enter(self, frame: FrameType, here: StatementLines | None, now: StatementLines) -> None:
        self._at[id(frame)] = now
        if here is not None and now.block_end is not None and now.end < here.start <= now.block_end:
            return  # Python leaves the `with` block
        # A one-line function was counted by its call or its `def`, a lambda by the line that contains it.
        if now is not self.source.head(frame.f_code.co_firstlineno) and not self._is_lambda(frame.f_code):
            self._visited(now).times += 1
        self._note(now, frame, now.uses)

    def _leave(self, frame: FrameType, here: StatementLines | None) -> None:
        if here is not None and id(frame) not in self._raising:
            self._note(here, frame, here.binds)
        self._raising.discard(id(frame))

    def _note(self, statement: StatementLines, frame: FrameType, names: list[str]) -> None:
        code = frame.f_code
        if self._is_lambda(code):  # names from the scope around it are noted in that scope
            names = [name for name in [*names, *code.co_varnames] if name.split(".")[0] in code.co_varnames]
        for name in names:
            for value in _values(name, frame):
                self._visited(statement).note(self._scoped(code, name), value)

    def _is_lambda(self, code: CodeType) -> bool:
        return code is not self.code and code.co_name == "<lambda>"

    def _scoped(self, code: CodeType, name: str) -> str:
        return f"{name} (lambda)" if self._is_lambda(code) else name

    def _visited(self, statement: StatementLines) -> Visits:
        return self.visits.setdefault(statement, Visits())


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
    elif isinstance(value, jax.Array | np.ndarray | jax.core.Tracer):
        if attribute in _OF_ARRAYS:
            yield getattr(value, attribute)
    elif attribute in getattr(value, "_fields", ()):
        yield getattr(value, attribute)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        stored = vars(value).get(attribute, _MISSING)  # no property of the user's runs
        if stored is not _MISSING and not callable(stored):
            yield stored


def _has_tracer(value: Any) -> bool:
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value))
