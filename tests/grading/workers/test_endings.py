"""Test the verdict and message of the real command for code that exits, writes too much or is missing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from needs import ON_THE_NEWEST
from small_course import ANSWERS

from jaxguide.course.books.library import Course

TOOLS = "import os, sys\n"


def graded(course: Course, folder: Path, limits: str, *cells: str) -> dict[str, Any]:
    """Grade a file of these cells with `jaxguide grade`, and return its exercises by name."""
    (folder / "class").mkdir()
    (folder / "class" / "ada.py").write_text("".join(f"# %%\n{cell}\n\n" for cell in (TOOLS, *cells)))
    command = [sys.executable, "-m", "jaxguide", "grade", str(folder / "class"), "--out", str(folder / "results")]
    command += ["--course", str(course.folders.exercises.parent), "--limits", limits, "--jobs", "1"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads((folder / "results" / "results.json").read_text())["submissions"]
    return {exercise["name"]: exercise for exercise in row["exercises"]}


def said(exercise: dict[str, Any]) -> tuple[str, str]:
    """Return an exercise's verdict and the message of its first failure."""
    failures = [c["message"] for c in exercise["checks"] if c["verdict"] not in ("passed", "not checked")]
    return exercise["verdict"], failures[0] if failures else ""


@ON_THE_NEWEST
def test_code_that_ends_itself_floods_or_is_missing_gets_its_own_verdict(course: Course, tmp_path: Path) -> None:
    garbage = "        try: os.write(n, b'garbage' * 10)\n        except OSError: pass"
    found = graded(
        course,
        tmp_path,
        "cpu=20,output=1MB",
        "def double(x):\n    os._exit(7)",
        "def triple(x):\n    sys.exit(3)",
        "def quadruple(x):\n    for _ in range(40): print('x' * 10**5)\n    return 4 * x",
        "def quintupel(x):\n    return 5 * x",
        f"def slope(*x):\n    for n in range(190, 300):\n{garbage}",
        ANSWERS["pair"],
    )
    assert {name: said(one) for name, one in found.items()} == {
        "double": ("exited", "Your code ended the Python process (exit code 7), so no result came back."),
        "triple": (
            "exited",
            "Your code called sys.exit() (exit code 3), which ends the program. Return the value instead.",
        ),
        "quadruple": (
            "too much output",
            "Your code was stopped after printing more than 1 MB. Is there a `print` in a long loop?",
        ),
        "quintuple": (
            "no such function",
            "Your file has no function `quintuple`, but a similar `quintupel`. Give it the exercise's name.",
        ),
        "slope": (
            "broken reply",
            "Your code wrote to the grader's connection, so the reply could not be read.",
        ),
        "pair": ("passed", ""),
    }


@ON_THE_NEWEST
def test_native_output_is_counted_for_each_exercise_alone(course: Course, tmp_path: Path) -> None:
    body = "def {name}(x, once=[1]):\n    if once: os.write({descriptor}, b'x' * once.pop() * {size})\n"
    body += "    return {factor} * x"
    found = graded(
        course,
        tmp_path,
        "output=1MB",
        body.format(name="double", descriptor=1, size=900_000, factor=2),
        body.format(name="triple", descriptor=2, size=900_000, factor=3),
        body.format(name="quadruple", descriptor=2, size=1_100_000, factor=4),
    )
    verdicts = [found[name]["verdict"] for name in ("double", "triple", "quadruple", "quintuple")]
    assert verdicts == ["passed", "passed", "too much output", "not attempted"]


@ON_THE_NEWEST
def test_files_are_bounded_together(course: Course, tmp_path: Path) -> None:
    body = "def {name}(x):\n    for n in range({count}):\n"
    body += "        with open(f'{name}{{n}}', 'wb') as f: f.write(b'x' * 2**20)"
    nameless = "def quadruple(x):\n    for n in range(6):\n        f = open('f', 'wb', 0)\n        files.append(f)\n"
    nameless += "        f.write(b'x' * 2**20)\n        os.unlink('f')\n    return 4 * x"
    locked = "def triple(x):\n    os.makedirs('a/b', exist_ok=True)\n    for n in range(6):\n"
    locked += "        with open(f'a/b/{n}', 'wb') as f: f.write(b'x' * 2**20)\n    os.chmod('a', 0)\n    return 3 * x"
    cells = (body.format(name="double", count=6), locked, "files = []\n" + nameless)
    honest = body.format(name="quintuple", count=3) + "\n    return 5 * x"
    found = graded(course, tmp_path, "scratch=5MB", *cells, honest)
    full = (
        "too much output",
        "Your code was stopped: its files take more than 5 MB, or are too many or nested too deeply.",
    )
    assert [said(found[name]) for name in ("double", "triple", "quadruple")] == [full] * 3
    assert found["quintuple"]["verdict"] == "passed"


@ON_THE_NEWEST
def test_a_submission_is_stopped_after_its_time_in_all(course: Course, tmp_path: Path) -> None:
    endless = [f"def {name}(x):\n    while True: pass" for name in ("double", "triple", "quadruple")]
    found = graded(course, tmp_path, "cpu=2,total-cpu=3", *endless, ANSWERS["slope"])
    in_all = ("out of time", "Your submission was stopped after 3 seconds of computing in total.")
    assert said(found["double"])[1].startswith("Your code was stopped after 2 seconds of computing.")
    assert [said(found[name]) for name in ("triple", "quadruple", "slope")] == [in_all] * 3
    assert found["quintuple"]["verdict"] == "not attempted"


@ON_THE_NEWEST
def test_cells_are_stopped_after_the_time_in_all_too(course: Course, tmp_path: Path) -> None:
    cells = ["while True: pass"] * 3
    found = graded(course, tmp_path, "cpu=2,total-cpu=3", *cells, ANSWERS["double"])
    assert said(found["double"]) == (
        "out of time",
        "Your submission was stopped after 3 seconds of computing in total.",
    )


@ON_THE_NEWEST
def test_a_value_in_the_place_of_a_function_is_no_such_function(course: Course, tmp_path: Path) -> None:
    found = graded(course, tmp_path, "cpu=20", "double = 2")
    sentence = "`double` is not a function: line 6 sets it to a value. Define it with `def double(...)`."
    assert said(found["double"]) == ("no such function", sentence)
