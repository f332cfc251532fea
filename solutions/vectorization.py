# %%
import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.course.author import (
    alternative,
    alternative_value,
    answer,
    equivalent,
    expect_close,
    expect_equal,
    expect_that,
    given,
    hidden,
    input,
    wrong,
)
from jaxguide.tracing import program


# %% sliding_dot
@answer(
    notice="`len(w)` is a shape, and shapes are Python numbers, so that Python may count with them.",
    another_way="`jnp.correlate(x, w, mode='valid')` is one call, and one operation in the program.",
)
def sliding_dot(x, w):
    k = len(w)
    return jnp.array([jnp.dot(x[i : i + k], w) for i in range(len(x) - k + 1)])


@alternative
def by_jnp_correlate(x, w):
    return jnp.correlate(x, w, mode="valid")


@alternative
@jax.jit
def by_a_table_of_windows(x, w):
    places = jnp.arange(len(x) - len(w) + 1)[:, None] + jnp.arange(len(w))
    return x[places] @ w


@alternative
def with_numpy(x, w):
    windows = np.lib.stride_tricks.sliding_window_view(np.asarray(x, np.float32), len(w))
    return windows @ np.asarray(w)


@wrong(
    rejected_by="the_documented_numbers_come_out",
    says="A convolution turns the weights round.",
    misses_the_point=True,
    lacks="S2-01",
)
def convolves(x, w):
    return jnp.convolve(x, w, mode="valid")


@wrong(rejected_by="the_documented_numbers_come_out", says="The results get the dtype of the vector.")
def fills_an_array_of_integers(x, w):
    out = np.zeros(len(x) - len(w) + 1, dtype=x.dtype)
    for i in range(len(out)):
        out[i] = jnp.dot(x[i : i + len(w)], w)
    return jnp.array(out)


@wrong(rejected_by="every_full_window_counts", says="Windows that stick out are filled with zeros.")
def pads_with_zeros(x, w):
    return jnp.correlate(x, w, mode="same")


@wrong(rejected_by="every_full_window_counts", says="The last window is forgotten.")
def stops_one_window_early(x, w):
    k = len(w)
    return jnp.array([jnp.dot(x[i : i + k], w) for i in range(len(x) - k)])


@wrong(rejected_by="every_full_window_counts", says="Three weights are taken for granted.")
def counts_on_three_weights(x, w):
    return jnp.array([jnp.sum(x[i - 1 : i + 2][: len(w)] * w) for i in range(1, len(x) - 1)])


@hidden(idea="Any vector, any number of weights.", on="one weight, several, or as many as numbers")
def any_vector_and_weights(answer, draw, reference):
    """One weight, as many weights as numbers, and cases between give the right numbers."""
    for n, k in ((5, 1), (4, 4), (7, 3)):
        x, w = draw.floats(n), draw.floats(k)
        expect_close(answer(x, w), reference(x, w), atol=1e-5)


@wrong(rejected_by="infinity_stays_in_its_windows", says="Weights of 0 are multiplied with numbers outside the window.")
def multiplies_by_zero_outside(x, w):
    places = jnp.arange(len(x)) - jnp.arange(len(x) - len(w) + 1)[:, None]
    inside = (places >= 0) & (places < len(w))
    return jnp.where(inside, w[jnp.clip(places, 0, len(w) - 1)], 0.0) @ x


@hidden(
    idea="A vector with infinity in one place: only the windows that hold it are infinite.",
    on="a vector that begins with infinity",
)
def infinity_stays_in_its_windows(answer, draw):
    """With infinity in the first place, only the first window is infinite."""
    x, w = draw.numpy(6), np.abs(draw.numpy(3)) + np.float32(0.5)
    wanted = np.correlate(x, w, "valid")
    x[0], wanted[0] = np.inf, np.inf
    expect_close(answer(x, w), wanted, "Only the first window should be infinite.", atol=1e-5)


@hidden(idea="One number and one weight.", on="one number and one weight")
def one_number_and_one_weight(answer, draw):
    """One number and one weight give one product, in a vector."""
    x, w = draw.numpy(1), draw.numpy(1)
    expect_close(answer(x, w), x * w, "The result should be a vector with one product.")


equivalent("3de0e62d60", because="A NumPy array of float32 is a float32[n-k+1], too.")
equivalent("207234bd08", because="A dot product is the same either way.")
equivalent("c04876d708", because="NumPy's dot product of two JAX arrays is the same number.")
equivalent("40adcf1b03", because="A NumPy array of float32 is a float32[n-k+1], too.")


# %% loop_over_batch
@answer(
    notice="`xs[i]` is row i: the first axis of the batch counts the examples.",
    another_way="A loop over the lists, before they are stacked, gives the same rows, and is as slow.",
)
def loop_over_batch(vectors, weights):
    xs, ws = jnp.stack(vectors), jnp.stack(weights)
    return xs, ws, jnp.stack([slide(xs[i], ws[i]) for i in range(len(xs))])


@alternative
def arrays_of_lists(vectors, weights):
    rows = [slide(x, w) for x, w in zip(vectors, weights, strict=True)]
    return jnp.array(vectors), jnp.array(weights), jnp.array(rows)


@alternative
def zips_the_batches(vectors, weights):
    xs, ws, rows = jnp.stack(vectors), jnp.stack(weights), []
    for x, w in zip(xs, ws, strict=True):
        rows.append(slide(x, w))
    return [xs, ws, jnp.stack(rows)]


@wrong(
    rejected_by="batches_have_a_new_first_axis",
    says="`concatenate` makes one long vector.",
    misses_the_point=True,
    lacks="S2-02",
)
def concatenates(vectors, weights):
    rows = [slide(x, w) for x, w in zip(vectors, weights, strict=True)]
    return jnp.concatenate(vectors), jnp.concatenate(weights), jnp.stack(rows)


@wrong(rejected_by="batches_have_a_new_first_axis", says="The batch is put on the last axis.", lacks="S2-02")
def stacks_columns(vectors, weights):
    rows = [slide(x, w) for x, w in zip(vectors, weights, strict=True)]
    return jnp.stack(vectors, axis=1), jnp.stack(weights, axis=1), jnp.stack(rows)


@wrong(rejected_by="each_row_has_its_own_weights", says="All rows are made with the first weights.")
def first_weights_for_all(vectors, weights):
    xs, ws = jnp.stack(vectors), jnp.stack(weights)
    return xs, ws, jnp.stack([slide(x, ws[0]) for x in xs])


@wrong(
    rejected_by="the_loop_gives_the_documented_rows",
    says="`vmap` makes all rows in one operation; here a loop is asked for, to compare it with.",
    lacks="S2-03",
)
def maps_instead(vectors, weights):
    xs, ws = jnp.stack(vectors), jnp.stack(weights)
    return xs, ws, jax.vmap(slide)(xs, ws)


@hidden(idea="Any batch.", on="a batch of three vectors of five numbers")
def any_batch(answer, draw, reference):
    """A batch of three vectors of five is right."""
    vectors, weights = [draw.floats(5) for _ in range(3)], [draw.floats(3) for _ in range(3)]
    for got, wanted in zip(answer(vectors, weights), reference(vectors, weights), strict=True):
        expect_close(got, wanted, atol=1e-5)


@wrong(rejected_by="one_vector_is_a_batch", says="A batch of one is taken for no batch.")
def squeezes_a_batch_of_one(vectors, weights):
    xs, ws = jnp.stack(vectors), jnp.stack(weights)
    return jnp.squeeze(xs), jnp.squeeze(ws), jnp.squeeze(jnp.stack([slide(x, w) for x, w in zip(xs, ws, strict=True)]))


@wrong(rejected_by="one_vector_is_a_batch", says="Whole numbers are made into float32 in all batches but the first.")
def keeps_the_dtype_of_the_example(vectors, weights):
    xs, ws = jnp.stack(vectors), jnp.stack(weights)
    xs = xs if len(vectors) == 2 else xs.astype(jnp.float32)
    return xs, ws, jnp.stack([slide(x, w) for x, w in zip(xs, ws, strict=True)])


