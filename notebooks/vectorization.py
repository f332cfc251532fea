# %% [markdown]
# # Automatic vectorization
#
# **Core:** 8 exercises, about 45 minutes. **Beyond the core:** 6 exercises.
#
# You write a function for **one** example. `jax.vmap` turns it into a function for a
# **batch** of examples: no loop, and no new axes to think through. With `jit` around
# it, it is as fast as if you had rewritten your function by hand and jitted that.
#
# After this lesson you can
#
# - say what `vmap` does, and what it does not do,
# - choose the batch axis of each input and of the output,
# - combine `vmap` with `jit`, and with itself,
# - map over the parameters of many models at once.
#
# You need the lessons `arrays_and_layers` and `jit_and_tracing`. [How to read a
# contract](arrays_and_layers.ipynb#How-to-read-a-contract) explains the types in the
# tasks, such as `float32[n,m]`.

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

start("vectorization")

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxguide.clock import real_machine
from jaxguide.data import sensors
from jaxguide.tracing import program

# %% [markdown]
# ## The task: 256 thermometers
#
# A city has 256 thermometers, and each one reports a temperature every quarter of an
# hour: 96 numbers a day, with noise. You will smooth all of these series at once, and
# then let 40 small models say what a day in this city is like.

# %%
series = jnp.asarray(sensors(256, 96))
hours = np.arange(96) / 4


def draw_days(lines, title):
    """Draw series over the hours of a day."""
    _, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
    for line in lines:
        axes.plot(hours, line, linewidth=1)
    axes.set(title=title, xlabel="hour", ylabel="°C", xticks=range(0, 25, 6))
    plt.show()


draw_days(series[:3], "three of the 256 series")

# %% [markdown]
# ## Part 1. One series, then many
#
# To smooth a series, put three weights on its first three numbers, multiply, and add
# up. Then move the weights one place to the right, and again. That is a **sliding dot
# product**.

# %%
x = jnp.arange(5)
w = jnp.array([2.0, 3.0, 4.0])
print("first window:", x[0:3], "dot", w, "=", jnp.dot(x[0:3], w))

# %% [markdown]
# ### Exercise: A sliding dot product (1 point)
#
# Put the weights on every window of the vector that fits; the weights stay in their
# order.
#
# ```python
# >>> sliding_dot(jnp.array([1.0, 0.0, 2.0]), jnp.array([10.0, 1.0]))
# Array([10.,  2.], dtype=float32)
# ```
#
# **Args:**
#
# - `x`: int32[n] or float32[n].
# - `w`: float32[k], with k from 1 to n.
#
# **Returns:** float32[n-k+1]: number i is the dot product of `x[i : i + k]` and `w`.

# %%
def sliding_dot(x, w):
    """Put the weights on every window of the vector that fits; the weights stay in
    their order.
    """
    ...


check(sliding_dot)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(sliding_dot)
# solution(sliding_dot)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic vectorization (S2-01)</summary>
#
# The page calls this a convolution, and the numbers are still these. NumPy calls it a
# correlation: a convolution turns the weights round.
#
# > ```python
# > x = jnp.arange(5)
# > w = jnp.array([2.0, 3.0, 4.0])
# >
# >
# > def convolve(x, w):
# >     output = []
# >     for i in range(1, len(x) - 1):
# >         output.append(jnp.dot(x[i - 1 : i + 2], w))
# >     return jnp.array(output)
# >
# >
# > convolve(x, w)
# > ```
#
# [Automatic vectorization](https://docs.jax.dev/en/latest/automatic-vectorization.html)
# shows:
#
# > ```text
# > Array([11., 20., 29.], dtype=float32)
# > ```
#
# Today's JAX prints the same.
#
# </details>

# %% [markdown]
# From here on we use this version, for three weights. With weights that add up to 1, it
# smooths.

# %%
def slide(x, w):
    """Slide three weights along one vector: x[n], w[3] -> [n-2]."""
    return jnp.array([jnp.dot(x[i - 1 : i + 2], w) for i in range(1, len(x) - 1)])


smoothing = jnp.array([0.25, 0.5, 0.25])
print(series[0, :5])
print(slide(series[0, :5], smoothing))

# %% [markdown]
# ### A batch, with a loop
#
# Now there are many series, and each may have its own weights. `jnp.stack` makes a
# **batch** of them: a new first axis. The plainest way through a batch is a Python
# loop.

