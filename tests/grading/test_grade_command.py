"""Test what `jaxguide grade` prints, writes and returns."""

import contextlib
import dataclasses
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from small_course import ANSWERS

from jaxguide.cli import main
from jaxguide.course.books.library import Course
from jaxguide.course.limits import Limits, LimitsError, parse_limits, write_limits
from jaxguide.grading.batch.store import Store
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.isolation.stack import LANDLOCK
from jaxguide.grading.workers import zygote as zygotes

RIGHT, WRONG = ANSWERS["double"], "def double(x):\n    return x\n"


@pytest.fixture
def arguments(course: Course, tmp_path: Path) -> Callable[..., list[str]]:
    """Return a function that makes the arguments to grade `class/` on one exercise of the small course."""
    (tmp_path / "class").mkdir()

    def make(*more: object) -> list[str]:
        folder, out = tmp_path / "class", tmp_path / "results"
        places = ["--course", course.folders.exercises.parent, "--out", out, "--only", "double"]
        return [str(argument) for argument in ("grade", folder, *places, *more)]

    return make


@pytest.fixture
def command(arguments: Callable[..., list[str]]) -> Callable[..., Result]:
    def run(*more: object) -> Result:
        return CliRunner().invoke(main, arguments(*more))

    return run


Command = Callable[..., Result]


def write(tmp_path: Path, **sources: str) -> None:
    for name, source in sources.items():
        (tmp_path / "class" / f"{name}.py").write_text(source)


def test_a_wrong_answer_is_graded_and_the_status_is_0(command: Command, tmp_path: Path) -> None:
    write(tmp_path, ada=RIGHT, bob=WRONG)
    done = command()
    assert done.exit_code == 0
    assert done.stderr.splitlines() == ["Graded 1 of 2."]
    assert "2 submissions" in done.stdout
    written = {path.name for path in (tmp_path / "results").iterdir()}
    assert {"results.json", "report.html", "grades.csv", "junit.xml", "feedback"} <= written


def test_a_file_that_cannot_be_read_makes_the_status_1(command: Command, tmp_path: Path) -> None:
    write(tmp_path, ada=RIGHT, bob="")
    done = command("--json")
    assert done.exit_code == 1
    assert "bob.py: The file is empty.\n" in done.stderr
    assert json.loads(done.stdout)["complete"] is False


def test_files_of_other_kinds_are_named_once_and_what_programs_lay_there_is_not(
    command: Command, tmp_path: Path
) -> None:
    write(tmp_path, ada=RIGHT)
    silent = [".DS_Store", "jaxguide-progress.json", "submission_metadata.yml", "roster.csv"]
    for name in ("ada.pdf", *silent):
        (tmp_path / "class" / name).write_text("student\nada\n")
    done = command("--roster", tmp_path / "class" / "roster.csv")
    pdf = tmp_path / "class" / "ada.pdf"
    why = "The file is neither a notebook (.ipynb) nor Python (.py)."
    assert f"1 file was passed over:\n  {pdf}: {why}\n" in done.stdout
    results = tmp_path / "results"
    assert json.loads((results / "results.json").read_text())["passed_over"] == [str(pdf)]
    assert (results / "report.html").read_text().count("ada.pdf") == 1


def test_marks_without_their_store_are_reported_and_never_overwritten(command: Command, tmp_path: Path) -> None:
    write(tmp_path, ada=RIGHT, bob=WRONG)
    assert command().exit_code == 0
    results = tmp_path / "results"
    (results / "grading.sqlite").unlink()
    before = {path: path.read_bytes() for path in results.rglob("*.*") if path.is_file()}
    for text in (None, "damaged"):
        if text is not None:
            (results / "results.json").write_text(text)
            before[results / "results.json"] = text.encode()
        done = command()
        assert done.exit_code == 2
        assert "has marks, but the store `grading.sqlite` beside it is missing" in done.stderr
        assert {path: path.read_bytes() for path in results.rglob("*.*") if path.is_file()} == before
    assert CliRunner().invoke(main, ["report", str(results)]).exit_code == 2
    (results / "results.json").unlink()
    assert command().exit_code == 0


