"""Lay out beside printed lessons what a student's session needs: the files that they read and, without its key, a
course of one's own."""

import contextlib
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jaxguide.base.files import write_whole, zip_bytes
from jaxguide.course.books.folders import LAID_OUT_NAME
from jaxguide.course.books.outline import Outline
from jaxguide.course.books.printer import printed_files
from jaxguide.course.settings import SETTINGS_NAME, write_settings

if TYPE_CHECKING:  # this import loads JAX
    from jaxguide.course.books.library import Course


def beside_lessons(course: Outline) -> dict[str, bytes]:
    """Return the files that belong beside a course's printed lessons, by name.

    These are the files that lessons read and, if the course has an identity, its settings and books.
    The settings are written anew, since an author's file may have comments that are not for students.
    """
    found = {name: path.read_bytes() for name, path in course.files.items()}
    if not course.settings.identity:
        return found
    settings = dataclasses.replace(course.settings, title=course.title, lessons=tuple(course.books), without_texts=())
    laid_out = {SETTINGS_NAME: write_settings(settings).encode()}
    laid_out |= {f"exercises/{topic}.py": lesson.path.read_bytes() for topic, lesson in course.books.items()}
    laid_out |= {f"exercises/{name}": content for name, content in found.items()}
    return found | {f"{LAID_OUT_NAME}/{course.identity}/{name}": content for name, content in laid_out.items()}


def stale_beside(files: Mapping[str, bytes], folder: Path) -> list[Path]:
    """Return which of these files are missing in the folder of printed lessons or out of date, and what is left over.

    Left over are files of a course that is laid out there, of books or identities that it no longer has.
    """
    stale = [folder / name for name, content in files.items() if _content(folder / name) != content]
    kept = {folder / name for name in files}
    laid_out = sorted(path for path in (folder / LAID_OUT_NAME).rglob("*") if not path.is_dir())
    return stale + [path for path in laid_out if path not in kept and "__pycache__" not in path.parts]


def print_beside(files: Mapping[str, bytes], folder: Path) -> None:
    """Write what belongs beside printed lessons into their folder, and delete what is left over there."""
    for path in stale_beside(files, folder):
        name = path.relative_to(folder).as_posix()
        if name in files:
            write_whole(path, files[name])
            continue
        path.unlink()
        with contextlib.suppress(OSError):  # not empty
            for parent in path.relative_to(folder).parents[:-1]:
                (folder / parent).rmdir()


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def zip_for_students(course: "Course", name: str) -> bytes:
    """Return a zip of a folder with a course's printed lessons and what belongs beside them, and with nothing else.

    Args:
        course: the course.
        name: the folder's name.
    """
    files = beside_lessons(course)
    for book in course.books.values():
        files |= {path.name: text.encode() for path, text in printed_files(book, Path()).items()}
    return zip_bytes({f"{name}/{file}": content for file, content in files.items()})