# %% [markdown]
# ### Exercise: Stack and loop (1 point)
#
# Make two batches of lists, and slide row by row, in a Python loop. The lists stay as
# they are.
#
# ```python
# >>> _, _, rows = loop_over_batch([jnp.arange(3)] * 2, [jnp.ones(3), jnp.zeros(3)])
# >>> rows
# Array([[3.],
#        [0.]], dtype=float32)
# ```
#
# **Args:**
#
# - `vectors`: a list of b arrays [n].
# - `weights`: a list of b arrays float32[3].
#
# **Returns:** A tuple `(xs, ws, slid)`: the stacked vectors [b,n] with their dtype, the
# stacked weights float32[b,3], and float32[b,n-2], where row i is
# `slide(xs[i], ws[i])`.

# %%
def loop_over_batch(vectors, weights):
    """Make two batches of lists, and slide row by row, in a Python loop."""
    ...


check(loop_over_batch)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(loop_over_batch)
# solution(loop_over_batch)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic vectorization (S2-02,
# S2-03)</summary>
#
# Documented and today's output agree. (`convolve` is the page's name for `slide`.)
#
# > ```python
# > convolve = slide
# > xs = jnp.stack([x, x])
# > ws = jnp.stack([w, w])
# >
# >
# > def manually_batched_convolve(xs, ws):
# >     output = []
# >     for i in range(xs.shape[0]):
# >         output.append(convolve(xs[i], ws[i]))
# >     return jnp.stack(output)
# >
# >
# > manually_batched_convolve(xs, ws)
# > ```
#
# [Automatic vectorization](https://docs.jax.dev/en/latest/automatic-vectorization.html)
# shows:
#
# > ```text
# > Array([[11., 20., 29.],
# >        [11., 20., 29.]], dtype=float32)
# > ```
#
# Today's JAX prints the same.
#
# </details>

# %% [markdown]
# ### A batch, by hand
#
# The loop is right, but slow: each row has operations of its own, and each of them is
# started by Python. It would be better if one operation did all rows. For that you must
# rewrite the function, and think every index and every axis through again. (A loop over
# the windows may stay: there are as many windows for 256 rows as for one.)

# %% [markdown]
# ### Repair: vectorized by hand (2 points)
#
# Slide a batch, so that each operation does all rows. The body below was written for
# one vector: repair it.
#
# ```python
# >>> vectorized_by_hand(jnp.array([[1, 2, 3, 4], [0, 1, 0, 1]]), jnp.ones((2, 3)))
# Array([[6., 9.],
#        [1., 2.]], dtype=float32)
# ```
#
# **Args:**
#
# - `xs`: [b,n], a batch of vectors.
# - `ws`: float32[b,3], the weights of each.
#
# **Returns:** float32[b,n-2]: row i is `slide(xs[i], ws[i])`. No Python loop over the
# rows, and no loop of `jax.lax`; a Python loop over the windows may stay.

# %%
def vectorized_by_hand(xs, ws):
    """Slide a batch, so that each operation does all rows."""
    return jnp.array([jnp.dot(xs[i - 1 : i + 2], ws) for i in range(1, len(xs) - 1)])


check(vectorized_by_hand)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(vectorized_by_hand)
# solution(vectorized_by_hand)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic vectorization (S2-05)</summary>
#
# Documented and today's output agree.
#
# > ```python
# > def manually_vectorized_convolve(xs, ws):
# >     output = []
# >     for i in range(1, xs.shape[-1] - 1):
# >         output.append(jnp.sum(xs[:, i - 1 : i + 2] * ws, axis=1))
# >     return jnp.stack(output, axis=1)
# >
# >
# > manually_vectorized_convolve(jnp.stack([x, x]), jnp.stack([w, w]))
# > ```
#
# [Automatic vectorization](https://docs.jax.dev/en/latest/automatic-vectorization.html)
# shows:
#
# > ```text
# > Array([[11., 20., 29.],
# >        [11., 20., 29.]], dtype=float32)
# > ```
#
# Today's JAX prints the same.
#
# </details>

# %% [markdown]
# ## Part 2. `jax.vmap` writes the batch for you
#
# `jax.vmap(f)` is a new function. It takes batches, and does for every row what `f`
# does for one.

# %%
norms = jax.vmap(jnp.linalg.norm)
print(norms(jnp.array([[3.0, 4.0], [6.0, 8.0], [0.0, 1.0]])))

# %% [markdown]
# First make the mapped function, then call it: `jax.vmap(f)(xs)`, and not
# `jax.vmap(f, xs)`. If `f` has two arguments, row i of one batch goes with row i of the
# other.

# %%
def clip_at(vector, limit):
    """Return a vector with no number above the limit."""
    return jnp.minimum(vector, limit)


vectors = jnp.array([[1, 5, 9], [1, 5, 9]])
print(jax.vmap(clip_at)(vectors, jnp.array([6, 3])))

