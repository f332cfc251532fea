"""Tell which compiled programs every submission may read: single calls of JAX, without an author's code.

A program is public if JAX compiled one of its primitives, as it does for operations outside of `jax.jit`, or a function
that is defined at the top of one of its modules, such as the one behind `jnp.mean`, and if that was given nothing but
arrays and plain values. Then all code in the program is JAX's, whatever its name; of the arguments it holds shapes,
dtypes and static values such as an axis. An author's code cannot get in:

- A function of the author's, and `jax.jit(jax.vmap(jnp.dot))` too, is or is closed over by the compiled function, which
  then is not one of JAX's.
- A function that is handed to JAX arrives as an argument or, traced, as a jaxpr (`jnp.piecewise`, `lax.scan`).
- Tracers as arguments mean that JAX compiles a call as it is transformed. That is public if the author's code made the
  call, and not if a transformation did: `jax.vmap(jnp.dot)(a, b)` may be an answer.

A program is private if JAX does not show one of these things. Should a release hide them, workers compile for
themselves, and a test fails.
"""

import enum
import functools
import sys
from types import FunctionType
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.compat.compile_requests import COMPILE_REQUESTED, CompileRequest, compile_request, is_called_from_outside

_public: set[str] = set()
_VALUES = (bool, int, float, complex, str, bytes, type(None), slice, np.ndarray)
_LIBRARIES = ("jax", "jaxlib", "ml_dtypes", "numpy")


@functools.cache
def listen() -> None:
    """Note from now on which of the programs that this process compiles are public."""
    jax.monitoring.register_event_listener(_heard)


def is_public(file: str) -> bool:
    """Return whether submissions may read a program.

    Args:
        file: its name in the folder of JAX's compilation cache; of a program that this process has compiled, or read
            from there, since `listen`.
    """
    return file in _public


def _heard(event: str, **_details: Any) -> None:
    if event == COMPILE_REQUESTED:
        request = compile_request(sys._getframe(1))
        if request is not None and _is_public(request):
            _public.add(request.file)


def _is_public(request: CompileRequest) -> bool:
    if request.function is None:
        return _is_primitive_of_jax(request.primitive) and _is_plain(request.given)
    if not _is_function_of_jax(request.function):
        return False
    if _is_plain(request.given):
        return True
    return _is_plain(request.given, or_traced=True) and is_called_from_outside(request.frame)


def _is_function_of_jax(function: object) -> bool:
    if not isinstance(function, FunctionType) or not compat.in_jax(function.__code__):
        return False
    return function.__closure__ is None and "<locals>" not in function.__qualname__


@functools.cache
def _is_primitive_of_jax(primitive: object) -> bool:
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "jax"]
    return any(value is primitive for module in modules for value in vars(module).values())


def _is_plain(value: object, or_traced: bool = False) -> bool:
    """Return whether a value is only data: no function, no tracer, no jaxpr, and nothing of an author's class."""
    kind = type(value)
    if isinstance(value, jax.core.Tracer):
        return or_traced
    if isinstance(value, dict):
        return all(_is_plain(part, or_traced) for part in (*value, *value.values()))
    if kind in (tuple, list, frozenset) or (isinstance(value, tuple) and _is_of_library(kind)):
        return all(_is_plain(part, or_traced) for part in value)  # type: ignore[attr-defined]
    is_data = hasattr(value, "dtype") or isinstance(value, enum.Enum | np.dtype)
    return kind in _VALUES or (_is_of_library(kind) and is_data)


def _is_of_library(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in _LIBRARIES
