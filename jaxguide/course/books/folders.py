"""Locate a course's files: at the top of a clone, inside the installed package, or beside students' notebooks."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from jaxguide.course.exercise import AuthorError
from jaxguide.course.settings import SETTINGS_NAME, CourseSettings, read_settings

LAID_OUT_NAME = "jaxguide_course"
"""The folder beside printed notebooks in which a course lies for students, in a folder named by its identity."""
_PACKAGE = Path(__file__).parents[2]


@dataclasses.dataclass(frozen=True)
class CourseFolders:
    """The folders of one course."""

    exercises: Path
    solutions: Path
    notebooks: Path

    @property
    def top(self) -> Path:
        """The course's folder."""
        return self.exercises.parent

    @property
    def settings_file(self) -> Path:
        return self.top / SETTINGS_NAME

    @property
    def is_laid_out(self) -> bool:
        """Whether this is what students got of a course, beside its notebooks."""
        return self.top.absolute().parent.name == LAID_OUT_NAME

    @property
    def is_bundled(self) -> bool:
        """Whether this is the course that comes with the package."""
        return self.top.resolve() == course_folders().top.resolve()


def course_folders(course: Path | None = None) -> CourseFolders:
    """Return the folders of a course: `course`, or by default the one that comes with the package.

    A wheel carries the course in the package; an editable install leaves it at the top of the clone.

    Args:
        course: the course's folder, or the folder of notebooks that students got.
    """
    if course is None:
        clone = _PACKAGE.parent
        course = (
            clone if (clone / "exercises").is_dir() and (clone / "pyproject.toml").is_file() else _PACKAGE / "_course"
        )
    elif not (course / "exercises").is_dir() and len(laid := laid_out_in(course)) == 1:
        (course,) = laid
    where = CourseFolders(course / "exercises", course / "solutions", course / "notebooks")
    return dataclasses.replace(where, notebooks=course.absolute().parents[1]) if where.is_laid_out else where


def laid_out_in(folder: Path) -> list[Path]:
    """Return the courses that lie in a folder of students' notebooks, sorted by identity."""
    return sorted(path.parent for path in (folder / LAID_OUT_NAME).glob(f"*/{SETTINGS_NAME}"))


def in_order(where: CourseFolders, lessons: Iterable[str]) -> list[Path]:
    """Return a course's books in the order in which students take them, without loading them.

    Args:
        where: the course's folders.
        lessons: the names of the lessons that come first; the others follow by name.
    """
    paths = {path.stem: path for path in sorted(where.exercises.glob("*.py"))}
    return list({name: paths[name] for name in (*lessons, *paths) if name in paths}.values())


def topics(folder: Path | None = None) -> list[str]:
    """Return the names of a course's lessons in order, or sorted if its settings contain a mistake; none is loaded.

    Args:
        folder: the course's folder; by default, the course that comes with the package.
    """
    where = course_folders(folder)
    try:
        settings = read_settings(where.top)
    except AuthorError:
        settings = CourseSettings()
    return [path.stem for path in in_order(where, settings.lessons)]
