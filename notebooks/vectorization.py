# %% [markdown]
# # Automatic vectorisation
#
# You write a function for **one** example. `jax.vmap` turns it into a function for a
# **batch** of examples.
#
# After this lesson you can
#
# - say what `vmap` does, and what it does not do,
# - choose the batch axis of each input and output with `in_axes` and `out_axes`,
# - combine `vmap` with `jit`, with `grad`, and with itself,
# - map over parameters, keep a `cond`, and reduce over the batch.
#
# You need NumPy; you need no JAX yet. The lesson takes about ninety minutes. It has
# four parts.

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

# %% [markdown]
# Run the cells from top to bottom. A cell with a function to write or to repair is an
# **exercise**: `check(...)` tells you what is right. If you are stuck,
# `hint(name_of_the_function)` gives a small hint, and tells how to get more. In a
# **prediction** you guess first; then the real answer is computed before your eyes.
#
# Types such as `float32[n,m]` are explained in [How to read a
# contract](arrays_and_layers.ipynb#How-to-read-a-contract), in the lesson
# `arrays_and_layers`.

# %%
import time

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxguide.tracing import draw_program, program

# %% [markdown]
# ## Part 1. One example, then many
#
# `jax.numpy` (`jnp`) has NumPy's functions for JAX arrays. Here are five numbers and
# three weights.

# %%
x = jnp.arange(5)
w = jnp.array([2.0, 3.0, 4.0])
print(x, w)

# %% [markdown]
# Put the weights on the first three numbers, multiply, and add up. Then move them one
# place to the right, and again. That is a **sliding dot product**.

# %%
print("first window:", x[0:3], "dot", w, "=", jnp.dot(x[0:3], w))

# %% [markdown]
# ### Exercise: A sliding dot product (1 point)
#
# Put the weights on every window of the vector that fits; the weights stay in their
# order.
#
# **Args:**
#
# - `x`: int32[n] or float32[n].
# - `w`: float32[k], with k from 1 to n; not always three.
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
# <summary>The document's example, today (S2-01)</summary>
#
# The page calls this a convolution, and the numbers are still these. NumPy calls it a
# correlation, as you see below.
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
# From here on we use this version, for three weights. JAX's own page calls it
# `convolve`.

# %%
def slide(x, w):
    """Slide three weights along one vector: x[n], w[3] -> [n-2]."""
    return jnp.array([jnp.dot(x[i - 1 : i + 2], w) for i in range(1, len(x) - 1)])


print(slide(x, w))

# %% [markdown]
# ### Is it a convolution?
#
# That page says "convolution". NumPy has a function for it, and another one for
# *correlation*. Compare.

# %%
print("np.convolve: ", np.convolve(x, w, "valid"))
print("np.correlate:", np.correlate(x, w, "valid"))

# %% [markdown]
# ### Exercise: Correlation and convolution (1 point)
#
# Give both: the correlation and the true convolution of a vector with three weights.
#
# **Args:**
#
# - `x`: float32[n].
# - `w`: float32[3].
#
# **Returns:** A tuple of two arrays float32[n-2]: the correlation, and the convolution;
# only where all weights fit.

# %%
def correlation_and_convolution(x, w):
    """Give both: the correlation and the true convolution of a vector with three
    weights.
    """
    ...


check(correlation_and_convolution)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(correlation_and_convolution)
# solution(correlation_and_convolution)

# %% [markdown]
# So the page's name is wrong: `slide` is a correlation. (Deep learning calls it a
# convolution all the same.)
#
# ### A batch, with a loop
#
# Now we have many vectors, each with its own weights. `jnp.stack` makes a **batch** of
# them: a new first axis.

# %% [markdown]
# ### Exercise: Stack and loop (1 point)
#
# Make two batches of lists, and slide row by row.
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
    """Make two batches of lists, and slide row by row."""
    ...


check(loop_over_batch)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(loop_over_batch)
# solution(loop_over_batch)

# %% [markdown]
# ### A batch, by hand
#
# The loop is right, but slow: every row is a set of operations of its own. We can do
# all rows in one operation, if we rewrite the function. Then every index and every axis
# must be thought through again.

