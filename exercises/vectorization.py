# %% check
from jaxguide.course.author import (
    exercise,
    expect_close,
    expect_documented,
    expect_shape,
    expect_that,
    prediction,
    reveal,
    visible,
)


def pair(got, message="Return a tuple of two values."):
    """Return the two parts of a result that should be a pair."""
    expect_that(isinstance(got, tuple | list) and len(got) == 2, message, got)
    return got


def expect_no_growth(answer, small, large, message):
    """Expect a program that is as long for 40 rows, the arguments `large`, as for 4, the arguments `small`."""
    short, long = answer.program(*small).equations, answer.program(*large).equations
    # A loop adds several equations for each of the 36 more; padding or reshaping may add a few in all.
    expect_that(long < short + 36, message, f"{long} equations for 40 rows", f"{short}, as for 4")


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


# %% exercise
@exercise(
    title="A sliding dot product",
    points=1,
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

    Args:
        x: int32[n] or float32[n].
        w: float32[k], with k from 1 to n; not always three.

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
    expect_documented("S2-01", got, message=message)


@visible(sliding_dot, idea="The number of weights is a shape, so Python may use it.")
def any_number_of_weights(answer, draw):
    """It works for two weights as well, also if the vector is of integers and the weights are not."""
    w = draw.floats(2)
    for x in (draw.floats(6), jnp.arange(6)):
        wanted = np.correlate(np.asarray(x, np.float32), np.asarray(w), "valid")
        expect_close(answer(x, w), wanted, "Number i should be the dot product of `x[i : i + k]` and `w`.")


# %% documented S2-01
# The page calls this a convolution, and the numbers are still these. NumPy calls it a
# correlation, as you see below.
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


# %% exercise
@exercise(
    title="Correlation and convolution",
    points=1,
    hints=[
        "Which of NumPy's two results does `slide` give?",
        "A convolution is a correlation with the weights in the opposite order. "
        "https://docs.jax.dev/en/latest/notebooks/convolutions.html",
        "return slide(x, w), slide(x, ____)",
        """# Like it: a polynomial, whose lowest or whose highest power comes first.
def lowest_and_highest_first(coefficients, point):
    powers = point ** jnp.arange(3)
    lowest_first = jnp.dot(coefficients, powers)
    highest_first = jnp.dot(coefficients, jnp.flip(powers))
    return lowest_first, highest_first


low, high = lowest_and_highest_first(jnp.array([5.0, 0.0, 1.0]), 2.0)
print(low, high)  # 9.0 21.0""",
    ],
)
def correlation_and_convolution(x, w):
    """Give both: the correlation and the true convolution of a vector with three weights.

    Args:
        x: float32[n].
        w: float32[3].

    Returns:
        A tuple of two arrays float32[n-2]: the correlation, and the convolution; only where all
        weights fit.
    """
    ...


# %% check
@visible(correlation_and_convolution, idea="A correlation keeps the order of the weights.")
def the_first_is_the_correlation(answer, draw):
    """The first array is NumPy's correlation."""
    x, w = draw.floats(6), draw.floats(3)
    got = pair(answer(x, w))
    message = "The first array should be the correlation of x and w."
    expect_close(got[0], np.correlate(np.asarray(x), np.asarray(w), "valid"), message)


@visible(correlation_and_convolution, idea="A convolution turns the weights round, and nothing else.")
def the_second_is_the_convolution(answer, draw):
    """The second array is NumPy's convolution."""
    x, w = draw.floats(6), draw.floats(3)
    got = pair(answer(x, w))
    message = "The second array should be the convolution: a correlation with the weights turned round."
    expect_close(got[1], np.convolve(np.asarray(x), np.asarray(w), "valid"), message)


# %% [markdown]
# So the page's name is wrong: `slide` is a correlation. (Deep learning calls it a
# convolution all the same.)
#
# ### A batch, with a loop
#
# Now we have many vectors, each with its own weights. `jnp.stack` makes a **batch** of
# them: a new first axis.


# %% exercise
@exercise(
    title="Stack and loop",
    points=1,
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
    """Make two batches of lists, and slide row by row.

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
    got = answer([x, x], [w, w])
    expect_that(isinstance(got, tuple | list) and len(got) == 3, "Return a tuple of three arrays.", got)
    expect_shape(got[0], (2, 5))
    expect_shape(got[1], (2, 3))
    seen = [[list(np.shape(np.asarray(one))), str(np.asarray(one).dtype)] for one in got[:2]]
    expect_documented("S2-02", seen, message="Stack the arrays as they are: shapes (2, 5) and (2, 3), dtypes kept.")


@visible(loop_over_batch, idea="Row i of the result belongs to vector i and to weights i.", reproduces=["S2-03"])
def the_loop_gives_the_documented_rows(answer):
    """For twice the same vector and weights, both rows are 11, 20, 29."""
    x, w = jnp.arange(5), jnp.array([2.0, 3.0, 4.0])
    expect_documented("S2-03", answer([x, x], [w, w])[2], message="Both rows should be [11 20 29].")


@visible(loop_over_batch, idea="Row i of the result belongs to vector i and to weights i.")
def each_row_has_its_own_weights(answer, draw):
    """With different weights for each vector, each row is made with its own."""
    xs, ws = draw.floats(4, 6), draw.floats(4, 3)
    wanted = np.stack([np.correlate(x, w, "valid") for x, w in zip(np.asarray(xs), np.asarray(ws), strict=True)])
    got = answer([xs[i] for i in range(4)], [ws[i] for i in range(4)])
    expect_close(got[2], wanted, "Row i should be `slide(xs[i], ws[i])`.")


# %% [markdown]
# ### A batch, by hand
#
# The loop is right, but slow: every row is a set of operations of its own. We can do
# all rows in one operation, if we rewrite the function. Then every index and every axis
# must be thought through again.


# %% exercise
@exercise(
    title="Repair: vectorised by hand",
    points=2,
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
def vectorised_by_hand(xs, ws):
    """Slide a batch, all rows in one operation. The body below was written for one vector: repair it.

    Args:
        xs: [b,n], a batch of vectors.
        ws: float32[b,3], the weights of each.

    Returns:
        float32[b,n-2]: row i is `slide(xs[i], ws[i])`. No Python loop over the rows, and no loop of `jax.lax`.
    """
    return jnp.array([jnp.dot(xs[i - 1 : i + 2], ws) for i in range(1, len(xs) - 1)])


# %% check
@visible(vectorised_by_hand, stage="shape", idea="The batch is the first axis, going in and coming out.")
def the_batch_stays_first(answer, draw):
    """For xs[4,6] the result is [4,4], and for xs[2,5] it is [2,3]."""
    expect_shape(
        answer(draw.floats(2, 5), draw.floats(2, 3)), (2, 3), "For xs[2,5] and ws[2,3] the result should be [2,3]."
    )
    expect_shape(answer(draw.floats(4, 6), draw.floats(4, 3)), (4, 4))


@visible(vectorised_by_hand, idea="One operation serves all rows.", reproduces=["S2-05"])
def by_hand_gives_the_documented_rows(answer):
    """For twice the same vector and weights, both rows are 11, 20, 29."""
    xs, ws = jnp.stack([jnp.arange(5)] * 2), jnp.stack([jnp.array([2.0, 3.0, 4.0])] * 2)
    expect_documented("S2-05", answer(xs, ws), message="Both rows should be [11 20 29].")


@visible(vectorised_by_hand, idea="Each row is multiplied with its own weights and summed along the row.")
def rows_do_not_mix(answer, draw):
    """Each row is that of the loop."""
    xs, ws = draw.floats(4, 6), draw.floats(4, 3)
    wanted = np.stack([np.correlate(x, w, "valid") for x, w in zip(np.asarray(xs), np.asarray(ws), strict=True)])
    expect_close(answer(xs, ws), wanted, "Row i should be `slide(xs[i], ws[i])`.")


@visible(
    vectorised_by_hand,
    stage="cost",
    idea="A vectorised operation is one operation for any number of rows.",
    required=True,
)
def no_loop_over_the_rows(answer, draw):
    """The program is as long for 40 rows as for 4."""
    small, large = (draw.floats(4, 6), draw.floats(4, 3)), (draw.floats(40, 6), draw.floats(40, 3))
    expect_no_growth(answer, small, large, UNROLLED)


# %% [markdown]
# ## Part 2. `jax.vmap` writes the batch for you
#
# `jax.vmap(f)` is a new function. It takes batches, and does for every row what `f`
# does for one.

# %%
norms = jax.vmap(jnp.linalg.norm)
print(norms(jnp.array([[3.0, 4.0], [6.0, 8.0], [0.0, 1.0]])))


# %% exercise
@exercise(
    title="Vectorised by vmap",
    points=1,
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
def vectorised_by_vmap(xs, ws):
    """Slide a batch, with `slide` as it is, without a Python loop over the rows, and without a loop of `jax.lax`.

    Args:
        xs: [b,n].
        ws: float32[b,3].

    Returns:
        float32[b,n-2]: row i is `slide(xs[i], ws[i])`.
    """
    ...


# %% check
@visible(vectorised_by_vmap, idea="`vmap` does for every row what the function does for one.", reproduces=["S2-06"])
def vmap_gives_the_documented_rows(answer):
    """For twice the same vector and weights, both rows are 11, 20, 29."""
    xs, ws = jnp.stack([jnp.arange(5)] * 2), jnp.stack([jnp.array([2.0, 3.0, 4.0])] * 2)
    expect_documented("S2-06", answer(xs, ws), message="Both rows should be [11 20 29].")


@visible(vectorised_by_vmap, idea="Row i of one batch goes with row i of the other.")
def rows_go_together(answer, draw):
    """Row i is made of vector i and weights i."""
    xs, ws = draw.floats(4, 6), draw.floats(4, 3)
    wanted = np.stack([np.correlate(x, w, "valid") for x, w in zip(np.asarray(xs), np.asarray(ws), strict=True)])
    expect_close(answer(xs, ws), wanted, "Row i should be `slide(xs[i], ws[i])`.")


@visible(vectorised_by_vmap, stage="cost", idea="`vmap` needs no other function than the one for one row.")
def the_products_are_those_of_slide(answer, draw):
    """For rows of six numbers there are four dot products, as in `slide` for one row."""
    found = answer.program(draw.floats(1, 6), draw.floats(1, 3)).primitives.get("dot_general", 0)
    message = f"`slide`, mapped, should have 4 dot products for rows of six numbers; yours has {found}."
    expect_that(found == 4, message, f"{found} dot products", "4")


@visible(vectorised_by_vmap, stage="cost", idea="`vmap` makes one operation for all rows.", required=True)
def the_program_is_as_long_for_any_batch(answer, draw):
    """The program is as long for 40 rows as for 4."""
    small, large = (draw.floats(4, 6), draw.floats(4, 3)), (draw.floats(40, 6), draw.floats(40, 3))
    expect_no_growth(answer, small, large, UNROLLED)


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


# %% exercise
@prediction(
    title="Predict: the shape inside",
    points=1,
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
@reveal(predict_shape_inside)
def the_shape_inside():
    """We mapped a function that notes the shape of its argument."""
    seen = []
    jax.vmap(lambda x: (seen.append(x.shape), x)[1])(jnp.ones((2, 5)))
    return seen[0]


# %% [markdown]
# How often does Python run the function: once for each row? And when you call it again?
# People say that `vmap` "uses `jit` inside". `jit` runs the Python code once, keeps the
# program, and needs no Python the next time. Find out.


# %% exercise
@exercise(
    title="Look inside",
    points=2,
    reproduces=["S2-07"],
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


@visible(look_inside, stage="shape")
def two_lists_of_pairs(answer):
    """The result is a dict of two lists."""
    got = answer(jnp.ones((2, 5)), jnp.ones((2, 3)), [2])
    message = 'Return a dict with the lists "vmap" and "jit of vmap".'
    expect_that(isinstance(got, dict) and sorted(got) == ["jit of vmap", "vmap"], message, got)


@visible(look_inside, idea="`vmap` traces the function once for all rows, and hides the batch axis.")
def one_run_serves_all_rows(answer):
    """In one call Python runs the function once, and sees one row."""
    got = answer(jnp.ones((2, 5)), jnp.ones((2, 3)), [2])
    seen = as_lists(got["vmap"])
    message = "The shapes noted should be those of one row: note them in the function that is mapped."
    expect_that(bool(seen) and seen[0] == [[5], [3]], message, seen, [[[5], [3]]])
    message = "In one call of `jax.vmap(f)`, the shapes should be noted once."
    expect_that(len(seen) == 1, message, seen, [[[5], [3]]])


@visible(
    look_inside,
    idea="`vmap` keeps nothing between calls; `jit` keeps the program. So `vmap` does not use `jit`.",
    reproduces=["S2-07"],
)
def vmap_runs_again_and_jit_does_not(answer):
    """In two calls Python runs the function twice under `vmap`, and once under `jit` of `vmap`."""
    xs, ws = jnp.stack([jnp.arange(5)] * 2), jnp.stack([jnp.array([2.0, 3.0, 4.0])] * 2)
    got = answer(xs, ws, [2, 2])
    message = "In two calls of `jax.vmap(f)` with the same rows, `f` should note the shapes twice."
    if len(as_lists(got["jit of vmap"])) > 1:
        message = "In two calls with the same rows, `f` should note the shapes once under `jit` of `vmap`."
    expect_documented("S2-07", [as_lists(got["vmap"]), as_lists(got["jit of vmap"])], message=message)


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


# %% exercise
@exercise(
    title="Why the loop is slow",
    points=1,
    reproduces=["S2-04"],
    hints=[
        "How many `dot_general` has the program of the loop for two rows?",
        "`program(f, xs, ws).primitives` is a dict: how often each operation occurs. "
        "https://docs.jax.dev/en/latest/automatic-vectorization.html",
        "xs, ws = jnp.ones((rows, 5)), jnp.ones((rows, 3))\nloop = program(slide_in_a_loop, xs, ws)\nmapped = ____\n"
        'return loop.primitives["dot_general"], ____',
        """# Like it: count the additions (`add`) when Python adds up a vector.
def add_one_by_one(values):
    total = values[0]
    for i in range(1, len(values)):
        total = total + values[i]
    return total


for length in (3, 6):
    counts = program(add_one_by_one, jnp.ones(length)).primitives
    print(length, counts["add"])  # 3 2, then 6 5
print(program(jnp.sum, jnp.ones(6)).primitives)  # no `add` at all""",
    ],
)
def products_in_the_program(rows):
    """Count the dot products (`dot_general`) in the programs for a batch of vectors of five numbers.

    Args:
        rows: int, how many rows the batch has.

    Returns:
        A tuple of two ints: the count for `slide_in_a_loop`, and the count for `jax.vmap(slide)`.
    """
    ...


