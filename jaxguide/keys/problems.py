"""Find in a run's events the keys that were used twice."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from jaxguide.keys.events import Bits, Event
from jaxguide.keys.key_record import KeyProblem
from jaxguide.keys.messages import describe, telling_lines


def find_problems(events: Sequence[Event]) -> list[KeyProblem]:
    """Return the problems in the order in which their second use happened, each pair of lines once."""
    return list(_found(events).problems.values())


def find_clashes(events: Sequence[Event]) -> list[tuple[str, Bits]]:
    """Return the kind of each problem with the words of each key that has it, in the same order, none twice."""
    return list(_found(events).clashes)


def _found(events: Sequence[Event]) -> "_Finder":
    finder = _Finder()
    seen: set[tuple[object, ...]] = set()
    for event in events:
        row = (event.operation, event.use.bits, event.use.data if event.use.kind == "fold_in" else None)
        if row in seen:
            finder.add_row(event)
        else:
            seen.add(row)
            finder.add(event)
    return finder


@dataclass
class _Key:
    """What happened to one key: how often it was made or declared, and the uses that count."""

    made: int = 0
    cloned: int = 0
    seeds: list[Event] = field(default_factory=list)
    uses: list[Event] = field(default_factory=list)
    folds: list[Event] = field(default_factory=list)

    def allowance(self) -> int:
        # A key made twice (by a repeated split, fold or seed, which is reported there) serves each maker once.
        return max(self.made, 1) + self.cloned


class _Finder:
    def __init__(self) -> None:
        self.problems: dict[tuple[object, ...], KeyProblem] = {}
        self.clashes: dict[tuple[str, Bits], None] = {}
        self._keys: dict[Bits, _Key] = {}

    def add(self, event: Event) -> None:
        key = self._key(event.use.bits)
        if event.use.kind == "clone":
            key.cloned += 1
            return
        if event.use.kind == "seed":
            self._seed(key, event)
        else:
            self._use(key, event)
        for bits in dict.fromkeys(event.made):
            self._key(bits).made += 1

    def add_row(self, event: Event) -> None:
        """Take another row of an operation that was added, with the same key; only numbers that are drawn matter."""
        if event.use.kind == "draw" and not self._key(event.use.bits).cloned:
            self._report("same_key_for_all_rows", event, event)

    def _report(self, kind: str, first: Event, second: Event) -> None:
        self.clashes[kind, second.use.bits] = None
        lines = (kind, *telling_lines(first, second))
        if lines not in self.problems:
            self.problems[lines] = describe(kind, first, second)

    def _key(self, bits: Bits) -> _Key:
        return self._keys.setdefault(bits, _Key())

    def _seed(self, key: _Key, event: Event) -> None:
        clash = next((e for e in key.seeds if not e.excludes(event)), None)
        if clash is not None:
            self._report("seed_built_twice", clash, event)
        key.seeds.append(event)

    def _use(self, key: _Key, event: Event) -> None:
        folding = event.use.kind == "fold_in"
        if folding and any(e.use.kind == "fold_in" and not e.excludes(event) for e in key.uses):
            # Other numbers folded into one key are what folding is for: only a repeated number is another use.
            same = [e for e in key.folds if e.use.data == event.use.data and not e.excludes(event)]
            key.folds.append(event)
            if len(same) < key.allowance():
                if same:
                    key.uses.append(event)
                return
            self._report("fold_twice_same_data", same[-1], event)
            return
        if folding:
            key.folds.append(event)
        if event.use.kind == "draw" and not key.cloned:
            other = next((e for e in key.uses if e.mapped and event.mapped and e.excludes(event)), None)
            if event.shared or other is not None:
                self._report("same_key_for_all_rows", other or event, event)
        clashing = [e for e in key.uses if not e.excludes(event)]
        key.uses.append(event)
        if len(clashing) >= key.allowance():
            first = next((e for e in clashing if e.use.kind == event.use.kind), clashing[-1])
            self._report(_kind(first, event), first, event)


def _kind(first: Event, second: Event) -> str:
    kinds = {first.use.kind, second.use.kind}
    if kinds == {"draw"}:
        return "drawn_twice"
    if kinds == {"split"}:
        return "split_twice"
    if kinds == {"split", "fold_in"}:
        return "split_and_fold_mixed"
    return "parent_used_after_split" if "split" in kinds else "parent_used_after_fold"
