"""Read a course's settings from its `course.toml`, which lies beside `exercises/`, and write an identity into it."""

import dataclasses
import hashlib
import json
import os
import re
import secrets
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NoReturn

from jaxguide.base.clean import clean
from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.base.files import write_whole
from jaxguide.base.text import plural
from jaxguide.course.exercise import AuthorError
from jaxguide.course.limits import Limits, LimitsError, limits_of, write_limits

SETTINGS_NAME = "course.toml"
BUNDLED = "jaxguide"
"""The identity of the course that comes with jaxguide."""
_MOST_DEVICES = 64
# An identity is also the name of a folder, and part of a file's name.
_IDENTITY = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_LONGEST_NAME = 40
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BY_SETTING = {"JAX_ENABLE_X64": "x64", "JAX_NUM_CPU_DEVICES": "devices", "XLA_FLAGS": "devices"}
# What workers need to run isolated, and to give the same results everywhere.
_OWN_VARIABLES = frozenset({"PATH", "HOME", "TMPDIR", "LANG", "JAX_PLATFORMS", "MPLBACKEND", "MPLCONFIGDIR"})
_OWN_BEGINNINGS = (
    *("PYTHON", "LD_", "DYLD_", "JAXGUIDE_", "OPENBLAS_", "MALLOC_"),
    *("JAX_COMPILATION_CACHE", "JAX_PERSISTENT_CACHE"),
)
_TABLES = ("environment", "dropped", "limits")
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)")


@dataclasses.dataclass(frozen=True)
class CourseSettings:
    """What holds for all lessons of a course.

    Args:
        identity: tells the course from all others; '' if it was never printed for students.
        title: the course's title in reports, '' for the name of its folder.
        lessons: the names of the lessons that come first, in order.
        files: the files that lessons read, by their names in `exercises/`.
        x64: whether 64-bit types are on, or the names of the lessons in which they are.
        devices: the number of CPU devices, None for as many as there are.
        environment: environment variables, by name.
        requirements: what must be installed, such as `optax>=0.2`.
        dropped: the exercises of earlier editions that the course no longer has, each with the name of the one that
            has replaced it, or ''.
        limits: the limits for submitted code.
    """

    identity: str = ""
    title: str = ""
    lessons: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    x64: bool | tuple[str, ...] = False
    devices: int | None = None
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    requirements: tuple[str, ...] = ()
    dropped: Mapping[str, str] = dataclasses.field(default_factory=dict)
    limits: Limits = dataclasses.field(default_factory=Limits)

    def x64_of(self, lesson: str) -> bool | None:
        """Return whether 64-bit types are on in a lesson, or None if the course does not tell its lessons apart."""
        return None if isinstance(self.x64, bool) else lesson in self.x64

    def file_paths(self, exercises: Path) -> dict[str, Path]:
        """Return the absolute paths of the files that lessons read, by name."""
        return {name: exercises.absolute() / name for name in self.files}


def read_settings(course: Path) -> CourseSettings:
    """Read and check the settings of a course; without `course.toml`, return the defaults.

    Args:
        course: the course's folder.

    Raises:
        AuthorError: the file cannot be read, or contains a mistake.
    """
    path = course / SETTINGS_NAME
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return CourseSettings()
    except (OSError, UnicodeDecodeError) as error:
        raise AuthorError(path, 1, f"cannot be read: {error}") from None
    try:
        plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        raise AuthorError(path, line, f"this is not TOML: {_PLACE.sub('', str(error))}") from None
    return _Reader(path, text).settings(plain)


def is_identity(text: str) -> bool:
    """Return whether a text can be the identity of a course.

    >>> is_identity("physics-2026"), is_identity("../physics")
    (True, False)
    """
    return bool(_IDENTITY.fullmatch(text))


def add_identity(course: Path) -> str:
    """Write an identity into a course's settings, which must have none, and return it.

    It is made from the title, or else the folder's name, and random digits, so that no two courses get the same one.

    Raises:
        AuthorError: the settings contain a mistake, or cannot be written.
    """
    path = course / SETTINGS_NAME
    identity = f"{_as_identity(read_settings(course).title or course.absolute().name)}-{secrets.token_hex(4)}"
    try:
        before = path.read_text("utf-8") if path.is_file() else ""
        write_whole(path, f'identity = "{identity}"\n{before}')
    except OSError as error:
        raise AuthorError(path, 1, f"cannot be written: {error}") from None
    return identity