@hidden(idea="A batch of one vector of three whole numbers.", on="a single vector of three whole numbers")
def one_vector_is_a_batch(answer, draw, reference):
    """One vector of three whole numbers gives batches of one row."""
    vectors, weights = [jnp.array([draw.integer(-9, 9) for _ in range(3)])], [draw.floats(3)]
    for got, wanted in zip(answer(vectors, weights), reference(vectors, weights), strict=True):
        expect_close(got, wanted, atol=1e-5)


@wrong(rejected_by="the_lists_stay_as_they_are", says="The lists are put in order in place, and are the caller's.")
def stacks_in_place(vectors, weights):
    for i, x in enumerate(vectors):
        weights[i] = (x, weights[i])
    rows = jnp.stack([slide(x, w) for x, w in weights])
    return jnp.stack(vectors), jnp.stack([w for _, w in weights]), rows


@alternative
def a_named_tuple(vectors, weights):
    from collections import namedtuple

    xs, ws = jnp.stack(vectors), jnp.stack(weights)
    rows = jnp.stack([slide(x, w) for x, w in zip(xs, ws, strict=True)])
    return namedtuple("Batch", ["xs", "ws", "slid"])(xs, ws, rows)


@hidden(idea="A list belongs to the caller: read it, and leave it alone.", on="lists that are used again")
def the_lists_stay_as_they_are(answer, draw):
    """After the call both lists hold what they held."""
    args = [draw.floats(4) for _ in range(2)], [draw.floats(3) for _ in range(2)]
    for got, wanted in zip(answer.observe(*args).arguments, args, strict=True):
        expect_equal(got, wanted, "The lists should stay as they are.")


equivalent("4bd51a076c", because="A NumPy array of these numbers is a batch, too.")
equivalent("9b42cc7d41", because="A NumPy array of these numbers is a batch, too.")


# %% vectorized_by_hand
@answer(
    notice="The Python loop that is left goes over the windows; each of its operations does all rows.",
    another_way="`jax.vmap(slide)` needs no rewriting: that is the next part.",
)
def vectorized_by_hand(xs, ws):
    dots = [jnp.sum(xs[:, i - 1 : i + 2] * ws, axis=1) for i in range(1, xs.shape[1] - 1)]
    return jnp.stack(dots, axis=1)


@alternative
def by_einsum(xs, ws):
    places = jnp.arange(xs.shape[1] - 2)[:, None] + jnp.arange(3)
    return jnp.einsum("bpk,bk->bp", xs[:, places], ws)


@alternative
@jax.jit
def three_shifted_sums(xs, ws):
    n = xs.shape[1]
    return sum(xs[:, k : n - 2 + k] * ws[:, k, None] for k in range(3))


@alternative
def by_vmap(xs, ws):
    return jax.vmap(slide)(xs, ws)


@wrong(rejected_by="the_batch_stays_first", says="The windows become the first axis of the result.")
def stacks_windows_first(xs, ws):
    dots = [jnp.sum(xs[:, i - 1 : i + 2] * ws, axis=1) for i in range(1, xs.shape[1] - 1)]
    return jnp.stack(dots)


@wrong(rejected_by="the_batch_stays_first", says="The sum goes over the batch instead of the window.")
def sums_over_the_batch(xs, ws):
    dots = [jnp.sum(xs[:, i - 1 : i + 2] * ws, axis=0) for i in range(1, xs.shape[1] - 1)]
    return jnp.stack(dots)


@wrong(rejected_by="rows_do_not_mix", says="The weights of the first row are used for all.")
def first_weights_for_all(xs, ws):
    dots = [xs[:, i - 1 : i + 2] @ ws[0] for i in range(1, xs.shape[1] - 1)]
    return jnp.stack(dots, axis=1)


@wrong(
    rejected_by="by_hand_gives_the_documented_rows",
    says="A Python loop over the rows is not vectorization.",
    misses_the_point=True,
    lacks="S2-05",
)
def loops_over_rows(xs, ws):
    return jnp.stack([slide(x, w) for x, w in zip(xs, ws, strict=True)])


@hidden(idea="Any batch.", on="a batch of three rows of seven numbers")
def any_batch(answer, draw, reference):
    """A batch of three rows of seven is right."""
    xs, ws = draw.floats(3, 7), draw.floats(3, 3)
    expect_close(answer(xs, ws), reference(xs, ws), atol=1e-5)


@wrong(rejected_by="all_rows_in_one_operation", says="`jax.lax.map` is a loop too: it does one row after the other.")
def loops_with_lax_map(xs, ws):
    return jax.lax.map(lambda row: slide(*row), (xs, ws))


@wrong(rejected_by="one_row_and_infinity", says="A batch of one is taken for no batch.")
def squeezes_a_batch_of_one(xs, ws):
    return jnp.squeeze(jax.vmap(slide)(xs, ws))


@hidden(
    stage="cost",
    required=True,
    idea="All rows in one operation: a loop of `jax.lax` does one row after the other.",
    on="a batch of four rows",
)
def all_rows_in_one_operation(answer, draw):
    """The program holds no loop."""
    expect_no_loop(answer, draw.floats(4, 6), draw.floats(4, 3))


@hidden(idea="A batch of one row of three numbers, and a batch with infinity in one row.")
def one_row_and_infinity(answer, draw, reference):
    """A batch of one row has one row, and infinity in a row stays in that row."""
    xs, ws = draw.floats(1, 3), draw.floats(1, 3)
    expect_close(
        answer(xs, ws),
        reference(xs, ws),
        "A batch of one row should give one row.",
        atol=1e-5,
        on="a batch of one row of three numbers",
    )
    xs, ws = draw.numpy(3, 5), np.abs(draw.numpy(3, 3)) + np.float32(0.5)
    xs[1, 0] = np.inf
    expect_close(
        answer(xs, ws),
        reference(xs, ws),
        "Only one number should be infinite.",
        atol=1e-5,
        on="a batch with infinity in one row",
    )


# %% vectorized_by_vmap
@answer(
    notice="`jax.vmap(slide)` is a function; the batches go to it, and not to `vmap`.",
    another_way="`jnp.vectorize(slide, signature='(n),(k)->(m)')` maps over all other axes, however many there are.",
)
def vectorized_by_vmap(xs, ws):
    return jax.vmap(slide)(xs, ws)


alternative_value("the_mapped_function_itself", jax.vmap(slide))
alternative_value("mapped_and_compiled", jax.jit(jax.vmap(slide, in_axes=(0, 0))))


@alternative
def maps_pairs(xs, ws):
    return jax.vmap(lambda row: slide(*row))((xs, ws))


@alternative
def by_jnp_vectorize(xs, ws):
    return jnp.vectorize(slide, signature="(n),(k)->(m)")(xs, ws)


@wrong(
    rejected_by="vmap_gives_the_documented_rows",
    says="`slide` is written again for a batch, by hand.",
    lacks="S2-06",
)
def all_rows_at_once(xs, ws):
    return sum(xs[:, k : xs.shape[1] - 2 + k] * ws[:, k, None] for k in range(3))


@wrong(rejected_by="rows_go_together", says="All rows get the first weights.")
def maps_with_the_first_weights(xs, ws):
    return jax.vmap(lambda x: slide(x, ws[0]))(xs)


@wrong(rejected_by="rows_go_together", says="Every row is made with every set of weights.")
def all_pairs(xs, ws):
    return jax.vmap(lambda x: jax.vmap(lambda w: slide(x, w))(ws))(xs)


@wrong(rejected_by="vmap_gives_the_documented_rows", says="A comprehension is a loop too.", misses_the_point=True)
def loops_in_a_comprehension(xs, ws):
    return jnp.stack([slide(x, w) for x, w in zip(xs, ws, strict=True)])


@wrong(rejected_by="rows_go_together", says="`vmap` is believed to return the result, not a function.")
def forgets_the_call(xs, ws):
    return jax.vmap(slide)


@hidden(idea="Any batch.", on="a batch of three rows of seven numbers")
def any_batch(answer, draw, reference):
    """A batch of three rows of seven is right."""
    xs, ws = draw.floats(3, 7), draw.floats(3, 3)
    expect_close(answer(xs, ws), reference(xs, ws), atol=1e-5)


@wrong(rejected_by="all_rows_in_one_operation", says="`jax.lax.map` is a loop too: it does one row after the other.")
def loops_with_lax_map(xs, ws):
    return jax.lax.map(lambda row: slide(*row), (xs, ws))


