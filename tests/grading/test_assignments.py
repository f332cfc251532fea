"""Test that a lesson is an assignment: graded alone, with totals of its own, and without a change to other marks."""

import csv
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from small_course import ANSWERS, write_course

from jaxguide.cli import main

RIGHT, WRONG = ANSWERS["double"], "def double(x):\n    return x\n"
OTHER = "def other_double(x):\n    return 2 * x\n"

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def two_lessons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a course with the small course's lesson twice; the exercises of the second begin with `other_`."""
    folder = tmp_path_factory.mktemp("two")
    write_course(folder)
    for room in ("exercises", "solutions"):
        text = (folder / room / "small_numbers.py").read_text()
        other = re.sub(r"\b(?=(double|triple|quadruple|quintuple|slope|pair)(\b|s_|_))", "other_", text)
        (folder / room / "small_other.py").write_text(other)
    return folder


@pytest.fixture
def run(two_lessons: Path, tmp_path: Path) -> Run:
    def run(*more: object, course: Path = two_lessons) -> Result:
        places = ["--course", course, "--out", tmp_path / "results"]
        return CliRunner().invoke(main, [str(one) for one in ("grade", tmp_path / "class", *places, *more)])

    return run


def hand_in(tmp_path: Path, **sources: str) -> None:
    (tmp_path / "class").mkdir(exist_ok=True)
    for name, source in sources.items():
        (tmp_path / "class" / f"{name.replace('__', '/')}.py").parent.mkdir(exist_ok=True)
        (tmp_path / "class" / f"{name.replace('__', '/')}.py").write_text(source)


def grades(tmp_path: Path) -> dict[str, dict[str, str]]:
    text = (tmp_path / "results" / "grades.csv").read_text("utf-8")
    return {row["student"]: row for row in csv.DictReader(text.splitlines())}


def document(tmp_path: Path) -> Any:
    return json.loads((tmp_path / "results" / "results.json").read_text("utf-8"))


def test_a_lesson_is_graded_alone_with_its_own_total(run: Run, tmp_path: Path) -> None:
    hand_in(tmp_path, ada=RIGHT, bob=f"{WRONG}\n\n{OTHER}", eve=OTHER)
    (tmp_path / "roster.csv").write_text("student\nada\nbob\neve\n")
    done = run("--lesson", "small_numbers", "--roster", tmp_path / "roster.csv")
    assert done.exit_code == 0, done.output
    found = grades(tmp_path)
    points = {row["points"] for row in found.values()}
    assert len(points) == 1
    assert {name: row["score"] for name, row in found.items()} == {"ada": "1", "bob": "0", "eve": ""}
    assert found["eve"]["state"] == "absent"
    assert "other_double" not in found["ada"]
    assert "sent nothing" not in done.output
    said = "Nothing was handed in for small_numbers. eve.py answers small_other, which is not graded here."
    assert said in re.sub(r"\s+", " ", (tmp_path / "results" / "feedback" / "eve.txt").read_text("utf-8"))
    assert "eve.py answers small_other" in (tmp_path / "results" / "report.html").read_text("utf-8")
    assert {one["student"]: one["lessons"] for one in document(tmp_path)["submissions"] if one["lessons"]} == {
        "ada": ["small_numbers"],
        "bob": ["small_numbers"],
    }


def test_a_selection_never_touches_other_marks(run: Run, tmp_path: Path) -> None:
    hand_in(tmp_path, ada=RIGHT, bob=f"{RIGHT}\n\n{OTHER}", eve=OTHER)
    assert run().exit_code == 0
    before = grades(tmp_path)
    for selection in (["--only", "double"], ["--lesson", "small_other"], ["--only", "other_pair"]):
        done = run(*selection)
        assert done.exit_code == 0, done.output
        assert grades(tmp_path) == before, selection
    hand_in(tmp_path, bob=f"{WRONG}\n\n{OTHER}")
    assert run("--only", "other_double").exit_code == 0
    assert grades(tmp_path) == before  # `double` was not asked
    assert run("--lesson", "small_numbers").exit_code == 0
    after = grades(tmp_path)
    assert (before["bob"]["double"], after["bob"]["double"], after["bob"]["other_double"]) == ("1", "0", "1")
    assert {name: row for name, row in after.items() if name != "bob"} == {
        name: row for name, row in before.items() if name != "bob"
    }
    assert CliRunner().invoke(main, ["report", str(tmp_path / "results")]).exit_code == 0
    assert grades(tmp_path) == after


def test_a_class_without_files_of_the_lesson_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    hand_in(tmp_path, eve=OTHER)
    done = run("--only", "double")
    assert done.exit_code == 2
    assert "No file answers any of these lessons: small_numbers." in done.stderr
    assert not (tmp_path / "results" / "results.json").exists()


