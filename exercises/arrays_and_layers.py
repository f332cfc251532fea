# %% check
from jaxguide.course.author import (
    exercise,
    expect_close,
    expect_documented,
    expect_dtype,
    expect_equal,
    expect_raises,
    expect_shape,
    expect_that,
    given,
    prediction,
    reveal,
    visible,
)


def parts(got, count):
    """Return the parts of a result that should be a tuple of `count` values."""
    message = f"Return a tuple of {count} values."
    expect_that(isinstance(got, tuple | list) and len(got) == count, message, got)
    return list(got)


def is_numpy(value):
    """Return whether a value was a NumPy array or scalar, and no JAX array."""
    return getattr(value, "origin", "") == "numpy"


def is_jax(value):
    """Return whether a value was a JAX array."""
    return getattr(value, "origin", "") == "jax"


def describe_origin(value):
    """Return which library an array comes from, and what else a value is."""
    kind = "an array of NumPy's" if is_numpy(value) else "an array of JAX's" if is_jax(value) else "no array"
    return kind if kind != "no array" else value


def number(value):
    """Return a scalar of any kind as a Python float."""
    expect_shape(value, ())
    return float(np.asarray(value))


def names(got):
    """Return a list of names, each once, in the order of the alphabet."""
    message = "Return a list of names."
    expect_that(isinstance(got, tuple | list) and all(isinstance(name, str) for name in got), message, got)
    expect_that(len(set(got)) == len(got), "A name stands in the list twice.", got, "each name once")
    return sorted(got)


# %% [markdown]
# # Arrays and layers
#
# JAX looks like NumPy, and it is not NumPy. This lesson shows where the two agree,
# where they differ, and what lies below.
#
# After this lesson you can
#
# - move NumPy code to `jax.numpy`, and say what changes on the way,
# - update arrays that cannot be changed in place, also many places at once,
# - predict the dtype that comes out when types are mixed,
# - look below `jax.numpy`: at `jax.lax`, and at the operations of the compiler XLA.
#
# You need NumPy; you need no JAX yet. The lesson takes about an hour and a half. It has
# four parts, and you can stop after each.
#
# It follows a page of JAX's documentation, "How to think in JAX", which it calls *the
# document*. Where today's JAX does something else than an older copy of that page says,
# you will see both.

# %% [markdown]
# Run the cells from top to bottom. A cell with a function to write or to repair is an
# **exercise**: `check(...)` tells you what is right. If you are stuck,
# `hint(name_of_the_function)` gives a small hint, and tells how to get more. In a
# **prediction** you guess first; then the real answer is computed before your eyes. You
# get the point for guessing, right or wrong.

# %%
import contextlib
import io
import re
import sys
import tempfile
import types
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxguide.tracing import draw_program, program

# %% [markdown]
# ## How to read a contract
#
# The text of each exercise is a contract: what your function does, what it may be
# called with (**Args**), and what it must return (**Returns**) for *all* such
# arguments, not only for those of an example. Types are written as JAX prints them, a
# dtype with the shape in brackets:
#
# | type | meaning |
# | --- | --- |
# | `float32[2,3]` | an array of float32 with 2 rows and 3 columns |
# | `float32[n,m]` | the same with any number of rows and columns; in one contract, equal letters are equal sizes |
# | `float32[]` | a scalar: an array without axes, whose shape is `()` |
# | `int`, `float` | a number of Python's, not an array |
# | `w[n], xs[n,m] -> [m]` | a function of two arrays, and the shape of its result; the dtype follows from theirs |
# | `key<fry>[]` | one random key; the lesson `random_numbers` is about them |
# | pytree | arrays in dicts, lists or tuples, nested in any way |
#
# For example (`jnp.array` and `jnp.ones` make JAX arrays):
#
# > Add up the rows of `xs`, each times its weight.
# >
# > ```python
# > >>> weighted_sum(jnp.array([1.0, 2.0]), jnp.ones((2, 3)))
# > Array([3., 3., 3.], dtype=float32)
# > ```
# >
# > **Args:**
# >
# > - `w`: float32[n].
# > - `xs`: float32[n,m].
# >
# > **Returns:** float32[m].
#
# In words: `w` has as many numbers as `xs` has rows, and the result has as many as
# `xs` has columns, whatever n and m are. In the example, n is 2 and m is 3, and the
# result is 1 · (1, 1, 1) + 2 · (1, 1, 1).

# %% [markdown]
# ## Part 1. JAX beside NumPy
#
# `jax.numpy` has the functions of `numpy`, under the same names. By convention it is
# imported as `jnp`. Often it is enough to write `jnp` for `np`. Here is a curve in
# NumPy.

# %%
x_np = np.linspace(0, 10, 1000)
y_np = 2 * np.sin(x_np) * np.cos(x_np)
print(y_np[:5], y_np.dtype)

# %% [markdown]
# In the next cell the JAX array goes straight into matplotlib, which has never heard of
# JAX.


# %%
def plot_curves():
    """Draw the curve that NumPy computes and the one that JAX computes."""
    import matplotlib.pyplot as plt

    x_jnp = jnp.linspace(0, 10, 1000)
    y_jnp = 2 * jnp.sin(x_jnp) * jnp.cos(x_jnp)
    _, (left, right) = plt.subplots(1, 2, figsize=(8, 2.2), sharey=True, layout="constrained")
    left.plot(x_np, y_np)
    left.set_title("NumPy")
    right.plot(x_jnp, y_jnp, color="tab:orange")
    right.set_title("JAX")
    plt.show()


plot_curves()


# %% exercise
@exercise(
    title="One curve, twice",
    points=2,
    reproduces=["S1-01", "S1-02"],
    hints=[
        "Which letters must change when the NumPy lines become JAX lines?",
        "`jax.numpy` has `linspace`, `sin` and `cos` too. "
        "https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html#jax-vs-numpy",
        "x = np.linspace(0, 10, n)\nin_numpy = 2 * np.sin(x) * np.cos(x)\nx = jnp.linspace(0, 10, n)\n"
        "in_jax = ____\nreturn in_numpy, in_jax",
        """# Like it: how a cup of tea cools in n minutes, by NumPy and by JAX.
def cooling(n):
    minutes = np.arange(n)
    by_numpy = 20 + 70 * np.exp(-minutes / 10)
    minutes = jnp.arange(n)
    by_jax = 20 + 70 * jnp.exp(-minutes / 10)
    return by_numpy, by_jax

tea_numpy, tea_jax = cooling(4)
print(tea_numpy.dtype, tea_jax.dtype)  # float64 float32""",
    ],
)
def curve_both_ways(n):
    """Compute 2 sin(x) cos(x) at n points from 0 to 10, both ends included: once with NumPy, once with JAX.

    Args:
        n: int, how many points; 2 or more.

    Returns:
        A tuple `(in_numpy, in_jax)`: the curve as a NumPy array, float64[n], and as a JAX array, float32[n].
    """
    ...


# %% check
# Places on the curve of 1000 points that the ledger records.
PLACES = [0, 1, 125, 250, 375, 500, 625, 750, 875, 999]


def kept_places(curve):
    """Return the curve at the recorded places."""
    return np.asarray(curve, dtype=np.float64)[PLACES].tolist()


@visible(curve_both_ways, stage="shape")
def curves_have_n_points(answer):
    """Both curves have n points."""
    for n in (5, 8):
        for curve in parts(answer(n), 2):
            expect_shape(curve, (n,))


@visible(
    curve_both_ways, stage="dtype", idea="NumPy computes in float64; JAX computes in float32 unless told otherwise."
)
def one_curve_of_each_kind(answer):
    """The first curve is a NumPy array of float64, the second a JAX array of float32."""
    in_numpy, in_jax = parts(answer(5), 2)
    message = "The first curve should be a NumPy array."
    expect_that(is_numpy(in_numpy), message, describe_origin(in_numpy), "an array of NumPy's")
    message = "The second curve should be a JAX array."
    expect_that(is_jax(in_jax), message, describe_origin(in_jax), "an array of JAX's")
    expect_dtype(in_numpy, "float64")
    expect_dtype(in_jax, "float32")


