"""Arrange the events of a run as trees of keys: which keys were made from each, and what each was used for."""

import ast
import functools
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from jaxguide.keys import names
from jaxguide.keys.events import Bits, Event
from jaxguide.keys.names import key_name
from jaxguide.keys.origins import CallSite

# Kind of operation -> the functions that make keys with it.
_MAKERS = {
    "seed": ("key", "PRNGKey"),
    "split": ("split", "take", "fork"),
    "fold_in": ("fold_in", "next", "KeyStream"),
}


def _made_names(places: Sequence[CallSite], kind: str, count: int) -> list[str] | None:
    """Return the names of the keys that a call makes; None if the statement does not name them.

    `first, *rest = split(key, 3)` gives `first`, `rest[0]`, `rest[1]`; `keys = split(key)` gives `keys[0]`, `keys[1]`.

    Args:
        places: the call that makes the keys, then its callers, going outward.
        kind: 'seed', 'split' or 'fold_in'.
        count: the number of keys that it made.
    """
    call = names.call_at(places[0]) if places else None
    if call is None or names.callee(call) not in _MAKERS[kind]:
        return None
    for node in names.nodes_around(places[0]):
        for part in getattr(node, "generators", [node]):
            if isinstance(part, ast.For | ast.comprehension) and part.iter is call:
                return [f"{ast.unparse(part.target)} #{i}" for i in range(count)]
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is call:
            return _spread(node.targets[0] if isinstance(node, ast.Assign) else node.target, kind, count)
    return None


def _spread(target: ast.expr, kind: str, count: int) -> list[str] | None:
    if not isinstance(target, ast.Tuple | ast.List):
        name = ast.unparse(target)
        return [name] if kind != "split" else [f"{name}[{i}]" for i in range(count)]
    extra = count - len(target.elts) + 1
    found: list[str] = []
    for element in target.elts:
        if isinstance(element, ast.Starred):
            found += [f"{ast.unparse(element.value)}[{i}]" for i in range(extra)]
        else:
            found.append(ast.unparse(element))
    return found if len(found) == count else None


@dataclass(eq=False)
class KeyOperation:
    """What one place in the code did with one key, once or repeatedly.

    Args:
        kind: 'draw', 'split', 'fold_in' or 'clone'.
        events: one event for each time that it was done.
        made: the keys that it was the first to make, in order.
        again: the keys that it made although they already existed, each with its name at this place.
    """

    kind: str
    sampler: str | None
    places: tuple[CallSite, ...]
    events: list[Event] = field(default_factory=list)
    made: list["KeyNode"] = field(default_factory=list)
    again: list[tuple[str | None, "KeyNode"]] = field(default_factory=list)

    @property
    def site(self) -> tuple[object, ...]:
        """Return what identifies the kind and place of the operation."""
        return self.kind, self.sampler, self.places


@dataclass(eq=False)
class KeyNode:
    """A key in the tree.

    Args:
        name: the student's name for it; None if the source does not name it.
        seeds: the events that built it from a number.
        number: the number folded in to make it, if its parent had several numbers folded in.
        position: its index among the keys that its maker returned; None if it was the only one.
        operations: what was done with it, in order.
        problems: the kinds of problems that it has.
        made_again: it was made more than once, which is a problem of its parent.
        left: it went into iterations of a loop that were not followed.
    """

    bits: Bits
    name: str | None = None
    seeds: list[Event] = field(default_factory=list)
    number: int | None = None
    position: int | None = None
    operations: list[KeyOperation] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    made_again: bool = False
    left: bool = False

    @property
    def used(self) -> bool:
        """Return whether anything was drawn from it or made from it."""
        return any(operation.kind != "clone" for operation in self.operations)

    @property
    def draws(self) -> int:
        """Return how often it was drawn from."""
        return sum(len(operation.events) for operation in self.operations if operation.kind == "draw")

    @property
    def reused(self) -> bool:
        """Return whether it was used twice by mistake, its own or that of the place that made it again."""
        return bool(self.problems) or (self.made_again and self.draws > 1)

    def operation(self, event: Event) -> KeyOperation:
        """Return the operation that an event belongs to, and add it if it is new."""
        sampler = event.use.sampler if event.use.kind == "draw" else None
        new = KeyOperation(event.use.kind, sampler, event.places)
        found = next((operation for operation in self.operations if operation.site == new.site), None)
        if found is None:
            self.operations.append(new)
        return found or new


