"""Results as plain JSON data, and text from anywhere made fit to be shown."""

import dataclasses
import re
from typing import TYPE_CHECKING, Any

from jaxguide.course.verdict import CheckResult, ErrorInfo, ExerciseResult, Kind, Verdict

if TYPE_CHECKING:  # which imports JAX
    from jaxguide.course.judging.values import Data

# Colours, cursor moves and window titles that a student's code may print: they must not reach a terminal.
_ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-_])")
# Control characters but the line feed, and those that turn the order of the text around them or end a line unseen.
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Shown(str):
    """Text that is already written out: what `result_from_plain` puts where a value was."""


def clean(text: str, limit: int = 20_000) -> str:
    r"""Return text without terminal escapes, control characters and lone surrogates, cut to `limit` characters.

    >>> clean("a\x1b[31mb\x07")
    'ab'
    """
    text = _ESCAPES.sub("", str(text)[: 4 * limit]).replace("\r\n", "\n").expandtabs(4)
    kept = _LONE_SURROGATE.sub("\ufffd", _UNSEEN.sub("", text))
    return kept if len(kept) <= limit else kept[: limit - 1] + "…"


def written(data: "Data") -> str:
    """Write a prediction's answer as a student sees it."""
    from jaxguide.course.judging.values import show

    return clean(data) if isinstance(data, Shown) else clean(show(data))


def result_to_plain(result: ExerciseResult) -> dict[str, Any]:
    """Return everything in a result as JSON data; a revealed value becomes text.

    >>> plain = result_to_plain(ExerciseResult("f", "Draw twice", "random_numbers", 1, Verdict.PASSED, 1.0, 0))
    >>> plain["verdict"], plain["checks"]
    ('passed', [])
    """
    plain = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    plain["verdict"] = result.verdict.value
    plain["reveal"] = None if result.reveal is None else written(result.reveal)
    plain["checks"] = [_check_to_plain(check) for check in result.checks]
    cleaned: dict[str, Any] = _cleaned(plain)
    return cleaned


def _check_to_plain(check: CheckResult) -> dict[str, Any]:
    plain = dataclasses.asdict(check)
    return {**plain, "kind": check.kind.value, "verdict": check.verdict.value}


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [_cleaned(child) for child in value]
    if isinstance(value, dict):
        return {name: _cleaned(child) for name, child in value.items()}
    return value


def result_from_plain(plain: dict[str, Any]) -> ExerciseResult:
    """Build a result again from what `result_to_plain` returned."""
    checks = [_check_from_plain(check) for check in plain["checks"]]
    reveal = None if plain["reveal"] is None else Shown(plain["reveal"])
    return ExerciseResult(**{**plain, "verdict": Verdict(plain["verdict"]), "checks": checks, "reveal": reveal})


def _check_from_plain(plain: dict[str, Any]) -> CheckResult:
    error = plain["error"] and ErrorInfo.from_plain(plain["error"])
    changed = {
        "kind": Kind(plain["kind"]),
        "verdict": Verdict(plain["verdict"]),
        "error": error,
        "misconceptions": tuple(plain["misconceptions"]),
    }
    return CheckResult(**{**plain, **changed})
