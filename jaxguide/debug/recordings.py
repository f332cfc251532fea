"""Record intermediate values, and the gradients that flow back through them, as arrays."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.base.text import plural
from jaxguide.compat.ordered_callback import ordered_callback
from jaxguide.debug.captured import flushed
from jaxguide.jaxpr.arguments import is_array_like, require_token
from jaxguide.jaxpr.mesh_places import mapped_in_part
from jaxguide.jaxpr.value_words import array_type, describe


class Recording(Mapping[str, Any]):
    """The values recorded under each name; `recording["loss"]` stacks them along a new first axis.

    A mapping from names to arrays, or to pytrees of arrays if pytrees were recorded.
    """

    def __init__(self) -> None:
        self._entries: dict[str, list[Any]] = {}

    def entries(self, name: str) -> list[Any]:
        """Return the list of values recorded under a name, for example if their shapes differ.

        >>> with recording() as rec:
        ...     record("x", np.zeros(2))
        ...     record("x", np.zeros(3))
        >>> [x.shape for x in rec.entries("x")]
        [(2,), (3,)]

        Raises:
            KeyError: nothing was recorded under that name.
        """
        if self in _open:
            jax.effects_barrier()
        if name in self._entries:
            return list(self._entries[name])
        if self._entries:
            known = ", ".join(map(repr, self._entries))
            near = did_you_mean(name, list(self._entries), most=1)
            raise KeyError(f"Nothing was recorded as {name!r}, only {known}.{near}")
        if compat.under_trace():
            raise KeyError(
                "Nothing was recorded: the block is in a function that JAX traces, so it runs before there are values. "
                "Open `recording()` around the call of that function."
            )
        raise KeyError(
            f"Nothing was recorded: is there a `record({name!r}, ...)` in a function that was called in the block?"
        )

    def _add(self, name: str, value: Any) -> None:
        self._entries.setdefault(name, []).append(value)

    def __getitem__(self, name: str) -> Any:
        values = self.entries(name)
        try:
            return jax.tree.map(lambda *leaves: np.stack(leaves), *values)
        except ValueError:
            raise ValueError(
                f"`{name}` was recorded with different shapes, {_types(values)}, which cannot be stacked: use "
                f"`.entries({name!r})`, the list of the values."
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    __eq__ = object.__eq__  # arrays have no single truth value
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        lines = []
        for name, values in self._entries.items():
            lines.append(f"{name}: {plural('{count} time', '{count} times', len(values))} {_types(values)}")
        return "\n".join(lines) or "nothing recorded"


@contextlib.contextmanager
def recording() -> Iterator[Recording]:
    """Collect what `record` and `record_gradient` get while the block runs.

    >>> import jax.numpy as jnp
    >>> @jax.jit
    ... def descend(w):
    ...     def step(w, _):
    ...         loss, slope = jax.value_and_grad(lambda w: (w - 3.0) ** 2)(w)
    ...         record("loss", loss)
    ...         return w - 0.25 * slope, None
    ...     return jax.lax.scan(step, w, length=4)[0]
    >>> w = descend(1.0)  # outside: nothing is recorded, and nothing is in the compiled program
    >>> with recording() as rec:
    ...     w = descend(1.0)
    >>> rec["loss"]
    array([4. , 1. , 0.25 , 0.0625], dtype=float32)
    >>> rec
    loss: 4 times float32[]

    A jitted function that was called before the block is traced again at its first call in a block, now with recording.
    Later blocks use that program again, and calls outside use the one without recording. Only what is traced in the
    thread of the block is recorded; record in one thread at a time.

    Values are in program order. `scan` and loops give one entry for each step, and `vmap` one for each row: a scan of 5
    steps in a `vmap` of 3 rows gives 15 entries, step by step, so `.reshape(5, 3, ...)` sorts them. Whatever JAX runs
    is recorded: `jax.checkpoint` computes, and records, twice; `vmap` of `lax.cond` runs both branches for every row,
    and `vmap` of a loop runs every row until the last has ended; in the gradient of a `scan`, a value that is the same
    in each step is computed once. On several devices, a value of a sharded `jax.jit` is recorded once, whole; inside
    `jax.shard_map` and `jax.pmap`, each device records its shard, in any order among them.

    Yields:
        A `Recording`. It is complete after the block, even if the block raises. The innermost of nested recordings gets
        the values.

    Based on `jax.debug.callback(..., ordered=True)`, `jax.make_user_context` and `jax.effects_barrier`.
    """
    recorded = Recording()
    jax.effects_barrier()
    _open.append(recorded)
    try:
        with _context(_RECORDS), flushed():
            yield recorded
    finally:
        _open.remove(recorded)


def record(name: str, value: Any, *, ordered: bool = True) -> None:
    """Record a value under a name, also in traced code; outside a `recording()`, do nothing and cost nothing.

    >>> import jax.numpy as jnp
    >>> @jax.vmap
    ... def norm(row):
    ...     record("squares", row**2)
    ...     return jnp.sqrt((row**2).sum())
    >>> with recording() as rec:
    ...     norms = norm(jnp.array([[3.0, 4.0], [6.0, 8.0]]))
    >>> rec["squares"]
    array([[ 9., 16.], [36., 64.]], dtype=float32)

    Args:
        name: the name under which the values are stacked.
        value: an array, a number, or a pytree of them, of any shape and dtype; a typed PRNG key is recorded as its key
            data.
        ordered: keep program order, also on several devices; False lets JAX move the call, which can be faster.

    Raises:
        TypeError: the name is not a str, or something in `value` is not an array.

    Based on `jax.debug.callback`, which is in the program only if that is traced in a recording.
    """
    _require_arrays("record", name, value)
    if _context.value != _RECORDS:
        return
    leaves, structure = jax.tree.flatten(jax.tree.map(_plain, value))

    def receive(*leaves: Any) -> None:
        if _open:  # a program compiled in a recording may run after it
            _open[-1]._add(name, jax.tree.unflatten(structure, map(np.array, leaves)))  # copies, which may be modified

    if ordered and not mapped_in_part():  # where JAX keeps no order
        require_token("record")
        ordered_callback(receive, *leaves)
    else:
        jax.debug.callback(receive, *leaves)


def record_gradient(name: str, value: Any, *, ordered: bool = True) -> Any:
    """Return `value` unchanged, and record the gradient that flows back through it under a name.

    >>> import jax.numpy as jnp
    >>> def loss(w):
    ...     hidden = record_gradient("hidden", jnp.tanh(w))
    ...     return (hidden**2).sum()
    >>> with recording() as rec:
    ...     gradient = jax.grad(loss)(jnp.array([0.0, 1.0]))
    >>> rec["hidden"]  # d loss / d hidden = 2 * hidden
    array([[0. , 1.5231884]], dtype=float32)

    Use what it returns: only gradients through that are recorded. The backward pass goes from the end to the beginning,
    so the last step of a `scan` comes first (`rec["hidden"][::-1]` matches the forward values). If no gradient is
    computed, none is recorded; second derivatives record only the first backward pass.

    Args:
        name: the name under which the gradients are stacked.
        value: a real or complex floating array of any shape, or a pytree of them.
        ordered: as in `record`.

    Returns:
        `value`, with the same shapes and dtypes.

    Raises:
        TypeError: the name is not a str, or something in `value` has no gradient, such as an integer array.
            In a recording, forward mode (`jax.jvp`, `jax.jacfwd`) raises JAX's own error.

    Based on `jax.custom_vjp` and `jax.debug.callback`.
    """
    _require_arrays("record_gradient", name, value)
    for leaf in jax.tree.leaves(value):
        if not jax.dtypes.issubdtype(jax.dtypes.result_type(leaf), np.inexact):
            raise TypeError(
                f"`record_gradient({name!r}, ...)` got {describe(leaf)}, but only floating-point values have a "
                "gradient: leave it out, or record the value with `record`."
            )
    if _context.value != _RECORDS:
        return value

    @jax.custom_vjp
    def identity(value: Any) -> Any:
        return value

    def backward(_: None, cotangent: Any) -> tuple[Any]:
        record(name, cotangent, ordered=ordered)
        return (cotangent,)

    identity.defvjp(lambda value: (value, None), backward)
    return identity(value)


# The recordings whose blocks run, innermost last.
_open: list[Recording] = []
# Whether this thread records, as a part of JAX's cache keys.
_context: Any = jax.make_user_context(default_value="not recording")
_RECORDS = "recording"


def _plain(leaf: Any) -> Any:
    if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(leaf)
    return leaf


def _require_arrays(helper: str, name: Any, value: Any) -> None:
    if not isinstance(name, str):
        raise TypeError(f"`{helper}` needs a name first, but got {describe(name)}: write `{helper}('loss', loss)`.")
    leaves = jax.tree.leaves(value)
    wrong = [leaf for leaf in leaves if not is_array_like(leaf)] if leaves else [value]
    if wrong:
        raise TypeError(
            f"`{helper}({name!r}, ...)` needs arrays, numbers, or a pytree of them, but got {describe(wrong[0])}: only "
            "values that JAX can compute with can be recorded."
        )


def _types(values: list[Any]) -> str:
    """Return the types of some values, each once."""
    types = (array_type(x) if isinstance(x, np.ndarray) else str(jax.tree.map(array_type, x)) for x in values)
    return " or ".join(dict.fromkeys(types))
