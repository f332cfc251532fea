"""Limit how often a function is traced, and explain the first trace beyond the limit."""

import functools
import sys
import warnings
from collections.abc import Callable
from types import FrameType, FunctionType, MethodType
from typing import Any

import numpy as np

from jaxguide.base.text import plural
from jaxguide.code.frames import is_library
from jaxguide.code.lines import Line, calling_line
from jaxguide.compat.debug_flags import DISABLE_JIT, is_on
from jaxguide.compat.jit_calls import JitCall, call_of_jit, frame_of_jit, traced_call
from jaxguide.jaxpr.arguments import nothing_is_traced
from jaxguide.jaxpr.value_words import describe
from jaxguide.tracing.differences import Difference, closest_differences
from jaxguide.tracing.functions import function_key, is_jitted, name_of, written_function
from jaxguide.tracing.jit_events import Listener, hearing
from jaxguide.tracing.retraces import Retrace
from jaxguide.tracing.signatures import Signature, signature
from jaxguide.tracing.trace_counting import clear_caches, users_part
from jaxguide.tracing.wrapped_calls import users_call

_SAME = (
    Difference(
        "its call is the same: its body runs more than once in one trace or in several jitted functions, the previous "
        "trace failed, or JAX's caches were cleared",
        "allow more traces, or limit the jitted function that calls it",
    ),
)


class TooManyTracesError(RuntimeError):
    """Raised when a function is traced more often than `max_traces` allows.

    Args:
        message: how often it was traced, why it was traced again, and what to do.
        retrace: the trace that exceeded the limit; None if the limit is 0.
    """

    def __init__(self, message: str, retrace: Retrace | None = None) -> None:
        super().__init__(message)
        self.retrace = retrace


