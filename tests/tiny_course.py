"""A tiny course that tests may change: one book, one key."""

from pathlib import Path

import pytest

# The tiny course has no texts beyond its tasks, and `verify` would like some.
ON_TEXTS = ("no example call", "for students who have passed", "for students who have guessed")

BOOK = '''\
# %% check
from jaxguide.course.author import (
    exercise,
    expect_close,
    expect_different,
    expect_no_key_problem,
    given,
    prediction,
    reveal,
    visible,
)

# %% [markdown]
# # Tiny
#
# A lesson for tests.

# %%
import jax
import jax.numpy as jnp
import numpy as np

FACTOR = 2.0


def square(x):
    return x * x


print("never run by the loader")

# %% exercise
@exercise(
    title="Double it",
    points=2,
    hints=[
        "What is twice x?",
        "Multiplication: https://docs.jax.dev/",
        "x * ____",
        "def triple(x):\\n    return 3 * x\\n\\nprint(FACTOR, triple(2.0))",
    ],
)
def double(x):
    """Return twice x: float32[n] -> float32[n]."""
    ...

# %% check
@visible(double, idea="Twice is two times.")
def twice_the_input(answer, draw):
    """The result is twice the input."""
    for n in (2, 5):
        x = draw.floats(n)
        expect_close(answer(x), FACTOR * x)


@visible(double, stage="jit", idea="Write it with jax.numpy.")
def works_under_jit(answer, draw):
    """It works under jax.jit."""
    x = draw.floats(3)
    expect_close(answer.jit(x), FACTOR * x)

# %% exercise
@prediction(title="Guess", points=1, hints=["What do you think?", "Shapes: https://docs.jax.dev/", "return (____,)"])
def guess_shape():
    """Which shape has jnp.zeros(3)?"""
    ...

# %% check
@reveal(guess_shape)
def zeros_shape():
    """The shape of jnp.zeros(3)."""
    return jnp.zeros(3).shape
'''

KEY = '''\
# %%
import jax
import jax.numpy as jnp
from jaxguide.course.author import alternative, alternative_value, answer, expect_close, hidden, wrong

# %% double
@answer
def double(x):
    return 2 * x


@wrong(rejected_by="twice_the_input", says="Squares instead of doubling.", misses_the_point=True)
def squares(x):
    return x * x


@wrong(rejected_by="works_under_jit", says="NumPy cannot be traced.")
def numpy_inside(x):
    return jnp.asarray(np.asarray(x) * np.float32(2))


@alternative
@jax.jit
def jitted(x):
    return x + x


alternative_value("a_lambda", lambda x: 2 * x)


@hidden(idea="Any input.", weight=2)
def matches_the_key(answer, draw, reference):
    """It gives what the key gives."""
    x = draw.floats(4)
    expect_close(answer(x), reference(x))

# %% guess_shape
@answer
def guess_shape():
    return (3,)
'''


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Return a course folder with the book and key above."""
    for folder, text in (("exercises", BOOK), ("solutions", KEY)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tiny.py").write_text(text)
    return tmp_path


def edit(course: Path, file: str, old: str, new: str) -> Path:
    """Replace the first `old` in a course's file, and return its path."""
    path = course / file
    text = path.read_text()
    assert old in text, old
    path.write_text(text.replace(old, new, 1))
    return path


def beyond_texts(told: list[str]) -> list[str]:
    """Return what `verify` tells of the course, without what it says of missing texts."""
    return [one for one in told if not any(words in one for words in ON_TEXTS)]
