"""Record intermediate values, and the gradients that flow back through them, as arrays."""

import contextlib
import functools
import itertools
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxguide import compat
from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.base.text import plural
from jaxguide.compat.ordered_callback import ordered_callback
from jaxguide.debug.captured import flushed
from jaxguide.jaxpr.arguments import is_array_like, require_token
from jaxguide.jaxpr.mesh_places import mapped_in_part, require_debug_callbacks, shard_label, shard_place
from jaxguide.jaxpr.value_words import array_type, describe


class Recording(Mapping[str, Any]):
    """The values recorded under each name; `recording["loss"]` stacks them along a new first axis.

    A mapping from names to arrays, or to pytrees of arrays if pytrees were recorded.
    """

    def __init__(self) -> None:
        self._entries: dict[str, list[_Entry]] = {}
        self._unordered: set[str] = set()
        self._lock = threading.Lock()

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
        return [entry.value for entry in _in_turn(self._found(name))]

    def shards(self, name: str) -> dict[str, Any]:
        """Return what each shard of `jax.shard_map` or `jax.pmap` recorded under a name, stacked, by its place.

        >>> mesh = jax.make_mesh((1,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
        >>> @jax.shard_map(mesh=mesh, in_specs=jax.P("data"), out_specs=jax.P("data"))
        ... def half(x):
        ...     record("x", x)
        ...     return x / 2
        >>> with recording() as rec:
        ...     y = half(np.ones(2))
        >>> rec.shards("x")  # on four devices, the keys are 'data=0' to 'data=3'
        {'data=0': array([[1., 1.]], dtype=float32)}

        The key is the shard's index along each mapped axis of the mesh, such as `'data=1, model=0'`; `'device=1'` under
        a `jax.pmap` without `axis_name`; and '' for what was recorded outside of both.

        Raises:
            KeyError: nothing was recorded under that name.
            ValueError: the shapes of a shard's values differ.
        """
        entries = _in_turn(self._found(name))
        places = dict.fromkeys(entry.place for entry in entries)
        return {
            shard_label(place): _stacked(name, [entry.value for entry in entries if entry.place == place])
            for place in places
        }

    def keeps_order(self, name: str) -> bool:
        """Return whether the values of a name are in program order, at least on each device.

        >>> with recording() as rec:
        ...     record("x", 1.0)
        ...     record("y", 1.0, ordered=False)
        >>> rec.keeps_order("x"), rec.keeps_order("y")
        (True, False)
        """
        return name not in self._unordered

    def add(self, name: str, value: Any, place: "ShardIndices" = (), *, ordered: bool = True) -> None:
        """Append a pytree of arrays to the values of a name, with the shard that they come from."""
        with self._lock:
            self._entries.setdefault(name, []).append(_Entry(place, value))
            if not ordered:
                self._unordered.add(name)

    def _found(self, name: str) -> list["_Entry"]:
        if any(self in opened for opened in list(_open.values())):
            jax.effects_barrier()
        if name not in self._entries:
            raise KeyError(_no_such_name(name, list(self._entries)))
        return list(self._entries[name])

    def __getitem__(self, name: str) -> Any:
        return _stacked(name, self.entries(name))

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    __eq__ = object.__eq__  # arrays have no single truth value
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "\n".join(map(self._line, self._entries)) or "nothing recorded"

    def _line(self, name: str) -> str:
        entries = self._entries[name]
        places = sorted({entry.place for entry in entries if entry.place}, key=_indices)
        line = plural(
            "{name}: {count} time {types}",
            "{name}: {count} times {types}",
            len(entries),
            name=name,
            types=" or ".join(dict.fromkeys(_types(entry.value) for entry in entries)),
        )
        if len(places) > 1:
            line += f", on {len(places)} shards ({shard_label(places[0])} to {shard_label(places[-1])})"
        if name in self._unordered:
            line += "; their order is not guaranteed"
        return line


# The names of the axes of a mesh, and an index along each; empty outside of shards.
ShardIndices = tuple[tuple[str, int], ...]


class _Entry(NamedTuple):
    place: ShardIndices
    value: Any


def _in_turn(entries: list[_Entry]) -> list[_Entry]:
    """Return entries with those of shards in turn: the first of each shard, then the second of each, and so on.

    They arrive in order from each shard, but in any order among shards.
    """
    found: list[_Entry] = []
    for in_shards, run in itertools.groupby(entries, key=lambda entry: bool(entry.place)):
        if not in_shards:
            found += run
            continue
        queues: dict[ShardIndices, list[_Entry]] = {}
        for entry in run:
            queues.setdefault(entry.place, []).append(entry)
        turns = itertools.zip_longest(*(queues[place] for place in sorted(queues, key=_indices)))
        found += [entry for turn in turns for entry in turn if entry is not None]
    return found


def _indices(place: ShardIndices) -> tuple[int, ...]:
    return tuple(index for _axis, index in place)


