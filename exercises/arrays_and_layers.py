# %% check
import re

from jaxguide.course.author import (
    StudentError,
    exercise,
    expect_close,
    expect_documented,
    expect_dtype,
    expect_equal,
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
    is_tuple = isinstance(got, tuple | list) or hasattr(got, "children")  # a NamedTuple is a node with children
    expect_that(is_tuple and len(got) == count, message, got)
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


def expect_text(value, message):
    """Expect a string."""
    expect_that(isinstance(value, str), message, value)


def without_colours(text):
    """Return text without the codes that colour it in a notebook or a terminal."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


# What only moves numbers, or changes their type.
MOVES = {"broadcast_in_dim", "convert_element_type", "copy", "copy_p", "device_put", "iota", "reshape", "squeeze"}


def expect_jax_computes(program):
    """Expect a program with operations of JAX that compute; in one by NumPy, only the results come in."""
    message = "JAX should compute this, not NumPy and not Python: its program holds no operation."
    expect_that(bool(program.primitives.keys() - MOVES), message, program, "operations of JAX")


def expect_no_growth(found, message, numbers=(4, 40)):
    """Expect programs for few and for many to be about as long; a loop adds an equation or more for each."""
    (few, many), (short, long) = numbers, (one.equations for one in found)
    expect_that(long < short + many - few, message, f"{long} equations for {many}", f"{short}, as for {few}")


def programs(answer, needs_numbers, *calls):
    """Return the program of each call; none if this error says that a function of JAX needs the numbers."""
    try:
        return [answer.program(*args) for args in calls]
    except StudentError as raised:
        if raised.info.type_name != needs_numbers:
            raise
        return []


# %% [markdown]
# # Arrays and layers
#
# JAX looks like NumPy, but it is not NumPy. In this lesson you move an image script
# from one to the other. You see where they agree, where they differ, and what lies
# below `jax.numpy`.
#
# After this lesson you can
#
# - move NumPy code to `jax.numpy`, and say what changes on the way,
# - update arrays that cannot be changed in place,
# - handle indices out of range, which are no error in JAX,
# - predict the dtype that comes out when types are mixed,
# - filter a batch of pictures with one operation of `jax.lax`.
#
# You need NumPy, and nothing else. Some exercises reproduce an example of JAX's own
# documentation. Below each of these, a folded cell shows the example under its number,
# such as S1-01, with its documented output and today's.
#
# Run the cells from top to bottom. A cell with a function to write or to repair is an
# **exercise**: `check(...)` tells you what is right. If you are stuck,
# `hint(name_of_the_function)` gives a small hint, and tells how to get more. In a
# **prediction** you guess first; then the real answer is computed before your eyes. You
# get the point for guessing, right or wrong.

# %%
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from jax import lax

from jaxguide.data import harbour
from jaxguide.explain import explain
from jaxguide.tracing import program

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
# You meet the last two only in later lessons. An array is a JAX array unless the
# contract says something else. (`jnp.array` and `jnp.asarray` make one of numbers,
# lists, tuples or NumPy arrays; `jnp.ones` fills one with ones.) For example:
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
# ## The task: a spoilt photograph
#
# Here is a harbour, photographed with a bad camera. 200 pixels are dead: their value is
# 0. Some spots are burnt out: their value is 255. And there is noise everywhere.


# %%
def show(images):
    """Draw grey images side by side, under their titles."""
    figure = plt.figure(figsize=(3 * len(images), 3.2), layout="constrained")
    places = figure.subplots(1, len(images), squeeze=False)[0]
    for axes, (title, image) in zip(places, images.items(), strict=True):
        axes.imshow(image, cmap="gray", vmin=0, vmax=255)
        axes.set_title(title, fontsize=9)
        axes.axis("off")
    plt.show()


photo = jnp.asarray(harbour(), dtype=jnp.float32)
show({"the photograph": photo})

# %% [markdown]
# In NumPy you would write `photo[photo > 200] = 200`, loop over the dead pixels, and
# take a filter from SciPy. The first of these lines fails in JAX. At the end of the
# lesson your own functions mend the dead pixels, smooth the picture, and find its
# edges.

# %% [markdown]
# ## Part 1. JAX beside NumPy
#
# `jax.numpy` has the functions of `numpy`, under the same names. By convention it is
# imported as `jnp`. Often it is enough to write `jnp` for `np`. One thing changes
# unasked: where NumPy makes float64 numbers, JAX makes float32. Here is a curve in
# NumPy.

# %%
x = np.linspace(0, 10, 1000)
y = 2 * np.sin(x) * np.cos(x)
print(y[:3], y.dtype)


# %% exercise
@exercise(
    title="One curve, twice",
    points=2,
    core=True,
    minutes=3,
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

    >>> in_numpy, in_jax = curve_both_ways(5)
    >>> in_numpy.dtype, in_jax.dtype
    (dtype('float64'), dtype('float32'))

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
    """With 1000 points, NumPy's curve is 2 sin(x) cos(x) from 0 to 10."""
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


# %% documented S1-01 S1-02
# The page shows two plots that look the same. In numbers, NumPy's curve is float64 and
# JAX's float32, and they still agree to 5 digits.
x_np = np.linspace(0, 10, 1000)
y_np = 2 * np.sin(x_np) * np.cos(x_np)
x_jnp = jnp.linspace(0, 10, 1000)
y_jnp = 2 * jnp.sin(x_jnp) * jnp.cos(x_jnp)
print(y_np.dtype, y_jnp.dtype, np.allclose(y_np, y_jnp, atol=1e-5))
# documented
# (The same plot, twice.)
# today
# float64 float32 True

# %% [markdown]
# Look at both curves: matplotlib, which has never heard of JAX, takes a JAX array as it
# takes NumPy's. They lie upon each other; magnified, their difference is the rounding
# of float32.


# %%
def plot_curves():
    """Draw the two curves of `curve_both_ways`, and how they differ."""
    curves = curve_both_ways(1000)
    if curves is None:
        print("Write `curve_both_ways` first: then this cell draws both curves.")
        return
    in_numpy, in_jax = curves
    x = np.linspace(0, 10, 1000)
    _, (left, right) = plt.subplots(1, 2, figsize=(8, 2.4), layout="constrained")
    left.plot(x, in_numpy, linewidth=4, alpha=0.4, label="NumPy")
    left.plot(x, in_jax, "--", label="JAX")
    left.legend()
    right.plot(x, in_numpy - np.asarray(in_jax), linewidth=0.8)
    right.set_title("the difference of the two", fontsize=9)
    plt.show()


plot_curves()

# %% [markdown]
# The arrays look alike, but a JAX array is **not** an `np.ndarray`. Ask
# `isinstance(x, jax.Array)` to find out whether `x` is one: `jax.Array` is the public
# name for all of them. They mix: NumPy's functions take JAX arrays, and JAX's functions
# take NumPy arrays. (JAX's take no lists, unless they make an array, as `jnp.array`
# does: `np.sum([1, 2])` is 3, and `jnp.sum([1, 2])` raises an error, because converting
# a long list would be slow.) What happens if you mix two arrays in a sum?


# %% exercise
@prediction(
    title="Predict: a mixed sum",
    points=1,
    core=True,
    minutes=1,
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
@reveal(
    predict_mixed_sum,
    why="With `+`, a NumPy array leaves the sum to an array that claims a higher priority, as JAX's do. So the result "
    "is JAX's, on whichever side its array stands. (`np.add` is a function of NumPy's, and returns NumPy's.)",
    shows="""for total in (np.ones(3) + jnp.ones(3), jnp.ones(3) + np.ones(3)):
    print(type(total).__name__, total.dtype)
print(type(np.add(np.ones(3), jnp.ones(3))).__name__)""",
)
def kind_of_the_mixed_sum():
    """We computed `np.ones(3) + jnp.ones(3)` and looked at its type."""
    return "jax" if isinstance(np.ones(3) + jnp.ones(3), jax.Array) else "numpy"


# %% [markdown]
# ## Part 2. Arrays that never change
#
# A NumPy array can be changed in place. A JAX array cannot. `explain` says what went
# wrong with an error, and what to do.

# %%
x = jnp.arange(5)
try:
    x[0] = 10
except TypeError as error:
    print(f"{type(error).__name__}: {error}")
    explanation = explain(error)
explanation

# %% [markdown]
# Why so strict? JAX reorders and merges operations, and runs them later than Python
# comes to them. It may do so only because nobody changes an array behind its back.
#
# `x.at[2].set(100)` returns a **new** array with the change. The old one stays as it
# is, so keep what comes back. Other methods are `.add`, `.multiply`, `.min` and `.max`;
# `.get` changes nothing, and reads. For the index you may write whatever NumPy takes:
# slices, arrays of indices, masks.

# %%
y = x.at[2].set(100)
print(x, y)
print(x.at[1:3].add(10))
print(x.at[jnp.array([0, 4])].multiply(-1))
print(x.at[x % 2 == 0].set(7))

# %% [markdown]
# (`x += 1` works, but means something else: NumPy changes the array, and whoever else
# has it sees that. For JAX it is short for `x = x + 1`: the name `x` gets a new array,
# and the old one stays. What you can change in place is an explicit kind of its own,
# made by `jax.new_ref`; this lesson does not need it.)
#
# A tuple refuses as a JAX array does, by a TypeError. So does a named tuple, in words
# of its own.


# %%
class Pixel(NamedTuple):
    """The place of a pixel."""

    row: int
    column: int


for x in (3, 4), Pixel(row=3, column=4):
    try:
        x[0] = 10
    except TypeError as error:
        print(f"{type(error).__name__}: {error}")


# %% exercise
@exercise(
    title="In place, or a copy",
    points=3,
    core=True,
    minutes=5,
    reproduces=["S1-06", "S1-08", "S1-09"],
    hints=[
        "Must you know what kind of array it is, before you try? What happens to an error that nobody catches?",
        "Try the assignment, and catch the TypeError; `jnp.asarray(x)` makes a JAX array of a tuple, too, and "
        "`.at[0].set` a changed copy. https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html",
        "try:\n    ____ = value\nexcept TypeError as error:\n    copy = jnp.asarray(x).____\n"
        '    return copy, f"{type(error).__name__}: {error}"\nreturn x, ""',
        """# Like it: sort in place where that is possible; otherwise return a sorted list, and say what is missing.
def sort_or_copy(numbers):
    try:
        numbers.sort()
    except AttributeError as error:
        return sorted(numbers), str(error)
    return numbers, ""

print(sort_or_copy([3, 1]))  # ([1, 3], '')
print(sort_or_copy((3, 1)))  # ([1, 3], "'tuple' object has no attribute 'sort'")""",
    ],
)
def set_first(x, value):
    """Set element 0 in place if x allows it; if not, make a changed copy, and say why.

    "In place" means that the array of the caller is changed, not a copy of it.

    >>> set_first(np.array([1, 2]), 7)
    (array([7, 2]), '')
    >>> set_first((1, 2), 7)
    (Array([7, 2], dtype=int32),
     "TypeError: 'tuple' object does not support item assignment")

    Args:
        x: a NumPy array [n] that is not read-only, a JAX array [n], or a tuple of n ints, also a named one such as
            `Pixel(3, 4)`; n is at least 1.
        value: int, one that the dtype of x can hold.

    Returns:
        A tuple `(array, refusal)`. If x allows it: x itself, changed, and `""`. If not, x stays as it is: `array` is
        the changed copy, a JAX array with the dtype of x (int32 for a tuple), and `refusal` is the error that came when
        you tried to set the element, as the string `f"{type(error).__name__}: {error}"`.
    """
    ...


# %% check
@visible(set_first, idea="A NumPy array can be changed in place.", reproduces=["S1-06"])
def numpy_array_is_changed(answer):
    """The NumPy array 0 to 9 of the caller has 10 in front after the call."""
    seen = answer.observe(np.arange(10), 10)
    message = "The NumPy array that was passed should have 10 in front after the call."
    expect_documented("S1-06", seen.arguments[0], message=message)


@visible(set_first, idea="What is changed in place is returned, and nothing was refused.")
def numpy_array_comes_back(answer):
    """For a NumPy array, it returns that array, and an empty string."""
    array, refusal = parts(answer(np.arange(4), 7), 2)
    expect_that(is_numpy(array), "The NumPy array itself should come back.", describe_origin(array), "NumPy's")
    expect_equal(array, np.array([7, 1, 2, 3]))
    expect_that(isinstance(refusal, str) and refusal == "", "Nothing was refused: return an empty string.", refusal, "")


@visible(set_first, idea="A JAX array cannot be changed, and says so by a TypeError.", reproduces=["S1-08"])
def jax_array_refuses(answer):
    """For a JAX array, the second value is the class and the message of JAX's error."""
    refusal = parts(answer(jnp.arange(10), 10), 2)[1]
    message = "For a JAX array, the second value should be the error's class and message."
    expect_text(refusal, message)
    expect_documented("S1-08", refusal.partition("\n")[0], message=message)


@visible(set_first, idea="`x.at[0].set(value)` makes a changed copy; `x` stays.", reproduces=["S1-09"])
def only_the_copy_is_changed(answer):
    """For the JAX array 0 to 9 and 10, x is unchanged, and the copy has 10 in front."""
    seen = answer.observe(jnp.arange(10), 10)
    copy = parts(seen.value, 2)[0]
    message = "x should be as it was, and the first value a JAX array with 10 in front."
    expect_that(is_jax(copy), message, describe_origin(copy), "an array of JAX's")
    expect_documented("S1-09", [seen.arguments[0], copy], message=message)


@visible(set_first, idea="A tuple refuses, too, with words of its own, and so does a named one.")
def a_tuple_refuses_in_its_own_words(answer):
    """For a tuple, also a named one, the copy is an int32 array, and the refusal is that of the tuple."""
    for x, name in (((1, 2, 3), "tuple"), (Pixel(1, 2), "Pixel")):
        copy, refusal = parts(answer(x, 7), 2)
        expect_close(copy, jnp.array([7, *x[1:]]))
        message = "For a tuple, the second value should be the class and message of the tuple's error."
        expect_text(refusal, message)
        expect_that(refusal == f"TypeError: '{name}' object does not support item assignment", message, refusal)


# %% documented S1-06 S1-08 S1-09
# The message has other words today: they changed in JAX 0.4.35, and the link in 0.6.0.
# It is still a TypeError with the same advice.
x = np.arange(10)
x[0] = 10
print(x)
x = jnp.arange(10)
try:
    x[0] = 10
except TypeError as error:
    print(f"TypeError: {error}")
y = x.at[0].set(10)
print(x)
print(y)

# documented
# [10 1 2 3 4 5 6 7 8 9]
# TypeError: '<class 'jaxlib.xla_extension.ArrayImpl'>' object does not support item
# assignment. JAX arrays are immutable. Instead of ``x[idx] = y``, use
# ``x = x.at[idx].set(y)`` or another .at[] method:
# https://jax.readthedocs.io/en/latest/_autosummary/jax.numpy.ndarray.at.html
# [0 1 2 3 4 5 6 7 8 9]
# [10 1 2 3 4 5 6 7 8 9]

# today
# [10 1 2 3 4 5 6 7 8 9]
# TypeError: JAX arrays are immutable and do not support in-place item assignment.
# Instead of x[idx] = y, use x = x.at[idx].set(y) or another .at[] method:
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html
# [0 1 2 3 4 5 6 7 8 9]
# [10 1 2 3 4 5 6 7 8 9]


# %% [markdown]
# NumPy's `where` is there, too. It chooses for each element.

# %%
print(jnp.where(jnp.array([True, False, True]), jnp.array([1, 2, 3]), 0))

# %% [markdown]
# Now the burnt-out spots. This function was written for NumPy.


# %% exercise
@exercise(
    title="Repair: cap the peaks",
    points=2,
    core=True,
    minutes=4,
    hints=[
        "Which line changes an array in place? Which way of writing it gives a new array of the same shape?",
        "`jnp.where(condition, this, that)` chooses for each element and keeps the shape. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.where.html",
        "return jnp.where(____, limit, x)",
        """# Like it: blank the noise of a grid, for NumPy's
# `grid[abs(grid) < 0.1] = 0`.
def without_noise(grid):
    return jnp.where(jnp.abs(grid) < 0.1, 0.0, grid)

noisy = jnp.array([[0.05, 2.0], [-3.0, -0.01]])
print(without_noise(noisy).tolist())  # [[0.0, 2.0], [-3.0, 0.0]]""",
    ],
)
def cap_peaks(x, limit):
    """Replace every element above the limit by the limit, and leave the others as they are. Let JAX do it, not NumPy.

    A NaN is not above the limit: it stays.

    >>> cap_peaks(jnp.array([1.0, 5.0, jnp.nan]), 2.0)
    Array([ 1.,  2., nan], dtype=float32)

    Args:
        x: a JAX array of float32, with any number of axes.
        limit: float, but not NaN.

    Returns:
        A JAX array with the shape and dtype of x.
    """
    x[x > limit] = limit
    return x


# %% check
@visible(cap_peaks, stage="shape", idea="No element is left out: each keeps its place.")
def no_element_is_lost(answer, draw):
    """There is one element for each element of x."""
    for shape in ((4,), (2, 3)):
        expect_shape(answer(draw.floats(*shape), 0.1), shape)


@visible(cap_peaks, stage="dtype", idea="JAX's functions return JAX arrays.")
def capped_values_stay_float32(answer, draw):
    """The result is a JAX array of float32."""
    got = answer(draw.floats(4), 0.1)
    expect_that(is_jax(got), "The result should be a JAX array.", describe_origin(got), "an array of JAX's")
    expect_dtype(got, "float32")


@visible(cap_peaks, idea="Only what is above the limit is replaced.")
def peaks_are_capped(answer, draw):
    """Elements above the limit become the limit, and all others stay."""
    for shape, limit in (((4,), 0.5), ((2, 3), -0.25)):
        x = draw.floats(*shape).at[0].set(3.0).at[-1].set(-3.0)
        message = "Elements above the limit should become the limit, and all others should stay."
        expect_close(answer(x, limit), jnp.minimum(x, limit), message)


@visible(cap_peaks, idea="No comparison holds for a NaN, so it is not above the limit.")
def nan_stays(answer):
    """A NaN stays a NaN."""
    wanted = jnp.array([jnp.nan, 0.5, -1.0])
    message = "The NaN should stay, and 3 should become the limit."
    expect_close(answer(jnp.array([jnp.nan, 3.0, -1.0]), 0.5), wanted, message)


@visible(
    cap_peaks,
    stage="cost",
    idea="One operation handles all elements; NumPy would fetch them from JAX, and bring them back.",
    required=True,
)
def jax_caps_all_at_once(answer, draw):
    """JAX does it, in one step for all elements."""
    calls = [(draw.floats(n), 0.1) for n in (4, 40)]
    found = programs(answer, "NonConcreteBooleanIndexError", *calls)  # of a mask as an index
    if found:
        expect_jax_computes(found[0])
        expect_no_growth(found, "All elements should be capped at once; your program grows with their number.")


# %% [markdown]
# ### Indices out of range
#
# In NumPy an index out of range is an error. JAX cannot stop in the middle of a program
# on a GPU to raise one. A negative index counts from the end, as in NumPy, both for
# reading and for writing. Beyond either end, reading takes the **nearest** element, the
# last or the first, and writing does **nothing**.

# %%
x = jnp.arange(5)
print(x[10], x[-1], x[-6])
print(x.at[10].set(7), x.at[-1].set(7), x.at[-6].set(7))

# %% [markdown]
# `x.at[places].get(mode="fill", fill_value=9)` reads 9 where an index is out of range.
# But -1 is in range: it is the last element still.

# %%
places = jnp.array([3, 4, 5, 10, -1])
print(x[places])
print(x.at[places].get(mode="fill", fill_value=9))

# %% [markdown]
# The next function moves a picture. `rows[:, None]` makes a column of the row numbers,
# so that `picture[rows[:, None], columns]` reads each row at each column.


# %% exercise
@exercise(
    title="Repair: move a picture",
    points=3,
    core=True,
    minutes=5,
    hints=[
        "Which numbers are in `rows` if dy is 1? And if it is -1? What does JAX read there?",
        "Either choose with `jnp.where` between what was read and `fill`, by a mask of the indices in range; or make "
        'negative indices so large that `mode="fill"` catches them. '
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html",
        "h, w = picture.shape\nrows = jnp.arange(h)[:, None] - dy\ncolumns = jnp.arange(w) - dx\n"
        "inside = (rows >= 0) & (rows < h) & ____\nreturn jnp.where(inside, picture[rows, columns], ____)",
        """# Like it: the differences of neighbours `step` apart, and NaN where there is no neighbour.
def differences(values, step):
    n = len(values)
    places = jnp.arange(n) + step
    there = (places >= 0) & (places < n)
    return jnp.where(there, values[places] - values, jnp.nan)

print(differences(jnp.array([1.0, 4.0, 9.0]), 1))  # [ 3.  5. nan]
print(differences(jnp.array([1.0, 4.0, 9.0]), -2))  # [nan nan -8.]""",
    ],
)
def shift_image(picture, dy, dx, fill):
    """Move a picture by dy rows and dx columns. What comes in from outside is `fill`, and that is what to repair.

    >>> shift_image(jnp.array([[1, 2, 3], [4, 5, 6]]), 1, -1, 0)
    Array([[0, 0, 0],
           [2, 3, 0]], dtype=int32)

    Args:
        picture: a JAX array of ints or of floats, of shape [h,w].
        dy: int, how many rows down. It may be negative, and larger than the picture; an int32 can hold it.
        dx: int, how many columns to the right, likewise.
        fill: a number: for ints an int that their dtype can hold; for floats a float, also NaN.

    Returns:
        A JAX array with the shape and dtype of the picture. Element (i, j) is the picture's element (i - dy, j - dx),
        and `fill` if there is none.
    """
    rows = jnp.arange(picture.shape[0]) - dy
    columns = jnp.arange(picture.shape[1]) - dx
    return picture[rows[:, None], columns]


# %% check
def shifted(picture, dy, dx, fill):
    """Return the moved picture, as Python computes it."""
    picture = np.asarray(picture)
    h, w = picture.shape
    moved = np.full_like(picture, fill)
    for i in range(h):
        for j in range(w):
            if 0 <= i - dy < h and 0 <= j - dx < w:
                moved[i, j] = picture[i - dy, j - dx]
    return jnp.asarray(moved)


@visible(shift_image, stage="shape")
def the_picture_keeps_its_shape(answer, draw):
    """The shape is that of the picture."""
    for h, w in ((3, 4), (4, 2)):
        expect_shape(answer(draw.floats(h, w), 1, -1, 0.0), (h, w))


@visible(shift_image, stage="dtype", idea="A Python number gives way to the dtype of the picture.")
def the_picture_keeps_its_dtype(answer, draw):
    """The result is a JAX array of the picture's dtype, for floats, ints and bytes."""
    for picture in (draw.floats(3, 4), jnp.ones((3, 4), jnp.int32), jnp.ones((3, 4), jnp.uint8)):
        dtype = np.asarray(picture).dtype
        got = answer(picture, 1, 1, 0 if dtype.kind in "iu" else 0.0)
        expect_that(is_jax(got), "The result should be a JAX array.", describe_origin(got), "an array of JAX's")
        expect_dtype(got, dtype)


@visible(shift_image, idea="Beyond the end JAX reads the last element, and a negative index counts from the end.")
def it_moves_in_all_directions(answer, draw):
    """It moves down, up, right, left and askew, and fills in."""
    picture = draw.floats(3, 4)
    for dy, dx in ((1, 0), (-1, 0), (0, 1), (0, -2), (2, -1), (-1, 3)):
        message = f"For dy = {dy} and dx = {dx}, what comes in from outside should be the fill."
        expect_close(answer(picture, dy, dx, 9.5), shifted(picture, dy, dx, 9.5), message)


@visible(shift_image, idea="A picture that is moved by its own size or more is gone.")
def a_large_move_leaves_only_the_fill(answer, draw):
    """Moved by its size or more, only the fill is left."""
    picture = draw.floats(3, 4)
    for dy, dx in ((3, 0), (0, 4), (-7, 1), (0, -5), (8, 0), (4, -20)):
        message = f"For dy = {dy} and dx = {dx}, only the fill should be left."
        expect_close(answer(picture, dy, dx, -1.5), shifted(picture, dy, dx, -1.5), message)


# %% [markdown]
# With this you can mend the dead pixels: move the picture by one pixel in all eight
# directions, and put the median of what comes to a dead pixel in its place. NaN stands
# for "unknown", and `jnp.nanmedian` leaves it out. (What is burnt out stays lost.
# Capped, it only glares less, and weighs less in the filters of Part 4.)


# %%
def mend(picture):
    """Replace pixels of 0 by the median of their neighbours, with `shift_image`."""
    known = jnp.where(picture == 0, jnp.nan, picture)
    steps = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)]
    neighbours = jnp.stack([shift_image(known, dy, dx, jnp.nan) for dy, dx in steps])
    return jnp.where(picture == 0, jnp.nanmedian(neighbours, axis=0), picture)


