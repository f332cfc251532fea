"""Inspect a function: whether `jax.jit` returned it, its name, what it wraps and can reach, and whose that is."""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, TypeGuard

import jax

from jaxguide.code.frames import is_library, is_users_code
from jaxguide.code.lines import Line, function_name

_JITTED: type = type(jax.jit(lambda: None))


def is_jitted(fn: Any) -> bool:
    """Return whether `jax.jit` returned `fn`."""
    return isinstance(fn, _JITTED)


def is_function(value: Any) -> bool:
    """Return whether a value is a function, a method, a partial or a wrapper of one, and not an object to be called.

    >>> is_function(max), is_function(functools.partial(max, 1)), is_function(dict)
    (True, True, False)
    """
    if not callable(value) or isinstance(value, type):
        return False
    return isinstance(value, functools.partial) or hasattr(value, "__name__") or hasattr(value, "__wrapped__")


def written_function(fn: Callable[..., Any]) -> FunctionType | None:
    """Return the Python function behind wrappers with `__wrapped__`, partials, methods and callable objects, or None.

    >>> written_function(jax.jit(jax.vmap(is_jitted))) is is_jitted, written_function(max)
    (True, None)
    """
    found: Any = fn
    while found is not None and not (isinstance(found, FunctionType) and not hasattr(found, "__wrapped__")):
        if isinstance(found, functools.partial):
            found = found.func
        elif hasattr(found, "__wrapped__"):
            found = found.__wrapped__
        elif hasattr(found, "__func__"):
            found = found.__func__
        else:
            call = None if isinstance(found, type) else vars(type(found)).get("__call__")
            found = call if isinstance(call, FunctionType) or hasattr(call, "__wrapped__") else None
    return found


def _chain(function: Any) -> Iterator[Any]:
    """Yield a function and those that it wraps, one inside the other."""
    for _ in range(50):  # an object may return itself as what it wraps
        if function is None:
            return
        yield function
        function = getattr(function, "func" if isinstance(function, functools.partial) else "__wrapped__", None)


def function_key(function: Any) -> tuple[Any, ...]:
    """Return a key that is equal for all function objects created from the same code."""
    codes = ((one, getattr(one, "__code__", None)) for one in _chain(function))
    return tuple(type(one) if code is None else (code.co_filename, code) for one, code in codes)


def name_of(function: Any) -> str:
    """Return the function's name as the user wrote it, in backticks; a lambda is identified by its line.

    >>> name_of(max), name_of(functools.partial(max, 1))
    ('`max`', 'the partial of `max`')
    """
    if isinstance(function, functools.partial):
        return f"the partial of {name_of(function.func)}"
    name, innermost = function_name(function), list(_chain(function))[-1]
    if name == "<unnamed function>":  # how `jax.jit` calls an object without a name
        name = type(innermost).__name__
    code = getattr(innermost, "__code__", None)
    if name == "<lambda>" and code is not None:
        return f"the lambda at {Line(code.co_filename, code.co_firstlineno)}"
    return f"`{name}`"


def codes_within(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of the functions, lambdas and comprehensions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_within(constant)


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