# %% check
@visible(
    products_in_the_program,
    idea="The loop writes every row's operations; `vmap` writes them once.",
    reproduces=["S2-04"],
)
def the_loop_grows_and_vmap_does_not(answer):
    """For 2, 8 and 20 rows both counts are those of the programs."""
    seen = []
    for rows in (2, 8, 20):
        xs, ws = jnp.ones((rows, 5)), jnp.ones((rows, 3))
        found = [program(f, xs, ws).primitives["dot_general"] for f in (slide_in_a_loop, jax.vmap(slide))]
        seen.append([int(np.asarray(one)) for one in pair(answer(rows))])
        for count, wanted, which in zip(seen[-1], found, ("the loop", "`jax.vmap(slide)`"), strict=True):
            # Not shown, since it is the answer.
            message = f"For {rows} rows, the count for {which} should be that of `dot_general` in its program."
            expect_that(count == wanted, message, count, "another count")
    expect_documented("S2-04", seen, message="The counts for 2, 8 and 20 rows should be those of the programs.")


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


# %% exercise
@exercise(
    title="A batch in columns",
    points=1,
    reproduces=["S2-08"],
    hints=[
        "In xst[n,b], which axis counts the examples?",
        "`in_axes` is for what goes in, `out_axes` for what comes out. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.vmap.html",
        "return jax.vmap(slide, in_axes=____, out_axes=____)(xst, wst)",
        """# Like it: the diagonal of each table; axis 2 counts the tables.
tables = jnp.arange(12).reshape(2, 2, 3)  # three tables of 2 by 2
as_rows = jax.vmap(jnp.diagonal, in_axes=2)
as_columns = jax.vmap(jnp.diagonal, in_axes=2, out_axes=1)
print(as_rows(tables).shape, as_columns(tables).shape)  # (3, 2) (2, 3)
print(as_rows(tables)[0], as_columns(tables)[:, 0])  # [0 9] [0 9]""",
    ],
)
def slide_columns(xst, wst):
    """Slide a batch whose examples are columns, without a Python loop over the columns.

    Args:
        xst: [n,b]: column j is a vector.
        wst: float32[3,b]: column j is its weights.

    Returns:
        float32[n-2,b]: column j is `slide(xst[:, j], wst[:, j])`.
    """
    ...


