"""Test that students read no details of code that may have learned hidden inputs."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
from made_class import made_class
from needs import lacks
from small_course import ANSWERS, write_course

from jaxguide.course.books.library import Course, load_course
from jaxguide.course.cards import Card
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.grade_class import ClassRun, Order
from jaxguide.grading.batch.grader import Grader, GradeSettings
from jaxguide.grading.batch.store import Store
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.exports.gradescope import GradingProgress, gradescope_results
from jaxguide.grading.intake.file_to_grade import ReadEntry
from jaxguide.grading.isolation import MEDIUM, PROCESS, STRONG, IsolationError, find_tier
from jaxguide.grading.reports import batch_to_plain, read_results, write_reports
from jaxguide.grading.reports.misconceptions import misconceptions_of
from jaxguide.grading.reports.overview import report_html
from jaxguide.grading.reports.results_json import batch_from_plain

WHY = "Details are left out, because hidden checks may have run before your code did"
# Each way writes the word where a student could read it, without having seen a hidden input itself.
TELLS = """
# %%
raise RuntimeError("telltale")

# %%
def double(x):
    print("telltale")
    raise ValueError("telltale")

# %%
def triple(x):
    return {"telltale": x}

# %%
def quadruple(x):
    raise type("Etelltale", (Exception,), {})()

# %%
def slope(f, x):
    print("telltale")
    return 2 * x

# %%
def pair(x):
    return "telltale"
"""


def in_tier(name: str) -> GradeSettings:
    try:
        find_tier(name)
    except IsolationError as problem:
        lacks(str(problem))
    return GradeSettings(tier=name, trust_submissions=True)


def run(course: Course, folder: Path, settings: GradeSettings, **sources: str) -> dict[str, SubmissionResult]:
    """Grade the class with these further files, one after the other, and write the reports."""
    (folder / "class").mkdir(exist_ok=True)
    for name, source in sources.items():
        (folder / "class" / f"{name}.py").write_text(source)
    run = ClassRun(Order([folder / "class"], course, folder / "results", settings, jobs=1))
    with Store(folder / "results") as store:
        run.grade(store)
        batch = run.result(store)
    write_reports(batch, folder / "results")
    return {one.student: one for one in batch.submissions}


def feedback(folder: Path, student: str) -> str:
    found = sorted((folder / "results" / "feedback").glob(f"{student}.*"))
    assert len(found) == 2
    return "\n".join(re.sub(r"\s+", " ", path.read_text()) for path in found)


@pytest.mark.parametrize(
    "tier", [STRONG, pytest.param(MEDIUM, marks=pytest.mark.long), pytest.param(PROCESS, marks=pytest.mark.long)]
)
def test_in_a_class_with_hidden_checks_nobody_is_shown_details(course: Course, tmp_path: Path, tier: str) -> None:
    rows = run(course, tmp_path, in_tier(tier), ada=TELLS, bob=TELLS)
    for student in ("ada", "bob"):
        assert {one.withheld for one in rows[student].results} == {True}
        said = feedback(tmp_path, student)
        assert "telltale" not in said
        assert WHY in said
        for written in ("It multiplies three numbers by 2.0.", "It is right for the loss of the lesson.", "One factor"):
            assert written in said
        assert [one.verdict for one in rows[student].results] == [
            *(Verdict.ERROR, Verdict.FAILED, Verdict.ERROR, Verdict.NOT_ATTEMPTED, Verdict.PASSED, Verdict.FAILED)
        ]
    # The instructor sees everything, and so do students if the instructor says so.
    batch = read_results(tmp_path / "results")
    plain = batch_to_plain(batch)["submissions"][1]
    assert "telltale" in json.dumps(plain["exercises"])
    assert "telltale" in plain["repairs"][0]
    assert plain["withheld_repairs"] == plain["repairs"]
    write_reports(batch, tmp_path / "results", reveal=True)
    assert feedback(tmp_path, "bob").count("telltale") > 6
    assert WHY not in feedback(tmp_path, "bob")


@pytest.mark.long
def test_a_file_alone_is_shown_in_detail_until_others_come_to_the_same_store(course: Course, tmp_path: Path) -> None:
    rows = run(course, tmp_path, in_tier(MEDIUM), ada=TELLS)
    assert {one.withheld for one in rows["ada"].results} == {False}
    assert "telltale" in feedback(tmp_path, "ada")
    rows = run(course, tmp_path, in_tier(MEDIUM), bob=TELLS)
    assert {one.withheld for one in rows["ada"].results} == {False}
    assert {one.withheld for one in rows["bob"].results} == {True}
    assert "telltale" not in feedback(tmp_path, "bob")


def test_without_hidden_checks_a_class_is_shown_everything(course: Course, tmp_path: Path) -> None:
    only = dataclasses.replace(in_tier(MEDIUM), only=frozenset({"pair"}))  # which has none
    rows = run(course, tmp_path, only, ada=TELLS, bob=TELLS)
    assert {one.withheld for row in rows.values() for one in row.results} == {False}
    assert "telltale" in feedback(tmp_path, "bob")


@pytest.fixture(scope="module")
def two_lessons(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Return the small course with its lesson twice; the exercises of the second begin with `other_`."""
    folder = tmp_path_factory.mktemp("two")
    write_course(folder)
    for room in ("exercises", "solutions"):
        text = (folder / room / "small_numbers.py").read_text()
        (folder / room / "small_other.py").write_text(with_other_names(text))
    return load_course(folder)


