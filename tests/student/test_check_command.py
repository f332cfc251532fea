"""Test `jaxguide check` on a student's file."""

import subprocess
import sys
from pathlib import Path

import pytest

from jaxguide.course.books.library import students_course


def check(folder: Path, source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "mine.py").write_text(source)
    command = [sys.executable, "-m", "jaxguide", "check", "mine.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def test_a_right_answer_passes_and_the_status_is_0(tmp_path: Path) -> None:
    done = check(
        tmp_path, "import jax.numpy as jnp\n\ndef sliding_dot(x, w):\n    return jnp.correlate(x, w)\n", "sliding_dot"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Right so far" in done.stdout


def test_an_answer_may_use_what_the_first_cell_of_the_printed_lesson_imports(tmp_path: Path) -> None:
    printed = (students_course().folders.notebooks / "arrays_and_layers.py").read_text()
    answer = "def sliding_dot(x, w):\n    sys.stdout.flush()\n    return jnp.correlate(x, w)\n"
    done = check(tmp_path, f"{printed}\n\n{answer}", "sliding_dot")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.long
def test_what_the_file_does_not_define_is_said(tmp_path: Path) -> None:
    done = check(tmp_path, "two_samples = 1\n", "draw_by_draw")
    assert done.returncode == 1
    assert "mine.py does not define `draw_by_draw`." in done.stdout


def test_a_starter_to_repair_shows_how_it_fails_if_it_is_asked_for(tmp_path: Path) -> None:
    starters = [students_course().exercise(name).cell_source for name in ("cap_peaks", "look_inside_jit")]
    source = "import jax\nimport jax.numpy as jnp\n\n" + "\n\n".join(starters)
    said = " ".join(check(tmp_path, source, "cap_peaks", "look_inside_jit").stdout.split())
    assert "As given, it fails:" in said
    assert f"line {source.splitlines().index('    x[x > limit] = limit') + 1}: `x[x > limit] = limit`" in said
    assert said.count("As given") == 1, "`look_inside_jit` is to be written"
    assert "2 not started." in said
    assert "As given" not in check(tmp_path, source).stdout


@pytest.mark.long
def test_a_syntax_error_is_said_with_its_line(tmp_path: Path) -> None:
    done = check(tmp_path, "x = 1\n\nx = (\n")
    assert done.returncode == 1
    assert "does not answer any exercise" in done.stderr
    assert "line 3" in done.stderr


LINES = """import jax

@jax.jit
def sliding_dot(x, w):
    if x[0] > 0:
        return x

def vectorized_by_vmap(xs, ws):
    return slide(None, ws)

def loop_over_batch(xs, ws
    return xs
"""


@pytest.mark.long
def test_lines_are_those_of_the_file_and_no_line_of_the_lesson_is_named(tmp_path: Path) -> None:
    done = check(tmp_path, LINES)
    said = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert "line 5: `if x[0] > 0:`" in said
    # `slide` is part of the lesson, so the line at fault is the one that calls it.
    assert "line 9: `return slide(None, ws)`" in said
    assert "Python cannot read your code" in said
    assert "SyntaxError: '(' was never closed" in said
    assert "line 11: `def loop_over_batch(xs, ws`" in said


def test_an_unknown_exercise_is_wrong_usage_with_a_suggestion(tmp_path: Path) -> None:
    done = check(tmp_path, "x = 1\n", "two_sample")
    assert done.returncode == 2
    assert "Did you mean `two_samples`?" in done.stderr
