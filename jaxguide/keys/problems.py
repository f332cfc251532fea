"""Find the keys that a run used twice, and describe each problem in one short sentence."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from jaxguide.code.lines import Line, place_name
from jaxguide.keys.events import Bits, Event
from jaxguide.keys.key_report import KeyProblem
from jaxguide.keys.libraries import Blame, blame, packages_given_the_key
from jaxguide.keys.names import calls_a_loop, key_name, statement_text
from jaxguide.keys.origins import CallSite

_LONGEST_SOURCE = 50
# Kind -> what was done, and what to do instead.
_SENTENCES = {
    "drawn_twice": ("{key} was drawn from twice", "split it and give each draw its own key"),
    "parent_used_after_split": (
        "{key} was both split and drawn from",
        "draw only from the keys that the split returned",
    ),
    "parent_used_after_fold": (
        "{key} was both drawn from and used in `fold_in`",
        "draw only from the keys that `fold_in` returned",
    ),
    "split_twice": ("{key} was split twice", "split it once into as many keys as you need"),
    "fold_twice_same_data": (
        "the same number was folded into {key} twice",
        "fold in a different number each time",
    ),
    "split_and_fold_mixed": (
        "{key} was used in both `split` and `fold_in`",
        "use only one of them, because both can make the same key",
    ),
    "seed_built_twice": ("a key was built from {key} twice", "build one key and split it"),
    "same_key_for_all_rows": (
        "{key} was used for several rows",
        "map over one key for each row, from `split`, or draw outside `vmap` to share the numbers",
    ),
}
# Kind -> what was done to some key.
IN_WORDS = {
    kind: what.format(key="one seed" if kind == "seed_built_twice" else "a key")
    for kind, (what, _advice) in _SENTENCES.items()
}
# For one call that ran several times: in a loop, in `scan`, or in a helper that is called repeatedly.
_AGAIN = {
    "drawn_twice": "use a new key each time, from `split` or `fold_in`",
    "split_twice": "carry one of the keys that the split returned to the next iteration",
    "fold_twice_same_data": "fold in a different number each time",
}
_ON_DEVICES = ("{key} was drawn from on several devices", "fold in `jax.lax.axis_index({axis!r})`")
_GIVEN_TWICE = ("{key} was given to {package} twice", "split it and give each call its own key")
_GIVEN_ONCE = ("{key} was given to {package} and also used directly", "split it and give each its own key")
# The problems of a key that a package may split, although the user never does.
_PARENTS = ("parent_used_after_split", "parent_used_after_fold", "split_and_fold_mixed", "split_twice")


def key_problem(kind: str, first: Event, second: Event) -> KeyProblem:
    """Return the problem that two uses cause, with its sentence, its lines and the key's name."""
    depths = _depths(first, second)
    one, two = map(_place, (first, second), depths)
    name, alias = map(_name, (first, second), depths)
    name = name or alias
    key = f"`{name}`" if name else "a key"
    if name and alias and name != alias:
        key = f"`{name}`, which is also `{alias}`,"
    again = one is not None and one == two and kind in _AGAIN
    what, advice = _SENTENCES[kind]
    if again:
        advice = _AGAIN[kind]
    packages = packages_given_the_key(first, second)
    if kind == "seed_built_twice":
        key = "one seed" if first.use.data is None else f"the seed {first.use.data}"
    elif kind == "same_key_for_all_rows":
        what, advice = _ON_DEVICES if second.axis else (what, advice)
    elif name and packages[0] is not None and packages[0] == packages[1]:
        what, advice = _GIVEN_TWICE
    elif name and kind in _PARENTS and None in packages and any(packages):
        what, advice = _GIVEN_ONCE
    if of_stream := _of_a_stream(kind, first, second, name):
        what, advice = of_stream
    if again:
        what = what.replace("twice", "more than once")
    words = {"key": key, "axis": second.axis, "package": packages[0] or packages[1]}
    where = _where(kind, one, two) + _further(kind, first, second, one, two)
    return _problem(kind, f"{what.format(**words)} ({where}): {advice.format(**words)}.", one, two, name=name)


def package_problem(kind: str, blamed: Blame, first: Event, second: Event) -> KeyProblem:
    """Return the problem that two uses in an installed package cause, with the line of the call that led there."""
    shared = [place for place in first.places if place in second.places]
    place = next(iter(shared or (*first.places, *second.places)), None)
    where = f"each time in {_in_package(blamed, blamed.first)}"
    if blamed.first != blamed.second:
        where = f"{_in_package(blamed, blamed.first)}; then {_in_package(blamed, blamed.second)}"
    called = f", called in {_stated(place)}" if place else ""
    message = (
        f"Inside {blamed.package}, {IN_WORDS[kind]} ({where}){called}. `ignore={blamed.package!r}` leaves this out."
    )
    return _problem(kind, message, place, place, package=blamed.package)


