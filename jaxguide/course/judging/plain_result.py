"""One exercise's result as JSON data, and back: what is kept, sent, shown and reported is made of it."""

import dataclasses
import enum
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jaxguide.course.verdict import CheckResult, ErrorInfo, ExerciseResult, Kind, Verdict

if TYPE_CHECKING:  # which imports JAX
    from jaxguide.course.judging.values import Data

# What a course says of each check and exercise: one copy for a class of any size.
_SAID_BY_THE_COURSE = ("name", "title", "lesson", "fact", "stage", "idea", "misconception")


def to_plain(result: ExerciseResult, write: "Callable[[Data], str]") -> dict[str, Any]:
    """Return everything in a result as JSON data.

    Args:
        result: the result.
        write: writes a revealed value as text.

    >>> plain = to_plain(ExerciseResult("f", "Guess", "tracing", 1, Verdict.PASSED, 1.0, reveal=(1, 2)), str)
    >>> plain["verdict"], plain["checks"], plain["reveal"]
    ('passed', [], '(1, 2)')
    """
    reveal = None if result.reveal is None else write(result.reveal)
    plain: dict[str, Any] = _plain(dataclasses.replace(result, reveal=reveal))
    return plain


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [_plain(child) for child in value]
    return value


def from_plain(plain: dict[str, Any], read: "Callable[[str], Data]") -> ExerciseResult:
    """Build a result again from what `to_plain` returned; `read` reads a revealed value from its text."""
    reveal = None if plain["reveal"] is None else read(plain["reveal"])
    checks = [_check(check) for check in plain["checks"]]
    return ExerciseResult(
        **{**_shared(plain), "verdict": Verdict(plain["verdict"]), "checks": checks, "reveal": reveal}
    )


def _check(plain: dict[str, Any]) -> CheckResult:
    changed = {
        "kind": Kind(plain["kind"]),
        "verdict": Verdict(plain["verdict"]),
        "error": plain["error"] and ErrorInfo.from_plain(plain["error"]),
        "misconceptions": tuple(map(sys.intern, plain["misconceptions"])),
    }
    return CheckResult(**{**_shared(plain), **changed})


def _shared(plain: dict[str, Any]) -> dict[str, Any]:
    return {name: sys.intern(value) if name in _SAID_BY_THE_COURSE else value for name, value in plain.items()}
