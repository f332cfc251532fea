# %%
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.course.author import (
    alternative,
    alternative_value,
    answer,
    expect_close,
    expect_different,
    expect_equal,
    expect_that,
    given,
    hidden,
    wrong,
)


def expect_uncorrelated(first, second):
    """Expect two equally long samples without correlation; the bound is 7 standard deviations, chance 3e-12."""
    first, second = (np.asarray(sample, dtype=np.float64).ravel() for sample in (first, second))
    seen = float(np.corrcoef(first, second)[0, 1])
    expect_that(
        abs(seen) < 7 / np.sqrt(first.size), "They should not go together.", f"correlation {seen:.3f}", "near 0"
    )


def expect_normal_distribution(sample):
    """Expect 20000 numbers to be spread as normal numbers are, as finely as float32 can tell them apart."""
    sample = np.asarray(sample, dtype=np.float64).ravel()
    for bound, part in ((0.5, 0.38292), (1.0, 0.68269), (2.0, 0.95450)):
        seen = float((np.abs(sample) < bound).mean())
        # 7 standard deviations: chance 3e-12.
        near = abs(seen - part) < 7 * (part * (1 - part) / sample.size) ** 0.5
        expect_that(near, "The numbers should be normal.", f"{seen:.3f} within {bound}", f"{part:.3f}")
    # 54 of 20000 normal numbers are beyond 3: none by chance exp(-54).
    farthest = float(np.abs(sample).max())
    message = "Of 20000 normal numbers some should be beyond 3."
    expect_that(farthest > 3, message, f"{farthest:.2f} at most", "more than 3")
    # Of float32 numbers about 25 pairs are equal; numbers of 16 bits take a few thousand values in all.
    message = "The numbers should have the precision of float32; many of yours are equal."
    expect_that(
        len(np.unique(sample)) > 0.98 * sample.size, message, f"{len(np.unique(sample))} of 20000", "nearly all"
    )


def expect_different_for_near_keys(answer, draw, *args):
    """Expect other results for two keys that differ in one of their two words only."""
    for (first, second), word in zip(keys_that_share_a_word(draw), ("first", "second"), strict=True):
        message = f"Two keys that differ in their {word} word should give different results; yours are the same."
        expect_different(answer(first, *args), answer(second, *args), message)


# %% numpy_state_after
@answer
def numpy_state_after(seed, draws):
    np.random.seed(seed)
    for _ in range(draws):
        np.random.uniform()
    state = np.random.get_state()
    return state[1], state[2]


@alternative
def one_draw_of_a_vector(seed, draws):
    np.random.seed(seed)
    np.random.uniform(size=draws)
    _, words, position, *_ = np.random.get_state()
    return words, position


@alternative
def read_as_a_dict(seed, draws):
    np.random.seed(seed)
    for _ in range(draws):
        np.random.uniform()
    state = np.random.get_state(legacy=False)["state"]
    return state["key"], state["pos"]


@wrong(rejected_by="seeding_sets_the_state", says="The state is never seeded.")
def forgets_the_seed(seed, draws):
    for _ in range(draws):
        np.random.uniform()
    state = np.random.get_state()
    return state[1], state[2]


@wrong(rejected_by="a_draw_changes_the_state", says="The state is read before the draws.", misses_the_point=True)
def reads_before_drawing(seed, draws):
    np.random.seed(seed)
    state = np.random.get_state()
    for _ in range(draws):
        np.random.uniform()
    return state[1], state[2]


@wrong(rejected_by="any_seed_and_count", says="The seed is always 0.")
def always_seeds_with_zero(seed, draws):
    np.random.seed(0)
    for _ in range(draws):
        np.random.uniform()
    state = np.random.get_state()
    return state[1], state[2]


@hidden(
    idea="Other seeds, and none, one or 700 draws: then the words are renewed.",
    on="a random seed, with none, few or hundreds of draws",
)
def any_seed_and_count(answer, draw, reference):
    """For any seed and number of draws the state is the one that NumPy has."""
    for draws in (0, 1, 5, 700):
        seed = draw.integer(1, 10_000)
        expect_equal(parts(answer(seed, draws), 2), parts(reference(seed, draws), 2))


# %% one_by_one_and_at_once
@answer
def one_by_one_and_at_once(seed, n):
    np.random.seed(seed)
    one_by_one = np.array([np.random.uniform() for _ in range(n)])
    np.random.seed(seed)
    return one_by_one, np.random.uniform(size=n)


@alternative
def fills_an_array(seed, n):
    one_by_one = np.empty(n)
    np.random.seed(seed)
    for i in range(n):
        one_by_one[i] = np.random.rand()
    np.random.seed(seed)
    at_once = np.random.rand(n)
    return one_by_one, at_once


@wrong(rejected_by="the_vector_is_the_documented_one", says="The state is not set again before the vector is drawn.")
def seeds_once(seed, n):
    np.random.seed(seed)
    one_by_one = np.array([np.random.uniform() for _ in range(n)])
    return one_by_one, np.random.uniform(size=n)


@wrong(
    rejected_by="single_draws_differ", says="The state is set again before every single draw.", misses_the_point=True
)
def seeds_before_each_draw(seed, n):
    one_by_one = np.empty(n)
    for i in range(n):
        np.random.seed(seed)
        one_by_one[i] = np.random.uniform()
    np.random.seed(seed)
    return one_by_one, np.random.uniform(size=n)


@wrong(rejected_by="both_ways_agree", says="The single draws go on where the vector ended.")
def goes_on_after_the_vector(seed, n):
    np.random.seed(seed)
    at_once = np.random.uniform(size=n)
    return np.array([np.random.uniform() for _ in range(n)]), at_once


@hidden(idea="Other seeds, and vectors of one number or more.", on="random seeds, and vectors of one or more numbers")
def any_seed_and_size(answer, draw, reference):
    """For any seed and size both ways give NumPy's numbers."""
    for n in (1, 2, 7):
        seed = draw.integer(1, 10_000)
        expect_close(parts(answer(seed, n), 2), parts(reference(seed, n), 2))


# %% predict_same_sum
@answer
def predict_same_sum():
    return False


# %% both_orders
@answer
def both_orders(seed):
    np.random.seed(seed)
    bar_first = bar() + 2 * baz()
    np.random.seed(seed)
    baz_first = 2 * baz() + bar()
    return bar_first, baz_first


@alternative
def names_for_the_draws(seed):
    np.random.seed(seed)
    a = np.random.uniform()
    b = np.random.uniform()
    return a + 2 * b, b + 2 * a


@alternative
def a_vector_of_two_draws(seed):
    np.random.seed(seed)
    u = np.random.uniform(size=2)
    return u @ np.array([1.0, 2.0]), u @ np.array([2.0, 1.0])


@wrong(
    rejected_by="baz_first_is_another_sum",
    says="The terms change places on paper, but `bar` is still called first.",
    misses_the_point=True,
)
def swaps_the_terms_not_the_calls(seed):
    sums = []
    for _ in range(2):
        np.random.seed(seed)
        a = bar()
        b = baz()
        sums.append(2 * b + a)
    return sums[0], sums[1]


@wrong(rejected_by="baz_first_is_another_sum", says="The second sum goes on with the state of the first.")
def seeds_once(seed):
    np.random.seed(seed)
    return bar() + 2 * baz(), 2 * baz() + bar()


@wrong(rejected_by="bar_first_is_the_documented_sum", says="Both calls get the same number.")
def seeds_before_each_call(seed):
    np.random.seed(seed)
    a = bar()
    np.random.seed(seed)
    b = baz()
    return a + 2 * b, b + 2 * a


@wrong(rejected_by="baz_first_is_another_sum", says="The formula is turned round, so another draw counts twice.")
def turns_the_formula_round(seed):
    np.random.seed(seed)
    bar_first = bar() + 2 * baz()
    np.random.seed(seed)
    return bar_first, baz() + 2 * bar()


@hidden(idea="Other seeds.", on="a random seed")
def any_seed(answer, draw, reference):
    """For any seed both sums are the right ones."""
    for _ in range(3):
        seed = draw.integer(1, 10_000)
        got, wanted = (tuple(map(number, parts(one(seed), 2))) for one in (answer, reference))
        expect_that(np.allclose(got, wanted), "The two sums should be those of the seed.", got, wanted)


# %% describe_key
@answer
def describe_key(key):
    return {
        "dtype": str(key.dtype),
        "shape": key.shape,
        "words": jax.random.key_data(key),
        "implementation": str(jax.random.key_impl(key)),
        "printed": str(key),
    }


@alternative
def words_as_a_numpy_array(key):
    return {
        "printed": f"{key}",
        "implementation": f"{jax.random.key_impl(key)}",
        "words": np.asarray(jax.random.key_data(key)),
        "shape": tuple(key.shape),
        "dtype": f"{key.dtype}",
    }


@alternative
def catches_what_is_printed(key):
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print(key)
    return {
        "dtype": str(key.dtype),
        "shape": key.shape,
        "words": jax.random.key_data(key),
        "implementation": str(jax.random.key_impl(key)),
        "printed": out.getvalue(),
    }


@wrong(rejected_by="prints_as_documented", says="`repr` of a legacy key shows its dtype; `print` does not.")
def repr_instead_of_str(key):
    return {
        "dtype": str(key.dtype),
        "shape": key.shape,
        "words": jax.random.key_data(key),
        "implementation": str(jax.random.key_impl(key)),
        "printed": repr(key),
    }


@wrong(rejected_by="typed_and_legacy_keys_differ_in_type_only", says="The shape of the words is taken for the key's.")
def shape_of_the_words(key):
    words = jax.random.key_data(key)
    return {
        "dtype": str(key.dtype),
        "shape": words.shape,
        "words": words,
        "implementation": str(jax.random.key_impl(key)),
        "printed": str(key),
    }


@wrong(rejected_by="prints_as_documented", says="The words are printed instead of the key.")
def prints_the_words(key):
    words = jax.random.key_data(key)
    return {
        "dtype": str(key.dtype),
        "shape": key.shape,
        "words": words,
        "implementation": str(jax.random.key_impl(key)),
        "printed": str(words),
    }


@wrong(
    rejected_by="any_key_of_either_kind",
    says="The words are taken for two zeros and the seed 42.",
    misses_the_point=True,
)
def words_of_key_42(key):
    return {
        "dtype": str(key.dtype),
        "shape": key.shape,
        "words": np.array([0, 42], np.uint32),
        "implementation": str(jax.random.key_impl(key)),
        "printed": str(key),
    }


@hidden(idea="Other keys, typed and legacy.", on="a typed key, and a legacy one")
def any_key_of_either_kind(answer, draw, reference):
    """Any key, typed or legacy, is described."""
    for key in (draw.key(), draw.legacy_key()):
        got, wanted = answer(key), reference(key)
        printed = got.pop("printed")
        expect_that(isinstance(printed, str), "The text should be a str.", printed, "a str")
        expect_equal(printed.strip(), wanted.pop("printed").strip(), "It should be the text that `print(key)` shows.")
        expect_equal(got, wanted)


# %% first_draws
@answer
def first_draws(seed, n):
    np.random.seed(seed)
    from_numpy = np.random.uniform(size=n)
    from_jax = jax.random.uniform(jax.random.key(seed), (n,))
    return from_numpy, from_jax


@alternative
def legacy_key_from_the_seed(seed, n):
    key = jax.random.PRNGKey(seed)
    np.random.seed(seed)
    return np.random.rand(n), jax.random.uniform(key, shape=(n,), minval=0.0, maxval=1.0)


@wrong(rejected_by="the_libraries_disagree", says="NumPy's numbers are put into a JAX array.", misses_the_point=True)
def converts_numpys_numbers(seed, n):
    np.random.seed(seed)
    from_numpy = np.random.uniform(size=n)
    return from_numpy, jnp.asarray(from_numpy)


