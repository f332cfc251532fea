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


# What only moves numbers, or changes their type.
MOVES = {"broadcast_in_dim", "concatenate", "convert_element_type", "copy", "dynamic_slice", "iota", "reshape", "slice"}
MOVES |= {"squeeze", "split", "unstack"}


def outside_of_jit(answer, *args):
    """Return the operations of a call that are in no jitted function of the answer, without those that move numbers."""
    return [name for name in answer.program(*args).unjitted if name not in MOVES]


def expect_nothing_outside(answer, *args):
    """Expect a call to compute nothing outside of the answer's jitted functions."""
    outside = outside_of_jit(answer, *args)
    message = "Everything should be computed in jitted functions; yours computes some of it outside."
    expect_that(not outside, message, f"outside: {', '.join(outside)}", "nothing outside")


def documented_inputs():
    """Return the arrays of the document in order: X, x of `get_negatives`, x, y, and then x2, y2."""
    draws = np.random.RandomState(1701)
    big = jnp.array(draws.rand(10000, 10))
    ten = jnp.array(draws.randn(10))
    return big, ten, draws.randn(3, 4), draws.randn(4), draws.randn(3, 4), draws.randn(4)


# %% [markdown]
# # Jit and tracing
#
# `jax.jit` makes JAX code fast. To use it well, you must know what it does with your
# Python code: it **traces** it.
#
# After this lesson you can
#
# - say when compiling pays, and measure it,
# - see what your function sees while JAX traces it,
# - predict how often JAX will trace, and find out why it traces again,
# - repair code that branches, selects, keeps or leaks values under `jax.jit`,
# - keep static what must be static, and traced what should be traced.
#
# You need NumPy, and `jax.numpy` as in the lesson `arrays_and_layers`. It takes about
# an hour and a half, in four parts.

# %% [markdown]
# Run the cells from top to bottom. A cell with a function to write or to repair is an
# **exercise**: `check(...)` tells you what is right. If you are stuck,
# `hint(name_of_the_function)` gives a small hint, and tells how to get more. In a
# **prediction** you guess first; then the real answer is computed before your eyes.
#
# The lesson follows a page of JAX's documentation, "How to think in JAX", which it
# calls *the document*. Where today's JAX does something else than an older copy of it
# says, you will see both.

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
# JAX normally runs **one operation at a time**: each is a small compiled program of its
# own. `jax.jit(f)` is a new function, which runs the whole of `f` as **one** program.


# %%
def wave(x):
    """Compute 2 sin(x) + 1: three operations."""
    return jnp.sin(x) * 2 + 1


fast_wave = jax.jit(wave)
x = jnp.linspace(0, 3, 4)
print(wave(x))
print(fast_wave(x))

# %% [markdown]
# How can you see it? `jax.make_jaxpr(f)(x)` lists the operations that `f` makes of `x`,
# one on each line. Its `eqns` (equations) are those lines.

# %%
listing = jax.make_jaxpr(wave)(x)
print(listing)
print(len(listing.eqns), "lines")

# %% [markdown]
# Here is another function, to try it on.


# %%
def decay(x):
    """Compute x³ exp(x), with three products."""
    return x * x * x * jnp.exp(x)


print(jax.make_jaxpr(decay)(x))


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
        """# Like it: the lines of a function, and of what `jax.vmap` makes of it.
def lines_with_vmap(function, rows):
    for_one_row = jax.make_jaxpr(function)(rows[0])
    for_all_rows = jax.make_jaxpr(jax.vmap(function))(rows)
    return len(for_one_row.eqns), len(for_all_rows.eqns)

print(lines_with_vmap(wave, jnp.ones((2, 4))))  # (3, 3)""",
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
    message = "For `wave` the counts should be 3 and 1: lines inside another line's braces do not count."
    expect_that(got != [3, 3], message, got, [3, 1], misconception="counts_what_is_inside")
    expect_documented("S1-17", got, message="For `wave` the counts should be 3 and, jitted, 1.")


@visible(operations_to_run, idea="The same operation counts each time that it is run.")
def repeated_operations_count_each_time(answer):
    """For `decay`, which multiplies three times, they are 4 and 1."""
    got = [number(one) for one in parts(answer(given(decay.__name__), jnp.ones(4)), 2)]
    message = "For `decay`, one exponential and three products, the counts should be 4 and 1."
    expect_that(got == [4, 1], message, got, [4, 1])


# %% [markdown]
# `draw_program` shows the operations as a picture: each arc is a value that goes from
# one operation to a later one.

# %%
draw_program(decay, x)

# %% [markdown]
# One program can be made better than many small ones: XLA, the compiler, *fuses*
# operations into one loop over the data, so that numbers in between are never written
# to memory.

# %%
compiled_text = jax.jit(decay).lower(x).compile().as_text()
print(compiled_text.count("HloModule"), "program,", compiled_text.count(" fusion("), "fused loop")

# %% [markdown]
# ### The document's example
#
# The document has this function. It "normalises the rows of a two-dimensional matrix",
# says the text: it subtracts the mean and divides by the standard deviation.


# %%
def norm(x):
    """Normalise, as the document does it."""
    x = x - x.mean(0)
    return x / x.std(0)


table = jnp.array([[1.0, 2.0, 3.0], [10.0, 30.0, 80.0]])
print(norm(table))

# %% [markdown]
# Do the rows look normalised? Then each would have the mean 0. Look at it, before you
# repair it.

# %%
print("means of the rows:   ", norm(table).mean(axis=1))
print("means of the columns:", norm(table).mean(axis=0))


# %% exercise
@exercise(
    title="Repair: normalise the rows",
    points=2,
    reproduces=["S1-18"],
    hints=[
        "`x.mean(0)` runs along axis 0. Which numbers does it take together: those of a row, or of a column?",
        "Along axis 1, with `keepdims=True`, the means are a column [n,1] and broadcast against [n,m]. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.mean.html",
        "x = x - x.mean(axis=____, keepdims=____)\nreturn x / ____",
        """# Like it: scale each image of a stack so that its largest number is 1.
@jax.jit
def brightened(images):
    # The shape of `largest` is [k,1,1], so it broadcasts against [k,n,m].
    largest = images.max(axis=(1, 2), keepdims=True)
    return images / largest

stack = jnp.array([[[1.0, 2.0]], [[3.0, 12.0]]])
print(brightened(stack).tolist())  # [[[0.5, 1.0]], [[0.25, 1.0]]]""",
    ],
)
def normalise_rows(x):
    """Give each row the mean 0 and the standard deviation 1; it also works under `jax.jit`. Repair this.

    Args:
        x: float32[n,m], no row with all numbers equal; its numbers may be tiny, so nothing is added to the deviation.

    Returns:
        float32[n,m], a JAX array.
    """
    x = x - x.mean(0)
    return x / x.std(0)


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
        message = "The rows should be normalised; yours are the numbers that normalised columns have."
        columns = np.allclose(np.asarray(got), np.asarray(norm(x)), rtol=1e-3, atol=1e-3)
        expect_that(not columns, message, got, rows_normalised(x), misconception="forgets_one_axis")
        expect_close(
            got, rows_normalised(x), "Each row should have the mean 0 and the standard deviation 1.", rtol=1e-3
        )


@visible(
    normalise_rows,
    stage="jit",
    idea="`jit` does not change what a function computes, up to rounding.",
    reproduces=["S1-18"],
    required=True,
)
def jit_gives_the_same_numbers(answer):
    """For the document's matrix, turned on its side, the plain and the jitted call agree to 0.000001."""
    on_its_side = documented_inputs()[0].T
    plain, jitted = np.asarray(answer(on_its_side)), np.asarray(answer.jit(on_its_side))
    agree = bool(np.allclose(plain, jitted, atol=1e-6))
    expect_documented("S1-18", agree, message="The plain and the jitted call should give the same numbers.")
    right = np.allclose(norm(on_its_side.T).T, jitted, atol=1e-3)
    expect_that(right, "Each row of the document's matrix, turned on its side, should be normalised.", jitted)