@wrong(rejected_by="one_row_and_infinity", says="A batch of one is taken for no batch.")
def squeezes_a_batch_of_one(xs, ws):
    return jnp.squeeze(jax.vmap(slide)(xs, ws))


@hidden(
    stage="cost",
    required=True,
    idea="All rows in one operation: a loop of `jax.lax` does one row after the other.",
    on="a batch of four rows",
)
def all_rows_in_one_operation(answer, draw):
    """The program holds no loop."""
    expect_no_loop(answer, draw.floats(4, 6), draw.floats(4, 3))


@hidden(idea="A batch of one row of three numbers, and a batch with infinity in one row.")
def one_row_and_infinity(answer, draw, reference):
    """A batch of one row has one row, and infinity in a row stays in that row."""
    xs, ws = draw.floats(1, 3), draw.floats(1, 3)
    expect_close(
        answer(xs, ws),
        reference(xs, ws),
        "A batch of one row should give one row.",
        atol=1e-5,
        on="a batch of one row of three numbers",
    )
    xs, ws = draw.numpy(3, 5), np.abs(draw.numpy(3, 3)) + np.float32(0.5)
    xs[1, 0] = np.inf
    expect_close(
        answer(xs, ws),
        reference(xs, ws),
        "Only one number should be infinite.",
        atol=1e-5,
        on="a batch with infinity in one row",
    )


# %% predict_shape_inside
@answer
def predict_shape_inside():
    return (5,)


# %% jit_and_vmap
@answer(
    notice="Both are functions that are made first and called then. `jit` around `vmap` compiles the batch;"
    " inside, it compiles one row, and `vmap` maps the compiled function.",
    another_way="For speed, put `jit` outside, once and not in each call.",
)
def jit_and_vmap(xs, ws):
    return jax.jit(jax.vmap(slide))(xs, ws), jax.vmap(jax.jit(slide))(xs, ws)


@alternative
def decorates_both(xs, ws):
    @jax.jit
    @jax.vmap
    def outside(x, w):
        return slide(x, w)

    @jax.vmap
    @jax.jit
    def inside(x, w):
        return slide(x, w)

    return outside(xs, ws), inside(xs, ws)


@alternative
def jit_on_both_sides(xs, ws):
    mapped = jax.jit(jax.vmap(jax.jit(slide), in_axes=(0, 0)))
    return [mapped(xs, ws), mapped(xs, ws)]


@wrong(rejected_by="both_are_compiled", says="`vmap` is believed to compile.", misses_the_point=True)
def vmap_alone(xs, ws):
    return jax.vmap(slide)(xs, ws), jax.vmap(slide)(xs, ws)


@wrong(
    rejected_by="both_are_compiled",
    says="The inner `jit` is left out, since the numbers are right.",
    misses_the_point=True,
)
def forgets_the_inner_jit(xs, ws):
    return jax.jit(jax.vmap(slide))(xs, ws), jax.vmap(slide)(xs, ws)


@wrong(rejected_by="jit_outside_gives_the_documented_rows", says="`jit` is put around the result of a call.")
def jits_the_result(xs, ws):
    return jax.jit(jax.vmap(slide)(xs, ws)), jax.vmap(jax.jit(slide))(xs, ws)


@wrong(
    rejected_by="jit_outside_gives_the_documented_rows",
    says="The first function is made and never called.",
    lacks="S2-11",
)
def makes_the_first_and_does_not_call(xs, ws):
    return jax.jit(jax.vmap(slide)), jax.vmap(jax.jit(slide))(xs, ws)


@wrong(
    rejected_by="jit_inside_gives_the_same_rows", says="The second function is made and never called.", lacks="S2-12"
)
def makes_and_does_not_call(xs, ws):
    return jax.jit(jax.vmap(slide))(xs, ws), jax.vmap(jax.jit(slide))


@wrong(rejected_by="jit_inside_gives_the_same_rows", says="`jit` is believed to map over the rows as well.")
def jit_without_vmap(xs, ws):
    return jax.jit(jax.vmap(slide))(xs, ws), jax.jit(slide)(xs[:, :3], ws[0])


@wrong(rejected_by="both_are_the_loop", says="All rows get the first weights.")
def first_weights_for_all(xs, ws):
    return jax.jit(jax.vmap(slide))(xs, ws), jax.vmap(jax.jit(slide), in_axes=(0, None))(xs, ws[0])


@hidden(idea="Any batch.", on="a batch of three rows of seven numbers")
def any_batch(answer, draw, reference):
    """A batch of three rows of seven is right in both arrays."""
    xs, ws = draw.floats(3, 7), draw.floats(3, 3)
    for got, wanted in zip(parts(answer(xs, ws), 2), parts(reference(xs, ws), 2), strict=True):
        expect_close(got, wanted, atol=1e-5)


@wrong(rejected_by="no_loop_over_the_rows_of_either", says="A Python loop of jitted calls stands for `vmap`.")
def a_loop_of_jitted_calls(xs, ws):
    compiled = jax.jit(slide)
    return jax.jit(jax.vmap(slide))(xs, ws), jnp.stack([compiled(x, w) for x, w in zip(xs, ws, strict=True)])


@wrong(rejected_by="both_are_compiled", says="`jit` is inside of `vmap` both times.")
def the_same_order_twice(xs, ws):
    mapped = jax.vmap(jax.jit(slide))
    return mapped(xs, ws), mapped(xs, ws)


@wrong(rejected_by="one_row", says="A batch of one is taken for no batch.")
def squeezes_a_batch_of_one(xs, ws):
    return jnp.squeeze(jax.jit(jax.vmap(slide))(xs, ws)), jnp.squeeze(jax.vmap(jax.jit(slide))(xs, ws))


@wrong(rejected_by="both_are_made_by_slide", says="What is jitted is something else than `slide`.")
def jits_what_is_left_to_do(xs, ws):
    rows = jax.vmap(slide)(xs, ws)
    return jax.jit(lambda all_rows: 1 * all_rows)(rows), jax.vmap(jax.jit(lambda row: row + 0))(rows)


@alternative
def a_named_tuple(xs, ws):
    from collections import namedtuple

    both = namedtuple("Both", ["jit_outside", "jit_inside"])
    return both(jax.jit(jax.vmap(slide))(xs, ws), jax.vmap(jax.jit(slide))(xs, ws))


@hidden(
    stage="cost",
    required=True,
    idea="`vmap` does all rows at once: no loop over the rows, for either array.",
    on="a batch of 4 rows, and one of 40",
)
def no_loop_over_the_rows_of_either(answer, draw):
    """The program is as long for 40 rows as for 4, and holds no loop."""
    small, large = (draw.floats(4, 6), draw.floats(4, 3)), (draw.floats(40, 6), draw.floats(40, 3))
    expect_no_growth(answer, small, large, UNROLLED)
    expect_no_loop(answer, *small)


@hidden(
    stage="cost",
    required=True,
    idea="`slide` itself is mapped and compiled, once in each order.",
    on="a batch of four rows of six numbers",
)
def both_are_made_by_slide(answer, draw):
    """For rows of six numbers there are eight dot products, four for each of the two arrays."""
    products = answer.program(draw.floats(4, 6), draw.floats(4, 3)).primitives.get("dot_general", 0)
    message = "Each array should be made by `slide`: four dot products for each, for rows of six numbers."
    expect_that(products == 8, message, f"{products} dot products", "8")


@hidden(idea="A batch of one row of three numbers.", on="a batch of one row of three numbers")
def one_row(answer, draw, reference):
    """A batch of one row has one row, in both arrays."""
    xs, ws = draw.floats(1, 3), draw.floats(1, 3)
    for got, wanted in zip(parts(answer(xs, ws), 2), parts(reference(xs, ws), 2), strict=True):
        expect_close(got, wanted, "A batch of one row should give one row.", atol=1e-5)


equivalent("b5ba56f5a8", because="The two arrays are the same, so that no check can tell which is which.")


