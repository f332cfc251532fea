"""The answers of a submission: a function in a worker, and a name whose definition failed."""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable
from typing import Any

from jaxguide.course.judging.answer import Answer, CallLog, Observation
from jaxguide.course.judging.evaluate import Request, Step
from jaxguide.course.verdict import AnswerGone, ErrorInfo, StudentError
from jaxguide.grading.workers.how_code_ended import broken_reply
from jaxguide.keys import KeyUse
from jaxguide.tracing import Program

Ask = Callable[[str, Request], dict[str, Any]]


class RemoteAnswer(Answer):
    """A student's function in a worker. An invalid reply counts as a failure of the submission.

    Args:
        name: the function's name.
        ask: sends a request about the named function to the worker and returns the reply.
    """

    def __init__(self, name: str, ask: Ask, steps: tuple[Step, ...] = (), log: CallLog | None = None):
        super().__init__(name, steps, log)
        self._send_to_worker = ask

    def _with(self, steps: tuple[Step, ...]) -> "RemoteAnswer":
        return RemoteAnswer(self.name, self._send_to_worker, steps, self.log)

    def _ask(self, request: Request) -> dict[str, Any]:
        reply = self._send_to_worker(self.name, request)
        printed = reply.get("printed")
        if not isinstance(printed, str) or ("value" in reply) == ("error" in reply):
            raise broken_reply()
        if "error" in reply:
            _checked(ErrorInfo, lambda: ErrorInfo.from_plain(reply["error"]))
        return reply

    def program(self, *args: Any, **kwargs: Any) -> Program:
        return _checked(Program, lambda: super(RemoteAnswer, self).program(*args, **kwargs))

    def key_use(self, *args: Any, **kwargs: Any) -> KeyUse:
        return _checked(KeyUse, lambda: super(RemoteAnswer, self).key_use(*args, **kwargs))

    def _observations(self, calls: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> list[Observation]:
        found = _checked(list[Observation], lambda: super(RemoteAnswer, self)._observations(calls))
        if len(found) != len(calls):
            raise broken_reply()
        return found


class BrokenAnswer(Answer):
    """A name whose definition failed; every request raises the failure.

    Args:
        name: the function's name.
        failure: `StudentError` or `AnswerGone`.
    """

    def __init__(self, name: str, failure: StudentError | AnswerGone, steps: tuple[Step, ...] = ()):
        super().__init__(name, steps)
        self._failure = failure

    def _with(self, steps: tuple[Step, ...]) -> "BrokenAnswer":
        return BrokenAnswer(self.name, self._failure, steps)

    def _ask(self, request: Request) -> dict[str, Any]:
        self.log.request = None
        raise self._failure


_T = typing.TypeVar("_T")


def _checked(kind: type[_T], build: Callable[[], Any]) -> _T:
    """Return what `build` makes from a reply; raise `AnswerGone` if any part of it has the wrong type."""
    try:
        built = build()
    except (StudentError, AnswerGone):
        raise
    except (TypeError, KeyError, ValueError, AttributeError):
        raise broken_reply() from None
    if not _fits(built, kind):
        raise broken_reply()
    return typing.cast(_T, built)


def _fits(value: Any, kind: Any) -> bool:
    """Return whether a value and all its parts have the types that an annotation declares.

    >>> _fits({"a": (1, 2)}, dict[str, tuple[int, ...]]), _fits([1, None], list[int])
    (True, False)
    """
    if kind is Any:
        return True
    origin, parameters = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in parameters)
    if origin is list:
        return type(value) is list and all(_fits(child, parameters[0]) for child in value)
    if origin is dict:
        return type(value) is dict and all(
            _fits(k, parameters[0]) and _fits(v, parameters[1]) for k, v in value.items()
        )
    if origin is tuple:
        return type(value) is tuple and all(_fits(child, parameters[0]) for child in value)
    if kind is None or kind is types.NoneType:
        return value is None
    actual: Any = type(value)
    if actual is not kind:
        return False
    return all(_fits(getattr(value, name), hint) for name, hint in _fields(kind).items())


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return {field.name: hints[field.name] for field in dataclasses.fields(kind)}
    return typing.get_type_hints(kind) if hasattr(kind, "_fields") else {}
