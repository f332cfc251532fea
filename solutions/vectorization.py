# %%
import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.course.author import (
    alternative,
    alternative_value,
    answer,
    expect_close,
    expect_equal,
    expect_raises,
    expect_that,
    hidden,
    wrong,
)
from jaxguide.tracing import program


# %% sliding_dot
@answer
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
    rejected_by="the_documented_numbers_come_out", says="A convolution turns the weights round.", misses_the_point=True
)
def convolves(x, w):
    return jnp.convolve(x, w, mode="valid")


@wrong(rejected_by="any_number_of_weights", says="The results are put into an array of the vector's own dtype.")
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


# %% correlation_and_convolution
@answer
def correlation_and_convolution(x, w):
    return slide(x, w), slide(x, w[::-1])


@alternative
def by_jax_numpy(x, w):
    return jnp.correlate(x, w, "valid"), jnp.convolve(x, w, "valid")


@alternative
@jax.jit
def turns_the_vector_twice(x, w):
    return slide(x, w), jnp.flip(slide(jnp.flip(x), w))


@wrong(rejected_by="the_second_is_the_convolution", says="The two are taken for the same.", misses_the_point=True)
def calls_both_the_same(x, w):
    return slide(x, w), slide(x, w)


@wrong(rejected_by="the_second_is_the_convolution", says="The vector is turned round, and the result with it.")
def turns_the_vector(x, w):
    return slide(x, w), slide(x[::-1], w)


@wrong(rejected_by="the_first_is_the_correlation", says="The names are swapped.")
def swaps_the_names(x, w):
    return slide(x, w[::-1]), slide(x, w)


@hidden(idea="Any vector.", on="a vector of another length")
def any_vector(answer, draw, reference):
    """Both are right for another length."""
    x, w = draw.floats(8), draw.floats(3)
    expect_close(pair(answer(x, w)), pair(reference(x, w)), atol=1e-5)


@wrong(rejected_by="one_window", says="A result of one number is taken for a number.")
def squeezes_both(x, w):
    return jnp.squeeze(slide(x, w)), jnp.squeeze(slide(x, w[::-1]))


@hidden(idea="Three numbers, so that there is one window.", on="a vector of three numbers")
def one_window(answer, draw, reference):
    """Three numbers give two vectors of one number."""
    x, w = draw.floats(3), draw.floats(3)
    expect_close(pair(answer(x, w)), pair(reference(x, w)), atol=1e-5)


# %% loop_over_batch
@answer
def loop_over_batch(vectors, weights):
    xs, ws = jnp.stack(vectors), jnp.stack(weights)
    return xs, ws, jnp.stack([slide(xs[i], ws[i]) for i in range(len(xs))])


@alternative
def arrays_of_lists(vectors, weights):
    rows = [slide(x, w) for x, w in zip(vectors, weights, strict=True)]
    return jnp.array(vectors), jnp.array(weights), jnp.array(rows)


@alternative
def stacks_and_maps(vectors, weights):
    xs, ws = jnp.stack(vectors), jnp.stack(weights)
    return xs, ws, jax.vmap(slide)(xs, ws)


@alternative
def stacks_with_numpy(vectors, weights):
    rows = [np.asarray(slide(x, w)) for x, w in zip(vectors, weights, strict=True)]
    return np.stack(vectors), np.stack(weights), np.stack(rows)


@wrong(rejected_by="batches_have_a_new_first_axis", says="`concatenate` makes one long vector.", misses_the_point=True)
def concatenates(vectors, weights):
    rows = [slide(x, w) for x, w in zip(vectors, weights, strict=True)]
    return jnp.concatenate(vectors), jnp.concatenate(weights), jnp.stack(rows)


@wrong(rejected_by="batches_have_a_new_first_axis", says="The batch is put on the last axis.")
def stacks_columns(vectors, weights):
    rows = [slide(x, w) for x, w in zip(vectors, weights, strict=True)]
    return jnp.stack(vectors, axis=1), jnp.stack(weights, axis=1), jnp.stack(rows)


@wrong(rejected_by="each_row_has_its_own_weights", says="All rows are made with the first weights.")
def first_weights_for_all(vectors, weights):
    xs, ws = jnp.stack(vectors), jnp.stack(weights)
    return xs, ws, jnp.stack([slide(x, ws[0]) for x in xs])