# %% check
@visible(slide_columns, stage="shape", idea="`out_axes` says where the batch axis goes; without it, it comes first.")
def columns_come_out(answer, draw):
    """For xst[5,2] and wst[3,2] the result is [3,2]."""
    message = "The examples should be columns in the result too: see `out_axes`."
    expect_shape(answer(draw.floats(5, 2), draw.floats(3, 2)), (3, 2), message)


@visible(slide_columns, idea="The batch axis may be any axis.", reproduces=["S2-08"])
def the_documented_columns(answer):
    """For twice the same vector and weights, both columns are 11, 20, 29."""
    xst, wst = jnp.stack([jnp.arange(5)] * 2, axis=1), jnp.stack([jnp.array([2.0, 3.0, 4.0])] * 2, axis=1)
    expect_documented("S2-08", answer(xst, wst), message="Both columns should be [11 20 29].")


@visible(slide_columns, idea="Column j of one batch goes with column j of the other.")
def columns_go_together(answer, draw):
    """Column j is made of column j of both batches; four examples, so that the shape tells nothing."""
    xst, wst = draw.floats(6, 4), draw.floats(3, 4)
    columns = [np.correlate(x, w, "valid") for x, w in zip(np.asarray(xst).T, np.asarray(wst).T, strict=True)]
    expect_close(answer(xst, wst), np.stack(columns, axis=1), "Column j should be made of column j of both batches.")


