"""Find the keys that a run used twice, and describe each problem in one plain sentence."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from jaxguide.code.lines import Line, place_name
from jaxguide.keys.events import Bits, Event, KeyLog
from jaxguide.keys.ignoring import NOTHING, Ignored
from jaxguide.keys.key_record import KeyProblem, KeyProblems
from jaxguide.keys.libraries import Blame, blame, package_given_the_key, package_given_the_key_once
from jaxguide.keys.names import calls_a_loop, key_name, statement_text
from jaxguide.keys.origins import CallSite


def key_problem(kind: str, first: Event, second: Event) -> KeyProblem:
    """Return the problem that two uses cause, with its sentence, its lines and the key's name."""
    depth, depth_of_second = _depths(first, second)
    one, two = _place(first, depth), _place(second, depth_of_second)
    names = [_name(first, depth), _name(second, depth_of_second)]
    name = names[0] or names[1]
    where = _where(kind, one, two) + _further(kind, first, second, one, two)
    return KeyProblem(
        kind,
        _of_a_stream(kind, first, second, name, where)
        or _sentence(
            kind,
            first,
            names,
            where,
            again=one is not None and one == two,
            axis=second.axis,
            package=package_given_the_key(first, second),
            other=package_given_the_key_once(first, second),
        ),
        one.line.number if one else None,
        two.line.number if two else None,
        statement_text(one) if one else None,
        statement_text(two) if two else None,
        _file(one),
        _file(two),
        name,
    )


def package_problem(kind: str, blamed: Blame, first: Event, second: Event) -> KeyProblem:
    """Return the problem that two uses in an installed package cause, with the line of the call that led there."""
    place = None
    for one, two in zip(reversed(first.places), reversed(second.places), strict=False):
        if one != two:
            break
        place = one
    if not (first.places and second.places):
        place = next(iter((*first.places, *second.places)), None)
    where = f"{_in_package(blamed, blamed.first)}; then {_in_package(blamed, blamed.second)}"
    if blamed.first == blamed.second:
        where = f"each time in {_in_package(blamed, blamed.first)}"
    led = f"{_stated(place)} led there" if place else "it was called"
    message = (
        f"Inside {blamed.package}, not in your code, {IN_WORDS[kind]} ({where}); {led}. If that is meant, leave "
        f"it out with `ignore={blamed.package!r}`."
    )
    line, source, file = (place.line.number, statement_text(place), _file(place)) if place else (None, None, None)
    return KeyProblem(kind, message, line, line, source, source, file, file, package=blamed.package)


def _in_package(blamed: Blame, line: Line) -> str:
    parts = PurePath(line.file).parts
    start = max((i for i, part in enumerate(parts) if part == blamed.package), default=len(parts) - 1)
    return "{place}, line {number}".format(place="/".join(parts[start:]), number=line.number)


# Kind -> what was done to a key.
IN_WORDS = {
    "drawn_twice": "a key was drawn from twice",
    "parent_used_after_split": "a key was both split and drawn from",
    "parent_used_after_fold": "a key was both drawn from and used in `fold_in`",
    "split_twice": "a key was split twice",
    "fold_twice_same_data": "the same number was folded into a key twice",
    "split_and_fold_mixed": "a key was used in both `split` and `fold_in`",
    "seed_built_twice": "a key was built from one seed twice",
    "same_key_for_all_rows": "a key was used for several rows",
}


def telling_lines(first: Event, second: Event) -> tuple[Line | None, Line | None]:
    """Return the two lines on which one function used the key twice; for a helper called twice, the two calls."""
    one, two = (_place(event, depth) for event, depth in zip((first, second), _depths(first, second), strict=True))
    return one.line if one else None, two.line if two else None


def _depths(first: Event, second: Event) -> tuple[int, int]:
    """Return the index of the place in each use at which their call stacks diverge; 0 if one call ran twice."""
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


def _file(place: CallSite | None) -> str | None:
    return place_name(place.line.file) if place else None


