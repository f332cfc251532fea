# %% check
from jaxguide.course.author import (
    exercise,
    expect_close,
    expect_documented,
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
    is_tuple = isinstance(got, tuple | list) or hasattr(got, "children")  # a NamedTuple is a node with children
    expect_that(is_tuple and len(got) == count, message, got)
    return list(got)


def shown(array):
    """Return what the document shows of an array: its dtype and its numbers."""
    array = np.asarray(array)
    return {"dtype": str(array.dtype), "result": array.tolist()}


def documented_batch(rows=2):
    """Return the document's batch: x and w, stacked."""
    return jnp.stack([jnp.arange(5)] * rows), jnp.stack([jnp.array([2.0, 3.0, 4.0])] * rows)


def slid(xs, ws):
    """Return what a batch should give, as NumPy computes it."""
    return np.stack([np.correlate(x, w, "valid") for x, w in zip(np.asarray(xs), np.asarray(ws), strict=True)])


def grows(answer, small, large):
    """Say whether a program is longer for 40 rows, the arguments `large`, than for 4, the arguments `small`."""
    # A loop adds several equations for each of the 36 more; padding or reshaping may add a few in all.
    return answer.program(*large).equations >= answer.program(*small).equations + 36


def expect_no_growth(answer, small, large, message):
    """Expect a program that is as long for 40 rows, the arguments `large`, as for 4, the arguments `small`."""
    lengths = [answer.program(*args).equations for args in (small, large)]
    long, short = lengths[1], lengths[0]
    expect_that(not grows(answer, small, large), message, f"{long} equations for 40 rows", f"{short}, as for 4")


def expect_no_loop(answer, *args):
    """Expect a program without the loops that `jax.lax.map`, `scan` and `fori_loop` make."""
    loops = [name for name in ("scan", "while") if answer.program(*args).primitives.get(name)]
    message = "The program should do all at once; yours holds a loop, which does one after the other."
    expect_that(not loops, message, ", ".join(loops), "no scan, no while")


UNROLLED = (
    "The program should be as long for 40 as for 4, and yours grows with the batch. Use `jax.vmap`, or an operation "
    "for all at once."
)


# %% [markdown]
# # Automatic vectorization
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


# %% exercise
@exercise(
    title="A sliding dot product",
    points=1,
    core=True,
    minutes=4,
    reproduces=["S2-01"],
    hints=[
        "Into how many places can k weights be put on n numbers, if none may stick out?",
        "The window that starts at i is `x[i : i + k]`; `jnp.dot` multiplies and adds. "
        "https://docs.jax.dev/en/latest/automatic-vectorization.html",
        "k = len(w)\ndots = []\nfor start in range(____):\n    dots.append(jnp.dot(x[start : start + k], w))\n"
        "return jnp.array(dots)",
        """# Like it: weigh the numbers of every full block; blocks do not overlap.
def weigh_blocks(values, weights):
    k = len(weights)
    dots = []
    for block in range(len(values) // k):  # so many full blocks fit
        part = values[block * k : (block + 1) * k]
        dots.append(jnp.dot(part, weights))
    return jnp.array(dots)


digits = jnp.array([1.0, 10.0, 100.0])
print(weigh_blocks(jnp.arange(7), digits))  # [210. 543.]""",
    ],
)
def sliding_dot(x, w):
    """Put the weights on every window of the vector that fits; the weights stay in their order.

    >>> sliding_dot(jnp.array([1.0, 0.0, 2.0]), jnp.array([10.0, 1.0]))
    Array([10.,  2.], dtype=float32)

    Args:
        x: int32[n] or float32[n].
        w: float32[k], with k from 1 to n.

    Returns:
        float32[n-k+1]: number i is the dot product of `x[i : i + k]` and `w`.
    """
    ...


# %% check
@visible(sliding_dot, stage="shape", idea="k weights fit on n numbers in n - k + 1 places.")
def every_full_window_counts(answer, draw):
    """There is one number for each window that fits."""
    for n, k in ((5, 3), (6, 2)):
        expect_shape(answer(draw.floats(n), draw.floats(k)), (n - k + 1,))


@visible(sliding_dot, idea="The first weight meets the first number of the window.", reproduces=["S2-01"])
def the_documented_numbers_come_out(answer):
    """For 0, 1, 2, 3, 4 and the weights 2, 3, 4 the result is 11, 20, 29."""
    message = "For x = [0 1 2 3 4] and w = [2 3 4] the result should be [11 20 29]."
    got = answer(jnp.arange(5), jnp.array([2.0, 3.0, 4.0]))
    if np.allclose(np.asarray(got), [7.0, 16.0, 25.0]):
        message = "The weights were turned round: the first weight belongs to the first number of the window."
    expect_documented("S2-01", shown(got), message=message)


@visible(sliding_dot, idea="The number of weights is a shape, so Python may use it.")
def any_number_of_weights(answer, draw):
    """It works for two weights as well, also if the vector is of integers and the weights are not."""
    w = draw.floats(2)
    for x in (draw.floats(6), jnp.arange(6)):
        wanted = np.correlate(np.asarray(x, np.float32), np.asarray(w), "valid")
        expect_close(answer(x, w), wanted, "Number i should be the dot product of `x[i : i + k]` and `w`.")


# %% documented S2-01
# The page calls this a convolution, and the numbers are still these. NumPy calls it a
# correlation: a convolution turns the weights round.
x = jnp.arange(5)
w = jnp.array([2.0, 3.0, 4.0])


def convolve(x, w):
    output = []
    for i in range(1, len(x) - 1):
        output.append(jnp.dot(x[i - 1 : i + 2], w))
    return jnp.array(output)


convolve(x, w)

# documented
# Array([11., 20., 29.], dtype=float32)


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


# %% exercise
@exercise(
    title="Stack and loop",
    points=1,
    core=True,
    minutes=3,
    reproduces=["S2-02", "S2-03"],
    hints=[
        "What shape has a batch of two vectors of five numbers?",
        "`jnp.stack` puts arrays of one shape along a new axis. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.stack.html",
        "xs = jnp.stack(vectors)\nws = ____\n"
        "rows = [slide(xs[i], ____) for i in range(len(xs))]\nreturn xs, ws, jnp.stack(rows)",
        """# Like it: stack a list of tables, and add up the diagonal of each.
def stack_and_trace(tables):
    batch = jnp.stack(tables)  # three tables [2,2] -> [3,2,2]
    sums = [jnp.trace(batch[i]) for i in range(len(batch))]
    return batch, jnp.stack(sums)


one_table = jnp.array([[1, 2], [3, 4]])
batch, sums = stack_and_trace([one_table, 10 * one_table, one_table])
print(batch.shape, sums)  # (3, 2, 2) [ 5 50  5]""",
    ],
)
def loop_over_batch(vectors, weights):
    """Make two batches of lists, and slide row by row, in a Python loop. The lists stay as they are.

    >>> _, _, rows = loop_over_batch([jnp.arange(3)] * 2, [jnp.ones(3), jnp.zeros(3)])
    >>> rows
    Array([[3.],
           [0.]], dtype=float32)

    Args:
        vectors: a list of b arrays [n].
        weights: a list of b arrays float32[3].

    Returns:
        A tuple `(xs, ws, slid)`: the stacked vectors [b,n] with their dtype, the stacked weights
        float32[b,3], and float32[b,n-2], where row i is `slide(xs[i], ws[i])`.
    """
    ...


# %% check
@visible(loop_over_batch, stage="shape", idea="`jnp.stack` makes a new first axis.", reproduces=["S2-02"])
def batches_have_a_new_first_axis(answer):
    """Two vectors and two sets of weights become int32[2,5] and float32[2,3]."""
    x, w = jnp.arange(5), jnp.array([2.0, 3.0, 4.0])
    got = parts(answer([x, x], [w, w]), 3)
    seen = [[list(np.shape(np.asarray(one))), str(np.asarray(one).dtype)] for one in got[:2]]
    expect_documented("S2-02", seen, message="Stack the arrays as they are: shapes (2, 5) and (2, 3), dtypes kept.")


@visible(loop_over_batch, idea="Row i of the result belongs to vector i and to weights i.")
def each_row_has_its_own_weights(answer, draw):
    """With different weights for each vector, each row is made with its own."""
    xs, ws = draw.floats(4, 6), draw.floats(4, 3)
    got = parts(answer([xs[i] for i in range(4)], [ws[i] for i in range(4)]), 3)
    expect_close(got[2], slid(xs, ws), "Row i should be `slide(xs[i], ws[i])`.")


@visible(
    loop_over_batch,
    stage="cost",
    idea="A Python loop makes the operations of each row anew.",
    reproduces=["S2-03"],
    required=True,
)
def the_loop_gives_the_documented_rows(answer):
    """For twice the same vector and weights, both rows are 11, 20, 29; four rows take twice as many products."""
    x, w = jnp.arange(5), jnp.array([2.0, 3.0, 4.0])
    counts = [answer.program([x] * n, [w] * n).primitives.get("dot_general", 0) for n in (2, 4)]
    found = {**shown(parts(answer([x, x], [w, w]), 3)[2]), "products for 2 rows and 4": counts}
    message = "Both rows should be [11 20 29], and a loop should make three dot products for each row."
    expect_documented("S2-03", found, message=message)


# %% documented S2-02 S2-03
# Documented and today's output agree. (`convolve` is the page's name for `slide`.)
convolve = slide
xs = jnp.stack([x, x])
ws = jnp.stack([w, w])


def manually_batched_convolve(xs, ws):
    output = []
    for i in range(xs.shape[0]):
        output.append(convolve(xs[i], ws[i]))
    return jnp.stack(output)


manually_batched_convolve(xs, ws)

# documented
# Array([[11., 20., 29.],
#        [11., 20., 29.]], dtype=float32)


# %% [markdown]
# ### A batch, by hand
#
# The loop is right, but slow: each row has operations of its own, and each of them is
# started by Python. It would be better if one operation did all rows. For that you must
# rewrite the function, and think every index and every axis through again. (A loop over
# the windows may stay: there are as many windows for 256 rows as for one.)


# %% exercise
@exercise(
    title="Repair: vectorized by hand",
    points=2,
    core=True,
    minutes=5,
    reproduces=["S2-05"],
    hints=[
        "`xs` has two axes now. Which axis is sliced? Which axis is summed, and which one is new in the result?",
        "Multiply element by element and sum over the window's axis; `jnp.stack` takes an `axis`. "
        "https://docs.jax.dev/en/latest/automatic-vectorization.html",
        "dots = []\nfor i in range(1, xs.shape[____] - 1):\n"
        "    dots.append(jnp.sum(xs[:, i - 1 : i + 2] * ws, axis=____))\n"
        "return jnp.stack(dots, axis=____)",
        """# Like it: add neighbouring columns, for pictures[b,h,w] and not for one[h,w].
def add_neighbours(pictures):
    sums = []
    for i in range(pictures.shape[2] - 1):  # for one picture: shape[1]
        two = pictures[:, :, i : i + 2]  # for one: picture[:, i : i + 2]
        sums.append(jnp.sum(two, axis=2))  # for one: axis=1
    return jnp.stack(sums, axis=2)  # for one: axis=1


pictures = jnp.arange(12).reshape(2, 2, 3)
print(add_neighbours(pictures).shape)  # (2, 2, 2)
print(add_neighbours(pictures)[1, 0])  # [13 15]""",
    ],
)
def vectorized_by_hand(xs, ws):
    """Slide a batch, so that each operation does all rows. The body below was written for one vector: repair it.

    >>> vectorized_by_hand(jnp.array([[1, 2, 3, 4], [0, 1, 0, 1]]), jnp.ones((2, 3)))
    Array([[6., 9.],
           [1., 2.]], dtype=float32)

    Args:
        xs: [b,n], a batch of vectors.
        ws: float32[b,3], the weights of each.

    Returns:
        float32[b,n-2]: row i is `slide(xs[i], ws[i])`. No Python loop over the rows, and no loop of `jax.lax`; a Python
        loop over the windows may stay.
    """
    return jnp.array([jnp.dot(xs[i - 1 : i + 2], ws) for i in range(1, len(xs) - 1)])


# %% check
@visible(vectorized_by_hand, stage="shape", idea="The batch is the first axis, going in and coming out.")
def the_batch_stays_first(answer, draw):
    """For xs[4,6] the result is [4,4], and for xs[2,5] it is [2,3]."""
    expect_shape(
        answer(draw.floats(2, 5), draw.floats(2, 3)), (2, 3), "For xs[2,5] and ws[2,3] the result should be [2,3]."
    )
    expect_shape(answer(draw.floats(4, 6), draw.floats(4, 3)), (4, 4))


@visible(vectorized_by_hand, idea="Each row is multiplied with its own weights and summed along the row.")
def rows_do_not_mix(answer, draw):
    """Each row is that of the loop."""
    xs, ws = draw.floats(4, 6), draw.floats(4, 3)
    expect_close(answer(xs, ws), slid(xs, ws), "Row i should be `slide(xs[i], ws[i])`.")


@visible(
    vectorized_by_hand,
    stage="cost",
    idea="A vectorized operation is one operation for any number of rows.",
    reproduces=["S2-05"],
    required=True,
)
def by_hand_gives_the_documented_rows(answer):
    """For twice the same vector and weights, both rows are 11, 20, 29; the program is as long for 40 rows as for 4."""
    found = shown(answer(*documented_batch()))
    found["grows with the batch"] = grows(answer, documented_batch(4), documented_batch(40))
    message = UNROLLED if found["grows with the batch"] else "Both rows should be [11 20 29]."
    expect_documented("S2-05", found, message=message)


# %% documented S2-05
# Documented and today's output agree.
def manually_vectorized_convolve(xs, ws):
    output = []
    for i in range(1, xs.shape[-1] - 1):
        output.append(jnp.sum(xs[:, i - 1 : i + 2] * ws, axis=1))
    return jnp.stack(output, axis=1)


manually_vectorized_convolve(jnp.stack([x, x]), jnp.stack([w, w]))

# documented
# Array([[11., 20., 29.],
#        [11., 20., 29.]], dtype=float32)


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


# %% exercise
@exercise(
    title="Vectorized by vmap",
    points=1,
    core=True,
    minutes=2,
    reproduces=["S2-06"],
    hints=[
        "Which function works for one vector and one set of weights?",
        "`jax.vmap(f)` returns a function; call it with the batches. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.vmap.html",
        "return jax.vmap(____)(____, ____)",
        """# Like it: how far a vector reaches in a direction, for many such pairs.
def reach(vector, direction):
    return jnp.dot(vector, direction) / jnp.linalg.norm(direction)


vectors = jnp.array([[3.0, 4.0], [1.0, 2.0]])
directions = jnp.array([[1.0, 0.0], [0.0, 5.0]])
reach_of_each = jax.vmap(reach)  # a function for batches
print(reach_of_each(vectors, directions))  # [3. 2.]""",
    ],
)
def vectorized_by_vmap(xs, ws):
    """Slide a batch, with `slide` as it is, without a Python loop over the rows, and without a loop of `jax.lax`.

    >>> vectorized_by_vmap(jnp.array([[1, 2, 3, 4], [0, 1, 0, 1]]), jnp.ones((2, 3)))
    Array([[6., 9.],
           [1., 2.]], dtype=float32)

    Args:
        xs: [b,n].
        ws: float32[b,3].

    Returns:
        float32[b,n-2]: row i is `slide(xs[i], ws[i])`.
    """
    ...


# %% check
@visible(vectorized_by_vmap, idea="Row i of one batch goes with row i of the other.")
def rows_go_together(answer, draw):
    """Row i is made of vector i and weights i."""
    xs, ws = draw.floats(4, 6), draw.floats(4, 3)
    expect_close(answer(xs, ws), slid(xs, ws), "Row i should be `slide(xs[i], ws[i])`.")


@visible(
    vectorized_by_vmap,
    stage="cost",
    idea="`vmap` needs no other function than the one for one row.",
    reproduces=["S2-06"],
    required=True,
)
def vmap_gives_the_documented_rows(answer):
    """For twice the same vector and weights, both rows are 11, 20, 29, by three products, as in `slide` for one row."""
    products = answer.program(*documented_batch()).primitives.get("dot_general", 0)
    found = {**shown(answer(*documented_batch())), "products for 2 rows": products}
    message = "Both rows should be [11 20 29]."
    if products != 3:
        message = f"`slide`, mapped, should make 3 dot products for two rows of five numbers; yours makes {products}."
    expect_documented("S2-06", found, message=message)


@visible(vectorized_by_vmap, stage="cost", idea="`vmap` makes one operation for all rows.", required=True)
def the_program_is_as_long_for_any_batch(answer, draw):
    """The program is as long for 40 rows as for 4."""
    small, large = (draw.floats(4, 6), draw.floats(4, 3)), (draw.floats(40, 6), draw.floats(40, 3))
    expect_no_growth(answer, small, large, UNROLLED)


# %% documented S2-06
# Documented and today's output agree. (`convolve` is the page's name for `slide`.)
convolve = slide
auto_batch_convolve = jax.vmap(convolve)
auto_batch_convolve(jnp.stack([x, x]), jnp.stack([w, w]))

# documented
# Array([[11., 20., 29.],
#        [11., 20., 29.]], dtype=float32)

# %% [markdown]
# ### What `vmap` does inside
#
# `jax.vmap(slide)` runs your function to find its operations. What does *your* function
# see while it runs?


# %% exercise
@prediction(
    title="Predict: the shape inside",
    points=1,
    core=True,
    minutes=1,
    hints=[
        "For how many examples is `slide` written?",
        "`vmap` hides the batch axis from the function. https://docs.jax.dev/en/latest/automatic-vectorization.html",
        "# A smaller case: inside `jax.vmap(f)(ys)` with ys of shape (7, 2), each y has shape (2,).\nreturn (____,)",
    ],
)
def predict_shape_inside():
    """`xs` has shape (2, 5). Inside `jax.vmap(slide)(xs, ws)`, what is `x.shape`?

    Returns:
        A tuple of ints.
    """
    ...


# %% check
@reveal(
    predict_shape_inside,
    why="`vmap` runs the function once, on tracers that stand for one row. The batch axis is hidden from it.",
    shows="""seen = []
jax.vmap(lambda x: (seen.append(x.shape), x)[1])(jnp.ones((2, 5)))
print(seen)""",
)
def the_shape_inside():
    """We mapped a function that notes the shape of its argument."""
    seen = []
    jax.vmap(lambda x: (seen.append(x.shape), x)[1])(jnp.ones((2, 5)))
    return seen[0]


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


# %% exercise
@exercise(
    title="Repair: jit around vmap, and the other way",
    points=2,
    core=True,
    minutes=3,
    reproduces=["S2-11", "S2-12"],
    hints=[
        "What does `jax.jit` take: a function, or the result of a call?",
        "`jax.jit(jax.vmap(f))` is a function, and so is `jax.vmap(jax.jit(f))`; each is then called. "
        "https://docs.jax.dev/en/latest/jit-compilation.html",
        "jit_outside = jax.jit(jax.vmap(slide))(____, ____)\njit_inside = jax.vmap(____)(xs, ws)\n"
        "return jit_outside, jit_inside",
        """# Like it: `jit` around, and then inside, a transformation of our own.
def doubled(function):
    return lambda values: 2 * function(values)


values = jnp.array([1, 2, 3])
around = jax.jit(doubled(jnp.cumsum))  # a function: nothing is computed yet
inside = doubled(jax.jit(jnp.cumsum))
print(around(values), inside(values))  # [ 2  6 12] [ 2  6 12]""",
    ],
)
def jit_and_vmap(xs, ws):
    """Slide a batch twice: with `jit` around `vmap`, and with `vmap` around `jit`, of `slide` both times.

    Both lines are wrong: repair them. No Python loop over the rows.

    >>> jit_and_vmap(jnp.array([[1, 2, 3, 4], [0, 1, 0, 1]]), jnp.ones((2, 3)))[1]
    Array([[6., 9.],
           [1., 2.]], dtype=float32)

    Args:
        xs: [b,n].
        ws: float32[b,3].

    Returns:
        A tuple of two arrays float32[b,n-2] with the same numbers.
    """
    jit_outside = jax.jit(jax.vmap(slide)(xs, ws))
    jit_inside = jax.vmap(jax.jit(slide(xs, ws)))
    return jit_outside, jit_inside


# %% check
@visible(
    jit_and_vmap, idea="A transformation takes a function; the arguments go to what it returns.", reproduces=["S2-11"]
)
def jit_outside_gives_the_documented_rows(answer):
    """With `jit` outside, both rows are 11, 20, 29."""
    got = parts(answer(*documented_batch()), 2)[0]
    message = "The first array should have two rows [11 20 29]."
    expect_shape(got, (2, 3), message)
    expect_documented("S2-11", {"jit of vmap": shown(got)}, message=message)


@visible(jit_and_vmap, idea="`vmap` maps a jitted function as well.", reproduces=["S2-12"])
def jit_inside_gives_the_same_rows(answer):
    """With `jit` inside, the rows are the same."""
    got = parts(answer(*documented_batch()), 2)[1]
    message = "The second array should have two rows [11 20 29]."
    expect_shape(got, (2, 3), message)
    expect_documented("S2-12", {"vmap of jit": shown(got)}, message=message)


@visible(
    jit_and_vmap,
    stage="traces",
    idea="`vmap` alone compiles nothing. Each of the two needs a `jit`: one around `vmap`, one around `slide`.",
    required=True,
)
def both_are_compiled(answer, draw):
    """In a first call, two jitted functions are traced."""
    traces = answer.observe(draw.floats(4, 6), draw.floats(4, 3)).traces
    message = f"`jax.jit` should trace two functions, `jax.vmap(slide)` and `slide`; in your answer it traces {traces}."
    expect_that(traces >= 2, message, f"{traces}", "2")


@visible(jit_and_vmap, idea="The order of `jit` and `vmap` does not change the result.")
def both_are_the_loop(answer, draw):
    """With different rows, both arrays are those of the loop."""
    xs, ws = draw.floats(4, 6), draw.floats(4, 3)
    for got in parts(answer(xs, ws), 2):
        expect_close(got, slid(xs, ws), "Row i should be `slide(xs[i], ws[i])`, in both arrays.")


# %% documented S2-11 S2-12
# Documented and today's output agree. The page says in words that `vmap` of a jitted
# function works, too. (`convolve` is the page's name for `slide`.)
convolve = slide
auto_batch_convolve = jax.vmap(convolve)
jitted_batch_convolve = jax.jit(auto_batch_convolve)
print(repr(jitted_batch_convolve(xs, ws)))
print(repr(jax.vmap(jax.jit(convolve))(xs, ws)))

# documented
# Array([[11., 20., 29.],
#        [11., 20., 29.]], dtype=float32)
# `jax.jit()` and `jax.vmap()` are composable: you can wrap a vmapped function with
# `jit`, or a jitted function with `vmap`.

# today
# Array([[11., 20., 29.],
#        [11., 20., 29.]], dtype=float32)
# Array([[11., 20., 29.],
#        [11., 20., 29.]], dtype=float32)

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


# %% exercise
@exercise(
    title="Four layouts",
    points=3,
    core=True,
    minutes=5,
    reproduces=["S2-08", "S2-09", "S2-10"],
    hints=[
        "In each layout, which axis of the series counts the examples, which axis of the weights, and which one of the "
        "result?",
        "`in_axes` is for what goes in, with an entry for each argument, and `None` for one without a batch axis; "
        "`out_axes` is for what comes out. https://docs.jax.dev/en/latest/_autosummary/jax.vmap.html",
        'axes = {"columns": (1, 1), "shared weights": ____, "one series, many weights": ____, "all shared": ____}\n'
        'out = 1 if layout == "columns" else 0\n'
        "return jax.vmap(slide, in_axes=____, out_axes=out)(series, weights)",
        """# Like it: the price of a basket, or of many, which may lie in rows or in columns.
def price(basket, prices):
    return jnp.dot(basket, prices)


baskets, prices = jnp.array([[1, 0, 2], [0, 3, 1]]), jnp.array([5, 1, 2])
in_rows = jax.vmap(price, in_axes=(0, None))
in_columns = jax.vmap(price, in_axes=(1, None))
print(in_rows(baskets, prices), in_columns(baskets.T, prices))  # [9 5] [9 5]
# Two shops, one basket: the prices of a shop are a column.
print(jax.vmap(price, in_axes=(None, 1))(baskets[0], jnp.array([[5, 6], [1, 1], [2, 2]])))  # [ 9 10]""",
    ],
)
def slide_layout(layout, series, weights):
    """Slide a batch that lies in one of four layouts: map `slide` over the right axes.

        layout                      series  weights  result
        "columns"                   [n,b]   [3,b]    [n-2,b]
        "shared weights"            [b,n]   [3]      [b,n-2]
        "one series, many weights"  [n]     [3,b]    [b,n-2]
        "all shared"                [n]     [3]      an error

    In "columns" each example is a column, in the result too; in the next two, the result has a row for each. In the
    last there is no batch: call `vmap` all the same, and let its own ValueError pass. Nothing is copied for the batch,
    and there is no Python loop and no loop of `jax.lax` over it.

    >>> slide_layout("shared weights", jnp.array([[1, 2, 3], [0, 1, 0]]), jnp.ones(3))
    Array([[6.],
           [1.]], dtype=float32)

    Args:
        layout: "columns", "shared weights", "one series, many weights" or "all shared".
        series: [n,b], [b,n] or [n], of ints or floats.
        weights: float32[3,b] or float32[3].

    Returns:
        The result, as the layout says.
    """
    ...


# %% check
def in_layout(layout, draw, b, n=6):
    """Return random arguments in a layout, and what they should give."""
    xs, ws = draw.floats(b, n), draw.floats(b, 3)
    if layout == "columns":
        return (xs.T, ws.T), slid(xs, ws).T
    if layout == "shared weights":
        return (xs, ws[0]), slid(xs, [ws[0]] * b)
    return (xs[0], ws.T), slid([xs[0]] * b, ws)


BATCHED = ("columns", "shared weights", "one series, many weights")


@visible(
    slide_layout, idea="`out_axes` says where the batch axis goes; without it, it comes first.", reproduces=["S2-08"]
)
def the_documented_columns(answer):
    """With "columns", for twice the same vector and weights, both columns are 11, 20, 29."""
    xs, ws = documented_batch()
    message = "With columns, both columns should be [11 20 29]."
    expect_documented("S2-08", shown(answer("columns", xs.T, ws.T)), message=message)


@visible(
    slide_layout,
    stage="cost",
    idea="`None` gives the whole argument to every row, and copies nothing.",
    reproduces=["S2-10"],
    required=True,
)
def shared_weights_give_the_documented_rows(answer):
    """With "shared weights", both rows are 11, 20, 29, and the weights are not copied for each row."""
    xs, w = jnp.stack([jnp.arange(5)] * 2), jnp.array([2.0, 3.0, 4.0])
    found = shown(answer("shared weights", xs, w))
    # The four windows of six numbers have the type of a copy of w.
    found["copies w"] = answer.program("shared weights", jnp.ones((2, 6)), w).results.get("float32[2,3]", 0) > 4
    message = "With shared weights, both rows should be [11 20 29], and the weights should not be copied."
    expect_documented("S2-10", found, message=message)


@visible(
    slide_layout,
    idea="A tuple or a list has an entry for each argument, and one of them must not be None.",
    reproduces=["S2-09"],
)
def the_rules_for_axes_hold(answer):
    """With one series and many weights the rows are right; with "all shared", `vmap` raises a ValueError."""
    x, w = jnp.arange(5), jnp.array([2.0, 3.0, 4.0])
    seen = answer.observe_error("all shared", x, w)
    message = "With all shared, `vmap` should raise its ValueError; yours returned a value."
    expect_that(seen.error is not None, message, seen.value, "ValueError")
    expect_raises(seen, "ValueError", "at least one non-None value in in_axes")
    by_hand = seen.error.source.lstrip().startswith("raise ")
    expect_that(not by_hand, "The error should be that of `vmap`; yours is raised by hand.", seen.error.source)
    rows = shown(answer("one series, many weights", x, jnp.stack([w, w], axis=1)))
    found = {"an entry for each argument": rows, "nothing mapped": seen.error.type_name}
    expect_documented("S2-09", found, message="With one series and many weights, both rows should be [11 20 29].")


@visible(slide_layout, idea="The batch axis may be any axis, and another one for each argument.")
def examples_go_together(answer, draw):
    """Each example is made with its weights, also where there are as many examples as weights."""
    for layout in BATCHED:
        for b in (3, 4):
            args, wanted = in_layout(layout, draw, b)
            expect_close(answer(layout, *args), wanted, f"With {layout}, each example should have its weights.")


@visible(slide_layout, stage="cost", required=True, idea="`vmap` makes one operation for all examples.")
def no_layout_needs_a_loop(answer, draw):
    """In each layout the program is as long for 40 examples as for 4, and holds no loop."""
    for layout in BATCHED:
        small, large = ((layout, *in_layout(layout, draw, b)[0]) for b in (4, 40))
        expect_no_growth(answer, small, large, UNROLLED)
        expect_no_loop(answer, *small)


# %% documented S2-08 S2-09 S2-10
# Documented and today's output agree. The page says in words that `in_axes` may be an
# integer or a list. Without any batch axis, JAX raises an error.
convolve = slide  # the page's name for it
auto_batch_convolve_v2 = jax.vmap(convolve, in_axes=1, out_axes=1)
print(repr(auto_batch_convolve_v2(xs.T, ws.T)))
batch_convolve_v3 = jax.vmap(convolve, in_axes=[0, None])
print(repr(batch_convolve_v3(xs, w)))
try:
    jax.vmap(convolve, in_axes=[None, None])(x, w)
except ValueError as error:
    print(f"ValueError: {error}")

# documented
# Use the arguments `in_axes` and `out_axes` to say where the batch dimension is. They
# can be an integer if it is the same for all inputs and outputs, or else lists.
# Array([[11., 11.],
#        [20., 20.],
#        [29., 29.]], dtype=float32)
# Array([[11., 20., 29.],
#        [11., 20., 29.]], dtype=float32)

# today
# Array([[11., 11.],
#        [20., 20.],
#        [29., 29.]], dtype=float32)
# Array([[11., 20., 29.],
#        [11., 20., 29.]], dtype=float32)
# ValueError: vmap must have at least one non-None value in in_axes...

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


# %% exercise
@exercise(
    title="An ensemble",
    points=2,
    core=True,
    minutes=5,
    hints=[
        "Which array differs from model to model, and which two are the same for all?",
        "`in_axes` has an entry for each argument, and the entry for the parameters may be a dict: an axis for one "
        "array, `None` for another. https://docs.jax.dev/en/latest/working-with-pytrees.html",
        'axes = {"w": ____, "b": ____}\nreturn jax.vmap(predict, in_axes=(axes, ____))(params, table)',
        """# Like it: many springs on one wall, pulled by the same force; where does each one end?
def end_of(spring, force):
    return spring["wall"] + force / spring["stiffness"]


springs = {"stiffness": jnp.array([1.0, 2.0, 4.0]), "wall": jnp.array(10.0)}
print(jax.vmap(end_of, in_axes=({"stiffness": 0, "wall": None}, None))(springs, 8.0))  # [18. 14. 12.]""",
    ],
)
def predict_with_all(params, table):
    """Let all models of an ensemble predict the same table. Each has its own weights; they share the level.

    `params` stays as it is.

    >>> models = {"w": jnp.array([[1.0], [2.0], [3.0]]), "b": jnp.array(0.5)}
    >>> predict_with_all(models, jnp.array([[10.0], [20.0]]))
    Array([[10.5, 20.5],
           [20.5, 40.5],
           [30.5, 60.5]], dtype=float32)

    Args:
        params: a dict of "w" float32[m,d], a row for each of m models, and "b" float32[].
        table: float32[n,d].

    Returns:
        float32[m,n]: row i is what `predict` gives with the weights of model i. One matrix product for all models, and
        no loop of `jax.lax`.
    """
    ...


# %% check
def some_models(draw, m, d=3):
    """Return parameters for m models."""
    return {"w": draw.floats(m, d), "b": draw.floats()}


def predicted(params, table):
    """Return what an ensemble should predict."""
    return np.asarray(params["w"]) @ np.asarray(table).T + np.asarray(params["b"])


@visible(predict_with_all, stage="shape", idea="There is a row for each model, and a column for each row of the table.")
def a_row_for_each_model(answer, draw):
    """For 4 models and a table of 5 rows, the result is [4,5]."""
    expect_shape(answer(some_models(draw, 4), draw.floats(5, 3)), (4, 5))


@visible(predict_with_all, idea="The weights are mapped; the level and the table are not.")
def each_model_predicts(answer, draw):
    """Row i is the prediction of model i, also with as many models as features or rows."""
    for m, n in ((4, 5), (3, 3)):
        params, table = some_models(draw, m), draw.floats(n, 3)
        message = "Row i should be the prediction of model i for the whole table."
        expect_close(answer(params, table), predicted(params, table), message, rtol=1e-4, atol=1e-5)


@visible(predict_with_all, stage="cost", idea="Stacked parameters need one product for all models.", required=True)
def one_product_for_all_models(answer, draw):
    """There is one matrix product, for six models as for two."""
    table = draw.floats(5, 3)
    counts = [answer.program(some_models(draw, m), table).primitives.get("dot_general", 0) for m in (2, 6)]
    message = "Six models should need as many products as two: map over the rows of `w`."
    expect_that(counts[0] == counts[1], message, f"{counts[1]} products for six models", f"{counts[0]}, as for two")
    message = "There should be one matrix product: what is multiplied element by element needs room for all products."
    expect_that(counts[0] == 1, message, f"{counts[0]} products", "1 product")


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


# %% exercise
@exercise(
    title="Look inside",
    points=2,
    minutes=4,
    reproduces=["S2-07", "S3-04"],
    hints=[
        "Which line of a function can tell you that Python runs it, and with what shapes?",
        "Append `(x.shape, w.shape)` to a list inside the function. Shapes are plain Python numbers, so they may "
        "leave. https://docs.jax.dev/en/latest/jit-compilation.html",
        "def look(mapped_by):\n    seen = []\n    def spy(x, w):\n        seen.append(____)\n"
        "        return slide(x, w)\n    mapped = mapped_by(spy)\n    for n in rows:\n        ____\n"
        "    return seen\n"
        'return {"vmap": look(jax.vmap), "jit of vmap": look(lambda f: jax.jit(jax.vmap(f)))}',
        """# Like it: with which shapes does Python run a jitted function?
shapes_seen = []


@jax.jit
def total(numbers):
    shapes_seen.append(numbers.shape)
    return jnp.sum(numbers)


for length in (3, 3, 4):
    total(jnp.ones(length))
print(shapes_seen)  # [(3,), (4,)]: a known shape needs no Python""",
    ],
)
def look_inside(xs, ws, rows):
    """Map `slide` over the batches, call the mapped function several times, and note what it sees.

    Make the mapped function once, then call it for each number n in `rows`, with the first n rows of both batches:
    first `jax.vmap(f)`, then `jax.jit(jax.vmap(f))`. Here `f` is `slide` with a line added that notes the shapes.

    >>> look_inside(jnp.ones((2, 5)), jnp.ones((2, 3)), [1])
    {'vmap': [((5,), (3,))], 'jit of vmap': [((5,), (3,))]}

    Args:
        xs: [b,n].
        ws: float32[b,3].
        rows: a list of int, each from 1 to b: one for each call.

    Returns:
        A dict with two lists, "vmap" and "jit of vmap": the pair `(x.shape, w.shape)` for each time
        that Python ran `f`.
    """
    ...


# %% check
def as_lists(shapes):
    """Return nested tuples and lists of ints as lists."""
    return [as_lists(one) for one in shapes] if isinstance(shapes, tuple | list) else shapes


def two_lists(got):
    """Return the two lists of a result that should be a dict of them."""
    message = 'Return a dict with the lists "vmap" and "jit of vmap".'
    expect_that(isinstance(got, dict) and sorted(got) == ["jit of vmap", "vmap"], message, got)
    return as_lists(got["vmap"]), as_lists(got["jit of vmap"])


@visible(
    look_inside,
    idea="`vmap` traces the function once for all rows, and hides the batch axis.",
    reproduces=["S2-07"],
)
def one_run_serves_all_rows(answer):
    """In one call Python runs the function once, and sees one row."""
    seen, _ = two_lists(answer(*documented_batch(), [2]))
    message = "The shapes noted should be those of one row: note them in the function that is mapped."
    if len(seen) != 1:
        message = "In one call of `jax.vmap(f)`, the shapes should be noted once."
    expect_documented("S2-07", {"seen in one call": seen}, message=message)


@visible(
    look_inside,
    idea="`vmap` keeps nothing between calls; `jit` keeps the program. So `vmap` does not use `jit`.",
    reproduces=["S3-04"],
)
def vmap_runs_again_and_jit_does_not(answer):
    """In two calls Python runs the function twice under `vmap`, and once under `jit` of `vmap`."""
    runs = [len(seen) for seen in two_lists(answer(*documented_batch(), [2, 2]))]
    message = "In two calls of `jax.vmap(f)` with the same rows, `f` should note the shapes twice."
    if runs[1] > 1:
        message = "In two calls with the same rows, `f` should note the shapes once under `jit` of `vmap`."
    expect_documented("S3-04", runs, message=message)


@visible(
    look_inside,
    stage="traces",
    idea="What is noted must have been seen: `f` itself notes it, each time it runs.",
    required=True,
)
def a_jitted_function_has_run(answer, draw):
    """A jitted function is traced."""
    traces = answer.observe(draw.floats(2, 5), draw.floats(2, 3), [2, 2]).traces
    message = "`jax.jit` should trace a function, and in your answer it traces none."
    expect_that(traces >= 1, message, f"{traces} traces", "1")


# %% documented S2-07
# That still holds: the function sees one row.
jax.vmap(lambda x, w: (print(x.shape, w.shape), slide(x, w))[1])(xs, ws)

# documented
# `vmap` traces the function, as `jit` does, and adds a batch axis at the beginning of
# each input.

# today
# (5,) (3,)
# Array([[11., 20., 29.],
#        [11., 20., 29.]], dtype=float32)

# %% documented S3-04
# That was not so then, and is not so now. A jitted function would run once in these two
# calls, and print once.
mapped = jax.vmap(lambda x: (print("Python runs"), 2 * x)[1])
for _ in range(2):
    mapped(jnp.ones(4))

# documented
# `vmap` uses `jit` implicitly.

# today
# Python runs
# Python runs

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


# %% exercise
@exercise(
    title="Why the loop is slow",
    points=2,
    minutes=3,
    reproduces=["S2-04"],
    hints=[
        "What must you know about a batch to get the program for it: its numbers, or its shape?",
        "`program(f, xs, ws).equations` is the number of operations in a program, for arguments of these shapes. "
        "https://docs.jax.dev/en/latest/jaxpr.html",
        "counts = []\nfor b in rows:\n    xs, ws = jnp.ones((b, 5)), ____\n    counts.append(____)\nreturn counts",
        """# Like it: count the additions (`add`) when Python adds up a vector.
def add_one_by_one(values):
    total = values[0]
    for i in range(1, len(values)):
        total = total + values[i]
    return total


for length in (3, 6):
    print(length, program(add_one_by_one, jnp.ones(length)).primitives["add"])  # 3 2, then 6 5""",
    ],
)
def equations_for(function, rows):
    """Count the equations in a function's program for batches with different numbers of rows, as `program` counts them.

    >>> equations_for(lambda xs, ws: xs.sum() + ws.sum(), [1, 7])
    [3, 3]

    Args:
        function: a function of xs float32[b,5] and ws float32[b,3], such as `slide_in_a_loop`.
        rows: a list of int: a number of rows b for each batch.

    Returns:
        A list of int, one for each batch.
    """
    ...


# %% check
THREE_WAYS = {"loop": slide_in_a_loop, "by hand": slide_by_hand, "vmap": mapped_slide}


def counted(answer, way, rows):
    """Return what an answer counts, as a list of ints."""
    got = answer(given(THREE_WAYS[way].__name__), rows)
    return [int(np.asarray(one)) for one in parts(got, len(rows))]


@visible(equations_for, idea="A program's length is that of what Python did while it was traced.")
def each_batch_is_counted(answer):
    """For 2, 8 and 20 rows the counts are those of the programs."""
    for way, function in THREE_WAYS.items():
        wanted = [program(function, jnp.ones((b, 5)), jnp.ones((b, 3))).equations for b in (2, 8, 20)]
        message = f"The counts should be those of the programs ({way})."
        expect_that(counted(answer, way, [2, 8, 20]) == wanted, message, counted(answer, way, [2, 8, 20]), wanted)


@visible(
    equations_for,
    idea="The loop writes every row's operations; by hand and by `vmap`, they are written once.",
    reproduces=["S2-04"],
)
def the_loop_grows_and_the_others_do_not(answer):
    """From 2 to 20 rows the loop's program grows, and those by hand and by `vmap` do not."""
    found = {}
    for way in THREE_WAYS:
        few, many = counted(answer, way, [2, 20])
        found[way] = "as long" if many == few else "nine times as long" if 8 * few < many <= 10 * few else "other"
    expect_documented("S2-04", found, message="From 2 rows to 20, only the program of the loop should grow.")


# %% documented S2-04
# The page shows no times, and those of your computer are in the picture above. What
# holds everywhere: the loop's program grows with the batch.
for way in (slide_in_a_loop, slide_by_hand, mapped_slide):
    batches = [(jnp.ones((b, 5)), jnp.ones((b, 3))) for b in (2, 20)]
    few, many = (program(way, *batch).equations for batch in batches)
    grown = many > few
    print("grows with the batch" if grown else "is as long for 20 rows as for 2")

# documented
# The loop gives the correct result, but is not efficient. To batch the computation
# efficiently, rewrite the function by hand so that it is vectorized.

# today
# grows with the batch
# is as long for 20 rows as for 2
# is as long for 20 rows as for 2

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


# %% exercise
@exercise(
    title="Pairwise distances",
    points=2,
    minutes=4,
    hints=[
        "First write the distance of one x and one y. Which of the two stays whole while the other is mapped?",
        "Map twice, with `None` for the one that stays. https://docs.jax.dev/en/latest/_autosummary/jax.vmap.html",
        "def distance(x, y):\n    return jnp.sqrt(jnp.sum((x - y) ** 2))\n"
        "to_all_ys = jax.vmap(distance, in_axes=____)\nreturn jax.vmap(to_all_ys, in_axes=____)(xs, ys)",
        """# Like it: in how many places each guess agrees with each secret.
def agree(guess, secret):
    return jnp.sum(guess == secret)


guesses = jnp.array([[1, 2, 3], [1, 1, 1]])
secrets = jnp.array([[1, 2, 1], [3, 2, 1], [1, 1, 1]])
all_guesses = jax.vmap(agree, in_axes=(0, None))  # many guesses, one secret
agreement = jax.vmap(all_guesses, in_axes=(None, 0))(guesses, secrets)
print(agreement.tolist())  # a row for each secret: [[2, 2], [1, 1], [1, 3]]""",
    ],
)
def pairwise_distances(xs, ys):
    """Give the Euclidean distance of every x to every y.

    Equal points are 0 apart, and near points are near, however far they all are from 0.

    >>> pairwise_distances(jnp.array([[0.0, 0.0]]), jnp.array([[3.0, 4.0], [0.0, 1.0]]))
    Array([[5., 1.]], dtype=float32)

    Args:
        xs: float32[n,d], n points.
        ys: float32[m,d], m points.

    Returns:
        float32[n,m]: entry i, j is the distance of `xs[i]` and `ys[j]`. No Python loop over the points.
    """
    ...


# %% check
@visible(pairwise_distances, stage="shape", idea="The outer `vmap` makes the first axis of the result.")
def a_row_for_each_x(answer, draw):
    """For 4 xs and 3 ys in a plane the result is [4,3]."""
    expect_shape(
        answer(draw.floats(4, 2), draw.floats(3, 2)), (4, 3), "There should be a row for each x, a column for each y."
    )


@visible(pairwise_distances, idea="The distance is the root of the sum of squares.")
def a_right_triangle_has_its_long_side(answer):
    """From (0, 0) to (3, 4) it is 5, and to (0, 1) it is 1."""
    got = answer(jnp.array([[0.0, 0.0]]), jnp.array([[3.0, 4.0], [0.0, 1.0]]))
    expect_close(got, np.array([[5.0, 1.0]], np.float32), "The distances should be 5 and 1.", rtol=1e-5)


@visible(pairwise_distances, idea="Entry i, j belongs to x number i and y number j.")
def every_x_meets_every_y(answer, draw):
    """Every entry is the distance of its two points."""
    xs, ys = draw.floats(4, 2), draw.floats(3, 2)
    wanted = np.sqrt(((np.asarray(xs)[:, None] - np.asarray(ys)[None]) ** 2).sum(axis=2))
    message = "Entry i, j should be the distance of x number i and y number j."
    expect_close(answer(xs, ys), wanted, message, rtol=1e-4, atol=2e-3)


@visible(pairwise_distances, stage="cost", idea="`vmap` in `vmap` is one operation for all pairs.", required=True)
def no_loop_over_the_points(answer, draw):
    """The program is as long for 40 points as for 4, in xs and in ys."""
    few, many, three = draw.floats(4, 2), draw.floats(40, 2), draw.floats(3, 2)
    expect_no_growth(answer, (few, three), (many, three), UNROLLED)
    expect_no_growth(answer, (three, few), (three, many), UNROLLED)


# %% [markdown]
# ### Rows of different length
#
# A batch has one shape. Rows of different length are *padded*: the rest of a short row
# is filled with something. Inside `vmap` a length is a number without a known value, so
# it can be no slice's end: a shape must be known. What helps is a mask. But beware of
# multiplying with it: 0 times NaN is NaN, so padding of NaN may leak through a product.


# %% exercise
@exercise(
    title="Repair: means of padded rows",
    points=2,
    minutes=4,
    hints=[
        "Which positions of a row are its own, and which are padding? Can you say it for all positions at once?",
        "Compare positions with the length: a mask. `jnp.where(mask, x, 0)` puts 0 in place of the padding. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.where.html",
        "def mean_of_one(x, n):\n    mask = jnp.arange(x.shape[0]) < ____\n"
        "    return jnp.where(mask, ____, 0.0).sum() / ____\nreturn jax.vmap(mean_of_one)(xs, lengths)",
        """# Like it: the largest of the last n numbers of each row.
def largest_of_the_last(row, n):
    k = row.shape[0]
    counts = jnp.arange(k) >= k - n  # True in the last n places
    return jnp.where(counts, row, -jnp.inf).max()


rows = jnp.array([[9.0, 1.0, 2.0], [9.0, 3.0, 1.0]])
print(jax.vmap(largest_of_the_last)(rows, jnp.array([1, 2])))  # [2. 3.]""",
    ],
)
def means_of_padded_rows(xs, lengths):
    """Give the mean of the first `lengths[i]` numbers of each row i.

    The slice below cannot work: repair it.

    >>> xs = jnp.array([[1.0, 3.0, jnp.nan], [1.0, 2.0, 6.0]])
    >>> means_of_padded_rows(xs, jnp.array([2, 3]))
    Array([2., 3.], dtype=float32)

    Args:
        xs: float32[b,n]; the padding at the end of a row may be anything, also NaN. What counts are a row's own
            numbers as they are: where one of them is NaN or infinite, so is the mean.
        lengths: int32[b], from 1 to n.

    Returns:
        float32[b]. It works under `jax.jit`.
    """

    def mean_of_one(x, n):
        return x[:n].mean()

    return jax.vmap(mean_of_one)(xs, lengths)


# %% check
@visible(means_of_padded_rows, idea="Only a row's own numbers count, and the sum is divided by how many they are.")
def padding_does_not_count(answer):
    """The mean of 1, 3 is 2, and of 4, 5, 9 it is 6, whatever is behind."""
    xs = jnp.array([[1.0, 3.0, 7.0, 7.0], [4.0, 5.0, 9.0, 7.0], [2.0, 4.0, 6.0, 8.0]])
    message = "Only the first `lengths[i]` numbers of row i should count."
    expect_close(answer(xs, jnp.array([2, 3, 4])), np.array([2.0, 6.0, 5.0], np.float32), message)


@visible(means_of_padded_rows, idea="0 times NaN is NaN; `jnp.where` chooses and does not multiply.")
def padding_may_be_nan(answer):
    """Padding of NaN does not come through."""
    xs = jnp.array([[1.0, 3.0, np.nan, np.nan], [4.0, 5.0, 9.0, np.nan], [2.0, 4.0, 6.0, 8.0]])
    got = answer(xs, jnp.array([2, 3, 4]))
    message = "The means should be numbers where only the padding is NaN. (0 * NaN is NaN; `jnp.where` chooses.)"
    expect_that(not np.isnan(np.asarray(got)).any(), message, got, "[2. 6. 5.]")
    expect_close(got, np.array([2.0, 6.0, 5.0], np.float32))


@visible(means_of_padded_rows, stage="jit", idea="With a mask every shape is known, so `jit` works.", required=True)
def padded_means_can_be_compiled(answer, draw):
    """It works under `jax.jit`."""
    xs, lengths = draw.floats(3, 4), jnp.array([1, 4, 2])
    wanted = [np.asarray(row)[:n].mean() for row, n in zip(np.asarray(xs), (1, 4, 2), strict=True)]
    expect_close(answer.jit(xs, lengths), np.array(wanted, np.float32), atol=1e-5)


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


# %% exercise
@exercise(
    title="In pieces",
    points=2,
    minutes=4,
    hints=[
        "How many rows may be computed at once? What happens to the rows that are left in the end?",
        "`jax.lax.map` takes `batch_size`: so many rows at once, by `vmap`, and the pieces one after the other. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.map.html",
        "return jax.lax.map(____, ____, batch_size=____)",
        """# Like it: the largest number of each of five rows, two rows at a time.
numbers = jnp.arange(15.0).reshape(5, 3)
print(jax.lax.map(jnp.max, numbers, batch_size=2))  # [ 2.  5.  8. 11. 14.]""",
    ],
)
def in_pieces(function, xs, most):
    """Map a function over rows, `most` rows at a time and never more.

    The last piece may be smaller, or be filled up. The program is as long for many pieces as for two.

    >>> in_pieces(jnp.sum, jnp.ones((5, 3)), 2)
    Array([3., 3., 3., 3., 3.], dtype=float32)

    Args:
        function: a function of one row that returns an array or a number, such as `widest_gap`.
        xs: float32[b,n].
        most: int, 1 or more.

    Returns:
        An array with b rows: what `jax.vmap(function)(xs)` gives.
    """
    ...


# %% check
def rows_at_once(answer, b, most):
    """Return the numbers of rows for which tables of differences are made: the leading axes of results [...,5,5]."""
    results = answer.program(given("widest_gap"), jnp.ones((b, 5)), most).results
    shapes = [[int(n) for n in one.partition("[")[2].rstrip("]").split(",") if n] for one in results]
    return sorted({int(np.prod(shape[:-2])) for shape in shapes if len(shape) > 2 and shape[-2:] == [5, 5]})


@visible(in_pieces, idea="Each row has its result, whichever piece it is in.")
def the_rows_are_those_of_vmap(answer, draw):
    """The result is that of `jax.vmap`, also if the rows do not come out even."""
    for b, most in ((6, 3), (7, 3)):
        xs = draw.floats(b, 5)
        wanted = np.ptp(np.asarray(xs), axis=1)
        expect_close(answer(given("widest_gap"), xs, most), wanted, "Row i should be `function(xs[i])`.")


@visible(in_pieces, stage="cost", idea="`batch_size` bounds what is in memory at once.", required=True)
def no_more_rows_than_allowed(answer):
    """Of 12 rows, 3 are computed at once, and no more."""
    rows = rows_at_once(answer, 12, 3)
    expect_that(3 in rows and max(rows) == 3, "With most = 3, three rows should be computed at once.", rows, [3])


@visible(in_pieces, stage="cost", idea="The pieces come one after the other, in a loop in the program.", required=True)
def the_loop_is_in_the_program(answer):
    """The program is as long for 30 pieces as for 3."""
    short, long = (answer.program(given("widest_gap"), jnp.ones((b, 5)), 3).equations for b in (9, 90))
    message = "The program should be as long for 30 pieces as for 3."
    expect_that(long < short + 27, message, f"{long} equations for 30 pieces", f"{short}, as for 3")


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


# %% exercise
@exercise(
    title="Repair: the mean of the batch",
    points=2,
    minutes=4,
    hints=[
        "Inside `vmap`, over which axis does `x.mean()` go? And how often does the mean come out?",
        "Name the axis, and ask `jax.lax.pmean` for the mean over it; `out_axes` may have an entry for each result. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.pmean.html",
        'def one(x):\n    mean = jax.lax.pmean(____, "batch")\n    return x - mean, mean\n\n'
        "return jax.vmap(one, axis_name=____, out_axes=____)(xs)",
        """# Like it: how far each player's best throw is behind the best of all, and the best, once.
def behind(throws):
    best = jax.lax.pmax(throws.max(), "players")
    return best - throws.max(), best


throws = jnp.array([[3.0, 7.0], [9.0, 2.0], [4.0, 4.0]])
each, best = jax.vmap(behind, axis_name="players", out_axes=(0, None))(throws)
print(each, best)  # [2. 0. 5.] 9.0""",
    ],
)
def batch_centred(xs):
    """Subtract the mean row of a batch from each row, and return that mean, too.

    The body below takes another mean: repair it.

    >>> batch_centred(jnp.array([[0.0, 10.0], [2.0, 30.0]]))
    (Array([[ -1., -10.],
           [  1.,  10.]], dtype=float32), Array([ 1., 20.], dtype=float32))

    Args:
        xs: float32[b,d].

    Returns:
        A tuple `(centred, mean)`: float32[b,d], each row minus the mean row; and float32[d], the mean row, once.
    """

    def one(x):
        mean = x.mean()
        return x - mean, mean

    return jax.vmap(one)(xs)


# %% check
@visible(batch_centred, stage="shape", idea="What is the same for all rows may come out once: `out_axes=None`.")
def the_mean_comes_out_once(answer, draw):
    """For a batch [4,3], the results are [4,3] and [3]."""
    centred, mean = parts(answer(draw.floats(4, 3)), 2)
    expect_shape(centred, (4, 3))
    expect_shape(mean, (3,), "The mean row should come out once, and not for each row.")


@visible(batch_centred, idea="The mean row is a mean over the batch axis; a row alone does not know it.")
def the_mean_goes_over_the_batch(answer, draw):
    """Each row is that of the batch minus the mean of its column."""
    xs = draw.floats(4, 3)
    mean = np.asarray(xs).mean(axis=0)
    centred, got = parts(answer(xs), 2)
    expect_close(got, mean, "Each number of the mean row should be the mean of its column.", atol=1e-5)
    expect_close(centred, np.asarray(xs) - mean, "Each row should be the row minus the mean row.", atol=1e-5)


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