@wrong(rejected_by="the_seed_decides_both_streams", says="NumPy's generator is not seeded.")
def forgets_to_seed_numpy(seed, n):
    return np.random.uniform(size=n), jax.random.uniform(jax.random.key(seed), (n,))


@wrong(rejected_by="the_seed_decides_both_streams", says="The key is always that of seed 0.")
def fixed_key(seed, n):
    np.random.seed(seed)
    return np.random.uniform(size=n), jax.random.uniform(jax.random.key(0), (n,))


@wrong(rejected_by="both_parts_come_from_the_seed", says="The n numbers come from n keys instead of one draw.")
def one_key_for_each_number(seed, n):
    np.random.seed(seed)
    keys = jax.random.split(jax.random.key(seed), n)
    return np.random.uniform(size=n), jax.vmap(jax.random.uniform)(keys)


@hidden(idea="Other seeds and sizes, a size of one included.", on="random seeds, with one number or more")
def any_seed_and_size(answer, draw, reference):
    """For any seed and size both parts are the right ones."""
    for n in (1, 2, 6):
        seed = draw.integer(1, 10_000)
        expect_close(parts(answer(seed, n), 2), parts(reference(seed, n), 2))


# %% predict_second_draw
@answer
def predict_second_draw():
    return True


# %% use_key_twice
@answer
def use_key_twice(key):
    return jax.random.normal(key), jax.random.normal(key), jax.random.key_data(key)


@alternative
@jax.jit
def jitted(key):
    return jax.random.normal(key), jax.random.normal(key), jax.random.key_data(key)


@alternative
def a_draw_of_shape_nothing(key):
    first, second = (jax.random.normal(key, shape=()) for _ in range(2))
    return first, second, np.asarray(jax.random.key_data(key))


@wrong(rejected_by="one_key_gives_one_number", says="The key is split before the second draw.", misses_the_point=True)
def splits_between_the_draws(key):
    first = jax.random.normal(key)
    _, subkey = jax.random.split(key)
    return first, jax.random.normal(subkey), jax.random.key_data(key)


@wrong(rejected_by="the_key_is_not_changed", says="A draw is believed to give back a new key.")
def reads_a_new_key(key):
    first, second = jax.random.normal(key), jax.random.normal(key)
    key, _ = jax.random.split(key)
    return first, second, jax.random.key_data(key)


@wrong(rejected_by="any_key_of_either_kind", says="A seed inside is used instead of the argument.")
def makes_its_own_key(key):
    key = jax.random.key(42)
    return jax.random.normal(key), jax.random.normal(key), jax.random.key_data(key)


@wrong(rejected_by="both_numbers_are_drawn", says="One draw is given two times.")
def one_draw_given_twice(key):
    first = jax.random.normal(key)
    return first, first, jax.random.key_data(key)


@hidden(stage="keys", idea="Two draws from one key: both read it.", on="a random typed key")
def both_numbers_are_drawn(answer, draw):
    """There are two draws from the key."""
    key = draw.key()
    bits = tuple(np.asarray(jax.random.key_data(key)).tolist())
    draws = sum(use.kind == "draw" and use.bits == bits for use in answer.key_use(key).uses)
    expect_that(draws == 2, "There should be two draws from the key.", f"{draws} draws", "2 draws")


@hidden(idea="Other keys, typed and legacy.", on="a typed key, and a legacy one")
def any_key_of_either_kind(answer, draw, reference):
    """Any key, typed or legacy, gives its own number twice and stays as it was."""
    for key in (draw.key(), draw.legacy_key()):
        expect_close(parts(answer(key), 3), parts(reference(key), 3))


# %% reuse_correlation
@answer
def reuse_correlation(key, n):
    def correlation(key_u, key_z):
        return float(np.corrcoef(jax.random.uniform(key_u, (n,)), jax.random.normal(key_z, (n,)))[0, 1])

    return correlation(key, key), correlation(*jax.random.split(key))


@alternative
def folded_keys_and_jnp(key, n):
    reused = jnp.corrcoef(jax.random.uniform(key, (n,)), jax.random.normal(key, (n,)))[0, 1]
    key_u, key_z = jax.random.fold_in(key, 10), jax.random.fold_in(key, 20)
    apart = jnp.corrcoef(jax.random.uniform(key_u, (n,)), jax.random.normal(key_z, (n,)))[0, 1]
    return reused, apart


@alternative
def by_hand(key, n):
    def correlation(u, z):
        u, z = u - u.mean(), z - z.mean()
        return (u * z).sum() / jnp.sqrt((u * u).sum() * (z * z).sum())

    keys = jax.random.split(key, 3)
    draws = jax.random.uniform(keys[1], (n,)), jax.random.normal(keys[2], (n,))
    return correlation(jax.random.uniform(key, (n,)), jax.random.normal(key, (n,))), correlation(*draws)


@wrong(rejected_by="apart_is_near_zero", says="The draws for `apart` share a key too: another key, but one.")
def one_new_key_for_both(key, n):
    def correlation(key_u, key_z):
        return float(np.corrcoef(jax.random.uniform(key_u, (n,)), jax.random.normal(key_z, (n,)))[0, 1])

    new_key, _ = jax.random.split(key)
    return correlation(key, key), correlation(new_key, new_key)


@wrong(
    rejected_by="reused_is_the_correlation_from_one_key",
    says="Two keys are used in both measurements.",
    misses_the_point=True,
)
def never_reuses(key, n):
    def correlation(key_u, key_z):
        return float(np.corrcoef(jax.random.uniform(key_u, (n,)), jax.random.normal(key_z, (n,)))[0, 1])

    a, b, c, d = jax.random.split(key, 4)
    return correlation(a, b), correlation(c, d)


@wrong(rejected_by="reused_is_the_correlation_from_one_key", says="The covariance is taken for the correlation.")
def covariance_for_correlation(key, n):
    def covariance(key_u, key_z):
        return float(np.cov(jax.random.uniform(key_u, (n,)), jax.random.normal(key_z, (n,)))[0, 1])

    return covariance(key, key), covariance(*jax.random.split(key))


@wrong(rejected_by="apart_draws_from_two_new_keys", says="`apart` uses the old key and its child.")
def parent_and_child(key, n):
    def correlation(key_u, key_z):
        return float(np.corrcoef(jax.random.uniform(key_u, (n,)), jax.random.normal(key_z, (n,)))[0, 1])

    _, child = jax.random.split(key)
    return correlation(key, key), correlation(key, child)


@wrong(rejected_by="apart_is_near_zero", says="What should come out is written down instead of measured.")
def zero_without_measuring(key, n):
    return float(np.corrcoef(jax.random.uniform(key, (n,)), jax.random.normal(key, (n,)))[0, 1]), 0.0


@wrong(rejected_by="apart_is_near_zero", says="The keys for `apart` come from a seed, not from `key`.")
def a_fixed_seed_for_apart(key, n):
    def correlation(key_u, key_z):
        return float(np.corrcoef(jax.random.uniform(key_u, (n,)), jax.random.normal(key_z, (n,)))[0, 1])

    return correlation(key, key), correlation(*jax.random.split(jax.random.key(0)))


@wrong(rejected_by="apart_draws_from_two_new_keys", says="One new key and one from a seed.")
def one_key_from_a_seed(key, n):
    def correlation(key_u, key_z):
        return float(np.corrcoef(jax.random.uniform(key_u, (n,)), jax.random.normal(key_z, (n,)))[0, 1])

    return correlation(key, key), correlation(key, jax.random.key(0))


@wrong(rejected_by="apart_draws_from_two_new_keys", says="Two normal draws are compared for `apart`.")
def normal_with_normal(key, n):
    key_a, key_b = jax.random.split(key)
    a, b = jax.random.normal(key_a, (n,)), jax.random.normal(key_b, (n,))
    reused = np.corrcoef(jax.random.uniform(key, (n,)), jax.random.normal(key, (n,)))[0, 1]
    return float(reused), float(np.corrcoef(a, b)[0, 1])


@wrong(rejected_by="apart_has_the_spread_of_chance", says="The covariance is taken for `apart`.")
def covariance_for_apart(key, n):
    reused = np.corrcoef(jax.random.uniform(key, (n,)), jax.random.normal(key, (n,)))[0, 1]
    key_u, key_z = jax.random.split(key)
    return reused, np.cov(jax.random.uniform(key_u, (n,)), jax.random.normal(key_z, (n,)))[0, 1]


@hidden(
    idea="`apart` is a correlation: near zero, and by chance another number for each key.",
    on="many keys, with some dozens of draws each",
)
def apart_has_the_spread_of_chance(answer, draw):
    """Over 80 keys, `apart` is another number each time, and as far from zero as chance alone makes it."""
    apart = np.asarray([number(parts(answer(draw.key(), 50), 2)[1]) for _ in range(80)])
    expect_that(
        len(set(apart.tolist())) > 70, "`apart` should be another number for each key.", apart[:3], "different numbers"
    )
    # 49 * sum(apart**2) is chi-squared with 80 degrees: below 24 by chance 2e-10, above 190 by chance 6e-11.
    spread = 49 * float((apart**2).sum())
    expect_that(
        24 < spread < 190,
        "`apart` should be as far from zero as a correlation of 50 draws is.",
        f"{spread / 80:.3f}",
        "near 1",
    )


@hidden(idea="Other keys, typed and legacy, and more draws.", on="typed and legacy keys, with thousands of draws")
def any_key_of_either_kind(answer, draw, reference):
    """For any key, typed or legacy, `reused` is right and `apart` is near zero."""
    for key in (draw.key(), draw.legacy_key()):
        reused, apart = map(number, parts(answer(key, 3000), 2))
        expected = number(reference(key, 3000)[0])
        expect_that(
            abs(reused - expected) < 1e-3,
            "`reused` should be the correlation of the two draws from the key.",
            reused,
            expected,
        )
        # 3000 independent pairs: standard deviation 0.018, so 0.13 is 7 of them.
        expect_that(abs(apart) < 0.13, "`apart` should be near zero.", apart, "near 0")


# %% reuses_a_key
@answer
def reuses_a_key(function, key):
    with jax.debug_key_reuse(True):
        try:
            function(key)
        except jax.errors.KeyReuseError:
            return True
    return False


@alternative
def looks_at_the_error_later(function, key):
    found = None
    try:
        with jax.debug_key_reuse(True):
            function(key)
    except Exception as error:
        found = error
    return isinstance(found, jax.errors.KeyReuseError)


@wrong(rejected_by="splitting_first_is_no_reuse", says="A pure function gives the same result again: that is no reuse.")
def same_result_means_reuse(function, key):
    first, second = function(key), function(key)
    return all(bool(a == b) for a, b in zip(first, second, strict=True))


@wrong(rejected_by="drawing_twice_is_reuse", says="The watcher is off by default.")
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


@alternative
def lets_other_errors_through(function, key):
    with jax.debug_key_reuse(True):
        try:
            jax.block_until_ready(function(key))
        except jax.errors.KeyReuseError:
            return True
        else:
            return False


@wrong(rejected_by="other_errors_are_no_reuse", says="Any error is taken for a reuse.")
def any_error_is_reuse(function, key):
    with jax.debug_key_reuse(True):
        try:
            function(key)
        except:  # noqa: E722 (the mistake)
            return True
    return False


@wrong(rejected_by="other_errors_are_no_reuse", says="A TypeError is taken for a reuse too.")
def a_type_error_is_reuse(function, key):
    with jax.debug_key_reuse(True):
        try:
            function(key)
        except (jax.errors.KeyReuseError, TypeError):
            return True
    return False


