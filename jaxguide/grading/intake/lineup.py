"""Line up a class: whose each file is, which of several counts, who sent nothing or only files of other kinds."""

import contextlib
import dataclasses
import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from jaxguide.course.books.library import Course
from jaxguide.grading.intake.archives import ArchivedEntry, archive_around, expand, find_archives
from jaxguide.grading.intake.file_owners import StudentPattern, below, students_of
from jaxguide.grading.intake.file_search import files_of_students, find_submissions
from jaxguide.grading.intake.file_to_grade import Entry, FileEntry
from jaxguide.grading.intake.lms_names import are_canvas_names, owner_on_disk
from jaxguide.grading.intake.reading import ReadSubmission
from jaxguide.grading.intake.student_names import (
    ClassList,
    Key,
    Owner,
    Person,
    as_read,
    joined,
    name_key,
    resolved_owners,
    shows_hidden,
    told_apart_by_sight,
)
from jaxguide.grading.intake.submission import UnreadableSubmission

# Names that tests and code for import have by custom, so that they are not taken for students'.
_HELPER = re.compile(
    r"(^|/)(tests?/.*|test_[^/]*|[^/]*_test|conftest|setup|__init__|helpers?|utils?|common)\.py$", re.I
)


class NothingToGrade(ValueError):
    """No path holds a submission."""


@dataclasses.dataclass(frozen=True)
class Submitted:
    """One file and its students.

    Args:
        people: its students, more than one if a group handed it in.
        entry: the file.
        counts: student -> the exercises that count in this file, for students who sent several files.
        lessons: the lessons that it answers, as far as it can be read.
    """

    people: tuple[Person, ...]
    entry: Entry
    counts: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict)
    lessons: frozenset[str] = frozenset()

    @property
    def students(self) -> list[str]:
        """The names of its students."""
        return [person.name for person in self.people]

    @property
    def student(self) -> str:
        """The names as one, which tells the file's row in the store from others."""
        return joined(self.students)

    @property
    def replaced(self) -> frozenset[str]:
        """The names of those for whom other files of theirs count instead."""
        return frozenset(name for name, exercises in self.counts.items() if not exercises)

    @property
    def superseded(self) -> bool:
        """Whether it counts for none of its students."""
        return self.replaced.issuperset(self.students)


@dataclasses.dataclass(frozen=True)
class LineUp:
    """The files and students of a batch.

    Args:
        files: the files, in the order in which they were found.
        roster: the class list, None if none was given.
        passed_over: the files that answer no exercise, beside others that do, or are of another kind.
        elsewhere: student -> a note on each file that answers only lessons that are not graded.
    """

    files: list[Submitted]
    roster: ClassList | None = None
    passed_over: list[Path] = dataclasses.field(default_factory=list)
    elsewhere: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    @property
    def people(self) -> list[Person]:
        """The students on the roster and those who sent something, each with all ids that are known."""
        ids: dict[str, dict[str, str]] = {}
        for person in (*(self.roster or ClassList()).people, *(person for one in self.files for person in one.people)):
            ids.setdefault(person.name, {}).update(person.known_ids)
        return [Person(name, own) for name, own in ids.items()]

    @property
    def absent(self) -> list[str]:
        """The students on the roster who sent nothing."""
        there = {name_key(name) for one in self.files for name in one.students}
        return [person.name for person in (self.roster or ClassList()).people if name_key(person.name) not in there]

    @property
    def alike(self) -> list[str]:
        """The students whose names look like another's until hidden characters are shown."""
        return list(dict.fromkeys(name for one in self.files for name in one.students if shows_hidden(name)))

    @property
    def unknown(self) -> list[str]:
        """The students who sent something but are not on the roster."""
        if self.roster is None:
            return []
        return list(dict.fromkeys(name for one in self.files for name in one.students if name not in self.roster))