@visible(curve_both_ways, idea="The curve is sin(2x), at n points from 0 to 10.", reproduces=["S1-01"])
def numpy_draws_the_documented_curve(answer):
    """With 1000 points, NumPy's curve is the one drawn above."""
    in_numpy, _ = parts(answer(1000), 2)
    expect_shape(in_numpy, (1000,))
    expect_documented("S1-01", kept_places(in_numpy), message="NumPy's curve should be 2 sin(x) cos(x) from 0 to 10.")


@visible(
    curve_both_ways,
    idea="The same code with `jnp` gives the same curve, to the precision of float32.",
    reproduces=["S1-02"],
)
def jax_draws_the_same_curve(answer):
    """With 1000 points, JAX's curve is the same, to 5 digits."""
    in_numpy, in_jax = parts(answer(1000), 2)
    expect_shape(in_jax, (1000,))
    # Rounded numbers and numbers computed in float32 differ in the last digits somewhere among 1000.
    rounded = np.asarray(in_numpy).astype(np.float32)
    message = "JAX should compute the second curve; yours is, bit for bit, the first one rounded to float32."
    expect_that(not np.array_equal(rounded, np.asarray(in_jax)), message, in_jax)
    expect_documented("S1-02", kept_places(in_jax), message="JAX's curve should be 2 sin(x) cos(x) from 0 to 10.")


# %% [markdown]
# ### Two types of array
#
# The arrays look alike, but they are different types. This helper gives a type's full
# name.


# %%
def type_name(value):
    """Return the full name of a value's type, such as `builtins.int`."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


print(type_name(np.ones(3)))
print(type_name(jnp.ones(3)))

# %% [markdown]
# Older texts show `jaxlib.xla_extension.ArrayImpl` for the second. Since JAX 0.6.1 it
# is `jaxlib._jax.ArrayImpl`: the class lives in a private module, and private names
# move. You will soon see the test that does not break.
#
# First a guess. What happens if you mix the two?


# %% exercise
@prediction(
    title="Predict: a mixed sum",
    points=1,
    hints=[
        "If you were the author of JAX: which of the two libraries can keep the result on the GPU?",
        "JAX arrays work together with NumPy's by duck typing: a sum asks its operands what to do. "
        "https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html#jax-vs-numpy",
        "# A smaller case: 1.0 + jnp.ones(3) is a JAX array.\nreturn ____  # 'numpy' or 'jax'",
    ],
)
def predict_mixed_sum():
    """Which kind of array is `np.ones(3) + jnp.ones(3)`?

    Returns:
        `"numpy"` or `"jax"`.
    """
    ...


# %% check
@reveal(predict_mixed_sum)
def kind_of_the_mixed_sum():
    """We computed `np.ones(3) + jnp.ones(3)` and looked at its type."""
    return "jax" if isinstance(np.ones(3) + jnp.ones(3), jax.Array) else "numpy"


# %% exercise
@exercise(
    title="Who answers?",
    points=2,
    reproduces=["S1-03", "S1-04", "S1-05"],
    hints=[
        "Which library's function is called in each of the five: NumPy's, or JAX's?",
        "A function of NumPy returns NumPy arrays, one of JAX returns JAX arrays, and `+` with a JAX array asks JAX. "
        "https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html#jax-vs-numpy",
        "values = (a, b, np.sin(b), ____, ____)\nreturn values, [type_name(value) for value in values]",
        """# Like it: the types of three results, one of NumPy's, two of JAX's.
def types_of_results(row, other):
    results = (np.exp(other), jnp.sum(row), row * other)
    return [type_name(result) for result in results]

# np.exp is NumPy's, jnp.sum is JAX's, and `*` asks the JAX array.
print(types_of_results(np.ones(2), jnp.ones(2)))""",
    ],
)
def duck_typing(a, b):
    """Mix a NumPy array and a JAX array in all ways, and tell which type comes out.

    Args:
        a: a NumPy array, float32[n].
        b: a JAX array, float32[n].

    Returns:
        A tuple `(values, types)`. The five values: `a`; `b`; NumPy's sine of `b`; JAX's sine of `a`; and the sum of `a`
        and `b`, written with `+`. The types: a list of the full names of their five types, as `type_name` gives them.
    """
    ...


# %% check
def mixed(answer, draw):
    """Return the values and types for two new arrays, and these arrays."""
    a, b = draw.numpy(4), draw.floats(4)
    values, types_seen = parts(answer(a, b), 2)
    return parts(values, 5), parts(types_seen, 5), a, np.asarray(b)


@visible(duck_typing, idea="JAX arrays and NumPy arrays can stand in for each other in most places.")
def five_values_are_right(answer, draw):
    """The five values are a, b, sin(b), sin(a) and a + b."""
    values, _, a, b = mixed(answer, draw)
    titles = ("`a`", "`b`", "the sine of `b`", "the sine of `a`", "`a + b`")
    for title, got, wanted in zip(titles, values, (a, b, np.sin(b), np.sin(a), a + b), strict=True):
        expect_shape(got, (4,))
        close = np.allclose(np.asarray(got), wanted, rtol=1e-5, atol=1e-6)
        expect_that(close, f"This should be {title}.", got, f"{wanted}")


@visible(duck_typing, idea="The name of NumPy's type has not moved.", reproduces=["S1-03"])
def numpy_array_has_its_documented_type(answer, draw):
    """The type of a NumPy array is `numpy.ndarray`."""
    _, types_seen, _, _ = mixed(answer, draw)
    message = "The first type should be the full name of NumPy's array type, with its module."
    expect_documented("S1-03", types_seen[0], message=message)


@visible(duck_typing, idea="The module of JAX's array class is private; it moved in JAX 0.6.1.", reproduces=["S1-04"])
def jax_array_has_todays_type(answer, draw):
    """The type of a JAX array is the one that JAX has today, not the one in older texts."""
    _, types_seen, _, _ = mixed(answer, draw)
    message = "The second type should be the full name of the type that `b` has today."
    expect_documented("S1-04", types_seen[1], part="today", message=message)


@visible(
    duck_typing,
    idea="NumPy's functions give NumPy arrays, JAX's functions give JAX arrays, and `+` with a JAX array gives one.",
    reproduces=["S1-05"],
)
def mixed_calls_give_the_documented_kinds(answer, draw):
    """`np.sin` of a JAX array is NumPy's, `jnp.sin` of a NumPy array is JAX's, and so is their sum."""
    values, types_seen, _, _ = mixed(answer, draw)
    kinds = ["jax" if is_jax(value) else "numpy" for value in values[2:]]
    expect_documented(
        "S1-05", kinds, message="Of the last three values, NumPy should give the first, and JAX the other two."
    )
    wanted = [types_seen[0] if kind == "numpy" else types_seen[1] for kind in kinds]
    message = "The last three types should be those of the last three values."
    expect_that(types_seen[2:] == wanted, message, types_seen[2:], f"{wanted}")


# %% documented S1-05
# This still holds: a function takes arrays of the other library, and returns its own.
print(type(np.sin(jnp.ones(3))))
print(isinstance(jnp.sin(np.ones(3)), jax.Array))

# documented
# Python's duck typing allows JAX arrays and NumPy arrays to be used interchangeably
# in many places.

# today
# <class 'numpy.ndarray'>
# True


# %% [markdown]
# ### The test that does not break
#
# A JAX array is **not** an `np.ndarray`, and its own class may move or change.
# `jax.Array` is the public name for "any JAX array". It also covers the stand-ins,
# called *tracers*, that your function gets while `jax.jit` looks at it.


# %%
@jax.jit
def show_type(x):
    """Print the type that the function sees under `jax.jit`."""
    print(type(x).__name__)
    return x


_ = show_type(jnp.ones(3))


# %% [markdown]
# Other things may have what arrays have, and are no arrays. This tuple with names has
# `at`, a shape and a dtype.


# %%
class Place(NamedTuple):
    """Where something stands: no array."""

    at: str
    shape: tuple
    dtype: str


print(Place("by the window", (3,), "float32"))


# %% exercise
@exercise(
    title="Is it a JAX array?",
    points=1,
    hints=[
        "The concrete class has a private name, and another one under `jax.jit`. Which public name covers both?",
        "`isinstance(x, jax.Array)` holds for every JAX array. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.Array.html",
        "return isinstance(x, ____)",
        """# Like it: is a value one of NumPy's numbers, of whatever size?
