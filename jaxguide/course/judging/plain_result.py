"""Convert an exercise's result to JSON data and back, for storing, sending, displaying and reporting it."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jaxguide.base.plain import plain_of, read_plain
from jaxguide.course.verdict import ExerciseResult

if TYPE_CHECKING:  # this import loads JAX
    from jaxguide.course.judging.values import Data


def to_plain(result: ExerciseResult, write: "Callable[[Data], str]") -> dict[str, Any]:
    """Return everything in a result as JSON data.

    Args:
        result: the result.
        write: formats a revealed value as text.

    >>> from jaxguide.course.verdict import Verdict
    >>> plain = to_plain(ExerciseResult("f", "Guess", "tracing", 1, Verdict.PASSED, 1.0, reveal=(1, 2)), str)
    >>> plain["verdict"], plain["checks"], plain["reveal"]
    ('passed', [], '(1, 2)')
    """
    reveal = None if result.reveal is None else write(result.reveal)
    plain: dict[str, Any] = plain_of(dataclasses.replace(result, reveal=reveal))
    return plain


def from_plain(plain: dict[str, Any], read: "Callable[[str], Data]") -> ExerciseResult:
    """Rebuild a result from the data of `to_plain`; `read` parses the text of a revealed value."""
    result: ExerciseResult = read_plain(ExerciseResult, plain, any_version=True)
    return dataclasses.replace(result, reveal=None if result.reveal is None else read(result.reveal))