@visible(slide_columns, stage="cost", required=True, idea="`vmap` makes one operation for all columns.")
def columns_need_no_loop(answer, draw):
    """The program is as long for 40 columns as for 4."""
    small, large = (draw.floats(6, 4), draw.floats(3, 4)), (draw.floats(6, 40), draw.floats(3, 40))
    expect_no_growth(answer, small, large, UNROLLED)


# %% [markdown]
# Next, all rows share one set of weights. It has no batch axis.


# %% exercise
@exercise(
    title="One set of weights for all",
    points=1,
    reproduces=["S2-10"],
    hints=[
        "Which of the two arguments has a batch axis?",
        "`in_axes` may be a tuple with one entry for each argument; `None` for one without a batch axis. "
        "https://docs.jax.dev/en/latest/automatic-vectorization.html",
        "return jax.vmap(slide, in_axes=(____, ____))(xs, w)",
        """# Like it: one matrix turns many points; only the points are a batch.
def turn(matrix, point):
    return matrix @ point


quarter = jnp.array([[0, -1], [1, 0]])
points = jnp.array([[1, 0], [0, 2], [3, 4]])
turned = jax.vmap(turn, in_axes=(None, 0))(quarter, points)
print(turned.tolist())  # [[0, 1], [-2, 0], [-4, 3]]""",
    ],
)
def slide_with_shared_weights(xs, w):
    """Slide one set of weights along every row: xs[b,n], w float32[3] -> float32[b,n-2].

    No Python loop over the rows, and no loop of `jax.lax`.
    """
    ...


