"""Copy the printed lessons into a student's workspace without ever overwriting a file."""

import contextlib
import dataclasses
import enum
import os
import secrets
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from jaxguide.base.files import write_whole
from jaxguide.course.books.folders import LAID_OUT_NAME, CourseFolders, laid_out_in, topics
from jaxguide.course.progress import progress_file_name
from jaxguide.course.settings import BUNDLED

DEFAULT_FOLDER = "workspace"
_LESSON_SUFFIXES = (".ipynb", ".py")
_PART = ".jaxguide-*.part"
_ABANDONED_AFTER_S = 60.0


class FileState(enum.StrEnum):
    """What happened to one file: it was copied, kept because the student changed it, or already there unchanged."""

    NEW = "new"
    KEPT = "kept"
    CURRENT = "current"


@dataclasses.dataclass(frozen=True)
class LaidFile:
    """One file of a workspace and what happened to it."""

    path: Path
    state: FileState


def lay_workspace(
    folder: Path, notebooks_folder: Path, files: Mapping[str, Path] | None = None, identity: str = BUNDLED
) -> list[LaidFile]:
    """Copy each lesson's `.ipynb` and `.py` file, and what lessons read, into `folder`, leaving existing files alone.

    What lies beside the lessons for their checks is brought up to date, since it is not the student's.

    A file appears completely or not at all, even if two commands run at once or one is killed.

    Args:
        folder: the student's workspace, created if it is missing.
        notebooks_folder: the folder with the printed lessons.
        files: the files that lessons read, by name.
        identity: the course's identity.

    Returns:
        One record for each file that students may change, those of lessons first, each sorted by name.

    Raises:
        OSError: the folder cannot be created or written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_abandoned_parts(folder)
    _lay_course(folder, notebooks_folder, identity)
    sources = {path.name: path for path in _printed_in(notebooks_folder)}
    return [*(_lay(source, folder / name) for name, source in sorted(sources.items())), *lay_files(folder, files or {})]


def lay_files(folder: Path, files: Mapping[str, Path]) -> list[LaidFile]:
    """Copy the files that lessons read into `folder`, leaving existing files alone.

    Raises:
        OSError: the folder cannot be written to.
    """
    laid = []
    for name, source in sorted(files.items()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        laid.append(_lay(source, folder / name))
    return laid


def _lay_course(folder: Path, notebooks_folder: Path, identity: str) -> None:
    """Copy what lies beside the lessons for the checks of a course, and delete what is no longer there."""
    source, target = (place / LAID_OUT_NAME / identity for place in (notebooks_folder, folder))
    if not source.is_dir() or (target.is_dir() and target.samefile(source)):
        return
    wanted = {path.relative_to(source): path for path in source.rglob("*") if path.is_file()}
    for old in [path for path in target.rglob("*") if path.is_file()]:
        if old.relative_to(target) not in wanted:
            old.unlink()
    for name, path in wanted.items():
        write_whole(target / name, path.read_bytes())


def _printed_in(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.suffix in _LESSON_SUFFIXES]


def find_workspace(lessons: Iterable[str], identity: str = BUNDLED, where: CourseFolders | None = None) -> Path:
    """Return the student's workspace: the one that `jaxguide start` opened, the current folder, or `workspace` in it.

    A folder is a workspace if it contains a progress file or a lesson. If neither is one, return the folder with
    the notebooks of a course that students got, or else the current folder.

    Args:
        lessons: the names of the lessons.
        identity: the course's identity.
        where: the course's folders.
    """
    opened = os.environ.get("JAXGUIDE_WORKSPACE")
    if opened:
        return Path(opened)
    names = [progress_file_name(identity), *(f"{topic}{suffix}" for topic in lessons for suffix in _LESSON_SUFFIXES)]
    here, below = Path(), Path(DEFAULT_FOLDER)
    found = (folder for folder in (here, below) if any((folder / name).is_file() for name in names))
    return next(found, where.notebooks if where is not None and where.is_laid_out else here)


def holds_lessons(folder: Path) -> bool:
    """Return whether a folder has lessons or progress, of whatever course."""
    if laid_out_in(folder) or any(folder.glob(progress_file_name("*"))):
        return True
    names = [progress_file_name(BUNDLED), *(f"{topic}{suffix}" for topic in topics() for suffix in _LESSON_SUFFIXES)]
    return any((folder / name).is_file() for name in names)


def _lay(source: Path, target: Path) -> LaidFile:
    content = source.read_bytes()
    if not os.path.lexists(target) and _create(target, content):
        return LaidFile(target, FileState.NEW)
    same = target.is_file() and target.read_bytes() == content
    return LaidFile(target, FileState.CURRENT if same else FileState.KEPT)


def _create(target: Path, content: bytes) -> bool:
    """Write a new file under a temporary name and link it into place; return False if the target exists by then."""
    part = target.with_name(_PART.replace("*", secrets.token_hex(8)))
    try:
        with part.open("xb") as file:
            file.write(content)
        return _move_without_overwriting(part, target)
    finally:
        part.unlink(missing_ok=True)


def _move_without_overwriting(part: Path, target: Path) -> bool:
    try:
        os.link(part, target)
    except FileExistsError:
        return False
    except OSError:
        # Without hard links (FAT, some network folders), another file can still appear between these two lines.
        if os.path.lexists(target):
            return False
        os.replace(part, target)
    return True


def _remove_abandoned_parts(folder: Path) -> None:
    for part in folder.glob(_PART):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > _ABANDONED_AFTER_S:
                part.unlink()
