# %% [markdown]
# # Arrays and layers
#
# **Core:** 8 exercises, about 55 minutes. **Beyond the core:** 6 exercises.
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
# This installs jaxguide where it is missing, as in Colab. It does nothing elsewhere.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("jaxguide") is None:
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "jaxguide"], check=True
    )
    importlib.invalidate_caches()

# %%
from jaxguide.lesson import check, hint, progress, solution, start

start("arrays_and_layers")

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

# %% [markdown]
# ### Exercise: One curve, twice (2 points)
#
# Compute 2 sin(x) cos(x) at n points from 0 to 10, both ends included: once with NumPy,
# once with JAX.
#
# ```python
# >>> in_numpy, in_jax = curve_both_ways(5)
# >>> in_numpy.dtype, in_jax.dtype
# (dtype('float64'), dtype('float32'))
# ```
#
# **Args:**
#
# - `n`: int, how many points; 2 or more.
#
# **Returns:** A tuple `(in_numpy, in_jax)`: the curve as a NumPy array, float64[n], and
# as a JAX array, float32[n].

# %%
def curve_both_ways(n):
    """Compute 2 sin(x) cos(x) at n points from 0 to 10, both ends included: once with
    NumPy, once with JAX.
    """
    ...


check(curve_both_ways)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(curve_both_ways)
# solution(curve_both_ways)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-01, S1-02)</summary>
#
# The page shows two plots that look the same. In numbers, NumPy's curve is float64 and
# JAX's float32, and they still agree to 5 digits.
#
# > ```python
# > x_np = np.linspace(0, 10, 1000)
# > y_np = 2 * np.sin(x_np) * np.cos(x_np)
# > x_jnp = jnp.linspace(0, 10, 1000)
# > y_jnp = 2 * jnp.sin(x_jnp) * jnp.cos(x_jnp)
# > print(y_np.dtype, y_jnp.dtype, np.allclose(y_np, y_jnp, atol=1e-5))
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > (The same plot, twice.)
# > ```
#
# Today:
#
# > ```text
# > float64 float32 True
# > ```
#
# </details>

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

# %% [markdown]
# ### Predict: a mixed sum (1 point)
#
# Which kind of array is `np.ones(3) + jnp.ones(3)`?
#
# **Returns:** `"numpy"` or `"jax"`.

# %%
def predict_mixed_sum():
    """Which kind of array is `np.ones(3) + jnp.ones(3)`?"""
    ...


check(predict_mixed_sum)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_mixed_sum)
# solution(predict_mixed_sum)

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

# %% [markdown]
# ### Exercise: In place, or a copy (3 points)
#
# Set element 0 in place if x allows it; if not, make a changed copy, and say why.
#
# "In place" means that the array of the caller is changed, not a copy of it.
#
# ```python
# >>> set_first(np.array([1, 2]), 7)
# (array([7, 2]), '')
# >>> set_first((1, 2), 7)
# (Array([7, 2], dtype=int32),
#  "TypeError: 'tuple' object does not support item assignment")
# ```
#
# **Args:**
#
# - `x`: a NumPy array [n] that is not read-only, a JAX array [n], or a tuple of n ints,
#   also a named one such as `Pixel(3, 4)`; n is at least 1.
# - `value`: int, one that the dtype of x can hold.
#
# **Returns:** A tuple `(array, refusal)`. If x allows it: x itself, changed, and `""`.
# If not, x stays as it is: `array` is the changed copy, a JAX array with the dtype of x
# (int32 for a tuple), and `refusal` is the error that came when you tried to set the
# element, as the string `f"{type(error).__name__}: {error}"`.

# %%
def set_first(x, value):
    """Set element 0 in place if x allows it; if not, make a changed copy, and say why.
    """
    ...