def max_traces(n: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Limit a jitted function to `n` traces; the next one raises an error with its reason and remedy.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> @max_traces(1)
    ... @jax.jit
    ... def step(x):
    ...     return 2 * x
    >>> step(jnp.ones(3)), step(jnp.zeros(3))
    (Array([2., 2., 2.], dtype=float32), Array([0., 0., 0.], dtype=float32))
    >>> step(jnp.ones(4))
    Traceback (most recent call last):
    jaxguide.tracing.trace_limit.TooManyTracesError: `step` was traced 2 times; 1 is allowed. `step` was traced again at
    ...: argument `x` was float32[3] and is now float32[4]. What to do: call it with arrays of one shape: ...

    Write it above or below `jax.jit`:

    - Above, also above `equinox.filter_jit`, `flax.nnx.jit`, `jax.pmap` and what wraps a jitted function, it clears the
      caches of the jitted functions in it, and counts the traces of the Python function below it. `step.lower` and the
      like still work. The error is raised once the call that exceeds the limit is done.
    - Below, it counts how often the function's Python body runs while `jax.jit` traces, also under `jax.vmap` and
      `jax.grad` and inside other jitted functions. The error is raised before the trace that exceeds the limit.

    Calls that trace nothing take a few microseconds longer above `jax.jit`, and no longer below it. The compiled
    program is the same. In pytest, the fixture `max_traces` is this decorator.

    Args:
        n: the number of traces allowed, counted from the decoration.

    Returns:
        The decorator.

    Raises:
        TooManyTracesError: when the function is traced more than `n` times.
        TypeError: if `n` is not a number, the decorated object is not a function, or which Python function is below it
            is not clear.

    Warns:
        UserWarning: at a call, if `jax_disable_jit` is on, so that nothing is traced.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise TypeError(
            f"`max_traces` needs the number of traces to allow, 0 or more, but got {describe(n)}: write "
            "`@max_traces(1)` above the function."
        )
    allowed = int(n)

    def decorate(*given: Callable[..., Any]) -> Callable[..., Any]:
        if len(given) != 1 or not callable(given[0]) or isinstance(given[0], type):
            got = describe(given[0]) if len(given) == 1 else plural("{count} argument", "{count} arguments", len(given))
            raise TypeError(
                f"`@max_traces({n})` decorates one function or method, but got {got}: write it above the `def`, or "
                f"`limited = max_traces({n})(f)`, and call the result like `f`."
            )
        (fn,) = given
        limit = _Limit(fn, allowed)
        body = _body(fn)
        if _is_plain(fn, body):
            return _below_jit(fn, limit)
        if body is None:
            raise TypeError(
                f"`max_traces` does not find which Python function in {limit.name} is yours: write "
                f"`@max_traces({allowed})` directly above the `def`, below what jits it."
            )
        return _LimitedJit(fn, limit, body)

    return decorate


class _Limit:
    """Count the traces of one function against its limit."""

    def __init__(self, fn: Callable[..., Any], allowed: int) -> None:
        self.name = name_of(fn)
        self._allowed = allowed
        self._earlier: list[Signature] = []

    def add(self, new: Signature, line: Line | None) -> TooManyTracesError | None:
        """Count a trace, which the user's line made, and return the error if it exceeds the limit."""
        earlier, self._earlier = self._earlier, [*self._earlier, new]
        count = len(self._earlier)
        if count <= self._allowed:
            return None
        counted = plural("{count} time", "{count} times", count)
        allowed = plural("{count} is allowed", "{count} are allowed", self._allowed)
        message = f"{self.name} was traced {counted}; {allowed}."
        if not earlier:
            return TooManyTracesError(message)
        retrace = Retrace(self.name, line, tuple(closest_differences(new, earlier)) or _SAME)
        return TooManyTracesError(f"{message} {retrace} What to do: {retrace.remedy}.", retrace)


class _LimitedJit(Listener):
    """A function that is jitted in some way, whose traces are counted, with the attributes of the one it wraps."""

    def __init__(self, fn: Callable[..., Any], limit: _Limit, body: FunctionType) -> None:
        functools.update_wrapper(self, fn)
        self._fn, self._limit, self._body = fn, limit, body
        self._error: TooManyTracesError | None = None
        self._caller: FrameType | None = None
        clear_caches(fn)  # so that the count does not depend on earlier calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        _warn_without_jit()
        self._error, self._caller = None, sys._getframe(1)
        try:
            with hearing(self):
                result = self._fn(*args, **kwargs)
        finally:
            self._caller = None
        if self._error is not None:
            raise self._error
        return result

    def traced(self, frame: FrameType) -> None:
        call = traced_call(frame)
        if call is not None and call.traced_for == "jit":
            call, ids = users_call(call, frame)
            if _body(call.function) is self._body:
                self._error = self._limit.add(signature(call, ids), calling_line(self._caller)) or self._error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_fn"], name)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)


def _warn_without_jit() -> None:
    if is_on(DISABLE_JIT):  # the function still works, to be debugged
        warnings.warn(nothing_is_traced("max_traces"), stacklevel=3)


def _below_jit(fn: Callable[..., Any], limit: _Limit) -> Callable[..., Any]:
    @functools.wraps(fn)
    def limited(*args: Any, **kwargs: Any) -> Any:
        _warn_without_jit()
        frame = frame_of_jit(sys._getframe(1))
        if frame is None:
            return fn(*args, **kwargs)
        new = signature(call_of_jit(frame))
        if new.function.key[-len(key) :] != key:  # neither `limited` itself nor a transformation of it
            new = signature(JitCall(limited, None, args, kwargs), frozenset())
        error = limit.add(new, calling_line())
        if error is not None:
            raise error
        return fn(*args, **kwargs)

    key = function_key(limited)
    return limited


def _is_plain(fn: Any, body: FunctionType | None) -> bool:
    """Return whether calling `fn` runs a Python function and nothing else, so that it is to be jitted."""
    while isinstance(fn, functools.partial | MethodType):
        fn = fn.func if isinstance(fn, functools.partial) else fn.__func__
    called = fn if isinstance(fn, FunctionType) else vars(type(fn)).get("__call__")
    is_python = isinstance(called, FunctionType) and not hasattr(called, "__wrapped__")
    return is_python and (body is called or (body is None and called is fn))


def _body(fn: Any) -> FunctionType | None:
    """Return the user's Python function that a function runs or wraps; a library's, too, if `jax.jit` returned it."""
    written = written_function(fn)
    if written is not None and (is_jitted(fn) or not is_library(written.__code__.co_filename)):
        return written
    found = users_part(fn)
    return found and written_function(found)