# %% [markdown]
# So the document's function normalises **columns**. Its other claim holds: plain and
# jitted calls agree, to rounding. Do not ask for equal bits: the compiler may add in
# another order.
#
# ### Does it pay?
#
# The document says that jitted code may be "orders of magnitude" faster. Its own
# numbers are 942 µs and 512 µs. See how it is on your computer, for a chain of sines.
# (`block_until_ready` waits until the result is there.)


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


print("jitted calls:", [f"{s * 1e6:.0f} µs" for s in seconds(jax.jit(partial(chain, links=8)), x, 5)])

# %% [markdown]
# The first call is far slower than the others: it traces and compiles. Now without the
# first calls: how many times as long as the jitted call does the plain call take?


# %%
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

# %% [markdown]
# One operation gains nothing: it was one program before. The more operations, the more
# `jit` saves. (The numbers wander on a busy computer.) But the price of the first call
# must be earned back.


# %% exercise
@exercise(
    title="When does it pay?",
    points=2,
    reproduces=["S1-19"],
    hints=[
        "Which call of each list does something that later calls need not do? What does one slow call do to a mean?",
        "Leave the first call out, and take the median. Then n jitted calls cost the first one and n - 1 typical ones. "
        "https://docs.jax.dev/en/latest/benchmarking.html",
        "plain, jitted = np.median(plain_s[1:]), ____\nratio = ____\ncalls = 1\n"
        "while jitted_s[0] + (calls - 1) * jitted > ____:\n    calls += 1\nreturn ratio, calls",
        """# Like it: after how many rides is a card no dearer than single tickets?
def rides_until_even(ticket, card, ride_with_card):
    rides = 1
    while card + rides * ride_with_card > rides * ticket:
        rides += 1
    return rides

print(rides_until_even(ticket=3.0, card=25.0, ride_with_card=1.5))  # 17
waits = [40.0, 5.0, 90.0, 6.0]  # the first one is no typical wait
print(np.median(waits[1:]), np.mean(waits))  # 6.0 35.25""",
    ],
)
def what_jit_saves(plain_s, jitted_s):
    """Tell from measured times how much `jax.jit` saves, and after how many calls.

    The typical time of a call is the median without the first call of the list.

    Args:
        plain_s: list of seconds of several calls, in order; the first is the very first call.
        jitted_s: the same for the jitted function: its first call also traces and compiles. Its typical time is the
            shorter one.

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
    mistakes = {
        "turns_the_ratio_round": (512 / 942, "as much as the jitted time divided by the plain time"),
        "counts_the_first_call": (np.median(plain) / np.median(jitted), "as much as with the first calls counted"),
        "takes_the_mean": (np.mean(plain[1:]) / np.mean(jitted[1:]), "as much as the ratio of the means"),
    }
    for mistake, (its_ratio, words) in mistakes.items():
        message = f"The ratio should be 1.84; yours is {words}."
        expect_that(abs(number(ratio) - its_ratio) > 1e-4, message, ratio, "1.84", misconception=mistake)
    message = "For typical times of 942 µs and 512 µs the ratio should be 1.84."
    expect_documented("S1-19", number(ratio), message=message)


@visible(what_jit_saves, idea="The first call's price is spread over all calls.")
def the_price_is_earned_back(answer):
    """When a call saves 0.5 s and the first takes 3.2 s longer than a plain one, they are even after 8 calls."""
    _, calls = parts(answer([5.0, 1.0, 1.0, 1.0], [4.2, 0.5, 0.5, 0.5]), 2)
    expect_that(
        number(calls) == 8, "It should be 8 calls: after 7 the plain ones are ahead by 0.2 s, after 8 not.", calls, "8"
    )
    _, calls = parts(answer([5.0, 1.0, 1.0, 1.0], [4.0, 0.5, 0.5, 0.5]), 2)
    message = "It should be 7 calls: then both have taken 7 s, and that is no longer."
    expect_that(number(calls) == 7, message, calls, "7", misconception="waits_until_it_is_shorter")


# %% [markdown]
# So jit what is called often, or is long. A call that is made once gains nothing.
#
# ### What jit refuses
#
# A program has fixed shapes: `jit` must know the shape of every array **before** it
# knows any number. Not all code can live with that.


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
        """# Like it: the rows of a table whose first number is above their second.
def falling_rows(pairs):
    return pairs[pairs[:, 0] > pairs[:, 1]]

pairs = jnp.array([[3, 1], [2, 5], [9, 0]])
print(falling_rows(pairs).tolist())  # [[3, 1], [9, 0]]
try:
    jax.jit(falling_rows)(pairs)
except jax.errors.NonConcreteBooleanIndexError as error:
    print(type(error).__name__)  # NonConcreteBooleanIndexError""",
    ],
)
def negatives(x):
    """Select the negative numbers, in their order, with a mask as the index.

    It works without `jax.jit`. Under `jax.jit` JAX refuses; let its error pass.

    Args:
        x: float32[n], a JAX array.

    Returns:
        float32[k], a JAX array: the k numbers that are less than 0. Zero is not, of either sign, and NaN is not.
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
    expect_shape(got, (4,), "The result should hold the four negative numbers of the ten, and no others.")
    expect_dtype(got, "float32")
    expect_documented("S1-20", got, message="The result should hold the negative numbers in their order.")


@visible(
    negatives,
    stage="jit",
    idea="The shape of the result depends on the numbers, and under `jit` there are none yet.",
    reproduces=["S1-21"],
    required=True,
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
# Here is the error. (Up to JAX 0.6.0 the message said `got ShapedArray(bool[3])`; now
# it is `got bool[3]`.)

# %%
try:
    jax.jit(lambda x: x[x < 0])(jnp.array([1.0, -2.0, 3.0]))
except jax.errors.NonConcreteBooleanIndexError as error:
    print("NonConcreteBooleanIndexError:", str(error).splitlines()[0])

# %% [markdown]
# What to do? Often you do not need the selected numbers themselves, but their sum, or
# mean. Then **keep the shape**, and make the others harmless: `jnp.where(mask, x, 0.0)`
# has as many numbers as x.

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
        "mask = x < 0\ntotal = jnp.sum(jnp.where(mask, x, ____))\ncount = ____\n"
        "return total / jnp.maximum(count, ____)",
        """# Like it: each row's smallest positive number, and how many it has.
@jax.jit
def smallest_positive(rows):
    mask = rows > 0
    harmless = jnp.where(mask, rows, jnp.inf)
    return harmless.min(axis=1), mask.sum(axis=1)

rows = jnp.array([[3.0, -1.0, 2.0], [-1.0, 0.0, -2.0]])
smallest, how_many = smallest_positive(rows)
print(smallest.tolist(), how_many.tolist())  # [2.0, inf] [2, 0]""",
    ],
)
def mean_of_negatives(x):
    """Return the mean of the negative numbers; 0 where there are none. Repair this: it must work under `jax.jit`.

    The other numbers do not count, whatever they are: zeros, infinity or NaN. With minus infinity the mean is that.

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
    return jnp.concatenate([jnp.array([-2.0, 3.0, -0.5, 1.5]), draw.floats(n - 4)])


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
        message = "It should be the mean of the negative numbers; yours is their sum divided by the number of all."
        expect_that(not over_all, message, got, right_mean(x), misconception="divides_by_all")
        expect_close(got, right_mean(x))


@visible(mean_of_negatives, idea="0 / 0 is nan: make the count at least 1, or choose with `jnp.where`.")
def without_negatives_it_is_zero(answer):
    """Without any negative number it is 0."""
    got = answer(jnp.array([1.0, 0.0, 2.0]))
    message = "Without any negative number it should be 0; yours is NaN."
    expect_that(not np.isnan(number(got)), message, got, "0.0")
    expect_close(got, jnp.float32(0.0))


@visible(
    mean_of_negatives,
    stage="jit",
    idea="Under `jit` shapes are fixed and numbers unknown: keep the shape and mask.",
    required=True,
)
def the_mean_under_jit(answer, draw):
    """Under `jax.jit` the result is the same, also without negative numbers."""
    for x in (mixed_numbers(draw, 6), jnp.array([1.0, 0.0, 2.0, 1.0, 1.0, 1.0])):
        expect_close(answer.jit(x), right_mean(x))


# %% [markdown]
# ## Part 2. What your function sees
#
# How can a function run on no numbers? `jax.jit` calls it with **tracers**. A tracer
# stands in for an array: it has a shape and a dtype, and no values. Each operation on
# it is written down. That is called *tracing*.


# %%
@jax.jit
def tell(v):
    """Print what arrives, and multiply it by ten."""
    print("v is", v)
    return 10 * v


print(tell(jnp.arange(3)))
print(tell(jnp.arange(3) + 5))

# %% [markdown]
# The first call printed a tracer, and still gave numbers: after tracing, the recorded
# operations were compiled and run. The second call printed nothing. Your Python code
# did not run; the compiled program did.


# %% exercise
@exercise(
    title="A look inside",
    points=2,
    reproduces=["S1-22", "S1-23"],
    hints=[
        "What makes the first call print tracers, and the second one print nothing?",
        "Put `@jax.jit` above the `def`, and print inside, with Python's own `print`. "
        "https://docs.jax.dev/en/latest/jit-compilation.html",
        '@____\ndef look_inside_jit(x, y):\n    print("Running f():")\n    print(f"x = {x}")\n    print(____)\n'
        '    result = jnp.dot(____)\n    print(f"result = {result}")\n    return result',
        """# Like it: the area of a frame, which tells what it sees while it is traced.