check(set_first)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(set_first)
# solution(set_first)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-06, S1-08,
# S1-09)</summary>
#
# The message has other words today: they changed in JAX 0.4.35, and the link in 0.6.0.
# It is still a TypeError with the same advice.
#
# > ```python
# > x = np.arange(10)
# > x[0] = 10
# > print(x)
# > x = jnp.arange(10)
# > try:
# >     x[0] = 10
# > except TypeError as error:
# >     print(f"TypeError: {error}")
# > y = x.at[0].set(10)
# > print(x)
# > print(y)
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > [10 1 2 3 4 5 6 7 8 9]
# > TypeError: '<class 'jaxlib.xla_extension.ArrayImpl'>' object does not support item
# > assignment. JAX arrays are immutable. Instead of ``x[idx] = y``, use
# > ``x = x.at[idx].set(y)`` or another .at[] method:
# > https://jax.readthedocs.io/en/latest/_autosummary/jax.numpy.ndarray.at.html
# > [0 1 2 3 4 5 6 7 8 9]
# > [10 1 2 3 4 5 6 7 8 9]
# > ```
#
# Today:
#
# > ```text
# > [10 1 2 3 4 5 6 7 8 9]
# > TypeError: JAX arrays are immutable and do not support in-place item assignment.
# > Instead of x[idx] = y, use x = x.at[idx].set(y) or another .at[] method:
# > https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html
# > [0 1 2 3 4 5 6 7 8 9]
# > [10 1 2 3 4 5 6 7 8 9]
# > ```
#
# </details>

# %% [markdown]
# NumPy's `where` is there, too. It chooses for each element.

# %%
print(jnp.where(jnp.array([True, False, True]), jnp.array([1, 2, 3]), 0))

# %% [markdown]
# Now the burnt-out spots. This function was written for NumPy.

# %% [markdown]
# ### Repair: cap the peaks (2 points)
#
# Replace every element above the limit by the limit, and leave the others as they are.
# Let JAX do it, not NumPy.
#
# A NaN is not above the limit: it stays.
#
# ```python
# >>> cap_peaks(jnp.array([1.0, 5.0, jnp.nan]), 2.0)
# Array([ 1.,  2., nan], dtype=float32)
# ```
#
# **Args:**
#
# - `x`: a JAX array of float32, with any number of axes.
# - `limit`: float, but not NaN.
#
# **Returns:** A JAX array with the shape and dtype of x.

# %%
def cap_peaks(x, limit):
    """Replace every element above the limit by the limit, and leave the others as they
    are.
    """
    x[x > limit] = limit
    return x


check(cap_peaks)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(cap_peaks)
# solution(cap_peaks)

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

# %% [markdown]
# ### Repair: move a picture (3 points)
#
# Move a picture by dy rows and dx columns. What comes in from outside is `fill`, and
# that is what to repair.
#
# ```python
# >>> shift_image(jnp.array([[1, 2, 3], [4, 5, 6]]), 1, -1, 0)
# Array([[0, 0, 0],
#        [2, 3, 0]], dtype=int32)
# ```
#
# **Args:**
#
# - `picture`: a JAX array of ints or of floats, of shape [h,w].
# - `dy`: int, how many rows down. It may be negative, and larger than the picture; an
#   int32 can hold it.
# - `dx`: int, how many columns to the right, likewise.
# - `fill`: a number: for ints an int that their dtype can hold; for floats a float,
#   also NaN.
#
# **Returns:** A JAX array with the shape and dtype of the picture. Element (i, j) is
# the picture's element (i - dy, j - dx), and `fill` if there is none.

# %%
def shift_image(picture, dy, dx, fill):
    """Move a picture by dy rows and dx columns."""
    rows = jnp.arange(picture.shape[0]) - dy
    columns = jnp.arange(picture.shape[1]) - dx
    return picture[rows[:, None], columns]


check(shift_image)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(shift_image)
# solution(shift_image)

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

# %% [markdown]
# ### Exercise: Three ways to add (3 points)
#
# Call a function that promotes, then a strict one, and then the strict one with numbers
# of their common dtype.
#
# ```python
# >>> in_three_ways(promoting_sum, strict_sum, jnp.float32(1), 2.5)
# (Array(3.5, dtype=float32), '', Array(3.5, dtype=float32))
# ```
#
# **Args:**
#
# - `promoting`: a function of two numbers that promotes them, such as `promoting_sum`.
#   Its result may have yet another dtype: a quotient of ints is a float.
# - `strict`: a function of two numbers that raises a TypeError if their dtypes differ,
#   such as `strict_sum`. It may compute something else than `promoting` does, such as a
#   product.
# - `a`, `b`: each an int, a float, or a JAX array without axes, such as float16[].
#
# **Returns:** A tuple `(promoted, refusal, converted)`: what `promoting` gives for a
# and b; `""` if `strict` takes them as they are, otherwise its error, as the string
# `f"{type(error).__name__}: {error}"`; and what `strict` gives once both are converted
# to the dtype to which `jax.numpy` promotes a and b, so that neither is weak any more.

