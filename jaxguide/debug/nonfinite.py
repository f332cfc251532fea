"""Stop in JAX's debugger if a value is not finite."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.jaxpr.arguments import is_array_like
from jaxguide.jaxpr.mesh_places import require_debug_callbacks, shard_place
from jaxguide.jaxpr.value_words import describe


def breakpoint_if_nonfinite(x: Any) -> None:
    """Open JAX's debugger if `x` contains a NaN or an infinity.

    >>> from jaxguide.debug import scripted_breakpoints
    >>> @jax.jit
    ... def f(x, y):
    ...     z = x / y
    ...     breakpoint_if_nonfinite(z)
    ...     return z
    >>> with scripted_breakpoints(["p x", "u", "u", "p z", "p y", "c"]) as transcript:
    ...     z = f(2.0, 1.0), f(2.0, 0.0)
    >>> transcript
    Entering jdb:
    (jdb) p x
    Array(inf, dtype=float32)
    ...
    (jdb) p z
    Array(inf, dtype=float32)
    (jdb) p y
    Array(0., dtype=float32)
    (jdb) c

    In the debugger, `p x` shows the value, and `u` twice goes up to the calling function. Under `vmap`, it stops at
    each row that is not finite, with the row number as `row`; the calling function cannot be reached from there. (The
    code in JAX's documentation, `lax.cond` and `breakpoint`, stops under `vmap` at every row, finite or not, because
    `vmap` runs both branches of a `cond`.) Inside `jax.shard_map` and `jax.pmap`, it stops at each shard that is not
    finite, with its place in the mesh as `shard`. With `jax.checkpoint` it may stop twice, because JAX computes twice.

    Args:
        x: an array of any shape and dtype, or a pytree of them, also under `jit`, `vmap`, `grad` or `scan`. Integers,
            booleans and keys are always finite.

    Raises:
        TypeError: something in `x` is not an array.
        NotImplementedError: it is in a `jax.shard_map` over some axes of a mesh whose other axes are Explicit.

    Based on `jax.lax.cond` and `jax.debug.breakpoint`; without `vmap`, it compiles to the same program as the
    function of this name in https://docs.jax.dev/en/latest/debugging.html.
    """
    _require_arrays(x)
    if not _has_floats(x):
        return
    require_debug_callbacks("breakpoint_if_nonfinite")
    if jax.sharding.get_abstract_mesh().manual_axes:
        _stop_in_shard(x)
        return
    # The debugger gets every array among the locals of this frame, so keep only these two. Branches must be no locals:
    # JAX keeps the program of a function, with these locals, while it lives, which `jax.checking_leaks` finds.
    is_finite = _is_finite(jax.lax.stop_gradient(x))
    jax.lax.cond(is_finite, lambda x: None, lambda x: jax.debug.breakpoint(), x)


def _stop_in_shard(x: Any) -> None:
    axes, indices = shard_place()
    is_finite = _is_finite(jax.lax.stop_gradient(x))
    shard = dict(zip(axes, indices, strict=True))
    jax.lax.cond(is_finite, lambda x, shard: None, lambda x, shard: jax.debug.breakpoint(), x, shard)


@jax.custom_batching.custom_vmap
def _is_finite(x: Any) -> jax.Array:
    return _all_finite(x)


@_is_finite.def_vmap
def _stop_at_rows(size: int, batched: Any, x: Any) -> tuple[jax.Array, bool]:
    """Stop at the bad rows of a batch, then report it as finite, so that the caller does not stop for all rows."""
    rows = jax.tree.map(
        lambda leaf, has_rows: leaf if has_rows else jnp.broadcast_to(leaf, (size, *leaf.shape)), x, batched[0]
    )

    def look(rows: Any) -> None:
        jax.lax.map(lambda numbered: _stop_at_row(*numbered), (jnp.arange(size), rows))

    jax.lax.cond(_finite_everywhere(rows), lambda rows: None, look, rows)
    return jnp.asarray(True), False


def _stop_at_row(row: jax.Array, x: Any) -> None:
    is_finite = _is_finite(x)
    # `num_frames`: outer frames have values of another trace.
    jax.lax.cond(is_finite, lambda row, x: None, lambda row, x: jax.debug.breakpoint(num_frames=1), row, x)


@jax.custom_batching.custom_vmap
def _finite_everywhere(x: Any) -> jax.Array:
    """Return whether everything is finite, in all rows under `vmap`, so that a `cond` on it is not batched."""
    return _all_finite(x)


@_finite_everywhere.def_vmap
def _finite_in_all_rows(size: int, batched: Any, x: Any) -> tuple[jax.Array, bool]:
    return _finite_everywhere(x), False


def _all_finite(x: Any) -> jax.Array:
    return functools.reduce(
        jnp.logical_and, [jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(x) if _is_float(leaf)]
    )


def _has_floats(x: Any) -> bool:
    return any(map(_is_float, jax.tree.leaves(x)))


def _is_float(leaf: Any) -> bool:
    return bool(jax.dtypes.issubdtype(jax.dtypes.result_type(leaf), np.inexact))


def _require_arrays(x: Any) -> None:
    wrong = [leaf for leaf in jax.tree.leaves(x) if not is_array_like(leaf)]
    if wrong:
        raise TypeError(
            f"`breakpoint_if_nonfinite` needs an array or a pytree of arrays, but got {describe(wrong[0])}."
        )
