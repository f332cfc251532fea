"""Record the uses of keys while a program runs."""

import weakref
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.code.lines import Line
from jaxguide.keys.key_record import Use
from jaxguide.keys.origins import CallSite, Origin

Bits = tuple[int, ...]


@dataclass(frozen=True)
class Event:
    """A use of a key, with what decides whether it clashes with another use.

    Args:
        use: the use itself.
        places: the calls in the user's code that led to it, innermost first.
        operation: the number of the operation, which is the same for all rows of a batched one.
        made: the words of the keys that a split, fold, seed or clone made in this row.
        branches: (cond, branch) for each cond under `vmap` around it: two branches of one cond never both count.
        mapped: it happened under one of the user's `vmap`s.
        shared: several rows of that `vmap` get this same key.
    """

    use: Use
    places: tuple[CallSite, ...]
    operation: int
    made: tuple[Bits, ...] = ()
    branches: frozenset[tuple[Any, int]] = frozenset()
    mapped: bool = False
    shared: bool = False

    def excludes(self, other: "Event") -> bool:
        """Return whether the two are in different branches of one cond."""
        chosen = dict(self.branches)
        return any(chosen.get(cond, branch) != branch for cond, branch in other.branches)


@dataclass
class SamplerCall:
    """One call of a `jax.random` sampler: the keys that it drew from, and those that it made internally."""

    call: tuple[Any, ...]
    sites: dict[Any, Any] = field(default_factory=dict)
    seen: set[Any] = field(default_factory=set)
    drawn: set[Bits] = field(default_factory=set)
    own: set[Bits] = field(default_factory=set)


class KeyLog:
    """The events of a run, in order, and the (primitive, line) pairs of equations that could not be looked into."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.unseen: dict[tuple[str, Line | None], None] = {}
        self._operations = 0
        self._calls: weakref.WeakKeyDictionary[Any, SamplerCall] = weakref.WeakKeyDictionary()

    def next_operation(self) -> int:
        """Return a new number for an operation."""
        self._operations += 1
        return self._operations

    def sampler_call(self, scope: Any, origin: Origin, equation: Any) -> SamplerCall:
        """Return the sampler call that an equation belongs to; a site that is reached again starts a new call.

        So does the same equation on the same key, because a checkpointed function that is called twice is traced once.
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
    """Return whether a value is an array of typed PRNG keys."""
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def key_words(key: Any) -> np.ndarray:
    """Return the words of a key array, uint32[..., words]; raw key data is returned unchanged."""
    return np.asarray(jax.random.key_data(key) if is_key(key) else key)


def implementation(key: Any) -> str:
    """Return the name of a key's implementation, as in its dtype."""
    return str(key.dtype).removeprefix("key<").removesuffix(">") if is_key(key) else ""


def key_rows(data: np.ndarray) -> list[Bits]:
    """Return the words of each key in an array of key data, in order."""
    return [tuple(row) for row in data.reshape(-1, data.shape[-1]).tolist()]
