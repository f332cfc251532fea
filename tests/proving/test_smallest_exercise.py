"""Test that grading needs little of an author, and that notes say what good teaching needs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jaxguide.cli import main

BOOK = """\
# %% check
from jaxguide.course.author import exercise, expect_close, visible

# %%
import jax.numpy as jnp

# %% exercise
@exercise(title="Double it")
def double(x):
    ...

# %% check
@visible(double)
def twice_the_input(answer, draw):
    \"\"\"The result is twice the input.\"\"\"
    x = draw.floats(2)
    expect_close(answer(x), 2 * x)
"""
KEY = """\
# %% double
@answer
def double(x):
    return 2 * jnp.asarray(x)
"""
ADVICE = [
    "is the contract",
    "0 hints",
    "no `notice` and `another_way`",
    "idea behind `twice_the_input`",
    "has 0 planted",
    "misses the point",
]


@pytest.fixture
def smallest(tmp_path: Path) -> Path:
    """Return a course with no more than grading needs, printed, and with a submission."""
    for folder, text in (("exercises", BOOK), ("solutions", KEY)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "small.py").write_text(text)
    assert run("print", "--course", tmp_path).exit_code == 0
    (tmp_path / "ada.py").write_text("def double(x):\n    return x + x\n")
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_it_is_graded_without_hints_ideas_wrong_answers_or_imports_in_the_key(smallest: Path) -> None:
    done = run("grade", smallest / "ada.py", "--course", smallest, "--out", smallest / "results")
    assert done.exit_code == 0, done.output
    (graded,) = json.loads((smallest / "results" / "results.json").read_text())["submissions"]
    assert [(one["name"], one["score"]) for one in graded["exercises"]] == [("double", 1)]


@pytest.mark.parametrize("strict", [False, True])
def test_what_good_teaching_needs_is_noted_or_with_strict_a_problem(smallest: Path, strict: bool) -> None:
    verify = ("verify", "--no-workers", "--jobs", "1", "--course", smallest, *["--strict"][:strict])
    done = run(*verify)
    assert done.exit_code == strict
    said = [line for line in (done.stderr if strict else done.stdout).splitlines() if "small.py:" in line]
    assert [words in line for words, line in zip(ADVICE, said, strict=True)] == [True] * 6, said
    assert all(line.startswith("note: ") for line in said) is not strict


def test_no_hint_is_promised_where_there_is_none(smallest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(smallest)  # where progress is kept
    done = run("hint", "double", "--course", smallest)
    assert (done.exit_code, done.stdout.strip()) == (0, "There is no hint for `double`.")
    (smallest / "ada.py").write_text("def double(x):\n    return x\n")
    done = run("check", smallest / "ada.py", "--course", smallest)
    assert "The result is twice the input" in done.stdout
    assert "hint" not in done.stdout