@jax.jit
def frame_area(inner, outer):
    print(f"outer = {outer}")
    area = outer**2 - inner**2
    print(f"area = {area}")
    return area

print(frame_area(1.0, 2.0))  # 3.0, after two lines with tracers
print(frame_area(2.0, 3.0))  # 5.0, and no other line""",
    ],
)
def look_inside_jit(x, y):
    """Jit this function, and let it print what it sees while it is traced.

    It prints four lines: `Running f():`, then `x = ...`, `y = ...` and `result = ...`, with what `print` shows of each.
    A second call with the same shapes prints nothing, as with `tell` above.

    Args:
        x: float32[n,m].
        y: float32[m].

    Returns:
        float32[n]: the result, which is the dot product of x + 1 and y + 1.
    """
    ...


# %% check
def told(seen):
    """Return the printed lines, with single blanks, and without the tilde of a weak type."""
    return [" ".join(line.split()).replace("Tracer(~", "Tracer(") for line in seen.lines if line.strip()]


@visible(look_inside_jit, idea="The recorded operations run on the numbers that you pass.")
def the_dot_product_is_right(answer, draw):
    """The result is the dot product of x + 1 and y + 1."""
    for n, m in ((2, 3), (3, 4)):
        x, y = draw.floats(n, m), draw.floats(m)
        expect_close(answer(x, y), (x + 1) @ (y + 1), rtol=1e-4, atol=1e-5)


@visible(
    look_inside_jit,
    stage="traces",
    idea="While it is traced, your code sees tracers: shapes and dtypes, no numbers.",
    reproduces=["S1-22"],
    required=True,
)
def the_first_call_prints_tracers(answer):
    """The first call prints the four lines, with tracers in them, and gives the document's numbers."""
    _, _, x, y, _, _ = documented_inputs()
    seen = answer.observe(x, y)
    lines = told(seen)
    message = "The first call should print four lines, from `Running f():` to `result = ...`, and these show tracers."
    values = " ".join(f"{one:.4f}" for one in np.asarray(seen.value))
    expect_documented("S1-22", [*lines, values], part="today", message=message)
    older = [*map(as_in_older_texts, lines), values]
    expect_documented("S1-22", older, part="documented", message=message)


@visible(
    look_inside_jit,
    stage="traces",
    idea="A call with the same shapes and dtypes runs the compiled program, not your Python code.",
    reproduces=["S1-23"],
)
def the_second_call_prints_nothing(answer):
    """A second call with other numbers prints nothing."""
    _, _, x, y, x2, y2 = documented_inputs()
    second = answer.observe_calls([(x, y), (x2, y2)])[1]
    expect_that(not second.lines, "A second call with the same shapes should print nothing.", second.lines, "no lines")
    expect_documented("S1-23", second.value, message="The second call should give the numbers of its own arguments.")


# %% [markdown]
# (In older texts a tracer is printed as
# `Traced<ShapedArray(float32[3,4])>with<DynamicJaxprTrace(level=1/0)>`. Since JAX 0.8.2
# it is `JitTracer(float32[3,4])`.)
#
# `show_lines` shows the same for each line of a function, without any `print`: what is
# traced, and what is plain Python (*static*).


# %%
def scaled_sum(x, y):
    """Add two arrays and divide by how many numbers there are."""
    total = x + y
    count = len(x)
    return total / count


show_lines(scaled_sum, jnp.ones(4), jnp.ones(4))

# %% [markdown]
# ### When does it trace again?
#
# A recorded program fits one shape and one dtype of each argument. (A Python number is
# traced, too: as a scalar of a weak type.) `watch_traces` counts the traces in a block,
# and says why there was one more.


# %%
@jax.jit
def double(x):
    """Return 2 x."""
    return 2 * x


with watch_traces() as traces:
    for value in (jnp.ones(3), jnp.zeros(3), jnp.ones(4)):
        double(value)
traces


# %% exercise
@prediction(
    title="Predict: how many traces?",
    points=1,
    hints=[
        "Which of the six arguments have a shape or a dtype that was not there before?",
        "Python numbers have a weak type, which counts as a type of its own; their value does not matter. "
        "https://docs.jax.dev/en/latest/jit-compilation.html",
        "# Two calls with jnp.ones(3) and jnp.ones(4) make 2 traces.\nreturn ____  # an int",
    ],
)
def predict_traces():
    """A new jitted function is called with these six arguments, one after the other. How often is it traced?

    `jnp.ones(3)`, `jnp.zeros(3)`, `jnp.ones((3, 1))`, `jnp.arange(3)`, `1.0`, `2.0`

    Returns:
        An int.
    """
    ...


# %% check
@reveal(predict_traces)
def counted_traces():
    """We called it with the six, and counted how often its Python code ran."""
    ran = []
    fresh = jax.jit(lambda x: (ran.append(1), 2 * x)[1])
    for value in (jnp.ones(3), jnp.zeros(3), jnp.ones((3, 1)), jnp.arange(3), 1.0, 2.0):
        fresh(value)
    return len(ran)


# %% exercise
@exercise(
    title="Count the traces",
    points=2,
    reproduces=["S1-24"],
    hints=[
        "Your Python code runs only while it is traced. Which line in it could leave a note of that?",
        "A side effect, such as appending to a list, happens once for each trace. Make the jitted function only once. "
        "https://docs.jax.dev/en/latest/jit-compilation.html",
        "ran = []\n\n@jax.jit\ndef f(x):\n    ____\n    return 2 * x\n\nso_far = []\nfor x in arguments:\n    f(x)\n"
        "    so_far.append(____)\nreturn so_far",
        """# Like it: note the shapes for which a jitted function is traced.
noted = []

@jax.jit
def added_up(v):
    noted.append(v.shape)
    return v.sum()

for size in (2, 2, 5, 2):
    added_up(jnp.ones(size))
print(noted)  # [(2,), (5,)]""",
    ],
)
def traces_so_far(arguments):
    """Call one new jitted function of your own with each argument, and tell how often it has been traced by then.

    Args:
        arguments: a list of JAX arrays, NumPy arrays and Python numbers.

    Returns:
        A list of ints, one for each argument: how many traces there were when its call was done.
    """
    ...


