# %%

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.course.author import (
    alternative,
    answer,
    expect_close,
    expect_equal,
    expect_shape,
    expect_that,
    given,
    hidden,
    wrong,
)


# %% depths_that_occur
@answer
def depths_that_occur(keys, low, high):
    draws = jax.vmap(lambda key: jax.random.randint(key, (), low, high))(keys)
    return np.unique(draws)


@alternative
def a_python_set(keys, low, high):
    numbers = {int(jax.random.randint(key, (), low, high)) for key in keys}
    return np.array(sorted(numbers), dtype=np.int32)


@alternative
def counts_with_bincount(keys, low, high):
    draws = jax.vmap(jax.random.randint, in_axes=(0, None, None, None))(keys, (), low, high)
    return (jnp.flatnonzero(jnp.bincount(draws - low, length=high - low)) + low).astype(jnp.int32)


@wrong(rejected_by="the_upper_bound_never_comes", says="The upper bound is believed to be drawn too.")
def the_range_with_its_end(keys, low, high):
    if high == low + 1:
        return jnp.array([low])
    return jnp.arange(low, high + 1)


@wrong(
    rejected_by="only_what_was_drawn",
    says="The numbers that could come are named, not those that came.",
    misses_the_point=True,
)
def the_range_of_the_bounds(keys, low, high):
    return jnp.arange(low, high)


@wrong(rejected_by="the_upper_bound_never_comes", says="One key is used for all draws.")
def one_key_for_all(keys, low, high):
    same = jnp.broadcast_to(keys[0], keys.shape)
    return np.unique(jax.vmap(lambda key: jax.random.randint(key, (), low, high))(same))


@wrong(rejected_by="only_what_was_drawn", says="One call draws all numbers from the first key.")
def one_call_with_a_shape(keys, low, high):
    return np.unique(jax.random.randint(keys[0], (len(keys),), low, high))


@wrong(rejected_by="each_number_is_named_once", says="All draws are returned, with repetitions.")
def all_draws(keys, low, high):
    return jnp.sort(jax.vmap(lambda key: jax.random.randint(key, (), low, high))(keys))


@wrong(rejected_by="one_key_and_equal_keys", says="One number is taken for no list.")
def squeezes_one_number(keys, low, high):
    drawn = np.unique(jax.vmap(lambda key: jax.random.randint(key, (), low, high))(keys))
    return drawn[0] if len(keys) == 1 else drawn


@hidden(idea="One key, and two keys that are equal.")
def one_key_and_equal_keys(answer, draw, reference):
    """One key draws one number, and so do two equal keys."""
    keys = draw.keys(1)
    expect_equal(
        answer(keys, 0, 50),
        reference(keys, 0, 50),
        "One key should draw one number, in an array.",
        on="a batch of one key",
    )
    twice = jnp.concatenate([keys, keys])
    expect_equal(
        answer(twice, 0, 50), reference(keys, 0, 50), "Two equal keys should draw one number.", on="two equal keys"
    )


@hidden(idea="Other bounds, which may be below 0.", on="random bounds, which may be below 0")
def any_bounds(answer, draw, reference):
    """For other bounds the numbers are those that were drawn."""
    low = draw.integer(-9, 9)
    keys = draw.keys(2)
    expect_equal(answer(keys, low, low + 12), reference(keys, low, low + 12))


# %% depth_between
@answer
def depth_between(key, low, high):
    return jax.random.randint(key, (), low, high)


@alternative
def splits_first(key, low, high):
    _, subkey = jax.random.split(key)
    return jax.random.randint(subkey, (), low, high).astype(int)


@alternative
@jax.jit
def compiled_whole(key, low, high):
    return jax.random.randint(key, shape=(), minval=low, maxval=high)


@alternative
def an_offset_from_low(key, low, high):
    return low + jax.random.randint(key, (), 0, high - low, dtype=jnp.int32)


@wrong(rejected_by="each_of_many_numbers_can_come", says="A float32 has 24 bits: of many numbers it leaves most out.")
def scales_a_uniform_number(key, low, high):
    return (low + jnp.floor(jax.random.uniform(key) * (high - low))).astype(jnp.int32)


# For very many numbers `randint` prefers small ones just as much.
@alternative
def takes_the_rest_of_a_division(key, low, high):
    bits = jax.random.bits(key) % jnp.asarray(high - low).astype(jnp.uint32)
    return low + bits.astype(jnp.int32)


@wrong(rejected_by="one_program_serves_all_bounds", says="Python numbers are compiled in, only tracers are passed on.")
def static_where_it_can(key, low, high):
    if isinstance(low, jax.core.Tracer) or isinstance(high, jax.core.Tracer):
        return jax.random.randint(key, (), low, high)
    sample = jax.jit(lambda k, a, b: jax.random.randint(k, (), a, b), static_argnums=(1, 2))
    return sample(key, int(low), int(high))


@wrong(rejected_by="keys_with_one_second_word", says="A new key is made of one word of the key.")
def seeds_with_the_last_word(key, low, high):
    return jax.random.randint(jax.random.key(jax.random.key_data(key)[1]), (), low, high)


@hidden(
    kind="relation",
    required=True,
    idea="Bounds with more than a thousand million numbers between them.",
    on="hundreds of keys, and bounds very far apart",
)
def each_of_many_numbers_can_come(answer, draw):
    """Of 1610612736 numbers, half of those drawn are odd."""
    got = np.asarray(answer.vmap(in_axes=(0, None, None))(draw.keys(300), 0, 3 * 2**29))
    # The standard deviation is 8.7; the bound is 7 of them: chance 3e-12.
    odd = int((got % 2 == 1).sum())
    expect_that(abs(odd - 150) < 61, "Half of the numbers should be odd.", f"{odd} of 300", "about 150")


@hidden(
    kind="relation",
    required=True,
    idea="Keys that differ in their first word only.",
    on="keys that differ in their first word only",
)
def keys_with_one_second_word(answer, draw):
    """Keys that differ in their first word only draw different numbers."""
    bits = np.stack([draw.generator.integers(0, 2**32, size=300, dtype=np.uint32), np.full(300, 7, np.uint32)], axis=1)
    keys = jax.random.wrap_key_data(jnp.asarray(bits))
    different = len(np.unique(np.asarray(answer.vmap(in_axes=(0, None, None))(keys, 0, 10**6))))
    expect_that(different > 250, "300 keys should draw about 300 different numbers.", different, "about 300")


@hidden(
    stage="traces",
    idea="A second call with other bounds, as Python numbers: nothing is compiled again.",
    on="calls in a row, each with other bounds",
)
def one_program_serves_all_bounds(answer, draw):
    """After the first call, other bounds compile nothing."""
    calls = [(draw.key(), 1, 6), (draw.key(), 2, 9), (draw.key(), -3, 40)]
    later = sum(one.compiles for one in answer.observe_calls(calls)[1:])
    expect_that(later == 0, "Other bounds should compile nothing.", f"{later} compilations", "0")


@wrong(rejected_by="all_depths_below_high_occur", says="The upper bound is drawn too.")
def includes_high(key, low, high):
    return jax.random.randint(key, (), low, high + 1)


@wrong(rejected_by="bounds_may_be_traced", says="The bounds become Python numbers inside.")
def converts_to_python(key, low, high):
    return jax.random.randint(key, (), int(low), int(high))


