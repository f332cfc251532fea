"""Define the resource limits of submitted code, and read and write them as text such as 'cpu=10,memory=1.5GB'."""

import dataclasses
import re
from collections.abc import Mapping

from jaxguide.base.did_you_mean import did_you_mean

# The units of limits by the end of their names, and how messages say them.
_UNITS = {
    "_bytes": (
        {"": 1, "b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30},
        ", in bytes or with a unit such as 500KB, 16MB or 2GB",
    ),
    "_s": ({"": 1, "s": 1, "min": 60}, ", in seconds or with a unit such as 90s or 2min"),
    "_factor": ({"": 1}, ""),
}
# The range of each limit, by its name or the end of it. Less memory ends every call.
_RANGES = {
    "memory_bytes": (2**26, 2**50, "from 64MB to 1048576GB"),
    "_bytes": (2**10, 2**50, "from 1KB to 1048576GB"),
    "_s": (0.1, 10**7, "from 0.1 s to 10000000 s"),
    "_factor": (0.1, 10**6, "from 0.1 to 1000000"),
}
_VALUE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


@dataclasses.dataclass(frozen=True)
class Limits:
    """The resource limits of one exercise and of a whole submission.

    Args:
        cpu_s: processor time of one exercise, the main limit.
        total_cpu_s: processor time of the whole submission's code.
        idle_s: time in which no thread of the code computes or is ready to.
        memory_bytes: memory in addition to what JAX needs.
        output_bytes: output to standard output and standard error, from Python and native code.
        scratch_bytes: total size of the files that the code writes.
        file_bytes: size of any one of these files.
        wall_factor: if the elapsed time exceeds `wall_factor * cpu_s + idle_s`, the machine is considered too busy to
            grade; the student's code is not considered slow.
    """

    cpu_s: float = 30.0
    idle_s: float = 60.0
    total_cpu_s: float = 600.0
    memory_bytes: int = 2 * 2**30
    output_bytes: int = 16 * 2**20
    scratch_bytes: int = 256 * 2**20
    file_bytes: int = 64 * 2**20
    wall_factor: float = 10.0

    @property
    def wall_s(self) -> float:
        return self.wall_factor * self.cpu_s + self.idle_s


class LimitsError(ValueError):
    """The text does not describe limits; the message says what was expected, and `name` is the limit if it is one."""

    def __init__(self, message: str, name: str = ""):
        super().__init__(message)
        self.name = name


def parse_limits(text: str, others: Limits | None = None) -> Limits:
    """Parse limits; those that are not given are taken from `others`.

    The names are the fields of `Limits` without units, written with hyphens.

    Args:
        text: such as 'cpu=10, idle=20s, memory=1.5GB'. Times are in seconds or `min`, sizes in bytes, KB, MB or GB.
        others: the limits of the course; by default, the defaults.

    Raises:
        LimitsError: a name is unknown or comes twice, a value is not a number in its range, or two contradict.

    >>> limits = parse_limits("cpu=10, memory=1.5GB")
    >>> limits.cpu_s, limits.memory_bytes // 2**20, limits.idle_s == Limits().idle_s
    (10.0, 1536, True)
    """
    given: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _equals, value = (half.strip() for half in part.partition("="))
        name = name.replace("_", "-")
        if name in given:
            raise LimitsError(f"The limit `{name}` is given twice.", name)
        given[name] = value
    return limits_of(given, others)


def limits_of(given: Mapping[str, str], others: Limits | None = None) -> Limits:
    """Return the limits with these names and values; the rest is taken from `others`, as by `parse_limits`.

    Raises:
        LimitsError: a name is unknown, a value is not a number in its range, or two contradict.
    """
    found: dict[str, float] = {}
    for name, value in given.items():
        if name not in _FIELDS:
            near = did_you_mean(name, _FIELDS)
            raise LimitsError(f"There is no limit `{name}`.{near} The limits are {', '.join(_FIELDS)}.", name)
        found[_FIELDS[name]] = _value(name, value)
    limits = dataclasses.replace(others or Limits(), **found)  # type: ignore[arg-type]
    if limits.cpu_s > limits.total_cpu_s:
        cpu, total = f"{limits.cpu_s:g} s for an exercise", f"{limits.total_cpu_s:g} s for a submission"
        message = f"The limit `cpu`, {cpu}, is above `total-cpu`, {total}. Lower it, or raise `total-cpu`."
        raise LimitsError(message)
    return limits


def write_limits(limits: Limits) -> str:
    """Format limits as text that `parse_limits` reads; '' if all are defaults.

    >>> write_limits(Limits(cpu_s=2.5, memory_bytes=2**30))
    'cpu=2.5,memory=1073741824'
    """
    values = [(field, getattr(limits, field.name)) for field in dataclasses.fields(Limits)]
    return ",".join(f"{_name(field.name)}={value:.12g}" for field, value in values if value != field.default)


def _name(field: str) -> str:
    return field.removesuffix("_s").removesuffix("_bytes").replace("_", "-")


_FIELDS = {_name(field.name): field.name for field in dataclasses.fields(Limits)}


def _value(name: str, text: str) -> float:
    field = _FIELDS[name]
    kind = field[field.rindex("_") :]
    units, said = _UNITS[kind]
    match, expected = _VALUE.fullmatch(text.casefold()), f"a number above 0{said}"
    if match and match[2] in units and float(match[1]):
        value = float(match[1]) * units[match[2]]
        least, most, expected = _RANGES.get(field) or _RANGES[kind]
        if least <= value <= most:
            return int(value) if kind == "_bytes" else value
    raise LimitsError(f"The limit `{name}` must be {expected}, but got `{text}`.", name)
