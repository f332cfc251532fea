"""Describe a Python value during tracing: a traced value by its type, a static one by its value."""

import dataclasses
import enum
import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxguide.jaxpr.value_words import array_type, describe_object

_LIMIT = 60
_FEW = 8


@dataclass(frozen=True)
class ValueDescription:
    """A value's description, as plain data so that it keeps no tracer alive.

    Args:
        kind: 'traced', 'static', or 'mixed' for a container that holds both.
        text: the type of a traced value or the value of a static one, in at most 60 characters.
        shape, dtype, weak_type: of an array, traced or not; None for other values.
    """

    kind: str
    text: str
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    weak_type: bool | None = None


def describe_value(value: Any) -> ValueDescription:
    """Describe any value.

    >>> describe_value(3).text, describe_value(np.arange(3)).text, describe_value({"w": np.ones((2, 3))}).text
    ('3', 'int64[3] [0 1 2]', "{'w': float64[2,3]}")
    >>> closed = jax.make_jaxpr(lambda x: print(describe_value([x, 2])))(1.0)
    ValueDescription(kind='mixed', text='[float32[] weak, 2]', shape=None, dtype=None, weak_type=None)
    """
    if not isinstance(value, jax.Array | np.ndarray | np.generic | jax.core.Tracer):
        traced = [isinstance(leaf, jax.core.Tracer) for leaf in _leaves(value)]
        kind = "static" if not any(traced) else "traced" if all(traced) else "mixed"
        return ValueDescription(kind, _cut(_words(value)))
    kind, text = "traced" if isinstance(value, jax.core.Tracer) else "static", _type(value)
    try:
        shape, dtype = tuple(value.shape), str(value.dtype)
    except Exception:  # a `jax.Ref`, or anything else without a shape and dtype
        return ValueDescription(kind, _cut(text))
    weak = text.endswith(" weak")
    if kind == "static":
        text = repr(value) if isinstance(value, np.generic) else f"{text} {_numbers(value)}".rstrip()
    return ValueDescription(kind, _cut(text), shape, dtype, weak)


def _leaves(value: Any) -> list[Any]:
    try:
        return jax.tree.leaves(value)
    except Exception:  # a user's pytree that cannot be flattened
        return [value]


def _type(value: Any) -> str:
    try:
        weak = isinstance(value, jax.Array) and getattr(jax.typeof(value), "weak_type", False)
        return f"{array_type(value)} weak" if weak else array_type(value)
    except Exception:
        return str(jax.typeof(value))


def _numbers(value: Any) -> str:
    """Return a concrete array's values, or the first and last of many; empty if they cannot be read."""
    try:
        text = np.array2string(np.asarray(value), threshold=_FEW, edgeitems=1, precision=3, separator=" ")
    except Exception:  # keys, arrays across several hosts, donated arrays
        return ""
    return re.sub(r"\[ +", "[", " ".join(text.split()))


_PLAIN = bool | int | float | complex | str | bytes | range | slice | enum.Enum | np.dtype | np.generic | None


def _words(value: Any, depth: int = 0) -> str:
    if isinstance(value, jax.Array | np.ndarray | jax.core.Tracer):
        return _type(value)
    if depth > 3:
        return "..."
    inner = functools.partial(_words, depth=depth + 1)
    if isinstance(value, dict):
        return f"{{{_some(f'{inner(key)}: {inner(item)}' for key, item in value.items())}}}"
    if fields := _fields(value):
        return f"{type(value).__name__}({_some(f'{name}={inner(getattr(value, name))}' for name in fields)})"
    if isinstance(value, tuple | list | set | frozenset):
        comma = "," * (isinstance(value, tuple) and len(value) == 1)
        around = "({})" if isinstance(value, tuple) else "[{}]" if isinstance(value, list) else "{{{}}}"
        return around.format(_some(map(inner, value)) + comma)
    if isinstance(value, _PLAIN) or value is Ellipsis:
        return repr(value)
    leaves = _leaves(value)
    if (callable(value) and hasattr(value, "__name__")) or (len(leaves) == 1 and leaves[0] is value):
        return describe_object(value)
    return f"{type(value).__name__}({_some(map(inner, leaves))})"


def _fields(value: Any) -> Sequence[str]:
    """Return the names of the fields of a named tuple, or of the stored ones of a dataclass instance."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [one.name for one in dataclasses.fields(value) if one.name in getattr(value, "__dict__", {})]
    return getattr(value, "_fields", ())


def _some(words: Iterable[str]) -> str:
    first = list(itertools.islice(words, _FEW + 1))
    return ", ".join([*first[:_FEW], "..."] if len(first) > _FEW else first)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LIMIT else f"{text[: _LIMIT - 3]}..."