@wrong(rejected_by="other_errors_are_no_reuse", says="One clean function is known by name; all others count as reuse.")
def knows_the_clean_function_by_name(function, key):
    return function.__name__ != "split_then_draw"


@wrong(rejected_by="drawing_from_a_split_key_is_reuse", says="Only draws are counted; a split uses up its key too.")
def counts_the_draws_only(function, key):
    return function.__name__ == "draw_twice"


@hidden(
    idea="A split uses up its key: drawing from it afterwards is reuse.",
    on="a function that splits a key, then draws from it",
)
def drawing_from_a_split_key_is_reuse(answer, draw):
    """Splitting a key and then drawing from it is found."""
    got = answer(given("split_and_draw_from_parent"), draw.key())
    expect_that(
        bool(got), "`split_and_draw_from_parent` draws from a key that was split, so it should be True.", got, "True"
    )


@hidden(idea="Not only the samplers of numbers use up a key.", on="a function that shuffles and draws with one key")
def shuffling_uses_up_a_key(answer, draw):
    """Shuffling with a key and then drawing from it is found."""
    got = answer(given("shuffle_then_draw"), draw.key())
    expect_that(bool(got), "`shuffle_then_draw` uses its key twice, so it should be True.", got, "True")


# %% draws_in_a_row
@answer
def draws_in_a_row(key, n):
    draws = []
    for _ in range(n):
        key, subkey = jax.random.split(key)
        draws.append(jax.random.normal(subkey))
    return jnp.stack(draws)


@alternative
def with_scan(key, n):
    def step(key, _):
        key, subkey = jax.random.split(key)
        return key, jax.random.normal(subkey)

    return jax.lax.scan(step, key, length=n)[1]


@alternative
def with_del(key, n):
    draws = np.zeros(n, np.float32)
    for i in range(n):
        new_key, subkey = jax.random.split(key)
        del key
        draws[i] = jax.random.normal(subkey).item()
        del subkey
        key = new_key  # noqa: F841 (the next round uses it)
    return draws


@alternative
@partial(jax.jit, static_argnums=1)
def compiled_for_each_n(key, n):
    draws = []
    for _ in range(n):
        key, subkey = jax.random.split(key)
        draws.append(jax.random.normal(subkey))
    return jnp.array(draws)


@wrong(rejected_by="every_draw_is_new", says="The new key never takes the place of the old one.", misses_the_point=True)
def the_key_does_not_move_on(key, n):
    draws = []
    for _ in range(n):
        _new_key, subkey = jax.random.split(key)
        draws.append(jax.random.normal(subkey))
    return jnp.stack(draws)


@wrong(rejected_by="three_draws_are_the_documented_ones", says="The first new key is used up and the second goes on.")
def swaps_the_new_keys(key, n):
    draws = []
    for _ in range(n):
        subkey, key = jax.random.split(key)
        draws.append(jax.random.normal(subkey))
    return jnp.stack(draws)


@wrong(
    rejected_by="three_draws_are_the_documented_ones", says="One split makes all keys; the contract asks for a chain."
)
def one_split_for_all(key, n):
    return jax.vmap(jax.random.normal)(jax.random.split(key, n))


@wrong(rejected_by="three_draws_are_the_documented_ones", says="The draw uses the key that goes on.")
def draws_from_the_key_that_goes_on(key, n):
    draws = []
    for _ in range(n):
        draws.append(jax.random.normal(key))
        key, _ = jax.random.split(key)
    return jnp.stack(draws)


@hidden(idea="Other keys, typed and legacy, and one draw or more.", on="typed and legacy keys, with one draw or more")
def any_key_and_count(answer, draw, reference):
    """For any key, typed or legacy, and any n the draws are the right ones."""
    for key in (draw.key(), draw.legacy_key()):
        for n in (1, 4):
            expect_close(answer(key, n), reference(key, n))


# %% keep_one_key
@answer
def keep_one_key(key, n):
    new_keys = jax.random.split(key, n + 1)
    return new_keys[0], new_keys[1:]


@alternative
def unpacks_into_a_list(key, n):
    next_key, *subkeys = jax.random.split(key, num=n + 1)
    return next_key, subkeys


alternative_value(
    "compiled_lambda",
    jax.jit(lambda key, n: (lambda keys: (keys[0], keys[1:]))(jax.random.split(key, n + 1)), static_argnums=1),
)


@wrong(
    rejected_by="all_keys_are_new_and_different",
    says="The old key is kept although it was split.",
    misses_the_point=True,
)
def keeps_the_old_key(key, n):
    return key, jax.random.split(key, n)


@wrong(rejected_by="one_key_and_n_keys", says="The key to keep is not counted.")
def n_keys_in_all(key, n):
    new_keys = jax.random.split(key, n)
    return new_keys[0], new_keys[1:]


@wrong(rejected_by="all_keys_are_new_and_different", says="One subkey is handed out n times.")
def the_same_subkey_n_times(key, n):
    next_key, subkey = jax.random.split(key)
    return next_key, [subkey] * n


@wrong(rejected_by="the_old_key_is_split_once", says="The key is split once for each part.")
def splits_for_each_part(key, n):
    return jax.random.split(key, n + 1)[0], jax.random.split(key, n + 1)[1:]


@wrong(rejected_by="short_form_gives_the_documented_keys", says="fold_in and split agree under today's default only.")
def folds_instead_of_splitting(key, n):
    return jax.random.fold_in(key, 0), jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(1, n + 1))


@hidden(
    idea="Other keys, typed and legacy, with one subkey or more.", on="typed and legacy keys, with one subkey or more"
)
def any_key_of_either_kind(answer, draw, reference):
    """For any key, typed or legacy, the new keys are those of one split."""
    for key in (draw.key(), draw.legacy_key()):
        for n in (1, 4):
            (next_key, subkeys), (wanted_key, wanted) = parts(answer(key, n), 2), reference(key, n)
            expect_equal(next_key, wanted_key)
            same = np.array_equal(words(subkeys), words(wanted))
            expect_that(same, "It should be the other keys of one split.", subkeys, wanted)


# %% individually_and_at_once
@answer
def individually_and_at_once(key, n):
    subkeys = jax.random.split(key, n)
    return jnp.stack([jax.random.normal(subkey) for subkey in subkeys]), jax.random.normal(key, (n,))


@alternative
def vectorised(key, n):
    return jax.vmap(jax.random.normal)(jax.random.split(key, n)), jax.random.normal(key, shape=(n,))


@alternative
@partial(jax.jit, static_argnames="n")
def compiled_for_each_n(key, n):
    return jax.lax.map(jax.random.normal, jax.random.split(key, n)), jax.random.normal(key, (n,))


@wrong(rejected_by="the_two_ways_differ", says="Sequential equivalence, as in NumPy, is taken for granted.")
def believes_in_sequential_equivalence(key, n):
    at_once = jax.random.normal(key, (n,))
    return at_once, at_once


@wrong(rejected_by="the_two_ways_differ", says="Each single draw uses the same key.", misses_the_point=True)
def one_key_for_all_single_draws(key, n):
    return jnp.stack([jax.random.normal(key) for _ in range(n)]), jax.random.normal(key, (n,))


@wrong(
    rejected_by="both_ways_are_the_documented_ones", says="The keys come from a chain of splits, not from one split."
)
def a_chain_of_splits(key, n):
    draws, carried = [], key
    for _ in range(n):
        carried, subkey = jax.random.split(carried)
        draws.append(jax.random.normal(subkey))
    return jnp.stack(draws), jax.random.normal(key, (n,))


@hidden(
    idea="Other keys, typed and legacy, and one number or more.", on="typed and legacy keys, with one number or more"
)
def any_key_and_size(answer, draw, reference):
    """For any key, typed or legacy, and any n both vectors are the right ones."""
    for key in (draw.key(), draw.legacy_key()):
        for n in (1, 4):
            expect_close(parts(answer(key, n), 2), parts(reference(key, n), 2))


# %% predict_shape
@answer
def predict_shape():
    return (3, 2)


# %% draw_per_key
@answer
def draw_per_key(keys):
    return jax.vmap(jax.random.normal)(keys)


alternative_value("made_by_vmap", jax.vmap(jax.random.normal))
alternative_value("made_by_partial", partial(jax.lax.map, jax.random.normal))
alternative_value("written_as_lambda", lambda keys: jax.jit(jax.vmap(lambda key: jax.random.normal(key, ())))(keys))


@alternative
@jax.jit
def scanned_over_the_keys(keys):
    return jax.lax.scan(lambda carry, key: (carry, jax.random.normal(key)), None, keys)[1]


@wrong(rejected_by="numbers_are_those_of_the_loop", says="Only the first key is used.")
def the_first_key_for_all(keys):
    return jax.random.normal(keys[0], (len(keys),))


@wrong(rejected_by="numbers_are_those_of_the_loop", says="Each key is split once more before its draw.")
def splits_each_key_again(keys):
    return jax.vmap(lambda key: jax.random.normal(jax.random.split(key)[1]))(keys)


@wrong(
    rejected_by="the_program_does_not_grow_with_the_keys",
    says="A Python loop writes one draw for each key.",
    misses_the_point=True,
)
def a_python_loop(keys):
    return jnp.stack([jax.random.normal(keys[i]) for i in range(len(keys))])


@hidden(idea="One key or more, typed and legacy.", on="batches of one and of several keys, typed and legacy")
def any_keys_of_either_kind(answer, draw, reference):
    """For any keys, typed or legacy, the numbers are the right ones."""
    for keys in (draw.keys(1), draw.keys(6), jax.random.key_data(draw.keys(5))):
        expect_close(answer(keys), reference(keys))


# %% predict_prefix
@answer
def predict_prefix():
    return True


# %% two_samples
@answer
def two_samples(key, n, m):
    key_a, key_b = jax.random.split(key)
    return jax.random.normal(key_a, (n,)), jax.random.normal(key_b, (m,))


@alternative
def a_third_key_is_left_over(key, n, m):
    key, subkey = jax.random.split(key)
    a = jax.random.normal(subkey, (n,))
    key, subkey = jax.random.split(key)
    return a, jax.random.normal(subkey, (m,))


@alternative
def folded_numbers(key, n, m):
    return jax.random.normal(jax.random.fold_in(key, 0), (n,)), jax.random.normal(jax.random.fold_in(key, 1), (m,))


@alternative
def one_draw_cut_in_two(key, n, m):
    both = jax.random.normal(key, (n + m,))
    return both[:n], both[n:]


@alternative
@partial(jax.jit, static_argnums=(1, 2))
def compiled_for_each_size(key, n, m):
    keys = jax.random.split(key, 3)
    return jax.random.normal(keys[2], (n,)), jax.random.normal(keys[0], (m,))


@wrong(
    rejected_by="neither_sample_begins_with_the_other",
    says="Both samples come from the key itself.",
    misses_the_point=True,
)
def one_key_for_both(key, n, m):
    return jax.random.normal(key, (n,)), jax.random.normal(key, (m,))


@wrong(
    rejected_by="each_key_is_used_once",
    says="One sample comes from the old key, the other from its child.",
    misses_the_point=True,
)
def parent_and_child(key, n, m):
    child, _ = jax.random.split(key)
    return jax.random.normal(key, (n,)), jax.random.normal(child, (m,))


@wrong(rejected_by="other_key_other_samples", says="A seed inside the function gives the same numbers for ever.")
def a_fixed_seed_inside(key, n, m):
    key_a, key_b = jax.random.split(jax.random.key(0))
    return jax.random.normal(key_a, (n,)), jax.random.normal(key_b, (m,))


@wrong(rejected_by="samples_of_equal_size_differ", says="The size is folded in: equal sizes make equal keys.")
def keys_made_from_the_sizes(key, n, m):
    return jax.random.normal(jax.random.fold_in(key, n), (n,)), jax.random.normal(jax.random.fold_in(key, m), (m,))


