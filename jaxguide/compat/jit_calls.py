"""What JAX compares when it looks for a trace, and the frame in which it was called (0.10.2 to 0.12.0.1)."""

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

from jaxguide.compat import in_jax

# Names in the trace context that are not names of settings.
MESH_CONTEXT = "abstract_mesh_context_manager"
AXES_CONTEXT = "axis_env_state"
# What traces a user's function without `jax.jit`, and compiles it at each call if nothing around it is traced.
EAGER_LOOPS = ("scan", "fori_loop", "while_cond", "while_body", "cond", "switch")
# Files of JAX between the caller of a jitted function and its trace.
_CALLING = ("partial_eval.py", "pjit.py", "traceback_util.py")


class JitCall(NamedTuple):
    """A call for which JAX makes a trace or compiles a program.

    Args:
        function: the Python function.
        options: what `jax.jit` keeps of its arguments, identical in all calls of one jitted function; None for others.
        args, kwargs: the arguments; of a function that `jax.jit` does not get, only their types.
        traced_for: what traces it, such as "jit" or "scan".
    """

    function: Callable[..., Any]
    options: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    traced_for: str = "jit"

    def is_static(self, position: int | None, name: str) -> bool:
        """Return whether the argument at a position, or None and its name, is declared static."""
        numbers = getattr(self.options, "static_argnums", ())  # JAX infers positions from names, and names from them
        positions = [number + len(self.args) if number < 0 else number for number in numbers]
        return position in positions or name in getattr(self.options, "static_argnames", ())


def tell_of_traces(tell: Callable[[FrameType], None]) -> None:
    """Have JAX call `tell` when it starts a trace, on the thread that traces, with its frame; see `traced_call`.

    JAX's own tests count traces with this hook, which also covers traces inside others, unlike `jax.monitoring`.
    """
    from jax._src import util

    others = util.test_event_listener
    if getattr(others, "tells", None) is tell:
        return

    def heard(name: str, *args: Any) -> None:
        if others is not None:
            others(name, *args)
        if name == "trace_to_jaxpr":
            tell(sys._getframe(2))

    vars(heard)["tells"] = tell
    util.test_event_listener = heard


@functools.cache
def _tracing_code() -> CodeType:
    from jax._src import pjit

    return pjit._trace_for_jit.__code__


def frame_of_jit(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame, from `frame` outward, in which `jax.jit` makes a trace, or None."""
    while frame is not None and frame.f_code is not _tracing_code():
        frame = frame.f_back
    return frame


def call_of_jit(frame: FrameType) -> JitCall:
    """Return the call that is traced in a frame of `frame_of_jit`."""
    held = frame.f_locals
    return JitCall(held["fun"], held["ji"], held["args"], held["kwargs"])


def traced_call(frame: FrameType) -> JitCall | None:
    """Return the call that is traced in a frame that `tell_of_traces` told of; None if the function is not a user's."""
    if frame.f_back is not None and frame.f_back.f_code is _tracing_code():
        return call_of_jit(frame.f_back)
    held = frame.f_locals
    traced_for = held["debug_info"].traced_for
    if traced_for not in EAGER_LOOPS:
        return None
    args, kwargs = held["in_avals"].unflatten()
    return JitCall(held["fun"], None, args, kwargs, traced_for)


def caller_of_jit(frame: FrameType | None) -> FrameType | None:
    """Return the frame that called the jitted function that is traced in this frame."""
    while frame is not None and os.path.basename(frame.f_code.co_filename) in _CALLING and in_jax(frame.f_code):
        frame = frame.f_back
    return frame


def is_frame_of_loop(frame: FrameType) -> bool:
    """Return whether a frame is between a trace of `EAGER_LOOPS` and their caller."""
    return os.path.basename(frame.f_code.co_filename) in (*_CALLING, "loops.py", "conditionals.py")


def known_calls(function: Callable[..., Any]) -> list[tuple[JitCall, dict[str, Any]]]:
    """Return the calls of a function that JAX has a trace of, with their contexts; arguments have only their types."""
    from jax._src import config
    from jax._src.interpreters import partial_eval

    names = config.trace_context_names()
    found = []
    for reference, context, (avals, *_), *_ in partial_eval.trace_to_jaxpr.cache_keys():
        if reference() is function and len(context) == len(names):
            with contextlib.suppress(Exception):  # a user's container that accepts only arrays
                args, kwargs = avals.unflatten()
                found.append((JitCall(function, None, args, kwargs), dict(zip(names, context, strict=True))))
    return found


def jit_call(frame: FrameType | None) -> JitCall | None:
    """Return the innermost call of a jitted function, from `frame` outward; None if JAX's frames do not show it."""
    while frame is not None:
        held = frame.f_locals
        if {"fun", "jit_info", "args", "kwargs"}.issubset(held) and isinstance(held["args"], tuple):
            return JitCall(held["fun"], held["jit_info"], held["args"], held["kwargs"])
        frame = frame.f_back
    return None


def trace_context() -> dict[str, Any]:
    """Return the settings and contexts by which JAX tells traces apart, by their names.

    >>> trace_context()["jax_enable_x64"]
    False
    """
    from jax._src import config

    return dict(zip(config.trace_context_names(), config.trace_context(), strict=True))


def option_change(old: Any, new: Any) -> tuple[str, Any, Any] | None:
    """Return the first argument of `jax.jit` that differs in two of its options, with its values; None if none does."""
    for field in getattr(new, "_fields", ()):
        was, now = getattr(old, field), getattr(new, field)
        if was != now and not field.startswith(("fun_", "user_")) and "treedef" not in field:
            return field.removesuffix("_leaves").removesuffix("_kvs"), was, now
    return None
