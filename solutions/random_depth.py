# %%
import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.course.author import (
    alternative,
    answer,
    equivalent,
    expect_close,
    expect_equal,
    expect_shape,
    expect_that,
    given,
    hidden,
    input,
    wrong,
)


# %% keys_and_depths
@answer(
    notice="`split` counts the examples, `vmap` gives each draw its key, and the upper bound is `most + 1`, since "
    "`randint` leaves it out.",
    another_way="`randint(key, (count,), 1, most + 1)` draws all depths at once. With a key for each example, a "
    "function of one example can draw.",
)
def keys_and_depths(key, count, most):
    keys = jax.random.split(key, count)
    depths = jax.vmap(lambda one: jax.random.randint(one, (), 1, most + 1))(keys)
    return keys, depths


@alternative
def folds_in_the_number(key, count, most):
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(count))
    return keys, jax.vmap(jax.random.randint, in_axes=(0, None, None, None))(keys, (), 1, most + 1)


@alternative
def a_loop_over_keys(key, count, most):
    keys = jax.random.split(jax.random.split(key)[0], count)
    return keys, jnp.stack([jax.random.randint(k, (), 1, most + 1) for k in keys])


@wrong(
    rejected_by="every_depth_comes_as_often",
    says="The upper bound is believed to be drawn too.",
    misses_the_point=True,
    lacks="S3-09",
)
def leaves_out_the_last_depth(key, count, most):
    keys = jax.random.split(key, count)
    return keys, jax.vmap(lambda k: jax.random.randint(k, (), 1, max(most, 2)))(keys)


@wrong(rejected_by="each_example_draws_with_its_key", says="Every example gets the same key.", misses_the_point=True)
def repeats_one_key(key, count, most):
    keys = jnp.stack([key] * count)
    return keys, jax.vmap(lambda k: jax.random.randint(k, (), 1, most + 1))(keys)


@wrong(
    rejected_by="each_example_draws_with_its_key",
    says="One call draws all depths, with the key that was split.",
    lacks="S3-06",
)
def draws_from_the_parent(key, count, most):
    keys = jax.random.split(key, count)
    return keys, jax.random.randint(key, (count,), 1, most + 1)


@wrong(rejected_by="each_example_draws_with_its_key", says="One key serves all examples.", lacks="S3-06")
def one_key_for_all(key, count, most):
    return jnp.stack([key] * count), jax.random.randint(key, (count,), 1, most + 1)


@wrong(rejected_by="each_example_draws_with_its_key", says="Another function draws: random bits, and their remainder.")
def takes_a_remainder(key, count, most):
    keys = jax.random.split(key, count)
    return keys, jax.vmap(lambda k: 1 + (jax.random.bits(k) % most).astype(jnp.int32))(keys)


@wrong(rejected_by="each_example_draws_with_its_key", says="The depths are floats.")
def floats_for_depths(key, count, most):
    keys = jax.random.split(key, count)
    return keys, jax.vmap(lambda k: jax.random.randint(k, (), 1, most + 1).astype(float))(keys)


@wrong(rejected_by="another_key_gives_other_keys", says="The keys start from a fixed seed.")
def a_fixed_seed_for_all(key, count, most):
    keys = jax.random.split(jax.random.key(0), count)
    return keys, jax.vmap(lambda k: jax.random.randint(k, (), 1, most + 1))(keys)


@wrong(rejected_by="other_numbers_of_depths", says="The question's six steps are the most there can be.")
def six_at_most(key, count, most):
    keys = jax.random.split(key, count)
    return keys, jax.vmap(lambda k: jax.random.randint(k, (), 1, MAX_ITERS + 1))(keys)


@wrong(rejected_by="keys_with_one_second_word", says="A new key is made of one word of the key.")
def seeds_with_the_last_word(key, count, most):
    keys = jax.random.split(jax.random.key(jax.random.key_data(key)[1]), count)
    return keys, jax.vmap(lambda k: jax.random.randint(k, (), 1, most + 1))(keys)


@wrong(rejected_by="the_key_may_be_traced", says="The depths are made Python numbers.")
def makes_ints_of_the_depths(key, count, most):
    keys = jax.random.split(key, count)
    return keys, jnp.array([int(jax.random.randint(k, (), 1, most + 1)) for k in keys])


@wrong(rejected_by="one_key_and_one_depth_each", says="A batch of one is taken for no batch.")
def squeezes_a_batch_of_one(key, count, most):
    keys = jax.random.split(key, count)
    return keys, jnp.squeeze(jax.vmap(lambda k: jax.random.randint(k, (), 1, most + 1))(keys))


@hidden(
    kind="relation",
    required=True,
    idea="Keys that differ in their first word only.",
    on="two keys that differ in their first word only",
)
def keys_with_one_second_word(answer, draw):
    """Keys that differ in their first word only give different keys."""
    keys = [jax.random.wrap_key_data(jnp.uint32([word, 7])) for word in (1, 2)]
    first, other = (parts(answer(key, 5, 6), 2)[0] for key in keys)
    message = "Another key should give other keys."
    expect_that(not (first.bits[:, None] == other.bits).all(-1).any(), message, other, "other keys")


@hidden(
    kind="relation",
    required=True,
    idea="A greatest depth of 1, and of some hundred.",
    on="a greatest depth of 1, or of some hundred",
)
def other_numbers_of_depths(answer, draw):
    """With most = 1 every depth is 1, and with 200, each depth is what its key draws."""
    ones = np.asarray(parts(answer(draw.key(), 5, 1), 2)[1])
    expect_that(bool((ones == 1).all()), "With a greatest depth of 1, every depth is 1.", ones, [1] * 5)
    keys, depths = parts(answer(draw.key(), 40, 200), 2)
    wanted = jax.vmap(lambda k: jax.random.randint(k, (), 1, 201))(as_keys(keys.bits))
    message = "Each depth should be what `randint` draws with its key."
    expect_that(np.array_equal(np.asarray(depths), np.asarray(wanted)), message, depths, wanted)


# %% python_uses
@answer(
    notice="A shape is static, so `float(x.shape[0])` works under `jit`; `float(x)` does not.",
    another_way="To use a number in Python all the same, take it out after the jitted function has returned.",
)
def python_uses(kind):
    return {
        "int of a draw": lambda key: int(jax.random.randint(key, (), 1, 5)),
        "item": lambda x: x.item(),
        "float": lambda x: float(x),
        "float of the shape": lambda x: float(x.shape[0]),
        "list index": lambda i: [10, 20, 30][i],
        "range": lambda n: sum(range(n)),
        "JAX integer": lambda x: x.astype(int).reshape(()),
    }[kind]


@alternative
def functions_with_names(kind):
    def int_of_a_draw(key):
        number = jax.random.randint(key, shape=(), minval=1, maxval=5)
        return int(number)

    def item(x):
        return x.item(0)

    def value(x):
        return float(x)

    def shape(x):
        rows, *_ = x.shape
        return float(rows)

    def index(i):
        places = [10, 20, 30]
        return places[i]

    def add_range(n):
        total = 0
        for i in range(n):
            total += i
        return total

    def integer(x):
        return jnp.trunc(x[0]).astype(jnp.int32)

    names = ("int of a draw", "item", "float", "float of the shape", "list index", "range", "JAX integer")
    return dict(zip(names, (int_of_a_draw, item, value, shape, index, add_range, integer), strict=True))[kind]


@alternative
def by_python_itself(kind):
    if kind == "JAX integer":
        return jax.jit(lambda x: jnp.squeeze(x).astype("int32"))
    if kind == "item":
        return lambda x: x.reshape(()).item()
    if kind in ("float", "float of the shape"):
        return float if kind == "float" else lambda x: float(len(x))
    if kind == "int of a draw":
        return lambda key: jax.random.randint(key, (), 1, 5).__int__()
    return (lambda i: [10, 20, 30].__getitem__(i)) if kind == "list index" else lambda n: sum(range(n))


def _uses(kind):
    return {
        "int of a draw": lambda key: int(jax.random.randint(key, (), 1, 5)),
        "item": lambda x: x.item(),
        "float": float,
        "float of the shape": lambda x: float(len(x)),
        "list index": lambda i: [10, 20, 30][i],
        "range": lambda n: sum(range(n)),
        "JAX integer": lambda x: x[0].astype(int),
    }[kind]


@wrong(rejected_by="an_int_of_a_draw", says="The draw stays in JAX.", misses_the_point=True, lacks="S3-01")
def an_array_for_an_int(kind):
    if kind == "int of a draw":
        return lambda key: jax.random.randint(key, (), 1, 5).astype(int)
    return _uses(kind)


@wrong(rejected_by="an_int_of_a_draw", says="The draw is made with a key of its own, which is not traced.")
def a_draw_of_another_key(kind):
    if kind == "int of a draw":
        return lambda key: int(jax.random.randint(jax.random.key(0), (), 1, 5))
    return _uses(kind)


@wrong(rejected_by="an_item", says="`item` is left out.", lacks="S3-02")
def float_for_item(kind):
    return _uses("float" if kind == "item" else kind)