@hidden(idea="Any batch.", on="a batch of three vectors of five numbers")
def any_batch(answer, draw, reference):
    """A batch of three vectors of five is right."""
    vectors, weights = [draw.floats(5) for _ in range(3)], [draw.floats(3) for _ in range(3)]
    for got, wanted in zip(answer(vectors, weights), reference(vectors, weights), strict=True):
        expect_close(got, wanted, atol=1e-5)


@wrong(rejected_by="one_vector_is_a_batch", says="A batch of one is taken for no batch.")
def squeezes_a_batch_of_one(vectors, weights):
    xs, ws = jnp.stack(vectors), jnp.stack(weights)
    return jnp.squeeze(xs), jnp.squeeze(ws), jnp.squeeze(jax.vmap(slide)(xs, ws))


@wrong(rejected_by="one_vector_is_a_batch", says="Whole numbers are made into float32 in all batches but the first.")
def keeps_the_dtype_of_the_example(vectors, weights):
    xs, ws = jnp.stack(vectors), jnp.stack(weights)
    xs = xs if len(vectors) == 2 else xs.astype(jnp.float32)
    return xs, ws, jax.vmap(slide)(xs, ws)


@hidden(idea="A batch of one vector of three whole numbers.", on="a single vector of three whole numbers")
def one_vector_is_a_batch(answer, draw, reference):
    """One vector of three whole numbers gives batches of one row."""
    vectors, weights = [jnp.array([draw.integer(-9, 9) for _ in range(3)])], [draw.floats(3)]
    for got, wanted in zip(answer(vectors, weights), reference(vectors, weights), strict=True):
        expect_close(got, wanted, atol=1e-5)


# %% vectorised_by_hand
@answer
def vectorised_by_hand(xs, ws):
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
    rejected_by="no_loop_over_the_rows", says="A Python loop over the rows is no vectorisation.", misses_the_point=True
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


# %% vectorised_by_vmap
@answer
def vectorised_by_vmap(xs, ws):
    return jax.vmap(slide)(xs, ws)


alternative_value("the_mapped_function_itself", jax.vmap(slide))
alternative_value("mapped_and_compiled", jax.jit(jax.vmap(slide, in_axes=(0, 0))))


@alternative
def maps_pairs(xs, ws):
    return jax.vmap(lambda row: slide(*row))((xs, ws))


@alternative
def by_jnp_vectorize(xs, ws):
    return jnp.vectorize(slide, signature="(n),(k)->(m)")(xs, ws)


@wrong(rejected_by="the_products_are_those_of_slide", says="`slide` is written again for a batch, by hand.")
def all_rows_at_once(xs, ws):
    return sum(xs[:, k : xs.shape[1] - 2 + k] * ws[:, k, None] for k in range(3))


@wrong(rejected_by="rows_go_together", says="All rows get the first weights.")
def maps_with_the_first_weights(xs, ws):
    return jax.vmap(lambda x: slide(x, ws[0]))(xs)


@wrong(rejected_by="vmap_gives_the_documented_rows", says="Every row is made with every set of weights.")
def all_pairs(xs, ws):
    return jax.vmap(lambda x: jax.vmap(lambda w: slide(x, w))(ws))(xs)


@wrong(rejected_by="the_program_is_as_long_for_any_batch", says="A comprehension is a loop too.", misses_the_point=True)
def loops_in_a_comprehension(xs, ws):
    return jnp.stack([slide(x, w) for x, w in zip(xs, ws, strict=True)])


@wrong(rejected_by="vmap_gives_the_documented_rows", says="`vmap` is believed to return the result, not a function.")
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


# %% look_inside
@answer
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


@wrong(rejected_by="one_run_serves_all_rows", says="The spy stands outside `vmap` and sees the batch.")
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


@wrong(rejected_by="vmap_runs_again_and_jit_does_not", says="`vmap` is believed to use `jit` inside.")
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


# %% products_in_the_program
@answer
def products_in_the_program(rows):
    xs, ws = jnp.ones((rows, 5)), jnp.ones((rows, 3))
    counts = [program(f, xs, ws).primitives["dot_general"] for f in (slide_in_a_loop, jax.vmap(slide))]
    return counts[0], counts[1]


@alternative
def reads_the_printed_program(rows):
    xs, ws = np.ones((rows, 5), np.float32), np.ones((rows, 3), np.float32)
    loop = str(jax.make_jaxpr(slide_in_a_loop)(xs, ws)).count("dot_general[")
    return loop, str(jax.make_jaxpr(jax.vmap(slide))(xs, ws)).count("dot_general[")


