# %% [markdown]
# # To jit, and how tracing works
#
# `jax.jit` makes JAX code fast. To use it well, you must know what it does with your Python code: it **traces** it.
#
# After this lesson you can
#
# - say when compiling pays, and measure it,
# - see what your function sees while JAX traces it,
# - predict how often JAX will trace, and find out why it traces again,
# - repair code that branches, selects, keeps or leaks values under `jax.jit`,
# - keep static what must be static, and traced what should be traced.
#
# You need NumPy, and `jax.numpy` as in the lesson `arrays_and_layers`. It takes about an hour and a half, in four
# parts.

# %%
from jaxguide.lesson import check, hint, solution, start

start("jit_and_tracing")

# %% [markdown]
# Run the cells from top to bottom. A cell with a function to write or to repair is an **exercise**: `check(...)` tells
# you what is right. If you are stuck, `hint(name_of_the_function)` gives a small hint, and a second call a bigger one.
# In a **prediction** you guess first; then the real answer is computed before your eyes.
#
# The lesson follows a page of JAX's documentation, "How to think in JAX", which it calls *the document*. Where today's
# JAX does something else than an older copy of it says, you will see both.

# %%
import time
from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxguide.tracing import draw_program, show_lines, watch_traces

# %% [markdown]
# ## Part 1. To jit or not to jit
#
# JAX normally runs **one operation at a time**: each is a small compiled program of its own. `jax.jit(f)` is a new
# function, which runs the whole of `f` as **one** program.

# %%
def wave(x):
    """Compute 2 sin(x) + 1: three operations."""
    return jnp.sin(x) * 2 + 1


fast_wave = jax.jit(wave)
x = jnp.linspace(0, 3, 4)
print(wave(x))
print(fast_wave(x))

# %% [markdown]
# How can you see it? `jax.make_jaxpr(f)(x)` lists the operations that `f` makes of `x`, one on each line. Its `eqns`
# (equations) are those lines.

# %%
listing = jax.make_jaxpr(wave)(x)
print(listing)
print(len(listing.eqns), "lines")

# %%
# Exercise: One by one, or all at once (1 point)
def operations_to_run(function, x):
    """Count the operations that JAX is asked to run for one call: without `jax.jit`, and with it.

    Args:
        function: a function of one array, such as `wave`.
        x: float32[n].

    Returns:
        A tuple of two ints: the number of lines in the listing of the function, and in that of the jitted function.
        Lines inside another line's braces do not count.
    """
    ...


check(operations_to_run)

# %%
def decay(x):
    """Compute x³ exp(x), with three products."""
    return x * x * x * jnp.exp(x)


draw_program(decay, x)

# %% [markdown]
# One program can be made better than many small ones: XLA, the compiler, *fuses* operations into one loop over the
# data, so that numbers in between are never written to memory.

# %%
compiled_text = jax.jit(decay).lower(x).compile().as_text()
print(compiled_text.count("HloModule"), "program,", compiled_text.count(" fusion("), "fused loop")

# %% [markdown]
# ### The document's example
#
# The document has this function. It "normalises the rows of a two-dimensional matrix", says the text: it subtracts the
# mean and divides by the standard deviation.

# %%
def norm(X):
    """Normalise, as the document does it."""
    X = X - X.mean(0)
    return X / X.std(0)


table = jnp.array([[1.0, 2.0, 3.0], [10.0, 30.0, 80.0]])
print(norm(table))

# %% [markdown]
# Do the rows look normalised? Then each would have the mean 0. Look at it, before you repair it.

# %%
print("means of the rows:   ", norm(table).mean(axis=1))
print("means of the columns:", norm(table).mean(axis=0))

# %%
# Exercise: Repair: normalise the rows (2 points)
def normalise_rows(X):
    """Give each row the mean 0 and the standard deviation 1; it also works under `jax.jit`. Repair this.

    Args:
        X: float32[n,m], no row with all numbers equal.

    Returns:
        float32[n,m], a JAX array.
    """
    X = X - X.mean(0)
    return X / X.std(0)


check(normalise_rows)

