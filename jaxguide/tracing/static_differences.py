"""Find where two static values differ: the field, item or function, and why values that look the same are unequal."""

import dataclasses
import functools
from collections.abc import Mapping
from types import MethodType
from typing import Any, NamedTuple

import numpy as np

from jaxguide.tracing.call_trees import Names, Static, short, static_text
from jaxguide.tracing.functions import function_key, is_function

_DEEPEST = 6
_BEFORE = 20  # characters before a difference that are shown


class StaticDifference(NamedTuple):
    """The innermost place where two static values differ.

    Args:
        place: where, such as `config.log`.
        old, new: the values there, in words.
        kind: "value"; "function", for two function objects of the same code; "object", for objects that look the same;
            "class", for such objects of two classes of one name.
        held: the new value there.
        owner: the object whose attribute differs, if that is the place.
    """

    place: str
    old: str
    new: str
    kind: str
    held: Any
    owner: Any = None


def same(old: Any, new: Any) -> bool:
    """Return whether two values are equal, whatever their `__eq__` raises."""
    if old is new:
        return True
    try:
        return bool(old == new)
    except Exception:  # a user's `__eq__`
        return False


def same_static(old: Static, new: Static) -> bool:
    """Return whether `jax.jit` finds a trace of the old value for the new one."""
    if type(old.value) is not type(new.value) or old.hash != new.hash:
        return False
    return same(old.value, new.value)


def static_difference(place: str, old: Static, new: Static, names: Names = ()) -> StaticDifference:
    """Return where two static values differ.

    Args:
        place: what the values are called.
        old, new: the values, which are not the same for `jax.jit`.
        names: attributes that hold the parts of the values, if they are tuples; these parts get the names as places.
    """
    if old.value is new.value:  # changed in place: only the texts at the time of the calls tell how
        words = str(old), str(new)
        return StaticDifference(place, *words, "value" if words[0] != words[1] else "object", new.value)
    return _difference(place, old.value, new.value, names, _DEEPEST)


def _difference(place: str, old: Any, new: Any, names: Names, depth: int) -> StaticDifference:
    if type(old) is type(new) and depth:
        for inner, before, after, owner, below in _parts(place, old, new, names):
            if type(before) is not type(after) or not same(before, after):
                found = _difference(inner, before, after, below, depth - 1)
                return found if found.owner is not None else found._replace(owner=owner)
    kind = "value"
    words = _contrast(old, new)
    if is_function(old) and is_function(new):
        kind = "function" if _is_same_code(old, new) or words[0] == words[1] else "value"
    elif words[0] == words[1]:
        kind = "object" if type(old) is type(new) else "class"
    return StaticDifference(place, *words, kind, new)


def _is_same_code(old: Any, new: Any) -> bool:
    # Functions in C have no code: their names tell.
    same_names = static_text(old) == static_text(new)
    return type(old) is type(new) and function_key(old) == function_key(new) and same_names


def _contrast(old: Any, new: Any) -> tuple[str, str]:
    """Return the texts of two values; if both are long, the part of them in which they differ."""
    words = static_text(old), static_text(new)
    if words[0] == words[1] and words[0].endswith("...") and not callable(old):
        full = repr(old), repr(new)
        differ = [i for i, (a, b) in enumerate(zip(*full, strict=False)) if a != b]
        if differ and differ[0] > _BEFORE:
            start = differ[0] - _BEFORE
            return short(f"...{full[0][start:]}"), short(f"...{full[1][start:]}")
    return words


def can_be_traced(value: Any) -> bool:
    """Return whether a static value is a number or a container of numbers, so that an array could take its place.

    >>> can_be_traced((1, 2.0)), can_be_traced("mean"), can_be_traced(None)
    (True, False, False)
    """
    if isinstance(value, tuple | list | frozenset):
        return bool(value) and all(map(can_be_traced, value))
    return isinstance(value, bool | int | float | complex | np.generic | np.ndarray)


