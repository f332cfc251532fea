"""A result as JSON data that can be shown: every text is clean, and a revealed value is text."""

from typing import TYPE_CHECKING, Any

from jaxguide.base.clean import clean, cleaned
from jaxguide.course.judging import plain_result
from jaxguide.course.verdict import ExerciseResult

if TYPE_CHECKING:  # which imports JAX
    from jaxguide.course.judging.values import Data


class Shown(str):
    """Text that is already written out: what `result_from_plain` puts where a value was."""


def written(data: "Data") -> str:
    """Write a prediction's answer as a student sees it."""
    from jaxguide.course.judging.values import show

    return clean(data) if isinstance(data, Shown) else clean(show(data))


def result_to_plain(result: ExerciseResult) -> dict[str, Any]:
    """Return everything in a result as JSON data that can be shown.

    >>> from jaxguide.course.verdict import Verdict
    >>> plain = result_to_plain(ExerciseResult("f", "Draw twice", "random_numbers", 1, Verdict.PASSED, 1.0))
    >>> plain["verdict"], plain["checks"]
    ('passed', [])
    """
    plain: dict[str, Any] = cleaned(plain_result.to_plain(result, written))
    return plain


def result_from_plain(plain: dict[str, Any]) -> ExerciseResult:
    """Build a result again from what `result_to_plain` returned."""
    return plain_result.from_plain(plain, Shown)