def is_numpy_number(value):
    # np.generic is the one class above np.float32, np.int64 and the others.
    return isinstance(value, np.generic)

print(is_numpy_number(np.float32(1)), is_numpy_number(np.int64(1)))
print(is_numpy_number(1.0), is_numpy_number(np.ones(2)))  # False False""",
    ],
)
def is_jax_array(x):
    """Tell whether a value is a JAX array, and not only something that is like one.

    Under `jax.jit`, where x is a tracer, the answer is True as well.

    Args:
        x: anything: a JAX array, a NumPy array, a Python number, a list, a function, a `Place`.

    Returns:
        True or False.
    """
    ...


# %% check
@visible(is_jax_array, idea="A JAX array is no `np.ndarray`, and what has a shape need not be JAX's.")
def arrays_of_both_kinds_are_told_apart(answer, draw):
    """JAX arrays are, and NumPy arrays are not."""
    for value, wanted in ((draw.floats(3), True), (draw.numpy(3), False), (jnp.int32(2), True), (np.int32(2), False)):
        got = answer(value)
        kind = "a JAX array" if wanted else "a NumPy array or number"
        expect_that(bool(number(got)) == wanted, f"For {kind} it should be {wanted}.", got, str(wanted))


@visible(is_jax_array, idea="Not everything that comes from JAX, or holds numbers, is an array.")
def numbers_and_functions_are_not(answer):
    """A Python number, a list, or a compiled function such as `show_type` is no JAX array."""
    for value in (1.0, 2, [1.0, 2.0], given(show_type.__name__)):
        got = answer(value)
        message = "It should be False for a number, a list and a function, which are not JAX arrays."
        expect_that(not number(got), message, got, "False")


@visible(is_jax_array, stage="jit", idea="Under `jax.jit` the argument is a tracer, and a tracer is a `jax.Array`.")
def tracers_count_too(answer, draw):
    """Under `jax.jit` it is True."""
    got = answer.jit(draw.floats(3))
    message = "Under `jax.jit`, where the argument is a tracer, it should be True, too."
    expect_that(bool(number(got)), message, got, "True")


# The hidden check's.
NO_ARRAY = Place

# %% [markdown]
# ## Part 2. Arrays that never change
#
# A NumPy array can be changed in place.

# %%
x = np.arange(10)
x[0] = 10
print(x)

# %% [markdown]
# A JAX array cannot. Run this and read the message: it says what to write instead.

# %%
x = jnp.arange(10)
try:
    x[0] = 10
except TypeError as error:
    print(f"TypeError: {error}")

# %% [markdown]
# Up to JAX 0.4.34 the message began with
# `'<class 'jaxlib.xla_extension.ArrayImpl'>' object does not support item assignment`.
# The type of the error and the advice have stayed.
#
# Why so strict? A compiler may reorder and merge operations only if nobody changes an
# array behind its back.


# %% exercise
@exercise(
    title="The same line, two answers",
    points=1,
    reproduces=["S1-06", "S1-08"],
    hints=[
        "Which plain NumPy line changes element 0? What happens to an error that nobody catches?",
        "NumPy arrays are mutable, JAX arrays are not. "
        "https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html#jax-vs-numpy",
        "____ = value\nreturn x",
        """# Like it: double the last row of a table in place.
def double_last_row(rows):
    rows[-1] *= 2
    return rows

print(double_last_row(np.ones((2, 2))).tolist())  # [[1.0, 1.0], [2.0, 2.0]]
try:
    double_last_row(jnp.ones((2, 2)))
except TypeError as error:  # caught by the caller, not by the function
    print(type(error).__name__)  # TypeError""",
    ],
)
def change_first(x, value):
    """Set element 0 of an array in place, with NumPy's syntax, and return the array.

    "In place" means that the array of the caller is changed, and not a copy of it. Where the array refuses, its error
    reaches the caller: do not catch it, and do not go around it.

    Args:
        x: int[n], a NumPy array or a JAX array.
        value: int.

    Returns:
        The same NumPy array, changed; for a JAX array the call raises TypeError.
    """
    ...


# %% check
@visible(change_first, idea="A NumPy array can be changed in place.", reproduces=["S1-06"])
def numpy_array_is_changed(answer):
    """Of a NumPy array, element 0 is changed."""
    got = answer(np.arange(10), 10)
    message = "The NumPy array 0 to 9 should come back with 10 in front."
    expect_that(is_numpy(got) and got.shape == (10,), message, got, "a NumPy array of 10 numbers")
    expect_documented("S1-06", got, message=message)


@visible(change_first, idea="A JAX array cannot be changed, and says so by a TypeError.", reproduces=["S1-08"])
def jax_array_refuses(answer):
    """A JAX array raises TypeError: JAX arrays are immutable."""
    seen = answer.observe_error(jnp.arange(10), 10)
    message = "For a JAX array the call should raise TypeError; yours returned a value."
    expect_that(seen.error is not None, message, seen.value, "TypeError: JAX arrays are immutable ...")
    expect_documented("S1-08", seen)


@visible(change_first, kind="observed", idea='"In place" is not a copy: whoever has the array sees the change.')
def the_array_itself_is_changed(answer):
    """The NumPy array that was passed is changed itself."""
    seen = answer.observe(np.arange(4), 10)
    message = "The array that was passed should have 10 in front after the call."
    expect_equal(seen.arguments[0], np.array([10, 1, 2, 3]), message)


# %% documented S1-08
# The message has other words and another link today. It is still a TypeError, and says
# what to write instead.
x = jnp.arange(10)
try:
    x[0] = 10
except TypeError as error:
    print(f"TypeError: {error}")

# documented
# TypeError: '<class 'jaxlib.xla_extension.ArrayImpl'>' object does not support item
# assignment. JAX arrays are immutable. Instead of ``x[idx] = y``, use
# ``x = x.at[idx].set(y)`` or another .at[] method:
# https://jax.readthedocs.io/en/latest/_autosummary/jax.numpy.ndarray.at.html

# today
# TypeError: JAX arrays are immutable and do not support in-place item assignment.
# Instead of x[idx] = y, use x = x.at[idx].set(y) or another .at[] method:
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html


# %% [markdown]
# ### Shorter error messages
#
# JAX's tracebacks can be long. IPython, which runs the cells of this notebook, can
# shorten them: `%xmode minimal` shows the last line only. To try it without changing
# your own notebook, here is a small IPython session of its own.


# %%
class Session:
    """A small IPython session beside yours: without colours, and forgotten afterwards."""

    def __init__(self):
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        settings = Config()
        settings.HistoryManager.enabled = False
        with tempfile.TemporaryDirectory() as folder:
            module = types.ModuleType("small_session")
            self.shell = InteractiveShell(config=settings, ipython_dir=folder, user_module=module)

    def type_in(self, text):
        """Run a cell of this text in the session, and return the lines that it prints."""
        last_error = getattr(sys, "last_value", None)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.shell.run_cell(text)
        sys.last_value = last_error  # an error in there is none of your notebook's
        plain = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
        return [line for line in plain.splitlines() if line.strip()]


session = Session()
print(session.type_in("print(1 + 1)"))
print(len(session.type_in("import jax.numpy as jnp\nx = jnp.arange(10)\nx[0] = 10")), "lines of traceback")


# %% exercise
@exercise(
    title="A short error report",
    points=2,
    reproduces=["S1-07"],
    hints=[
        "Which has to come first in the session: the setting, or the code that fails?",
        "The magic command `%xmode` sets how IPython reports exceptions. "
        "https://ipython.readthedocs.io/en/stable/interactive/magics.html#magic-xmode",
        'session = Session()\nsaid = session.type_in("____")\nreport = session.type_in(code)\nreturn said, report',
        """# Like it: make a new session show the value of every line, not of the last one alone; then run code.
def with_every_value(code):
    other = Session()
    other.type_in("%config InteractiveShell.ast_node_interactivity = 'all'")
    return other.type_in(code)

print(with_every_value("1 + 1\\n2 + 2"))""",
    ],
)
def minimal_report(code):
    """Run code in a new session whose tracebacks are set to `minimal`.

    Args:
        code: str, lines of Python.

    Returns:
        A tuple `(said, report)` of two lists of lines: what the session prints when you set the mode with the magic
        command `%xmode`, and what it prints when it then runs the code.
    """
    ...