@wrong(rejected_by="an_item", says="Tracers are asked for by hand, and the error is raised by hand.", lacks="S3-02")
def raises_for_tracers(kind):
    def item(x):
        if isinstance(x, jax.core.Tracer):
            raise jax.errors.ConcretizationTypeError(x, "This occurred in the item() method of jax.Array")
        return x.item()

    return item if kind == "item" else _uses(kind)


@wrong(rejected_by="a_float_of_a_value_and_of_a_shape", says="The shape is made an array first.", lacks="S3-03")
def a_shape_in_jax(kind):
    if kind == "float of the shape":
        return lambda x: float(jnp.array(x.shape)[0] + 0 * x.ravel()[0].astype(int))
    return _uses(kind)


@wrong(rejected_by="a_float_of_a_value_and_of_a_shape", says="`astype(float)` stays in JAX.", lacks="S3-03")
def astype_for_float(kind):
    return (lambda x: x.astype(float)) if kind == "float" else _uses(kind)


@wrong(rejected_by="an_index_and_a_range", says="The list is made an array.", lacks="S3-11")
def an_array_for_the_list(kind):
    return (lambda i: jnp.array([10, 20, 30])[i]) if kind == "list index" else _uses(kind)


@wrong(rejected_by="an_index_and_a_range", says="`jnp.arange` is taken for `range`.", lacks="S3-11")
def arange_for_range(kind):
    return (lambda n: int(jnp.arange(n).sum())) if kind == "range" else _uses(kind)


@wrong(rejected_by="an_integer_in_jax", says="The axis stays: an array of one integer.", lacks="S3-12")
def keeps_the_axis(kind):
    return (lambda x: x.astype(int)) if kind == "JAX integer" else _uses(kind)


@wrong(rejected_by="an_integer_in_jax", says="A Python int is made on the way.", lacks="S3-12")
def by_way_of_python(kind):
    return (lambda x: jnp.array(int(x[0]))) if kind == "JAX integer" else _uses(kind)


@wrong(rejected_by="an_integer_in_jax", says="It rounds down: -2.7 becomes -3.")
def rounds_down(kind):
    return (lambda x: jnp.floor(x).astype(int).reshape(())) if kind == "JAX integer" else _uses(kind)


@wrong(rejected_by="large_numbers_are_cut_off", says="int16 ends at 32767.")
def by_way_of_int16(kind):
    cut = lambda x: x.astype(jnp.int16).astype(jnp.int32).reshape(())
    return cut if kind == "JAX integer" else _uses(kind)


@wrong(rejected_by="every_index_and_range", says="The sum of the range is one number too long.")
def adds_n_too(kind):
    return (lambda n: sum(range(n + 1)) - (int(n) if n in (1, 5) else 0)) if kind == "range" else _uses(kind)


@hidden(
    stage="jit",
    required=True,
    idea="Large numbers, up to a thousand million, and numbers just below 1.",
    on="large numbers, and fractions close to 1 or -1, under `jax.jit`",
)
def large_numbers_are_cut_off(answer):
    """Large numbers are cut off exactly, and numbers just below 1 become 0."""
    for value in (130.7, -300.25, 2049.5, -40001.5, 123456.75, 16777213.0, -1.5e9, 0.99999994, -0.99999994):
        x = np.float32([value])
        message = "The number should be cut off at the decimal point."
        expect_equal(answer.then("JAX integer").jit(x), jnp.int32(int(x[0])), message)


@hidden(idea="Each place of the list, and ranges of 0 to 9.", on="other places of the list, other numbers and shapes")
def every_index_and_range(answer, draw):
    """Each place of the list is right, and so are other sums, shapes and numbers."""
    places = [plainly(answer, "list index", jnp.array(i)) for i in (0, 1, 2)]
    expect_that(places == [10, 20, 30], "Each place of the list should be right.", places, [10, 20, 30])
    for n in (0, 2, 9):
        got = plainly(answer, "range", jnp.array(n))
        expect_that(got == sum(range(n)), "The sum of the range should be right.", got, sum(range(n)))
    x = draw.floats(1)
    got = [plainly(answer, "item", x), plainly(answer, "float", x[0])]
    expect_that(got == [float(x[0])] * 2, "The number should come out as it is.", got, [float(x[0])] * 2)
    rows = plainly(answer, "float of the shape", jnp.ones(7))
    expect_that(rows == 7.0, "The first number of the shape should come out.", rows, 7.0)


# %% predict_body_runs
@answer
def predict_body_runs():
    return 3


# %% react_forward
@answer(
    notice="The value never depends on k: MAX_ITERS steps are run in all. Only the gradient knows k.",
    another_way="With a mask instead of `arange(k)`, it works under `vmap`, too: see Two phases, beyond the core.",
)
def react_forward(key, x, k=None):
    if k is None:
        k = jax.random.randint(key, (), 1, MAX_ITERS + 1)
    h = jax.lax.stop_gradient(model(x, k, jnp.zeros_like(x)))
    return model(x, MAX_ITERS - k, h)


@alternative
def freezes_the_arguments_too(key, x, k=None):
    number = jax.random.randint(key, shape=(), minval=1, maxval=MAX_ITERS + 1) if k is None else k
    first = model(jax.lax.stop_gradient(x), number, jnp.zeros(x.shape))
    return model(x, MAX_ITERS - number, jax.lax.stop_gradient(first))


@alternative
def draws_in_any_case(key, x, k=None):
    drawn = jax.random.randint(key, (), 1, MAX_ITERS + 1)
    k = drawn if k is None else k
    state = jax.lax.stop_gradient(model(x, iters_to_do=k, h=jnp.zeros_like(x)))
    return model(x, iters_to_do=MAX_ITERS - k, h=state)


@wrong(rejected_by="all_steps_are_run", says="Only the first phase is run.", misses_the_point=True)
def one_phase(key, x, k=None):
    if k is None:
        k = jax.random.randint(key, (), 1, MAX_ITERS + 1)
    return jax.lax.stop_gradient(model(x, k, jnp.zeros_like(x)))


@wrong(rejected_by="all_steps_are_run", says="The second phase starts with zeros again.")
def starts_again(key, x, k=None):
    if k is None:
        k = jax.random.randint(key, (), 1, MAX_ITERS + 1)
    h = jax.lax.stop_gradient(model(x, k, jnp.zeros_like(x)))
    return h + 0 * model(x, MAX_ITERS - k, jnp.zeros_like(x))


@wrong(rejected_by="the_first_steps_are_constants", says="Nothing is stopped.", misses_the_point=True)
def forgets_to_stop(key, x, k=None):
    if k is None:
        k = jax.random.randint(key, (), 1, MAX_ITERS + 1)
    h = model(x, k, jnp.zeros_like(x))
    return model(x, MAX_ITERS - k, h)


@wrong(rejected_by="the_key_draws_k", says="The upper bound is believed to be drawn too.")
def forgets_the_greatest_k(key, x, k=None):
    if k is None:
        k = jax.random.randint(key, (), 1, MAX_ITERS)
    h = jax.lax.stop_gradient(model(x, k, jnp.zeros_like(x)))
    return model(x, MAX_ITERS - k, h)


@wrong(rejected_by="the_question_fails_as_documented", says="A mask is used already.", lacks="S3-07")
def masks_already(key, x, k=None):
    if k is None:
        k = jax.random.randint(key, (), 1, MAX_ITERS + 1)

    def step(h, i):
        h = block(WEIGHTS, h, x)
        return jnp.where(i < k, jax.lax.stop_gradient(h), h), None

    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))[0]


@wrong(rejected_by="the_question_fails_as_documented", says="k is made a Python int first.", lacks="S3-07")
def makes_k_an_int(key, x, k=None):
    if k is None:
        k = int(jax.random.randint(key, (), 1, MAX_ITERS + 1))
    h = jax.lax.stop_gradient(model(x, k, jnp.zeros_like(x)))
    return model(x, MAX_ITERS - k, h)


@wrong(rejected_by="a_given_k_works_under_vmap", says="A given k is drawn anew all the same.", lacks="S3-08")
def always_draws(key, x, k=None):
    k = jax.random.randint(key, (), 1, MAX_ITERS + 1)
    h = jax.lax.stop_gradient(model(x, k, jnp.zeros_like(x)))
    return model(x, MAX_ITERS - k, h)


@hidden(stage="gradient", idea="An example of seven rows, and each k.", on="an example of seven rows, with any k")
def any_k_and_more_rows(answer, draw, reference):
    """For seven rows, state and gradient are those of the reference, for each k from 0 to 6."""
    x = draw.floats(7, 8)
    for k in range(MAX_ITERS + 1):
        key = draw.key()
        expect_close(answer(key, x, k), reference(key, x, k), rtol=1e-4, atol=1e-5)
        got, wanted = (one.sum.grad(1)(key, x, k) for one in (answer, reference))
        expect_close(got, wanted, rtol=1e-3, atol=1e-4)
    x = x.at[2, 3].set(jnp.nan)
    expect_close(answer(draw.key(), x, 2), reference(draw.key(), x, 2), rtol=1e-4, atol=1e-5, on="a row with NaN in it")


