"""Arrange the events of a run as trees of keys: which keys were made from each, and what each was used for."""

import ast
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from jaxguide.jaxpr.devices import is_key_array
from jaxguide.keys import names
from jaxguide.keys.events import Bits, Event, KeyLog, key_rows, key_words
from jaxguide.keys.names import key_name
from jaxguide.keys.origins import CallSite

_MOST_GIVEN = 100_000
# Kind of operation -> the functions that make keys with it.
_MAKERS = {
    "seed": ("key", "PRNGKey"),
    "split": ("split", "take", "fork"),
    "fold_in": ("fold_in", "next", "KeyStream"),
}


@functools.cache
def _made_names(places: tuple[CallSite, ...], kind: str, count: int) -> Sequence[str | None]:
    """Return the names of the keys that a call makes; None for each if the statement does not name them.

    `first, *rest = split(key, 3)` gives `first`, `rest[0]`, `rest[1]`; `keys = split(key)` gives `keys[0]`, `keys[1]`.

    Args:
        places: the call that makes the keys, then its callers, going outward.
        kind: 'seed', 'split' or 'fold_in'.
        count: the number of keys that it made.
    """
    unknown = [None] * count
    call = names.call_at(places[0]) if places else None
    if call is None or names.callee(call) not in _MAKERS[kind]:
        return unknown
    for node in names.nodes_around(places[0]):
        for part in getattr(node, "generators", [node]):
            if isinstance(part, ast.For | ast.comprehension) and part.iter is call:
                return [f"{ast.unparse(part.target)} #{i}" for i in range(count)]
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is call:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            found = _spread(target, kind, count)
            return found if len(found) == count else unknown
    return unknown


def _spread(target: ast.expr, kind: str, count: int) -> list[str]:
    if not isinstance(target, ast.Tuple | ast.List):
        name = ast.unparse(target)
        return [name] if kind != "split" else [f"{name}[{i}]" for i in range(count)]
    found: list[str] = []
    for element in target.elts:
        if isinstance(element, ast.Starred):
            found += _spread(element.value, kind, count - len(target.elts) + 1)
        else:
            found.append(ast.unparse(element))
    return found


@dataclass(eq=False)
class KeyOperation:
    """What one place in the code did with one key, once or repeatedly.

    Args:
        kind: 'draw', 'split', 'fold_in' or 'clone'.
        places: the calls in the user's code that led to it, innermost first.
        events: one event for each time that it was done.
        made: the keys that it was the first to make, in order.
    """

    kind: str
    places: tuple[CallSite, ...]
    events: list[Event] = field(default_factory=list)
    made: list["KeyNode"] = field(default_factory=list)


@dataclass(eq=False)
class KeyNode:
    """A key in the tree.

    Args:
        name: the student's name for it; None if the source does not name it.
        suffix: what tells it from others of its name: its index in a split, or the number folded in.
        seeds: the events that built it from a number.
        operations: what was done with it, in order, by kind, sampler and places.
        problems: the kinds of problems that it has.
        made_again: it was made more than once, which is a problem of its parent.
        left: it went into iterations of a loop that were not followed.
    """

    name: str | None = None
    suffix: str = ""
    seeds: list[Event] = field(default_factory=list)
    operations: dict[tuple[object, ...], KeyOperation] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    made_again: bool = False
    left: bool = False

    @property
    def label(self) -> str:
        """Return what to call it."""
        return f"{self.name or 'a key'}{self.suffix}"

    @property
    def used(self) -> bool:
        """Return whether anything was drawn from it or made from it."""
        return any(operation.kind != "clone" for operation in self.operations.values())

    @property
    def draws(self) -> int:
        """Return how often it was drawn from."""
        return sum(len(operation.events) for operation in self.operations.values() if operation.kind == "draw")

    @property
    def reused(self) -> bool:
        """Return whether it was used twice by mistake, its own or that of the place that made it again."""
        return bool(self.problems) or (self.made_again and self.draws > 1)


