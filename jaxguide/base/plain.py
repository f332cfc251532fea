"""Convert dataclasses to JSON data and back, and check types."""

import dataclasses
import enum
import functools
import sys
import types
import typing
from pathlib import Path
from typing import Any


def plain_of(value: Any) -> Any:
    """Return dataclasses as dicts, enums as their values, and tuples as lists, also inside each other."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain_of(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [plain_of(child) for child in value]
    return value


def read_plain(kind: Any, plain: Any, any_version: bool = False) -> Any:
    """Build a value of an annotated type from what `plain_of` returned; types are not checked.

    Args:
        kind: the type.
        plain: the data.
        any_version: whether to leave out fields that a dataclass lacks, which other versions wrote.
    """
    if plain is None or isinstance(plain, int | float):
        return plain
    if kind is str and type(plain) is str:
        return sys.intern(plain)  # a class of any size needs one copy of what the course says
    fields = _fields(kind)
    if fields and isinstance(plain, dict):
        known = {name: value for name, value in plain.items() if name in fields} if any_version else plain
        return kind(**{name: read_plain(fields.get(name), value, any_version) for name, value in known.items()})
    if isinstance(kind, enum.EnumType):
        return kind(plain)
    parts = typing.get_args(kind)
    if type(None) in parts:
        return read_plain(parts[0], plain, any_version)
    if parts and isinstance(plain, list | tuple):
        whole: Any = typing.get_origin(kind)
        each = parts if whole is tuple and parts[-1] is not ... else parts[:1] * len(plain)
        return whole(read_plain(part, child, any_version) for part, child in zip(each, plain, strict=True))
    return plain


def fits(value: Any, kind: Any) -> bool:
    """Return whether a value and all its parts have the types that an annotation declares.

    As in annotations, an int may stand for a float.

    >>> fits({"a": (1, 2)}, dict[str, tuple[int, ...]]), fits([1, None], list[int])
    (True, False)
    """
    whole, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return True
    if whole in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if whole is not None and type(value) is not whole:
        return False
    if whole is dict:
        return all(fits(k, parts[0]) and fits(v, parts[1]) for k, v in value.items())
    if whole is tuple and parts[-1] is not ...:
        return len(value) == len(parts) and all(map(fits, value, parts))
    if whole is not None:
        return all(fits(child, parts[0]) for child in value)
    if kind is None or kind is Path:
        return value is None if kind is None else isinstance(value, Path)
    actual: Any = type(value)
    if actual is not kind:
        return kind is float and actual is int
    return all(fits(getattr(value, name), hint) for name, hint in _fields(kind).items())


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return {field.name: hints[field.name] for field in dataclasses.fields(kind)}
    return typing.get_type_hints(kind) if hasattr(kind, "_fields") else {}
