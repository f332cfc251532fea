# %%
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.course.author import (
    alternative,
    answer,
    equivalent,
    expect_close,
    expect_different,
    expect_equal,
    expect_that,
    given,
    hidden,
    input,
    wrong,
    wrong_value,
)


# %% predict_same_sum
@answer
def predict_same_sum():
    return False


# %% seeded_draws
@answer(
    notice="NumPy's functions change a state, hidden or with a name. JAX's take the key, and say so if it is missing.",
    another_way="An `if` for each name would do, too. `getattr` spares you a table.",
)
def seeded_draws(source, name, seed):
    if source == "np.random.seed":
        np.random.seed(seed)
        return getattr(np.random, name)(size=3)
    if source == "default_rng":
        return getattr(np.random.default_rng(seed), name)(size=3)
    if source == "jax":
        return getattr(jax.random, name)(jax.random.key(seed), (3,))
    try:
        library = jnp.random if source == "jnp.random" else jax.random
        return getattr(library, name)(shape=(3,))
    except (AttributeError, TypeError) as error:
        return str(error)


@wrong(rejected_by="a_seed_gives_its_numbers_again", says="NumPy's generator is not seeded.", lacks="S0-23")
def forgets_the_seed(source, name, seed):
    if source == "np.random.seed":
        return getattr(np.random, name)(size=3)
    return seeded_draws_of(source, name, seed)


def seeded_draws_of(source, name, seed):
    """Draw from the other sources, as the answer does."""
    if source == "default_rng":
        return getattr(np.random.default_rng(seed), name)(size=3)
    if source == "jax":
        return getattr(jax.random, name)(jax.random.key(seed), (3,))
    try:
        return getattr(jnp.random if source == "jnp.random" else jax.random, name)(shape=(3,))
    except (AttributeError, TypeError) as error:
        return str(error)


@wrong(
    rejected_by="jax_is_not_numpy",
    says="NumPy's numbers are put into a JAX array.",
    lacks="S0-24",
    misses_the_point=True,
)
def one_library_for_both(source, name, seed):
    if source in ("np.random.seed", "jax"):
        numbers = getattr(np.random.RandomState(seed), name)(size=3)
        return jnp.asarray(numbers) if source == "jax" else numbers
    return seeded_draws_of(source, name, seed)


@wrong(rejected_by="jax_is_not_numpy", says="What the error says is written by hand, for one function.", lacks="S0-24")
def one_text_for_all(source, name, seed):
    if source == "np.random.seed":
        return getattr(np.random.RandomState(seed), name)(size=3)
    if source == "jax without a key":
        return "uniform() missing 1 required positional argument: 'key'"
    return seeded_draws_of(source, name, seed)


@wrong(rejected_by="the_numbers_are_those_of_the_source", says="The name is not read: the numbers are uniform.")
def uniform_for_both(source, name, seed):
    if source == "np.random.seed":
        return np.random.RandomState(seed).uniform(size=3)
    return seeded_draws_of(source, name if source.startswith("jax ") else "uniform", seed)


equivalent("4c00ab3821", because="Without a key, the call fails in the same way.")


@hidden(idea="Large seeds, and the seed 0.", on="large seeds")
def large_seeds(answer, draw, reference):
    """Large seeds are seeds, too."""
    for source in ("np.random.seed", "default_rng", "jax"):
        seed = draw.integer(2**24, 2**31)
        expect_close(answer(source, "normal", seed), reference(source, "normal", seed))


# %% predict_second_draw
@answer
def predict_second_draw():
    return True


# %% two_samples
@answer(
    notice="Two draws need two keys, and `key` itself is used up by the split.",
    another_way="One draw of n + m numbers, cut in two, needs no split.",
)
def two_samples(key, n, m):
    key_a, key_b = jax.random.split(key)
    return jax.random.normal(key_a, (n,)), jax.random.normal(key_b, (m,))


@alternative
def folds_in_two_numbers(key, n, m):
    key_a, key_b = (jax.random.fold_in(key, i) for i in range(2))
    return jax.random.normal(key_a, shape=(n,)), jax.random.normal(key_b, shape=(m,))


@alternative
def draws_the_second_first(key, n, m):
    key_a, key_b = jax.random.split(key)
    second = jax.random.normal(key_b, (m,))
    return jax.random.normal(key_a, (n,)), second


@alternative
@partial(jax.jit, static_argnums=(1, 2))
def one_draw_cut_in_two(key, n, m):
    numbers = jax.random.normal(key, (n + m,))
    return [numbers[:n], numbers[n:]]


@alternative
def a_key_for_each_number(key, n, m):
    from collections import namedtuple

    numbers = jax.vmap(jax.random.normal)(jax.random.split(key, n + m))
    return namedtuple("Samples", ["a", "b"])(numbers[:n], numbers[n:])


@wrong(rejected_by="the_two_samples_differ", says="Both draws use the same key.", misses_the_point=True)
def one_key_for_both(key, n, m):
    return jax.random.normal(key, (n,)), jax.random.normal(key, (m,))


@wrong(rejected_by="each_key_is_used_once", says="The second sample is the first with the other sign.")
def mirrors_the_first(key, n, m):
    numbers = jax.random.normal(key, (max(n, m),))
    return numbers[:n], -numbers[:m]


@wrong(rejected_by="each_key_is_used_once", says="The key is split, and drawn from all the same.")
def draws_from_the_old_key_too(key, n, m):
    _, key_b = jax.random.split(key)
    return jax.random.normal(key, (n,)), jax.random.normal(key_b, (m,))


@wrong(rejected_by="the_key_decides_the_samples", says="The second sample has a fixed seed.")
def a_fixed_seed_for_the_second(key, n, m):
    return jax.random.normal(key, (n,)), jax.random.normal(jax.random.key(1), (m,))


@wrong(rejected_by="the_key_decides_the_samples", says="NumPy's hidden state is used instead of the key.")
def numpys_hidden_state(key, n, m):
    return jnp.asarray(np.random.normal(size=n), "float32"), jnp.asarray(np.random.normal(size=m), "float32")


@wrong(rejected_by="each_key_is_used_once", says="Uniform numbers are drawn.")
def uniform_numbers(key, n, m):
    key_a, key_b = jax.random.split(key)
    return jax.random.uniform(key_a, (n,)), jax.random.uniform(key_b, (m,))


@wrong(rejected_by="each_key_is_used_once", says="Only the second word of the key is used.")
def uses_one_word_of_the_key(key, n, m):
    key_a, key_b = jax.random.split(jax.random.key(jax.random.key_data(key)[1]))
    return jax.random.normal(key_a, (n,)), jax.random.normal(key_b, (m,))


