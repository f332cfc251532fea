"""Record the uses of keys while a program runs."""

import weakref
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxguide import compat
from jaxguide.code.lines import Line
from jaxguide.jaxpr.devices import is_key_array
from jaxguide.keys.key_report import Use
from jaxguide.keys.origins import CallSite, EquationOrigin

Bits = tuple[int, ...]


@dataclass(frozen=True)
class PathStep:
    """An equation on the way to a use: the number of the run of a jaxpr that it is in, its id, and its frames."""

    scope: int
    equation: int
    frames: tuple[Any, ...]


@dataclass(frozen=True)
class Event:
    """A use of a key, with what decides whether it clashes with another use.

    Args:
        use: the use itself.
        places: the calls in the user's code that led to it, innermost first.
        operation: the number of the operation, which is the same for all rows of a batched one and all devices.
        made: the words of the keys that a split, fold, seed or clone made in this row.
        branches: (cond, branch) for each cond under `vmap` around it: two branches of one cond never both count.
        mapped: it happened under one of the user's `vmap`s.
        vmap: the call of the innermost of them.
        shared: several rows of that `vmap` get this same key.
        axis: if all devices of a `shard_map` draw the same here, the name of an axis to tell them apart; else None.
        path: the equation that uses the key, then those that entered its jaxpr, going outward.
    """

    use: Use
    places: tuple[CallSite, ...]
    operation: int
    made: tuple[Bits, ...] = ()
    branches: frozenset[tuple[Any, int]] = frozenset()
    mapped: bool = False
    vmap: CallSite | None = None
    shared: bool = False
    axis: str | None = None
    path: tuple[PathStep, ...] = field(default=(), repr=False, compare=False)

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
    """What a run did with keys.

    Args:
        events: the uses, in order.
        unseen: the (primitive, line) pairs of equations that could not be looked into.
        cut: for each line with a loop that was followed only in part, the number of iterations followed and of all.
        left: the values that went into the other iterations and may be keys.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.unseen: dict[tuple[str, Line | None], None] = {}
        self.cut: dict[Line | None, tuple[int, int]] = {}
        self.left: list[Any] = []
        self._calls: weakref.WeakKeyDictionary[Any, SamplerCall] = weakref.WeakKeyDictionary()

    def cut_loops(self) -> list[str]:
        """Return a sentence for each loop that was followed only in part."""
        return [
            f"Only the first {done} of {count:,} iterations of the loop ({line or 'in library code'}) were followed."
            for line, (done, count) in self.cut.items()
        ]

    def sampler_call(self, scope: Any, origin: EquationOrigin, equation: Any) -> SamplerCall:
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


def key_words(key: Any) -> np.ndarray:
    """Return the words of a key array, uint32[..., words]; raw key data is returned unchanged."""
    return np.asarray(compat.key_array_data(key) if is_key_array(key) else key)


def implementation(key: Any) -> str:
    """Return the name of a key's implementation, as in its dtype."""
    return str(key.dtype).removeprefix("key<").removesuffix(">") if is_key_array(key) else ""


def key_rows(data: np.ndarray) -> list[Bits]:
    """Return the words of each key in an array of key data, in order."""
    return [tuple(row) for row in data.reshape(-1, data.shape[-1]).tolist()]
