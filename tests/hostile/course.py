"""A course of two exercises whose key and hidden inputs can be recognised wherever they leak."""

from pathlib import Path

KEY_SECRET = "CANARY-of-the-key-51c7"
OTHERS_SECRET = "CANARY-of-a-neighbour-8e02"
HOME_SECRET = "CANARY-of-the-home-77d4"
ENVIRONMENT_SECRET = "CANARY-of-the-environment-2b9f"
HIDDEN_INPUT = 73915.0
# The hidden input, and the key's answer to it, as Python, NumPy and JAX print them.
HIDDEN_DIGITS = ("73915", "7.3915", "147830", "1.4783")

_BOOK = '''\
# %% check
from jaxguide.course.author import exercise, expect_close, visible

# %% [markdown]
# # Numbers under attack

# %%
import jax
import jax.numpy as jnp

# %% exercise
@exercise(title="Double", hints=["How?", "The concept: https://docs.jax.dev", "return ____ * x"])
def double(x):
    """Return 2 times float32[n]."""
    ...


# %% check
@visible(double, idea="One factor for all.")
def doubles_three_numbers(answer, draw):
    """It multiplies three numbers by 2."""
    x = draw.floats(3)
    expect_close(answer(x), 2 * x)

# %% exercise
@exercise(title="Total", hints=["How?", "The concept: https://docs.jax.dev", "return x.____()"])
def total(x):
    """Return the sum of float32[n]."""
    ...


# %% check
@visible(total, idea="One number for all.")
def adds_three_numbers(answer, draw):
    """It adds three numbers."""
    x = draw.floats(3)
    expect_close(answer(x), x.sum())
'''

_KEY = f'''\
# %%
from jaxguide.course.author import answer, expect_close, hidden
SECRET = "{KEY_SECRET}"

# %% double
@answer
def double(x):
    "{KEY_SECRET}"
    return 2 * x


@hidden(idea="One factor for all.")
def doubles_any_numbers(answer, draw, reference):
    """It multiplies any numbers by 2."""
    x = jnp.full(5, {HIDDEN_INPUT}, jnp.float32)
    expect_close(answer(x), reference(x))

# %% total
@answer
def total(x):
    "{KEY_SECRET}"
    return x.sum()
'''


def write_course(folder: Path) -> None:
    """Write the book and the key into a folder."""
    (folder / "exercises").mkdir(parents=True)
    (folder / "solutions").mkdir()
    (folder / "exercises" / "attacked.py").write_text(_BOOK)
    (folder / "solutions" / "attacked.py").write_text(_KEY)