@wrong(
    rejected_by="the_loop_grows_and_vmap_does_not",
    says="All operations are counted, not the dot products.",
    misses_the_point=True,
)
def counts_all_equations(rows):
    xs, ws = jnp.ones((rows, 5)), jnp.ones((rows, 3))
    return program(slide_in_a_loop, xs, ws).equations, program(jax.vmap(slide), xs, ws).equations


@wrong(rejected_by="the_loop_grows_and_vmap_does_not", says="`vmap` is believed to be a loop in disguise.")
def vmap_is_a_hidden_loop(rows):
    return 3 * rows, 3 * rows


@wrong(rejected_by="the_loop_grows_and_vmap_does_not", says="The batch is put on the vector's axis.")
def more_numbers_instead_of_rows(rows):
    xs, ws = jnp.ones((2, rows + 2)), jnp.ones((2, 3))
    loop, mapped = program(slide_in_a_loop, xs, ws), program(jax.vmap(slide), xs, ws)
    return loop.primitives["dot_general"], mapped.primitives["dot_general"]


@hidden(idea="Any number of rows.", on="another number of rows")
def any_number_of_rows(answer, draw, reference):
    """The counts are right for another number of rows."""
    rows = draw.integer(3, 7)
    got, wanted = ([int(np.asarray(one)) for one in pair(asked(rows))] for asked in (answer, reference))
    expect_that(got == wanted, "These are other counts.", got, wanted)


@wrong(rejected_by="one_row", says="The loop is believed to need no product for its first row.")
def one_row_needs_no_loop(rows):
    return (3 * rows if rows > 1 else 0), 3


@hidden(idea="A batch of one row.", on="a batch of one row")
def one_row(answer, draw, reference):
    """The counts are right for a batch of one row."""
    got, wanted = ([int(np.asarray(one)) for one in pair(asked(1))] for asked in (answer, reference))
    expect_that(got == wanted, "These are other counts.", got, wanted)


# %% slide_columns
@answer
def slide_columns(xst, wst):
    return jax.vmap(slide, in_axes=1, out_axes=1)(xst, wst)


alternative_value("the_mapped_function_itself", jax.vmap(slide, 1, 1))
alternative_value("counts_axes_from_the_end", jax.jit(jax.vmap(slide, in_axes=(-1, -1), out_axes=-1)))


@alternative
def transposes(xst, wst):
    return jax.vmap(slide)(xst.T, wst.T).T


@wrong(rejected_by="columns_come_out", says="The result has its batch on the first axis.")
def forgets_out_axes(xst, wst):
    return jax.vmap(slide, in_axes=1)(xst, wst)


@wrong(
    rejected_by="columns_come_out", says="`out_axes` is believed to count for the inputs too.", misses_the_point=True
)
def forgets_in_axes(xst, wst):
    return jax.vmap(slide, out_axes=1)(xst, wst)


@wrong(rejected_by="columns_go_together", says="All columns get the first weights.")
def first_weights_for_all(xst, wst):
    return jax.vmap(slide, in_axes=(1, None), out_axes=1)(xst, wst[:, 0])


@wrong(rejected_by="columns_come_out", says="`reshape` is taken for a transposition.")
def reshapes_instead(xst, wst):
    return jax.vmap(slide)(xst.reshape(xst.shape[::-1]), wst.reshape(wst.shape[::-1]))


@hidden(idea="Any batch.", on="a batch of three columns of seven numbers")
def any_columns(answer, draw, reference):
    """Three columns of seven are right."""
    xst, wst = draw.floats(7, 3), draw.floats(3, 3)
    expect_close(answer(xst, wst), reference(xst, wst), atol=1e-5)


@wrong(rejected_by="columns_need_no_loop", says="A Python loop over the columns is no vectorisation.")
def loops_over_columns(xst, wst):
    return jnp.stack([slide(x, w) for x, w in zip(xst.T, wst.T, strict=True)], axis=1)


@wrong(rejected_by="one_column", says="A batch of one is taken for no batch.")
def squeezes_a_batch_of_one(xst, wst):
    return jnp.squeeze(jax.vmap(slide, in_axes=1, out_axes=1)(xst, wst))


@hidden(idea="A batch of one column of three numbers.", on="a batch of one column of three numbers")
def one_column(answer, draw, reference):
    """A batch of one column has one column."""
    xst, wst = draw.floats(3, 1), draw.floats(3, 1)
    expect_close(answer(xst, wst), reference(xst, wst), "A batch of one column should give one column.", atol=1e-5)


