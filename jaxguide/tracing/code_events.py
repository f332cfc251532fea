"""Hear what chosen code does, line by line, at no cost to the code around it if Python can do that (since 3.12)."""

import inspect
import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType, FrameType
from typing import Any

import jax

from jaxguide import compat

_JAX = f"{os.path.dirname(jax.__file__)}{os.sep}"
_MONITORING: Any = getattr(sys, "monitoring", None)  # since Python 3.12
Watches = Callable[[FrameType], bool]
Hears = Callable[[FrameType, str], None]
HearsCall = Callable[[FrameType, Any, bool], bool | None]


def code_events(
    watches: Watches, hears: Hears, *, opcodes: Callable[[CodeType], bool] | None = None, calls: HearsCall | None = None
) -> AbstractContextManager[Any]:
    """Report the events of watched code on this thread, as a context manager.

    In the block it replaces the functions set by `sys.settrace` and `sys.setprofile`; it restores them on exit.

    >>> def double(x):
    ...     return 2 * x
    >>> with code_events(lambda frame: frame.f_code is double.__code__, lambda frame, event: print(event)):
    ...     _ = double(abs(-1))
    call
    line
    return

    Args:
        watches: tells from a frame whether to watch its code; asked once per code object, or a few times.
        hears: is given the frame and 'call', 'line', 'return', 'exception' or 'opcode'.
        opcodes: tells whether to report each instruction of watched code, too; by default none.
        calls: is given the frame, the object that it calls, and whether the frame's code is watched. At least all calls
            of functions written in C from watched code are reported, and the first call from each place elsewhere;
            if it returns true, also the next from that place.
    """
    opcodes = opcodes or (lambda code: False)
    if _MONITORING is not None:
        tool = next((number for number in (3, 4) if _MONITORING.get_tool(number) is None), None)
        if tool is not None:
            return _Monitored(tool, watches, hears, opcodes, calls)
    return _Traced(watches, hears, opcodes, calls)


class Untraced:
    """Suspend what `sys.settrace` and `sys.setprofile` set, such as a debugger's or coverage's function."""

    def __enter__(self) -> "Untraced":
        self._before = sys.gettrace(), sys.getprofile()
        sys.settrace(None)
        sys.setprofile(None)
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        trace, profile = self._before
        sys.settrace(trace)
        sys.setprofile(profile)

    def _start(self) -> None:
        """Start what replaces them in the block."""

    def _stop(self) -> None:
        """Stop what replaced them."""