# %%
def in_three_ways(promoting, strict, a, b):
    """Call a function that promotes, then a strict one, and then the strict one with
    numbers of their common dtype.
    """
    ...


check(in_three_ways)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(in_three_ways)
# solution(in_three_ways)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-11, S1-12,
# S1-13)</summary>
#
# `lax.add` still refuses, with another error: since JAX 0.4.38 it compares the types
# itself. Before, the compiler did, in words of its own.
#
# > ```python
# > print(repr(jnp.add(1, 1.0)))
# > try:
# >     lax.add(1, 1.0)
# > except TypeError as error:
# >     print(f"TypeError: {error}")
# > print(repr(lax.add(jnp.float32(1), 1.0)))
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > Array(2., dtype=float32, weak_type=True)
# > ValueError: Cannot lower jaxpr with verifier errors:
# >     op requires the same element type for all operands and results
# >         at loc("jit(add)/jit(main)/add"(callsite("<module>"(...) at callsite(...))))
# > Define JAX_DUMP_IR_TO to dump the module.
# > Array(2., dtype=float32)
# > ```
#
# Today:
#
# > ```text
# > Array(2., dtype=float32, weak_type=True)
# > TypeError: lax.add requires arguments to have the same dtypes, got int32, float32.
# > (Tip: jnp.add is a similar function that does automatic type promotion on inputs).
# > Array(2., dtype=float32)
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: A convolution in two ways (3 points)
#
# Convolve two vectors in full length, with `jnp.convolve`, and with a call of
# `lax.conv_general_dilated`.
#
# ```python
# >>> convolve_two_ways(jnp.array([1, 2]), jnp.array([3.0, 4.0]))
# (Array([ 3., 10.,  8.], dtype=float32), Array([ 3., 10.,  8.], dtype=float32))
# ```
#
# **Args:**
#
# - `x`: int32[n] or float32[n].
# - `y`: float32[m].
#
# **Returns:** A tuple `(by_numpy, by_lax)`, float32[n+m-1] each: both are the
# convolution of x and y.

# %%
def convolve_two_ways(x, y):
    """Convolve two vectors in full length, with `jnp.convolve`, and with a call of
    `lax.conv_general_dilated`.
    """
    ...


check(convolve_two_ways)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(convolve_two_ways)
# solution(convolve_two_ways)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-14, S1-15)</summary>
#
# Documented and today's output agree. The page's second vector is all ones, which read
# the same backwards. For one that does not, the second way would have to reverse it.
#
# > ```python
# > x = jnp.array([1, 2, 1])
# > y = jnp.ones(10)
# > print(repr(jnp.convolve(x, y)))
# > result = lax.conv_general_dilated(
# >     x.reshape(1, 1, 3).astype(float),
# >     y.reshape(1, 1, 10),
# >     window_strides=(1,),
# >     padding=[(len(y) - 1, len(y) - 1)],
# > )
# > print(repr(result[0, 0]))
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > Array([1., 3., 4., 4., 4., 4., 4., 4., 4., 4., 3., 1.], dtype=float32)
# > Array([1., 3., 4., 4., 4., 4., 4., 4., 4., 4., 3., 1.], dtype=float32)
# > ```
#
# Today's JAX prints the same.
#
# </details>

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

