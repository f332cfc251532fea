"""The answers of a submission: a function in a worker, whose replies are checked, and a name without a definition."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from jaxguide.base.plain import fits, plain_of, read_plain
from jaxguide.course.judging.answer import Answer
from jaxguide.course.judging.calls import Observation
from jaxguide.course.judging.evaluate import PRINTED_LIMIT, Request
from jaxguide.course.judging.values import NodeData
from jaxguide.course.verdict import AnswerGone, ErrorInfo, NotJudged, StudentError, Verdict
from jaxguide.grading.workers.how_code_ended import broken_reply
from jaxguide.keys import KeyReport
from jaxguide.tracing import Program

_TEXT_LIMIT = 2**24  # characters
_MESSAGE_LIMIT = 20_000
_LINE_LIMIT = 2_000
_LARGEST_LINE_NUMBER = 10**6
_T = TypeVar("_T")
Ask = Callable[[str, Request], dict[str, Any]]


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
    return cast(_T, built)


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


class RemoteAnswer(Answer):
    """A student's function in a worker. An invalid reply counts as a failure of the submission.

    Args:
        name: the function's name.
        ask: sends a request about the named function to the worker and returns the reply.
    """

    def __init__(self, name: str, ask: Ask):
        super().__init__(name)
        self._send_to_worker = ask

    def _ask(self, request: Request) -> dict[str, Any]:
        reply = self._send_to_worker(self.name, request)
        if not isinstance(reply.get("printed"), str) or ("value" in reply) == ("error" in reply):
            raise broken_reply()
        if "value" in reply and not _is_small_as_array(reply["value"]):
            raise AnswerGone(Verdict.TOO_MUCH_OUTPUT, "Your function returned too much text to be compared.")
        reply = {**reply, "printed": reply["printed"][:PRINTED_LIMIT]}
        seen = reply["value"] if request.question == "observe" and isinstance(reply.get("value"), list) else ()
        for one in seen:
            if type(one) is dict and one.get("error") is not None:
                one["error"] = plain_of(error_of(one["error"]))
        return {**reply, "error": plain_of(error_of(reply["error"]))} if "error" in reply else reply

    def program(self, *args: Any, **kwargs: Any) -> Program:
        return checked(Program, lambda: super(RemoteAnswer, self).program(*args, **kwargs))

    def key_use(self, *args: Any, **kwargs: Any) -> KeyReport:
        return checked(KeyReport, lambda: super(RemoteAnswer, self).key_use(*args, **kwargs))

    def _observations(
        self, calls: list[tuple[tuple[Any, ...], dict[str, Any]]], explains: bool = False
    ) -> list[Observation]:
        found = checked(list[Observation], lambda: super(RemoteAnswer, self)._observations(calls, explains))
        if len(found) != len(calls):
            raise broken_reply()
        return found


def _is_small_as_array(value: Any) -> bool:
    """Return whether `np.asarray` of a value stays small: it gives each element the space of the longest text."""
    count, longest, waiting = 0, 0, [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += [*part, *part.values()]
        elif isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, NodeData):
            waiting += part.children.values()
        else:
            count, longest = count + 1, max(longest, len(part)) if isinstance(part, str) else longest
    return count * longest <= _TEXT_LIMIT


class BrokenAnswer(Answer):
    """A name whose definition failed; every request raises the failure.

    Args:
        name: the function's name.
        failure: `StudentError` or `AnswerGone`.
    """

    def __init__(self, name: str, failure: StudentError | AnswerGone):
        super().__init__(name)
        self._failure = failure

    def _ask(self, request: Request) -> dict[str, Any]:
        self.log.request = None
        raise self._failure
