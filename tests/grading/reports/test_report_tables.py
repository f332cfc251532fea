"""Test that CSV and JUnit files are correct, and safe for spreadsheets and parsers whatever students write."""

import csv
import io
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from made_class import EVIL, EXERCISES, SECRET, made_class

from jaxguide.base.clean import clean
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.reports.csv_tables import canvas_csv, cell, grades_csv, moodle_csv
from jaxguide.grading.reports.junit import junit_xml
from jaxguide.grading.reports.marks import rows_of


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_grades_hold_one_row_for_each_student() -> None:
    rows = _rows(grades_csv(made_class()))
    batch = made_class()
    assert len(rows) == len({one.student for one in batch.counted})
    assert set(EXERCISES) < set(rows[0])
    ada = next(row for row in rows if row["student"] == "Ada")
    assert float(ada["score"]) == pytest.approx(sum(float(ada[name]) for name in EXERCISES))
    assert ada["points"] == "11"


def test_an_exercise_named_as_a_column_has_one_of_its_own() -> None:
    score = ExerciseResult("score", "Score", "rows", 4, Verdict.PASSED, 4.0)
    other = ExerciseResult("files", "Files", "rows", 2, Verdict.FAILED, 0.0)
    batch = BatchResult([SubmissionResult(Path("ada.py"), "Ada", State.GRADED, results=[score, other])])
    (ada,) = _rows(grades_csv(batch))
    assert [ada[name] for name in ("score", "score (exercise)", "files", "files (exercise)")] == [
        "4",
        "4",
        "ada.py",
        "0",
    ]


def test_no_mark_is_an_empty_cell_with_its_state_beside_it() -> None:
    rows = {row["student"]: row for row in _rows(grades_csv(made_class()))}
    fay = rows["Fay"]
    assert (fay["state"], fay["score"], fay["dropout_rows"]) == ("not graded", "", "")
    assert fay["dropout_rows: verdict"] == "not graded"
    assert fay["two_samples"] != ""
    absent = rows["Nobody"]
    assert (absent["state"], absent["score"]) == ("absent", "")
    assert [absent[name] for name in EXERCISES] == [""] * len(EXERCISES)
    assert rows[clean(EVIL)]["state"] == "unreadable"


def test_points_given_by_hand_count_and_are_named() -> None:
    bo = next(row for row in _rows(grades_csv(made_class())) if row["student"] == "Bo")
    assert bo["random_walk"] == "3"
    assert bo["overrides"] == "random_walk: the idea is right"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\t=", "\uff1d", "\r@"])
def test_no_cell_begins_as_a_formula(start: str) -> None:
    assert cell(f"{start}1+1").startswith("'")


def test_no_cell_of_any_table_begins_as_a_formula() -> None:
    batch = made_class()
    for text in (grades_csv(batch), moodle_csv(batch, "=Item", "-Username"), canvas_csv(batch, "@Item")):
        cells = [one for row in csv.reader(io.StringIO(text)) for one in row]
        assert not [one for one in cells if one.lstrip().startswith(("=", "+", "-", "@"))]
        assert not {c for c in text if ord(c) < 32} - {"\r", "\n"}
    assert "'=Absent" in grades_csv(batch)


def test_a_gradebook_of_moodle_leaves_missing_marks_empty() -> None:
    rows = {row["Email address"]: row for row in _rows(moodle_csv(made_class(), "Homework 1", "Email address"))}
    assert rows["Fay"]["Homework 1"] == ""
    assert rows["Nobody"]["Homework 1"] == ""
    assert float(rows["Ada"]["Homework 1"]) > 0


def test_a_gradebook_of_canvas_has_the_columns_and_the_row_of_points_that_canvas_asks_for() -> None:
    table = list(csv.reader(io.StringIO(canvas_csv(made_class(), "Homework 1 (4711)"))))
    assert table[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Homework 1 (4711)"]
    assert table[1] == ["    Points Possible", "", "", "", "", "11"]
    rows = {row[3]: row for row in table[2:]}
    assert rows["Fay"][5] == ""
    assert float(rows["Ada"][5]) > 0
    with pytest.raises(ValueError, match="SIS Login ID"):
        canvas_csv(made_class(), "x", "Email")


def test_whoever_has_no_mark_is_named_beside_the_gradebook() -> None:
    assert [row.student for row in rows_of(made_class()) if row.score is None] == ["Fay", EVIL, "=Absent", "Nobody"]


def test_junit_tells_failed_not_graded_and_not_attempted_apart() -> None:
    suites = ET.fromstring(junit_xml(made_class()))
    cases = {(suite.get("name"), case.get("name")): case for suite in suites for case in suite.iter("testcase")}
    batch = made_class()
    for one in (one for one in batch.counted if one.student in ("Chi", "Dag", "Eva")):
        for result in one.results:
            case = cases[one.student, result.name]
            tags = [child.tag for child in case]
            wanted = {"passed": [], "not attempted": ["skipped"]}.get(result.verdict.value, ["failure"])
            assert tags == wanted, (one.student, result.name)
    assert [child.tag for child in cases["Fay", "dropout_rows"]] == ["error"]
    assert [child.tag for child in cases["Nobody", "submission"]] == ["skipped"]
    assert [child.tag for child in cases[clean(EVIL), "submission"]] == ["error"]
    assert SECRET in ET.tostring(cases["Fay", "dropout_rows"], encoding="unicode")


def test_junit_counts_what_it_holds() -> None:
    suites = ET.fromstring(junit_xml(made_class()))
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suites.attrib[name]) == len(list(suites.iter(tag))) > 0
        assert int(suites.attrib[name]) == sum(int(suite.attrib[name]) for suite in suites)


def test_junit_takes_characters_that_xml_does_not_allow() -> None:
    batch = made_class()
    batch.submissions[2].student = "a\ufffe\x00\ud800]]>&<"
    assert ET.fromstring(junit_xml(batch))[2].get("name") == "a\ufffd\ufffd]]>&<"
