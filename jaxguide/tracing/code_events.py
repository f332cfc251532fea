"""Hear what chosen code does, line by line, at no cost to the code around it if Python can do that (since 3.12)."""

import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from types import CodeType, FrameType
from typing import Any

_MONITORING: Any = getattr(sys, "monitoring", None)  # since Python 3.12
_TOOL = 4
Hears = Callable[[FrameType, str], None]


def code_events(codes: Iterable[CodeType], hears: Hears) -> AbstractContextManager[Any]:
    """Report the events of some code on this thread, as a context manager.

    >>> def double(x):
    ...     return 2 * x
    >>> with code_events([double.__code__], lambda frame, event: print(event)):
    ...     _ = double(abs(-1))
    call
    line
    return

    Without `sys.monitoring`, the block suspends what `sys.settrace` set, such as a debugger's or coverage's function.

    Args:
        codes: the code to watch.
        hears: is given the frame and 'call', 'line', 'return' or 'exception'.
    """
    watched = {id(code): code for code in codes}  # an id is unique only while its object is alive
    if _MONITORING is not None and _MONITORING.get_tool(_TOOL) is None:
        return _Monitored(watched, hears)
    return _Traced(watched, hears)


class _Traced:
    """Hear events through `sys.settrace`, which calls Python code at every call in the block."""

    def __init__(self, watched: dict[int, CodeType], hears: Hears) -> None:
        self._watched, self._hears = watched, hears

    def __enter__(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._called)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _called(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        return self._moved(frame, event, _) if id(frame.f_code) in self._watched else None

    def _moved(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        self._hears(frame, event)
        return self._moved


class _Monitored:
    """Hear events through `sys.monitoring`, which leaves other code alone."""

    def __init__(self, watched: dict[int, CodeType], hears: Hears) -> None:
        self._watched, self._hears = watched, hears
        kinds = {"PY_START": "call", "LINE": "line", "PY_RETURN": "return", "RAISE": "exception"}
        self._kinds = {getattr(_MONITORING.events, event): kind for event, kind in kinds.items()}

    def __enter__(self) -> None:
        self._thread = threading.get_ident()
        _MONITORING.use_tool_id(_TOOL, "jaxguide")
        for event, kind in self._kinds.items():
            _MONITORING.register_callback(_TOOL, event, self._callback(kind))
        raised = _MONITORING.events.RAISE  # of all code: it cannot be had of one (3.12 to 3.14)
        for code in self._watched.values():
            _MONITORING.set_local_events(_TOOL, code, sum(self._kinds) - raised)
        _MONITORING.set_events(_TOOL, raised)

    def __exit__(self, *_: object) -> None:
        _MONITORING.set_events(_TOOL, 0)
        for code in self._watched.values():
            _MONITORING.set_local_events(_TOOL, code, 0)
        for event in self._kinds:
            _MONITORING.register_callback(_TOOL, event, None)
        _MONITORING.free_tool_id(_TOOL)

    def _callback(self, kind: str) -> Callable[..., None]:
        def heard(code: CodeType, *_: Any) -> None:
            if id(code) in self._watched and threading.get_ident() == self._thread:
                self._hears(sys._getframe(1), kind)

        return heard