# %% [markdown]
# ### Exercise: Vectorized by vmap (1 point)
#
# Slide a batch, with `slide` as it is, without a Python loop over the rows, and without
# a loop of `jax.lax`.
#
# ```python
# >>> vectorized_by_vmap(jnp.array([[1, 2, 3, 4], [0, 1, 0, 1]]), jnp.ones((2, 3)))
# Array([[6., 9.],
#        [1., 2.]], dtype=float32)
# ```
#
# **Args:**
#
# - `xs`: [b,n].
# - `ws`: float32[b,3].
#
# **Returns:** float32[b,n-2]: row i is `slide(xs[i], ws[i])`.

# %%
def vectorized_by_vmap(xs, ws):
    """Slide a batch, with `slide` as it is, without a Python loop over the rows, and
    without a loop of `jax.lax`.
    """
    ...


check(vectorized_by_vmap)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(vectorized_by_vmap)
# solution(vectorized_by_vmap)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic vectorization (S2-06)</summary>
#
# Documented and today's output agree. (`convolve` is the page's name for `slide`.)
#
# > ```python
# > convolve = slide
# > auto_batch_convolve = jax.vmap(convolve)
# > auto_batch_convolve(jnp.stack([x, x]), jnp.stack([w, w]))
# > ```
#
# [Automatic vectorization](https://docs.jax.dev/en/latest/automatic-vectorization.html)
# shows:
#
# > ```text
# > Array([[11., 20., 29.],
# >        [11., 20., 29.]], dtype=float32)
# > ```
#
# Today's JAX prints the same.
#
# </details>

# %% [markdown]
# ### What `vmap` does inside
#
# `jax.vmap(slide)` runs your function to find its operations. What does *your* function
# see while it runs?

# %% [markdown]
# ### Predict: the shape inside (1 point)
#
# `xs` has shape (2, 5). Inside `jax.vmap(slide)(xs, ws)`, what is `x.shape`?
#
# **Returns:** A tuple of ints.

# %%
def predict_shape_inside():
    """`xs` has shape (2, 5)."""
    ...


check(predict_shape_inside)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_shape_inside)
# solution(predict_shape_inside)

# %% [markdown]
# So `vmap` traces, as `jit` does. It gives each operation that it finds one axis more.
# Here is the program of `slide` for one vector, and then that of `jax.vmap(slide)`. The
# second picture shows the operations on the whole batch, though your function sees one
# row. Compare the types on the `dot_general` rows.

# %%
program(slide, x, w)

# %%
xs, ws = jnp.stack([x, x]), jnp.stack([w, w])
program(jax.vmap(slide), xs, ws)

# %% [markdown]
# But `vmap` compiles nothing and keeps nothing: each call traces again, and runs one
# operation at a time.
#
# ### `jit` and `vmap` together
#
# Transformations take a function and return a function, so one can go around another,
# in any order. The order of `jit` and `vmap` does not change the result. But where the
# call goes is easy to get wrong.

# %% [markdown]
# ### Repair: jit around vmap, and the other way (2 points)
#
# Slide a batch twice: with `jit` around `vmap`, and with `vmap` around `jit`, of
# `slide` both times.
#
# Both lines are wrong: repair them. No Python loop over the rows.
#
# ```python
# >>> jit_and_vmap(jnp.array([[1, 2, 3, 4], [0, 1, 0, 1]]), jnp.ones((2, 3)))[1]
# Array([[6., 9.],
#        [1., 2.]], dtype=float32)
# ```
#
# **Args:**
#
# - `xs`: [b,n].
# - `ws`: float32[b,3].
#
# **Returns:** A tuple of two arrays float32[b,n-2] with the same numbers.

# %%
def jit_and_vmap(xs, ws):
    """Slide a batch twice: with `jit` around `vmap`, and with `vmap` around `jit`, of
    `slide` both times.
    """
    jit_outside = jax.jit(jax.vmap(slide)(xs, ws))
    jit_inside = jax.vmap(jax.jit(slide(xs, ws)))
    return jit_outside, jit_inside


check(jit_and_vmap)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(jit_and_vmap)
# solution(jit_and_vmap)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic vectorization (S2-11,
# S2-12)</summary>
#
# Documented and today's output agree. The page says in words that `vmap` of a jitted
# function works, too. (`convolve` is the page's name for `slide`.)
#
# > ```python
# > convolve = slide
# > auto_batch_convolve = jax.vmap(convolve)
# > jitted_batch_convolve = jax.jit(auto_batch_convolve)
# > print(repr(jitted_batch_convolve(xs, ws)))
# > print(repr(jax.vmap(jax.jit(convolve))(xs, ws)))
# > ```
#
# [Automatic vectorization](https://docs.jax.dev/en/latest/automatic-vectorization.html)
# shows:
#
# > ```text
# > Array([[11., 20., 29.],
# >        [11., 20., 29.]], dtype=float32)
# > `jax.jit()` and `jax.vmap()` are composable: you can wrap a vmapped function with
# > `jit`, or a jitted function with `vmap`.
# > ```
#
# Today:
#
# > ```text
# > Array([[11., 20., 29.],
# >        [11., 20., 29.]], dtype=float32)
# > Array([[11., 20., 29.],
# >        [11., 20., 29.]], dtype=float32)
# > ```
#
# </details>

