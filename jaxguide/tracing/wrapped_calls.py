"""Find the user's call behind a trace of a function of another library, such as `equinox.filter_jit`."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import jax

from jaxguide import compat
from jaxguide.code.frames import is_library, is_own, package_of
from jaxguide.tracing.functions import written_function
from jaxguide.tracing.jit_events import JitTrace


def users_call(trace: JitTrace, frame: FrameType | None) -> JitTrace:
    """Return the call that the user made, if a library jits a function of its own that calls the user's.

    Of the library's frames between the user and JAX, the innermost with `args`, `kwargs` and an object that wraps the
    user's function, or one that the user's code called, holds that call. Anything else is returned as it is.

    Args:
        trace: the trace as JAX makes it.
        frame: the frame of JAX that starts it.
    """
    if not is_jitted_by_a_library(trace.function):
        return trace
    while frame is not None and (compat.in_jax(frame.f_code) or is_own(frame.f_code.co_filename)):
        frame = frame.f_back
    package = frame and package_of(frame.f_code.co_filename)
    found: JitTrace | None = None
    while frame is not None and package and package_of(frame.f_code.co_filename) == package:
        held = frame.f_locals
        args, kwargs = held.get("args"), held.get("kwargs")
        wrapped = _wrapped(held)
        if found is None and wrapped is not None and isinstance(args, tuple) and isinstance(kwargs, dict):
            ids = frozenset(map(id, jax.tree.leaves(_traced_arguments(trace))))
            found = trace._replace(
                function=wrapped, args=args, kwargs=kwargs, static_argnums=(), static_argnames=(), traced=ids
            )
            if _is_written_by_the_user(wrapped):
                return found
        frame = frame.f_back
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    is_called_by_the_user = frame is not None and not is_library(frame.f_code.co_filename)
    return found if found is not None and is_called_by_the_user else trace


def is_jitted_by_a_library(function: Any) -> bool:
    """Return whether a jitted function is made by a library other than JAX: its code, or an object of its class."""
    return package_of_function(function) is not None


def package_of_function(function: Any) -> str | None:
    """Return the installed package, other than JAX, that defines a function or the class of a callable object."""
    code = getattr(function, "__code__", None)
    file = code.co_filename if code is not None else ""
    if code is None:
        file = getattr(sys.modules.get(type(function).__module__), "__file__", None) or ""
    return package_of(file)


def _wrapped(held: dict[str, Any]) -> Callable[..., Any] | None:
    """Return the Python function that an object in a frame wraps."""
    for value in held.values():
        if callable(value) and not isinstance(value, type) and hasattr(value, "__wrapped__"):
            inner: Callable[..., Any] = value.__wrapped__
            if written_function(inner) is not None:
                return inner
    return None


def _is_written_by_the_user(function: Callable[..., Any]) -> bool:
    written = written_function(function)
    return written is not None and not is_library(written.__code__.co_filename)


def _traced_arguments(trace: JitTrace) -> Any:
    args, kwargs = trace.args or (), trace.kwargs or {}
    static = {number + len(args) if number < 0 else number for number in trace.static_argnums}
    named = {name: value for name, value in kwargs.items() if name not in trace.static_argnames}
    return [value for i, value in enumerate(args) if i not in static], named
