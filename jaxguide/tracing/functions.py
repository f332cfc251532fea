"""Inspect a function: whether `jax.jit` returned it, its name, the Python function it wraps, and the code inside it."""

import functools
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

import jax

from jaxguide.code.lines import Line, function_name


@functools.cache
def _jitted_type() -> type:
    return type(jax.jit(lambda: None))


def is_jitted(fn: Any) -> bool:
    """Return whether `jax.jit` returned `fn`."""
    return isinstance(fn, _jitted_type())


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
            found = None if isinstance(found, type) else vars(type(found)).get("__call__")
            found = found if callable(found) and hasattr(found, "__get__") and not _is_slot(found) else None
    return found


def _is_slot(value: Any) -> bool:
    return not isinstance(value, FunctionType) and not hasattr(value, "__wrapped__")


def function_key(function: Any) -> tuple[Any, ...]:
    """Return a key that is equal for all function objects created from the same code."""
    key: list[Any] = []
    while function is not None and len(key) < 50:
        if isinstance(function, MethodType):
            function = function.__func__
        code = getattr(function, "__code__", None)
        key.append((code.co_filename, code) if code is not None else type(function))
        function = getattr(function, "func" if isinstance(function, functools.partial) else "__wrapped__", None)
    return tuple(key)


def name_of(function: Any) -> str:
    """Return the function's name as the user wrote it, in backticks; a lambda is identified by its line.

    >>> name_of(max), name_of(functools.partial(max, 1))
    ('`max`', 'the partial of `max`')
    """
    if isinstance(function, functools.partial):
        return f"the partial of {name_of(function.func)}"
    name = function_name(function)
    if name == "<unnamed function>":  # how `jax.jit` calls an object without a name
        name = type(_innermost(function)).__name__
    code = getattr(_innermost(function), "__code__", None)
    if name == "<lambda>" and code is not None:
        return f"the lambda at {Line(code.co_filename, code.co_firstlineno)}"
    return f"`{name}`"


def _innermost(function: Any) -> Any:
    while True:
        inner = getattr(function, "func" if isinstance(function, functools.partial) else "__wrapped__", None)
        if inner is None:
            return function
        function = inner


def codes_within(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of the functions, lambdas and comprehensions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_within(constant)
