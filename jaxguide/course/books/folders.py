"""Locate a course's files: at the top of a clone, or inside the installed package."""

import dataclasses
from pathlib import Path

ORDER = "order.txt"
_PACKAGE = Path(__file__).parents[2]


@dataclasses.dataclass(frozen=True)
class CourseFolders:
    """The folders of one course."""

    exercises: Path
    solutions: Path
    notebooks: Path
    locale: Path


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


def listed(exercises: Path) -> list[str]:
    """Return the lessons listed in a folder's `order.txt`, one per line, or an empty list if there is no such file."""
    path = exercises / ORDER
    return [line.strip() for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def in_order(exercises: Path) -> list[Path]:
    """Return the books in a folder in the order in which students take them, without loading them.

    `order.txt` in the same folder lists the first ones, one lesson per line; the others follow by name.
    """
    paths = {path.stem: path for path in sorted(exercises.glob("*.py"))}
    return list({name: paths[name] for name in (*listed(exercises), *paths) if name in paths}.values())


def topics() -> list[str]:
    """Return the names of the lessons that come with the package, in order, without loading them."""
    return [path.stem for path in in_order(course_folders().exercises)]