def test_a_roster_lists_who_sent_nothing_and_the_status_stays_0(command: Command, tmp_path: Path) -> None:
    write(tmp_path, ada=RIGHT)
    (tmp_path / "roster.csv").write_text("student\nada\nzoe\n")
    done = command("--roster", tmp_path / "roster.csv")
    assert done.exit_code == 0
    assert "absent: sent nothing" in done.stdout
    assert "1 student sent nothing." in done.stdout
    assert "\n1 submission\n" in done.stdout
    assert "not on the roster" not in done.stdout


@pytest.mark.long
def test_students_whom_no_roster_names_are_told_of(command: Command, tmp_path: Path) -> None:
    write(tmp_path, **{f"student{number}": RIGHT for number in range(6)}, ada=RIGHT)
    (tmp_path / "roster.csv").write_text("student\nada\n")
    said = " ".join(command("--roster", tmp_path / "roster.csv").stdout.split())
    assert "6 students are not on the roster: student0, student1, student2, student3, student4, …" in said


@pytest.mark.long
def test_one_file_of_an_archive_is_graded_as_results_name_it(command: Command, tmp_path: Path) -> None:
    write(tmp_path)
    packed = tmp_path / "export.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("ada/answers.py", RIGHT)
        archive.writestr("bob/answers.py", WRONG)
    (ada, _bob) = json.loads(command(packed, "--json").stdout)["submissions"]
    assert ada["path"] == str(packed / "ada" / "answers.py")
    (again,) = json.loads(command(ada["path"], "--json", "--out", tmp_path / "again").stdout)["submissions"]
    assert (again["path"], again["score"]) == (ada["path"], ada["score"])
    done = command(packed / "zoe" / "answers.py")
    assert done.exit_code == 2
    assert "There is no submission `zoe/answers.py` in" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--only", "duoble"], "Did you mean `double`?"),
        (["--limits", "speed=3"], "There is no limit `speed`."),
        (["--limits", "cpu=fast"], "The limit `cpu` must be a number above 0"),
        (["--student-from", "*.py"], "does not say where the student's name is"),
        (["--jobs", "0"], "0 is not in the range"),
        (["--isolation", "medium"], "`--isolation` is gone"),
        (["--scheduler", "nonsense"], "`nonsense` is not the address of a Dask scheduler. Give one such as tcp://"),
    ],
)
def test_wrong_usage_is_said_and_the_status_is_2(command: Command, tmp_path: Path, more: list[str], said: str) -> None:
    write(tmp_path, ada=RIGHT)
    done = command(*more)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())
    assert not (tmp_path / "results").exists()


def test_tables_of_the_instructors_that_are_wrong_are_wrong_usage(command: Command, tmp_path: Path) -> None:
    write(tmp_path, ada=RIGHT)
    table = tmp_path / "table.csv"
    table.write_text("mark\n1\n")
    for option in ("--roster", "--overrides"):
        done = command(option, table)
        assert done.exit_code == 2
        assert "table.csv:1: " in done.stderr
    table.write_text("student,exercise,points\nadda,double,1\n")
    done = command("--overrides", table)
    assert "who handed in nothing and is not on the roster. Did you mean `ada`?" in " ".join(done.stderr.split())


def test_nothing_to_grade_is_wrong_usage(command: Command) -> None:
    done = command()
    assert (done.exit_code, "No notebook (.ipynb)" in done.stderr) == (2, True)


def test_what_lies_among_the_results_is_not_graded(command: Command, tmp_path: Path) -> None:
    write(tmp_path, ada=RIGHT)
    inside = tmp_path / "class" / "results"
    inside.mkdir()
    (inside / "old.py").write_text(WRONG)
    done = command("--out", inside, "--json")
    assert [one["student"] for one in json.loads(done.stdout)["students"]] == ["ada"]


def test_points_given_by_hand_survive_grading_again(command: Command, tmp_path: Path) -> None:
    write(tmp_path, ada=WRONG)
    command()
    (tmp_path / "results" / "overrides.csv").write_text("student,exercise,points,comment\nada,double,0.5,nearly\n")
    for _time in range(2):
        done = command("--json")
        (student,) = json.loads(done.stdout)["students"]
        assert student["score"] == 0.5
    write(tmp_path, ada=RIGHT)
    (student,) = json.loads(command("--json").stdout)["students"]
    assert student["score"] == 0.5