# %% [markdown]
# ### Repair: vectorised by hand (2 points)
#
# Slide a batch, all rows in one operation. The body below was written for one vector:
# repair it.
#
# **Args:**
#
# - `xs`: [b,n], a batch of vectors.
# - `ws`: float32[b,3], the weights of each.
#
# **Returns:** float32[b,n-2]: row i is `slide(xs[i], ws[i])`. No Python loop over the
# rows, and no loop of `jax.lax`.

# %%
def vectorised_by_hand(xs, ws):
    """Slide a batch, all rows in one operation."""
    return jnp.array([jnp.dot(xs[i - 1 : i + 2], ws) for i in range(1, len(xs) - 1)])


check(vectorised_by_hand)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(vectorised_by_hand)
# solution(vectorised_by_hand)

# %% [markdown]
# ## Part 2. `jax.vmap` writes the batch for you
#
# `jax.vmap(f)` is a new function. It takes batches, and does for every row what `f`
# does for one.

# %%
norms = jax.vmap(jnp.linalg.norm)
print(norms(jnp.array([[3.0, 4.0], [6.0, 8.0], [0.0, 1.0]])))

# %% [markdown]
# ### Exercise: Vectorised by vmap (1 point)
#
# Slide a batch, with `slide` as it is, without a Python loop over the rows, and without
# a loop of `jax.lax`.
#
# **Args:**
#
# - `xs`: [b,n].
# - `ws`: float32[b,3].
#
# **Returns:** float32[b,n-2]: row i is `slide(xs[i], ws[i])`.

# %%
def vectorised_by_vmap(xs, ws):
    """Slide a batch, with `slide` as it is, without a Python loop over the rows, and
    without a loop of `jax.lax`.
    """
    ...


check(vectorised_by_vmap)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(vectorised_by_vmap)
# solution(vectorised_by_vmap)

# %% [markdown]
# ### What `vmap` does inside
#
# Here is the program of `slide` for one vector, and then the mapped one. Compare the
# types on the `dot_general` rows.

# %%
draw_program(slide, x, w)

# %%
xs, ws = jnp.stack([x, x]), jnp.stack([w, w])
draw_program(jax.vmap(slide), xs, ws)

# %% [markdown]
# The operations are the same ones; each has one axis more. But what does *your*
# function see while it runs?

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
# How often does Python run the function: once for each row? And when you call it again?
# People say that `vmap` "uses `jit` inside". `jit` runs the Python code once, keeps the
# program, and needs no Python the next time. Find out.

# %% [markdown]
# ### Exercise: Look inside (2 points)
#
# Map `slide` over the batches, call the mapped function several times, and note what it
# sees.
#
# Make the mapped function once, then call it for each number n in `rows`, with the
# first n rows of both batches: first `jax.vmap(f)`, then `jax.jit(jax.vmap(f))`. Here
# `f` is `slide` with a line added that notes the shapes.
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
# So `vmap` *traces*, as `jit` does, but it compiles nothing and remembers nothing. For
# speed, put `jit` around it.
#
# ### How much work is in the program?
#
# `program(f, ...)` counts operations. For one vector of five numbers there are three
# dot products.

# %%
print(program(slide, x, w).primitives)

# %% [markdown]
# Here is the loop over the rows again. How many dot products are in its program, for a
# batch of 2 rows, of 8, of 20?

# %%
def slide_in_a_loop(xs, ws):
    """Slide a batch row by row, with a Python loop."""
    return jnp.stack([slide(xs[i], ws[i]) for i in range(len(xs))])

# %% [markdown]
# ### Exercise: Why the loop is slow (1 point)
#
# Count the dot products (`dot_general`) in the programs for a batch of vectors of five
# numbers.
#
# **Args:**
#
# - `rows`: int, how many rows the batch has.
#
# **Returns:** A tuple of two ints: the count for `slide_in_a_loop`, and the count for
# `jax.vmap(slide)`.

# %%
def products_in_the_program(rows):
    """Count the dot products (`dot_general`) in the programs for a batch of vectors of
    five numbers.
    """
    ...


check(products_in_the_program)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(products_in_the_program)
# solution(products_in_the_program)