def can_mend():
    """Return whether `shift_image` and `cap_peaks` are repaired."""
    try:
        moved = shift_image(jnp.ones((1, 1)), 1, 0, 0.0)
        return bool(moved[0, 0] == 0) and cap_peaks(jnp.ones(1), 0.5) is not None
    except TypeError:
        return False


def show_mended():
    """Show the photograph before and after."""
    if not can_mend():
        print("Repair `cap_peaks` and `shift_image` to see the photograph mended.")
        return
    mended = mend(photo)
    capped = cap_peaks(mended, 200.0)
    show({"as it was": photo, "dead pixels mended": mended, "peaks capped": capped})


show_mended()

# %% [markdown]
# ## Part 3. When types meet
#
# `jnp.add` takes mixed types and finds a common one. That is called *promotion*. Python
# numbers give way: they are **weak**, and the type of an array beside them wins, unless
# it is for ints and the number is a float. Between two arrays, floats win over ints,
# and more bits over fewer.

# %%
for a, b in ((jnp.float16(1), 1.0), (jnp.int8(1), 1), (jnp.int8(1), 1.0), (1, 1.0)):
    total = jnp.add(a, b)
    weak = "weak" if total.weak_type else ""
    print(f"{a!r:>24} + {b!r:<4} {total.dtype.name:>8}", weak)

