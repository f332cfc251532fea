"""Keep the state that a function can reach, to tell what changed, to find tracers in it, and to restore it."""

import collections
import dis
import functools
import gc
import inspect
import random
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import BuiltinMethodType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np

from jaxguide.code.frames import is_library, is_users_code
from jaxguide.code.lines import Line
from jaxguide.tracing.functions import codes_within, reach
from jaxguide.tracing.value_description import describe_value

_LEVELS = 4
_MOST_PLACES = 2_000
_Generator: Any = random.Random | np.random.RandomState | np.random.BitGenerator
_Lines = set[tuple[Line, bool]]  # the lines that name a variable, each with whether it sets the variable


@dataclass(frozen=True)
class _Global:
    names: dict[str, Any]
    name: str


@dataclass(eq=False)
class Place:
    """One place that holds state, and its items at the start.

    Args:
        words: what it is, such as "the global `log`".
        name: how the user's code refers to it, such as `log` or `model.cache`.
        held: the container, the variable (a closure's cell or a `_Global`), or the random number generator.
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
    def line(self) -> Line | None:
        """The line that names it, and for a variable that sets it, if there is only one."""
        is_variable = isinstance(self.held, _Global | CellType)
        lines = [line for line, sets in self.lines if sets == is_variable]
        return lines[0] if len(lines) == 1 else None

    def effect(self) -> tuple[str, str, str] | None:
        """Return the kind, `before` and `after` of the side effect on it; None if nothing is new."""
        now = _read(self.held)
        changed = self._changed(now)
        for key in changed:
            found = _find_tracer(_member(self.name, key, self.is_object), now.get(key))
            if found is not None:
                return "leak", found[0], describe_value(found[1]).text
        if changed and isinstance(self.held, _Generator):
            return "random", "", ""
        return ("change", self._text(self.before, changed), self._text(now, changed)) if changed else None

    def restore(self) -> None:
        """Restore the content from the start."""
        if self._changed(_read(self.held)):
            _write(self.held, self.before)

    def _changed(self, now: dict[Any, Any]) -> list[Any]:
        before = self.before
        return [k for k in {**before, **now} if k not in before or k not in now or not _same(before[k], now[k])]

    def _text(self, items: dict[Any, Any], changed: list[Any]) -> str:
        if isinstance(self.held, dict):
            items = {key: items[key] for key in changed if key in items}
        if self.is_object:
            return ", ".join(f"{name}={describe_value(value).text}" for name, value in items.items()) or "nothing"
        if isinstance(self.held, _Global | CellType):
            return describe_value(items[None]).text if items else "nothing"
        if isinstance(self.held, dict | set):
            return describe_value(items if isinstance(self.held, dict) else set(items)).text
        return describe_value([*items.values()]).text


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


class Search:
    """Find the state that values hold and that functions among them can reach: globals, closures, objects.

    The state of the random number generators of Python and NumPy comes first.

    >>> log = []
    >>> [place.words for place in Search({"f": lambda x: log.append(x), "p": {"w": [1]}}).places][2:]
    ['the dict `p`', "the list `p['w']`", 'the global `log`', 'the list `log`']

    Args:
        values: by name, as the user's code refers to them.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        functions: dict[str, Any] = {"Python's `random`": random.random, "NumPy's global random state": np.random.rand}
        self.places = [Place(words, "", function.__self__, set()) for words, function in functions.items()]
        self._seen: dict[int, tuple[Any, _Lines]] = {}  # with the objects: an id is unique only while one is alive
        self._variables: dict[Any, _Lines] = {}
        for name, value in values.items():
            self._value(name, value, set())
        for fn in reach(list(values.values())):
            if isinstance(fn, FunctionType) and is_users_code(fn.__code__):
                self._function(fn)

    def _value(self, name: str, value: Any, lines: _Lines, level: int = 0) -> None:
        value = value.bit_generator if isinstance(value, np.random.Generator) else value
        value = value.__self__ if isinstance(value, MethodType | BuiltinMethodType) else value
        if isinstance(value, jax.Array | str | bytes | int | float | complex | None) or level > _LEVELS:
            return
        if id(value) in self._seen or len(self.places) > _MOST_PLACES:
            self._seen.get(id(value), (None, set()))[1].update(lines)
            return
        self._seen[id(value)] = value, lines
        is_object = _is_users_object(value)
        if is_object and not isinstance(value, ModuleType):  # the functions that set a module's variables name them
            words = f"the function `{value.__name__}`" if isinstance(value, FunctionType) else f"`{name}`"
            self.places.append(Place(f"an attribute of {words}", name, vars(value), lines, is_object=True))
        elif isinstance(value, dict | list | set | collections.deque | _Generator):
            kind = "generator" if isinstance(value, _Generator) else type(value).__name__
            self.places.append(Place(f"the {kind} `{name}`", name, value, lines))
        for key, item in _items(vars(value) if is_object else value).items():
            self._value(_member(name, key, is_object), item, lines, level + 1)

    def _function(self, fn: FunctionType) -> None:
        for parameter in inspect.signature(fn, follow_wrapped=False).parameters.values():
            self._value(parameter.name, parameter.default, set())
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        for (kind, name), found in _names_in(fn.__code__).items():
            held: Any = _Global(fn.__globals__, name)
            words, key = f"the global `{name}`", (id(fn.__globals__), name)
            if kind == "DEREF":
                held = cells.get(name)
                words, key = f"the closure variable `{name}` of `{fn.__name__}`", (id(held), name)
            if held is None:  # a variable of `fn` that functions inside it use
                continue
            if key not in self._variables:
                self._variables[key] = set()
                self.places.append(Place(words, name, held, self._variables[key]))
            self._variables[key].update(found)
            for value in _read(held).values():
                self._value(name, value, self._variables[key])


