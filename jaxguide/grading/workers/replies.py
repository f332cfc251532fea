"""Read a worker's replies: each part has the type that it must have and a limited size, or the reply is broken."""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from jaxguide.base.plain import read_plain
from jaxguide.course.verdict import AnswerGone, ErrorInfo, NotJudged, StudentError
from jaxguide.grading.workers.how_code_ended import broken_reply

_MESSAGE_LIMIT = 20_000
_LINE_LIMIT = 2_000
_CELL_MESSAGE_LIMIT = 1_000  # of thousands of cells, all in one row
_LARGEST_LINE_NUMBER = 10**6


@dataclasses.dataclass(frozen=True)
class Defined:
    """What a cell did.

    Args:
        failed: the error that it raised.
        bound: the exercises' names that it bound to functions.
        values: the exercises' names that it bound to other values.
    """

    failed: ErrorInfo | None
    bound: list[str]
    values: list[str]


def defined_by(reply: dict[str, Any], names: Collection[str]) -> Defined:
    """Return what a cell did, from the reply to `define`.

    Args:
        reply: the reply.
        names: the names of the exercises, which are all that the reply may name.

    Raises:
        AnswerGone: the reply is broken.
    """
    failed = reply.get("failed")
    found = checked(
        Defined, lambda: Defined(failed and error_of(failed, _CELL_MESSAGE_LIMIT), reply["bound"], reply["values"])
    )
    named = [*found.bound, *found.values]
    if len(set(named)) != len(named) or not set(named) <= set(names):
        raise broken_reply()
    return found


def error_of(plain: Any, message_limit: int = _MESSAGE_LIMIT) -> ErrorInfo:
    """Return the error in a reply, with its texts and its explanation cut to a length that can be shown.

    >>> error_of({"type_name": "ValueError", "message": "m" * 30_000, "line": 3, "source": ""}).message[19_998:]
    'm…'

    Raises:
        AnswerGone: the reply is broken.
    """
    found = checked(ErrorInfo, lambda: read_plain(ErrorInfo, plain))
    if found.line is not None and not 0 <= found.line <= _LARGEST_LINE_NUMBER:
        raise broken_reply()
    return ErrorInfo(
        _cut(found.type_name, _LINE_LIMIT),
        _cut(found.message, message_limit),
        found.line,
        _cut(found.source, _LINE_LIMIT),
        _cut(found.cell, _LINE_LIMIT),
        found.explanation and found.explanation.bounded(),
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


_T = typing.TypeVar("_T")


def checked(kind: type[_T], build: Callable[[], Any]) -> _T:
    """Return what `build` makes from a reply; raise `AnswerGone` if any part of it has the wrong type."""
    try:
        built = build()
    except (StudentError, AnswerGone, NotJudged):
        raise
    except Exception:  # whatever code raises that expects another type
        raise broken_reply() from None
    if not fits(built, kind):
        raise broken_reply()
    return typing.cast(_T, built)


def fits(value: Any, kind: Any) -> bool:
    """Return whether a value and all its parts have the types that an annotation declares.

    As in annotations, an int may stand for a float.

    >>> fits({"a": (1, 2)}, dict[str, tuple[int, ...]]), fits([1, None], list[int])
    (True, False)
    """
    if kind is Any:
        return True
    origin, parameters = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in parameters)
    if origin is list:
        return type(value) is list and all(fits(child, parameters[0]) for child in value)
    if origin is dict:
        return type(value) is dict and all(fits(k, parameters[0]) and fits(v, parameters[1]) for k, v in value.items())
    if origin is tuple:
        return type(value) is tuple and all(fits(child, parameters[0]) for child in value)
    if kind is None or kind is types.NoneType:
        return value is None
    actual: Any = type(value)
    if kind is Path:
        return isinstance(value, Path)
    if actual is not kind and not (kind is float and actual is int):
        return False
    return all(fits(getattr(value, name), hint) for name, hint in _fields(kind).items())


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return {field.name: hints[field.name] for field in dataclasses.fields(kind)}
    return typing.get_type_hints(kind) if hasattr(kind, "_fields") else {}
