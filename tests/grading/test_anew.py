"""Test that a grading command restarts in a clean process, forks workers from it, and otherwise behaves the same."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from small_course import ANSWERS, write_course

from jaxguide.grading.workers.zygote import can_fork

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


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "jaxguide", *arguments]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **more}


def run(folder: Path, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    done = [*command(*arguments), "--course", "course"]
    return subprocess.run(done, cwd=folder, env=environment(**more), capture_output=True, text=True, timeout=300)


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


def _command_line(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.Error):
        return process.cmdline()
    return []


@pytest.mark.long
def test_the_process_keeps_its_number_and_has_one_child_from_which_workers_come(folder: Path) -> None:
    (folder / "ada.py").write_text("def double(x):\n    while True:\n        pass\n")
    started = subprocess.Popen(
        command("check", "ada.py", "double", "--course", "course"),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    process = psutil.Process(started.pid)
    forks: list[psutil.Process] = []
    while started.poll() is None and not (forks and forks[0].children()):
        # The self-test of isolation runs another program; only a forked process has the same command line.
        forks = [child for child in process.children() if _command_line(child) == process.cmdline()]
        time.sleep(0.05)
    try:
        assert len(forks) == 1
    finally:
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=60)
    gone, alive = psutil.wait_procs(forks, timeout=20)
    assert (len(gone), alive) == (1, [])


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        pytest.param(["check", "ada.py", "double"], 0, "Right so far", marks=pytest.mark.long),
        pytest.param(["check", "bad.py", "double"], 1, "Not right yet", marks=pytest.mark.long),
        (["grade", "ada.py", "--only", "double"], 0, "1/1"),
        pytest.param(["grade", "ada.py", "--only", "dubble"], 2, "Did you mean `double`?", marks=pytest.mark.long),
    ],
)
def test_status_and_words_are_those_of_the_command(folder: Path, arguments: list[str], status: int, said: str) -> None:
    (folder / "ada.py").write_text(ANSWERS["double"])
    (folder / "bad.py").write_text("def double(x):\n    return 3 * x\n")
    done = run(folder, *arguments)
    assert (done.returncode, said in done.stdout + done.stderr) == (status, True), done.stdout + done.stderr
    if status == 2:
        assert done.stderr.startswith("Usage: jaxguide grade")


@pytest.mark.long
def test_the_environment_and_odd_names_come_through(folder: Path) -> None:
    name = os.fsdecode("größe-\xff".encode("latin-1")) + ".py"
    (folder / name).write_text("def double(x):\n    return 3 * x\n")
    plain = run(folder, "check", name, "double", COLUMNS="50", NO_COLOR="1")
    assert plain.returncode == 1, plain.stderr
    assert "\x1b" not in plain.stdout
    assert max(map(len, plain.stdout.splitlines())) <= 50
    wide = run(folder, "check", name, "double", COLUMNS="150")
    assert max(map(len, wide.stdout.splitlines())) > 50


@pytest.mark.parametrize("command", [pytest.param("check", marks=pytest.mark.long), "grade"])
def test_commands_compute_as_workers_do_whatever_jaxs_variables_say(folder: Path, command: str) -> None:
    (folder / "ada.py").write_text(ANSWERS["double"])
    arguments = ["ada.py", *(["--only"] if command == "grade" else []), "double"]
    variables = {"JAX_PLATFORMS": "none_such", "JAX_ENABLE_X64": "1", "XLA_FLAGS": "--no_such_flag"}
    done = run(folder, command, *arguments, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
