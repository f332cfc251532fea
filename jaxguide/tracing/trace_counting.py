"""Count how often a function's jitted parts are traced and compiled, regardless of earlier calls."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, TypeGuard

import jax

from jaxguide.code.frames import is_library
from jaxguide.jaxpr.arguments import require_function, require_jit
from jaxguide.jaxpr.value_words import describe
from jaxguide.tracing.functions import is_jitted
from jaxguide.tracing.jit_events import JitTrace, Listener, hearing


class TraceCount(NamedTuple):
    """The cost of one call: how many jitted Python functions were traced, and how many XLA programs were compiled."""

    traces: int
    compiles: int


def trace_counts(fn: Callable[..., Any], calls: Sequence[tuple[Sequence[Any], Mapping[str, Any]]]) -> list[TraceCount]:
    """Clear caches, make the calls in order, and count the traces and compiles of each.

    >>> import jax.numpy as jnp
    >>> double = jax.jit(lambda x: 2 * x)
    >>> trace_counts(double, [((jnp.ones(3),), {}), ((jnp.zeros(3),), {}), ((jnp.ones(4),), {})])
    [TraceCount(traces=1, compiles=1), TraceCount(traces=0, compiles=0), TraceCount(traces=1, compiles=1)]

    Clears the caches of every jitted function that `fn` reaches (`clear_cache` of `jax.jit` functions, and
    `cache_clear` of the user's own `functools.cache`), so that the counts do not depend on earlier calls. Counts the
    traces that `jax.jit` makes of the user's functions, including one inside another, but not of JAX's own functions.
    Programs are identified by the names of their functions.

    Args:
        fn: the function, which is jitted or calls jitted functions.
        calls: the positional and keyword arguments of each call.

    Returns:
        One count per call.

    Raises:
        TypeError: if `fn` is not a function, or `calls` are not pairs of arguments.
        RuntimeError: `jax_disable_jit` is on.
        Exception: whatever a call raises.

    Based on the events of `jax.monitoring`.
    """
    require_function("trace_counts", fn, "trace_counts(f, [((x,), {})])")
    _require_calls(calls)
    require_jit("trace_counts")
    reached = list(jitted_functions(fn))
    clear_caches(fn)
    counts = []
    for args, kwargs in calls:
        watch = _Watch(reached)
        with hearing(watch):
            jax.block_until_ready(fn(*args, **kwargs))
        counts.append(TraceCount(watch.traces, watch.compiles()))
    return counts


def _require_calls(calls: Any) -> None:
    many = isinstance(calls, list | tuple)
    wrong = [one for one in calls if not _is_call(one)] if many else [calls]
    if wrong:
        raise TypeError(
            "`trace_counts` needs a tuple of positional arguments and a dict of keyword arguments for each call, "
            f"but got {describe(wrong[0])}: write `trace_counts(f, [((x,), {{}}), ((y,), {{}})])`."
        )


def _is_call(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and isinstance(value[0], list | tuple)
        and isinstance(value[1], Mapping)
    )


def clear_caches(fn: Callable[..., Any]) -> None:
    """Clear the `jax.jit` and `functools.cache` caches of every function that `fn` reaches.

    >>> double = jax.jit(lambda x: 2 * x)
    >>> clear_caches(double)
    """
    for found in _reach(fn):
        if is_jitted(found):
            found.clear_cache()
        elif isinstance(found, functools._lru_cache_wrapper):
            found.cache_clear()
        elif _is_written_by_user(found) and not inspect.isgeneratorfunction(found):  # JAX traces no generators
            # JAX caches by function: a `jax.jit(f)` made in each call finds what an earlier one left.
            again: Any = jax.jit(found)
            again.clear_cache()


def jitted_functions(fn: Callable[..., Any]) -> Iterator[Any]:
    """Yield the jitted functions that `fn` is or reaches.

    Searches the user's code: closures, globals that the code names, `__wrapped__`, partials, defaults, classes, the
    objects of methods, and containers.

    >>> square = jax.jit(lambda x: x * x)
    >>> [f is square for f in jitted_functions(jax.vmap(square))]
    [True]
    """
    return (found for found in _reach(fn) if is_jitted(found))


def _reach(start: Any) -> Iterator[Any]:
    """Yield each callable that can be reached from `start`, once."""
    waiting, seen = [start], set()
    kept = []  # an id is unique only while its object is alive
    while waiting:
        value = waiting.pop()
        if id(value) in seen or value is None or isinstance(value, str | bytes | int | float | complex):
            continue
        seen.add(id(value))
        kept.append(value)
        if callable(value):
            yield value
        waiting += referred(value)


def referred(value: Any) -> list[Any]:
    """Return the objects that a callable or a container holds, and the user's methods of a class."""
    if isinstance(value, type):
        return [member for member in vars(value).values() if _is_written_by_user(inspect.unwrap(member))]
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    found = [getattr(value, "__wrapped__", None)]
    if isinstance(value, functools.partial):
        found += [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, MethodType):
        found += [value.__func__, value.__self__]
    elif isinstance(value, FunctionType):
        found += _of_function(value)
    elif callable(value) and not is_jitted(value):
        found += [vars(type(value)).get("__call__"), dict(vars(value)) if hasattr(value, "__dict__") else None]
    elif hasattr(value, "__dict__") and not isinstance(value, ModuleType | jax.Array):
        found += [dict(vars(value)), type(value)]  # the object of a method
    return found


def _is_written_by_user(value: Any) -> TypeGuard[FunctionType]:
    return isinstance(value, FunctionType) and not is_library(value.__code__.co_filename)


def _of_function(function: FunctionType) -> list[Any]:
    found: list[Any] = [function.__defaults__, function.__kwdefaults__]
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # a variable that is not bound yet
            continue
    if not _is_written_by_user(function):
        return found
    names = set(_names(function.__code__))
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if not isinstance(value, ModuleType):
            found.append(value)
        elif not is_library(getattr(value, "__file__", None) or ""):
            found += [getattr(value, attribute) for attribute in names if hasattr(value, attribute)]
    return found


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


class _Watch(Listener):
    """Listen to hooks and count the traces and compiles of the user's functions."""

    def __init__(self, reached: Sequence[Any]) -> None:
        self.traces = 0
        self._bodies = [function.__wrapped__ for function in reached]
        self._names = {f"jit({_name(function)})" for function in reached}
        self._compiled: list[str] = []

    def traced(self, trace: JitTrace) -> None:
        function = trace.function
        if any(function is body for body in self._bodies) or is_users(function):
            self.traces += 1
            self._names.add(f"jit({_name(function)})")

    def compiled(self, name: str) -> None:
        self._compiled.append(name)

    def compiles(self) -> int:
        """Return how many of the compiled programs are the user's; JAX's own have other names."""
        return sum(name in self._names for name in self._compiled)


def is_users(function: Any) -> bool:
    """Return whether a function is the user's, or made from one, as `jax.vmap(f)` and `functools.partial(f)` are."""
    codes = (getattr(part, "__code__", None) for part in _reach(function))
    return any(isinstance(code, CodeType) and not is_library(code.co_filename) for code in codes)


def _name(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", ""))
