"""Fold trees of keys into the lines of a picture, which shows only the first and last rows of loops and splits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from jaxguide.base.text import plural
from jaxguide.keys.forest import KeyNode, KeyOperation, chain, descendants
from jaxguide.keys.names import statement_text
from jaxguide.keys.origins import CallSite
from jaxguide.keys.stream import START

MOST_ROWS = 60
_DEEPEST = 12
_LONGEST_SOURCE = 72
# Of many similar children, this many are shown at the start, and one at the end.
_SHOWN = 2
_MOST_CHILDREN = 14


@dataclass(frozen=True)
class TreeRow:
    """A line of the picture and the lines below it.

    Args:
        name: the key's name; empty for an operation on the key above.
        action: what was done with it; empty if several things were, or none.
        state: 'spent', 'reused', 'unused', 'left' or 'folded'; empty for an operation.
        words: the state in words.
        place: the call that did it.
        source: the text of its line.
        children: the rows below it.
        name_told: the name is from the source.
        kind: for an operation, its kind.
    """

    name: str
    action: str = ""
    state: str = ""
    words: str = ""
    place: CallSite | None = None
    source: str = ""
    children: tuple["TreeRow", ...] = ()
    name_told: bool = False
    kind: str = ""


def fold(roots: Sequence[KeyNode]) -> tuple[TreeRow, ...]:
    """Return the lines that show these trees."""
    children: tuple[TreeRow, ...] = ()
    for deepest in range(_DEEPEST, 0, -1):
        children = _siblings([_key(root, deepest) for root in roots])
        if _count(children) <= MOST_ROWS:
            break
    return children


def _count(children: Sequence[TreeRow]) -> int:
    return sum(1 + _count(entry.children) for entry in children)


def _key(key: KeyNode, depth: int) -> TreeRow:
    links = chain(key)
    if links:
        return _loop(links, depth)
    operations = [
        _operation(operation, depth - 1, _telling_place(operation, key.operations)) for operation in key.operations
    ]
    entry = TreeRow(_name(key), name_told=key.name is not None, **_state(key))
    if key.seeds:
        seed = replace(entry, **_seed(key))
        here = seed.place.line if seed.place else None
        if len(operations) != 1 or operations[0].place is None or operations[0].place.line != here:
            return replace(seed, children=_siblings(operations))
        return replace(seed, action=f"{seed.action} → {operations[0].action}", children=operations[0].children)
    if len(operations) != 1:
        return replace(entry, children=_siblings([_shortened(operation) for operation in operations]))
    only = operations[0]
    entry = replace(entry, action=only.action, place=only.place, source=only.source, children=only.children)
    if (
        _is_fold(only)
        and not only.children[0].name_told
        and only.children[0].state == "spent"
        and only.children[0].action
    ):
        made = only.children[0]
        action = f"{only.action} → {made.action}"
        entry = replace(entry, action=action, place=made.place, source=made.source, children=made.children)
    return entry


def _is_fold(entry: TreeRow) -> bool:
    return entry.kind == "fold_in" and len(entry.children) == 1 and bool(entry.children[0].state)


def _shortened(entry: TreeRow) -> TreeRow:
    """Merge a fold and the one key that it made into one line."""
    if not _is_fold(entry):
        return entry
    made = entry.children[0]
    name = f"{made.name}, {entry.action}" if made.name_told else entry.action
    if made.place is None:
        made = replace(made, place=entry.place, source=entry.source)
    return replace(made, name=name)


def _telling_place(operation: KeyOperation, others: Sequence[KeyOperation]) -> CallSite | None:
    """Return the innermost place that tells an operation from the others; for a helper called twice, the call."""
    alike = [other.places for other in others if other is not operation and other.places[:1] == operation.places[:1]]
    for depth, place in enumerate(operation.places):
        if all(places[depth : depth + 1] != (place,) for places in alike):
            return place
    return operation.places[0] if operation.places else None


def _operation(operation: KeyOperation, depth: int, place: CallSite | None) -> TreeRow:
    entry = TreeRow("", _action(operation), place=place, source=_source(place), kind=operation.kind)
    if depth < 0 and operation.made:
        below = descendants(operation.made)
        return replace(entry, children=(_folded(len(below), sum(bool(key.problems) for key in below), below=True),))
    children = [_key(child, depth) for child in operation.made]
    again = [
        TreeRow("{name}: the same key as {other}".format(name=name or "a key", other=_name(other)))
        for name, other in operation.again
    ]
    return replace(entry, children=_siblings([*children, *again]))


def _loop(links: Sequence[tuple[KeyNode, KeyOperation]], depth: int) -> TreeRow:
    """Return the line of a loop that carries its key, with a line for each round."""
    first, operation = links[0]
    carried = operation.made.index(links[1][0])
    rounds = []
    for number, (key, step) in enumerate(links, 1):
        others = [
            _operation(other, depth - 2, _telling_place(other, key.operations))
            for other in key.operations
            if other is not step
        ]
        others += [_key(child, depth - 2) for i, child in enumerate(step.made) if i != carried]
        label = f"round {number}"
        state = _state(key) if number > 1 and key.problems else {}
        if len(others) == 1 and others[0].name and not state:
            rounds.append(replace(others[0], name=f"{label}: {others[0].name}"))
        else:
            rounds.append(TreeRow(label, **state, children=_siblings(others)))
    if carried < len(links[-1][1].made):
        last = _key(links[-1][1].made[carried], depth - 2)
        name = f"{last.name} after round {len(links)}"
        rounds.append(replace(last, name=name))
    action = f"{_action(operation)}, {len(links)} times over"
    if any(key.problems for key, _step in links[1:]) and not first.problems:
        state = {"state": "reused", "words": "a key in it is reused"}
    else:
        state = _state(first)
    seed = f"{_seed(first)['action']}, " if first.seeds else ""
    return TreeRow(
        _name(first),
        seed + action,
        **state,
        place=operation.places[0] if operation.places else None,
        source=_source(operation.places[0] if operation.places else None),
        children=_siblings(rounds),
    )


def _siblings(children: Sequence[TreeRow]) -> tuple[TreeRow, ...]:
    """Return the lines; of many similar ones, the first and last ones and a line that counts the others."""
    kinds = [_kind(entry) for entry in children]
    shown: set[int] = set()
    start = 0
    for i in range(1, len(children) + 1):
        if i == len(children) or kinds[i] != kinds[start]:
            run = range(start, i)
            shown.update(run if len(run) <= _SHOWN + 2 else (*run[:_SHOWN], run[-1]))
            start = i
    if len(shown) > _MOST_CHILDREN:
        ordered = sorted(shown)
        bad = [i for i in ordered if children[i].state == "reused"][:4]
        shown = {*ordered[: _MOST_CHILDREN - 5], *bad, ordered[-1]}
    found: list[TreeRow] = []
    hidden: list[TreeRow] = []
    for i, entry in enumerate(children):
        if i not in shown:
            hidden.append(entry)
            continue
        if hidden:
            found.append(_folded(len(hidden), sum(map(_reused, hidden))))
            hidden = []
        found.append(entry)
    return tuple(found)


def _reused(entry: TreeRow) -> int:
    return (entry.state == "reused") + sum(map(_reused, entry.children))


def _kind(entry: TreeRow) -> tuple[object, ...]:
    """Return a value that is equal for similar lines, which may differ in names and numbers."""
    return entry.action, entry.state, entry.words, entry.place, tuple(map(_kind, entry.children))


def _folded(count: int, reused: int, *, below: bool = False) -> TreeRow:
    text = (
        plural("… {count} key below", "… {count} keys below", count)
        if below
        else plural("… {count} more", "… {count} more", count)
    )
    if not reused:
        return TreeRow(text, state="folded")
    words = plural("{count} of them reused", "{count} of them reused", reused)
    return TreeRow(text, state="reused", words=words)


def _name(key: KeyNode) -> str:
    name = key.name or "a key"
    if key.number is not None:
        return f"{name} ({key.number})"
    return name if key.name or key.position is None else f"{name} #{key.position}"


def _state(key: KeyNode) -> dict[str, Any]:
    if key.problems:
        return {"state": "reused", "words": f"reused: {_how(key)}"}
    if key.used:
        return {"state": "spent", "words": "spent"}
    if key.left:
        return {"state": "left", "words": "not followed"}
    return {"state": "unused", "words": "not used"}


def _how(key: KeyNode) -> str:
    if "drawn_twice" in key.problems:
        draws = sum(len(operation.events) for operation in key.operations if operation.kind == "draw")
        return (
            plural("drawn from {count} times", "drawn from {count} times", draws) if draws > 2 else "drawn from twice"
        )
    return _HOW[key.problems[0]]


_HOW = {
    "drawn_twice": "drawn from twice",
    "parent_used_after_split": "split and drawn from",
    "parent_used_after_fold": "folded into and drawn from",
    "split_twice": "split twice",
    "fold_twice_same_data": "same number folded in twice",
    "split_and_fold_mixed": "split and folded into",
    "same_key_for_all_rows": "same key for all rows",
    "seed_built_twice": "built twice from the same number",
}


def _action(operation: KeyOperation) -> str:
    first, times = operation.events[0].use, len(operation.events)
    if operation.kind == "split":
        text = plural("split into {count}", "split into {count}", first.count or 0)
    elif operation.kind == "fold_in":
        numbers = list(dict.fromkeys(event.use.data for event in operation.events))
        if numbers == [START]:
            return "KeyStream"
        if len(numbers) > 1:
            return plural("fold_in, {count} numbers", "fold_in, {count} numbers", len(numbers))
        text = f"fold_in {numbers[0]}"
    else:
        text = first.sampler or operation.kind
    return text if times == 1 else f"{text}, {times} times"


def _seed(key: KeyNode) -> dict[str, Any]:
    event = key.seeds[0]
    number = event.use.data
    text = f"from seed {number}" if number is not None else "from a seed"
    return {
        "action": text if len(key.seeds) == 1 else f"{text}, {len(key.seeds)} times",
        "place": event.places[0] if event.places else None,
        "source": _source(event.places[0] if event.places else None),
    }


def _source(place: CallSite | None) -> str:
    text = statement_text(place) if place else None
    text = " ".join((text or "").split())
    return text if len(text) <= _LONGEST_SOURCE else f"{text[: _LONGEST_SOURCE - 1]}…"