# %% check
@visible(slide_with_shared_weights, idea="`None` gives the whole argument to every row.", reproduces=["S2-10"])
def shared_weights_give_the_documented_rows(answer):
    """For twice the same vector and one set of weights, both rows are 11, 20, 29."""
    xs, w = jnp.stack([jnp.arange(5)] * 2), jnp.array([2.0, 3.0, 4.0])
    expect_documented("S2-10", answer(xs, w), message="Both rows should be [11 20 29].")


@visible(slide_with_shared_weights, idea="Every row gets all three weights.")
def every_row_gets_all_weights(answer, draw):
    """It is right for three rows, as many as there are weights, and for four."""
    for b in (3, 4):
        xs, w = draw.floats(b, 6), draw.floats(3)
        wanted = np.stack([np.correlate(x, np.asarray(w), "valid") for x in np.asarray(xs)])
        expect_close(answer(xs, w), wanted, "Row i should be `slide(xs[i], w)`.")


@visible(slide_with_shared_weights, stage="cost", idea="`vmap` makes one operation for all rows.", required=True)
def shared_weights_need_no_loop(answer, draw):
    """The program is as long for 40 rows as for 4."""
    w = draw.floats(3)
    expect_no_growth(answer, (draw.floats(4, 6), w), (draw.floats(40, 6), w), UNROLLED)


# %% [markdown]
# Now the rules for `in_axes`: an integer, or a tuple or list with an entry for each
# argument. What if no argument has a batch axis? Build a function with which we can try
# them all.


# %% exercise
@exercise(
    title="Try any axes",
    points=2,
    reproduces=["S2-09"],
    hints=[
        "Which errors does `jax.vmap` raise, and when: as you make the mapped function, or as you call it?",
        "`try: ... except ValueError as error:` catches it, and `str(error)` is its message. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.vmap.html",
        "try:\n    return jax.vmap(slide, in_axes=____, out_axes=____)(a, b)\nexcept ValueError as error:\n"
        '    return f"ValueError: {____}"',
        """# Like it: give numbers any shape; where JAX refuses it, say so.
def try_shape(numbers, shape):
    try:
        return jnp.reshape(numbers, shape)
    except TypeError as error:
        return "refused: " + str(error).splitlines()[0]


print(try_shape(jnp.arange(6), (2, -1)))
print(try_shape(jnp.arange(6), (4, 2)))""",
    ],
)
def try_axes(in_axes, out_axes, a, b):
    """Map `slide` with these axes; where JAX refuses them, say why.

    Args:
        in_axes: an int, or a tuple or list of two entries, each an int or None.
        out_axes: int.
        a, b: the two arguments of the mapped function.

    Returns:
        What the mapped function returns. When that raises ValueError: the text "ValueError: "
        followed by the message. Any other exception is not caught.
    """
    ...


# %% check
@visible(try_axes, idea="One integer counts for all arguments.")
def one_integer_counts_for_all(answer, draw):
    """With `in_axes=1` and `out_axes=1`, columns come in and columns go out."""
    xst, wst = draw.floats(6, 4), draw.floats(3, 4)
    columns = [np.correlate(x, w, "valid") for x, w in zip(np.asarray(xst).T, np.asarray(wst).T, strict=True)]
    got = answer(1, 1, xst, wst)
    expect_that(not isinstance(got, str), "JAX takes these axes: pass both on to `jax.vmap`.", got)
    expect_close(got, np.stack(columns, axis=1), "Column j should be made of column j of both batches.")


@visible(
    try_axes,
    idea="A tuple or a list has an entry for each argument, and at least one entry must not be None.",
    reproduces=["S2-09"],
)
def the_rules_for_in_axes_hold(answer):
    """A tuple and a list work alike, mixed axes work, and only `None` raises ValueError."""
    x, w = jnp.arange(5), jnp.array([2.0, 3.0, 4.0])
    xs, wst = jnp.stack([x, x]), jnp.stack([w, w], axis=1)
    calls = (((0, None), 0, xs, w), ([0, None], 0, xs, w), ((0, 1), 1, xs, wst), ((None, None), 0, x, w))
    *good, refused = [answer(*call) for call in calls]
    for call, one in zip(calls, good, strict=False):
        expect_that(not isinstance(one, str), f"JAX takes in_axes={call[0]} and out_axes={call[1]}.", one)
    message = 'For in_axes=(None, None), return the text "ValueError: " and the message of JAX.'
    expect_that(isinstance(refused, str), message, refused)
    phrase = "vmap must have at least one non-None value in in_axes"
    said = f"ValueError: {phrase}" if refused.startswith("ValueError: ") and phrase in refused else refused
    seen = [np.asarray(one, dtype=np.float64).tolist() for one in good]
    message = "All four should give what JAX gives: the rows or columns, or the text of the error."
    expect_documented("S2-09", [*seen, said], message=message)