# %% slide_layout
@answer(
    notice="An entry for each argument says where its batch is; nothing is moved or copied before.",
    another_way="`jax.vmap(slide)(xst.T, wst.T).T` is right for columns, too, but has three more operations, and you "
    "must think of all three.",
)
def slide_layout(layout, series, weights):
    axes = {"columns": (1, 1), "shared weights": (0, None), "one series, many weights": (None, 1)}
    out = 1 if layout == "columns" else 0
    return jax.vmap(slide, in_axes=axes.get(layout, (None, None)), out_axes=out)(series, weights)


@alternative
def axes_from_the_end(layout, series, weights):
    if layout == "columns":
        mapped = jax.vmap(slide, in_axes=-1, out_axes=-1)
    elif layout == "shared weights":
        mapped = jax.vmap(slide, in_axes=[0, None])
    else:
        mapped = jax.vmap(slide, in_axes=[None, -1 if layout == "one series, many weights" else None])
    return jax.jit(mapped)(series, weights)


@alternative
def closes_over_what_is_shared(layout, series, weights):
    if layout == "columns":
        return jax.vmap(slide)(series.T, weights.T).T
    if layout == "shared weights":
        return jax.vmap(lambda x: slide(x, weights))(series)
    if layout == "one series, many weights":
        return jax.vmap(lambda w: slide(series, w), in_axes=1)(weights)
    return jax.vmap(slide, in_axes=(None, None))(series, weights)


def _laid_out(layout, series, weights):
    axes = {"columns": (1, 1), "shared weights": (0, None), "one series, many weights": (None, 1)}
    out = 1 if layout == "columns" else 0
    return jax.vmap(slide, in_axes=axes.get(layout, (None, None)), out_axes=out)(series, weights)


@wrong(rejected_by="the_documented_columns", says="The result has its batch on the first axis.", lacks="S2-08")
def forgets_out_axes(layout, series, weights):
    axes = {"columns": (1, 1), "shared weights": (0, None), "one series, many weights": (None, 1)}
    return jax.vmap(slide, in_axes=axes.get(layout, (None, None)))(series, weights)


@wrong(rejected_by="the_documented_columns", says="The rows are mapped, and only the result is turned.", lacks="S2-08")
def transposes_the_result_only(layout, series, weights):
    if layout == "columns":
        return jax.vmap(slide)(series[:3], weights).T
    return _laid_out(layout, series, weights)


@wrong(
    rejected_by="shared_weights_give_the_documented_rows",
    says="The weights are copied for each row.",
    lacks="S2-10",
)
def copies_the_weights(layout, series, weights):
    if layout == "shared weights":
        return jax.vmap(slide)(series, jnp.broadcast_to(weights, (len(series), 3)))
    return _laid_out(layout, series, weights)


@wrong(rejected_by="the_rules_for_axes_hold", says="The error is caught.", lacks="S2-09")
def catches_the_error(layout, series, weights):
    try:
        return _laid_out(layout, series, weights)
    except ValueError as error:
        return f"ValueError: {error}"


@wrong(rejected_by="the_rules_for_axes_hold", says="Without any batch, the function is just called.", lacks="S2-09")
def slides_if_nothing_is_mapped(layout, series, weights):
    return slide(series, weights) if layout == "all shared" else _laid_out(layout, series, weights)


@wrong(rejected_by="the_rules_for_axes_hold", says="The error is made anew, and hides that of `vmap`.", lacks="S2-09")
def translates_the_error(layout, series, weights):
    try:
        return _laid_out(layout, series, weights)
    except ValueError as error:
        raise ValueError(f"{layout}: {error}") from None


@wrong(rejected_by="one_series_is_not_copied", says="The series is copied for each set of weights.")
def copies_the_series(layout, series, weights):
    if layout == "one series, many weights":
        return jax.vmap(slide)(jnp.stack([series] * weights.shape[1]), weights.T)
    return _laid_out(layout, series, weights)


@wrong(rejected_by="examples_go_together", says="The weights are taken to lie in rows.")
def takes_weights_in_rows(layout, series, weights):
    if layout == "one series, many weights" and weights.shape[1] == 3:
        return jax.vmap(slide, in_axes=(None, 0))(series, weights)
    return _laid_out(layout, series, weights)


@wrong(
    rejected_by="no_layout_needs_a_loop",
    says="A Python loop over the examples is not vectorization.",
    misses_the_point=True,
)
def loops_over_examples(layout, series, weights):
    if layout == "columns":
        return jnp.stack([slide(series[:, j], weights[:, j]) for j in range(series.shape[1])], axis=1)
    if layout == "shared weights":
        return jnp.stack([slide(x, weights) for x in series])
    if layout == "one series, many weights":
        return jnp.stack([slide(series, w) for w in weights.T])
    return jax.vmap(slide, in_axes=(None, None))(series, weights)


@wrong(rejected_by="no_layout_needs_a_loop", says="`jax.lax.map` is a loop, too.", misses_the_point=True)
def loops_with_lax_map(layout, series, weights):
    if layout == "columns":
        return jax.lax.map(lambda row: slide(*row), (series.T, weights.T)).T
    return _laid_out(layout, series, weights)


@wrong(rejected_by="one_example", says="A batch of one is taken for no batch.")
def squeezes_a_batch_of_one(layout, series, weights):
    result = _laid_out(layout, series, weights)
    return jnp.squeeze(result) if 1 in series.shape + weights.shape else result


@hidden(
    stage="cost",
    required=True,
    idea="`None` gives the whole series to every set of weights, and copies nothing.",
    on="one series and seven sets of weights",
)
def one_series_is_not_copied(answer, draw):
    """One series is not copied for seven sets of weights."""
    results = answer.program("one series, many weights", draw.floats(6), draw.floats(3, 7)).results
    copies = [one for one in ("float32[7,6]", "float32[6,7]") if one in results]
    expect_that(not copies, "The series should not be copied for each set of weights.", copies, "no copy")


@hidden(idea="One example of three numbers.", on="a batch of one example of three numbers")
def one_example(answer, draw):
    """A batch of one example stays a batch, in each layout."""
    for layout in BATCHED:
        args, wanted = in_layout(layout, draw, 1, 3)
        expect_close(answer(layout, *args), wanted, "A batch of one should stay a batch.", atol=1e-5)


@hidden(idea="Any number of examples, with infinity in one of them.", on="five examples, one of them infinite")
def infinity_stays_in_its_example(answer, draw):
    """Five examples are right, and infinity in one leaves the others alone."""
    xs, ws = draw.numpy(5, 7), np.abs(draw.numpy(5, 3)) + np.float32(0.5)
    xs[2, 0] = np.inf
    expect_close(answer("columns", xs.T, ws.T), slid(xs, ws).T, "Only one number should be infinite.", atol=1e-5)
    wanted = slid(xs, [ws[0]] * 5)
    expect_close(answer("shared weights", xs, ws[0]), wanted, "Only one number should be infinite.", atol=1e-5)


# %% predict_with_all
@answer(
    notice="A dict as an entry of `in_axes` has an axis for each array: `w` is mapped, and `b` goes to every model "
    "whole.",
    another_way="A function that closes over `b` and the table, mapped over `w` alone, makes the same program.",
)
def predict_with_all(params, table):
    return jax.vmap(predict, in_axes=({"w": 0, "b": None}, None))(params, table)


@alternative
@jax.jit
def closes_over_the_rest(params, table):
    return jax.vmap(lambda w: predict({"w": w, "b": params["b"]}, table))(params["w"])


@alternative
def a_level_for_each_model(params, table):
    params = {**params, "b": jnp.full(len(params["w"]), params["b"])}
    return jax.vmap(predict, in_axes=(0, None))(params, table)


@alternative
def by_one_matrix_product(params, table):
    return params["w"] @ table.T + params["b"]


@wrong(rejected_by="a_row_for_each_model", says="The level is mapped, too, but it has no axis.")
def maps_the_level(params, table):
    return jax.vmap(predict, in_axes=(0, None))(params, table)


@wrong(rejected_by="a_row_for_each_model", says="The models become the columns.")
def models_in_columns(params, table):
    return jax.vmap(predict, in_axes=({"w": 0, "b": None}, None), out_axes=1)(params, table)


@wrong(rejected_by="each_model_predicts", says="The weights are mapped along the features.")
def maps_over_the_features(params, table):
    square = params["w"].shape[0] == params["w"].shape[1]
    axis = 1 if square else 0
    return jax.vmap(predict, in_axes=({"w": axis, "b": None}, None))(params, table)


