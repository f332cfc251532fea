"""Load a course, completely or as an outline: its books, optionally their keys, and its exercises by name."""

import contextlib
import dataclasses
import functools
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from jaxguide.course.books.book_text import read_lesson
from jaxguide.course.books.folders import CourseFolders, course_folders, in_order
from jaxguide.course.books.outline import Outline, check_dropped, check_unique
from jaxguide.course.exercise import AuthorError, Exercise, Mistakes, Task
from jaxguide.course.requirements import unmet_requirements
from jaxguide.course.set_up import beside_files, set_up
from jaxguide.course.settings import SETTINGS_NAME, CourseSettings, read_settings

if TYPE_CHECKING:  # this import loads JAX
    from jaxguide.course.books.book import Book


@dataclasses.dataclass(eq=False)
class Course(Outline):
    """A course whose books have been run, by topic."""

    books: "dict[str, Book]"

    if TYPE_CHECKING:  # the books have already been run, so these members can return narrower types

        @property
        def exercises(self) -> dict[str, Exercise]: ...

        def exercise(self, name: str) -> Exercise: ...

        def lesson(self, name: str) -> Book: ...

        def book_of(self, exercise: Task) -> Book: ...


def load_course(folder: Path | None = None, *, keys: bool = True, lessons: Collection[str] | None = None) -> Course:
    """Load a course: the books in its exercises folder and, unless `keys` is False, the keys in its solutions folder.

    This process is set up for the course, see `set_up`.

    Args:
        folder: the course's folder; by default, the course that comes with jaxguide.
        keys: whether to load the keys, too.
        lessons: the lessons to load; by default all.

    Raises:
        AuthorError: a book, a key or the settings have a mistake, a key has no book, or two exercises have the same
            name.
    """
    from jaxguide.course.books.book import load_book
    from jaxguide.course.books.key import load_key

    where, settings, paths = _opened(folder)
    if unmet := unmet_requirements(settings):
        raise AuthorError(where.settings_file, 1, " ".join(f"{one.what} {one.remedy}" for one in unmet))
    set_up(settings, where.top)
    books, mistakes = {}, Mistakes()
    with beside_files(settings.file_paths(where.exercises)):
        for path in paths:
            if lessons is None or path.stem in lessons:
                with mistakes.noted(), unlisted_files_told(where, settings):
                    books[path.stem] = load_book(path)
        with mistakes.noted():
            check_unique(books)
        for path in sorted(where.solutions.glob("*.py")) if keys else []:
            with mistakes.noted():
                if path.stem not in {book.stem for book in paths}:
                    message = f"this key has no book: {where.exercises / path.name} is missing"
                    raise AuthorError(path, 1, message)
        for topic, book in books.items() if keys else []:
            with mistakes.noted(), unlisted_files_told(where, settings):
                load_key(where.solutions / f"{topic}.py", book)
    mistakes.tell()
    course = Course(where, books, settings)
    if lessons is None:
        check_dropped(course)
    return course


@contextlib.contextmanager
def unlisted_files_told(where: CourseFolders, settings: CourseSettings) -> Iterator[None]:
    """Add to the error of code in the block which file to list in the settings, if it lies beside the books."""
    try:
        yield
    except AuthorError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            for path in sorted(where.exercises.rglob("*")):
                name = path.relative_to(where.exercises).as_posix()
                is_named = re.search(rf"(?<![\w./]){re.escape(name)}(?![\w/])", str(error.__cause__))
                if is_named and name not in settings.files and path.is_file():
                    message = f"{error.message.rstrip('.')}; list it under `files` in {SETTINGS_NAME}"
                    raise AuthorError(error.path, error.line, message) from error.__cause__
        raise


def read_outline(folder: Path | None = None) -> Outline:
    """Read the outline of a course, without running its books.

    Raises:
        AuthorError: a book or the settings have a mistake, or two exercises have the same name.
    """
    where, settings, paths = _opened(folder)
    books = {path.stem: read_lesson(path) for path in paths}
    check_unique(books)
    outline = Outline(where, books, settings)
    check_dropped(outline)
    return outline


def _opened(folder: Path | None) -> tuple[CourseFolders, CourseSettings, list[Path]]:
    """Return a course's folders, its settings, and the paths of its books in order."""
    where = course_folders(folder)
    if not any(where.exercises.glob("*.py")):
        raise AuthorError(where.exercises, 1, "there is no book (*.py) in this folder")
    settings = read_settings(where.top)
    if settings.files:  # books run in a folder of their own, see `beside_files`
        where = course_folders(where.top.absolute())
    return where, settings, in_order(where, settings.lessons)


@functools.cache
def students_course(folder: Path | None = None) -> Course:
    """Return a course without keys, by default the one that comes with the package; it is loaded only once."""
    return load_course(folder, keys=False)


def contents_of(course: Course) -> dict[str, bytes]:
    """Return the files of a course by their paths in its folder: settings, books, keys, and what lies beside them."""
    where = course.folders
    found = {where.settings_file.name: where.settings_file} if where.settings_file.is_file() else {}
    for folder in (where.exercises, where.solutions):
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in inside.parts):
                found[f"{folder.name}/{inside.as_posix()}"] = path
    return {name: path.read_bytes() for name, path in found.items()}
