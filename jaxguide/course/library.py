"""A course: its books, their keys where they can be read, and its exercises by name."""

import dataclasses
import difflib
import functools
from pathlib import Path

from jaxguide.catalogues import add_course
from jaxguide.course.book import Book, load_book
from jaxguide.course.exercise import AuthorError, Exercise
from jaxguide.course.key import load_key
from jaxguide.course.places import ORDER, Places, in_order, listed, places
from jaxguide.text import _


class UnknownName(LookupError):
    """There is no exercise or lesson of this name."""


@dataclasses.dataclass(eq=False)
class Course:
    """The books of one course, by topic."""

    places: Places
    books: dict[str, Book]

    @property
    def exercises(self) -> dict[str, Exercise]:
        """Every exercise of the course by its name, in the order of the books."""
        return {exercise.name: exercise for book in self.books.values() for exercise in book.exercises}

    def exercise(self, name: str) -> Exercise:
        """Return the exercise of this name.

        Raises:
            UnknownName: there is none; the message suggests the nearest.
        """
        found = self.exercises.get(name)
        if found is None:
            message = _("There is no exercise `{name}`.").format(name=name)
            raise UnknownName(message + did_you_mean(name, list(self.exercises)))
        return found

    def lesson(self, name: str) -> Book:
        """Return the lesson of this name.

        Raises:
            UnknownName: there is none; the message suggests the nearest.
        """
        if name not in self.books:
            message = _("There is no lesson `{name}`.").format(name=name)
            raise UnknownName(message + did_you_mean(name, list(self.books)))
        return self.books[name]

    def book_of(self, exercise: Exercise) -> Book:
        """Return the book that an exercise stands in."""
        return self.books[exercise.lesson]


def did_you_mean(name: str, names: list[str]) -> str:
    """Return a sentence that suggests the nearest names, or nothing.

    >>> did_you_mean("two_draw", ["two_draws", "walk"])
    ' Did you mean `two_draws`?'
    """
    near = difflib.get_close_matches(name, names, n=3)
    return _(" Did you mean {names}?").format(names=_(" or ").join(f"`{n}`" for n in near)) if near else ""


def load_course(folder: Path | None = None, *, keys: bool = True) -> Course:
    """Load a course: every book of its exercises folder and, unless `keys` is False, the keys beside them.

    Raises:
        AuthorError: a book or key is wrong, a key has no book, or two exercises have one name.
    """
    where = places(folder)
    paths = in_order(where.exercises)
    if not paths:
        raise AuthorError(where.exercises, 1, _("there is no book (*.py) in this folder"))
    for number, name in enumerate(listed(where.exercises), 1):
        if name not in {path.stem for path in paths}:
            message = _("there is no book `{name}.py` in this folder").format(name=name)
            raise AuthorError(where.exercises / ORDER, number, message)
    add_course(where.locale)
    books = {path.stem: load_book(path) for path in paths}
    _check_unique(books)
    if keys:
        for path in sorted(where.solutions.glob("*.py")):
            if path.stem not in books:
                message = _("this key has no book: {book} is missing").format(book=where.exercises / path.name)
                raise AuthorError(path, 1, message)
        for topic, book in books.items():
            load_key(where.solutions / f"{topic}.py", book)
    return Course(where, books)


def _check_unique(books: dict[str, Book]) -> None:
    seen: dict[str, Exercise] = {}
    for book in books.values():
        for exercise in book.exercises:
            if exercise.name in seen:
                other = seen[exercise.name]
                message = _("`{name}` is already an exercise in {path}:{line}; names are unique across the course")
                raise AuthorError(
                    exercise.path,
                    exercise.line,
                    message.format(name=exercise.name, path=other.path.name, line=other.line),
                )
            seen[exercise.name] = exercise


@functools.cache
def installed_course() -> Course:
    """Return the course that comes with the package, books only, loaded once."""
    return load_course(keys=False)
