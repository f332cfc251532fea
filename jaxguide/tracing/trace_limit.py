"""Limit how often a function is traced, and explain the first trace beyond the limit."""

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import plural
from jaxguide.code.frames import is_library
from jaxguide.code.lines import Line, calling_line
from jaxguide.compat.debug_flags import DISABLE_JIT, is_on
from jaxguide.jaxpr.arguments import nothing_is_traced
from jaxguide.jaxpr.value_words import describe
from jaxguide.tracing.functions import function_key, is_jitted, name_of, written_function
from jaxguide.tracing.jit_events import JitTrace, Listener, TraceProgress, frame_of_trace, hearing, traced_frame
from jaxguide.tracing.retraces import Retrace
from jaxguide.tracing.signature_differences import Difference, closest_differences
from jaxguide.tracing.signatures import Signature, signature
from jaxguide.tracing.trace_counting import referred
from jaxguide.tracing.wrapped_calls import package_of_function, users_call

_MANY = 200  # objects to search for the user's function


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
    - Above a function that jits in another way, such as `equinox.filter_jit`, `flax.nnx.jit` or `jax.pmap`, or that
      wraps a jitted function, it counts the traces that run the Python function below it. If it cannot find that
      function, it says so.
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
        _require_one_function(allowed, given)
        (fn,) = given
        jitted = _jitted_part(fn)
        if jitted is not None:
            return _LimitedJit(fn, jitted, allowed)
        if _is_plain(fn):
            return _below_jit(fn, _Limit(fn, allowed))
        return _LimitedWrapper(fn, allowed)

    return decorate


def _require_one_function(n: int, given: tuple[Any, ...]) -> None:
    if len(given) == 1 and callable(given[0]) and not isinstance(given[0], type):
        return
    got = "nothing" if not given else describe(given[0])
    if len(given) > 1:
        got = plural("{count} argument", "{count} arguments", len(given))
    raise TypeError(
        f"`@max_traces({n})` decorates one function or method, but got {got}: write it above the `def`, or "
        f"`limited = max_traces({n})(f)`, and call the result like `f`."
    )


class _Limit:
    """Count the traces of one function against its limit."""

    def __init__(self, fn: Callable[..., Any], allowed: int) -> None:
        self.name = name_of(fn)
        self._allowed = allowed
        self._earlier: list[tuple[Signature, Signature | None]] = []

    def add(self, call: JitTrace, whole: JitTrace | None = None, line: Line | None = None) -> TooManyTracesError | None:
        """Count a trace, and return the error if it exceeds the limit.

        Args:
            call: the call of the function.
            whole: the call of the jitted function that contains it, if any.
            line: the user's line that made the call; by default, the user's innermost line.
        """
        new = (signature(call), signature(whole) if whole else None)
        self._earlier.append(new)
        count = len(self._earlier)
        if count <= self._allowed:
            return None
        counted = plural("{count} time", "{count} times", count)
        allowed = plural("{count} is allowed", "{count} are allowed", self._allowed)
        message = "{name} was traced {counted}; {allowed}."
        message = message.format(name=self.name, counted=counted, allowed=allowed)
        if count == 1:
            return TooManyTracesError(message)
        retrace = Retrace(self.name, line or calling_line(), tuple(self._differences(new)))
        advice = f"What to do: {retrace.remedy}."
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
            twice = (
                "its call is the same: its body runs more than once in one trace, the previous trace failed, or "
                "JAX's caches were cleared"
            )
            return [Difference(twice, "allow more traces, or limit the jitted function that calls it")]
        part = "it is part of {whole}, where {reason}"
        return [Difference(part.format(whole=whole.function.name, reason=text), remedy) for text, remedy in found]


def _in_another_place(old: Signature | None, new: Signature | None) -> Difference:
    if old is None:
        words = "it was jitted by itself and is now part of {whole}"
    else:
        words = "it was part of {whole} and is now jitted by itself"
    whole = old or new
    assert whole is not None
    remedy = "allow one trace for each jitted function that calls it, or limit those functions instead"
    return Difference(words.format(whole=whole.function.name), remedy)


