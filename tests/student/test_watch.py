"""Test a student's session in `jaxguide watch`, with real processes in a real terminal, saves and keys."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from two_lessons import answer

pytest.importorskip("termios", reason="it needs a Unix terminal")

from pseudo_terminal import PseudoTerminal

from jaxguide.course.books.library import Course
from jaxguide.course.progress import Progress, progress_paths


def watch(course: Course, workspace: Path, **options: object) -> PseudoTerminal:
    place = course.folders.exercises.parent
    arguments = ("watch", "--course", place, "--cpu-limit", 3, workspace)
    return PseudoTerminal(*arguments, folder=workspace.parent, **options)  # type: ignore[arg-type]


def test_a_session_survives_what_students_write_and_keeps_its_place(course: Course, workspace: Path) -> None:
    file = workspace / "multiply.py"
    with watch(course, workspace) as terminal:
        shown = terminal.see("0 of 4 done")
        assert "Exercise: Twice (1 point)" in shown
        assert "double(x)" in shown
        assert "multiply.py (line" in shown.splitlines()[0]

        answer(file, "double", "return 3 * x")
        shown = terminal.see("Not right yet: Twice (double)")
        assert "Press h for a hint." in shown

        answer(file, "double", "import os; os.abort()")
        assert "Not right yet" not in terminal.see("crash (signal SIGABRT)")

        answer(file, "double", "while True: pass")
        terminal.see("Your code was stopped after 3 seconds of computing. Is there a loop that never ends?")

        answer(file, "double", "return 2 *")
        terminal.see("SyntaxError: invalid syntax")

        for number, hint in ((1, "How?"), (2, "The concept"), (3, "return ____"), (3, "return ____")):
            terminal.press("h")
            assert hint in terminal.see(f"Hint {number} of 3 · Twice (double)")
        terminal.press("s")
        terminal.see("and s again")
        terminal.press("s")
        terminal.see("return 2.0 * x")

        answer(file, "double", "return 2 * x")
        shown = terminal.see("✓ Right: Twice (double)")
        assert "triple(x)" in shown
        assert "1 of 4 done" in shown
        assert "SyntaxError" not in shown

        children = psutil.Process(terminal.process.pid).children(recursive=True)
        terminal.process.send_signal(signal.SIGKILL)
        assert terminal.wait() == -signal.SIGKILL
        psutil.wait_procs(children, timeout=60)
        assert [child for child in children if child.is_running()] == []

    with watch(course, workspace, columns=120) as terminal:
        assert "triple(x)" in terminal.see("1 of 4 done")
        terminal.press("n")
        terminal.see("predict_size()")
        answer(file, "predict_size", "return 5")
        terminal.see("Your guess for predict_size is 5. Press Enter to lock it")
        answer(file, "predict_size", "return 7")
        terminal.see("Your guess for predict_size is 7.")
        kept = json.loads(progress_paths(workspace, course.identity)[0].read_text())
        assert kept["exercises"].keys() == {"double"}
        terminal.press("\r")
        shown = terminal.see("JAX gives  6")
        assert "2 of 4 done" in shown
        assert "Your guess for" not in shown
        terminal.press("q")
        assert terminal.wait() == 0
        assert terminal.settings() == terminal.settings_before


CELLS = """\
# %%
FACTOR = 2

# %%
import math


def double(x):
    return FACTOR * x


# %%
def triple(x):
    return 3 * x