# %% [markdown]
# Fewer operations mean less time. Look at it on your machine: how many times as long as
# `jit(vmap)` does each way take?

# %%
def median_seconds(f, *args):
    """Time a function five times, after a first call, and return the median."""
    jax.block_until_ready(f(*args))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        jax.block_until_ready(f(*args))
        times.append(time.perf_counter() - start)
    return np.median(times)


def plot_ratios(batches):
    """Plot how many times as long as `jit(vmap)` the loop and `vmap` take."""
    compiled = jax.jit(jax.vmap(slide))
    ways = {"loop": slide_in_a_loop, "vmap": jax.vmap(slide), "jit(vmap)": compiled}
    rows = []
    for b in batches:
        args = jnp.ones((b, 8)), jnp.ones((b, 3))
        rows.append([median_seconds(f, *args) for f in ways.values()])
    ratios = np.array(rows) / np.array(rows)[:, -1:]
    _, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
    for name, ratio in zip(ways, ratios.T, strict=True):
        axes.plot(batches, ratio, "o-", label=name)
    axes.loglog()
    axes.set(xlabel="rows in the batch", ylabel="time / time of jit(vmap)")
    axes.set_xticks(batches, batches)
    axes.set_xticks([], minor=True)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    plt.show()


plot_ratios([2, 8, 32])

# %% [markdown]
# The axes are logarithmic. The loop grows with the batch; `vmap` hardly does. On a busy
# machine the points wander.
#
# ## Part 3. Which axis is the batch?
#
# `in_axes` says, for each argument, which axis is the batch; `out_axes` says where it
# goes in the result. One integer counts for all arguments, a tuple has an entry for
# each. The entry `None` means: this argument has no batch axis, every row gets the
# whole of it.

# %%
table = jnp.arange(6.0).reshape(2, 3)
print(table)
print("rows:   ", jax.vmap(jnp.sum)(table))
print("columns:", jax.vmap(jnp.sum, in_axes=1)(table))

# %% [markdown]
# Now a batch that lies the other way: every **column** is an example, in the inputs and
# in the result.

# %% [markdown]
# ### Exercise: A batch in columns (1 point)
#
# Slide a batch whose examples are columns, without a Python loop over the columns.
#
# **Args:**
#
# - `xst`: [n,b]: column j is a vector.
# - `wst`: float32[3,b]: column j is its weights.
#
# **Returns:** float32[n-2,b]: column j is `slide(xst[:, j], wst[:, j])`.

# %%
def slide_columns(xst, wst):
    """Slide a batch whose examples are columns, without a Python loop over the columns.
    """
    ...


check(slide_columns)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(slide_columns)
# solution(slide_columns)

# %% [markdown]
# Next, all rows share one set of weights. It has no batch axis.

# %% [markdown]
# ### Exercise: One set of weights for all (1 point)
#
# Slide one set of weights along every row: xs[b,n], w float32[3] -> float32[b,n-2].
#
# No Python loop over the rows, and no loop of `jax.lax`.

# %%
def slide_with_shared_weights(xs, w):
    """Slide one set of weights along every row: xs[b,n], w float32[3] ->
    float32[b,n-2].
    """
    ...


check(slide_with_shared_weights)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(slide_with_shared_weights)
# solution(slide_with_shared_weights)

# %% [markdown]
# Now the rules for `in_axes`: an integer, or a tuple or list with an entry for each
# argument. What if no argument has a batch axis? Build a function with which we can try
# them all.

# %% [markdown]
# ### Exercise: Try any axes (2 points)
#
# Map `slide` with these axes; where JAX refuses them, say why.
#
# **Args:**
#
# - `in_axes`: an int, or a tuple or list of two entries, each an int or None.
# - `out_axes`: int.
# - `a`, `b`: the two arguments of the mapped function.
#
# **Returns:** What the mapped function returns. When that raises ValueError: the text
# "ValueError: " followed by the message. Any other exception is not caught.

# %%
def try_axes(in_axes, out_axes, a, b):
    """Map `slide` with these axes; where JAX refuses them, say why."""
    ...


check(try_axes)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(try_axes)
# solution(try_axes)

