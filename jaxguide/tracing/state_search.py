"""Find the state that a function can reach: globals, closures, objects, containers and random states."""

import collections
import dis
import functools
import inspect
import random
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

import jax
import numpy as np

from jaxguide.code.frames import is_library
from jaxguide.tracing.functions import codes_within
from jaxguide.tracing.state import ABSENT, DEPTH, Holder, cell_content, member

_MOST = 2000
_LARGE_BYTES = 100_000
_TOO_LARGE_BYTES = 50_000_000


def reachable_state(fn: Callable[..., Any], arguments: Mapping[str, Any]) -> list[Holder]:
    """Return the state that a call can reach: globals and closures of the user's functions, objects, random states.

    >>> log = []
    >>> [holder.words for holder in reachable_state(lambda x: log.append(x), {}) if holder.kind == "value"]
    ['an attribute of the function `<lambda>`', 'the global `log`', 'the list `log`']

    Args:
        fn: the function.
        arguments: the arguments of the call by parameter name.
    """
    finder = _Finder()
    finder.random_states()
    finder.function_or_object(fn, "")
    for name, value in arguments.items():
        for leaf in _leaves(value):
            if not isinstance(leaf, jax.Array | np.ndarray):
                finder.content(name, leaf, 0)
    return finder.holders


def containers(name: str, value: Any) -> list[Holder]:
    """Return the lists, dictionaries and sets in an argument, as state that can change.

    >>> [holder.words for holder in containers("p", {"w": [1]})]
    ['the dict `p`', "the list `p['w']`"]
    """
    finder = _Finder()
    finder.content(name, value, 0, objects=False)
    return finder.holders


