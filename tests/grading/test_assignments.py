"""Test that a lesson is an assignment: graded alone, with totals of its own, and without a change to other marks."""

import csv
import json
import re
import shutil
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
