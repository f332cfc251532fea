"""Line up a class: the students of each file, which file counts, and who sent nothing or only files of other kinds."""

import contextlib
import dataclasses
import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from jaxguide.course.books.library import Course
from jaxguide.grading.intake.file_owners import StudentPattern, below, students_of
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.intake.reading import ReadSubmission
from jaxguide.grading.intake.student_names import (
    ClassList,
    Owner,
    Person,
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
    def superseded(self) -> bool:
        """Whether other files count for each of its students."""
        return all(name in self.counts and not self.counts[name] for name in self.students)


@dataclasses.dataclass(frozen=True)
class LineUp:
    """The files and students of a batch.

    Args:
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
        read: reads a file's content; called for the files of students who sent more than one, or for all if there are
            several lessons.
        lessons: the lessons that are graded, by default all; files that answer only others are left out.
        known: absolute path of a file -> its students, if it was in a class before of which these files are a part.
    """
    contents: dict[int, ReadSubmission] = {}

    def content(entry: Entry) -> ReadSubmission:
        if id(entry) not in contents:
            try:
                contents[id(entry)] = read(entry.path, entry.read())
            except UnreadableSubmission:  # its row says why it cannot be read, and it supersedes nothing
                contents[id(entry)] = _UNREAD
        return contents[id(entry)]

    sent = _without_copies(entries, _owners_of(entries, course, roots, pattern, roster or ClassList(), known or {}))
    elsewhere: dict[str, list[str]] = {}
    if lessons is not None and not course.books.keys() <= set(lessons):
        everything, sent = sent, []
        for entry, owner in everything:
            answered = content(entry).lessons
            if not answered or not set(lessons).isdisjoint(answered):
                sent.append((entry, owner))
                continue
            note = f"{entry.path.name} answers {', '.join(sorted(answered))}, which is not graded here."
            for person in owner.people:
                elsewhere.setdefault(person.name, []).append(note)
    by_student: dict[str, list[Entry]] = {}
    for entry, owner in sent:
        for person in owner.people:
            by_student.setdefault(person.name, []).append(entry)
    counts: dict[int, dict[str, frozenset[str]]] = {}
    passed_over: set[int] = set()
    for name, own in by_student.items():
        helpers = [one for one in own if _HELPER.search(below(one.path, roots).as_posix())]
        passed_over |= {id(one) for one in helpers if _only_imports(one, content(one))}
        own = [one for one in own if id(one) not in passed_over]
        if len(own) > 1:
            having = [(entry, content(entry)) for entry in own if content(entry).lessons]
            for entry, exercises in _counting(having, course.names):
                counts.setdefault(id(entry), {})[name] = exercises
            if having:
                passed_over |= {id(one) for one in own if _is_whole(content(one)) and not content(one).lessons}
    if len(passed_over) == len(sent):
        passed_over = set()
    files = [
        Submitted(
            owner.people,
            entry,
            counts.get(id(entry), {}),
            frozenset(content(entry).lessons if len(course.books) > 1 else course.books),
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


# What is known of a file that cannot be read: it may answer anything.
_UNREAD = ReadSubmission([], [], [], {}, "", True, {}, [], "", False)


def _is_whole(found: ReadSubmission) -> bool:
    """Return whether a file was read whole and does not answer an exercise under a similar name."""
    return found.is_python and not found.is_close


def _only_imports(entry: Entry, found: ReadSubmission) -> bool:
    """Return whether a file, such as a test, imports the answers and defines none."""
    names = "|".join(map(re.escape, found.defined))
    defines = rf"^[ \t]*(?:(?:def|class)[ \t]+(?:{names})\b|(?:{names})[ \t]*[:=])".encode()
    return _is_whole(found) and (not names or re.search(defines, entry.read(), re.MULTILINE) is None)


def _counting(
    having: Sequence[tuple[Entry, ReadSubmission]], names: Mapping[str, frozenset[str]]
) -> Iterator[tuple[Entry, frozenset[str]]]:
    """Yield each of a student's files that answers a lesson, with the exercises that count in it.

    An exercise counts in the last file that answers it, or else in the last that has it, or its lesson.
    """

    def answers(found: ReadSubmission) -> set[str]:
        return {name for cell in found.cells if not cell.is_printed for name in set(cell.defines) - set(cell.starters)}

    having = sorted(having, key=lambda one: (bool(answers(one[1])), _age(one[0])), reverse=True)
    place: dict[str, int] = {}
    for said in (
        answers,
        lambda found: found.defined,
        lambda found: {name for lesson in found.lessons for name in names[lesson]},
    ):
        for number, (_entry, found) in enumerate(having):
            for name in said(found):
                place.setdefault(name, number)
    for number, (entry, _found) in enumerate(having):
        yield entry, frozenset(name for name, where in place.items() if where == number)


def _age(entry: Entry) -> tuple[int, list[tuple[int, str]]]:
    modified_s = entry.modified_s
    if entry.archive is None and entry.path.exists():
        modified_s = entry.path.stat().st_mtime
    parts = re.split(r"(\d+)", str(entry.path))
    return int(modified_s), [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
