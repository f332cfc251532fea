"""Test the commands that write a class's reports, write them again without grading, and export marks."""

import csv
import json
import shutil
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result
from small_course import ANSWERS, write_course

from jaxguide.cli import main
from jaxguide.course.limits import Limits
from jaxguide.grading.exports.gradescope import AutograderSettings
from jaxguide.grading.reports.results_json import SCHEMA


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grade a class of three, one of them absent, and return the folder."""
    root = tmp_path_factory.mktemp("class")
    (root / "course").mkdir()
    write_course(root / "course")
    for student, answers in {
        "ada": ANSWERS,
        "bob": {**ANSWERS, "double": "def double(x):\n    return 2 * x if len(x) == 3 else 3 * x\n"},
    }.items():
        path = root / "handed in" / student / "small_numbers.py"
        path.parent.mkdir(parents=True)
        path.write_text("\n\n".join(f"# %%\n{text}" for text in answers.values()))
    (root / "roster.csv").write_text("student\nada\nbob\ncyn\n")
    done = run(
        *("grade", root / "handed in", "--out", root / "results", "--course", root / "course", "--seed", 7),
        *("--roster", root / "roster.csv", "--trust-submissions"),
    )
    assert done.exit_code in (0, 1), done.output
    return root


def _files(folder: Path) -> dict[str, bytes]:
    names = (
        "results.json",
        "grades.csv",
        "junit.xml",
        "report.html",
        *(p.name for p in (folder / "feedback").iterdir()),
    )
    return {name: next(folder.rglob(name)).read_bytes() for name in names}


def test_grading_leaves_every_report(graded: Path) -> None:
    results = graded / "results"
    assert {"ada.html", "ada.txt", "bob.html", "cyn.txt"} <= {path.name for path in (results / "feedback").iterdir()}
    plain = json.loads((results / "results.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(plain)
    marks = {one["student"]: one["score"] for one in plain["students"]}
    assert marks == {"ada": 7.0, "bob": 6.0, "cyn": None}
    suites = ET.fromstring((results / "junit.xml").read_text("utf-8"))
    assert (suites.get("failures"), suites.get("skipped"), suites.get("errors")) == ("1", "1", "0")
    page = (results / "report.html").read_text("utf-8")
    assert "Fails: It multiplies any numbers by" in page


def test_a_failed_hidden_check_is_told_to_the_instructor_and_named_to_the_student(graded: Path) -> None:
    plain = json.loads((graded / "results" / "results.json").read_text("utf-8"))
    bob = next(one for one in plain["submissions"] if one["student"] == "bob")
    failed = next(c for c in bob["exercises"][0]["checks"] if c["hidden"])
    assert failed["got"]
    for name in ("bob.html", "bob.txt"):
        said = " ".join((graded / "results" / "feedback" / name).read_text("utf-8").split())
        assert "It multiplies any numbers by 2.0." in said
        assert failed["got"] not in said
        assert failed["expected"] not in said


def test_reports_written_again_are_the_same(graded: Path, tmp_path: Path) -> None:
    before = _files(graded / "results")
    assert run("report", graded / "results", "--out", tmp_path / "again").exit_code == 0
    assert _files(tmp_path / "again") == before
    copy = shutil.copytree(graded / "results", tmp_path / "copy", ignore=shutil.ignore_patterns("grading.*"))
    done = run("report", copy / "results.json", "--out", tmp_path / "from-json")
    assert done.exit_code == 0, done.output
    assert _files(tmp_path / "from-json") == before


def test_reports_written_again_take_points_given_by_hand_since(graded: Path, tmp_path: Path) -> None:
    results = shutil.copytree(graded / "results", tmp_path / "results")
    (results / "overrides.csv").write_text("student,exercise,points,comment\nbob,double,0.5,nearly\n")
    done = run("report", results, "--course", graded / "course")
    assert done.exit_code == 0, done.output
    rows = {row["student"]: row for row in csv.DictReader((results / "grades.csv").read_text("utf-8").splitlines())}
    assert (rows["bob"]["double"], rows["bob"]["score"], rows["bob"]["overrides"]) == ("0.5", "6.5", "double: nearly")
    assert "nearly" in (results / "feedback" / "bob.txt").read_text("utf-8")
    (results / "overrides.csv").write_text("student,exercise\n")
    refused = run("report", results, "--course", graded / "course")
    assert (refused.exit_code, "no column `points`" in refused.output) == (2, True)


def test_reports_with_names_and_revealed_checks_are_written_when_asked(graded: Path, tmp_path: Path) -> None:
    run("report", graded / "results", "--out", tmp_path, "--names", "--reveal")
    assert "Students: bob" in (tmp_path / "report.html").read_text("utf-8")
    plain = json.loads((tmp_path / "results.json").read_text("utf-8"))
    bob = next(one for one in plain["submissions"] if one["student"] == "bob")
    failed = next(c for c in bob["exercises"][0]["checks"] if c["hidden"])
    assert failed["got"].split()[-1] in (tmp_path / "feedback" / "bob.txt").read_text("utf-8")


def test_where_there_are_no_results_the_command_says_so(tmp_path: Path) -> None:
    done = run("report", tmp_path)
    assert done.exit_code == 2
    assert "Grade first" in done.output
    (tmp_path / "results.json").write_text("[]")
    done = run("export", "moodle", tmp_path / "results.json")
    assert (done.exit_code, "Grade again" in done.output) == (2, True)


def test_gradebooks_are_exported_and_name_who_has_no_mark(graded: Path, tmp_path: Path) -> None:
    done = run("export", "moodle", graded / "results", "--item", "Homework", "--out", tmp_path / "moodle.csv")
    assert "cyn (absent)" in done.output
    rows = list(csv.DictReader((tmp_path / "moodle.csv").read_text("utf-8").splitlines()))
    assert {row["Username"]: row["Homework"] for row in rows} == {"ada": "7", "bob": "6", "cyn": ""}
    run("export", "canvas", graded / "results", "--item", "Homework (1)", "--out", tmp_path / "canvas.csv")
    table = list(csv.reader((tmp_path / "canvas.csv").read_text("utf-8").splitlines()))
    assert [row[5] for row in table] == ["Homework (1)", "7", "7", "6", ""]


def test_a_gradescope_autograder_is_exported_with_a_seed_of_its_own(graded: Path, tmp_path: Path) -> None:
    seeds = set()
    for name in ("a.zip", "b.zip"):
        done = run("export", "gradescope", "--course", graded / "course", "--only", "double", "--out", tmp_path / name)
        assert done.exit_code == 0, done.output
        with zipfile.ZipFile(tmp_path / name) as archive:
            settings = json.loads(archive.read("settings.json"))
        assert settings["only"] == ["double"]
        seeds.add(settings["seed"])
    assert len(seeds) == 2
    wrong = run("export", "gradescope", "--course", graded / "course", "--only", "doubel", "--out", tmp_path / "c.zip")
    assert (wrong.exit_code, "Did you mean `double`?" in wrong.output) == (2, True)


def test_a_gradescope_autograder_keeps_every_limit_that_is_asked_for(graded: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.zip"
    done = run(
        *("export", "gradescope", "--course", graded / "course", "--out", out),
        *("--limits", "output=1MB,idle=5,cpu=3"),
    )
    assert done.exit_code == 0, done.output
    with zipfile.ZipFile(out) as archive:
        settings = AutograderSettings.from_text(archive.read("settings.json").decode())
    assert settings.limits == Limits(cpu_s=3.0, idle_s=5.0, output_bytes=2**20)


def test_a_wheel_that_is_not_there_is_named_with_what_to_do(graded: Path, tmp_path: Path) -> None:
    export = ("export", "gradescope", "--course", graded / "course", "--out", tmp_path / "a.zip", "--requirement")
    done = run(*export, tmp_path / "missing.whl")
    assert (done.exit_code, (tmp_path / "a.zip").exists()) == (2, False)
    said = "".join(done.output.split())
    assert f"Wheelnotfound:{tmp_path}/missing.whl.Buildonewith`pipwheel--no-deps`" in said
    # pip fetches a wheel given by URL.
    assert run(*export, "jaxguide @ https://example.org/jaxguide-1-py3-none-any.whl").exit_code == 0