def test_only_what_changed_is_graded_again(run: Run, tmp_path: Path, two_lessons: Path) -> None:
    course = tmp_path / "course"
    shutil.copytree(two_lessons, course)
    hand_in(tmp_path, ada=RIGHT, eve=OTHER)
    assert run(course=course).exit_code == 0
    rows = {one["student"]: one for one in document(tmp_path)["submissions"]}
    key = course / "solutions" / "small_other.py"
    key.write_text(key.read_text().replace("# %%", "# %%\nUNUSED = 1\n\n# %%", 1))
    assert run(course=course).exit_code == 0
    again = {one["student"]: one for one in document(tmp_path)["submissions"]}
    # The time that was measured tells whether it ran again.
    assert again["ada"] == rows["ada"]
    assert again["eve"] != rows["eve"]


def test_every_page_and_table_says_its_lessons(run: Run, tmp_path: Path) -> None:
    hand_in(tmp_path, ada=RIGHT, eve=f"{RIGHT}\n\n{OTHER}")
    done = run()
    assert "Lessons and their points: small_numbers (" in done.stdout
    found = grades(tmp_path)
    assert (found["ada"]["small_numbers: score"], found["ada"]["small_other: score"]) == ("1", "")
    assert (found["eve"]["small_numbers: score"], found["eve"]["small_other: score"]) == ("1", "1")
    text = (tmp_path / "results" / "feedback" / "ada.txt").read_text("utf-8")
    assert "small_numbers: 1 of " in text
    assert "small_other: no mark, of " in text
    assert "lesson small_other" in (tmp_path / "results" / "report.html").read_text("utf-8")
    assert document(tmp_path)["lessons"] == ["small_numbers", "small_other"]


def test_the_total_of_one_lesson_is_exported(run: Run, tmp_path: Path) -> None:
    hand_in(tmp_path, ada=RIGHT, eve=f"{RIGHT}\n\n{OTHER}")
    assert run().exit_code == 0

    def export(*more: str) -> tuple[str, dict[str, str]]:
        out = tmp_path / "canvas.csv"
        arguments = ["export", "canvas", str(tmp_path / "results"), "--students-are", "ID", "--out", str(out), *more]
        done = CliRunner().invoke(main, arguments)
        rows = csv.DictReader(out.read_text("utf-8").splitlines())
        return done.output, {row["Student"].strip(): row["jaxguide"] for row in rows}

    said, both = export()
    assert "the total of these lessons: small_numbers, small_other. Choose with --lesson." in said
    said, other = export("--lesson", "small_other")
    assert "Choose" not in said
    assert (both["eve"], other["eve"], other["ada"]) == ("2", "1", "")
    assert float(other["Points Possible"]) < float(both["Points Possible"])
    said, _rows = export("--lesson", "loops")
    assert "The results have no lesson `loops`, only these: small_numbers, small_other." in said


def test_what_changed_since_the_last_run_is_said(run: Run, tmp_path: Path, two_lessons: Path) -> None:
    hand_in(tmp_path, ada=WRONG, bob=RIGHT, eve=RIGHT)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "overrides.csv").write_text("student,exercise,points\nbob,double,0.5\n")
    assert "Since the last run" not in run("--only", "double").stdout
    assert "Since the last run" not in run("--only", "double").stdout
    hand_in(tmp_path, ada=RIGHT, bob=WRONG)
    (tmp_path / "class" / "eve.py").unlink()
    said = run("--only", "double").stdout
    assert "  ada: double 0 → 1\n" in said
    older = "Points by hand that are older than the student's file:\n  bob: double\n"
    assert older in said
    assert "  1 student of the last run is not in this one, and so not in the tables: eve\n" in said
    assert run().exit_code == 0
    assert CliRunner().invoke(main, ["report", str(tmp_path / "results"), "--course", str(two_lessons)]).exit_code == 0
    assert "older than the student" in (tmp_path / "results" / "report.html").read_text("utf-8")
    said = run().stdout
    assert "Since the last run" not in said
    assert older in said
    (tmp_path / "results" / "overrides.csv").write_text("student,exercise,points,comment\nbob,double,0.5,still\n")
    assert "older than" not in run().stdout


@pytest.mark.parametrize("has_roster", [False, True])
def test_one_student_can_be_graded_again_beside_the_others(
    run: Run, tmp_path: Path, two_lessons: Path, has_roster: bool
) -> None:
    hand_in(tmp_path, ada__hw=RIGHT, bob__hw=WRONG)
    (tmp_path / "roster.csv").write_text("student\nada\nbob\ncyn\n")
    options = ["--only", "double", *(["--roster", tmp_path / "roster.csv"] if has_roster else [])]
    assert run(*options).exit_code == 0
    before = grades(tmp_path)
    hand_in(tmp_path, bob__hw=RIGHT)
    command = ["grade", tmp_path / "class" / "bob", "--course", two_lessons, "--out", tmp_path / "results", *options]
    done = CliRunner().invoke(main, [str(one) for one in command])
    assert done.exit_code == 0, done.output
    assert "Since the last run:\n  bob: double 0 → 1\n" in done.stdout
    after = grades(tmp_path)
    assert after["bob"]["score"] == "1"
    assert {**after, "bob": before["bob"]} == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "eve.py").write_text(RIGHT)
    command[1] = tmp_path / "other"  # another class
    assert CliRunner().invoke(main, [str(one) for one in command[:6]]).exit_code == 0
    assert list(grades(tmp_path)) == ["eve"]