@hidden(kind="relation", idea="Samples of one number, from typed and legacy keys.", on="samples of one number each")
def one_number_each(answer, draw):
    """Samples of one number differ."""
    for key in (draw.key(), draw.legacy_key()):
        a, b = parts(answer(key, 1, 1), 2)
        expect_different(a, b, "Two samples of one number should differ; yours are the same.")


# %% draw_by_draw
@answer(
    notice="The name `key` always stands for the one key that was not used yet.",
    another_way="`jax.random.split(key, n + 1)` makes all keys at once, if you know how many draws will come.",
)
def draw_by_draw(key, n):
    draws = []
    for i in range(n):
        key, subkey = jax.random.split(key)
        value = jax.random.normal(subkey)
        print(f"draw {i}: {value}")
        draws.append(value)
    return jnp.stack(draws), key


@alternative
def fills_a_numpy_array(key, n):
    draws = np.empty(n, np.float32)
    for i in range(n):
        both = jax.random.split(key, 2)
        key = both[0]
        draws[i] = jax.random.normal(both[1], shape=())
        print(f"draw {i}: {draws[i]}")
    return [draws, key]


def print_draws(draws):
    """Print a line for each draw."""
    for i, value in enumerate(draws):
        print(f"draw {i}: {value}")


@wrong(rejected_by="no_used_key_is_used_again", says="The key that was drawn from is returned.", lacks="S0-42")
def returns_the_subkey(key, n):
    draws = []
    for _ in range(n):
        key, subkey = jax.random.split(key)
        draws.append(jax.random.normal(subkey))
    print_draws(draws)
    return jnp.stack(draws), subkey


@wrong(
    rejected_by="three_lines_are_the_documented_ones",
    says="The first new key is drawn from, and the second goes on.",
    lacks="S0-41",
)
def takes_the_other_key(key, n):
    draws = []
    for _ in range(n):
        subkey, key = jax.random.split(key)
        draws.append(jax.random.normal(subkey))
    print_draws(draws)
    return jnp.stack(draws), key


@wrong(
    rejected_by="three_lines_are_the_documented_ones",
    says="The key is drawn from and then split.",
    misses_the_point=True,
)
def draws_from_the_parent(key, n):
    draws = []
    for _ in range(n):
        draws.append(jax.random.normal(key))
        key, _ = jax.random.split(key)
    print_draws(draws)
    return jnp.stack(draws), key


@wrong(rejected_by="three_lines_are_the_documented_ones", says="All keys are made by one split.")
def splits_once(key, n):
    key, *subkeys = jax.random.split(key, n + 1)
    draws = [jax.random.normal(subkey) for subkey in subkeys]
    print_draws(draws)
    return jnp.stack(draws), key


equivalent("025660e9ea", because="An array of NumPy has the same numbers.")


@hidden(
    stage="keys",
    kind="value",
    idea="Other keys, typed and legacy, and a single draw.",
    on="typed and legacy keys, with one draw or more",
)
def any_key_and_count(answer, draw, reference):
    """For any key and count, it gives the draws and the key that goes on."""
    for key, n in ((draw.key(), 1), (draw.legacy_key(), 4)):
        got, wanted = parts(answer(key, n), 2), reference(key, n)
        expect_close(got[0], wanted[0], "It should be the draws of the second keys.")
        expect_equal(got[1], wanted[1], "The key that goes on should be returned, and of the same kind.")


# %% draw_three_ways
@answer(
    notice="`jax.vmap(jax.random.normal)(subkeys)` is the loop in one operation, number for number.",
    another_way="If you need n numbers and no key for each, one draw of shape (n,) is all you need.",
)
def draw_three_ways(way, key, n):
    if way == "all at once":
        return jax.random.normal(key, (n,))
    subkeys = jax.random.split(key, n)
    if way == "individually":
        return jnp.stack([jax.random.normal(subkey) for subkey in subkeys])
    return jax.vmap(jax.random.normal)(subkeys)


@alternative
def compiled_where_it_can_be(way, key, n):
    if way == "all at once":
        return jax.jit(jax.random.normal, static_argnums=1)(key, (n,))
    keys = jax.random.split(key, num=n)
    mapped = jax.jit(jax.vmap(lambda one: jax.random.normal(one, ())))
    return mapped(keys) if way == "vectorized" else jnp.array([jax.random.normal(keys[i]) for i in range(n)])


@wrong(
    rejected_by="single_draws_are_not_one_draw",
    says="NumPy's promise is expected of JAX: the single draws are believed to be those of one draw.",
    lacks="S0-47",
)
def believes_in_sequential_equivalence(way, key, n):
    if way == "individually":
        return jax.random.normal(key, (n,))
    return (
        jax.random.normal(key, (n,)) if way == "all at once" else jax.vmap(jax.random.normal)(jax.random.split(key, n))
    )


@wrong(
    rejected_by="the_mapped_draws_are_those_of_the_loop",
    says="A comprehension is a loop, too.",
    lacks="S0-48",
    misses_the_point=True,
)
def loops_twice(way, key, n):
    if way == "all at once":
        return jax.random.normal(key, (n,))
    return jnp.stack([jax.random.normal(subkey) for subkey in jax.random.split(key, n)])


@wrong(
    rejected_by="the_mapped_draws_are_those_of_the_loop",
    says="`jax.lax.map` draws one number after the other.",
    lacks="S0-48",
)
def maps_one_by_one(way, key, n):
    if way == "all at once":
        return jax.random.normal(key, (n,))
    subkeys = jax.random.split(key, n)
    if way == "individually":
        return jnp.stack([jax.random.normal(subkey) for subkey in subkeys])
    return jax.lax.map(jax.random.normal, subkeys)


equivalent("0dc908cc10", because="An array of NumPy has the same numbers.")


@hidden(idea="Legacy keys, and more numbers.", on="a legacy key, and other numbers of draws")
def legacy_keys_and_more(answer, draw, reference):
    """For a legacy key, each way gives its numbers."""
    key = draw.legacy_key()
    for way in ("individually", "vectorized", "all at once"):
        expect_close(answer(way, key, 7), reference(way, key, 7), f"With {way!r}, the numbers should be others.")


# %% noise_for_rows
@answer(
    notice="`fold_in` takes the traced number of the row, so that one program serves all rows.",
    another_way="Splitting the key into one for each row of the table needs all keys at once, also for a single row.",
)
def noise_for_rows(key, rows):
    return jax.vmap(lambda row: jax.random.normal(jax.random.fold_in(key, row), (4,)))(rows)


@alternative
@jax.jit
def keys_first(key, rows):
    keys = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, rows)
    return jax.vmap(partial(jax.random.normal, shape=(4,)))(keys)


@alternative
def a_key_for_each_number(key, rows):
    def of_one(row):
        return jax.vmap(jax.random.normal)(jax.random.split(jax.random.fold_in(key, row), 4))

    return jax.vmap(of_one)(rows)