# %% [markdown]
# An int8 cannot hold 1.0, so the third sum is a float32. But nobody has asked for 32
# bits, so it is weak itself: beside a float16 it would give way again. So would the sum
# of two Python numbers. JAX prints that as `weak_type=True`. NumPy's numbers are
# strong: `jnp.float16(1) + np.float32(1)` is a float32. (And a float64 of NumPy's is a
# float32 for JAX.)
#
# Below `jax.numpy` lies `jax.lax`, with which all of `jax.numpy` is written. It is
# strict, and promotes nothing: a Python float counts as a float32, a Python int as an
# int32, whatever stands beside it, and types must be equal. If they are not, convert
# both first.

# %%
try:
    lax.max(jnp.float16(2), 3.0)
except TypeError as error:
    print(f"{type(error).__name__}: {error}")
common = jnp.result_type(jnp.float16(2), 3.0)  # what `jax.numpy` would promote to
print(common, repr(jnp.asarray(3.0, dtype=common)))


# %% [markdown]
# The next function gets two operations, one of each layer: for example these.


# %%
def promoting_sum(a, b):
    """Add with promotion."""
    return jnp.add(a, b)


def strict_sum(a, b):
    """Add without promotion."""
    return lax.add(a, b)


# %% exercise
@exercise(
    title="Three ways to add",
    points=3,
    core=True,
    minutes=5,
    reproduces=["S1-11", "S1-12", "S1-13"],
    hints=[
        "Which of the three calls can fail? What must be equal before the strict operation works?",
        "`jnp.result_type(a, b)` is the dtype to which `jax.numpy` promotes, and `jnp.asarray(a, dtype=...)` converts. "
        "https://docs.jax.dev/en/latest/type_promotion.html",
        'promoted = promoting(a, b)\nrefusal = ""\ntry:\n    strict(a, b)\nexcept TypeError as error:\n'
        '    refusal = f"{type(error).__name__}: {error}"\ncommon = ____\n'
        "converted = strict(jnp.asarray(a, dtype=common), ____)\nreturn promoted, refusal, converted",
        """# Like it: the larger of two numbers; does `lax.max` take them as they are?
def larger(a, b):
    try:
        return lax.max(a, b), "as they are"
    except TypeError:
        common = jnp.result_type(a, b)
        return lax.max(jnp.asarray(a, dtype=common), jnp.asarray(b, dtype=common)), "converted"

print(larger(jnp.float16(1), jnp.float16(2)))  # (Array(2., dtype=float16), 'as they are')
print(larger(1, 2.0))  # (Array(2., dtype=float32), 'converted')""",
    ],
)
def in_three_ways(promoting, strict, a, b):
    """Call a function that promotes, then a strict one, and then the strict one with numbers of their common dtype.

    >>> in_three_ways(promoting_sum, strict_sum, jnp.float32(1), 2.5)
    (Array(3.5, dtype=float32), '', Array(3.5, dtype=float32))

    Args:
        promoting: a function of two numbers that promotes them, such as `promoting_sum`. Its result may have yet
            another dtype: a quotient of ints is a float.
        strict: a function of two numbers that raises a TypeError if their dtypes differ, such as `strict_sum`. It may
            compute something else than `promoting` does, such as a product.
        a, b: each an int, a float, or a JAX array without axes, such as float16[].

    Returns:
        A tuple `(promoted, refusal, converted)`: what `promoting` gives for a and b; `""` if `strict` takes them as
        they are, otherwise its error, as the string `f"{type(error).__name__}: {error}"`; and what `strict` gives once
        both are converted to the dtype to which `jax.numpy` promotes a and b, so that neither is weak any more.
    """
    ...