def _name(event: Event, depth: int) -> str | None:
    if depth >= len(event.places) or event.use.kind == "seed":
        return None
    return key_name(event.places, depth, event.use.sampler if event.use.kind == "draw" else event.use.kind)


def _sentence(
    kind: str,
    first: Event,
    names: list[str | None],
    where: str,
    *,
    again: bool,
    axis: str | None,
    package: str | None,
    other: str | None,
) -> str:
    name, alias = names[0] or names[1], names[1]
    key = f"`{name}`" if name else "a key"
    if name and alias and name != alias:
        key = f"`{name}`, which is also `{alias}`,"
    if kind == "seed_built_twice":
        number = first.use.data
        key = f"the seed {number}" if number is not None else "one seed"
    if kind == "same_key_for_all_rows" and axis is not None:
        template = _on_all_devices
    else:
        template = _AGAIN.get(kind, _SENTENCES[kind]) if again else _SENTENCES[kind]
    if package is not None and name is not None and kind not in ("seed_built_twice", "same_key_for_all_rows"):
        template = _given_again if again else _given_twice
    elif other is not None and name is not None and kind in _PARENTS:
        template, package = _given_once, other
    text = template().format(key=key, name=name or "key", where=where, axis=axis, package=package)
    return text[0].upper() + text[1:]


def _of_a_stream(kind: str, first: Event, second: Event, name: str | None, where: str) -> str | None:
    """Return the sentence if a `KeyStream`, not the user, folded into the key; otherwise None."""
    source = " ".join(statement_text(event.places[0]) or "" for event in (first, second) if event.places)
    if kind == "fold_twice_same_data" and name is None and (found := _STREAM_USED.search(source)):
        return (
            "The stream `{stream}` gave the same key twice ({where}), because a function that it was passed to did not "
            "return it: return the stream and use the returned one, as in `y, {stream} = f(x, {stream})`."
        ).format(stream=found[1], where=where)
    if kind == "parent_used_after_fold" and name and "KeyStream(" in source:
        return (
            f"`{name}` was passed to a `KeyStream` and also used directly ({where}): take every key from the "
            "stream, as in `stream.next()`."
        )
    return None


_STREAM_USED = re.compile(r"([\w.]+)\.(?:next|take|fork)\(")


_SENTENCES: dict[str, Callable[[], str]] = {
    "drawn_twice": lambda: (
        "{key} was drawn from twice ({where}), so both draws use the same random bits: split it and give each draw its "
        "own key, or, if they are meant to share, draw once or mark one use with `jax.random.clone({name})`."
    ),
    "parent_used_after_split": lambda: (
        "{key} was both split and drawn from ({where}): once a key is split, draw only from the keys that the split "
        "returned."
    ),
    "parent_used_after_fold": lambda: (
        "{key} was both drawn from and used in `fold_in` ({where}): draw only from the keys that `fold_in` returned."
    ),
    "split_twice": lambda: (
        "{key} was split twice ({where}), so both splits return the same keys: split once into as many as you need."
    ),
    "fold_twice_same_data": lambda: (
        "The same number was folded into {key} twice ({where}), which gives the same key twice: fold in a different "
        "number each time."
    ),
    "split_and_fold_mixed": lambda: (
        "{key} was used in both `split` and `fold_in` ({where}), and `fold_in({name}, i)` can equal "
        "`split({name})[i]`: use only one of them."
    ),
    "seed_built_twice": lambda: (
        "A key was built from {key} twice ({where}), so both give the same random numbers: build one key and split it."
    ),
    "same_key_for_all_rows": lambda: (
        "{key} was used for several rows ({where}), so they get the same random numbers: split it into one key for "
        "each row and map over these keys, or, if the rows are meant to share, draw once outside `vmap` or mark it "
        "with `jax.random.clone({name})`."
    ),
}


def _given_twice() -> str:
    return (
        "{key} was given to {package} twice ({where}), and both times it makes the same random numbers: split it and "
        "give each call its own key."
    )


