"""Test that a lesson has 64-bit types if the course says so of it, wherever its code and its checks run."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide import compat
from jaxguide.course.books.digest import course_digest
from jaxguide.course.books.library import load_course, read_outline
from jaxguide.course.judging.draw import Draw
from jaxguide.course.settings import read_settings, write_settings
from jaxguide.proving.prove_in_parallel import prove

_BOOK = '''\
# %% check
from jaxguide.course.author import exercise, expect_equal, visible

# %% [markdown]
# # {lesson}

# %%
import jax
import jax.numpy as jnp
import numpy as np

THIRD = jnp.asarray(1 / 3)

# %% exercise
@exercise(title="Add", hints=["How?", "See https://docs.jax.dev/", "return ____"])
def add_{lesson}(x):
    """Add a third: {dtype}[n] -> {dtype}[n]."""
    ...

# %% check
@visible(add_{lesson})
def it_has_all_digits(answer, draw):
    """It has all digits."""
    x = draw.floats(3, dtype="{dtype}")
    assert (x.dtype, THIRD.dtype, jnp.ones(1).dtype) == ("{dtype}",) * 3
    expect_equal(answer(x), jnp.asarray(x + THIRD))
'''
_KEY = '''\
# %%
from jaxguide.course.author import answer, expect_equal, hidden, wrong

# %% add_{lesson}
@answer
def add_{lesson}(x):
    seen = jax.pure_callback(lambda x: np.asarray(x), jax.ShapeDtypeStruct(x.shape, "{dtype}"), x)
    assert (seen.dtype, THIRD.dtype, jnp.ones(1).dtype) == ("{dtype}",) * 3
    return seen + 1 / 3


@wrong(rejected_by="it_has_all_digits", misses_the_point=True)
def nothing(x):
    return x


@wrong(rejected_by="it_has_all_digits")
def half_the_digits(x):
    return (x + THIRD).astype("float16").astype("{dtype}")


@hidden(on="other numbers")
def like_the_key(answer, draw, reference):
    """It is the key's."""
    x = draw.floats(4, dtype="{dtype}")
    expect_equal(answer(x), reference(x))
'''
DTYPES = {"narrow": "float32", "wide": "float64"}


@pytest.fixture
def course(tmp_path: Path) -> Path:
    folder = tmp_path / "course"
    for part, text in (("exercises", _BOOK), ("solutions", _KEY)):
        (folder / part).mkdir(parents=True)
        for lesson, dtype in DTYPES.items():
            (folder / part / f"{lesson}.py").write_text(text.format(lesson=lesson, dtype=dtype))
    (folder / "course.toml").write_text('identity = "types"\nx64 = ["wide"]\n')
    return folder


def answers() -> str:
    """Return a file with answers to both lessons, which are right only with the types of their lesson."""
    head = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n\n\n"
    of_key = (_KEY.format(lesson=lesson, dtype=dtype) for lesson, dtype in DTYPES.items())
    return head + "\n\n".join(one.split("@answer\n")[1].split("\n\n\n")[0] for one in of_key)


def python(*arguments: object, folder: Path) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_", "JAXGUIDE_"))}
    environment = {**kept, "PYTHONPATH": str(Path(__file__).parents[2]), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_each_lesson_is_proven_with_its_own_types(course: Path) -> None:
    loaded = load_course(course)
    proofs = [proof.problems for _exercise, proof in prove(loaded, [*loaded.exercises.values()])]
    assert proofs == [[], []]
    assert not jax.config.jax_enable_x64  # type: ignore[attr-defined]
    digest = course_digest(loaded)
    (course / "course.toml").write_text((course / "course.toml").read_text().replace("wide", "narrow"))
    assert read_settings(course).x64_of("wide") is False
    assert read_settings(course).x64_of("narrow") is True
    assert "cannot give float64" in _why_not(course)
    assert course_digest(load_course(course)) != digest


def _why_not(course: Path) -> str:
    loaded = load_course(course)
    proofs = prove(loaded, [*loaded.exercises.values()])
    return " ".join(one.message for _exercise, proof in proofs for one in proof.problems)


def test_the_settings_of_lessons_are_written_as_they_are_read(course: Path) -> None:
    settings = read_settings(course)
    assert 'x64 = ["wide"]' in write_settings(settings)
    assert read_outline(course).settings.x64 == ("wide",)


@pytest.mark.long
def test_each_lesson_is_graded_checked_and_proven_with_its_own_types(course: Path, tmp_path: Path) -> None:
    (tmp_path / "ada.py").write_text(answers())
    (graded,) = json.loads(
        python("-m", "jaxguide", "grade", "ada.py", "--course", "course", "--json", folder=tmp_path)
    )["submissions"]
    assert (graded["score"], graded["points"]) == (2, 2), graded
    found = json.loads(python("-m", "jaxguide", "check", "ada.py", "--course", "course", "--json", folder=tmp_path))
    assert [one["verdict"] for one in found["exercises"]] == ["passed"] * 2
    python("-m", "jaxguide", "print", "--course", "course", folder=tmp_path)
    assert "all proven" in python("-m", "jaxguide", "verify", "--course", "course", "--jobs", 2, folder=tmp_path)


_SESSION = """
import jax
import jax.numpy as jnp
from jaxguide.lesson import check, start

for lesson in LESSONS:
    start(lesson, course="types")
    print(lesson, jnp.ones(1).dtype)
THIRD = jnp.asarray(1 / 3)
"""


@pytest.mark.parametrize("lessons", [["narrow", "wide"], ["wide", "narrow"]])
def test_each_lesson_is_started_and_checked_with_its_own_types(
    course: Path, tmp_path: Path, lessons: list[str]
) -> None:
    python("-m", "jaxguide", "print", "--course", "course", folder=tmp_path)
    session = _SESSION.replace("LESSONS", repr(lessons)) + answers().replace("THIRD.dtype, ", "")
    session = session.replace('== ("float32",) * 3', '== ("float32",) * 2').replace(
        '== ("float64",) * 3', '== ("float64",) * 2'
    )
    (course / "notebooks" / "mine.py").write_text(f"{session}\n\ncheck(add_narrow)\ncheck(add_wide)\n")
    said = python("mine.py", folder=course / "notebooks")
    assert [f"{lesson} {DTYPES[lesson]}" in said for lesson in DTYPES] == [True, True], said
    assert said.count("Right so far") == 2, said


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", float, np.float64, "int32"])
def test_draws_have_the_digits_of_their_dtype(dtype: Any) -> None:
    with compat.float64():
        drawn = Draw(0, "f", "check").floats(100, dtype=dtype)
        assert drawn.dtype == jnp.dtype(dtype)
        expected = Draw(0, "f", "check").generator.standard_normal(100).astype(jnp.dtype(dtype))
        assert (np.asarray(drawn) == expected).all()
    if jnp.dtype(dtype).itemsize == 8:
        with pytest.raises(ValueError, match="cannot give float64, since 64-bit types are off; turn on `x64`"):
            Draw(0, "f", "check").floats(1, dtype=dtype)