@wrong(rejected_by="same_key_same_samples", says="NumPy's hidden state is used, and the key is not.")
def numpys_hidden_state(key, n, m):
    return np.random.normal(size=n).astype(np.float32), np.random.normal(size=m).astype(np.float32)


@wrong(rejected_by="no_number_is_in_both", says="One draw is cut in two parts that overlap by one number.")
def overlapping_parts_of_one_draw(key, n, m):
    both = jax.random.normal(key, (n + m - 1,))
    return both[:n], both[n - 1 :]


@wrong(rejected_by="no_number_is_in_both", says="The sizes are folded in, and n = m + 1 makes equal keys.")
def keys_made_from_neighbouring_sizes(key, n, m):
    return jax.random.normal(jax.random.fold_in(key, n), (n,)), jax.random.normal(jax.random.fold_in(key, m + 1), (m,))


@wrong(rejected_by="each_key_is_used_once", says="New keys are made from one key with split and with fold_in.")
def split_and_fold(key, n, m):
    return jax.random.normal(jax.random.split(key)[0], (n,)), jax.random.normal(jax.random.fold_in(key, 5), (m,))


@wrong(rejected_by="both_look_standard_normal", says="The second sample is the first with the other sign.")
def mirrored_sample(key, n, m):
    sample = jax.random.normal(key, (max(n, m),))
    return sample[:n], -sample[:m]


@wrong(rejected_by="samples_look_standard_normal", says="Uniform numbers are drawn.")
def uniform_for_normal(key, n, m):
    key_a, key_b = jax.random.split(key)
    return jax.random.uniform(key_a, (n,)), jax.random.uniform(key_b, (m,))


@alternative
def two_halves_of_two_splits(key, n, m):
    return jax.random.normal(jax.random.split(key)[0], (n,)), jax.random.normal(jax.random.split(key)[1], (m,))


@wrong(rejected_by="both_are_spread_as_normal_numbers", says="Uniform numbers with mean 0 and standard deviation 1.")
def uniform_of_unit_spread(key, n, m):
    key_a, key_b = jax.random.split(key)
    edge = 3**0.5
    sizes = ((key_a, n), (key_b, m))
    return tuple(jax.random.uniform(k, (size,), minval=-edge, maxval=edge) for k, size in sizes)


@wrong(rejected_by="both_are_spread_as_normal_numbers", says="The numbers are drawn with 16 bits.")
def drawn_in_half_precision(key, n, m):
    key_a, key_b = jax.random.split(key)
    draws = (jax.random.normal(k, (size,), jnp.float16) for k, size in ((key_a, n), (key_b, m)))
    return tuple(one.astype(jnp.float32) for one in draws)


@wrong(rejected_by="near_keys_have_other_samples", says="Only the second word of the key is used.")
def uses_one_word_of_the_key(key, n, m):
    words = jax.random.key_data(key)
    key_a, key_b = jax.random.split(jax.random.key(words[1]))
    return jax.random.normal(key_a, (n,)), jax.random.normal(key_b, (m,))


@hidden(
    kind="relation",
    required=True,
    idea="Two keys that differ in one of their two words only.",
    on="two keys that differ in one word only",
)
def near_keys_have_other_samples(answer, draw):
    """Two keys that share a word give different samples."""
    expect_different_for_near_keys(answer, draw, 3, 5)


@hidden(
    kind="relation", idea="Large samples: their numbers are spread as normal numbers are.", on="two very large samples"
)
def both_are_spread_as_normal_numbers(answer, draw):
    """In samples of 20000 numbers the right parts are near zero and far from it."""
    for part in parts(answer(draw.key(), 20_000, 20_000), 2):
        expect_normal_distribution(part)


@hidden(idea="Samples of one number.", on="two samples of one number each")
def samples_of_one_number(answer, draw):
    """Samples of one number have the shape (1,)."""
    for part in parts(answer(draw.key(), 1, 1), 2):
        expect_that(part.shape == (1,), "The shape should be (1,).", str(part.shape), "(1,)")


@hidden(
    kind="relation",
    idea="Large samples of one size, from typed and legacy keys.",
    on="typed and legacy keys, and large samples of one size",
)
def both_look_standard_normal(answer, draw):
    """Large samples have mean 0 and standard deviation 1, and do not go together."""
    for key in (draw.key(), draw.legacy_key()):
        a, b = parts(answer(key, 3000, 3000), 2)
        expect_standard_normal(a)
        expect_standard_normal(b)
        expect_uncorrelated(a, b)


# %% random_walk
@answer
def random_walk(key, step_sizes):
    def step(carry, size):
        position, key = carry
        key, subkey = jax.random.split(key)
        position = position + size * jax.random.normal(subkey)
        return (position, key), position

    _, path = jax.lax.scan(step, (jnp.float32(0), key), step_sizes)
    return path


@alternative
def one_key_for_each_round(key, step_sizes):
    def step(position, inputs):
        size, key = inputs
        position = position + size * jax.random.normal(key)
        return position, position

    keys = jax.random.split(key, len(step_sizes))
    return jax.lax.scan(step, 0.0, (step_sizes, keys))[1]


@alternative
@jax.jit
def folds_in_the_round(key, step_sizes):
    def step(position, inputs):
        size, i = inputs
        position = position + size * jax.random.normal(jax.random.fold_in(key, i))
        return position, position

    return jax.lax.scan(step, 0.0, (step_sizes, jnp.arange(len(step_sizes))))[1]


@alternative
def one_draw_and_a_sum(key, step_sizes):
    return jnp.cumsum(step_sizes * jax.random.normal(key, step_sizes.shape))


alternative_value(
    "written_as_lambda",
    lambda key, step_sizes: jnp.cumsum(
        jax.vmap(jax.random.normal)(jax.random.split(key, step_sizes.shape[0])) * step_sizes
    ),
)


@wrong(
    rejected_by="every_step_is_new",
    says="The carry holds the key, but the old one is handed on.",
    misses_the_point=True,
)
@jax.jit
def hands_on_the_old_key(key, step_sizes):
    def step(carry, size):
        position, key = carry
        _, subkey = jax.random.split(key)
        position = position + size * jax.random.normal(subkey)
        return (position, key), position

    return jax.lax.scan(step, (jnp.float32(0), key), step_sizes)[1]


@wrong(rejected_by="no_key_serves_two_rounds", says="The carried key is drawn from and then split.")
@jax.jit
def draws_from_the_carried_key(key, step_sizes):
    def step(carry, size):
        position, key = carry
        position = position + size * jax.random.normal(key)
        key, _ = jax.random.split(key)
        return (position, key), position

    return jax.lax.scan(step, (jnp.float32(0), key), step_sizes)[1]


@wrong(rejected_by="steps_add_up", says="The steps are returned, not the positions.")
def steps_are_not_added_up(key, step_sizes):
    return step_sizes * jax.vmap(jax.random.normal)(jax.random.split(key, len(step_sizes)))


@wrong(rejected_by="same_key_same_walk_other_key_other_walk", says="The walk starts from a seed inside the function.")
def a_fixed_seed_inside(key, step_sizes):
    return jnp.cumsum(step_sizes * jax.random.normal(jax.random.key(0), step_sizes.shape))


@wrong(rejected_by="the_program_does_not_grow_with_the_steps", says="A Python loop writes out every round.")
def a_python_loop(key, step_sizes):
    position, path = jnp.float32(0), []
    for size in step_sizes:
        key, subkey = jax.random.split(key)
        position = position + size * jax.random.normal(subkey)
        path.append(position)
    return jnp.stack(path)


@wrong(rejected_by="near_keys_have_other_walks", says="Only the first word of the key is used.")
def uses_one_word_of_the_key(key, step_sizes):
    seed = jax.random.key_data(key)[0]
    return jnp.cumsum(step_sizes * jax.random.normal(jax.random.key(seed), step_sizes.shape))


@hidden(
    kind="relation",
    required=True,
    idea="Two keys that differ in one of their two words only.",
    on="two keys that differ in one word only",
)
def near_keys_have_other_walks(answer, draw):
    """Two keys that share a word give different walks."""
    expect_different_for_near_keys(answer, draw, jnp.ones(4))


@wrong(rejected_by="steps_of_size_zero", says="The sizes are divided by their sum, and multiplied again.")
def divides_by_the_sum(key, step_sizes):
    total = step_sizes.sum()
    return jnp.cumsum(step_sizes / total * jax.random.normal(key, step_sizes.shape)) * total


@hidden(idea="Steps of size 0, and a walk of one step.")
def steps_of_size_zero(answer, draw):
    """Steps of size 0 leave the position, and a walk may have one step."""
    expect_close(
        answer(draw.key(), jnp.zeros(3)),
        jnp.zeros(3),
        "With steps of size 0 the walk should stay at 0.",
        on="steps of size 0",
    )
    got = answer(draw.key(), jnp.ones(1))
    expect_that(
        got.shape == (1,),
        "A walk of one step should have one position.",
        str(got.shape),
        "(1,)",
        on="a walk of one step",
    )


@hidden(
    kind="relation",
    idea="A walk of 2000 steps, from a typed and a legacy key.",
    on="long walks, from a typed and a legacy key",
)
def noise_is_standard_normal(answer, draw):
    """The normal numbers have mean 0 and standard deviation 1, and a step says nothing of the next."""
    for key in (draw.key(), draw.legacy_key()):
        # The steps are told apart from positions of float32 that grow to about 100: exact to 1e-5.
        path = np.asarray(answer(key, jnp.ones(2000)), dtype=np.float64)
        noise = np.diff(path, prepend=0.0)
        expect_standard_normal(noise)
        # 2000 distances, each above 8.5 standard deviations by chance 2e-17 (somewhat more for products of normals).
        message = "The normal numbers should be independent; yours repeat themselves, perhaps with the other sign."
        expect_that(strongest_echo(noise[None]) < 8.5, message, "an echo", "independent numbers")
        # None of 2000 normal numbers is farther than 2.5 from zero: chance 0.98758**2000 = 1.4e-11.
        message = "Of 2000 normal numbers some should be far from zero."
        expect_that(bool((np.abs(noise) > 2.5).any()), message, f"at most {np.abs(noise).max():.2f}", "some above 2.5")


@wrong(rejected_by="numbers_behind_the_walk_are_standard_normal", says="Uniform numbers are drawn.")
def uniform_for_normal(key, step_sizes):
    return jnp.cumsum(step_sizes * jax.random.uniform(key, step_sizes.shape))


@wrong(rejected_by="noise_is_standard_normal", says="Uniform numbers with mean 0 and standard deviation 1 are drawn.")
def uniform_of_unit_spread(key, step_sizes):
    edge = 3**0.5
    return jnp.cumsum(step_sizes * jax.random.uniform(key, step_sizes.shape, minval=-edge, maxval=edge))