# %% check
@visible(
    traces_so_far,
    idea="A new shape or a new dtype is traced anew; new numbers are not.",
    reproduces=["S1-24"],
)
def shapes_and_dtypes_are_traced_anew(answer):
    """For float32[3,4] twice, then float32[2,4], then int32[3,4], they are 1, 1, 2, 3."""
    matrix = jnp.arange(12.0).reshape(3, 4)
    arguments = [matrix, matrix + 1, matrix[:2], matrix.astype(jnp.int32)]
    got = answer(arguments)
    expect_that(isinstance(got, tuple | list) and len(got) == 4, "Return a list of four ints, one for each call.", got)
    counts = [number(one) for one in got]
    message = "It should be 1, 1, 2, 3; yours is one more for each call."
    expect_that(counts != [1, 2, 3, 4], message, got, [1, 1, 2, 3])
    message = "It should be 1, 1, 2, 3: a new dtype is a new type, even for a shape that was there before."
    expect_that(counts != [1, 1, 2, 2], message, got, [1, 1, 2, 3], misconception="counts_the_shapes")
    message = "It should be 1, 1, 2, 3: one for float32[3,4], one for float32[2,4], one for int32[3,4]."
    expect_documented("S1-24", counts, message=message)


@visible(traces_so_far, idea="A Python number has a weak type: another type than that of an array.")
def python_numbers_have_types_of_their_own(answer):
    """For float32 1 and 2, then the Python numbers 1.0, 2.0 and 1, they are 1, 1, 2, 2, 3."""
    got = answer([jnp.float32(1), jnp.float32(2), 1.0, 2.0, 1])
    message = "It should be 1, 1, 2, 2, 3: 1.0 and 2.0 are weak float32, and 1 is a weak int32."
    expect_that([number(one) for one in got] == [1, 1, 2, 2, 3], message, got, [1, 1, 2, 2, 3])


# %% [markdown]
# ### What is written down
#
# The recorded program is called a **jaxpr** (JAX expression). You have seen one in
# Part 1. It has the operations on tracers, and nothing else: no `print`, no `if`, no
# loop, no names of yours.


# %%
def with_side_effects(x, y):
    """Do some things that will not be written down."""
    print("this is printed once, while tracing")
    result = [x, y]
    for _ in range(2):
        result.append(result[-1] * result[-2])
    return result[-1] if len(result) > 3 else x


draw_program(with_side_effects, 2.0, 3.0)


# %% [markdown]
# In Python a jaxpr is an object. Each of its `eqns` has a `primitive`, the kind of
# operation, and that has a `name`.

# %%
print(listing.eqns[0].primitive.name, "is the first of", len(listing.eqns))

# %% [markdown]
# The document shows the program of the next function. `jnp.dot` becomes the operation
# `dot_general`.


# %%
def dot_of_sums(x, y):
    """Compute the dot product of x + 1 and y + 1."""
    return jnp.dot(x + 1, y + 1)


# %% exercise
@exercise(
    title="Read the record",
    points=1,
    reproduces=["S1-25"],
    hints=[
        "Which function gave the listing in Part 1? What does `print` make of it?",
        "`jax.make_jaxpr(f)(*args)` traces f. Its text is `str(...)`, and each of its `eqns` has a `primitive` with a "
        "`name`. https://docs.jax.dev/en/latest/jaxpr.html",
        "jaxpr = jax.make_jaxpr(function)(____)\nreturn str(jaxpr), [____ for equation in jaxpr.eqns]",
        """# Like it: how many products a program has, and how many results.
def products_and_results(function, *args):
    jaxpr = jax.make_jaxpr(function)(*args)
    products = [e for e in jaxpr.eqns if e.primitive.name == "mul"]
    return len(products), len(jaxpr.out_avals)

print(products_and_results(decay, jnp.ones(3)))  # (3, 1)""",
    ],
)
def recorded_program(function, *args):
    """Trace a function, and return its jaxpr as text, together with the names of its operations.

    Args:
        function: a function of arrays.
        args: its arguments.

    Returns:
        A tuple `(text, names)`: the jaxpr as `str` gives it; and a list of the names of its operations, in
        the order in which they stand there, such as `["add", "add", "dot_general"]`.
    """
    ...


# %% check
def without_colours(text):
    """Return a text without the codes for colours, which JAX writes in a notebook."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def without_types_of_literals(text):
    """Return a jaxpr's text as it was before JAX 0.6.1."""
    return re.sub(r"(\d\.\d):f32\[\]", r"\1", text)


@visible(
    recorded_program, idea="The text lists inputs, operations and outputs, each with its type.", reproduces=["S1-25"]
)
def the_text_is_the_documents(answer):
    """For `dot_of_sums` of float32[3,4] and float32[4], the text is that of the document."""
    _, _, x, y, _, _ = documented_inputs()
    text, _ = parts(answer(given(dot_of_sums.__name__), x, y), 2)
    expect_that(isinstance(text, str), "The first value should be a str: write `str(jaxpr)`.", text)
    text = without_colours(text)
    message = "This should be the text of the jaxpr of `dot_of_sums`."
    jitted = "name=" in text or "jit[" in text
    of_jitted = "This should be the jaxpr of the plain function; yours has a call of a jitted one."
    expect_that(not jitted, of_jitted, text, misconception="lists_the_jitted_function")
    expect_documented("S1-25", text, part="today", message=message)
    expect_documented("S1-25", without_types_of_literals(text), part="documented", message=message)


@visible(recorded_program, idea="Each line of a jaxpr is one operation; its primitive has a name.")
def names_stand_in_their_order(answer):
    """For `decay` the names are two products, the exponential, and a product."""
    _, names = parts(answer(given(decay.__name__), jnp.ones(3)), 2)
    wanted = [one.primitive.name for one in jax.make_jaxpr(decay)(jnp.ones(3)).eqns]
    expect_that(list(names) == wanted, "These should be the names of all operations, in their order.", names, wanted)


# %% [markdown]
# (Up to JAX 0.6.0 the numbers in a jaxpr had no type: `add a 1.0`. Now it is
# `add a 1.0:f32[]`.)
#
# ### Frozen values
#
# What a function takes from **outside**, a global name or a variable of the function
# around it, is read while it is traced. Then it is frozen.

# %%
gain = 10.0


@jax.jit
def amplified(x):
    """Multiply by the global `gain`."""
    return x * gain


print(amplified(2.0))
gain = 1000.0
print(amplified(2.0), "although gain is", gain)

# %% [markdown]
# No error, no warning: just an old number.


# %% exercise
@exercise(
    title="Repair: the frozen rate",
    points=2,
    hints=[
        "Which value of `rate` does `step` know when it is traced? How often is it traced?",
        "Pass what changes as an argument: arguments are traced, values from outside are frozen. "
        "https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#pure-functions",
        "@jax.jit\ndef step(x, ____):\n    return x - rate * x\n\nfor rate in rates:\n    x = step(____)\nreturn x",
        """# Like it: how many readings are above a limit that changes between calls.
@jax.jit
def count_above(readings, limit):  # as a global name, `limit` would freeze
    return jnp.sum(readings > limit)

readings = jnp.array([1.0, 6.0, 8.0])
with watch_traces() as counted:
    above = [int(count_above(readings, limit)) for limit in (5.0, 7.0)]
print(above, counted.traces)  # [2, 1] 1""",
    ],
)
def steps_with_rates(x, rates):
    """Make one step for each rate: x becomes x - rate * x. This uses the wrong rates: repair it.

    The step, or all of them together, stays jitted, so that nothing is computed outside of `jax.jit`. It is traced once
    for all rates.

    Args:
        x: float32[n].
        rates: a list of floats, one or more.

    Returns:
        float32[n]: x after all steps.
    """
    rate = 0.0

    @jax.jit
    def step(x):
        return x - rate * x

    for k in range(len(rates)):
        rate = rates[k]
        x = step(x)
    return x


# %% check
@visible(steps_with_rates, stage="shape")
def stepping_keeps_the_shape(answer, draw):
    """The shape stays [n]."""
    expect_shape(answer(draw.floats(3), [0.5, 0.25]), (3,))