def find_entries(
    paths: Sequence[Path],
    out: Path,
    *,
    pattern: StudentPattern | None = None,
    roster: ClassList | None = None,
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
    entries: list[FileEntry | ArchivedEntry] = [*_on_disk(files), *expand(archives)]
    entries += [_entry_in(archive, path) for path, archive in inside.items() if archive not in archives]
    return [*entries, *only_others(on_disk, entries, out, pattern=pattern, roster=roster)]


def _on_disk(paths: Iterable[Path]) -> list[FileEntry]:
    """Return files with whose they are as far as an unpacked export says."""
    paths = list(paths)
    names: dict[Path, list[str]] = {}
    for path in paths:
        names.setdefault(path.parent, []).append(path.name)
    canvas = {folder for folder, own in names.items() if are_canvas_names(own)}
    return [FileEntry(path, owner_on_disk(path, path.parent in canvas)) for path in paths]


def _entry_in(archive: Path, path: Path) -> ArchivedEntry:
    found = next((entry for entry in expand([archive]) if entry.path == path), None)
    if found is None:
        raise NothingToGrade(f"There is no submission `{path.relative_to(archive)}` in `{archive}`.")
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
    roster: ClassList | None = None,
    lessons: Collection[str] | None = None,
    known: Mapping[Path, Sequence[str]] | None = None,
) -> LineUp:
    """Find the students of each file; if a student sent several, an exercise counts in the last that answers it.

    The last file is the one changed last; a file as handed out comes before all others. Files changed in the same
    second are ordered by name, numbers by value. A file that answers nothing is passed over if its student has one that
    does, or if its name is that of a test or of code that others import.

    Args:
        entries: the files.
        course: the course.
        read: reads a file's content; called for the files of students who sent more than one, or for all if there are
            several lessons.
        roots: the folders given on the command line.
        pattern: how paths contain the student's name.
        roster: the class list.
        lessons: the lessons that are graded, by default all; files that answer only others are left out.
        known: absolute path of a file -> its students, if it was in a class before of which these files are a part.
    """
    contents = _Contents(read)
    sent = _without_copies(entries, _owners_of(entries, course, roots, pattern, roster or ClassList(), known or {}))
    elsewhere: dict[str, list[str]] = {}
    if lessons is not None and not course.books.keys() <= set(lessons):
        for entry, owner in sent:
            answered = contents.lessons(entry)
            for person in owner.people if answered and answered.isdisjoint(lessons) else ():
                note = f"{entry.path.name} answers {', '.join(sorted(answered))}, which is not graded here."
                elsewhere.setdefault(person.name, []).append(note)
        sent = [one for one in sent if not contents.lessons(one[0]) or not contents.lessons(one[0]).isdisjoint(lessons)]
    by_student: dict[str, list[Entry]] = {}
    for entry, owner in sent:
        for person in owner.people:
            by_student.setdefault(person.name, []).append(entry)
    counts: dict[int, dict[str, frozenset[str]]] = {}
    passed_over: set[int] = set()
    for name, own in by_student.items():
        helpers = [one for one in own if _HELPER.search(below(one.path, roots).as_posix())]
        passed_over |= {id(one) for one in helpers if contents.only_imports(one)}
        own = [one for one in own if id(one) not in passed_over]
        if len(own) > 1:
            for entry, exercises in contents.counting(own, course.names):
                counts.setdefault(id(entry), {})[name] = exercises
            if any(contents.lessons(entry) for entry in own):
                passed_over |= {id(entry) for entry in own if contents.answers_nothing(entry)}
    if len(passed_over) == len(sent):
        passed_over = set()
    files = [
        Submitted(
            owner.people,
            entry,
            counts.get(id(entry), {}),
            frozenset(contents.lessons(entry) if len(course.books) > 1 else course.books),
        )
        for entry, owner in sent
        if id(entry) not in passed_over
    ]
    return LineUp(files, roster, [entry.path for entry, _owner in sent if id(entry) in passed_over], elsewhere)


def _owners_of(
    entries: Sequence[Entry],
    course: Course,
    roots: Sequence[Path],
    pattern: StudentPattern | None,
    roster: ClassList,
    known: Mapping[Path, Sequence[str]],
) -> list[Owner]:
    """Return whose each file is, with names as the class list writes them if it has them."""
    exported = [entry.owner for entry in entries]
    named, paths = [owner.name for owner in exported], [entry.path for entry in entries]
    names = students_of(paths, course, roots=roots, pattern=pattern, roster=roster, named=named)
    owners = [
        owner if name == owner.name else _renamed(owner, [name])
        for name, owner in zip(told_apart_by_sight(names), exported, strict=True)
    ]
    owners = resolved_owners(owners, roster)
    owners = [dataclasses.replace(owner, people=roster.group_of(owner) or owner.people) for owner in owners]
    before = [known.get(path.absolute()) for path in paths]
    return [one if names is None else _renamed(one, names) for one, names in zip(owners, before, strict=True)]


def _renamed(owner: Owner, names: Sequence[str]) -> Owner:
    ids = owner.people[0].ids if len(owner.people) == 1 else {}
    return dataclasses.replace(owner, people=tuple(Person(name, ids) for name in names))


def _without_copies(entries: Sequence[Entry], owners: Sequence[Owner]) -> list[tuple[Entry, Owner]]:
    """Return each file with its owner, one file in place of the copies that Moodle exports for a group's members."""
    found: dict[object, tuple[Entry, Owner]] = {}
    for entry, owner in zip(entries, owners, strict=True):
        key: object = id(entry)
        if owner.group:
            with contextlib.suppress(UnreadableSubmission):
                key = owner.group, entry.path.name, hashlib.sha256(entry.read()).digest()
        first, before = found.setdefault(key, (entry, owner))
        people = {person.name: person for person in (*before.people, *owner.people)}
        found[key] = first, dataclasses.replace(owner, people=tuple(people.values()))
    return list(found.values())