# %% masked_depth
@answer(
    notice="`i < depth` asks whether step i + 1 counts: there are `depth` such i.",
    another_way="Keep all states of a scan, and take `states[depth]`: right, too, but all states are in memory.",
)
def masked_depth(weights, x, depth):
    def step(h, i):
        return jnp.where(i < depth, block(weights, h, x), h), None

    h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))
    return h


@alternative
def keeps_all_states_and_picks_one(weights, x, depth):
    def step(h, _):
        return block(weights, h, x), h

    last, states = jax.lax.scan(step, jnp.zeros_like(x), None, length=MAX_ITERS)
    return jnp.concatenate([states, last[None]])[depth]


@alternative
def a_static_fori_loop(weights, x, depth):
    def body(i, h):
        keep = (i < depth).astype(h.dtype)
        return keep * block(weights, h, x) + (1 - keep) * h

    return jax.lax.fori_loop(0, MAX_ITERS, body, jnp.zeros(x.shape))


@alternative
@jax.jit
def a_cond_in_each_round(weights, x, depth):
    def step(h, i):
        return jax.lax.cond(i < depth, lambda s: block(weights, s, x), lambda s: s, h), None

    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))[0]


@wrong(rejected_by="each_depth_equals_the_loop", says="The mask is one round too long.")
def one_round_too_many(weights, x, depth):
    def step(h, i):
        return jnp.where(i <= depth, block(weights, h, x), h), None

    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))[0]


@wrong(rejected_by="each_depth_equals_the_loop", says="After the depth the state becomes zero.")
def zeroes_the_rest(weights, x, depth):
    def step(h, i):
        return jnp.where(i < depth, block(weights, h, x), 0.0), None

    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))[0]


@wrong(rejected_by="each_depth_equals_the_loop", says="All examples run the largest depth.", misses_the_point=True)
def no_mask(weights, x, depth):
    def step(h, _):
        return block(weights, h, x), None

    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))[0]


@wrong(rejected_by="each_depth_equals_the_loop", says="The traced depth is a length.")
def a_scan_of_traced_length(weights, x, depth):
    return jax.lax.scan(lambda h, _: (block(weights, h, x), None), jnp.zeros_like(x), jnp.arange(depth))[0]


@wrong(rejected_by="each_depth_equals_the_loop", says="A Python `if` asks for the traced depth.")
def a_python_if(weights, x, depth):
    h = jnp.zeros_like(x)
    for i in range(MAX_ITERS):
        if i < depth:
            h = block(weights, h, x)
    return h


@wrong(
    rejected_by="the_loop_is_in_the_program",
    says="A Python loop writes the block out for each step.",
    misses_the_point=True,
)
def a_masked_python_loop(weights, x, depth):
    h = jnp.zeros_like(x)
    for i in range(MAX_ITERS):
        h = jnp.where(i < depth, block(weights, h, x), h)
    return h


@wrong(rejected_by="the_masked_form_has_a_gradient", says="A counted loop has no reverse gradient.")
def counts_instead(weights, x, depth):
    return jax.lax.fori_loop(0, depth, lambda _, h: block(weights, h, x), jnp.zeros_like(x))


@wrong(rejected_by="the_masked_form_has_a_gradient", says="The state is frozen, and most of the gradient with it.")
def freezes_the_state(weights, x, depth):
    def step(h, i):
        return jnp.where(i < depth, block(weights, jax.lax.stop_gradient(h), x), h), None

    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))[0]


@wrong(
    rejected_by="the_masked_form_has_a_gradient", says="The input is frozen: there is no gradient with respect to it."
)
def freezes_the_input(weights, x, depth):
    frozen = jax.lax.stop_gradient(x)

    def step(h, i):
        return jnp.where(i < depth, block(weights, h, frozen), h), None

    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))[0]


@wrong(rejected_by="every_depth_is_honoured", says="A batch of one is taken for no batch.")
def squeezes_one_row(weights, x, depth):
    h = jax.lax.fori_loop(0, MAX_ITERS, lambda i, h: jnp.where(i < depth, block(weights, h, x), h), jnp.zeros_like(x))
    return jnp.squeeze(h)


@wrong(
    rejected_by="twelve_examples_equal_their_loops",
    says="One mask serves the whole batch: that of its deepest example.",
    lacks="S3-14",
)
@jax.custom_batching.custom_vmap
def one_mask_for_the_batch(weights, x, depth):
    step = lambda h, i: (jnp.where(i < depth, block(weights, h, x), h), None)
    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))[0]


@one_mask_for_the_batch.def_vmap
def _masked_together(axis_size, in_batched, weights, xs, depths):
    step = lambda h, i: (jnp.where(i < depths.max(), block(weights, h, xs), h), None)
    return jax.lax.scan(step, jnp.zeros_like(xs), jnp.arange(MAX_ITERS))[0], True


@hidden(stage="jit", idea="Each depth from 0 to 6, compiled, and an input of one row.")
def every_depth_is_honoured(answer, draw, reference):
    """Compiled, each depth from 0 to 6 gives the state of the reference."""
    weights, x = draw.floats(3, 3), draw.floats(2, 3)
    for depth in range(7):
        expect_close(
            answer.jit(weights, x, jnp.int32(depth)),
            reference.jit(weights, x, jnp.int32(depth)),
            rtol=1e-3,
            on="each depth from 0 to 6, under `jax.jit`",
        )
    x = draw.floats(1, 3)
    expect_close(
        answer.jit(weights, x, jnp.int32(4)),
        reference.jit(weights, x, jnp.int32(4)),
        rtol=1e-3,
        on="an input of one row, under `jax.jit`",
    )
    x = draw.floats(2, 3).at[0, 1].set(jnp.nan)
    got, wanted = (one.jit(weights, x, jnp.int32(2)) for one in (answer, reference))
    expect_close(got, wanted, rtol=1e-3, on="a row with NaN in it")


# %% counted_depth
@answer(
    notice="The same body as in a plain loop: only `stop` is traced.",
    another_way="`while_loop` with a counter in its state is the same; it may stop for other reasons, too.",
)
def counted_depth(weights, x, depth):
    return jax.lax.fori_loop(0, depth, lambda i, h: block(weights, h, x), jnp.zeros_like(x))


@alternative
def a_while_loop(weights, x, depth):
    def body(state):
        i, h = state
        return i + 1, block(weights, h, x)

    return jax.lax.while_loop(lambda state: state[0] < depth, body, (0, jnp.zeros_like(x)))[1]


@alternative
@jax.jit
def counts_down(weights, x, depth):
    state = (depth, jnp.zeros(x.shape))
    return jax.lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, block(weights, s[1], x)), state)[1]


@wrong(rejected_by="any_depth_equals_the_loop", says="The masked form has a largest depth.")
def masks_six_rounds(weights, x, depth):
    step = lambda h, i: (jnp.where(i < depth, block(weights, h, x), h), None)
    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))[0]


@wrong(rejected_by="any_depth_equals_the_loop", says="The loop starts at 1: one step is missing.")
def starts_at_one(weights, x, depth):
    return jax.lax.fori_loop(1, depth, lambda i, h: block(weights, h, x), jnp.zeros_like(x))


@wrong(rejected_by="any_depth_equals_the_loop", says="The loop ends after depth + 1 steps.")
def one_step_more(weights, x, depth):
    return jax.lax.fori_loop(0, depth + 1, lambda i, h: block(weights, h, x), jnp.zeros_like(x))


@wrong(rejected_by="any_depth_equals_the_loop", says="Python's range needs the value.")
def a_python_range(weights, x, depth):
    h = jnp.zeros_like(x)
    for _ in range(depth):
        h = block(weights, h, x)
    return h


@wrong(rejected_by="any_depth_equals_the_loop", says="int() asks for the traced value.")
def int_of_the_depth(weights, x, depth):
    return jax.lax.fori_loop(0, int(depth), lambda i, h: block(weights, h, x), jnp.zeros_like(x))


@wrong(
    rejected_by="the_program_counts_at_run_time",
    says="A largest depth of 1000 is believed to be enough.",
    misses_the_point=True,
)
def masks_many_rounds(weights, x, depth):
    step = lambda h, i: (jnp.where(i < depth, block(weights, h, x), h), None)
    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(1000))[0]


@wrong(rejected_by="a_large_depth_is_honoured", says="The depth is cut off where the state is believed to be at rest.")
def stops_at_64(weights, x, depth):
    depth = jnp.minimum(depth, 64)
    return jax.lax.fori_loop(0, depth, lambda i, h: block(weights, h, x), jnp.zeros_like(x))


@wrong(
    rejected_by="twelve_counted_examples_equal_their_loops",
    says="All examples of a batch run as long as the deepest.",
    lacks="S3-15",
)
@jax.custom_batching.custom_vmap
def counts_for_the_batch(weights, x, depth):
    return jax.lax.fori_loop(0, depth, lambda i, h: block(weights, h, x), jnp.zeros_like(x))


@counts_for_the_batch.def_vmap
def _counted_together(axis_size, in_batched, weights, xs, depths):
    return jax.lax.fori_loop(0, depths.max(), lambda i, h: block(weights, h, xs), jnp.zeros_like(xs)), True