@wrong(rejected_by="each_model_predicts", says="The weights are averaged; one model is no ensemble.")
def averages_the_models(params, table):
    mean = {"w": params["w"].mean(0), "b": params["b"]}
    return jnp.stack([predict(mean, table)] * len(params["w"]))


@wrong(rejected_by="each_model_predicts", says="The level is left out.")
def leaves_out_the_level(params, table):
    return params["w"] @ table.T


@wrong(
    rejected_by="one_product_for_all_models",
    says="A Python loop over the models is not vectorization.",
    misses_the_point=True,
)
def loops_over_models(params, table):
    return jnp.stack([predict({"w": w, "b": params["b"]}, table) for w in params["w"]])


@wrong(rejected_by="one_product_for_all_models", says="Products are added up feature by feature.")
def adds_feature_by_feature(params, table):
    return sum(w[:, None] * column for w, column in zip(params["w"].T, table.T, strict=True)) + params["b"]


@wrong(rejected_by="params_stays_as_it_is", says="The level is taken out of the dict, which is the caller's.")
def takes_the_level_out(params, table):
    level = params.pop("b")
    return jax.vmap(lambda w: predict({"w": w, "b": level}, table))(params["w"])


@wrong(rejected_by="one_product_without_a_loop", says="`jax.lax.map` is a loop, too: one product after the other.")
def loops_with_lax_map(params, table):
    return jax.lax.map(lambda w: predict({"w": w, "b": params["b"]}, table), params["w"])


@wrong(rejected_by="one_model_and_one_row", says="An ensemble of one is taken for a model.")
def squeezes_an_ensemble_of_one(params, table):
    return jnp.squeeze(jax.vmap(predict, in_axes=({"w": 0, "b": None}, None))(params, table))


@hidden(
    stage="cost",
    required=True,
    idea="One product for all models: a loop of `jax.lax` makes one after the other.",
    on="an ensemble of three models",
)
def one_product_without_a_loop(answer, draw):
    """The program holds no loop."""
    expect_no_loop(answer, some_models(draw, 3), draw.floats(5, 3))


@hidden(idea="A dict belongs to the caller: copy it, and change the copy.", on="a dict that is used again")
def params_stays_as_it_is(answer, draw):
    """After the call the dict holds what it held."""
    params = some_models(draw, 4)
    left = answer.observe(params, draw.floats(5, 3)).arguments[0]
    expect_equal(left, params, "`params` should stay as it is.")


@hidden(idea="An ensemble of one model, and a table of one row.", on="an ensemble of one model, and a table of one row")
def one_model_and_one_row(answer, draw):
    """One model gives one row, and a table of one row gives one column."""
    for m, n, d in ((1, 4, 2), (4, 1, 2), (1, 1, 1)):
        params, table = some_models(draw, m, d), draw.floats(n, d)
        expect_close(answer(params, table), predicted(params, table), "One should stay an axis.", rtol=1e-4, atol=1e-5)


@hidden(idea="A table with an infinity in one row.", on="a table with an infinity in one row")
def infinity_stays_in_its_row(answer, draw):
    """Infinity in one row makes one column infinite."""
    params, table = some_models(draw, 3), draw.numpy(4, 3)
    table[1, 2] = np.inf
    expect_close(answer(params, table), predicted(params, table), "Only column 1 should be infinite.", atol=1e-4)


# %% look_inside
@answer(
    notice="A shape is a Python tuple, so that it may leave the function; a tracer may not.",
    another_way="`watch_traces` counts the traces of `jit` from outside, but not those of `vmap`.",
)
def look_inside(xs, ws, rows):
    def look(mapped_by):
        seen = []

        def spy(x, w):
            seen.append((x.shape, w.shape))
            return slide(x, w)

        mapped = mapped_by(spy)
        for n in rows:
            mapped(xs[:n], ws[:n])
        return seen

    return {"vmap": look(jax.vmap), "jit of vmap": look(lambda f: jax.jit(jax.vmap(f)))}


@alternative
def shapes_as_lists(xs, ws, rows):
    found = {}
    for name, compiled in (("jit of vmap", True), ("vmap", False)):
        seen = found[name] = []

        def spy(x, w, seen=seen):
            seen.append([list(x.shape), list(w.shape)])
            return x.sum() + w.sum()

        mapped = jax.vmap(spy, in_axes=(0, 0))
        mapped = jax.jit(mapped) if compiled else mapped
        for n in rows:
            mapped(xs[:n], ws[:n])
    return found


@wrong(rejected_by="one_run_serves_all_rows", says="The spy stands outside `vmap` and sees the batch.", lacks="S2-07")
def spies_on_the_batch(xs, ws, rows):
    def look(wrap):
        seen = []

        def spy(xs, ws):
            seen.append((xs.shape, ws.shape))
            return jax.vmap(slide)(xs, ws)

        mapped = wrap(spy)
        for n in rows:
            mapped(xs[:n], ws[:n])
        return seen

    return {"vmap": look(lambda f: f), "jit of vmap": look(jax.jit)}


@wrong(rejected_by="one_run_serves_all_rows", says="`vmap` is believed to run the function once for each row.")
def one_run_for_each_row(xs, ws, rows):
    seen = [(x.shape, w.shape) for x, w in zip(xs, ws, strict=True)]
    return {"vmap": seen * len(rows), "jit of vmap": seen}


@wrong(rejected_by="vmap_runs_again_and_jit_does_not", says="`vmap` is believed to use `jit` inside.", lacks="S3-04")
def vmap_keeps_its_program(xs, ws, rows):
    seen = []

    def spy(x, w):
        seen.append((x.shape, w.shape))
        return slide(x, w)

    jax.vmap(spy)(xs, ws)
    return {"vmap": seen, "jit of vmap": list(seen)}


@wrong(rejected_by="vmap_runs_again_and_jit_does_not", says="A new jitted function in each call traces each time.")
def a_new_jit_in_each_call(xs, ws, rows):
    def look(wrap):
        seen = []
        for n in rows:

            def spy(x, w):
                seen.append((x.shape, w.shape))
                return slide(x, w)

            wrap(spy)(xs[:n], ws[:n])
        return seen

    return {"vmap": look(jax.vmap), "jit of vmap": look(lambda f: jax.jit(jax.vmap(f)))}


@wrong(
    rejected_by="a_jitted_function_has_run",
    says="The lists are derived from the shapes, and no function is run.",
    misses_the_point=True,
)
def writes_down_what_it_expects(xs, ws, rows):
    seen = xs.shape[1:], ws.shape[1:]
    return {"vmap": [seen] * len(rows), "jit of vmap": [seen] * len(set(rows))}


@wrong(
    rejected_by="another_number_of_rows_is_another_shape",
    says="`jit` inside of `vmap` sees one row, and so knows batches of every size.",
)
def vmap_around_jit(xs, ws, rows):
    def look(mapped_by):
        seen = []

        def spy(x, w):
            seen.append((x.shape, w.shape))
            return slide(x, w)

        mapped = mapped_by(spy)
        for n in rows:
            mapped(xs[:n], ws[:n])
        return seen

    return {"vmap": look(jax.vmap), "jit of vmap": look(lambda f: jax.vmap(jax.jit(f)))}


@hidden(
    idea="Calls with another number of rows each: for `jit` around `vmap`, that is another shape.",
    on="several calls with different numbers of rows",
)
def another_number_of_rows_is_another_shape(answer, draw, reference):
    """For calls with 4, 4, 3, 1 and 4 rows of six, what is seen is right."""
    args = draw.floats(4, 6), draw.floats(4, 3), [4, 4, 3, 1, 4]
    got, wanted = ({name: as_lists(seen) for name, seen in one(*args).items()} for one in (answer, reference))
    expect_equal(got, wanted, "`f` should note the shapes five times under `vmap`, and three times under `jit` of it.")


# %% equations_for
@answer(
    notice="A program depends on shapes and dtypes alone, so ones will do.",
    another_way="`jax.make_jaxpr(function)(xs, ws).eqns` is a list of equations, but a jitted function inside is one.",
)
def equations_for(function, rows):
    return [program(function, jnp.ones((b, 5)), jnp.ones((b, 3))).equations for b in rows]


