"""Locate a course's files: at the top of a clone, or inside the installed package."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from jaxguide.course.exercise import AuthorError
from jaxguide.course.settings import SETTINGS_NAME, CourseSettings, read_settings

_PACKAGE = Path(__file__).parents[2]


@dataclasses.dataclass(frozen=True)
class CourseFolders:
    """The folders of one course."""

    exercises: Path
    solutions: Path
    notebooks: Path
    locale: Path

    @property
    def top(self) -> Path:
        """The course's folder."""
        return self.exercises.parent

    @property
    def settings_file(self) -> Path:
        return self.top / SETTINGS_NAME


def course_folders(course: Path | None = None) -> CourseFolders:
    """Return the folders of a course: `course`, or by default the one that comes with the package.

    A wheel carries the course in the package; an editable install leaves it at the top of the clone.
    """
    if course is None:
        clone = _PACKAGE.parent
        course = (
            clone if (clone / "exercises").is_dir() and (clone / "pyproject.toml").is_file() else _PACKAGE / "_course"
        )
    return CourseFolders(course / "exercises", course / "solutions", course / "notebooks", course / "locale")


def in_order(where: CourseFolders, lessons: Iterable[str]) -> list[Path]:
    """Return a course's books in the order in which students take them, without loading them.

    Args:
        where: the course's folders.
        lessons: the names of the lessons that come first; the others follow by name.
    """
    paths = {path.stem: path for path in sorted(where.exercises.glob("*.py"))}
    return list({name: paths[name] for name in (*lessons, *paths) if name in paths}.values())


def books_as_far_as_readable(where: CourseFolders) -> list[Path]:
    """Return a course's books in order, or by name if its settings contain a mistake."""
    try:
        settings = read_settings(where.top)
    except AuthorError:
        settings = CourseSettings()
    return in_order(where, settings.lessons)


def topics() -> list[str]:
    """Return the names of the lessons that come with the package, in order, without loading them."""
    return [path.stem for path in books_as_far_as_readable(course_folders())]
