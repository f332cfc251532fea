"""Find the documented examples that the graded exercises of a course reproduce."""

import dataclasses
from typing import Any

from jaxguide.course import ledger
from jaxguide.course.books.library import Course
from jaxguide.proving.verify import reproduced


@dataclasses.dataclass(frozen=True)
class Coverage:
    """All documented examples, and the exercise that reproduces each of those that are reproduced."""

    documented: tuple[str, ...]
    by_exercise: dict[str, str]

    @property
    def missing(self) -> list[str]:
        return [example for example in self.documented if example not in self.by_exercise]

    def to_plain(self) -> dict[str, Any]:
        return {"documented": len(self.documented), "reproduced": len(self.by_exercise), "missing": self.missing}


def coverage(course: Course) -> Coverage:
    """Return the proven coverage: an example counts only if a check compares it with the ledger's record."""
    by_exercise: dict[str, str] = {}
    for exercise in course.exercises.values():
        by_exercise |= dict.fromkeys(sorted(reproduced(course.book_of(exercise), exercise)), exercise.name)
    return Coverage(tuple(ledger.entries()), by_exercise)