class _Part(NamedTuple):
    """A part of two values: its place, what both have there, the object whose attribute it is, and names below it."""

    place: str
    old: Any
    new: Any
    owner: Any = None
    names: Names = ()


def _parts(place: str, old: Any, new: Any, names: Names) -> list[_Part]:
    """Return the parts of two values of one type, as far as they count for equality."""
    if isinstance(old, tuple | list) and len(old) == len(new):
        if all(_is_entry(one) for one in (*old, *new)) and [one[0] for one in old] == [one[0] for one in new]:
            return [_Part(f"{place}[{a[0]!r}]", a[1], b[1]) for a, b in zip(old, new, strict=True)]  # a dict's items
        fields: Names = names if len(names) == len(old) else getattr(old, "_fields", (None,) * len(old))
        return [
            _Part(place, a, b, None, name)
            if isinstance(name, tuple)
            else _Part(f"{place}[{i}]" if name is None else f"{place}.{name}", a, b)
            for i, (name, a, b) in enumerate(zip(fields, old, new, strict=True))
        ]
    if isinstance(old, Mapping) and list(old) == list(new):
        return [_Part(f"{place}[{key!r}]", old[key], new[key]) for key in old]
    if isinstance(old, functools.partial):
        return [_Part(f"{place}.{name}", getattr(old, name), getattr(new, name)) for name in ("func", "args")]
    if isinstance(old, MethodType):
        is_same = old.__func__ is new.__func__
        return [_Part(f"{place}.__self__", old.__self__, new.__self__)] if is_same else []
    if callable(old) and hasattr(old, "__code__"):
        return []
    if _is_inherited(type(old), "__eq__"):  # its attributes do not count
        return []
    held = [getattr(one, "__dict__", {}) for one in (old, new)]
    if dataclasses.is_dataclass(old):
        attributes = [field.name for field in dataclasses.fields(old) if field.compare]
    else:
        attributes = list(held[0])
    both = [name for name in attributes if all(name in one for one in held)]
    return [_Part(f"{place}.{name}", held[0][name], held[1][name], new) for name in both]


def _is_entry(value: Any) -> bool:
    return type(value) is tuple and len(value) == 2 and isinstance(value[0], str)


def remedy_for(found: StaticDifference, place: str, part: str = "") -> str:
    """Return what to do about a difference of a static argument or of the static part of an argument.

    Args:
        found: the difference.
        place: the argument.
        part: the attribute of the argument that holds the static part, if it has a name.
    """
    part = part or place
    if found.kind == "function":
        if found.place in (place, part):
            return f"create the function for `{found.place}` once, outside the loop"
        return (
            f"create `{part if found.place.startswith(part) else place}` once, outside the loop, and pass the same "
            "object in every call"
        )
    if found.kind == "object":
        return _eq_remedy(found.held)
    if found.kind == "class":
        return "define the class once"
    if found.owner is not None and found.place not in (place, part):
        return (
            "`{type}` compares its `{field}`, and each value needs a separate trace: leave it out of `__eq__` and "
            "`__hash__` if the function does not depend on it, or pass it as an array"
        ).format(type=type(found.owner).__name__, field=found.place.rpartition(".")[2])
    return ""


def _is_inherited(kind: type, method: str) -> bool:
    return getattr(kind, method) is getattr(object, method)


def _eq_remedy(value: Any) -> str:
    kind = type(value)
    if isinstance(value, float):  # NaN
        return "pass another value than NaN, which is not equal to itself"
    if _is_inherited(kind, "__eq__"):
        if not _is_inherited(kind, "__hash__"):
            return (
                f"pass the same object, or define `__eq__` in `{kind.__name__}`: with `__hash__` alone, two objects "
                "are never equal"
            )
        return f"pass the same object, or define `__eq__` and `__hash__` in `{kind.__name__}`"
    return f"pass the same object, or make `__eq__` and `__hash__` of `{kind.__name__}` agree for equal contents"
