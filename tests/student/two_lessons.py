"""A course of two small lessons for terminal tests: numbers to multiply, a prediction, and a Chinese title."""

from pathlib import Path

from jaxguide.course.books.handout import for_students, print_files
from jaxguide.course.books.library import Course, load_course

_HEAD = """\
# %% check
from jaxguide.course.author import exercise, expect_close, prediction, reveal, visible

# %% [markdown]
# # {title}
#
# ## Part 1. One factor

# %%
import jax
import jax.numpy as jnp
"""

_EXERCISE = '''
# %% exercise
@exercise(title="{title}", hints=["How?", "The concept: https://docs.jax.dev", "return ____ * x"])
def {name}(x):
    """Return {factor} times float32[n].

    Args:
        x: float32[n].
    """
    ...


# %% check
@visible({name}, idea="One factor for all.")
def {name}s_three_numbers(answer, draw):
    """It multiplies three numbers by {factor}."""
    x = draw.floats(3)
    expect_close(answer(x), {factor} * x)
'''

_PREDICTION = '''
# %% exercise
@prediction(title="Predict: a size", hints=["How?", "The concept: https://docs.jax.dev", "return ____"])
def predict_size():
    """How many numbers has `jnp.ones((2, 3))`?"""
    ...


# %% check
@reveal(predict_size)
def size():
    return jnp.ones((2, 3)).size
'''

_KEY_HEAD = """\
# %%
from jaxguide.course.author import answer
"""

_KEY = """
# %% {name}
@answer
def {name}(x):
    return {factor} * x
"""

_KEY_PREDICTION = """
# %% predict_size
@answer
def predict_size():
    return 6
"""

CHINESE = "三倍 把每个数乘以三"


def write_course(folder: Path) -> Course:
    """Write the books, a key and the printed lessons into a folder, and return the loaded course."""
    multiply = _EXERCISE.format(name="double", title="Twice", factor=2.0)
    multiply += _EXERCISE.format(name="triple", title=CHINESE, factor=3.0) + _PREDICTION
    books = {
        "multiply": _HEAD.format(title="Multiply") + multiply,
        "more": _HEAD.format(title="More") + _EXERCISE.format(name="quadruple", title="Four times", factor=4.0),
    }
    for part in ("exercises", "solutions", "notebooks"):
        (folder / part).mkdir(parents=True)
    for name, text in books.items():
        (folder / "exercises" / f"{name}.py").write_text(text, encoding="utf-8")
    (folder / "course.toml").write_text('lessons = ["multiply", "more"]\n')
    (folder / "solutions" / "multiply.py").write_text(key_cells(double=2.0, triple=3.0) + _KEY_PREDICTION)
    course = load_course(folder, keys=False)
    print_files(for_students(course), folder / "notebooks")
    return course


def key_cells(**factors: float) -> str:
    """Return a key's text with an answer for each of these exercises."""
    return "".join([_KEY_HEAD, *(_KEY.format(name=name, factor=factor) for name, factor in factors.items())])


def answer(path: Path, name: str, body: str) -> None:
    """Replace a function's body in a printed .py file, in one step as editors do."""
    before, head, rest = path.read_text("utf-8").partition(f"def {name}(")
    signature, _newline, rest = rest.partition("\n")
    _old, check, after = rest.partition(f"\n\n\ncheck({name})")
    assert head
    assert check
    part = path.with_name(f".{path.name}.part")
    part.write_text(f"{before}{head}{signature}\n    {body}{check}{after}", encoding="utf-8")
    part.replace(path)
