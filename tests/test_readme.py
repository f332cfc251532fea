"""The README's files are written, its commands run, and their output is what it shows."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from needs import ON_THE_NEWEST

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# tests/cli/test_start.py, tests/student and CI run these
ELSEWHERE = ("make start", "make test", "pip install", "jaxguide start", "jaxguide watch")
SLOW = "jaxguide coverage"  # it judges every exercise, as tests/proving/test_course.py does


def _blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(README.read_text()) if kind == language]


def _commands() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for block in _blocks("console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], ""))
            else:
                found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the README shows."""
    folder = tmp_path_factory.mktemp("readme")
    for text in _blocks("python"):
        name, _newline, body = text.partition("\n")
        if name.endswith(".py"):
            path = folder / name.removeprefix("# ")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body)
    return folder


def test_the_two_commands_stand_on_top() -> None:
    assert [command for command, _shown in _commands()[:2]] == ["make start", "make test"]


@ON_THE_NEWEST
@pytest.mark.parametrize(
    "slow", [False, pytest.param(True, marks=pytest.mark.hours(reason="all exercises are judged; CI proves them"))]
)
def test_the_commands_do_what_the_readme_shows(folder: Path, slow: bool) -> None:
    checker = doctest.OutputChecker()
    ran = 0
    for command, shown in _commands():
        if command.startswith(ELSEWHERE) or slow != command.startswith(SLOW):
            continue
        arguments = shlex.split(command)
        assert arguments[0] == "jaxguide"
        done = subprocess.run(
            [sys.executable, "-m", *arguments],
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "COLUMNS": "130"},
        )
        assert done.returncode == (1 if arguments[1] == "check" else 0), done.stderr
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert checker.check_output(shown, done.stdout, flags), f"{command}\n{done.stdout}"
        ran += 1
    assert ran >= (1 if slow else 6)


def test_the_readmes_book_runs_as_a_script(folder: Path) -> None:
    book = folder / "my_course" / "exercises" / "hello.py"
    subprocess.run([sys.executable, str(book)], check=True, cwd=folder)


@ON_THE_NEWEST
def test_the_helpers_sections_run_as_one_program(tmp_path: Path) -> None:
    section = README.read_text().partition("## Helpers for coursework")[2].partition("\n## ")[0]
    program = tmp_path / "helpers.py"
    program.write_text("\n".join(text for kind, text in BLOCK.findall(section) if kind == "python"))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for words in (
        "The key `key` was drawn from twice",
        "Keys of noise",
        "-0.18471177",
        "Host callbacks on jax",
        "harmless forward, dangerous for the gradient",
        "['w is 8.0', 'w is 4.0'] [8. 4.]",
        "argument `w` was float32[3] and is now float32[4]",
        "b = log x",
    ):
        assert words in done.stdout
