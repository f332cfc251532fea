"""Copy the printed lessons into a student's workspace without ever overwriting a file."""

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from jaxguide.base.files import write_whole
from jaxguide.course.books.folders import LAID_OUT_NAME, CourseFolders, laid_out_in, topics
from jaxguide.course.books.outline import Outline
from jaxguide.course.progress import has_progress
from jaxguide.course.settings import BUNDLED, SETTINGS_NAME

DEFAULT_FOLDER = "workspace"
KEPT = "yours, kept as it is"
_LESSON_SUFFIXES = (".ipynb", ".py")


class LaidFile(NamedTuple):
    """One file of a workspace, and in words what happened to it."""

    path: Path
    state: str


def lay_workspace(folder: Path, course: Outline, *, scripts: bool = False) -> list[LaidFile]:
    """Copy each lesson's notebook, and what lessons read, into `folder`, leaving existing files alone.

    What lies beside the lessons for their checks is brought up to date, since it is not the student's.

    A file appears completely or not at all, even if the command is killed.

    Args:
        folder: the student's workspace, created if it is missing.
        course: the course, whose lessons are printed.
        scripts: whether to copy each lesson's `.py` file, too; those that the student has are recorded in any case.

    Returns:
        One record for each file that students may change, those of lessons first, each sorted by name.

    Raises:
        OSError: the folder cannot be created or written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    printed = course.folders.notebooks
    _lay_course(folder, printed, course.identity)
    names = [path.name for path in printed.glob("*.py") if scripts or os.path.lexists(folder / path.name)]
    names += [path.name for path in printed.glob("*.ipynb")]
    return lay_files(folder, {name: printed / name for name in names}) + lay_files(folder, course.files)


def lay_files(folder: Path, files: Mapping[str, Path]) -> list[LaidFile]:
    """Copy files, by their names in `folder`, into it, leaving existing files alone.

    Raises:
        OSError: the folder cannot be written to.
    """
    return [_lay(source, folder / name) for name, source in sorted(files.items())]


def _lay_course(folder: Path, notebooks_folder: Path, identity: str) -> None:
    """Copy what lies beside the lessons for the checks of a course."""
    source, target = (place / LAID_OUT_NAME / identity for place in (notebooks_folder, folder))
    if not source.is_dir() or (target.is_dir() and target.samefile(source)):
        return
    paths = [path for path in source.rglob("*") if path.is_file()]
    replace_course(target, {path.relative_to(source).as_posix(): path.read_bytes() for path in paths})


def replace_course(target: Path, files: Mapping[str, bytes]) -> None:
    """Write a course's folder anew; until it is complete, it lacks the file that makes it one."""
    (target / SETTINGS_NAME).unlink(missing_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    for name in sorted(files, key=SETTINGS_NAME.__eq__):
        write_whole(target / name, files[name])


def find_workspace(course: CourseFolders, identity: str) -> Path:
    """Return the student's workspace: the one that `jaxguide start` opened, the current folder, or `workspace` in it.

    A folder is a workspace if it contains a progress file or a lesson. If neither is one, return the folder with
    the notebooks of a course that students got, or else the current folder.

    Args:
        course: the course's folders.
        identity: the course's identity.
    """
    opened = os.environ.get("JAXGUIDE_WORKSPACE")
    if opened:
        return Path(opened)
    places, lessons = (Path(), Path(DEFAULT_FOLDER)), topics(course.top)
    found = (folder for folder in places if has_progress(folder, identity) or _has_lesson(folder, lessons))
    return next(found, course.notebooks if course.is_laid_out else Path())


def holds_lessons(folder: Path) -> bool:
    """Return whether a folder has lessons or progress, of whatever course."""
    return bool(laid_out_in(folder)) or has_progress(folder, BUNDLED, "*") or _has_lesson(folder, topics())


def _has_lesson(folder: Path, lessons: Iterable[str]) -> bool:
    return any((folder / f"{topic}{suffix}").is_file() for topic in lessons for suffix in _LESSON_SUFFIXES)


def _lay(source: Path, target: Path) -> LaidFile:
    content = source.read_bytes()
    if not os.path.lexists(target):
        write_whole(target, content)
        return LaidFile(target, "new")
    same = target.is_file() and target.read_bytes() == content
    return LaidFile(target, "already there, unchanged" if same else KEPT)