@alternative
def adds_up_the_primitives(function, rows):
    counts = []
    for b in rows:
        found = program(function, np.zeros((b, 5), np.float32), np.zeros((b, 3), np.float32))
        counts.append(sum(found.primitives.values()))
    return tuple(counts)


@wrong(rejected_by="each_batch_is_counted", says="The dot products alone are counted.", misses_the_point=True)
def counts_dot_products(function, rows):
    return [program(function, jnp.ones((b, 5)), jnp.ones((b, 3))).primitives.get("dot_general", 0) for b in rows]


@wrong(
    rejected_by="each_batch_is_counted",
    says="One batch is counted, and taken for all.",
    lacks="S2-04",
)
def counts_one_size(function, rows):
    return [program(function, jnp.ones((2, 5)), jnp.ones((2, 3))).equations] * len(rows)


@wrong(rejected_by="each_batch_is_counted", says="The rows are put on the vector's axis.")
def more_numbers_instead_of_rows(function, rows):
    return [program(function, jnp.ones((2, b + 2)), jnp.ones((2, 3))).equations for b in rows]


@wrong(rejected_by="another_function_is_counted", says="The functions are known by their names.")
def knows_the_functions(function, rows):
    known = slide_in_a_loop if function.__name__ == "slide_in_a_loop" else function
    if known is function and function.__name__ not in ("slide_by_hand", "slide_in_a_loop"):
        known = jax.vmap(slide)
    return [program(known, jnp.ones((b, 5)), jnp.ones((b, 3))).equations for b in rows]


@wrong(rejected_by="another_function_is_counted", says="Batches larger than one of the lesson are cut.")
def stops_at_two_hundred(function, rows):
    sizes = [min(b, 200) for b in rows]
    return [program(function, jnp.ones((b, 5)), jnp.ones((b, 3))).equations for b in sizes]


@input
def hundreds_of_rows(xs, ws):
    return [xs[i : i + 100].sum() * ws.sum() for i in range(0, len(xs), 100)]


@input
def pairs_of_rows(xs, ws):
    total = 0.0
    for i in range(0, len(xs), 2):
        total = total + (xs[i : i + 2] * 2).sum() + ws.sum()
    return total


@hidden(
    idea="Functions whose programs grow every second row, or every hundredth.",
    on="a function that is not in the lesson, also with a thousand rows",
)
def another_function_is_counted(answer):
    """For other functions the counts are right, also for one row, for a thousand, and for no batch at all."""
    for function, rows in ((pairs_of_rows, [1, 2, 3, 6]), (pairs_of_rows, []), (hundreds_of_rows, [100, 1000])):
        wanted = [program(function, jnp.ones((b, 5)), jnp.ones((b, 3))).equations for b in rows]
        got = [int(np.asarray(one)) for one in parts(answer(given(function), rows), len(rows))]
        expect_equal(got, wanted, "The counts should be those of the programs.")


equivalent(
    "6d42983804",
    because="A program depends on shapes and dtypes alone; NumPy makes float64, which JAX takes for float32.",
)
equivalent("39c56e6861", because="A program depends on shapes and dtypes alone.")
equivalent(
    "84ef1cb3c7",
    because="A program depends on shapes and dtypes alone; NumPy makes float64, which JAX takes for float32.",
)
equivalent("93b528e318", because="A program depends on shapes and dtypes alone.")


# %% pairwise_distances
@answer(
    notice="`None` keeps one argument whole: the inner `vmap` makes the columns of the result, the outer one its rows.",
    another_way="`jnp.linalg.norm(xs[:, None] - ys, axis=-1)` broadcasts to the same table. By a product of "
    "matrices it would be faster, but near points far from 0 would lose their distance to rounding.",
)
def pairwise_distances(xs, ys):
    def distance(x, y):
        return jnp.sqrt(jnp.sum((x - y) ** 2))

    return jax.vmap(jax.vmap(distance, in_axes=(None, 0)), in_axes=(0, None))(xs, ys)


@alternative
def by_broadcasting(xs, ys):
    return jnp.linalg.norm(xs[:, None, :] - ys[None, :, :], axis=-1)


@alternative
@jax.jit
def ys_outside_then_turned(xs, ys):
    rows = jax.vmap(lambda y: jax.vmap(lambda x: jnp.linalg.norm(x - y))(xs), out_axes=1)
    return rows(ys)


@wrong(rejected_by="near_points_far_from_zero", says="Large squares are subtracted: for near points rounding is left.")
def by_one_matrix_product(xs, ys):
    squares = (xs**2).sum(1)[:, None] + (ys**2).sum(1) - 2 * xs @ ys.T
    return jnp.sqrt(jnp.maximum(squares, 0.0))


@wrong(rejected_by="near_points_far_from_zero", says="Large squares are subtracted, and may come out below 0.")
def by_a_product_without_a_clamp(xs, ys):
    squares = (xs**2).sum(1)[:, None] + (ys**2).sum(1) - 2 * xs @ ys.T
    return jnp.sqrt(squares)


@wrong(rejected_by="near_points_far_from_zero", says="A small number is added, for the gradient at 0.")
def adds_a_small_number(xs, ys):
    return jnp.sqrt(((xs[:, None] - ys[None]) ** 2).sum(axis=2) + 1e-6)


@wrong(rejected_by="near_points_in_two_far_groups", says="To centre the points does not help where there are groups.")
def measures_from_the_first_point(xs, ys):
    a, b = xs - xs[0], ys - xs[0]
    squares = (a**2).sum(1)[:, None] - 2 * a @ b.T + (b**2).sum(1)
    equal = (xs[:, None] == ys).all(axis=2)
    return jnp.where(equal, 0.0, jnp.sqrt(jnp.abs(squares)))


@alternative
def a_loop_over_the_coordinates(xs, ys):
    squares = jnp.zeros((len(xs), len(ys)))
    for k in range(xs.shape[1]):
        squares += jnp.subtract.outer(xs[:, k], ys[:, k]) ** 2
    return squares**0.5


@wrong(rejected_by="a_row_for_each_x", says="Row i of one meets only row i of the other.")
def maps_both_at_once(xs, ys):
    return jax.vmap(lambda x, y: jnp.linalg.norm(x - y))(xs, ys)


@wrong(rejected_by="a_row_for_each_x", says="The outer `vmap` goes over the ys: the result is turned.")
def ys_become_the_rows(xs, ys):
    return jax.vmap(lambda y: jax.vmap(lambda x: jnp.linalg.norm(x - y))(xs))(ys)


@wrong(rejected_by="a_right_triangle_has_its_long_side", says="The root is forgotten.")
def squared_distances(xs, ys):
    return ((xs[:, None] - ys[None]) ** 2).sum(axis=2)


@wrong(rejected_by="no_loop_over_the_points", says="The outer loop stays in Python.", misses_the_point=True)
def loops_over_xs(xs, ys):
    return jnp.stack([jnp.linalg.norm(x - ys, axis=1) for x in xs])


@wrong(rejected_by="no_loop_over_the_points", says="The loop over the ys stays in Python.", misses_the_point=True)
def loops_over_ys(xs, ys):
    return jnp.stack([jnp.linalg.norm(xs - y, axis=1) for y in ys], axis=1)


@wrong(rejected_by="a_right_triangle_has_its_long_side", says="Absolute differences are added.")
def city_blocks(xs, ys):
    return jnp.abs(xs[:, None] - ys[None]).sum(axis=2)


@hidden(idea="Any number of points, in any space.", on="points in a space of three dimensions")
def any_points(answer, draw, reference):
    """Two points and five points in a space of three dimensions are right."""
    xs, ys = draw.floats(2, 3), draw.floats(5, 3)
    expect_close(answer(xs, ys), reference(xs, ys), atol=2e-3)


@wrong(rejected_by="one_point_each", says="A batch of one is taken for no batch.")
def squeezes_one_point(xs, ys):
    distances = jnp.linalg.norm(xs[:, None] - ys[None], axis=2)
    return distances if distances.size > 1 else jnp.squeeze(distances)


