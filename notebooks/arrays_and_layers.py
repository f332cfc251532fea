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

# %% [markdown]
# ### Exercise: One curve, twice (2 points)
#
# Compute 2 sin(x) cos(x) at n points from 0 to 10, both ends included: once with NumPy,
# once with JAX.
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
# ### Exercise: Who answers? (2 points)
#
# Mix a NumPy array and a JAX array in all ways, and tell which type comes out.
#
# **Args:**
#
# - `a`: a NumPy array, float32[n].
# - `b`: a JAX array, float32[n].
#
# **Returns:** A tuple `(values, types)`. The five values: `a`; `b`; NumPy's sine of
# `b`; JAX's sine of `a`; and the sum of `a` and `b`, written with `+`. The types: a
# list of the full names of their five types, as `type_name` gives them.

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
# <summary>The document's example, today (S1-05)</summary>
#
# This still holds: a function takes arrays of the other library, and returns its own.
#
# > ```python
# > print(type(np.sin(jnp.ones(3))))
# > print(isinstance(jnp.sin(np.ones(3)), jax.Array))
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# says:
#
# > Python's duck typing allows JAX arrays and NumPy arrays to be used interchangeably
# > in many places.
#
# Today:
#
# > ```text
# > <class 'numpy.ndarray'>
# > True
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: Is it a JAX array? (1 point)
#
# Tell whether a value is a JAX array, and not only something that is like one.
#
# Under `jax.jit`, where x is a tracer, the answer is True as well.
#
# **Args:**
#
# - `x`: anything: a JAX array, a NumPy array, a Python number, a list, a function, a
#   `Place`.
#
# **Returns:** True or False.

# %%
def is_jax_array(x):
    """Tell whether a value is a JAX array, and not only something that is like one."""
    ...


check(is_jax_array)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(is_jax_array)
# solution(is_jax_array)

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

# %% [markdown]
# ### Exercise: The same line, two answers (1 point)
#
# Set element 0 of an array in place, with NumPy's syntax, and return the array.
#
# "In place" means that the array of the caller is changed, and not a copy of it. Where
# the array refuses, its error reaches the caller: do not catch it, and do not go around
# it.
#
# **Args:**
#
# - `x`: int[n], a NumPy array or a JAX array.
# - `value`: int.
#
# **Returns:** The same NumPy array, changed; for a JAX array the call raises TypeError.

# %%
def change_first(x, value):
    """Set element 0 of an array in place, with NumPy's syntax, and return the array."""
    ...


check(change_first)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(change_first)
# solution(change_first)

# %% [markdown]
# <details>
# <summary>The document's example, today (S1-08)</summary>
#
# The message has other words and another link today. It is still a TypeError, and says
# what to write instead.
#
# > ```python
# > x = jnp.arange(10)
# > try:
# >     x[0] = 10
# > except TypeError as error:
# >     print(f"TypeError: {error}")
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > TypeError: '<class 'jaxlib.xla_extension.ArrayImpl'>' object does not support item
# > assignment. JAX arrays are immutable. Instead of ``x[idx] = y``, use
# > ``x = x.at[idx].set(y)`` or another .at[] method:
# > https://jax.readthedocs.io/en/latest/_autosummary/jax.numpy.ndarray.at.html
# > ```
#
# Today:
#
# > ```text
# > TypeError: JAX arrays are immutable and do not support in-place item assignment.
# > Instead of x[idx] = y, use x = x.at[idx].set(y) or another .at[] method:
# > https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: A short error report (2 points)
#
# Run code in a new session whose tracebacks are set to `minimal`.
#
# **Args:**
#
# - `code`: str, lines of Python.
#
# **Returns:** A tuple `(said, report)` of two lists of lines: what the session prints
# when you set the mode with the magic command `%xmode`, and what it prints when it then
# runs the code.

# %%
def minimal_report(code):
    """Run code in a new session whose tracebacks are set to `minimal`."""
    ...


check(minimal_report)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(minimal_report)
# solution(minimal_report)

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

# %% [markdown]
# ### Exercise: Old and new (1 point)
#
# Return an array as it is, and a copy of it with another element 0.
#
# It must also work under `jax.jit`.
#
# **Args:**
#
# - `x`: a JAX array of shape [n], n at least 1: integers or floats of any size.
# - `value`: a number that fits: an int if x holds integers, an int or a float if x
#   holds floats.
#
# **Returns:** A tuple `(x, y)` of two JAX arrays of the shape and dtype of x.

# %%
def old_and_new(x, value):
    """Return an array as it is, and a copy of it with another element 0."""
    ...


check(old_and_new)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(old_and_new)
# solution(old_and_new)

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

# %% [markdown]
# ### Repair: cap the peaks (2 points)
#
# Replace every element above the limit by the limit, and leave the others as they are.
#
# A NaN is not above the limit: it stays. It works for JAX arrays, and under `jax.jit`.
#
# **Args:**
#
# - `x`: a JAX array, float32[n].
# - `limit`: float.
#
# **Returns:** float32[n], a JAX array.

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
# ### The same place, three times
#
# In NumPy, `counts[[0, 0, 0]] += 1` reads the three places, adds 1, and writes three
# times the same number.

# %%
counts = np.zeros(3, dtype=np.int32)
counts[[0, 0, 0]] += 1
print(counts)

# %% [markdown]
# ### Predict: three votes for one place (1 point)
#
# What is element 0 of `jnp.zeros(3, dtype=jnp.int32).at[jnp.array([0, 0, 0])].add(1)`?
#
# **Returns:** An int.

