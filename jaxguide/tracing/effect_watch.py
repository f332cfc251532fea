"""Watch the user's lines while JAX traces them: which lines change state, print, or read the clock."""

import datetime
import dis
import io
import os
import re
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FrameType
from typing import Any

from jaxguide.code.frames import is_library, is_users_code, package_name
from jaxguide.code.lines import Line
from jaxguide.tracing.code_events import code_events
from jaxguide.tracing.state import Holder, Views
from jaxguide.tracing.state_search import containers
from jaxguide.tracing.value_description import describe_value

_CLOCKS = {
    getattr(time, name)
    for name in ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time")
}
_RANDOM_PACKAGES = frozenset({"Python", "numpy", "scipy"})
_DATES = frozenset({"now", "utcnow", "today"})
# After so many comparisons, of so many items, compare state only at the end, so that a long Python loop still finishes.
_MANY_COMPARISONS, _MANY_ITEMS = 3_000, 10_000_000


# Not attributes, items and loops, which may run anything, such as a `cached_property` or a `defaultdict`.
_COMPUTING = re.compile(
    "CACHE|COMPARE_OP|COPY|COPY_FREE_VARS|EXTENDED_ARG|IS_OP|LOAD_(CONST|DEREF|FAST.*|GLOBAL|SMALL_INT)|NOP|NOT_TAKEN|"
    "POP_JUMP.*|POP_TOP|PUSH_NULL|RESUME|RETURN_CONST|RETURN_VALUE|STORE_FAST.*|SWAP|UNARY_(INVERT|NEGATIVE|NOT)"
)
_OPERATORS = frozenset({"+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"})


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

    In the block it replaces `sys.stdout` and suspends what `sys.settrace` and `sys.setprofile` set.
    """

    def __init__(self, holders: list[Holder], code: CodeType | None) -> None:
        self.changes: dict[tuple[int, str], Change] = {}  # by holder, and 'leak' or 'change'
        self.argument_changes: list[Change] = []
        self.calls: dict[tuple[str, Line], str] = {}
        self.printed: dict[Line | None, str] = {}
        self._items_compared = 0
        self._holders = holders
        self._views = _views(holders)
        self._compared = False  # whether `_views` has been the same since a comparison
        self._code = code
        self._line: Line | None = None
        self._inert = False  # whether nothing can have changed since the last comparison
        self._inert_by_code: dict[int, tuple[set[int], CodeType]] = {}  # an id is unique only while its object lives
        self._caller: FrameType | None = None  # JAX's frame to which one of the user's just returned
        self.comparisons = 0  # how often state was compared: about once for each of the user's lines that ran
        self._arguments: list[Holder] | None = None
        self._events = code_events(_is_users, self._heard, calls=self._calls)
        self._call = 0  # the id of their frame; keeping the frame would keep its tracers alive

    def __enter__(self) -> "EffectWatch":
        self._stdout = sys.stdout
        sys.stdout = _Printed(self)
        self._events.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._events.__exit__(None, None, None)
        sys.stdout = self._stdout
        self._line = None
        self._compare(all_of_them=True)
        self._arguments, self._call, self._caller = None, 0, None
        self._views = Views(())  # they may hold tracers

    def _heard(self, frame: FrameType, event: str) -> None:
        if event == "call":
            # `jax.tree.map` and others call a function for each leaf, from one frame, and do nothing else.
            self._inert = frame.f_back is self._caller is not None
            self._caller = None
            self._called(frame)
            return
        if not self._inert:
            self._compare()
        self._inert, self._caller = False, None
        if event == "line":
            self._line = Line(frame.f_code.co_filename, frame.f_lineno)
            self._inert = frame.f_lineno in self._inert_lines(frame.f_code)
        elif event == "return":
            back = frame.f_back
            self._line = _line_of(back)
            if back is not None and package_name(back.f_code.co_filename) == "jax":
                self._caller = back
            if id(frame) == self._call:
                self._arguments, self._call = [], 0  # the copies may hold tracers

    def _inert_lines(self, code: CodeType) -> set[int]:
        """Return the lines that only compute: they call nothing and store nothing but local variables."""
        if id(code) not in self._inert_by_code:
            lines: set[int] = set()
            other: set[int] = set()
            for instruction in dis.get_instructions(code):
                number = instruction.positions.lineno if instruction.positions else None
                if number is not None:
                    (lines if _only_computes(instruction) else other).add(number)
            self._inert_by_code[id(code)] = lines - other, code
        return self._inert_by_code[id(code)][0]

    def _called(self, frame: FrameType) -> None:
        if frame.f_code is self._code and self._arguments is None:
            code = frame.f_code
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            self._arguments = [h for name in names for h in containers(name, frame.f_locals.get(name))]
            self._views, self._compared = _views([*self._holders, *self._arguments]), False
            self._call = id(frame)

    def _compare(self, all_of_them: bool = False) -> None:
        many = self.comparisons >= _MANY_COMPARISONS and self._items_compared >= _MANY_ITEMS
        if many and not all_of_them:
            return
        self.comparisons += 1
        self._items_compared += len(self._views) + len(self._holders)
        same = not self._views.changed() and self._compared and not all_of_them
        self._compared = True
        for i, holder in enumerate(self._holders):
            if (holder.large and not all_of_them) or (same and holder.views) or not holder.changed():
                continue
            leaked, noted = (i, "leak") in self.changes, (i, "change") in self.changes
            if leaked and noted and not all_of_them:
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
            if not (same and holder.views) and holder.changed():
                self._arguments.remove(holder)  # type: ignore[union-attr]
                if not any(change.words == holder.words for change in self.changes.values()):
                    self.argument_changes.append(Change("argument", holder.words, self._line))

    def _calls(self, frame: FrameType, called: Any, watched: bool) -> bool:
        """Note a call, and return whether to hear the next one from the same place in a library."""
        if called is os.urandom:
            line = _line_of(frame)
            if line is not None and _is_asked_for(frame):
                self.calls["entropy", line] = "os.urandom"
            return True
        if not watched or not isinstance(called, BuiltinFunctionType):
            return False
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
        return False


def _only_computes(instruction: dis.Instruction) -> bool:
    if instruction.opname == "BINARY_OP":
        return instruction.argrepr in _OPERATORS
    return _COMPUTING.fullmatch(instruction.opname) is not None


def _views(holders: Iterable[Holder]) -> Views:
    return Views(view for holder in holders for view in holder.views)


def _change(holder: Holder, line: Line | None, beside_tracers: bool) -> Change:
    if holder.kind == "random":
        return Change("random", holder.words, line)
    return Change("change", holder.words, line, *holder.before_and_after(beside_tracers))


def _leak(holder: Holder, tracer: tuple[str, Any], line: Line | None) -> Change:
    place, value = tracer
    return Change("leak", holder.words, line, place, describe_value(value).text)


def _is_users(frame: FrameType) -> bool:
    if not is_users_code(frame.f_code):
        return False
    if frame.f_code.co_filename != "<string>":
        return True
    # Code that a library generates is its own; `python -c` runs in a module without a file.
    return not is_library(frame.f_globals.get("__file__") or "")


def _is_asked_for(frame: FrameType | None) -> bool:
    """Return whether the user's code called a random number generator, and no library of its own accord."""
    while frame is not None and not _is_users(frame):
        file = frame.f_code.co_filename
        if package_name(file) not in _RANDOM_PACKAGES or file.startswith("<frozen importlib"):
            return False
        frame = frame.f_back
    return frame is not None


def _line_of(frame: FrameType | None) -> Line | None:
    while frame is not None and not _is_users(frame):
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