@wrong(rejected_by="each_row_draws_from_its_own_key", says="One key draws for all rows.", misses_the_point=True)
def one_draw_for_all(key, rows):
    return jax.random.normal(key, (len(rows), 4))


@wrong(
    rejected_by="reproducible_parallel_and_vectorizable",
    says="One key for each place in the call, whatever row is there.",
)
def a_key_for_each_place(key, rows):
    keys = jax.random.split(key, len(rows))
    return jax.vmap(lambda one: jax.random.normal(one, (4,)))(keys)


@wrong(rejected_by="each_row_draws_from_its_own_key", says="Keys are made for all rows up to the largest one.")
def splits_for_all_rows(key, rows):
    keys = jax.random.split(key, int(max(rows)) + 1)
    return jax.vmap(lambda row: jax.random.normal(keys[row], (4,)))(rows)


@wrong(
    rejected_by="reproducible_parallel_and_vectorizable",
    says="A Python loop over the rows makes operations for each of them.",
    lacks="S0-31",
)
def loops_over_rows(key, rows):
    return jnp.stack([jax.random.normal(jax.random.fold_in(key, row), (4,)) for row in rows])


@wrong(rejected_by="reproducible_parallel_and_vectorizable", says="`jax.lax.map` does one row after the other.")
def maps_one_by_one(key, rows):
    return jax.lax.map(lambda row: jax.random.normal(jax.random.fold_in(key, row), (4,)), rows)


@wrong(rejected_by="the_key_and_the_row_decide", says="Every row gets the same key.")
def one_key_for_all(key, rows):
    return jax.vmap(lambda row: jax.random.normal(key, (4,)))(rows)


@wrong(rejected_by="large_numbers_have_their_own_noise", says="The numbers of rows are folded in modulo 65536.")
def folds_in_a_part_of_the_number(key, rows):
    return jax.vmap(lambda row: jax.random.normal(jax.random.fold_in(key, row % 65536), (4,)))(rows)


@wrong(rejected_by="the_key_and_the_row_decide", says="A seed is made for each row, and the key is not used.")
def seeds_with_the_row(key, rows):
    return jax.vmap(lambda row: jax.random.normal(jax.random.key(row), (4,)))(rows)


equivalent("c5ff0fe472", because="Draws are finite.")


@hidden(
    stage="keys",
    kind="relation",
    required=True,
    idea="Rows with numbers up to 2**31 - 1, which have their low or their high bits in common.",
    on="very large numbers of rows",
)
def large_numbers_have_their_own_noise(answer, draw):
    """Rows with large numbers have noise of their own."""
    rows = jnp.array([0, 65536, 2**20, 2**24, 2**24 + 1, 2**31 - 1, 2**31 - 2, 2**30, 1000, 1_001_000])
    noise = np.asarray(answer(draw.key(), rows))
    message = "Different rows should have different noise; of yours some are equal."
    expect_that(len(np.unique(noise, axis=0)) == len(rows), message, noise, "ten different rows")


@hidden(idea="A legacy key, and a single row.", on="a legacy key and a single row")
def legacy_keys_make_noise(answer, draw):
    """A legacy key gives the noise of the same typed key."""
    key, rows = draw.legacy_key(), jnp.array([70])
    expect_close(answer(key, rows), answer(jax.random.wrap_key_data(key), rows), "Both kinds of key should do.")


# %% train_with_noise
@answer(
    notice="`scan` loops over an array of keys, one for each step, and each step splits its own for its two draws.",
    another_way="A key in the carry, split into three in each step, needs no number of steps beforehand.",
)
def train_with_noise(key, w, x, y, steps):
    def step(w, step_key):
        kept_key, noise_key = jax.random.split(step_key)
        kept = jax.random.bernoulli(kept_key, 0.8, x.shape)
        noise = 0.1 * jax.random.normal(noise_key, x.shape)
        seen = jnp.where(kept, x / 0.8, 0.0) + noise
        off, slope = jax.value_and_grad(error)(w, seen, y)
        return w - 0.05 * slope, off

    return jax.lax.scan(step, w, jax.random.split(key, steps))


def train_with(kept, noises, w, x, y):
    """Train with given masks and noises, one of each for a step."""

    def step(w, drawn):
        kept, noise = drawn
        off, slope = jax.value_and_grad(error)(w, jnp.where(kept, x / 0.8, 0.0) + 0.1 * noise, y)
        return w - 0.05 * slope, off

    return jax.lax.scan(step, w, (kept, noises))


@alternative
def carries_the_key(key, w, x, y, steps):
    def step(carry, _):
        w, key = carry
        key, kept_key, noise_key = jax.random.split(key, 3)
        kept = jax.random.bernoulli(kept_key, 0.8, x.shape)
        noise = 0.1 * jax.random.normal(noise_key, x.shape)
        off, slope = jax.value_and_grad(error)(w, jnp.where(kept, x / 0.8, 0.0) + noise, y)
        return (w - 0.05 * slope, key), off

    (w, _), errors = jax.lax.scan(step, (w, key), length=steps)
    return w, errors


@alternative
def draws_before_the_loop(key, w, x, y, steps):
    kept_key, noise_key = jax.random.split(key)
    shape = (steps, *x.shape)
    kept = jax.random.uniform(kept_key, shape) < 0.8
    return list(train_with(kept, jax.random.normal(noise_key, shape), w, x, y))


@alternative
def folds_in_the_step(key, w, x, y, steps):
    def step(w, t):
        kept_key, noise_key = (jax.random.fold_in(jax.random.fold_in(key, t), i) for i in range(2))
        kept = jax.random.bernoulli(kept_key, 0.8, x.shape)
        noise = 0.1 * jax.random.normal(noise_key, x.shape)
        off, slope = jax.value_and_grad(error)(w, jnp.where(kept, x / 0.8, 0.0) + noise, y)
        return w - 0.05 * slope, off

    return jax.lax.scan(step, w, jnp.arange(steps))


@wrong(rejected_by="every_draw_has_its_own_key", says="Two keys are made before the loop, for all steps.")
def splits_once_outside(key, w, x, y, steps):
    kept_key, noise_key = jax.random.split(key)
    kept = jax.random.bernoulli(kept_key, 0.8, x.shape)
    noise = jax.random.normal(noise_key, x.shape)
    return train_with(jnp.stack([kept] * steps), jnp.stack([noise] * steps), w, x, y)