@visible(steps_with_rates, idea="What comes from outside is read while tracing, and never again.")
def each_step_has_its_own_rate(answer, draw):
    """Each step uses its own rate."""
    for rates in ([0.5], [0.5, 0.375], [0.125, 0.25, 0.875]):
        x = draw.floats(3)
        got, wanted = answer(x, rates), jnp.asarray(x * np.prod(1 - np.array(rates)), dtype=jnp.float32)
        message = "Each step should use its own rate; yours is what the first rate gives in all steps."
        first = len(rates) > 1 and np.allclose(np.asarray(got), x * (1 - rates[0]) ** len(rates), rtol=1e-5)
        expect_that(not first, message, got, wanted, misconception="one_rate_as_an_argument")
        expect_close(got, wanted, "Each step should use its own rate.", rtol=1e-4, atol=0.0)


@visible(
    steps_with_rates,
    stage="traces",
    idea="A traced argument may have any value; a new function, or a new static value, is traced anew.",
    required=True,
)
def one_trace_for_all_rates(answer, draw):
    """Eight steps with eight rates need no more traces than one step."""
    counts = [answer.observe(draw.floats(3), [0.1 * (k + 1) for k in range(n)]).traces for n in (1, 8)]
    not_jitted = "The step should stay jitted; in yours nothing was traced by `jax.jit`."
    expect_that(counts[0] > 0, not_jitted, counts[0], "1 trace", misconception="gives_up_jit")
    message = "Eight rates should need no more traces than one."
    # Python numbers and arrays differ in type, so that a second trace may be right.
    expect_that(counts[1] < counts[0] + 3, message, f"{counts[1]} traces for 8 rates", f"{counts[0]}, as for 1")


# %% [markdown]
# ### Tracers that escape
#
# The opposite mistake: to carry a tracer **out** of the function, by a list or a
# global. It stands for no number, and when the trace is over, it is of no use.

# %%
kept = []


@jax.jit
def keep_and_sum(x):
    """Append the squares to a list outside, and return their sum."""
    squares = x**2
    kept.append(squares)
    return squares.sum()


print(keep_and_sum(jnp.arange(3.0)))
print(kept)
try:
    kept[0] + 1
except jax.errors.UnexpectedTracerError as error:
    print("UnexpectedTracerError:", str(error).splitlines()[0])


# %% exercise
@exercise(
    title="Repair: the leak",
    points=2,
    hints=[
        "Which values leave `model` in the right way, and which by the back door?",
        "What you need outside, return: a jitted function may return several arrays, also in lists and dicts. "
        "https://docs.jax.dev/en/latest/errors.html#jax.errors.UnexpectedTracerError",
        "@jax.jit\ndef model(x):\n    saved = []\n    for weight in weights:\n        x = jnp.tanh(weight * x)\n"
        "        saved.append(x)\n    return x.sum(), ____\n\nreturn model(x)",
        """# Like it: a mean, and also the distances from it, for a later look.
@jax.jit
def mean_and_distances(v):
    middle = v.mean()
    rest = v - middle
    return middle, {"rest": rest, "largest": rest.max()}

middle, aside = mean_and_distances(jnp.array([1.0, 2.0, 6.0]))
print(middle, aside["largest"])  # 3.0 3.0
print(aside["rest"].tolist())  # [-2.0, -1.0, 3.0]""",
    ],
)
def sum_and_layers(x, weights):
    """Run x through some layers; return the sum of the last one, and all layers. This leaks tracers: repair it.

    The model stays jitted.

    Args:
        x: float32[n].
        weights: a list of floats, one for each layer; one or more.

    Returns:
        A tuple `(total, layers)`: float32[], and a list of one float32[n] for each layer.
    """
    saved = []

    @jax.jit
    def model(x):
        for weight in weights:
            x = jnp.tanh(weight * x)
            saved.append(x)
        return x.sum()

    total = model(x)
    return total, saved


# %% check
def layers_of(x, weights):
    """Return what `sum_and_layers` should give."""
    layers = []
    for weight in weights:
        x = jnp.tanh(weight * x)
        layers.append(x)
    return x.sum(), layers


@visible(sum_and_layers, idea="Only what a jitted function returns comes out as numbers.")
def layers_come_out_as_numbers(answer, draw):
    """The total and all layers are the numbers of this call."""
    for weights in ([0.5], [0.5, 2.0, -1.5]):
        x = draw.floats(4)
        total, layers = parts(answer(x, weights), 2)
        wanted_total, wanted_layers = layers_of(x, weights)
        expect_close(total, wanted_total, rtol=1e-4, atol=1e-5)
        expect_that(isinstance(layers, tuple | list), "Return the layers as a list of arrays.", layers)
        message = "There should be one layer for each weight."
        only_last = "returns_the_last_layer"
        expect_that(len(layers) == len(weights), message, layers, wanted_layers, misconception=only_last)
        expect_close(list(layers), wanted_layers, rtol=1e-4, atol=1e-5)


@visible(sum_and_layers, stage="jit", idea="A function without a back door works inside another jitted one, too.")
def layers_under_an_outer_jit(answer, draw):
    """Inside another `jax.jit` the result is the same."""
    x, weights = draw.floats(4), [0.5, 2.0]
    total, layers = parts(answer.jit(x, weights), 2)
    wanted_total, wanted_layers = layers_of(x, weights)
    expect_close(total, wanted_total, rtol=1e-4, atol=1e-5)
    expect_close(list(layers), wanted_layers, rtol=1e-4, atol=1e-5)


@visible(sum_and_layers, stage="traces", idea="The repair should not cost the speed.", required=True)
def the_model_is_still_jitted(answer, draw):
    """The model is traced by `jax.jit`."""
    traces = answer.observe(draw.floats(4), [0.5, 2.0]).traces
    expect_that(
        traces > 0, "The model should stay jitted; in yours nothing was traced by `jax.jit`.", traces, "1 trace"
    )


# %% [markdown]
# ### A new function each time
#
# `jax.jit` keeps its programs with the *function*. A `lambda`, a `partial` or an inner
# `def` that is made anew is a new function: nothing is remembered.

# %%
with watch_traces() as traces:
    for shift in (1.0, 2.0, 3.0):
        jax.jit(lambda v, shift=shift: v + shift)(jnp.ones(3))
traces


# %% exercise
@exercise(
    title="Make it fast: four calls, one trace",
    points=2,
    hints=[
        "Which object does `jax.jit` get in the second call: the same as in the first, or a new one?",
        "Jit once, outside of the calls, for example with `@jax.jit` above the `def`; pass the factor as an argument. "
        "https://docs.jax.dev/en/latest/jit-compilation.html#jit-and-caching",
        "____\ndef louder(x, factor):\n    return ____",
        """# Like it: distances from any centre, by a function that is jitted once.
distances = jax.jit(lambda points, centre: jnp.abs(points - centre).sum(1))

points = jnp.arange(6.0).reshape(3, 2)
with watch_traces() as counted:
    for centre in (points[0], points[2]):
        print(distances(points, centre).tolist())
print(counted.traces)  # 1""",
    ],
)
def louder(x, factor):
    """Compute factor * x + 1 with a jitted function. This is traced in each call: make it one trace for all of them.

    Args:
        x: float32[n].
        factor: float.

    Returns:
        float32[n].
    """
    return jax.jit(lambda v: factor * v + 1)(x)


# %% check
@visible(louder, idea="The factor is an argument like any other.")
def each_call_has_its_own_factor(answer, draw):
    """Each call gives factor * x + 1, with its own factor."""
    for factor in (2.0, -0.5, 3.0):
        x = draw.floats(3)
        expect_close(answer(x, factor), factor * x + 1)


@visible(
    louder,
    stage="traces",
    idea="`jit` remembers by function: a lambda or partial made in each call is a new function each time.",
    required=True,
)
def four_calls_one_trace(answer, draw):
    """Four calls with four factors make one trace."""
    x = draw.floats(3)
    counts = [seen.traces for seen in answer.observe_calls([(x, factor) for factor in (2.0, 3.0, -1.0, 0.5)])]
    not_jitted = "The function should stay jitted; in yours nothing was traced by `jax.jit`."
    expect_that(sum(counts) > 0, not_jitted, counts, "one trace", misconception="without_jit")
    message = "Four calls with four factors should make one trace; yours are traced again."
    expect_that(sum(counts[1:]) == 0, message, f"traces: {counts}", "traces: [1, 0, 0, 0]")