# %% slide_with_shared_weights
@answer
def slide_with_shared_weights(xs, w):
    return jax.vmap(slide, in_axes=(0, None))(xs, w)


alternative_value("axes_in_a_list", jax.vmap(slide, in_axes=[0, None]))


@alternative
@jax.jit
def closes_over_the_weights(xs, w):
    return jax.vmap(lambda x: slide(x, w))(xs)


@alternative
def by_partial(xs, w):
    from functools import partial

    return jax.vmap(partial(slide, w=w))(xs)


@alternative
def copies_the_weights(xs, w):
    return jax.vmap(slide)(xs, jnp.broadcast_to(w, (len(xs), 3)))


@wrong(rejected_by="shared_weights_give_the_documented_rows", says="The weights are mapped too: one for each row.")
def maps_over_the_weights(xs, w):
    return jax.vmap(slide)(xs, w)


@wrong(rejected_by="every_row_gets_all_weights", says="Every row gets one weight, three times.")
def one_weight_for_each_row(xs, w):
    ws = jnp.stack([w] * 3, axis=1) if len(xs) == 3 else jnp.stack([w] * len(xs))
    return jax.vmap(slide)(xs, ws)


@wrong(rejected_by="shared_weights_give_the_documented_rows", says="The `None` is at the wrong argument.")
def none_for_the_vectors(xs, w):
    return jax.vmap(slide, in_axes=(None, 0))(xs, w)


@wrong(
    rejected_by="shared_weights_need_no_loop",
    says="A Python loop over the rows is no vectorisation.",
    misses_the_point=True,
)
def loops_over_rows(xs, w):
    return jnp.stack([slide(x, w) for x in xs])


@hidden(idea="Any batch.", on="a batch of five rows of seven numbers")
def any_batch(answer, draw, reference):
    """Five rows of seven are right."""
    xs, w = draw.floats(5, 7), draw.floats(3)
    expect_close(answer(xs, w), reference(xs, w), atol=1e-5)


@wrong(rejected_by="all_rows_in_one_operation", says="`jax.lax.map` is a loop too: it does one row after the other.")
def loops_with_lax_map(xs, w):
    return jax.lax.map(lambda x: slide(x, w), xs)


@wrong(rejected_by="one_row", says="A batch of one is taken for no batch.")
def squeezes_a_batch_of_one(xs, w):
    return jnp.squeeze(jax.vmap(slide, in_axes=(0, None))(xs, w))


@hidden(
    stage="cost",
    idea="All rows in one operation: a loop of `jax.lax` does one row after the other.",
    on="a batch of four rows",
)
def all_rows_in_one_operation(answer, draw):
    """The program holds no loop."""
    expect_no_loop(answer, draw.floats(4, 6), draw.floats(3))


@hidden(idea="A batch of one row of three numbers.", on="a batch of one row of three numbers")
def one_row(answer, draw, reference):
    """A batch of one row has one row."""
    xs, w = draw.floats(1, 3), draw.floats(3)
    expect_close(answer(xs, w), reference(xs, w), "A batch of one row should give one row.", atol=1e-5)


# %% try_axes
@answer
def try_axes(in_axes, out_axes, a, b):
    try:
        return jax.vmap(slide, in_axes=in_axes, out_axes=out_axes)(a, b)
    except ValueError as error:
        return f"ValueError: {error}"


@alternative
def compiled(in_axes, out_axes, a, b):
    try:
        mapped = jax.jit(jax.vmap(slide, in_axes, out_axes))
        result = mapped(a, b)
    except ValueError as problem:
        return type(problem).__name__ + ": " + str(problem)
    else:
        return result


@wrong(rejected_by="the_rules_for_in_axes_hold", says="The error is not caught.", misses_the_point=True)
def lets_the_error_out(in_axes, out_axes, a, b):
    return jax.vmap(slide, in_axes=in_axes, out_axes=out_axes)(a, b)


@wrong(rejected_by="one_integer_counts_for_all", says="The result's axis is not passed on.")
def forgets_out_axes(in_axes, out_axes, a, b):
    try:
        return jax.vmap(slide, in_axes=in_axes)(a, b)
    except ValueError as error:
        return f"ValueError: {error}"


@wrong(rejected_by="other_axes", says="Only the first line of the message is kept.")
def keeps_the_first_line(in_axes, out_axes, a, b):
    try:
        return jax.vmap(slide, in_axes=in_axes, out_axes=out_axes)(a, b)
    except ValueError as error:
        return f"ValueError: {error}".splitlines()[0]