# %% [markdown]
# ### `jit` and `vmap` together
#
# Transformations take a function and return a function, so they can be put around each
# other, in any order. The order of `jit` and `vmap` does not change the result. But
# where the call goes is easy to get wrong.


# %% exercise
@exercise(
    title="Repair: jit around vmap, and the other way",
    points=2,
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
    """Slide a batch with `jit` around `vmap`, and with `vmap` around `jit`.

    Both lines are wrong: repair them. No Python loop over the rows.

    Args:
        xs: [b,n].
        ws: float32[b,3].

    Returns:
        A tuple of two arrays float32[b,n-2], which are the same.
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
    xs, ws = jnp.stack([jnp.arange(5)] * 2), jnp.stack([jnp.array([2.0, 3.0, 4.0])] * 2)
    expect_documented("S2-11", pair(answer(xs, ws))[0], message="The first array should have two rows [11 20 29].")


@visible(jit_and_vmap, idea="`vmap` maps a jitted function as well.", reproduces=["S2-12"])
def jit_inside_gives_the_same_rows(answer):
    """With `jit` inside, the rows are the same."""
    xs, ws = jnp.stack([jnp.arange(5)] * 2), jnp.stack([jnp.array([2.0, 3.0, 4.0])] * 2)
    expect_documented("S2-12", pair(answer(xs, ws))[1], message="The second array should have two rows [11 20 29].")


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
    wanted = np.stack([np.correlate(x, w, "valid") for x, w in zip(np.asarray(xs), np.asarray(ws), strict=True)])
    for got in pair(answer(xs, ws)):
        expect_close(got, wanted, "Row i should be `slide(xs[i], ws[i])`, in both arrays.")


# %% [markdown]
# ## Part 4. Put it to work
#
# `vmap` inside `vmap` gives two batch axes. Every x meets every y:

# %%
one_row = jax.vmap(jnp.multiply, in_axes=(None, 0))  # one x, all ys
times_table = jax.vmap(one_row, in_axes=(0, None))  # all xs, all ys
print(times_table(jnp.arange(1, 4), jnp.arange(1, 6)))


# %% exercise
@exercise(
    title="Pairwise distances",
    points=2,
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


# %% exercise
@exercise(
    title="An ensemble",
    points=2,
    hints=[
        "`vmap` maps over arrays, not over a Python list. How do you stack the dicts, entry by entry?",
        "`jax.tree.map(f, a, b)` calls f on the arrays of two pytrees in the same place. "
        "https://docs.jax.dev/en/latest/working-with-pytrees.html",
        "stacked = jax.tree.map(lambda *leaves: ____, *members)\nreturn jax.vmap(predict, in_axes=____)(stacked, x)",
        """# Like it: a list of parcels becomes one dict of arrays, and `vmap` maps it.
def weight(parcel):
    return parcel["count"] * parcel["side"] ** 3


parcels = [{"side": 1.0, "count": 5}, {"side": 2.0, "count": 3}]
together = jax.tree.map(lambda *entries: jnp.array(entries), *parcels)
print(together["side"])  # [1. 2.]
print(jax.vmap(weight)(together))  # [ 5. 24.]""",
    ],
)
def ensemble_predictions(members, x):
    """Let every model of an ensemble predict the same example.

    Args:
        members: a list of m parameter dicts, each with "w" float32[d,h] and "b" float32[h].
        x: float32[d], one example for all.

    Returns:
        float32[m,h]: row i is `predict(members[i], x)`; one matrix product for all models, and no loop of `jax.lax`.
    """
    ...


# %% check
def some_members(draw, count):
    """Return parameters for `predict`: a list of dicts with w[3,2] and b[2]."""
    return [{"w": draw.floats(3, 2), "b": draw.floats(2)} for _ in range(count)]


@visible(ensemble_predictions, idea="The example has no batch axis; the parameters have.")
def each_model_predicts(answer, draw):
    """Row i is the prediction of model i, for four models and for three."""
    for count in (4, 3):
        members, x = some_members(draw, count), draw.floats(3)
        wanted = np.stack([np.tanh(np.asarray(x) @ np.asarray(p["w"]) + np.asarray(p["b"])) for p in members])
        expect_close(answer(members, x), wanted, "Row i should be the prediction of model i for the whole example.")