def test_a_folder_in_use_and_a_store_of_another_are_one_sentence(command: Command, tmp_path: Path) -> None:
    write(tmp_path, ada=RIGHT)
    with Store(tmp_path / "results"):
        done = command()
    assert done.exit_code == 3
    assert done.stderr.startswith("Error: Another grader is using")
    assert len(done.stderr.splitlines()) == 1


def test_reports_that_cannot_be_written_lose_no_marks(command: Command, tmp_path: Path) -> None:
    write(tmp_path, ada=RIGHT)
    (tmp_path / "results" / "results.json").mkdir(parents=True)
    done = command()
    assert done.exit_code == 3
    assert f"The marks are stored in `{tmp_path / 'results' / 'grading.sqlite'}`, but the reports" in done.stderr
    report = CliRunner().invoke(main, ["report", str(tmp_path / "results")])
    assert (report.exit_code, report.stderr.split(":")[1]) == (3, " The reports cannot be written")
    (tmp_path / "results" / "results.json").rmdir()
    done = command("--json")
    assert (done.exit_code, json.loads(done.stdout)["complete"]) == (0, True)


def test_a_folder_in_place_of_the_points_by_hand_is_told(command: Command, tmp_path: Path) -> None:
    write(tmp_path, ada=RIGHT)
    (tmp_path / "results" / "overrides.csv").mkdir(parents=True)
    done = command()
    assert (done.exit_code, "overrides.csv: cannot be read: Is a directory." in done.stderr) == (2, True)