@wrong(rejected_by="the_rules_for_in_axes_hold", says="`in_axes` is believed to be one integer only.")
def refuses_lists_and_tuples(in_axes, out_axes, a, b):
    if not isinstance(in_axes, int):
        return "ValueError: vmap must have at least one non-None value in in_axes"
    return jax.vmap(slide, in_axes=in_axes, out_axes=out_axes)(a, b)


@wrong(rejected_by="the_rules_for_in_axes_hold", says="Only None is believed to mean: no batch, so call the function.")
def calls_it_when_nothing_is_mapped(in_axes, out_axes, a, b):
    if not isinstance(in_axes, int) and all(axis is None for axis in in_axes):
        return slide(a, b)
    return jax.vmap(slide, in_axes=in_axes, out_axes=out_axes)(a, b)


@hidden(idea="Any axes, and other mistakes than only None.")
def other_axes(answer, draw, reference):
    """Columns and shared vectors are mapped right, and batches of different size are refused."""
    args = (1, None), 0, draw.floats(6, 4), draw.floats(3)
    expect_close(answer(*args), reference(*args), atol=1e-5, on="vectors in columns, and shared weights")
    args = (None, 1), 1, draw.floats(6), draw.floats(3, 4)
    expect_close(answer(*args), reference(*args), atol=1e-5, on="a shared vector, and weights in columns")
    refused = answer(0, 0, draw.floats(4, 6), draw.floats(2, 3))
    said = isinstance(refused, str) and refused.startswith("ValueError: ") and "inconsistent sizes" in refused
    said = said and "float32[4,6]" in refused and "float32[2,3]" in refused
    expect_that(
        said,
        "For batches of 4 and 2, return the whole text of JAX's ValueError.",
        refused,
        "ValueError: …",
        on="two batches of different size",
    )


@wrong(rejected_by="other_exceptions_come_out", says="Every exception is reported as a ValueError.")
def calls_every_exception_a_value_error(in_axes, out_axes, a, b):
    try:
        return jax.vmap(slide, in_axes=in_axes, out_axes=out_axes)(a, b)
    except Exception as error:
        return f"ValueError: {error}"


@wrong(rejected_by="other_exceptions_come_out", says="Every exception is reported, with its own class.")
def reports_every_exception(in_axes, out_axes, a, b):
    try:
        return jax.vmap(slide, in_axes=in_axes, out_axes=out_axes)(a, b)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@hidden(idea="Four weights for windows of three numbers: the TypeError is not a ValueError.", on="rows of four weights")
def other_exceptions_come_out(answer, draw):
    """With rows of four weights, the TypeError of `slide` is not caught."""
    seen = answer.observe_error(0, 0, draw.floats(4, 6), draw.floats(4, 4))
    expect_raises(seen, "TypeError")


# %% jit_and_vmap
@answer
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


@wrong(rejected_by="jit_inside_gives_the_same_rows", says="The second function is made and never called.")
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
    for got, wanted in zip(pair(answer(xs, ws)), pair(reference(xs, ws)), strict=True):
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


@hidden(idea="A batch of one row of three numbers.", on="a batch of one row of three numbers")
def one_row(answer, draw, reference):
    """A batch of one row has one row, in both arrays."""
    xs, ws = draw.floats(1, 3), draw.floats(1, 3)
    for got, wanted in zip(pair(answer(xs, ws)), pair(reference(xs, ws)), strict=True):
        expect_close(got, wanted, "A batch of one row should give one row.", atol=1e-5)


# %% pairwise_distances
@answer
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


# %% ensemble_predictions
@answer
def ensemble_predictions(members, x):
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)
    return jax.vmap(predict, in_axes=(0, None))(stacked, x)


@alternative
def stacks_by_name(members, x):
    stacked = {name: jnp.stack([member[name] for member in members]) for name in ("w", "b")}
    return jax.vmap(predict, in_axes=({"w": 0, "b": 0}, None))(stacked, x)


@alternative
@jax.jit
def closes_over_the_example(members, x):
    stacked = jax.tree.map(lambda *leaves: jnp.array(leaves), *members)
    return jax.vmap(lambda params: predict(params, x))(stacked)


@alternative
def by_einsum(members, x):
    w, b = (jnp.stack([member[name] for member in members]) for name in ("w", "b"))
    return jnp.tanh(jnp.einsum("d,mdh->mh", x, w) + b)


