"""Write marks as CSV: `grades.csv`, and files for Moodle and Canvas. A missing mark is an empty cell, never 0."""

import csv
import io
import itertools
from collections.abc import Iterable, Mapping, Sequence

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


def sheet(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of cells below a head as CSV; make each cell with `cell` or `points_cell`."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(itertools.chain([head], rows))
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
    rows = []
    for row in students:
        marks = [row.marks[column.name] for column in columns]
        totals = {total.lesson: total.score for total in totals_of(row)}
        overrides = [f"{m.column.name}: {m.override.comment}" for m in marks if m.override is not None]
        rows.append(
            [
                cell(row.student),
                *(cell(row.ids.get(kind, "")) for kind in kinds),
                row.state.value,
                points_cell(row.score),
                points_cell(row.points),
                *(points_cell(totals.get(lesson)) for lesson in lessons),
                *(points_cell(mark.score) for mark in marks),
                *(mark.said for mark in marks),
                cell("; ".join(overrides)),
                cell("; ".join(file_names(row))),
            ]
        )
    return sheet([cell(name) for name in head], rows)


def moodle_csv(batch: BatchResult, item: str = "Grade", identifier: str | None = None) -> str:
    """Return marks in a format that Moodle imports, as a gradebook (Grades, Import) and as a grading worksheet.

    Args:
        batch: the marks; students without one keep theirs in the gradebook.
        item: the column of the marks; a worksheet's is 'Grade'.
        identifier: the Moodle column that contains our student names: 'Username', 'Email address' or 'ID number'. By
            default it is none, if ids of students are known.
    """
    rows = rows_of(batch)
    kinds = [kind for kind in MOODLE_IDS if any(kind in row.ids for row in rows)]
    named = identifier or ("" if kinds else MOODLE_IDS["login"])
    kinds = [kind for kind in kinds if MOODLE_IDS[kind] != named]
    head = [*(MOODLE_IDS[kind] for kind in kinds), named or "Full name", item, "State (do not import)"]
    lines = [
        [*(_moodle_id(row, kind) for kind in kinds), cell(row.student), points_cell(row.score), row.state.value]
        for row in rows
    ]
    return sheet([cell(name) for name in head], lines)


def _moodle_id(row: Row, kind: str) -> str:
    found = row.ids.get(kind, "")
    return f"Participant {cell(found)}" if found and kind == "moodle_id" else cell(found)


def canvas_csv(batch: BatchResult, item: str, identifier: str | None = None) -> str:
    """Return marks in the format that Canvas imports (Gradebook, Import).

    Args:
        batch: the marks; students without one keep theirs in the gradebook.
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
    lines = [[_CANVAS_POINTS, "", "", "", "", points_cell(possible)]]
    for row in rows:
        student = cell(row.student)
        ids = [cell(row.ids.get(kind, "")) or student * (name == identifier) for kind, name in CANVAS_IDS.items()]
        lines.append([student, *ids, "", points_cell(row.score)])
    return sheet(["Student", *known, "Section", cell(item)], lines)


def without_id(batch: BatchResult, kinds: Mapping[str, str]) -> list[Row]:
    """Return the rows of students of whom no id is known that a platform matches, such as `CANVAS_IDS`."""
    return [row for row in rows_of(batch) if not row.ids.keys() & kinds.keys()]


def without_a_mark(batch: BatchResult) -> list[Row]:
    """Return the rows without a score, whose cells in gradebook files are empty."""
    return [row for row in rows_of(batch) if row.score is None]


def file_names(row: Row) -> list[str]:
    """Return the names of the files that a row's marks come from."""
    return [clean(one.path.name, 200) for one in row.submissions if one.path.name]
