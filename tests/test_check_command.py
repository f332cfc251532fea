"""`jaxguide check` on a student's file."""

import subprocess
import sys
from pathlib import Path


def check(folder: Path, source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "mine.py").write_text(source)
    command = [sys.executable, "-m", "jaxguide", "check", "mine.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def test_a_right_answer_passes_and_the_status_is_0(tmp_path: Path) -> None:
    done = check(tmp_path, "import jax\ndraw_per_key = jax.vmap(jax.random.normal)\n", "draw_per_key")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Visible checks passed" in done.stdout


def test_what_the_file_does_not_define_is_said(tmp_path: Path) -> None:
    done = check(tmp_path, "two_samples = 1\n", "worker_noise")
    assert done.returncode == 1
    assert "mine.py does not define `worker_noise`." in done.stdout


def test_a_syntax_error_is_said_with_its_line(tmp_path: Path) -> None:
    done = check(tmp_path, "x = 1\n\nx = (\n")
    assert done.returncode == 1
    assert "answers no exercise" in done.stderr
    assert "line 3" in done.stderr


def test_an_unknown_exercise_is_wrong_usage_with_a_suggestion(tmp_path: Path) -> None:
    done = check(tmp_path, "x = 1\n", "two_sample")
    assert done.returncode == 2
    assert "Did you mean `two_samples`?" in done.stderr