# %% [markdown]
# ### Exercise: Filter a batch of pictures (3 points)
#
# Filter all pictures by one convolution of `jax.lax`. Around each picture there are
# zeros.
#
# ```python
# >>> right_neighbour = jnp.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
# >>> filter_image(jnp.array([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]), right_neighbour)
# Array([[[2., 3., 0.],
#         [5., 6., 0.]]], dtype=float32)
# ```
#
# **Args:**
#
# - `pictures`: float32[b,h,w].
# - `kernel`: float32[3,3].
#
# **Returns:** float32[b,h,w]: at each pixel, the sum of the nine products of the kernel
# with the 3×3 neighbourhood: of its middle with the pixel itself, of its upper left
# number with the pixel to the upper left, and so on.

# %%
def filter_image(pictures, kernel):
    """Filter all pictures by one convolution of `jax.lax`."""
    ...


check(filter_image)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(filter_image)
# solution(filter_image)

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

# %% [markdown]
# ### Exercise: Who answers? (2 points, beyond the core)
#
# Mix a NumPy array and a JAX array in all ways, and tell which type comes out.
#
# ```python
# >>> values, types_seen = duck_typing(np.zeros(1, np.float32), jnp.ones(1))
# >>> types_seen[:2]
# ['numpy.ndarray', 'jaxlib._jax.ArrayImpl']
# ```
#
# **Args:**
#
# - `a`: a NumPy array, float32[n].
# - `b`: a JAX array, float32[n].
#
# **Returns:** A tuple `(values, types)`. The tuple of five values: `a`; `b`; NumPy's
# sine of `b`; JAX's sine of `a`; and the sum of `a` and `b`, written with `+`. The
# types: a list of the full names of their five types, as `type_name` gives them.

# %%
def duck_typing(a, b):
    """Mix a NumPy array and a JAX array in all ways, and tell which type comes out."""
    ...


check(duck_typing)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(duck_typing)
# solution(duck_typing)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-03, S1-04,
# S1-05)</summary>
#
# JAX's class lives in another module since 0.6.1. It is private, and such names move;
# use `jax.Array`. The rest still holds: a function takes arrays of the other library,
# and returns its own.
#
# > ```python
# > x_np = np.linspace(0, 10, 1000)
# > x_jnp = jnp.linspace(0, 10, 1000)
# > print(type_name(x_np))
# > print(type_name(x_jnp))
# > print(type_name(np.sin(x_jnp)), isinstance(jnp.sin(x_np), jax.Array))
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > numpy.ndarray
# > jaxlib.xla_extension.ArrayImpl
# > Python's duck typing allows JAX arrays and NumPy arrays to be used interchangeably
# > in many places.
# > ```
#
# Today:
#
# > ```text
# > numpy.ndarray
# > jaxlib._jax.ArrayImpl
# > numpy.ndarray True
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: A short error report (1 point, beyond the core)
#
# Start a shell, set its error reports to `minimal`, and run code in it as one cell.
#
# Both are said by the shell: what the command prints, and what the code does.
#
# ```python
# >>> short_traceback(new_shell, "print(1 + 1)\n1 / 0")
# Exception reporting mode: Minimal
# 2
# ZeroDivisionError: division by zero
# ```
#
# **Args:**
#
# - `start_shell`: a function without arguments that starts a new shell, such as
#   `new_shell`.
# - `code`: str, lines of Python, perhaps with a syntax error: the shell reports that,
#   too.
#
# **Returns:** None.

# %%
def short_traceback(start_shell, code):
    """Start a shell, set its error reports to `minimal`, and run code in it as one
    cell.
    """
    ...


check(short_traceback)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(short_traceback)
# solution(short_traceback)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-07)</summary>
#
# Documented and today's output agree. In a notebook you write `%xmode minimal`.
#
# > ```python
# > shell = new_shell()
# > shell.run_line_magic("xmode", "minimal")
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > Exception reporting mode: Minimal
# > ```
#
# Today's JAX prints the same.
#
# </details>

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

# %% [markdown]
# ### Exercise: Two listings (2 points, beyond the core)
#
# Return a function's jaxpr and the program that XLA gets, both as text.
#
# ```python
# >>> jaxpr, lowered = two_listings(sine_of_a_sum, jnp.ones(3), jnp.ones(3))
# >>> "sin" in jaxpr, "stablehlo.sine" in lowered
# (True, True)
# ```
#
# **Args:**
#
# - `function`: a function of arrays.
# - `args`: its arguments.
#
# **Returns:** A tuple `(jaxpr, lowered)` of two strings: what `str` makes of
# `jax.make_jaxpr` of the function for these arguments, and the text of
# `jax.jit(function).lower` for them.

