"""Test that workers hold nothing of the command that grades, and that it computes as they do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_course import ANSWERS, write_course

from jaxguide.grading.workers.spawning import can_fork

pytestmark = pytest.mark.skipif(not can_fork(), reason="workers are forked on Linux only")

SECRET = "correct-horse-battery-staple"
# What a worker finds in its own memory and in what the system reports about it.
LOOKS = """
def stands_in(data, first, second):
    # The two are never put together here: that would stand in memory, too.
    at = data.find(first)
    while at >= 0:
        if data.startswith(second, at + len(first)):
            return True
        at = data.find(first, at + 1)
    return False

def holds(first, second):
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            if "rw" in line:
                try:
                    memory.seek(start)
                    if stands_in(memory.read(end - start), first, second):
                        return True
                except (OSError, ValueError):
                    pass
    return False

def double(x):
    said = open("/proc/self/environ", "rb").read() + open("/proc/self/cmdline", "rb").read()
    for two in ((b"correct-", b"horse-battery"), (b"roster-of-", b"the-class")):
        print(stands_in(said, *two), holds(*two))
    print(holds(b"JAX_PLAT", b"FORMS"))
    return 2 * x
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "course").mkdir()
    write_course(tmp_path / "course")
    return tmp_path


def run(folder: Path, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "jaxguide", *arguments, "--course", "course"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), **more}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def test_workers_hold_nothing_of_the_command_line_or_the_environment(folder: Path) -> None:
    (folder / "ada.py").write_text(LOOKS)
    (folder / "roster-of-the-class.csv").write_text("student\nada\n")
    arguments = ["grade", "ada.py", "--only", "double", "--json", "--roster", "roster-of-the-class.csv"]
    done = run(folder, *arguments, SECRET_OF_MINE=SECRET)
    assert done.returncode == 0, done.stderr
    (double,) = json.loads(done.stdout)["submissions"][0]["exercises"]
    assert double["score"] == 1.0, double
    *seen, finds_anything = double["printed"].split()[:5]
    assert finds_anything == "True"
    assert set(seen) == {"False"}


@pytest.mark.parametrize("command", [pytest.param("check", marks=pytest.mark.long), "grade"])
def test_commands_compute_as_workers_do_whatever_jaxs_variables_say(folder: Path, command: str) -> None:
    (folder / "ada.py").write_text(ANSWERS["double"])
    arguments = ["ada.py", *(["--only"] if command == "grade" else []), "double"]
    variables = {"JAX_PLATFORMS": "none_such", "JAX_ENABLE_X64": "1", "XLA_FLAGS": "--no_such_flag"}
    done = run(folder, command, *arguments, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