class _Finder:
    def __init__(self) -> None:
        self.holders: list[Holder] = []
        self._seen: dict[Any, Any] = {}  # with the values: an id is unique only while its object is alive

    def random_states(self) -> None:
        words, before = "Python's `random`", random.getstate()
        same = lambda: random.getstate() == before  # noqa: E731
        self._add("random", words, "random", random.getstate, random.setstate, unchanged=same)
        self._add("random", "NumPy's global random state", "numpy.random", _numpy_state, np.random.set_state)

    def function_or_object(self, fn: Any, name: str) -> None:
        """Search the state that a function's code can reach."""
        if not self._new(fn, "its code"):
            return
        wrapped = getattr(fn, "__wrapped__", None)
        if wrapped is not None:
            self.function_or_object(wrapped, name)
        if isinstance(fn, functools.partial):
            self.function_or_object(fn.func, name)
            for value in (*fn.args, *fn.keywords.values()):
                self.value(name or "partial", value, 0)
        elif isinstance(fn, types.MethodType):
            self.function_or_object(fn.__func__, name)
            self.content("self", fn.__self__, 0)
        elif isinstance(fn, FunctionType):
            self._function(fn)
        elif callable(fn) and _is_users_type(type(fn)):
            self.content("self", fn, 0)
            self.function_or_object(_call_of(fn), name)

    def _function(self, fn: FunctionType) -> None:
        if is_library(fn.__code__.co_filename):
            for cell in fn.__closure__ or ():  # the user's function in a library's wrapper
                if callable(content := cell_content(cell)):
                    self.function_or_object(content, "")
            return
        self._dictionary(fn.__name__, vars(fn), "an attribute of the function `{name}`", is_object=True)
        for name, value in _defaults(fn):
            self.content(name, value, 0)
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
            words = f"the closure variable `{name}` of `{fn.__name__}`"
            self._add("value", words, name, functools.partial(cell_content, cell), functools.partial(_set_cell, cell))
            self.value(name, cell_content(cell), 0)
        for code in codes_within(fn.__code__):
            self._globals(fn, code)

    def _globals(self, fn: FunctionType, code: CodeType) -> None:
        stored = {i.argval for i in dis.get_instructions(code) if i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")}
        for name in sorted(stored | (set(code.co_names) & fn.__globals__.keys())):
            value = fn.__globals__.get(name, ABSENT)
            if isinstance(value, types.ModuleType):
                if not is_library(getattr(value, "__file__", None) or "<frozen "):
                    self._module(name, value, code)
                continue
            if name in stored or not callable(value):
                words = f"the global `{name}`"
                place = functools.partial(_get_item, fn.__globals__, name)
                if self._new(fn.__globals__, name):
                    self._add("value", words, name, place, functools.partial(_set_item, fn.__globals__, name))
            self.value(name, value, 0)

    def _module(self, name: str, module: types.ModuleType, code: CodeType) -> None:
        for attribute in sorted(set(code.co_names) & vars(module).keys()):
            value = vars(module)[attribute]
            if not callable(value) and self._new(module, attribute):
                words = "`{name}` of the module".format(name=f"{name}.{attribute}")
                read = functools.partial(_get_item, vars(module), attribute)
                write = functools.partial(_set_item, vars(module), attribute)
                self._add("value", words, f"{name}.{attribute}", read, write)
            self.value(f"{name}.{attribute}", value, 0)

    def value(self, name: str, value: Any, depth: int) -> None:
        """Search a value: its content, and its code if it has any."""
        if isinstance(value, FunctionType | functools.partial | types.MethodType) or hasattr(value, "__wrapped__"):
            self.function_or_object(value, name)
        else:
            self.content(name, value, depth)
            if callable(value) and not isinstance(value, type) and _is_users_type(type(value)):
                self.function_or_object(_call_of(value), name)

    def content(self, name: str, value: Any, depth: int, objects: bool = True) -> None:
        """Search a container or object: its content, and what that holds."""
        if depth > DEPTH or len(self._seen) > _MOST or value is ABSENT or isinstance(value, jax.Array):
            return
        if value is None or isinstance(value, str | bytes | int | float | complex) or not self._new(value):
            return
        inner: Sequence[tuple[Any, Any]] = ()
        if isinstance(value, np.random.Generator | np.random.RandomState | random.Random):
            self._generator(name, value)
        elif isinstance(value, np.ndarray):
            self._array(name, value)
        elif isinstance(value, dict):
            self._dictionary(name, value, "the dict `{name}`")
            inner = list(value.items())
        elif isinstance(value, list | collections.deque):
            words = f"the {type(value).__name__} `{name}`"
            write = functools.partial(_refill, value)
            self._add("value", words, name, lambda: tuple(value), write, views=(value,))
            inner = list(enumerate(value))
        elif isinstance(value, set):
            self._add(
                "value",
                f"the set `{name}`",
                name,
                lambda: frozenset(value),
                functools.partial(_refill, value),
                views=(value,),
            )
        elif isinstance(value, tuple):
            inner = list(enumerate(value))
        elif objects and isinstance(value, type) and _is_users_type(value):
            self._class(name, value)
        elif objects and not isinstance(value, type) and _is_users_type(type(value)) and hasattr(value, "__dict__"):
            self._dictionary(name, vars(value), "an attribute of `{name}`", is_object=True)
            self.content(type(value).__name__, type(value), depth)
            inner = list(vars(value).items())
        for key, item in inner:
            is_object = not isinstance(value, dict | list | tuple | collections.deque)
            self.value(member(name, key, is_object), item, depth + 1)

    def _generator(self, name: str, generator: Any) -> None:
        words = f"the generator `{name}`"
        if isinstance(generator, random.Random):
            self._add("random", words, name, generator.getstate, generator.setstate)
        elif isinstance(generator, np.random.RandomState):
            self._add("random", words, name, lambda: generator.get_state(legacy=False), generator.set_state)
        else:
            bits: Any = generator.bit_generator
            self._add("random", words, name, lambda: bits.state, lambda state: setattr(bits, "state", state))

    def _array(self, name: str, array: np.ndarray) -> None:
        if array.nbytes > _TOO_LARGE_BYTES or array.dtype == object or not array.flags.writeable:
            return

        def write(content: np.ndarray) -> None:
            array[...] = content

        words = f"the array `{name}`"
        large = array.nbytes > _LARGE_BYTES
        content = b"" if large else array.tobytes()
        same = functools.partial(_has_bytes, array, content, array.shape)
        self._add("value", words, name, array.copy, write, large, unchanged=same)

    def _dictionary(self, name: str, place: dict[Any, Any], words: str, is_object: bool = False) -> None:
        def write(content: dict[Any, Any]) -> None:
            place.clear()
            place.update(content)

        views = (place, place.values())
        self._add("value", words.format(name=name), name, lambda: dict(place), write, is_object=is_object, views=views)

    def _class(self, name: str, owner: type) -> None:
        def data() -> dict[str, Any]:
            return {k: v for k, v in vars(owner).items() if not k.startswith("__") and not _is_descriptor(v)}

        def write(content: dict[str, Any]) -> None:
            for key in data().keys() - content.keys():
                delattr(owner, key)
            for key, value in content.items():
                setattr(owner, key, value)

        words = f"an attribute of the class `{name}`"
        views = (vars(owner), vars(owner).values())
        self._add("value", words, name, data, write, is_object=True, views=views)
        for key, item in data().items():
            self.value(f"{name}.{key}", item, 1)

    def _new(self, value: Any, name: str = "") -> bool:
        key = (id(value), name)
        if key in self._seen:
            return False
        self._seen[key] = value
        return True

    def _add(
        self,
        kind: str,
        words: str,
        name: str,
        read: Callable[[], Any],
        write: Callable[[Any], None],
        large: bool = False,
        is_object: bool = False,
        views: tuple[Collection[Any], ...] = (),
        unchanged: Callable[[], bool] = lambda: False,
    ) -> None:
        self.holders.append(Holder(kind, words, name, read, write, large, is_object, views, unchanged))


def _call_of(value: Any) -> Any:
    return next((vars(cls)["__call__"] for cls in type(value).__mro__ if "__call__" in vars(cls)), None)


def _has_bytes(array: np.ndarray, content: bytes, shape: tuple[int, ...]) -> bool:
    return array.nbytes == len(content) and array.shape == shape and array.tobytes() == content


def _numpy_state() -> Any:
    return np.random.get_state(legacy=False)


def _set_cell(cell: types.CellType, content: Any) -> None:
    if content is ABSENT:
        del cell.cell_contents
    else:
        cell.cell_contents = content


def _get_item(place: dict[str, Any], name: str) -> Any:
    return place.get(name, ABSENT)


def _set_item(place: dict[str, Any], name: str, content: Any) -> None:
    if content is ABSENT:
        place.pop(name, None)
    else:
        place[name] = content


def _refill(container: Any, content: Any) -> None:
    container.clear()
    container.update(content) if isinstance(container, set) else container.extend(content)


def _defaults(fn: FunctionType) -> Iterator[tuple[str, Any]]:
    for parameter in inspect.signature(fn, follow_wrapped=False).parameters.values():
        if parameter.default is not parameter.empty:
            yield parameter.name, parameter.default


def _is_descriptor(value: Any) -> bool:
    return callable(value) or hasattr(value, "__get__") or hasattr(value, "__set__")


def _is_users_type(cls: type) -> bool:
    """Return whether a class is the user's, or `types.SimpleNamespace`, which holds the user's data."""
    module = sys.modules.get(cls.__module__)
    if cls is types.SimpleNamespace or cls.__module__ == "__main__" or module is None:
        return True
    return not is_library(getattr(module, "__file__", None) or "<frozen ")


def _leaves(value: Any) -> list[Any]:
    try:
        return jax.tree.leaves(value)
    except Exception:  # a user's pytree that cannot be flattened
        return [value]