# %%
def two_listings(function, *args):
    """Return a function's jaxpr and the program that XLA gets, both as text."""
    ...


check(two_listings)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(two_listings)
# solution(two_listings)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-10, S1-16)</summary>
#
# The page says this in words, and it still holds. Here is `jnp.convolve` in both
# layers.
#
# > ```python
# > def names_in(text, before):
# >     return sorted({word.removeprefix(before) for word in text.split() if word.startswith(before)})
# >
# >
# > x = jnp.ones(3)
# > operations = program(jnp.convolve, x, x).primitives
# > print(sorted(operations))
# > text = jax.jit(jnp.convolve).lower(x, x).as_text()
# > print([name.split("(")[0] for name in names_in(text, "stablehlo.")])
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# says:
#
# > All JAX operations are implemented in terms of operations in XLA. In the source of
# > `jax.numpy`, all operations are eventually expressed in terms of functions of `jax.lax`.
#
# Today:
#
# > ```text
# > ['broadcast_in_dim', 'conv_general_dilated', 'rev', 'squeeze']
# > ['broadcast_in_dim', 'convolution', 'reshape', 'reverse']
# > ```
#
# </details>

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

# %% [markdown]
# ### Make it fast: count the votes (3 points, beyond the core)
#
# Add votes to counts. This version is right, and slow: let JAX add many votes in as
# many operations as few.
#
# In the photograph, each pixel votes for its grey level.
#
# ```python
# >>> add_votes(jnp.array([0, 5, 0]), jnp.array([2, 1, 2, 2]))
# Array([0, 6, 3], dtype=int32)
# ```
#
# **Args:**
#
# - `counts`: int32[k], the votes counted so far.
# - `votes`: int32[m], each vote the number of a place, from 0 to k - 1; at least one
#   vote.
#
# **Returns:** int32[k]: each place of `counts` plus the number of votes for it.

# %%
def add_votes(counts, votes):
    """Add votes to counts."""
    for vote in votes:
        counts = counts.at[vote].add(1)
    return counts


check(add_votes)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(add_votes)
# solution(add_votes)

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

# %% [markdown]
# ### Repair: keep half precision (2 points, beyond the core)
#
# Compute 0.5 x + 0.25 in the type that x has, without a detour by a wider type. This
# version does not keep it.
#
# ```python
# >>> half_and_shift(jnp.array([1.0, 2.0], dtype=jnp.float16))
# Array([0.75, 1.25], dtype=float16)
# ```
#
# **Args:**
#
# - `x`: float16[n], bfloat16[n] or float32[n].
#
# **Returns:** A JAX array with the shape and dtype of x.

# %%
def half_and_shift(x):
    """Compute 0.5 x + 0.25 in the type that x has, without a detour by a wider type."""
    scale = np.float32(0.5)
    shift = np.float64(0.25)
    return x * scale + shift


check(half_and_shift)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(half_and_shift)
# solution(half_and_shift)

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

# %% [markdown]
# ### Repair: the spread of large numbers (2 points, beyond the core)
#
# Let JAX compute the variance of numbers twice: in float32, and in float64. In this
# version both are float32.
#
# After the call, JAX makes float32 arrays again.
#
# ```python
# >>> variance_both_ways(1e8 + np.array([0.0, 1.0, 2.0]))[1].round(6)
# Array(0.666667, dtype=float64)
# ```
#
# **Args:**
#
# - `numbers`: a NumPy array, float64[n].
#
# **Returns:** A tuple `(in_float32, in_float64)` of JAX arrays, float32[] and
# float64[].

# %%
def variance_both_ways(numbers):
    """Let JAX compute the variance of numbers twice: in float32, and in float64."""
    in_float32 = jnp.var(jnp.asarray(numbers))
    in_float64 = jnp.var(jnp.asarray(numbers, dtype=jnp.float64))
    return in_float32, in_float64


check(variance_both_ways)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(variance_both_ways)
# solution(variance_both_ways)

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
