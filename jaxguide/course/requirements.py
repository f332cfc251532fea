"""Compare what a course requires with what is installed."""

import importlib.metadata
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from jaxguide.course.settings import CourseSettings

if TYPE_CHECKING:  # most courses require nothing, and commands start faster without it
    from packaging.requirements import Requirement


class UnmetRequirement(NamedTuple):
    """A requirement that is not met: a sentence that says so, and one that says what to do."""

    what: str
    remedy: str


def unmet_requirements(settings: CourseSettings) -> list[UnmetRequirement]:
    """Return the requirements of a course that are not met in this Python."""
    found = []
    for one in _parsed(settings):
        version = installed_version(one.name)
        if version is None:
            what = f"The course needs {one}, which is not installed."
        elif not one.specifier.contains(version, prereleases=True):
            what = f"The course needs {one}, but {one.name} {version} is installed."
        else:
            continue
        found.append(UnmetRequirement(what, f'Install it: pip install "{one}"'))
    return found


def installed_version(name: str) -> str | None:
    """Return the installed version of a distribution, or None if it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def pinned(settings: CourseSettings) -> dict[str, str]:
    """Return the course's requirements for pip, by name, each with the version that is installed here."""
    found = {}
    for one in _parsed(settings):
        version = installed_version(one.name)
        extras = f"[{','.join(sorted(one.extras))}]" if one.extras else ""
        found[one.name] = str(one) if one.url or version is None else f"{one.name}{extras}=={version}"
    return found


def requirement_folders(settings: CourseSettings) -> list[str]:
    """Return the folders from which this process imports what the course requires."""
    names = [one.name for one in _parsed(settings) if installed_version(one.name) is not None]
    found = (importlib.metadata.distribution(name).locate_file("") for name in names)
    return list(dict.fromkeys(os.path.abspath(str(folder)) for folder in found))


def _parsed(settings: CourseSettings) -> "Iterator[Requirement]":
    """Yield the requirements that apply to this Python and this system."""
    for text in settings.requirements:
        from packaging.requirements import Requirement

        one = Requirement(text)
        if one.marker is None or one.marker.evaluate():
            yield one
