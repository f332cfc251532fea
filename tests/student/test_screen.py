"""Test that `jaxguide watch` keeps the task, the last verdict and the keys in view, and gives the terminal back."""

import signal
import time
from pathlib import Path

import pytest
from two_lessons import answer

pytest.importorskip("termios", reason="it needs a Unix terminal")

from pseudo_terminal import PseudoTerminal

from jaxguide.course.books.library import Course

ENTERS, LEAVES = "\x1b[?1049h", "\x1b[?1049l"
HELPER = "def quadruple(x):\n    return 4 * x\n"


def watch(course: Course, workspace: Path, columns: int = 80, rows: int = 24, **variables: str) -> PseudoTerminal:
    command = ("watch", "--course", course.folders.exercises.parent, "--cpu-limit", 60, workspace)
    return PseudoTerminal(*command, folder=workspace, columns=columns, rows=rows, environment=variables)


def test_a_small_terminal_shows_the_task_the_verdict_and_the_keys(course: Course, workspace: Path) -> None:
    with watch(course, workspace, columns=50, rows=20) as terminal:
        lines = terminal.see("Exercise: Twice").split("\n")
        assert len(lines) == 20
        assert {len(line) for line in lines} == {50}
        assert "more lines" not in lines[-4]
        assert [line.rstrip() for line in lines[-2:]] == [
            "n next  h hint  s solution  l list  r reset",
            "? help  q quit",
        ]
        answer(workspace / "multiply.py", "double", "return 3 * x")
        shown = terminal.see("✗ Not right yet")
        assert "Exercise: Twice" in shown
        assert "… t shows the whole task" in shown
        assert "0 of 1 check passed" not in shown
        terminal.press(" ")  # a page down
        below = terminal.see("0 of 1 check passed")
        assert "Exercise: Twice" in below
        assert "✗ Not right yet" not in below
        terminal.press("\x1b[5~")  # Page Up
        assert terminal.see("✗ Not right yet") == shown
        terminal.press("\x1b[B" * 2)  # the arrow down, as of a mouse wheel
        assert "✗ Not right yet" not in terminal.see("more lines", without="✗ Not right yet")
        terminal.press("t")
        assert "Args:" in terminal.see("Return 2.0 times float32[n].", without="… t shows")
        terminal.press("\r")
        terminal.see("… t shows the whole task")

        terminal.resize(120, 40)
        lines = terminal.see("0 of 1 check passed").split("\n")
        assert len(lines) == 40
        assert "… t shows" not in "".join(lines)


def test_a_key_stops_a_check_and_another_file_waits_for_its_turn(course: Course, workspace: Path) -> None:
    file, other = workspace / "multiply.py", workspace / "mine.py"
    with watch(course, workspace) as terminal:
        terminal.see("0 of 4 done")
        answer(file, "double", "while True: pass")
        terminal.see("s · x stops it", without="Checking double … 0 s")  # seconds go by
        other.write_text(HELPER)
        terminal.see("x stops it · then mine.py")
        terminal.press("h")
        terminal.see("Hint 1 of 3", without="0 of 4 done")
        terminal.press("x")
        shown = terminal.see("✓ Right so far: Four times (quadruple)")
        assert "Checking double … stopped. Save multiply.py to check again." in shown
        answer(file, "double", "while True: pass")  # the same again
        terminal.see("x stops it")
        answer(file, "double", "return 3 * x")
        shown = terminal.see("Not right yet: Twice (double)")
        assert "stopped" not in shown
        assert "quadruple" not in shown


def test_a_hint_stays_below_a_verdict_that_comes_later(course: Course, workspace: Path) -> None:
    go_on = workspace / "go_on"
    wait = f"import pathlib, time; [time.sleep(0.1) for _ in iter(pathlib.Path({str(go_on)!r}).exists, True)]"
    with watch(course, workspace, rows=50) as terminal:
        terminal.see("0 of 4 done")
        answer(workspace / "multiply.py", "double", f"{wait}; return 3 * x")
        terminal.see("Checking double …")
        terminal.press("h")
        terminal.see("Hint 1 of 3")
        go_on.touch()
        shown = terminal.see("Not right yet: Twice (double)")
        assert shown.index("Not right yet") < shown.index("Hint 1 of 3")
        terminal.press("h")
        shown = terminal.see("Hint 2 of 3")
        assert shown.index("Hint 2 of 3") < shown.index("Hint 1 of 3") < shown.index("Not right yet")
        assert shown.count("Press h for hint") == 1
        terminal.press("\r")
        assert "Not right yet" in terminal.see("Twice", without="Hint 2 of 3")
        go_on.unlink()
        answer(workspace / "multiply.py", "double", f"{wait}; return 2 * x")
        assert "Not right yet" in terminal.see("Checking double …")
        terminal.press("h")
        terminal.see("Hint 3 of 3")
        go_on.touch()
        shown = terminal.see("✓ Right: Twice (double)")
        assert "Not right yet" not in shown
        assert "Hint" not in shown  # the next exercise has others


def test_unknown_keys_and_lost_files_are_said(course: Course, workspace: Path) -> None:
    file = workspace / "multiply.py"
    with watch(course, workspace, rows=40) as terminal:
        terminal.see("0 of 4 done")
        terminal.press("z")
        terminal.see("z does nothing here. Press ? for help.")
        terminal.press("\x1b[1;5C")  # no key of this program
        terminal.press("x")
        terminal.see("No check is running.", without="z does nothing")
        terminal.press("?")
        shown = terminal.see("What each key does", without="No check is running.")
        assert "Stop the check that is running." in shown
        assert "beyond the core" not in shown, "a course without a core"
        text = file.read_text("utf-8")
        file.unlink()
        shown = terminal.see("multiply.py is gone. Put it back, or answer in another file.")
        assert "Write your answer in multiply.ipynb" in shown
        file.write_text(text, "utf-8")
        assert "is gone" not in terminal.see("multiply.py is back.")


def test_the_terminal_comes_back_as_it_was(course: Course, workspace: Path) -> None:
    def left(terminal: PseudoTerminal) -> str:
        before, _leaves, after = terminal.raw.rpartition(LEAVES)
        assert before.count(ENTERS) == before.count(LEAVES) + 1
        return after

    with watch(course, workspace) as terminal:
        terminal.see("0 of 4 done")
        terminal.process.send_signal(signal.SIGTSTP)  # Ctrl-Z
        deadline = time.monotonic() + 60
        while LEAVES not in terminal.raw:
            assert time.monotonic() < deadline
            terminal._read()
        terminal.process.send_signal(signal.SIGCONT)
        while terminal.raw.count(ENTERS) < 2:
            assert time.monotonic() < deadline
            terminal._read()
        terminal.see("0 of 4 done")
        terminal.press("q")
        assert terminal.wait() == 0
        said = left(terminal).split("\r\n")
        assert said[0].endswith(" 0 of 4 done")
        assert said[1:] == ["Next: Twice (`double`).", ""]
    with watch(course, workspace, PYTHONUTF8="0", PYTHONIOENCODING="ascii") as terminal:
        terminal.see("0 of 4 done")
        terminal.press("h")
        assert terminal.see("Hint 1 of 3").isascii()
        terminal.process.send_signal(signal.SIGINT)  # Ctrl-C
        assert terminal.wait() == 0
        assert "Next: Twice" in left(terminal)
        assert terminal.settings() == terminal.settings_before
