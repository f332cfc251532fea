"""Lay out what students get of a course: its printed lessons and, beside them, what their sessions need: the files that
lessons read and, without its key, a course of one's own."""

import contextlib
import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jaxguide.base.files import write_whole
from jaxguide.course.books.documented_index import index_text
from jaxguide.course.books.folders import LAID_OUT_NAME
from jaxguide.course.books.printer import printed_files
from jaxguide.course.settings import SETTINGS_NAME, write_settings

if TYPE_CHECKING:  # this import loads JAX
    from jaxguide.course.books.library import Course

INDEX_NAME = "documented_examples.md"


def for_students(course: "Course", lessons: Iterable[str] | None = None) -> dict[str, bytes]:
    """Return the files that students get of a course, by name, and nothing else.

    Beside printed lessons, these are an index of the documented examples, the files that lessons read and, if the
    course has an identity, its settings and books. The settings are written anew, since an author's file may have
    comments that are not for students.

    Args:
        course: the course.
        lessons: the lessons to print; by default all.
    """
    printed: dict[str, bytes] = {}
    for topic in course.books if lessons is None else lessons:
        printed |= printed_files(course.books[topic])
    if index := index_text(course):
        printed[INDEX_NAME] = index.encode()
    found = {name: path.read_bytes() for name, path in course.files.items()}
    if not course.settings.identity:
        return printed | found
    settings = dataclasses.replace(course.settings, title=course.title, lessons=tuple(course.books))
    laid_out = {SETTINGS_NAME: write_settings(settings).encode()}
    laid_out |= {f"exercises/{topic}.py": lesson.path.read_bytes() for topic, lesson in course.books.items()}
    laid_out |= {f"exercises/{name}": content for name, content in found.items()}
    beside = {f"{LAID_OUT_NAME}/{course.identity}/{name}": content for name, content in laid_out.items()}
    return printed | found | beside


def stale_files(files: Mapping[str, bytes], folder: Path) -> list[Path]:
    """Return which of these files are missing in the folder of printed lessons or out of date, and what is left over.

    Left over are files of a course that is laid out there, of books or identities that it no longer has.
    """
    paths = {folder / name: content for name, content in files.items()}
    stale = [path for path, content in paths.items() if not path.is_file() or path.read_bytes() != content]
    laid_out = sorted(path for path in (folder / LAID_OUT_NAME).rglob("*") if not path.is_dir())
    return stale + [path for path in laid_out if path not in paths and "__pycache__" not in path.parts]


def print_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write these files into the folder of printed lessons, and delete what is left over there."""
    for path in stale_files(files, folder):
        name = path.relative_to(folder).as_posix()
        if name in files:
            write_whole(path, files[name])
            continue
        path.unlink()
        with contextlib.suppress(OSError):  # not empty
            for parent in path.relative_to(folder).parents[:-1]:
                (folder / parent).rmdir()