@wrong(rejected_by="every_draw_has_its_own_key", says="Each step folds in the same number.", misses_the_point=True)
def folds_in_zero(key, w, x, y, steps):
    def step(w, _):
        kept_key, noise_key = jax.random.split(jax.random.fold_in(key, 0))
        kept = jax.random.bernoulli(kept_key, 0.8, x.shape)
        noise = 0.1 * jax.random.normal(noise_key, x.shape)
        off, slope = jax.value_and_grad(error)(w, jnp.where(kept, x / 0.8, 0.0) + noise, y)
        return w - 0.05 * slope, off

    return jax.lax.scan(step, w, length=steps)


@wrong(rejected_by="every_draw_has_its_own_key", says="The mask and the noise of a step share their key.")
def one_key_for_both_draws(key, w, x, y, steps):
    def step(w, step_key):
        kept = jax.random.bernoulli(step_key, 0.8, x.shape)
        noise = 0.1 * jax.random.normal(step_key, x.shape)
        off, slope = jax.value_and_grad(error)(w, jnp.where(kept, x / 0.8, 0.0) + noise, y)
        return w - 0.05 * slope, off

    return jax.lax.scan(step, w, jax.random.split(key, steps))


@wrong(rejected_by="the_key_decides_the_run", says="The keys of the steps come from a seed.")
def a_seed_of_its_own(key, w, x, y, steps):
    kept_key, noise_key = jax.random.split(jax.random.key(0))
    shape = (steps, *x.shape)
    return train_with(jax.random.bernoulli(kept_key, 0.8, shape), jax.random.normal(noise_key, shape), w, x, y)


@wrong(rejected_by="every_draw_has_its_own_key", says="All rows of a step share one mask.")
def one_mask_for_all_rows(key, w, x, y, steps):
    kept_key, noise_key = jax.random.split(key)
    kept = jax.random.bernoulli(kept_key, 0.8, (steps, 1, x.shape[1]))
    return train_with(kept, jax.random.normal(noise_key, (steps, *x.shape)), w, x, y)


@wrong(rejected_by="the_training_is_one_loop", says="A Python loop writes out every step.")
def a_python_loop(key, w, x, y, steps):
    errors = []
    for step_key in jax.random.split(key, steps):
        kept_key, noise_key = jax.random.split(step_key)
        seen = jnp.where(jax.random.bernoulli(kept_key, 0.8, x.shape), x / 0.8, 0.0)
        seen = seen + 0.1 * jax.random.normal(noise_key, x.shape)
        off, slope = jax.value_and_grad(error)(w, seen, y)
        w, errors = w - 0.05 * slope, [*errors, off]
    return w, jnp.stack(errors)


@hidden(idea="One row, and a legacy key.", on="one row, several steps and a legacy key")
def one_row_and_a_legacy_key(answer, draw):
    """One row is a batch, and a legacy key is a key."""
    w, errors = parts(answer(draw.legacy_key(), *some_task(draw, n=1, d=3), 4), 2)
    expect_that((w.shape, errors.shape) == ((3,), (4,)), "One row should be a batch, too.", (w, errors))


# %% metropolis
@answer(
    notice="The place is carried, the keys are looped over. `jnp.where` takes the proposal or the place as a whole.",
    another_way="All noise and all u can be drawn before the loop, from two keys; that takes memory for all steps.",
)
def metropolis(key, log_density, start, steps, size):
    def step(place, step_key):
        noise_key, u_key = jax.random.split(step_key)
        proposal = place + size * jax.random.normal(noise_key, place.shape)
        goes = jnp.log(jax.random.uniform(u_key)) < log_density(proposal) - log_density(place)
        place = jnp.where(goes, proposal, place)
        return place, place

    return jax.lax.scan(step, start, jax.random.split(key, steps))[1]


@alternative
@partial(jax.jit, static_argnums=(1, 3))
def draws_before_the_loop(key, log_density, start, steps, size):
    noise_key, u_key = jax.random.split(key)
    noises = jax.random.normal(noise_key, (steps, *start.shape))
    us = jax.random.uniform(u_key, (steps,))

    def step(carry, drawn):
        place, value = carry
        noise, u = drawn
        proposal = place + size * noise
        after = log_density(proposal)
        carry = jax.lax.cond(jnp.log(u) < after - value, lambda: (proposal, after), lambda: carry)
        return carry, carry[0]

    return jax.lax.scan(step, (start, log_density(start)), (noises, us))[1]


@alternative
def carries_the_key(key, log_density, start, steps, size):
    def step(carry, _):
        place, key = carry
        key, noise_key, u_key = jax.random.split(key, 3)
        proposal = place + size * jax.random.normal(noise_key, place.shape)
        chance = jnp.exp(jnp.minimum(log_density(proposal) - log_density(place), 0.0))
        place = jnp.where(jax.random.bernoulli(u_key, chance), proposal, place)
        return (place, key), place

    return jax.lax.scan(step, (start, key), None, length=steps)[1]


def metropolis_with(goes, key, log_density, start, steps, size):
    """Walk with another rule, which says from u and both values whether to go."""

    def step(place, step_key):
        noise_key, u_key = jax.random.split(step_key)
        proposal = place + size * jax.random.normal(noise_key, place.shape)
        going = goes(jax.random.uniform(u_key), log_density(proposal), log_density(place))
        place = jnp.where(going, proposal, place)
        return place, place

    return jax.lax.scan(step, start, jax.random.split(key, steps))[1]


@wrong(rejected_by="each_step_goes_or_stays", says="It always goes to the proposal.")
def always_goes(key, log_density, start, steps, size):
    return metropolis_with(lambda u, after, before: u >= 0, key, log_density, start, steps, size)


@wrong(rejected_by="each_step_goes_or_stays", says="It only goes where the density is larger.")
def only_climbs(key, log_density, start, steps, size):
    return metropolis_with(lambda u, after, before: (u >= 0) & (after > before), key, log_density, start, steps, size)


@wrong(rejected_by="any_density_will_do", says="Densities as small as these are 0 in float32, so that it always stays.")
def leaves_the_logarithms(key, log_density, start, steps, size):
    return metropolis_with(lambda u, a, b: u * jnp.exp(b) < jnp.exp(a), key, log_density, start, steps, size)


@wrong(rejected_by="any_density_will_do", says="The density is taken for the banana's.")
def knows_the_banana(key, log_density, start, steps, size):
    return metropolis_with(lambda u, after, before: jnp.log(u) < after - before, key, banana, start, steps, size)


@wrong(rejected_by="any_density_will_do", says="Logarithms of the density are clipped, so that large ones look alike.")
def clips_the_logarithms(key, log_density, start, steps, size):
    def clipped(place):
        return jnp.clip(log_density(place), -1e4, 1e4)

    return metropolis_with(lambda u, a, b: jnp.log(u) < a - b, key, clipped, start, steps, size)


