"""Line up a class: whose each file is, which of several counts, who sent nothing."""

import dataclasses
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from jaxguide.course.books.library import Course
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.intake.plan import lessons_of
from jaxguide.grading.intake.students import StudentPattern, students_of
from jaxguide.grading.intake.submission import UnreadableSubmission, parse_submission


@dataclasses.dataclass(frozen=True)
class Submitted:
    """One file and its student; `superseded` where a later file of theirs counts in its place."""

    student: str
    entry: Entry
    superseded: bool = False


@dataclasses.dataclass(frozen=True)
class LineUp:
    """What a batch consists of.

    Args:
        files: in the order in which they were found.
        roster: the class as far as it is known, None where no roster was given.
    """

    files: list[Submitted]
    roster: list[str] | None = None

    @property
    def absent(self) -> list[str]:
        """Who is on the roster and sent nothing."""
        there = {one.student.casefold() for one in self.files}
        return [name for name in self.roster or [] if name.casefold() not in there]

    @property
    def unknown(self) -> list[str]:
        """Who sent something and is not on the roster."""
        if self.roster is None:
            return []
        listed = {name.casefold() for name in self.roster}
        return list(dict.fromkeys(one.student for one in self.files if one.student.casefold() not in listed))


def line_up(
    entries: Sequence[Entry],
    course: Course,
    *,
    roots: Sequence[Path] = (),
    pattern: StudentPattern | None = None,
    roster: list[str] | None = None,
) -> LineUp:
    """Find out whose each file is, and which of several by one student for one lesson counts: the last.

    The last is the one changed last; of files changed in the same second the last by name, numbers in order.
    """
    paths = [entry.path for entry in entries]
    named = [getattr(entry, "student", None) for entry in entries]
    students = students_of(paths, course, roots=roots, pattern=pattern, roster=roster or (), named=named)
    by_student: dict[str, list[Entry]] = {}
    for student, entry in zip(students, entries, strict=True):
        by_student.setdefault(student, []).append(entry)
    old = {id(entry) for own in by_student.values() if len(own) > 1 for entry in _superseded(own, course)}
    files = [Submitted(s, entry, id(entry) in old) for s, entry in zip(students, entries, strict=True)]
    return LineUp(files, roster)


def _superseded(entries: Iterable[Entry], course: Course) -> Iterable[Entry]:
    """Yield those of one student's files all of whose lessons a later file answers."""
    answered: set[str] = set()
    for entry in sorted(entries, key=_age, reverse=True):
        try:
            lessons = set(lessons_of(parse_submission(entry.path, entry.read()), course))
        except UnreadableSubmission:
            lessons = set()  # it gets a row that says so, and takes no other's place
        if lessons and lessons <= answered:
            yield entry
        answered |= lessons


def _age(entry: Entry) -> tuple[int, list[tuple[int, str]]]:
    modified_s = getattr(entry, "modified_s", None)
    if modified_s is None:
        try:
            modified_s = entry.path.stat().st_mtime
        except OSError:
            modified_s = 0
    parts = re.split(r"(\d+)", str(entry.path))
    return int(modified_s), [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
