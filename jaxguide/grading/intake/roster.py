"""Read the instructor's own tables: who is in the class, and points that they give by hand."""

import csv
import dataclasses
import io
import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.base.text import _
from jaxguide.course.books.library import Course
from jaxguide.course.books.outline import UnknownName

_NAMES = ("student", "login", "username", "user", "id", "email", "name")


class TableError(ValueError):
    """A CSV file is not as it must be; the message says where and what was expected."""


@dataclasses.dataclass(frozen=True)
class Override:
    """Points that an instructor gives in place of the grader's.

    Args:
        student, exercise: whose, and for what.
        points: the points that count.
        comment: what the instructor says to it.
        was: the grader's own points, None where it gave none.
    """

    student: str
    exercise: str
    points: float
    comment: str = ""
    was: float | None = None


def read_roster(path: Path) -> list[str]:
    """Read who is in the class.

    Args:
        path: a CSV file (commas, semicolons or tabs) whose first row names the columns. The names are taken from the
            column `student`, else `login`, `username`, `user`, `id`, `email` or `name`, in this order.

    Raises:
        TableError: it cannot be read, has no such column, or names somebody twice.
    """
    header, rows = _read(path)
    column = next((name for name in _NAMES if name in header), None)
    if column is None:
        message = _("{path}:1: no column is called `student`; found {found}.")
        raise TableError(message.format(path=path, found=_listed(header)))
    seen: dict[str, int] = {}
    students = []
    for line, row in rows:
        student = row[column]
        if not student:
            raise TableError(_("{path}:{line}: the student's name is empty.").format(path=path, line=line))
        first = seen.setdefault(student.casefold(), line)
        if first != line:
            message = _("{path}:{line}: `{student}` stands in line {first} already.")
            raise TableError(message.format(path=path, line=line, student=student, first=first))
        students.append(student)
    return students


def read_overrides(path: Path, course: Course) -> list[Override]:
    """Read the points that an instructor gives by hand.

    Args:
        path: a CSV file with the columns `student`, `exercise` and `points`, and `comment` if you like.
        course: whose exercises they are for.

    Raises:
        TableError: it cannot be read, a column is missing, an exercise is none of the course's, points are no number of
            0 or more, or somebody is given points for one exercise twice.
    """
    header, rows = _read(path)
    missing = [name for name in ("student", "exercise", "points") if name not in header]
    if missing:
        message = _("{path}:1: there is no column {missing}; found {found}.")
        raise TableError(message.format(path=path, missing=_listed(missing), found=_listed(header)))
    overrides: dict[tuple[str, str], Override] = {}
    for line, row in rows:
        try:
            course.exercise(row["exercise"])
            points = float(row["points"])
        except UnknownName as error:
            raise TableError(f"{path}:{line}: {error}") from None
        except ValueError:
            points = math.nan
        if not 0 <= points < math.inf:
            message = _("{path}:{line}: points are a number of 0 or more, with a dot; this is `{points}`.")
            raise TableError(message.format(path=path, line=line, points=row["points"]))
        key = row["student"].casefold(), row["exercise"]
        if key in overrides:
            message = _("{path}:{line}: `{student}` was given points for `{exercise}` further up already.")
            raise TableError(message.format(path=path, line=line, student=row["student"], exercise=row["exercise"]))
        overrides[key] = Override(row["student"], row["exercise"], points, row.get("comment", ""))
    return list(overrides.values())


def unknown_student(override: Override, students: list[str]) -> str:
    """Say that points were given to nobody."""
    message = _("Points for `{exercise}` are given to `{student}`, who neither handed in nor is on the roster.")
    said = message.format(exercise=override.exercise, student=override.student)
    return said + did_you_mean(override.student, students)


def _read(path: Path) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    """Return a table's column names in small letters, and its rows with their lines."""
    try:
        text = path.read_text("utf-8-sig")  # a spreadsheet writes a byte order mark
    except (OSError, UnicodeDecodeError) as error:
        message = _("{path}: cannot be read as UTF-8 text: {error}.")
        raise TableError(message.format(path=path, error=error)) from None
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [name.strip().casefold() for name in next(reader, [])]
    except csv.Error as error:
        raise TableError(f"{path}:1: {error}") from None
    if not any(header):
        raise TableError(_("{path}: the table is empty; its first row names the columns.").format(path=path))
    return header, _rows(path, reader, header)


def _rows(path: Path, reader: Any, header: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            cells = [cell.strip() for cell in row]
            if any(cells[len(header) :]):
                message = _("{path}:{line}: {found} cells, where the first row has {wanted}.")
                fields = {"path": path, "line": reader.line_num, "found": len(row), "wanted": len(header)}
                raise TableError(message.format(**fields))
            yield reader.line_num, dict(itertools.zip_longest(header, cells[: len(header)], fillvalue=""))
    except csv.Error as error:
        raise TableError(f"{path}:{reader.line_num}: {error}") from None


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