# %% check
def three_ways(answer, a, b):
    """Return the three results for two numbers and the sums of the book."""
    return parts(answer(given(promoting_sum.__name__), given(strict_sum.__name__), a, b), 3)


def described(total):
    """Return a sum's value, dtype and weak type."""
    expect_that(is_jax(total), "The sum should be a JAX array.", total, "a JAX array")
    expect_shape(total, ())
    return [float(total.values), total.dtype.name, bool(total.weak_type)]


@visible(in_three_ways, idea="Python numbers are weak, and 1 + 1.0 is a weak float32.", reproduces=["S1-11"])
def one_plus_one_is_a_weak_float(answer):
    """With promotion, 1 + 1.0 is 2.0, of type float32, and weak."""
    total = three_ways(answer, 1, 1.0)[0]
    message = "For 1 and 1.0 the first sum should be 2.0, a weak float32, as `jnp.add` gives it."
    expect_documented("S1-11", described(total), message=message)


@visible(in_three_ways, idea="`jax.lax` does not promote: it raises TypeError.", reproduces=["S1-12"])
def mixed_types_are_refused(answer):
    """For 1 and 1.0, the second value is the class and the message of the TypeError of `lax.add`."""
    refusal = three_ways(answer, 1, 1.0)[1]
    message = "For 1 and 1.0, the second value should be the class and the message of the error of `lax.add`."
    expect_text(refusal, message)
    expect_documented("S1-12", refusal.partition("\n")[0], message=message)


@visible(in_three_ways, idea="An explicit type is strong, and `lax.add` has nothing to guess.", reproduces=["S1-13"])
def an_explicit_type_is_enough(answer):
    """Converted, 1 and 1.0 give 2.0, of type float32, and not weak."""
    total = three_ways(answer, 1, 1.0)[2]
    message = "For 1 and 1.0 the third sum should be 2.0, a float32 that is not weak."
    expect_documented("S1-13", described(total), message=message)


@visible(in_three_ways, idea="Equal types are not refused; a Python float is a float32.")
def equal_types_are_not_refused(answer):
    """For float32 and 2.0, and for two int8, nothing is refused; for float16 and int32 it is, in other words."""
    for a, b in ((jnp.float32(1), 2.0), (jnp.int8(1), jnp.int8(2)), (1, 2)):
        refusal = three_ways(answer, a, b)[1]
        expect_that(isinstance(refusal, str) and refusal == "", "These types are equal: nothing is refused.", refusal)
    refusal = three_ways(answer, jnp.float16(1), jnp.int32(2))[1]
    message = "For float16 and int32, the second value should be the error that `lax.add` raises for these."
    expect_text(refusal, message)
    expect_that(refusal.startswith("TypeError: ") and "float16, int32" in refusal, message, refusal)


# %% documented S1-11 S1-12 S1-13
# `lax.add` still refuses, with another error: since JAX 0.4.38 it compares the types
# itself. Before, the compiler did, in words of its own.
print(repr(jnp.add(1, 1.0)))
try:
    lax.add(1, 1.0)
except TypeError as error:
    print(f"TypeError: {error}")
print(repr(lax.add(jnp.float32(1), 1.0)))

# documented
# Array(2., dtype=float32, weak_type=True)
# ValueError: Cannot lower jaxpr with verifier errors:
#     op requires the same element type for all operands and results
#         at loc("jit(add)/jit(main)/add"(callsite("<module>"(...) at callsite(...))))
# Define JAX_DUMP_IR_TO to dump the module.
# Array(2., dtype=float32)

# today
# Array(2., dtype=float32, weak_type=True)
# TypeError: lax.add requires arguments to have the same dtypes, got int32, float32.
# (Tip: jnp.add is a similar function that does automatic type promotion on inputs).
# Array(2., dtype=float32)


# %% [markdown]
# ## Part 4. A filter with `jax.lax`
#
# `jax.lax` is strict, but it can do more. One function, `lax.conv_general_dilated`,
# does every convolution that neural networks need: of many signals, in one dimension or
# several. `jnp.convolve` is written with it. So take `jnp` as a rule, and `lax` for
# what `jnp` does not have.
#
# First in one dimension. A **convolution** slides the *reversed* second vector over the
# first, and adds up the products of what lies upon each other. Here `[a, b]` meets
# `[c, d]`, at full length: from the first number that overlaps to the last.
#
# ```text
#    0  a  b  0
#    d  c             a c
#       d  c          a d + b c
#          d  c       b d
# ```
#
# So the first vector needs m - 1 zeros on either side, where m is the length of the
# second.
#
# `lax.conv_general_dilated` takes arrays with three axes. The first array is [signals,
# channels, length], where a stereo sound would have two channels; the second is
# [channels out, channels in, length]. Here there is one signal and one channel, and
# these axes have size 1. Both arrays need the same type: `x.astype(float)` makes
# float32 of JAX's ints.
#
# The second array slides **as it is**, without being reversed, by `window_strides`
# numbers at a time. The padding has a pair for each dimension: how many zeros come
# before and after.