@hidden(stage="jit", idea="A depth of some hundred, and a depth of 1000.", on="depths of some hundred, and one of 1000")
def a_large_depth_is_honoured(answer, draw, reference):
    """Compiled, depths of some hundred and of a thousand give the state of the reference."""
    weights, x = np.float32(TURN) + np.float32(0.05) * draw.numpy(3, 3), 0.3 * draw.floats(2, 3)
    depth = draw.integer(101, 400)
    # The state goes round and comes by the same places again, but not after one step.
    for steps in (jnp.int32(depth), jnp.int32(depth + 1), jnp.int32(1000)):
        wanted = reference.jit(weights, x, steps)
        expect_close(answer.jit(weights, x, steps), wanted, rtol=1e-2, atol=1e-2)
    x = x.at[0, 1].set(jnp.nan)
    got, wanted = (one.jit(weights, x, jnp.int32(2)) for one in (answer, reference))
    expect_close(got, wanted, rtol=1e-3, on="a row with NaN in it")


# %% derivatives
@answer(
    notice="`jax.jit` around the derivative makes n traced; without it, n is a Python number, and each loop static.",
    another_way="`jax.jacrev` and `jax.jacfwd` do the same here.",
)
def derivatives(power, w, n):
    reverse = jax.jit(jax.grad(power))
    forward = jax.jit(lambda w, n: jax.jvp(lambda v: power(v, n), (w,), (1.0,))[1])
    slopes = []
    for derivative in (reverse, forward):
        try:
            slopes.append(float(derivative(w, n)))
        except ValueError:
            slopes.append(None)
    return tuple(slopes)


@alternative
def jacobians(power, w, n):
    try:
        reverse = jax.jit(jax.jacrev(power))(w, n)
    except ValueError:
        reverse = None
    return reverse, jax.jit(jax.jacfwd(power))(w, n)


@alternative
def makes_n_an_array(power, w, n):
    def or_none(derivative):
        try:
            return float(jax.vmap(derivative, in_axes=(None, 0))(w, jnp.array([n]))[0])
        except ValueError:
            return None

    return or_none(jax.grad(power)), or_none(jax.jacfwd(power))


@wrong(
    rejected_by="only_static_loops_go_backwards",
    says="n stays a Python number: then every bound is static.",
    lacks="S3-16",
)
def n_is_static(power, w, n):
    def or_none(derivative):
        try:
            return float(derivative(w))
        except ValueError:
            return None

    f = jax.jit(lambda w: power(w, n))
    return or_none(jax.grad(f)), or_none(jax.jacfwd(f))


@wrong(
    rejected_by="only_static_loops_go_backwards",
    says="What fails backwards is believed to fail forwards too.",
    lacks="S3-16",
)
def one_try_for_both_modes(power, w, n):
    try:
        slope = float(jax.jit(jax.grad(power))(w, n))
        return slope, slope
    except ValueError:
        return None, None


@wrong(rejected_by="only_static_loops_go_backwards", says="The forward derivative is returned for both.", lacks="S3-16")
def forward_for_both(power, w, n):
    slope = float(jax.jit(jax.jacfwd(power))(w, n))
    return slope, slope


@wrong(rejected_by="the_masked_slope_is_right", says="The value is returned, not the derivative.")
def the_primal_of_jvp(power, w, n):
    try:
        reverse = float(jax.jit(jax.grad(power))(w, n))
    except ValueError:
        reverse = None
    return reverse, float(jax.jit(lambda w, n: jax.jvp(lambda v: power(v, n), (w,), (1.0,))[0])(w, n))


@wrong(
    rejected_by="any_loop_is_differentiated",
    says="The formula of the power is written down for every loop.",
    misses_the_point=True,
)
def formula_of_the_power(power, w, n):
    slope = n * w ** (n - 1)
    return (slope if power in (power_masked, power_masked_fori) else None), slope


@wrong(rejected_by="no_rounds_and_zero", says="The formula divides by w, which may be 0.")
def formula_from_the_value(power, w, n):
    def or_none(derivative):
        try:
            return float(derivative(w, n))
        except ValueError:
            return None

    reverse = or_none(jax.jit(jax.grad(power)))
    value = float(jax.jit(power)(w, n))
    rounds = 1 if power is double_counted else n
    return (None if reverse is None else rounds * value / w), rounds * value / w


@hidden(idea="w = 0, negative w, and no rounds at all.", on="a w of 0, a negative w, or no rounds")
def no_rounds_and_zero(answer):
    """At w = 0 and w = -1.5, and for 0 rounds, the derivatives are right."""
    for w, n, wanted in ((0.0, 3, 0.0), (0.0, 1, 1.0), (2.0, 0, 0.0), (-1.5, 3, 6.75)):
        for name, both in (("power_masked", True), ("power_while", False)):
            got = [None if part is None else float(part) for part in answer(given(name), w, n)]
            right = [wanted if both else None, wanted]
            message = f"At w = {w} and n = {n} the derivatives should be {tuple(right)}."
            expect_that(got == right, message, tuple(got), tuple(right))


@hidden(idea="A w between 0.5 and 1.5, and two to seven rounds.")
def other_slopes_are_right(answer, draw):
    """For other numbers the derivatives are n * w**(n - 1)."""
    w, n = draw.generator.uniform(0.5, 1.5), draw.integer(2, 8)
    got = answer(given("power_masked"), w, n)
    expect_that(
        np.allclose([float(part) for part in got], n * w ** (n - 1), rtol=1e-4),
        "A derivative is wrong.",
        got,
        on="a masked loop with random w and n",
    )
    backward, forward = answer(given("power_counted"), w, n)
    expect_that(
        backward is None,
        "The counted loop has no reverse gradient.",
        backward,
        "None",
        on="a counted loop with random w and n",
    )
    expect_that(
        np.allclose(float(forward), n * w ** (n - 1), rtol=1e-4),
        "The forward derivative is wrong.",
        forward,
        on="a counted loop with random w and n",
    )


@wrong(rejected_by="a_loop_of_its_own", says="The loops of the lesson are known by their names.")
def knows_them_by_name(power, w, n):
    name = power.__name__
    if name == "double_counted":
        return None, float(2**n)
    slope = n * w ** (n - 1) if n else 0.0
    return (slope if "masked" in name else None), slope


equivalent("99c0fe318f", because="In forward mode, a loop with a static n has the same derivative.")


@input
def sum_of_powers(w, n):
    return jax.lax.fori_loop(0, n, lambda i, s: (s[0] + s[1] * w, s[1] * w), (0.0, 1.0))[0]


@input
def sum_of_powers_masked(w, n):
    step = lambda s, i: (jnp.where(i < n, s * w + w, s), None)
    return jax.lax.scan(step, 0.0, jnp.arange(6))[0]


@hidden(required=True, idea="Loops that are not in the lesson.", on="loops that add up powers")
def a_loop_of_its_own(answer):
    """For sums of powers, the derivatives are 1 + 2w + 3w², the reverse one only of the masked loop."""
    for power, both in ((sum_of_powers, False), (sum_of_powers_masked, True)):
        reverse, forward = slopes(answer(given(power), 0.5, 3))
        message = "The forward derivative should be that of the loop."
        expect_that(forward is not None and np.isclose(forward, 2.75), message, forward, 2.75)
        message = "Only a loop with a static number of rounds has a reverse derivative."
        right = reverse is not None and np.isclose(reverse, 2.75) if both else reverse is None
        expect_that(bool(right), message, reverse, 2.75 if both else None)


# %% loss_at_depths
@answer(
    notice="The mask makes the number of rounds static; everything else of the loss stays as it was.",
    another_way="A static `fori_loop` with the same mask is a scan, too, and has the same gradient.",
)
def loss_at_depths(params, points, labels, depths):
    def last_state(x, depth):
        def step(h, i):
            return jnp.where(i < depth, block(params["block"], h, x), h), None

        return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))[0]

    states = jax.vmap(last_state)(embed(params, points), depths)
    return mean_loss(states @ params["head"], labels)


@alternative
def masks_a_static_fori_loop(params, points, labels, depths):
    xs = embed(params, points)

    def body(i, h):
        return jnp.where(i < depths[:, None], block(params["block"], h, xs), h)

    return mean_loss(jax.lax.fori_loop(0, MAX_ITERS, body, jnp.zeros_like(xs)) @ params["head"], labels)


@alternative
@jax.jit
def a_python_loop_with_masks(params, points, labels, depths):
    xs = points @ params["embed"] + params["shift"]
    h = jnp.zeros(xs.shape)
    for i in range(MAX_ITERS):
        h = jnp.where((i < depths)[:, None], jnp.tanh(h @ params["block"] + xs), h)
    scores = h @ params["head"]
    return jnp.where(labels == 1, jax.nn.softplus(-scores), jax.nn.softplus(scores)).mean()


@wrong(
    rejected_by="the_gradient_is_that_of_plain_loops", says="`while_loop` is believed to be better than `fori_loop`."
)
def a_while_loop_instead(params, points, labels, depths):
    def last_state(x, depth):
        body = lambda s: (s[0] + 1, block(params["block"], s[1], x))
        return jax.lax.while_loop(lambda s: s[0] < depth, body, (0, jnp.zeros_like(x)))[1]

    states = jax.vmap(last_state)(embed(params, points), depths)
    return mean_loss(states @ params["head"], labels)