class _Contents:
    """What files answer, each read once."""

    def __init__(self, read: Callable[[Path, bytes], ReadSubmission]):
        self._read = read
        self._found: dict[int, ReadSubmission | None] = {}

    def _of(self, entry: Entry) -> ReadSubmission | None:
        if id(entry) not in self._found:
            try:
                self._found[id(entry)] = self._read(entry.path, entry.read())
            except UnreadableSubmission:
                self._found[id(entry)] = None  # its row says why it cannot be read, and it supersedes nothing
        return self._found[id(entry)]

    def lessons(self, entry: Entry) -> set[str]:
        """Return the lessons that a file answers."""
        found = self._of(entry)
        return set(found.lessons) if found is not None else set()

    def answers_nothing(self, entry: Entry) -> bool:
        """Return whether a file was read whole and answers nothing, not even under a similar name."""
        found = self._of(entry)
        return found is not None and found.is_python and not found.lessons and not found.is_close

    def only_imports(self, entry: Entry) -> bool:
        """Return whether a file, such as a test, imports the answers and defines none."""
        found = self._of(entry)
        names = "|".join(map(re.escape, found.defined if found is not None else ()))
        defines = rf"^[ \t]*(?:(?:def|class)[ \t]+(?:{names})\b|(?:{names})[ \t]*[:=])".encode()
        is_whole = found is not None and found.is_python and not found.is_close
        return is_whole and (not names or re.search(defines, entry.read(), re.MULTILINE) is None)

    def _answers(self, entry: Entry) -> set[str]:
        found = self._of(entry)
        cells = found.cells if found is not None else []
        return {name for cell in cells if not cell.is_printed for name in set(cell.defines) - set(cell.starters)}

    def counting(
        self, entries: Iterable[Entry], names: Mapping[str, frozenset[str]]
    ) -> Iterator[tuple[Entry, frozenset[str]]]:
        """Yield each of a student's files that answers a lesson, with the exercises that count in it.

        An exercise counts in the last file that answers it, or else in the last that has it, or its lesson.
        """
        having = [entry for entry in entries if self.lessons(entry)]
        having.sort(key=lambda entry: (bool(self._answers(entry)), _age(entry)), reverse=True)
        place: dict[str, int] = {}
        for said in (
            self._answers,
            lambda entry: found.defined if (found := self._of(entry)) else frozenset(),
            lambda entry: frozenset().union(*(names[lesson] for lesson in self.lessons(entry))),
        ):
            for number, entry in enumerate(having):
                for name in said(entry):
                    place.setdefault(name, number)
        for number, entry in enumerate(having):
            yield entry, frozenset(name for name, where in place.items() if where == number)


def _age(entry: Entry) -> tuple[int, list[tuple[int, str]]]:
    modified_s = getattr(entry, "modified_s", None)
    if modified_s is None:
        try:
            modified_s = entry.path.stat().st_mtime
        except OSError:
            modified_s = 0
    parts = re.split(r"(\d+)", str(entry.path))
    return int(modified_s), [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def only_others(
    roots: Sequence[Path],
    found: Sequence[FileEntry | ArchivedEntry],
    out: Path,
    *,
    pattern: StudentPattern | None = None,
    roster: ClassList | None = None,
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
        roster: the class list.
    """
    listed = roster or ClassList()
    at = {(entry.archive if isinstance(entry, ArchivedEntry) else entry.path).absolute(): entry for entry in found}
    are_folders = any(len(below(path, roots).parts) > 1 for path, one in at.items() if isinstance(one, FileEntry))

    def named(file: FileEntry) -> Owner:
        place = below(file.path, roots)
        folders = place.parts[:-1]
        name = pattern.find(place) if pattern is not None and folders else None
        known = (person.name for person in map(listed.find, folders or (place.stem,)) if person is not None)
        name = name or next(known, None) or (folders[0] if are_folders and folders else "")
        return file.owner if file.owner.people or not name else Owner((Person(as_read(name)),))

    answered: set[Key] = set()
    for entry in found:
        answered |= {entry.owner.key, *(Owner((Person(person.name),)).key for person in entry.owner.people)}
    for file in _on_disk(at):
        place = below(file.path, roots)
        answered |= {named(file).key, Owner((Person(place.parts[0] if len(place.parts) > 1 else place.stem),)).key}
    others: dict[Key, FileEntry] = {}
    for file in _on_disk(path for root in roots if root.is_dir() for path in files_of_students(root, out)):
        whose = named(file)
        if whose.people and whose.key not in answered and file.path.absolute() not in at:
            others.setdefault(whose.key, dataclasses.replace(file, owner=whose))
    return list(others.values())
