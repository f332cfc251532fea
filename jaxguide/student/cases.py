"""Record the cases of each check: how it called the student's function, and what came back."""

from collections.abc import Callable, Mapping
from typing import Any

from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.calls import write_call
from jaxguide.course.judging.evaluate import Request
from jaxguide.course.judging.literals import in_line

_VALUE_WIDTH = 120


class WatchedAnswer(LocalAnswer):
    """An answer in this process whose calls are also written into `cases`, one line each, by the name of the check."""

    def __init__(self, name: str, function: Callable[..., Any], names: Mapping[str, Any], cases: dict[str, list[str]]):
        super().__init__(name, function, names)
        self.cases = cases

    def _ask(self, request: Request) -> dict[str, Any]:
        reply = super()._ask(request)
        self.cases.setdefault(self.log.check, []).extend(_lines(self.name, request, reply))
        return reply


def _lines(name: str, request: Request, reply: dict[str, Any]) -> list[str]:
    calls = [write_call(name, request, number) for number in range(len(request.calls))]
    outcomes = [reply]
    if "error" not in reply:
        if request.question == "program":
            return [f"the program of {calls[0]}"]
        if request.question == "key_use":
            return [f"the keys of {calls[0]}"]
        if request.question == "observe":
            outcomes = reply["value"]
    return [_outcome(call, outcome) for call, outcome in zip(calls, outcomes, strict=False)]


def _outcome(call: str, outcome: dict[str, Any]) -> str:
    if outcome.get("error"):
        return f"{call} raised {outcome['error']['type_name']}"
    return f"{call} → {in_line(outcome['value'], _VALUE_WIDTH)}"
