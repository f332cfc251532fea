"""Find the functions that a function can reach, whose they are, and clear their caches."""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any, TypeGuard

import jax

from jaxguide.code.frames import is_library, is_users_code
from jaxguide.tracing.functions import codes_within, is_jitted


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
    found: list[Any] = [function.__defaults__, function.__kwdefaults__]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # a variable that is not bound yet
            found.append(cell.cell_contents)
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