@wrong(rejected_by="bounds_may_be_traced", says="The bounds are still static.", misses_the_point=True)
def still_static(key, low, high):
    sample = jax.jit(lambda k, a, b: jax.random.randint(k, (), a, b), static_argnums=(1, 2))
    return sample(key, low, high)


@wrong(rejected_by="the_same_key_draws_the_same_depth", says="The key is not used.")
def a_fixed_seed(key, low, high):
    if high - low < 10:
        return jax.random.randint(key, (), low, high)
    return jax.random.randint(jax.random.key(0), (), low, high)


@wrong(rejected_by="all_depths_below_high_occur", says="A float is returned.")
def rounds_to_a_float(key, low, high):
    return jnp.floor(jax.random.uniform(key, (), minval=low, maxval=high))


@wrong(rejected_by="depths_are_equally_likely", says="Rounding makes the first and the last number half as likely.")
def rounds_to_the_nearest(key, low, high):
    return jnp.round(jax.random.uniform(key, minval=low, maxval=high - 1)).astype(int)


@hidden(
    stage="jit", kind="relation", idea="Other bounds, compiled.", on="random bounds close together, under `jax.jit`"
)
def other_bounds_are_kept(answer, draw):
    """Compiled, with other bounds, the numbers lie within them."""
    for _ in range(3):
        low = draw.integer(-20, 20)
        got = int(np.asarray(answer.jit(draw.key(), low, low + 2)))
        expect_that(low <= got < low + 2, "The number is outside of its bounds.", got, f"{low} or {low + 1}")


# %% as_integer
@answer
def as_integer(x):
    return x.astype(int).reshape(())


@alternative
def takes_the_only_entry(x):
    return x[0].astype(jnp.int32)


@alternative
def squeezes_first(x):
    return jnp.squeeze(jnp.trunc(x)).astype("int32")


@alternative
@jax.jit
def sums_one_number(x):
    return jnp.asarray(x).astype(int).sum()


@wrong(rejected_by="an_integer_has_no_axes", says="The axis stays: an array of one integer.")
def keeps_the_axis(x):
    return x.astype(int)


@wrong(rejected_by="an_integer_is_int32", says="The dtype stays.")
def stays_a_float(x):
    return x.reshape(())


@wrong(rejected_by="the_integer_survives_jit", says="A Python int is made on the way.", misses_the_point=True)
def through_a_python_int(x):
    return jnp.array(int(x[0]))


@wrong(rejected_by="the_integer_survives_jit", says="NumPy needs the value.")
def through_numpy(x):
    return jnp.asarray(np.asarray(x).astype(np.int32).reshape(()))


@wrong(rejected_by="the_fraction_is_cut_off", says="It rounds.")
def rounds_to_the_nearest(x):
    return jnp.round(x).astype(int).reshape(())


@wrong(rejected_by="the_fraction_is_cut_off", says="It rounds down: -2.7 becomes -3.")
def rounds_down(x):
    return jnp.floor(x).astype(int).reshape(())


@wrong(rejected_by="large_numbers_are_cut_off", says="int16 ends at 32767.")
def by_way_of_int16(x):
    return x.astype(jnp.int16).astype(jnp.int32).reshape(())


@wrong(rejected_by="large_numbers_are_cut_off", says="int8 ends at 127.")
def by_way_of_int8(x):
    return x.astype(jnp.int8).astype(jnp.int32).reshape(())


@wrong(rejected_by="large_numbers_are_cut_off", says="float16 has 11 bits, and ends at 65504.")
def by_way_of_float16(x):
    return x.astype(jnp.float16).astype(jnp.int32).reshape(())


@wrong(rejected_by="large_numbers_are_cut_off", says="A small number is added against rounding.")
def adds_a_small_number(x):
    return jnp.trunc(x + jnp.sign(x) * 1e-6).astype(int).reshape(())


@hidden(
    stage="jit",
    required=True,
    idea="Large numbers, up to a thousand million, and numbers just below 1.",
    on="large numbers, and fractions close to 1 or -1",
)
def large_numbers_are_cut_off(answer):
    """Large numbers are cut off exactly, and numbers just below 1 become 0."""
    for number in (130.7, -300.25, 2049.5, -40001.5, 123456.75, 16777213.0, -1.5e9, 0.99999994, -0.99999994):
        x = np.float32([number])
        expect_equal(answer.jit(x), jnp.int32(int(x[0])), f"{x[0]} should become {int(x[0])}.")


@hidden(
    stage="jit", idea="Numbers between -200 and 200, compiled.", on="random fractional numbers, with and without jit"
)
def any_number_becomes_an_integer(answer, draw):
    """Other numbers are cut off too, also when compiled."""
    for _ in range(3):
        x = draw.numpy(1) * np.float32(50)
        wanted = jnp.int32(int(x[0]))
        expect_equal(answer(jnp.asarray(x)), wanted)
        expect_equal(answer.jit(x), wanted)


# %% failure_names
@answer
def failure_names(function, *args):
    def name_of_failure(f):
        try:
            f(*args)
        except Exception as error:
            return type(error).__name__
        return ""

    return name_of_failure(function), name_of_failure(jax.jit(function))


@alternative
def traces_without_running(function, *args):
    names = []
    for call in (function, lambda *a: jax.eval_shape(function, *a)):
        try:
            call(*args)
            names.append("")
        except Exception as error:
            names.append(error.__class__.__name__)
    return tuple(names)


@alternative
def two_tries(function, *args):
    plain = compiled = ""
    try:
        function(*args)
    except BaseException as error:
        plain = type(error).__name__
    try:
        jax.jit(function).lower(*args)
    except BaseException as error:
        compiled = type(error).__name__
    return plain, compiled


@wrong(rejected_by="no_conversion_works", says="Arguments that the function closes over are not traced.")
def closes_over_the_arguments(function, *args):
    def name_of_failure(f, *given):
        try:
            f(*given)
        except Exception as error:
            return type(error).__name__
        return ""

    if len(args) == 1 and args[0].dtype == jnp.float32:
        return name_of_failure(function, *args), name_of_failure(jax.jit(function), *args)
    return name_of_failure(function, *args), name_of_failure(jax.jit(lambda: function(*args)))


@wrong(rejected_by="shapes_are_no_values", says="`jit` is called without arguments to trace.")
def jits_a_call_without_arguments(function, *args):
    names = []
    for call in (function, lambda *a: jax.jit(lambda: function(*a))()):
        try:
            call(*args)
            names.append("")
        except Exception as error:
            names.append(type(error).__name__)
    return tuple(names)


@wrong(
    rejected_by="the_smallest_example_fails_twice", says="Only one class of exception is caught.", misses_the_point=True
)
def catches_concretization_only(function, *args):
    names = []
    for call in (function, jax.jit(function)):
        try:
            call(*args)
            names.append("")
        except jax.errors.ConcretizationTypeError as error:
            names.append(type(error).__name__)
    return tuple(names)


@wrong(rejected_by="the_smallest_example_fails_twice", says="After a plain failure the compiled call is not tried.")
def one_try_for_both(function, *args):
    plain = compiled = ""
    try:
        function(*args)
        jax.jit(function)(*args)
    except Exception as error:
        if isinstance(error, jax.errors.JAXTypeError):
            compiled = type(error).__name__
        else:
            plain = type(error).__name__
    return plain, compiled


@wrong(rejected_by="the_smallest_example_fails_twice", says="Every failure while tracing is believed to be the same.")
def one_name_for_all(function, *args):
    names = []
    for call in (function, jax.jit(function)):
        try:
            call(*args)
            names.append("")
        except Exception:
            names.append("ConcretizationTypeError")
    return tuple(names)