@wrong(
    rejected_by="each_step_goes_or_stays",
    says="The noise and u of a step share their key.",
    misses_the_point=True,
)
def one_key_for_a_step(key, log_density, start, steps, size):
    def step(place, step_key):
        proposal = place + size * jax.random.normal(step_key, place.shape)
        goes = jnp.log(jax.random.uniform(step_key)) < log_density(proposal) - log_density(place)
        place = jnp.where(goes, proposal, place)
        return place, place

    return jax.lax.scan(step, start, jax.random.split(key, steps))[1]


@wrong(rejected_by="each_step_goes_or_stays", says="Every step draws from the key from outside.")
def the_key_from_outside(key, log_density, start, steps, size):
    noise_key, u_key = jax.random.split(key)

    def step(place, _):
        proposal = place + size * jax.random.normal(noise_key, place.shape)
        goes = jnp.log(jax.random.uniform(u_key)) < log_density(proposal) - log_density(place)
        place = jnp.where(goes, proposal, place)
        return place, place

    return jax.lax.scan(step, start, length=steps)[1]


@wrong(rejected_by="each_step_goes_or_stays", says="The proposals are returned, also those that were not taken.")
def returns_the_proposals(key, log_density, start, steps, size):
    def step(place, step_key):
        noise_key, u_key = jax.random.split(step_key)
        proposal = place + size * jax.random.normal(noise_key, place.shape)
        goes = jnp.log(jax.random.uniform(u_key)) < log_density(proposal) - log_density(place)
        return jnp.where(goes, proposal, place), proposal

    return jax.lax.scan(step, start, jax.random.split(key, steps))[1]


@wrong(rejected_by="the_chain_is_one_loop", says="A Python loop writes out every step.")
def a_python_loop(key, log_density, start, steps, size):
    place, places = start, []
    for step_key in jax.random.split(key, steps):
        noise_key, u_key = jax.random.split(step_key)
        proposal = place + size * jax.random.normal(noise_key, place.shape)
        goes = jnp.log(jax.random.uniform(u_key)) < log_density(proposal) - log_density(place)
        place = jnp.where(goes, proposal, place)
        places.append(place)
    return jnp.stack(places)


@wrong(rejected_by="any_density_will_do", says="The size of a step is taken for granted.")
def ignores_the_size(key, log_density, start, steps, size):
    return metropolis_with(lambda u, a, b: jnp.log(u) < a - b, key, log_density, start, steps, 0.8)


equivalent("668c4ee3d9", because="Both sides are equal with probability 0.")


@input
def tiny_cloud(place):
    return -300.0 - 2 * jnp.sum(jnp.abs(place - 1))


@input
def flat_box(place):
    return jnp.where(jnp.all(jnp.abs(place) < 1), 0.0, -jnp.inf)


@input
def steep_slope(place):
    return -1e5 * jnp.sum(place)


@hidden(
    stage="keys",
    required=True,
    idea="A density that is very small everywhere, one that is 0 outside of a box, and one that is both tiny and huge.",
    on="densities that are not in the lesson: very small, 0 in many places, and from very small to very large",
)
def any_density_will_do(answer, draw):
    """With other densities, in one dimension or three, each step goes or stays as it should."""
    expect_chain(answer, draw.key(), given(tiny_cloud), tiny_cloud, jnp.zeros(3), 12, 0.6)
    expect_chain(answer, draw.legacy_key(), given(flat_box), flat_box, jnp.zeros(1), 12, 1.5)
    # It walks from -1.3e6 to about 1.3e6.
    expect_chain(answer, draw.key(), given(steep_slope), steep_slope, jnp.array([6.5, 6.5]), 60, 0.8)


@hidden(stage="jit", idea="`vmap` over keys gives a chain for each.", on="three keys under `jax.vmap`")
def chains_can_be_mapped(answer, draw):
    """Mapped over three keys, there are three chains, those of the single calls."""
    keys, args = draw.keys(3), (given("banana"), jnp.zeros(2), 6, 0.8)
    mapped = answer.vmap(in_axes=(0, None, None, None, None))(keys, *args)
    for i in range(3):
        expect_close(mapped[i], answer(keys[i], *args), "Each chain should be that of its key.", atol=1e-4)


# %% epoch_batches
@answer(
    notice="One order, used for both arrays. It is cut into batches before it picks the rows.",
    another_way="A chain of splits gives each epoch a key, too, but you can start it at epoch 0 only.",
)
def epoch_batches(key, epoch, inputs, labels, size):
    order = jax.random.permutation(jax.random.fold_in(key, epoch), len(labels)).reshape(-1, size)
    return inputs[order], labels[order]


@alternative
@partial(jax.jit, static_argnames="size")
def shuffles_and_cuts(key, epoch, inputs, labels, size):
    order = jax.random.permutation(jax.random.fold_in(key, epoch), jnp.arange(inputs.shape[0]))
    b = inputs.shape[0] // size
    return inputs[order].reshape(b, size, -1), jnp.take(labels, order).reshape(b, size)


@wrong(rejected_by="the_order_is_that_of_the_epoch", says="Inputs and labels get two orders.", misses_the_point=True)
def two_orders(key, epoch, inputs, labels, size):
    key_a, key_b = jax.random.split(jax.random.fold_in(key, epoch))
    n = len(labels)
    orders = [jax.random.permutation(one, n).reshape(-1, size) for one in (key_a, key_b)]
    return inputs[orders[0]], labels[orders[1]]


@wrong(rejected_by="the_order_is_that_of_the_epoch", says="All epochs have the same order.")
def forgets_the_epoch(key, epoch, inputs, labels, size):
    order = jax.random.permutation(key, len(labels)).reshape(-1, size)
    return inputs[order], labels[order]


@wrong(rejected_by="the_order_is_that_of_the_epoch", says="A chain of splits leads to the epoch.")
def splits_up_to_the_epoch(key, epoch, inputs, labels, size):
    for _ in range(epoch + 1):
        key, epoch_key = jax.random.split(key)
    order = jax.random.permutation(epoch_key, len(labels)).reshape(-1, size)
    return inputs[order], labels[order]


@wrong(rejected_by="one_order_for_each_epoch", says="The same order is drawn twice, from one key.")
def draws_the_order_twice(key, epoch, inputs, labels, size):
    epoch_key, n = jax.random.fold_in(key, epoch), len(labels)
    orders = [jax.random.permutation(epoch_key, n).reshape(-1, size) for _ in range(2)]
    return inputs[orders[0]], labels[orders[1]]


@wrong(rejected_by="one_batch_and_traced_epochs", says="The epoch must be a Python number.")
def needs_a_python_number(key, epoch, inputs, labels, size):
    order = jax.random.permutation(jax.random.fold_in(key, int(epoch)), len(labels)).reshape(-1, size)
    return inputs[order], labels[order]