# %% check
FAILING = "import jax.numpy as jnp\nx = jnp.arange(10)\nx[0] = 10"


@visible(minimal_report, idea="`%xmode minimal` sets the mode, and says so.", reproduces=["S1-07"])
def the_session_says_its_mode(answer):
    """The session says: Exception reporting mode: Minimal."""
    said, _ = parts(answer(FAILING), 2)
    expect_that(isinstance(said, list) and len(said) == 1, "Setting the mode should print one line.", said, "one line")
    expect_documented("S1-07", said[0], message="Set the mode with `%xmode minimal`, and return what it prints.")


@visible(minimal_report, idea="The mode must be set in the session that runs the code, and before it runs.")
def the_report_is_one_line(answer):
    """The report of the error is its last line alone."""
    _, report = parts(answer(FAILING), 2)
    lines = report if isinstance(report, list) else [report]
    expect_that(len(lines) == 1, f"The report should be one line; yours has {len(lines)}.", report, "one line")
    expect_that(str(lines[0]).startswith("TypeError"), "The report should tell the error.", report, "TypeError: ...")


# %% [markdown]
# ### A changed copy
#
# `x.at[0].set(10)` returns a **new** array with the change. The old one stays as it is,
# so keep what comes back.

# %%
x = jnp.arange(5)
y = x.at[2].set(100)
print(x)
print(y)

# %% [markdown]
# Other methods: `.add`, `.multiply`, `.min`, `.max`, `.get`. For the index you may
# write whatever NumPy takes: slices, arrays of indices, masks.

# %%
print(x.at[1:3].add(10))
print(x.at[jnp.array([0, 4])].multiply(-1))
print(x.at[x % 2 == 0].set(7))


# %% exercise
@exercise(
    title="Old and new",
    points=1,
    reproduces=["S1-09"],
    hints=[
        "What does `x.at[...].set(...)` return, and what becomes of `x`?",
        "Indexed updates return a changed copy. https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html",
        "y = x.____\nreturn x, y",
        """# Like it: a table, and a copy of it with 1 added to the last column.
def table_and_raised(rows):
    raised = rows.at[:, -1].add(1)
    return rows, raised

before, after = table_and_raised(jnp.zeros((2, 3), dtype=jnp.int32))
print(before.tolist())  # [[0, 0, 0], [0, 0, 0]]
print(after.tolist())  # [[0, 0, 1], [0, 0, 1]]""",
    ],
)
def old_and_new(x, value):
    """Return an array as it is, and a copy of it with another element 0.

    It must also work under `jax.jit`.

    Args:
        x: a JAX array of shape [n], n at least 1: integers or floats of any size.
        value: a number that fits: an int if x holds integers, an int or a float if x holds floats.

    Returns:
        A tuple `(x, y)` of two JAX arrays of the shape and dtype of x.
    """
    ...


# %% check
@visible(old_and_new, idea="`x.at[0].set(value)` makes a changed copy; `x` stays.", reproduces=["S1-09"])
def only_the_copy_is_changed(answer):
    """For 0 to 9 and the value 10 they are the two arrays of the document: x unchanged, y with 10 in front."""
    old, new = parts(answer(jnp.arange(10), 10), 2)
    for array in (old, new):
        expect_shape(array, (10,))
    message = "For 0 to 9 and 10, x should come back unchanged, and y with 10 in front."
    expect_documented("S1-09", [old, new], message=message)


@visible(old_and_new, stage="jit", idea="JAX's own operations also work on tracers; NumPy's need real numbers.")
def old_and_new_under_jit(answer, draw):
    """Under `jax.jit` the result is the same."""
    x = draw.floats(4)
    wanted = np.array(x)
    wanted[0] = 2.5
    expect_close(answer.jit(x, 2.5), (x, jnp.asarray(wanted)))


# %% [markdown]
# ### From NumPy to JAX
#
# `jax.jit(f)` is `f`, compiled. It runs your Python code once, with stand-ins that have
# a shape and a dtype but no numbers. So the shape of every array must be known before
# any number is. A mask as an index, `x[x > 0]`, selects *how many*? Nobody knows yet.
# For the same reason, `x.at[x > 0]` fails under `jax.jit`.

# %%
try:
    jax.jit(lambda x: x[x > 0])(jnp.arange(3.0))
except jax.errors.NonConcreteBooleanIndexError as error:
    print(str(error).splitlines()[0])

# %% [markdown]
# The next function was written for NumPy. It fails on JAX arrays. Repair it so that it
# also works under `jax.jit`.


# %% exercise
@exercise(
    title="Repair: cap the peaks",
    points=2,
    hints=[
        "Which line changes an array in place? Which way of writing it gives a new array of the same shape?",
        "`jnp.where(condition, this, that)` chooses for each element and keeps the shape, also under `jax.jit`. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.where.html",
        "return jnp.where(____, limit, x)",
        """# Like it: blank the noise of a grid, for NumPy's
# `grid[abs(grid) < 0.1] = 0`.
@jax.jit
def without_noise(grid):
    return jnp.where(jnp.abs(grid) < 0.1, 0.0, grid)

noisy = jnp.array([[0.05, 2.0], [-3.0, -0.01]])
print(without_noise(noisy).tolist())  # [[0.0, 2.0], [-3.0, 0.0]]""",
    ],
)
def cap_peaks(x, limit):
    """Replace every element above the limit by the limit, and leave the others as they are.

    A NaN is not above the limit: it stays. It works for JAX arrays, and under `jax.jit`.

    Args:
        x: a JAX array, float32[n].
        limit: float.

    Returns:
        float32[n], a JAX array.
    """
    x[x > limit] = limit
    return x


# %% check
@visible(cap_peaks, stage="shape", idea="No element is left out: each keeps its place.")
def no_element_is_lost(answer, draw):
    """There is one element for each element of x."""
    for n in (4, 6):
        expect_shape(answer(draw.floats(n), 0.1), (n,))


@visible(cap_peaks, stage="dtype")
def capped_values_stay_float32(answer, draw):
    """The result is float32."""
    expect_dtype(answer(draw.floats(4), 0.1), "float32")


@visible(cap_peaks, idea="Only what is above the limit is replaced.")
def peaks_are_capped(answer, draw):
    """Elements above the limit become the limit, and all others stay."""
    for n, limit in ((4, 0.5), (6, -0.25)):
        x = jnp.concatenate([jnp.array([3.0, -3.0]), draw.floats(n)])
        message = "Elements above the limit should become the limit, and all others should stay."
        expect_close(answer(x, limit), jnp.minimum(x, limit), message)


@visible(
    cap_peaks,
    stage="jit",
    idea="Under `jax.jit` shapes are fixed and values unknown: no `if`, no NumPy, no mask as an index, also in `.at`.",
    required=True,
)
def peaks_are_capped_under_jit(answer, draw):
    """Under `jax.jit` the result is the same."""
    x = draw.floats(6)
    expect_close(answer.jit(x, 0.25), jnp.minimum(x, 0.25))


# %% [markdown]
# ### The same place, three times
#
# In NumPy, `counts[[0, 0, 0]] += 1` reads the three places, adds 1, and writes three
# times the same number.

# %%
counts = np.zeros(3, dtype=np.int32)
counts[[0, 0, 0]] += 1
print(counts)


# %% exercise
@prediction(
    title="Predict: three votes for one place",
    points=1,
    hints=[
        "Does `.add` write a number that was computed before, or does each update add to what is there?",
        "The page on indexed updates says how `.at[].add` treats an index that stands there several times. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html",
        "# counts.at[jnp.array([0])].add(1) gives 1 at place 0.\nreturn ____  # an int",
    ],
)
def predict_three_votes():
    """What is element 0 of `jnp.zeros(3, dtype=jnp.int32).at[jnp.array([0, 0, 0])].add(1)`?

    Returns:
        An int.
    """
    ...


# %% check
@reveal(predict_three_votes)
def count_three_votes():
    """We ran it and looked at element 0."""
    return int(jnp.zeros(3, dtype=jnp.int32).at[jnp.array([0, 0, 0])].add(1)[0])


# %% [markdown]
# JAX applies every update, so that `.add` counts. And it does so in one operation,
# which matters: a Python loop writes one operation for each vote into the program. The
# drawing shows a loop over three votes.