def test_where_isolation_is_incomplete_submissions_must_be_trusted(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find_isolation()
    parts = tuple(part for part in found.parts if part != LANDLOCK)
    incomplete = dataclasses.replace(found, parts=parts, missing=(f"{LANDLOCK}: not there",))
    for module in ("batch.grader", "isolation.self_test"):
        monkeypatch.setattr(f"jaxguide.grading.{module}.find_isolation", lambda: incomplete)
    write(tmp_path, ada=RIGHT)
    done = command()
    assert done.exit_code == 3
    assert re.search("completely: Landlock: not there.*with --trust-submissions", done.stderr)
    assert len(done.stderr.splitlines()) == 1
    done = command("--trust-submissions")
    assert done.exit_code == 0
    assert done.stderr.startswith("Submissions are not isolated completely: Landlock: not there.")


def test_who_stops_it_before_it_grades_is_told_as_later(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    write(tmp_path, ada=RIGHT)
    monkeypatch.setattr("jaxguide.cli.grade.read_course", stop)
    done = command()
    assert (done.exit_code, done.stderr) == (130, "Stopped. Run the same command again to continue.\n")


@pytest.mark.long
def test_a_broken_grader_has_a_status_of_its_own(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, ada=RIGHT)
    zygotes.close_zygote()
    for module in ("processes", "zygote"):  # workers and the zygote are started with a program that ends at once
        monkeypatch.setattr(f"jaxguide.grading.workers.{module}.command", lambda _module: ["/bin/false"])
    done = command()
    assert done.exit_code == 3
    assert "No student is at fault." in done.stderr
    written = json.loads((tmp_path / "results" / "results.json").read_text())
    assert written["complete"] is False
    assert written["students"][0]["score"] is None


def start(arguments: list[str], **options: object) -> "subprocess.Popen[str]":
    # Background jobs of a shell and their children ignore Ctrl-C; a grader in a terminal does not.
    code = "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "runpy.run_module('jaxguide', run_name='__main__', alter_sys=True)"
    return subprocess.Popen([sys.executable, "-c", code, *arguments], text=True, **options)  # type: ignore


def rows_in(path: Path) -> int:
    import sqlite3

    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection, connection:
            return int(connection.execute("SELECT count(*) FROM submissions").fetchone()[0])
    except sqlite3.Error:
        return 0


def wait_for_rows(process: "subprocess.Popen[str]", path: Path) -> None:
    while not rows_in(path):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_stopped_at_any_moment_it_goes_on(
    arguments: Callable[..., list[str]], command: Command, tmp_path: Path, number: signal.Signals
) -> None:
    write(tmp_path, ada=RIGHT, zoe="def double(x):\n    while True: pass\n")
    limits = ("--limits", "cpu=600", "--jobs", "1")
    process = start(arguments(*limits), stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    wait_for_rows(process, tmp_path / "results" / "grading.sqlite")
    process.send_signal(number)
    stdout, stderr = process.communicate()
    if number is not signal.SIGKILL:
        assert process.returncode == 130
        *said, last = stderr.splitlines()
        assert last == "Stopped. Run the same command again to continue."
        assert said in ([], ["Graded 1 of 2."])  # the row is there before the line
        assert "Not graded yet" in " ".join(stdout.split())
    write(tmp_path, zoe=RIGHT)
    before = rows_in(tmp_path / "results" / "grading.sqlite")
    done = command(*limits, "--json")
    assert (done.exit_code, before) == (0, 1)
    assert json.loads(done.stdout)["complete"] is True


def test_a_pipe_gets_a_line_after_each_tenth(command: Command, tmp_path: Path) -> None:
    write(tmp_path, **{f"student{number}": "" for number in range(21)}, ada=RIGHT)
    counts = [line for line in command().stderr.splitlines() if line.startswith("Graded")]
    assert counts == [f"Graded {done} of 22." for done in range(3, 22, 3)]


@pytest.mark.long
def test_a_terminal_shows_a_bar(arguments: Callable[..., list[str]], tmp_path: Path) -> None:
    write(tmp_path, ada=RIGHT, bob="")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    process = start(arguments(), stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    process.wait()
    os.close(ours)
    assert b"Grading" in shown
    assert b"2/2" in shown
    assert b"1 failed" in shown
    assert b"Graded" not in shown


def test_every_limit_stands_in_the_help() -> None:
    said = CliRunner().invoke(main, ["grade", "--help"]).stdout
    names = [one.split("=")[0] for one in write_limits(Limits(*range(1, 9))).split(",")]
    assert len(names) == 8
    assert [name for name in names if f"{name}=" not in said] == []


def test_limits_are_read_with_their_units() -> None:
    limits = parse_limits("cpu=90s, idle=2min ,memory=512MB")
    assert (limits.cpu_s, limits.idle_s, limits.memory_bytes) == (90, 120, 512 * 2**20)
    limits = parse_limits("output=1MB, scratch=2GB, total-cpu=5min, wall_factor=3")
    assert (limits.output_bytes, limits.scratch_bytes, limits.total_cpu_s, limits.wall_factor) == (
        *(2**20, 2**31, 300, 3),
    )
    with pytest.raises(LimitsError, match=r"There is no limit `cpus`.* are cpu, idle, total-cpu, memory, output"):
        parse_limits("cpus=2")
    with pytest.raises(LimitsError, match=r"above 0, in seconds or with a unit such as 90s or 2min, but got `2GB`"):
        parse_limits("cpu=2GB")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("memory=999999999999GB", "The limit `memory` must be from 64MB to 1048576GB, but got `999999999999GB`."),
        ("memory=1", "The limit `memory` must be from 64MB to 1048576GB, but got `1`."),
        ("output=1", "The limit `output` must be from 1KB to 1048576GB, but got `1`."),
        ("cpu=1e9", "The limit `cpu` must be a number above 0, in seconds or with a unit"),
        ("idle=99999999999", "The limit `idle` must be from 0.1 s to 10000000 s, but got `99999999999`."),
        ("cpu=1,cpu=2", "The limit `cpu` is given twice."),
        ("cpu=9,total-cpu=8", "The limit `cpu`, 9 s for an exercise, is above `total-cpu`, 8 s for a submission."),
    ],
)
def test_limits_that_make_no_sense_are_one_sentence(text: str, said: str) -> None:
    with pytest.raises(LimitsError) as caught:
        parse_limits(text)
    assert said in str(caught.value)