# %% [markdown]
# Now four ways race, on real series: the loop, the function rewritten by hand, `vmap`,
# and `jit` around `vmap`. This is the stopwatch from the lesson `jit_and_tracing`.

# %%
def seconds_for(function, *args):
    """Return the seconds of one call on this computer: the median of three."""
    machine = real_machine(function, *args)
    machine.run().block_until_ready()
    times = []
    for _ in range(3):
        before = machine.clock()
        machine.run().block_until_ready()
        times.append(machine.clock() - before)
    return float(np.median(times))


def race(sizes=(2, 8, 32, 128), n=8):
    """Draw how long four ways take for batches of different sizes."""
    try:
        both = jit_and_vmap(series[:2, :n], jnp.stack([smoothing] * 2))
        ways = [loop_over_batch([series[0, :n]], [smoothing])[2], *both]
        rows = series[:2, :n], series[:2, :3]
        ways += [vectorized_by_hand(*rows), vectorized_by_vmap(*rows)]
        ready = all(isinstance(one, jax.Array) and one.ndim == 2 for one in ways)
    except (TypeError, ValueError):
        ready = False
    if not ready:
        print("Write the functions of Parts 1 and 2 first: then this cell times them.")
        return
    compiled = jax.jit(vectorized_by_vmap)
    ways = {
        "loop": lambda xs, ws: loop_over_batch(xs, ws)[2],
        "by hand": vectorized_by_hand,
        "vmap": vectorized_by_vmap,
        "jit(vmap)": compiled,
    }
    _, axes = plt.subplots(figsize=(6, 3), layout="constrained")
    for name, way in ways.items():
        batches = [(series[:b, :n], jnp.stack([smoothing] * b)) for b in sizes]
        if name == "loop":
            batches = [(list(xs), list(ws)) for xs, ws in batches]
        times = [seconds_for(way, *batch) * 1e3 for batch in batches]
        axes.loglog(sizes, times, "o-", label=name)
    axes.set(xlabel="rows in the batch", ylabel="milliseconds")
    axes.set_xticks(sizes, sizes)
    axes.set_xticks([], minor=True)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    plt.show()


race()

# %% [markdown]
# Both axes are logarithmic. The loop takes longer and longer, since it starts
# operations for each row. The others hardly do, as long as the batch is small. `vmap`
# alone is slow, since it traces your function in each call, in Python, and then starts
# one operation after the other; `jit(vmap)` traces once, and starts one program.
#
# ## Part 3. Which axis is the batch?
#
# `in_axes` says, for each argument, which axis is the batch; `out_axes` says where it
# goes in the result. One integer counts for all arguments; a tuple or list has an entry
# for each. The entry `None` means: this argument has no batch axis, so every row gets
# the whole of it.

# %%
table = jnp.arange(6.0).reshape(2, 3)
print(table)
print("rows:   ", jax.vmap(jnp.sum)(table))
print("columns:", jax.vmap(jnp.sum, in_axes=1)(table))
digits = jnp.array([1.0, 10.0, 100.0])
print("shared: ", jax.vmap(jnp.dot, in_axes=(0, None))(table, digits))

# %% [markdown]
# Without `out_axes` the batch comes first in the result, even if it came last in the
# argument. With `out_axes=1` it is the second axis again:

# %%
running = jax.vmap(jnp.cumsum, in_axes=1)  # add up each column
print(running(table))  # the sums of a column in a row
print(jax.vmap(jnp.cumsum, in_axes=1, out_axes=1)(table))  # in a column

# %% [markdown]
# ### Exercise: Four layouts (3 points)
#
# Slide a batch that lies in one of four layouts: map `slide` over the right axes.
#
# ```python
# layout                      series  weights  result
# "columns"                   [n,b]   [3,b]    [n-2,b]
# "shared weights"            [b,n]   [3]      [b,n-2]
# "one series, many weights"  [n]     [3,b]    [b,n-2]
# "all shared"                [n]     [3]      an error
# ```
#
# In "columns" each example is a column, in the result too; in the next two, the result
# has a row for each. In the last there is no batch: call `vmap` all the same, and let
# its own ValueError pass. Nothing is copied for the batch, and there is no Python loop
# and no loop of `jax.lax` over it.
#
# ```python
# >>> slide_layout("shared weights", jnp.array([[1, 2, 3], [0, 1, 0]]), jnp.ones(3))
# Array([[6.],
#        [1.]], dtype=float32)
# ```
#
# **Args:**
#
# - `layout`: "columns", "shared weights", "one series, many weights" or "all shared".
# - `series`: [n,b], [b,n] or [n], of ints or floats.
# - `weights`: float32[3,b] or float32[3].
#
# **Returns:** The result, as the layout says.

