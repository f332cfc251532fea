"""Listen to every trace and every XLA compilation on the current thread."""

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax

from jaxguide.compat.jit_calls import tell_of_traces

# Set in tests, so that errors in listeners show there and never to users.
listeners_may_raise = False

_TRACE_EVENT = "/jax/core/compile/jaxpr_trace_duration"
_COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"


_thread = threading.local()


@contextmanager
def hearing(*listeners: Any) -> Iterator[None]:
    """Notify the listeners of what this thread traces and compiles in the `with` block; blocks may be nested.

    Without listeners, nobody is notified of it: helpers trace in such a block what the user did not call.

    Args:
        listeners: objects with three methods: `traced(frame)` is called when a trace starts, also of a function of
            JAX's own, in that frame (see `traced_call`); `timed(seconds)` when one by `jax.jit` that was not part of
            another has ended; `compiled(name, seconds)` after a compilation of a program, such as `jit(step)`.
    """
    tell_of_traces(_started)
    _listen_to_times()
    previous = getattr(_thread, "listeners", ())
    _thread.listeners = (*previous, *listeners) if listeners else ()
    try:
        yield
    finally:
        _thread.listeners = previous


def _notify(event: str, *told: Any) -> None:
    """Tell each listener of this thread; its errors must not end the program that it watches."""
    for listener in getattr(_thread, "listeners", ()):
        try:
            getattr(listener, event)(*told)
        except Exception:  # a user's objects may do anything when inspected
            if listeners_may_raise:
                raise


_started = functools.partial(_notify, "traced")


@functools.cache
def _listen_to_times() -> None:
    """Start listening to JAX's events, only once, because there is no public way to stop."""

    def on_event(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event == _TRACE_EVENT:
            _notify("timed", duration_secs)
        elif event == _COMPILE_EVENT:
            _notify("compiled", str(kwargs.get("fun_name")), duration_secs)

    jax.monitoring.register_event_duration_secs_listener(on_event)
