"""Read the class list, as an instructor or a learning platform writes it."""

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping
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
    headings = {_plain(name): name for name in reversed(header) if name}  # of several with one meaning, the first
    platform = _platform(headings.keys())

    def first(names: Iterable[str]) -> str:
        return next((name for name in names if name in headings), "")

    id_columns = {kind: found for kind, names in _IDS.items() if (found := first(names))}
    if "id" in headings:
        id_columns.setdefault("canvas_id" if platform == "Canvas" else "sid", "id")
    pair = [first(_FIRST), first(_LAST)]
    name_columns = [first(_NAMES)] if first(_NAMES) else pair if all(pair) else []
    if column is not None:
        if _plain(column) not in headings:
            said = f"{path}:1: there is no column `{column}`; found {listed(header)}."
            raise TableError(said + did_you_mean(column, header))
        name_columns = [_plain(column)]
    shown = name_columns or [*id_columns.values(), *headings.keys() & {"identifier"}][:1]
    if not shown:
        said = f"{path}:1: no column is called `student`; found {listed(header)}."
        raise TableError(f"{said} Choose one with --roster-column.")
    people: list[Person] = []
    groups: list[str] = []
    left_out: list[str] = []
    seen: dict[tuple[str, str], int] = {}
    for line, cells in rows:
        row = {plain: cells[name.casefold()] for plain, name in headings.items()}
        ids = {kind: as_read(row[name]) for kind, name in id_columns.items() if row[name]}
        person = _person(row, as_read(" ".join(row[name] for name in name_columns)), ids, platform)
        # A platform's own row, a test student's, or that of someone who teaches.
        is_own = not person.name or {name_key(person.name), name_key(row.get(first(_NAMES), ""))} & _OWN_ROWS
        if (platform and is_own) or _STAFF.search(row.get(first(("role", "roles", "course role")), "")):
            left_out += [person.name] if person.name else []
            continue
        if not person.name:
            raise TableError(f"{path}:{line}: the student's name is empty.")
        before = seen.setdefault((name_key(person.name), person.identity), line)
        if before == line:
            people.append(person)
            groups.append(as_read(row.get("group", "")))
        elif not platform:
            raise TableError(f"{path}:{line}: `{person.name}` is already in line {before}.")
    named = [dataclasses.replace(one, name=name) for one, name in zip(people, told_apart(people), strict=True)]
    in_groups = {person.name: group for person, group in zip(named, groups, strict=True) if group}
    said = " + ".join(f"`{name}`" for plain, name in reversed(headings.items()) if plain in shown)
    return Roster(ClassList(tuple(named), in_groups), platform, said, tuple(left_out))


def _platform(has: Collection[str]) -> str:
    if "github username" in has:
        return "GitHub Classroom"
    if "student" in has and ("sis login id" in has or "sis user id" in has or {"id", "section"}.issubset(has)):
        return "Canvas"
    if "email address" in has and ("full name" in has or "first name" in has):
        return "Moodle"
    return "Gradescope" if "sid" in has and "email" in has else ""


def _person(row: Mapping[str, str], name: str, ids: dict[str, str], platform: str) -> Person:
    """Return the person in a row; without a name, one of the ids stands for it."""
    identifier = as_read(row.get("identifier", ""))
    if identifier and platform == "Moodle":
        ids["moodle_id"] = _PARTICIPANT.sub(r"\1", identifier)
    elif identifier:
        ids.setdefault("email" if "@" in identifier else "sid", identifier)
    if platform == "GitHub Classroom" and re.search(r"[@\d]", identifier) is None:
        name = identifier or name  # the instructor's, where `name` is the one on GitHub
    return Person(name or identifier or next(iter(ids.values()), ""), ids)


def _plain(heading: str) -> str:
    return " ".join(re.sub(r"[_\-#*]", " ", heading.casefold()).split())