# %% [markdown]
# ### `jit` and `vmap` together
#
# Transformations take a function and return a function, so they can be put around each
# other, in any order. The order of `jit` and `vmap` does not change the result. But
# where the call goes is easy to get wrong.

# %% [markdown]
# ### Repair: jit around vmap, and the other way (2 points)
#
# Slide a batch with `jit` around `vmap`, and with `vmap` around `jit`.
#
# Both lines are wrong: repair them. No Python loop over the rows.
#
# **Args:**
#
# - `xs`: [b,n].
# - `ws`: float32[b,3].
#
# **Returns:** A tuple of two arrays float32[b,n-2], which are the same.

# %%
def jit_and_vmap(xs, ws):
    """Slide a batch with `jit` around `vmap`, and with `vmap` around `jit`."""
    jit_outside = jax.jit(jax.vmap(slide)(xs, ws))
    jit_inside = jax.vmap(jax.jit(slide(xs, ws)))
    return jit_outside, jit_inside


check(jit_and_vmap)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(jit_and_vmap)
# solution(jit_and_vmap)

# %% [markdown]
# ## Part 4. Put it to work
#
# `vmap` inside `vmap` gives two batch axes. Every x meets every y:

# %%
one_row = jax.vmap(jnp.multiply, in_axes=(None, 0))  # one x, all ys
times_table = jax.vmap(one_row, in_axes=(0, None))  # all xs, all ys
print(times_table(jnp.arange(1, 4), jnp.arange(1, 6)))

# %% [markdown]
# ### Exercise: Pairwise distances (2 points)
#
# Give the Euclidean distance of every x to every y.
#
# Equal points are 0 apart, and near points are near, however far they all are from 0.
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
# ### Many models at once
#
# A model's parameters are often a dict of arrays. For `vmap`, an entry of `in_axes` may
# stand for a whole dict, list or tuple: each array in it is mapped. (Such a nest is
# called a *pytree*.)

# %%
def predict(params, x):
    """A small model: params of w[d,h] and b[h], one example x[d] -> [h]."""
    return jnp.tanh(x @ params["w"] + params["b"])


one_model = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
print(predict(one_model, jnp.array([0.1, 0.2, 0.3])))

# %% [markdown]
# ### Exercise: An ensemble (2 points)
#
# Let every model of an ensemble predict the same example.
#
# **Args:**
#
# - `members`: a list of m parameter dicts, each with "w" float32[d,h] and "b"
#   float32[h].
# - `x`: float32[d], one example for all.
#
# **Returns:** float32[m,h]: row i is `predict(members[i], x)`; one matrix product for
# all models, and no loop of `jax.lax`.

# %%
def ensemble_predictions(members, x):
    """Let every model of an ensemble predict the same example."""
    ...


check(ensemble_predictions)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(ensemble_predictions)
# solution(ensemble_predictions)

# %% [markdown]
# ### A gradient for each example
#
# `jax.grad(f)` is a function too: the gradient of `f` for its first argument. It wants
# `f` to return one number. For a batch, most programs take the gradient of the *mean*
# loss. With `vmap` you can have one for each example.

# %%
def squared_error(params, x, y):
    """The loss of one example: params of w[d] and b[], x[d], y[] -> []."""
    return (x @ params["w"] + params["b"] - y) ** 2


line = {"w": jnp.array([1.0, 2.0]), "b": jnp.array(0.5)}
print(jax.grad(squared_error)(line, jnp.array([1.0, 1.0]), 3.0))

# %% [markdown]
# ### Exercise: Per-example gradients (2 points)
#
# Give the gradient of `squared_error` with respect to the parameters, for each example.
#
# No Python loop over the examples, and no loop of `jax.lax`.
#
# **Args:**
#
# - `params`: a dict of "w" float32[d] and "b" float32[].
# - `xs`: float32[n,d].
# - `ys`: float32[n].
#
# **Returns:** A dict of "w" float32[n,d] and "b" float32[n]: entry i is the gradient
# for example i.

# %%
def per_example_gradients(params, xs, ys):
    """Give the gradient of `squared_error` with respect to the parameters, for each
    example.
    """
    ...


check(per_example_gradients)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(per_example_gradients)
# solution(per_example_gradients)

