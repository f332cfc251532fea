"""Test that finished marks are told of, taken or kept if the store of results is lost or damaged."""

import contextlib
import json
import os
import pty
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tiny_course import BOOK, KEY

from jaxguide.cli import main
from jaxguide.grading.batch.store import NAME

RIGHT = 'def double(x):\n    """It is doubled."""\n    return [2 * x for _ in range(3) if x is not None][0] + 0 * x\n'
ARGUMENTS = ("class", "--course", "course", "--out", "results")
GUESS = "\n\ndef guess_shape():\n    return (2,)\n"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tiny course, a class of three, and its results, whose store is lost."""
    folder = tmp_path_factory.mktemp("graded")
    for name, text in (("exercises", BOOK), ("solutions", KEY)):
        (folder / "course" / name).mkdir(parents=True)
        (folder / "course" / name / "tiny.py").write_text(text)
    (folder / "class").mkdir()
    for student, source in {"ada": RIGHT + GUESS, "bob": RIGHT, "eve": "def double(x):\n    return x\n"}.items():
        (folder / "class" / f"{student}.py").write_text(source)
    with contextlib.chdir(folder):
        done = run("grade", *ARGUMENTS)
    assert done.exit_code == 0, done.output
    (folder / "results" / NAME).unlink()
    return folder


@pytest.fixture
def results(graded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the results folder in a copy of that folder, which becomes the current one."""
    shutil.copytree(graded, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Path("results")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def grade(*more: object) -> Result:
    return run("grade", *ARGUMENTS, *more)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*") if path.name != NAME}


def document(results: Path) -> dict[str, Any]:
    return json.loads((results / "results.json").read_text("utf-8"))


def said(done: Result) -> str:
    return " ".join(done.stderr.split())


def test_without_an_option_nothing_is_graded_and_no_file_changes(results: Path) -> None:
    before = files(results)
    for _time in range(2):  # the first leaves an empty store
        done = grade()
        assert done.exit_code == 2
        assert "has the marks of 3 files that the store `grading.sqlite` does not have; 3 of them fit" in said(done)
        assert "--take-marks" in said(done)
        assert "--leave-marks" in said(done)
        assert files(results) == before
    done = run("report", results, "--out", "again")
    assert done.exit_code == 0, done.output
    assert files(Path("again")).items() <= before.items()


def test_marks_that_are_taken_are_all_and_are_not_graded_again(results: Path) -> None:
    before = files(results)
    done = grade("--take-marks")
    assert (done.exit_code, "3 marks were taken." in done.stderr) == (0, True), done.output
    assert files(results) == before, "a restored row differs, or was graded again, which takes another time"
    done = grade()
    assert (done.exit_code, "taken" in done.stderr) == (0, False)
    assert files(results) == before


def test_only_a_file_that_has_not_changed_is_taken(results: Path) -> None:
    before = document(results)
    Path("class", "bob.py").write_text(RIGHT + "# more\n")
    done = grade("--take-marks")
    assert "2 marks were taken." in done.stderr
    after = document(results)
    assert [one["wall_s"] for one in after["submissions"]][::2] == [one["wall_s"] for one in before["submissions"]][::2]
    assert after["submissions"][1]["digest"] != before["submissions"][1]["digest"]
    assert json.loads((results / "results.old.json").read_text("utf-8")) == before


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--seed", "7"], "They were given with the seed 0."),
        (["--all-or-nothing"], "They were given with other settings."),
        (["--only", "double"], "They were given with other settings."),
    ],
)
def test_marks_that_were_given_otherwise_are_not_taken(results: Path, more: list[str], why: str) -> None:
    before = files(results)
    for option in ([], ["--take-marks"]):
        done = grade(*more, *option)
        assert (done.exit_code, files(results)) == (2, before)
        assert f"0 of them fit these files, course, seed and settings. {why}" in said(done)


def test_marks_of_another_key_are_not_taken(results: Path) -> None:
    key = Path("course", "solutions", "tiny.py")
    key.write_text(key.read_text() + "\n# %%\nx = 1\n")
    assert "They were given with another course, key or version of JAX." in said(grade())


@pytest.mark.long
def test_marks_that_are_left_are_kept_under_another_name(results: Path) -> None:
    before = (results / "results.json").read_bytes()
    (results / "results.old.json").write_text("{}")
    done = grade("--leave-marks")
    assert done.exit_code == 0, done.output
    assert "The earlier results are kept as " in said(done)
    assert (results / "results.old-2.json").read_bytes() == before
    assert (results / "results.old.json").read_text() == "{}"
    assert document(results)["complete"] is True
    assert grade("--take-marks", "--leave-marks").exit_code == 2


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "more points than the checks earn": lambda one: one["exercises"][0].update(score=2.0),
    "points of an exercise": lambda one: one["exercises"][0].update(points=9),
    "a required check is not": lambda one: (
        [check.update(required=False) for check in one["exercises"][0]["checks"]],
        one["exercises"][0]["checks"][-1].update(verdict="passed", weight=1.0),
        one["exercises"][0].update(score=0.5),
    ),
    "a check weighs more": lambda one: (
        [check.update(required=False, verdict="passed") for check in one["exercises"][0]["checks"]],
        one["exercises"][0].update(score=2.0),
    ),
    "a check is gone": lambda one: one["exercises"][0]["checks"].pop(),
    "an exercise is gone": lambda one: one["exercises"].pop(),
    "a guess that is right": lambda one: one["exercises"][1].update(score=1),
    "another lesson": lambda one: one.update(lessons=["other"]),
    "another tier": lambda one: one.update(tier="process"),
    "a time below 0": lambda one: one.update(wall_s=-1),
    "another sum": lambda one: one.update(points=4),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_row_that_contradicts_itself_is_graded_again(results: Path, change: str) -> None:
    plain = document(results)
    CHANGES[change](plain["submissions"][2])
    (results / "results.json").write_text(json.dumps(plain))
    assert "has the marks of 3 files that the store `grading.sqlite` does not have; 2 of them fit" in said(grade())


DAMAGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "a text for a number": lambda plain: plain["submissions"][0].update(cpu_s="1"),
    "NaN": lambda plain: plain["submissions"][0].update(cpu_s=float("nan")),
    "a number for a text": lambda plain: plain["submissions"][0]["exercises"][0]["checks"][0].update(message=3),
    "a fingerprint": lambda plain: plain["submissions"][0].update(fingerprints={"double": "12"}),
    "a cell": lambda plain: plain["submissions"][0]["cells"][0].update(label=None),
    "a cell's fate": lambda plain: plain["submissions"][0]["cells"][0].update(fate="flew"),
    "a habit": lambda plain: plain["submissions"][0].update(habits={"double": {"tries": 1, "hints": None}}),
    "a layer": lambda plain: plain["layers"][0].update(holds="yes"),
    "a version": lambda plain: plain["versions"].update(jax=12),
    "no settings": lambda plain: plain.pop("settings"),
    "no digest": lambda plain: plain["submissions"][0].pop("digest"),
    "rows that are none": lambda plain: plain.update(submissions=3),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_document_is_not_overwritten(results: Path, damage: str) -> None:
    plain = document(results)
    DAMAGES[damage](plain)
    (results / "results.json").write_text(json.dumps(plain))
    before = files(results)
    for option in ([], ["--take-marks"]):
        done = grade(*option)
        assert (done.exit_code, files(results)) == (2, before)
        assert "may have marks that the store" in said(done)
        assert "damaged" in said(done) or "not valid JSON" in said(done)
        assert "Take those" not in said(done)
    done = run("report", results / "results.json")
    assert done.exit_code == 2
    assert not isinstance(done.exception, Exception), done.exception


def test_points_given_by_hand_are_not_taken_for_the_graders(results: Path) -> None:
    (results / "overrides.csv").write_text(
        "student,exercise,points,comment\neve,double,1.5,nearly\nada,double,1,late\n"
    )
    assert grade("--take-marks").exit_code == 0
    before = files(results)
    assert document(results)["overrides"][0]["was"] == 0.0
    (results / NAME).unlink()
    assert "3 marks were taken." in grade("--take-marks").stderr
    assert files(results) == before
    (results / "overrides.csv").unlink()
    assert grade().exit_code == 0
    assert [one["score"] for one in document(results)["students"]] == [3, 2, 0]


@pytest.mark.long
def test_nobody_is_asked_if_the_store_has_the_marks(results: Path) -> None:
    grade("--take-marks")
    assert grade("--seed", "7").exit_code == 0
    Path("class", "bob.py").unlink()
    assert grade().exit_code == 0
    assert list(results.glob("*.old*")) == []


BROKEN: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("not a database, for certain"),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "a page": lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\xff" * (path.stat().st_size - 4096)),
    "no table": lambda path: subprocess.run(
        [sys.executable, "-c", "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('DROP TABLE batch')", path],
        check=True,
    ),
    "a batch that is none": lambda path: subprocess.run(
        [
            *(sys.executable, "-c"),
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
            "c.execute(\"UPDATE batch SET plain = '{}'\")",
            path,
        ],
        check=True,
    ),
}


@pytest.mark.parametrize("damage", BROKEN)
def test_a_damaged_store_says_where_the_marks_still_are(results: Path, damage: str) -> None:
    grade("--take-marks")
    BROKEN[damage](results / NAME)
    before = files(results)
    done = run("report", results)
    assert done.exit_code == 2
    command = f"`jaxguide report {results / 'results.json'}` writes the reports from it."
    assert f"still has the marks of 3 files: {command}" in said(done)
    if damage != "a batch that is none":  # grading replaces it
        done = grade()
        assert done.exit_code == 3
        assert "grading.sqlite` is damaged or not a store of results. Move it away" in said(done)
        assert f"still has the marks of 3 files: {command}" in said(done)
    assert files(results) == before


def test_a_damaged_store_without_another_copy_names_none(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("not a database, for certain")
    done = run("report", tmp_path)
    assert (done.exit_code, "still" in said(done)) == (2, False)


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)


@pytest.mark.long
@pytest.mark.parametrize(("typed", "word", "status"), [("y", "taken", 0), ("n", "kept", 0), ("\x03", "Stopped", 130)])
def test_on_a_terminal_the_question_is_asked(
    results: Path, terminal: tuple[int, int], typed: str, word: str, status: int
) -> None:
    ours, theirs = terminal
    before = files(results)
    code = "import fcntl, runpy, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    code += "runpy.run_module('jaxguide', run_name='__main__', alter_sys=True)"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "grade", *ARGUMENTS],
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    answered = False
    while True:
        waits = not select.select([ours], [], [], 1.0)[0]
        # Python's readline misses a Ctrl-C that comes just before it waits for input, so press it again.
        if b"Take those that fit?" in shown and (not answered or (waits and typed == "\x03")):
            os.write(ours, typed.encode() + (b"" if typed == "\x03" else b"\n"))
            answered = True
        if not waits:
            try:
                shown += os.read(ours, 4096)
            except OSError:
                break
    assert process.wait() == status, shown
    assert word.encode() in shown
    if word != "kept":
        assert files(results) == before


def test_a_copy_in_another_folder_is_not_overwritten_either(results: Path) -> None:
    grade("--take-marks")
    other = Path("other")
    other.mkdir()
    shutil.copy(results / "results.json", other)
    done = grade("--out", other)
    assert (done.exit_code, "3 of them fit" in said(done)) == (2, True)
