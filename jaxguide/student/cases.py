"""Record the cases of each check: how it called the student's function, and what came back."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from jaxguide.course.exercise import Check, Exercise
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.calls import write_call
from jaxguide.course.judging.evaluate import Request, Step
from jaxguide.course.judging.literals import in_line
from jaxguide.course.judging.values import Data
from jaxguide.course.verdict import ErrorInfo

_VALUE_WIDTH = 120

Cases = dict[str, list[str]]
"""The name of a check -> its cases, one line each."""


class WatchedAnswer(LocalAnswer):
    """An answer in this process whose calls are recorded under the check that makes them."""

    cases: Cases
    running: list[str]

    @classmethod
    def of(cls, answer: LocalAnswer, cases: Cases, running: list[str]) -> "WatchedAnswer":
        """Return the same answer with its calls recorded; `running` contains the name of the running check."""
        found = cls(answer.name, answer.function, answer.names, answer.steps, answer.log)
        found.cases, found.running = cases, running
        return found

    def _with(self, steps: tuple[Step, ...]) -> "WatchedAnswer":
        return self.of(super()._with(steps), self.cases, self.running)

    def _ask(self, request: Request) -> dict[str, Any]:
        reply = super()._ask(request)
        self.cases.setdefault(self.running[0], []).extend(_lines(self.name, request, reply))
        return reply


def watched(exercise: Exercise, answer: LocalAnswer) -> tuple[Exercise, WatchedAnswer, Cases]:
    """Return an equivalent exercise and answer that record their cases, and the dict that will contain them."""
    cases: Cases = {}
    running = [""]
    checks = [dataclasses.replace(check, function=_noting(check, running)) for check in exercise.checks]
    return dataclasses.replace(exercise, checks=checks), WatchedAnswer.of(answer, cases, running), cases


def _noting(check: Check, running: list[str]) -> Callable[..., None]:
    @functools.wraps(check.function)
    def run(*args: Any, **kwargs: Any) -> None:
        running[0] = check.name
        check.function(*args, **kwargs)

    return run


def _lines(name: str, request: Request, reply: dict[str, Any]) -> list[str]:
    calls = [write_call(name, request, number) for number in range(len(request.calls))]
    if "error" in reply:
        return [_outcome(calls[0], None, ErrorInfo.from_plain(reply["error"]))]
    value = reply["value"]
    if request.question == "program":
        return [f"the program of {calls[0]}"]
    if request.question == "key_use":
        return [f"the keys of {calls[0]}"]
    if request.question == "observe":
        errors = [ErrorInfo.from_plain(one["error"]) if one["error"] else None for one in value]
        return [_outcome(c, one["value"], e) for c, one, e in zip(calls, value, errors, strict=True)]
    return [_outcome(calls[0], value, None)]


def _outcome(call: str, value: Data, error: ErrorInfo | None) -> str:
    if error is not None:
        return f"{call} raised {error.type_name}"
    return f"{call} → {in_line(value, _VALUE_WIDTH)}"