@wrong(rejected_by="noise_is_standard_normal", says="The second half of the noise is minus the first half.")
def second_half_is_minus_the_first(key, step_sizes):
    half = jax.random.normal(key, ((len(step_sizes) + 1) // 2,))
    return jnp.cumsum(step_sizes * jnp.concatenate([half, -half])[: len(step_sizes)])


@alternative
@jax.jit
def indexes_in_a_fori_loop(key, step_sizes):
    def body(i, carry):
        key, path, position = carry
        key, subkey = jax.random.split(key)
        position = position + step_sizes[i] * jax.random.normal(subkey)
        return key, path.at[i].set(position), position

    n = step_sizes.shape[0]
    return jax.lax.fori_loop(0, n, body, (key, jnp.zeros(n), jnp.float32(0)))[1]


# %% init_layers
@answer
def init_layers(key, shapes):
    keys = jax.random.split(key, len(shapes))
    return {
        name: jax.random.normal(layer_key, shape) / jnp.sqrt(shape[0])
        for layer_key, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


@alternative
def splits_for_each_layer(key, shapes):
    layers = {}
    for name, (rows, columns) in shapes.items():
        key, subkey = jax.random.split(key)
        layers[name] = jax.random.normal(subkey, (rows, columns)) * rows**-0.5
    return layers


@alternative
def folds_in_the_place_of_the_layer(key, shapes):
    layers = {}
    for i, name in enumerate(shapes):
        init = jax.nn.initializers.normal(1 / np.sqrt(shapes[name][0]))
        layers[name] = init(jax.random.fold_in(key, i), shapes[name], jnp.float32)
    return layers


alternative_value(
    "written_as_lambda",
    lambda key, shapes: {
        name: jax.random.normal(k, shape) / shape[0] ** 0.5
        for (name, shape), k in zip(shapes.items(), jax.random.split(key, len(shapes)), strict=True)
    },
)


@wrong(
    rejected_by="layers_of_other_shape_are_unrelated",
    says="All layers come from the key itself.",
    misses_the_point=True,
)
def one_key_for_all_layers(key, shapes):
    return {name: jax.random.normal(key, shape) / jnp.sqrt(shape[0]) for name, shape in shapes.items()}


@wrong(rejected_by="layers_of_equal_shape_differ", says="The size is folded in: layers of one shape get one key.")
def keys_made_from_the_shapes(key, shapes):
    return {
        name: jax.random.normal(jax.random.fold_in(key, rows * 1000 + columns), (rows, columns)) / jnp.sqrt(rows)
        for name, (rows, columns) in shapes.items()
    }


@wrong(rejected_by="each_layer_has_its_own_key", says="The layer is drawn from the key that is split afterwards.")
def draws_from_the_key_and_splits_it(key, shapes):
    layers = {}
    for name, shape in shapes.items():
        layers[name] = jax.random.normal(key, shape) / jnp.sqrt(shape[0])
        key, _ = jax.random.split(key)
    return layers


@wrong(rejected_by="values_spread_as_they_should", says="The values are not scaled.")
def no_scaling(key, shapes):
    keys = jax.random.split(key, len(shapes))
    return {name: jax.random.normal(k, shape) for k, (name, shape) in zip(keys, shapes.items(), strict=True)}


@wrong(rejected_by="values_spread_as_they_should", says="The values are scaled by the columns.")
def scaled_by_the_columns(key, shapes):
    keys = jax.random.split(key, len(shapes))
    return {
        name: jax.random.normal(k, shape) / jnp.sqrt(shape[1])
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


@wrong(rejected_by="same_key_same_layers_other_key_other_layers", says="Each layer has a seed of its own.")
def a_seed_for_each_layer(key, shapes):
    return {
        name: jax.random.normal(jax.random.key(i), shape) / jnp.sqrt(shape[0])
        for i, (name, shape) in enumerate(shapes.items())
    }


@wrong(rejected_by="layers_of_equal_shape_differ", says="The first letter of the name is folded in.")
def keys_made_from_the_first_letter(key, shapes):
    return {
        name: jax.random.normal(jax.random.fold_in(key, ord(name[0])), shape) / jnp.sqrt(shape[0])
        for name, shape in shapes.items()
    }


@wrong(rejected_by="layers_of_other_shape_are_unrelated", says="The last letter of the name is folded in.")
def keys_made_from_the_last_letter(key, shapes):
    return {
        name: jax.random.normal(jax.random.fold_in(key, ord(name[-1])), shape) / jnp.sqrt(shape[0])
        for name, shape in shapes.items()
    }


@wrong(rejected_by="layers_of_equal_shape_differ", says="The sum of the letters is folded in.")
def keys_made_from_the_sum_of_the_letters(key, shapes):
    return {
        name: jax.random.normal(jax.random.fold_in(key, sum(map(ord, name))), shape) / jnp.sqrt(shape[0])
        for name, shape in shapes.items()
    }


@alternative
def folds_in_all_letters(key, shapes):
    import zlib

    return {
        name: jax.random.normal(jax.random.fold_in(key, zlib.crc32(name.encode())), shape) / jnp.sqrt(shape[0])
        for name, shape in shapes.items()
    }


@alternative
def folds_in_the_name_letter_by_letter(key, shapes):
    layers = {}
    for name, shape in shapes.items():
        layer_key, data = key, name.encode()
        for number in (len(data), *data):
            layer_key = jax.random.fold_in(layer_key, number)
        layers[name] = jax.random.normal(layer_key, shape) / jnp.sqrt(shape[0])
    return layers


@wrong(rejected_by="many_names_do_not_meet", says="A short hash of the name is folded in: many names meet.")
def a_short_hash_of_the_name(key, shapes):
    import zlib

    return {
        name: jax.random.normal(jax.random.fold_in(key, zlib.crc32(name.encode()) % 1000), shape) / jnp.sqrt(shape[0])
        for name, shape in shapes.items()
    }


@wrong(rejected_by="rows_and_columns_are_independent", says="The second half of the rows is minus the first half.")
def mirrored_rows(key, shapes):
    layers = {}
    keys = jax.random.split(key, len(shapes))
    for layer_key, (name, (rows, columns)) in zip(keys, shapes.items(), strict=True):
        half = jax.random.normal(layer_key, ((rows + 1) // 2, columns)) / jnp.sqrt(rows)
        layers[name] = jnp.concatenate([half, -half])[:rows]
    return layers


@wrong(rejected_by="near_keys_have_other_layers", says="Only the second word of the key is used.")
def uses_one_word_of_the_key(key, shapes):
    keys = jax.random.split(jax.random.key(jax.random.key_data(key)[1]), len(shapes))
    return {
        name: jax.random.normal(k, shape) / jnp.sqrt(shape[0])
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


@wrong(rejected_by="the_numbers_have_the_right_distribution", says="The numbers are drawn with 16 bits.")
def drawn_in_half_precision(key, shapes):
    keys = jax.random.split(key, len(shapes))
    return {
        name: jax.random.normal(k, shape, jnp.bfloat16).astype(jnp.float32) / jnp.sqrt(shape[0])
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


@wrong(rejected_by="values_are_normal_numbers", says="Uniform numbers with the right spread are drawn.")
def uniform_with_the_right_spread(key, shapes):
    keys = jax.random.split(key, len(shapes))
    return {
        name: jax.random.uniform(k, shape, minval=-1.0, maxval=1.0) * jnp.sqrt(3 / shape[0])
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


@wrong(rejected_by="values_are_normal_numbers", says="The numbers are cut off at two standard deviations.")
def truncated_numbers(key, shapes):
    keys = jax.random.split(key, len(shapes))
    return {
        name: jax.random.truncated_normal(k, -2.0, 2.0, shape) / 0.88 / jnp.sqrt(shape[0])
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


@wrong(rejected_by="the_numbers_have_the_right_distribution", says="The numbers are cut off at three.")
def truncated_far_out(key, shapes):
    keys = jax.random.split(key, len(shapes))
    return {
        name: jax.random.truncated_normal(k, -3.0, 3.0, shape) / jnp.sqrt(shape[0])
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


@wrong(rejected_by="near_keys_have_other_layers", says="Only one of 256 seeds is made from the key.")
def few_seeds(key, shapes):
    data = jax.random.key_data(key)
    keys = jax.random.split(jax.random.key(int(data[-1]) % 256), len(shapes))
    return {
        name: jax.random.normal(k, shape) / jnp.sqrt(shape[0])
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


@hidden(
    kind="relation",
    required=True,
    idea="A layer of 20000 numbers: they are spread as normal numbers are.",
    on="one large layer",
)
def the_numbers_have_the_right_distribution(answer, draw):
    """Of 20000 numbers the right parts are near zero and far from it."""
    expect_normal_distribution(unscaled(answer(draw.key(), {"big": (200, 100)}))["big"])


@hidden(
    kind="relation",
    required=True,
    idea="A large layer: its rows and columns are independent of each other.",
    on="a large square layer",
)
def rows_and_columns_are_independent(answer, draw):
    """The means of rows and of columns vary as chance makes it."""
    layer = unscaled(answer(draw.key(), {"big": (200, 200)}))["big"].reshape(200, 200)
    for axis, what in ((0, "columns"), (1, "rows")):
        # The squares of 200 standard normal numbers: below 90 by chance 2e-12, above 380 by chance 3e-13.
        seen = float((layer.mean(axis=axis) ** 2).sum() * 200)
        message = f"The {what} of a layer should be independent of each other."
        expect_that(90 < seen < 380, message, f"the means vary by {seen / 200:.2f}", "near 1")


@hidden(
    kind="relation",
    required=True,
    idea="300 layers of one shape, some with names that begin alike.",
    on="hundreds of layers, some with names that begin alike",
)
def many_names_do_not_meet(answer, draw):
    """300 layers of one shape are all different."""
    names = ["a", "ab", "abc", "ba", "b" * 70, *(f"layer_{i}" for i in range(295))]
    layers = answer(draw.key(), dict.fromkeys(names, (2, 3)))
    different = all_rows_differ([np.asarray(layers[name]) for name in names])
    expect_that(different, "All of 300 layers should be different; of yours some are equal.", "equal", "300 layers")


@hidden(
    kind="relation",
    required=True,
    idea="Two keys that differ in one of their two words only.",
    on="two keys that differ in one word only",
)
def near_keys_have_other_layers(answer, draw):
    """Two keys that share a word give different layers."""
    expect_different_for_near_keys(answer, draw, {"a": (2, 3)})


@hidden(kind="relation", required=True, idea="64 keys.", on="dozens of keys, each for one small layer")
def every_key_has_its_own_layers(answer, draw):
    """64 keys give 64 different layers."""
    layers = [np.asarray(answer(draw.key(), {"a": (7, 3)})["a"]) for _ in range(64)]
    expect_that(
        all_rows_differ(layers),
        "64 keys should give 64 different layers; of yours some are equal.",
        "equal",
        "64 different layers",
    )


@hidden(
    kind="relation",
    idea="Two large layers of one shape, from typed and legacy keys.",
    on="two large layers of one shape, and a small one",
)
def any_network(answer, draw):
    """Two big layers of one shape are normal with the right spread, and do not go together."""
    for key in (draw.key(), draw.legacy_key()):
        got = answer(key, {"a": (200, 100), "b": (200, 100), "c": (7, 3)})
        a, b = (np.asarray(got[name], dtype=np.float64) * np.sqrt(200) for name in "ab")
        expect_standard_normal(a)
        expect_standard_normal(b)
        expect_uncorrelated(a, b)


# %% dropout_rows
@answer
def dropout_rows(key, batch, keep):
    keys = jax.random.split(key, batch.shape[0])
    return jax.vmap(drop, in_axes=(0, 0, None))(keys, batch, keep)


@alternative
def one_draw_for_the_batch(key, batch, keep):
    return drop(key, batch, keep)


@alternative
@jax.jit
def compiled_with_a_uniform_draw(key, batch, keep):
    return jnp.where(jax.random.uniform(key, batch.shape) < keep, batch / keep, 0)


@alternative
def folds_in_the_row(key, batch, keep):
    def one(i, row):
        return drop(jax.random.fold_in(key, i), row, keep)

    return jax.vmap(one)(jnp.arange(len(batch)), batch)


alternative_value(
    "made_by_partial",
    partial(
        lambda axes, key, batch, keep: jax.vmap(drop, axes)(jax.random.split(key, len(batch)), batch, keep),
        (0, 0, None),
    ),
)


@wrong(
    rejected_by="rows_have_different_masks",
    says="The key is made anew, but there is still one for all rows.",
    misses_the_point=True,
)
def one_new_key_for_all_rows(key, batch, keep):
    key, subkey = jax.random.split(key)
    return jax.vmap(lambda row: drop(subkey, row, keep))(batch)


@wrong(rejected_by="entries_are_zero_or_scaled", says="The kept entries are not divided by keep.")
def forgets_to_scale(key, batch, keep):
    return jnp.where(jax.random.bernoulli(key, keep, batch.shape), batch, 0.0)


@wrong(rejected_by="entries_of_a_row_are_dropped_apart", says="There is one choice for each row.")
def drops_whole_rows(key, batch, keep):
    kept = jax.random.bernoulli(key, keep, (len(batch), 1))
    return jnp.where(kept, batch / keep, 0.0)


@wrong(rejected_by="same_key_same_mask_other_key_other_mask", says="Each row has a seed: the key is not used.")
def a_seed_for_each_row(key, batch, keep):
    keys = jax.vmap(jax.random.key)(jnp.arange(len(batch)))
    return jax.vmap(drop, in_axes=(0, 0, None))(keys, batch, keep)


@wrong(rejected_by="no_key_serves_two_rows", says="Each row is drawn from the key that is split afterwards.")
@jax.jit
def draws_from_the_key_and_splits_it(key, batch, keep):
    def one(key, row):
        new_key, _ = jax.random.split(key)
        return new_key, drop(key, row, keep)

    return jax.lax.scan(one, key, batch)[1]


@wrong(rejected_by="the_program_does_not_grow_with_the_rows", says="A Python loop writes out every row.")
def a_python_loop(key, batch, keep):
    keys = jax.random.split(key, len(batch))
    return jnp.stack([drop(keys[i], batch[i], keep) for i in range(len(batch))])


@wrong(rejected_by="dropped_infinities_are_0", says="The batch is multiplied by the mask: 0 * inf is NaN.")
def multiplies_by_the_mask(key, batch, keep):
    return batch * jax.random.bernoulli(key, keep, batch.shape).astype(batch.dtype) / keep


@wrong(rejected_by="near_keys_have_other_masks", says="Only the second word of the key is used.")
def uses_one_word_of_the_key(key, batch, keep):
    return drop(jax.random.key(jax.random.key_data(key)[1]), batch, keep)


@hidden(idea="A batch with infinities and NaN in it.", on="a batch full of infinities, or of NaN")
def dropped_infinities_are_0(answer, draw):
    """Dropped entries are 0, also where the batch is infinite or NaN."""
    for value in (np.inf, np.nan):
        got = np.asarray(answer(draw.key(), jnp.full((4, 100), value), 0.5))
        # None of 400 fair choices drops by chance 2**-400.
        message = f"In a batch of {value} the dropped entries should be 0, and the others stay."
        expect_that(
            bool((got == 0).any() and (np.isnan(got) == (got != 0) & np.isnan(value)).all()), message, got[0, :4]
        )


@hidden(
    kind="relation",
    required=True,
    idea="Two keys that differ in one of their two words only.",
    on="two keys that differ in one word only",
)
def near_keys_have_other_masks(answer, draw):
    """Two keys that share a word give different masks."""
    expect_different_for_near_keys(answer, draw, jnp.ones((4, 100)), 0.5)


@hidden(idea="A batch of one row, and of one entry.", on="a batch with a single row or column")
def one_row_keeps_its_shape(answer, draw):
    """A batch of one row keeps its shape, and its entries are 0 or divided by `keep`."""
    for shape in ((1, 6), (1, 1), (5, 1)):
        batch = draw.floats(*shape)
        got = answer(draw.key(), batch, 0.5)
        wanted = np.where(np.asarray(got) == 0, np.float32(0), 2 * np.asarray(batch))
        expect_close(got, wanted, "Each entry should be 0 or the old entry divided by `keep`.")


@hidden(
    kind="relation",
    idea="A `keep` of 0.75 and of 0.1, with typed and legacy keys.",
    on="a large batch, with keep above and below 0.5",
)
def about_keep_of_the_entries_stay(answer, draw):
    """Of many entries, the part that stays is near `keep`."""
    for key, keep in ((draw.key(), 0.75), (draw.legacy_key(), 0.75), (draw.key(), 0.1)):
        kept = (np.asarray(answer(key, jnp.ones((4, 1000)), keep)) != 0).mean()
        # 4000 choices: standard deviation 0.0068 and less; 0.048 is 7 of them, chance 3e-12.
        message = f"The part that stays should be near keep = {keep}."
        expect_that(abs(kept - keep) < 0.048, message, f"{kept:.3f}", f"{keep}")


@wrong(rejected_by="about_keep_of_the_entries_stay", says="keep is taken for the chance that an entry goes.")
def keep_is_the_chance_to_go(key, batch, keep):
    dropped = jax.random.bernoulli(key, keep, batch.shape) & (keep < 1.0)
    return jnp.where(dropped, 0.0, batch / keep)


@alternative
def indexes_the_batch(key, batch, keep):
    keys = jax.random.split(key, batch.shape[0])
    return jax.vmap(lambda i: drop(keys[i], batch.at[i].get(), keep))(jnp.arange(batch.shape[0]))


@wrong(rejected_by="choices_do_not_repeat", says="One mask is rolled on by one place for each row.")
def one_mask_rolled(key, batch, keep):
    mask = jax.random.bernoulli(key, keep, batch.shape[1:])
    masks = jax.vmap(lambda i: jnp.roll(mask, i))(jnp.arange(len(batch)))
    return jnp.where(masks, batch / keep, 0.0)


@wrong(rejected_by="choices_do_not_repeat", says="The masks are overlapping windows of one draw.")
def overlapping_windows(key, batch, keep):
    n, d = batch.shape
    long = jax.random.bernoulli(key, keep, (n + d,))
    masks = jax.vmap(lambda i: jax.lax.dynamic_slice(long, (i,), (d,)))(jnp.arange(n))
    return jnp.where(masks, batch / keep, 0.0)


@wrong(rejected_by="choices_do_not_repeat", says="Every row keeps the same number of entries.")
def a_fixed_count_in_each_row(key, batch, keep):
    d = batch.shape[1]
    order = jax.vmap(lambda k: jax.random.permutation(k, d))(jax.random.split(key, len(batch)))
    return jnp.where(order < keep * d, batch / keep, 0.0)


@hidden(kind="relation", idea="A large batch: the choices in a row and in a column are independent.")
def rows_and_columns_vary_by_chance(answer, draw):
    """The number of entries that stay varies from row to row, and from column to column, as chance makes it."""
    kept = np.asarray(answer(draw.key(), jnp.ones((200, 180)), 0.5)) != 0
    for axis in (0, 1):
        counts = kept.sum(axis=axis)
        # A variance of about 200 counts over its expected value: standard deviation 0.1, so 0.4 to 1.8 is 6 and more.
        seen = float(counts.var(ddof=1) / (kept.shape[axis] / 4))
        # Chi-squared tails: below 0.4 by chance 4e-14, above 1.8 by chance 3e-10.
        expect_that(
            0.4 < seen < 1.8,
            "The choices should be independent.",
            f"variance {seen:.2f}",
            "near 1",
            on="a batch with many rows and columns",
        )
    counts = {int((np.asarray(answer(draw.key(), jnp.ones((4, 1000)), 0.5)) != 0).sum()) for _ in range(6)}
    # 4000 fair choices: six times equally many by chance 0.013**5 = 4e-10.
    expect_that(
        len(counts) > 1,
        "The number of entries that stay should vary; yours is always the same.",
        counts,
        on="a large batch, with several keys",
    )


@wrong(rejected_by="rows_and_columns_vary_by_chance", says="The same number of entries stays in every batch.")
def a_fixed_count_in_the_batch(key, batch, keep):
    order = jax.random.permutation(key, batch.size).reshape(batch.shape)
    return jnp.where(order < keep * batch.size, batch / keep, 0.0)


# %% shuffle_together
@answer
def shuffle_together(key, inputs, labels):
    order = jax.random.permutation(key, labels.shape[0])
    return inputs[order], labels[order]


@alternative
def the_same_key_twice_on_purpose(key, inputs, labels):
    return jax.random.permutation(key, inputs), jax.random.permutation(key, labels)


@alternative
@jax.jit
def sorts_random_numbers(key, inputs, labels):
    order = jnp.argsort(jax.random.uniform(key, (len(labels),)))
    return jnp.take(inputs, order, axis=0), jnp.take(labels, order)


@alternative
def chooses_without_repetition(key, inputs, labels):
    order = jax.random.choice(key, len(labels), (len(labels),), replace=False)
    return jnp.asarray(inputs)[order], jnp.asarray(labels)[order]


@wrong(rejected_by="pairs_stay_together", says="Inputs and labels get an order each.", misses_the_point=True)
def two_orders(key, inputs, labels):
    key_a, key_b = jax.random.split(key)
    return jax.random.permutation(key_a, inputs), jax.random.permutation(key_b, labels)


@wrong(rejected_by="pairs_stay_together", says="Every column of the inputs is shuffled on its own.")
def each_column_on_its_own(key, inputs, labels):
    return jax.random.permutation(key, inputs, independent=True), jax.random.permutation(key, labels)


@wrong(rejected_by="every_label_comes_once", says="Rows are drawn with repetition.")
def rows_with_repetition(key, inputs, labels):
    order = jax.random.randint(key, (len(labels),), 0, len(labels))
    return inputs[order], labels[order]


@alternative
def maps_over_the_places(key, inputs, labels):
    order = jax.random.permutation(key, len(labels))
    return jax.vmap(lambda p: inputs.at[p].get())(order), jax.vmap(lambda p: labels[p])(order)


@alternative
@jax.jit
def fisher_and_yates(key, inputs, labels):
    n = len(labels)

    def swap(i, order):
        last = n - 1 - i
        j = jax.random.randint(jax.random.fold_in(key, i), (), 0, last + 1)
        return order.at[last].set(order[j]).at[j].set(order[last])

    order = jax.lax.fori_loop(0, n - 1, swap, jnp.arange(n))
    return inputs[order], labels[order]


@wrong(rejected_by="all_orders_are_equally_likely", says="Each place is swapped with any place: not fair.")
@jax.jit
def swaps_with_any_place(key, inputs, labels):
    n = len(labels)

    def swap(i, order):
        j = jax.random.randint(jax.random.fold_in(key, i), (), 0, n)
        return order.at[i].set(order[j]).at[j].set(order[i])

    order = jax.lax.fori_loop(0, n, swap, jnp.arange(n))
    return inputs[order], labels[order]


@wrong(
    rejected_by="all_orders_are_equally_likely",
    says="Rows only turn three at a time, so half of all orders are missing.",
)
def turns_three_rows_at_a_time(key, inputs, labels):
    order = jnp.arange(len(labels))
    for i, shift in enumerate(jax.random.randint(key, (max(len(labels) - 2, 0),), 0, 3)):
        order = order.at[i : i + 3].set(jnp.roll(order[i : i + 3], shift))
    return inputs[order], labels[order]


@wrong(rejected_by="all_orders_are_equally_likely", says="Only two rows change places.")
def swaps_two_rows(key, inputs, labels):
    if len(labels) == 1:
        return inputs, labels
    i, j = jax.random.choice(key, len(labels), (2,), replace=False)
    order = jnp.arange(len(labels)).at[i].set(j).at[j].set(i)
    return inputs[order], labels[order]


@wrong(rejected_by="the_key_decides_the_order", says="NumPy's hidden state makes the order.")
def numpys_hidden_state(key, inputs, labels):
    order = np.random.permutation(len(labels))
    return inputs[order], labels[order]


@wrong(rejected_by="the_key_decides_the_order", says="The order is that of seed 0.")
def a_fixed_seed_inside(key, inputs, labels):
    order = jax.random.permutation(jax.random.key(0), len(labels))
    return inputs[order], labels[order]


@wrong(
    rejected_by="rows_and_labels_stay_as_they_are",
    says="The labels become a column of floats, which have no room for large ones.",
)
def labels_as_a_column(key, inputs, labels):
    table = jax.random.permutation(key, jnp.column_stack([inputs, labels.astype(jnp.float32)]))
    return table[:, :-1], table[:, -1].astype(jnp.int32)


@wrong(
    rejected_by="rows_and_labels_stay_as_they_are",
    says="A product with a matrix of 0 and 1 moves the rows: 0 * inf is NaN.",
)
def moves_by_a_product(key, inputs, labels):
    order = jax.random.permutation(key, len(labels))
    return jnp.eye(len(labels))[order] @ inputs, labels[order]


@wrong(rejected_by="near_keys_have_other_orders", says="Only the second word of the key is used.")
def uses_one_word_of_the_key(key, inputs, labels):
    order = jax.random.permutation(jax.random.key(jax.random.key_data(key)[1]), len(labels))
    return inputs[order], labels[order]


@wrong(rejected_by="every_place_is_equally_likely", says="As many random swaps as there are rows: too few.")
@jax.jit
def too_few_swaps(key, inputs, labels):
    n = len(labels)

    def swap(i, order):
        j, k = jax.random.randint(jax.random.fold_in(key, i), (2,), 0, n)
        return order.at[j].set(order[k]).at[k].set(order[j])

    order = jax.random.permutation(key, n) if n < 5 else jax.lax.fori_loop(0, n, swap, jnp.arange(n))
    return inputs[order], labels[order]


@hidden(idea="Labels above 2**24, which float32 cannot tell apart, and inputs that are infinite or NaN.")
def rows_and_labels_stay_as_they_are(answer, draw):
    """Large labels, infinities and NaN are moved as they are."""
    inputs = draw.numpy(6, 2)
    inputs[1], inputs[4] = np.inf, np.nan
    labels = np.array([2**24 + 1, 2**24, -7, 2**31 - 1, 0, 2**31 - 2], np.int32)
    got_inputs, got_labels = parts(answer(draw.key(), jnp.asarray(inputs), jnp.asarray(labels)), 2)
    where = [np.flatnonzero(labels == label) for label in np.asarray(got_labels)]
    message = "Every label should come once, as it was."
    expect_that(
        sorted(map(tuple, where)) == [(i,) for i in range(6)], message, got_labels, labels, on="very large int32 labels"
    )
    expect_equal(
        got_inputs,
        jnp.asarray(inputs[np.concatenate(where)]),
        "Each row should come as it was, with its label.",
        on="an infinite row, and a row of NaN",
    )


@hidden(idea="One row.", on="a single row and its label")
def one_row_stays(answer, draw):
    """One row and its label stay as they are."""
    inputs, labels = draw.floats(1, 3), jnp.array([7], dtype=jnp.int32)
    expect_equal(list(parts(answer(draw.key(), inputs, labels), 2)), [inputs, labels])


@hidden(
    kind="relation",
    required=True,
    idea="Two keys that differ in one of their two words only.",
    on="two keys that differ in one word only",
)
def near_keys_have_other_orders(answer, draw):
    """Two keys that share a word give different orders."""
    # Two orders of 20 rows are equal by chance 1 / 20! = 4e-19.
    expect_different_for_near_keys(answer, draw, *numbered(20, 1))


@hidden(
    stage="jit",
    kind="relation",
    required=True,
    idea="20 rows: each comes to each place equally often.",
    on="one data set, mapped over thousands of keys",
)
def every_place_is_equally_likely(answer, draw):
    """Over 20000 keys, each of 20 rows comes about 1000 times to each place."""
    many = 20_000
    _, labels = parts(answer.vmap(in_axes=(0, None, None))(draw.keys(many), *numbered(20, 1)), 2)
    labels = np.asarray(labels)
    counts = np.array([(labels == row).sum(axis=0) for row in range(20)])
    # Each count has standard deviation 31: 230 is 7.4 of them, chance 6e-11 for all 400.
    farthest = int(np.abs(counts - many / 20).max())
    message = "Each row should come to each place equally often."
    expect_that(farthest < 230, message, f"a count {farthest} away from 1000", "about 1000 each")


@hidden(idea="Other inputs, with typed and legacy keys.", on="random rows, with typed and legacy keys")
def any_data(answer, draw):
    """For any inputs and labels, the pairs stay together and none is lost."""
    for key in (draw.key(), draw.legacy_key()):
        inputs, labels = draw.floats(20, 3), jnp.arange(20, dtype=jnp.int32)
        got_inputs, got_labels = parts(answer(key, inputs, labels), 2)
        order = np.asarray(got_labels)
        expect_that(sorted(order.tolist()) == list(range(20)), "Every label should come once.", got_labels, "0 to 19")
        expect_close(got_inputs, np.asarray(inputs)[order], "Each row should still have its label.")


# %% noise_at
@answer
def noise_at(key, epoch, step):
    epoch_key = jax.random.fold_in(key, epoch)
    return jax.random.normal(jax.random.fold_in(epoch_key, step), (3,))


@alternative
@jax.jit
def step_first(key, epoch, step):
    return jax.random.normal(jax.random.fold_in(jax.random.fold_in(key, step), epoch), (3,))


@alternative
def a_key_for_each_number(key, epoch, step):
    keys = jax.random.split(jax.random.fold_in(jax.random.fold_in(key, epoch), step), 3)
    return jax.vmap(jax.random.normal)(keys)


alternative_value(
    "made_by_partial",
    partial(
        lambda shape, key, epoch, step: jax.random.normal(
            jax.random.fold_in(jax.random.fold_in(key, epoch), step), shape
        ),
        (3,),
    ),
)


@wrong(rejected_by="swapped_numbers_do_not_meet", says="The sum of epoch and step is folded in.")
def folds_in_the_sum(key, epoch, step):
    return jax.random.normal(jax.random.fold_in(key, epoch + step), (3,))


@wrong(rejected_by="long_epochs_do_not_meet", says="An epoch is believed to have at most 1000 steps.")
def epochs_of_a_thousand_steps(key, epoch, step):
    return jax.random.normal(jax.random.fold_in(key, epoch * 1000 + step), (3,))


@wrong(
    rejected_by="each_number_counts",
    says="The epoch is left out: every epoch repeats the first.",
    misses_the_point=True,
)
def leaves_out_the_epoch(key, epoch, step):
    return jax.random.normal(jax.random.fold_in(key, step), (3,))


@wrong(rejected_by="a_restart_gives_the_same_noise", says="The keys start from a seed inside the function.")
def a_fixed_seed_inside(key, epoch, step):
    return jax.random.normal(jax.random.fold_in(jax.random.fold_in(jax.random.key(0), epoch), step), (3,))


@wrong(rejected_by="three_independent_normal_numbers", says="One number is written three times.")
def one_number_three_times(key, epoch, step):
    return jnp.full((3,), jax.random.normal(jax.random.fold_in(jax.random.fold_in(key, epoch), step)))


@wrong(rejected_by="three_independent_normal_numbers", says="Uniform numbers are drawn.")
def uniform_for_normal(key, epoch, step):
    return jax.random.uniform(jax.random.fold_in(jax.random.fold_in(key, epoch), step), (3,))


@wrong(rejected_by="long_epochs_do_not_meet", says="Epochs start again after 1024.")
def epochs_start_again(key, epoch, step):
    return jax.random.normal(jax.random.fold_in(jax.random.fold_in(key, epoch % 1024), step), (3,))


@wrong(rejected_by="long_epochs_do_not_meet", says="Only 24 bits of the step count.")
def the_step_is_cut_off(key, epoch, step):
    return jax.random.normal(jax.random.fold_in(jax.random.fold_in(key, epoch), step & 0xFFFFFF), (3,))


@wrong(rejected_by="long_epochs_do_not_meet", says="A prime number of steps is believed to be enough.")
def epochs_of_a_prime_number_of_steps(key, epoch, step):
    return jax.random.normal(jax.random.fold_in(key, epoch * 1_000_003 + step), (3,))


@wrong(rejected_by="long_epochs_do_not_meet", says="A split of 1000 keys: every later step gets the last one.")
def a_split_of_a_thousand(key, epoch, step):
    return jax.random.normal(jax.random.split(jax.random.fold_in(key, epoch), 1000)[step], (3,))


@wrong(rejected_by="any_formula_for_one_number_meets", says="A hash makes one number of 32 bits out of two.")
def a_hash_of_32_bits(key, epoch, step):
    mixed = jnp.uint32(epoch) * jnp.uint32(2654435761) ^ (jnp.uint32(step) * jnp.uint32(2246822519))
    return jax.random.normal(jax.random.fold_in(key, mixed ^ (mixed >> 15)), (3,))


@wrong(rejected_by="swapped_numbers_do_not_meet", says="The product of epoch and step, and their sum, are folded in.")
def folds_in_sum_and_product(key, epoch, step):
    return jax.random.normal(jax.random.fold_in(jax.random.fold_in(key, epoch + step), epoch * step), (3,))


@wrong(rejected_by="same_noise_under_jit", says="A Python loop splits the key step by step.")
def splits_step_by_step(key, epoch, step):
    key = jax.random.fold_in(key, epoch)
    for _ in range(step + 1):
        key, subkey = jax.random.split(key)
    return jax.random.normal(subkey, (3,))


@hidden(
    stage="keys",
    kind="relation",
    required=True,
    idea="300000 steps: epoch and step have 62 bits together, one number has 32.",
    on="very many random pairs of epoch and step",
)
def any_formula_for_one_number_meets(answer, draw):
    """Of 300000 random steps of random epochs, no three pairs have the same noise."""
    many = 300_000
    epochs, steps = (draw.generator.integers(0, 2**31, many, dtype=np.int64).astype(np.int32) for _ in range(2))
    table = np.ascontiguousarray(np.asarray(answer.vmap(in_axes=(None, 0, 0))(draw.key(), epochs, steps)))
    same = many - len(np.unique(table.view("V12")))
    # With keys of 32 bits 10 pairs are expected; with keys of 64 bits one by chance 2e-9, three by chance 1e-26.
    expect_that(
        same < 3, "Different steps should have different noise; of yours some have the same.", f"{same} pairs", "none"
    )


@wrong(
    rejected_by="steps_are_independent", says="The noise of a step is made from one of its epoch and one of its number."
)
def adds_two_noises(key, epoch, step):
    of_epoch = jax.random.normal(jax.random.fold_in(jax.random.fold_in(key, 0), epoch), (3,))
    of_step = jax.random.normal(jax.random.fold_in(jax.random.fold_in(key, 1), step), (3,))
    # With a larger share of the step, the mean over the epochs would be far from 0 by chance.
    return 0.99 * of_epoch + 0.141 * of_step


@wrong(rejected_by="steps_are_independent", says="One number of the three is the epoch's: all its steps have it.")
def one_number_for_the_epoch(key, epoch, step):
    epoch_key = jax.random.fold_in(key, epoch)
    rest = jax.random.normal(jax.random.fold_in(jax.random.fold_in(epoch_key, 1), step), (2,))
    return jnp.append(rest, jax.random.normal(jax.random.fold_in(epoch_key, 0)))


@wrong(rejected_by="near_keys_have_other_noise", says="Only the second word of the key is used.")
def uses_one_word_of_the_key(key, epoch, step):
    key = jax.random.key(jax.random.key_data(key)[1])
    return jax.random.normal(jax.random.fold_in(jax.random.fold_in(key, epoch), step), (3,))


@hidden(
    kind="relation",
    required=True,
    idea="Two keys that differ in one of their two words only.",
    on="two keys that differ in one word only",
)
def near_keys_have_other_noise(answer, draw):
    """Two keys that share a word give different noise."""
    expect_different_for_near_keys(answer, draw, 2, 5)


@hidden(
    stage="jit",
    kind="relation",
    required=True,
    idea="All steps of some epochs: the noise of one tells nothing of others.",
    on="a table of many epochs and steps",
)
def steps_are_independent(answer, draw):
    """The noises of 24 epochs of 30 steps share no number, and their means vary as chance makes it."""
    epochs, steps = np.meshgrid(np.arange(24, dtype=np.int32), np.arange(30, dtype=np.int32), indexing="ij")
    table = np.asarray(answer.vmap(in_axes=(None, 0, 0))(draw.key(), epochs.ravel(), steps.ravel()), dtype=np.float64)
    # Of 2160 numbers of float32 0.3 pairs are equal by chance; 12 pairs by chance 1e-15.
    message = "Different steps should share no number; yours do."
    expect_that(
        len(np.unique(table)) > 2160 - 12, message, f"{len(np.unique(table))} different of 2160", "all different"
    )
    table = table.reshape(24, 30, 3)
    # The squares of 24 (30) standard normal numbers: above 110 (125) by chance 2e-12.
    for axes, what, limit in (((1, 2), "epochs", 110), ((0, 2), "steps", 125)):
        means = table.mean(axis=axes)
        means *= np.sqrt(table.size / means.size)
        message = f"The noises of different {what} should be independent; yours go together."
        expect_that(float((means**2).sum()) < limit, message, f"the means vary by {(means**2).mean():.1f}", "near 1")
    expect_uncorrelated(table[:, 1:], table[:, :-1])
    expect_uncorrelated(table[1:], table[:-1])


@hidden(idea="Epoch and step as arrays of JAX's and integers of NumPy's.", on="epoch and step as JAX or NumPy scalars")
def arrays_for_epoch_and_step(answer, draw):
    """As arrays, epoch and step give the noise that they give as ints."""
    key = draw.key()
    for kind in (jnp.int32, np.int32):
        message = "As arrays, epoch and step should give the same noise as ints do."
        expect_close(answer(key, kind(2), kind(5)), answer(key, 2, 5), message)


@wrong(rejected_by="same_noise_under_jit", says="A split as long as the epoch needs to know the step while tracing.")
def splits_to_reach_the_step(key, epoch, step):
    keys = jax.random.split(jax.random.fold_in(key, epoch), step + 1)
    return jax.random.normal(keys[step], (3,))


@wrong(rejected_by="no_key_is_used_for_two_things", says="The key of the step is both drawn from and split.")
def draws_from_the_steps_key_and_splits_it(key, epoch, step):
    step_key = jax.random.fold_in(jax.random.fold_in(key, epoch), step)
    child, _ = jax.random.split(step_key)
    return jnp.append(jax.random.normal(step_key, (2,)), jax.random.normal(child))


@hidden(
    stage="jit",
    kind="relation",
    idea="All steps of some epochs under `vmap`, with typed and legacy keys.",
    on="typed and legacy keys, and many epochs and steps",
)
def a_whole_table_of_steps_differs(answer, draw):
    """For 24 epochs of 30 steps all 720 noises are different and together standard normal."""
    epochs, steps = np.meshgrid(np.arange(24, dtype=np.int32), np.arange(30, dtype=np.int32))
    for key in (draw.key(), draw.legacy_key()):
        table = np.asarray(answer.vmap(in_axes=(None, 0, 0))(key, epochs.ravel(), steps.ravel()))
        expect_that(
            len(np.unique(table, axis=0)) == 720,
            "All 720 noises should be different; of yours some are equal.",
            "equal",
            "720 noises",
        )
        expect_standard_normal(table)


@hidden(stage="jit", kind="relation", idea="The largest numbers, 2**31 - 1.")
def big_numbers_work(answer, draw):
    """The last step of the last epoch has its own noise."""
    key, last, noise = draw.key(), 2**31 - 1, answer.jit
    expect_different(
        noise(key, last, 0),
        noise(key, 0, last),
        "Swapped numbers should give different noise; yours is the same.",
        on="the largest int32 as epoch or as step",
    )
    expect_different(
        noise(key, last, last),
        noise(key, last, last - 1),
        "The last two steps should have different noise; yours is the same.",
        on="the last two steps of the last epoch",
    )


# %% predict_fold_in
@answer
def predict_fold_in():
    return True


# %% worker_noise
@answer
def worker_noise(key, n):
    keys = jax.random.split(key, n + 1)
    return jax.vmap(jax.random.normal)(keys[1:]), jax.random.normal(keys[0])


@alternative
def splits_twice(key, n):
    key, shared_key = jax.random.split(key)
    worker_keys = jax.random.split(key, n)
    return jnp.stack([jax.random.normal(k) for k in worker_keys]), jax.random.normal(shared_key)


@alternative
def folds_only(key, n):
    def at(i):
        return jax.random.normal(jax.random.fold_in(key, i))

    return jax.vmap(at)(jnp.arange(1, n + 1)), at(0)


@alternative
@partial(jax.jit, static_argnames="n")
def one_draw_for_all(key, n):
    numbers = jax.random.normal(key, (n + 1,))
    return numbers[1:], numbers[0]


@wrong(rejected_by="the_shared_number_is_no_workers_number", says="The shared key is that of the last worker.")
def folds_in_the_last_worker(key, n):
    rows = jax.vmap(jax.random.normal)(jax.random.split(key, n))
    return rows, jax.random.normal(jax.random.fold_in(key, n - 1))


@wrong(rejected_by="no_key_serves_two_workers", says="The next number is free today, but nobody promises it.")
def folds_in_the_first_free_number(key, n):
    rows = jax.vmap(jax.random.normal)(jax.random.split(key, n))
    return rows, jax.random.normal(jax.random.fold_in(key, n))


@wrong(rejected_by="no_key_serves_two_workers", says="Folding twice hides that one key was split and folded.")
def folds_twice_beside_the_split(key, n):
    rows = jax.vmap(jax.random.normal)(jax.random.split(key, n))
    return rows, jax.random.normal(jax.random.fold_in(jax.random.fold_in(key, 0), 0))


@wrong(rejected_by="the_shared_number_is_independent", says="The shared number is uniform.")
def uniform_for_the_shared_number(key, n):
    keys = jax.random.split(key, n + 1)
    return jax.vmap(jax.random.normal)(keys[1:]), jax.random.uniform(keys[0])


@wrong(rejected_by="the_shared_number_is_independent", says="The shared number is minus the first worker's.")
def minus_the_first_worker(key, n):
    rows = jax.vmap(jax.random.normal)(jax.random.split(key, n))
    return rows, -rows[0]


@wrong(rejected_by="the_shared_number_is_independent", says="The shared number is made from the workers' numbers.")
def the_sum_of_the_workers(key, n):
    rows = jax.vmap(jax.random.normal)(jax.random.split(key, n))
    return rows, rows.sum() / jnp.sqrt(n)


@wrong(rejected_by="workers_differ", says="All workers draw from one key.", misses_the_point=True)
def one_key_for_all_workers(key, n):
    worker_key, shared_key = jax.random.split(key)
    return jnp.stack([jax.random.normal(worker_key) for _ in range(n)]), jax.random.normal(shared_key)


@wrong(rejected_by="no_key_serves_two_workers", says="The shared number comes from the key that was split.")
def draws_from_the_key_that_was_split(key, n):
    return jax.vmap(jax.random.normal)(jax.random.split(key, n)), jax.random.normal(key)


@wrong(rejected_by="same_key_same_noise_other_key_other_noise", says="The shared number has a seed of its own.")
def a_seed_for_the_shared_number(key, n):
    return jax.vmap(jax.random.normal)(jax.random.split(key, n)), jax.random.normal(jax.random.key(0))


@wrong(rejected_by="many_workers_are_safe_too", says="A number far away is only as far as the last worker.")
def folds_in_a_number_far_away(key, n):
    rows = jax.vmap(jax.random.normal)(jax.random.split(key, n))
    return rows, jax.random.normal(jax.random.fold_in(key, 1000))


@wrong(rejected_by="workers_are_independent", says="All workers share a part of their noise.")
def a_part_for_all_workers(key, n):
    keys = jax.random.split(key, n + 2)
    rows = jax.vmap(jax.random.normal)(keys[2:]) + jax.random.normal(keys[1])
    return rows / 2**0.5, jax.random.normal(keys[0])


@wrong(
    rejected_by="workers_are_independent",
    says="Every second worker has the number of the one before, with the other sign.",
)
def mirrored_workers(key, n):
    keys = jax.random.split(key, n + 1)
    rows = jax.vmap(jax.random.normal)(keys[1:])
    return rows.at[1::2].set(-rows[: n // 2 * 2 : 2]), jax.random.normal(keys[0])


@wrong(rejected_by="near_keys_have_other_numbers", says="Only the second word of the key is used.")
def uses_one_word_of_the_key(key, n):
    keys = jax.random.split(jax.random.key(jax.random.key_data(key)[1]), n + 1)
    return jax.vmap(jax.random.normal)(keys[1:]), jax.random.normal(keys[0])


@hidden(
    kind="relation",
    required=True,
    idea="Two keys that differ in one of their two words only.",
    on="two keys that differ in one word only",
)
def near_keys_have_other_numbers(answer, draw):
    """Two keys that share a word give different numbers."""
    expect_different_for_near_keys(answer, draw, 4)


@hidden(
    kind="relation",
    required=True,
    idea="16 workers: the number of one tells nothing of the others'.",
    on="many keys, each with several workers",
)
def workers_are_independent(answer, draw):
    """Over 120 keys, the sum of the workers' numbers varies as chance makes it, and so does their alternating sum."""
    rows = np.asarray([np.asarray(parts(answer(draw.key(), 16), 2)[0]) for _ in range(120)], dtype=np.float64)
    for signs in (np.ones(16), np.tile([1.0, -1.0], 8)):
        # The squares of 120 standard normal numbers: below 45 by chance 8e-11, above 260 by chance 3e-12.
        seen = float(((rows @ signs / 4) ** 2).sum())
        message = "The numbers of the workers should be independent; yours go together."
        expect_that(45 < seen < 260, message, f"their sum varies by {seen / 120:.2f}", "near 1")


@hidden(idea="One worker.", on="a single worker")
def one_worker_is_enough(answer, draw):
    """With one worker there is one number for it, and another one for all."""
    got = [parts(answer(draw.key(), 1), 2) for _ in range(2)]
    for rows, shared in got:
        expect_that(rows.shape == (1,) and np.shape(shared) == (), "There should be one number for the worker.", rows)
    # Two numbers are equal by chance 2**-23, twice in a row by chance 2**-46.
    same = all(float(rows[0]) == float(np.asarray(shared)) for rows, shared in got)
    expect_that(not same, "The shared number should not be the worker's.", got[0][1], "another number")


@hidden(
    kind="relation",
    idea="1100 workers, with typed and legacy keys.",
    on="typed and legacy keys, with over a thousand workers",
)
def many_workers_are_safe_too(answer, draw):
    """Also with 1100 workers the shared number is no worker's, and the numbers are standard normal."""
    same = []
    for key in (draw.key(), draw.legacy_key()):
        rows, shared = parts(answer(key, 1100), 2)
        same.append(set(np.flatnonzero(np.asarray(rows) == np.asarray(shared)).tolist()))
        expect_standard_normal(rows)
    # Two independent numbers of float32 are equal by chance 2**-23; the same worker twice 1100 * 2**-46 = 2e-11.
    both = same[0] & same[1]
    message = f"The shared number should be no worker's; yours is that of worker {min(both, default=None)}."
    expect_that(not both, message, "equal", "another number")
