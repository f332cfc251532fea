"""Record what each name is while a function runs, line by line, as descriptions that keep no tracer alive."""

import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import jax
import numpy as np

from jaxguide.code.frames import is_own, is_users_code
from jaxguide.tracing.code_events import code_events
from jaxguide.tracing.function_source import FunctionSource, StatementLines, read_code
from jaxguide.tracing.functions import codes_within
from jaxguide.tracing.value_description import ValueDescription, describe_value

_OF_ARRAYS = frozenset({"shape", "dtype", "ndim", "size"})
_MISSING = object()
_Sight = tuple[str, str]  # the scope, "lambda", "comprehension" or "" for the function itself, and the name


@dataclass(eq=False)
class Visits:
    """How often a statement ran, and what each of its names was, first to last."""

    times: int = 0
    seen: dict[_Sight, list[ValueDescription]] = field(default_factory=dict)

    def note(self, sight: _Sight, value: Any) -> None:
        """Note a value, unless it equals the previous one."""
        found = self.seen.setdefault(sight, [])
        described = describe_value(value)
        if not found or found[-1] != described:
            # Only the first and the last are shown, and whether there were more: three are enough.
            found[2:] = [described] if len(found) > 2 else [*found[2:], described]


class Recorder:
    """Record the lines of one function, and of the functions defined inside it, from the events that it is given."""

    def __init__(self, source: FunctionSource, code: CodeType) -> None:
        self.visits: dict[StatementLines, Visits] = {}
        self.traced_arguments: dict[str, bool] | None = None
        self.source = source
        self.code = code
        self.codes = {id(inner): inner for inner in codes_within(code)}
        self._at: dict[int, StatementLines | None] = {}
        self._outer: dict[int, dict[str, Any]] = {}  # the values of a comprehension's variables outside it
        self._raising: set[int] = set()

    def heard(self, frame: FrameType, event: str) -> None:
        """Note an event of one of the function's frames; see `code_events`."""
        if event == "call":
            self._called(frame)
        else:
            self._moved(frame, event)

    def needs_opcodes(self, code: CodeType) -> bool:
        """Return whether comprehensions may run in the frames of the code itself, as since Python 3.12."""
        if self._is_inner(code) or not hasattr(sys, "monitoring"):
            return False
        return any(statement.inner_binds for statement in self.source.statements.values())

    def _called(self, frame: FrameType) -> None:
        code = frame.f_code
        statement = self.source.head(code.co_firstlineno)
        if statement is not None:
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + _extra(code)]
            values = {name: frame.f_locals[name] for name in names if name in frame.f_locals and name != ".0"}
            if code is self.code:
                if self.traced_arguments is None:
                    self.traced_arguments = {name: _has_tracer(value) for name, value in values.items()}
                self._visited(statement).times += 1
            for name, value in values.items():
                self._visited(statement).note((self._scope(code), name), value)
        self._at[id(frame)] = None

    def _moved(self, frame: FrameType, event: str) -> None:
        here = self._at.get(id(frame))
        if event == "exception":
            self._raising.add(id(frame))
        elif event == "opcode":
            if here is not None and here.inner_binds:
                outer = self._outer.get(id(frame), {})
                inner = [name for name in here.inner_binds if frame.f_locals.get(name) is not outer.get(name)]
                self._note(here, frame, inner, own=False)
        elif event == "line":
            self._line(frame, here, self.source.statements.get(frame.f_lineno))
        elif event == "return":
            self._leave(frame, here)
            self._at.pop(id(frame), None)

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
        if now is not self.source.head(frame.f_code.co_firstlineno) and not self._is_inner(frame.f_code):
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
        return code is not self.code and code.co_name in _SCOPES

    def _visited(self, statement: StatementLines) -> Visits:
        return self.visits.setdefault(statement, Visits())

    def _scope(self, code: CodeType) -> str:
        return _SCOPES.get(code.co_name, "") if code is not self.code else ""


class LineRecorders:
    """Record a function while it runs, as a context manager; if a library wrote it, also the user's that it calls.

    In the block it suspends what `sys.settrace` set, such as a debugger's or coverage's function.

    Args:
        first: records the function itself.
    """

    def __init__(self, first: Recorder) -> None:
        self.first = first
        self.users: list[Recorder] = []  # of the user's functions that no other function of the user's called
        self._by_code = dict.fromkeys(first.codes, first)
        self._in_library = not is_users_code(first.code)
        self._events = code_events(
            self._watches,
            lambda frame, event: self._by_code[id(frame.f_code)].heard(frame, event),
            opcodes=lambda code: self._by_code[id(code)].needs_opcodes(code),
        )

    def __enter__(self) -> "LineRecorders":
        self._events.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._events.__exit__(None, None, None)

    def _watches(self, frame: FrameType) -> bool:
        code = frame.f_code
        if id(code) in self._by_code:
            return True
        if not self._in_library or not is_users_code(code):
            return False
        outer = frame.f_back
        while outer is not None and not is_own(outer.f_code.co_filename):
            if is_users_code(outer.f_code):
                return False
            outer = outer.f_back
        source = read_code(code, frame.f_globals)
        if source is None:
            return False
        self.users.append(Recorder(source, code))
        self._by_code |= dict.fromkeys(self.users[-1].codes, self.users[-1])
        return True


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