# %% [markdown]
# So the document's function normalises **columns**. Its other claim holds: plain and jitted calls agree, to rounding.
# Do not ask for equal bits: the compiler may add in another order.
#
# ### Does it pay?
#
# The document says that jitted code may be "orders of magnitude" faster. Its own numbers are 942 µs and 512 µs. See how
# it is on your computer, for a chain of sines. (`block_until_ready` waits until the result is there.)

# %%
def chain(x, links):
    """Take the sine of the sine of ..., `links` times."""
    for _ in range(links):
        x = jnp.sin(x)
    return x


def seconds(function, x, repeats):
    """Time some calls, one by one, the first call included."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(x).block_until_ready()
        times.append(time.perf_counter() - start)
    return times


def plot_ratios(chains=(1, 2, 4, 8, 16, 32)):
    """Plot how many times as long as the jitted call the plain call takes."""
    x = jnp.ones(1000)
    ratios = []
    for links in chains:
        link = partial(chain, links=links)
        plain, jitted = seconds(link, x, 30), seconds(jax.jit(link), x, 30)
        ratios.append(np.median(plain[1:]) / np.median(jitted[1:]))
    _, axes = plt.subplots(figsize=(5, 2.4), layout="constrained")
    axes.plot(chains, ratios, "o-")
    axes.axhline(1, color="grey", linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_xticks(chains, [str(links) for links in chains])
    axes.set_xlabel("operations in the chain")
    axes.set_ylabel("plain time / jitted time")
    plt.show()


plot_ratios()
print("first jitted calls:", [f"{s * 1e6:.0f} µs" for s in seconds(jax.jit(partial(chain, links=8)), x, 4)])

# %% [markdown]
# One operation gains nothing: it was one program before. The more operations, the more `jit` saves. And the first call
# is far slower than the others: it traces and compiles. That price must be earned back.

# %%
# Exercise: When does it pay? (2 points)
def what_jit_saves(plain_s, jitted_s):
    """Tell from measured times how much `jax.jit` saves, and after how many calls.

    The typical time of a call is the median without the first call of the list.

    Args:
        plain_s: list of seconds of several calls, in order; the first is the very first call.
        jitted_s: the same for the jitted function: its first call also traces and compiles. Typically it is faster.

    Returns:
        A tuple `(ratio, calls)`: the typical plain time divided by the typical jitted time, a float; and the smallest
        number of calls, an int, for which the jitted calls, the first included, take no longer in all than as many
        typical plain calls.
    """
    ...


check(what_jit_saves)

# %% [markdown]
# So jit what is called often, or is long. A call that is made once gains nothing.
#
# ### What jit refuses
#
# A program has fixed shapes: `jit` must know the shape of every array **before** it knows any number. Not all code can
# live with that.

# %%
# Exercise: How many will there be? (1 point)
def negatives(x):
    """Select the negative numbers, in their order, with a mask as the index.

    It works without `jax.jit`. Under `jax.jit` JAX refuses; let its error pass.

    Args:
        x: float32[n], a JAX array.

    Returns:
        float32[k], a JAX array: the k numbers that are less than 0.
    """
    ...


check(negatives)

# %% [markdown]
# (Up to JAX 0.6.0 the message said `got ShapedArray(bool[10])`; now it is `got bool[10]`. The class is the same.)
#
# What to do? Often you do not need the selected numbers themselves, but their sum, or mean. Then **keep the shape**,
# and make the others harmless: `jnp.where(mask, x, 0.0)` has as many numbers as x.

# %%
x = jnp.array([3.0, -1.0, 2.0, -5.0])
print(x[x > 2.5], "  shape", x[x > 2.5].shape)
print(jnp.where(x > 2.5, x, 0.0), "  shape", jnp.where(x > 2.5, x, 0.0).shape)

# %%
# Exercise: Make it jit-safe: the mean of the negatives (3 points)
def mean_of_negatives(x):
    """Return the mean of the negative numbers; 0 where there are none. Repair this: it must work under `jax.jit`.

    Args:
        x: float32[n].

    Returns:
        float32[].
    """
    chosen = x[x < 0]
    if len(chosen) == 0:
        return jnp.float32(0.0)
    return chosen.mean()


check(mean_of_negatives)
