"""Convert a result to JSON data for display: control characters are removed, and revealed values become text."""

import dataclasses
from typing import TYPE_CHECKING, Any

from jaxguide.base.clean import clean, cleaned
from jaxguide.base.plain import plain_of, read_plain
from jaxguide.course.verdict import ExerciseResult

if TYPE_CHECKING:  # this import loads JAX
    from jaxguide.course.judging.values import Data


class DisplayText(str):
    """The text of a revealed value, which `result_from_plain` uses in place of the value."""


def written(data: "Data") -> str:
    """Format the answer to a prediction for students."""
    from jaxguide.course.judging.literals import show

    return clean(data) if isinstance(data, DisplayText) else clean(show(data))


def result_to_plain(result: ExerciseResult) -> dict[str, Any]:
    """Return everything in a result as JSON data for display.

    >>> from jaxguide.course.verdict import Verdict
    >>> plain = result_to_plain(ExerciseResult("f", "Draw twice", "random_numbers", 1, Verdict.PASSED, 1.0))
    >>> plain["verdict"], plain["checks"]
    ('passed', [])
    """
    reveal = None if result.reveal is None else written(result.reveal)
    plain: dict[str, Any] = cleaned(plain_of(dataclasses.replace(result, reveal=reveal)))
    return plain


def result_from_plain(plain: dict[str, Any]) -> ExerciseResult:
    """Rebuild a result from the data of `result_to_plain`."""
    result: ExerciseResult = read_plain(ExerciseResult, plain, any_version=True)
    return dataclasses.replace(result, reveal=None if result.reveal is None else DisplayText(result.reveal))
