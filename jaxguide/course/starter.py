"""Tell one function's code from another's, and whether it is still the starter of its exercise."""

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from jaxguide.course.exercise import Exercise


def is_starter(function: Callable[..., Any], exercise: Exercise) -> bool:
    """Return whether `function` does what the stub does, code for code, docstring and comments aside."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and essence(code) == _starter_essence(exercise.starter_source)


@functools.cache
def _starter_essence(source: str) -> tuple[Any, ...]:
    module = compile(source, "<starter>", "exec")
    return essence(next(c for c in module.co_consts if isinstance(c, types.CodeType)))


def essence(code: types.CodeType) -> tuple[Any, ...]:
    """Return what code does, without its place, its docstring and its comments; the same for the same code run again.

    >>> first, again = (compile("f = lambda x: [lambda: x]", "<cell>", "exec") for _time in range(2))
    >>> essence(first) == essence(again)
    True
    """
    constants = tuple(essence(c) if isinstance(c, types.CodeType) else repr(c) for c in _constants(code))
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars)


def _constants(code: types.CodeType) -> tuple[Any, ...]:
    """Return a code's constants without its docstring, which editing may have changed."""
    constants = code.co_consts
    has_docstring = bool(constants) and isinstance(constants[0], str)
    return constants[1:] if has_docstring else constants
