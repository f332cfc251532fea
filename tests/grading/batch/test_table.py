"""Test that the table in the terminal shows verdicts in words and nothing by colour alone."""

import io
from pathlib import Path

import pytest
from graded_files import grade_files
from rich.console import Console

from jaxguide.base.render.terminal import plain_text
from jaxguide.course.books.library import Course
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.batch.table import GradeTable


@pytest.fixture(scope="module")
def graded(course: Course, tmp_path_factory: pytest.TempPathFactory) -> list[SubmissionResult]:
    folder = tmp_path_factory.mktemp("class")
    (folder / "ada.py").write_text(
        "# %%\n%magic\n\n"
        "# %%\ndef double(x):\n    print('\\x1b[31mred')\n    return 2 * x if len(x) == 3 else x * 1.5\n\n"
        "# %%\ndef triple(x):\n    return 2 * x\n"
    )
    (folder / "bob.ipynb").write_text('{"cells": [')
    return list(grade_files([folder], course, seed=7))


@pytest.mark.parametrize("width", [50, 80, 120])
def test_the_table_says_verdicts_in_words_and_keeps_the_width(graded: list[SubmissionResult], width: int) -> None:
    text = plain_text(GradeTable(graded), width)
    words = " ".join(text.split())
    for part in ("✗ failed: double, triple", "○ not started: quadruple", "0/7", "not readable", "2 submissions"):
        assert part in words, part
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text


def test_a_long_path_gives_way_to_the_students_name() -> None:
    rows = [SubmissionResult(Path(f"{'a folder of the export/' * 2}{name}/answers.py"), name) for name in ("Ada", "")]
    text = plain_text(GradeTable(rows), 120)
    assert "Ada: answers.py" in text
    assert "a folder of the export" in text, "without a student's name, the path is shown"


def test_a_terminal_that_knows_ascii_only_gets_ascii(graded: list[SubmissionResult]) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    Console(file=out, width=80).print(GradeTable(graded))
    out.flush()
    assert b"x failed" in raw.getvalue()
