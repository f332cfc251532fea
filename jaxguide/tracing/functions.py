"""Inspect a function: whether `jax.jit` returned it, the Python function it wraps, and the code objects inside it."""

import functools
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import jax


@functools.cache
def _jitted_type() -> type:
    return type(jax.jit(lambda: None))


def is_jitted(fn: Any) -> bool:
    """Return whether `jax.jit` returned `fn`."""
    return isinstance(fn, _jitted_type())


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


def codes_within(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of the functions, lambdas and comprehensions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_within(constant)
