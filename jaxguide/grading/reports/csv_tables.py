"""Write marks as CSV: `grades.csv`, and files for Moodle and Canvas. A missing mark is an empty cell, never 0."""

import csv
import io
import itertools
from collections.abc import Iterable, Sequence

from jaxguide.base.clean import clean
from jaxguide.base.text import _
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.reports.marks import Row, columns_of, rows_of

# Spreadsheets run a cell that starts with one of these as a formula; the last four are East Asian full-width forms.
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
# Canvas recognizes the second row, with the maximum points of each column, by these words.
_CANVAS_POINTS = "    Points Possible"


def cell(text: str) -> str:
    """Return text as a cell that spreadsheets do not run as a formula.

    >>> cell("=HYPERLINK(...)"), cell("ada"), cell(" @ada")
    ("'=HYPERLINK(...)", 'ada', "' @ada")
    """
    line = " ".join(clean(text, 1000).split("\n"))
    return f"'{line}" if line.lstrip().startswith(_FORMULA) else line


def points_cell(points: float | None) -> str:
    """Return points as a cell, which is empty if there are none.

    >>> points_cell(2.0), points_cell(1 / 3), points_cell(None)
    ('2', '0.3333', '')
    """
    return "" if points is None else f"{round(points, 4):.10g}"


def sheet(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of cells below a head as CSV; make each cell with `cell` or `points_cell`."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(itertools.chain([head], rows))
    return out.getvalue()


def grades_csv(batch: BatchResult) -> str:
    """Return `grades.csv`: one row per student, with the points for each exercise and then the verdicts."""
    columns = columns_of(batch)
    head = ["student", "state", "score", "points", *(column.name for column in columns)]
    head += [*(f"{column.name}: verdict" for column in columns), "overrides", "files", "isolation"]
    rows = []
    for row in rows_of(batch):
        marks = [row.marks[column.name] for column in columns]
        overrides = [f"{m.column.name}: {m.override.comment}" for m in marks if m.override is not None]
        rows.append(
            [
                cell(row.student),
                row.state.value,
                points_cell(row.score),
                points_cell(row.points),
                *(points_cell(mark.score) for mark in marks),
                *(mark.said for mark in marks),
                cell("; ".join(overrides)),
                cell("; ".join(file_names(row))),
                cell("; ".join(dict.fromkeys(one.tier for one in row.submissions if one.tier))),
            ]
        )
    return sheet([cell(name) for name in head], rows)


def moodle_csv(batch: BatchResult, item: str, identifier: str = "Username") -> str:
    """Return marks in the format that Moodle imports (Grades, Import, CSV file).

    Args:
        batch: the marks; students without one keep theirs in the gradebook.
        item: the name of the grade item.
        identifier: the Moodle column that contains our student names: 'Username', 'Email address' or 'ID number'.
    """
    rows = [[cell(row.student), points_cell(row.score), row.state.value] for row in rows_of(batch)]
    return sheet([cell(identifier), cell(item), _("State (do not import)")], rows)


def canvas_csv(batch: BatchResult, item: str, identifier: str = "SIS Login ID") -> str:
    """Return marks in the format that Canvas imports (Gradebook, Import).

    Args:
        batch: the marks; students without one keep theirs in the gradebook.
        item: the name of the assignment, followed by its number in parentheses if it exists: 'Homework 1 (4711)'.
        identifier: the Canvas column that contains our student names: 'SIS Login ID', 'SIS User ID' or 'ID'.

    Raises:
        ValueError: Canvas does not identify students by this column.
    """
    known = ["ID", "SIS User ID", "SIS Login ID"]
    if identifier not in known:
        message = _("Canvas does not identify students by `{name}`. Use one of these: {known}.")
        raise ValueError(message.format(name=identifier, known=", ".join(known)))
    rows = rows_of(batch)
    possible = max((row.points for row in rows), default=0.0)
    lines = [[_CANVAS_POINTS, "", "", "", "", points_cell(possible)]]
    for row in rows:
        student = cell(row.student)
        lines.append([student, *(student if name == identifier else "" for name in known), "", points_cell(row.score)])
    return sheet(["Student", *known, "Section", cell(item)], lines)


def without_a_mark(batch: BatchResult) -> list[Row]:
    """Return the rows without a score, whose cells in gradebook files are empty."""
    return [row for row in rows_of(batch) if row.score is None]


def file_names(row: Row) -> list[str]:
    """Return the names of the files that a row's marks come from."""
    return [clean(one.path.name, 200) for one in row.submissions if one.path.name]