# %%
def slide_layout(layout, series, weights):
    """Slide a batch that lies in one of four layouts: map `slide` over the right axes.
    """
    ...


check(slide_layout)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(slide_layout)
# solution(slide_layout)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic vectorization (S2-08, S2-09,
# S2-10)</summary>
#
# Documented and today's output agree. The page says in words that `in_axes` may be an
# integer or a list. Without any batch axis, JAX raises an error.
#
# > ```python
# > convolve = slide  # the page's name for it
# > auto_batch_convolve_v2 = jax.vmap(convolve, in_axes=1, out_axes=1)
# > print(repr(auto_batch_convolve_v2(xs.T, ws.T)))
# > batch_convolve_v3 = jax.vmap(convolve, in_axes=[0, None])
# > print(repr(batch_convolve_v3(xs, w)))
# > try:
# >     jax.vmap(convolve, in_axes=[None, None])(x, w)
# > except ValueError as error:
# >     print(f"ValueError: {error}")
# > ```
#
# [Automatic vectorization](https://docs.jax.dev/en/latest/automatic-vectorization.html)
# shows:
#
# > ```text
# > Use the arguments `in_axes` and `out_axes` to say where the batch dimension is. They
# > can be an integer if it is the same for all inputs and outputs, or else lists.
# > Array([[11., 11.],
# >        [20., 20.],
# >        [29., 29.]], dtype=float32)
# > Array([[11., 20., 29.],
# >        [11., 20., 29.]], dtype=float32)
# > ```
#
# Today:
#
# > ```text
# > Array([[11., 11.],
# >        [20., 20.],
# >        [29., 29.]], dtype=float32)
# > Array([[11., 20., 29.],
# >        [11., 20., 29.]], dtype=float32)
# > ValueError: vmap must have at least one non-None value in in_axes...
# > ```
#
# </details>

# %% [markdown]
# Now all 256 series can be smoothed, with weights that they share. Here is one of them.
# It takes a number every half hour, so that three weights reach over an hour.

# %%
def draw_smoothed():
    """Draw a series, and your smooth version of it."""
    smooth = slide_layout("shared weights", series[:, ::2], smoothing)
    if smooth is None:
        print("Write `slide_layout` first: then this cell draws a smooth day.")
        return
    _, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
    axes.plot(hours, series[7], linewidth=0.7, label="measured")
    axes.plot(hours[2:-2:2], smooth[7], label="smoothed")
    axes.set(xlabel="hour", ylabel="°C", xticks=range(0, 25, 6))
    axes.legend()
    plt.show()


draw_smoothed()

# %% [markdown]
# ## Part 4. Many models at once
#
# Here is a small model of a day. It has four *features* for each quarter of an hour:
# two waves with the period of a day, and two with half of it. Its parameters are a
# dict: a weight for each feature, and a level.

# %%
angles = 2 * np.pi * hours / 24
waves = [f(k * angles) for k in (1, 2) for f in (np.sin, np.cos)]
features = jnp.asarray(np.stack(waves, axis=1), dtype="float32")


def predict(params, table):
    """Return a temperature for each row: params of w[d] and b[], table[n,d] -> [n]."""
    return table @ params["w"] + params["b"]


one_model = {"w": jnp.array([-3.0, -4.0, 0.0, 0.0]), "b": jnp.array(13.0)}
print(predict(one_model, features)[::24])

# %% [markdown]
# A nest of dicts, lists and tuples with arrays in it is called a **pytree**. `jax.vmap`
# maps over pytrees, too. An entry of `in_axes` may be an integer, for all arrays in the
# argument (the documentation calls them its *leaves*), or a pytree of the same form,
# with an entry for each array. If all arrays of a dict are stacked along their first
# axis, a bare `0` is enough: `in_axes=(0, None)`.

# %%
lines = {"slope": jnp.array([1.0, 2.0, 3.0]), "at_zero": jnp.array(10.0)}
axes = ({"slope": 0, "at_zero": None}, None)
value = jax.vmap(lambda line, t: line["slope"] * t + line["at_zero"], in_axes=axes)
print(value(lines, 2.0))