@visible(ensemble_predictions, stage="cost", idea="Stacked parameters need one product for all models.", required=True)
def one_product_for_all_models(answer, draw):
    """There are as many matrix products for six models as for two."""
    x = draw.floats(3)
    counts = [answer.program(some_members(draw, n), x).primitives.get("dot_general", 0) for n in (2, 6)]
    message = "Six models should need as many products as two: stack the parameters, then use `jax.vmap`."
    expect_that(counts[0] == counts[1], message, f"{counts[1]} products for six models", f"{counts[0]}, as for two")


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


# %% exercise
@exercise(
    title="Per-example gradients",
    points=2,
    hints=[
        "For one example, the gradient is a dict like the parameters. What is mapped, and what stays whole?",
        "Put `vmap` around `grad`, and `None` for the parameters. "
        "https://docs.jax.dev/en/latest/advanced-autodiff.html#per-example-gradients",
        "return jax.vmap(jax.grad(____), in_axes=____)(params, xs, ys)",
        """# Like it: one pull on many springs; the gradient for each spring.
def tension(spring, pull):
    return spring["stiffness"] * (pull - spring["rest"]) ** 2


springs = {"stiffness": jnp.array([1.0, 2.0]), "rest": jnp.array([0.0, 1.0])}
of_each = jax.vmap(jax.grad(tension), in_axes=(0, None))(springs, 3.0)
print(of_each["stiffness"], of_each["rest"])  # [9. 4.] [-6. -8.]""",
    ],
)
def per_example_gradients(params, xs, ys):
    """Give the gradient of `squared_error` with respect to the parameters, for each example.

    No Python loop over the examples, and no loop of `jax.lax`.

    Args:
        params: a dict of "w" float32[d] and "b" float32[].
        xs: float32[n,d].
        ys: float32[n].

    Returns:
        A dict of "w" float32[n,d] and "b" float32[n]: entry i is the gradient for example i.
    """
    ...


# %% check
def gradients_by_hand(params, xs, ys):
    """Return what calculus gives: 2 (x w + b - y) times x, and times 1."""
    xs = np.asarray(xs)
    twice = 2 * (xs @ np.asarray(params["w"]) + np.asarray(params["b"]) - np.asarray(ys))
    return {"w": twice[:, None] * xs, "b": twice}


@visible(per_example_gradients, stage="shape", idea="The batch axis comes in front of each parameter's shape.")
def one_gradient_for_each_example(answer, draw):
    """For four examples of three numbers, "w" is [4,3] and "b" is [4]."""
    got = answer({"w": draw.floats(3), "b": draw.floats()}, draw.floats(4, 3), draw.floats(4))
    expect_that(isinstance(got, dict) and sorted(got) == ["b", "w"], 'Return a dict of "w" and "b".', got)
    expect_shape(got["w"], (4, 3), "There should be a gradient of w for each example: [4,3].")
    expect_shape(got["b"], (4,), "There should be a gradient of b for each example: [4].")


@visible(per_example_gradients, idea="Each gradient is that of one example's loss, not a part of a mean.")
def gradients_are_those_of_one_example(answer, draw):
    """Entry i is the gradient of example i alone."""
    params, xs, ys = {"w": draw.floats(3), "b": draw.floats()}, draw.floats(4, 3), draw.floats(4)
    message = "Entry i should be the gradient of the loss of example i alone."
    expect_close(answer(params, xs, ys), gradients_by_hand(params, xs, ys), message, rtol=1e-4, atol=1e-5)


@visible(per_example_gradients, stage="cost", idea="`vmap` of `grad` is one program for all examples.", required=True)
def no_loop_over_the_examples(answer, draw):
    """The program is as long for 40 examples as for 4."""
    params = {"w": draw.floats(3), "b": draw.floats()}
    small, large = (params, draw.floats(4, 3), draw.floats(4)), (params, draw.floats(40, 3), draw.floats(40))
    expect_no_growth(answer, small, large, UNROLLED)


# %% [markdown]
# ### Rows of different length
#
# A batch has one shape. Rows of different length are *padded*: the rest of a short row
# is filled with something. Inside `vmap` a length is a number without a known value, so
# it can be no slice's end: a shape must be known. Run the starter below to see the
# error.