def test_points_by_hand_are_checked_alike_when_reports_are_written_again(run: Run, tmp_path: Path) -> None:
    hand_in(tmp_path, ada=RIGHT)
    assert run("--only", "double").exit_code == 0
    (tmp_path / "results" / "overrides.csv").write_text("student,exercise,points\nadda,double,0.5\n")
    refused = [run("--only", "double"), CliRunner().invoke(main, ["report", str(tmp_path / "results")])]
    for done in refused:
        assert done.exit_code == 2
        assert "`adda`, who handed in nothing and is not on the roster. Did you mean `ada`?" in done.stderr


def test_what_lessons_import_does_nothing(run: Run, tmp_path: Path) -> None:
    hand_in(tmp_path, ada=f"progress()\ncheck\nhint(None, 2)\nsolution()\n\n{RIGHT}")
    assert run("--only", "double").exit_code == 0
    assert grades(tmp_path)["ada"]["score"] == "1"


@pytest.fixture
def with_core(two_lessons: Path, tmp_path: Path) -> Path:
    """Return the course whose first lesson marks `double` and `triple` as its core."""
    course = tmp_path / "with_core"
    shutil.copytree(two_lessons, course)
    book = course / "exercises" / "small_numbers.py"
    book.write_text(re.sub(r'title="(double|triple)"', r'title="\1", core=True', book.read_text()))
    return course


def test_the_core_is_graded_alone_and_nothing_else_counts(run: Run, tmp_path: Path, with_core: Path) -> None:
    hand_in(tmp_path, ada=f"{RIGHT}\n\n{ANSWERS['pair']}", bob=f"{WRONG}\n\n{ANSWERS['slope']}", eve=OTHER)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "overrides.csv").write_text("student,exercise,points\nada,pair,7\nbob,triple,0.5\n")
    said = "Only the core of each lesson counts."
    everything = run("--lesson", "small_numbers", course=with_core)
    assert said not in everything.stdout
    before = grades(tmp_path)
    assert (before["ada"]["score"], before["bob"]["score"], before["ada"]["points"]) == ("8", "2.5", "7")
    for selection in (["--core", "--lesson", "small_numbers"], ["--only", "double"]):
        done = run(*selection, course=with_core)
        assert done.exit_code == 0, done.output
        assert said in done.stdout
        CliRunner().invoke(main, ["report", str(tmp_path / "results"), "--course", str(with_core)])
        found = grades(tmp_path)
        assert [(found[name]["score"], found[name]["points"]) for name in ("ada", "bob")] == [("1", "2"), ("0.5", "2")]
        assert "pair" not in found["ada"]
        assert said in (tmp_path / "results" / "feedback" / "ada.txt").read_text("utf-8")
        assert "only the core counts" in (tmp_path / "results" / "report.html").read_text("utf-8")
        assert document(tmp_path)["beyond"] == ["pair", "quadruple", "quintuple", "slope"]
    assert run("--lesson", "small_numbers", course=with_core).exit_code == 0
    assert grades(tmp_path) == before


def test_a_lesson_that_marks_no_core_is_all_core(run: Run, tmp_path: Path, with_core: Path) -> None:
    hand_in(tmp_path, eve=f"{RIGHT}\n\n{OTHER}")
    assert run("--core", course=with_core).exit_code == 0
    assert {name for name in ANSWERS if name in grades(tmp_path)["eve"]} == {"double", "triple"}
    assert {name for name in ANSWERS if f"other_{name}" in grades(tmp_path)["eve"]} == set(ANSWERS)
    shutil.rmtree(tmp_path / "results")
    assert "Only the core" not in run("--core").stdout
    assert document(tmp_path)["only"] is None
    assert "Give `--core` or `--only`, not both." in run("--core", "--only", "double").stderr


def test_an_autograder_for_gradescope_can_take_only_the_core(with_core: Path, tmp_path: Path) -> None:
    def export(*words: str) -> Result:
        out = ("--course", str(with_core), "--out", str(tmp_path / "a.zip"))
        return CliRunner().invoke(main, ["export", "gradescope", "--core", *words, *out])

    for lesson in ((), ("--lesson", "small_numbers")):
        assert export(*lesson).exit_code == 0
        with zipfile.ZipFile(tmp_path / "a.zip") as archive:
            only = json.loads(archive.read("settings.json"))["only"]
        assert sorted(only) == sorted(["double", "triple", *([] if lesson else map("other_{}".format, ANSWERS))])
    assert "Give `--core` or `--only`, not both." in export("--only", "double").stderr