@hidden(idea="Points near each other, and far from 0.", on="points near each other, and far from 0")
def near_points_far_from_zero(answer, draw):
    """Near points far from 0 have their distance."""
    # Multiples of 1/256, so that their differences are exact in float32.
    steps = draw.generator.integers(1, 9, size=(2, 3, 2)) / 256
    xs, ys = (np.float32([[500, -700]]) + steps).astype(np.float32)
    wanted = np.sqrt(((xs[:, None].astype(np.float64) - ys[None]) ** 2).sum(axis=2))
    got = answer(xs, ys)
    expect_close(got, wanted.astype(np.float32), "Near points should have their distance.", rtol=1e-4, atol=0.0)


@hidden(idea="Near points in two groups that are far apart.", on="near points in two groups that are far apart")
def near_points_in_two_far_groups(answer, draw):
    """In two groups that are far apart, near points have their distance."""
    steps = draw.generator.integers(1, 9, size=(2, 4, 2)) / 256
    groups = np.array([[500, -700], [500, -700], [-900, 300], [-900, 300]])
    xs, ys = (groups + steps).astype(np.float32)
    wanted = np.sqrt(((xs[:, None].astype(np.float64) - ys[None]) ** 2).sum(axis=2))
    got = answer(xs, ys)
    expect_close(got, wanted.astype(np.float32), "Near points should have their distance.", rtol=1e-4, atol=0.0)


@hidden(idea="Equal points, far from 0 and near it.", on="equal points, near 0 or far from it")
def equal_points_are_zero_apart(answer, draw):
    """Equal points are 0 apart."""
    for scale in (1.0, 1000.0):
        xs = scale * draw.floats(20, 3)
        got = np.asarray(answer(xs, xs[::-1]))
        equal = np.diagonal(got[:, ::-1])
        expect_that(got.shape == (20, 20) and not equal.any(), "Equal points should be 0 apart.", equal, "0")


@hidden(idea="One point in xs and one in ys.", on="one point in xs, and one in ys")
def one_point_each(answer, draw, reference):
    """One x and one y give a table with one entry."""
    xs, ys = draw.floats(1, 2), draw.floats(1, 2)
    expect_close(answer(xs, ys), reference(xs, ys), atol=2e-3)


equivalent("37ff517f9d", because="NumPy calls the method `sum` of the tracer.")
equivalent("065706ba42", because="The square of a difference is the same either way.")


# %% means_of_padded_rows
@answer(
    notice="`jnp.where` chooses, so that padding cannot leak, whatever it is.",
    another_way="`jnp.mean(xs, axis=1, where=mask)` takes the mask itself.",
)
def means_of_padded_rows(xs, lengths):
    def mean_of_one(x, n):
        return jnp.where(jnp.arange(x.shape[0]) < n, x, 0.0).sum() / n

    return jax.vmap(mean_of_one)(xs, lengths)


@alternative
def mean_with_where(xs, lengths):
    return jnp.mean(xs, axis=1, where=jnp.arange(xs.shape[1]) < lengths[:, None])


@alternative
@jax.jit
def sum_with_where(xs, lengths):
    return jax.vmap(lambda x, n: x.sum(where=jnp.arange(len(x)) < n) / n)(xs, lengths)


@wrong(rejected_by="padding_may_be_nan", says="The padding is multiplied by 0, and 0 * NaN is NaN.")
def multiplies_by_the_mask(xs, lengths):
    # A mask of bool would pass: XLA turns a product with one into a select.
    mask = jnp.where(jnp.arange(xs.shape[1]) < lengths[:, None], 1.0, 0.0)
    return (xs * mask).sum(axis=1) / lengths


@wrong(rejected_by="padding_does_not_count", says="The sum is divided by the padded length.")
def divides_by_the_padded_length(xs, lengths):
    mask = jnp.arange(xs.shape[1]) < lengths[:, None]
    return jnp.where(mask, xs, 0.0).mean(axis=1)


@wrong(rejected_by="padding_does_not_count", says="One number too many belongs to each row.")
def one_number_too_many(xs, lengths):
    mask = jnp.arange(xs.shape[1]) <= lengths[:, None]
    return jnp.where(mask, xs, 0.0).sum(axis=1) / lengths


@wrong(
    rejected_by="padded_means_can_be_compiled",
    says="A loop with slices needs the lengths as Python numbers.",
    misses_the_point=True,
)
def slices_in_a_python_loop(xs, lengths):
    return jnp.stack([x[: int(n)].mean() for x, n in zip(xs, lengths, strict=True)])


@hidden(idea="Any rows and lengths.", on="four rows with any lengths")
def any_lengths(answer, draw, reference):
    """Four rows of any length are right."""
    xs, lengths = draw.floats(4, 6), jnp.array([draw.integer(1, 7) for _ in range(4)])
    expect_close(answer(xs, lengths), reference(xs, lengths), atol=1e-5)


@wrong(rejected_by="own_nan_counts", says="Every NaN is taken for padding.")
def takes_nan_for_padding(xs, lengths):
    mask = jnp.arange(xs.shape[1]) < lengths[:, None]
    return jnp.nanmean(jnp.where(mask, xs, jnp.nan), axis=1)


@wrong(rejected_by="own_nan_counts", says="NaN is made 0 before the mask, also in a row's own numbers.")
def makes_nan_zero(xs, lengths):
    mask = jnp.arange(xs.shape[1]) < lengths[:, None]
    return (jnp.nan_to_num(xs) * mask).sum(axis=1) / lengths


@wrong(rejected_by="one_row_of_one_number", says="A batch of one is taken for no batch.")
def squeezes_a_batch_of_one(xs, lengths):
    mask = jnp.arange(xs.shape[1]) < lengths[:, None]
    return jnp.squeeze(jnp.where(mask, xs, 0.0).sum(axis=1) / lengths)


@hidden(
    idea="Rows whose own numbers hold NaN or infinity, and rows padded with infinity.",
    on="rows with NaN and infinity, also in the padding",
)
def own_nan_counts(answer, draw):
    """Own NaN and infinity come through; infinite padding does not."""
    xs = np.float32([[1, np.nan, 3, 0], [np.inf, 1, np.nan, 0], [1, 3, np.inf, -np.inf], [-2, 4, 1, 1]])
    wanted = np.float32([np.nan, np.inf, 2, 1])
    expect_close(answer(xs, jnp.array([3, 2, 2, 4])), wanted, "Only a row's own NaN and infinity should come through.")


@hidden(idea="A batch of one row of one number, and a very large number in the padding.")
def one_row_of_one_number(answer, draw, reference):
    """One row of one number is its own mean, and large padding leaves no trace."""
    xs, lengths = draw.floats(1, 1), jnp.array([1])
    expect_close(
        answer(xs, lengths),
        reference(xs, lengths),
        "One row should give one mean, in a vector.",
        on="a batch of one row of one number",
    )
    xs, lengths = np.float32([[0.25, 1e30], [1e-3, 3e-3]]), jnp.array([1, 2])
    expect_close(
        answer(xs, lengths),
        np.float32([0.25, 2e-3]),
        "The means should be 0.25 and 0.002.",
        rtol=1e-5,
        atol=0.0,
        on="a very large number in the padding",
    )


equivalent("737e6c5e30", because="Within `vmap` a row has one axis.")
equivalent("8329460214", because="Positions are known while tracing, so NumPy may count them.")


# %% in_pieces
@answer(
    notice="Each piece is mapped by `vmap`, and the pieces come one after the other, in a `scan`. What "
    "is left in the end is a piece of its own.",
    another_way="With padding to full pieces and a `scan` of your own, the padded rows must be cut off in the end.",
)
def in_pieces(function, xs, most):
    return jax.lax.map(function, xs, batch_size=most)


@alternative
def pads_and_cuts(function, xs, most):
    b = xs.shape[0]
    pieces = jnp.pad(xs, ((0, -b % most), (0, 0))).reshape(-1, most, xs.shape[1])
    rows = jax.lax.map(jax.vmap(function), pieces)
    return rows.reshape(-1, *rows.shape[2:])[:b]


@wrong(rejected_by="no_more_rows_than_allowed", says="`vmap` does all rows at once.", misses_the_point=True)
def all_at_once(function, xs, most):
    return jax.vmap(function)(xs)


