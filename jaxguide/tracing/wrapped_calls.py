"""Find the user's call behind a trace of a function of another library, such as `equinox.filter_jit`."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import jax

from jaxguide import compat
from jaxguide.code.frames import is_library, is_own, package_of
from jaxguide.compat.jit_calls import JitCall
from jaxguide.tracing.functions import written_function


def users_call(call: JitCall, frame: FrameType | None) -> tuple[JitCall, frozenset[int] | None]:
    """Return the call that the user made, if a library jits a function of its own that calls the user's.

    Of the library's frames between the user and JAX, the innermost with `args`, `kwargs` and an object that wraps the
    user's function, or one that the user's code called, holds that call. Anything else is returned as it is.

    Args:
        call: the call that JAX traces or compiles.
        frame: the frame of JAX that does.

    Returns:
        The call, and the ids of the values that the library has traced; None if no library decides that.
    """
    if package_of_function(call.function) is None:
        return call, None
    while frame is not None and (compat.in_jax(frame.f_code) or is_own(frame.f_code.co_filename)):
        frame = frame.f_back
    package = frame and package_of(frame.f_code.co_filename)
    found: JitCall | None = None
    while frame is not None and package and package_of(frame.f_code.co_filename) == package:
        held = frame.f_locals
        args, kwargs = held.get("args"), held.get("kwargs")
        wrapped = _wrapped(held)
        if found is None and wrapped is not None and isinstance(args, tuple) and isinstance(kwargs, dict):
            found = JitCall(wrapped, None, args, kwargs)
            written = written_function(wrapped)
            if written is not None and not is_library(written.__code__.co_filename):
                return found, _traced_ids(call)
        frame = frame.f_back
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    if found is None or frame is None or is_library(frame.f_code.co_filename):
        return call, None
    return found, _traced_ids(call)


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


def _traced_ids(call: JitCall) -> frozenset[int]:
    given = [*((i, "", value) for i, value in enumerate(call.args)), *((None, *one) for one in call.kwargs.items())]
    return frozenset(map(id, jax.tree.leaves([value for i, name, value in given if not call.is_static(i, name)])))
