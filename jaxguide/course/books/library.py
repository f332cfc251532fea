"""Load a course, completely or as an outline: its books, optionally their keys, and its exercises by name."""

import dataclasses
import functools
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from jaxguide.base.catalogues import add_course
from jaxguide.base.text import _
from jaxguide.course.books.folders import ORDER, CourseFolders, course_folders, in_order, listed
from jaxguide.course.books.outline import Outline, check_unique
from jaxguide.course.exercise import AuthorError, Exercise, Task

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

    Args:
        folder: the course's folder; by default, the course that comes with jaxguide.
        keys: whether to load the keys, too.
        lessons: the lessons to load; by default all.

    Raises:
        AuthorError: a book or key has a mistake, a key has no book, or two exercises have the same name.
    """
    from jaxguide.course.books.book import load_book
    from jaxguide.course.books.key import load_key

    where = course_folders(folder)
    paths = _books_of(where)
    books = {path.stem: load_book(path) for path in paths if lessons is None or path.stem in lessons}
    check_unique(books)
    if keys:
        for path in sorted(where.solutions.glob("*.py")):
            if path.stem not in {book.stem for book in paths}:
                message = _("this key has no book: {book} is missing").format(book=where.exercises / path.name)
                raise AuthorError(path, 1, message)
        for topic, book in books.items():
            load_key(where.solutions / f"{topic}.py", book)
    return Course(where, books)


def read_outline(folder: Path | None = None) -> Outline:
    """Read the outline of a course. Books are run, which loads JAX, only if their text is not enough.

    The outline is cached; see `outline_cache`.

    Raises:
        AuthorError: a book has a mistake, or two exercises have the same name.
    """
    from jaxguide.course.books import outline_cache

    where = course_folders(folder)
    paths = _books_of(where)
    books = outline_cache.read_lessons(paths)
    check_unique(books)
    return Outline(where, books)


def _books_of(where: CourseFolders) -> list[Path]:
    """Return the paths of a course's books in order, and enable its translations."""
    if not any(where.exercises.glob("*.py")):
        raise AuthorError(where.exercises, 1, _("there is no book (*.py) in this folder"))
    try:
        names = listed(where.exercises)
    except (OSError, UnicodeDecodeError) as error:
        raise AuthorError(where.exercises / ORDER, 1, _("cannot be read: {error}").format(error=error)) from None
    for number, name in enumerate(names, 1):
        if name not in {path.stem for path in where.exercises.glob("*.py")}:
            message = _("there is no book `{name}.py` in this folder").format(name=name)
            raise AuthorError(where.exercises / ORDER, number, message)
    add_course(where.locale)
    return in_order(where.exercises)


@functools.cache
def installed_course() -> Course:
    """Return the course that comes with the package, without keys; it is loaded only once."""
    return load_course(keys=False)
