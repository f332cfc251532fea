"""Write marks as CSV: `grades.csv`, and files for Moodle and Canvas. A missing mark is an empty cell, never 0."""

import csv
import io
from collections.abc import Iterable, Sequence

from jaxguide.base.clean import clean
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.intake.student_names import ID_KINDS
from jaxguide.grading.reports.marks import Row, columns_of, rows_of, totals_of

# Spreadsheets run a cell that starts with one of these as a formula; the last four are East Asian full-width forms.
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
# Canvas recognizes the second row, with the maximum points of each column, by these words.
_CANVAS_POINTS = "    Points Possible"
CANVAS_IDS = {"canvas_id": "ID", "sid": "SIS User ID", "login": "SIS Login ID"}
MOODLE_IDS = {"moodle_id": "Identifier", "login": "Username", "sid": "ID number", "email": "Email address"}
"""Kinds of ids, and the columns by which the platform matches students."""


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
    ('2', '0.33', '')
    """
    return "" if points is None else f"{round(points, 2):.10g}"


def sheet(rows: Iterable[Iterable[str | float | None]]) -> str:
    """Return rows of texts and points, which may be missing, as CSV."""
    out = io.StringIO()
    written = csv.writer(out, lineterminator="\r\n")
    written.writerows([cell(one) if isinstance(one, str) else points_cell(one) for one in row] for row in rows)
    return out.getvalue()


def grades_csv(batch: BatchResult) -> str:
    """Return `grades.csv`: one row per student, with known ids, the points for each exercise and then the verdicts."""
    columns, students = columns_of(batch), rows_of(batch)
    kinds = [kind for kind in ID_KINDS if any(kind in row.ids for row in students)]
    head = ["student", *(ID_KINDS[kind] for kind in kinds), "state", "score", "points"]
    lessons = batch.lessons if len(batch.lessons) > 1 else []
    head += [f"{lesson}: score" for lesson in lessons]
    last = ["overrides", "files"]
    head += [f"{column.name} (exercise)" if column.name in (*head, *last) else column.name for column in columns]
    head += [*(f"{column.name}: verdict" for column in columns), *last]
    lines: list[Sequence[str | float | None]] = [head]
    for row in students:
        marks = [row.marks[column.name] for column in columns]
        totals = totals_of(row)
        overrides = [f"{m.column.name}: {m.override.comment}" for m in marks if m.override is not None]
        lines.append(
            [
                *(row.student, *(row.ids.get(kind, "") for kind in kinds), row.state.value, row.score, row.points),
                *(totals[lesson][0] if lesson in totals else None for lesson in lessons),
                *(mark.score for mark in marks),
                *(mark.said for mark in marks),
                *("; ".join(overrides), "; ".join(file_names(row))),
            ]
        )
    return sheet(lines)


def moodle_csv(batch: BatchResult, item: str = "Grade", identifier: str | None = None) -> str:
    """Return marks in a format that Moodle imports, as a gradebook (Grades, Import) and as a grading worksheet.

    Args:
        item: the column of the marks; a worksheet's is 'Grade'.
        identifier: the Moodle column that contains our student names: 'Username', 'Email address' or 'ID number'. By
            default it is none, if ids of students are known.
    """
    rows = rows_of(batch)
    kinds = [kind for kind in MOODLE_IDS if any(kind in row.ids for row in rows)]
    named = identifier or ("" if kinds else MOODLE_IDS["login"])
    kinds = [kind for kind in kinds if MOODLE_IDS[kind] != named]
    head = [*(MOODLE_IDS[kind] for kind in kinds), named or "Full name", item, "State (do not import)"]
    lines: list[Sequence[str | float | None]] = [head]
    for row in rows:
        ids = row.ids | ({"moodle_id": f"Participant {row.ids['moodle_id']}"} if row.ids.get("moodle_id") else {})
        lines.append([*(ids.get(kind, "") for kind in kinds), row.student, row.score, row.state.value])
    return sheet(lines)


def canvas_csv(batch: BatchResult, item: str, identifier: str | None = None) -> str:
    """Return marks in the format that Canvas imports (Gradebook, Import).

    Args:
        item: the name of the assignment, followed by its number in parentheses if it exists: 'Homework 1 (4711)'.
        identifier: the Canvas column that contains our student names: 'SIS Login ID', 'SIS User ID' or 'ID'. By default
            it is none, if ids of students are known.

    Raises:
        ValueError: Canvas does not identify students by this column.
    """
    known = list(CANVAS_IDS.values())
    if identifier is not None and identifier not in known:
        raise ValueError(f"Canvas does not identify students by `{identifier}`. Use one of these: {', '.join(known)}.")
    rows = rows_of(batch)
    if identifier is None and not any(row.ids.keys() & CANVAS_IDS.keys() for row in rows):
        identifier = CANVAS_IDS["login"]
    possible = max((row.points for row in rows), default=0.0)
    head = ["Student", *known, "Section", item]
    lines: list[Sequence[str | float | None]] = [head, [_CANVAS_POINTS, "", "", "", "", possible]]
    for row in rows:
        ids = [row.ids.get(kind, "") or row.student * (name == identifier) for kind, name in CANVAS_IDS.items()]
        lines.append([row.student, *ids, "", row.score])
    return sheet(lines)


def file_names(row: Row) -> list[str]:
    """Return the names of the files that a row's marks come from."""
    return [clean(one.path.name, 200) for one in row.submissions if one.path.name]