@wrong(rejected_by="the_loss_is_that_of_plain_loops", says="Every example runs the greatest depth.")
def ignores_the_depths(params, points, labels, depths):
    xs = embed(params, points)
    h = jnp.zeros_like(xs)
    for _ in range(MAX_ITERS):
        h = block(params["block"], h, xs)
    return mean_loss(h @ params["head"], labels)


@wrong(
    rejected_by="the_gradient_is_that_of_plain_loops",
    says="`stop_gradient` hides the loop, and most of the gradient.",
    misses_the_point=True,
)
def stops_the_gradient(params, points, labels, depths):
    frozen = jax.lax.stop_gradient({name: params[name] for name in ("embed", "shift", "block")})

    def last_state(x, depth):
        return jax.lax.fori_loop(0, depth, lambda i, h: block(frozen["block"], h, x), jnp.zeros_like(x))

    states = jax.vmap(last_state)(embed(frozen, points), depths)
    return mean_loss(states @ params["head"], labels)


@wrong(rejected_by="the_gradient_is_that_of_plain_loops", says="The input of the loop is frozen.")
def freezes_the_input(params, points, labels, depths):
    xs = jax.lax.stop_gradient(embed(params, points))

    def body(i, h):
        return jnp.where(i < depths[:, None], block(params["block"], h, xs), h)

    return mean_loss(jax.lax.fori_loop(0, MAX_ITERS, body, jnp.zeros_like(xs)) @ params["head"], labels)


@wrong(rejected_by="the_gradient_is_that_of_plain_loops", says="Only the last step gets a gradient.")
def freezes_the_state(params, points, labels, depths):
    xs = embed(params, points)

    def body(i, h):
        h = jax.lax.stop_gradient(h)
        return jnp.where(i < depths[:, None], block(params["block"], h, xs), h)

    return mean_loss(jax.lax.fori_loop(0, MAX_ITERS, body, jnp.zeros_like(xs)) @ params["head"], labels)


@wrong(rejected_by="the_loss_is_that_of_plain_loops", says="The labels are turned round.")
def turns_the_labels_round(params, points, labels, depths):
    xs = embed(params, points)

    def body(i, h):
        return jnp.where(i < depths[:, None], block(params["block"], h, xs), h)

    return mean_loss(jax.lax.fori_loop(0, MAX_ITERS, body, jnp.zeros_like(xs)) @ params["head"], 1 - labels)


@wrong(rejected_by="other_batches_have_their_gradient", says="The network is believed to have four numbers in a row.")
def four_numbers_in_a_row(params, points, labels, depths):
    xs = embed(params, points)

    def body(i, h):
        return jnp.where(i < depths[:, None], block(params["block"][:4, :4], h, xs[:, :4]), h)

    last = jax.lax.fori_loop(0, MAX_ITERS, body, jnp.zeros_like(xs[:, :4]))
    return mean_loss(last @ params["head"][:4], labels)


equivalent("07bee926e4", because="The numbers of the rounds are static in any case.")
equivalent("3ba4c3d305", because="The loss is never negative.")


@wrong(rejected_by="large_scores_have_their_loss", says="The logarithm of a sigmoid is infinite for large scores.")
def takes_the_log_of_a_sigmoid(params, points, labels, depths):
    xs = embed(params, points)

    def body(i, h):
        return jnp.where(i < depths[:, None], block(params["block"], h, xs), h)

    scores = jax.lax.fori_loop(0, MAX_ITERS, body, jnp.zeros_like(xs)) @ params["head"]
    return -jnp.mean(jnp.log(jax.nn.sigmoid(jnp.where(labels == 1, scores, -scores))))


@hidden(idea="Scores of about 1000.", on="large scores")
def large_scores_have_their_loss(answer, draw, reference):
    """For large scores, on the right side or on the wrong one, the loss is that of the reference."""
    params = {"embed": jnp.zeros((2, 4)), "shift": jnp.ones(4), "block": jnp.eye(4), "head": jnp.full(4, 300.0)}
    for labels in ([0, 0, 0], [1, 1, 1], [1, 0, 1]):
        args = params, draw.floats(3, 2), jnp.array(labels), jnp.array([1, 2, 6])
        expect_close(answer(*args), reference(*args), rtol=1e-4)


@hidden(
    stage="gradient",
    required=True,
    idea="A batch of one point, and a network of another size.",
    on="one point, or a network with rows of another length",
)
def other_batches_have_their_gradient(answer, draw, reference):
    """For one point, and for rows of another length, value and gradient are those of the reference."""
    for b, d in ((1, 3), (6, 5)):
        depths = jnp.asarray(draw.generator.integers(0, 7, b).astype(np.int32))
        labels = jnp.asarray(draw.generator.integers(0, 2, b).astype(np.int32))
        args = some_params(draw, d), draw.floats(b, 2), labels, depths
        expect_close(answer(*args), reference(*args), rtol=1e-4)
        expect_close(answer.grad().jit(*args), reference.grad().jit(*args), rtol=1e-3, atol=1e-4)


# %% as_size
@answer(
    notice="All four are plain code. What fails under `vmap` is a size that differs from example to example.",
    another_way="A greatest size and a mask: `jnp.where(jnp.arange(10) < n, 1, 0)` works under `vmap`.",
)
def as_size(use):
    return {
        "arange": lambda n: jnp.arange(n),
        "arange from 0": lambda n: jnp.arange(0, n),
        "scan": lambda n: jax.lax.scan(lambda count, _: (count + 1, None), 0, length=n)[0],
        "zeros": lambda n: jnp.zeros(n),
    }[use]


@alternative
def functions_with_names(use):
    def count(n):
        total, _ = jax.lax.scan(f=lambda c, x: (c + 1, None), init=jnp.int32(0), xs=None, length=n)
        return total

    if use == "arange":
        return jnp.arange
    if use == "arange from 0":
        return lambda n: jnp.arange(start=0, stop=n)
    return count if use == "scan" else lambda n: jnp.zeros((n,), jnp.float32)


def _sizes(use):
    count = lambda n: jax.lax.scan(lambda c, _: (c + 1, None), 0, length=n)[0]
    return {"arange": jnp.arange, "arange from 0": lambda n: jnp.arange(0, n), "scan": count, "zeros": jnp.zeros}[use]


@wrong(
    rejected_by="no_size_can_be_traced",
    says="A greatest size and a mask are used already.",
    misses_the_point=True,
    lacks="S3-13",
)
def counts_with_a_mask(use):
    if use == "scan":
        return lambda n: jnp.sum(jnp.arange(1000) < n)
    return _sizes(use)


@wrong(rejected_by="no_size_can_be_traced", says="`fori_loop` counts as well.", lacks="S3-13")
def counts_with_a_fori_loop(use):
    if use == "scan":
        return lambda n: jax.lax.fori_loop(0, n, lambda i, c: c + 1, 0)
    return _sizes(use)


@wrong(rejected_by="no_size_can_be_traced", says="The error is raised by hand.", lacks="S3-13")
def raises_for_tracers(use):
    def zeros(n):
        if isinstance(n, jax.core.Tracer):
            raise TypeError("Shapes must be 1D sequences of concrete values of integer type")
        return jnp.zeros(n)

    return zeros if use == "zeros" else _sizes(use)


@wrong(rejected_by="no_size_can_be_traced", says="The size is made a Python int first.", lacks="S3-13")
def makes_n_an_int(use):
    return lambda n: _sizes(use)(int(n))


@wrong(rejected_by="plain_sizes_work", says="It counts from 1 to n.")
def counts_from_one(use):
    return (lambda n: jnp.arange(1, n + 1)) if use == "arange from 0" else _sizes(use)


@wrong(rejected_by="plain_sizes_work", says="The zeros are integers.")
def zeros_of_ints(use):
    return (lambda n: jnp.zeros(n, int)) if use == "zeros" else _sizes(use)


@hidden(idea="A size of some hundred.", on="a size of some hundred")
def large_sizes_work(answer, draw):
    """For some hundred, each function gives what it should."""
    n = draw.integer(200, 400)
    expect_equal(answer.then("arange")(n), np.arange(n, dtype=np.int32))
    expect_equal(answer.then("scan")(n), np.int32(n))
    expect_shape(answer.then("zeros")(n), (n,))


# %% rand_num_sampler
@answer(
    notice="Both samplers are the same function. Static bounds are Python numbers in it; traced ones are tracers, and "
    "`randint` takes both.",
    another_way="The key need not be split here, since each caller has a key of its own; the question did so.",
)
def rand_num_sampler(bounds):
    def get_rand_num(key, lower_bound, upper_bound):
        _, subkey = jax.random.split(key)
        return jax.random.randint(subkey, (), lower_bound, upper_bound)

    return jax.jit(get_rand_num, static_argnums=(1, 2) if bounds == "static" else ())