# %%
def count_in_a_loop(votes):
    """Count votes for four places, one vote after the other."""
    counts = jnp.zeros(4, dtype=jnp.int32)
    for vote in votes:
        counts = counts.at[vote].add(1)
    return counts


draw_program(count_in_a_loop, jnp.array([0, 2, 2]))


# %% exercise
@exercise(
    title="Make it fast: count the votes",
    points=3,
    hints=[
        "An index may be an array. What is `.at[votes]`, for all votes together?",
        "One indexed update handles all indices, and an index that stands there twice is counted twice. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html",
        "return counts.at[____].add(____)",
        """# Like it: the largest reading of each sensor, all readings in one update.
def largest_readings(sensors, readings):
    lowest = jnp.full(3, -jnp.inf)
    return lowest.at[sensors].max(readings)

sensors = jnp.array([0, 2, 0, 0])
readings = jnp.array([1.0, 5.0, 4.0, 2.0])
print(largest_readings(sensors, readings).tolist())  # [4.0, -inf, 5.0]""",
    ],
)
def add_votes(counts, votes):
    """Add votes to counts. This version is right, and slow: make its program independent of the number of votes.

    It must also work under `jax.jit`.

    Args:
        counts: int32[k], the votes counted so far.
        votes: int32[m], each vote the number of a place, from 0 to k - 1; at least one vote.

    Returns:
        int32[k]: each place of `counts` plus the number of votes for it.
    """
    for vote in votes:
        counts = counts.at[vote].add(1)
    return counts


