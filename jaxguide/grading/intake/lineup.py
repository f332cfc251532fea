"""Line up a class: find its files, the student of each, the files that count, and the students who sent nothing."""

import dataclasses
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from jaxguide.base.text import _
from jaxguide.course.books.library import Course
from jaxguide.grading.intake.archives import ArchivedEntry, archive_around, expand, find_archives
from jaxguide.grading.intake.exported import student_on_disk, told_apart
from jaxguide.grading.intake.file_to_grade import Entry, FileEntry
from jaxguide.grading.intake.files import find_submissions
from jaxguide.grading.intake.others import only_others
from jaxguide.grading.intake.plan import lessons_of
from jaxguide.grading.intake.students import StudentPattern, students_of
from jaxguide.grading.intake.submission import UnreadableSubmission, parse_submission


class NothingToGrade(ValueError):
    """No path holds a submission."""


@dataclasses.dataclass(frozen=True)
class Submitted:
    """One file and its student; `superseded` if a later file of theirs counts instead."""

    student: str
    entry: Entry
    superseded: bool = False


@dataclasses.dataclass(frozen=True)
class LineUp:
    """The files and students of a batch.

    Args:
        files: the files, in the order in which they were found.
        roster: the names of the class, None if no roster was given.
    """

    files: list[Submitted]
    roster: list[str] | None = None

    @property
    def absent(self) -> list[str]:
        """The students on the roster who sent nothing."""
        there = {one.student.casefold() for one in self.files}
        return [name for name in self.roster or [] if name.casefold() not in there]

    @property
    def unknown(self) -> list[str]:
        """The students who sent something but are not on the roster."""
        if self.roster is None:
            return []
        listed = {name.casefold() for name in self.roster}
        return list(dict.fromkeys(one.student for one in self.files if one.student.casefold() not in listed))


def find_entries(
    paths: Sequence[Path], out: Path, *, pattern: StudentPattern | None = None, roster: Collection[str] = ()
) -> list[Entry]:
    """Return all that is to be graded among and below `paths`; never what lies among the results.

    Of a student who handed in only files of other kinds there is one, which cannot be read.

    Args:
        paths: files, folders and archives.
        out: the folder for results.
        pattern, roster: whose files of other kinds are.

    Raises:
        FileNotFoundError: one of the paths is not there.
        NothingToGrade: there is no such file in an archive.
    """
    inside = {path: archive for path in paths if (archive := archive_around(path)) is not None}
    on_disk = [path for path in paths if path not in inside]
    archives = [path for path in find_archives(on_disk) if not is_in(path, out)]
    files = [path for path in find_submissions(on_disk) if not is_in(path, out) and path not in archives]
    entries: list[FileEntry | ArchivedEntry] = [
        FileEntry(path, *(student_on_disk(path) or (None, ""))) for path in files
    ]
    entries += expand(archives)
    entries += [_entry_in(archive, path) for path, archive in inside.items() if archive not in archives]
    entries += only_others(on_disk, entries, out, pattern=pattern, roster=roster)
    students = told_apart([(entry.student, entry.identity) for entry in entries])
    return [dataclasses.replace(entry, student=name) for entry, name in zip(entries, students, strict=True)]


def _entry_in(archive: Path, path: Path) -> ArchivedEntry:
    found = next((entry for entry in expand([archive]) if entry.path == path), None)
    if found is None:
        message = _("There is no submission `{inside}` in `{archive}`.")
        raise NothingToGrade(message.format(inside=path.relative_to(archive), archive=archive))
    return found


def is_in(path: Path, folder: Path) -> bool:
    """Return whether a path lies below a folder."""
    return path.absolute().is_relative_to(folder.absolute())


def line_up(
    entries: Sequence[Entry],
    course: Course,
    *,
    roots: Sequence[Path] = (),
    pattern: StudentPattern | None = None,
    roster: list[str] | None = None,
) -> LineUp:
    """Find the student of each file; if a student sent several files for one lesson, the last counts.

    The last file is the one changed last. Files changed in the same second are ordered by name, numbers by value.
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
    """Yield each of a student's files whose lessons are all answered by later files."""
    answered: set[str] = set()
    for entry in sorted(entries, key=_age, reverse=True):
        try:
            lessons = set(lessons_of(parse_submission(entry.path, entry.read()), course))
        except UnreadableSubmission:
            lessons = set()  # its row says why it cannot be read, and it supersedes nothing
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
