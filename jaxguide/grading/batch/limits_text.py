"""Read limits from the text that an instructor writes, 'cpu=10,memory=1.5GB', and write them so."""

import dataclasses
import re

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.base.text import _
from jaxguide.grading.workers.usage import Limits

_BYTES = {"": 1, "b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30}
_SECONDS = {"": 1, "s": 1, "min": 60}
_VALUE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


class LimitsError(ValueError):
    """The text says no limits; the message says what was expected."""


def parse_limits(text: str) -> Limits:
    """Return the limits that a text names; those that it does not name are as always.

    The names are those of the fields of `Limits` without their units, with hyphens.

    Args:
        text: such as 'cpu=10, idle=20s, memory=1.5GB'. Times are in seconds or `min`, sizes in bytes, KB, MB or GB.

    Raises:
        LimitsError: a name is unknown or a value is none above 0.

    >>> limits = parse_limits("cpu=10, memory=1.5GB")
    >>> limits.cpu_s, limits.memory_bytes // 2**20, limits.idle_s == Limits().idle_s
    (10.0, 1536, True)
    """
    fields = {_name(field.name): field.name for field in dataclasses.fields(Limits)}
    found: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _equals, value = (half.strip() for half in part.partition("="))
        name = name.replace("_", "-")
        if name not in fields:
            said = _("There is no limit `{name}`.").format(name=name) + did_you_mean(name, list(fields))
            hint = _("Limits are written as `cpu=10,memory=1.5GB`; there are {names}.")
            raise LimitsError(f"{said} {hint.format(names=', '.join(fields))}")
        found[fields[name]] = _value(name, value, fields[name])
    return Limits(**found)  # type: ignore[arg-type]


def write_limits(limits: Limits) -> str:
    """Write limits as `parse_limits` reads them, '' where they are as always.

    >>> write_limits(Limits(cpu_s=2.5, memory_bytes=2**30))
    'cpu=2.5,memory=1073741824'
    """
    said = []
    for field in dataclasses.fields(Limits):
        value = getattr(limits, field.name)
        if value != field.default:
            said.append(f"{_name(field.name)}={value:.12g}")
    return ",".join(said)


def _name(field: str) -> str:
    return field.removesuffix("_s").removesuffix("_bytes").replace("_", "-")


def _value(name: str, text: str, field: str) -> float:
    units = _BYTES if field.endswith("_bytes") else _SECONDS if field.endswith("_s") else {"": 1}
    match = _VALUE.fullmatch(text.casefold())
    if match is None or match[2] not in units or not float(match[1]):
        message = _("The limit `{name}` is a number above 0; this is `{text}`.")
        if field.endswith("_bytes"):
            message = _(
                "The limit `{name}` is a number above 0 in bytes, or with a unit: 500KB, 16MB, 2GB; this is `{text}`."
            )
        elif field.endswith("_s"):
            message = _(
                "The limit `{name}` is a number above 0 in seconds, or with a unit: 90s, 2min; this is `{text}`."
            )
        raise LimitsError(message.format(name=name, text=text))
    value = float(match[1]) * units[match[2]]
    return int(value) if field.endswith("_bytes") else value
