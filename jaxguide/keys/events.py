"""Collect the uses of keys while a program runs."""

import weakref
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.code.lines import Line
from jaxguide.keys.key_record import Use
from jaxguide.keys.places import Origin, Place

Bits = tuple[int, ...]


@dataclass(frozen=True)
class Event:
    """A use, and what tells whether it clashes with another one.

    Args:
        use: the use itself.
        places: the user's places, innermost first, through helpers and inner calls.
        operation: numbers the operation; the rows of a batched one share it.
        made: the words of the keys that a split, fold, seed or clone made in this row.
        branches: for a branch of a cond under `vmap`, (cond, branch): two branches of one cond never both count.
        mapped: it happened under a `vmap` of the user's.
        shared: the one key reaches several rows of that `vmap`.
    """

    use: Use
    places: tuple[Place, ...]
    operation: int
    made: tuple[Bits, ...] = ()
    branches: frozenset[tuple[Any, int]] = frozenset()
    mapped: bool = False
    shared: bool = False

    def excludes(self, other: "Event") -> bool:
        """Tell whether the two lie in different branches of one cond."""
        chosen = dict(self.branches)
        return any(chosen.get(cond, branch) != branch for cond, branch in other.branches)


@dataclass
class SamplerCall:
    """One call of a sampler of `jax.random`: the keys that it drew from, and those that it made for itself."""

    call: tuple[Any, ...]
    sites: dict[Any, Any] = field(default_factory=dict)
    seen: set[Any] = field(default_factory=set)
    drawn: set[Bits] = field(default_factory=set)
    own: set[Bits] = field(default_factory=set)


class KeyLog:
    """The events of one run, in order, and the (primitive, line) of what could not be looked into."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.unseen: dict[tuple[str, Line | None], None] = {}
        self._operations = 0
        self._calls: weakref.WeakKeyDictionary[Any, SamplerCall] = weakref.WeakKeyDictionary()

    def next_operation(self) -> int:
        """Return a fresh number for an operation."""
        self._operations += 1
        return self._operations

    def sampler_call(self, scope: Any, origin: Origin, equation: Any) -> SamplerCall:
        """Return the sampler call that an equation belongs to: a site reached again starts another one.

        So does the same equation on the same key: a checkpointed function that is called twice is traced once.
        """
        current = self._calls.get(scope)
        if (
            current is None
            or current.call != origin.call
            or (origin.site in current.sites and current.sites[origin.site] is not origin.moment)
            or (origin.site, equation) in current.seen
        ):
            current = self._calls[scope] = SamplerCall(origin.call)
        current.sites[origin.site] = origin.moment
        current.seen.add((origin.site, equation))
        return current


def is_key(value: Any) -> bool:
    """Tell whether a value is an array of typed PRNG keys."""
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def words(key: Any) -> np.ndarray:
    """Return a key array's words, uint32[..., words]; of raw key data, the data."""
    return np.asarray(jax.random.key_data(key) if is_key(key) else key)


def implementation(key: Any) -> str:
    """Return the name of a key's implementation, as its dtype shows it."""
    return str(key.dtype).removeprefix("key<").removesuffix(">") if is_key(key) else ""


def rows_of(data: np.ndarray) -> list[Bits]:
    """Return the words of each key in an array of them, in order."""
    return [tuple(row) for row in data.reshape(-1, data.shape[-1]).tolist()]