# %%
signal = jnp.array([0.0, 1.0, 0.0, 0.0, 2.0]).reshape(1, 1, 5)
weights = jnp.array([3.0, 5.0]).reshape(1, 1, 2)
out = lax.conv_general_dilated(signal, weights, window_strides=(1,), padding=[(0, 0)])
print(out)  # not reversed: the first number is 0*3 + 1*5


# %% exercise
@exercise(
    title="A convolution in two ways",
    points=3,
    core=True,
    minutes=5,
    reproduces=["S1-14", "S1-15"],
    hints=[
        "Three things differ between the two functions: the axes, the type, and the order of `y`. Which comes when?",
        "`x.astype(float)` converts, `.reshape(1, 1, -1)` adds axes, and `y[::-1]` reverses. "
        "https://docs.jax.dev/en/latest/notebooks/convolutions.html",
        "by_numpy = jnp.convolve(x, y)\nm = len(y)\nby_lax = lax.conv_general_dilated(\n"
        "    x.astype(float).reshape(1, 1, -1),\n    ____.reshape(1, 1, -1),\n    window_strides=(1,),\n"
        "    padding=[____],\n)\nreturn by_numpy, by_lax[0, 0]",
        """# Like it: sums of three neighbours of a vector of ints, by `lax.conv_general_dilated`.
def sums_of_three(x):
    window = jnp.ones((1, 1, 3))
    out = lax.conv_general_dilated(
        x.astype(float)[None, None, :], window, window_strides=(1,), padding=[(0, 0)]
    )
    return out[0, 0]

print(sums_of_three(jnp.arange(5)))  # [3. 6. 9.]""",
    ],
)
def convolve_two_ways(x, y):
    """Convolve two vectors in full length, with `jnp.convolve`, and with a call of `lax.conv_general_dilated`.

    >>> convolve_two_ways(jnp.array([1, 2]), jnp.array([3.0, 4.0]))
    (Array([ 3., 10.,  8.], dtype=float32), Array([ 3., 10.,  8.], dtype=float32))

    Args:
        x: int32[n] or float32[n].
        y: float32[m].

    Returns:
        A tuple `(by_numpy, by_lax)`, float32[n+m-1] each: both are the convolution of x and y.
    """
    ...


# %% check
@visible(convolve_two_ways, stage="shape", idea="Each of the n numbers meets each of the m.")
def convolutions_have_full_length(answer, draw):
    """Both results have n + m - 1 numbers."""
    for n, m in ((3, 2), (4, 6)):
        for part in parts(answer(draw.floats(n), draw.floats(m)), 2):
            expect_shape(part, (n + m - 1,))


@visible(convolve_two_ways, stage="dtype", idea="`jax.lax` does not promote: make the integers float first.")
def convolutions_are_float32(answer, draw):
    """Both results are float32, also if x holds integers."""
    for x in (draw.floats(3), jnp.arange(3)):
        for part in parts(answer(x, draw.floats(2)), 2):
            expect_dtype(part, "float32")


def four_digits(array):
    """Return an array's dtype and numbers, to four digits: an algorithm may add them up in another order."""
    array = np.asarray(array)
    return {"dtype": array.dtype.name, "result": np.round(array.astype(float), 4).tolist()}


DOCUMENTED_VECTORS = ((1, 2, 1), (1.0,) * 10)


@visible(convolve_two_ways, idea="`jnp.convolve` promotes the integers itself.", reproduces=["S1-14"])
def numpys_way_is_the_documented_one(answer):
    """For [1, 2, 1] and ten ones, the first result is 1, 3, eight times 4, 3, 1."""
    x, y = map(jnp.array, DOCUMENTED_VECTORS)
    message = "For [1, 2, 1] and ten ones, the first result should be that of `jnp.convolve`."
    expect_documented("S1-14", four_digits(parts(answer(x, y), 2)[0]), message=message)


@visible(
    convolve_two_ways,
    stage="cost",
    idea="`jax.lax` wants explicit types: make the integers float first.",
    reproduces=["S1-15"],
    required=True,
)
def laxs_way_is_the_documented_one(answer):
    """For [1, 2, 1] and ten ones, the second result is the same, by a call of `lax.conv_general_dilated`."""
    x, y = map(jnp.array, DOCUMENTED_VECTORS)
    calls = answer.program(x, y).direct.get("conv_general_dilated", 0)
    found = {**four_digits(parts(answer(x, y), 2)[1]), "calls of conv_general_dilated": calls}
    message = "For [1, 2, 1] and ten ones, the second result should be the same as the first."
    if calls != 1:
        message = f"`lax.conv_general_dilated` should be called once; yours calls it {calls} times."
    expect_documented("S1-15", found, message=message)


@visible(
    convolve_two_ways,
    stage="cost",
    idea="Two ways that agree prove something; one result given twice proves nothing.",
    required=True,
)
def each_result_has_its_own_convolution(answer, draw):
    """The program has two convolutions: one from `jnp.convolve`, and one from `jax.lax`."""
    made = answer.program(draw.floats(4), draw.floats(3))
    found, unused = (counts.get("conv_general_dilated", 0) for counts in (made.primitives, made.unused))
    message = "Each result should have a convolution of its own: two in all."
    expect_that((found, unused) == (2, 0), message, f"{found}, of which {unused} for nothing", "2 convolutions")


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


# %% documented S1-14 S1-15
# Documented and today's output agree. The page's second vector is all ones, which read
# the same backwards. For one that does not, the second way would have to reverse it.
x = jnp.array([1, 2, 1])
y = jnp.ones(10)
print(repr(jnp.convolve(x, y)))
result = lax.conv_general_dilated(
    x.reshape(1, 1, 3).astype(float),
    y.reshape(1, 1, 10),
    window_strides=(1,),
    padding=[(len(y) - 1, len(y) - 1)],
)
print(repr(result[0, 0]))

# documented
# Array([1., 3., 4., 4., 4., 4., 4., 4., 4., 4., 3., 1.], dtype=float32)
# Array([1., 3., 4., 4., 4., 4., 4., 4., 4., 4., 3., 1.], dtype=float32)


# %% [markdown]
# ### Many pictures in one call
#
# The extra work pays off: there is an axis for many signals, and there can be more
# dimensions. A picture has two. Then the arrays are [pictures, channels, height, width]
# and [channels out, channels in, height, width]. The strides are a pair, and the
# padding is two pairs, or `"SAME"`: as many zeros around as keep the size of the
# picture. (`"VALID"` adds none.)
#
# A 3×3 *kernel* lies on the 3×3 pixels around each pixel: nine products, added up.
# Image filters do not reverse their kernel.


# %% exercise
@exercise(
    title="Filter a batch of pictures",
    points=3,
    core=True,
    minutes=5,
    hints=[
        "Which of the four axes do your pictures have, and which of them must you add?",
        "`pictures[:, None]` adds an axis of size 1 in second place, and `out[:, 0]` takes it away. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.conv_general_dilated.html",
        "out = lax.conv_general_dilated(\n    pictures[:, None], kernel[None, ____], window_strides=(1, 1), "
        "padding=____\n)\nreturn out[:, 0]",
        """# Like it: the mean of each block of 2 by 2 of many pictures; the blocks do not overlap.
def block_means(pictures):
    kernel = jnp.full((1, 1, 2, 2), 0.25)
    out = lax.conv_general_dilated(
        pictures[:, None], kernel, window_strides=(2, 2), padding="VALID"
    )
    return out[:, 0]

print(block_means(jnp.arange(8.0).reshape(1, 2, 4)))  # [[[2.5 4.5]]]""",
    ],
)
def filter_image(pictures, kernel):
    """Filter all pictures by one convolution of `jax.lax`. Around each picture there are zeros.

    >>> right_neighbour = jnp.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    >>> filter_image(jnp.array([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]), right_neighbour)
    Array([[[2., 3., 0.],
            [5., 6., 0.]]], dtype=float32)

    Args:
        pictures: float32[b,h,w].
        kernel: float32[3,3].

    Returns:
        float32[b,h,w]: at each pixel, the sum of the nine products of the kernel with the 3×3 neighbourhood: of its
        middle with the pixel itself, of its upper left number with the pixel to the upper left, and so on.
    """
    ...


# %% check
def filtered(pictures, kernel):
    """Return the filtered pictures, as NumPy computes them."""
    pictures, kernel = np.asarray(pictures, np.float64), np.asarray(kernel, np.float64)
    h, w = pictures.shape[1:]
    padded = np.pad(pictures, ((0, 0), (1, 1), (1, 1)))
    total = sum(kernel[i, j] * padded[:, i : i + h, j : j + w] for i in range(3) for j in range(3))
    return jnp.asarray(total, dtype=jnp.float32)


