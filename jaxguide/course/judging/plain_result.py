"""Convert an exercise's result to JSON data and back, for storing, sending, displaying and reporting it."""

import dataclasses
import enum
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jaxguide.course.verdict import CheckResult, ErrorInfo, ExerciseResult, Kind, Verdict

if TYPE_CHECKING:  # this import loads JAX
    from jaxguide.course.judging.values import Data

# Texts from the course, interned so that a class of any size needs one copy.
_SAID_BY_THE_COURSE = ("name", "title", "lesson", "fact", "stage", "idea", "on")
_CHECK_FIELDS = frozenset(field.name for field in dataclasses.fields(CheckResult))
_RESULT_FIELDS = frozenset(field.name for field in dataclasses.fields(ExerciseResult))


def to_plain(result: ExerciseResult, write: "Callable[[Data], str]") -> dict[str, Any]:
    """Return everything in a result as JSON data.

    Args:
        result: the result.
        write: formats a revealed value as text.

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
    """Rebuild a result from the data of `to_plain`; `read` parses the text of a revealed value."""
    reveal = None if plain["reveal"] is None else read(plain["reveal"])
    checks = [_check(check) for check in plain["checks"]]
    as_given = _check(plain["as_given"]) if plain.get("as_given") else None
    known = {name: value for name, value in plain.items() if name in _RESULT_FIELDS}
    changed = {"verdict": Verdict(plain["verdict"]), "checks": checks, "reveal": reveal, "as_given": as_given}
    return ExerciseResult(**{**_shared(known), **changed})


def _check(plain: dict[str, Any]) -> CheckResult:
    changed = {
        "kind": Kind(plain["kind"]),
        "verdict": Verdict(plain["verdict"]),
        "after_failure": Verdict(plain["after_failure"]) if plain.get("after_failure") else None,
        "error": plain["error"] and ErrorInfo.from_plain(plain["error"]),
        "misconceptions": tuple(map(sys.intern, plain["misconceptions"])),
        "says": tuple(map(sys.intern, plain.get("says", ()))),
    }
    # Documents that earlier versions wrote lack some fields, and have others; so do exercises.
    known = {name: value for name, value in plain.items() if name in _CHECK_FIELDS}
    return CheckResult(**{**_shared(known), **changed})


def _shared(plain: dict[str, Any]) -> dict[str, Any]:
    return {name: sys.intern(value) if name in _SAID_BY_THE_COURSE else value for name, value in plain.items()}
