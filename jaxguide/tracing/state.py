"""Keep the state that a function can reach, to tell what changed, to find tracers in it, and to restore it."""

import collections
import dis
import functools
import gc
import inspect
import random
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import BuiltinMethodType, CellType, CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import jax
import numpy as np

from jaxguide.code.frames import is_library
from jaxguide.code.lines import Line
from jaxguide.tracing.functions import codes_within
from jaxguide.tracing.value_description import describe_value

_LEVELS = 4
_MOST_PLACES = 2_000
_MOST_BYTES = 50_000_000
_Generator = random.Random | np.random.RandomState | np.random.Generator
_CONTAINERS = (dict, list, set, collections.deque)
_MISSING = object()


@dataclass(frozen=True)
class _Global:
    names: dict[str, Any]
    name: str


class _NoIndex(int):
    """The key of a variable's value, or of an item of a set."""


@dataclass
class _Lines:
    """The lines that name a variable, in the code that was read."""

    load: set[Line] = field(default_factory=set)
    store: set[Line] = field(default_factory=set)


@dataclass(eq=False)
class Place:
    """One place that holds state, and its items at the start.

    Args:
        words: what it is, such as "the global `log`".
        name: how the user's code refers to it, such as `log` or `model.cache`.
        held: the container, the variable (a closure's cell or a `_Global`), the array or the random number generator.
        lines: the lines that name the variable through which it was found.
        is_object: whether its items are attributes, written with a dot.
    """

    words: str
    name: str
    held: Any
    lines: _Lines
    is_object: bool = False
    before: dict[Any, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.before = _read(self.held)

    @property
    def is_random(self) -> bool:
        """Whether it is the state of a random number generator."""
        return isinstance(self.held, _Generator)

    @property
    def line(self) -> Line | None:
        """The line that names it, and for a variable that sets it, if there is only one."""
        lines = self.lines.store if isinstance(self.held, _Global | CellType) else self.lines.load
        return next(iter(lines)) if len(lines) == 1 else None

    def leak(self) -> tuple[str, Any] | None:
        """Return how code refers to a new tracer in it, and the tracer; None if there is none."""
        now = _read(self.held)
        members = ((_member(self.name, key, self.is_object), now.get(key)) for key in self._changed(now))
        return next(filter(None, (_find_tracer(*member) for member in members)), None)

    def change(self) -> tuple[str, str] | None:
        """Return what it held and what it holds now, in a few words; None if nothing but tracers is new."""
        before, now = self.before, _read(self.held)
        keys = [key for key in self._changed(now) if _find_tracer("", now.get(key)) is None]
        if not keys:
            return None
        if isinstance(self.held, dict):
            before, now = ({key: items[key] for key in keys if key in items} for items in (before, now))
        return self._text(before), self._text(now)

    def restore(self) -> None:
        """Restore the content from the start."""
        if self._changed(_read(self.held)):
            _write(self.held, self.before)

    def _changed(self, now: dict[Any, Any]) -> list[Any]:
        before = self.before
        return [k for k in {**before, **now} if k not in before or k not in now or not _same(before[k], now[k])]

    def _text(self, items: dict[Any, Any]) -> str:
        if self.is_object:
            return ", ".join(f"{name}={describe_value(value).text}" for name, value in items.items()) or "nothing"
        if not isinstance(self.held, _CONTAINERS):
            return describe_value(*items.values()).text if items else "nothing"
        kind = next(kind for kind in (dict, set, list) if isinstance(self.held, kind) or kind is list)
        return describe_value(items if kind is dict else kind(items.values())).text


def state_of(values: Mapping[str, Any]) -> list[Place]:
    """Return the state that values hold and that functions among them can reach: globals, closures, objects.

    >>> log = []
    >>> [place.words for place in state_of({"f": lambda x: log.append(x), "p": {"w": [1]}})]
    ['an attribute of the function `<lambda>`', 'the list `log`', 'the dict `p`', "the list `p['w']`"]

    Args:
        values: by name, as the user's code refers to them.
    """
    search = _Search()
    for name, value in values.items():
        search.value(name, value)
    return search.places


def random_states() -> list[Place]:
    """Return the state of the random number generators of Python and NumPy."""
    functions: dict[str, Any] = {"Python's `random`": random.random, "NumPy's global random state": np.random.rand}
    return [Place(words, "", function.__self__, _Lines()) for words, function in functions.items()]


def clear_caches_with_tracers() -> list[tuple[str, str]]:
    """Clear each `functools.lru_cache` that holds a tracer, and return the functions' names, each with its type.

    >>> kept = functools.cache(lambda n: jax.numpy.ones(n) * n)
    >>> _ = jax.make_jaxpr(lambda: kept(3))()
    >>> clear_caches_with_tracers(), kept.cache_info().currsize
    ([('<lambda>', 'float32[3]')], 0)
    """
    found = []
    # `isinstance` would run the code of proxies, such as those of modules that are not loaded yet.
    for cache in [one for one in gc.get_objects() if type(one) is functools._lru_cache_wrapper]:
        # Only the garbage collector can look at the results.
        held = [one for one in gc.get_referents(cache) if one is not vars(cache) and not isinstance(one, FunctionType)]
        tracer = _find_tracer("", held)
        if tracer is not None:
            cache.cache_clear()
            found.append((getattr(cache, "__name__", "a function"), describe_value(tracer[1]).text))
    return found


class _Search:
    def __init__(self) -> None:
        self.places: list[Place] = []
        self._seen: dict[Any, tuple[Any, _Lines]] = {}  # with the objects: an id is unique only while one is alive
        self._lines = _Lines()
        self._by_variable: dict[Any, _Lines] = collections.defaultdict(_Lines)

    def value(self, name: str, value: Any, level: int = 0) -> None:
        """Search a value: what it holds, and the code that runs when it is called."""
        if isinstance(value, jax.Array | str | bytes | int | float | complex | None) or level > _LEVELS:
            return
        if len(self.places) > _MOST_PLACES or not self._is_new(value, id(value)):
            return
        held, is_object = value, _is_users_object(value)
        if is_object:
            held = vars(value)
            if not isinstance(value, ModuleType):  # the functions that set its variables name them
                self._keep(f"an attribute of `{name}`", name, held, is_object=True)
        elif isinstance(value, _Generator):
            self._keep(f"the generator `{name}`", name, value)
        elif isinstance(value, np.ndarray) and value.flags.writeable and value.nbytes <= _MOST_BYTES:
            self._keep(f"the array `{name}`", name, value)
        elif isinstance(value, _CONTAINERS):
            self._keep(f"the {type(value).__name__} `{name}`", name, value)
        if callable(value) and not isinstance(value, type):
            self._code(name, value)
        for key, item in _items(held).items():
            self.value(_member(name, key, is_object), item, level + 1)

    def _code(self, name: str, fn: Any) -> None:
        inside = [getattr(fn, "__wrapped__", None)]
        if isinstance(fn, FunctionType) and not is_library(fn.__code__.co_filename):
            self._keep(f"an attribute of the function `{fn.__name__}`", fn.__name__, vars(fn), is_object=True)
            self._function(fn)
        elif isinstance(fn, FunctionType):  # a library's wrapper of the user's function
            inside += (one for cell in fn.__closure__ or () if callable(one := _cell_content(cell)))
        elif isinstance(fn, functools.partial):
            inside.append(fn.func)
            for held in (*fn.args, *fn.keywords.values()):
                self.value("partial", held)
        elif isinstance(fn, MethodType | BuiltinMethodType):
            self.value("self", fn.__self__)
            inside.append(getattr(fn, "__func__", None))
        elif _is_users_object(fn):
            inside += (vars(cls)["__call__"] for cls in type(fn).__mro__ if "__call__" in vars(cls))
        for one in inside:
            self.value(name, one)

    def _keep(self, words: str, name: str, held: Any, is_object: bool = False) -> None:
        self.places.append(Place(words, name, held, self._lines, is_object))

    def _function(self, fn: FunctionType) -> None:
        for parameter in inspect.signature(fn, follow_wrapped=False).parameters.values():
            self.value(parameter.name, parameter.default)
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        named = _names_in(fn.__code__)
        for (kind, name), lines in named.items():
            if kind == "DEREF" and name in cells:
                self._variable(f"the closure variable `{name}` of `{fn.__name__}`", name, cells[name], lines)
            elif kind == "GLOBAL":
                self._variable(f"the global `{name}`", name, _Global(fn.__globals__, name), lines)

    def _variable(self, words: str, name: str, held: Any, lines: _Lines) -> None:
        key = (id(held.names), held.name) if isinstance(held, _Global) else id(held)
        before, self._lines = self._lines, self._by_variable[key]
        _add(self._lines, lines)
        if lines.store and self._is_new(held, ("stored", key)):
            self._keep(words, name, held)
        for value in _read(held).values():
            self.value(name, value)
        self._lines = before

    def _is_new(self, value: Any, key: Any) -> bool:
        if key in self._seen:
            _add(self._seen[key][1], self._lines)
            return False
        self._seen[key] = value, self._lines
        return True


def _names_in(code: CodeType) -> dict[tuple[str, str], _Lines]:
    """Return where a function's code loads and stores variables, by kind and name."""
    found: dict[tuple[str, str], _Lines] = collections.defaultdict(_Lines)
    for instruction in (one for inner in codes_within(code) for one in dis.get_instructions(inner)):
        kind = re.fullmatch("(LOAD|STORE|DELETE)_(GLOBAL|DEREF)", instruction.opname)
        if kind is not None and instruction.positions is not None:
            lines = found[kind[2], instruction.argval]
            line = Line(code.co_filename, instruction.positions.lineno or 0)
            (lines.load if kind[1] == "LOAD" else lines.store).add(line)
    return found


def _add(lines: _Lines, more: _Lines) -> None:
    lines.load |= more.load
    lines.store |= more.store


def _is_users_object(value: Any) -> bool:
    """Return whether a module or an object's class is the user's; `types.SimpleNamespace` holds the user's data."""
    if not hasattr(value, "__dict__") or isinstance(value, type):
        return False
    module = value if isinstance(value, ModuleType) else sys.modules.get(type(value).__module__)
    if isinstance(value, SimpleNamespace) or module is None or module.__name__ == "__main__":
        return True
    return not is_library(getattr(module, "__file__", None) or "<frozen ")


def _items(value: Any) -> dict[Any, Any]:
    """Return what a container holds, each with its key; empty for other values."""
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, list | tuple | collections.deque):
        return dict(enumerate(value))
    return {_NoIndex(id(item)): item for item in value} if isinstance(value, set | frozenset) else {}