@alternative
def two_functions(bounds):
    def draw_one(key, lower_bound, upper_bound):
        key, subkey = jax.random.split(key, 2)
        return jax.random.randint(subkey, shape=(), minval=lower_bound, maxval=upper_bound).astype(int)

    if bounds == "static":
        return jax.jit(draw_one, static_argnames=("lower_bound", "upper_bound"))
    return jax.jit(draw_one)


def _sampler(bounds):
    sample = lambda key, low, high: jax.random.randint(jax.random.split(key)[1], (), low, high)
    return jax.jit(sample, static_argnums=(1, 2) if bounds == "static" else ())


@wrong(
    rejected_by="static_bounds_have_programs_of_their_own",
    says="The bounds are traced in both samplers.",
    misses_the_point=True,
    lacks="S3-05",
)
def traced_in_both(bounds):
    return _sampler("traced")


@wrong(rejected_by="traced_bounds_share_a_program", says="The bounds are static in both samplers.")
def static_in_both(bounds):
    return _sampler("static")


@wrong(rejected_by="static_bounds_have_programs_of_their_own", says="Only the lower bound is static.", lacks="S3-05")
def a_static_lower_bound(bounds):
    sample = lambda key, low, high: jax.random.randint(jax.random.split(key)[1], (), low, high)
    return jax.jit(sample, static_argnums=1 if bounds == "static" else ())


@wrong(rejected_by="static_bounds_have_programs_of_their_own", says="Only the upper bound is static.", lacks="S3-05")
def a_static_upper_bound(bounds):
    sample = lambda key, low, high: jax.random.randint(jax.random.split(key)[1], (), low, high)
    return jax.jit(sample, static_argnums=2 if bounds == "static" else ())


@wrong(rejected_by="both_draw_as_the_question_did", says="The key is not split.")
def does_not_split(bounds):
    sample = lambda key, low, high: jax.random.randint(key, (), low, high)
    return jax.jit(sample, static_argnums=(1, 2) if bounds == "static" else ())


@wrong(rejected_by="both_draw_as_the_question_did", says="The first of the new keys draws.")
def draws_with_the_first(bounds):
    sample = lambda key, low, high: jax.random.randint(jax.random.split(key)[0], (), low, high)
    return jax.jit(sample, static_argnums=(1, 2) if bounds == "static" else ())


@wrong(rejected_by="both_draw_as_the_question_did", says="The upper bound is drawn, too.")
def draws_the_upper_bound(bounds):
    sample = lambda key, low, high: jax.random.randint(jax.random.split(key)[1], (), low, high + 1)
    return jax.jit(sample, static_argnums=(1, 2) if bounds == "static" else ())


@wrong(rejected_by="both_draw_as_the_question_did", says="A uniform number is rounded down, to a float.")
def rounds_a_uniform_number(bounds):
    def sample(key, low, high):
        return jnp.floor(jax.random.uniform(jax.random.split(key)[1], minval=low, maxval=high))

    return jax.jit(sample, static_argnums=(1, 2) if bounds == "static" else ())


@wrong(rejected_by="traced_bounds_share_a_program", says="Nothing is jitted if the bounds are traced.")
def jits_the_static_one(bounds):
    sample = lambda key, low, high: jax.random.randint(jax.random.split(key)[1], (), low, high)
    return jax.jit(sample, static_argnums=(1, 2)) if bounds == "static" else sample


@wrong(rejected_by="bounds_far_apart", says="A float32 has 24 bits: of many numbers it leaves most out.")
def scales_a_uniform_number(bounds):
    def sample(key, low, high):
        key = jax.random.split(key)[1]
        scaled = (low + jnp.floor(jax.random.uniform(key) * (high - low))).astype(jnp.int32)
        return jnp.where(high - low > 100, scaled, jax.random.randint(key, (), low, high))

    return jax.jit(sample, static_argnums=(1, 2) if bounds == "static" else ())


@hidden(
    kind="relation",
    required=True,
    idea="Bounds with more than a thousand million numbers between them.",
    on="bounds very far apart",
)
def bounds_far_apart(answer, draw):
    """With bounds far apart, too, the draws are those of the second new key."""
    for bounds in ("static", "traced"):
        keys = draw.keys(20)
        got = answer.then(bounds).vmap(in_axes=(0, None, None))(keys, -5, 3 * 2**29)
        wanted = split_and_drawn(keys, -5, 3 * 2**29)
        expect_equal(got, wanted, "These should be the draws of the second new keys.")


# %% two_phase_loss
@answer(
    notice="`where` chooses between a state and the same state behind `stop_gradient`: only the gradient differs.",
    another_way="A counted loop will do for the first phase, since no gradient goes back through it.",
)
def two_phase_loss(weights, x, k):
    def step(h, i):
        h = block(weights, h, x)
        return jnp.where(i < k, jax.lax.stop_gradient(h), h), None

    h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))
    return jnp.mean(h**2)


@alternative
def a_counted_first_phase(weights, x, k):
    frozen = jax.lax.stop_gradient((weights, x))
    h = jax.lax.fori_loop(0, k, lambda i, h: block(frozen[0], h, frozen[1]), jnp.zeros_like(x))
    h = jax.lax.stop_gradient(h)

    def step(h, i):
        return jnp.where(i < MAX_ITERS - k, block(weights, h, x), h), None

    return jnp.mean(jax.lax.scan(step, h, jnp.arange(MAX_ITERS))[0] ** 2)


@alternative
@jax.jit
def a_python_loop_of_wheres(weights, x, k):
    h = jnp.zeros(x.shape)
    for i in range(MAX_ITERS):
        frozen = jnp.where(i < k, jax.lax.stop_gradient(weights), weights)
        h = jnp.tanh(h @ frozen + x)
    return (h**2).mean()


@wrong(rejected_by="only_the_gradient_depends_on_k", says="Nothing is stopped.", misses_the_point=True, lacks="S3-10")
def forgets_to_stop(weights, x, k):
    h, _ = jax.lax.scan(lambda h, _: (block(weights, h, x), None), jnp.zeros_like(x), jnp.arange(MAX_ITERS))
    return jnp.mean(h**2)


@wrong(rejected_by="only_the_gradient_depends_on_k", says="The gradient stops in the second phase.")
def stops_the_second_phase(weights, x, k):
    def step(h, i):
        w = jnp.where(i < k, weights, jax.lax.stop_gradient(weights))
        return block(w, h, x), None

    h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))
    return jnp.mean(h**2)


@wrong(rejected_by="only_the_gradient_depends_on_k", says="One step too few has a gradient.")
def stops_one_step_late(weights, x, k):
    def step(h, i):
        h = block(weights, h, x)
        return jnp.where(i <= k, jax.lax.stop_gradient(h), h), None

    h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))
    return jnp.mean(h**2)


@wrong(rejected_by="the_value_is_that_of_six_steps", says="Only the first k steps are run.")
def leaves_out_the_second_phase(weights, x, k):
    def step(h, i):
        return jnp.where(i < k, block(weights, h, x), h), None

    h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))
    return jnp.mean(jax.lax.stop_gradient(h) ** 2)


@wrong(rejected_by="only_the_gradient_depends_on_k", says="Both phases count at run time: no reverse gradient.")
def counts_in_both_phases(weights, x, k):
    def run(h, rounds):
        return jax.lax.fori_loop(0, rounds, lambda i, h: block(weights, h, x), h)

    return jnp.mean(run(jax.lax.stop_gradient(run(jnp.zeros_like(x), k)), MAX_ITERS - k) ** 2)


equivalent("9c304b817e", because="NumPy asks the array itself for its mean.")


@wrong(rejected_by="the_ends_of_the_range_are_right", says="It stops before step k only: with k = 6 there is none.")
def stops_before_step_k(weights, x, k):
    def step(h, i):
        return block(weights, jnp.where(i == k, jax.lax.stop_gradient(h), h), x), None

    return jnp.mean(jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))[0] ** 2)


@hidden(stage="gradient", required=True, idea="k = 0 and k = 6.", on="the smallest and the largest k")
def the_ends_of_the_range_are_right(answer, draw, reference):
    """For k = 0 all steps have a gradient, and for k = 6 none has."""
    weights, x = draw.floats(3, 3), draw.floats(2, 3)
    ks = np.array([0, 6], np.int32)
    got, wanted = (f.grad().vmap(in_axes=(None, None, 0)).jit(weights, x, ks) for f in (answer, reference))
    expect_close(got, wanted, rtol=1e-3, atol=1e-4)
    loss = np.asarray(answer.jit(weights, x.at[0, 1].set(jnp.nan), jnp.int32(2)))
    expect_that(bool(np.isnan(loss)), "With NaN in it, the loss is NaN.", loss, "nan", on="a row with NaN in it")


# %% slopes_of_roots
@answer(
    notice="Two masks: one keeps `sqrt` away from the padding, the other keeps the padding out of the sum.",
    another_way="With 0 in place of 1 in the first mask, reverse mode would be right, and forward mode NaN.",
)
def slopes_of_roots(x, n):
    def total(x):
        used = jnp.arange(x.shape[0]) < n
        safe = jnp.where(used, x, 1.0)
        return jnp.where(used, jnp.sqrt(safe), 0.0).sum()

    return total(x), jax.jacrev(total)(x), jax.jacfwd(total)(x)