# %% [markdown]
# ## Part 3. Static values
#
# While Python traces, an `if` must know where to go. On a tracer it cannot.


# %%
def negate_if(x, neg):
    """Return -x if neg is true, else x."""
    return -x if neg else x


print(negate_if(1, True), negate_if(1, False))
show_lines(negate_if, jnp.array(1), jnp.array(True))

# %% [markdown]
# One way out: declare the argument **static**. Then it is no tracer but the plain
# Python value, and `jit` makes one program for each value that it meets. You name
# static arguments when you jit: by place, `static_argnums=(1,)`, or by name,
# `static_argnames="neg"`.


# %% exercise
@exercise(
    title="Traced or static?",
    points=2,
    reproduces=["S1-26", "S1-27", "S1-28"],
    hints=[
        "Which of the two arguments decides where Python goes?",
        "`jax.jit(f, static_argnums=(i,))` makes argument number i static; counting begins at 0. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.jit.html",
        "if static:\n    return jax.jit(negate_if, ____)\nreturn ____",
        """# Like it: the sum or the product of a vector; a word decides which.
def reduced(v, how):
    return v.sum() if how == "sum" else v.prod()

reduce_jitted = jax.jit(reduced, static_argnames="how")
v = jnp.array([2.0, 5.0])
print(reduce_jitted(v, "sum"), reduce_jitted(v, "product"))  # 7.0 10.0""",
    ],
)
def jit_negate_if(static):
    """Jit `negate_if`, with a static or a traced `neg`.

    Args:
        static: True or False, whether `neg` is to be static.

    Returns:
        The jitted `negate_if`, a function of x and neg. If `static` is False, all its arguments are traced, and a call
        fails: let it.
    """
    ...


# %% check
def described(value):
    """Return a scalar array's value, dtype and weak type."""
    expect_shape(value, ())
    return [int(np.asarray(value)), str(getattr(value, "dtype", type(value))), bool(getattr(value, "weak_type", False))]


@visible(jit_negate_if, idea="A static flag is a plain Python value.", reproduces=["S1-27"])
def the_static_flag_negates(answer):
    """With a static flag, the jitted call with 1 and True gives -1, as a weak int32."""
    got = answer.then(True)(1, True)
    message = "With `static=True`, the jitted function should give -1 for 1 and True, as a JAX array."
    expect_documented("S1-27", described(got), message=message)


@visible(jit_negate_if, idea="For another static value there is another program.", reproduces=["S1-28"])
def another_flag_another_program(answer):
    """With a static flag, the jitted call with 1 and False gives 1."""
    got = answer.then(True)(1, False)
    message = "With `static=True`, the jitted function should give 1 for 1 and False, as a JAX array."
    expect_documented("S1-28", described(got), message=message)


@visible(jit_negate_if, idea="A tracer has no truth value for Python's `if`.", reproduces=["S1-26"])
def the_traced_flag_is_refused(answer):
    """With a traced flag, the jitted call raises TracerBoolConversionError."""
    seen = answer.then(False).observe_error(1, True)
    message = "With `static=False`, where nothing is static, the call should fail; yours returned a value."
    expect_that(seen.error is not None, message, seen.value, "TracerBoolConversionError")
    expect_documented("S1-26", seen)


@visible(jit_negate_if, idea="Only the flag is static. Static values must be hashable, and arrays are not.")
def arrays_are_negated_too(answer, draw):
    """With a static flag, x may be an array."""
    x = draw.floats(3)
    expect_close(answer.then(True)(x, True), -x)


# %% [markdown]
# The other way out: keep the flag traced, and compute with it. `jnp.where(neg, -x, x)`
# evaluates both and picks; one program serves both flags. It also works for a flag that
# another program has computed.

# %%
pick = jax.jit(lambda x, neg: jnp.where(neg, -x, x))
with watch_traces() as traces:
    print(pick(1, True), pick(1, False))
traces

# %% [markdown]
# ### What static costs
#
# Each new static value is traced **and compiled**: see the reasons below. So make
# static what decides about shapes or about Python's way, and little else. A static
# value must be hashable: a tuple, not a list.

# %%
power = jax.jit(lambda x, n: x**n, static_argnums=(1,))
with watch_traces() as traces:
    for n in (2, 3, 2):
        power(1.5, n)
traces


# %% exercise
@exercise(
    title="Make it jit-safe: which one is static?",
    points=3,
    hints=[
        "Which of `width` and `scale` decides about a shape? What happens for a new `scale` if it is static?",
        "`@partial(jax.jit, static_argnames=...)` above a `def` jits it with static arguments. "
        "https://docs.jax.dev/en/latest/jit-compilation.html#marking-arguments-as-static",
        '@partial(jax.jit, static_argnames="____")\ndef moving_sum(x, width, scale):\n'
        "    window = jnp.ones(width)\n    return scale * ____",
        """# Like it: some points from 0 on. `count` makes the shape, `step` does not.
@partial(jax.jit, static_argnums=0)
def points_apart(count, step):
    return jnp.arange(count) * step

with watch_traces() as counted:
    print(points_apart(3, 0.5).tolist())  # [0.0, 0.5, 1.0]
    print(points_apart(3, 2.0).tolist())  # [0.0, 2.0, 4.0]
print(counted.traces)  # 1""",
    ],
)
def moving_sum(x, width, scale):
    """Add `width` neighbours at each place, times a scale. Jit this function, all of it: one program for each width.

    It is called as it is, and not put into another `jax.jit`.

    Args:
        x: float32[n].
        width: int, from 1 to n.
        scale: float; every call may bring another one.

    Returns:
        float32[n-width+1]: number i is the scale times the sum of `x[i : i + width]`.
    """
    window = jnp.ones(width)
    return scale * jnp.convolve(x, window, mode="valid")


# %% check
@visible(moving_sum, stage="shape", idea="`width` decides about the shape of an array, so it must be static.")
def one_sum_for_each_place(answer, draw):
    """There are n - width + 1 sums."""
    for n, width in ((6, 2), (6, 3)):
        expect_shape(answer(draw.floats(n), width, 1.5), (n - width + 1,))


@visible(moving_sum, idea="Each call computes with its own width and scale.")
def neighbours_are_added_and_scaled(answer, draw):
    """Each number is the scale times the sum of its neighbours."""
    for width, scale in ((2, 1.5), (3, -2.0), (3, 0.5)):
        x = draw.floats(6)
        wanted = scale * np.convolve(np.asarray(x, np.float64), np.ones(width), "valid")
        expect_close(answer(x, width, scale), jnp.asarray(wanted, dtype=jnp.float32), rtol=1e-4, atol=1e-5)


@visible(
    moving_sum,
    stage="traces",
    idea="Static is what decides about shapes. A number that only takes part in the sums should be traced.",
    required=True,
)
def one_trace_for_each_width(answer, draw):
    """A new width makes a trace; a new scale makes none."""
    x = draw.floats(6)
    calls = [(x, 2, 1.5), (x, 2, 2.5), (x, 3, 3.5), (x, 3, 4.5), (x, 2, 5.5)]
    counts = [seen.traces for seen in answer.observe_calls(calls)]
    expect_that(
        counts[0] > 0,
        "The function should be jitted; in the first call nothing was traced by `jax.jit`.",
        counts,
        "traces: [1, 0, 1, 0, 0]",
    )
    message = "A new scale should make no trace."
    expect_that(counts[1] == counts[3] == 0, message, f"traces: {counts}", "traces: [1, 0, 1, 0, 0]")
    message = "A width that was there before should make no trace."
    expect_that(counts[4] == 0, message, f"traces: {counts}", "traces: [1, 0, 1, 0, 0]")


# %% [markdown]
# ### A loop of unknown length
#
# `range(n)` needs a Python int. With a static n it works: the loop is *unrolled* while
# tracing, so that the program grows with n, and each n has its own.


# %%
def halves(x, n):
    """Halve x n times, with a Python loop."""
    for _ in range(n):
        x = x / 2
    return x


draw_program(partial(halves, n=4), 1.0)

