"""Convert dataclasses to JSON data and back."""

import dataclasses
import enum
import functools
import sys
import typing
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


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind) if dataclasses.is_dataclass(kind) else {}
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)} if hints else {}
