"""Watch the user's lines while JAX traces them: which lines change state, print, or read the clock."""

import datetime
import io
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from jaxguide.code.frames import is_library
from jaxguide.code.lines import Line
from jaxguide.tracing.state import Holder
from jaxguide.tracing.state_search import containers
from jaxguide.tracing.value_description import describe_value

_CLOCKS = {
    getattr(time, name)
    for name in ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time")
}
_DATES = frozenset({"now", "utcnow", "today"})
# After this many lines, compare state only at the end, so that a long Python loop still finishes.
_MOST_LINES = 3000


@dataclass(frozen=True)
class Change:
    """An observed change: what changed, on which line, and its content before and after, as text.

    Args:
        kind: 'change', 'leak', 'random' or 'argument'.
        words: what changed, such as "the global `log`".
        line: the line that changed it, or None if unknown.
        before, after: the content in a few words; for a leak, where the tracer is stored, and its type.
    """

    kind: str
    words: str
    line: Line | None
    before: str = ""
    after: str = ""


class EffectWatch:
    """Record the side effects of the user's lines on this thread, as a context manager.

    In the block it replaces `sys.stdout` and the functions set by `sys.settrace` and `sys.setprofile`; it restores them
    on exit.
    """

    def __init__(self, holders: list[Holder], code: CodeType | None) -> None:
        self.changes: dict[tuple[int, str], Change] = {}  # by holder, and 'leak' or 'change'
        self.argument_changes: list[Change] = []
        self.calls: dict[tuple[str, Line], str] = {}
        self.printed: dict[Line | None, str] = {}
        self._holders = holders
        self._code = code
        self._line: Line | None = None
        self._lines = 0
        self._arguments: list[Holder] | None = None
        self._call = 0  # the id of their frame; keeping the frame would keep its tracers alive

    def __enter__(self) -> "EffectWatch":
        self._before = sys.gettrace(), sys.getprofile(), sys.stdout
        sys.stdout = _Printed(self)
        sys.settrace(self._called)
        sys.setprofile(self._profiled)
        return self

    def __exit__(self, *_: object) -> None:
        trace, profile, sys.stdout = self._before
        sys.settrace(trace)
        sys.setprofile(profile)
        self._line = None
        self._compare(all_of_them=True)
        self._arguments, self._call = None, 0

    def _called(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if event != "call" or is_library(frame.f_code.co_filename):
            return None
        if frame.f_code is self._code and self._arguments is None:
            code = frame.f_code
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            self._arguments = [h for name in names for h in containers(name, frame.f_locals.get(name))]
            self._call = id(frame)
        return self._moved

    def _moved(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        self._compare()
        if event == "line":
            self._line = Line(frame.f_code.co_filename, frame.f_lineno)
        elif event == "return":
            self._line = _line_of(frame.f_back)
            if id(frame) == self._call:
                self._arguments, self._call = [], 0  # the copies may hold tracers
        return self._moved

    def _compare(self, all_of_them: bool = False) -> None:
        self._lines += 1
        if self._lines > _MOST_LINES and not all_of_them:
            return
        for i, holder in enumerate(self._holders):
            leaked, noted = (i, "leak") in self.changes, (i, "change") in self.changes
            if (holder.large or (leaked and noted)) and not all_of_them:
                continue
            if not holder.changed():
                continue
            if holder.kind == "value" and not leaked and (tracer := holder.tracer()) is not None:
                self.changes[i, "leak"] = _leak(holder, tracer, self._line)
                leaked = True
            if leaked and not holder.changed_beside_tracers():
                self.changes.pop((i, "change"), None)  # the change was the leak itself
            elif not noted or all_of_them:
                line = self.changes[i, "change"].line if noted else self._line
                self.changes[i, "change"] = _change(holder, line, leaked)
        for holder in list(self._arguments or ()):
            if holder.changed():
                self._arguments.remove(holder)  # type: ignore[union-attr]
                if not any(change.words == holder.words for change in self.changes.values()):
                    self.argument_changes.append(Change("argument", holder.words, self._line))

    def _profiled(self, frame: FrameType, event: str, called: Any) -> None:
        if event != "c_call":
            return
        if called is os.urandom:
            line = _line_of(frame)
            if line is not None:
                self.calls["entropy", line] = "os.urandom"
            return
        if is_library(frame.f_code.co_filename):
            return
        line = Line(frame.f_code.co_filename, frame.f_lineno)
        name = getattr(called, "__name__", "")
        owner = getattr(called, "__self__", None)
        if called in _CLOCKS:
            self.calls["time", line] = f"time.{name}"
        elif name in _DATES and isinstance(owner, type) and issubclass(owner, datetime.date):
            self.calls["time", line] = f"{owner.__name__}.{name}"
        elif called is open:
            self.calls["file", line] = "open"
        elif called is input:
            self.calls["file", line] = "input"


def _change(holder: Holder, line: Line | None, beside_tracers: bool) -> Change:
    if holder.kind == "random":
        return Change("random", holder.words, line)
    return Change("change", holder.words, line, *holder.before_and_after(beside_tracers))


def _leak(holder: Holder, tracer: tuple[str, Any], line: Line | None) -> Change:
    place, value = tracer
    return Change("leak", holder.words, line, place, describe_value(value).text)


def _line_of(frame: FrameType | None) -> Line | None:
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else Line(frame.f_code.co_filename, frame.f_lineno)


class _Printed(io.TextIOBase):
    """Collect printed text by the line that printed it."""

    def __init__(self, watch: EffectWatch) -> None:
        self._watch = watch

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        line = _line_of(sys._getframe(1))
        printed = self._watch.printed
        printed[line] = (printed.get(line, "") + text)[:500]
        return len(text)