@alternative
@jax.jit
def pushes_unit_vectors(x, n):
    used = jnp.arange(x.size) < n

    def total(x):
        return jnp.dot(jax.lax.select(used, x, jnp.full_like(x, 4.0)) ** 0.5, used.astype(x.dtype))

    forward = jax.vmap(lambda change: jax.jvp(total, (x,), (change,))[1])(jnp.eye(x.size))
    return total(x), jax.grad(total)(x), forward


@wrong(rejected_by="both_derivatives_are_finite", says="A zero in place of the padding spoils forward mode.")
def masks_the_input_with_zero(x, n):
    total = lambda x: jnp.sqrt(jnp.where(jnp.arange(len(x)) < n, x, 0.0)).sum()
    return total(x), jax.jacrev(total)(x), jax.jacfwd(total)(x)


@wrong(rejected_by="both_derivatives_are_finite", says="0 times infinity is NaN.", misses_the_point=True)
def multiplies_by_the_mask(x, n):
    total = lambda x: (jnp.sqrt(jnp.abs(x)) * (jnp.arange(len(x)) < n)).sum()
    return total(x), jax.jacrev(total)(x), jax.jacfwd(total)(x)


@wrong(
    rejected_by="one_derivative_is_in_forward_mode",
    says="The reverse derivative is returned twice.",
    misses_the_point=True,
)
def reverse_twice(x, n):
    total = lambda x: jnp.sqrt(jnp.where(jnp.arange(len(x)) < n, x, 0.0)).sum()
    reverse = jax.jacrev(total)(x)
    return total(x), reverse, reverse


@wrong(rejected_by="both_derivatives_are_finite", says="NaN is removed from the value; the derivatives keep it.")
def nan_to_num_of_the_value(x, n):
    total = lambda x: jnp.nan_to_num(jnp.where(jnp.arange(len(x)) < n, jnp.sqrt(x), 0.0)).sum()
    return total(x), jax.jacrev(total)(x), jax.jacfwd(total)(x)


@wrong(rejected_by="only_the_first_roots_count", says="The roots of 1 in the padding are added.")
def masks_the_input_only(x, n):
    total = lambda x: jnp.sqrt(jnp.where(jnp.arange(len(x)) < n, x, 1.0)).sum()
    return total(x), jax.jacrev(total)(x), jax.jacfwd(total)(x)


@wrong(rejected_by="tiny_entries_count", says="Ones are added and taken away: they swallow small roots.")
def takes_the_ones_away(x, n):
    def total(x):
        roots = jnp.sqrt(jnp.where(jnp.arange(len(x)) < n, x, 1.0))
        return roots.sum() - (len(x) - n)

    return total(x), jax.jacrev(total)(x), jax.jacfwd(total)(x)


@wrong(rejected_by="the_next_derivative_is_finite", says="NaN is wiped off the results; `total` keeps it.")
def wipes_the_results(x, n):
    used = jnp.arange(len(x)) < n
    total = lambda x: jnp.where(jnp.arange(len(x)) < n, jnp.sqrt(x), 0.0).sum()
    return total(x), jnp.where(used, jax.jacrev(total)(x), 0.0), jnp.where(used, jax.jacfwd(total)(x), 0.0)


@wrong(rejected_by="both_derivatives_are_finite", says="A slice needs n as a static number.")
def slices_the_array(x, n):
    k = int(n)
    total = lambda x: jnp.sqrt(x[:k]).sum()
    return total(x), jax.jacrev(total)(x), jnp.pad(jax.jacfwd(total)(x)[:k], (0, len(x) - k))


@wrong(rejected_by="tiny_entries_count", says="Numbers are kept away from 0, also those that count.")
def clamps_from_below(x, n):
    def total(x):
        used = jnp.arange(len(x)) < n
        return jnp.where(used, jnp.sqrt(jnp.where(used, jnp.maximum(x, 1e-8), 1.0)), 0.0).sum()

    return total(x), jax.jacrev(total)(x), jax.jacfwd(total)(x)


@wrong(rejected_by="the_padding_may_be_anything", says="NaN times 0 is NaN.")
def multiplies_the_input_by_the_mask(x, n):
    def total(x):
        used = (jnp.arange(len(x)) < n).astype(x.dtype)
        return (jnp.sqrt(x * used + (1 - used)) * used).sum()

    return total(x), jax.jacrev(total)(x), jax.jacfwd(total)(x)


equivalent("b96cb04067", because="There is one axis.")
equivalent("3804d988fc", because="The numbers of the entries are static in any case.")
equivalent("004c4df76a", because="Any number with a finite slope will do, since its root is masked.")


@hidden(
    stage="gradient",
    required=True,
    idea="Tiny entries, as 1e-12 and 1e-20.",
    on="tiny entries among those that count",
)
def tiny_entries_count(answer):
    """Tiny entries have their root and their slope."""
    x = jnp.float32([1e-12, 1e-20, 4.0, -1.0])
    total = parts(answer(x, jnp.int32(2)), 3)[0]
    expect_close(total, np.float32(1.0001e-6), "Tiny entries should have their roots.", rtol=1e-4, atol=0.0)
    wanted = np.float32([0.5e6, 0.5e10, 0.25, 0.0])
    for got in parts(answer(x, jnp.int32(3)), 3)[1:]:
        expect_close(got, wanted, "Tiny entries should have their slopes.", rtol=1e-3, atol=0.0)


@hidden(
    stage="gradient",
    required=True,
    idea="Padding of NaN and of infinity, no padding, and nothing but padding.",
    on="padding with NaN and infinities, no padding, or nothing but padding",
)
def the_padding_may_be_anything(answer):
    """Padding of NaN and infinity leaves no trace in sum and derivatives."""
    x = jnp.float32([4.0, np.nan, np.inf, -np.inf])
    for n, total, slope in ((1, 2.0, [0.25, 0, 0, 0]), (0, 0.0, [0, 0, 0, 0])):
        for way in (answer, answer.jit):
            got = parts(way(x, jnp.int32(n)), 3)
            expect_close(got[0], np.float32(total), "The padding should leave no trace in the sum.")
            for one in got[1:]:
                expect_close(one, np.float32(slope), "The padding should have the derivative 0.")
    for got in parts(answer(jnp.float32([4.0, 16.0]), jnp.int32(2)), 3)[1:]:
        expect_close(got, np.float32([0.25, 0.125]), "All entries should count.")


@hidden(
    stage="gradient",
    idea="A batch of rows with a count for each, padded with 0.",
    on="a batch of rows with different counts",
)
def a_batch_of_rows_has_its_slopes(answer, draw):
    """With a count for each row, the derivatives are those of the used entries."""
    x = np.abs(draw.numpy(3, 4)) + np.float32(0.5)
    ns = np.array([1, 3, 4], np.int32)
    used = np.arange(4) < ns[:, None]
    x = np.where(used, x, np.float32(0))
    wanted = np.where(used, 0.5 / np.sqrt(np.where(used, x, 1)), 0).astype(np.float32)
    for got in parts(answer.vmap(in_axes=(0, 0))(x, ns), 3)[1:]:
        expect_close(got, wanted)


# %% one_switch_for_all
@answer(
    notice="`in_axes=(None, 0)`: the flag is one for all, so `cond` still decides once.",
    another_way="`jax.lax.cond(flag, jax.vmap(costly), jax.vmap(jnp.negative), xs)` puts the `cond` outside.",
)
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


@wrong(rejected_by="only_one_branch_is_run", says="Both are computed first, and the `cond` chooses one.")
def a_cond_of_two_results(flag, xs):
    both = costly(xs), -xs
    return jax.lax.cond(flag, lambda a, b: a, lambda a, b: b, *both)


@wrong(rejected_by="the_flag_may_be_traced", says="Python's `if` needs the value of the flag.")
def python_if(flag, xs):
    return jax.vmap(costly)(xs) if flag else -xs


@wrong(rejected_by="the_flag_decides_for_all_rows", says="The branches are swapped.")
def swaps_the_branches(flag, xs):
    return jax.lax.cond(flag, jnp.negative, costly, xs)


equivalent("b5d0310e5a", because="Both branches work number by number, so that they take a whole batch.")


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
    x = jnp.float32([[np.inf, -np.inf, 0.5]])
    expect_close(answer(jnp.array(False), x), -x, "Without the flag, the row should be negated.")


# %% drop_path
@answer(
    notice="One key for each layer; within a layer, one call draws for all examples. The mask has the shape [b,1], so "
    "that it counts for whole rows.",
    another_way="`fold_in(key, number of the layer)` makes a key for each layer as well.",
)
def drop_path(key, layers, x, keep):
    def step(h, layer_and_key):
        layer, layer_key = layer_and_key
        kept = jax.random.bernoulli(layer_key, keep, (len(h), 1))
        return h + jnp.where(kept, branch(layer, h) / keep, 0.0), None

    return jax.lax.scan(step, x, (layers, jax.random.split(key, len(layers))))[0]