def _given_once() -> str:
    return (
        "{key} was given to {package}, and used otherwise as well ({where}), so the random numbers of the two may be "
        "related: split it, and give each its own key."
    )


# The problems of a key that a package may split, although the user never does.
_PARENTS = ("parent_used_after_split", "parent_used_after_fold", "split_and_fold_mixed", "split_twice")


def _given_again() -> str:
    return (
        "{key} was given to {package} more than once ({where}), and each time it makes the same random numbers: give "
        "each call a new key, from `split` or `fold_in`."
    )


def _on_all_devices() -> str:
    return (
        "{key} was drawn from on several devices ({where}), so they get the same random numbers: draw from "
        "`jax.random.fold_in({name}, jax.lax.axis_index({axis!r}))`, or split it and give each device its own key, or, "
        "if the devices are meant to share the numbers, draw them outside or mark the key with "
        "`jax.random.clone({name})`."
    )


# For one call that ran several times: in a loop, in `scan`, or in a helper that is called repeatedly.
_AGAIN: dict[str, Callable[[], str]] = {
    "drawn_twice": lambda: (
        "{key} was drawn from more than once ({where}), and each time it gives the same random bits: use a new key "
        "each time, from `split` or `fold_in`, or, if the draws are meant to share, draw once outside the loop or "
        "`scan` or mark each use with `jax.random.clone({name})`."
    ),
    "split_twice": lambda: (
        "{key} was split more than once ({where}), and each time the split returns the same keys: carry one of the "
        "returned keys to the next iteration, and return it from any function that does the splitting."
    ),
    "fold_twice_same_data": lambda: (
        "The same number was folded into {key} more than once ({where}), which gives the same key each time: fold in "
        "a different number each time."
    ),
}


def _where(kind: str, one: CallSite | None, two: CallSite | None) -> str:
    if one is None and two is None:
        return "in library code"
    if one is None or two is None:
        place = one or two
        assert place is not None
        return _stated(place)
    if one == two:
        return _stated(one) if kind == "same_key_for_all_rows" else f"each time in {_stated(one)}"
    if one.line == two.line:
        return f"both in {_stated(one)}"
    same_file = one.line.file == two.line.file
    return f"{_stated(one)}; then {_stated(two, with_file=not same_file)}"


def _further(kind: str, first: Event, second: Event, one: CallSite | None, two: CallSite | None) -> str:
    """Return what to add to the two places: the lines that use the key if they are others, or who called them."""
    if one is None or two is None or kind == "seed_built_twice":
        return ""
    if one == two and one == first.places[0]:
        callers = [place for place in first.places[1 : 1 + _MOST_CALLERS] if place in second.places]
        if kind == "same_key_for_all_rows" or one.line in {place.line for place in callers}:
            return ""
        return "".join(
            f", called from {_stated(place, with_file=place.line.file != one.line.file)}" for place in callers
        )
    uses = dict.fromkeys(event.places[0] for event in (first, second))
    others = [place for place in uses if place.line not in (one.line, two.line)]
    if not others:
        return ""
    stated = [_stated(place, with_file=place.line.file != one.line.file) for place in others]
    return "; the key is used in {places}".format(places=" and in ".join(dict.fromkeys(stated)))


_MOST_CALLERS = 3


def _stated(place: CallSite, *, with_file: bool = True) -> str:
    file = place_name(place.line.file)
    # Names such as <stdin> come from Python and tell the reader nothing.
    line = f"line {place.line.number}"
    if with_file and not file.startswith("<"):
        line = f"{file}, line {place.line.number}"
    source = statement_text(place)
    return f"{line}: `{source}`" if source else line


def find_problems(log: KeyLog, ignored: Ignored = NOTHING) -> KeyProblems:
    """Return the problems in the order of their second use, each pair of lines once."""
    found = _found(log.events, ignored)
    return KeyProblems(found.problems.values(), len(found.ignored), log.cut_loops())


