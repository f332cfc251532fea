"""Test that unreadable files leave marks missing, never 0, and that every report names student and file."""

import csv
import dataclasses
import io
import xml.etree.ElementTree as ET
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_class import exercise

from jaxguide.base.render.terminal import plain_text
from jaxguide.cli import main
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.batch_result import BatchResult, apply_overrides
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.batch.table import GradeTable
from jaxguide.grading.intake.instructor_tables import Override
from jaxguide.grading.reports.csv_tables import canvas_csv, grades_csv, moodle_csv
from jaxguide.grading.reports.feedback import feedback_html, feedback_text
from jaxguide.grading.reports.junit import junit_xml
from jaxguide.grading.reports.marks import rows_of
from jaxguide.grading.reports.overview import rates_of, report_html
from jaxguide.grading.reports.results_json import to_text

CUT_OFF = "The notebook is cut off: it ends in the middle, at line 3."


def _answer(name: str, lesson: str, verdict: Verdict = Verdict.PASSED) -> ExerciseResult:
    return dataclasses.replace(exercise(name, verdict), lesson=lesson)


def _graded(student: str, lesson: str, *results: ExerciseResult) -> SubmissionResult:
    return SubmissionResult(
        Path(f"class/{student}/{lesson}.ipynb"),
        student,
        lessons=[lesson],
        results=list(results),
    )


def _cut_off(student: str, lesson: str) -> SubmissionResult:
    return SubmissionResult(
        Path(f"class/{student}/{lesson}.ipynb"), student, State.UNREADABLE, digest="a" * 64, unreadable=CUT_OFF
    )


def class_of_two_lessons(*overrides: Override) -> BatchResult:
    """Return a batch: Bo sent both files, Ada a good and a truncated one, Cy a truncated one, Di one, Eve none."""
    rows, cols = _answer("two_samples", "rows"), _answer("train_step", "cols")
    submissions = [
        *(_cut_off("Ada", "cols"), _graded("Ada", "rows", rows)),
        *(_graded("Bo", "cols", cols), _graded("Bo", "rows", _answer("two_samples", "rows"))),
        _cut_off("Cy", "rows"),
        _graded("Di", "rows", _answer("two_samples", "rows")),
        SubmissionResult(Path(), "Eve", State.ABSENT),
    ]
    exercises = {one.name: (one.lesson, one.title, one.points) for one in (rows, cols)}
    applied = apply_overrides(submissions, overrides, exercises)
    return BatchResult(submissions, overrides=applied)


def _grades(batch: BatchResult) -> dict[str, dict[str, str]]:
    return {row["student"]: row for row in csv.DictReader(io.StringIO(grades_csv(batch)))}


def test_a_second_file_that_cannot_be_read_leaves_no_total_and_no_zero() -> None:
    rows = _grades(class_of_two_lessons())
    ada = rows["Ada"]
    assert (ada["state"], ada["score"], ada["two_samples"], ada["train_step"]) == ("unreadable", "", "2", "")
    assert (ada["two_samples: verdict"], ada["train_step: verdict"]) == ("passed", "not readable")
    assert [rows["Bo"][name] for name in ("state", "score")] == ["graded", "4"]
    # Students who sent one of two files get the points of that file.
    assert [rows["Di"][name] for name in ("state", "score", "train_step: verdict")] == ["graded", "2", "not handed in"]


def test_a_student_whose_one_file_cannot_be_read_did_hand_in() -> None:
    cy = _grades(class_of_two_lessons())["Cy"]
    assert (cy["state"], cy["score"]) == ("unreadable", "")
    assert (cy["two_samples: verdict"], cy["train_step: verdict"]) == ("not readable", "not readable")
    assert _grades(class_of_two_lessons())["Eve"]["two_samples: verdict"] == "not handed in"


def test_a_file_that_cannot_be_read_costs_nothing_where_every_exercise_has_a_mark() -> None:
    batch = class_of_two_lessons()
    batch.submissions.append(_cut_off("Bo", "copy"))
    bo = _grades(batch)["Bo"]
    assert (bo["state"], bo["score"]) == ("graded", "4")


def test_points_given_by_hand_fill_the_gap_and_are_called_so() -> None:
    given = (Override("Ada", "train_step", 1.0), Override("Cy", "two_samples", 1.0))
    batch = class_of_two_lessons(*given)
    rows = _grades(batch)
    assert [rows["Ada"][name] for name in ("score", "train_step", "train_step: verdict")] == ["3", "1", "given by hand"]
    cy = rows["Cy"]
    assert (cy["two_samples"], cy["two_samples: verdict"]) == ("1", "given by hand")
    assert (cy["score"], cy["train_step: verdict"]) == ("", "not readable")
    assert [(rate["column"].name, sum(rate["counts"].values())) for rate in rates_of(batch)] == [
        ("train_step", 1),
        ("two_samples", 3),
    ]