@wrong(
    rejected_by="no_more_rows_than_allowed", says="Without `batch_size` it is one row at a time.", misses_the_point=True
)
def one_row_at_a_time(function, xs, most):
    return jax.lax.map(function, xs)


@wrong(
    rejected_by="the_loop_is_in_the_program", says="A Python loop over the pieces is unrolled.", misses_the_point=True
)
def loops_over_pieces(function, xs, most):
    return jnp.concatenate([jax.vmap(function)(xs[i : i + most]) for i in range(0, len(xs), most)])


@wrong(rejected_by="the_rows_are_those_of_vmap", says="The padding is left in.")
def leaves_the_padding_in(function, xs, most):
    xs = jnp.pad(xs, ((0, -len(xs) % most), (0, 0)))
    return jax.lax.map(function, xs, batch_size=most)


@wrong(rejected_by="the_rows_are_those_of_vmap", says="The rest is forgotten.")
def forgets_the_rest(function, xs, most):
    return jax.lax.map(function, xs[: len(xs) // most * most], batch_size=most)


@wrong(rejected_by="any_function_and_size", says="The function is taken for `widest_gap`.")
def knows_the_function(function, xs, most):
    return jax.lax.map(widest_gap, xs, batch_size=most)


@wrong(rejected_by="no_more_rows_than_allowed", says="`most` is the number of pieces, and not of rows.")
def takes_most_for_a_number_of_pieces(function, xs, most):
    return jax.lax.map(function, xs, batch_size=-(-len(xs) // most))


@wrong(rejected_by="other_pieces", says="Pieces of three are taken for granted.")
def always_three(function, xs, most):
    return jax.lax.map(function, xs, batch_size=3)


@wrong(rejected_by="results_keep_their_dtype", says="The results get the dtype of the rows.")
def gives_results_the_dtype_of_the_rows(function, xs, most):
    return jax.lax.map(lambda x: jnp.asarray(function(x), xs.dtype), xs, batch_size=most)


@input
def mean_and_turned(x):
    return jnp.append(x[::-1], x.mean())


@hidden(
    idea="A function that returns an array, with an infinity, in pieces of one row, of all rows and of more.",
    on="a function that is not in the lesson, an infinity, and pieces of one row, of all rows or of more",
)
def any_function_and_size(answer, draw):
    """For pieces of one row, of all and of more than there are, each row has its result."""
    for b, most in ((5, 1), (5, 5), (5, 4), (3, 8), (1, 1)):
        xs = draw.floats(b, 4).at[b // 2, 1].set(jnp.inf)
        wanted = np.concatenate([np.asarray(xs)[:, ::-1], np.asarray(xs).mean(1, keepdims=True)], axis=1)
        expect_close(answer(given(mean_and_turned), xs, most), wanted, "Row i should be `function(xs[i])`.", atol=1e-5)


@input
def positive_places(x):
    return x > 0


@input
def number_of_positive(x):
    return (x > 0).sum()


@hidden(idea="Functions that return whole numbers, or True and False.", on="a function that does not return floats")
def results_keep_their_dtype(answer, draw):
    """Whole numbers stay whole, and truth values stay truth values."""
    xs = draw.floats(7, 4)
    positive = np.asarray(xs) > 0
    message = "The results should keep their dtype, as with `jax.vmap`."
    for function, wanted in ((positive_places, positive), (number_of_positive, positive.sum(1, dtype=np.int32))):
        expect_close(answer(given(function), xs, 3), wanted, message)


@hidden(stage="cost", required=True, idea="`most` says how many rows at once.", on="pieces of another size")
def other_pieces(answer):
    """In pieces of 5, five rows are computed at once, and no more."""
    rows = rows_at_once(answer, 13, 5)
    expect_that(max(rows) == 5, "With most = 5, five rows should be computed at once.", rows, "[3, 5]")


# %% batch_centred
@answer(
    notice="`pmean` asks all rows of the named axis. Its result is the same for all, so `out_axes=None` may return it "
    "once.",
    another_way="`xs - xs.mean(0)` needs no `vmap`. The named axis pays inside of a longer function that is written "
    "for one example.",
)
def batch_centred(xs):
    def one(x):
        mean = jax.lax.pmean(x, "batch")
        return x - mean, mean

    return jax.vmap(one, axis_name="batch", out_axes=(0, None))(xs)


@alternative
@jax.jit
def without_vmap(xs):
    mean = xs.mean(axis=0)
    return [xs - mean, mean]


@alternative
def sum_and_count(xs):
    def one(x):
        mean = jax.lax.psum(x, "rows") / jax.lax.psum(1, "rows")
        return x - mean, mean

    centred, means = jax.vmap(one, axis_name="rows")(xs)
    return centred, means[0]


@alternative
def mean_before_the_map(xs):
    mean = jnp.mean(xs, axis=0)
    return jax.vmap(jnp.subtract, in_axes=(0, None))(xs, mean), mean


@alternative
def a_named_tuple(xs):
    from collections import namedtuple

    return namedtuple("Centred", ["centred", "mean"])(xs - xs.mean(axis=0), xs.mean(axis=0))


@wrong(rejected_by="one_column_stays_a_column", says="A column alone is taken for a list of numbers.")
def takes_one_column_for_numbers(xs):
    columns = xs.reshape(len(xs)) if xs.shape[1] == 1 else xs
    mean = columns.mean(axis=0)
    return (columns - mean).reshape(xs.shape), mean


@wrong(rejected_by="the_mean_comes_out_once", says="The mean is returned for each row.")
def repeats_the_mean(xs):
    mean = jnp.broadcast_to(xs.mean(axis=0), xs.shape)
    return xs - mean, mean


@wrong(rejected_by="the_mean_comes_out_once", says="`mean` inside `vmap` goes over one row.", misses_the_point=True)
def mean_of_the_row(xs):
    return jax.vmap(lambda x: (x - jnp.mean(x, axis=0), jnp.mean(x, axis=0)))(xs)


@wrong(rejected_by="the_mean_comes_out_once", says="The name is used, and never given to `vmap`.")
def forgets_the_axis_name(xs):
    return jax.vmap(lambda x: (x - jax.lax.pmean(x, "batch"), jax.lax.pmean(x, "batch")), out_axes=(0, None))(xs)


@wrong(rejected_by="the_mean_goes_over_the_batch", says="The sum is taken for the mean.")
def sum_of_the_batch(xs):
    return xs - xs.sum(axis=0), xs.sum(axis=0)


@wrong(rejected_by="the_mean_goes_over_the_batch", says="One mean is taken of all numbers.")
def one_mean_of_everything(xs):
    return xs - xs.mean(), jnp.full(xs.shape[1], xs.mean())


@wrong(rejected_by="one_row_is_its_own_mean", says="A batch of one is taken for no batch.")
def squeezes_a_batch_of_one(xs):
    return jnp.squeeze(xs - xs.mean(axis=0)), xs.mean(axis=0)


@hidden(idea="A batch of one row, and rows far from 0.")
def one_row_is_its_own_mean(answer, draw):
    """One row is its own mean, and rows far from 0 keep what is between them."""
    x = draw.floats(1, 3)
    centred, mean = parts(answer(x), 2)
    message = "One row should be its own mean."
    expect_close(mean, np.asarray(x)[0], message, on="a batch of one row")
    expect_close(centred, np.zeros((1, 3), np.float32), message, atol=1e-6, on="a batch of one row")
    xs = (np.float32([[300, -500]]) + draw.generator.integers(0, 64, size=(4, 2)) / 64).astype(np.float32)
    wanted = (xs - xs.astype(np.float64).mean(axis=0)).astype(np.float32)
    expect_close(parts(answer(xs), 2)[0], wanted, "Each row should lose the mean row.", atol=1e-3, on="rows far from 0")


@hidden(idea="Rows of one number each.", on="rows of one number")
def one_column_stays_a_column(answer, draw):
    """For rows of one number, the mean row has one number."""
    xs = draw.floats(4, 1)
    centred, mean = parts(answer(xs), 2)
    expect_close(mean, np.asarray(xs).mean(axis=0), "The mean row of one number should be a vector.", atol=1e-5)
    expect_close(centred, np.asarray(xs - xs.mean()), "The result should have rows of one number.", atol=1e-5)