def identity_of_folder(course: Path) -> str:
    """Return an identity for a course whose settings give none; it stays the same as long as its folder does."""
    digest = hashlib.sha256(str(course.resolve()).encode("utf-8", "backslashreplace")).hexdigest()
    return f"{_as_identity(course.absolute().name)}-{digest[:8]}"


def _as_identity(name: str) -> str:
    """Return a name in small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:_LONGEST_NAME].strip("-") or "course"


def write_settings(settings: CourseSettings) -> str:
    """Format settings as the text of a file that `read_settings` reads; defaults are left out.

    >>> print(write_settings(CourseSettings(title="JAX", devices=4, limits=Limits(cpu_s=5))), end="")
    title = "JAX"
    devices = 4
    <BLANKLINE>
    [limits]
    cpu = 5
    """
    lines: list[str] = []
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if value != getattr(CourseSettings(), field.name) and field.name not in _TABLES:
            lines.append(f"{field.name} = {_toml(value)}")
    for name, table in (("environment", settings.environment), ("dropped", settings.dropped)):
        if table:
            lines += ["", f"[{name}]", *(f"{_key(key)} = {_toml(text)}" for key, text in table.items())]
    if limits := write_limits(settings.limits):
        lines += ["", "[limits]", *(limit.replace("=", " = ") for limit in limits.split(","))]
    return "".join(f"{line}\n" for line in lines).lstrip("\n")


def said_of_dropped(names: Iterable[str], dropped: Mapping[str, str]) -> str:
    """Return a sentence about some of the exercises that a course has dropped.

    >>> said_of_dropped(["slow_sum"], {"slow_sum": "fast_sum"})
    '`slow_sum` (replaced by `fast_sum`) is no longer part of the course. What you wrote stays in your file.'
    """
    said = [f"`{name}`" + (f" (replaced by `{dropped[name]}`)" if dropped[name] else "") for name in names]
    one, more = "{names} is no longer part of the course.", "No longer part of the course: {names}."
    return plural(one, more, len(said), names=", ".join(said)) + " What you wrote stays in your file."


def _key(name: str) -> str:
    return name if name.isascii() else _toml(name)


def _toml(value: Any) -> str:
    # A basic string of TOML is one of JSON, except that this character has to be escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


# What the value of each setting must be, and how messages say so.
_EXPECTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "identity": (
        lambda value: value == "" or (isinstance(value, str) and is_identity(value)),
        'small letters, digits and hyphens, at most 64, such as "physics-2026"',
    ),
    "title": (
        lambda value: isinstance(value, str) and value.isprintable(),
        'a line of text such as "JAX for physicists"',
    ),
    "lessons": (_is_texts, 'a list of texts such as ["first_lesson", "second_lesson"]'),
    "files": (_is_texts, 'a list of texts such as ["data/table.txt"]'),
    "x64": (
        lambda value: isinstance(value, bool) or _is_texts(value),
        'true, false or a list of lessons such as ["first_lesson"]',
    ),
    "devices": (
        lambda value: type(value) is int and 1 <= value <= _MOST_DEVICES,
        f"a whole number from 1 to {_MOST_DEVICES}",
    ),
    "environment": (_is_table, 'a table with lines such as JAX_DEBUG_NANS = "true"'),
    "requirements": (_is_texts, 'a list of texts such as ["optax>=0.2"]'),
    "dropped": (
        lambda value: _is_table(value) and all(k.isidentifier() and isinstance(v, str) for k, v in value.items()),
        'a table with lines such as old_name = "new_name", or old_name = ""',
    ),
    "limits": (_is_table, 'a table with lines such as cpu = "10s"'),
}


class _Reader:
    """Check what a file says of settings, and say which value is wrong, and where."""

    def __init__(self, path: Path, text: str):
        self._path, self._text = path, text

    def settings(self, plain: dict[str, Any]) -> CourseSettings:
        found = {name: self._checked(name, value) for name, value in plain.items()}
        if found.get("identity") == BUNDLED:
            self._fail(f"`{BUNDLED}` is the identity of the course that comes with jaxguide", "identity")
        self._check_environment(found.get("environment", {}))
        return CourseSettings(**found | {"limits": self._limits(found.get("limits", {}))})

    def _checked(self, name: str, value: Any) -> Any:
        """Return the value of a setting, a list as a tuple."""
        if name not in _EXPECTED:
            near = did_you_mean(name, _EXPECTED, most=1)
            self._fail(f"there is no setting `{name}`.{near} The settings are {', '.join(_EXPECTED)}", name)
        is_right, expected = _EXPECTED[name]
        if not is_right(value):
            self._expect(name, expected, value)
        if not isinstance(value, list):
            return value
        why_not = {"files": _why_no_file, "requirements": _why_no_requirement}.get(name, _why_no_lesson)
        for place, one in enumerate(value):
            if one in value[:place]:
                self._fail(f"`{name}` lists {_shown(one)} twice", name, one)
            if message := why_not(one, self._path.parent / "exercises"):
                self._fail(message, name, one)
        return tuple(value)

    def _check_environment(self, variables: Mapping[str, Any]) -> None:
        for name, value in variables.items():
            if not isinstance(value, str) or "\0" in value:
                self._expect(name, 'a text such as "true"', value)
            if not _VARIABLE.fullmatch(name):
                self._fail(f"`{name}` cannot be the name of an environment variable", name)
            if name in _BY_SETTING:
                self._fail(f"`{name}` cannot be set here; use the setting `{_BY_SETTING[name]}`", name)
            if name in _OWN_VARIABLES or name.startswith(_OWN_BEGINNINGS):
                self._fail(f"`{name}` cannot be set for a course, because graders set it", name)

    def _limits(self, table: Mapping[str, Any]) -> Limits:
        for name, value in table.items():
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                self._expect(name, 'a number, or a text such as "10s" or "1.5GB"', value)
        try:
            return limits_of({n: one if isinstance(one, str) else f"{one:.12g}" for n, one in table.items()})
        except LimitsError as error:
            self._fail(str(error).removesuffix("."), error.name or "limits")

    def _expect(self, name: str, expected: str, got: Any) -> NoReturn:
        self._fail(f"`{name}` must be {expected}, but got {_shown(got)}", name)

    def _fail(self, message: str, name: str, inside: str = "") -> NoReturn:
        """Raise an error at the line of a setting, or of a text inside its value; at line 1 if it is not found."""
        lines = self._text.split("\n")
        begins = re.compile(rf"\s*\[?\s*[\"']?{re.escape(name)}[\"']?\s*[\]=.]")
        first = next((number for number, line in enumerate(lines, 1) if begins.match(line)), 1)
        line = next((number for number, line in enumerate(lines[first - 1 :], first) if inside in line), first)
        raise AuthorError(self._path, line, message)


def _shown(value: Any) -> str:
    return clean(json.dumps(value, ensure_ascii=False, default=str), 80)


def _why_no_requirement(text: str, _exercises: Path) -> str:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        Requirement(text)
    except InvalidRequirement:
        return f"{_shown(text)} is not a requirement such as `optax>=0.2`"
    return ""


def _why_no_lesson(name: str, exercises: Path) -> str:
    there = sorted(path.stem for path in exercises.glob("*.py"))
    near = did_you_mean(name, there, most=1)
    message = f"there is no book `{name}.py` in {exercises.name}/"
    return "" if name in there else f"{message}.{near}" if near else message


def _why_no_file(name: str, exercises: Path) -> str:
    """Return why lessons cannot read a file of this name, or ''."""
    parts = PurePosixPath(name).parts
    is_plain = str(PurePosixPath(name)) == name and ".." not in parts and "\\" not in name and name.isprintable()
    if not is_plain or PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive:
        return f"`{name}` is not the name of a file below {exercises.name}/, such as `data/table.txt`"
    if any(part.startswith(".") for part in parts):
        return f"`{name}` begins with a dot; lessons cannot read hidden files"
    if PurePosixPath(name).suffix.lower() in (".py", ".ipynb"):
        return f"`{name}` would be taken for a lesson or a submission; lessons can read files of other kinds"
    path = exercises / name
    if not path.is_file():
        return f"there is no file `{name}` in {exercises.name}/"
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(exercises)):
        return f"`{name}` is a link that leads out of {exercises.name}/"
    return ""