@visible(filter_image, stage="shape", idea="With zeros around, there is a result for each pixel.")
def filtered_pictures_keep_their_size(answer, draw):
    """The shape is that of the pictures, also for one picture, and if it is not square."""
    for b, h, w in ((2, 4, 5), (1, 3, 6)):
        expect_shape(answer(draw.floats(b, h, w), draw.floats(3, 3)), (b, h, w))


@visible(filter_image, stage="dtype")
def filtered_pictures_are_float32(answer, draw):
    """The result is float32."""
    expect_dtype(answer(draw.floats(1, 4, 4), draw.floats(3, 3)), "float32")


@visible(filter_image, idea="The kernel lies on the picture as it is written, neither reversed nor transposed.")
def each_pixel_is_made_of_its_neighbourhood(answer, draw):
    """Each pixel is the sum of nine products."""
    for b, h, w in ((2, 4, 5), (1, 3, 6)):
        pictures, kernel = draw.floats(b, h, w), draw.floats(3, 3)
        got, wanted = answer(pictures, kernel), filtered(pictures, kernel)
        message = "The kernel should lie on the picture as it is; yours is reversed."
        backwards = np.allclose(np.asarray(got), filtered(pictures, kernel[::-1, ::-1]), rtol=1e-4, atol=1e-4)
        expect_that(not backwards, message, got, wanted, misconception="reverses_the_kernel")
        expect_close(got, wanted, rtol=1e-4, atol=1e-4)


@visible(
    filter_image,
    stage="cost",
    idea="The axis of pictures is there for many at once; a Python loop starts one operation after the other.",
    required=True,
)
def one_convolution_for_all_pictures(answer, draw):
    """The program has one convolution, and is as long for 40 pictures as for 4."""
    kernel = draw.floats(3, 3)
    small, large = (answer.program(draw.floats(b, 4, 5), kernel) for b in (4, 40))
    found = large.primitives.get("conv_general_dilated", 0)
    expect_that(found == 1, "There should be one convolution for all pictures.", f"{found} for 40 pictures", "one")
    message = "The program should be as long for 40 pictures as for 4; yours grows with their number."
    expect_no_growth((small, large), message)
    loops = [name for name in ("scan", "while") if large.primitives.get(name)]
    expect_that(not loops, "One convolution should do all at once; yours is in a loop.", loops, "no loop")


# %% [markdown]
# Now mend the photograph, smooth it, and find its edges: there the brightness changes
# from left to right, or from top to bottom. (Each filter mixes the zeros around the
# picture into its rim: after two filters, the two outermost pixels of the edges are cut
# off.)


