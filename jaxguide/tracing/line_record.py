"""Record what each name is while a function runs, line by line, as descriptions that keep no tracer alive."""

import inspect
import types
from collections.abc import Iterator
from types import FrameType
from typing import Any

import jax
import numpy as np

from jaxguide.tracing.function_source import FunctionSource, StatementLines
from jaxguide.tracing.functions import codes_within
from jaxguide.tracing.value_description import describe_value

_OF_ARRAYS = frozenset({"shape", "dtype", "ndim", "size"})
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
_MISSING = object()


class Recorder:
    """Record the lines of a function, and of functions and lambdas defined inside it, from the events of their code."""

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
    elif isinstance(value, jax.Array | np.ndarray | jax.core.Tracer):
        if attribute in _OF_ARRAYS:
            yield getattr(value, attribute)
    elif attribute in getattr(value, "_fields", ()):
        yield getattr(value, attribute)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        stored = vars(value).get(attribute, _MISSING)  # no property of the user's runs
        if stored is not _MISSING and not callable(stored):
            yield stored
