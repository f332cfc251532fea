"""Limit how often a function is traced, and explain the first trace beyond the limit."""

import functools
import sys
import warnings
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from jaxguide.base.text import plural
from jaxguide.code.frames import is_users_code
from jaxguide.code.lines import calling_line
from jaxguide.compat.debug_flags import DISABLE_JIT, is_on
from jaxguide.compat.jit_calls import JitCall, frame_of_jit
from jaxguide.jaxpr.arguments import nothing_is_traced
from jaxguide.jaxpr.value_words import describe
from jaxguide.tracing.differences import Difference, closest_differences
from jaxguide.tracing.functions import clear_caches, is_jitted, name_of, written_function
from jaxguide.tracing.jit_events import hearing
from jaxguide.tracing.retraces import Retrace, Watch
from jaxguide.tracing.signatures import Signature, signature

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

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(fn) or isinstance(fn, type):
            raise TypeError(
                f"`@max_traces({n})` decorates one function or method, but got {describe(fn)}: write it above the "
                f"`def`, or `limited = max_traces({n})(f)`, and call the result like `f`."
            )
        return _below_jit(fn, int(n)) if _is_plain(fn) else _LimitedJit(fn, int(n))

    return decorate


class _LimitedJit:
    """A function that is jitted in some way, whose traces are counted, with the attributes of the one it wraps."""

    def __init__(self, fn: Callable[..., Any], allowed: int) -> None:
        functools.update_wrapper(self, fn)
        body = written_function(fn)
        if body is None or not (is_jitted(fn) or is_users_code(body.__code__)):
            raise TypeError(
                f"`max_traces` does not find which Python function in {name_of(fn)} is yours: write "
                f"`@max_traces({allowed})` directly above the `def`, below what jits it."
            )
        self._fn, self._body, self._allowed, self._watch, self._count = fn, body, allowed, Watch(), 0
        clear_caches(fn)  # so that the count does not depend on earlier calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        _warn_without_jit()
        with hearing(self._watch):
            result = self._fn(*args, **kwargs)
        found = self._watch.counted(self._body)
        before, self._count = self._count, sum(one.traces for one in found)
        if self._count > max(before, self._allowed):
            again = [retrace for one in found for retrace in one.retraces]
            raise _too_many(name_of(self._fn), self._count, self._allowed, again[-1] if again else None)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_fn"], name)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)


def _warn_without_jit() -> None:
    if is_on(DISABLE_JIT):  # the function still works, to be debugged
        warnings.warn(nothing_is_traced("max_traces"), stacklevel=3)


def _below_jit(fn: Callable[..., Any], allowed: int) -> Callable[..., Any]:
    earlier: list[Signature] = []

    @functools.wraps(fn)
    def limited(*args: Any, **kwargs: Any) -> Any:
        _warn_without_jit()
        if frame_of_jit(sys._getframe(1)) is not None:
            new = signature(JitCall(limited, None, args, kwargs), frozenset())
            differences = tuple(closest_differences(new, earlier)) or _SAME
            retrace = Retrace(name_of(fn), calling_line(), differences) if earlier else None
            earlier.append(new)
            if len(earlier) > allowed:
                raise _too_many(name_of(fn), len(earlier), allowed, retrace)
        return fn(*args, **kwargs)

    return limited


def _too_many(name: str, count: int, allowed: int, retrace: Retrace | None) -> TooManyTracesError:
    counted = plural("{count} time", "{count} times", count)
    message = f"{name} was traced {counted}; {plural('{count} is allowed', '{count} are allowed', allowed)}."
    if retrace is not None:
        message += f" {retrace} What to do: {retrace.remedy}."
    return TooManyTracesError(message, retrace)


def _is_plain(fn: Any) -> bool:
    """Return whether calling `fn` runs a Python function and nothing else, so that it is to be jitted."""
    while isinstance(fn, functools.partial | MethodType):
        fn = fn.func if isinstance(fn, functools.partial) else fn.__func__
    called = fn if isinstance(fn, FunctionType) else vars(type(fn)).get("__call__")
    is_python = isinstance(called, FunctionType) and (called is fn or is_users_code(called.__code__))
    return is_python and not hasattr(fn, "__wrapped__") and not hasattr(called, "__wrapped__")
