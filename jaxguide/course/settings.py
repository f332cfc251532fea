"""Read a course's settings from its `course.toml`, which lies beside `exercises/`."""

import dataclasses
import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NoReturn

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.course.exercise import AuthorError
from jaxguide.course.limits import Limits, LimitsError, limits_of, write_limits

SETTINGS_NAME = "course.toml"
BUNDLED = "jaxguide"
"""The identity of the course that comes with jaxguide."""
MOST_DEVICES = 64
# An identity is also the name of a folder, and part of a file's name.
_IDENTITY = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BY_SETTING = {"JAX_ENABLE_X64": "x64", "JAX_NUM_CPU_DEVICES": "devices", "XLA_FLAGS": "devices"}
# What workers need to run isolated, and to give the same results everywhere.
_OWN_VARIABLES = frozenset({"PATH", "HOME", "TMPDIR", "LANG", "JAX_PLATFORMS", "MPLBACKEND", "MPLCONFIGDIR"})
_OWN_BEGINNINGS = (
    *("PYTHON", "LD_", "DYLD_", "JAXGUIDE_", "OPENBLAS_", "MALLOC_"),
    *("JAX_COMPILATION_CACHE", "JAX_PERSISTENT_CACHE"),
)
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)")
_MOST_SHOWN = 80


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
        without_texts: the lessons of which `verify --strict` does not ask what students read beyond tasks: an example
            call of each exercise, what to notice in each solution, and why JAX gives the answer to a prediction.
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
    without_texts: tuple[str, ...] = ()
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
        message = "this is not TOML: {error}".format(error=_PLACE.sub("", str(error)))
        raise AuthorError(path, line, message) from None
    return _Reader(path, text, plain).settings()


def is_identity(text: str) -> bool:
    """Return whether a text can be the identity of a course.

    >>> is_identity("physics-2026"), is_identity("../physics")
    (True, False)
    """
    return bool(_IDENTITY.fullmatch(text))


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
        if value != getattr(CourseSettings(), field.name) and field.name not in ("environment", "limits"):
            lines.append(f"{field.name} = {_toml(value)}")
    if settings.environment:
        lines += ["", "[environment]", *(f"{name} = {_toml(text)}" for name, text in settings.environment.items())]
    if limits := write_limits(settings.limits):
        lines += ["", "[limits]", *(limit.replace("=", " = ") for limit in limits.split(","))]
    return "".join(f"{line}\n" for line in lines).lstrip("\n")


def _toml(value: Any) -> str:
    # A basic string of TOML is one of JSON, except that this character has to be escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


