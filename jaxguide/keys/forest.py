"""Arrange the events of a run as trees of keys: what was made of each key, and what was done with it."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from jaxguide.keys.events import Bits, Event
from jaxguide.keys.made import made_names
from jaxguide.keys.names import key_name
from jaxguide.keys.places import Place


@dataclass(eq=False)
class Operation:
    """What one place in the code did with one key, once or again and again.

    Args:
        kind: 'draw', 'split', 'fold_in' or 'clone'.
        events: one for each time.
        made: the keys that came out first here, in order.
        again: those that came out although they had been made before, with the name that they get here.
    """

    kind: str
    sampler: str | None
    places: tuple[Place, ...]
    events: list[Event] = field(default_factory=list)
    made: list["Key"] = field(default_factory=list)
    again: list[tuple[str | None, "Key"]] = field(default_factory=list)

    @property
    def site(self) -> tuple[object, ...]:
        """Tell apart the places and kinds of operations."""
        return self.kind, self.sampler, self.places


@dataclass(eq=False)
class Key:
    """One key.

    Args:
        name: what the student calls it, None where the source does not tell.
        seeds: where it was built from a number.
        number: the number that was folded in to make it, where its maker folded in several.
        position: its place among the keys that its maker returned.
        operations: what was done with it, in order.
        problems: the kinds of problems that it is in.
    """

    bits: Bits
    name: str | None = None
    seeds: list[Event] = field(default_factory=list)
    number: int | None = None
    position: int | None = None
    operations: list[Operation] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def used(self) -> bool:
        """Tell whether anything was drawn from it or made of it."""
        return any(operation.kind != "clone" for operation in self.operations)

    def operation(self, event: Event) -> Operation:
        """Return the operation that an event belongs to."""
        sampler = event.use.sampler if event.use.kind == "draw" else None
        new = Operation(event.use.kind, sampler, event.places)
        found = next((operation for operation in self.operations if operation.site == new.site), None)
        if found is None:
            self.operations.append(new)
        return found or new


def grow(events: Iterable[Event], clashes: Iterable[tuple[str, Bits]], given: Mapping[Bits, str]) -> list[Key]:
    """Return the keys that no event made, in order of appearance; the others hang from them.

    Args:
        events: of the run, in order.
        clashes: (kind of problem, the key's words).
        given: the names of the keys among the function's arguments.
    """
    keys: dict[Bits, Key] = {bits: Key(bits, name) for bits, name in given.items()}
    roots = list(keys.values())

    @functools.cache
    def made_as(places: tuple[Place, ...], kind: str, count: int) -> list[str] | list[None]:
        return made_names(places, kind, count) or [None] * count

    @functools.cache
    def used_as(places: tuple[Place, ...], verb: str | None) -> str | None:
        return key_name(places, 0, verb)

    for event in events:
        bits = event.use.bits
        key = keys.get(bits)
        if key is None:
            key = keys[bits] = Key(bits)
            roots.append(key)
        if event.use.kind == "seed":
            key.seeds.append(event)
            key.name = key.name or made_as(event.places, "seed", 1)[0]
            continue
        if key.name is None and not key.operations:  # its makers did not tell, so as the line calls it that uses it
            name = used_as(event.places, event.use.sampler if event.use.kind == "draw" else event.use.kind)
            key.name = name if name is None or key.position is None else f"{name} #{key.position}"
        operation = key.operation(event)
        operation.events.append(event)
        if event.use.kind == "clone":
            continue
        for position, (made, called) in enumerate(
            zip(event.made, made_as(event.places, event.use.kind, len(event.made)), strict=True)
        ):
            if made in keys:  # an earlier operation made the same, which is a problem of its own
                operation.again.append((called, keys[made]))
                continue
            child = keys[made] = Key(made, called)
            child.number = event.use.data if event.use.kind == "fold_in" else None
            child.position = position if len(event.made) > 1 else None
            operation.made.append(child)
    for operation in (operation for key in keys.values() for operation in key.operations):
        if len(operation.events) == 1:
            for child in operation.made:
                child.number = None
    for kind, bits in clashes:
        if bits in keys and kind not in keys[bits].problems:
            keys[bits].problems.append(kind)
    return roots


def chain(key: Key) -> list[tuple[Key, Operation]]:
    """Return the keys that one place in the code made of each other, as a loop does that carries its key, with `key`.

    Each comes with the operation that carries on. At least two, or none.
    """
    found: list[tuple[Key, Operation]] = []
    site = None
    current: Key | None = key
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


def descendants(keys: Sequence[Key]) -> list[Key]:
    """Return the keys and all that were made of them."""
    found, waiting = [], list(reversed(keys))
    while waiting:
        key = waiting.pop()
        found.append(key)
        waiting += [child for operation in reversed(key.operations) for child in reversed(operation.made)]
    return found