# %%
smoothing = jnp.array([[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]) / 16
left_to_right = jnp.array([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])


def show_result():
    """Show the photograph, mended and smoothed, and its edges."""
    if not can_mend() or filter_image(photo[None], smoothing) is None:
        print("Write `filter_image`, `cap_peaks` and `shift_image` to see the result.")
        return
    smooth = filter_image(cap_peaks(mend(photo), 200.0)[None], smoothing)
    across = filter_image(smooth, left_to_right)[0]
    down = filter_image(smooth, left_to_right.T)[0]
    edges = jnp.hypot(across, down)[2:-2, 2:-2]
    show({"before": photo, "after": smooth[0], "edges": edges})


show_result()

# %% [markdown]
# And how much does one operation for all pixels save? A Python loop over the pixels
# would take so long that it is timed on a small corner here, and scaled.
# (`block_until_ready()` waits for the result: the lesson `jit_and_tracing` says why.)


# %%
def filter_by_loop(picture, kernel):
    """Filter one picture pixel by pixel: float32[h,w], float32[3,3] -> [h,w]."""
    padded = jnp.pad(picture, 1)
    h, w = picture.shape

    def pixel(i, j):
        return jnp.sum(padded[i : i + 3, j : j + 3] * kernel)

    return jnp.array([[pixel(i, j) for j in range(w)] for i in range(h)])


def seconds(function, *args):
    """Return how long a call takes on this computer: the second of two."""
    for _ in range(2):
        start = time.perf_counter()
        function(*args).block_until_ready()
        took = time.perf_counter() - start
    return took


def compare_ways():
    """Print how long the filter takes in two ways."""
    if filter_image(photo[None], smoothing) is None:
        print("Write `filter_image` first: then this cell times it.")
        return
    corner = 12
    loop = seconds(filter_by_loop, photo[:corner, :corner], smoothing)
    loop *= photo.size / corner**2
    yours = seconds(filter_image, photo[None], smoothing)
    print(f"a loop over all 16,384 pixels: {loop:8.3f} s")
    print(f"your filter:                   {yours:8.5f} s")
    print(f"{loop / yours:,.0f} times as fast")


compare_ways()

# %% [markdown]
# ## What to remember
#
# - `jnp` mirrors `np`, in float32. NumPy and JAX arrays mix; `isinstance(x, jax.Array)`
#   tells them apart.
# - A JAX array is never changed: `x.at[i].set(v)` returns a changed copy, and
#   `jnp.where` chooses element by element.
# - An index out of range is no error: reading takes the nearest element, writing does
#   nothing. `.get(mode="fill")` fills in, but -1 is the last element even there.
# - `jax.numpy` promotes, and Python numbers give way; `jax.lax` refuses to guess.
# - `lax.conv_general_dilated` does many signals at once, and does not reverse its
#   kernel.

# %% [markdown]
# ## More
#
# The rest is for another day. Pick what you need: no section builds on another.
#
# ### Who answers?
#
# The arrays of the two libraries are of different types. This helper gives a type's
# full name.


# %%
def type_name(value):
    """Return the full name of a value's type, such as `builtins.int`."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


print(type_name(1.5), type_name(np.float32(1.5)))


# %% exercise
@exercise(
    title="Who answers?",
    points=2,
    minutes=3,
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

    >>> values, types_seen = duck_typing(np.zeros(1, np.float32), jnp.ones(1))
    >>> types_seen[:2]
    ['numpy.ndarray', 'jaxlib._jax.ArrayImpl']

    Args:
        a: a NumPy array, float32[n].
        b: a JAX array, float32[n].

    Returns:
        A tuple `(values, types)`. The tuple of five values: `a`; `b`; NumPy's sine of `b`; JAX's sine of `a`; and the
        sum of `a` and `b`, written with `+`. The types: a list of the full names of their five types, as `type_name`
        gives them.
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


@visible(duck_typing, idea="`jax.Array` is the public name; arrays have a class of their own.", reproduces=["S1-04"])
def jax_array_has_a_class_of_its_own(answer, draw):
    """The type of a JAX array is a class named `ArrayImpl`."""
    _, types_seen, _, _ = mixed(answer, draw)
    message = "The second type should be the full name of the type of `b`."
    expect_documented("S1-04", types_seen[1], message=message)


@visible(
    duck_typing,
    idea="NumPy's functions give NumPy arrays, JAX's functions give JAX arrays, and `+` with a JAX array gives one.",
    reproduces=["S1-05"],
)
def mixed_calls_give_the_documented_kinds(answer, draw):
    """`np.sin` of a JAX array is NumPy's, `jnp.sin` of a NumPy array is JAX's, and so is their sum."""
    values, _, _, _ = mixed(answer, draw)
    kinds = ["jax" if is_jax(value) else "numpy" for value in values[2:]]
    message = "Of the last three values, NumPy should give the first, and JAX the other two."
    expect_documented("S1-05", kinds, message=message)


@visible(duck_typing, idea="The module of JAX's class is private; it moved in JAX 0.6.1, and may move again.")
def the_types_are_those_of_the_values(answer, draw):
    """The types are those of the five values, in their order."""
    values, types_seen, _, _ = mixed(answer, draw)
    wanted = [type_name(jnp.ones(1)) if is_jax(value) else type_name(np.ones(1)) for value in values]
    expect_that(types_seen == wanted, "The types should be those of the five values.", types_seen, wanted)


# %% documented S1-03 S1-04 S1-05
# JAX's class lives in another module since 0.6.1. It is private, and such names move;
# use `jax.Array`. The rest still holds: a function takes arrays of the other library,
# and returns its own.
x_np = np.linspace(0, 10, 1000)
x_jnp = jnp.linspace(0, 10, 1000)
print(type_name(x_np))
print(type_name(x_jnp))
print(type_name(np.sin(x_jnp)), isinstance(jnp.sin(x_np), jax.Array))

# documented
# numpy.ndarray
# jaxlib.xla_extension.ArrayImpl
# Python's duck typing allows JAX arrays and NumPy arrays to be used interchangeably
# in many places.

# today
# numpy.ndarray
# jaxlib._jax.ArrayImpl
# numpy.ndarray True


# %% [markdown]
# ### Shorter error messages
#
# JAX's tracebacks can be long. IPython, which runs the cells of this notebook, can
# shorten them: `%xmode minimal` in a cell shows the last line only. So that you can try
# it without changing your own notebook, `new_shell` starts a small IPython beside it. A
# shell has a method for a line with a `%` command, `run_line_magic(command, argument)`,
# and one for a cell of Python code, `run_cell(code)`. Both print, as a notebook does.


# %%
def new_shell():
    """Start an IPython shell beside that of your notebook, without colours, and forgotten afterwards."""
    import tempfile
    import types

    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.colors = "NoColor"
    with tempfile.TemporaryDirectory() as folder:
        module = types.ModuleType("beside")
        return InteractiveShell(config=settings, ipython_dir=folder, user_module=module)


shell = new_shell()
shell.run_cell("def inverse(x):\n    return 1 / x")
shell.run_line_magic("who", "")
shell.run_cell("inverse(0)")


# %% exercise
@exercise(
    title="A short error report",
    points=1,
    minutes=2,
    reproduces=["S1-07"],
    hints=[
        "Which has to come first in the shell: the setting, or the code that fails?",
        "The command `%xmode` sets how IPython reports exceptions. "
        "https://ipython.readthedocs.io/en/stable/interactive/magics.html#magic-xmode",
        'shell = start_shell()\nshell.run_line_magic("____", "____")\nshell.run_cell(____)',
        """# Like it: start a shell that says how long each cell takes.
def with_times(start_shell, code):
    shell = start_shell()
    shell.run_line_magic("time", code)

with_times(new_shell, "sum(range(10))")""",
    ],
)
def short_traceback(start_shell, code):
    """Start a shell, set its error reports to `minimal`, and run code in it as one cell.

    Both are said by the shell: what the command prints, and what the code does.

    >>> short_traceback(new_shell, "print(1 + 1)\\n1 / 0")
    Exception reporting mode: Minimal
    2
    ZeroDivisionError: division by zero

    Args:
        start_shell: a function without arguments that starts a new shell, such as `new_shell`.
        code: str, lines of Python, perhaps with a syntax error: the shell reports that, too.

    Returns:
        None.
    """
    ...


# %% check
FAILING = "import jax.numpy as jnp\nx = jnp.arange(10)\nx[0] = 10"


def shell_lines(answer, start_shell, code):
    """Return the lines that a shell prints, without colours and blank lines."""
    lines = map(without_colours, answer.observe(start_shell, code).lines)
    return [line for line in lines if line.strip()]


@visible(short_traceback, idea="`%xmode minimal` sets the mode, and says so.", reproduces=["S1-07"])
def the_shell_says_its_mode(answer):
    """The first line that the shell prints is: Exception reporting mode: Minimal."""
    lines = shell_lines(answer, given(new_shell.__name__), FAILING)
    message = "Before the code runs, the shell should say its mode: run the command `xmode` with `minimal` in it."
    expect_that(len(lines) > 0, message, "nothing printed", "a line")
    expect_documented("S1-07", lines[0], message=message)


@visible(short_traceback, idea="The mode must be set in the shell that runs the code, and before it runs.")
def the_report_is_one_line(answer):
    """The report of the error is its last line alone."""
    report = shell_lines(answer, given(new_shell.__name__), FAILING)[1:]
    expect_that(len(report) == 1, f"The report should be one line; yours has {len(report)}.", report, "one line")
    expect_that(report[0].startswith("TypeError: "), "The report should tell the error.", report, "TypeError: ...")


@visible(short_traceback, idea="What a shell prints is no result: a function without `return` returns None.")
def nothing_is_returned(answer):
    """It returns None."""
    got = answer(given(new_shell.__name__), "3 + 4")
    expect_that(got is None, "The shell prints what there is to say: return nothing.", got, None)


# %% documented S1-07
# Documented and today's output agree. In a notebook you write `%xmode minimal`.
shell = new_shell()
shell.run_line_magic("xmode", "minimal")
# documented
# Exception reporting mode: Minimal

# %% [markdown]
# ### Three layers
#
# All of `jax.numpy` is written with operations of `jax.lax`, and nearly each of these
# is an operation of XLA, the compiler. Both layers can be read. `jax.make_jaxpr(f)(x)`
# lists the operations of `jax.lax` that a function `f` becomes for an argument `x`: its
# *jaxpr*. The outer line is often a call, named `jit`, with the operations inside. And
# `jax.jit(f).lower(x).as_text()` is the text that XLA gets, where each operation's name
# stands after `stablehlo.`. (The next lesson is about `jax.jit`.)


# %%
def sine_of_a_sum(x, y):
    """Add, then take the sine."""
    return jnp.sin(x + y)


def add_numbers(a, b):
    """Add with promotion."""
    return jnp.add(a, b)


def convolve(x, y):
    """Convolve two vectors."""
    return jnp.convolve(x, y)


def choose(condition, a, b):
    """Choose element by element."""
    return jnp.where(condition, a, b)


print(jax.make_jaxpr(sine_of_a_sum)(jnp.ones(3), jnp.ones(3)))
print(jax.jit(sine_of_a_sum).lower(jnp.ones(3), jnp.ones(3)).as_text())


# %% exercise
@exercise(
    title="Two listings",
    points=2,
    minutes=4,
    reproduces=["S1-10", "S1-16"],
    hints=[
        "Which call made each of the two texts above? What becomes of `jnp.ones(3), jnp.ones(3)`, if it is `args`?",
        "`str` makes a text of a jaxpr; `*args` passes the arguments on. https://docs.jax.dev/en/latest/jaxpr.html",
        "jaxpr = str(jax.make_jaxpr(function)(____))\nlowered = jax.jit(function).____\nreturn jaxpr, lowered",
        """# Like it: the types of a function's results, and how many operations XLA gets.
def results_and_count(function, *args):
    jaxpr = jax.make_jaxpr(function)(*args)
    text = jax.jit(function).lower(*args).as_text()
    return [str(aval) for aval in jaxpr.out_avals], text.count("stablehlo.")

print(results_and_count(lambda v: jnp.sin(v) * v, jnp.ones(2)))  # (['float32[2]'], 2)""",
    ],
)
def two_listings(function, *args):
    """Return a function's jaxpr and the program that XLA gets, both as text.

    >>> jaxpr, lowered = two_listings(sine_of_a_sum, jnp.ones(3), jnp.ones(3))
    >>> "sin" in jaxpr, "stablehlo.sine" in lowered
    (True, True)

    Args:
        function: a function of arrays.
        args: its arguments.

    Returns:
        A tuple `(jaxpr, lowered)` of two strings: what `str` makes of `jax.make_jaxpr` of the function for these
        arguments, and the text of `jax.jit(function).lower` for them.
    """
    ...


# %% check
VECTOR = np.ones(3, dtype=np.float32)


def lax_names(text):
    """Return the operations of `jax.lax` in the text of a jaxpr, each once, without calls."""
    expect_text(text, "The first listing should be a string: the text of a jaxpr.")
    found = re.findall(r"(?<=\s=\s)([a-z]\w*)(?=[\[ ])", without_colours(text))
    return sorted({*found} - {"jit", "pjit"})


def xla_names(text):
    """Return the operations of XLA in a text, each once, without the `return` that ends an inner block."""
    expect_text(text, "The second listing should be a string: the text that XLA gets.")
    return sorted({*re.findall(r"stablehlo\.(\w+)", text)} - {"return"})


@visible(two_listings, idea="All of `jax.numpy` is written with `jax.lax`.", reproduces=["S1-10"])
def the_jaxpr_lists_lax_operations(answer):
    """The jaxprs of `jnp.add` of two types, `jnp.convolve` and `jnp.where` hold operations of `jax.lax`."""
    calls = (
        (add_numbers, np.int32(1), np.float32(1)),
        (convolve, VECTOR, VECTOR),
        (choose, np.array([True, False, True]), VECTOR, VECTOR),
    )
    seen = [lax_names(parts(answer(given(one.__name__), *args), 2)[0]) for one, *args in calls]
    message = "The first listing should be the jaxpr of the function for these arguments."
    expect_documented("S1-10", seen, message=message)


@visible(two_listings, idea="Each operation of `jax.lax` becomes one of XLA's, under its name.", reproduces=["S1-16"])
def the_lowered_text_lists_xla_operations(answer):
    """The text that XLA gets for `jnp.convolve` has a convolution, and what brings the arrays into its form."""
    lowered = parts(answer(given(convolve.__name__), VECTOR, VECTOR), 2)[1]
    message = "The second listing should be the text that XLA gets for the function: `.lower(...).as_text()`."
    expect_documented("S1-16", xla_names(lowered), message=message)