def _problem(
    kind: str,
    message: str,
    one: CallSite | None,
    two: CallSite | None,
    *,
    name: str | None = None,
    package: str | None = None,
) -> KeyProblem:
    (line, source, file), (other_line, other_source, other_file) = map(_facts, (one, two))
    said = message[0].upper() + message[1:]
    return KeyProblem(kind, said, line, other_line, source, other_source, file, other_file, name, package)


def _facts(place: CallSite | None) -> tuple[int | None, str | None, str | None]:
    return (place.line.number, statement_text(place), place_name(place.line.file)) if place else (None, None, None)


def _in_package(blamed: Blame, line: Line) -> str:
    parts = PurePath(line.file).parts
    start = max((i for i, part in enumerate(parts) if part == blamed.package), default=len(parts) - 1)
    return f"{'/'.join(parts[start:])}, line {line.number}"


def _depths(first: Event, second: Event) -> tuple[int, int]:
    """Return the index of the place in each use at which their call stacks diverge; 0 if one call ran twice.

    It is where one function used the key twice; for a helper called twice, where it was called.
    """
    pairs = zip(reversed(range(len(first.places))), reversed(range(len(second.places))), strict=False)
    i, j = next(((i, j) for i, j in pairs if first.places[i] != second.places[j]), (0, 0))
    if not first.places or not second.places or first.places[i].code is not second.places[j].code:
        return 0, 0  # JAX inlined a function without recording where it was called
    k, m = _inside_loops(first.places, i), _inside_loops(second.places, j)
    return (k, m) if first.places[k] != second.places[m] else (i, j)


def _inside_loops(places: Sequence[CallSite], depth: int) -> int:
    while depth > 0 and calls_a_loop(places[depth]):
        depth -= 1
    return depth


def _place(event: Event, depth: int) -> CallSite | None:
    return event.places[depth] if depth < len(event.places) else None


def _name(event: Event, depth: int) -> str | None:
    if depth >= len(event.places) or event.use.kind == "seed":
        return None
    return key_name(event.places, depth, event.use.sampler if event.use.kind == "draw" else event.use.kind)


def _of_a_stream(kind: str, first: Event, second: Event, name: str | None) -> tuple[str, str] | None:
    """Return what was done and what to do if a `KeyStream`, not the user, folded into the key; otherwise None."""
    source = " ".join(statement_text(event.places[0]) or "" for event in (first, second) if event.places)
    if kind == "fold_twice_same_data" and name is None and (found := _STREAM_USED.search(source)):
        done = f"the stream `{found[1]}` gave the same key twice"
        return done, f"return it from the function that it was passed to, as in `y, {found[1]} = f(x, {found[1]})`"
    if kind == "parent_used_after_fold" and name and "KeyStream(" in source:
        return "{key} was passed to a `KeyStream` and also used directly", "take every key from the stream"
    return None


_STREAM_USED = re.compile(r"([\w.]+)\.(?:next|take|fork)\(")


def _where(kind: str, one: CallSite | None, two: CallSite | None) -> str:
    place = one or two
    if place is None:
        return "in library code"
    if one is None or two is None or (one == two and kind == "same_key_for_all_rows"):
        return _stated(place)
    if one == two:
        return f"each time in {_stated(one)}"
    if one.line == two.line:
        return f"both in {_stated(one)}"
    return f"{_stated(one)}; then {_stated(two, beside=one)}"


def _further(kind: str, first: Event, second: Event, one: CallSite | None, two: CallSite | None) -> str:
    """Return what to add to the two places: the lines that use the key if they are others, or who called them."""
    if one is None or two is None or kind == "seed_built_twice":
        return ""
    if kind == "same_key_for_all_rows":
        called = second.vmap
        return f", mapped in {_stated(called, beside=one, bare=True)}" if called and called.line != one.line else ""
    if one == two == first.places[0]:
        caller = first.places[1] if len(first.places) > 1 and first.places[1] in second.places else None
        if caller is None or caller.line == one.line:
            return ""
        return f", called from {_stated(caller, beside=one)}"
    uses = {event.places[0].line: event.places[0] for event in (first, second)}
    others = [_stated(place, beside=one, bare=True) for line, place in uses.items() if line not in (one.line, two.line)]
    return f"; the key is used in {' and in '.join(others)}" if others else ""


