"""Read the class list, as an instructor or a learning platform writes it."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.grading.intake.instructor_tables import TableError, listed, read_table
from jaxguide.grading.intake.student_names import ClassList, Person, as_read, name_key, told_apart

# Kinds of columns and their headings, in lower case and with blanks for `_` and `-`. Of names, the first found counts.
_NAMES = ("student", "student name", "full name", "name", "display name", "participant name")
_FIRST = ("first name", "firstname", "given name", "given names", "first")
_LAST = ("last name", "lastname", "surname", "family name", "last")
_IDS = {
    "login": ("login", "sis login id", "username", "user name", "user", "login id", "net id", "netid"),
    "email": ("email", "email address", "e mail", "e mail address", "mail"),
    "sid": ("sid", "student id", "id number", "sis user id", "student number", "orgdefinedid"),
    "github": ("github username", "github login", "github"),
}
_STAFF = re.compile(
    r"\b(instructor|teacher|ta|tas|assistant|reader|grader|observer|designer|manager|admin|lecturer|professor)\b", re.I
)
_PARTICIPANT = re.compile(r"\D*(\d+)")
_OWN_ROWS = {"points possible", "student, test", "test student"}


@dataclasses.dataclass(frozen=True)
class Roster:
    """A class list and how it was read.

    Args:
        platform: the learning platform whose headings the table has, '' if none.
        column: the columns that the names come from.
        left_out: the names in rows that are not of students.
    """

    students: ClassList
    platform: str
    column: str
    left_out: tuple[str, ...] = ()


def read_roster(path: Path, column: str | None = None) -> Roster:
    """Read the class list.

    Args:
        path: a CSV file (commas, semicolons or tabs) whose first row names the columns, such as the rosters and
            gradebooks that Canvas, Moodle, Gradescope and GitHub Classroom export. Columns of ids and mail addresses
            identify students, too; `group` puts those of the same value into a group, whose work counts for each.
        column: the column of the names; by default, it is recognized.

    Raises:
        TableError: the file cannot be read, has no such column, or contains a student twice.
    """
    header, rows = read_table(path)
    columns = _Columns(path, header, column)
    people: list[Person] = []
    groups: list[str] = []
    left_out: list[str] = []
    seen: dict[tuple[str, str], int] = {}
    for line, row in rows:
        person = columns.person(row)
        if columns.is_no_student(person, row):
            left_out += [person.name] if person.name else []
            continue
        if not person.name:
            raise TableError(f"{path}:{line}: the student's name is empty.")
        first = seen.setdefault((name_key(person.name), person.identity), line)
        if first != line and columns.platform:
            continue
        if first != line:
            raise TableError(f"{path}:{line}: `{person.name}` is already in line {first}.")
        people.append(person)
        groups.append(as_read(row.get("group", "")))
    named = [dataclasses.replace(one, name=name) for one, name in zip(people, told_apart(people), strict=True)]
    in_groups = {person.name: group for person, group in zip(named, groups, strict=True) if group}
    return Roster(ClassList(tuple(named), in_groups), columns.platform, columns.said, tuple(left_out))


class _Columns:
    """What the columns of a class list are; the names are in the one that was chosen, if any.

    Raises:
        TableError: no column has names.
    """

    def __init__(self, path: Path, header: list[str], chosen: str | None):
        # Of several columns with the same meaning, the first.
        self._of = {_plain(name): name.casefold() for name in reversed(header) if name}
        self.platform = self._platform()
        self.ids = {kind: found for kind, names in _IDS.items() if (found := self._first(names))}
        if "id" in self._of:
            self.ids.setdefault("canvas_id" if self.platform == "Canvas" else "sid", self._of["id"])
        self._identifier = self._of.get("identifier", "")
        if chosen is not None:
            if _plain(chosen) not in self._of:
                said = f"{path}:1: there is no column `{chosen}`; found {listed(header)}."
                raise TableError(said + did_you_mean(chosen, header))
            names = [self._of[_plain(chosen)]]
        else:
            pair = [self._first(_FIRST), self._first(_LAST)]
            names = [self._first(_NAMES)] if self._first(_NAMES) else pair if all(pair) else []
        self._names = names
        if not (self._names or self.ids or self._identifier):
            message = "{path}:1: no column is called `student`; found {found}. Choose one with --roster-column."
            raise TableError(message.format(path=path, found=listed(header)))
        shown = self._names or [*self.ids.values(), self._identifier][:1]
        self.said = " + ".join(f"`{name}`" for name in header if name.casefold() in shown)

    def _platform(self) -> str:
        has = self._of.keys()
        if "github username" in has:
            return "GitHub Classroom"
        if "student" in has and ("sis login id" in has or "sis user id" in has or {"id", "section"} <= has):
            return "Canvas"
        if "email address" in has and ({"full name"} & has or {"first name"} & has):
            return "Moodle"
        return "Gradescope" if {"sid", "email"} <= has else ""

    def _first(self, names: tuple[str, ...]) -> str:
        return next((self._of[name] for name in names if name in self._of), "")

    def person(self, row: Mapping[str, str]) -> Person:
        """Return the person in a row; without a name, one of the ids stands for it."""
        ids = {kind: as_read(row[column]) for kind, column in self.ids.items() if row[column]}
        identifier = as_read(row.get(self._identifier, ""))
        if identifier and self.platform == "Moodle":
            ids["moodle_id"] = _PARTICIPANT.sub(r"\1", identifier)
        elif identifier:
            ids.setdefault("email" if "@" in identifier else "sid", identifier)
        name = as_read(" ".join(row[column] for column in self._names))
        if self.platform == "GitHub Classroom" and re.search(r"[@\d]", identifier) is None:
            name = identifier or name  # the instructor's, where `name` is the one on GitHub
        return Person(name or identifier or next(iter(ids.values()), ""), ids)

    def is_no_student(self, person: Person, row: Mapping[str, str]) -> bool:
        """Return whether a row is a platform's own, a test student's or of someone who teaches."""
        role = next((row[self._of[name]] for name in ("role", "roles", "course role") if name in self._of), "")
        names = {name_key(person.name), name_key(row.get(self._first(_NAMES), ""))}
        is_own = not person.name or not names.isdisjoint(_OWN_ROWS)
        return bool(self.platform and is_own) or _STAFF.search(role) is not None


def _plain(heading: str) -> str:
    return " ".join(re.sub(r"[_\-#*]", " ", heading.casefold()).split())