# %% [markdown]
# `jax.lax.fori_loop(start, stop, body, value)` is a loop **inside** the program. It
# runs `value = body(i, value)` for each i. `stop` may be traced, and `value` may be a
# tuple; its shapes and dtypes must stay.

# %%
halve_often = jax.jit(lambda x, n: jax.lax.fori_loop(0, n, lambda i, value: value / 2, x))
with watch_traces() as traces:
    print([float(halve_often(1.0, n)) for n in (0, 1, 4, 10)])
traces


# %% exercise
@exercise(
    title="Make it fast: one program for every n",
    points=3,
    hints=[
        "Which two values change from one round of the loop to the next?",
        "Carry both in a tuple through `jax.lax.fori_loop(0, n, body, (total, power))`. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html",
        "def body(i, carry):\n    total, power = carry\n    power = power * x\n    return ____, power\n\n"
        "start = jnp.zeros_like(x), jnp.ones_like(x)\ntotal, _ = jax.lax.fori_loop(____, ____, body, start)\n"
        "return total",
        """# Like it: the n-th Fibonacci number; each round needs the last two.
@jax.jit
def fibonacci(n):
    def body(i, carry):
        last, this = carry
        return this, last + this

    return jax.lax.fori_loop(0, n, body, (0, 1))[0]

print([int(fibonacci(n)) for n in (1, 2, 10)])  # [1, 1, 55]""",
    ],
)
def sum_of_powers(x, n):
    """Add up the first n powers of each number: x + x² + ... + xⁿ. Make it work under `jax.jit`, with a traced n.

    One program serves every n, and its length does not depend on n. n may be 0, and a number of x may be 1.

    Args:
        x: float32[m].
        n: int32[], or a Python int; 0 or more.

    Returns:
        float32[m].
    """
    total, power = jnp.zeros_like(x), jnp.ones_like(x)
    for _ in range(n):
        power = power * x
        total = total + power
    return total


# %% check
def powers_added(x, n):
    """Return what `sum_of_powers` should give."""
    x = np.asarray(x, np.float64)
    return jnp.asarray(sum((x**k for k in range(1, n + 1)), np.zeros_like(x)), dtype=jnp.float32)


@visible(sum_of_powers, stage="shape")
def one_sum_for_each_number(answer, draw):
    """There is one sum for each number."""
    expect_shape(answer(draw.floats(4), 3), (4,))


@visible(sum_of_powers, idea="The first power is x itself, and the last one the n-th.")
def the_powers_are_added(answer):
    """The sum is x + x² + ... + xⁿ, for any n and any x."""
    x = jnp.array([0.5, -2.0, 1.0])
    for n in (0, 1, 2, 5):
        expect_close(answer(x, n), powers_added(x, n), rtol=1e-4, atol=1e-5)


@visible(
    sum_of_powers,
    stage="jit",
    idea="Under `jit` n is a tracer: Python's `range` cannot use it; `fori_loop` and `while_loop` can.",
    required=True,
)
def powers_with_a_traced_n(answer):
    """Under `jax.jit`, with a traced n, the result is the same."""
    x = jnp.array([0.5, -2.0, 1.0])
    for n in (3, 0, 12):
        expect_close(answer.jit(x, n), powers_added(x, n), rtol=1e-4, atol=1e-4)


@visible(sum_of_powers, stage="traces", idea="One program with a loop inside serves every n.")
def one_program_for_every_n(answer, draw):
    """After the first call no other n is traced."""
    x = draw.floats(3)
    counts = [seen.traces for seen in answer.jit.observe_calls([(x, n) for n in (2, 5, 0, 9)])]
    expect_that(
        sum(counts[1:]) == 0,
        "After the first call no other n should be traced.",
        f"traces: {counts}",
        "traces: [1, 0, 0, 0]",
    )


# %% [markdown]
# ## Part 4. Static and traced operations
#
# Not only values are static or traced: **operations** are. A static operation is done
# by Python, once, while tracing. A traced one is written into the program and done in
# each call.
#
# The shape of a tracer is static: a plain tuple of ints. But what you do with it may
# make it traced again.


# %% exercise
@exercise(
    title="Three lines",
    points=1,
    reproduces=["S1-30"],
    hints=[
        "Which library computes the product: Python, NumPy, or JAX? And when does the function run?",
        "Under `jax.jit`, what `jnp` computes is traced, even from plain numbers. "
        "https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html#static-vs-traced-operations",
        '@jax.jit\ndef three_lines(x):\n    product = ____\n    print(f"x = {x}")\n    print(f"x.shape = {x.shape}")\n'
        '    print(f"jnp.array(x.shape).prod() = {____}")\n    return product',
        """# Like it: is the length of a vector traced, and what JAX makes of it?
@jax.jit
def tell_length(v):
    root = jnp.sqrt(len(v))
    print(f"len(v) = {len(v)}")
    print(f"jnp.sqrt(len(v)) = {root}")
    return root

print(tell_length(jnp.ones(9)))  # 3.0, after a number and a tracer""",
    ],
)
def three_lines(x):
    """Jit this function, and let it print what is traced.

    It prints three lines: `x = ...`, `x.shape = ...` and `jnp.array(x.shape).prod() = ...`, with what `print` shows of
    each, and returns the last one.

    Args:
        x: a JAX array with one axis or more.

    Returns:
        int32[]: `jnp.array(x.shape).prod()`.
    """
    ...


# %% check
@visible(three_lines, idea="The product of the shape is the number of elements.")
def the_number_of_elements(answer):
    """It returns the number of elements, as an int32."""
    for shape in ((2, 3), (4, 5, 2)):
        expect_close(answer(jnp.ones(shape)), jnp.int32(np.prod(shape)))


@visible(
    three_lines,
    stage="traces",
    idea="x is traced, its shape is static, and what `jnp` makes of the shape is traced again.",
    reproduces=["S1-30"],
    required=True,
)
def three_lines_tell_what_is_traced(answer):
    """For float32[2,3] the three lines are those of the document."""
    lines = told(answer.observe(jnp.ones((2, 3))))
    message = "Under `jit` three lines should be printed: a tracer, the shape (2, 3), and a tracer."
    expect_documented("S1-30", lines, part="today", message=message)
    expect_documented("S1-30", [as_in_older_texts(line) for line in lines], part="documented", message=message)


# %% [markdown]
# So `jnp` on a shape makes a tracer, and the shape of a result must not be one. Here
# are two ways to multiply the numbers of a shape.


# %%
def numpys_product(shape):
    """Multiply with NumPy: a static operation."""
    return np.prod(shape)


def jaxs_product(shape):
    """Multiply with JAX: a traced operation."""
    return jnp.array(shape).prod()


# %% exercise
@exercise(
    title="Flatten, with two libraries",
    points=2,
    reproduces=["S1-29", "S1-31"],
    hints=[
        "Where must `product` be called so that it sees what a jitted function sees?",
        "`x.reshape(n)` gives a vector of n numbers. A shape must be known while tracing. "
        "https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html#static-vs-traced-operations",
        "@jax.jit\ndef flatten(x):\n    return x.reshape(____)\n\nreturn flatten",
        """# Like it: a function that pads a vector; `zeros_for` tells by how much.
def make_padded(zeros_for):
    @jax.jit
    def padded(v):
        return jnp.pad(v, (0, zeros_for(len(v))))

    return padded

to_even_length = make_padded(lambda n: n % 2)
print(to_even_length(jnp.ones(3)).tolist())  # [1.0, 1.0, 1.0, 0.0]""",
    ],
)
def flatten_with(product):
    """Make a jitted function that flattens an array; its new length is computed by `product`, while it is traced.

    Args:
        product: a function that multiplies the numbers of a shape: `numpys_product` or `jaxs_product`. Its result goes
            into `reshape` as it is. One of the two fails; let it.

    Returns:
        A jitted function: an array with one axis or more -> the same numbers in a vector.
    """
    ...