@wrong(rejected_by="each_model_predicts", says="The example is mapped too: each model gets one number of it.")
def maps_over_the_example(members, x):
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)
    return jax.vmap(predict, in_axes=(0, 0))(stacked, x)


@wrong(rejected_by="each_model_predicts", says="`vmap` is believed to map over a Python list.")
def maps_over_the_list(members, x):
    return jax.vmap(predict, in_axes=(0, None))(members, x)


@wrong(rejected_by="each_model_predicts", says="The parameters are averaged; one model is no ensemble.")
def averages_the_parameters(members, x):
    mean = jax.tree.map(lambda *leaves: sum(leaves) / len(leaves), *members)
    return jnp.stack([predict(mean, x)] * len(members))


@wrong(
    rejected_by="one_product_for_all_models",
    says="A Python loop over the models is no vectorisation.",
    misses_the_point=True,
)
def loops_over_models(members, x):
    return jnp.stack([predict(member, x) for member in members])


@hidden(idea="Any ensemble.", on="an ensemble of two models of another size")
def any_ensemble(answer, draw, reference):
    """An ensemble of two other models is right."""
    members = [{"w": draw.floats(2, 5), "b": draw.floats(5)} for _ in range(2)]
    x = draw.floats(2)
    expect_close(answer(members, x), reference(members, x), atol=1e-5)


@wrong(rejected_by="one_product_without_a_loop", says="`jax.lax.map` is a loop too: one product after the other.")
def loops_with_lax_map(members, x):
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)
    return jax.lax.map(lambda params: predict(params, x), stacked)


@wrong(rejected_by="an_ensemble_of_one", says="An ensemble of one is taken for a model.")
def squeezes_an_ensemble_of_one(members, x):
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)
    return jnp.squeeze(jax.vmap(predict, in_axes=(0, None))(stacked, x))


@hidden(
    stage="cost",
    idea="One product for all models: a loop of `jax.lax` makes one after the other.",
    on="an ensemble of three models",
)
def one_product_without_a_loop(answer, draw):
    """The program holds no loop."""
    expect_no_loop(answer, some_members(draw, 3), draw.floats(3))


@hidden(idea="An ensemble of one model.", on="an ensemble of one model")
def an_ensemble_of_one(answer, draw, reference):
    """One model gives one row."""
    members, x = some_members(draw, 1), draw.floats(3)
    expect_close(answer(members, x), reference(members, x), "One model should give one row.", atol=1e-5)


# %% per_example_gradients
@answer
def per_example_gradients(params, xs, ys):
    return jax.vmap(jax.grad(squared_error), in_axes=(None, 0, 0))(params, xs, ys)


@alternative
def jacobian_of_all_losses(params, xs, ys):
    return jax.jacrev(lambda p: jax.vmap(squared_error, in_axes=(None, 0, 0))(p, xs, ys))(params)


@alternative
@jax.jit
def closes_over_the_parameters(params, xs, ys):
    return jax.vmap(lambda x, y: jax.grad(squared_error)(params, x, y))(xs, ys)


@alternative
def with_calculus(params, xs, ys):
    twice = 2 * (xs @ params["w"] + params["b"] - ys)
    return {"b": twice, "w": twice[:, None] * xs}


@wrong(rejected_by="one_gradient_for_each_example", says="The gradient of the mean is one gradient for all.")
def gradient_of_the_mean(params, xs, ys):
    return jax.grad(lambda p: jnp.mean(jax.vmap(squared_error, in_axes=(None, 0, 0))(p, xs, ys)))(params)


@wrong(rejected_by="gradients_are_those_of_one_example", says="The mean gradient is copied for each example.")
def copies_the_mean_gradient(params, xs, ys):
    each = jax.vmap(jax.grad(squared_error), in_axes=(None, 0, 0))(params, xs, ys)
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf.mean(axis=0), leaf.shape), each)


@wrong(rejected_by="gradients_are_those_of_one_example", says="Each example's part of the mean is too small by n.")
def parts_of_the_mean(params, xs, ys):
    each = jax.vmap(jax.grad(squared_error), in_axes=(None, 0, 0))(params, xs, ys)
    return jax.tree.map(lambda leaf: leaf / len(xs), each)


@wrong(rejected_by="one_gradient_for_each_example", says="The parameters are mapped as if each example had its own.")
def maps_over_the_parameters(params, xs, ys):
    return jax.vmap(jax.grad(squared_error))(params, xs, ys)


