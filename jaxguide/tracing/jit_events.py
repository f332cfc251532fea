"""Listen to every trace and every XLA compilation on the current thread."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import jax

from jaxguide.compat.jit_calls import tell_of_traces

# Set in tests, so that errors in listeners show there and never to users.
listeners_may_raise = False

_TRACE_EVENT = "/jax/core/compile/jaxpr_trace_duration"
_COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"


class Listener:
    """An object that `hearing` notifies; by default, it ignores everything."""

    def traced(self, frame: FrameType) -> None:
        """Handle the start of a trace, possibly of a function of JAX's own, in this frame; see `traced_call`."""

    def timed(self, seconds: float) -> None:
        """Handle the end of a trace by `jax.jit` that was not part of another."""

    def compiled(self, name: str, seconds: float) -> None:
        """Handle a compiled program, given its name, such as `jit(step)`."""


_thread = threading.local()


@contextmanager
def hearing(*listeners: Listener) -> Iterator[None]:
    """Notify the listeners of what this thread traces and compiles in the `with` block; blocks may be nested.

    With no listener, nobody is notified: helpers use this around what they trace of their own accord.
    """
    tell_of_traces(_started)
    _listen_to_times()
    previous = _listeners()
    _thread.listeners = (*previous, *listeners) if listeners else ()
    try:
        yield
    finally:
        _thread.listeners = previous


def _listeners() -> tuple[Listener, ...]:
    found: tuple[Listener, ...] = getattr(_thread, "listeners", ())
    return found


def _notify(tell: Callable[[Listener], None]) -> None:
    """Tell each listener of this thread; its errors must not end the program that it watches."""
    for listener in _listeners():
        try:
            tell(listener)
        except Exception:  # a user's objects may do anything when inspected
            if listeners_may_raise:
                raise


def _started(frame: FrameType) -> None:
    _notify(lambda listener: listener.traced(frame))


@functools.cache
def _listen_to_times() -> None:
    """Start listening to JAX's events, only once, because there is no public way to stop."""

    def on_event(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event == _TRACE_EVENT:
            _notify(lambda listener: listener.timed(duration_secs))
        elif event == _COMPILE_EVENT:
            _notify(lambda listener: listener.compiled(str(kwargs.get("fun_name")), duration_secs))

    jax.monitoring.register_event_duration_secs_listener(on_event)
