"""Read the instructor's tables as CSV: the class list, also as a learning platform writes it, and points by hand."""

import codecs
import csv
import dataclasses
import io
import itertools
import math
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.course.books.library import Course
from jaxguide.course.books.outline import UnknownName
from jaxguide.grading.intake.student_names import ClassList, Person, as_read, name_key, told_apart

_DELIMITERS = {",": "`,`", ";": "`;`", "\t": "a tab"}
# The sum of a class's points must be a number, too.
_MOST_POINTS = 10**6


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


class TableError(ValueError):
    """A CSV file has the wrong format; the message says where and what was expected."""


@dataclasses.dataclass(frozen=True)
class Override:
    """Points from the instructor that replace the grader's.

    Args:
        was: the grader's points, None if it gave none.
        files: the digests of the files that answered the exercise when these points were first given, None if unknown.
    """

    student: str
    exercise: str
    points: float
    comment: str = ""
    was: float | None = None
    files: list[str] | None = None


def read_overrides(path: Path, course: Course) -> list[Override]:
    """Read the points that an instructor gives by hand.

    Args:
        path: a CSV file with the columns `student`, `exercise`, `points` and optionally `comment`.

    Raises:
        TableError: the file cannot be read, a column is missing, the course does not have an exercise, points are not
            a number from 0 to a million, or a student gets points for the same exercise twice.
    """
    header, rows = read_table(path)
    missing = [name for name in ("student", "exercise", "points") if name not in map(str.casefold, header)]
    if missing:
        raise TableError(f"{path}:1: there is no column {listed(missing)}; found {listed(header)}.")
    overrides: dict[tuple[str, str], Override] = {}
    for line, row in rows:
        try:
            course.exercise(row["exercise"])
            points = float(row["points"])
        except UnknownName as error:
            raise TableError(f"{path}:{line}: {error}") from None
        except ValueError:
            points = math.nan
        if not 0 <= points <= _MOST_POINTS:
            said = f"points must be a number from 0 to {_MOST_POINTS}, with a decimal point, not `{row['points']}`."
            raise TableError(f"{path}:{line}: {said}")
        key = name_key(row["student"]), row["exercise"]
        if key in overrides:
            said = f"`{row['student']}` already has points for `{row['exercise']}` in a line above."
            raise TableError(f"{path}:{line}: {said}")
        overrides[key] = Override(row["student"], row["exercise"], points, row.get("comment", ""))
    return list(overrides.values())


def require_students(overrides: Iterable[Override], students: ClassList, path: Path) -> None:
    """Check that all points by hand are given to students of the class.

    Raises:
        TableError: one of them is not.
    """
    for one in overrides:
        if students.find(one.student) is None:
            said = f"Points for `{one.exercise}` are given to `{one.student}`, who handed in nothing and is not on the"
            names = [person.name for person in students.people]
            raise TableError(f"{path}: {said} roster.{did_you_mean(one.student, names)}")


def read_table(path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return a table's column names, and its rows with their line numbers, by column names in lower case.

    Raises:
        TableError: the file cannot be read, or is not a table.
    """
    text = _text_of(path)
    delimiter = max(_DELIMITERS, key=text.lstrip("\n").partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        found = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error:
        raise _bad_quote(path, text, delimiter) from None
    if not found:
        raise TableError(f"{path}: the table is empty; its first row must name the columns.")
    header, rows = [name.strip() for name in found[0][1]], []
    for line, row in found[1:]:
        cells = [cell.strip() for cell in row]
        other = next((one for one in _DELIMITERS if one != delimiter and one in cells[0]), None)
        if len(cells) == 1 < len(header) and other is not None:
            said = f"{_DELIMITERS[other]} separates the cells of this row, but {_DELIMITERS[delimiter]} those of"
            raise TableError(f"{path}:{line}:{cells[0].index(other) + 1}: {said} the first row.")
        if any(cells[len(header) :]):
            said = f"the row has {len(row)} cells, but the first row has {len(header)}."
            raise TableError(f"{path}:{line}: {said}")
        names = [name.casefold() for name in header]
        rows.append((line, dict(itertools.zip_longest(names, cells[: len(header)], fillvalue=""))))
    return header, rows


def _text_of(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror}.") from None
    coding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        text = content.decode(coding)  # a spreadsheet writes a byte order mark
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", "replace")
        place = _place(path, before, len(before))
        raise TableError(f"{place}: cannot be read as UTF-8 text. Save the table in this encoding.") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text[text.find("\n") :] if text[:4].casefold() == "sep=" else text  # for spreadsheets


def _place(path: Path, text: str, offset: int) -> str:
    """Return the path with the line and column of a character of its text."""
    return f"{path}:{text.count(chr(10), 0, offset) + 1}:{offset - text.rfind(chr(10), 0, offset)}"


def _bad_quote(path: Path, text: str, delimiter: str) -> TableError:
    """Return where the quotation mark is that makes a table invalid, and what is wrong with it."""
    for cell in re.finditer(rf'(?<![^{delimiter}\n])"(?:[^"]|"")*("?)', text):
        if not cell[1]:
            place = _place(path, text, cell.start())
            return TableError(f"{place}: the quotation mark that opens here is never closed.")
        if text[cell.end() : cell.end() + 1] not in (delimiter, "\n", ""):
            place = _place(path, text, cell.end())
            return TableError(f"{place}: the cell goes on after its closing quotation mark. Double inner ones.")
    return TableError(f"{path}: the table is not valid CSV.")


def listed(names: Iterable[str]) -> str:
    """Return names in backticks, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def read_roster(path: Path, column: str | None = None) -> ClassList:
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
    return ClassList(tuple(named), in_groups, platform, said, tuple(left_out))


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