def with_other_names(text: str) -> str:
    return re.sub(r"\b(?=(double|triple|quadruple|quintuple|slope|pair)(\b|s_|_))", "other_", text)


def test_the_second_lesson_of_a_file_runs_after_the_hidden_checks_of_the_first(two_lessons: Course) -> None:
    source = "\n\n".join([ANSWERS["double"], with_other_names(ANSWERS["double"]), "other_slope = 3\n"])
    told: list[tuple[str, bool]] = []

    def tell(path: Path, result: ExerciseResult) -> None:
        told.append((result.name, result.withheld))

    # With `tell`, the key's answers are graded first, which does not count.
    grader = Grader(two_lessons, in_tier(MEDIUM), tell)
    result, passed = grader.grade_controlled(ReadEntry(Path("ada.py"), source.encode()))
    assert (passed, result.lessons) == (1, ["small_numbers", "small_other"])
    shown = {(one.name, one.withheld) for one in result.results}
    assert shown == {(name, name.startswith("other_")) for name in two_lessons.exercises}
    assert set(told) == shown
    assert result.repairs
    assert result.student_repairs == []


def test_gradescope_is_told_no_details_either() -> None:
    shown = [one for row in made_class().submissions for one in row.results if one.verdict is Verdict.FAILED]
    held = [dataclasses.replace(one, withheld=True, printed="telltale", note="telltale") for one in shown[:9]]
    for one in held:
        one.checks[0].got = one.checks[0].message = one.checks[0].call = "telltale"
    plain = gradescope_results(GradingProgress(held, done=True))
    assert "telltale" not in json.dumps(plain)
    assert WHY in " ".join(plain["tests"][0]["output"].split())
    assert "telltale" in Card(held[0], reveal=True).text()


def test_the_report_for_the_class_shows_no_details_that_students_do_not_see() -> None:
    batch = made_class()
    assert "<details open><summary>An example</summary>" in report_html(batch)
    for one in batch.submissions:
        for result in one.results:
            result.withheld = True
    page = report_html(batch)
    assert "<details open><summary>An example" not in page
    assert "<details><summary>An example that students do not see</summary>" in page
    seen = batch.submissions[0].results[0] = dataclasses.replace(batch.submissions[7].results[0], withheld=False)
    assert [one.example.result for one in misconceptions_of(batch) if not one.example.is_private] == [seen]


def test_results_from_before_there_was_such_a_mark_still_load() -> None:
    plain = batch_to_plain(made_class())
    for one in plain["submissions"]:
        del one["withheld_repairs"]
        for exercise in one["exercises"]:
            del exercise["withheld"]
    batch = batch_from_plain(plain)
    assert not any(result.withheld for one in batch.submissions for result in one.results)
    stored = batch.submissions[0].to_plain(str)
    del stored["withheld_repairs"]
    assert SubmissionResult.from_plain(stored, lambda text: text).withheld_repairs == []