class _Traced(Untraced):
    """Hear events through `sys.settrace`, which calls Python code at every call in the block."""

    def __init__(
        self, watches: Watches, hears: Hears, opcodes: Callable[[CodeType], bool], calls: HearsCall | None
    ) -> None:
        self._watches, self._hears, self._opcodes, self._calls = watches, hears, opcodes, calls
        self._known: dict[int, tuple[bool, CodeType]] = {}  # an id is unique only while its object is alive
        self._profiling = False
        self._called_now: FrameType | None = None  # a watched frame that has not run a line

    def _start(self) -> None:
        # Python 3.12 sends opcode events only if some frame requested them before `settrace` was called.
        here = inspect.currentframe()
        if here is not None:
            here.f_trace_opcodes = True
        self._profile(True)
        sys.settrace(self._calling())

    def _stop(self) -> None:
        sys.settrace(None)
        sys.setprofile(None)
        self._called_now = None

    def _profile(self, on: bool) -> None:
        if self._calls is not None and on != self._profiling:
            self._profiling = on
            sys.setprofile(self._profiled if on else None)

    def _watched(self, frame: FrameType) -> bool:
        code = frame.f_code
        known = self._known.get(id(code))
        if known is None:
            known = self._known[id(code)] = self._watches(frame), code
        return known[0]

    def _calling(self) -> Callable[..., Any]:
        """Return what Python calls at every call of a function, millions of times for a large program."""
        unwatched: set[int] = set()  # ids of code that `self._known` keeps alive

        def called(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
            if id(frame.f_code) in unwatched and not self._profiling:
                return None
            if self._watched(frame):
                return self._called(frame, event)
            unwatched.add(id(frame.f_code))
            if self._profiling and frame.f_code.co_filename.startswith(_JAX):
                self._profile(False)  # it doubles the time, and JAX calls nothing that is reported
            return None

        return called

    def _called(self, frame: FrameType, event: str) -> Callable[..., Any]:
        self._profile(True)
        self._hears(frame, event)
        frame.f_trace_opcodes = self._calls is not None or self._opcodes(frame.f_code)
        self._called_now = frame if frame.f_trace_opcodes else None
        return self._moved

    def _moved(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        self._profile(True)
        if frame is self._called_now:
            # Python 3.13 forgets what was requested at the call, and takes a new request only if it is withdrawn first.
            frame.f_trace_opcodes = False
            frame.f_trace_opcodes = True
            self._called_now = None
        if event != "opcode" or self._opcodes(frame.f_code):
            self._hears(frame, event)
        return self._moved

    def _profiled(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and self._calls is not None:
            self._calls(frame, called, self._watched(frame))


class _Monitored(Untraced):
    """Hear events through `sys.monitoring`, which leaves other code alone once it ran for the first time."""

    def __init__(
        self,
        tool: int,
        watches: Watches,
        hears: Hears,
        opcodes: Callable[[CodeType], bool],
        calls: HearsCall | None,
    ) -> None:
        self._tool = tool
        self._watches, self._hears, self._opcodes, self._calls = watches, hears, opcodes, calls
        self._watched: dict[int, CodeType] = {}

    def _start(self) -> None:
        monitoring, events = _MONITORING, _MONITORING.events
        self._thread = threading.get_ident()
        monitoring.use_tool_id(self._tool, "jaxguide")
        callbacks = {
            events.PY_START: self._entered,
            events.PY_RESUME: self._entered,
            events.PY_UNWIND: self._unwound,
            events.RAISE: self._raised,
        }
        if self._calls is not None:
            callbacks[events.CALL] = self._call
        here = {
            events.LINE: self._line,
            events.JUMP: self._jumped,
            events.INSTRUCTION: self._instruction,
            events.PY_RETURN: self._returned,
            events.PY_YIELD: self._returned,
        }
        self._registered = callbacks | here
        for event, callback in self._registered.items():
            monitoring.register_callback(self._tool, event, callback)
        monitoring.restart_events()
        monitoring.set_events(self._tool, sum(callbacks))

    def _stop(self) -> None:
        monitoring = _MONITORING
        monitoring.set_events(self._tool, 0)
        for code in self._watched.values():
            monitoring.set_local_events(self._tool, code, 0)
        for event in self._registered:
            monitoring.register_callback(self._tool, event, None)
        monitoring.free_tool_id(self._tool)

    def _entered(self, code: CodeType, _offset: int) -> Any:
        if threading.get_ident() != self._thread:
            return None
        if id(code) not in self._watched:
            if not self._watches(sys._getframe(1)):
                return _MONITORING.DISABLE
            events = _MONITORING.events
            self._watched[id(code)] = code
            local = events.LINE | events.JUMP | events.PY_RETURN | events.PY_YIELD
            local |= events.INSTRUCTION if self._opcodes(code) else 0
            _MONITORING.set_local_events(self._tool, code, local)
        self._hears(sys._getframe(1), "call")
        return None

    def _unwound(self, code: CodeType, *_: Any) -> None:
        if id(code) in self._watched and threading.get_ident() == self._thread:
            self._hears(sys._getframe(1), "return")

    def _raised(self, code: CodeType, *_: Any) -> None:
        if id(code) in self._watched and threading.get_ident() == self._thread:
            self._hears(sys._getframe(1), "exception")

    def _line(self, _code: CodeType, _line: int) -> None:
        if threading.get_ident() == self._thread:
            self._hears(sys._getframe(1), "line")

    def _jumped(self, code: CodeType, start: int, end: int) -> Any:
        # The next pass of a loop on one line is not a new line to `sys.monitoring`.
        if end > start or compat.frame_line(code, start) != compat.frame_line(code, end):
            return _MONITORING.DISABLE
        if threading.get_ident() == self._thread:
            self._hears(sys._getframe(1), "line")
        return None

    def _instruction(self, _code: CodeType, _offset: int) -> None:
        if threading.get_ident() == self._thread:
            self._hears(sys._getframe(1), "opcode")

    def _returned(self, _code: CodeType, *_: Any) -> None:
        if threading.get_ident() == self._thread:
            self._hears(sys._getframe(1), "return")

    def _call(self, code: CodeType, _offset: int, called: Any, _first: Any) -> Any:
        if threading.get_ident() != self._thread or self._calls is None:
            return None
        watched = id(code) in self._watched
        again = self._calls(sys._getframe(1), called, watched)
        return None if watched or again else _MONITORING.DISABLE