def find_clashes(events: Sequence[Event], ignored: Ignored = NOTHING) -> list[tuple[str, Bits]]:
    """Return (kind of problem, words of the key) pairs in the same order, without duplicates."""
    return list(_found(events, ignored).clashes)


def _found(events: Sequence[Event], ignored: Ignored) -> "_Finder":
    finder = _Finder(ignored, _Steps(events))
    seen: set[tuple[object, ...]] = set()
    for event in events:
        row = (event.operation, event.use.bits, event.use.data if event.use.kind == "fold_in" else None)
        if row in seen:
            finder.add_row(event)
        else:
            seen.add(row)
            finder.add(event)
    return finder


class _Steps:
    """The keys that are only a step on the way to others, as `fold_in(key, epoch)` is in `fold_in(..., batch)`.

    Such a key may be made again: nothing is drawn from it, and the keys that are made from it are told apart.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self._unused: set[Bits] = set()  # made, and not used since
        self._left: set[Bits] = set()  # made again before they were used: the program may return one of them
        self._made: Counter[Bits] = Counter()
        self._uses: dict[Bits, dict[tuple[int, object], Event]] = {}
        for event in events:
            uses = self._uses.setdefault(event.use.bits, {})
            if (event.operation, event.use.data) not in uses:
                uses[event.operation, event.use.data] = event
                self._unused.discard(event.use.bits)
                self._left |= self._unused.intersection(event.made)
                self._unused.update(event.made)
                self._made.update(dict.fromkeys(event.made, 1))
        self._known: dict[Bits, bool] = {}

    def __contains__(self, bits: Bits) -> bool:
        if bits not in self._known:
            self._known[bits] = False  # of a circle
            self._known[bits] = self._is_step(bits)
        return self._known[bits]

    def _is_step(self, bits: Bits) -> bool:
        uses = list(self._uses.get(bits, {}).values())
        if bits in self._left or bits in self._unused or any(event.use.kind != "fold_in" for event in uses):
            return False
        again = (made for event in uses for made in event.made if self._made[made] > 1)
        return all(made in self for made in again)


@dataclass
class _Key:
    """What happened to one key: how often it was made or cloned, and the uses that count."""

    made: int = 0
    cloned: int = 0
    seeds: list[Event] = field(default_factory=list)
    uses: list[Event] = field(default_factory=list)
    folds: list[Event] = field(default_factory=list)

    def allowance(self) -> int:
        # A key made twice (by a repeated split, fold or seed, which is reported itself) may be used once for each time.
        return max(self.made, 1) + self.cloned


class _Finder:
    def __init__(self, leave_out: Ignored, steps: _Steps) -> None:
        self._steps = steps
        self.problems: dict[tuple[object, ...], KeyProblem] = {}
        self.ignored: set[tuple[object, ...]] = set()
        self._leave_out = leave_out
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
        """Add another row of an operation, with the same key; only drawn numbers matter."""
        if event.use.kind == "draw" and not self._key(event.use.bits).cloned:
            self._report("same_key_for_all_rows", event, event)

    def _report(self, kind: str, first: Event, second: Event) -> None:
        blamed = blame(first, second)
        lines = (kind, blamed, *telling_lines(first, second))
        if self._leave_out.covers(blamed.package if blamed else None, (first, second)):
            self.ignored.add(lines)
            return
        self.clashes[kind, second.use.bits] = None
        if lines not in self.problems:
            self.problems[lines] = (
                package_problem(kind, blamed, first, second) if blamed else key_problem(kind, first, second)
            )

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
            # Different numbers may be folded into one key: only a repeated number counts as another use.
            same = [e for e in key.folds if e.use.data == event.use.data and not e.excludes(event)]
            key.folds.append(event)
            if len(same) < key.allowance():
                if same:
                    key.uses.append(event)
                return
            if not event.made or not all(bits in self._steps for bits in event.made):
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
