"""Where a course's files are: at the top of a clone, or inside the installed package."""

import dataclasses
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


@dataclasses.dataclass(frozen=True)
class Places:
    """The folders of one course."""

    exercises: Path
    solutions: Path
    notebooks: Path


def places(course: Path | None = None) -> Places:
    """Return the folders of a course: of `course` where given, else of the one that comes with the package.

    A wheel carries the course in the package; an editable install leaves it at the top of the clone.
    """
    if course is None:
        clone = _PACKAGE.parent
        course = (
            clone if (clone / "exercises").is_dir() and (clone / "pyproject.toml").is_file() else _PACKAGE / "_course"
        )
    return Places(course / "exercises", course / "solutions", course / "notebooks")


def topics() -> list[str]:
    """Return the lessons of the course that comes with the package, by name; loads none of them."""
    return sorted(path.stem for path in places().exercises.glob("*.py"))