@wrong(
    rejected_by="no_loop_over_the_examples",
    says="A Python loop over the examples is no vectorisation.",
    misses_the_point=True,
)
def loops_over_examples(params, xs, ys):
    each = [jax.grad(squared_error)(params, x, y) for x, y in zip(xs, ys, strict=True)]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)


@hidden(idea="Any parameters and examples.", on="a batch of five examples of two numbers")
def any_examples(answer, draw, reference):
    """Five examples of two numbers are right."""
    args = {"w": draw.floats(2), "b": draw.floats()}, draw.floats(5, 2), draw.floats(5)
    expect_close(answer(*args), reference(*args), rtol=1e-4, atol=1e-5)


@wrong(rejected_by="all_examples_at_once", says="`jax.lax.map` is a loop too: it does one example after the other.")
def loops_with_lax_map(params, xs, ys):
    return jax.lax.map(lambda one: jax.grad(squared_error)(params, *one), (xs, ys))


@wrong(rejected_by="one_example", says="A batch of one is taken for no batch.")
def squeezes_one_example(params, xs, ys):
    each = jax.vmap(jax.grad(squared_error), in_axes=(None, 0, 0))(params, xs, ys)
    return jax.tree.map(jnp.squeeze, each)


@hidden(
    stage="cost",
    idea="All examples at once: a loop of `jax.lax` does one after the other.",
    on="a batch of four examples",
)
def all_examples_at_once(answer, draw):
    """The program holds no loop."""
    expect_no_loop(answer, {"w": draw.floats(3), "b": draw.floats()}, draw.floats(4, 3), draw.floats(4))


@hidden(idea="A batch of one example, of one number.", on="a batch of one example of one number")
def one_example(answer, draw, reference):
    """One example of one number has its gradients in a batch."""
    args = {"w": draw.floats(1), "b": draw.floats()}, draw.floats(1, 1), draw.floats(1)
    expect_close(answer(*args), reference(*args), "One example should give a batch of one.", rtol=1e-4, atol=1e-5)


@hidden(
    idea="An example with large numbers and one with small ones: each gradient to a small relative error.",
    on="an example of large numbers beside one of small numbers",
)
def a_small_gradient_beside_a_large_one(answer, draw):
    """The gradient of an example of small numbers is as exact as that of large ones."""
    params = {"w": jnp.array([1.0, 2.0]), "b": jnp.float32(0.5)}
    xs, ys = np.float32([[300.0, -200.0], [0.001, 0.002]]), np.float32([100.0, 0.25])
    got, wanted = answer(params, xs, ys), gradients_by_hand(params, xs, ys)
    expect_close(got, wanted, "Each gradient should be exact.", rtol=1e-4, atol=0.0)


# %% means_of_padded_rows
@answer
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


# %% distance_from_batch_mean
@answer
def distance_from_batch_mean(xs):
    def one(x):
        return jnp.linalg.norm(x - jax.lax.pmean(x, "batch"))

    return jax.vmap(one, axis_name="batch")(xs)


@alternative
def mean_before_the_map(xs):
    return jax.vmap(lambda x, mean: jnp.linalg.norm(x - mean), in_axes=(0, None))(xs, xs.mean(axis=0))


@alternative
@jax.jit
def without_vmap(xs):
    return jnp.sqrt(((xs - xs.mean(axis=0)) ** 2).sum(axis=1))


@alternative
def sum_and_count(xs):
    def one(x):
        return jnp.linalg.norm(x - jax.lax.psum(x, "rows") / jax.lax.psum(1, "rows"))

    return jax.vmap(one, axis_name="rows")(xs)


@wrong(
    rejected_by="the_mean_goes_over_the_batch", says="`mean` inside `vmap` goes over one row.", misses_the_point=True
)
def mean_of_the_row(xs):
    return jax.vmap(lambda x: jnp.linalg.norm(x - jnp.mean(x, axis=0)))(xs)


@wrong(rejected_by="the_mean_goes_over_the_batch", says="The sum is taken for the mean.")
def sum_of_the_batch(xs):
    return jax.vmap(lambda x: jnp.linalg.norm(x - jax.lax.psum(x, "batch")), axis_name="batch")(xs)


@wrong(rejected_by="the_mean_goes_over_the_batch", says="One mean is taken of all numbers.")
def one_mean_of_everything(xs):
    return jnp.linalg.norm(xs - xs.mean(), axis=1)


@wrong(rejected_by="one_distance_for_each_row", says="The name is used, and never given to `vmap`.")
def forgets_the_axis_name(xs):
    return jax.vmap(lambda x: jnp.linalg.norm(x - jax.lax.pmean(x, "batch")))(xs)


