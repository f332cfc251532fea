"""Tell whether an answer fails a check as a planted wrong answer does."""

import dataclasses
import re
from collections.abc import Callable

from jaxguide.course.exercise import Check, Exercise, Planted
from jaxguide.course.judging.answer import Answer
from jaxguide.course.judging.calls import CallLog, MadeCall, Observation
from jaxguide.course.judging.compare import Comparison
from jaxguide.course.judging.evaluate import Request
from jaxguide.course.judging.values import Data, Unsupported
from jaxguide.course.verdict import CheckFailed, CheckResult, Verdict

_NUMBER = re.compile(r"[-+]?\d[\d.]*(e[-+]?\d+)?")


@dataclasses.dataclass(frozen=True, eq=False)
class Failure:
    """How an answer failed a check: the result, the last request, and the calls that the check failed on."""

    verdict: Verdict
    message: str
    error: str
    request: Request | None
    calls: tuple[MadeCall, ...]

    @classmethod
    def of(cls, result: CheckResult, log: CallLog) -> "Failure | None":
        """Return how the check failed of which this is the result, or None if it passed or ended the process."""
        if result.verdict not in (Verdict.FAILED, Verdict.ERROR):
            return None
        error = "" if result.error is None else result.error.type_name
        # The lines after the first are about the place in the code.
        message = _NUMBER.sub("#", result.message.partition("\n")[0])
        return cls(result.verdict, message, error, log.request, log.blamed)


PlantedFailure = Callable[[Exercise, Planted, Check, Callable[[Answer], Failure | None]], Failure | None]
"""Returns how a planted answer fails a check, which the last argument runs; None if it passes or this is not known."""


def is_alike(one: Failure, other: Failure | None) -> bool:
    """Return whether two answers failed a check in the same way on the same input.

    That is: with the same message, apart from numbers, after the same exception or after the same calls returned the
    same. Traces and printed lines count where they were observed, primitives and outputs of a program, and problems in
    the use of keys.
    """
    if other is None or (one.verdict, one.message, one.error) != (other.verdict, other.message, other.error):
        return False
    try:
        if one.verdict is Verdict.ERROR:
            return _same_request(one.request, other.request)
        same = [
            _same_request(left.request, right.request) and left.number == right.number and _same_reply(left, right)
            for left, right in zip(one.calls, other.calls, strict=False)
        ]
    except Exception:  # what a worker said about a program or keys has another form than it should have
        return False
    return bool(same) and len(one.calls) == len(other.calls) and all(same)


def _same_request(one: Request | None, other: Request | None) -> bool:
    return one is not None and other is not None and _are_same(_as_data(one), _as_data(other), exact=True)


def _as_data(request: Request) -> Data:
    return request.question, [(step.name, dict(step.options)) for step in request.steps], request.calls


def _same_reply(one: MadeCall, other: MadeCall) -> bool:
    left, right = one.reply, other.reply
    if isinstance(left, Observation) or isinstance(right, Observation):
        seen = [(o.error and o.error.type_name, o.lines, o.traces) for o in (left, right)]
        return seen[0] == seen[1] and _are_same(left.value, right.value)
    if one.request.question == "program":
        return bool((left["primitives"], left["outputs"]) == (right["primitives"], right["outputs"]))
    if one.request.question == "key_use":
        kinds = [[problem["kind"] for problem in use["problems"]] for use in (left, right)]
        return kinds[0] == kinds[1]
    return _are_same(left, right)


def _are_same(one: Data, other: Data, exact: bool = False) -> bool:
    if isinstance(one, Unsupported) and isinstance(other, Unsupported):
        return one == other
    try:
        Comparison(weak_type=True, exact=exact).compare(one, other)
    except CheckFailed:
        return one is None and other is None
    return True