# %% exercise
@exercise(
    title="Repair: means of padded rows",
    points=2,
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
# ### Talk across the batch
#
# Inside `vmap` a function sees one row. With `axis_name` it may still ask for the sum
# or the mean over the batch.


# %%
def share(x):
    """The part of this row in the sum over all rows of the axis named "batch"."""
    return x / jax.lax.psum(x, "batch")


print(jax.vmap(share, axis_name="batch")(jnp.array([1.0, 2.0, 5.0])))


# %% exercise
@exercise(
    title="Repair: distance from the batch's mean",
    points=2,
    hints=[
        "Inside `vmap`, over which axis does `x.mean()` go?",
        "Name the axis, and ask `jax.lax.pmean` for the mean over it. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.pmean.html",
        'def one(x):\n    return jnp.linalg.norm(x - jax.lax.pmean(____, "batch"))\n'
        "return jax.vmap(one, axis_name=____)(xs)",
        """# Like it: how far each player's best throw is behind the best of all.
def behind(throws):
    best = throws.max()  # of this player
    return jax.lax.pmax(best, "players") - best


throws = jnp.array([[3.0, 7.0], [9.0, 2.0], [4.0, 4.0]])
print(jax.vmap(behind, axis_name="players")(throws))  # [2. 0. 5.]""",
    ],
)
def distance_from_batch_mean(xs):
    """Give each row's Euclidean distance from the mean row.

    The body below takes another mean: repair it.

    Args:
        xs: float32[b,d].

    Returns:
        float32[b]: entry i is the length of `xs[i]` minus the mean of all rows.
    """

    def one(x):
        return jnp.linalg.norm(x - x.mean())

    return jax.vmap(one)(xs)


# %% check
@visible(distance_from_batch_mean, stage="shape", idea="A row has one distance from the mean row.")
def one_distance_for_each_row(answer, draw):
    """There is one distance for each row."""
    expect_shape(answer(draw.floats(4, 3)), (4,))


@visible(distance_from_batch_mean, idea="The mean row is a mean over the batch axis; a row alone does not know it.")
def the_mean_goes_over_the_batch(answer):
    """For (0, 0) and (6, 8) the mean row is (3, 4), and both distances are 5."""
    got = answer(jnp.array([[0.0, 0.0], [6.0, 8.0]]))
    message = "Both distances should be 5: the mean row of (0, 0) and (6, 8) is (3, 4)."
    expect_close(got, np.array([5.0, 5.0], np.float32), message)


@visible(distance_from_batch_mean, idea="Each column has a mean of its own.")
def every_row_has_its_distance(answer, draw):
    """Every distance is that of its row."""
    xs = draw.floats(4, 3)
    wanted = np.linalg.norm(np.asarray(xs) - np.asarray(xs).mean(axis=0), axis=1)
    expect_close(answer(xs), wanted, "Entry i should be the distance of row i from the mean row.", atol=1e-5)


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


# %% exercise
@exercise(
    title="Make it fast: one switch for all rows",
    points=2,
    hints=[
        "How many flags are there, and how many does the starter give to `vmap`?",
        "A flag that is not mapped stays one flag, and its `cond` stays a `cond`. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.cond.html",
        "return jax.vmap(choose, in_axes=(____, ____))(flag, xs)",
        """# Like it: a number chooses a branch, for each row or once for all rows.
def run_branch(row, which):
    return jax.lax.switch(which, (jnp.cos, jnp.negative, jnp.exp), row)


rows, each = jnp.ones((4, 3)), jnp.array([0, 1, 2, 0])
mapped = program(jax.vmap(run_branch), rows, each).primitives
shared = program(jax.vmap(run_branch, in_axes=(0, None)), rows, 2).primitives
print("cond" in mapped, "cond" in shared)  # False True""",
    ],
)
def one_switch_for_all(flag, xs):
    """Apply `choose` to all rows with one flag.

    The body below gives the right rows, but always pays for both branches.

    Args:
        flag: bool[].
        xs: float32[b,d].

    Returns:
        float32[b,d]: row i is `choose(flag, xs[i])`. The program has one `cond`, and no `select_n`. It works under
        `jax.jit`.
    """
    return jax.vmap(choose)(jnp.full(len(xs), flag), xs)


# %% check
@visible(one_switch_for_all, idea="One flag decides for all rows.")
def the_flag_decides_for_all_rows(answer, draw):
    """With the flag set all rows are `costly`, without it all are negated."""
    xs = draw.floats(4, 3)
    x = np.asarray(xs)
    for flag, wanted in ((True, np.sin(x) * np.exp(x)), (False, -x)):
        expect_close(
            answer(jnp.array(flag), xs),
            wanted,
            f"With the flag {flag}, row i should be `choose(flag, xs[i])`.",
            atol=1e-5,
        )


@visible(one_switch_for_all, stage="jit", idea="A traced flag has no value for Python's `if`; `cond` needs none.")
def the_flag_may_be_traced(answer, draw):
    """It works under `jax.jit`."""
    xs = draw.floats(4, 3)
    expect_close(answer.jit(jnp.array(False), xs), -np.asarray(xs))


@visible(
    one_switch_for_all,
    stage="cost",
    idea="A flag without a batch axis keeps the `cond`; a mapped one makes a select.",
    required=True,
)
def only_one_branch_is_run(answer, draw):
    """The program has one `cond`, and selects nothing."""
    found = answer.program(jnp.array(True), draw.floats(4, 3)).primitives
    seen = {name: found.get(name, 0) for name in ("cond", "select_n")}
    message = "The program should select nothing; yours runs both branches for all rows, and then selects."
    expect_that(seen["select_n"] == 0, message, seen, {"cond": 1, "select_n": 0})
    message = f"One flag should need one `cond`; your program for four rows has {seen['cond']}."
    expect_that(seen["cond"] == 1, message, seen, {"cond": 1, "select_n": 0})


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
