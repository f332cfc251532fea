"""Work out what a host function promises to give back."""

import inspect
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.arguments import array_type, describe
from jaxguide.text import _, plural

_PYTHON_NUMBERS = (bool, int, float, complex)


def promised(name: str, out: Any, args: Sequence[Any], elementwise: bool) -> Any:
    """Return the pytree of `jax.ShapeDtypeStruct` that a call with these arguments gives back.

    >>> promised("f", None, (jnp.ones((3, 1)), jnp.arange(4)), elementwise=True)
    ShapeDtypeStruct(shape=(3, 4), dtype=float32)
    >>> promised("f", lambda a, b: jax.ShapeDtypeStruct(b.shape, a.dtype), (1.5, jnp.arange(4)), elementwise=False)
    ShapeDtypeStruct(shape=(4,), dtype=float32)

    Args:
        name: the host function's name, for messages.
        out: as in `host_function`.
        args: the arguments, arrays or tracers.
        elementwise: shapes come from broadcasting the arguments, and `out` needs no more than dtypes.
    """
    specs = jax.tree.map(lambda x: jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)), tuple(args))
    if callable(out) and not is_dtype(out):
        try:
            inspect.signature(out).bind(*specs)
        except TypeError as error:
            raise TypeError(
                _("`out` of `{name}` is called with the {count} that `{name}` gets: {error}.").format(
                    name=name, count=plural("{count} argument", "{count} arguments", len(specs)), error=error
                )
            ) from None
        out = out(*specs)
        if out is None:
            raise TypeError(
                _("`out` of `{name}` returned None: let it return a `jax.ShapeDtypeStruct(shape, dtype)`.").format(
                    name=name
                )
            )
    shape: tuple[int, ...] | None = None
    if elementwise:
        shape = _broadcast(name, specs)
        if out is None:
            out = jnp.result_type(float, *args)
    return jax.tree.map(lambda leaf: _struct(name, leaf, shape), out)


def is_dtype(value: Any) -> bool:
    """Tell whether a value names a dtype: `jnp.float32`, `np.float32`, `float`, `"float32"`, a `np.dtype`.

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
            _(
                "`{name}` is elementwise and was called with {types}, whose shapes do not broadcast: add axes to them, "
                "or leave out `elementwise=True` and say in `out` what comes back."
            ).format(name=name, types=", ".join(map(array_type, specs)))
        ) from None


def _struct(name: str, leaf: Any, shape: tuple[int, ...] | None) -> jax.ShapeDtypeStruct:
    if is_dtype(leaf) and shape is not None:
        # Python's float and int stand for JAX's default width.
        python = isinstance(leaf, type) and leaf in _PYTHON_NUMBERS
        dtype = jnp.result_type(leaf) if python else np.dtype(leaf)
    elif is_dtype(leaf):
        raise TypeError(
            _(
                "`out` of `{name}` gives a dtype without a shape, which is enough only for elementwise host functions: "
                "write `jax.ShapeDtypeStruct(shape, {dtype!r})`, or a function of the arguments such as `lambda x: x`."
            ).format(name=name, dtype=jnp.result_type(leaf).name)
        )
    elif hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        dtype, shape = np.dtype(leaf.dtype), tuple(leaf.shape)
    else:
        raise TypeError(
            _(
                "`out` of `{name}` holds {got}: give a `jax.ShapeDtypeStruct(shape, dtype)` for each array that comes "
                "back, or a function of the arguments that returns them."
            ).format(name=name, got=describe(leaf))
        )
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise TypeError(
            _(
                "`out` of `{name}` promises {dtype}, and JAX has no 64-bit types now: promise {narrow}, or call "
                '`jax.config.update("jax_enable_x64", True)` first.'
            ).format(name=name, dtype=dtype, narrow=jax.dtypes.canonicalize_dtype(dtype))
        )
    return jax.ShapeDtypeStruct(shape, dtype)


def describe_out(out: Any, mapped: tuple[int, ...] = ()) -> str:
    """Return a promised pytree in short: `float32[3]`, `(float32[3], int32[])`.

    >>> describe_out((jax.ShapeDtypeStruct((3,), "float32"), {"n": jax.ShapeDtypeStruct((), "int32")}))
    "(float32[3], {'n': int32[]})"
    """

    class Word(str):
        __repr__ = str.__str__

    return repr(jax.tree.map(lambda s: Word(array_type(jax.ShapeDtypeStruct((*mapped, *s.shape), s.dtype))), out))