@hidden(
    stage="jit",
    idea="A traced epoch, one batch of all rows, and batches of one row.",
    on="a traced epoch, a legacy key, and batches of one row or of all",
)
def one_batch_and_traced_epochs(answer, draw, reference):
    """With a traced epoch, and with batches of one row or of all, the order is that of the epoch."""
    key, data = draw.legacy_key(), (draw.floats(6, 3), jnp.arange(6))
    for size in (1, 6):
        for got, wanted in zip(parts(answer(key, 3, *data, size), 2), reference(key, 3, *data, size), strict=True):
            expect_close(got, wanted)
    traced = answer.vmap(in_axes=(None, 0, None, None, None))(key, jnp.arange(3), *data, 2)
    for epoch in range(3):
        expect_close(parts(traced, 2)[1][epoch], reference(key, epoch, *data, 2)[1], "A traced epoch should do.")


# %% numpy_tour
@answer(
    notice="Between two seedings, each line's numbers depend on all the draws before it.",
    another_way="`np.random.set_state(state)` would bring back any state, not only that of a seed.",
)
def numpy_tour(seed):
    np.random.seed(seed)
    state = np.random.get_state()
    show_state()
    loud_uniform()
    show_state()
    np.random.seed(seed)
    show_state()
    np.random.seed(seed)
    vector = loud_uniform(3)
    np.random.seed(seed)
    singly = np.stack([loud_uniform() for _ in range(3)])
    np.random.seed(seed)
    bar_first = bar() + 2 * baz()
    np.random.seed(seed)
    b = baz()
    return state, vector, singly, bar_first, bar() + 2 * b


def toured(seed, vary=()):
    """Take the tour, with some variations."""
    if "shows before seeding" in vary:
        show_state()
        np.random.seed(seed)
    else:
        np.random.seed(seed)
        show_state()
    state = np.random.get_state()
    if "draws late" not in vary:
        loud_uniform()
    show_state()
    if "draws late" in vary:
        loud_uniform()
    if "reads late" in vary:
        state = np.random.get_state()
    if "seeds once" not in vary:
        np.random.seed(seed)
    show_state()
    np.random.seed(seed)
    if "starts with the second" in vary:
        np.random.uniform()
    vector = loud_uniform(3)
    np.random.seed(seed)
    singly = vector if "no single draws" in vary else np.array([loud_uniform() for _ in range(3)])
    if "goes on with the sum" not in vary:
        np.random.seed(seed)
    bar_first = bar() + 2 * baz()
    np.random.seed(seed)
    if "swaps the terms" in vary:
        return state, vector, singly, bar_first, 2 * baz() * 0 + bar_first + 0 * bar()
    return state, vector, singly, bar_first, 2 * baz() + bar()


@alternative
def a_list_of_results(seed):
    return list(toured(seed))


wrong_value(
    "reads_the_state_late",
    lambda seed: toured(seed, ["reads late"]),
    rejected_by="seeding_sets_the_state",
    says="The state is read after a draw.",
    lacks="S0-25",
)
wrong_value(
    "shows_before_seeding",
    lambda seed: toured(seed, ["shows before seeding"]),
    rejected_by="the_seeded_state_is_shown",
    says="The state is shown before it is set.",
    lacks="S0-26",
)
wrong_value(
    "shows_before_drawing",
    lambda seed: toured(seed, ["draws late"]),
    rejected_by="a_draw_changes_the_state",
    says="The state is shown before the draw.",
    lacks="S0-28",
)
wrong_value(
    "does_not_seed_again",
    lambda seed: toured(seed, ["seeds once"]),
    rejected_by="seeding_again_restores_the_state",
    says="The state is shown a third time without seeding again.",
    lacks="S0-27",
)
wrong_value(
    "draws_a_number_before_the_vector",
    lambda seed: toured(seed, ["starts with the second"]),
    rejected_by="the_vector_comes_from_the_seed",
    says="The vector is not the first draw after seeding.",
    lacks="S0-29",
)
wrong_value(
    "gives_the_vector_twice",
    lambda seed: toured(seed, ["no single draws"]),
    rejected_by="single_draws_are_the_vector",
    says="The vector is returned in place of single draws.",
    lacks="S0-30",
)
wrong_value(
    "goes_on_with_the_sum",
    lambda seed: toured(seed, ["goes on with the sum"]),
    rejected_by="bar_first_is_the_documented_sum",
    says="The first sum is made of the draws after the single ones.",
    lacks="S0-32",
)
wrong_value(
    "swaps_the_terms_on_paper",
    lambda seed: toured(seed, ["swaps the terms"]),
    rejected_by="baz_first_is_another_sum",
    says="The order is believed not to matter: the sum is that of before.",
    lacks="S0-33",
    misses_the_point=True,
)


equivalent("0e1a57779a", because="It has just been seeded.")


@hidden(idea="Other seeds.", on="a random seed")
def any_seed(answer, draw, reference):
    """For any seed, the tour gives the numbers of the seed."""
    seed = draw.integer(1, 10_000)
    got, wanted = parts(answer(seed), 5), reference(seed)
    expect_equal(parts(got[0], 5)[1], wanted[0][1], "The state should be that of the seed.")
    for one, other in zip(got[1:], wanted[1:], strict=True):
        expect_that(np.allclose(np.asarray(one), np.asarray(other)), "The numbers should be those of the seed.", one)


# %% describe_key
@answer(
    notice="The dtype and the shape hide the words. Only `key_data` shows them.",
    another_way="Of a legacy key, the words are the key itself.",
)
def describe_key(key):
    return {
        "dtype": str(key.dtype),
        "shape": key.shape,
        "words": jax.random.key_data(key),
        "implementation": str(jax.random.key_impl(key)),
        "printed": str(key),
    }


@alternative
def catches_what_is_printed(key):
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print(key)
    return {
        "printed": out.getvalue(),
        "implementation": f"{jax.random.key_impl(key)}",
        "words": np.asarray(jax.random.key_data(key)),
        "shape": tuple(key.shape),
        "dtype": f"{key.dtype}",
    }


def described(key, **changes):
    """Describe a key, with some entries changed."""
    return {
        "dtype": str(key.dtype),
        "shape": key.shape,
        "words": jax.random.key_data(key),
        "implementation": str(jax.random.key_impl(key)),
        "printed": str(key),
        **changes,
    }


@wrong(
    rejected_by="prints_as_documented", says="`repr` of a legacy key shows its dtype; `print` does not.", lacks="S0-34"
)
def repr_instead_of_str(key):
    return described(key, printed=repr(key))


@wrong(
    rejected_by="typed_and_legacy_keys_differ_in_type_only",
    says="The shape of the words is taken for the key's.",
    lacks="S0-35",
)
def shape_of_the_words(key):
    return described(key, shape=jax.random.key_data(key).shape)