# %% [markdown]
# ### Rows of different length
#
# A batch has one shape. Rows of different length are *padded*: the rest of a short row
# is filled with something. Inside `vmap` a length is a number without a known value, so
# it can be no slice's end: a shape must be known. Run the starter below to see the
# error.

# %% [markdown]
# ### Repair: means of padded rows (2 points)
#
# Give the mean of the first `lengths[i]` numbers of each row i.
#
# The slice below cannot work: repair it.
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
# ### Talk across the batch
#
# Inside `vmap` a function sees one row. With `axis_name` it may still ask for the sum
# or the mean over the batch.

# %%
def share(x):
    """The part of this row in the sum over all rows of the axis named "batch"."""
    return x / jax.lax.psum(x, "batch")


print(jax.vmap(share, axis_name="batch")(jnp.array([1.0, 2.0, 5.0])))

# %% [markdown]
# ### Repair: distance from the batch's mean (2 points)
#
# Give each row's Euclidean distance from the mean row.
#
# The body below takes another mean: repair it.
#
# **Args:**
#
# - `xs`: float32[b,d].
#
# **Returns:** float32[b]: entry i is the length of `xs[i]` minus the mean of all rows.

# %%
def distance_from_batch_mean(xs):
    """Give each row's Euclidean distance from the mean row."""

    def one(x):
        return jnp.linalg.norm(x - x.mean())

    return jax.vmap(one)(xs)


check(distance_from_batch_mean)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(distance_from_batch_mean)
# solution(distance_from_batch_mean)

# %% [markdown]
# ### A `cond` that stays a `cond`
#
# `jax.lax.cond` runs one of two branches. Under `vmap`, rows may choose differently. So
# JAX runs **both** branches for all rows, and then selects: in the program there is no
# `cond` any more, and a `select_n` is the last row. (The `select_n` and `stop_gradient`
# rows before it are for gradients only.)

# %%
def costly(x):
    """Stand for something that takes long: x[d] -> [d]."""
    return jnp.sin(x) * jnp.exp(x)


def choose(flag, x):
    """Run `costly` only if the flag is set: flag[], x[d] -> [d]."""
    return jax.lax.cond(flag, costly, jnp.negative, x)


draw_program(jax.vmap(choose), jnp.array([True, False]), jnp.ones((2, 3)))

# %% [markdown]
# ### Make it fast: one switch for all rows (2 points)
#
# Apply `choose` to all rows with one flag.
#
# The body below gives the right rows, but always pays for both branches.
#
# **Args:**
#
# - `flag`: bool[].
# - `xs`: float32[b,d].
#
# **Returns:** float32[b,d]: row i is `choose(flag, xs[i])`. The program has one `cond`,
# and no `select_n`. It works under `jax.jit`.

# %%
def one_switch_for_all(flag, xs):
    """Apply `choose` to all rows with one flag."""
    return jax.vmap(choose)(jnp.full(len(xs), flag), xs)


check(one_switch_for_all)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(one_switch_for_all)
# solution(one_switch_for_all)

# %% [markdown]
# ## What to remember
#
# - Write the function for one example; `jax.vmap(f)` is the function for a batch.
# - `vmap` traces at every call and compiles nothing: put `jit` around it.
# - `in_axes`: an integer, or an entry for each argument; `None` is for what all rows
#   share. `out_axes` says where the batch goes.
# - An entry may stand for a whole dict of arrays. `vmap` in `vmap` gives all pairs,
#   `vmap` of `grad` a gradient for each example.
# - Lengths become masks. `axis_name` lets rows sum and average over the batch.
# - A mapped flag turns `cond` into a select: both branches are run.

# %% [markdown]
# ## What to read next
#
# - [Automatic
#   vectorization](https://docs.jax.dev/en/latest/automatic-vectorization.html), the
#   page behind this lesson
# - [`jax.vmap`](https://docs.jax.dev/en/latest/_autosummary/jax.vmap.html): all its
#   arguments
# - [Per-example
#   gradients](https://docs.jax.dev/en/latest/advanced-autodiff.html#per-example-gradients)
# - [Working with pytrees](https://docs.jax.dev/en/latest/working-with-pytrees.html)