# %% check
def some_votes(draw, places, m):
    """Return old counts and new votes, and the right new counts; place 1 has several votes, the last place none."""
    counts = draw.generator.integers(0, 9, size=places).astype(np.int32)
    votes = draw.generator.integers(0, places - 1, size=m).astype(np.int32)
    votes[: m // 2] = 1
    wanted = counts + np.bincount(votes, minlength=places).astype(np.int32)
    return jnp.asarray(counts), jnp.asarray(votes), jnp.asarray(wanted)


@visible(add_votes, stage="shape")
def one_count_for_each_place(answer, draw):
    """There is one count for each place."""
    counts, votes, _ = some_votes(draw, 5, 6)
    expect_shape(answer(counts, votes), (5,))


@visible(add_votes, stage="dtype", idea="Counts are whole numbers.")
def counts_stay_int32(answer, draw):
    """The counts are int32."""
    counts, votes, _ = some_votes(draw, 5, 6)
    expect_dtype(answer(counts, votes), "int32")


@visible(add_votes, idea="Each vote counts, also the second for the same place, and old votes are kept.")
def every_vote_counts(answer, draw):
    """Every place has its old count plus one for each vote."""
    for places, m in ((3, 4), (5, 6)):
        counts, votes, wanted = some_votes(draw, places, m)
        message = "Each place should have its old count plus one for each vote."
        expect_close(answer(counts, votes), wanted, message)


@visible(add_votes, stage="jit", idea="Under `jax.jit` shapes are fixed: the number of places comes from the shape.")
def votes_count_under_jit(answer, draw):
    """Under `jax.jit` the result is the same."""
    counts, votes, wanted = some_votes(draw, 5, 6)
    expect_close(answer.jit(counts, votes), wanted)


@visible(
    add_votes,
    stage="cost",
    idea="A Python loop is written out vote by vote; one indexed update is one operation for any number of votes.",
    required=True,
)
def the_program_does_not_grow_with_the_votes(answer, draw):
    """The program is as long for 64 votes as for 4."""
    sizes = [answer.program(*some_votes(draw, 5, m)[:2]).equations for m in (4, 64)]
    message = "The program should be as long for 64 votes as for 4; yours grows with the votes."
    # A loop adds an equation or more for each of the 60 more votes.
    expect_that(sizes[1] < sizes[0] + 60, message, f"{sizes[1]} equations for 64 votes", f"{sizes[0]}, as for 4")


# %% [markdown]
# ## Part 3. When types meet
#
# `jnp.add` takes mixed types and finds a common one. That is called *promotion*.

# %%
jnp.add(1, 1.0)

# %% [markdown]
# Look at `weak_type=True`. A Python number has no exact type: it is *weak* and gives
# way. Two weak numbers give a weak result. When a weak number meets an array of the
# same kind or a higher one, the array's type wins.

# %%
for a, b in ((1, 1.0), (jnp.int32(1), 1), (jnp.float32(1), 1.0), (jnp.float16(1), 1.0), (jnp.int32(1), 1.0)):
    total = jnp.add(a, b)
    print(f"{a!r:>28} + {b!r:<4} {total.dtype.name:>8} {'weak' if total.weak_type else ''}")

# %% [markdown]
# The last line is the surprise: an integer array cannot hold 1.0, so the result is a
# float of no exact type, and weak.


# %% exercise
@exercise(
    title="A sum, and how sure its type is",
    points=2,
    reproduces=["S1-11"],
    hints=[
        "Who knows whether the result is weak: the two inputs, or the result?",
        "JAX arrays have the attribute `weak_type`. https://docs.jax.dev/en/latest/type_promotion.html",
        "total = jnp.add(a, b)\nreturn total, total.____",
        """# Like it: the root of a number, and its dtype: the result is asked for it.
def root_and_dtype(value):
    root = jnp.sqrt(value)
    return root, root.dtype.name

root, dtype_name = root_and_dtype(4)
print(repr(root))  # Array(2., dtype=float32, weak_type=True)
print(dtype_name)  # float32""",
    ],
)
def add_and_tell(a, b):
    """Add two numbers or arrays as `jax.numpy` does, and tell whether the result's type is weak.

    Args:
        a, b: Python numbers, NumPy arrays or JAX arrays.

    Returns:
        A tuple `(total, is_weak)`: the sum, a JAX array of the promoted type, and True or False.
    """
    ...


# %% check
@visible(add_and_tell, idea="Python numbers are weak, and 1 + 1.0 is a weak float32.", reproduces=["S1-11"])
def one_plus_one_is_a_weak_float(answer):
    """1 + 1.0 is 2.0, of type float32, and weak."""
    total, is_weak = parts(answer(1, 1.0), 2)
    expect_that(is_jax(total), "The sum should be a JAX array.", total, "a JAX array")
    told = bool(number(is_weak))
    seen = [number(total), total.dtype.name, bool(total.weak_type)]
    expect_documented(
        "S1-11", seen, message="For 1 and 1.0 the sum should be 2.0, a weak float32, as `jnp.add` gives it."
    )
    expect_that(
        told == total.weak_type, "The second value should tell whether the sum is weak.", str(told), str(not told)
    )


@visible(
    add_and_tell,
    idea="A Python number gives way to an array; only where the array's kind is lower, the result is weak.",
)
def sums_have_the_promoted_type(answer):
    """Each sum has the type that JAX promotes to, and weakness is told as it is."""
    cases = ((1, 2), (jnp.float32(1), 1.0), (jnp.float16(1), 2.0), (jnp.int32(1), 2.0), (jnp.arange(3), 2))
    for a, b in cases:
        total, is_weak = parts(answer(a, b), 2)
        wanted = jnp.add(a, b)
        expect_close(total, wanted, weak_type=True)
        message = "The second value should tell whether the sum is weak."
        expect_that(bool(number(is_weak)) == wanted.weak_type, message, is_weak, str(wanted.weak_type))


# %% [markdown]
# Why does it matter? Half precision, `float16` or `bfloat16`, saves memory and time.
# One strong `float32` number in the code, and everything after it is `float32` again. A
# NumPy number is strong.

# %%
x = jnp.ones(3, dtype=jnp.float16)
print((x * 0.5).dtype, (x * np.float32(0.5)).dtype, (x * jnp.ones(())).dtype)


# %% exercise
@exercise(
    title="Repair: keep half precision",
    points=2,
    hints=[
        "Which number in the code has a strong type?",
        "Python numbers are weak and give way to the array's type; NumPy's numbers do not. "
        "https://docs.jax.dev/en/latest/type_promotion.html#weakly-typed-values-in-jax",
        "return x * ____ + ____",
        """# Like it: Celsius from Fahrenheit, with strong numbers and with weak ones.
def celsius_strong(degrees):
    return (degrees - np.float32(32)) / np.float32(1.8)

def celsius_weak(degrees):
    return (degrees - 32) / 1.8

warm = jnp.array([50.0, 212.0], dtype=jnp.float16)
print(celsius_strong(warm).dtype)  # float32
print(celsius_weak(warm).dtype)  # float16""",
    ],
)
def half_and_shift(x):
    """Compute 0.5 x + 0.25 in the type that x has, without a detour by a wider type. This version does not keep it.

    Args:
        x: float16[n], bfloat16[n] or float32[n].

    Returns:
        An array of the same shape and dtype as x.
    """
    scale = np.float32(0.5)
    shift = np.float64(0.25)
    return x * scale + shift


# %% check
@visible(half_and_shift, stage="shape")
def shifted_values_keep_their_shape(answer, draw):
    """The shape is that of x."""
    expect_shape(answer(draw.floats(4)), (4,))


@visible(half_and_shift, stage="dtype", idea="A strong float32 number makes the whole result float32.")
def the_dtype_is_that_of_x(answer, draw):
    """The dtype is that of x, for float16, bfloat16 and float32."""
    for dtype in ("float16", "bfloat16", "float32"):
        got = answer(draw.floats(4, dtype=dtype))
        seen = np.asarray(got).dtype.name
        message = f"For an x of {dtype} the result should be {dtype}; yours is {seen}."
        expect_that(seen == dtype, message, got, dtype)


@visible(half_and_shift, idea="0.5 x + 0.25, whatever the type.")
def values_are_halved_and_shifted(answer, draw):
    """The values are 0.5 x + 0.25."""
    for dtype in ("float32", "float16", "bfloat16"):
        x = draw.floats(4, dtype=dtype)
        expect_close(answer(x), 0.5 * x + 0.25)


# %% [markdown]
# ### `jax.lax`: no guessing
#
# Below `jax.numpy` lies `jax.lax`. It is strict: it promotes nothing.

# %%
try:
    lax.add(1, 1.0)
except TypeError as error:
    print(f"TypeError: {error}")

# %% [markdown]
# In older texts this is a `ValueError: Cannot lower jaxpr with verifier errors`, with
# thirty lines about the compiler. Since JAX 0.4.38 the types are compared before
# anything is compiled: a `TypeError`, and a tip.
#
# Here a Python float is always a `float32`, and a Python integer an `int32`. So beside
# a `float32` it needs no explicit type. Beside a `float16` it does: there is no giving
# way in `jax.lax`.

# %%
lax.add(jnp.float32(1), 1.0)


# %% exercise
@exercise(
    title="Add, and refuse to guess",
    points=2,
    reproduces=["S1-12", "S1-13"],
    hints=[
        "Which of the two modules, `jnp` or `lax`, raises an error when types differ?",
        "`jax.lax` asks for explicit types. https://docs.jax.dev/en/latest/_autosummary/jax.lax.add.html",
        "if c is None:\n    return ____\nreturn ____",
        """# Like it: the larger of two squares, without any promotion.
def larger_square(a, b):
    return lax.max(lax.mul(a, a), lax.mul(b, b))

print(larger_square(2.0, -3.0))  # 9.0
try:
    larger_square(2, -3.0)
except TypeError as error:  # lax.max does not mix int32 and float32
    print(type(error).__name__)  # TypeError""",
    ],
)
def strict_add(a, b, c=None):
    """Add two numbers or arrays, or three, without any promotion.

    Where two types differ, the error of `jax.lax` reaches the caller. So it does where shapes differ: `jax.lax` does
    not repeat a row for a whole matrix either.

    Args:
        a, b: Python numbers or JAX arrays.
        c: None, or another one.

    Returns:
        a + b, or a + b + c: a JAX array.
    """
    ...


# %% check
@visible(strict_add, idea="A Python float is a float32: `lax.add` has nothing to guess.", reproduces=["S1-13"])
def an_explicit_type_is_enough(answer):
    """float32(1) and 1.0 give 2.0, of type float32, and not weak."""
    total = answer(jnp.float32(1), 1.0)
    expect_that(is_jax(total), "The sum should be a JAX array.", total, "a JAX array")
    seen = [number(total), total.dtype.name, bool(total.weak_type)]
    expect_documented(
        "S1-13", seen, message="For float32(1) and 1.0 the sum should be 2.0, a float32 that is not weak."
    )


@visible(strict_add, idea="`jax.lax` does not promote: it raises TypeError.", reproduces=["S1-12"])
def mixed_types_are_refused(answer):
    """1 and 1.0 raise TypeError: `lax.add` requires the same dtypes."""
    seen = answer.observe_error(1, 1.0)
    message = "For 1 and 1.0, an integer and a float, the call should raise TypeError; yours returned a value."
    expect_that(seen.error is not None, message, seen.value, "TypeError: lax.add requires ... the same dtypes")
    expect_documented("S1-12", seen)


@visible(strict_add, idea="Every one of the sums must be strict.")
def three_are_added_as_strictly(answer, draw):
    """Three arrays of one type are added, and a third of another type is refused."""
    a, b, c = draw.floats(3), draw.floats(3), draw.floats(3)
    expect_close(answer(a, b, c), a + b + c)
    seen = answer.observe_error(a, b, jnp.arange(3))
    message = "For a third array of another type the call should raise TypeError; yours returned a value."
    expect_that(seen.error is not None, message, seen.value, "TypeError")
    expect_raises(seen, "TypeError")


# %% [markdown]
# ## Part 4. Three layers
#
# Every function of `jax.numpy` is written with operations of `jax.lax`. `program` lists
# them: how often each occurs in what a function becomes. `draw_program` draws them.


# %%
def sine_of_a_sum(x, y):
    """Add, then take the sine."""
    return jnp.sin(x + y)


print(program(sine_of_a_sum, jnp.ones(3), jnp.ones(3)).primitives)
draw_program(sine_of_a_sum, jnp.ones(3), jnp.ones(3))

# %% [markdown]
# Here are three functions of `jax.numpy`, and two more. JAX itself can show the program
# with `jax.make_jaxpr`. There the outer line is often a call, named `jit`, and the
# operations are inside it.


# %%
def add_numbers(a, b):
    """Add with promotion."""
    return jnp.add(a, b)


def convolve(x, y):
    """Convolve two vectors."""
    return jnp.convolve(x, y)


def choose(condition, a, b):
    """Choose element by element."""
    return jnp.where(condition, a, b)


def squared_length(x):
    """Sum the squares."""
    return jnp.sum(x * x)


def turn_and_scale(x):
    """Reverse a vector and scale it."""
    return jnp.exp(x[::-1])


jax.make_jaxpr(choose)(jnp.array([True, False]), jnp.ones(2), jnp.zeros(2))


# %% exercise
@exercise(
    title="What lies below",
    points=2,
    reproduces=["S1-10"],
    hints=[
        "`make_jaxpr` shows a call with operations inside. Which helper above writes calls out?",
        "`program(function, *args).primitives` is a dict from the operation's name to how often it occurs. "
        "https://docs.jax.dev/en/latest/jaxpr.html",
        "return sorted(program(____, *args).____)",
        """# Like it: the operation that a function becomes most often.
def commonest_operation(function, *args):
    counts = program(function, *args).primitives
    return max(counts, key=counts.get)

print(program(lambda v: jnp.sin(v) * v * v, jnp.ones(2)).primitives)
print(commonest_operation(lambda v: jnp.sin(v) * v * v, jnp.ones(2)))  # mul""",
    ],
)
def lax_operations(function, *args):
    """List the `jax.lax` operations that a function becomes for given arguments, those inside of calls included.

    Args:
        function: a function of arrays.
        args: its arguments.

    Returns:
        A list of names, each once, such as `["add", "sin"]`. A call is no operation.
    """
    ...


# %% check
VECTOR = np.ones(3, dtype=np.float32)


@visible(
    lax_operations,
    idea="All of `jax.numpy` is written with `jax.lax`; calls are only wrapping.",
    reproduces=["S1-10"],
)
def jnp_functions_become_lax_operations(answer):
    """`jnp.add`, `jnp.convolve` and `jnp.where` become the operations that the document speaks of."""
    mask = np.array([True, False, True])
    seen = [
        names(answer(given("add_numbers"), np.int32(1), np.float32(1))),
        names(answer(given("convolve"), VECTOR, VECTOR)),
        names(answer(given("choose"), mask, VECTOR, VECTOR)),
    ]
    wrapped = any(name in ("jit", "pjit") for found in seen for name in found)
    message = "The operations inside of a call should be listed, and not the call; yours lists `jit`."
    expect_that(not wrapped, message, seen, misconception="takes_the_call")
    expect_documented(
        "S1-10", seen, message="These should be the operations of `jnp.add`, `jnp.convolve` and `jnp.where`."
    )


@visible(lax_operations, idea="The arguments' types belong to the program: equal types need no conversion.")
def equal_types_need_no_conversion(answer):
    """For two float32 numbers, `jnp.add` is `add` alone."""
    found = names(answer(given("add_numbers"), VECTOR, VECTOR))
    expect_that(found == ["add"], "For two float32 arrays the list should hold `add` alone.", found, "['add']")


# The lesson's own, whatever a notebook has made of them; hidden checks ask for the last two.
SENT = (add_numbers, convolve, choose, sine_of_a_sum, squared_length, turn_and_scale)

# %% [markdown]
# ### A convolution, two ways
#
# `jax.lax` is strict, and it can do more. One function, `lax.conv_general_dilated`,
# does every convolution that neural networks need: for many signals, channels and
# dimensions. `jnp.convolve` is written with it.

# %%
jnp.convolve(jnp.array([1, 2, 1]), jnp.ones(10))

# %% [markdown]
# `lax.conv_general_dilated` takes arrays with three axes: (signals, channels, length).
# The padding says how many zeros stand before and after. Both arrays need the same
# type.
#
# This is what `jnp.convolve` becomes. Besides the convolution, the axes come and go,
# and there is a `rev`.

# %%
print(program(convolve, jnp.ones(3), jnp.ones(10)))

# %% [markdown]
# The next function is the document's own code. For the document's input, both ways
# agree. Are they the same? Let `check` find out. A convolution slides the *reversed*
# second vector over the first: `[a, b]` with `[c, d]` is `[a c, a d + b c, b d]`.


# %% exercise
@exercise(
    title="Repair: the document's convolution",
    points=3,
    reproduces=["S1-14", "S1-15"],
    hints=[
        "In the document's input, `y` is all ones. What would be another vector if you read it backwards?",
        "In neural networks 'convolution' means sliding without reversing; mathematics calls that correlation. "
        "https://docs.jax.dev/en/latest/notebooks/convolutions.html",
        "# as before, but with `y` in the order of a convolution:\ny = ____\nby_lax = lax.conv_general_dilated(...)",
        """# Like it: one number of a convolution, by hand: the last weight comes first.
def convolved_at(signal, weights, i):
    window = signal[i : i + len(weights)]
    return jnp.dot(window, jnp.flip(weights))

signal = jnp.array([1.0, 2.0, 4.0, 8.0])
weights = jnp.array([1.0, 10.0, 100.0])
print(convolved_at(signal, weights, 1))  # 248.0
print(jnp.convolve(signal, weights, mode="valid")[1])  # 248.0""",
    ],
)
def convolve_two_ways(x, y):
    """Convolve two vectors with `jnp.convolve`, and with `lax.conv_general_dilated`: the same numbers for all inputs.

    The second way is the document's, and not always right.

    Args:
        x: int32[n] or float32[n].
        y: float32[m].

    Returns:
        A tuple `(by_numpy, by_lax)`, float32[n+m-1] each.
    """
    by_numpy = jnp.convolve(x, y)
    by_lax = jax.lax.conv_general_dilated(
        x.reshape(1, 1, -1).astype(float),
        y.reshape(1, 1, -1),
        window_strides=(1,),
        padding=[(len(y) - 1, len(y) - 1)],
    )
    return by_numpy, by_lax[0, 0]


# %% check
@visible(convolve_two_ways, stage="shape", idea="Each of the n numbers meets each of the m.")
def convolutions_have_full_length(answer, draw):
    """Both results have n + m - 1 numbers."""
    for n, m in ((3, 2), (4, 6)):
        for part in parts(answer(draw.floats(n), draw.floats(m)), 2):
            expect_shape(part, (n + m - 1,))


@visible(convolve_two_ways, stage="dtype")
def convolutions_are_float32(answer, draw):
    """Both results are float32."""
    for part in parts(answer(draw.floats(3), draw.floats(2)), 2):
        expect_dtype(part, "float32")


@visible(
    convolve_two_ways,
    stage="cost",
    idea="Two ways that agree prove something; one result given twice proves nothing.",
    required=True,
)
def each_result_has_its_own_convolution(answer, draw):
    """The program has two convolutions: one from `jnp.convolve`, and one from `jax.lax`."""
    made = answer.program(draw.floats(4), draw.floats(3))
    found, unused, own = (
        counts.get("conv_general_dilated", 0) for counts in (made.primitives, made.unused, made.direct)
    )
    found -= unused
    expect_that(
        found >= 2, "Each result should have a convolution of its own: two in all.", str(found), "2 convolutions"
    )
    expect_that(
        own >= 1, "The second result should come from `lax.conv_general_dilated`.", "no call of it", "a call of it"
    )


@visible(convolve_two_ways, idea="`jnp.convolve` promotes the integers itself.", reproduces=["S1-14"])
def numpys_way_is_the_documented_one(answer):
    """For [1, 2, 1] and ten ones, the first result is the document's."""
    got = parts(answer(jnp.array([1, 2, 1]), jnp.ones(10)), 2)[0]
    expect_documented(
        "S1-14", got, message="For [1, 2, 1] and ten ones, the first result should be that of `jnp.convolve`."
    )


@visible(convolve_two_ways, idea="`jax.lax` wants explicit types: make the integers float first.", reproduces=["S1-15"])
def laxs_way_is_the_documented_one(answer):
    """For [1, 2, 1] and ten ones, the second result is the document's."""
    got = parts(answer(jnp.array([1, 2, 1]), jnp.ones(10)), 2)[1]
    expect_documented("S1-15", got, message="For [1, 2, 1] and ten ones, the second result should be the same.")


@visible(
    convolve_two_ways,
    idea="`lax.conv_general_dilated` does not reverse: it is a correlation. A vector of ones hides that.",
)
def both_ways_agree_for_all_vectors(answer, draw):
    """Both results are the convolution, also for a `y` that reads differently backwards."""
    for x, y in ((jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])), (draw.floats(5), draw.floats(3))):
        wanted = np.convolve(np.asarray(x, np.float64), np.asarray(y, np.float64))
        for way, part in zip(("first", "second"), parts(answer(x, y), 2), strict=True):
            close = np.allclose(np.asarray(part), wanted, rtol=1e-4, atol=1e-4)
            message = f"The {way} result should be the convolution of x and y."
            expect_that(close, message, part, f"{np.round(wanted, 4)}")