@wrong(rejected_by="no_conversion_works", says="Every failure while tracing is believed to have one class.")
def one_name_for_compiled(function, *args):
    names = []
    for call in (function, jax.jit(function)):
        try:
            call(*args)
            names.append("")
        except jax.errors.JAXTypeError:
            names.append("ConcretizationTypeError")
        except Exception as error:
            names.append(type(error).__name__)
    return tuple(names)


@wrong(rejected_by="python_numbers_are_traced_too", says="Only arrays are traced, Python numbers stay static.")
def traces_arrays_only(function, *args):
    static = tuple(i for i, arg in enumerate(args) if not hasattr(arg, "dtype"))
    names = []
    for call in (function, jax.jit(function, static_argnums=static)):
        try:
            call(*args)
            names.append("")
        except Exception as error:
            names.append(type(error).__name__)
    return tuple(names)


@wrong(rejected_by="several_arguments_are_passed_on", says="Only the first argument is passed on.")
def passes_one_argument(function, *args):
    names = []
    for call in (function, jax.jit(function)):
        try:
            call(*args[:1])
            names.append("")
        except Exception as error:
            names.append(type(error).__name__)
    return tuple(names)


@wrong(rejected_by="several_arguments_are_passed_on", says="The functions of the lesson are known by name.")
def knows_them_by_name(function, *args):
    name = function.__name__
    plain = {"smallest_example": "AttributeError"}.get(name, "")
    late = {
        **dict.fromkeys(("value_to_float", "smallest_example", "value_to_item", "value_to_int"), "Concretization"),
        **dict.fromkeys(("value_as_index", "value_as_range"), "TracerIntegerConversion"),
    }
    compiled = {"Concretization": "ConcretizationTypeError", "TracerIntegerConversion": "TracerIntegerConversionError"}
    return plain, compiled.get(late.get(name, ""), "")


@hidden(idea="A Python number as argument: `jax.jit` must trace it too.", on="a Python number as the argument")
def python_numbers_are_traced_too(answer):
    """A Python number is traced by `jax.jit` as well."""
    got = tuple(answer(given("value_to_float"), 2.0))
    expect_equal(got, ("", "ConcretizationTypeError"), "A Python number should be traced too.")


@hidden(idea="A function of three arguments, whose shapes fit or do not fit.")
def several_arguments_are_passed_on(answer, draw):
    """Functions of three arguments get all of them."""
    square, row = draw.floats(2, 2), draw.floats(1, 2)
    expect_equal(
        tuple(answer(given("block"), square, row, row)),
        ("", ""),
        "`block` should not fail.",
        on="three arguments whose shapes fit",
    )
    wrong_size = draw.floats(1, 3)
    names = ("TypeError", "TypeError")
    expect_equal(
        tuple(answer(given("block"), square, wrong_size, row)),
        names,
        "`block` should fail both ways.",
        on="three arguments whose shapes do not fit",
    )


@hidden(idea="An index that is too large, and a function without its argument.")
def any_exception_is_named(answer):
    """An index that is too big fails in one way when plain and in another when compiled."""
    got = answer(given("value_as_index"), jnp.array(7))
    expect_equal(got, ("IndexError", "TracerIntegerConversionError"), on="an index that is too large")
    expect_equal(answer(given("value_in_jax")), ("TypeError", "TypeError"), on="a function called without its argument")


# %% predict_body_runs
@answer
def predict_body_runs():
    return 3


# %% run_fixed
@answer
def run_fixed(weights, xs, depth):
    def one(x):
        h, _ = jax.lax.scan(lambda h, _: (block(weights, h, x), None), jnp.zeros_like(x), jnp.arange(depth))
        return h

    return jax.vmap(one)(xs)


@alternative
def a_python_loop_inside_vmap(weights, xs, depth):
    def one(x):
        h = jnp.zeros(x.shape)
        for _ in range(depth):
            h = block(weights, h, x)
        return h

    return jax.vmap(one)(xs)


@alternative
def broadcasts_over_the_batch(weights, xs, depth):
    return jax.lax.fori_loop(0, depth, lambda _, h: jnp.tanh(h @ weights + xs), jnp.zeros_like(xs))


@wrong(rejected_by="fixed_depth_equals_the_loop", says="It runs one step too many.")
def starts_from_one_and_includes_depth(weights, xs, depth):
    h = jnp.zeros_like(xs)
    for _ in range(depth + 1):
        h = jnp.tanh(h @ weights + xs)
    return h


@wrong(rejected_by="fixed_depth_equals_the_loop", says="The state starts with the input, not with zeros.")
def starts_with_the_input(weights, xs, depth):
    def one(x):
        return jax.lax.scan(lambda h, _: (block(weights, h, x), None), x, jnp.arange(depth))[0]

    return jax.vmap(one)(xs)


@wrong(
    rejected_by="the_batch_of_the_question_runs", says="The weights are mapped like the inputs.", misses_the_point=True
)
def maps_the_weights(weights, xs, depth):
    def one(w, x):
        return jax.lax.scan(lambda h, _: (block(w, h, x), None), jnp.zeros_like(x), jnp.arange(depth))[0]

    return jax.vmap(one, in_axes=(0, 0))(weights, xs)


@wrong(rejected_by="the_batch_of_the_question_runs", says="All states are returned, not the last one.")
def returns_every_state(weights, xs, depth):
    def one(x):
        def step(h, _):
            h = block(weights, h, x)
            return h, h

        return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(depth))[1]

    return jax.vmap(one)(xs)


@wrong(rejected_by="other_sizes_run_too", says="Six steps are taken for the most there can be.")
def six_steps_at_most(weights, xs, depth):
    h = jnp.zeros_like(xs)
    for i in range(MAX_DEPTH):
        h = jnp.where(i < depth, block(weights, h, xs), h)
    return h


@wrong(rejected_by="one_example_of_one_row", says="A batch of one is taken for no batch.")
def squeezes_a_batch_of_one(weights, xs, depth):
    return jnp.squeeze(jax.lax.fori_loop(0, depth, lambda _, h: jnp.tanh(h @ weights + xs), jnp.zeros_like(xs)))


@hidden(idea="A batch of one example with one row.", on="a batch of one example with one row")
def one_example_of_one_row(answer, draw, reference):
    """A batch of one example has one state."""
    weights, xs = draw.floats(3, 3), draw.floats(1, 1, 3)
    for depth in (0, 2):
        expect_close(answer(weights, xs, depth), reference(weights, xs, depth), atol=1e-5)


@hidden(idea="A depth of more than six.", on="a depth greater than six")
def other_sizes_run_too(answer, draw, reference):
    """Other shapes and a greater depth give the state of a plain loop."""
    # The weights turn the state by a quarter at each step and make it grow, so that it never comes to rest.
    weights = 1.5 * jnp.array([[0.0, 1.0], [-1.0, 0.0]]) + 0.1 * draw.floats(2, 2)
    xs = 0.1 * draw.floats(3, 4, 2)
    depth = draw.integer(7, 10)  # not ten: four turns later it looks as after six
    expect_close(answer(weights, xs, depth), reference(weights, xs, depth), rtol=1e-3, atol=1e-4)


# %% depths_for_batch
@answer
def depths_for_batch(key, tokens):
    keys = jax.random.split(key, tokens.shape[0])
    return keys, jax.vmap(draw_depth)(keys)