def _stacked(name: str, values: list[Any]) -> Any:
    kinds = {(jax.tree.structure(value), tuple(leaf.shape for leaf in jax.tree.leaves(value))) for value in values}
    if len(kinds) > 1:
        seen = dict.fromkeys(_types(value) for value in values)
        raise ValueError(
            (
                "`{name}` was recorded with different shapes, {shapes}, which cannot be stacked: use "
                "`.entries({name!r})`, the list of the values."
            ).format(name=name, shapes=" and ".join(seen))
        )
    return jax.tree.map(lambda *leaves: np.stack(leaves), *values)


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
    Later blocks use that program again, and calls outside use the one without recording. Only the thread of the block
    records; threads that record at the same time each get their own values, and each need a trace. A function compiled
    ahead of time (`lower().compile()`) records if it was lowered in a block, whichever recording thread calls it.

    Values are in program order. `scan` and loops give one entry for each step, and `vmap` one for each row: a scan of 5
    steps in a `vmap` of 3 rows gives 15 entries, step by step, so `.reshape(5, 3, ...)` sorts them. Whatever JAX runs
    is recorded: `jax.checkpoint` computes, and records, twice; `vmap` of `lax.cond` runs both branches for every row,
    and `vmap` of a loop runs every row until the last has ended; in the gradient of a `scan`, a value that is the same
    in each step is computed once.

    On several devices, a value of a sharded `jax.jit` is recorded once, whole. Inside `jax.shard_map` and `jax.pmap`,
    each device records its shard: one entry for each, in the order of the mesh, at each step (`rec.shards("loss")`
    sorts them by device). In a `shard_map` over some of the axes of its mesh, the order is not guaranteed, and the
    recording says so when printed.

    Yields:
        A `Recording`. It is complete after the block, even if the block raises. The innermost of nested recordings gets
        the values.

    Based on `jax.debug.callback(..., ordered=True)`, `jax.make_user_context` and `jax.effects_barrier`.
    """
    recorded = Recording()
    with flushed():
        pass
    with _opened(recorded), flushed():
        yield recorded


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

    Works under `jit`, `vmap`, `grad` (the forward pass), `jax.checkpoint`, `scan`, `while_loop` and `cond`.

    Args:
        name: the name under which the values are stacked.
        value: an array, a number, or a pytree of them, of any shape and dtype; a typed PRNG key is recorded as its key
            data.
        ordered: keep program order, also on several devices; False lets JAX move the call, which can be faster.

    Raises:
        TypeError: the name is not a str, or something in `value` is not an array.
        NotImplementedError: it is in a `jax.shard_map` over some axes of a mesh whose other axes are Explicit.

    Based on `jax.debug.callback`: in a recording, the program is compiled with
    `jax.debug.callback(keep, value, ordered=ordered)` in this place; outside, without it.
    """
    _require_arrays("record", name, value)
    if not _records():
        return
    require_debug_callbacks("record")
    axes, indices = shard_place()
    leaves, structure = jax.tree.flatten((jax.tree.map(_plain, value), indices))
    receive = functools.partial(_receive, _context().value, name, structure, axes)
    if ordered and not mapped_in_part():  # where JAX keeps no order
        require_token("record")
        ordered_callback(receive, *leaves)
    else:
        jax.debug.callback(functools.partial(receive, ordered=False), *leaves)


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
    if not _records():
        return value

    @jax.custom_vjp
    def identity(value: Any) -> Any:
        return value

    def backward(_: None, cotangent: Any) -> tuple[Any]:
        record(name, cotangent, ordered=ordered)
        return (cotangent,)

    identity.defvjp(lambda value: (value, None), backward)
    return identity(value)


# The recordings of each recording thread, innermost last, by a number that callbacks carry, because JAX may run them
# on its own threads. Numbers are reused when a thread is done, so that the next one can use the same programs.
_open: dict[int, list[Recording]] = {}
_lock = threading.Lock()


@contextlib.contextmanager
def _opened(recorded: Recording) -> Iterator[None]:
    with _lock:
        context = _context()
        number = context.value or next(n for n in itertools.count(1) if n not in _open)
        _open.setdefault(number, []).append(recorded)
    try:
        with context(number):
            yield
    finally:
        with _lock:
            _open[number].remove(recorded)
            if not _open[number]:
                del _open[number]


@functools.cache
def _context() -> Any:
    """Return the setting that is part of JAX's cache keys: the number of the recording thread, 0 for none.

    Made when the first recording begins, because making it causes every jitted function to be traced once more.
    """
    return jax.make_user_context(default_value=0)


def _records() -> bool:
    return bool(_context.cache_info().currsize and _context().value)


def _receive(number: int, name: str, structure: Any, axes: tuple[str, ...], *leaves: Any, ordered: bool = True) -> None:
    opened = _open.get(number)
    if opened:  # a program compiled in a recording may run after it
        value, indices = jax.tree.unflatten(structure, map(np.array, leaves))  # copies, for the reader to modify
        opened[-1].add(name, value, tuple(zip(axes, map(int, indices), strict=True)), ordered=ordered)


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


def _types(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return array_type(value)
    return str(jax.tree.map(array_type, value))


def _no_such_name(name: str, names: list[str]) -> str:
    if not names and compat.under_trace():
        return (
            "Nothing was recorded: the block is in a function that JAX traces, so it runs before there are values. "
            "Open `recording()` around the call of that function."
        )
    if not names:
        return f"Nothing was recorded: is there a `record({name!r}, ...)` in a function that was called in the block?"
    said = "Nothing was recorded as {name!r}, only {names}.".format(name=name, names=", ".join(map(repr, names)))
    return said + did_you_mean(name, names, most=1)
