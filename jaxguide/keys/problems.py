"""Find in a run's events the keys that were used twice."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from jaxguide.keys.events import Bits, Event
from jaxguide.keys.record import KeyProblem
from jaxguide.lines import Line
from jaxguide.text import _


def find_problems(events: Sequence[Event]) -> list[KeyProblem]:
    """Return the problems in the order in which their second use happened, each pair of lines once."""
    finder = _Finder()
    for event in _rows_merged(events, finder):
        finder.add(event)
    return list(finder.problems.values())


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

    def report(self, kind: str, first: Event, second: Event) -> None:
        one, two = telling_lines(first.lines, second.lines)
        if (kind, one, two) in self.problems:
            return
        self.problems[kind, one, two] = KeyProblem(
            kind,
            message(kind, first, one, second, two),
            one.number if one else None,
            two.number if two else None,
            one.text() if one else None,
            two.text() if two else None,
        )

    def _key(self, bits: Bits) -> _Key:
        return self._keys.setdefault(bits, _Key())

    def _seed(self, key: _Key, event: Event) -> None:
        clash = next((e for e in key.seeds if not e.excludes(event)), None)
        if clash is not None:
            self.report("seed_built_twice", clash, event)
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
            self.report("fold_twice_same_data", same[-1], event)
            return
        if folding:
            key.folds.append(event)
        clashing = [e for e in key.uses if not e.excludes(event)]
        key.uses.append(event)
        if len(clashing) >= key.allowance():
            first = next((e for e in clashing if e.use.kind == event.use.kind), clashing[-1])
            self.report(_kind(first, event), first, event)


def _kind(first: Event, second: Event) -> str:
    kinds = {first.use.kind, second.use.kind}
    if kinds == {"draw"}:
        return "drawn_twice"
    if kinds == {"split"}:
        return "split_twice"
    if kinds == {"split", "fold_in"}:
        return "split_and_fold_mixed"
    return "parent_used_after_split" if "split" in kinds else "parent_used_after_fold"


def _rows_merged(events: Sequence[Event], finder: _Finder) -> Iterable[Event]:
    """Yield the events, rows of one operation that use the same key as one, after reporting them."""
    seen: set[tuple[object, ...]] = set()
    for event in events:
        row = (event.operation, event.use.bits, event.use.data if event.use.kind == "fold_in" else None)
        if row not in seen:
            seen.add(row)
            yield event
        elif event.use.kind in ("draw", "split", "fold_in"):
            finder.report("same_key_for_all_rows", event, event)


def telling_lines(first: Sequence[Line], second: Sequence[Line]) -> tuple[Line | None, Line | None]:
    """Return the innermost lines in which two uses differ: for a helper called twice, the two calls."""
    for one, two in zip(first, second, strict=False):
        if one != two:
            return one, two
    return (first[0] if first else None), (second[0] if second else None)


def message(kind: str, first: Event, one: Line | None, second: Event, two: Line | None) -> str:
    """Return one plain sentence on a problem, with the key's name where the line shows it."""
    name = _name(first, one) or _name(second, two)
    key = _("the key `{name}`").format(name=name) if name else _("a key")
    if kind == "seed_built_twice":
        number = first.use.data
        key = _("the seed {number}").format(number=number) if number is not None else _("one seed")
    where = _where(one, two)
    if kind == "same_key_for_all_rows":
        return _(
            "Several rows used the same key ({where}), so they get the same random numbers: split the key into one for "
            "each row, or draw once outside of `vmap` if the rows are meant to share."
        ).format(where=where)
    text = _MESSAGES[kind]().format(key=key, where=where)
    return text[0].upper() + text[1:]


# Functions, so that the reader's language is looked up when a message is written.
_MESSAGES = {
    "drawn_twice": lambda: _(
        "{key} was drawn from twice ({where}), and both draws rest on the same random bits: split it and give each "
        "draw a key of its own."
    ),
    "parent_used_after_split": lambda: _(
        "{key} was both split and drawn from ({where}): once a key is split, draw only from the keys that the split "
        "returned."
    ),
    "parent_used_after_fold": lambda: _(
        "{key} was both drawn from and used in `fold_in` ({where}): draw only from the keys that `fold_in` returned."
    ),
    "split_twice": lambda: _(
        "{key} was split twice ({where}), and both splits return the same keys: split once into as many as you need."
    ),
    "fold_twice_same_data": lambda: _(
        "The same number was folded into {key} twice ({where}), which gives the same key twice: fold in another number "
        "each time."
    ),
    "split_and_fold_mixed": lambda: _(
        "{key} was used in both `split` and `fold_in` ({where}), and `fold_in(key, i)` can equal `split(key)[i]`: use "
        "one of the two."
    ),
    "seed_built_twice": lambda: _(
        "A key was built from {key} twice ({where}), so both give the same random numbers: build one key and split it."
    ),
}


def _where(one: Line | None, two: Line | None) -> str:
    if one is None and two is None:
        return _("in library code")
    if one is None or two is None or one == two:
        line = one or two
        assert line is not None
        return _("line {line}: `{source}`").format(line=line.number, source=line.text())
    return _("line {first}: `{first_source}`, line {second}: `{second_source}`").format(
        first=one.number, first_source=one.text(), second=two.number, second_source=two.text()
    )


def _name(event: Event, line: Line | None) -> str | None:
    """Return the key's name as the line that uses it shows it, None where it is not a plain name."""
    if line is None or line.text() is None:
        return None
    verb = event.use.sampler if event.use.kind == "draw" else event.use.kind
    found = re.findall(rf"\b{verb}\(\s*([A-Za-z_]\w*)\s*[,)]", line.text() or "")
    return found[0] if len(set(found)) == 1 else None
