"""Read the instructor's tables as CSV, and of them the points given by hand."""

import codecs
import csv
import dataclasses
import io
import itertools
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.course.books.library import Course
from jaxguide.course.books.outline import UnknownName
from jaxguide.grading.intake.student_names import ClassList, name_key

_DELIMITERS = {",": "`,`", ";": "`;`", "\t": "a tab"}
# The sum of a class's points must be a number, too.
_MOST_POINTS = 10**6


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
            message = "{path}:{line}: points must be a number from 0 to {most}, with a decimal point, not `{points}`."
            raise TableError(message.format(path=path, line=line, most=_MOST_POINTS, points=row["points"]))
        key = name_key(row["student"]), row["exercise"]
        if key in overrides:
            message = "{path}:{line}: `{student}` already has points for `{exercise}` in a line above."
            raise TableError(message.format(path=path, line=line, student=row["student"], exercise=row["exercise"]))
        overrides[key] = Override(row["student"], row["exercise"], points, row.get("comment", ""))
    return list(overrides.values())


def require_students(overrides: Iterable[Override], students: ClassList, path: Path) -> None:
    """Check that all points by hand are given to students of the class.

    Raises:
        TableError: one of them is not.
    """
    for one in overrides:
        if students.find(one.student) is None:
            message = (
                "{path}: Points for `{exercise}` are given to `{student}`, who handed in nothing and is not on the "
                "roster."
            )
            said = message.format(path=path, exercise=one.exercise, student=one.student)
            raise TableError(said + did_you_mean(one.student, [person.name for person in students.people]))


def read_table(path: Path) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    """Return a table's column names, and its rows with their line numbers, by column names in lower case.

    Raises:
        TableError: the file cannot be read, or is not a table; reading the rows raises it, too.
    """
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
    if text[:4].casefold() == "sep=":  # for spreadsheets
        text = text[text.find("\n") :]
    head = text.lstrip("\n").split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [name.strip() for name in next((row for row in reader if row), [])]
    except csv.Error:
        raise _bad_quote(path, text, delimiter) from None
    if not any(header):
        raise TableError(f"{path}: the table is empty; its first row must name the columns.")
    return header, _rows(path, text, reader, [name.casefold() for name in header])


def _rows(path: Path, text: str, reader: Any, header: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    delimiter, read = reader.dialect.delimiter, reader.line_num
    try:
        for row in reader:
            start, read = read, reader.line_num
            if not any(cell.strip() for cell in row):
                continue
            cells = [cell.strip() for cell in row]
            _require_one_separator(path, reader.line_num, cells, header, delimiter)
            hidden = next((char for char in "".join(cells) if char != "\n" and unicodedata.category(char) == "Cc"), "")
            if hidden:
                offset = sum(len(line) + 1 for line in text.split("\n")[:start])
                place = _place(path, text, text.index(hidden, offset))
                raise TableError(f"{place}: a cell contains the control character U+{ord(hidden):04X}. Delete it.")
            if any(cells[len(header) :]):
                found = f"the row has {len(row)} cells, but the first row has {len(header)}."
                raise TableError(f"{path}:{reader.line_num}: {found}")
            yield reader.line_num, dict(itertools.zip_longest(header, cells[: len(header)], fillvalue=""))
    except csv.Error:
        raise _bad_quote(path, text, delimiter) from None


def _place(path: Path, text: str, offset: int) -> str:
    """Return the path with the line and column of a character of its text."""
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset)
    return f"{path}:{line}:{column}"


def _require_one_separator(path: Path, line: int, cells: list[str], header: list[str], delimiter: str) -> None:
    other = next((one for one in _DELIMITERS if one != delimiter and one in cells[0]), None)
    if len(cells) == 1 < len(header) and other is not None:
        found = f"{_DELIMITERS[other]} separates the cells of this row"
        place = f"{path}:{line}:{cells[0].index(other) + 1}"
        raise TableError(f"{place}: {found}, but {_DELIMITERS[delimiter]} those of the first row.")


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
