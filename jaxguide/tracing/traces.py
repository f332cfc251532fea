"""Count how often a function's jitted parts are traced and compiled, whatever was called before."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import jax

from jaxguide.base.text import _
from jaxguide.code.frames import is_library
from jaxguide.jaxpr.arguments import describe, require_function
from jaxguide.tracing.hook import JitTrace, hearing


class TraceCount(NamedTuple):
    """What one call cost: how often jitted Python bodies were traced, and how many XLA programs were compiled."""

    traces: int
    compiles: int


def trace_counts(fn: Callable[..., Any], calls: Sequence[tuple[Sequence[Any], Mapping[str, Any]]]) -> list[TraceCount]:
    """Make the calls in order, from cleared caches, and count traces and compiles of each.

    The caches of every jitted function that `fn` reaches are cleared first (`clear_cache` of `jax.jit` functions, and
    `cache_clear` of the user's own `functools.cache`), so that the counts do not depend on earlier calls. Counted are
    the traces that `jax.jit` makes of the user's functions, also of one inside another; what JAX traces of its own does
    not count. Programs are told apart by the names of their functions.

    >>> import jax.numpy as jnp
    >>> double = jax.jit(lambda x: 2 * x)
    >>> trace_counts(double, [((jnp.ones(3),), {}), ((jnp.zeros(3),), {}), ((jnp.ones(4),), {})])
    [TraceCount(traces=1, compiles=1), TraceCount(traces=0, compiles=0), TraceCount(traces=1, compiles=1)]

    Args:
        fn: the function, jitted or calling jitted ones.
        calls: for each call its positional and its keyword arguments.

    Returns:
        One count for each call.

    Raises:
        TypeError: `fn` is no function, or `calls` are no pairs of arguments.
        Exception: whatever a call raises.
    """
    require_function("trace_counts", fn, "trace_counts(f, [((x,), {})])")
    _require_calls(calls)
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
            _(
                "`trace_counts` needs for each call its positional arguments in a tuple and its keyword arguments in a "
                "dict, and got {got}: write `trace_counts(f, [((x,), {{}}), ((y,), {{}})])`."
            ).format(got=describe(wrong[0]))
        )


def _is_call(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and isinstance(value[0], list | tuple)
        and isinstance(value[1], Mapping)
    )


def clear_caches(fn: Callable[..., Any]) -> None:
    """Clear what `jax.jit` and `functools.cache` remember of every function that `fn` reaches.

    >>> double = jax.jit(lambda x: 2 * x)
    >>> clear_caches(double)
    """
    for found in _reach(fn):
        if is_jitted(found):
            found.clear_cache()
        elif isinstance(found, functools._lru_cache_wrapper):
            found.cache_clear()
        elif isinstance(found, FunctionType) and not is_library(found.__code__.co_filename):
            # JAX remembers by function: a `jax.jit(f)` made in each call finds what an earlier one has left.
            again: Any = jax.jit(found)
            again.clear_cache()


def jitted_functions(fn: Callable[..., Any]) -> Iterator[Any]:
    """Yield the jitted functions that `fn` is or reaches.

    Looks through closures, the globals that the code names, `__wrapped__`, partials, defaults, methods' objects and
    containers, in the user's code.

    >>> square = jax.jit(lambda x: x * x)
    >>> [f is square for f in jitted_functions(jax.vmap(square))]
    [True]
    """
    return (found for found in _reach(fn) if is_jitted(found))


@functools.cache
def _jitted_type() -> type:
    return type(jax.jit(lambda: None))


def is_jitted(value: Any) -> bool:
    """Tell whether this is what `jax.jit` returns."""
    return isinstance(value, _jitted_type())


def _reach(start: Any) -> Iterator[Any]:
    """Yield each function, partial and cache that can be reached from `start`, once."""
    waiting, seen = [start], set()
    kept = []  # an id stays unique only while its object lives
    while waiting:
        value = waiting.pop()
        if id(value) in seen or value is None or isinstance(value, str | bytes | int | float | complex | type):
            continue
        seen.add(id(value))
        kept.append(value)
        if callable(value):
            yield value
        waiting += _referred(value)


def _referred(value: Any) -> list[Any]:
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
        found.append(dict(vars(value)))  # the object of a method
    return found


def _of_function(function: FunctionType) -> list[Any]:
    found: list[Any] = [function.__defaults__, function.__kwdefaults__]
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # a name not bound yet
            continue
    if is_library(function.__code__.co_filename):
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


class _Watch:
    """Count the traces and compiles of the user's functions that it hears of."""

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
        """Return how many of the compiled programs are the user's: JAX's own have other names."""
        return sum(name in self._names for name in self._compiled)


def is_users(function: Any) -> bool:
    """Tell whether a function is the user's, or made of one, as `jax.vmap(f)` and `functools.partial(f)` are."""
    codes = (getattr(part, "__code__", None) for part in _reach(function))
    return any(isinstance(code, CodeType) and not is_library(code.co_filename) for code in codes)


def _name(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", ""))
