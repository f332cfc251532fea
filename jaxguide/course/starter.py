"""Tell one function's code from another's, and whether it is still the starter of its exercise."""

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from jaxguide.course.exercise import Exercise
from jaxguide.course.slices import global_names


def is_starter(function: Callable[..., Any], exercise: Exercise) -> bool:
    """Return whether `function` does what the stub does, code for code, docstring and comments aside."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and essence(code) in _starter_essences(exercise.starter_source)


@functools.cache
def _starter_essences(source: str) -> tuple[tuple[Any, ...], ...]:
    """Return the starter's code as a cell of its own compiles, and as below the imports that a script has.

    CPython calls an attribute of a name in another way where the same source imports that name.
    """
    imports = "\n".join(f"import {name}" for name in sorted(global_names(source)))
    modules = (compile(f"{above}\n{source}", "<starter>", "exec") for above in ("", imports))
    return tuple(essence(next(c for c in module.co_consts if isinstance(c, types.CodeType))) for module in modules)


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