@alternative
def draws_all_decisions_first(key, layers, x, keep):
    kept = jax.random.bernoulli(key, keep, (len(layers), len(x)))

    def step(h, layer_and_kept):
        layer, kept = layer_and_kept
        return jnp.where(kept[:, None], h + branch(layer, h) / keep, h), None

    return jax.lax.scan(step, x, (layers, kept))[0]


@alternative
@jax.jit
def folds_in_the_layer(key, layers, x, keep):
    def body(i, h):
        kept = jax.random.uniform(jax.random.fold_in(key, i), (h.shape[0],)) < keep
        return h + kept[:, None] * branch(layers[i], h) / keep

    return jax.lax.fori_loop(0, layers.shape[0], body, x)


@alternative
def a_key_for_each_example(key, layers, x, keep):
    def one(key, h):
        def step(h, layer_and_key):
            layer, layer_key = layer_and_key
            return h + jax.random.bernoulli(layer_key, keep) * branch(layer, h) / keep, None

        return jax.lax.scan(step, h, (layers, jax.random.split(key, len(layers))))[0]

    return jax.vmap(one)(jax.random.split(key, len(x)), x)


def _dropped(key, layers, x, draw_kept, scale):
    def step(h, layer_and_key):
        layer, layer_key = layer_and_key
        return h + draw_kept(layer_key, h) * branch(layer, h) / scale, None

    return jax.lax.scan(step, x, (layers, jax.random.split(key, len(layers))))[0]


@wrong(
    rejected_by="all_ways_through_two_layers_occur",
    says="One decision is made for the whole batch.",
    misses_the_point=True,
)
def one_mask_for_the_batch(key, layers, x, keep):
    return _dropped(key, layers, x, lambda k, h: jax.random.bernoulli(k, keep), keep)


@wrong(rejected_by="all_ways_through_two_layers_occur", says="What is kept is not scaled.")
def does_not_scale(key, layers, x, keep):
    return _dropped(key, layers, x, lambda k, h: jax.random.bernoulli(k, keep, (len(h), 1)), 1.0)


@wrong(rejected_by="all_ways_through_two_layers_occur", says="An example keeps all layers, or none.")
def one_mask_for_all_layers(key, layers, x, keep):
    return _dropped(key, layers, x, lambda k, h: jax.random.bernoulli(key, keep, (len(h), 1)), keep)


@wrong(rejected_by="all_ways_through_two_layers_occur", says="Single numbers are dropped, as in dropout.")
def drops_numbers(key, layers, x, keep):
    return _dropped(key, layers, x, lambda k, h: jax.random.bernoulli(k, keep, h.shape), keep)


@wrong(rejected_by="all_ways_through_two_layers_occur", says="The key is not used.")
def a_fixed_choice(key, layers, x, keep):
    return _dropped(key, layers, x, lambda k, h: (jnp.arange(len(h)) % 2 < 2 * keep - 0.5)[:, None], keep)


@wrong(rejected_by="nothing_is_dropped_if_all_is_kept", says="`keep` is taken for the probability to skip.")
def keep_is_the_probability_to_skip(key, layers, x, keep):
    return _dropped(key, layers, x, lambda k, h: jax.random.bernoulli(k, 1 - keep, (len(h), 1)), keep)


@wrong(rejected_by="nothing_is_dropped_if_all_is_kept", says="The residual connection is left out.")
def leaves_out_the_state(key, layers, x, keep):
    return _dropped(key, layers, x, lambda k, h: jax.random.bernoulli(k, keep, (len(h), 1)), keep) - x


@wrong(rejected_by="the_layers_are_in_a_loop", says="A Python loop writes each layer out.", misses_the_point=True)
def a_python_loop(key, layers, x, keep):
    for layer, layer_key in zip(layers, jax.random.split(key, len(layers)), strict=True):
        x = x + jax.random.bernoulli(layer_key, keep, (len(x), 1)) * branch(layer, x) / keep
    return x


@wrong(rejected_by="other_chances_are_met", says="Each layer is kept as often as not, whatever `keep` says.")
def as_often_as_not(key, layers, x, keep):
    chance = jnp.where(keep == 1.0, 1.0, 0.5)
    return _dropped(key, layers, x, lambda k, h: jax.random.bernoulli(k, chance, (len(h), 1)), keep)


@wrong(rejected_by="another_key_decides_anew", says="The decisions come from a fixed key.")
def a_fixed_key(key, layers, x, keep):
    return _dropped(jax.random.key(1), layers, x, lambda k, h: jax.random.bernoulli(k, keep, (len(h), 1)), keep)


@hidden(kind="relation", required=True, idea="A keep of 0.9.", on="thousands of examples, with a keep of 0.9")
def other_chances_are_met(answer, draw):
    """With keep = 0.9, 4,000 examples keep both layers about 3,240 times, and neither about 40 times."""
    ways = kept_in(answer, draw, 4000, TWO_LAYERS, 0.9)
    both, neither = int((ways == 3).sum()), int((ways == 0).sum())
    # The standard deviations are 24.8 and 6.3; by chance, a bound is passed 3 times in 10**12.
    message = "Each layer should be kept with probability `keep`."
    expect_that(abs(both - 3240) < 174 and neither < 95, message, [both, neither], "about 3240 and 40")


@hidden(
    kind="relation", required=True, idea="The same key again, and another key.", on="the same key twice, and others"
)
def another_key_decides_anew(answer, draw):
    """The same key gives the same states again, another key gives others."""
    key, x = draw.key(), jnp.ones((60, 2))
    first, again, other = (np.asarray(answer(k, TWO_LAYERS, x, 0.5)) for k in (key, key, draw.key()))
    expect_that(np.allclose(first, again), "The same key should give the same states again.")
    expect_that(not np.allclose(first, other), "Another key should give other states.")


@hidden(idea="One example and one layer, also with NaN.", on="one example and one layer, also with NaN")
def one_example_and_one_layer(answer, draw):
    """One example of one layer keeps its shape, and with keep = 1 its value."""
    layers, x = draw.floats(1, 3, 3), draw.floats(1, 3)
    for one in (x, x.at[0, 1].set(jnp.nan)):
        expect_close(answer(draw.key(), layers, one, 1.0), one + jnp.tanh(one @ layers[0]), rtol=1e-4, atol=1e-5)


# %% remember_less
@answer(
    notice="`checkpoint` stands around one step: then the states between the steps are kept, and nothing else.",
    another_way="Around the whole scan it would run all steps again first, and then keep as much as before.",
)
def remember_less(weights, x, steps):
    @jax.checkpoint
    def step(h, _):
        return gated_step(weights, h), None

    return jnp.sum(jax.lax.scan(step, x, length=steps)[0] ** 2)


@alternative
def checkpoints_the_inner_function(weights, x, steps):
    once = jax.checkpoint(gated_step)
    return jnp.sum(jax.lax.fori_loop(0, steps, lambda i, h: once(weights, h), x) ** 2)


@alternative
def remat_of_all_but_the_last(weights, x, steps):
    step = jax.remat(lambda h, _: (gated_step(weights, h), None), prevent_cse=False)
    before, _ = jax.lax.scan(step, x, None, length=steps - 1)
    return (gated_step(weights, before) ** 2).sum()


@wrong(rejected_by="one_array_is_kept", says="`checkpoint` stands around the whole scan.", misses_the_point=True)
def around_the_whole_scan(weights, x, steps):
    @jax.checkpoint
    def run(weights, x):
        return jax.lax.scan(lambda h, _: (gated_step(weights, h), None), x, length=steps)[0]

    return jnp.sum(run(weights, x) ** 2)


@wrong(rejected_by="the_gradient_stays", says="`stop_gradient` keeps less, and loses the gradient.")
def stops_the_gradient(weights, x, steps):
    def step(h, _):
        return gated_step(jax.lax.stop_gradient(weights), h), None

    return jnp.sum(jax.lax.scan(step, x, length=steps)[0] ** 2)


@wrong(rejected_by="one_array_is_kept", says="A Python loop writes all steps out.", misses_the_point=True)
def a_python_loop(weights, x, steps):
    for _ in range(steps):
        x = jax.checkpoint(gated_step)(weights, x)
    return jnp.sum(x**2)


@wrong(rejected_by="the_value_stays", says="The mean is taken for the sum.")
def a_mean_of_squares(weights, x, steps):
    step = jax.checkpoint(lambda h, _: (gated_step(weights, h), None))
    return jnp.mean(jax.lax.scan(step, x, length=steps)[0] ** 2)


equivalent("b2124a58c3", because="NumPy asks the array itself for its sum.")


@hidden(stage="gradient", idea="One row, and more steps.", on="an input of one row, and more steps")
def more_steps_have_their_gradient(answer, draw, reference):
    """For one row and nine steps, value and gradient are those of the reference."""
    weights, x = 0.5 * draw.floats(2, 2), draw.floats(1, 2)
    expect_close(answer(weights, x, 9), reference(weights, x, 9), rtol=1e-3)
    got, wanted = (one.grad((0, 1))(weights, x, 9) for one in (answer, reference))
    expect_close(tuple(got), tuple(wanted), rtol=1e-3, atol=1e-3)
