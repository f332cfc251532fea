"""Record the uses of keys while a program runs."""

import copy
import itertools
import weakref
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide import compat
from jaxguide.code.lines import Line
from jaxguide.jaxpr.recorded import KeyWords
from jaxguide.keys.key_record import Use
from jaxguide.keys.origins import CallSite, Origin

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
        operation: the number of the operation, which is the same for all rows of a batched one.
        made: the words of the keys that a split, fold, seed or clone made in this row.
        branches: (cond, branch) for each cond under `vmap` around it: two branches of one cond never both count.
        mapped: it happened under one of the user's `vmap`s.
        shared: several rows of that `vmap` get this same key.
        axis: if several devices of a `shard_map` get this same key, the name of the axis; otherwise None.
        path: the equation that uses the key, then those that entered its jaxpr, going outward.
    """

    use: Use
    places: tuple[CallSite, ...]
    operation: int
    made: tuple[Bits, ...] = ()
    branches: frozenset[tuple[Any, int]] = frozenset()
    mapped: bool = False
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


@dataclass(frozen=True)
class UsedKeys:
    """Uses of keys that are known by their words alone.

    Args:
        kind: 'draw', 'split', 'fold_in', 'seed' or 'clone'.
        words: uint32[uses, words], the keys that were used.
        data: int[uses], the numbers that were folded in; otherwise None.
        made: uint32[keys, words], the keys that were made.
        shared: the rows of a `vmap` get the same key.
    """

    kind: str
    words: np.ndarray
    data: np.ndarray | None = None
    made: np.ndarray | None = None
    shared: bool = False


class LateEvents(Protocol):
    """The events of a loop that ran as a whole, which are made if somebody asks for them."""

    def used_keys(self) -> Sequence[UsedKeys]:
        """Return the keys that the loop used."""

    def events(self, only: Set[Bits] | None) -> Sequence[Event]:
        """Return the events in order: all, or those that used or made one of these keys."""


class KeyLog:
    """The events of a run, in order, and the (primitive, line) pairs of equations that could not be looked into."""

    def __init__(self) -> None:
        self._entries: list[Event | LateEvents] = []
        self.unseen: dict[tuple[str, Line | None], None] = {}
        self._operations = itertools.count(1)
        self._operation = 0
        self._moment: object = None
        self._calls: weakref.WeakKeyDictionary[Any, SamplerCall] = weakref.WeakKeyDictionary()

    def part(self) -> "KeyLog":
        """Return an empty log whose events belong to the same run."""
        part = copy.copy(self)
        part._entries = []
        return part

    def add(self, entry: "Event | LateEvents") -> None:
        """Add what happened next."""
        self._entries.append(entry)

    @property
    def events(self) -> list[Event]:
        """Return all events."""
        return self._made(None)

    def suspects(self) -> list[Event]:
        """Return the events that may be part of a problem, with all others that used or made the same keys."""
        if all(isinstance(entry, Event) for entry in self._entries):
            return self._made(None)
        suspected = repeated_keys(self._used_keys())
        return self._made(suspected) if suspected else []

    def _made(self, only: Set[Bits] | None) -> list[Event]:
        found: list[Event] = []
        for entry in self._entries:
            if not isinstance(entry, Event):
                found += entry.events(only)
            elif only is None or entry.use.bits in only or not only.isdisjoint(entry.made):
                found.append(entry)
        return found

    def _used_keys(self) -> list[UsedKeys]:
        found: list[UsedKeys] = []
        groups: dict[tuple[str, int, bool], list[Event]] = {}
        for entry in self._entries:
            if isinstance(entry, Event):
                groups.setdefault((entry.use.kind, len(entry.use.bits), entry.shared), []).append(entry)
            else:
                found += entry.used_keys()
        for (kind, _, shared), events in groups.items():
            data = np.array([event.use.data for event in events], object) if kind == "fold_in" else None
            found.append(UsedKeys(kind, np.array([event.use.bits for event in events], np.uint32), data, None, shared))
        return found

    def operation(self, moment: object) -> int:
        """Return the number of an operation: a new one, unless it is the same as that before, on another device."""
        if moment is None or moment is not self._moment:
            self._operation = next(self._operations)
        self._moment = moment
        return self._operation

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


def repeated_keys(used: Sequence[UsedKeys]) -> set[Bits]:
    """Return the keys that may be part of a problem, and perhaps others.

    A key that is used only once, or only in `fold_in` with different numbers, is in no problem.

    >>> key = np.array([[0, 1]], np.uint32)
    >>> repeated_keys([UsedKeys("draw", key), UsedKeys("split", key)])
    {(0, 1)}
    >>> repeated_keys([UsedKeys("fold_in", key, np.array([number])) for number in (3, 4)])
    set()
    """
    found: set[Bits] = set()
    for width in {group.words.shape[-1] for group in used}:
        same = [group for group in used if group.words.shape[-1] == width and len(group.words)]
        for group in same:
            if group.shared and group.kind == "draw":
                found.update(key_rows(group.words))
        seeds = [group.words for group in same if group.kind == "seed"]
        folds = [group for group in same if group.kind == "fold_in"]
        others = [group.words for group in same if group.kind not in ("seed", "fold_in", "clone")]
        folded = [np.column_stack([group.words.astype(np.int64), _numbers(group)]) for group in folds]
        found.update(_twice(seeds), _twice(others), (bits[:width] for bits in _twice(folded)))
        if folds and others:
            parents = np.unique(np.concatenate([group.words for group in folds]), axis=0)
            found.update(_twice([parents, *(np.unique(words, axis=0) for words in [np.concatenate(others)])]))
    return found


def _numbers(group: UsedKeys) -> np.ndarray:
    return np.asarray(group.data).astype(np.int64)


def _twice(arrays: Sequence[np.ndarray]) -> list[Bits]:
    """Return the rows that are in the arrays more than once."""
    if not arrays:
        return []
    rows = np.ascontiguousarray(np.concatenate(arrays))
    plain = rows.view([("", rows.dtype)] * rows.shape[1]).reshape(-1)
    _, first, counts = np.unique(plain, return_index=True, return_counts=True)
    return [tuple(row) for row in rows[first[counts > 1]].tolist()]


def is_key(value: Any) -> bool:
    """Return whether a value is an array of typed PRNG keys."""
    if isinstance(value, KeyWords):
        return True
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def key_words(key: Any) -> np.ndarray:
    """Return the words of a key array, uint32[..., words]; raw key data is returned unchanged."""
    if isinstance(key, KeyWords):
        return key.words
    return np.asarray(compat.key_array_data(key) if is_key(key) else key)


def implementation(key: Any) -> str:
    """Return the name of a key's implementation, as in its dtype."""
    return str(key.dtype).removeprefix("key<").removesuffix(">") if is_key(key) else ""


def key_rows(data: np.ndarray) -> list[Bits]:
    """Return the words of each key in an array of key data, in order."""
    return [tuple(row) for row in data.reshape(-1, data.shape[-1]).tolist()]