@pytest.mark.parametrize("kind", ["moodle", "canvas"])
def test_gradebooks_leave_the_mark_out_and_name_the_student(kind: str, tmp_path: Path) -> None:
    batch = class_of_two_lessons()
    make = {"moodle": moodle_csv, "canvas": canvas_csv}[kind]
    ada = next(row for row in csv.reader(io.StringIO(make(batch, "Homework"))) if "Ada" in row)
    assert "2" not in ada
    assert [row.student for row in rows_of(batch) if row.score is None] == ["Ada", "Cy", "Eve"]
    (tmp_path / "results.json").write_text(to_text(batch))
    done = CliRunner().invoke(main, ["export", kind, str(tmp_path), "--out", str(tmp_path / "out.csv")])
    assert "3 students have no mark:\n  Ada (unreadable)\n" in done.output, done.output


def test_junit_has_an_error_for_a_second_file_that_cannot_be_read() -> None:
    suites = {suite.get("name"): suite for suite in ET.fromstring(junit_xml(class_of_two_lessons()))}
    assert [suites["Ada"].get(name) for name in ("tests", "errors")] == ["2", "1"]
    (error,) = suites["Ada"].iter("error")
    assert (error.get("type"), error.text) == ("unreadable", CUT_OFF)


def test_the_report_counts_a_student_with_a_gap_as_not_readable() -> None:
    batch = class_of_two_lessons()
    assert [row.state for row in rows_of(batch)][:3] == [State.UNREADABLE, State.GRADED, State.UNREADABLE]
    page = report_html(batch)
    assert "<li><strong>2</strong> <span>not readable</span></li>" in page
    assert f"Ada: cols.ipynb: {CUT_OFF}" in page


def _feedback(batch: BatchResult, student: str) -> str:
    row = next(row for row in rows_of(batch) if row.student == student)
    said = feedback_text(row, batch)
    page = unescape(feedback_html(row, batch))
    assert [line for line in said.split("-" * 40)[0].split("\n")[1:] if line and line not in page] == []
    return said


def test_feedback_says_which_of_two_files_was_not_graded() -> None:
    ada = _feedback(class_of_two_lessons(), "Ada")
    assert f"\ncols.ipynb: not graded. {CUT_OFF}\nThere is no total, since not every answer could be read.\n" in ada
    assert "Nothing was graded" not in ada
    assert "2 of 2 points" in ada
    assert "of 4 points" not in ada
    given = _feedback(class_of_two_lessons(Override("Ada", "train_step", 1.0)), "Ada")
    assert f"3 of 4 points\ncols: 1 of 2 points\nrows: 2 of 2 points\ncols.ipynb: not graded. {CUT_OFF}\n" in given
    assert "no total" not in given


def test_feedback_of_one_file_that_cannot_be_read_is_about_all_of_it() -> None:
    assert f"Nothing was graded. {CUT_OFF}" in _feedback(class_of_two_lessons(), "Cy")
    given = _feedback(class_of_two_lessons(Override("Cy", "two_samples", 1.0)), "Cy")
    assert f"Nothing was graded; the points were given by hand. {CUT_OFF}\nThere is no total" in given


def test_feedback_of_who_sent_nothing_and_was_given_points_says_both() -> None:
    assert "\nNothing was handed in.\n" in _feedback(class_of_two_lessons(), "Eve")
    eve = _feedback(class_of_two_lessons(Override("Eve", "two_samples", 1.0, "oral exam")), "Eve")
    assert "1 of 4 points\nNothing was handed in; the points were given by hand.\n" in eve
    assert "Your instructor gave these points. oral exam" in eve


def test_points_above_what_an_exercise_gives_count_and_are_noted() -> None:
    above = (Override("Di", "two_samples", 50.0), Override("Cy", "train_step", 2.5), Override("Eve", "train_step", 3.0))
    batch = class_of_two_lessons(*above)
    assert _grades(batch)["Di"]["score"] == "50"
    assert "Points by hand above those of the exercise: change them if no bonus is meant" in report_html(batch)
    words = " ".join(plain_text(GradeTable(batch.submissions), 100).split())
    for said in (
        "two_samples: 50 of 2 points, given by hand",
        "train_step: 2.5 of 2 points",
        "train_step: 3 of 2 points",
    ):
        assert said in words
    full = class_of_two_lessons(Override("Di", "train_step", 2.0))
    assert "above the points" not in report_html(full)
    assert "given by hand" not in plain_text(GradeTable(full.submissions), 100)


def test_the_graders_own_points_are_never_above_what_an_exercise_gives() -> None:
    third = dataclasses.replace(exercise("two_samples", Verdict.PASSED), points=2 / 3, score=0.6667)
    assert _graded("Di", "rows", third).above_the_points == []