def grow(
    log: KeyLog,
    clashes: Iterable[tuple[str, Bits]],
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> list[KeyNode]:
    """Return the keys that no event made, in order of appearance; all other keys descend from them.

    Args:
        log: what the run did with keys.
        clashes: pairs of the kind of a problem and the key's words.
        fn, args, kwargs: the function that was run, and its arguments.
    """
    given = _given(fn, args, kwargs, {event.use.bits for event in log.events})
    keys: dict[Bits, KeyNode] = {bits: KeyNode(name) for bits, name in given.items()}
    roots = list(keys.values())
    used_as = functools.cache(key_name)
    for event in log.events:
        use = event.use
        key = keys.get(use.bits)
        if key is None:
            key = keys[use.bits] = KeyNode()
            roots.append(key)
        if use.kind == "seed":
            key.seeds.append(event)
            key.name = key.name or _made_names(event.places, "seed", 1)[0]
            continue
        if key.name is None and not key.operations:  # not named where it was made, so named as where it is used
            key.name = used_as(event.places, 0, use.sampler if use.kind == "draw" else use.kind)
        site = use.kind, use.sampler, event.places
        operation = key.operations.setdefault(site, KeyOperation(use.kind, event.places))
        operation.events.append(event)
        if use.kind not in _MAKERS:
            continue
        called = _made_names(event.places, use.kind, len(event.made))
        for i, (made, name) in enumerate(zip(event.made, called, strict=True)):
            if made in keys:  # an earlier operation made it too, which is reported separately
                keys[made].made_again = True
                continue
            position = f" #{i}" if name is None and len(event.made) > 1 else ""
            keys[made] = KeyNode(name, f" ({use.data})" if use.kind == "fold_in" else position)
            operation.made.append(keys[made])
    for operation in (operation for key in keys.values() for operation in key.operations.values()):
        if operation.kind == "fold_in" and len(operation.events) == 1:
            for child in operation.made:
                child.suffix = ""
    for bits in keys.keys() & {row for value in log.left for row in key_rows(key_words(value))}:
        keys[bits].left = True
    for kind, bits in clashes:
        if bits in keys and kind not in keys[bits].problems:
            keys[bits].problems.append(kind)
    return roots


def _given(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], used: set[Bits]) -> dict[Bits, str]:
    """Return the names of the keys among the arguments: of all typed keys, and of uint32 keys that were used."""
    try:
        arguments = inspect.signature(fn).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return {}
    found: dict[Bits, str] = {}
    for argument, value in arguments.items():
        for path, leaf in jax.tree_util.tree_leaves_with_path(value):
            data = isinstance(leaf, jax.Array | np.ndarray) and leaf.dtype == np.uint32 and leaf.ndim > 0
            if not (is_key_array(leaf) or data) or np.size(leaf) > _MOST_GIVEN:
                continue
            name = f"{argument}{jax.tree_util.keystr(path)}"
            rows = key_rows(key_words(leaf))
            for i, row in enumerate(rows):
                if row in used or is_key_array(leaf):
                    found.setdefault(row, name if len(rows) == 1 else f"{name}[{i}]")
    return found


def chain(key: KeyNode) -> list[tuple[KeyNode, KeyOperation]]:
    """Return the chain from `key` in which one place made each key from the one before, as a loop that carries a key.

    Each key comes with the operation that made the next. A chain of a single key is returned as empty.
    """
    found: list[tuple[KeyNode, KeyOperation]] = []
    sites = {site for site, operation in key.operations.items() if operation.made}
    while len(making := [key.operations[site] for site in sites if site in key.operations]) == 1:
        (operation,) = making
        if not operation.made or len(operation.events) != 1:
            break
        found.append((key, operation))
        carried = [child for child in operation.made if sites & child.operations.keys()]
        if len(carried) != 1:
            break
        (key,) = carried
    return found if len(found) > 1 else []


def descendants(keys: Sequence[KeyNode]) -> list[KeyNode]:
    """Return the keys and everything made from them."""
    found = list(keys)
    for key in found:
        found += [child for operation in key.operations.values() for child in operation.made]
    return found
