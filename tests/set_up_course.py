"""A course whose one exercise is right only if the course's settings and its whole set-up hold wherever it runs."""

from pathlib import Path

import pytest

SETTINGS = """\
title = "Set up"
files = ["data/table.txt"]
x64 = true
devices = 4

[environment]
JAX_DEFAULT_MATMUL_PRECISION = "highest"
SURVEY = "spring"
"""

_BOOK = '''\
# %% check
from jaxguide.course.author import exercise, expect_close, visible

# %% [markdown]
# # Weights

# %%
import os

import jax
import jax.numpy as jnp
import numpy as np

assert os.environ["SURVEY"] == "spring"
OFFSET = jnp.asarray(np.pi) - 3
TABLE = np.loadtxt("data/table.txt")
FACTORS = {}
FACTORS["last"] = TABLE[-1]


class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right


jax.tree_util.register_pytree_node(Pair, lambda p: ((p.left, p.right), None), lambda _, parts: Pair(*parts))

# %% exercise
@exercise(title="Weighted", hints=["What is weighted?", "Products: https://docs.jax.dev/", "return ____ * x"])
def weighted(x):
    """Return OFFSET and the table's last number times x, over the number of devices: float64[n] -> float64[n]."""
    return OFFSET

# %% check
def expected(x):
    assert (jax.device_count(), os.environ["SURVEY"]) == (4, "spring")
    assert jax.config.jax_default_matmul_precision == "highest"
    return (np.pi - 3) * np.loadtxt("data/table.txt")[-1] * np.asarray(x) / 4


@visible(weighted, idea="Each device has a share.")
def each_has_a_share(answer, draw):
    """Each has a share."""
    x = jnp.asarray(draw.floats(3), jnp.float64)
    expect_close(answer(x), expected(x), rtol=1e-12, atol=1e-15)
'''

_KEY = '''\
# %%
from jaxguide.course.author import answer, expect_close, hidden, wrong

# %% weighted
@answer
def weighted(x):
    pair = jax.jit(lambda p: jax.tree.map(lambda part: part * x, p))(Pair(OFFSET, 1.0))
    return FACTORS["last"] * pair.left / jax.device_count()


@wrong(rejected_by="each_has_a_share", says="There is one device.", misses_the_point=True)
def for_one_device(x):
    return OFFSET * TABLE[-1] * x


@wrong(rejected_by="each_has_a_share", says="The offset is rounded to 32 bits.")
def in_32_bits(x):
    return jnp.float32(OFFSET) * TABLE[-1] * x / jax.device_count()


@hidden(idea="Any number of weights.")
def like_the_key(answer, draw, reference):
    """It gives what the key gives."""
    x = jnp.asarray(draw.floats(5), jnp.float64)
    expect_close(answer(x), reference(x), rtol=1e-12)
'''

RIGHT = """\
import os

import jax
import numpy as np


def weighted(x):
    assert (os.environ["SURVEY"], jax.config.jax_default_matmul_precision) == ("spring", "highest")
    assert not os.stat("data/table.txt").st_mode & 0o222
    assert FACTORS["last"] == np.loadtxt("data/table.txt")[-1]
    return jax.jit(lambda p: p.left * p.right)(Pair(OFFSET, FACTORS["last"])) * x / jax.device_count()
"""


def write_set_up_course(folder: Path) -> Path:
    """Write the course into a folder, and return it."""
    for part, text in (("exercises", _BOOK), ("solutions", _KEY)):
        (folder / part).mkdir(parents=True)
        (folder / part / "weights.py").write_text(text)
    (folder / "exercises" / "data").mkdir()
    (folder / "exercises" / "data" / "table.txt").write_text("2.5\n7.25\n")
    (folder / "course.toml").write_text(SETTINGS)
    return folder


@pytest.fixture
def set_up_course(tmp_path: Path) -> Path:
    """Return the course's folder."""
    return write_set_up_course(tmp_path / "course")