@wrong(rejected_by="two_words_stand_behind_a_key", says="Only two words are taken, of four.", lacks="S0-36")
def two_words_of_any_key(key):
    return described(key, words=jax.random.key_data(key)[:2])


@wrong(rejected_by="any_key_of_either_kind", says="The key is taken for key 42.", misses_the_point=True)
def knows_key_42(key):
    words = [0, 42, 0, 42][: jax.random.key_data(key).shape[0]]
    return described(key, words=np.array(words, np.uint32))


@hidden(idea="Other keys, typed and legacy.", on="a typed key, and a legacy one")
def any_key_of_either_kind(answer, draw, reference):
    """Any key, typed or legacy, is described."""
    for key in (draw.key(), draw.legacy_key()):
        got, wanted = dict(answer(key)), reference(key)
        printed = got.pop("printed")
        expect_that(isinstance(printed, str), "The text should be a str.", printed, "a str")
        expect_equal(printed.strip(), wanted.pop("printed").strip(), "It should be the text that `print(key)` shows.")
        expect_equal(got, wanted)


# %% use_key_twice
@answer(
    notice="The words are the same after both draws: a key is read, and never changed.",
    another_way="If you want the same numbers twice, draw once and use them twice.",
)
def use_key_twice(key):
    return jax.random.normal(key), jax.random.normal(key), jax.random.key_data(key)


@alternative
@jax.jit
def jitted(key):
    return jax.random.normal(key), jax.random.normal(key), jax.random.key_data(key)


@alternative
def a_draw_of_shape_nothing(key):
    first, second = (jax.random.normal(key, shape=()) for _ in range(2))
    return [first, second, np.asarray(jax.random.key_data(key))]


@wrong(
    rejected_by="both_are_the_number_of_the_key",
    says="The key is split before the second draw.",
    misses_the_point=True,
    lacks="S0-38",
)
def splits_between_the_draws(key):
    first = jax.random.normal(key)
    _, subkey = jax.random.split(key)
    return first, jax.random.normal(subkey), jax.random.key_data(key)


@wrong(rejected_by="one_key_gives_one_number", says="One draw is given two times.", lacks="S0-38")
def one_draw_given_twice(key):
    first = jax.random.normal(key)
    return first, first, jax.random.key_data(key)


@wrong(rejected_by="the_key_is_not_changed", says="A draw is believed to give back a new key.", lacks="S0-37")
def reads_a_new_key(key):
    first, second = jax.random.normal(key), jax.random.normal(key)
    key, _ = jax.random.split(key)
    return first, second, jax.random.key_data(key)


@wrong(rejected_by="both_are_the_number_of_the_key", says="A seed inside is used instead of the argument.")
def makes_its_own_key(key):
    key = jax.random.key(42)
    return jax.random.normal(key), jax.random.normal(key), jax.random.key_data(key)


@hidden(stage="keys", kind="value", idea="Other keys, typed and legacy.", on="a typed key, and a legacy one")
def any_key_of_either_kind(answer, draw, reference):
    """Any key, typed or legacy, gives its own number twice and stays as it was."""
    for key in (draw.key(), draw.legacy_key()):
        expect_close(parts(answer(key), 3), parts(reference(key), 3))


# %% reuse_and_halves
@answer(
    notice="Uniform and normal numbers from one key rise and fall together. Those from two halves do not.",
    another_way="`scipy.stats.spearmanr` compares ranks, and would give 1.0 for the reused key.",
)
def reuse_and_halves(key, n):
    def correlation(a, b):
        return float(np.corrcoef(a, b)[0, 1])

    one, other = jax.random.split(key)
    a, b = jax.random.normal(one, (n,)), jax.random.normal(other, (n,))
    return {
        "reused": correlation(jax.random.uniform(key, (n,)), jax.random.normal(key, (n,))),
        "apart": correlation(jax.random.uniform(one, (n,)), b),
        "means": (a.mean(), b.mean()),
        "spreads": (a.std(), b.std()),
        "halves": correlation(a, b),
    }


def measured_with(key, one, other, n, correlation=lambda a, b: jnp.corrcoef(a, b)[0, 1]):
    """Measure reuse of a key, and two other keys."""
    uniform, normal = jax.random.uniform(key, (n,)), jax.random.normal(key, (n,))
    a, b = jax.random.normal(one, (n,)), jax.random.normal(other, (n,))
    return {
        "halves": jnp.corrcoef(a, b)[0, 1],
        "spreads": [np.std(a), np.std(b)],
        "means": jnp.array([jnp.mean(a), jnp.mean(b)]),
        "apart": correlation(jax.random.uniform(one, (n,)), b),
        "reused": correlation(uniform, normal),
    }


@alternative
def with_jax_and_numpy_scalars(key, n):
    return measured_with(key, *jax.random.split(key), n)


@wrong(
    rejected_by="reuse_shows_and_splitting_cures",
    says="The ranks are compared, and not the numbers.",
    lacks="S0-39",
)
def correlation_of_ranks(key, n):
    def of_ranks(a, b):
        return jnp.corrcoef(jnp.argsort(jnp.argsort(a)), jnp.argsort(jnp.argsort(b)))[0, 1]

    return measured_with(key, *jax.random.split(key), n, of_ranks)


@wrong(
    rejected_by="reuse_shows_and_splitting_cures",
    says="Two keys from two seeds are measured, and not the halves of a split.",
    misses_the_point=True,
)
def keys_from_two_seeds(key, n):
    return measured_with(key, jax.random.key(1), jax.random.key(2), n)


@wrong(rejected_by="both_halves_are_equally_good", says="Uniform numbers are taken from the halves.", lacks="S0-44")
def uniform_numbers_from_the_halves(key, n):
    one, other = jax.random.split(key)
    a, b = jax.random.uniform(one, (n,)), jax.random.uniform(other, (n,))
    got = measured_with(key, one, other, n)
    return {**got, "means": (a.mean(), b.mean()), "spreads": (a.std(), b.std()), "halves": np.corrcoef(a, b)[0, 1]}


equivalent("512cae6349", because="The draws are a vector.")
equivalent("58edf3e4a6", because="The draws are a vector.")


@hidden(idea="A legacy key.", on="a legacy key")
def a_legacy_key_is_measured(answer, draw):
    """A legacy key is measured as a typed one."""
    expect_near(*measured(answer, draw.legacy_key(), 100), ("reused", "apart", "means", "spreads", "halves"))


# %% reuses_a_key
@answer(
    notice="Only `KeyReuseError` means reuse. Any other error says nothing about keys.",
    another_way="`jaxguide.keys.check_keys(function, key)` runs it once, too, and also sees legacy keys.",
)
def reuses_a_key(function, key):
    with jax.debug_key_reuse(True):
        try:
            function(key)
        except jax.errors.KeyReuseError:
            return True
    return False


