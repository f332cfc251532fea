# %% check
import re

from jaxguide.course.author import (
    exercise,
    expect_close,
    expect_documented,
    expect_dtype,
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


def number(value):
    """Return a scalar of any kind as a Python float."""
    expect_shape(value, ())
    return float(np.asarray(value))


def documented_inputs():
    """Return the arrays of the document in order: X, x of `get_negatives`, x, y, and then x2, y2."""
    draws = np.random.RandomState(1701)
    big = jnp.array(draws.rand(10000, 10))
    ten = jnp.array(draws.randn(10))
    return big, ten, draws.randn(3, 4), draws.randn(4), draws.randn(3, 4), draws.randn(4)


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


# %% exercise
@exercise(
    title="One by one, or all at once",
    points=1,
    reproduces=["S1-17"],
    hints=[
        "Which function turns a function into one that runs as a single program? Can it be listed, too?",
        "`jax.make_jaxpr` takes any function, also what `jax.jit` returns. "
        "https://docs.jax.dev/en/latest/jit-compilation.html",
        "plain = jax.make_jaxpr(function)(x)\njitted = jax.make_jaxpr(____)(x)\nreturn len(plain.eqns), ____",
    ],
)
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


# %% check
@visible(
    operations_to_run,
    idea="Without `jit` each operation is a program of its own; with it, the whole function is one.",
    reproduces=["S1-17"],
)
def three_operations_become_one(answer):
    """For `wave` they are 3 and 1."""
    got = [number(one) for one in parts(answer(given(wave.__name__), jnp.ones(4)), 2)]
    message = "The jitted `wave` is one operation for JAX: list the jitted function, and count the outer lines."
    expect_that(got != [3, 3], message, got, [3, 1])
    expect_documented("S1-17", got, message="`wave` makes three operations; jitted, it is one.")


@visible(operations_to_run, idea="The same operation counts each time that it is run.")
def repeated_operations_count_each_time(answer):
    """For `decay`, which multiplies three times, they are 4 and 1."""
    got = [number(one) for one in parts(answer(given(decay.__name__), jnp.ones(4)), 2)]
    message = "`decay` makes one exponential and three products: that is four operations."
    expect_that(got == [4, 1], message, got, [4, 1])


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


# %% exercise
@exercise(
    title="Repair: normalise the rows",
    points=2,
    reproduces=["S1-18"],
    hints=[
        "`X.mean(0)` runs along axis 0. Which numbers does it take together: those of a row, or of a column?",
        "Along axis 1, with `keepdims=True`, the means are a column [n,1] and broadcast against [n,m]. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.mean.html",
        "X = X - X.mean(axis=____, keepdims=____)\nreturn X / ____",
    ],
)
def normalise_rows(X):
    """Give each row the mean 0 and the standard deviation 1; it also works under `jax.jit`. Repair this.

    Args:
        X: float32[n,m], no row with all numbers equal.

    Returns:
        float32[n,m], a JAX array.
    """
    X = X - X.mean(0)
    return X / X.std(0)


# %% check
def rows_normalised(x):
    """Return what `normalise_rows` should give."""
    x = np.asarray(x, np.float64)
    return jnp.asarray((x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True), dtype=jnp.float32)


@visible(normalise_rows, stage="shape", idea="The means of the rows must broadcast along the rows.")
def the_table_keeps_its_shape(answer, draw):
    """The shape stays [n,m]."""
    for shape in ((2, 3), (4, 3)):
        expect_shape(answer(draw.floats(*shape)), shape)


@visible(normalise_rows, idea="Axis 1 runs along a row. `mean(0)` and `std(0)` belong to the columns.")
def each_row_is_normalised(answer, draw):
    """Each row has the mean 0 and the standard deviation 1."""
    for shape in ((3, 3), (2, 5)):
        x = 3 * draw.floats(*shape) + 10
        got = answer(x)
        message = "These are normalised columns: along axis 0 the numbers of one column are taken together."
        columns = np.allclose(np.asarray(got), np.asarray(norm(x)), rtol=1e-3, atol=1e-3)
        expect_that(not columns, message, got, rows_normalised(x), misconception="forgets_one_axis")
        expect_close(got, rows_normalised(x), "The rows are not normalised.", rtol=1e-3, atol=1e-3)


@visible(
    normalise_rows,
    stage="jit",
    idea="`jit` does not change what a function computes, up to rounding.",
    reproduces=["S1-18"],
)
def jit_gives_the_same_numbers(answer):
    """For the document's matrix, turned on its side, the plain and the jitted call agree to 0.000001."""
    on_its_side = documented_inputs()[0].T
    plain, jitted = np.asarray(answer(on_its_side)), np.asarray(answer.jit(on_its_side))
    agree = bool(np.allclose(plain, jitted, atol=1e-6) and np.allclose(norm(on_its_side.T).T, jitted, atol=1e-5))
    expect_documented("S1-18", agree, message="The plain and the jitted call give different numbers.")


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


# %% exercise
@exercise(
    title="When does it pay?",
    points=2,
    reproduces=["S1-19"],
    hints=[
        "Which call of each list does something that later calls need not do? And what does one slow call do to a mean?",
        "Leave the first call out, and take the median. Then n jitted calls cost the first one and n - 1 typical ones. "
        "https://docs.jax.dev/en/latest/benchmarking.html",
        "plain, jitted = np.median(plain_s[1:]), ____\nratio = ____\ncalls = 1\n"
        "while jitted_s[0] + (calls - 1) * jitted > ____:\n    calls += 1\nreturn ratio, calls",
    ],
)
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


# %% check
@visible(what_jit_saves, idea="The median is not disturbed by one slow call.", reproduces=["S1-19"])
def the_documents_ratio(answer):
    """For times as in the document, 942 µs and 512 µs, the ratio is 1.84."""
    plain = [0.009, 900e-6, 942e-6, 1000e-6, 930e-6, 0.004]
    jitted = [0.06, 505e-6, 512e-6, 560e-6, 500e-6, 0.003]
    ratio, _ = parts(answer(plain, jitted), 2)
    message = "The typical times are 942 µs and 512 µs, so the ratio is 1.84: the first call does not count."
    upside_down = abs(number(ratio) - 512 / 942) < 1e-6
    expect_that(not upside_down, "The ratio is upside down: plain time divided by jitted time.", ratio, "1.84")
    expect_documented("S1-19", number(ratio), message=message)


@visible(what_jit_saves, idea="The first call's price is spread over all calls.")
def the_price_is_earned_back(answer):
    """When a call saves 0.5 s and the first takes 3.2 s longer than a plain one, they are even after 8 calls."""
    _, calls = parts(answer([5.0, 1.0, 1.0, 1.0], [4.2, 0.5, 0.5, 0.5]), 2)
    expect_that(
        number(calls) == 8, "After 7 calls the plain ones are ahead by 0.2 s; after 8 they are not.", calls, "8"
    )


# %% [markdown]
# So jit what is called often, or is long. A call that is made once gains nothing.
#
# ### What jit refuses
#
# A program has fixed shapes: `jit` must know the shape of every array **before** it knows any number. Not all code can
# live with that.


# %% exercise
@exercise(
    title="How many will there be?",
    points=1,
    reproduces=["S1-20", "S1-21"],
    hints=[
        "What does NumPy give for an array that is indexed with an array of truth values?",
        "A mask as an index selects where it is True. It needs the numbers, so `jit` refuses. "
        "https://docs.jax.dev/en/latest/errors.html#jax.errors.NonConcreteBooleanIndexError",
        "return x[____]",
    ],
)
def negatives(x):
    """Select the negative numbers, in their order, with a mask as the index.

    It works without `jax.jit`. Under `jax.jit` JAX refuses; let its error pass.

    Args:
        x: float32[n], a JAX array.

    Returns:
        float32[k], a JAX array: the k numbers that are less than 0.
    """
    ...


# %% check
def as_raised(seen):
    """Return an exception as the ledger has it: its class, and the first line of its message."""
    return [seen.error.type_name, seen.error.message.splitlines()[0]] if seen.error else ["no error", ""]


def as_in_older_texts(text):
    """Return a line about tracers or abstract values as it was before JAX 0.6.1."""
    text = re.sub(r"JitTracer\((.*?)\)", r"Traced<ShapedArray(\1)>with<DynamicJaxprTrace(level=1/0)>", text)
    return re.sub(r"; got (\w+\[.*?\])$", r"; got ShapedArray(\1)", text)


@visible(negatives, idea="A mask selects where it is True.", reproduces=["S1-20"])
def the_negative_numbers_are_selected(answer):
    """Of the document's ten numbers, four are selected."""
    got = answer(documented_inputs()[1])
    expect_shape(got, (4,), "Four of the ten numbers are negative; the result should hold these and no others.")
    expect_dtype(got, "float32")
    expect_documented("S1-20", got, message="These are not the negative numbers in their order.")


@visible(
    negatives,
    stage="jit",
    idea="The shape of the result depends on the numbers, and under `jit` there are none yet.",
    reproduces=["S1-21"],
)
def jit_refuses_the_mask(answer):
    """Under `jax.jit` it raises NonConcreteBooleanIndexError: the mask's values are not known."""
    seen = answer.jit.observe_error(documented_inputs()[1])
    message = (
        "Under `jax.jit` JAX should refuse the mask. Index the JAX array itself with the mask, and let errors pass."
    )
    expect_documented("S1-21", as_raised(seen), part="today", message=message)
    older = [seen.error.type_name, as_in_older_texts(as_raised(seen)[1])]
    expect_documented("S1-21", older, part="documented", message=message)


# %% [markdown]
# (Up to JAX 0.6.0 the message said `got ShapedArray(bool[10])`; now it is `got bool[10]`. The class is the same.)
#
# What to do? Often you do not need the selected numbers themselves, but their sum, or mean. Then **keep the shape**,
# and make the others harmless: `jnp.where(mask, x, 0.0)` has as many numbers as x.

# %%
x = jnp.array([3.0, -1.0, 2.0, -5.0])
print(x[x > 2.5], "  shape", x[x > 2.5].shape)
print(jnp.where(x > 2.5, x, 0.0), "  shape", jnp.where(x > 2.5, x, 0.0).shape)


# %% exercise
@exercise(
    title="Make it jit-safe: the mean of the negatives",
    points=3,
    hints=[
        "How many numbers go into the mean? Can you count them without selecting them?",
        "Sum with `jnp.where`, count with `jnp.sum(mask)`; the counts are traced values, so choose with `jnp.where`. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.where.html",
        "mask = x < 0\ntotal = jnp.sum(jnp.where(mask, x, ____))\ncount = ____\nreturn total / jnp.maximum(count, ____)",
    ],
)
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


# %% check
def mixed_numbers(draw, n):
    """Return n numbers of which some are negative and some are not."""
    return jnp.concatenate([jnp.array([-2.0, 3.0, -0.5]), draw.floats(n - 3)])


def right_mean(x):
    """Return what `mean_of_negatives` should give."""
    x = np.asarray(x)
    return jnp.float32(x[x < 0].mean() if (x < 0).any() else 0.0)


@visible(mean_of_negatives, stage="shape")
def the_mean_is_one_number(answer, draw):
    """The mean is one number."""
    expect_shape(answer(mixed_numbers(draw, 5)), ())


@visible(mean_of_negatives, idea="The mean is the sum of the chosen numbers divided by how many were chosen.")
def only_negatives_count(answer, draw):
    """It is the mean of the negative numbers alone."""
    for n in (4, 6):
        x = mixed_numbers(draw, n)
        got = answer(x)
        over_all = abs(number(got) - float(np.minimum(np.asarray(x), 0).mean())) < 1e-6
        message = "The sum was divided by the number of all numbers, zeros included."
        expect_that(not over_all, message, got, right_mean(x), misconception="divides_by_all")
        expect_close(got, right_mean(x))


@visible(mean_of_negatives, idea="0 / 0 is nan: make the count at least 1, or choose with `jnp.where`.")
def without_negatives_it_is_zero(answer):
    """Without any negative number it is 0."""
    got = answer(jnp.array([1.0, 0.0, 2.0]))
    message = "There is no negative number, and 0 / 0 is nan."
    expect_that(not np.isnan(number(got)), message, got, "0.0")
    expect_close(got, jnp.float32(0.0))


@visible(
    mean_of_negatives, stage="jit", idea="Under `jit` shapes are fixed and numbers unknown: keep the shape and mask."
)
def the_mean_under_jit(answer, draw):
    """Under `jax.jit` the result is the same, also without negative numbers."""
    for x in (mixed_numbers(draw, 6), jnp.array([1.0, 0.0, 2.0, 1.0, 1.0, 1.0])):
        expect_close(answer.jit(x), right_mean(x))