class _Limited(Listener):
    """A function whose traces are counted, with the attributes of the function that it wraps."""

    def __init__(self, fn: Callable[..., Any], n: int) -> None:
        functools.update_wrapper(self, fn)
        self._fn = fn
        self._limit = _Limit(fn, n)
        self._error: Exception | None = None
        self._caller: FrameType | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _watched(self, body: CodeType | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function, and raise what was found once it is done."""
        _warn_without_jit(stacklevel=4)
        self._error, self._caller = None, sys._getframe(2)
        try:
            with hearing(self, body):
                result = self._fn(*args, **kwargs)
        finally:
            self._caller = None
        if self._error is not None:
            raise self._error
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_fn"], name)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)


class _LimitedJit(_Limited):
    """A function that is or wraps one that `jax.jit` returned."""

    def __init__(self, fn: Callable[..., Any], jitted: Any, n: int) -> None:
        super().__init__(fn, n)
        self._body = jitted.__wrapped__
        jitted.clear_cache()  # so that the count does not depend on earlier calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._watched(None, args, kwargs)

    def traced(self, trace: JitTrace) -> None:
        if trace.function is self._body:
            self._error = self._limit.add(trace, line=calling_line(self._caller)) or self._error


class _LimitedWrapper(_Limited):
    """A function that wraps the user's in another way, such as `equinox.filter_jit`, `flax.nnx.jit` or `jax.pmap`.

    Whatever it does, a trace runs the body of the user's function, so that is what is counted.
    """

    def __init__(self, fn: Callable[..., Any], n: int) -> None:
        super().__init__(fn, n)
        self._body = _users_function(fn)
        for jitted in _jitted_by_a_library(fn):
            jitted.clear_cache()  # so that the count does not depend on earlier calls

        self._traces: list[FrameType] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        whole = traced_frame(frame_of_trace(sys._getframe(1)))
        if whole is not None and _is_made_of(whole.function, self):
            return _counted(self, self._fn, self._limit, args, kwargs, whole)
        self._traces = []
        try:
            return self._watched(self._body.__code__ if self._body is not None else None, args, kwargs)
        finally:
            self._traces = []

    def ran(self, frame: FrameType) -> None:
        if self._body is None or frame.f_code is not self._body.__code__:
            return
        trace = frame_of_trace(frame)
        if trace is not None and not any(trace is known for known in self._traces):
            self._traces.append(trace)
            self._error = (
                self._limit.add(_call_of_body(self._body, frame), line=calling_line(self._caller)) or self._error
            )

    def traced(self, trace: JitTrace) -> None:
        if self._body is not None or isinstance(self._fn, FunctionType | MethodType):
            return  # a library's function may jit others
        package = package_of_function(trace.function)
        call = users_call(trace, sys._getframe(2))
        if call is not trace and function_key(call.function) == function_key(_inside(self._fn)):
            self._error = self._limit.add(call, line=calling_line(self._caller)) or self._error
        elif package is not None:
            self._error = TypeError(
                f"`max_traces` cannot count the traces of {self._limit.name}: it was traced inside {package}, and "
                "which Python function in it is yours was not found. Write `@max_traces(n)` directly above the `def`, "
                "below what jits it."
            )


def _warn_without_jit(stacklevel: int) -> None:
    if is_on(DISABLE_JIT):  # the function still works, to be debugged
        warnings.warn(nothing_is_traced("max_traces"), stacklevel=stacklevel)


def _below_jit(fn: Callable[..., Any], limit: _Limit) -> Callable[..., Any]:
    @functools.wraps(fn)
    def limited(*args: Any, **kwargs: Any) -> Any:
        _warn_without_jit(stacklevel=3)
        whole = traced_frame(frame_of_trace(sys._getframe(1)))
        return fn(*args, **kwargs) if whole is None else _counted(limited, fn, limit, args, kwargs, whole)

    return limited


def _counted(
    limited: Callable[..., Any],
    fn: Callable[..., Any],
    limit: _Limit,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    whole: JitTrace,
) -> Any:
    """Count a call that is part of a trace, and make it."""
    if _is_made_of(whole.function, limited):  # `limited` itself, or a transformation of it
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


def _is_made_of(function: Any, limited: Any) -> bool:
    key = function_key(limited)
    return function_key(function)[-len(key) :] == key


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> JitTrace:
    """Describe a call inside a trace as if it were the call of a jitted function."""
    static_argnums = tuple(i for i, value in enumerate(args) if _is_static(value))
    static_argnames = tuple(name for name, value in kwargs.items() if _is_static(value))
    return JitTrace(function, args, kwargs, None, static_argnums, static_argnames, progress=TraceProgress())


def _call_of_body(function: FunctionType, frame: FrameType) -> JitTrace:
    """Describe the run of a Python function as a call, with its arguments by name."""
    code, held = function.__code__, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    kwargs = {name: held[name] for name in code.co_varnames[:count] if name in held}
    if code.co_flags & inspect.CO_VARARGS:
        rest = code.co_varnames[count]
        kwargs |= {f"{rest}[{i}]": value for i, value in enumerate(held.get(rest, ()))}
    if code.co_flags & inspect.CO_VARKEYWORDS:
        kwargs |= held.get(code.co_varnames[count + bool(code.co_flags & inspect.CO_VARARGS)], {})
    return _call(function, (), kwargs)._replace(static_argnames=(), traced=frozenset())


def _is_static(value: Any) -> bool:
    return not any(isinstance(leaf, jax.Array | np.ndarray) for leaf in jax.tree.leaves(value))


def _jitted_part(fn: Any) -> Any:
    """Return the jitted function that `fn` is or wraps, as `jax.vmap` does, or None."""
    while fn is not None and not is_jitted(fn):
        fn = _inside(fn)
    return fn


def _inside(fn: Any) -> Any:
    """Return the next function inside a method, a partial, a wrapper or an object that is called; None for others."""
    if isinstance(fn, MethodType):
        return fn.__func__
    if hasattr(fn, "__wrapped__"):
        return fn.__wrapped__
    if not isinstance(fn, FunctionType) and callable(getattr(fn, "func", None)):  # a partial, maybe of a library
        return fn.func
    called = vars(type(fn)).get("__call__")
    return called if is_jitted(called) or hasattr(called, "__wrapped__") else None


def _is_plain(fn: Any) -> bool:
    """Return whether calling `fn` runs code of the user's and nothing else, so that no wrapper is between."""
    while isinstance(fn, functools.partial | MethodType):
        fn = _inside(fn)
    if not isinstance(fn, FunctionType):
        fn = vars(type(fn)).get("__call__")
    return isinstance(fn, FunctionType) and not hasattr(fn, "__wrapped__") and not is_library(fn.__code__.co_filename)


def _jitted_by_a_library(fn: Any) -> Iterator[Any]:
    """Yield the jitted functions that a wrapper keeps for itself."""
    while fn is not None:
        for value in referred(fn):
            held = value.values() if isinstance(value, Mapping) else (value,)
            yield from (one for one in held if is_jitted(one) and package_of_function(one.__wrapped__) is not None)
        fn = _inside(fn)


def _users_function(fn: Any) -> FunctionType | None:
    """Return the one Python function of the user's that a wrapper holds; None if there is none or several.

    Looks through `__wrapped__`, closures and attributes, and not into the user's own functions.
    """
    waiting: list[Any] = [fn]
    seen: list[Any] = []
    found: list[FunctionType] = []
    while waiting:
        value = waiting.pop()
        if any(value is one for one in seen) or isinstance(value, type) or len(seen) > _MANY:
            continue
        seen.append(value)
        written = written_function(value) if callable(value) else None
        if written is not None and not is_library(written.__code__.co_filename):
            found.append(written)
        elif callable(value) and _inside(value) is not None:
            waiting.append(_inside(value))
        elif callable(value) or isinstance(value, list | tuple):
            waiting += referred(value)
    return found[0] if len({id(one) for one in found}) == 1 else None