class _Reader:
    """Take the settings out of a file, and say which value is wrong, and where."""

    def __init__(self, path: Path, text: str, plain: dict[str, Any]):
        self._path, self._text, self._plain = path, text, plain
        self._exercises = path.parent / "exercises"

    def settings(self) -> CourseSettings:
        names = [field.name for field in dataclasses.fields(CourseSettings)]
        for name in self._plain:
            if name not in names:
                said = f"there is no setting `{name}`." + did_you_mean(name, names, most=1)
                self._fail(f"{said} {'The settings are {names}'.format(names=', '.join(names))}", name)
        return CourseSettings(
            identity=self._identity(),
            title=self._title(),
            lessons=self._lessons(),
            files=self._files(),
            x64=self._x64(),
            devices=self._devices(),
            environment=self._environment(),
            requirements=self._requirements(),
            without_texts=self._lessons("without_texts"),
            limits=self._limits(),
        )

    def _identity(self) -> str:
        identity = self._plain.get("identity", "")
        if not isinstance(identity, str) or not (identity == "" or is_identity(identity)):
            expected = "small letters, digits and hyphens, at most 64, such as {example}"
            self._expect("identity", expected.format(example='"physics-2026"'), identity)
        if identity == BUNDLED:
            self._fail(f"`{BUNDLED}` is the identity of the course that comes with jaxguide", "identity")
        return identity

    def _title(self) -> str:
        title = self._plain.get("title", "")
        if not isinstance(title, str) or not title.isprintable():
            self._expect("title", 'a line of text such as "JAX for physicists"', title)
        return title

    def _lessons(self, setting: str = "lessons") -> tuple[str, ...]:
        names = self._texts(setting, '["first_lesson", "second_lesson"]')
        there = sorted(path.stem for path in self._exercises.glob("*.py"))
        for name in names:
            if name not in there:
                message = f"there is no book `{name}.py` in {self._exercises.name}/"
                near = did_you_mean(name, there, most=1)
                self._fail(f"{message}.{near}" if near else message, setting, name)
        return names

    def _files(self) -> tuple[str, ...]:
        names = self._texts("files", '["data/table.txt"]')
        for name in names:
            why_not = _why_no_file(name, self._exercises)
            if why_not:
                self._fail(why_not.format(name=name, folder=self._exercises.name), "files", name)
        if len({name.casefold() for name in names}) < len(names):
            self._fail("`files` has names that differ in upper and lower case alone", "files")
        return names

    def _x64(self) -> bool | tuple[str, ...]:
        x64 = self._plain.get("x64", False)
        if isinstance(x64, list):
            return self._lessons("x64")
        if not isinstance(x64, bool):
            self._expect("x64", 'true, false or a list of lessons such as ["first_lesson"]', x64)
        return x64

    def _devices(self) -> int | None:
        devices = self._plain.get("devices")
        if devices is None:
            return None
        if isinstance(devices, bool) or not isinstance(devices, int) or not 1 <= devices <= MOST_DEVICES:
            self._expect("devices", f"a whole number from 1 to {MOST_DEVICES}", devices)
        return devices

    def _environment(self) -> dict[str, str]:
        table = self._table("environment", 'JAX_DEBUG_NANS = "true"')
        for name, value in table.items():
            if not isinstance(value, str) or "\0" in value:
                self._expect(name, 'a text such as "true"', value)
            if not _VARIABLE.fullmatch(name):
                self._fail(f"`{name}` cannot be the name of an environment variable", name)
            if name in _BY_SETTING:
                message = "`{name}` cannot be set here; use the setting `{setting}`"
                self._fail(message.format(name=name, setting=_BY_SETTING[name]), name)
            if name in _OWN_VARIABLES or name.startswith(_OWN_BEGINNINGS):
                self._fail(f"`{name}` cannot be set for a course, because graders set it", name)
        return table

    def _requirements(self) -> tuple[str, ...]:
        texts = self._texts("requirements", '["optax>=0.2"]')
        if texts:
            from packaging.requirements import InvalidRequirement, Requirement

            for text in texts:
                try:
                    Requirement(text)
                except InvalidRequirement:
                    message = f"{_shown(text)} is not a requirement such as `optax>=0.2`"
                    self._fail(message, "requirements", text)
        return texts

    def _limits(self) -> Limits:
        table = self._table("limits", 'cpu = "10s"')
        given = {}
        for name, value in table.items():
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                self._expect(name, 'a number, or a text such as "10s" or "1.5GB"', value)
            given[name] = value if isinstance(value, str) else f"{value:.12g}"
        try:
            return limits_of(given)
        except LimitsError as error:
            self._fail(str(error).removesuffix("."), error.name or "limits")

    def _texts(self, name: str, example: str) -> tuple[str, ...]:
        """Return a setting that is a list of texts, each listed once."""
        found = self._plain.get(name, [])
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            self._expect(name, f"a list of texts such as {example}", found)
        for place, one in enumerate(found):
            if one in found[:place]:
                self._fail(f"`{name}` lists {_shown(one)} twice", name, one)
        return tuple(found)

    def _table(self, name: str, example: str) -> dict[str, Any]:
        found = self._plain.get(name, {})
        if not isinstance(found, dict):
            self._expect(name, f"a table with lines such as {example}", found)
        return found

    def _expect(self, name: str, expected: str, got: Any) -> NoReturn:
        message = "`{name}` must be {expected}, but got {got}"
        self._fail(message.format(name=name, expected=expected, got=_shown(got)), name)

    def _fail(self, message: str, name: str, inside: str = "") -> NoReturn:
        """Raise an error at the line of a setting, or of a text inside its value."""
        raise AuthorError(self._path, self._line(name, inside), message)

    def _line(self, name: str, inside: str) -> int:
        """Return the line of a setting, or of a text inside its value; 1 if it is not found."""
        lines = self._text.split("\n")
        begins = re.compile(rf"\s*\[?\s*[\"']?{re.escape(name)}[\"']?\s*[\]=.]")
        first = next((number for number, line in enumerate(lines, 1) if begins.match(line)), 1)
        return next((number for number, line in enumerate(lines[first - 1 :], first) if inside in line), first)


def _shown(value: Any) -> str:
    said = json.dumps(value, ensure_ascii=False, default=str)
    return said if len(said) <= _MOST_SHOWN else f"{said[: _MOST_SHOWN - 1]}…"


def _why_no_file(name: str, exercises: Path) -> str:
    """Return why lessons cannot read a file of this name, with fields for it and the folder, or ''."""
    parts = PurePosixPath(name).parts
    is_plain = str(PurePosixPath(name)) == name and ".." not in parts and "\\" not in name and name.isprintable()
    if not is_plain or PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive:
        return "`{name}` is not the name of a file below {folder}/, such as `data/table.txt`"
    if any(part.startswith(".") for part in parts):
        return "`{name}` begins with a dot; lessons cannot read hidden files"
    if PurePosixPath(name).suffix.lower() in (".py", ".ipynb"):
        return "`{name}` would be taken for a lesson or a submission; lessons can read files of other kinds"
    path = exercises / name
    if not path.is_file():
        return "there is no file `{name}` in {folder}/"
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(exercises)):
        return "`{name}` is a link that leads out of {folder}/"
    return ""