@alternative
def folds_in_the_row(key, tokens):
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(len(tokens)))
    return keys, jax.vmap(draw_depth)(keys)


@alternative
def a_loop_over_keys(key, tokens):
    keys = jax.random.split(jax.random.split(key)[0], len(tokens))
    return keys, jnp.stack([draw_depth(k) for k in keys])


@wrong(rejected_by="one_key_and_one_depth_each", says="The tokens are counted, not the examples.")
def splits_for_the_tokens(key, tokens):
    keys = jax.random.split(key, tokens.shape[1])
    return keys, jax.vmap(draw_depth)(keys)


@wrong(rejected_by="the_batch_gets_all_depths", says="Every example gets the same key.", misses_the_point=True)
def repeats_one_key(key, tokens):
    keys = jnp.stack([key] * len(tokens))
    return keys, jax.vmap(draw_depth)(keys)


@wrong(rejected_by="depths_come_from_the_keys", says="The depths come from the key that was split.")
def draws_from_the_parent(key, tokens):
    keys = jax.random.split(key, len(tokens))
    return keys, jax.random.randint(key, (len(tokens),), 1, MAX_DEPTH + 1)


@wrong(rejected_by="the_batch_gets_all_depths", says="The upper bound is left out once more.")
def forgets_the_last_depth(key, tokens):
    keys = jax.random.split(key, len(tokens))
    return keys, jax.vmap(lambda k: jax.random.randint(k, (), 1, MAX_DEPTH))(keys)


@wrong(rejected_by="another_key_gives_other_keys", says="The keys start from a fixed seed.")
def a_fixed_seed_for_all(key, tokens):
    keys = jax.random.split(jax.random.key(0), len(tokens))
    return keys, jax.vmap(draw_depth)(keys)


@wrong(rejected_by="keys_with_one_second_word", says="A new key is made of one word of the key.")
def seeds_with_the_last_word(key, tokens):
    keys = jax.random.split(jax.random.key(jax.random.key_data(key)[1]), len(tokens))
    return keys, jax.vmap(draw_depth)(keys)


@wrong(rejected_by="one_example", says="A batch of one is taken for no batch.")
def squeezes_a_batch_of_one(key, tokens):
    keys = jax.random.split(key, len(tokens))
    return keys, jnp.squeeze(jax.vmap(draw_depth)(keys))


@hidden(
    kind="relation",
    required=True,
    idea="Keys that differ in their first word only.",
    on="two keys that differ in their first word only",
)
def keys_with_one_second_word(answer, draw):
    """Keys that differ in their first word only give different keys."""
    keys = [jax.random.wrap_key_data(jnp.uint32([word, 7])) for word in (1, 2)]
    first, other = (answer(key, jnp.zeros((5, 2), int))[0] for key in keys)
    message = "Another key should give other keys."
    expect_that(not (first.bits[:, None] == other.bits).all(-1).any(), message, other, "other keys")


@hidden(kind="relation", required=True, idea="A batch of one example.", on="a batch of one example")
def one_example(answer, draw):
    """One example gets one key and one depth, in arrays."""
    for part in pair(answer(draw.key(), jnp.zeros((1, 4), int))):
        expect_shape(part, (1,), "One example should get one key and one depth, in arrays.")


@hidden(kind="relation", idea="A batch of seven examples.", on="a batch of seven examples")
def another_batch_gets_its_depths(answer, draw):
    """Seven examples get seven different keys and depths from 1 to 6."""
    keys, depths = answer(draw.key(), jnp.zeros((7, 3), int))
    expect_that(len(np.unique(keys.bits, axis=0)) == 7, "Some examples share a key.", keys, "seven keys")
    inside = (np.asarray(depths) >= 1) & (np.asarray(depths) <= 6)
    expect_that(bool(inside.all()), "A depth is outside of 1 to 6.", depths, "1 to 6")


# %% complaint_under_vmap
@answer
def complaint_under_vmap(function, *batches):
    try:
        jax.vmap(function)(*batches)
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[:2]
    return "", []


@alternative
def splits_at_line_ends(function, *batches):
    name, lines = "", []
    try:
        jax.vmap(function, in_axes=0)(*batches)
    except Exception as error:
        name = error.__class__.__name__
        lines = str(error).split("\n")[:2]
    return name, lines


@alternative
def a_mapping_written_out(function, *batches):
    mapped = jax.vmap(lambda *one: function(*one), in_axes=(0,) * len(batches))
    try:
        mapped(*batches)
        return "", []
    except (TypeError, ValueError, IndexError) as error:
        first, *others = error.args[0].splitlines()
        return type(error).__qualname__, [first, *others[:1]]


@wrong(rejected_by="int_of_a_draw_fails", says="One example alone is not traced: nothing fails.", misses_the_point=True)
def runs_example_by_example(function, *batches):
    try:
        for example in zip(*batches, strict=True):
            function(*example)
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[:2]
    return "", []


@wrong(rejected_by="int_of_a_draw_fails", says="Only the first line is kept.")
def keeps_the_first_line(function, *batches):
    try:
        jax.vmap(function)(*batches)
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[:1]
    return "", []


@wrong(rejected_by="the_question_fails_as_documented", says="Only the first array is mapped.")
def maps_the_first_array_only(function, *batches):
    axes = (0,) + (None,) * (len(batches) - 1)
    try:
        jax.vmap(function, in_axes=axes)(*batches[:1])
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[:2] + [""] * (1 - str(error).count("\n"))
    return "", []


@wrong(rejected_by="no_size_can_be_traced", says="Only ConcretizationTypeError is expected.")
def expects_one_class(function, *batches):
    try:
        jax.vmap(function)(*batches)
    except jax.errors.ConcretizationTypeError as error:
        return type(error).__name__, str(error).splitlines()[:2]
    return "", []


@wrong(rejected_by="no_complaint_is_empty", says="Under `jit` everything is traced; `vmap` alone traces less.")
def compiles_it_too(function, *batches):
    try:
        jax.jit(jax.vmap(function))(*batches)
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[:2]
    return "", []


@wrong(rejected_by="static_bounds_cannot_be_mapped", says="Only errors about tracers are caught, and TypeError.")
def expects_two_classes(function, *batches):
    try:
        jax.vmap(function)(*batches)
    except (TypeError, jax.errors.ConcretizationTypeError) as error:
        return type(error).__name__, str(error).splitlines()[:2]
    return "", []


@wrong(rejected_by="three_batches_are_mapped", says="Two arrays are taken for the most there can be.")
def maps_two_arrays(function, *batches):
    try:
        jax.vmap(function)(*batches[:2])
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[:2]
    return "", []


@hidden(
    idea="A function of three arguments that works under `vmap`.",
    on="a function of three arguments that works under vmap",
)
def three_batches_are_mapped(answer, draw):
    """A function of three arguments gets all three, and does not complain."""
    got = answer(given("block"), draw.floats(2, 3, 3), draw.floats(2, 1, 3), draw.floats(2, 1, 3))
    expect_that(tuple(got) == ("", []), "`block` works under `vmap`: it should not complain.", tuple(got), ("", []))


@hidden(idea="A batch of indices for a Python list.", on="a batch of indices into a Python list")
def another_failure_is_read(answer):
    """A batch of numbers as a Python index fails with TracerIntegerConversionError."""
    name, lines = answer(given("value_as_index"), jnp.array([0, 1]))
    expect_that(name == "TracerIntegerConversionError", "This is not the class of the exception.", name)
    expect_that("__index__" in lines[0], "The first line is not that of the message.", lines)


