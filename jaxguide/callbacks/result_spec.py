"""Work out what a host function promises to return."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.code.lines import frames_of_traceback
from jaxguide.jaxpr.value_words import array_type, describe

_PYTHON_NUMBERS = (bool, int, float, complex)


def promised(name: str, out: Any, args: Sequence[Any], elementwise: bool) -> Any:
    """Return the pytree of `jax.ShapeDtypeStruct` that a call with these arguments promises to return.

    >>> promised("f", None, (jnp.ones((3, 1)), jnp.arange(4)), elementwise=True)
    ShapeDtypeStruct(shape=(3, 4), dtype=float32)
    >>> promised("f", lambda a, b: jax.ShapeDtypeStruct(b.shape, a.dtype), (1.5, jnp.arange(4)), elementwise=False)
    ShapeDtypeStruct(shape=(4,), dtype=float32)

    Args:
        name: the host function's name, for messages.
        out: as in `host_function`.
        args: the arguments, arrays or tracers.
        elementwise: shapes come from broadcasting the arguments, and `out` only needs dtypes.
    """
    specs = jax.tree.map(lambda x: jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)), tuple(args))
    shape = _broadcast(name, specs) if elementwise else None
    if out is None:
        out = jnp.result_type(float, *args)
    elif callable(out) and not is_dtype(out):
        out = _asked(name, out, specs)
    return jax.tree.map(lambda leaf: _struct(name, leaf, shape), out)


def _asked(name: str, out: Callable[..., Any], specs: Sequence[jax.ShapeDtypeStruct]) -> Any:
    """Return what the function `out` returns for these arguments."""
    try:
        said = out(*specs)
    except Exception as error:
        raise TypeError(
            f"`out` of `{name}` raised {error_words(error)}: it is called with a `jax.ShapeDtypeStruct` for each array "
            f"(in this call {types_of(specs)}), which has a `shape` and a `dtype` but no values; use only these."
        ) from error
    return _struct(name, None, None) if said is None else said


def error_words(error: Exception) -> str:
    """Return the type and message of an exception in one line, with the user's line that raised it."""
    message = " ".join(str(error).split())
    lines = [f" ({line})" for _frame, line in frames_of_traceback(error.__traceback__)]
    return ": ".join(filter(None, (type(error).__name__, message))) + "".join(lines[-1:])


def types_of(args: Any) -> str:
    """List the types of the arrays among some arguments.

    >>> types_of((np.zeros(2), {"n": np.array(1)}))
    'float64[2], int64[]'
    """
    return ", ".join(map(array_type, jax.tree.leaves(args))) or "no arguments"


def is_dtype(value: Any) -> bool:
    """Return whether a value names a dtype: `jnp.float32`, `np.float32`, `float`, `"float32"`, a `np.dtype`.

    >>> [is_dtype(value) for value in (jnp.float32, float, "int32", np.dtype(bool), jnp.sin, np.zeros(2))]
    [True, True, True, True, False, False]
    """
    try:
        return isinstance(value, str | type | np.dtype) and np.dtype(value) != object
    except TypeError:
        return False


def _broadcast(name: str, specs: Sequence[jax.ShapeDtypeStruct]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(spec.shape for spec in specs))
    except ValueError:
        raise TypeError(
            f"`{name}` is elementwise, but was called with {types_of(specs)}, whose shapes do not broadcast: add axes "
            "to them, or leave out `elementwise=True` and describe the result in `out`."
        ) from None


def _struct(name: str, leaf: Any, shape: tuple[int, ...] | None) -> jax.ShapeDtypeStruct:
    if is_dtype(leaf) and shape is None:
        raise TypeError(
            f"`out` of `{name}` gives a dtype without a shape, which is enough only for elementwise host functions: "
            f"pass `jax.ShapeDtypeStruct(shape, {jnp.result_type(leaf).name!r})`, or a function of the arguments such "
            "as `lambda x: x`."
        )
    if is_dtype(leaf):
        # Python's float and int mean JAX's default width.
        dtype = jnp.result_type(leaf) if leaf in _PYTHON_NUMBERS else np.dtype(leaf)
    elif _is_shaped(leaf):
        dtype, shape = np.dtype(leaf.dtype), tuple(leaf.shape)
    else:
        raise TypeError(
            f"`out` of `{name}` contains {describe(leaf)}: pass a `jax.ShapeDtypeStruct(shape, dtype)` for each array "
            "of the result, or a function of the arguments that returns them, such as `lambda x: x`."
        )
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise TypeError(
            f"`out` of `{name}` promises {dtype}, but 64-bit types are off in JAX: promise "
            f"{jax.dtypes.canonicalize_dtype(dtype)}, or call "
            '`jax.config.update("jax_enable_x64", True)` first.'
        )
    return jax.ShapeDtypeStruct(shape, dtype)


def _is_shaped(value: Any) -> bool:
    """Return whether a value has the shape and dtype of an array that can be sent to the host, unlike keys and text."""
    dtype = getattr(value, "dtype", None)
    return hasattr(value, "shape") and isinstance(dtype, np.dtype) and dtype.kind not in "OSUMm"


def describe_out(out: Any, mapped: tuple[int, ...] = ()) -> str:
    """Write a promised pytree briefly: `float32[3]`, `(float32[3], int32[])`.

    >>> describe_out((jax.ShapeDtypeStruct((3,), "float32"), {"n": jax.ShapeDtypeStruct((), "int32")}))
    "(float32[3], {'n': int32[]})"
    """

    class Word(str):
        __repr__ = str.__str__

    return repr(jax.tree.map(lambda s: Word(array_type(jax.ShapeDtypeStruct((*mapped, *s.shape), s.dtype))), out))
