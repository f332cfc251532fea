"""Test what the commands print and write if something goes wrong."""

import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from jaxguide.cli import main
from jaxguide.course.progress import Progress
from jaxguide.grading.workers.worker_process import GraderError
from jaxguide.student import check_file

WRONG = "def two_samples(key, n, m):\n    return key\n"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_help_lists_every_command_once_under_what_it_is_for() -> None:
    listed = re.findall(r"^(\w[^:\n]*):\n((?:  .*\n)+)", run("--help").stdout, re.M)
    groups = {heading: re.findall(r"^  (\w+) ", lines, re.M) for heading, lines in listed}
    assert list(groups) == ["Options", "Learn JAX", "Grade a class", "Write a course", "Look after jaxguide"]
    assert [name for names in groups.values() for name in names] == main.list_commands(click.Context(main))
    assert groups["Learn JAX"][:2] == ["start", "watch"]


@pytest.mark.long
def test_a_files_name_cannot_write_to_the_instructors_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b]0;title\x07\x1b[31mda.py"
    path.write_text("")
    done = run("grade", tmp_path, "--out", tmp_path / "out")
    assert "ada.py: The file is empty." in done.stderr.replace("\n", "")
    assert "\x1b" not in done.stdout + done.stderr


def test_check_says_in_json_why_nothing_was_checked(tmp_path: Path) -> None:
    (tmp_path / "ada.py").write_text("")
    done = run("check", tmp_path / "ada.py", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["unreadable"] == "The file is empty."


def test_check_without_workers_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*unused: object, **options: object) -> None:
        raise GraderError("no processes here")

    monkeypatch.setattr(check_file, "Grader", broken)
    (tmp_path / "ada.py").write_text(WRONG)
    done = run("check", tmp_path / "ada.py")
    assert (done.exit_code, done.stderr) == (1, "no processes here\n")


def test_check_notes_a_try_where_hint_and_solution_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("JAXGUIDE_WORKSPACE", str(workspace))
    Path("ada.py").write_text(WRONG)
    assert run("check", "ada.py", "two_samples").exit_code == 1
    assert len(Progress(workspace).of("two_samples").attempts) == 1
