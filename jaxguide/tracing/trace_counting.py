"""Count how often a function's jitted parts are traced and compiled, regardless of earlier calls."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, TypeGuard

import jax

from jaxguide.code.frames import is_library, is_users_code
from jaxguide.code.lines import function_name
from jaxguide.compat.jit_calls import traced_call
from jaxguide.jaxpr.arguments import require_jit
from jaxguide.tracing.functions import codes_within, is_jitted
from jaxguide.tracing.jit_events import Listener, hearing
from jaxguide.tracing.signatures import cells_of


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

    Clears the caches of every jitted function that `fn` reaches, so that the counts do not depend on earlier calls.
    Counts the traces that `jax.jit` makes of the user's functions, including one inside another, but not of JAX's own
    functions. Programs are identified by the names of their functions.

    Args:
        fn: the function, which is jitted or calls jitted functions.
        calls: the positional and keyword arguments of each call.

    Raises:
        RuntimeError: `jax_disable_jit` is on.
        Exception: whatever a call raises.
    """
    require_jit("trace_counts")
    reached = [found for found in reach(fn) if is_jitted(found)]
    clear_caches(fn)
    counts = []
    for args, kwargs in calls:
        count = _Count(reached)
        with hearing(count):
            jax.block_until_ready(fn(*args, **kwargs))
        counts.append(TraceCount(count.traces, sum(name in count.names for name in count.programs)))
    return counts


class _Count(Listener):
    """Count the traces and compiles of the user's functions."""

    def __init__(self, reached: Sequence[Any]) -> None:
        self.traces = 0
        self.names = {f"jit({function_name(function)})" for function in reached}
        self.programs: list[str] = []
        self._bodies = [function.__wrapped__ for function in reached]

    def traced(self, frame: FrameType) -> None:
        call = traced_call(frame)
        if call is None or call.traced_for != "jit":
            return
        if any(call.function is body for body in self._bodies) or is_users(call.function):
            self.traces += 1
            self.names.add(f"jit({function_name(call.function)})")

    def compiled(self, name: str, seconds: float) -> None:
        self.programs.append(name)


def clear_caches(fn: Callable[..., Any]) -> None:
    """Clear the `jax.jit` and `functools.cache` caches of every function that `fn` reaches.

    >>> double = jax.jit(lambda x: 2 * x)
    >>> clear_caches(double)
    """
    for found in reach(fn):
        if is_jitted(found):
            found.clear_cache()
        elif isinstance(found, functools._lru_cache_wrapper):
            found.cache_clear()
        elif _is_written_by_user(found) and not inspect.isgeneratorfunction(found):  # JAX traces no generators
            # JAX caches by function: a `jax.jit(f)` made in each call finds what an earlier one left.
            again: Any = jax.jit(found)
            again.clear_cache()


def is_users(function: Any) -> bool:
    """Return whether a function is the user's, or made from one, as `jax.vmap(f)` and `functools.partial(f)` are."""
    return users_part(function) is not None


def users_part(function: Any) -> FunctionType | None:
    """Return the first function of the user's that can be reached from a function, or None."""
    return next((part for part in reach(function) if _is_written_by_user(part)), None)


def reach(start: Any) -> Iterator[Any]:
    """Yield each callable that can be reached from `start`, once.

    Searches the user's code: closures, globals that the code names, `__wrapped__`, partials, defaults, classes, the
    objects of methods, and containers.

    >>> square = jax.jit(lambda x: x * x)
    >>> any(f is square for f in reach(jax.vmap(square)))
    True
    """
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
        waiting += _referred(value)


def _referred(value: Any) -> list[Any]:
    """Return the objects that a callable or a container holds, and the user's methods of a class."""
    if isinstance(value, type):
        return [member for member in vars(value).values() if _is_written_by_user(inspect.unwrap(member))]
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if type(value).__name__ == "WrappedFun":  # in which `jax.pmap` keeps a function
        return [value.f]
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
    return isinstance(value, FunctionType) and is_users_code(value.__code__)


def _of_function(function: FunctionType) -> list[Any]:
    found: list[Any] = [function.__defaults__, function.__kwdefaults__, *cells_of(function)]
    if not _is_written_by_user(function):
        return found
    names = {name for code in codes_within(function.__code__) for name in code.co_names}
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if not isinstance(value, ModuleType):
            found.append(value)
        elif not is_library(getattr(value, "__file__", None) or ""):
            found += [getattr(value, attribute) for attribute in names if hasattr(value, attribute)]
    return found