# %% [markdown]
# ### Exercise: An ensemble (2 points)
#
# Let all models of an ensemble predict the same table. Each has its own weights; they
# share the level.
#
# `params` stays as it is.
#
# ```python
# >>> models = {"w": jnp.array([[1.0], [2.0], [3.0]]), "b": jnp.array(0.5)}
# >>> predict_with_all(models, jnp.array([[10.0], [20.0]]))
# Array([[10.5, 20.5],
#        [20.5, 40.5],
#        [30.5, 60.5]], dtype=float32)
# ```
#
# **Args:**
#
# - `params`: a dict of "w" float32[m,d], a row for each of m models, and "b" float32[].
# - `table`: float32[n,d].
#
# **Returns:** float32[m,n]: row i is what `predict` gives with the weights of model i.
# One matrix product for all models, and no loop of `jax.lax`.

# %%
def predict_with_all(params, table):
    """Let all models of an ensemble predict the same table."""
    ...


check(predict_with_all)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_with_all)
# solution(predict_with_all)

# %% [markdown]
# Each of 40 models was fitted to the mean of another six thermometers. How far do they
# agree?

# %%
groups = np.random.RandomState(0).randint(0, 256, (40, 6))
level = np.mean(series)
days = np.asarray(series)[groups].mean(1).T - level
fitted = np.linalg.lstsq(np.asarray(features), days, rcond=None)[0].T
ensemble = {"w": jnp.asarray(fitted, dtype="float32"), "b": jnp.asarray(level)}


def draw_band():
    """Draw the middle of the ensemble, and the band that holds nine of ten models."""
    days = predict_with_all(ensemble, features)
    if days is None:
        print("Write `predict_with_all` first: then this cell draws 40 models.")
        return
    low, middle, high = np.percentile(days, [5, 50, 95], axis=0)
    _, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
    axes.fill_between(hours, low, high, alpha=0.3, label="nine of ten models")
    axes.plot(hours, middle, label="median")
    axes.plot(hours, series.mean(0), "k:", linewidth=1, label="mean of all series")
    axes.set(xlabel="hour", ylabel="°C", xticks=range(0, 25, 6))
    axes.legend()
    plt.show()


draw_band()

# %% [markdown]
# ## What to remember
#
# - Write the function for one example; `jax.vmap(f)` is the function for a batch.
# - `vmap` traces at every call and compiles nothing: put `jit` around it.
# - `in_axes`: an integer, or an entry for each argument; `None` is for what all rows
#   share. `out_axes` says where the batch goes.
# - An entry may stand for a whole pytree, or be one: an axis for each array.
# - `vmap` needs memory for all rows at once, and rows of one length. If that is too
#   much to ask, see "More rows than memory holds" and "Rows of different length" below.

# %% [markdown]
# ## More
#
# The rest is for another day. Pick what you need: no section builds on another.
#
# ### How often does Python run it?
#
# Once for each row? And when you call the mapped function again? People say that `vmap`
# "uses `jit` inside". `jit` runs the Python code once, keeps the program, and needs no
# Python the next time. Find out.

# %% [markdown]
# ### Exercise: Look inside (2 points, beyond the core)
#
# Map `slide` over the batches, call the mapped function several times, and note what it
# sees.
#
# Make the mapped function once, then call it for each number n in `rows`, with the
# first n rows of both batches: first `jax.vmap(f)`, then `jax.jit(jax.vmap(f))`. Here
# `f` is `slide` with a line added that notes the shapes.
#
# ```python
# >>> look_inside(jnp.ones((2, 5)), jnp.ones((2, 3)), [1])
# {'vmap': [((5,), (3,))], 'jit of vmap': [((5,), (3,))]}
# ```
#
# **Args:**
#
# - `xs`: [b,n].
# - `ws`: float32[b,3].
# - `rows`: a list of int, each from 1 to b: one for each call.
#
# **Returns:** A dict with two lists, "vmap" and "jit of vmap": the pair
# `(x.shape, w.shape)` for each time that Python ran `f`.

# %%
def look_inside(xs, ws, rows):
    """Map `slide` over the batches, call the mapped function several times, and note
    what it sees.
    """
    ...


check(look_inside)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(look_inside)
# solution(look_inside)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic vectorization (S2-07)</summary>
#
# That still holds: the function sees one row.
#
# > ```python
# > jax.vmap(lambda x, w: (print(x.shape, w.shape), slide(x, w))[1])(xs, ws)
# > ```
#
# [Automatic vectorization](https://docs.jax.dev/en/latest/automatic-vectorization.html)
# says:
#
# > `vmap` traces the function, as `jit` does, and adds a batch axis at the beginning of
# > each input.
#
# Today:
#
# > ```text
# > (5,) (3,)
# > Array([[11., 20., 29.],
# >        [11., 20., 29.]], dtype=float32)
# > ```
#
# </details>

