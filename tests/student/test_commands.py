"""Test a student's commands in the terminal: output, examples, suggestions, and shell completion."""

import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from needs import needs_program
from rich.cells import cell_len
from two_lessons import CHINESE, answer

from jaxguide.base.render.terminal import plain_text
from jaxguide.cli import main
from jaxguide.cli.for_students import open_workspace, usual_folder
from jaxguide.course.books.library import Course
from jaxguide.course.progress import Progress
from jaxguide.student.screen import ExerciseText


@pytest.fixture
def run(course: Course, workspace: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that runs a command on the small course in a workspace, 80 columns wide."""
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("COLUMNS", "80")
    folder = str(course.folders.exercises.parent)

    def of(command: str, *arguments: str) -> Result:
        return CliRunner().invoke(main, [command, *arguments, "--course", folder])

    return of


def commands(group: click.Group, names: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every command of the program, with its subcommands."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*names, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*names, name))


@pytest.mark.parametrize("names", [(), *commands(main)], ids=" ".join)
def test_each_commands_help_shows_an_example_of_it(names: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, [*names, "--help"])
    assert done.exit_code == 0
    examples = done.stdout.partition("Example: ")[2].partition("\n\n")[0]
    assert " ".join(["jaxguide", *names]) in examples


def test_an_unknown_command_exercise_and_lesson_are_wrong_usage_with_a_suggestion(run) -> None:
    for arguments, near in (
        (("progres",), "progress"),
        (("hint", "duble"), "double"),
        (("solution", "tripel"), "triple"),
        (("reset", "duble"), "double"),
        (("list", "multipy"), "multiply"),
        (("check", "multiply.py", "duble"), "double"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2
        assert f"Did you mean `{near}`" in done.stderr


def test_list_shows_every_lesson_and_the_exercises_of_the_one_at_hand(run, course: Course, workspace: Path) -> None:
    Progress(workspace, course.identity).update("double", passed=True)
    lines = [line.rstrip() for line in run("list").stdout.strip().splitlines()]
    assert lines[0] == "1 of 4 exercises done · 1 of 4 points"
    assert lines[1] == "  ███████░░░░░░░░░░░░░  multiply · 1 of 3 done · 1 of 3 points"
    assert lines[2] == "  ░░░░░░░░░░░░░░░░░░░░  more · 0 of 1 done · 0 of 1 points"
    assert lines[4] == "Multiply (multiply)"
    assert "  ✓ done  Twice (`double`) · 1 point" in lines
    assert lines[-1].startswith("  Next: ")
    assert lines[-1].endswith("(`triple`).")
    assert "quadruple" in run("list", "more").stdout
    assert "double" not in run("list", "more").stdout
    assert "quadruple" in run("list", "--all").stdout


def test_a_statement_is_rewrapped_for_any_width(course: Course) -> None:
    exercise = course.exercise("double")
    stated = dataclasses.replace(exercise, contract=f"Args:\n    {CHINESE * 9}\n    {CHINESE * 9}")
    for width in (40, 80, 120):
        text = plain_text(ExerciseText(stated, course.book_of(exercise)), width)
        assert max(cell_len(line) for line in text.splitlines()) <= width
        assert "Args:" + "".join((CHINESE * 18).split()) in "".join(text.replace("\n", "").split())


def test_next_shows_the_exercise_and_where_to_answer_it(run, course: Course, workspace: Path) -> None:
    shown = run("next").stdout
    assert "Exercise: Twice (1 point)" in shown
    assert "Return 2.0 times float32[n]." in shown
    assert "Write your answer in" in shown
    progress = Progress(workspace, course.identity)
    for name in ("double", "triple", "predict_size", "quadruple"):
        progress.update(name, passed=True)
    done = run("next")
    assert (done.exit_code, done.stdout) == (0, "All 4 exercises are done.\n")


def test_progress_counts_exercises_points_and_hints(run, course: Course, workspace: Path) -> None:
    Progress(workspace, course.identity).update("double", passed=True, hints=2)
    lines = run("progress").stdout.splitlines()
    assert [line.rstrip() for line in lines] == [
        "1 of 4 exercises done · 1 of 4 points · 2 hints read",
        "  ███████░░░░░░░░░░░░░  multiply · 1 of 3 done · 1 of 3 points · 2 hints read",
        "  ░░░░░░░░░░░░░░░░░░░░  more · 0 of 1 done · 0 of 1 points",
        "Next: 三倍 把每个数乘以三 (`triple`).",
    ]


def test_check_hint_and_solution_take_a_course_of_ones_own(run, workspace: Path) -> None:
    answer(workspace / "multiply.py", "double", "return 2 * x")
    for _call in range(2):
        shown = run("hint", "double").stdout
        assert shown.startswith("Hint 1 of 3 · Twice (double)\n  How?\n  Next  `jaxguide hint double 2` shows hint 2")
    assert run("hint", "double", "2").stdout.startswith("Hint 2 of 3")
    assert "number from 1 to 3" in run("hint", "double", "4").stdout
    assert "opens once you pass. To see it before, check 3 different answers" in run("solution", "double").stdout
    done = run("check", "multiply.py", "double")
    assert (done.exit_code, "✓ Right: Twice" in done.stdout) == (0, True)
    assert run("check", "multiply.py").exit_code == 1
    assert "return 2.0 * x" in run("solution", "double").stdout


def test_reset_says_where_the_old_answer_is(run, workspace: Path) -> None:
    assert run("reset", "double").stdout == "`double` is unchanged, so there is nothing to reset.\n"
    answer(workspace / "multiply.py", "double", "return 3 * x")
    done = run("reset", "double")
    assert done.stdout.startswith("multiply.py has the empty function again. Your old answer is in ")
    assert "return 3 * x" in (workspace / "old_answers" / "double-1.txt").read_text()


def test_reset_asks_which_of_two_answers_is_meant(run, workspace: Path) -> None:
    for name in ("mine.py", "yours.py"):
        (workspace / name).write_text("def double(x):\n    return 1\n")
    done = run("reset", "double")
    assert done.exit_code == 2
    assert "mine.py, yours.py" in " ".join(done.stderr.split())
    assert run("reset", "double", "--file", "yours.py").exit_code == 0
    assert (workspace / "mine.py").read_text() == "def double(x):\n    return 1\n"


def test_watch_lays_lessons_into_a_new_folder_only(course: Course, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("x")
    done = CliRunner().invoke(main, ["watch", "--course", str(course.folders.exercises.parent), str(tmp_path / "mine")])
    assert done.exit_code == 2
    assert "contains no exercises" in " ".join(done.stderr.split())
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_watch_opens_what_is_there_and_else_a_folder_of_its_own(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.py").write_text("def other():\n    pass\n")
    assert usual_folder(course) == Path("workspace")
    (tmp_path / "mine.py").write_text("def double(x):\n    return x\n")
    assert usual_folder(course) == Path()
    assert open_workspace(tmp_path / "new", course) == tmp_path / "new"
    assert (tmp_path / "new" / "multiply.ipynb").is_file()


def test_watch_says_where_each_check_starts_a_new_python(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxguide.grading.workers.zygote.can_fork", lambda: False)
    (tmp_path / "letter.txt").write_text("x")
    done = CliRunner().invoke(main, ["watch", "--course", str(course.folders.exercises.parent), str(tmp_path)])
    assert "each check starts a new Python" in done.stdout


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("jaxguide prog", ["progress"]),
        ("jaxguide hint dou", ["double"]),
        ("jaxguide check multiply.py tri", ["triple"]),
        ("jaxguide list m", ["multiply", "more"]),
    ],
)
def test_bash_completes_commands_exercises_and_lessons(
    course: Course, tmp_path: Path, typed: str, completed: list[str]
) -> None:
    needs_program("bash")
    program = tmp_path / "jaxguide"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m jaxguide "$@"\n')
    program.chmod(0o755)
    words = typed.split()
    if words[1] != "prog":
        words[2:2] = ["--course", str(course.folders.exercises.parent)]
    script = (
        'eval "$(jaxguide completion bash)"\n'
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; COMPREPLY=()\n"
        '_jaxguide_completion jaxguide; printf "%s\\n" "${COMPREPLY[@]}"; complete -p jaxguide\n'
    )
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, check=True, env={**os.environ, "PATH": path}
    )
    *found, registered = done.stdout.splitlines()
    assert (found, done.stderr) == (completed, "")
    assert "_jaxguide_completion" in registered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_for_completions(shell: str) -> None:
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0
    assert f"_JAXGUIDE_COMPLETE={shell}_complete" in done.stdout