# %% [markdown]
# A picture of it: the first vector is a single 1 among zeros. A convolution puts the
# second vector there as it is. Without reversing, it comes out backwards. A vector of
# ones looks the same in both ways, so the document's example could not show it.


# %%
def plot_both_slides():
    """Draw a convolution and what `lax.conv_general_dilated` does with the same two vectors."""
    import matplotlib.pyplot as plt

    x, y = jnp.array([0.0, 0.0, 1.0, 0.0, 0.0]), jnp.array([3.0, 2.0, 1.0])
    unreversed = lax.conv_general_dilated(x[None, None], y[None, None], (1,), [(2, 2)])[0, 0]
    _, axes = plt.subplots(1, 2, figsize=(8, 2), sharey=True, layout="constrained")
    titles = ("jnp.convolve", "lax.conv_general_dilated")
    for place, title, numbers in zip(axes, titles, (jnp.convolve(x, y), unreversed), strict=True):
        place.stem(numbers)
        place.set_title(title)
    plt.show()


plot_both_slides()

# %% [markdown]
# ### Many signals in one call
#
# What is the extra work good for? The axis of signals: many signals, one operation. And
# the stride: compute only every second number, instead of computing all and throwing
# half away.


# %% exercise
@exercise(
    title="Transfer: filter and thin out",
    points=3,
    hints=[
        "Which of the three axes (signals, channels, length) should hold the rows?",
        "`window_strides=(2,)` moves the window two steps at a time. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.conv_general_dilated.html",
        "m = len(kernel)\nout = lax.conv_general_dilated(\n    rows[:, None, :],\n    ____,\n    window_strides=____,\n"
        "    padding=[(m - 1, m - 1)],\n)\nreturn out[:, 0, :]",
        """# Like it: sums of three numbers, for all tracks at once, without overlap.
def sums_of_three(tracks):
    window = jnp.ones((1, 1, 3))
    out = lax.conv_general_dilated(
        tracks[:, None, :], window, window_strides=(3,), padding="VALID"
    )
    return out[:, 0, :]

tracks = jnp.arange(12.0).reshape(2, 6)
print(sums_of_three(tracks).tolist())  # [[3.0, 12.0], [21.0, 30.0]]""",
    ],
)
def filter_rows(rows, kernel):
    """Convolve each row with a kernel in full length, and keep every second number: those at 0, 2, 4, ...

    The program must not grow with the number of rows: no Python loop. It must also work under `jax.jit`.

    Args:
        rows: float32[b,n].
        kernel: float32[m].

    Returns:
        float32[b,k], k = (n + m) // 2: row i is `jnp.convolve(rows[i], kernel)[::2]`.
    """
    ...


