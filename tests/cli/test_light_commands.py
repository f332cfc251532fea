"""Test that commands that only read a course start fast: they import no JAX, NumPy, SciPy, IPython or Jinja."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import pytest

from jaxguide.cli import main
from jaxguide.course.books.library import read_outline
from jaxguide.student.workspace import lay_workspace

HEAVY = ("jax", "jaxlib", "numpy", "scipy", "IPython", "matplotlib", "jinja2")
# The program's entry point, which records the loaded modules when it exits.
RUN = """
import atexit, json, sys

def tell():
    with open(sys.argv[1], "w") as file:
        json.dump(sorted(sys.modules), file)

atexit.register(tell)
from jaxguide.cli import main
sys.exit(main(sys.argv[2:], prog_name="jaxguide"))
"""
# The same for many commands in one process; modules that one command loads stay loaded.
RUN_ALL = """
import contextlib, io, json, sys
from jaxguide.cli import main

found = []
for arguments in json.loads(sys.argv[2]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            status = main(arguments, prog_name="jaxguide")
        except SystemExit as ended:
            status = ended.code
    found.append((arguments, status, said.getvalue(), sorted(sys.modules)))
with open(sys.argv[1], "w") as file:
    json.dump(found, file)
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for caches, which is empty at the first command."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def environment(tmp_path: Path, cache: Path) -> dict[str, str]:
    """Return environment variables with a cache of these tests, and without the workspace of the user who runs them."""
    ours = {"XDG_CACHE_HOME": str(cache), "LC_ALL": "C.UTF-8"}
    return {name: value for name, value in os.environ.items() if not name.startswith("JAXGUIDE_")} | ours


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a folder with the whole course, and an answer in a notebook and in a .py file."""
    folder = tmp_path / "workspace"
    lay_workspace(folder, read_outline(), scripts=True)
    for name in ("random_numbers.ipynb", "random_numbers.py"):
        text = (folder / name).read_text()
        assert text.count("def two_samples(key, n, m):") == 1
        (folder / name).write_text(text.replace("def two_samples(key, n, m):", "def two_samples(key, m, n):"))
    return folder


def heavy(modules: Sequence[str], more: Sequence[str] = ()) -> list[str]:
    return [name for name in (*HEAVY, *more) if name in modules]


def run(
    arguments: Sequence[str], folder: Path, environment: dict[str, str], **more: str
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run a command in a separate process; return its result and the modules that were loaded when it ended."""
    loaded = folder.parent / "loaded.json"
    command = [sys.executable, "-c", RUN, str(loaded), *arguments]
    done = subprocess.run(command, cwd=folder, env={**environment, **more}, capture_output=True, text=True)
    return done, json.loads(loaded.read_text())


def every_command() -> list[list[str]]:
    """Return each command and subcommand as the words that users type."""
    context = click.Context(main)
    found: list[list[str]] = [[]]
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        found.append([name])
        if isinstance(command, click.Group):
            found += [[name, inner] for inner in command.commands]
    return found


def test_help_of_every_command_loads_nothing_heavy_and_no_course(tmp_path: Path, environment: dict[str, str]) -> None:
    commands = [[*words, "--help"] for words in every_command()]
    assert len(commands) > 20
    for arguments, status, said, loaded in run_all(commands, tmp_path, environment):
        assert (status, "Usage: jaxguide" in said) == (0, True), (arguments, said)
        assert not heavy(loaded, ["rich", "jaxguide.course", "importlib.metadata"]), arguments


def run_all(
    commands: Sequence[Sequence[str]], folder: Path, environment: dict[str, str]
) -> list[tuple[list[str], int, str, list[str]]]:
    """Run commands in one process; return the words, status and output of each, and all modules loaded by then."""
    loaded = folder / "loaded.json"
    command = [sys.executable, "-c", RUN_ALL, str(loaded), json.dumps(commands)]
    subprocess.run(command, cwd=folder, env=environment, check=True)
    found: list[tuple[list[str], int, str, list[str]]] = json.loads(loaded.read_text())
    return found


USAGE_ERRORS = {
    "no such command": ["lst"],
    "no such option": ["list", "--al"],
    "no argument": ["hint"],
    "no such exercise to hint at": ["hint", "two_sample"],
    "no such exercise to solve": ["solution", "two_sample"],
    "no such exercise to reset": ["reset", "two_sample"],
    "no such exercise to check": ["check", "random_numbers.py", "two_sample"],
    "no such exercise to grade": ["grade", "random_numbers.py", "--only", "two_sample"],
    "no such exercise to prove": ["verify", "--only", "two_sample"],
    "no such lesson to prove": ["verify", "random_number"],
    "no such lesson to list": ["list", "random_number"],
    "no such exercise to export": ["export", "gradescope", "--only", "two_sample"],
    "no such file": ["check", "none.py"],
    "no such submission": ["grade", "none.py"],
}


def test_usage_errors_load_nothing_heavy(workspace: Path, environment: dict[str, str]) -> None:
    found = run_all(list(USAGE_ERRORS.values()), workspace, environment)
    for (name, arguments), (_words, status, said, loaded) in zip(USAGE_ERRORS.items(), found, strict=True):
        assert status == 2, (arguments, said)
        if "no such exercise" in name:
            assert "Did you mean `two_samples`" in said
        if "no such lesson" in name:
            assert "Did you mean `random_numbers`" in said
        assert not heavy(loaded, [] if name == "no such submission" else ["rich"]), arguments


LOOKING = {
    "list": (["list", "--all"], "two_samples"),
    "next": (["next"], "Write your answer in"),
    "progress": (["progress"], "core exercises done"),
    "hint": (["hint", "two_samples"], "Hint 1 of 4"),
    "solution": (["solution", "two_samples"], "opens once you pass"),
    "reset": (["reset", "two_samples", "--file", "random_numbers.ipynb"], "empty function again"),
}


@pytest.mark.parametrize("command", LOOKING)
def test_commands_that_look_at_the_course_load_nothing_heavy(
    workspace: Path, environment: dict[str, str], command: str
) -> None:
    arguments, words = LOOKING[command]
    for what_is_kept in ("nothing", "the answers"):
        done, loaded = run(arguments, workspace, environment)
        assert (done.returncode, done.stderr) == (0, ""), what_is_kept
        assert words in done.stdout, what_is_kept
        assert not heavy(loaded), what_is_kept


def test_a_solution_that_is_open_loads_nothing_heavy(workspace: Path, environment: dict[str, str]) -> None:
    passed = {"version": 1, "exercises": {"two_samples": {"passed": True}}}
    (workspace / "jaxguide-progress.json").write_text(json.dumps(passed))
    done, loaded = run(["solution", "two_samples"], workspace, environment)
    assert "def two_samples(key, n, m):" in done.stdout
    assert not heavy(loaded)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (["jaxguide", "rese"], "reset"),
        (["jaxguide", "hint", "two_sam"], "two_samples"),
        (["jaxguide", "list", "random_n"], "random_numbers"),
        (["jaxguide", "verify", "--on"], "--only"),
    ],
)
def test_completion_loads_nothing_heavy(
    tmp_path: Path, environment: dict[str, str], typed: list[str], found: str
) -> None:
    asked = {"COMP_WORDS": " ".join(typed), "COMP_CWORD": str(len(typed) - 1)}
    (tmp_path / "here").mkdir()
    done, loaded = run([], tmp_path / "here", environment, _JAXGUIDE_COMPLETE="bash_complete", **asked)
    assert (done.stdout, done.stderr) == (f"plain,{found}\n", "")
    assert not heavy(loaded, ["rich"])


def test_the_completion_script_loads_nothing_heavy(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "here").mkdir()
    done, loaded = run(["completion", "zsh"], tmp_path / "here", environment)
    assert "_JAXGUIDE_COMPLETE=zsh_complete" in done.stdout
    assert not heavy(loaded, ["rich"])


def test_start_lays_the_workspace_and_loads_nothing_heavy(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "here").mkdir()
    # A fake package with this name, so that no server starts.
    (tmp_path / "lab" / "jupyterlab").mkdir(parents=True)
    (tmp_path / "lab" / "jupyterlab" / "__init__.py").write_text("")
    (tmp_path / "lab" / "jupyterlab" / "__main__.py").write_text("import os; print(os.environ['JUPYTER_TOKEN'])")
    found = {"PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path / "lab"), environment.get("PYTHONPATH")]))}
    done, loaded = run(["start", "--no-browser"], tmp_path / "here", environment, **found)
    assert (done.returncode, (tmp_path / "here" / "workspace" / "random_numbers.ipynb").is_file()) == (0, True)
    assert "Starting JupyterLab" in done.stdout
    assert not heavy(loaded)