@hidden(idea="Any batch.", on="a batch of five rows of two numbers")
def any_batch(answer, draw, reference):
    """Five rows of two numbers are right."""
    xs = draw.floats(5, 2)
    expect_close(answer(xs), reference(xs), atol=1e-5)


@wrong(rejected_by="rows_far_from_zero", says="Large squares are subtracted: for near rows rounding is left.")
def by_subtracting_squares(xs):
    mean = xs.mean(axis=0)
    squares = (xs**2).sum(axis=1) - 2 * xs @ mean + (mean**2).sum()
    return jnp.sqrt(jnp.maximum(squares, 0.0))


@wrong(rejected_by="one_row_is_its_own_mean", says="A small number is added, for the gradient at 0.")
def adds_a_small_number(xs):
    return jnp.sqrt(((xs - xs.mean(axis=0)) ** 2).sum(axis=1) + 1e-8)


@hidden(idea="Rows near each other, and far from 0.", on="rows near each other, and far from 0")
def rows_far_from_zero(answer, draw):
    """Rows far from 0 have their distance from the mean row."""
    xs = (np.float32([[300, -500]]) + draw.generator.integers(0, 64, size=(4, 2)) / 64).astype(np.float32)
    wanted = np.linalg.norm(xs.astype(np.float64) - xs.astype(np.float64).mean(axis=0), axis=1).astype(np.float32)
    expect_close(answer(xs), wanted, "Each row should have its distance.", rtol=1e-3, atol=1e-3)


@hidden(idea="A batch of one row: its distance is 0.", on="a batch of one row")
def one_row_is_its_own_mean(answer, draw):
    """A batch of one row is 0 away from its mean."""
    message = "One row should be 0 away from its own mean."
    expect_close(answer(draw.floats(1, 3)), np.zeros(1, np.float32), message, atol=1e-5)


# %% one_switch_for_all
@answer
def one_switch_for_all(flag, xs):
    return jax.vmap(choose, in_axes=(None, 0))(flag, xs)


@alternative
def cond_of_the_whole_batch(flag, xs):
    return jax.lax.cond(flag, jax.vmap(costly), jax.vmap(jnp.negative), xs)


@alternative
@jax.jit
def closes_over_the_flag(flag, xs):
    return jax.vmap(lambda x: choose(flag, x))(xs)


@wrong(rejected_by="only_one_branch_is_run", says="A flag for each row makes a select, even if all flags are the same.")
def a_flag_for_each_row(flag, xs):
    return jax.vmap(choose)(jnp.broadcast_to(flag, xs.shape[:1]), xs)


@wrong(rejected_by="only_one_branch_is_run", says="A Python loop writes a `cond` for each row.", misses_the_point=True)
def a_cond_for_each_row(flag, xs):
    return jnp.stack([choose(flag, x) for x in xs])


@wrong(rejected_by="only_one_branch_is_run", says="`jnp.where` runs both branches.", misses_the_point=True)
def where_runs_both(flag, xs):
    return jnp.where(flag, costly(xs), -xs)


@wrong(rejected_by="the_flag_may_be_traced", says="Python's `if` needs the value of the flag.")
def python_if(flag, xs):
    return jax.vmap(costly)(xs) if flag else -xs


@wrong(rejected_by="the_flag_decides_for_all_rows", says="The branches are swapped.")
def swaps_the_branches(flag, xs):
    return jax.lax.cond(flag, jnp.negative, costly, xs)


@hidden(idea="Any batch, either flag.", on="a batch of three rows, with either flag")
def any_batch(answer, draw, reference):
    """Three rows of five are right for both flags."""
    xs = draw.floats(3, 5)
    for flag in (jnp.array(True), jnp.array(False)):
        expect_close(answer(flag, xs), reference(flag, xs), atol=1e-5)


@wrong(rejected_by="one_row_and_infinity", says="A batch of one is taken for no batch.")
def squeezes_a_batch_of_one(flag, xs):
    return jnp.squeeze(jax.vmap(choose, in_axes=(None, 0))(flag, xs))


@hidden(idea="A batch of one row, and rows that hold infinity.", on="a batch of one row that holds infinities")
def one_row_and_infinity(answer, draw):
    """A batch of one row has one row, and infinity is negated."""
    x = np.float32([[np.inf, -np.inf, 0.5]])
    expect_close(answer(jnp.array(False), x), -x, "Without the flag, the row should be negated.")
