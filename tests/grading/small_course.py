"""A small course: four exercises that multiply, one that takes a function, and one that returns two values."""

from pathlib import Path

FACTORS = {"double": 2.0, "triple": 3.0, "quadruple": 4.0, "quintuple": 5.0}

_BOOK_HEAD = """\
# %% check
from jaxguide.course.author import exercise, expect_close, expect_equal, given, visible

# %% [markdown]
# # Small numbers

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

# %%
scale = jnp.float32(10.0)
plt.plot([0, 1])


def loss(x):
    return (x**2).sum()
"""

_BOOK_EXERCISE = '''
# %% exercise
@exercise(title="{name}", hints=["How?", "The concept: https://docs.jax.dev", "return ____ * x"])
def {name}(x):
    """Return {factor} times float32[n]."""
    ...


# %% check
@visible({name}, idea="One factor for all.")
def {name}s_three_numbers(answer, draw):
    """It multiplies three numbers by {factor}."""
    x = draw.floats(3)
    expect_close(answer(x), {factor} * x)


@visible({name}, stage="traces", idea="One trace for one shape.")
def {name}_traces_once(answer, draw):
    """It is traced once for one shape."""
    x = draw.floats(3)
    _first, second = answer.jit.observe_calls([(x,), (x,)])
    expect_equal(second.traces, 0)
'''

_BOOK_TAIL = '''
# %% exercise
@exercise(title="Slope", points=2, hints=["How?", "The concept: https://docs.jax.dev", "return jax.grad(____)(x)"])
def slope(f, x):
    """Return the gradient of f at x."""
    return f(x)


# %% check
@visible(slope, idea="grad gives a function.")
def slope_of_the_loss(answer, draw):
    """It is right for the loss of the lesson."""
    x = draw.floats(4)
    expect_close(answer(given("loss"), x), 2 * x)
'''

_BOOK_PAIR = '''
# %% exercise
@exercise(title="Pair", hints=["How?", "The concept: https://docs.jax.dev", "return x, ____"])
def pair(x):
    """Return x and 2 x."""
    ...


# %% check
@visible(pair, idea="A tuple of two.")
def pair_has_two_parts(answer, draw):
    """It gives the number and its double."""
    first, second = answer(draw.floats(2))
    expect_close(second, 2 * first.values)
'''

_KEY_HEAD = """\
# %%
from jaxguide.course.author import answer, expect_close, hidden

SECRET = "the secret of the key"
"""

_KEY_EXERCISE = '''
# %% {name}
@answer
def {name}(x):
    return {factor} * x


@hidden(idea="One factor for all.")
def {name}s_any_numbers(answer, draw, reference):
    """It multiplies any numbers by {factor}."""
    x = draw.floats(5)
    expect_close(answer(x), reference(x))
'''

_KEY_TAIL = """
# %% slope
@answer
def slope(f, x):
    return jax.grad(f)(x)

# %% pair
@answer
def pair(x):
    return x, 2 * x
"""

ANSWERS = {name: f"def {name}(x):\n    return {factor} * x\n" for name, factor in FACTORS.items()}
ANSWERS["pair"] = "def pair(x):\n    return x, 2 * x\n"
ANSWERS["slope"] = "def slope(f, x):\n    return jax.grad(f)(x)\n"


def write_course(folder: Path) -> None:
    """Write the book and the key into a folder."""
    (folder / "exercises").mkdir()
    (folder / "solutions").mkdir()
    book = [_BOOK_EXERCISE.format(name=name, factor=factor) for name, factor in FACTORS.items()]
    key = [_KEY_EXERCISE.format(name=name, factor=factor) for name, factor in FACTORS.items()]
    (folder / "exercises" / "small_numbers.py").write_text("".join([_BOOK_HEAD, *book, _BOOK_TAIL, _BOOK_PAIR]))
    (folder / "solutions" / "small_numbers.py").write_text("".join([_KEY_HEAD, *key, _KEY_TAIL]))


def without(*names: str) -> list[str]:
    """Return the right answers to all exercises except these."""
    return [source for name, source in ANSWERS.items() if name not in names]