# %%
print(double(1))
"""


LINE_AFTER_LINE = {"TERM": "dumb"}  # a terminal that cannot redraw


def checked(shown: str) -> list[str]:
    """Return the names of the exercises that a session began to check."""
    return [line.removeprefix("Checking ") for line in shown.splitlines() if line.startswith("Checking ")]


def test_all_that_runs_with_an_answer_decides_whether_it_is_checked_again(course: Course, tmp_path: Path) -> None:
    file = tmp_path / "workspace" / "mine.py"
    file.parent.mkdir()
    file.write_text(CELLS.replace("import math", "import nothing"))
    breaking = {
        "import math": "import math\nassert FACTOR == 3",
        "import math\n": "print(math.tau.no)\n",
        "FACTOR = 2": "raise ValueError('first')\nFACTOR = 2",
        "print(double(1))": "del FACTOR",
        "def double(x):": "def doubel(x):",
        "FACTOR * x\n": "FACTOR * x\n\n\nwhile True:\n    pass\n",
        "# %%\nFACTOR = 2\n": "",
    }
    with watch(course, file.parent, columns=120, environment=LINE_AFTER_LINE) as terminal:
        assert "No module named 'nothing'" in terminal.wait_for("0 of 1 check passed")
        for old, new in breaking.items():
            file.write_text(CELLS)
            assert "✓ Right: Twice (double)" in terminal.wait_for("None of your files has")
            assert CELLS.count(old) == 1
            file.write_text(CELLS.replace(old, new))
            assert checked(terminal.wait_for("0 of 1 check passed")) == ["double …"], new


@pytest.mark.long
def test_only_what_a_save_affects_is_checked_again(course: Course, tmp_path: Path) -> None:
    file, other = tmp_path / "workspace" / "mine.py", tmp_path / "workspace" / "other.py"
    file.parent.mkdir()
    file.write_text(CELLS)
    with watch(course, file.parent, columns=120, environment=LINE_AFTER_LINE) as terminal:
        terminal.wait_for("None of your files has")
        for text in (
            CELLS.replace("import math", "import  math  # for tau"),
            CELLS + "\n# %%\nraise ValueError\n",
            None,
            CELLS,
        ):
            if text is None:
                file.unlink()
            else:
                file.write_text(text)
            time.sleep(1.5)  # longer than a session takes to look for changes
        file.write_text(CELLS.replace("3 * x", "x * 3"))
        assert checked(terminal.wait_for("None of your files has")) == ["triple …"]

        for changed, text, said in (
            (other, "def double(x):\n    return 2 * x\n", "✓ Right: Twice (double)"),
            (file, CELLS.replace("3 * x", "4 * x"), "Not right yet"),
        ):
            terminal.wait_for("q quit")
            changed.write_text(text)
            terminal.wait_for(said)
        terminal.wait_for("q quit")

        # The function is elsewhere now, so it is not missing.
        file.write_text(CELLS[: CELLS.index("# %%\nimport math")] + "def triple(x):\n    return 3 * x\n")
        shown = terminal.wait_for("None of your files has")
        assert checked(shown) == ["triple …"]
    attempts = Progress(file.parent, course.identity).of("double").attempts
    assert len(attempts) == 2  # with FACTOR and without


@pytest.mark.long
def test_r_gives_the_stub_back_and_only_y_means_yes(course: Course, workspace: Path) -> None:
    file = workspace / "multiply.py"
    new = file.read_text("utf-8")
    answer(file, "double", "return 3 * x")
    mine = file.read_text("utf-8")
    with watch(course, workspace) as terminal:
        terminal.see("Not right yet")  # existing answers are checked at once
        terminal.press("r")
        assert terminal.see("Press y for yes").rstrip().splitlines()[-1].startswith("Enter close  y yes")
        terminal.press("s")
        terminal.see("The solution of `double` opens")
        assert file.read_text("utf-8") == mine
        terminal.press("ry")
        terminal.see("Your old answer is in old_answers/double-1.txt.", without="Not right yet")
        assert file.read_text("utf-8") == new
        assert "return 3 * x" in (workspace / "old_answers" / "double-1.txt").read_text("utf-8")


@pytest.mark.long
def test_without_a_terminal_it_prints_and_checks_and_needs_no_keys(course: Course, workspace: Path) -> None:
    command = ["watch", "--course", str(course.folders.exercises.parent), str(workspace)]
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "jaxguide", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert process.stdout is not None
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "0 of 4 done" in line:
                answer(workspace / "multiply.py", "double", "return 3 * x")
            if "jaxguide hint double" in line:
                break
        process.terminate()
        lines += process.stdout.readlines()
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.stdout.close()
    text = "".join(lines)
    assert "Not right yet: Twice (double)" in text
    assert "q quit" not in text
    assert "\x1b" not in text