def _member(name: str, key: Any, is_object: bool) -> str:
    if isinstance(key, _NoIndex):
        return name
    return f"{name}.{key}" if is_object else f"{name}[{key!r}]"


def _cell_content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return _MISSING


def _set_global(place: _Global, content: Any) -> None:
    place.names[place.name] = content
    if content is _MISSING:
        del place.names[place.name]


# How to read and how to write what has no items.
_CONTENTS: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], None]]] = {
    _Global: (lambda place: place.names.get(place.name, _MISSING), _set_global),
    CellType: (_cell_content, lambda cell, content: setattr(cell, "cell_contents", content)),
    np.ndarray: (np.ndarray.copy, lambda array, content: array.__setitem__(..., content)),
    random.Random: (random.Random.getstate, random.Random.setstate),
    np.random.RandomState: (np.random.RandomState.get_state, np.random.RandomState.set_state),
    np.random.Generator: (
        lambda generator: generator.bit_generator.state,
        lambda generator, content: setattr(generator.bit_generator, "state", content),
    ),
}


def _read(held: Any) -> dict[Any, Any]:
    """Return the items that a place holds, by key."""
    for kind, (read, _write) in _CONTENTS.items():
        if isinstance(held, kind):
            return {key: value for key, value in ((_NoIndex(), read(held)),) if value is not _MISSING}
    return _items(held)


