"""Watch one piece of a program's state: detect changes, find tracers in it, restore it."""

import collections
import itertools
import operator
import types
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from types import CellType, FunctionType
from typing import Any

import jax
import numpy as np

from jaxguide.tracing.value_description import describe_value

ABSENT = object()
DEPTH = 4


@dataclass(eq=False)
class Holder:
    """One piece of state: how to read it, tell whether it changed, and restore it.

    Args:
        kind: 'random' for the state of a random number generator, 'value' for anything else.
        words: what it is, such as "the global `log`".
        name: how the user's code refers to it, such as `log` or `model.cache`.
        read: returns a snapshot of its content.
        write: restores a snapshot.
        large: whether it is too large to compare at every line.
        is_object: whether its content is attributes, written with a dot.
        views: the live containers whose items are all that it reads; see `Views`. Empty if there are none.
        unchanged: tells quickly that the content is the same as at the start; if it says no, the content is compared.
    """

    kind: str
    words: str
    name: str
    read: Callable[[], Any]
    write: Callable[[Any], None]
    large: bool = False
    is_object: bool = False
    views: tuple[Collection[Any], ...] = ()
    unchanged: Callable[[], bool] = lambda: False
    before: Any = field(init=False)

    def __post_init__(self) -> None:
        self.before = self.read()

    def changed(self) -> bool:
        """Return whether its content differs from that at the start."""
        return not self.unchanged() and not _same(self.before, self.read())

    def restore(self) -> None:
        """Restore the content from the start."""
        if self.changed():
            self.write(self.before)

    def tracer(self) -> tuple[str, Any] | None:
        """Return how code refers to a new tracer in it, and the tracer; None if there is none."""
        now = self.read()
        if now is ABSENT:
            return None
        items = now.items() if isinstance(now, dict) else enumerate(now) if isinstance(now, tuple) else [("", now)]
        before = self.before.values() if isinstance(self.before, dict) else self.before
        old = {id(value) for value in before} if isinstance(self.before, dict | tuple) else set()
        for key, value in items:
            if id(value) in old:  # another holder reports changes inside it
                continue
            place = self.name if key == "" else member(self.name, key, self.is_object)
            found = _find_tracer(place, value, 0)
            if found is not None:
                return found
        return None

    def changed_beside_tracers(self) -> bool:
        """Return whether a container or object with a new tracer also changed in another way."""
        before, now = self.before, self.read()
        if isinstance(before, dict) and isinstance(now, dict):
            return bool(before.keys() - now.keys()) or any(
                not _has_tracer(value) and not (key in before and _same(before[key], value))
                for key, value in now.items()
            )
        if type(before) is not type(now) or not isinstance(now, tuple | frozenset):
            return False
        old = {id(item) for item in before}
        plain = [item for item in now if id(item) in old or not _has_tracer(item)]
        fresh = (item for item in plain if id(item) not in old)
        return (
            len(now) < len(before)
            or len(plain) > len(before)
            or any(not any(_same(item, other) for other in before) for item in fresh)
        )

    def before_and_after(self, beside_tracers: bool = False) -> tuple[str, str]:
        """Describe its content at the start and now in a few words; for a dictionary, only what differs.

        Args:
            beside_tracers: leave out a dictionary's items that hold tracers.
        """
        before, after = self.before, self.read()
        if isinstance(before, dict) and isinstance(after, dict):
            same = {key for key in before.keys() & after.keys() if _same(before[key], after[key])}
            if beside_tracers:
                same |= {key for key, value in after.items() if _has_tracer(value)}
            before, after = ({k: v for k, v in content.items() if k not in same} for content in (before, after))
        return self._text(before), self._text(after)

    def _text(self, content: Any) -> str:
        if content is ABSENT or (self.is_object and not content):
            return "nothing"
        if self.is_object:
            return ", ".join(f"{name}={describe_value(value).text}" for name, value in content.items())
        return describe_value(list(content) if isinstance(content, tuple) else content).text


class Views:
    """Tell whether any of many containers changed since the last time, at the cost of one pass over their items.

    >>> log, settings = [1, "a"], {"b": 2.0}
    >>> views = Views([log, settings, settings.values()])
    >>> views.changed(), log.append(3), views.changed(), views.changed()
    (False, None, True, False)
    """

    def __init__(self, views: Iterable[Collection[Any]]) -> None:
        self._views = list(views)
        self._sizes, self._items = self._read()

    def _read(self) -> tuple[list[int], list[Any]]:
        return list(map(len, self._views)), list(itertools.chain.from_iterable(self._views))

    def __len__(self) -> int:
        """Return how many items there are."""
        return len(self._items)

    def changed(self) -> bool:
        """Return whether an item was added, removed, moved or replaced since the last call."""
        sizes, items = self._read()
        if sizes == self._sizes and all(map(operator.is_, items, self._items)):
            return False
        self._sizes, self._items = sizes, items
        return True


def member(name: str, key: Any, is_object: bool) -> str:
    """Return how code refers to an item or attribute.

    >>> member("log", 0, False), member("model", "w", True)
    ('log[0]', 'model.w')
    """
    return f"{name}.{key}" if is_object else f"{name}[{key!r}]"


def cell_content(cell: CellType) -> Any:
    """Return the value of a closure's variable, or `ABSENT` if it is not bound yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def _same(one: Any, two: Any) -> bool:
    """Compare plain values and NumPy arrays by value, dictionaries and tuples item by item, all else by identity."""
    if one is two:
        return True
    if type(one) is not type(two):
        return False
    if isinstance(one, np.ndarray):
        return bool(one.shape == two.shape and one.tobytes() == two.tobytes())
    if isinstance(one, dict):
        return list(one) == list(two) and all(_same(one[key], two[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, frozenset):
        return {id(item) for item in one} == {id(item) for item in two} or one == two
    if isinstance(one, bool | int | float | complex | str | bytes | np.generic):
        return repr(one) == repr(two)
    return False


def _has_tracer(value: Any) -> bool:
    return _find_tracer("", value, 0) is not None


def _find_tracer(name: str, value: Any, depth: int) -> tuple[str, Any] | None:
    if isinstance(value, jax.core.Tracer):
        return name, value
    if depth > DEPTH or isinstance(value, jax.Array | np.ndarray | str):
        return None
    items: Any = ()
    if isinstance(value, dict):
        items = ((member(name, key, False), item) for key, item in value.items())
    elif isinstance(value, list | tuple | collections.deque):
        items = ((member(name, key, False), item) for key, item in enumerate(value))
    elif isinstance(value, set | frozenset):
        items = ((name, item) for item in value)
    elif isinstance(value, FunctionType):
        items = (
            (f"{name} ({variable})", cell_content(cell))
            for variable, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        )
    elif hasattr(value, "__dict__") and not isinstance(value, type | types.ModuleType):
        items = ((member(name, key, True), item) for key, item in vars(value).items())
    for place, item in items:
        found = _find_tracer(place, item, depth + 1)
        if found is not None:
            return found
    return None
