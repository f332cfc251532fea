"""Apply a course's settings to this process: 64-bit types, devices, environment variables, and files beside lessons."""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxguide import compat
from jaxguide.course.exercise import AuthorError
from jaxguide.course.printed_names import keep_printed_names
from jaxguide.course.settings import SETTINGS_NAME, CourseSettings

_DEVICES_FLAG = "--xla_force_host_platform_device_count"
# Variables with these beginnings are read once, when JAX starts.
_READ_AT_START = ("JAX_", "XLA_", "TF_", "CUDA_", "NCCL_")
_REMEDY = "set the course up first (in a notebook, restart the kernel and run its first cell before any other)"
_applied: dict[str, Any] | None = None


class SetUpError(RuntimeError):
    """This process cannot be set up for a course; the message says why and what to do."""


def set_up(settings: CourseSettings, course: Path, lesson: str = "") -> None:
    """Set this process up for a course, before JAX starts; see `set_up_process`.

    Args:
        settings: the course's settings.
        course: the course's folder.
        lesson: the lesson that the process runs until this is called again, '' if it runs several.

    Raises:
        AuthorError: this process cannot be set up for the course.
    """
    try:
        set_up_process(**process_settings(settings))
    except SetUpError as error:
        raise AuthorError(course / SETTINGS_NAME, 1, str(error)) from None
    if lesson and (x64 := settings.x64_of(lesson)) is not None:
        _set_x64(x64)


def process_settings(settings: CourseSettings, lesson: str = "") -> dict[str, Any]:
    """Return the arguments of `set_up_process` for a course, or for a process that runs one lesson, as plain data."""
    x64 = settings.x64 is True or bool(settings.x64_of(lesson))
    return {"x64": x64, "devices": settings.devices, "environment": dict(settings.environment)}


def set_up_process(*, x64: bool, devices: int | None, environment: Mapping[str, str]) -> None:
    """Set this process up for one course; processes that it starts later are set up, too.

    Call this before JAX starts its backend. It may have been imported. Calling this again for the same course does
    nothing.

    Args:
        x64: whether to turn on 64-bit types. If not, they stay as they are.
        devices: the number of CPU devices; None for as many as there are.
        environment: the environment variables to set.

    Raises:
        SetUpError: JAX has started with other settings, this process was set up for another course, or JAX refuses a
            variable.
    """
    global _applied
    keep_printed_names()
    wanted = {"x64": x64, "devices": devices, "environment": dict(environment)}
    if wanted == _applied or (_applied is None and not (x64 or devices or environment)):
        return
    if _applied is not None:
        remedy = "use a new one (in a notebook, a kernel)"
        raise SetUpError(f"this process was set up for a course with other settings; {remedy}")
    has_started = "jax" in sys.modules and compat.backend_started()
    if devices is not None:
        _set_devices(devices, has_started)
    for name, value in environment.items():
        _set_variable(name, value, has_started)
    if x64:
        _set_x64(x64)
    _applied = wanted


def _set_x64(x64: bool) -> None:
    os.environ["JAX_ENABLE_X64"] = text = str(x64).lower()
    if "jax" in sys.modules:
        compat.set_option("JAX_ENABLE_X64", text)


def _set_devices(devices: int, has_started: bool) -> None:
    if has_started:
        count = compat.cpu_device_count()
        if count != devices:
            raise SetUpError(f"the course needs {devices} CPU devices, but JAX has started with {count}; {_REMEDY}")
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if flag.partition("=")[0] != _DEVICES_FLAG]
    os.environ["XLA_FLAGS"] = " ".join([*flags, f"{_DEVICES_FLAG}={devices}"])


def _set_variable(name: str, value: str, has_started: bool) -> None:
    if has_started and name.startswith(_READ_AT_START) and not compat.has_option(name):
        if os.environ.get(name) == value:
            return
        raise SetUpError(f"the course sets `{name}`, but JAX has started without it; {_REMEDY}")
    os.environ[name] = value
    if "jax" in sys.modules:
        try:
            compat.set_option(name, value)
        except ValueError as error:
            raise SetUpError(f"JAX refuses `{name}`: {error}") from None


@contextlib.contextmanager
def beside_files(files: Mapping[str, Path]) -> Iterator[None]:
    """Run the block in a new folder with copies of the files that lessons read; without any, leave the folder as it is.

    The current folder is that of all threads, so use absolute paths within the block.

    Args:
        files: the files by name, as `Outline.files` returns them.
    """
    if not files:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="jaxguide-files-", ignore_cleanup_errors=True) as folder:
        copy_files(files, Path(folder))
        with contextlib.chdir(folder):
            yield


def copy_files(files: Mapping[str, Path], folder: Path) -> None:
    """Copy files into a folder, each under its name there."""
    for name, path in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / name)