@visible(two_listings, idea="The arguments' types belong to the program: equal types need no conversion.")
def equal_types_need_no_conversion(answer):
    """For two float32 arrays, `jnp.add` is one operation in both listings."""
    jaxpr, lowered = parts(answer(given(add_numbers.__name__), VECTOR, VECTOR), 2)
    found = [lax_names(jaxpr), xla_names(lowered)]
    message = "For two float32 arrays, both listings should hold one operation, a sum."
    expect_that(found == [["add"], ["add"]], message, found, [["add"], ["add"]])


# %% documented S1-10 S1-16
# The page says this in words, and it still holds. Here is `jnp.convolve` in both
# layers.
def names_in(text, before):
    return sorted({word.removeprefix(before) for word in text.split() if word.startswith(before)})


x = jnp.ones(3)
operations = program(jnp.convolve, x, x).primitives
print(sorted(operations))
text = jax.jit(jnp.convolve).lower(x, x).as_text()
print([name.split("(")[0] for name in names_in(text, "stablehlo.")])

# documented
# All JAX operations are implemented in terms of operations in XLA. In the source of
# `jax.numpy`, all operations are eventually expressed in terms of functions of `jax.lax`.

# today
# ['broadcast_in_dim', 'conv_general_dilated', 'rev', 'squeeze']
# ['broadcast_in_dim', 'convolution', 'reshape', 'reverse']


# %% [markdown]
# ### The same place, three times
#
# How often does each grey level occur in the photograph? In NumPy,
# `counts[[0, 0, 0]] += 1` reads the three places, adds 1, and writes three times the
# same number. JAX's `.add` applies every update. With `.set`, on the other hand, it is
# not defined which of several values for one place wins.

# %%
counts = np.zeros(3, dtype=np.int32)
counts[[0, 0, 0]] += 1
print(counts)
print(jnp.zeros(3, dtype=jnp.int32).at[jnp.array([0, 0, 0])].add(1))


# %% exercise
@exercise(
    title="Make it fast: count the votes",
    points=3,
    minutes=4,
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
    """Add votes to counts. This version is right, and slow: let JAX add many votes in as many operations as few.

    In the photograph, each pixel votes for its grey level.

    >>> add_votes(jnp.array([0, 5, 0]), jnp.array([2, 1, 2, 2]))
    Array([0, 6, 3], dtype=int32)

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


@visible(
    add_votes,
    stage="cost",
    idea="A Python loop is written out vote by vote; one indexed update is one operation for any number of votes.",
    required=True,
)
def the_program_does_not_grow_with_the_votes(answer, draw):
    """JAX adds them, and the program is as long for 64 votes as for 4."""
    calls = [some_votes(draw, 5, m)[:2] for m in (4, 64)]
    found = programs(answer, "TracerBoolConversionError", *calls)  # of `jnp.bincount` without a length
    if found:
        message = "JAX should count the votes; yours counts in Python or NumPy."
        counting = found[0].primitives.keys() - MOVES - {"add"}  # with NumPy's counts, only the last sum is JAX's
        expect_that(bool(counting), message, found[0], "operations of JAX")
        message = "The program should be as long for 64 votes as for 4; yours grows with the votes."
        expect_no_growth(found, message, (4, 64))


# %% [markdown]
# A histogram of the photograph: the dead pixels at 0, the burnt-out ones at 255, and
# dark things, water and sky in between.


# %%
def draw_histogram():
    """Draw how often each grey level occurs, counted by `add_votes`."""
    none = jnp.zeros(256, dtype=jnp.int32)
    if program(add_votes, none, jnp.arange(50)).equations >= 50:
        print("Repair `add_votes` first: with the loop, 16,384 pixels take a while.")
        return
    _, axes = plt.subplots(figsize=(6, 2), layout="constrained")
    axes.bar(np.arange(256), add_votes(none, photo.astype(jnp.int32).ravel()), width=1)
    axes.set(xlabel="grey level", ylabel="pixels")
    plt.show()


draw_histogram()

# %% [markdown]
# ### Half precision
#
# `float16` and `bfloat16` save memory and time. One strong `float32` number in the
# code, and everything after it is `float32` again. A NumPy number is strong.

# %%
x = jnp.ones(3, dtype=jnp.float16)
print((x * 0.5).dtype, (x * np.float32(0.5)).dtype, (x * jnp.ones(())).dtype)


# %% exercise
@exercise(
    title="Repair: keep half precision",
    points=2,
    minutes=4,
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

    >>> half_and_shift(jnp.array([1.0, 2.0], dtype=jnp.float16))
    Array([0.75, 1.25], dtype=float16)

    Args:
        x: float16[n], bfloat16[n] or float32[n].

    Returns:
        A JAX array with the shape and dtype of x.
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
    """The result is a JAX array with the dtype of x, for float16, bfloat16 and float32."""
    for dtype in ("float16", "bfloat16", "float32"):
        got = answer(draw.floats(4, dtype=dtype))
        expect_that(is_jax(got), "The result should be a JAX array.", describe_origin(got), "an array of JAX's")
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
# ### Double precision
#
# JAX makes float32 of everything, because that is what GPUs are good at. A float32 has
# 7 digits. Where these are too few, `with jax.enable_x64(True):` turns 64-bit types on
# for a block. (`jax.config.update("jax_enable_x64", True)` turns them on for the whole
# program; do that once, at its start.)

# %%
large = np.array([1e8 + 1])
with jax.enable_x64(True):
    print(jnp.asarray(large) - 1e8)
print(jnp.asarray(large) - 1e8)


# %% exercise
@exercise(
    title="Repair: the spread of large numbers",
    points=2,
    minutes=4,
    hints=[
        "In which line are digits lost: when the variance is computed, or before?",
        "Inside of `with jax.enable_x64(True):`, `jnp.asarray` keeps float64. "
        "https://docs.jax.dev/en/latest/default_dtypes.html",
        "in_float32 = jnp.var(jnp.asarray(numbers))\nwith ____:\n    in_float64 = ____\nreturn in_float32, in_float64",
        """# Like it: the sum of many small steps, in both precisions.
def sum_both_ways(steps):
    short = jnp.asarray(steps).cumsum()[-1]
    with jax.enable_x64(True):
        long = jnp.asarray(steps).cumsum()[-1]
    return short, long

short, long = sum_both_ways(np.full(3, 0.1))
print(short.dtype, long.dtype)  # float32 float64""",
    ],
)
def variance_both_ways(numbers):
    """Let JAX compute the variance of numbers twice: in float32, and in float64. In this version both are float32.

    After the call, JAX makes float32 arrays again.

    >>> variance_both_ways(1e8 + np.array([0.0, 1.0, 2.0]))[1].round(6)
    Array(0.666667, dtype=float64)

    Args:
        numbers: a NumPy array, float64[n].

    Returns:
        A tuple `(in_float32, in_float64)` of JAX arrays, float32[] and float64[].
    """
    in_float32 = jnp.var(jnp.asarray(numbers))
    in_float64 = jnp.var(jnp.asarray(numbers, dtype=jnp.float64))
    return in_float32, in_float64


# %% check
@visible(variance_both_ways, stage="dtype", idea="Outside of `jax.enable_x64`, JAX makes float32 of float64.")
def one_variance_of_each_type(answer, draw):
    """The first variance is a float32, the second a float64, also in a second call."""
    numbers = draw.numpy(5, dtype="float64")
    for seen in answer.observe_calls([(numbers,), (numbers,)]):
        for part, dtype in zip(parts(seen.value, 2), ("float32", "float64"), strict=True):
            expect_that(is_jax(part), "Both variances should be JAX arrays.", describe_origin(part), "JAX's")
            expect_shape(part, ())
            expect_dtype(part, dtype)


@visible(variance_both_ways, idea="A float32 has 7 digits; of 100,000,001 the last is lost.")
def large_numbers_have_a_variance(answer, draw):
    """The second variance has 9 digits right, for numbers about 100 million; the first is that of float32."""
    for size in (1.0, 1e8):
        numbers = size + draw.numpy(6, dtype="float64")
        short, long = parts(answer(numbers), 2)
        expect_that(np.isclose(float(long.values), np.var(numbers), rtol=1e-9), "9 digits should be right.", long)
        if size == 1.0:
            expect_close(short, jnp.var(jnp.asarray(numbers)), rtol=1e-4)


# %% [markdown]
# ## What to read next
#
# - [How to think in
#   JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html), the page behind
#   the documented examples
# - [Indexed
#   updates](https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html):
#   modes, bounds, all methods
# - [Type promotion](https://docs.jax.dev/en/latest/type_promotion.html): the whole
#   lattice
# - [Convolutions in JAX](https://docs.jax.dev/en/latest/notebooks/convolutions.html)
