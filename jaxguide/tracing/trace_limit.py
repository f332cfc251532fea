"""Limit how often a function is traced, and explain the first trace beyond the limit."""

import functools
import sys
from collections.abc import Callable
from types import MethodType
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import _, plural
from jaxguide.code.lines import calling_line
from jaxguide.jaxpr.value_words import describe
from jaxguide.tracing.functions import is_jitted
from jaxguide.tracing.jit_events import JitTrace, TraceProgress, frame_of_trace, hearing, traced_frame
from jaxguide.tracing.retraces import Retrace
from jaxguide.tracing.signature_differences import Difference, closest_differences
from jaxguide.tracing.signatures import Signature, function_key, name_of, signature


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

    - Above, it clears that jitted function's cache and counts its traces. `step.lower` and the like still work. The
      error is raised once the call that exceeds the limit is done.
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
        TypeError: if `n` is not a number, or the decorated object is not a function.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise TypeError(
            _(
                "`max_traces` needs the number of traces to allow, 0 or more, but got {got}: write "
                "`@max_traces(1)` above the function."
            ).format(got=describe(n))
        )
    allowed = int(n)

    def decorate(*given: Callable[..., Any]) -> Callable[..., Any]:
        _require_one_function(allowed, given)
        (fn,) = given
        jitted = _jitted_part(fn)
        return _below_jit(fn, _Limit(fn, allowed)) if jitted is None else _LimitedJit(fn, jitted, allowed)

    return decorate


def _require_one_function(n: int, given: tuple[Any, ...]) -> None:
    if len(given) == 1 and callable(given[0]) and not isinstance(given[0], type):
        return
    got = _("nothing") if not given else describe(given[0])
    if len(given) > 1:
        got = plural("{count} argument", "{count} arguments", len(given))
    raise TypeError(
        _(
            "`@max_traces({n})` decorates one function or method, but got {got}: write it above the `def`, or "
            "`limited = max_traces({n})(f)`, and call the result like `f`."
        ).format(n=n, got=got)
    )


class _Limit:
    """Count the traces of one function against its limit."""

    def __init__(self, fn: Callable[..., Any], allowed: int) -> None:
        self._name = name_of(fn)
        self._allowed = allowed
        self._earlier: list[tuple[Signature, Signature | None]] = []

    def add(self, call: JitTrace, whole: JitTrace | None = None) -> TooManyTracesError | None:
        """Count a trace, and return the error if it exceeds the limit.

        Args:
            call: the call of the function.
            whole: the call of the jitted function that contains it, if any.
        """
        new = (signature(call), signature(whole) if whole else None)
        self._earlier.append(new)
        count = len(self._earlier)
        if count <= self._allowed:
            return None
        counted = plural("{count} time", "{count} times", count)
        allowed = plural("{count} is allowed", "{count} are allowed", self._allowed)
        message = _("{name} was traced {counted}; {allowed}.")
        message = message.format(name=self._name, counted=counted, allowed=allowed)
        if count == 1:
            return TooManyTracesError(message)
        retrace = Retrace(self._name, calling_line(), tuple(self._differences(new)))
        advice = _("What to do: {remedy}.").format(remedy=retrace.remedy)
        return TooManyTracesError(f"{message} {retrace} {advice}", retrace)

    def _differences(self, new: tuple[Signature, Signature | None]) -> list[Difference]:
        call, whole = new
        earlier = [one for one in self._earlier[:-1] if (one[1] is None) == (whole is None)]
        if not earlier:
            return [_in_another_place(self._earlier[-2][1], whole)]
        found = closest_differences(call, [one for one, _whole in earlier])
        if found or whole is None:
            return found
        found = closest_differences(whole, [one for _call, one in earlier if one is not None])
        if not found:
            twice = _(
                "its call is the same: its body runs more than once in one trace, the previous trace failed, or "
                "JAX's caches were cleared"
            )
            return [Difference(twice, _("allow more traces, or limit the jitted function that calls it"))]
        part = _("it is part of {whole}, where {reason}")
        return [Difference(part.format(whole=name_of(whole.function), reason=text), remedy) for text, remedy in found]


def _in_another_place(old: Signature | None, new: Signature | None) -> Difference:
    if old is None:
        words = _("it was jitted by itself and is now part of {whole}")
    else:
        words = _("it was part of {whole} and is now jitted by itself")
    whole = old or new
    assert whole is not None
    remedy = _("allow one trace for each jitted function that calls it, or limit those functions instead")
    return Difference(words.format(whole=name_of(whole.function)), remedy)


class _LimitedJit:
    """A jitted function whose traces are counted, with the attributes of the function that it wraps."""

    def __init__(self, fn: Callable[..., Any], jitted: Any, n: int) -> None:
        functools.update_wrapper(self, fn)
        self._fn = fn
        self._body = jitted.__wrapped__
        self._limit = _Limit(fn, n)
        self._error: TooManyTracesError | None = None
        jitted.clear_cache()  # so that the count does not depend on earlier calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._error = None
        with hearing(self):
            result = self._fn(*args, **kwargs)
        if self._error is not None:
            raise self._error
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_fn"], name)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def traced(self, trace: JitTrace) -> None:
        if trace.function is self._body:
            self._error = self._limit.add(trace)

    def compiled(self, name: str) -> None:
        pass


def _below_jit(fn: Callable[..., Any], limit: _Limit) -> Callable[..., Any]:
    @functools.wraps(fn)
    def limited(*args: Any, **kwargs: Any) -> Any:
        frame = frame_of_trace(sys._getframe(1))
        whole = traced_frame(frame)
        if whole is not None:
            key = function_key(limited)
            if function_key(whole.function)[-len(key) :] == key:  # `limited` itself, or a transformation of it
                call, error = whole, limit.add(whole)
            else:
                call = _call(limited, args, kwargs)
                error = limit.add(call, whole)
            if error is not None:
                raise error
            call.progress.finished = False
            result = fn(*args, **kwargs)
            call.progress.finished = True
            return result
        return fn(*args, **kwargs)

    return limited


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> JitTrace:
    """Describe a call inside a trace as if it were the call of a jitted function."""
    static_argnums = tuple(i for i, value in enumerate(args) if _is_static(value))
    static_argnames = tuple(name for name, value in kwargs.items() if _is_static(value))
    return JitTrace(function, args, kwargs, None, static_argnums, static_argnames, progress=TraceProgress())


def _is_static(value: Any) -> bool:
    return not any(isinstance(leaf, jax.Array | np.ndarray) for leaf in jax.tree.leaves(value))


def _jitted_part(fn: Any) -> Any:
    """Return the jitted function that `fn` is or wraps, as `jax.vmap` does, or None."""
    while fn is not None and not is_jitted(fn):
        fn = getattr(fn, "func" if isinstance(fn, functools.partial) else "__wrapped__", None)
    return fn
