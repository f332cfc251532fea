"""Define a course outline: its lessons and exercises, as far as they are known without running the books."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.course.books.folders import CourseFolders
from jaxguide.course.books.percent import PercentCell
from jaxguide.course.exercise import AuthorError, Task
from jaxguide.course.settings import BUNDLED, CourseSettings, identity_of_folder, said_of_dropped


class UnknownName(LookupError):
    """There is no exercise or lesson with this name."""


class DroppedExercise(UnknownName):
    """An earlier edition of the course had this exercise."""


@dataclasses.dataclass(eq=False)
class Lesson:
    """One lesson: its topic (the stem of its book's file name), book, title, exercises in order, and cells.

    `start_course` is the identity by which its printed notebook asks for its course, '' for the one of the package.
    """

    topic: str
    path: Path
    title: str
    exercises: Sequence[Task]
    cells: Sequence[PercentCell]
    start_course: str = dataclasses.field(default="", kw_only=True)

    @functools.cached_property
    def exercise_names(self) -> frozenset[str]:
        return frozenset(exercise.name for exercise in self.exercises)

    @property
    def marks_core(self) -> bool:
        return any(exercise.core for exercise in self.exercises)


@dataclasses.dataclass(eq=False)
class Outline:
    """The lessons of one course by topic, in the order in which students take them."""

    folders: CourseFolders
    books: Mapping[str, Lesson]
    settings: CourseSettings = dataclasses.field(default_factory=CourseSettings)

    def __post_init__(self) -> None:
        for lesson in self.books.values():
            lesson.start_course = self.settings.identity

    @property
    def identity(self) -> str:
        """What tells the course from all others."""
        if self.folders.is_bundled:
            return BUNDLED
        return self.settings.identity or identity_of_folder(self.folders.top)

    @property
    def title(self) -> str:
        """The course's title, or else the name of its folder."""
        return self.settings.title or self.folders.top.absolute().name

    @property
    def has_solutions(self) -> bool:
        """Whether the key is here, so that solutions can be shown; students of a private course do not get it."""
        return any((self.folders.solutions / f"{topic}.py").is_file() for topic in self.books)

    @property
    def exercises(self) -> Mapping[str, Task]:
        """Every exercise of the course by name, in the order of the books."""
        return {exercise.name: exercise for book in self.books.values() for exercise in book.exercises}

    @property
    def names(self) -> Mapping[str, frozenset[str]]:
        """The names of each lesson's exercises, by topic."""
        return {topic: book.exercise_names for topic, book in self.books.items()}

    @property
    def files(self) -> Mapping[str, Path]:
        """The absolute paths of the files that lessons read, by their names beside a lesson."""
        return self.settings.file_paths(self.folders.exercises)

    def exercise(self, name: str) -> Task:
        """Return the exercise with this name.

        Raises:
            DroppedExercise: the course no longer has it.
            UnknownName: there is no such exercise; the message suggests a similar name.
        """
        found = self.exercises.get(name)
        if found is None and name in self.settings.dropped:
            raise DroppedExercise(said_of_dropped([name], self.settings.dropped))
        if found is None:
            raise UnknownName(f"There is no exercise `{name}`.{did_you_mean(name, self.exercises)}")
        return found

    def lesson(self, name: str) -> Lesson:
        """Return the lesson with this name.

        Raises:
            UnknownName: there is no such lesson; the message suggests a similar name.
        """
        if name not in self.books:
            raise UnknownName(f"There is no lesson `{name}`.{did_you_mean(name, self.books)}")
        return self.books[name]

    def book_of(self, exercise: Task) -> Lesson:
        """Return the lesson that an exercise belongs to."""
        return self.books[exercise.lesson]


def check_dropped(course: Outline) -> None:
    """Check that exercises which a course has dropped are none of its own, unlike those that have replaced them.

    Raises:
        AuthorError: the settings say something else.
    """
    for old, new in course.settings.dropped.items():
        message = f"`{old}` is dropped, but is still an exercise"
        if old not in course.exercises:
            message = f"`{old}` is replaced by `{new}`, but there is no such exercise"
        if old in course.exercises or (new and new not in course.exercises):
            raise AuthorError(course.folders.settings_file, 1, message)


def check_unique(books: Mapping[str, Lesson]) -> None:
    """Check that no two exercises of a course have the same name.

    Raises:
        AuthorError: two exercises have the same name.
    """
    seen: dict[str, Task] = {}
    for book in books.values():
        for exercise in book.exercises:
            if other := seen.get(exercise.name):
                where = f"{other.path.name}:{other.line}"
                message = f"`{exercise.name}` is already an exercise in {where}; names are unique across the course"
                raise AuthorError(exercise.path, exercise.line, message)
            seen[exercise.name] = exercise