# %%
def predict_three_votes():
    """What is element 0 of
    `jnp.zeros(3, dtype=jnp.int32).at[jnp.array([0, 0, 0])].add(1)`?
    """
    ...


check(predict_three_votes)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_three_votes)
# solution(predict_three_votes)

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

# %% [markdown]
# ### Make it fast: count the votes (3 points)
#
# Add votes to counts. This version is right, and slow: make its program independent of
# the number of votes.
#
# It must also work under `jax.jit`.
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

# %% [markdown]
# ### Exercise: A sum, and how sure its type is (2 points)
#
# Add two numbers or arrays as `jax.numpy` does, and tell whether the result's type is
# weak.
#
# **Args:**
#
# - `a`, `b`: Python numbers, NumPy arrays or JAX arrays.
#
# **Returns:** A tuple `(total, is_weak)`: the sum, a JAX array of the promoted type,
# and True or False.

# %%
def add_and_tell(a, b):
    """Add two numbers or arrays as `jax.numpy` does, and tell whether the result's type
    is weak.
    """
    ...


check(add_and_tell)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(add_and_tell)
# solution(add_and_tell)

# %% [markdown]
# Why does it matter? Half precision, `float16` or `bfloat16`, saves memory and time.
# One strong `float32` number in the code, and everything after it is `float32` again. A
# NumPy number is strong.

# %%
x = jnp.ones(3, dtype=jnp.float16)
print((x * 0.5).dtype, (x * np.float32(0.5)).dtype, (x * jnp.ones(())).dtype)

# %% [markdown]
# ### Repair: keep half precision (2 points)
#
# Compute 0.5 x + 0.25 in the type that x has, without a detour by a wider type. This
# version does not keep it.
#
# **Args:**
#
# - `x`: float16[n], bfloat16[n] or float32[n].
#
# **Returns:** An array of the same shape and dtype as x.

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

# %% [markdown]
# ### Exercise: Add, and refuse to guess (2 points)
#
# Add two numbers or arrays, or three, without any promotion.
#
# Where two types differ, the error of `jax.lax` reaches the caller. So it does where
# shapes differ: `jax.lax` does not repeat a row for a whole matrix either.
#
# **Args:**
#
# - `a`, `b`: Python numbers or JAX arrays.
# - `c`: None, or another one.
#
# **Returns:** a + b, or a + b + c: a JAX array.

# %%
def strict_add(a, b, c=None):
    """Add two numbers or arrays, or three, without any promotion."""
    ...


check(strict_add)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(strict_add)
# solution(strict_add)

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

# %% [markdown]
# ### Exercise: What lies below (2 points)
#
# List the `jax.lax` operations that a function becomes for given arguments, those
# inside of calls included.
#
# **Args:**
#
# - `function`: a function of arrays.
# - `args`: its arguments.
#
# **Returns:** A list of names, each once, such as `["add", "sin"]`. A call is no
# operation.

# %%
def lax_operations(function, *args):
    """List the `jax.lax` operations that a function becomes for given arguments, those
    inside of calls included.
    """
    ...


check(lax_operations)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(lax_operations)
# solution(lax_operations)

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

# %% [markdown]
# ### Repair: the document's convolution (3 points)
#
# Convolve two vectors with `jnp.convolve`, and with `lax.conv_general_dilated`: the
# same numbers for all inputs.
#
# The second way is the document's, and not always right.
#
# **Args:**
#
# - `x`: int32[n] or float32[n].
# - `y`: float32[m].
#
# **Returns:** A tuple `(by_numpy, by_lax)`, float32[n+m-1] each.

# %%
def convolve_two_ways(x, y):
    """Convolve two vectors with `jnp.convolve`, and with `lax.conv_general_dilated`:
    the same numbers for all inputs.
    """
    by_numpy = jnp.convolve(x, y)
    by_lax = jax.lax.conv_general_dilated(
        x.reshape(1, 1, -1).astype(float),
        y.reshape(1, 1, -1),
        window_strides=(1,),
        padding=[(len(y) - 1, len(y) - 1)],
    )
    return by_numpy, by_lax[0, 0]


check(convolve_two_ways)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(convolve_two_ways)
# solution(convolve_two_ways)

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

# %% [markdown]
# ### Transfer: filter and thin out (3 points)
#
# Convolve each row with a kernel in full length, and keep every second number: those at
# 0, 2, 4, ...
#
# The program must not grow with the number of rows: no Python loop. It must also work
# under `jax.jit`.
#
# **Args:**
#
# - `rows`: float32[b,n].
# - `kernel`: float32[m].
#
# **Returns:** float32[b,k], k = (n + m) // 2: row i is
# `jnp.convolve(rows[i], kernel)[::2]`.

# %%
def filter_rows(rows, kernel):
    """Convolve each row with a kernel in full length, and keep every second number:
    those at 0, 2, 4, ...
    """
    ...


check(filter_rows)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(filter_rows)
# solution(filter_rows)

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

# %% [markdown]
# ### Exercise: What XLA gets (2 points)
#
# List the StableHLO operations that XLA gets for a function and its arguments.
#
# **Args:**
#
# - `function`: a function of arrays.
# - `args`: its arguments.
#
# **Returns:** A list of the names that follow `stablehlo.` in the text of
# `jax.jit(function).lower(*args)`, each once, such as `["add", "sine"]`. It does not
# matter whether `return`, which ends an inner block, is among them.

# %%
def xla_operations(function, *args):
    """List the StableHLO operations that XLA gets for a function and its arguments."""
    ...


check(xla_operations)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(xla_operations)
# solution(xla_operations)

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