@alternative
def lets_other_errors_through(function, key):
    with jax.debug_key_reuse(True):
        try:
            jax.block_until_ready(function(key))
        except jax.errors.KeyReuseError:
            return True
        else:
            return False


@wrong(rejected_by="drawing_twice_is_reuse", says="A pure function gives the same result again: that is no reuse.")
def same_result_means_reuse(function, key):
    first, second = function(key), function(key)
    return all(bool(a == b) for a, b in zip(first, second, strict=True))


@wrong(rejected_by="drawing_twice_is_reuse", says="The watcher is off by default.", lacks="S0-40")
def forgets_the_watcher(function, key):
    try:
        function(key)
    except jax.errors.KeyReuseError:
        return True
    return False


@wrong(
    rejected_by="drawing_twice_is_reuse",
    says="Draws of two kinds are never equal, although they share their bits.",
    misses_the_point=True,
)
def looks_for_equal_draws(function, key):
    first, second = function(key)
    return bool(first == second)


@wrong(rejected_by="other_errors_are_no_reuse", says="Any error is taken for a reuse.")
def any_error_is_reuse(function, key):
    with jax.debug_key_reuse(True):
        try:
            function(key)
        except:  # noqa: E722 (the mistake)
            return True
    return False


@wrong(rejected_by="other_reuse_and_other_care", says="The functions of the lesson are known by name.")
def knows_the_functions_by_name(function, key):
    return function.__name__ == "draw_twice"


@wrong(rejected_by="other_reuse_and_other_care", says="A TypeError is taken for a reuse, too.")
def a_type_error_is_reuse(function, key):
    with jax.debug_key_reuse(True):
        try:
            function(key)
        except (jax.errors.KeyReuseError, TypeError):
            return True
    return False


@wrong(
    rejected_by="other_reuse_and_other_care", says="The function is compiled, and its errors of tracing are dropped."
)
def compiles_the_function(function, key):
    with jax.debug_key_reuse(True):
        try:
            jax.jit(function)(key)
        except jax.errors.KeyReuseError:
            return True
        except Exception:
            return False
    return False


@wrong(rejected_by="other_reuse_and_other_care", says="The watcher is switched on for everything that runs meanwhile.")
def watches_everything(function, key):
    jax.config.update("jax_debug_key_reuse", True)
    try:
        function(key)
    except jax.errors.KeyReuseError:
        return True
    finally:
        jax.config.update("jax_debug_key_reuse", False)
    return False


equivalent("19afdd9e42", because="The result is as false as `False`.")
equivalent("4349539e2c", because="The result is as false as `False`.")


@input
def split_and_draw_from_parent(key):
    key_a, _ = jax.random.split(key)
    return jax.random.normal(key_a), jax.random.uniform(key)


@input
def shuffle_then_draw(key):
    return jax.random.permutation(key, 5), jax.random.normal(key)


@input
def fold_then_draw(key):
    return jax.random.normal(jax.random.fold_in(key, 0)), jax.random.uniform(jax.random.fold_in(key, 1))


@input
def decide_then_draw(key):
    return jax.random.normal(key) if float(jax.random.uniform(key)) < 2 else 0.0


@input
def draw_twice_elsewhere(key):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:  # a `with` of the watcher holds in its own thread only
        return pool.submit(lambda: (jax.random.normal(key), jax.random.uniform(key))).result()


@input
def fail_with_a_type_error(key):
    return jax.random.normal(key) + "1"


@hidden(
    idea="A split uses up its key, and so does a shuffle; folding in two numbers does not.",
    on="functions that are not in the lesson: they split, shuffle, decide by a draw, use another thread, fold or fail",
)
def other_reuse_and_other_care(answer, draw):
    """Other reuse is found, and other careful functions are clean."""
    for function in (split_and_draw_from_parent, shuffle_then_draw, decide_then_draw):
        expect_that(caught(answer, given(function), draw.key()), "This function uses its key twice: it should be True.")
    expect_that(not caught(answer, given(fold_then_draw), draw.key()), "This function is careful: it should be False.")
    message = "Another thread draws twice, outside of your `with` block: it should be False."
    expect_that(not caught(answer, given(draw_twice_elsewhere), draw.key()), message)
    seen = answer.observe_error(given(fail_with_a_type_error), draw.key())
    said_true = seen.error is None and bool(np.asarray(seen.value))
    expect_that(not said_true, "This function uses its key once and fails for another reason: it should not be True.")


# %% keep_one_key
@answer(
    notice="All n + 1 keys are new. The old one is used up by the split.",
    another_way="`next_key, *subkeys = jax.random.split(key, n + 1)` gives a list of the n keys.",
)
def keep_one_key(key, n):
    new_keys = jax.random.split(key, n + 1)
    return new_keys[0], new_keys[1:]


@alternative
def unpacks_into_a_list(key, n):
    next_key, *subkeys = jax.random.split(key, num=n + 1)
    return next_key, subkeys


@wrong(rejected_by="the_same_keys_every_time", says="The key is split n times, once for each subkey.", lacks="S0-43")
def splits_n_times(key, n):
    subkeys = []
    for _ in range(n):
        key, subkey = jax.random.split(key)
        subkeys.append(subkey)
    return key, subkeys


@wrong(
    rejected_by="short_form_gives_the_documented_keys", says="The last new key is the one that is kept.", lacks="S0-45"
)
def keeps_the_last_key(key, n):
    new_keys = jax.random.split(key, n + 1)
    return new_keys[-1], new_keys[:-1]


@wrong(rejected_by="forty_two_subkeys", says="The bare words are returned in place of keys.", lacks="S0-46")
def returns_the_words(key, n):
    new_keys = jax.random.key_data(jax.random.split(key, n + 1))
    return new_keys[0], new_keys[1:]


@wrong(
    rejected_by="the_same_keys_every_time",
    says="The old key is kept although it was split.",
    misses_the_point=True,
)
def keeps_the_old_key(key, n):
    return key, jax.random.split(key, n)


@wrong(rejected_by="the_old_key_is_split_once", says="The key is split once for each part.")
def splits_for_each_part(key, n):
    return jax.random.split(key, n + 1)[0], jax.random.split(key, n + 1)[1:]


@hidden(
    idea="Other keys, typed and legacy, with one subkey or more.", on="typed and legacy keys, with one subkey or more"
)
def any_key_of_either_kind(answer, draw, reference):
    """For any key, typed or legacy, the new keys are those of one split."""
    for key in (draw.key(), draw.legacy_key()):
        for n in (1, 4):
            wanted_key, wanted = reference(key, n)
            expect_equal(parts(answer(key, n), 2)[0], wanted_key)
            message = "It should be the keys of one split, in their order."
            expect_equal(new_keys(answer, key, n)[1:], words(wanted), message)
