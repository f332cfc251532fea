"""Record what each name is while a function runs, line by line, as descriptions that keep no tracer alive."""

import inspect
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import jax
import numpy as np

from jaxguide.tracing.function_source import FunctionSource, StatementLines
from jaxguide.tracing.functions import codes_within
from jaxguide.tracing.value_description import Seen, describe_value

_OF_ARRAYS = frozenset({"shape", "dtype", "ndim", "size"})
_MISSING = object()
_Sight = tuple[str, str]  # the scope, "lambda", "comprehension" or "" for the function itself, and the name


@dataclass(eq=False)
class Visits:
    """How often a statement ran, and what each of its names was, first to last."""

    times: int = 0
    seen: dict[_Sight, list[Seen]] = field(default_factory=dict)

    def note(self, sight: _Sight, value: Any) -> None:
        """Note a value, unless it equals the previous one."""
        found = self.seen.setdefault(sight, [])
        described = describe_value(value)
        if not found or found[-1] != described:
            # Only the first and the last are shown, and whether there were more: three are enough.
            found[2:] = [described] if len(found) > 2 else [*found[2:], described]


class Recorder:
    """Record the lines of one function, and of the functions defined inside it, as a context manager.

    In the block it replaces the trace function of `sys.settrace`, such as a debugger's or coverage's; it restores it on
    exit.
    """

    def __init__(self, source: FunctionSource, code: CodeType) -> None:
        self.visits: dict[StatementLines, Visits] = {}
        self.traced_arguments: dict[str, bool] | None = None
        self._source = source
        self._code = code
        self._codes = {id(inner): inner for inner in codes_within(code)}
        self._at: dict[int, StatementLines | None] = {}
        self._outer: dict[int, dict[str, Any]] = {}  # the values of a comprehension's variables outside it
        self._raising: set[int] = set()

    def __enter__(self) -> "Recorder":
        self._before = sys.gettrace()
        # Python 3.12 sends opcode events only if some frame requested them before `settrace` was called.
        here = inspect.currentframe()
        if here is not None:
            here.f_trace_opcodes = True
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _called(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        if event != "call" or id(code) not in self._codes:
            return None
        statement = self._source.head(code.co_firstlineno)
        if statement is not None:
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + _extra(code)]
            values = {name: frame.f_locals[name] for name in names if name in frame.f_locals and name != ".0"}
            if code is self._code:
                if self.traced_arguments is None:
                    self.traced_arguments = {name: _has_tracer(value) for name, value in values.items()}
                self._visited(statement).times += 1
            for name, value in values.items():
                self._visited(statement).note((self._scope(code), name), value)
        self._at[id(frame)] = None
        if not self._is_inner(code) and sys.version_info >= (3, 12):
            frame.f_trace_opcodes = True  # since Python 3.12 comprehensions have no frame
        return self._moved

    def _moved(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        here = self._at.get(id(frame))
        if event == "exception":
            self._raising.add(id(frame))
        elif event == "opcode":
            if here is not None and here.inner_binds:
                outer = self._outer.get(id(frame), {})
                inner = [name for name in here.inner_binds if frame.f_locals.get(name) is not outer.get(name)]
                self._note(here, frame, inner, own=False)
        elif event == "line":
            self._line(frame, here, self._source.statements.get(frame.f_lineno))
        elif event == "return":
            self._leave(frame, here)
            self._at.pop(id(frame), None)
        return self._moved

    def _line(self, frame: FrameType, here: StatementLines | None, now: StatementLines | None) -> None:
        if now is None:
            return
        again = now is here and now.repeats and frame.f_lineno == now.start
        if now is here and not again:
            self._raising.discard(id(frame))
            if self._is_inner(frame.f_code):  # the next item of a comprehension
                self._note(now, frame, now.inner_binds)
            return
        self._leave(frame, here)
        self._at[id(frame)] = now
        if here is not None and now.block_end is not None and now.end < here.start <= now.block_end:
            return  # Python leaves the `with` block
        if now.inner_binds:
            self._outer[id(frame)] = {name: frame.f_locals.get(name) for name in now.inner_binds}
        # A one-line function was counted by its call or its `def`, a lambda by the line that contains it.
        if now is not self._source.head(frame.f_code.co_firstlineno) and not self._is_inner(frame.f_code):
            self._visited(now).times += 1
        self._note(now, frame, now.uses)

    def _leave(self, frame: FrameType, here: StatementLines | None) -> None:
        if here is not None and id(frame) not in self._raising:
            self._note(here, frame, [*here.binds, *(here.inner_binds if self._is_inner(frame.f_code) else ())])
        self._raising.discard(id(frame))
        self._outer.pop(id(frame), None)

    def _note(self, statement: StatementLines, frame: FrameType, names: list[str], own: bool = True) -> None:
        code = frame.f_code
        scope = self._scope(code) if own else COMPREHENSION
        if own and self._is_inner(code):
            # Names from the scope around it are noted in that scope.
            names = [name for name in [*names, *code.co_varnames] if name.split(".")[0] in code.co_varnames]
        values = frame.f_locals
        for name in names:
            for shown, value in _values(name, code, values, frame.f_globals):
                self._visited(statement).note((scope, shown), value)

    def _is_inner(self, code: CodeType) -> bool:
        """Return whether the code is of a lambda or comprehension, which is part of a statement."""
        return code is not self._code and code.co_name in _SCOPES

    def _visited(self, statement: StatementLines) -> Visits:
        return self.visits.setdefault(statement, Visits())

    def _scope(self, code: CodeType) -> str:
        return _SCOPES.get(code.co_name, "") if code is not self._code else ""


COMPREHENSION = "comprehension"
_SCOPES = {"<lambda>": "lambda"} | dict.fromkeys(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"), COMPREHENSION)


def _extra(code: CodeType) -> int:
    return bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)  # *args and **kwargs


def _values(name: str, code: CodeType, values: dict[str, Any], globals_: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and its value if worth showing: no modules, and functions only as variables with another name."""
    base, _, attribute = name.partition(".")
    local = base in code.co_varnames or base in code.co_cellvars or base in code.co_freevars
    value = values.get(base, _MISSING if local else globals_.get(base, _MISSING))
    if value is _MISSING or isinstance(value, types.ModuleType):
        return
    if not attribute:
        if not callable(value) or (base in values and getattr(value, "__name__", None) != base):
            yield name, value
        return
    if isinstance(value, jax.Array | np.ndarray | jax.core.Tracer):
        if attribute in _OF_ARRAYS:
            yield name, getattr(value, attribute)
        return
    # Read the stored value, so that no property of the user's runs.
    stored = value.__dict__ if hasattr(value, "__dict__") and not isinstance(value, type) else {}
    if attribute in getattr(value, "_fields", ()):
        yield name, getattr(value, attribute)
    elif attribute in stored and not callable(stored[attribute]):
        yield name, stored[attribute]


def _has_tracer(value: Any) -> bool:
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value))