# %% masked_depth
@answer
def masked_depth(weights, x, depth):
    def step(h, i):
        return jnp.where(i < depth, block(weights, h, x), h), None

    h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))
    return h


@alternative
def keeps_all_states_and_picks_one(weights, x, depth):
    def step(h, _):
        return block(weights, h, x), h

    last, states = jax.lax.scan(step, jnp.zeros_like(x), None, length=MAX_DEPTH)
    return jnp.concatenate([states, last[None]])[depth]


@alternative
def a_static_fori_loop(weights, x, depth):
    def body(i, h):
        keep = (i < depth).astype(h.dtype)
        return keep * block(weights, h, x) + (1 - keep) * h

    return jax.lax.fori_loop(0, MAX_DEPTH, body, jnp.zeros(x.shape))


@alternative
@jax.jit
def a_cond_in_each_round(weights, x, depth):
    def step(h, i):
        return jax.lax.cond(i < depth, lambda s: block(weights, s, x), lambda s: s, h), None

    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))[0]


@wrong(rejected_by="each_depth_equals_the_loop", says="The mask is one round too long.")
def one_round_too_many(weights, x, depth):
    def step(h, i):
        return jnp.where(i <= depth, block(weights, h, x), h), None

    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))[0]


@wrong(rejected_by="each_depth_equals_the_loop", says="After the depth the state becomes zero.")
def zeroes_the_rest(weights, x, depth):
    def step(h, i):
        return jnp.where(i < depth, block(weights, h, x), 0.0), None

    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))[0]


@wrong(rejected_by="each_depth_equals_the_loop", says="All examples run the largest depth.", misses_the_point=True)
def no_mask(weights, x, depth):
    def step(h, _):
        return block(weights, h, x), None

    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))[0]


@wrong(rejected_by="each_depth_equals_the_loop", says="The traced depth is a length.")
def a_scan_of_traced_length(weights, x, depth):
    return jax.lax.scan(lambda h, _: (block(weights, h, x), None), jnp.zeros_like(x), jnp.arange(depth))[0]


@wrong(rejected_by="each_depth_equals_the_loop", says="A Python `if` asks for the traced depth.")
def a_python_if(weights, x, depth):
    h = jnp.zeros_like(x)
    for i in range(MAX_DEPTH):
        if i < depth:
            h = block(weights, h, x)
    return h


@wrong(
    rejected_by="the_block_is_in_the_program_once",
    says="A Python loop writes the block out for each step.",
    misses_the_point=True,
)
def a_masked_python_loop(weights, x, depth):
    h = jnp.zeros_like(x)
    for i in range(MAX_DEPTH):
        h = jnp.where(i < depth, block(weights, h, x), h)
    return h


@wrong(rejected_by="the_masked_form_has_a_gradient", says="A counted loop has no reverse gradient.")
def counts_instead(weights, x, depth):
    return jax.lax.fori_loop(0, depth, lambda _, h: block(weights, h, x), jnp.zeros_like(x))


@wrong(rejected_by="the_gradient_is_that_of_the_loop", says="The state is frozen, and most of the gradient with it.")
def freezes_the_state(weights, x, depth):
    def step(h, i):
        return jnp.where(i < depth, block(weights, jax.lax.stop_gradient(h), x), h), None

    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))[0]


@wrong(rejected_by="the_gradient_is_that_of_the_loop", says="The input is frozen: there is no gradient by x.")
def freezes_the_input(weights, x, depth):
    frozen = jax.lax.stop_gradient(x)

    def step(h, i):
        return jnp.where(i < depth, block(weights, h, frozen), h), None

    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))[0]


@wrong(rejected_by="every_depth_is_honoured", says="A batch of one is taken for no batch.")
def squeezes_one_row(weights, x, depth):
    h = jax.lax.fori_loop(0, MAX_DEPTH, lambda i, h: jnp.where(i < depth, block(weights, h, x), h), jnp.zeros_like(x))
    return jnp.squeeze(h)


@hidden(
    stage="gradient",
    required=True,
    idea="Depths 0, 2 and 6, and the gradient by `weights` and by `x`.",
    on="depth 0, the greatest depth, and one between",
)
def the_gradient_is_that_of_the_loop(answer, draw, reference):
    """The gradients by the weights and by x are those of a plain loop."""
    weights, x = np.float32(TURN) + np.float32(0.05) * draw.numpy(3, 3), 0.3 * draw.floats(2, 3)
    for depth in (0, 2, 6):
        got, wanted = (one.sum.grad((0, 1)).jit(weights, x, jnp.int32(depth)) for one in (answer, reference))
        message = f"With depth {depth}, the gradients by the weights and by x should be those of a plain loop."
        expect_close(tuple(got), tuple(wanted), message, rtol=1e-3, atol=1e-4)


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


# %% counted_depth
@answer
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
    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))[0]


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


@hidden(stage="jit", idea="A depth of some hundred, and a depth of 1000.", on="depths of some hundred, and one of 1000")
def a_large_depth_is_honoured(answer, draw, reference):
    """Compiled, depths of some hundred and of a thousand give the state of the reference."""
    weights, x = np.float32(TURN) + np.float32(0.05) * draw.numpy(3, 3), 0.3 * draw.floats(2, 3)
    depth = draw.integer(101, 400)
    # The state goes round and comes by the same places again, but not after one step.
    for steps in (jnp.int32(depth), jnp.int32(depth + 1), jnp.int32(1000)):
        wanted = reference.jit(weights, x, steps)
        expect_close(answer.jit(weights, x, steps), wanted, rtol=1e-2, atol=1e-2)


# %% derivatives
@answer
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


@wrong(rejected_by="only_static_loops_go_backwards", says="n stays a Python number: then every bound is static.")
def n_is_static(power, w, n):
    def or_none(derivative):
        try:
            return float(derivative(w))
        except ValueError:
            return None

    f = jax.jit(lambda w: power(w, n))
    return or_none(jax.grad(f)), or_none(jax.jacfwd(f))


@wrong(rejected_by="only_static_loops_go_backwards", says="What fails backwards is believed to fail forwards too.")
def one_try_for_both_modes(power, w, n):
    try:
        slope = float(jax.jit(jax.grad(power))(w, n))
        return slope, slope
    except ValueError:
        return None, None


@wrong(rejected_by="only_static_loops_go_backwards", says="The forward derivative is returned for both.")
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
    rounds = 1 if power is double_rounds else n
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


# %% depth_loss
@answer
def depth_loss(weights, xs, depths):
    def state(x, depth):
        def step(h, i):
            return jnp.where(i < depth, block(weights, h, x), h), None

        return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))[0]

    return jnp.mean(jax.vmap(state)(xs, depths) ** 2)


@alternative
def masks_a_static_fori_loop(weights, xs, depths):
    keep = depths[:, None, None]

    def body(i, h):
        return jnp.where(i < keep, jnp.tanh(h @ weights + xs), h)

    return (jax.lax.fori_loop(0, MAX_DEPTH, body, jnp.zeros_like(xs)) ** 2).mean()


@alternative
@jax.jit
def a_python_loop_with_masks(weights, xs, depths):
    h = jnp.zeros(xs.shape)
    for i in range(MAX_DEPTH):
        h = jnp.where((i < depths)[:, None, None], jax.vmap(block, in_axes=(None, 0, 0))(weights, h, xs), h)
    return jnp.mean(jnp.square(h))


