"""The answers of a submission: a function in a worker, and a name whose definition failed."""

from collections.abc import Callable
from typing import Any

from jaxguide.base.plain import plain_of
from jaxguide.course.judging.answer import Answer
from jaxguide.course.judging.calls import Observation
from jaxguide.course.judging.evaluate import PRINTED_LIMIT, Request
from jaxguide.course.judging.values import NodeData
from jaxguide.course.verdict import AnswerGone, StudentError
from jaxguide.grading.workers.how_code_ended import broken_reply, too_much_text
from jaxguide.grading.workers.replies import checked, error_of
from jaxguide.keys import KeyUse
from jaxguide.tracing import Program

_TEXT_LIMIT = 2**24  # characters
Ask = Callable[[str, Request], dict[str, Any]]


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
            raise too_much_text()
        reply = {**reply, "printed": reply["printed"][:PRINTED_LIMIT]}
        if request.question == "observe" and isinstance(reply.get("value"), list):
            reply["value"] = [_with_short_error(one) for one in reply["value"]]
        return {**reply, "error": plain_of(error_of(reply["error"]))} if "error" in reply else reply

    def program(self, *args: Any, **kwargs: Any) -> Program:
        return checked(Program, lambda: super(RemoteAnswer, self).program(*args, **kwargs))

    def key_use(self, *args: Any, **kwargs: Any) -> KeyUse:
        return checked(KeyUse, lambda: super(RemoteAnswer, self).key_use(*args, **kwargs))

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


def _with_short_error(observed: Any) -> Any:
    """Return an observation with the texts of its error cut to a length that can be shown."""
    if type(observed) is not dict or not observed.get("error"):
        return observed
    return {**observed, "error": plain_of(error_of(observed["error"]))}


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