def grow(
    events: Iterable[Event], clashes: Iterable[tuple[str, Bits]], given: Mapping[Bits, str], left: Set[Bits]
) -> list[KeyNode]:
    """Return the keys that no event made, in order of appearance; all other keys descend from them.

    Args:
        events: the events of the run, in order.
        clashes: pairs of the kind of a problem and the key's words.
        given: key's words -> name, for the keys among the function's arguments.
        left: the words of keys that went into iterations that were not followed.
    """
    keys: dict[Bits, KeyNode] = {bits: KeyNode(bits, name) for bits, name in given.items()}
    roots = list(keys.values())

    @functools.cache
    def made_as(places: tuple[CallSite, ...], kind: str, count: int) -> Sequence[str | None]:
        return _made_names(places, kind, count) or [None] * count

    @functools.cache
    def used_as(places: tuple[CallSite, ...], verb: str | None) -> str | None:
        return key_name(places, 0, verb)

    for event in events:
        use = event.use
        key = keys.get(use.bits)
        if key is None:
            key = keys[use.bits] = KeyNode(use.bits)
            roots.append(key)
        if use.kind == "seed":
            key.seeds.append(event)
            key.name = key.name or made_as(event.places, "seed", 1)[0]
            continue
        if key.name is None and not key.operations:  # not named where it was made, so named as where it is used
            name = used_as(event.places, use.sampler if use.kind == "draw" else use.kind)
            key.name = name if name is None or key.position is None else f"{name} #{key.position}"
        operation = key.operation(event)
        operation.events.append(event)
        if use.kind not in _MAKERS:
            continue
        called = made_as(event.places, use.kind, len(event.made))
        for position, (made, name) in enumerate(zip(event.made, called, strict=True)):
            if made in keys:  # an earlier operation made it too, which is reported separately
                keys[made].made_again = True
                operation.again.append((name, keys[made]))
                continue
            child = keys[made] = KeyNode(made, name)
            child.number = use.data if use.kind == "fold_in" else None
            child.position = position if len(event.made) > 1 else None
            operation.made.append(child)
    for operation in (operation for key in keys.values() for operation in key.operations):
        if len(operation.events) == 1:
            for child in operation.made:
                child.number = None
    for bits in keys.keys() & left:
        keys[bits].left = True
    for kind, bits in clashes:
        if bits in keys and kind not in keys[bits].problems:
            keys[bits].problems.append(kind)
    return roots


def chain(key: KeyNode) -> list[tuple[KeyNode, KeyOperation]]:
    """Return the chain from `key` in which one place made each key from the one before, as a loop that carries a key.

    Each key comes with the operation that made the next. A chain of a single key is returned as empty.
    """
    found: list[tuple[KeyNode, KeyOperation]] = []
    site = None
    current: KeyNode | None = key
    while current is not None:
        carrying = [o for o in current.operations if o.made and (site is None or o.site == site)]
        if len(carrying) != 1 or len(carrying[0].events) != 1:
            break
        operation = carrying[0]
        carried = [child for child in operation.made if any(o.site == operation.site for o in child.operations)]
        found.append((current, operation))
        site = operation.site
        current = carried[0] if len(carried) == 1 else None
    return found if len(found) > 1 else []


def descendants(keys: Sequence[KeyNode]) -> list[KeyNode]:
    """Return the keys and everything made from them."""
    found, waiting = [], list(reversed(keys))
    while waiting:
        key = waiting.pop()
        found.append(key)
        waiting += [child for operation in reversed(key.operations) for child in reversed(operation.made)]
    return found
