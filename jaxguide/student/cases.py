"""Record the cases of each check: how it called the student's function, and what came back."""

from collections.abc import Callable, Mapping
from typing import Any

from jaxguide.base.plain import read_plain
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.calls import write_call
from jaxguide.course.judging.evaluate import Request
from jaxguide.course.judging.literals import in_line
from jaxguide.course.judging.values import Data
from jaxguide.course.verdict import ErrorInfo

_VALUE_WIDTH = 120

Cases = dict[str, list[str]]
"""The name of a check -> its cases, one line each."""


class WatchedAnswer(LocalAnswer):
    """An answer in this process whose calls are also written into `cases`, under the check that makes them."""

    def __init__(self, name: str, function: Callable[..., Any], names: Mapping[str, Any], cases: Cases):
        super().__init__(name, function, names)
        self.cases = cases

    def _ask(self, request: Request) -> dict[str, Any]:
        reply = super()._ask(request)
        self.cases.setdefault(self.log.check, []).extend(_lines(self.name, request, reply))
        return reply


def _lines(name: str, request: Request, reply: dict[str, Any]) -> list[str]:
    calls = [write_call(name, request, number) for number in range(len(request.calls))]
    if "error" in reply:
        return [_outcome(calls[0], None, read_plain(ErrorInfo, reply["error"]))]
    value = reply["value"]
    if request.question == "program":
        return [f"the program of {calls[0]}"]
    if request.question == "key_use":
        return [f"the keys of {calls[0]}"]
    if request.question == "observe":
        errors = [read_plain(ErrorInfo, one["error"]) if one["error"] else None for one in value]
        return [_outcome(c, one["value"], e) for c, one, e in zip(calls, value, errors, strict=True)]
    return [_outcome(calls[0], value, None)]


def _outcome(call: str, value: Data, error: ErrorInfo | None) -> str:
    if error is not None:
        return f"{call} raised {error.type_name}"
    return f"{call} → {in_line(value, _VALUE_WIDTH)}"
