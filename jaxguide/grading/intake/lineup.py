"""Line up a class: whose each file is, which of several counts, who sent nothing or only files of other kinds."""

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from jaxguide.base.text import _
from jaxguide.course.books.library import Course
from jaxguide.grading.intake.archives import ArchivedEntry, Unpacker, archive_around, expand, find_archives
from jaxguide.grading.intake.file_owners import StudentPattern, below, shows_hidden, students_of
from jaxguide.grading.intake.file_search import STORE_NAME, files_below, find_submissions
from jaxguide.grading.intake.file_to_grade import Entry, FileEntry
from jaxguide.grading.intake.lms_names import student_on_disk, told_apart
from jaxguide.grading.intake.reading import ReadSubmission
from jaxguide.grading.intake.submission import UnreadableSubmission


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
    def alike(self) -> list[str]:
        """The students whose names look like another's until hidden characters are shown."""
        return list(dict.fromkeys(one.student for one in self.files if shows_hidden(one.student)))

    @property
    def unknown(self) -> list[str]:
        """The students who sent something but are not on the roster."""
        if self.roster is None:
            return []
        listed = {name.casefold() for name in self.roster}
        return list(dict.fromkeys(one.student for one in self.files if one.student.casefold() not in listed))


def find_entries(
    paths: Sequence[Path],
    out: Path,
    unpacker: Unpacker,
    *,
    pattern: StudentPattern | None = None,
    roster: Collection[str] = (),
) -> list[Entry]:
    """Return all that is to be graded among and below `paths`; never what lies among the results.

    Of a student who handed in only files of other kinds there is one, which cannot be read.

    Args:
        paths: files, folders and archives.
        out: the folder for results.
        unpacker: unpacks the archives.
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
    entries += expand(archives, unpacker)
    entries += [_entry_in(archive, path, unpacker) for path, archive in inside.items() if archive not in archives]
    entries += only_others(on_disk, entries, out, pattern=pattern, roster=roster)
    students = told_apart([(entry.student, entry.identity) for entry in entries])
    return [dataclasses.replace(entry, student=name) for entry, name in zip(entries, students, strict=True)]


def _entry_in(archive: Path, path: Path, unpacker: Unpacker) -> ArchivedEntry:
    found = next((entry for entry in expand([archive], unpacker) if entry.path == path), None)
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
    read: Callable[[Path, bytes], ReadSubmission],
    roots: Sequence[Path] = (),
    pattern: StudentPattern | None = None,
    roster: list[str] | None = None,
) -> LineUp:
    """Find the student of each file; if a student sent several files for one lesson, the last counts.

    The last file is the one changed last. Files changed in the same second are ordered by name, numbers by value.

    Args:
        entries: the files.
        course: the course.
        read: reads a file's content; called for the files of students who sent more than one.
        roots: the folders given on the command line.
        pattern: how paths contain the student's name.
        roster: the names of the class.
    """
    paths = [entry.path for entry in entries]
    named = [getattr(entry, "student", None) for entry in entries]
    students = students_of(paths, course, roots=roots, pattern=pattern, roster=roster or (), named=named)
    by_student: dict[str, list[Entry]] = {}
    for student, entry in zip(students, entries, strict=True):
        by_student.setdefault(student, []).append(entry)
    old = {id(entry) for own in by_student.values() if len(own) > 1 for entry in _superseded(own, read)}
    files = [Submitted(s, entry, id(entry) in old) for s, entry in zip(students, entries, strict=True)]
    return LineUp(files, roster)


def _superseded(entries: Iterable[Entry], read: Callable[[Path, bytes], ReadSubmission]) -> Iterable[Entry]:
    """Yield each of a student's files whose lessons are all answered by later files."""
    answered: set[str] = set()
    for entry in sorted(entries, key=_age, reverse=True):
        try:
            lessons = set(read(entry.path, entry.read()).lessons)
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


_Whose = tuple[str, str]


def only_others(
    roots: Sequence[Path],
    found: Iterable[FileEntry | ArchivedEntry],
    out: Path,
    *,
    pattern: StudentPattern | None = None,
    roster: Collection[str] = (),
) -> list[FileEntry]:
    """Return one file of each student without a submission; reading it raises an error that says why.

    A file's student is the one that an unpacked export, the pattern or the roster names. Failing that, it is the name
    of the file's top folder, if others of this class have a folder too. Loose files belong to no one, unless their name
    is on the roster.

    Args:
        roots: the folders given on the command line.
        found: the files that have a row already.
        out: the results folder.
        pattern: how paths contain the student's name.
        roster: the names of the class.
    """
    found = list(found)
    are_folders = any(len(below(entry.path, roots).parts) > 1 for entry in found if isinstance(entry, FileEntry))
    owners = _Owners(roots, pattern, {name.casefold() for name in roster}, are_folders)
    answered: set[_Whose] = set()
    has_row = set()
    for entry in found:
        path = entry.archive if isinstance(entry, ArchivedEntry) else entry.path
        has_row.add(path.absolute())
        answered.update(_key(whose) for whose in owners.all_of(path))
        answered |= {_key((entry.student or "", identity)) for identity in (entry.identity, "")}
    others: dict[_Whose, FileEntry] = {}
    for path in (path for root in roots if root.is_dir() for path in _students_files(root, out)):
        whose = None if path.absolute() in has_row else owners.of(path)
        if whose is not None and _key(whose) not in answered:
            others.setdefault(_key(whose), FileEntry(path, *whose))
    return list(others.values())


class _Owners:
    """Finds the student of a file of another kind, which neither a lesson's name nor other files help to name."""

    def __init__(
        self, roots: Sequence[Path], pattern: StudentPattern | None, listed: Collection[str], are_folders: bool
    ):
        self._roots, self._pattern, self._listed, self._are_folders = roots, pattern, listed, are_folders

    def of(self, path: Path) -> _Whose | None:
        """Return the student's name and an ID that tells students of the same name apart, or None if unknown."""
        exported = student_on_disk(path)
        if exported is not None:
            return exported
        place = below(path, self._roots)
        folders = place.parts[:-1]
        name = self._pattern.find(place) if self._pattern is not None and folders else None
        name = name or next((one for one in folders or (place.stem,) if one.casefold() in self._listed), None)
        if name is None and self._are_folders:
            name = next(iter(folders), None)
        return (name, "") if name is not None else None

    def all_of(self, path: Path) -> Iterator[_Whose]:
        """Yield every name by which a file that has a row may count for a student."""
        whose = self.of(path)
        if whose is not None:
            yield whose
        place = below(path, self._roots)
        yield (place.parts[0] if len(place.parts) > 1 else place.stem), ""


def _students_files(root: Path, out: Path) -> list[Path]:
    """Return the files below a folder, except those in the results folder or in earlier ones."""
    files = files_below(root)
    results = {out.absolute(), *(path.absolute().parent for path in files if path.name == STORE_NAME)}
    return [path for path in files if results.isdisjoint(path.absolute().parents)]


def _key(whose: _Whose) -> _Whose:
    return whose[0].casefold(), whose[1]
