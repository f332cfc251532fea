"""Limit how often a function is traced, and explain the first trace beyond the limit."""

import functools
import warnings
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from jaxguide.base.text import plural
from jaxguide.code.frames import is_users_code
from jaxguide.compat.debug_flags import DISABLE_JIT, is_on
from jaxguide.jaxpr.arguments import nothing_is_traced
from jaxguide.jaxpr.value_words import describe
from jaxguide.tracing.functions import clear_caches, is_jitted, name_of, written_function
from jaxguide.tracing.jit_events import hearing
from jaxguide.tracing.retraces import Retrace, Watch


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

    Write it above `jax.jit`, `equinox.filter_jit`, `flax.nnx.jit`, `jax.pmap` or what wraps a jitted function. It
    clears the caches of the jitted functions in it, and counts the traces of the Python function below it in calls of
    the result. `step.lower` and the like still work. The error is raised once the call that exceeds the limit is done.

    Calls that trace nothing take a few microseconds longer. The compiled program is the same. In pytest, the fixture
    `max_traces` is this decorator.

    Args:
        n: the number of traces allowed, counted from the decoration.

    Returns:
        The decorator.

    Raises:
        TooManyTracesError: when the function is traced more than `n` times.
        TypeError: if `n` is not a number, or what is decorated is not a jitted function that is written in Python.

    Warns:
        UserWarning: at a call, if `jax_disable_jit` is on, so that nothing is traced.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise TypeError(
            f"`max_traces` needs the number of traces to allow, 0 or more, but got {describe(n)}: write "
            "`@max_traces(1)` above the function."
        )

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        body = written_function(fn) if _is_wrapper(fn) else None
        if body is None or not (is_jitted(fn) or is_users_code(body.__code__)):
            raise TypeError(
                f"`@max_traces({n})` decorates a jitted function of yours, but got {describe(fn)}: write it above "
                f"`@jax.jit`, or `limited = max_traces({n})(jax.jit(f))`, and call the result like `f`."
            )
        return _LimitedJit(fn, body, int(n))

    return decorate


def _is_wrapper(fn: Any) -> bool:
    """Return whether `fn` wraps a function, as what `jax.jit` returns does; so may the function of a method."""
    while isinstance(fn, functools.partial | MethodType):
        fn = fn.func if isinstance(fn, functools.partial) else fn.__func__
    return hasattr(fn, "__wrapped__") or hasattr(vars(type(fn)).get("__call__"), "__wrapped__")


class _LimitedJit:
    """A function that is jitted in some way, whose traces are counted, with the attributes of the one it wraps."""

    def __init__(self, fn: Callable[..., Any], body: FunctionType, allowed: int) -> None:
        functools.update_wrapper(self, fn)
        self._fn, self._body, self._allowed, self._watch, self._count = fn, body, allowed, Watch(), 0
        clear_caches(fn)  # so that the count does not depend on earlier calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if is_on(DISABLE_JIT):  # the function still works, to be debugged
            warnings.warn(nothing_is_traced("max_traces"), stacklevel=2)
        with hearing(self._watch):
            result = self._fn(*args, **kwargs)
        found = self._watch.counted(self._body)
        before, self._count = self._count, sum(one.traces for one in found)
        if self._count > max(before, self._allowed):
            counted = plural("{count} time", "{count} times", self._count)
            allowed = plural("{count} is allowed", "{count} are allowed", self._allowed)
            retrace = next((one.retraces[-1] for one in found if one.retraces), None)
            reason = f" {retrace} What to do: {retrace.remedy}." if retrace is not None else ""
            raise TooManyTracesError(f"{name_of(self._fn)} was traced {counted}; {allowed}.{reason}", retrace)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_fn"], name)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)