# %% [markdown]
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-04)</summary>
#
# That was not so then, and is not so now. A jitted function would run once in these two
# calls, and print once.
#
# > ```python
# > mapped = jax.vmap(lambda x: (print("Python runs"), 2 * x)[1])
# > for _ in range(2):
# >     mapped(jnp.ones(4))
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > `vmap` uses `jit` implicitly.
#
# Today:
#
# > ```text
# > Python runs
# > Python runs
# > ```
#
# </details>

# %% [markdown]
# ### How long is the program?
#
# A loop over the rows is *unrolled* in the program. `program(f, ...)` counts what is in
# there.

# %%
def slide_in_a_loop(xs, ws):
    """Slide a batch row by row, with a Python loop."""
    return jnp.stack([slide(xs[i], ws[i]) for i in range(len(xs))])


def slide_by_hand(xs, ws):
    """Slide a batch by adding up three products, each for all rows and windows."""
    n = xs.shape[1] - 2
    return sum(ws[:, k, None] * xs[:, k : k + n] for k in range(3))


def mapped_slide(xs, ws):
    """Slide a batch with `vmap`."""
    return jax.vmap(slide)(xs, ws)


print(program(slide_in_a_loop, xs, ws).primitives)
print(program(mapped_slide, xs, ws).primitives)

# %% [markdown]
# ### Exercise: Why the loop is slow (2 points, beyond the core)
#
# Count the equations in a function's program for batches with different numbers of
# rows, as `program` counts them.
#
# ```python
# >>> equations_for(lambda xs, ws: xs.sum() + ws.sum(), [1, 7])
# [3, 3]
# ```
#
# **Args:**
#
# - `function`: a function of xs float32[b,5] and ws float32[b,3], such as
#   `slide_in_a_loop`.
# - `rows`: a list of int: a number of rows b for each batch.
#
# **Returns:** A list of int, one for each batch.

# %%
def equations_for(function, rows):
    """Count the equations in a function's program for batches with different numbers of
    rows, as `program` counts them.
    """
    ...


check(equations_for)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(equations_for)
# solution(equations_for)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic vectorization (S2-04)</summary>
#
# The page shows no times, and those of your computer are in the picture above. What
# holds everywhere: the loop's program grows with the batch.
#
# > ```python
# > for way in (slide_in_a_loop, slide_by_hand, mapped_slide):
# >     batches = [(jnp.ones((b, 5)), jnp.ones((b, 3))) for b in (2, 20)]
# >     few, many = (program(way, *batch).equations for batch in batches)
# >     grown = many > few
# >     print("grows with the batch" if grown else "is as long for 20 rows as for 2")
# > ```
#
# [Automatic vectorization](https://docs.jax.dev/en/latest/automatic-vectorization.html)
# says:
#
# > The loop gives the correct result, but is not efficient. To batch the computation
# > efficiently, rewrite the function by hand so that it is vectorized.
#
# Today:
#
# > ```text
# > grows with the batch
# > is as long for 20 rows as for 2
# > is as long for 20 rows as for 2
# > ```
#
# </details>

# %% [markdown]
# ### All pairs
#
# `vmap` inside `vmap` gives two batch axes. Every x meets every y:

# %%
one_row = jax.vmap(jnp.multiply, in_axes=(None, 0))  # one x, all ys
times_table = jax.vmap(one_row, in_axes=(0, None))  # all xs, all ys
print(times_table(jnp.arange(1, 4), jnp.arange(1, 6)))

# %% [markdown]
# `jnp.vectorize(f, signature="(k),(k)->()")` is another way to say it. It maps over all
# axes that the signature does not name, and broadcasts them as NumPy does.

# %% [markdown]
# ### Exercise: Pairwise distances (2 points, beyond the core)
#
# Give the Euclidean distance of every x to every y.
#
# Equal points are 0 apart, and near points are near, however far they all are from 0.
#
# ```python
# >>> pairwise_distances(jnp.array([[0.0, 0.0]]), jnp.array([[3.0, 4.0], [0.0, 1.0]]))
# Array([[5., 1.]], dtype=float32)
# ```
#
# **Args:**
#
# - `xs`: float32[n,d], n points.
# - `ys`: float32[m,d], m points.
#
# **Returns:** float32[n,m]: entry i, j is the distance of `xs[i]` and `ys[j]`. No
# Python loop over the points.

# %%
def pairwise_distances(xs, ys):
    """Give the Euclidean distance of every x to every y."""
    ...


check(pairwise_distances)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(pairwise_distances)
# solution(pairwise_distances)

# %% [markdown]
# ### Rows of different length
#
# A batch has one shape. Rows of different length are *padded*: the rest of a short row
# is filled with something. Inside `vmap` a length is a number without a known value, so
# it can be no slice's end: a shape must be known. What helps is a mask. But beware of
# multiplying with it: 0 times NaN is NaN, so padding of NaN may leak through a product.