# %% check
def filtered(rows, kernel):
    """Return what `filter_rows` should give."""
    rows, kernel = np.asarray(rows, np.float64), np.asarray(kernel, np.float64)
    return jnp.asarray(np.stack([np.convolve(row, kernel)[::2] for row in rows]), dtype=jnp.float32)


@visible(filter_rows, stage="shape", idea="Each row is filtered alone, and keeps every second number.")
def one_filtered_row_for_each_row(answer, draw):
    """There are b rows of (n + m) // 2 numbers, also for one row, and for n + m odd."""
    for b, n, m in ((2, 5, 3), (3, 6, 3), (1, 4, 2)):
        expect_shape(answer(draw.floats(b, n), draw.floats(m)), (b, (n + m) // 2))


@visible(filter_rows, stage="dtype")
def filtered_rows_are_float32(answer, draw):
    """The result is float32."""
    expect_dtype(answer(draw.floats(2, 5), draw.floats(3)), "float32")


@visible(filter_rows, idea="The full convolution, then the numbers at 0, 2, 4, ...")
def rows_are_convolved_and_thinned_out(answer, draw):
    """Row i is `jnp.convolve(rows[i], kernel)[::2]`."""
    for b, n, m in ((2, 5, 3), (3, 6, 3)):
        rows, kernel = draw.floats(b, n), draw.floats(m)
        got = answer(rows, kernel)
        message = "Each row should be convolved with the kernel; yours is the correlation: the kernel is not reversed."
        backwards = np.allclose(np.asarray(got), filtered(rows, kernel[::-1]), rtol=1e-4, atol=1e-4)
        expect_that(not backwards, message, got, filtered(rows, kernel), misconception="correlates")
        message = "Row i should be `jnp.convolve(rows[i], kernel)[::2]`."
        expect_close(got, filtered(rows, kernel), message, rtol=1e-4, atol=1e-4)


@visible(filter_rows, stage="jit", idea="Under `jax.jit` x is a tracer: JAX can convolve it, NumPy cannot.")
def filters_the_same_under_jit(answer, draw):
    """Under `jax.jit` the result is the same."""
    rows, kernel = draw.floats(2, 5), draw.floats(3)
    expect_close(answer.jit(rows, kernel), filtered(rows, kernel), rtol=1e-4, atol=1e-4)


@visible(
    filter_rows,
    stage="cost",
    idea="The axis of signals is there for many rows at once; a Python loop is written out row by row.",
    required=True,
)
def the_program_does_not_grow_with_the_rows(answer, draw):
    """The program is as long for 32 rows as for 2."""
    kernel = draw.floats(3)
    short, long = (answer.program(draw.floats(b, 5), kernel).equations for b in (2, 32))
    message = "The program should be as long for 32 rows as for 2; yours grows with the rows."
    # A loop adds several equations for each of the 30 more rows.
    expect_that(long < short + 30, message, f"{long} equations for 32 rows", f"{short}, as for 2 rows")


# %% [markdown]
# ### XLA: the last layer that you can read
#
# XLA is the compiler. `jax.jit(f).lower(...)` gives it the program, and `as_text()`
# shows what it gets: operations of a language called StableHLO. Each operation's name
# follows `stablehlo.` in the text.

# %%
print(jax.jit(sine_of_a_sum).lower(jnp.ones(3), jnp.ones(3)).as_text())

# %% [markdown]
# Nearly every `lax` operation is one of these, under the same name or another: that is
# what "thin wrapper" means. And because *everything* ends up here, whole functions can
# be compiled at once.


# %% exercise
@exercise(
    title="What XLA gets",
    points=2,
    reproduces=["S1-16"],
    hints=[
        "Which two steps lead from a function to the text with `stablehlo.` in it?",
        "`jax.jit(f).lower(*args).as_text()` is the text; `re.findall` finds all names in it. "
        "https://docs.jax.dev/en/latest/aot.html",
        'text = jax.jit(function).____\nreturn sorted(set(re.findall(r"stablehlo\\.(\\w+)", text)))',
        """# Like it: how many products XLA gets for a function and its arguments.
def count_products(function, *args):
    text = jax.jit(function).lower(*args).as_text()
    return text.count("stablehlo.multiply")

print(count_products(lambda v: jnp.sin(v) * v * v, jnp.ones(2)))  # 2""",
    ],
)
def xla_operations(function, *args):
    """List the StableHLO operations that XLA gets for a function and its arguments.

    Args:
        function: a function of arrays.
        args: its arguments.

    Returns:
        A list of the names that follow `stablehlo.` in the text of `jax.jit(function).lower(*args)`, each once, such as
        `["add", "sine"]`. It does not matter whether `return`, which ends an inner block, is among them.
    """
    ...


# %% check
def without_returns(got):
    """Return a list of operations, as `names` does, without the `return` that ends an inner block."""
    return [name for name in names(got) if name != "return"]


@visible(
    xla_operations,
    idea="A jaxpr has JAX's names; what XLA gets is StableHLO.",
    reproduces=["S1-16"],
)
def convolve_becomes_xla_operations(answer):
    """`jnp.convolve` becomes a convolution, and three operations that bring the arrays into its form."""
    seen = without_returns(answer(given("convolve"), VECTOR, VECTOR))
    jaxpr = {"rev", "squeeze", "conv_general_dilated"} & set(seen)
    message = "The names should be those after `stablehlo.` in the text; yours has names of the jaxpr."
    expect_that(not jaxpr, message, seen, misconception="reads_the_jaxpr")
    expect_documented("S1-16", seen, message="The list should hold all operations in the text, and no others.")


@visible(xla_operations, idea="The text depends on the arguments' types.")
def a_sine_of_a_sum_is_two_operations(answer):
    """For the sine of a sum they are `add` and `sine`."""
    seen = without_returns(answer(given("sine_of_a_sum"), VECTOR, VECTOR))
    expect_that(
        seen == ["add", "sine"], "The list should hold the two operations in the text above.", seen, "add, sine"
    )


# %% [markdown]
# ## What to remember
#
# - `jnp` mirrors `np`, in float32. NumPy and JAX arrays mix; `isinstance(x, jax.Array)`
#   tells them apart.
# - A JAX array is never changed: `x.at[i].set(v)` returns a changed copy. One update
#   takes all indices.
# - Python numbers are weak and give way; `np.float32(1)` and `jnp.float32(1)` are
#   strong.
# - `jax.numpy` promotes; `jax.lax` refuses to guess. All of `jnp` is written with
#   `lax`, and all of `lax` becomes operations of XLA.
# - `lax.conv_general_dilated` does not reverse its kernel.

# %% [markdown]
# ## What to read next
#
# - [How to think in
#   JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html), the page behind
#   this lesson
# - [Indexed
#   updates](https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html):
#   modes, bounds, all methods
# - [Type promotion](https://docs.jax.dev/en/latest/type_promotion.html): the whole
#   lattice
# - [Convolutions in JAX](https://docs.jax.dev/en/latest/notebooks/convolutions.html)