def _names_in(code: CodeType) -> dict[tuple[str, str], _Lines]:
    """Return where a function's code loads and stores variables, by kind and name."""
    found: dict[tuple[str, str], _Lines] = collections.defaultdict(set)
    for instruction in (one for inner in codes_within(code) for one in dis.get_instructions(inner)):
        kind = re.fullmatch("(LOAD|STORE|DELETE)_(GLOBAL|DEREF)", instruction.opname)
        if kind is not None and instruction.positions is not None:
            line = Line(code.co_filename, instruction.positions.lineno or 0)
            found[kind[2], instruction.argval].add((line, kind[1] != "LOAD"))
    return found


def _is_users_object(value: Any) -> bool:
    """Return whether a module, a function or an object's class is the user's."""
    if not hasattr(value, "__dict__") or isinstance(value, type):
        return False
    defined = value if isinstance(value, FunctionType) else type(value)
    module = value if isinstance(value, ModuleType) else sys.modules.get(defined.__module__)
    file = getattr(module, "__file__", None)
    return module is None or module.__name__ == "__main__" or (file is not None and not is_library(file))


def _items(value: Any) -> dict[Any, Any]:
    """Return what a container holds, each with its key; a set has only keys, a partial its arguments."""
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, list | tuple | collections.deque):
        return dict(enumerate(value))
    if isinstance(value, functools.partial):
        return {**dict(enumerate(value.args)), **value.keywords}
    return dict.fromkeys(value) if isinstance(value, set) else {}


def _member(name: str, key: Any, is_object: bool) -> str:
    if key is None:
        return name
    return f"{name}.{key}" if is_object else f"{name}[{key!r}]"


def _read(held: Any) -> dict[Any, Any]:
    """Return the items that a place holds, by key; what has no items has the key None for its content."""
    if isinstance(held, _Global):
        return {None: held.names[held.name]} if held.name in held.names else {}
    if isinstance(held, CellType):
        try:
            return {None: held.cell_contents}
        except ValueError:  # not bound yet
            return {}
    return {None: held.__getstate__()} if isinstance(held, _Generator) else _items(held)


def _write(held: Any, items: dict[Any, Any]) -> None:
    """Put back the items that `_read` returned."""
    if isinstance(held, _Global):
        held.names.pop(held.name, None)
        if items:
            held.names[held.name] = items[None]
    elif isinstance(held, CellType):
        del held.cell_contents
        if items:
            held.cell_contents = items[None]
    elif isinstance(held, _Generator):
        held.__setstate__(items[None])
    elif isinstance(held, dict | set):
        held.clear()
        held.update(items)
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