# %% check
@visible(flatten_with, idea="NumPy multiplies while tracing: the length is a plain number.", reproduces=["S1-31"])
def numpys_product_flattens(answer):
    """With `numpys_product`, ones of shape (2, 3) become six ones."""
    got = answer.then(given(numpys_product.__name__))(jnp.ones((2, 3)))
    expect_shape(got, (6,))
    expect_documented("S1-31", got)


@visible(flatten_with, idea="Flattening keeps the order of the numbers, row by row.")
def the_numbers_keep_their_order(answer, draw):
    """With `numpys_product`, the numbers of any array come row by row."""
    x = draw.floats(2, 3, 2)
    expect_close(answer.then(given(numpys_product.__name__))(x), x.ravel())


@visible(
    flatten_with,
    stage="jit",
    idea="What `jnp` computes under `jit` is a tracer, and a shape cannot be one.",
    reproduces=["S1-29"],
    required=True,
)
def jaxs_product_is_no_shape(answer):
    """With `jaxs_product`, the call raises TypeError: a shape must be concrete."""
    seen = answer.then(given(jaxs_product.__name__)).observe_error(jnp.ones((2, 3)))
    message = "With `jaxs_product` the call should fail, because the product is traced; yours returned a value."
    expect_that(seen.error is not None, message, seen.value, "TypeError")
    message = (
        "The call should fail in `reshape`, with what `product(x.shape)` returns as it is; yours failed otherwise."
    )
    kind, line = as_raised(seen)
    line = line.replace("(JitTracer(int32[]),)", "[JitTracer(int32[])]")  # the shape written as a tuple
    expect_documented("S1-29", [kind, line], part="today", message=message)
    expect_documented("S1-29", [kind, as_in_older_texts(line)], part="documented", message=message)


# %% [markdown]
# Here is the failing one, line by line. (The document's message blames the operation
# `convert_element_type`; since JAX 0.6.1 it is `reduce_prod`: an array made of plain
# numbers is no operation of its own any more.)


# %%
def flatten_by_jax(x):
    """Flatten, with a length that is traced."""
    length = jnp.array(x.shape).prod()
    return x.reshape(length)


show_lines(flatten_by_jax, jnp.ones((2, 3)))

# %% [markdown]
# That gives the rule: **`np` for what should stay static, `jnp` for what should be
# traced.** NumPy cannot do more: it does not know tracers.


# %%
def size_by_numpy(x):
    """Multiply the shape with NumPy."""
    return np.prod(x.shape)


def size_by_jax(x):
    """Multiply the shape with JAX."""
    return jnp.array(x.shape).prod()


def sine_by_numpy(x):
    """Take the sine with NumPy."""
    return np.sin(x)


def sine_by_jax(x):
    """Take the sine with JAX."""
    return jnp.sin(x)


def zeros_by_numpy(x):
    """Make zeros of the shape of x with NumPy."""
    return np.zeros(x.shape)


def zeros_by_jax(x):
    """Make zeros of the shape of x with JAX."""
    return jnp.zeros(x.shape)


def first_number(x):
    """Ask for the first number of x, as a Python float."""
    return float(x.ravel()[0])


def half(x):
    """Divide by two."""
    return x / 2


def unchanged(x):
    """Return x as it is."""
    return x


def shape_of(x):
    """Return the shape of x, a tuple."""
    return x.shape


def positive_numbers(x):
    """Select by a mask."""
    return x[x > 0]


def four_columns(x):
    """Refuse anything that has not four columns."""
    if x.shape[-1] != 4:
        raise ValueError("four columns are needed")
    return x


# %% exercise
@exercise(
    title="Transfer: static, traced or refused?",
    points=3,
    reproduces=["S1-32"],
    hints=[
        "Where must you look at the result of the operation: outside of a jitted function, or inside?",
        "Inside `jax.jit` a traced value is a `jax.Array`, a static one is not; errors can be caught. "
        "https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html#static-vs-traced-operations",
        "found = []\n\n@jax.jit\ndef look(x):\n    try:\n        value = operation(x)\n    except ____:\n"
        '        found.append("refused")\n    else:\n        found.append("traced" if ____ else "static")\n'
        "    return x\n\nlook(x)\nreturn found[0]",
        """# Like it: which values inside a jitted function are JAX arrays there?
noted = {}

@jax.jit
def probe(v):
    for name, value in {"v": v, "shape": v.shape, "twice": 2 * v}.items():
        noted[name] = isinstance(value, jax.Array)
    return v

probe(jnp.ones(3))
print(noted)  # {'v': True, 'shape': False, 'twice': True}""",
    ],
)
def static_or_traced(operation, x):
    """Find out how an operation behaves under `jax.jit`, where x is a tracer.

    Args:
        operation: a function of one array, such as `size_by_numpy`. It may return what it gets, or a tuple of ints, and
            it may raise any exception.
        x: an array.

    Returns:
        A str: "static" if its result is a plain Python or NumPy value, "traced" if it is a tracer, "refused" if it
        raises an exception, of whatever class.
    """
    ...


# %% check
SENT_BY_THE_KEY = ("flatten_by_jax", "unchanged", "shape_of", "positive_numbers", "four_columns")


def kinds_told(answer, *operations):
    """Return what the answer says of some operations on a small array."""
    return [answer(given(one.__name__), jnp.ones((2, 3))) for one in operations]


@visible(
    static_or_traced,
    idea="NumPy's operations are static, and refuse tracers; JAX's operations are traced.",
    reproduces=["S1-32"],
)
def four_operations_are_told_apart(answer):
    """The size is static by NumPy and traced by JAX; the sine is refused by NumPy and traced by JAX."""
    got = kinds_told(answer, size_by_numpy, size_by_jax, sine_by_numpy, sine_by_jax)
    message = (
        "The size by NumPy should be static, the size by JAX traced, the sine by NumPy refused, the sine by JAX traced."
    )
    expect_documented("S1-32", got, message=message)


@visible(static_or_traced, idea="An array of NumPy's is static; also zeros of JAX are traced under `jit`.")
def arrays_are_told_apart(answer):
    """Zeros are static by NumPy and traced by JAX; half of x is traced."""
    got = kinds_told(answer, zeros_by_numpy, zeros_by_jax, half)
    message = "The zeros by NumPy should be static, the zeros by JAX traced, and half of x traced."
    expect_that(got == ["static", "traced", "traced"], message, got, ["static", "traced", "traced"])


@visible(static_or_traced, idea="`float` needs a number, and a tracer has none. That error has another class.")
def every_refusal_counts(answer):
    """A Python float of a tracer is refused."""
    got = kinds_told(answer, first_number)
    expect_that(got == ["refused"], "`float` of a tracer raises an error, so it should be refused.", got, ["refused"])


# %% [markdown]
# See it line by line: the size is computed once, by NumPy. Only the sum and the
# division are in the program.


# %%
def mean(x):
    """Compute the mean: a static size, and a traced sum."""
    size = np.prod(x.shape)
    total = jnp.sum(x)
    return total / size


show_lines(mean, jnp.ones((2, 3)))

# %% [markdown]
# ## What to remember
#
# - `jit` runs a function as one program. It pays for what is long or called often; the
#   first call traces and compiles.
# - While it traces, your code sees tracers: shapes and dtypes, no numbers. Prints and
#   appends happen once for each trace.
# - A new shape, dtype, static value or function object is traced anew; new numbers are
#   not.
# - Values from outside are frozen; tracers must not escape. Pass arguments, return
#   results.
# - No selecting by mask, no `if` on a tracer: use `jnp.where`, `fori_loop`, or a static
#   argument, which costs a compile for each value.
# - `np` for what is static, `jnp` for what is traced.

# %% [markdown]
# ## What to read next
#
# - [How to think in
#   JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html), the page behind
#   this lesson
# - [Just-in-time compilation](https://docs.jax.dev/en/latest/jit-compilation.html):
#   when not to jit, and caching
# - [JAX errors](https://docs.jax.dev/en/latest/errors.html): each error with its causes
#   and repairs
# - [Control flow](https://docs.jax.dev/en/latest/control-flow.html): `cond`, `scan`,
#   `while_loop`
# - [The jaxpr language](https://docs.jax.dev/en/latest/jaxpr.html)
