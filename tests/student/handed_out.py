"""Courses as students get them, each with a right and a wrong answer, and programs run as a student runs them."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from set_up_course import write_set_up_course

ROOT = Path(__file__).parents[2]

_TOTALS = '''\
# %% check
from jaxguide.course.author import exercise, expect_close, visible

# %% [markdown]
# # Totals

# %%
import jax
import jax.numpy as jnp
import numpy as np

LIMITS = np.loadtxt("data/table.txt")

# %% exercise
@exercise(title="Total", hints=["Of what?", "Sums: https://docs.jax.dev/", "return ____.sum()"])
def total(x):
    """Return the sum of x and of LIMITS, times the number of devices: float64[n] -> float64."""
    ...

# %% check
@visible(total, idea="A sum in 64 bits.")
def it_is_the_sum(answer, draw):
    """It is the sum."""
    x = jnp.asarray(draw.floats(3), jnp.float64) + 1e-12
    expect_close(answer(x), (x.sum() + np.loadtxt("data/table.txt").sum()) * jax.device_count(), rtol=1e-14)
'''

_TOTALS_KEY = '''\
# %%
from jaxguide.course.author import answer, expect_close, hidden, wrong

# %% total
@answer
def total(x):
    return jax.device_count() * (jnp.sum(x) + LIMITS.sum())


@wrong(rejected_by="it_is_the_sum", says="The limits are left out.")
def without_the_limits(x):
    return jax.device_count() * jnp.sum(x)


@wrong(rejected_by="like_the_total_of_the_key", says="Only the first three numbers are added.")
def of_three_numbers(x):
    return jax.device_count() * (jnp.sum(x[:3]) + LIMITS.sum())


@hidden(idea="However many numbers there are.")
def like_the_total_of_the_key(answer, draw, reference):
    """More numbers are added, too."""
    x = jnp.asarray(draw.floats(6), jnp.float64)
    expect_close(answer(x), reference(x), rtol=1e-12)
'''


@dataclasses.dataclass(frozen=True)
class HandedOut:
    """A printed course.

    Args:
        course: its folder.
        lesson: one of its lessons.
        exercise: one of its exercises.
        right: a right answer.
        wrong: a wrong one that the key plants and that a visible check rejects.
    """

    course: Path
    lesson: str
    exercise: str
    right: str
    wrong: str

    @property
    def notebooks(self) -> Path:
        """The folder that students get."""
        return self.course / "notebooks"

    @property
    def identity(self) -> str:
        """What tells the course from others."""
        (folder,) = (self.notebooks / "jaxguide_course").iterdir()
        return folder.name

    def start(self) -> str:
        """The source of the notebook's cell that starts the lesson."""
        cells = json.loads((self.notebooks / f"{self.lesson}.ipynb").read_text())["cells"]
        (source,) = ("".join(cell["source"]) for cell in cells if "start(" in "".join(cell["source"]))
        return source


def write_rows(folder: Path) -> HandedOut:
    """Print a copy of the example in the documentation."""
    shutil.copytree(ROOT / "examples" / "private_course", folder, ignore=shutil.ignore_patterns("__pycache__"))
    jaxguide("print", "--course", folder, folder=folder)
    head = "import jax\nimport jax.numpy as jnp\n\n\n"
    right = head + "def unit_rows(x):\n    return x / jnp.sqrt((x**2).sum(axis=-1, keepdims=True))\n"
    return HandedOut(folder, "rows", "unit_rows", right, right.replace("axis=-1", "axis=0"))


def write_weights(folder: Path) -> HandedOut:
    """Print a course of two lessons that need 64-bit types, four devices, a variable and a file."""
    write_set_up_course(folder)
    for part, text in (("exercises", _TOTALS), ("solutions", _TOTALS_KEY)):
        (folder / part / "totals.py").write_text(text)
    jaxguide("print", "--course", folder, folder=folder)
    wrong = "import jax\n\n\ndef weighted(x):\n    return OFFSET * TABLE[-1] * x\n"
    right = wrong.replace("* x", "* x / jax.device_count()")
    return HandedOut(folder, "weights", "weighted", right, wrong)


def python(*arguments: object, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, as a student without settings of their own does."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_", "JAXGUIDE_"))}
    environment = {**kept, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", **variables}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def jaxguide(*arguments: object, folder: Path, **variables: str) -> str:
    """Run a command that must succeed, and return what it printed."""
    done = python("-m", "jaxguide", *arguments, folder=folder, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
