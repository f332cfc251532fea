"""Hear what chosen code does, line by line, at no cost to the code around it if Python can do that (since 3.12)."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

_MONITORING: Any = getattr(sys, "monitoring", None)  # since Python 3.12
_TOOL = 4
_KINDS = {"PY_START": "call", "LINE": "line", "PY_RETURN": "return", "RAISE": "exception"}


@contextmanager
def code_events(codes: Iterable[CodeType], hears: Callable[[FrameType, str], None]) -> Iterator[None]:
    """Report the events of some code on this thread, in a `with` block.

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
    thread = threading.get_ident()

    def traced(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if id(frame.f_code) not in watched:
            return None
        hears(frame, event)
        return traced

    def callback(kind: str) -> Callable[..., None]:
        def heard(code: CodeType, *_: Any) -> None:
            if id(code) in watched and threading.get_ident() == thread:
                hears(sys._getframe(1), kind)

        return heard

    if _MONITORING is None or _MONITORING.get_tool(_TOOL) is not None:
        before = sys.gettrace()
        sys.settrace(traced)  # calls Python code at every call in the block
        try:
            yield
        finally:
            sys.settrace(before)
        return
    events = {getattr(_MONITORING.events, name): kind for name, kind in _KINDS.items()}
    raised = _MONITORING.events.RAISE  # of all code: it cannot be had of one (3.12 to 3.14)
    _MONITORING.use_tool_id(_TOOL, "jaxguide")
    try:
        for event, kind in events.items():
            _MONITORING.register_callback(_TOOL, event, callback(kind))
        for code in watched.values():
            _MONITORING.set_local_events(_TOOL, code, sum(events) - raised)
        _MONITORING.set_events(_TOOL, raised)
        yield
    finally:
        _MONITORING.set_events(_TOOL, 0)
        for code in watched.values():
            _MONITORING.set_local_events(_TOOL, code, 0)
        for event in events:
            _MONITORING.register_callback(_TOOL, event, None)
        _MONITORING.free_tool_id(_TOOL)