def _write(held: Any, items: dict[Any, Any]) -> None:
    """Put back the items that `_read` returned."""
    for kind, (_read, write) in _CONTENTS.items():
        if isinstance(held, kind):
            write(held, next(iter(items.values()), _MISSING))
            return
    if isinstance(held, dict):
        for key in held.keys() - items.keys():
            del held[key]
        held.update(items)
    elif isinstance(held, set):
        held.clear()
        held.update(items.values())
    else:
        held.clear()
        held.extend(items.values())


def _same(one: Any, two: Any) -> bool:
    """Compare plain values and NumPy arrays by value, dictionaries and tuples item by item, all else by identity."""
    if one is two or type(one) is not type(two):
        return one is two
    if isinstance(one, np.ndarray):
        return bool(one.shape == two.shape and one.tobytes() == two.tobytes())
    if isinstance(one, dict):
        return list(one) == list(two) and all(_same(one[key], two[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(_same, one, two))
    return isinstance(one, bool | int | float | complex | str | bytes | np.generic) and repr(one) == repr(two)


def _find_tracer(name: str, value: Any, level: int = 0) -> tuple[str, Any] | None:
    if isinstance(value, jax.core.Tracer):
        return name, value
    if level > _LEVELS or isinstance(value, jax.Array | np.ndarray | type | ModuleType):
        return None
    inside = [(_member(name, key, False), item) for key, item in _items(value).items()]
    if isinstance(value, FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        inside = [(f"{name} ({variable})", item) for variable, cell in cells for item in _read(cell).values()]
    elif hasattr(value, "__dict__"):
        inside += [(_member(name, key, True), item) for key, item in vars(value).items()]
    found = (_find_tracer(place, item, level + 1) for place, item in inside)
    return next(filter(None, found), None)