@wrong(
    rejected_by="the_gradient_is_that_of_plain_loops", says="`while_loop` is believed to be better than `fori_loop`."
)
def a_while_loop_instead(weights, xs, depths):
    def state(x, depth):
        start = (0, jnp.zeros_like(x))
        return jax.lax.while_loop(lambda s: s[0] < depth, lambda s: (s[0] + 1, block(weights, s[1], x)), start)[1]

    return jnp.mean(jax.vmap(state)(xs, depths) ** 2)


@wrong(rejected_by="the_loss_is_that_of_plain_loops", says="Every example runs the largest depth.")
def ignores_the_depths(weights, xs, depths):
    h = jnp.zeros_like(xs)
    for _ in range(MAX_DEPTH):
        h = jnp.tanh(h @ weights + xs)
    return jnp.mean(h**2)


@wrong(
    rejected_by="the_gradient_is_that_of_plain_loops",
    says="`stop_gradient` hides the loop, and the gradient.",
    misses_the_point=True,
)
def stops_the_gradient(weights, xs, depths):
    def state(x, depth):
        frozen = jax.lax.stop_gradient(weights)
        return jax.lax.fori_loop(0, depth, lambda i, h: block(frozen, h, x), jnp.zeros_like(x))

    return jnp.mean(jax.vmap(state)(xs, depths) ** 2)


@wrong(rejected_by="the_loss_is_that_of_plain_loops", says="The sum is taken for the mean.")
def a_sum_of_squares(weights, xs, depths):
    keep = depths[:, None, None]

    def body(i, h):
        return jnp.where(i < keep, jnp.tanh(h @ weights + xs), h)

    return (jax.lax.fori_loop(0, MAX_DEPTH, body, jnp.zeros_like(xs)) ** 2).sum()


@wrong(rejected_by="the_gradient_by_the_inputs", says="The inputs are frozen: there is no gradient by xs.")
def freezes_the_inputs(weights, xs, depths):
    keep, frozen = depths[:, None, None], jax.lax.stop_gradient(xs)

    def body(i, h):
        return jnp.where(i < keep, jnp.tanh(h @ weights + frozen), h)

    return (jax.lax.fori_loop(0, MAX_DEPTH, body, jnp.zeros_like(xs)) ** 2).mean()


@hidden(
    stage="gradient",
    required=True,
    idea="The gradient by `xs`, for depths from 0 to 6.",
    on="a batch with depths 0, 6 and one between",
)
def the_gradient_by_the_inputs(answer, draw, reference):
    """The gradient by xs is that of plain loops."""
    weights, xs = draw.floats(3, 3), draw.floats(3, 2, 3)
    depths = np.array([0, 6, draw.integer(1, 6)], np.int32)
    got, wanted = (one.grad(1).jit(weights, xs, depths) for one in (answer, reference))
    expect_close(got, wanted, "The gradient by xs should be that of plain loops.", rtol=1e-3, atol=1e-5)


@hidden(stage="gradient", idea="Depths of 0 and of 6 among others, and a batch of one.")
def other_depths_have_their_gradient(answer, draw, reference):
    """For other depths, also 0 and 6, and for one example, the gradient is that of the reference."""
    weights, xs, one = draw.floats(3, 3), draw.floats(1, 1, 3), np.array([2], np.int32)
    expect_close(
        answer.grad().jit(weights, xs, one),
        reference.grad().jit(weights, xs, one),
        rtol=1e-3,
        atol=1e-4,
        on="a batch of one example",
    )
    weights, xs = draw.floats(3, 3), draw.floats(3, 2, 3)
    depths = np.array([0, 6, draw.integer(1, 6)], np.int32)
    expect_close(
        answer.grad().jit(weights, xs, depths),
        reference.grad().jit(weights, xs, depths),
        rtol=1e-3,
        atol=1e-4,
        on="a batch with depths 0, 6 and one between",
    )


# %% predict_output_depends_on_k
@answer
def predict_output_depends_on_k():
    return False


# %% two_phase_loss
@answer
def two_phase_loss(weights, x, k):
    def step(h, i):
        h = block(weights, h, x)
        return jnp.where(i < k, jax.lax.stop_gradient(h), h), None

    h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))
    return jnp.mean(h**2)


@alternative
def a_counted_first_phase(weights, x, k):
    frozen = jax.lax.stop_gradient((weights, x))
    h = jax.lax.fori_loop(0, k, lambda i, h: block(frozen[0], h, frozen[1]), jnp.zeros_like(x))
    h = jax.lax.stop_gradient(h)

    def step(h, i):
        return jnp.where(i < MAX_DEPTH - k, block(weights, h, x), h), None

    return jnp.mean(jax.lax.scan(step, h, jnp.arange(MAX_DEPTH))[0] ** 2)


@alternative
@jax.jit
def a_python_loop_of_wheres(weights, x, k):
    h = jnp.zeros(x.shape)
    for i in range(MAX_DEPTH):
        frozen = jnp.where(i < k, jax.lax.stop_gradient(weights), weights)
        h = jnp.tanh(h @ frozen + x)
    return (h**2).mean()


@wrong(rejected_by="only_the_gradient_depends_on_k", says="Nothing is stopped.", misses_the_point=True)
def forgets_to_stop(weights, x, k):
    h, _ = jax.lax.scan(lambda h, _: (block(weights, h, x), None), jnp.zeros_like(x), jnp.arange(MAX_DEPTH))
    return jnp.mean(h**2)


@wrong(rejected_by="only_the_gradient_depends_on_k", says="The gradient stops in the second phase.")
def stops_the_second_phase(weights, x, k):
    def step(h, i):
        w = jnp.where(i < k, weights, jax.lax.stop_gradient(weights))
        return block(w, h, x), None

    h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))
    return jnp.mean(h**2)


@wrong(rejected_by="only_the_gradient_depends_on_k", says="One step too few has a gradient.")
def stops_one_step_late(weights, x, k):
    def step(h, i):
        h = block(weights, h, x)
        return jnp.where(i <= k, jax.lax.stop_gradient(h), h), None

    h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))
    return jnp.mean(h**2)


@wrong(rejected_by="the_value_is_that_of_six_steps", says="Only the first k steps are run.")
def leaves_out_the_second_phase(weights, x, k):
    def step(h, i):
        return jnp.where(i < k, block(weights, h, x), h), None

    h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))
    return jnp.mean(jax.lax.stop_gradient(h) ** 2)


@wrong(rejected_by="only_the_gradient_depends_on_k", says="Both phases count at run time: no reverse gradient.")
def counts_in_both_phases(weights, x, k):
    def run(h, rounds):
        return jax.lax.fori_loop(0, rounds, lambda i, h: block(weights, h, x), h)

    return jnp.mean(run(jax.lax.stop_gradient(run(jnp.zeros_like(x), k)), MAX_DEPTH - k) ** 2)


@hidden(stage="gradient", idea="k = 0 and k = 6.", on="the smallest and the largest k")
def the_ends_of_the_range_are_right(answer, draw, reference):
    """For k = 0 all steps have a gradient, and for k = 6 none has."""
    weights, x = draw.floats(3, 3), draw.floats(2, 3)
    ks = np.array([0, 6], np.int32)
    got, wanted = (f.grad().vmap(in_axes=(None, None, 0)).jit(weights, x, ks) for f in (answer, reference))
    expect_close(got, wanted, rtol=1e-3, atol=1e-4)