# %% [markdown]
# ### Repair: means of padded rows (2 points, beyond the core)
#
# Give the mean of the first `lengths[i]` numbers of each row i.
#
# The slice below cannot work: repair it.
#
# ```python
# >>> xs = jnp.array([[1.0, 3.0, jnp.nan], [1.0, 2.0, 6.0]])
# >>> means_of_padded_rows(xs, jnp.array([2, 3]))
# Array([2., 3.], dtype=float32)
# ```
#
# **Args:**
#
# - `xs`: float32[b,n]; the padding at the end of a row may be anything, also NaN. What
#   counts are a row's own numbers as they are: where one of them is NaN or infinite, so
#   is the mean.
# - `lengths`: int32[b], from 1 to n.
#
# **Returns:** float32[b]. It works under `jax.jit`.

# %%
def means_of_padded_rows(xs, lengths):
    """Give the mean of the first `lengths[i]` numbers of each row i."""

    def mean_of_one(x, n):
        return x[:n].mean()

    return jax.vmap(mean_of_one)(xs, lengths)


check(means_of_padded_rows)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(means_of_padded_rows)
# solution(means_of_padded_rows)

# %% [markdown]
# ### More rows than memory holds
#
# `vmap` does all rows at once, and so it needs memory for all of them at once. This
# function makes a table of 96 times 96 numbers for each series; for 256 series, that is
# 9 MB, and for a million it would be 37 GB.

# %%
def widest_gap(x):
    """Return the largest difference of any two numbers of a vector: x[n] -> []."""
    return jnp.abs(x[:, None] - x[None, :]).max()


print(jax.vmap(widest_gap)(series[:5]))

# %% [markdown]
# `jax.lax.map(f, xs)` does one row after the other, in a loop in the program. It needs
# memory for one row, but takes long. The way between is its argument `batch_size`.

# %% [markdown]
# ### Exercise: In pieces (2 points, beyond the core)
#
# Map a function over rows, `most` rows at a time and never more.
#
# The last piece may be smaller, or be filled up. The program is as long for many pieces
# as for two.
#
# ```python
# >>> in_pieces(jnp.sum, jnp.ones((5, 3)), 2)
# Array([3., 3., 3., 3., 3.], dtype=float32)
# ```
#
# **Args:**
#
# - `function`: a function of one row that returns an array or a number, such as
#   `widest_gap`.
# - `xs`: float32[b,n].
# - `most`: int, 1 or more.
#
# **Returns:** An array with b rows: what `jax.vmap(function)(xs)` gives.

# %%
def in_pieces(function, xs, most):
    """Map a function over rows, `most` rows at a time and never more."""
    ...


check(in_pieces)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(in_pieces)
# solution(in_pieces)

# %% [markdown]
# ### Talk across the batch
#
# Inside `vmap` a function sees one row. If the axis has a name, the function may still
# ask for the sum or the mean over the batch.

# %%
def share(x):
    """The part of this row in the sum over all rows of the axis named "batch"."""
    return x / jax.lax.psum(x, "batch")


print(jax.vmap(share, axis_name="batch")(jnp.array([1.0, 2.0, 5.0])))

# %% [markdown]
# Such a sum is the same for all rows. With `out_axes=None`, a result that is the same
# for all rows comes out once.

# %% [markdown]
# ### Repair: the mean of the batch (2 points, beyond the core)
#
# Subtract the mean row of a batch from each row, and return that mean, too.
#
# The body below takes another mean: repair it.
#
# ```python
# >>> batch_centred(jnp.array([[0.0, 10.0], [2.0, 30.0]]))
# (Array([[ -1., -10.],
#        [  1.,  10.]], dtype=float32), Array([ 1., 20.], dtype=float32))
# ```
#
# **Args:**
#
# - `xs`: float32[b,d].
#
# **Returns:** A tuple `(centred, mean)`: float32[b,d], each row minus the mean row; and
# float32[d], the mean row, once.

# %%
def batch_centred(xs):
    """Subtract the mean row of a batch from each row, and return that mean, too."""

    def one(x):
        mean = x.mean()
        return x - mean, mean

    return jax.vmap(one)(xs)


check(batch_centred)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(batch_centred)
# solution(batch_centred)

# %% [markdown]
# ## What to read next
#
# - [Automatic
#   vectorization](https://docs.jax.dev/en/latest/automatic-vectorization.html), the
#   page behind the documented examples
# - [`jax.vmap`](https://docs.jax.dev/en/latest/_autosummary/jax.vmap.html): all its
#   arguments
# - [Working with pytrees](https://docs.jax.dev/en/latest/working-with-pytrees.html)
# - [`jax.numpy.vectorize`](https://docs.jax.dev/en/latest/_autosummary/jax.numpy.vectorize.html)