def _stated(place: CallSite, *, beside: CallSite | None = None, bare: bool = False) -> str:
    """Return the line of a place, with its file if that is not the one of `beside`, and unless `bare` with its text."""
    file, line = place_name(place.line.file), f"line {place.line.number}"
    # Names such as <stdin> come from Python and tell the reader nothing.
    if not file.startswith("<") and (beside is None or beside.line.file != place.line.file):
        line = f"{file}, {line}"
    source = None if bare else statement_text(place)
    if source and len(source) > _LONGEST_SOURCE:
        source = f"{source[: _LONGEST_SOURCE - 1]}…"
    return f"{line}: `{source}`" if source else line


@dataclass
class _Key:
    """What happened to one key: how often it was made or cloned, the uses that count, and the folds that made it.

    `again` has pairs of folds that made it twice: a mistake only if it is used twice, because it may be a step on the
    way to other keys, as `fold_in(key, epoch)` is in `fold_in(fold_in(key, epoch), batch)`.
    """

    made: int = 0
    cloned: int = 0
    seeds: list[Event] = field(default_factory=list)
    uses: list[Event] = field(default_factory=list)
    folds: list[Event] = field(default_factory=list)
    again: list[tuple[Event, Event]] = field(default_factory=list)

    def allowance(self) -> int:
        # A key made twice (by a repeated split or seed, which is reported itself) may be used once for each time.
        return max(self.made, 1) + self.cloned


class Findings:
    """The problems of a run.

    Args:
        problems: each pair of lines once, in the order of the second use.
        ignored: what identifies each problem that was left out.
        clashes: (kind of problem, words of the key) pairs, in the same order.
    """

    def __init__(self, events: Sequence[Event], leave_out: Collection[str]) -> None:
        self.problems: dict[tuple[object, ...], KeyProblem] = {}
        self.ignored: set[tuple[object, ...]] = set()
        self.clashes: dict[tuple[str, Bits], None] = {}
        self._leave_out = leave_out
        self._keys: dict[Bits, _Key] = {}
        seen: set[tuple[object, ...]] = set()
        for event in events:
            row = (event.operation, event.use.bits, event.use.data if event.use.kind == "fold_in" else None)
            if row not in seen:
                seen.add(row)
                self._add(event)
            elif event.use.kind == "draw" and not self._key(event.use.bits).cloned:  # another row of the operation
                self._report("same_key_for_all_rows", event, event)

    def _add(self, event: Event) -> None:
        key = self._key(event.use.bits)
        if event.use.kind == "clone":
            key.cloned += 1
            return
        if event.use.kind == "seed":
            clash = next((e for e in key.seeds if not e.excludes(event)), None)
            if clash is not None:
                self._report("seed_built_twice", clash, event)
            key.seeds.append(event)
        else:
            self._use(key, event)
        for bits in dict.fromkeys(event.made):
            made = self._key(bits)
            earlier = [e for e in made.folds if not e.excludes(event)]
            if event.use.kind == "fold_in" and earlier and key.allowance() == 1:
                made.again.append((earlier[-1], event))
            else:
                made.made += 1
            if event.use.kind == "fold_in":
                made.folds.append(event)

    def _report(self, kind: str, first: Event, second: Event) -> None:
        blamed = blame(first, second)
        places = map(_place, (first, second), _depths(first, second))
        lines = (kind, blamed, *(place and place.line for place in places))
        if blamed and blamed.package in self._leave_out:
            self.ignored.add(lines)
            return
        self.clashes[kind, second.use.bits] = None
        if lines not in self.problems:
            self.problems[lines] = (
                package_problem(kind, blamed, first, second) if blamed else key_problem(kind, first, second)
            )

    def _key(self, bits: Bits) -> _Key:
        return self._keys.setdefault(bits, _Key())

    def _use(self, key: _Key, event: Event) -> None:
        folding = event.use.kind == "fold_in"
        if folding and any(e.use.kind == "fold_in" and not e.excludes(event) for e in key.uses):
            return  # different numbers may be folded into one key; what a repeated number made is told if it is used
        if event.use.kind == "draw" and not key.cloned:
            other = next((e for e in key.uses if e.mapped and event.mapped and e.excludes(event)), None)
            if event.shared or other is not None:
                self._report("same_key_for_all_rows", other or event, event)
        clashing = [e for e in key.uses if not e.excludes(event)]
        key.uses.append(event)
        if len(clashing) >= key.allowance() and key.again:
            self._report("fold_twice_same_data", *key.again.pop(0))
            key.made += 1
        elif len(clashing) >= key.allowance():
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