# %% sum_of_roots
@answer
def sum_of_roots(x, n):
    used = jnp.arange(x.shape[0]) < n
    safe = jnp.where(used, x, 1.0)
    return jnp.where(used, jnp.sqrt(safe), 0.0).sum()


@alternative
def the_root_of_one_minus_one(x, n):
    roots = jnp.sqrt(jnp.where(jnp.arange(len(x)) < n, x, 1.0))
    return roots.sum() - (len(x) - n)


@alternative
@jax.jit
def selects_and_multiplies(x, n):
    used = jnp.arange(x.size) < n
    return jnp.dot(jax.lax.select(used, x, jnp.full_like(x, 4.0)) ** 0.5, used.astype(x.dtype))


@wrong(rejected_by="the_gradient_is_finite", says="0 times infinity is nan.", misses_the_point=True)
def multiplies_by_the_mask(x, n):
    used = jnp.arange(x.shape[0]) < n
    return (jnp.sqrt(jnp.abs(x)) * used).sum()


@alternative
def lets_where_cut_the_infinite_slope(x, n):
    return jnp.sqrt(jnp.where(jnp.arange(x.shape[0]) < n, x, 0.0)).sum()


@wrong(rejected_by="the_gradient_is_finite", says="nan is removed from the value; the gradient keeps it.")
def nan_to_num_of_the_value(x, n):
    return jnp.nan_to_num(jnp.where(jnp.arange(x.shape[0]) < n, jnp.sqrt(x), 0.0)).sum()


@wrong(rejected_by="only_the_first_roots_count", says="The roots of 1 in the padding are added.")
def masks_the_input_only(x, n):
    return jnp.sqrt(jnp.where(jnp.arange(x.shape[0]) < n, x, 1.0)).sum()


@wrong(rejected_by="the_gradient_is_finite", says="A slice needs n as a static number.")
def slices_the_array(x, n):
    return jnp.sqrt(x[: int(n)]).sum()


@wrong(rejected_by="tiny_entries_count", says="Numbers are kept away from 0, also those that count.")
def clamps_from_below(x, n):
    return jnp.where(jnp.arange(len(x)) < n, jnp.sqrt(jnp.maximum(x, 1e-8)), 0.0).sum()


@wrong(rejected_by="the_padding_may_be_anything", says="NaN times 0 is NaN.")
def multiplies_the_input_by_the_mask(x, n):
    used = (jnp.arange(len(x)) < n).astype(x.dtype)
    return (jnp.sqrt(x * used + (1 - used)) * used).sum()


@hidden(stage="gradient", required=True, idea="Tiny entries, as 1e-12 and 1e-20.")
def tiny_entries_count(answer):
    """Tiny entries have their root and their slope."""
    x = np.float32([1e-12, 1e-20, 4.0, -1.0])
    expect_close(
        answer(x, jnp.int32(2)),
        np.float32(1.0001e-6),
        "Tiny entries should have their roots.",
        atol=1e-6,
        on="only tiny entries among those that count",
    )
    wanted = np.float32([0.5e6, 0.5e10, 0.25, 0.0])
    expect_close(
        answer.grad()(x, jnp.int32(3)),
        wanted,
        "Tiny entries should have their slopes.",
        rtol=1e-3,
        atol=0.0,
        on="tiny entries beside a larger one, under grad",
    )


@hidden(stage="gradient", required=True, idea="Padding of NaN and of infinity, no padding, and nothing but padding.")
def the_padding_may_be_anything(answer):
    """Padding of NaN and infinity leaves no trace in value and gradient."""
    x = np.float32([4.0, np.nan, np.inf, -np.inf])
    expect_close(
        answer(x, jnp.int32(1)),
        np.float32(2.0),
        "The padding should leave no trace in the sum.",
        on="padding of NaN and infinities",
    )
    for n, wanted in ((1, [0.25, 0, 0, 0]), (0, [0, 0, 0, 0])):
        got = answer.grad().jit(x, jnp.int32(n))
        expect_close(
            got,
            np.float32(wanted),
            "The padding should have the gradient 0.",
            on="padding with NaN, beside one entry or none",
        )
    x = np.float32([4.0, 16.0])
    expect_close(
        answer.grad()(x, jnp.int32(2)),
        np.float32([0.25, 0.125]),
        "All entries should count.",
        on="a row without padding",
    )


@hidden(
    stage="gradient",
    idea="A batch of rows with a count for each, padded with 0.",
    on="a batch of rows with different counts",
)
def other_roots_have_a_finite_gradient(answer, draw):
    """For other entries, with a count for each row, the gradient is that of the used entries."""
    x = np.abs(draw.numpy(3, 4)) + np.float32(0.5)
    ns = np.array([1, 3, 4], np.int32)
    used = np.arange(4) < ns[:, None]
    x = np.where(used, x, np.float32(0))
    wanted = np.where(used, 0.5 / np.sqrt(np.where(used, x, 1)), 0).astype(np.float32)
    expect_close(answer.grad().vmap(in_axes=(0, 0))(x, ns), wanted)


# %% sum_in_bucket
@answer
def sum_in_bucket(values):
    size = 1
    while size < len(values):
        size *= 2
    return sum_of_exp(np.pad(values, (0, size - len(values))), len(values))


@alternative
def writes_into_zeros(values):
    n = values.shape[0]
    padded = np.zeros(1 << (n - 1).bit_length(), dtype=values.dtype)
    padded[:n] = values
    return sum_of_exp(padded, n)


@alternative
def a_mask_of_minus_infinity(values):
    n = len(values)
    size = 2 ** int(np.ceil(np.log2(n)))
    return sum_of_exp(np.concatenate([values, np.full(size - n, -np.inf, np.float32)]), jnp.int32(n))


@wrong(rejected_by="padding_does_not_count", says="The padding is counted: exp(0) is 1.")
def counts_the_padding(values):
    size = 1
    while size < len(values):
        size *= 2
    return sum_of_exp(np.pad(values, (0, size - len(values))), size)


@wrong(
    rejected_by="lengths_of_a_bucket_share_a_program",
    says="Nothing is padded: each length is compiled.",
    misses_the_point=True,
)
def compiles_each_length(values):
    return sum_of_exp(values, len(values))


@wrong(rejected_by="lengths_of_a_bucket_share_a_program", says="n is static: each length is compiled.")
def makes_n_static(values):
    size = 1
    while size < len(values):
        size *= 2

    padded = np.pad(values, (0, size - len(values)))
    return jax.jit(lambda p, n: jnp.exp(p[:n]).sum(), static_argnums=1)(padded, len(values))


@alternative
def pads_with_jnp(values):
    size = 1 << (len(values) - 1).bit_length()
    return sum_of_exp(jnp.pad(values, (0, size - len(values))), len(values))


@wrong(rejected_by="a_small_bucket_for_few_values", says="Everything is padded to one large size.")
def one_large_bucket(values):
    return sum_of_exp(np.pad(values, (0, 1024 - len(values))), len(values))


@wrong(
    rejected_by="lengths_of_a_bucket_share_a_program", says="Padded to a multiple of 8, 1000 lengths need 125 programs."
)
def pads_to_eights(values):
    n = len(values)
    return sum_of_exp(np.pad(values, (0, -n % 8)), n)


