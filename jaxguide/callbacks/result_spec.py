"""Work out what a host function promises to return."""

import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.base.text import plural
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
    if callable(out) and not is_dtype(out):
        try:
            inspect.signature(out).bind(*specs)
        except ValueError:  # some builtins have none
            pass
        except TypeError as error:
            raise TypeError(
                "`out` of `{name}` is called with the {count} that `{name}` gets: {error}.".format(
                    name=name, count=plural("{count} argument", "{count} arguments", len(specs)), error=error
                )
            ) from None
        out = _asked(name, out, specs)
    shape: tuple[int, ...] | None = None
    if elementwise:
        shape = _broadcast(name, specs)
        if out is None:
            out = jnp.result_type(float, *args)
    return jax.tree.map(lambda leaf: _struct(name, leaf, shape), out)


def _asked(name: str, out: Callable[..., Any], specs: Sequence[jax.ShapeDtypeStruct]) -> Any:
    """Return what the function `out` returns for these arguments."""
    try:
        said = out(*specs)
    except Exception as error:
        message = " ".join(str(error).split())
        lines = [line for _frame, line in frames_of_traceback(error.__traceback__)]
        raise TypeError(
            (
                "`out` of `{name}` raised {error}{place}: it is called with a `jax.ShapeDtypeStruct` for each array "
                "(in this call {types}), which has a `shape` and a `dtype` but no values; use only these."
            ).format(
                name=name,
                error=f"{type(error).__name__}: {message}" if message else type(error).__name__,
                place=f" ({lines[-1]})" if lines else "",
                types=", ".join(map(array_type, jax.tree.leaves(specs))) or "no arguments",
            )
        ) from error
    leaves = [None] if said is None else jax.tree.leaves(said, is_leaf=lambda x: isinstance(x, Iterator))
    for leaf in leaves:
        if not (is_dtype(leaf) or _is_shaped(leaf)):
            raise TypeError(
                f"`out` of `{name}` returned {_words(leaf) if leaf is said else _holding(said, leaf)}: return a "
                "`jax.ShapeDtypeStruct(shape, dtype)` for each array of the result, such as "
                "`jax.ShapeDtypeStruct(x.shape, x.dtype)` or `x` itself."
            )
    return said


def _holding(said: Any, leaf: Any) -> str:
    return f"{describe(said)}, which contains {_words(leaf)}"


def _words(leaf: Any) -> str:
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return f"the shape and dtype {array_type(leaf)}"
    return describe(leaf)


def _is_shaped(value: Any) -> bool:
    """Return whether a value has the shape and dtype of an array that can be sent to the host, unlike keys and text."""
    try:
        if any(operator.index(length) < 0 for length in value.shape):
            return False
        return bool(jnp.issubdtype(value.dtype, np.number) or value.dtype == bool)
    except (AttributeError, TypeError):
        return False


def is_dtype(value: Any) -> bool:
    """Return whether a value names a dtype: `jnp.float32`, `np.float32`, `float`, `"float32"`, a `np.dtype`.

    >>> [is_dtype(value) for value in (jnp.float32, float, "int32", np.dtype(bool), jnp.sin, np.zeros(2))]
    [True, True, True, True, False, False]
    """
    if isinstance(value, str):
        try:
            return bool(np.dtype(value) != object)
        except TypeError:
            return False
    if isinstance(value, type) and (value in _PYTHON_NUMBERS or issubclass(value, np.generic)):
        return True
    return isinstance(value, np.dtype) or (isinstance(getattr(value, "dtype", None), np.dtype) and callable(value))


def _broadcast(name: str, specs: Sequence[jax.ShapeDtypeStruct]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(spec.shape for spec in specs))
    except ValueError:
        raise TypeError(
            (
                "`{name}` is elementwise, but was called with {types}, whose shapes do not broadcast: add axes to "
                "them, or leave out `elementwise=True` and describe the result in `out`."
            ).format(name=name, types=", ".join(map(array_type, specs)))
        ) from None


def _struct(name: str, leaf: Any, shape: tuple[int, ...] | None) -> jax.ShapeDtypeStruct:
    if is_dtype(leaf) and shape is not None:
        # Python's float and int mean JAX's default width.
        python = isinstance(leaf, type) and leaf in _PYTHON_NUMBERS
        dtype = jnp.result_type(leaf) if python else np.dtype(leaf)
    elif is_dtype(leaf):
        raise TypeError(
            f"`out` of `{name}` gives a dtype without a shape, which is enough only for elementwise host functions: "
            f"pass `jax.ShapeDtypeStruct(shape, {jnp.result_type(leaf).name!r})`, or a function of the arguments such "
            "as `lambda x: x`."
        )
    elif _is_shaped(leaf):
        dtype, shape = np.dtype(leaf.dtype), tuple(leaf.shape)
    else:
        raise TypeError(
            f"`out` of `{name}` contains {_words(leaf)}: pass a `jax.ShapeDtypeStruct(shape, dtype)` for each array of "
            "the result, or a function of the arguments that returns them."
        )
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise TypeError(
            f"`out` of `{name}` promises {dtype}, but 64-bit types are off in JAX: promise "
            f"{jax.dtypes.canonicalize_dtype(dtype)}, or call "
            '`jax.config.update("jax_enable_x64", True)` first.'
        )
    return jax.ShapeDtypeStruct(shape, dtype)


def describe_out(out: Any, mapped: tuple[int, ...] = ()) -> str:
    """Write a promised pytree briefly: `float32[3]`, `(float32[3], int32[])`.

    >>> describe_out((jax.ShapeDtypeStruct((3,), "float32"), {"n": jax.ShapeDtypeStruct((), "int32")}))
    "(float32[3], {'n': int32[]})"
    """

    class Word(str):
        __repr__ = str.__str__

    return repr(jax.tree.map(lambda s: Word(array_type(jax.ShapeDtypeStruct((*mapped, *s.shape), s.dtype))), out))
