"""Parse limits written as text, such as 'cpu=10,memory=1.5GB', and format them the same way."""

import dataclasses
import re

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.base.text import _
from jaxguide.grading.workers.usage import Limits

_BYTES = {"": 1, "b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30}
_SECONDS = {"": 1, "s": 1, "min": 60}
# The range of each limit, by the end of its name, and how it is written. Less memory ends every call.
_RANGES = {
    "memory_bytes": (2**26, 2**50, "from 64MB to 1048576GB"),
    "_bytes": (2**10, 2**50, "from 1KB to 1048576GB"),
    "_s": (0.1, 10**7, "from 0.1 s to 10000000 s"),
    "_factor": (0.1, 10**6, "from 0.1 to 1000000"),
}
_VALUE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


class LimitsError(ValueError):
    """The text does not describe limits; the message says what was expected."""


def parse_limits(text: str) -> Limits:
    """Parse limits; the others keep their defaults.

    The names are the fields of `Limits` without units, written with hyphens.

    Args:
        text: such as 'cpu=10, idle=20s, memory=1.5GB'. Times are in seconds or `min`, sizes in bytes, KB, MB or GB.

    Raises:
        LimitsError: a name is unknown or comes twice, a value is not a number in its range, or two contradict.

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
            hint = _("Write limits like `cpu=10,memory=1.5GB`. The limits are {names}.")
            raise LimitsError(f"{said} {hint.format(names=', '.join(fields))}")
        if fields[name] in found:
            raise LimitsError(_("The limit `{name}` is given twice.").format(name=name))
        found[fields[name]] = _value(name, value, fields[name])
    limits = Limits(**found)  # type: ignore[arg-type]
    if limits.cpu_s > limits.total_cpu_s:
        message = _(
            "The limit `cpu`, {cpu:g} s for an exercise, is above `total-cpu`, {total:g} s for a submission. "
            "Lower it, or raise `total-cpu`."
        )
        raise LimitsError(message.format(cpu=limits.cpu_s, total=limits.total_cpu_s))
    return limits


def write_limits(limits: Limits) -> str:
    """Format limits as text that `parse_limits` reads; '' if all are defaults.

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
        message = _("The limit `{name}` must be a number above 0, but got `{text}`.")
        if field.endswith("_bytes"):
            message = _(
                "The limit `{name}` must be a number above 0, in bytes or with a unit such as 500KB, 16MB or 2GB, but "
                "got `{text}`."
            )
        elif field.endswith("_s"):
            message = _(
                "The limit `{name}` must be a number above 0, in seconds or with a unit such as 90s or 2min, but got "
                "`{text}`."
            )
        raise LimitsError(message.format(name=name, text=text))
    value = float(match[1]) * units[match[2]]
    least, most, words = _RANGES.get(field) or _RANGES[field[field.rindex("_") :]]
    if not least <= value <= most:
        message = _("The limit `{name}` must be {words}, but got `{text}`.")
        raise LimitsError(message.format(name=name, words=words, text=text))
    return int(value) if field.endswith("_bytes") else value