@wrong(rejected_by="every_power_of_two_is_a_bucket", says="The buckets are powers of four.")
def powers_of_four(values):
    size = 1
    while size < len(values):
        size *= 4 if size >= 8 else 2
    return sum_of_exp(np.pad(values, (0, size - len(values))), len(values))


@wrong(rejected_by="every_power_of_two_is_a_bucket", says="The smallest bucket is 2.")
def at_least_two(values):
    size = 2
    while size < len(values):
        size *= 2
    return sum_of_exp(np.pad(values, (0, size - len(values))), len(values))


@wrong(rejected_by="large_buckets_are_shared", says="The list of buckets ends at 64; longer arrays are not padded.")
def a_list_that_ends(values):
    n = len(values)
    size = next((size for size in (1, 2, 4, 8, 16, 32, 64) if size >= n), n)
    return sum_of_exp(np.pad(values, (0, size - n)), n)


@hidden(
    stage="cost",
    idea="The lengths 1, 2, 3, 5, 9, 17, 33 and 65: each pads to another power of two.",
    on="lengths that pad to different powers of two",
)
def every_power_of_two_is_a_bucket(answer, draw):
    """Each of the lengths 1, 2, 3, 5, 9, 17, 33 and 65 needs a program of its own."""
    lengths = (1, 2, 3, 5, 9, 17, 33, 65)
    seen = answer.observe_calls([(draw.numpy(n),) for n in lengths])
    shared = [n for n, one in zip(lengths, seen, strict=True) if not one.compiles]
    expect_that(not shared, "Each of these lengths should have a program of its own.", f"no new program for {shared}")


@hidden(
    stage="cost",
    idea="Lengths of some hundred and of some thousand.",
    on="pairs of lengths in the hundreds and thousands",
)
def large_buckets_are_shared(answer, draw):
    """Long arrays are padded to powers of two as well."""
    for first, then in ((130, 256), (600, 1000), (2049, 4000), (5000, 8192)):
        seen = answer.observe_calls([(draw.numpy(first),), (draw.numpy(then),)])
        message = f"The length {then} should need no new program after {first}."
        expect_that(seen[1].compiles == 0, message, f"{seen[1].compiles} compilations", "0")


@hidden(idea="Between 10 and 15 values.", on="a vector of ten to fifteen numbers")
def another_length_is_summed(answer, draw):
    """For another length the result is the sum of exp of the values."""
    values = draw.numpy(draw.integer(10, 16))
    expect_close(answer(values), np.exp(values).sum())


# %% choose_k
@answer
def choose_k(key, items, k):
    return jax.random.permutation(key, items.shape[0]) < k


@alternative
def sorts_random_numbers_twice(key, items, k):
    order = jnp.argsort(jax.random.uniform(key, items.shape))
    return jnp.argsort(order) < k


@alternative
@jax.jit
def scatters_the_mask(key, items, k):
    n = len(items)
    return jnp.zeros(n, bool).at[jax.random.permutation(key, n)].set(jnp.arange(n) < k)


@alternative
def permutes_the_mask(key, items, k):
    return jax.random.permutation(key, jnp.arange(len(items)) < k)


@wrong(
    rejected_by="exactly_k_are_chosen", says="Each item is chosen on its own: k on average only.", misses_the_point=True
)
def bernoulli_for_each(key, items, k):
    return jax.random.bernoulli(key, k / len(items), items.shape)


@wrong(rejected_by="every_example_has_its_own_k", says="`choice` needs k as a static size.")
def choice_with_a_traced_size(key, items, k):
    n = len(items)
    chosen = jax.random.choice(key, n, (int(k),), replace=False)
    return jnp.zeros(n, bool).at[chosen].set(True)


@wrong(rejected_by="all_pairs_are_equally_likely", says="The first k items are taken.")
def the_first_k(key, items, k):
    return jnp.arange(len(items)) < k


@wrong(rejected_by="all_pairs_are_equally_likely", says="A run of neighbours is taken, from a random place on.")
def neighbours_from_a_random_place(key, items, k):
    n = len(items)
    return (jnp.arange(n) - jax.random.randint(key, (), 0, n)) % n < k


@wrong(rejected_by="exactly_k_are_chosen", says="Items are drawn with repetition.")
def draws_with_repetition(key, items, k):
    n = len(items)
    places = jax.random.randint(key, (n,), 0, n)
    return jnp.zeros(n, bool).at[places].max(jnp.arange(n) < k)


@wrong(
    rejected_by="all_pairs_are_equally_likely", says="Random whole numbers are sorted: among equal ones the first win."
)
def sorts_numbers_that_may_be_equal(key, items, k):
    n = len(items)
    return jnp.argsort(jax.random.randint(key, (n,), 0, n)) < k


@wrong(rejected_by="items_may_be_anything", says="The items themselves take part in the draw.")
def weighs_with_the_items(key, items, k):
    numbers = jax.random.uniform(key, items.shape) + 0 * items
    return (k > 0) & (numbers <= jnp.sort(numbers)[k - 1])


@wrong(rejected_by="keys_with_one_second_word", says="A new key is made of one word of the key.")
def seeds_with_the_last_word(key, items, k):
    return jax.random.permutation(jax.random.key(jax.random.key_data(key)[1]), len(items)) < k


@hidden(stage="jit", kind="relation", required=True, idea="Items that are NaN or infinite, and one item alone.")
def items_may_be_anything(answer, draw):
    """Of items that are NaN, infinite or equal, exactly k are chosen."""
    items = np.float32([np.nan, np.inf, 1, 1, np.nan, -np.inf])
    for k in (0, 2, 6):
        got = int(np.asarray(answer.jit(draw.key(), items, jnp.int32(k))).sum())
        expect_that(
            got == k,
            f"With k = {k}, exactly {k} items should be chosen.",
            got,
            k,
            on="items that are NaN, infinite or equal",
        )
    for k in (0, 1):
        got = np.asarray(answer(draw.key(), np.zeros(1, np.float32), jnp.int32(k))).tolist()
        expect_that(got == [bool(k)], f"Of one item, {k} should be chosen.", got, [bool(k)], on="a single item")


@hidden(
    stage="jit",
    kind="relation",
    required=True,
    idea="Keys that differ in their first word only.",
    on="keys that differ in their first word only",
)
def keys_with_one_second_word(answer, draw):
    """Keys that differ in their first word only choose different items."""
    bits = np.stack([np.arange(6000, dtype=np.uint32), np.full(6000, 7, np.uint32)], axis=1)
    keys, ks = jax.random.wrap_key_data(jnp.asarray(bits)), np.full(6000, 2, np.int32)
    got = np.asarray(answer.vmap(in_axes=(0, None, 0)).jit(keys, jnp.zeros(5), ks))
    different = len(np.unique(got, axis=0))
    expect_that(different == 10, "6000 keys should choose all 10 pairs.", different, 10)


@hidden(stage="jit", kind="relation", idea="Nine items.")
def other_sizes_choose_too(answer, draw):
    """Of nine items exactly k are chosen, and the same key chooses the same ones."""
    key, k = draw.key(), draw.integer(1, 9)
    got = answer.jit(key, draw.floats(9), jnp.int32(k))
    expect_that(int(np.asarray(got).sum()) == k, "Another number of items is chosen.", got, k, on="nine random items")
    expect_equal(
        answer.jit(key, jnp.zeros(9), jnp.int32(k)),
        got,
        "The same key chose other items.",
        on="the same key with other items",
    )


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
