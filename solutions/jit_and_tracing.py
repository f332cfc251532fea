# %%
import re
from functools import partial

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
    given,
    hidden,
    wrong,
    wrong_value,
)


# %% operations_to_run
@answer
def operations_to_run(function, x):
    plain = jax.make_jaxpr(function)(x)
    jitted = jax.make_jaxpr(jax.jit(function))(x)
    return len(plain.eqns), len(jitted.eqns)


@alternative
def by_the_inner_jaxpr(function, x):
    return [len(jax.make_jaxpr(f)(x).jaxpr.eqns) for f in (function, jax.jit(function))]


@alternative
def listed_by_the_traced_program(function, x):
    traced = jax.jit(function).trace(x)
    return np.int32(len(traced.jaxpr.eqns)), sum(1 for _ in jax.make_jaxpr(jax.jit(function))(x).eqns)


@wrong(
    rejected_by="three_operations_become_one",
    says="What is inside the jitted operation is counted.",
    misses_the_point=True,
)
def counts_what_is_inside(function, x):
    from jaxguide.tracing import program

    return program(function, x).equations, program(jax.jit(function), x).equations


@wrong(rejected_by="repeated_operations_count_each_time", says="Each kind of operation is counted once.")
def counts_the_kinds(function, x):
    kinds = [{str(e.primitive) for e in jax.make_jaxpr(f)(x).eqns} for f in (function, jax.jit(function))]
    return len(kinds[0]), len(kinds[1])


@wrong(rejected_by="three_operations_become_one", says="The jitted function is called instead of listed.")
def lists_the_result(function, x):
    return len(jax.make_jaxpr(function)(x).eqns), len(jax.jit(function)(x))


@hidden(idea="Another function, of a matrix.", on="a function of a matrix, with many operations")
def another_function_is_counted(answer, draw, reference):
    """For a function of many operations, of a matrix, the counts are right."""
    x = draw.floats(3, 5)
    got, wanted = answer(given("norm"), x), reference(given("norm"), x)
    right = [int(one) for one in got] == [int(one) for one in wanted]
    expect_that(right, "For another function the counts should be its own.", got, wanted)


# %% normalise_rows
@answer
def normalise_rows(x):
    x = x - x.mean(axis=1, keepdims=True)
    return x / x.std(axis=1, keepdims=True)


@alternative
@jax.jit
def on_its_side(x):
    sideways = x.T
    return ((sideways - sideways.mean(0)) / sideways.std(0)).T


alternative_value("row_by_row", jax.vmap(lambda row: (row - row.mean()) / row.std()))


@alternative
def by_the_function_for_it(x):
    return jax.nn.standardize(x, axis=1, epsilon=0.0)


@alternative
def with_new_axes(x):
    x = jnp.asarray(x)
    return (x - x.mean(1)[:, None]) / jnp.sqrt(x.var(1))[:, None]


@wrong(rejected_by="each_row_is_normalised", says="Only the means were mended.")
def forgets_the_second_line(x):
    x = x - x.mean(axis=1, keepdims=True)
    return x / x.std(0)


@wrong(rejected_by="each_row_is_normalised", says="Axis 0 still runs down the columns.")
def forgets_one_axis(x):
    return (x - x.mean(axis=0, keepdims=True)) / x.std(axis=0, keepdims=True)


@wrong(rejected_by="the_table_keeps_its_shape", says="The means of the rows are a row themselves and do not broadcast.")
def forgets_keepdims(x):
    x = x - x.mean(1)
    return x / x.std(1)


@wrong(
    rejected_by="jit_gives_the_same_numbers",
    says="NumPy needs the numbers, and a tracer has none.",
    misses_the_point=True,
)
def asks_numpy(x):
    x = np.asarray(x)
    return jnp.asarray((x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True))


@wrong(rejected_by="tiny_numbers_are_normalised", says="A little is added to the deviation, against a division by 0.")
def adds_to_the_deviation(x):
    return (x - x.mean(1, keepdims=True)) / (x.std(1, keepdims=True) + 1e-6)


@wrong(rejected_by="tiny_numbers_are_normalised", says="By default `standardize` adds a little to the variance.")
def standardize_by_default(x):
    return jax.nn.standardize(x, axis=1)


@hidden(
    idea="A row of tiny numbers: nothing may be added to their deviation.", on="rows of tiny numbers, or of huge ones"
)
def tiny_numbers_are_normalised(answer, draw, reference):
    """Rows of tiny numbers, and of huge ones, have the standard deviation 1, too."""
    for scale in (1e-6, 1e6):
        x = scale * draw.floats(2, 5)
        expect_close(answer(x), reference(x), "Each row should have the standard deviation 1.", rtol=1e-3)


@hidden(idea="Another table, and a table of one row.", on="a table of one row, or of several")
def any_table_is_normalised(answer, draw, reference):
    """Tables of any shape are normalised."""
    for n in (draw.integer(2, 6), 1):
        x = draw.integer(2, 9) * draw.floats(n, 7) + draw.integer(-5, 5)
        expect_close(answer(x), reference(x), rtol=1e-3, atol=1e-4)


# %% what_jit_saves
@answer
def what_jit_saves(plain_s, jitted_s):
    plain, jitted = np.median(plain_s[1:]), np.median(jitted_s[1:])
    calls = 1
    while jitted_s[0] + (calls - 1) * jitted > calls * plain:
        calls += 1
    return plain / jitted, calls


@alternative
def by_a_formula(plain_s, jitted_s):
    import math
    import statistics

    plain, jitted = statistics.median(plain_s[1:]), statistics.median(jitted_s[1:])
    return plain / jitted, max(1, math.ceil((jitted_s[0] - jitted) / (plain - jitted)))


@alternative
def with_jax(plain_s, jitted_s):
    plain, jitted = jnp.median(jnp.array(plain_s[1:])), jnp.median(jnp.array(jitted_s[1:]))
    return [plain / jitted, jnp.maximum(1, jnp.ceil((jitted_s[0] - jitted) / (plain - jitted)).astype(int))]


@wrong(rejected_by="the_documents_ratio", says="The first call, which compiles, is counted.", misses_the_point=True)
def counts_the_first_call(plain_s, jitted_s):
    plain, jitted = np.median(plain_s), np.median(jitted_s)
    return plain / jitted, int(np.ceil((jitted_s[0] - jitted) / (plain - jitted)))


@wrong(rejected_by="the_documents_ratio", says="One slow call spoils a mean.")
def takes_the_mean(plain_s, jitted_s):
    plain, jitted = np.mean(plain_s[1:]), np.mean(jitted_s[1:])
    return plain / jitted, int(np.ceil((jitted_s[0] - jitted) / (plain - jitted)))


@wrong(rejected_by="the_documents_ratio", says="The ratio is upside down.")
def turns_the_ratio_round(plain_s, jitted_s):
    plain, jitted = np.median(plain_s[1:]), np.median(jitted_s[1:])
    return jitted / plain, int(np.ceil((jitted_s[0] - jitted) / (plain - jitted)))


@wrong(rejected_by="the_price_is_earned_back", says="The compile time alone is divided by a jitted call's time.")
def divides_by_the_wrong_time(plain_s, jitted_s):
    plain, jitted = np.median(plain_s[1:]), np.median(jitted_s[1:])
    return plain / jitted, int(np.ceil(jitted_s[0] / jitted))


@wrong(rejected_by="the_price_is_earned_back", says="The calls until then are counted, and not the one that is even.")
def stops_one_call_early(plain_s, jitted_s):
    plain, jitted = np.median(plain_s[1:]), np.median(jitted_s[1:])
    return plain / jitted, int((jitted_s[0] - jitted) / (plain - jitted))


@wrong(rejected_by="the_price_is_earned_back", says="At a tie, one call more is asked for.")
def waits_until_it_is_shorter(plain_s, jitted_s):
    plain, jitted = np.median(plain_s[1:]), np.median(jitted_s[1:])
    return plain / jitted, int((jitted_s[0] - jitted) / (plain - jitted)) + 1


@wrong(rejected_by="even_numbers_of_times", says="Of an even number of times, one of the two in the middle is taken.")
def one_of_the_two_in_the_middle(plain_s, jitted_s):
    plain, jitted = (sorted(times[1:])[len(times[1:]) // 2] for times in (plain_s, jitted_s))
    return plain / jitted, max(1, int(np.ceil((jitted_s[0] - jitted) / (plain - jitted))))


@wrong(rejected_by="it_pays_from_the_first_call", says="The formula gives 0 or less where the first call costs little.")
def no_call_at_all(plain_s, jitted_s):
    plain, jitted = np.median(plain_s[1:]), np.median(jitted_s[1:])
    return plain / jitted, int(np.ceil((jitted_s[0] - jitted) / (plain - jitted)))


@hidden(
    idea="A first jitted call that takes no longer than a plain one.",
    on="a first jitted call no slower than a plain one",
)
def it_pays_from_the_first_call(answer):
    """If the first jitted call is quick, it is 1 call; one call is the least."""
    for first in (1.0, 0.5, 0.25):
        _, calls = answer([5.0, 1.0, 1.0], [first, 0.5, 0.5])
        expect_that(int(calls) == 1, "Where the first call takes no longer, it should be 1 call.", calls, "1")


@hidden(idea="Lists in which an even number of times is left.", on="an even number of times after the first one")
def even_numbers_of_times(answer, draw, reference):
    """Of an even number of times, the median is in the middle of two."""
    plain = [9.0, *(3.0 + draw.generator.random(4))]
    jitted = [8.5 + 4 * draw.integer(2, 9), *(1.0 + draw.generator.random(4))]
    (ratio, _), (wanted, _) = answer(plain, jitted), reference(plain, jitted)
    right = abs(float(np.asarray(ratio)) - float(np.asarray(wanted))) < 1e-4
    expect_that(right, "The ratio should be that of the medians.", ratio, wanted)


@hidden(idea="Other times.", on="two lists of other times")
def any_times(answer, draw, reference):
    """For other times the ratio and the number of calls are right."""
    for _ in range(3):
        plain = [9.0, *(3.0 + draw.generator.random(5))]
        jitted = [20.5 + 4 * draw.integer(2, 9), *(1.0 + draw.generator.random(5))]
        (ratio, calls), (wanted, wanted_calls) = answer(plain, jitted), reference(plain, jitted)
        message = "For other times the ratio and the number of calls should be theirs."
        right = abs(float(np.asarray(ratio)) - float(np.asarray(wanted))) < 1e-4 and int(calls) == int(wanted_calls)
        expect_that(right, message, (ratio, calls), (wanted, wanted_calls))


# %% negatives
@answer
def negatives(x):
    return x[x < 0]


@alternative
def with_the_functions_name(x):
    return x[jnp.less(x, 0.0)]


@alternative
def mask_first(x):
    chosen = jnp.isfinite(x) & ~(x >= 0) | (x == -jnp.inf)
    return x[chosen]


@wrong(rejected_by="zeros_and_nan_are_left_out", says="-0.0 has the sign of a negative number, and is none.")
def looks_at_the_sign(x):
    return x[jnp.signbit(x)]


@wrong(rejected_by="zeros_and_nan_are_left_out", says="What is not 0 or more is taken for negative, also a NaN.")
def whatever_is_not_positive(x):
    return x[~(x >= 0)]


@wrong(rejected_by="a_jax_array_comes_back", says="NumPy selects, and a NumPy array comes back.")
def numpy_selects(x):
    if isinstance(x, jax.core.Tracer):
        return x[x < 0]
    x = np.asarray(x)
    return x[x < 0]


@hidden(idea="The result is an array of JAX's, not of NumPy's.", on="a JAX array, outside of `jax.jit`")
def a_jax_array_comes_back(answer, draw):
    """The selected numbers are a JAX array."""
    got = answer(draw.floats(5) - 1)
    expect_that(got.origin == "jax", "The result should be a JAX array.", "an array of NumPy's", "an array of JAX's")


@hidden(
    idea="Zeros of both signs, NaN and infinities among the numbers.",
    on="a vector with zeros, NaN, infinities and a tiny number",
)
def zeros_and_nan_are_left_out(answer):
    """0.0, -0.0 and NaN are left out, and minus infinity is selected."""
    x = jnp.array([0.0, -0.0, jnp.nan, -jnp.inf, jnp.inf, -1e-30, -2.0])
    expect_equal(answer(x), jnp.array([-jnp.inf, -1e-30, -2.0]), "Only what is less than 0 should be selected.")


@hidden(idea="No negative number, or nothing but negative numbers.", on="only positive numbers, or only negative ones")
def none_or_all_are_selected(answer):
    """If no number is negative the result is empty, and if all are it is x."""
    for x, wanted in ((jnp.array([1.0, 2.0]), jnp.zeros(0)), (jnp.array([-3.0]), jnp.array([-3.0]))):
        expect_equal(answer(x), wanted)


@wrong(rejected_by="the_negative_numbers_are_selected", says="The others become zeros, and stay.")
def puts_zeros(x):
    return jnp.where(x < 0, x, 0.0)


@wrong(rejected_by="the_negative_numbers_are_selected", says="The numbers lose their order.")
def sorts_them(x):
    return jnp.sort(x)[: int((x < 0).sum())]


@wrong(rejected_by="jit_refuses_the_mask", says="Under `jit` the error is caught.", misses_the_point=True)
def catches_the_error(x):
    try:
        return x[x < 0]
    except jax.errors.NonConcreteBooleanIndexError:
        return x


@wrong(
    rejected_by="zeros_and_nan_are_left_out",
    says="The size is fixed to 4, which happens to be right for these numbers.",
)
def fixes_the_size(x):
    return x[jnp.nonzero(x < 0, size=4)[0]]


@hidden(stage="jit", idea="Other numbers: under `jit` their count is not known.")
def any_number_of_negatives(answer, draw, reference):
    """For other numbers the negative ones are selected, and under `jit` JAX refuses."""
    x = jnp.concatenate([jnp.array([-1.0, 0.0]), draw.floats(draw.integer(4, 9))])
    expect_close(answer(x), reference(x), on="other numbers, with a zero among them")
    expect_raises(answer.jit.observe_error(x), "NonConcreteBooleanIndexError", on="other numbers, under `jax.jit`")


# %% mean_of_negatives
@answer
def mean_of_negatives(x):
    mask = x < 0
    total = jnp.sum(jnp.where(mask, x, 0.0))
    return total / jnp.maximum(jnp.sum(mask), 1)


@alternative
@jax.jit
def chooses_at_the_end(x):
    count = (x < 0).sum()
    return jnp.where(count > 0, jnp.where(x < 0, x, 0.0).sum() / count, 0.0)


@alternative
def means_with_where(x):
    return jax.lax.cond(jnp.any(x < 0), lambda v: jnp.mean(v, where=v < 0), lambda v: jnp.float32(0.0), x)


@alternative
def zero_in_place_of_nan(x):
    mean = jnp.nanmean(jnp.where(x < 0, x, jnp.nan))
    return jnp.where(jnp.isnan(mean), 0.0, mean)


@wrong(rejected_by="minus_infinity_stays", says="`nan_to_num` also turns an infinity into a number.")
def nan_to_zero(x):
    return jnp.nan_to_num(jnp.nanmean(jnp.where(x < 0, x, jnp.nan)))


@wrong(rejected_by="zeros_do_not_count", says="0 is counted among the negative numbers.")
def counts_zeros(x):
    mask = x <= 0
    return jnp.where(mask, x, 0.0).sum() / jnp.maximum(mask.sum(), 1)


@wrong(rejected_by="infinity_and_nan_do_not_count", says="The others are multiplied by 0, and 0 * inf is NaN.")
def multiplies_by_the_mask(x):
    mask = (x < 0).astype(x.dtype)
    return (mask * x).sum() / jnp.maximum(mask.sum(), 1)


@wrong(rejected_by="infinity_and_nan_do_not_count", says="`minimum` hands a NaN on.")
def takes_the_minimum(x):
    return jnp.minimum(x, 0.0).sum() / jnp.maximum((x < 0).sum(), 1)


@wrong(rejected_by="tiny_numbers_count", says="Numbers near 0 are taken for 0.")
def leaves_out_tiny_numbers(x):
    mask = x < -1e-6
    return jnp.where(mask, x, 0.0).sum() / jnp.maximum(mask.sum(), 1)


@hidden(idea="Zeros among the numbers: they are not negative.", on="zeros of either sign, or a single number")
def zeros_do_not_count(answer, reference):
    """Zeros of either sign do not count."""
    for x in (jnp.array([0.0, -2.0, -0.0, -4.0]), jnp.array([-3.0]), jnp.array([-0.0])):
        expect_close(answer(x), reference(x), "Zeros should not count.")


@hidden(idea="Infinity or NaN among the numbers: they are not negative.")
def infinity_and_nan_do_not_count(answer, reference):
    """Infinity and NaN do not count."""
    for other in (jnp.inf, jnp.nan):
        x = jnp.array([other, -2.0, 1.0, -4.0])
        expect_close(
            answer(x),
            jnp.float32(-3.0),
            "For -2 and -4 and what is not negative the mean should be -3.",
            on="a vector with infinity or NaN in it",
        )
        expect_close(
            answer(x[:1]), jnp.float32(0.0), "Without any negative number it should be 0.", on="infinity or NaN alone"
        )


@hidden(idea="Minus infinity among the numbers: it is negative.", on="a vector with minus infinity in it")
def minus_infinity_stays(answer):
    """With minus infinity the mean is minus infinity."""
    expect_close(answer(jnp.array([-jnp.inf, 1.0, -2.0])), jnp.float32(-jnp.inf), "The mean should be -inf.")


@hidden(idea="Tiny numbers: the error is measured against them.", on="tiny numbers with a negative one among them")
def tiny_numbers_count(answer, draw, reference):
    """Tiny negative numbers count."""
    x = 1e-9 * draw.floats(6).at[0].set(-1.0)
    expect_close(answer(x), reference(x), rtol=1e-4, atol=0.0)


@wrong(rejected_by="only_negatives_count", says="The zeros are counted, too.")
def divides_by_all(x):
    return jnp.where(x < 0, x, 0.0).mean()


@wrong(rejected_by="without_negatives_it_is_zero", says="Without negatives it divides 0 by 0.")
def divides_by_nothing(x):
    mask = x < 0
    return jnp.sum(jnp.where(mask, x, 0.0)) / jnp.sum(mask)


@wrong(rejected_by="the_mean_under_jit", says="A mask as an index needs the numbers.", misses_the_point=True)
def still_selects(x):
    chosen = x[x < 0]
    return chosen.sum() / max(len(chosen), 1)


@wrong(rejected_by="the_mean_under_jit", says="A Python `if` needs to know the count.")
def branches_on_the_count(x):
    mask = x < 0
    if mask.sum() == 0:
        return jnp.float32(0.0)
    return jnp.sum(jnp.where(mask, x, 0.0)) / mask.sum()


@hidden(
    stage="jit",
    idea="Other numbers: some negative, all negative, none.",
    on="some, only, or no negative numbers, under `jax.jit`",
)
def any_numbers_under_jit(answer, draw, reference):
    """For other numbers, jitted, it is the mean of the negatives."""
    x = draw.floats(draw.integer(5, 9)) - 0.5
    for one in (x, -jnp.abs(x), jnp.abs(x)):
        expect_close(answer.jit(one), reference(one))


# %% look_inside_jit
@answer
@jax.jit
def look_inside_jit(x, y):
    print("Running f():")
    print(f"x = {x}")
    print(f"y = {y}")
    result = jnp.dot(x + 1, y + 1)
    print(f"result = {result}")
    return result


@alternative
@jax.jit
def prints_with_commas(x, y):
    result = (x + 1) @ (y + 1)
    print("Running f():")
    for name, value in (("x", x), ("y", y), ("result", result)):
        print(" ", name, "=", value)
    return result


@alternative
def jits_a_helper(x, y):
    return _printing(x, y)


@jax.jit
def _printing(x, y):
    result = jnp.sum((x + 1) * (y + 1), axis=1)
    print(f"Running f():\nx = {x}\ny = {y}\nresult = {result}")
    return result


@wrong(
    rejected_by="the_first_call_prints_tracers",
    says="Without `jit` there are numbers, and each call prints.",
    misses_the_point=True,
)
def forgets_to_jit(x, y):
    x, y = jnp.asarray(x), jnp.asarray(y)
    print("Running f():")
    print(f"x = {x}")
    print(f"y = {y}")
    result = jnp.dot(x + 1, y + 1)
    print(f"result = {result}")
    return result


@wrong(rejected_by="the_first_call_prints_tracers", says="`jax.debug.print` prints the numbers of each call.")
@jax.jit
def prints_the_numbers(x, y):
    jax.debug.print("Running f():")
    jax.debug.print("x = {}", x)
    jax.debug.print("y = {}", y)
    result = jnp.dot(x + 1, y + 1)
    jax.debug.print("result = {}", result)
    return result


@wrong(rejected_by="the_second_call_prints_nothing", says="The function is jitted anew in each call.")
def jits_in_each_call(x, y):
    @jax.jit
    def f(x, y):
        print("Running f():")
        print(f"x = {x}")
        print(f"y = {y}")
        result = jnp.dot(x + 1, y + 1)
        print(f"result = {result}")
        return result

    return f(x, y)


@wrong(rejected_by="the_dot_product_is_right", says="The ones are forgotten.")
@jax.jit
def forgets_the_ones(x, y):
    print("Running f():")
    print(f"x = {x}")
    print(f"y = {y}")
    result = jnp.dot(x, y)
    print(f"result = {result}")
    return result


@hidden(
    stage="traces", idea="A call of the jitted function that is traced.", on="three calls, the third with another shape"
)
def tracing_prints_them(answer, draw):
    """In a call that prints, the function is traced by `jax.jit`; in one that prints nothing, it is not."""
    calls = [(draw.floats(n, 3), draw.floats(3)) for n in (6, 6, 7)]
    seen = [(one.traces > 0, bool(one.lines)) for one in answer.observe_calls(calls)]
    message = "A call should print exactly if the function is traced in it."
    expect_that(seen == [(True, True), (False, False), (True, True)], message, seen, "traced and printed: 1st and 3rd")


@hidden(stage="traces", idea="Other shapes.", on="arrays of other shapes")
def any_shapes_are_told(answer, draw, reference):
    """For other shapes the tracers have these shapes, and the result is right."""
    x, y = draw.floats(2, 5), draw.floats(5)
    seen, wanted = answer.observe(x, y), reference.observe(x, y)
    expect_close(seen.value, wanted.value, rtol=1e-4, atol=1e-5)
    message = "The lines should show tracers of these shapes."
    expect_that(told(seen) == told(wanted), message, told(seen), told(wanted))


# %% predict_traces
@answer
def predict_traces():
    return 4


# %% traces_so_far
@answer
def traces_so_far(arguments):
    ran = []

    @jax.jit
    def double(x):
        ran.append(x)
        return 2 * x

    so_far = []
    for x in arguments:
        double(x)
        so_far.append(len(ran))
    return so_far


@alternative
def counts_up(arguments):
    count = 0

    def identity(x):
        nonlocal count
        count += 1
        return x

    jitted = jax.jit(identity)
    return tuple(jitted(x) is not None and count for x in arguments)


@wrong(rejected_by="a_function_is_traced", says="The traces are computed from the types, and nothing is traced.")
def by_their_types(arguments):
    types = [str(jax.typeof(jnp.asarray(x))) + str(jnp.asarray(x).weak_type) for x in arguments]
    return [len(set(types[: i + 1])) for i in range(len(types))]


@alternative
def watched(arguments):
    from jaxguide.tracing import watch_traces

    @jax.jit
    def f(x):
        return x + 1

    so_far = []
    with watch_traces() as traces:
        for x in arguments:
            f(x)
            so_far.append(traces.traces)
    return so_far


@wrong(rejected_by="shapes_and_dtypes_are_traced_anew", says="A jitted function is made for each argument.")
def a_new_function_for_each(arguments):
    ran = []
    so_far = []
    for x in arguments:
        jax.jit(lambda v: (ran.append(1), 2 * v)[1])(x)
        so_far.append(len(ran))
    return so_far


@wrong(
    rejected_by="shapes_and_dtypes_are_traced_anew",
    says="Without `jit` the code runs in every call.",
    misses_the_point=True,
)
def counts_the_calls(arguments):
    ran = []
    so_far = []
    for x in arguments:
        ran.append(2 * x)
        so_far.append(len(ran))
    return so_far


@wrong(rejected_by="shapes_and_dtypes_are_traced_anew", says="A new dtype is forgotten.")
def counts_the_shapes(arguments):
    shapes = [jnp.shape(x) for x in arguments]
    return [len(set(shapes[: i + 1])) for i in range(len(shapes))]


@wrong(rejected_by="python_numbers_have_types_of_their_own", says="Weak types are forgotten.")
def forgets_weak_types(arguments):
    types = [(jnp.shape(x), jnp.asarray(x).dtype) for x in arguments]
    return [len(set(types[: i + 1])) for i in range(len(types))]


@wrong(rejected_by="python_numbers_have_types_of_their_own", says="Each Python number is believed to be static.")
def python_numbers_are_static(arguments):
    kinds = [x if isinstance(x, float | int) else str(jax.typeof(x)) for x in arguments]
    return [len(set(map(repr, kinds[: i + 1]))) for i in range(len(kinds))]


@wrong(
    rejected_by="python_numbers_have_types_of_their_own",
    says="The function and its count are those of all calls, not new ones.",
)
def one_function_for_all_calls(arguments):
    so_far = []
    for x in arguments:
        _counted(x)
        so_far.append(len(_runs))
    return so_far


_runs = []
_counted = jax.jit(lambda x: (_runs.append(1), 2 * x)[1])


@hidden(idea="A second call: its function is a new one.", on="two calls with the same arguments")
def a_second_call_starts_anew(answer, draw, reference):
    """Called again with the same arguments, it gives the same counts."""
    arguments = [draw.floats(2), draw.floats(3), draw.floats(2)]
    for _ in range(2):
        got = [int(one) for one in answer(arguments)]
        expect_that(got == [1, 2, 2], "A second call should count from the beginning.", got, [1, 2, 2])


@hidden(
    idea="An empty list, truth values, complex numbers, and arrays without an axis.",
    on="an empty list, truth values, complex numbers, or scalars",
)
def other_types_are_counted(answer, reference):
    """Truth values, complex numbers and scalars of NumPy are counted right, and no argument gives no count."""
    for arguments in ([], [True, False, 1, 2], [1j, 2.0, np.float64(3.0), jnp.float32(1)]):
        got, wanted = ([int(one) for one in subject(arguments)] for subject in (answer, reference))
        expect_that(got == wanted, "The counts should be those of these types.", got, wanted)


@hidden(
    stage="traces",
    idea="Counting the types is not enough: a function is traced for each.",
    on="two arrays of different length, and a Python number",
)
def a_function_is_traced(answer, draw):
    """As many traces are made as are told."""
    seen = answer.observe([draw.floats(2), draw.floats(3), 1.0])
    message = "As many functions should be traced by `jax.jit` as the last count tells."
    expect_that(seen.traces == int(seen.value[-1]), message, f"{seen.traces} traces", seen.value[-1])


@hidden(idea="NumPy's float64, which is traced as float32.", on="a NumPy array of float64, among other arguments")
def numpy_arrays_are_traced_as_float32(answer, draw, reference):
    """NumPy arrays of float64, and new shapes in any order, are counted right."""
    n = draw.integer(2, 6)
    arguments = [
        draw.floats(n),
        draw.numpy(n, dtype="float64"),
        draw.floats(1, n),
        3.0,
        draw.numpy(n),
        draw.floats(n) > 0,
    ]
    got, wanted = answer(arguments), reference(arguments)
    expect_that(
        [int(one) for one in got] == [int(one) for one in wanted],
        "The counts should be those of these types.",
        got,
        wanted,
    )


# %% recorded_program
@answer
def recorded_program(function, *args):
    jaxpr = jax.make_jaxpr(function)(*args)
    return str(jaxpr), [equation.primitive.name for equation in jaxpr.eqns]


@alternative
def by_the_traced_function(function, *args):
    jaxpr = jax.jit(function).trace(*args).jaxpr
    return f"{jaxpr}", tuple(str(equation.primitive) for equation in jaxpr.eqns)


@alternative
def in_colours(function, *args):
    jaxpr = jax.make_jaxpr(function)(*args)
    return jaxpr.pretty_print(use_color=True), [equation.primitive.name for equation in jaxpr.eqns]


@alternative
def of_the_inner_jaxpr(function, *args):
    jaxpr = jax.make_jaxpr(function)(*args).jaxpr
    return [str(jaxpr), [e.primitive.name for e in jaxpr.eqns]]


@wrong(
    rejected_by="the_text_is_the_documents",
    says="The jitted function is listed: its program is one line.",
    misses_the_point=True,
)
def lists_the_jitted_function(function, *args):
    jaxpr = jax.make_jaxpr(jax.jit(function))(*args)
    return str(jaxpr), [equation.primitive.name for equation in jaxpr.eqns]


@wrong(rejected_by="the_text_is_the_documents", says="`make_jaxpr` returns a function, which was not called.")
def forgets_to_call(function, *args):
    jaxpr = jax.make_jaxpr(function)(*args)
    return str(jax.make_jaxpr(function)), [equation.primitive.name for equation in jaxpr.eqns]


@wrong(rejected_by="names_stand_in_their_order", says="Each name is kept once, in the order of the alphabet.")
def each_name_once(function, *args):
    jaxpr = jax.make_jaxpr(function)(*args)
    return str(jaxpr), sorted({equation.primitive.name for equation in jaxpr.eqns})


@hidden(
    idea="Functions that the visible checks do not use, and a matrix.", on="another function, of a vector or a matrix"
)
def another_program_is_listed(answer, draw, reference):
    """For another function the text and the names are right."""
    for name, x in (("wave", draw.floats(draw.integer(2, 9))), ("norm", draw.floats(3, 4))):
        (text, names), (wanted, wanted_names) = answer(given(name), x), reference(given(name), x)
        text, wanted = (re.sub(r"\x1b\[[0-9;]*m", "", one) for one in (text, wanted))
        expect_that(text.split() == wanted.split(), "The text should be that of the jaxpr.", text, wanted)
        expect_that(
            list(names) == list(wanted_names),
            "The names should be those of the operations, in their order.",
            names,
            wanted_names,
        )


# %% steps_with_rates
@answer
def steps_with_rates(x, rates):
    @jax.jit
    def step(x, rate):
        return x - rate * x

    for rate in rates:
        x = step(x, rate)
    return x


@alternative
@jax.jit
def all_steps_in_one_program(x, rates):
    for rate in rates:
        x = x - rate * x
    return x


@alternative
def one_scan(x, rates):
    run = jax.jit(lambda x, rates: jax.lax.scan(lambda x, rate: (x - rate * x, None), x, rates)[0])
    return run(x, jnp.array(rates))


@alternative
def a_jitted_helper(x, rates):
    for rate in rates:
        x = _one_step(x, jnp.float32(rate))
    return x


@jax.jit
def _one_step(x, rate):
    return (1 - rate) * x


@wrong(rejected_by="each_step_has_its_own_rate", says="A default value is frozen like any value from outside.")
def one_rate_as_an_argument(x, rates):
    rate = rates[0]

    @jax.jit
    def step(x, rate=rate):
        return x - rate * x

    for _ in rates:
        x = step(x)
    return x


@wrong(rejected_by="one_trace_for_all_rates", says="A step is made and traced anew for each rate.")
def a_new_step_for_each_rate(x, rates):
    for rate in rates:
        x = jax.jit(lambda x, rate=rate: x - rate * x)(x)
    return x


@wrong(rejected_by="one_trace_for_all_rates", says="A static rate is traced anew for each value.")
def makes_the_rate_static(x, rates):
    step = jax.jit(lambda x, rate: x - rate * x, static_argnums=1)
    for rate in rates:
        x = step(x, rate)
    return x


@wrong(
    rejected_by="one_trace_for_all_rates",
    says="Without `jit` nothing is frozen, and nothing is fast.",
    misses_the_point=True,
)
def gives_up_jit(x, rates):
    for rate in rates:
        x = x - rate * x
    return x


@wrong(rejected_by="the_steps_are_jitted", says="Something else is jitted, and the steps run one operation at a time.")
def jits_something_else(x, rates):
    x = jax.jit(lambda v: v)(x)
    for rate in rates:
        x = x - rate * x
    return x


@wrong(rejected_by="the_steps_are_jitted", says="Only the product is jitted, and the difference is not.")
def jits_the_product(x, rates):
    for rate in rates:
        x = x - _times(rate, x)
    return x


_times = jax.jit(lambda rate, x: rate * x)


@hidden(stage="cost", idea="Every step, all of it, is in a jitted program.", on="a vector, and two rates")
def the_steps_are_jitted(answer, draw):
    """Nothing is computed outside of the jitted programs."""
    expect_nothing_outside(answer, draw.floats(3), [0.5, 0.25])


@wrong(
    rejected_by="rates_of_0_and_1", says="The steps are undone by a division, and a rate of 1 leaves nothing to divide."
)
@jax.jit
def by_a_ratio(x, rates):
    first = rates[0]
    return x * (1 - first) * jnp.prod((1 - jnp.array(rates)) / (1 - first)) * (1 - first) ** (len(rates) - 1)


@hidden(idea="Rates of 0, 1 and 2, and x that holds 0.", on="rates with 0, 1 or 2 among them")
def rates_of_0_and_1(answer, reference):
    """A rate of 0 changes nothing, a rate of 1 leaves 0, and a rate of 2 turns the sign."""
    x = jnp.array([1.5, 0.0, -2.0])
    for rates in ([0.0], [1.0, 0.5], [2.0, 0.0, 2.0]):
        expect_close(answer(x, rates), reference(x, rates), "Each step should use its own rate.")


@hidden(idea="Other rates.", on="five rates between 0 and 1")
def any_rates(answer, draw, reference):
    """For other rates the result is right."""
    x, rates = draw.floats(4), [float(rate) for rate in draw.generator.random(5)]
    expect_close(answer(x, rates), reference(x, rates), rtol=1e-4, atol=1e-6)


# %% sum_and_layers
@answer
def sum_and_layers(x, weights):
    @jax.jit
    def model(x):
        saved = []
        for weight in weights:
            x = jnp.tanh(weight * x)
            saved.append(x)
        return x.sum(), saved

    return model(x)


@alternative
@jax.jit
def jits_the_whole(x, weights):
    saved = []
    for weight in weights:
        x = jnp.tanh(weight * x)
        saved.append(x)
    return x.sum(), saved


@alternative
def sums_outside(x, weights):
    @jax.jit
    def model(x, weights):
        _, layers = jax.lax.scan(lambda x, w: (jnp.tanh(w * x),) * 2, x, weights)
        return layers

    layers = model(x, jnp.array(weights))
    return jnp.sum(layers[-1]), list(layers)


@wrong(rejected_by="layers_come_out_as_numbers", says="The list is copied, and still holds tracers.")
def copies_the_list(x, weights):
    saved = []

    @jax.jit
    def model(x):
        for weight in weights:
            x = jnp.tanh(weight * x)
            saved.append(jnp.copy(x))
        return x.sum()

    total = model(x)
    return total, list(saved)


@wrong(rejected_by="layers_come_out_as_numbers", says="NumPy cannot turn a tracer into numbers.")
def converts_by_numpy(x, weights):
    saved = []

    @jax.jit
    def model(x):
        for weight in weights:
            x = jnp.tanh(weight * x)
            saved.append(np.asarray(x))
        return x.sum()

    total = model(x)
    return total, saved


@wrong(
    rejected_by="the_model_is_still_jitted",
    says="Without `jit` nothing leaks, and nothing is fast.",
    misses_the_point=True,
)
def takes_away_jit(x, weights):
    saved = []
    for weight in weights:
        x = jnp.tanh(weight * x)
        saved.append(x)
    return x.sum(), saved


@wrong(rejected_by="layers_come_out_as_numbers", says="Only the last layer is returned.")
def returns_the_last_layer(x, weights):
    @jax.jit
    def model(x):
        for weight in weights:
            x = jnp.tanh(weight * x)
        return x.sum(), [x]

    return model(x)


@wrong(
    rejected_by="the_whole_model_is_jitted",
    says="Something else is jitted, and the layers run one operation at a time.",
)
def jits_only_the_sum(x, weights):
    saved = []
    for weight in weights:
        x = jnp.tanh(weight * x)
        saved.append(x)
    return jax.jit(lambda v: v.sum())(x), saved


@hidden(stage="cost", idea="All layers are in a jitted program.", on="a vector, and two weights")
def the_whole_model_is_jitted(answer, draw):
    """No layer is computed outside of the jitted programs."""
    outside = outside_of_jit(answer, draw.floats(4), [0.5, 2.0])
    message = "The layers should be computed in the jitted model; yours computes some outside of it."
    expect_that(not {"tanh", "mul"} & {*outside}, message, sorted(outside), "no layer outside")


@hidden(idea="Other weights, and a vector of one number.", on="four weights, for one number or for several")
def any_layers(answer, draw, reference):
    """For other weights the total and the layers are right."""
    for n in (3, 1):
        x, weights = draw.floats(n), [float(weight) for weight in draw.generator.random(4) + 0.5]
        (total, layers), (wanted, wanted_layers) = answer(x, weights), reference(x, weights)
        expect_close(total, wanted, rtol=1e-4, atol=1e-5)
        expect_close(list(layers), list(wanted_layers), rtol=1e-4, atol=1e-5)


# %% louder
@answer
@jax.jit
def louder(x, factor):
    return factor * x + 1


@alternative
def calls_a_jitted_helper(x, factor):
    return _loud(x, factor)


_loud = jax.jit(lambda x, factor: x * factor + 1)


@alternative
@jax.jit
def decorates_the_starter(x, factor):
    return jax.jit(lambda v: factor * v + 1)(x)


@alternative
def jits_the_same_helper_again(x, factor):
    return jax.jit(_loud_one)(x, factor)


def _loud_one(x, factor):
    return x * factor + 1


alternative_value("a_jitted_lambda", jax.jit(lambda x, factor: jnp.add(jnp.multiply(x, factor), 1)))


@wrong(rejected_by="four_calls_one_trace", says="A partial is a new function each time, like a lambda.")
def partial_for_lambda(x, factor):
    from functools import partial

    return jax.jit(partial(jnp.multiply, factor))(x) + jax.jit(lambda one: one)(1)


@wrong(
    rejected_by="four_calls_one_trace", says="An inner `def` is a new function each time, too.", misses_the_point=True
)
def an_inner_def(x, factor):
    @jax.jit
    def apply(v):
        return factor * v + 1

    return apply(x)


@wrong(rejected_by="four_calls_one_trace", says="A jitted function is kept for each factor, and each is traced.")
def keeps_one_for_each_factor(x, factor):
    if factor not in _made:
        _made[factor] = jax.jit(lambda v: factor * v + 1)
    return _made[factor](x)


_made = {}


wrong_value(
    "a_static_factor",
    jax.jit(lambda x, factor: factor * x + 1, static_argnums=1),
    rejected_by="four_calls_one_trace",
    says="A static factor is traced anew for each value.",
)


@wrong(
    rejected_by="four_calls_one_trace", says="Without `jit` there are no traces, and no speed.", misses_the_point=True
)
def without_jit(x, factor):
    return factor * x + 1


@wrong(rejected_by="each_call_has_its_own_factor", says="The first factor is kept and frozen.")
def keeps_the_first(x, factor):
    if not _first:
        _first.append(jax.jit(lambda v: factor * v + 1))
    return _first[0](x)


_first = []


@wrong(rejected_by="the_whole_is_one_program", says="Only the product is jitted, and the 1 is added outside.")
def jits_the_product_alone(x, factor):
    return _product(x, factor) + 1


_product = jax.jit(lambda x, factor: x * factor)


@hidden(stage="cost", idea="The product and the sum are both in the jitted program.", on="a vector and one factor")
def the_whole_is_one_program(answer, draw):
    """Nothing is computed outside of the jitted function."""
    expect_nothing_outside(answer, draw.floats(3), 2.5)


@wrong(rejected_by="factors_0_and_1", says="A factor of 0 is taken for none.")
@jax.jit
def zero_is_taken_for_none(x, factor):
    return jnp.where(factor == 0, x, factor * x) + 1


@hidden(idea="Factors 0 and 1, and a second vector for the same factor.", on="the factor 0 or 1, in several calls")
def factors_0_and_1(answer, draw, reference):
    """Factors 0 and 1 count, too, and so does another x for the same factor."""
    for factor in (0.0, 1.0, 1.0):
        x = draw.floats(3)
        expect_close(answer(x, factor), reference(x, factor), "It should be factor * x + 1.")


@hidden(idea="Another factor, and another length.", on="a longer vector, and another factor")
def any_factor(answer, draw, reference):
    """For another length and factor the result is right."""
    x, factor = draw.floats(5), float(draw.integer(2, 99)) / 8
    expect_close(answer(x, factor), reference(x, factor))


# %% jit_negate_if
@answer
def jit_negate_if(static):
    if static:
        return jax.jit(negate_if, static_argnums=(1,))
    return jax.jit(negate_if)


@alternative
def by_name(static):
    return jax.jit(negate_if, static_argnames="neg" if static else None)


@alternative
def decorates_a_function_of_its_own(static):
    from functools import partial

    @partial(jax.jit, static_argnums=[1] if static else [])
    def f(x, neg):
        return -x if neg else x

    return f


@wrong(rejected_by="the_traced_flag_is_refused", says="The flag is always static.")
def always_static(static):
    return jax.jit(negate_if, static_argnums=(1,))


@wrong(rejected_by="the_static_flag_negates", says="Counting begins at 0: argument 0 is x.")
def counts_from_one(static):
    return jax.jit(negate_if, static_argnums=(0,)) if static else jax.jit(negate_if)


@wrong(rejected_by="arrays_are_negated_too", says="All arguments are made static, and arrays are not hashable.")
def everything_static(static):
    return jax.jit(negate_if, static_argnums=(0, 1)) if static else jax.jit(negate_if)


@wrong(rejected_by="the_static_flag_negates", says="Without `jit` it is Python that negates.", misses_the_point=True)
def leaves_out_jit(static):
    return negate_if if static else jax.jit(negate_if)


@wrong(rejected_by="another_flag_another_program", says="The flag is fixed once for all calls.")
def fixes_the_flag(static):
    if static:
        return jax.jit(lambda x, neg: negate_if(x, True))
    return jax.jit(negate_if)


@wrong(rejected_by="the_traced_flag_is_refused", says="The function is repaired by `where`, so that nothing fails.")
def repairs_it(static):
    return jax.jit(lambda x, neg: jnp.where(neg, -x, x))


@wrong(rejected_by="each_flag_has_a_program", says="With `static=True` the flag stays traced, and `where` chooses.")
def where_for_the_static_flag(static):
    return jax.jit(lambda x, neg: jnp.where(neg, -x, x)) if static else jax.jit(negate_if)


@wrong(rejected_by="each_flag_has_a_program", says="Python negates, and the result is put into a JAX array.")
def python_negates(static):
    return (lambda x, neg: jnp.asarray(negate_if(x, neg))) if static else jax.jit(negate_if)


@hidden(stage="traces", idea="Both flags: another static flag is traced anew.")
def each_flag_has_a_program(answer):
    """With a static flag each flag has a trace of its own, and an array, which cannot be hashed, is refused."""
    counts = [seen.traces for seen in answer.then(True).observe_calls([(1.5, True), (2.5, False)])]
    message = "With a static flag the first call with each flag should be traced."
    expect_that(
        all(counts), message, f"traces: {counts}", "traces: [1, 1]", on="two calls with a number, one for each flag"
    )
    refused = answer.then(True).observe_error(1.5, jnp.array(True))
    message = "A static flag should be hashed, so an array as the flag should be refused; yours is taken."
    expect_that(refused.error is not None, message, refused.value, "an error", on="an array as the flag")


@hidden(idea="Other numbers and a matrix, with both flags.", on="an integer or a matrix, with either flag")
def any_numbers_and_flags(answer, draw, reference):
    """For other numbers and both flags the result is right."""
    for x in (draw.integer(2, 99), draw.floats(2, 3)):
        for flag in (False, True):
            expect_close(answer.then(True)(x, flag), reference.then(True)(x, flag))


# %% moving_sum
@answer
@partial(jax.jit, static_argnames="width")
def moving_sum(x, width, scale):
    window = jnp.ones(width)
    return scale * jnp.convolve(x, window, mode="valid")


alternative_value(
    "by_place",
    jax.jit(lambda x, width, scale: jnp.convolve(x, scale * jnp.ones(width), "valid"), static_argnums=(1,)),
)


@alternative
def by_a_cached_program(x, width, scale):
    if width not in _programs:
        _programs[width] = jax.jit(lambda x, scale: scale * jnp.convolve(x, jnp.ones(width), mode="valid"))
    return _programs[width](x, scale)


_programs = {}


@alternative
@partial(jax.jit, static_argnums=1)
def with_a_python_loop(x, width, scale):
    count = len(x) - width + 1
    return scale * sum(x[i : i + count] for i in range(width))


@wrong(
    rejected_by="one_trace_for_each_width", says="A static scale is traced anew for each value.", misses_the_point=True
)
@partial(jax.jit, static_argnames=("width", "scale"))
def both_static(x, width, scale):
    return scale * jnp.convolve(x, jnp.ones(width), mode="valid")


@wrong(rejected_by="one_sum_for_each_place", says="A traced width cannot become a shape.")
@jax.jit
def nothing_static(x, width, scale):
    return scale * jnp.convolve(x, jnp.ones(width), mode="valid")


@wrong(rejected_by="one_sum_for_each_place", says="The scale is static instead of the width.")
@partial(jax.jit, static_argnames="scale")
def the_wrong_one(x, width, scale):
    return scale * jnp.convolve(x, jnp.ones(width), mode="valid")


@wrong(
    rejected_by="one_trace_for_each_width", says="A function is made and jitted in each call.", misses_the_point=True
)
def jits_anew(x, width, scale):
    return jax.jit(lambda x, scale: scale * jnp.convolve(x, jnp.ones(width), mode="valid"))(x, scale)


@wrong(rejected_by="neighbours_are_added_and_scaled", says="The mean is taken instead of the sum.")
@partial(jax.jit, static_argnames="width")
def takes_means(x, width, scale):
    return scale * jnp.convolve(x, jnp.ones(width) / width, mode="valid")


@wrong(rejected_by="the_moving_sum_is_one_program", says="Only the product is jitted, and the sums are not.")
def jits_only_the_product(x, width, scale):
    return _scaled(jnp.convolve(x, jnp.ones(width), mode="valid"), scale)


_scaled = jax.jit(lambda sums, scale: scale * sums)


@wrong(rejected_by="the_moving_sum_is_one_program", says="The sums are jitted, and the product is not.")
def scales_outside(x, width, scale):
    return scale * _sums(x, width)


_sums = jax.jit(lambda x, width: jnp.convolve(x, jnp.ones(width), mode="valid"), static_argnums=1)


@hidden(
    stage="cost",
    idea="The sums and the product are both in the jitted program.",
    on="a vector, with one width and one scale",
)
def the_moving_sum_is_one_program(answer, draw):
    """Nothing is computed outside of the jitted function."""
    expect_nothing_outside(answer, draw.floats(6), 2, 1.5)


@hidden(idea="A width of 1, of n, and others.")
def any_width(answer, draw, reference):
    """For other lengths, widths and scales the result is right."""
    x, scale = draw.floats(7), float(draw.integer(2, 99)) / 8
    for width in (1, 7, draw.integer(2, 7)):
        expect_close(
            answer(x, width, scale),
            reference(x, width, scale),
            rtol=1e-4,
            atol=1e-4,
            on="a width of 1, of n, or between",
        )
    for scale in (0.0, 1.0, -0.25):
        expect_close(
            answer(x, 2, scale), reference(x, 2, scale), rtol=1e-4, atol=1e-5, on="a scale of 0, of 1, or below 0"
        )


# %% sum_of_powers
@answer
def sum_of_powers(x, n):
    def body(i, carry):
        total, power = carry
        power = power * x
        return total + power, power

    total, _ = jax.lax.fori_loop(0, n, body, (jnp.zeros_like(x), jnp.ones_like(x)))
    return total


@alternative
@jax.jit
def by_a_while_loop(x, n):
    def body(carry):
        k, total = carry
        return k + 1, x * (1 + total)

    return jax.lax.while_loop(lambda carry: carry[0] < n, body, (0, jnp.zeros_like(x)))[1]


@alternative
@jax.jit
def carries_the_next_power(x, n):
    return jax.lax.fori_loop(0, n, lambda i, carry: (carry[0] + carry[1], carry[1] * x), (0.0 * x, x))[0]


@alternative
def horners_rule(x, n):
    return jax.lax.fori_loop(0, n, lambda i, total: (total + 1) * x, jnp.zeros_like(x))


@alternative
def adds_power_by_power(x, n):
    return jax.lax.fori_loop(1, n + 1, lambda k, total: total + x**k, 0 * x)


@alternative
def by_a_formula_with_care_at_one(x, n):
    is_one = x == 1
    safe = jnp.where(is_one, 0.0, x)
    return jnp.where(is_one, n, safe * (1 - safe**n) / (1 - safe)).astype(x.dtype)


@wrong(
    rejected_by="powers_with_a_traced_n",
    says="With a static n it compiles for each n, and a traced n is refused.",
    misses_the_point=True,
)
@partial(jax.jit, static_argnums=1)
def makes_n_static(x, n):
    total, power = jnp.zeros_like(x), jnp.ones_like(x)
    for _ in range(n):
        power = power * x
        total = total + power
    return total


@wrong(rejected_by="powers_with_a_traced_n", says="`int` needs a number, and a tracer has none.")
def converts_n(x, n):
    total, power = jnp.zeros_like(x), jnp.ones_like(x)
    for _ in range(int(n)):
        power = power * x
        total = total + power
    return total


@wrong(rejected_by="powers_with_a_traced_n", says="A traced n cannot be the length of an array.")
def all_powers_at_once(x, n):
    return jnp.sum(x[:, None] ** jnp.arange(1, n + 1), axis=1)


@wrong(rejected_by="powers_with_a_traced_n", says="The loop goes to a fixed number, and larger n are cut off.")
def stops_at_ten(x, n):
    powers = jnp.cumprod(jnp.broadcast_to(x, (10, len(x))), axis=0)
    return jnp.sum(jnp.where(jnp.arange(10)[:, None] < n, powers, 0.0), axis=0)


@wrong(rejected_by="any_n", says="A larger fixed number is still a fixed number.")
def stops_at_a_hundred(x, n):
    powers = jnp.cumprod(jnp.broadcast_to(x, (100, len(x))), axis=0)
    return jnp.sum(jnp.where(jnp.arange(100)[:, None] < n, powers, 0.0), axis=0)


@wrong(rejected_by="the_powers_are_added", says="The power is updated after it was added: the sum begins with 1.")
def begins_with_one(x, n):
    def body(i, carry):
        total, power = carry
        return total + power, power * x

    return jax.lax.fori_loop(0, n, body, (jnp.zeros_like(x), jnp.ones_like(x)))[0]


@wrong(rejected_by="the_powers_are_added", says="For x = 1 the formula is 0 / 0.")
def by_a_formula_without_care(x, n):
    return x * (1 - x**n) / (1 - x)


@wrong(rejected_by="zero_and_tiny_numbers", says="A little is added to x, against a division by 0.")
def by_a_formula_with_a_little_added(x, n):
    y = x + 1e-6
    return jnp.where(n > 0, y * (1 - y**n) / (1 - y), 0.0)


@hidden(idea="Numbers 0, -1 and 1, and tiny numbers.")
def zero_and_tiny_numbers(answer):
    """For 0, -1, 1 and tiny numbers the sums are right."""
    x = jnp.array([0.0, -1.0, 1.0])
    for n, wanted in ((1, [0, -1, 1]), (2, [0, 0, 2]), (7, [0, -1, 7])):
        expect_close(
            answer(x, n), jnp.array(wanted, dtype=jnp.float32), rtol=1e-4, atol=1e-5, on="the numbers 0, -1 and 1"
        )
    tiny = jnp.array([1e-10, -3e-10])
    expect_close(
        answer(tiny, 3),
        tiny,
        "Of a tiny number the sum should be nearly the number.",
        rtol=1e-4,
        atol=0.0,
        on="a vector of tiny numbers",
    )


@hidden(stage="jit", idea="n = 1, and n above 200.", on="n = 1 or a large n, under `jax.jit`")
def any_n(answer, draw, reference):
    """For other numbers and any n the result is right."""
    x = jnp.append(jnp.tanh(draw.floats(4)) / 2, 1.0)
    for n in (1, draw.integer(200, 300)):
        expect_close(answer.jit(x, n), reference(x, n), rtol=1e-4, atol=1e-4)


# %% three_lines
@answer
@jax.jit
def three_lines(x):
    product = jnp.array(x.shape).prod()
    print(f"x = {x}")
    print(f"x.shape = {x.shape}")
    print(f"jnp.array(x.shape).prod() = {product}")
    return product


@alternative
@jax.jit
def computes_as_it_prints(x):
    print("x =", x)
    print("x.shape =", jnp.shape(x))
    print("jnp.array(x.shape).prod() =", jnp.array(x.shape).prod())
    return jnp.prod(jnp.array(x.shape))


@alternative
def with_a_jitted_helper(x):
    return _three(x)


@jax.jit
def _three(x):
    size = jnp.prod(jnp.asarray(x.shape))
    print(f"x = {x}\nx.shape = {x.shape}\njnp.array(x.shape).prod() = {size}")
    return size


@wrong(
    rejected_by="three_lines_tell_what_is_traced",
    says="Without `jit` all three lines show numbers.",
    misses_the_point=True,
)
def shows_numbers(x):
    product = jnp.array(x.shape).prod()
    print(f"x = {x}")
    print(f"x.shape = {x.shape}")
    print(f"jnp.array(x.shape).prod() = {product}")
    return product


@wrong(rejected_by="three_lines_tell_what_is_traced", says="NumPy's product is static.")
@jax.jit
def numpy_for_the_product(x):
    print(f"x = {x}")
    print(f"x.shape = {x.shape}")
    print(f"jnp.array(x.shape).prod() = {np.prod(x.shape)}")
    return jnp.array(x.shape).prod()


@wrong(
    rejected_by="three_lines_tell_what_is_traced", says="`jax.debug.print` prints the numbers, when the program runs."
)
@jax.jit
def debug_prints(x):
    product = jnp.array(x.shape).prod()
    jax.debug.print("x = {}", x)
    jax.debug.print("x.shape = {}", x.shape)
    jax.debug.print("jnp.array(x.shape).prod() = {}", product)
    return product


@hidden(stage="traces", idea="Another shape.", on="a matrix with any number of rows")
def any_shape_is_told(answer, draw, reference):
    """For another shape the lines and the value are right."""
    x = draw.floats(draw.integer(2, 6), 3)
    seen, wanted = answer.observe(x), reference.observe(x)
    expect_close(seen.value, wanted.value)
    message = "The lines should be those of this shape."
    expect_that(told(seen) == told(wanted), message, told(seen), told(wanted))


@wrong(rejected_by="three_lines_are_traced", says="Nothing is jitted: what should be printed is written down.")
def writes_three_lines_down(x):
    shape = ",".join(map(str, x.shape))
    print(f"x = JitTracer(float32[{shape}])\nx.shape = {x.shape}\njnp.array(x.shape).prod() = JitTracer(int32[])")
    return jnp.array(x.shape).prod()


@hidden(stage="traces", idea="A second call with the same shape.", on="two calls with matrices of one shape")
def three_lines_are_traced(answer):
    """A second call with the same shape prints nothing: the function is jitted."""
    seen = answer.observe_calls([(jnp.ones((4, 2)),), (jnp.zeros((4, 2)),)])
    message = "The function should be jitted: a second call should print nothing."
    expect_that(seen[0].traces > 0 and not seen[1].lines, message, seen[1].lines, "no lines")


# %% flatten_with
@answer
def flatten_with(product):
    @jax.jit
    def flatten(x):
        return x.reshape(product(x.shape))

    return flatten


@alternative
def with_a_tuple(product):
    return jax.jit(lambda x: jnp.reshape(x, (product(x.shape),)))


@alternative
def with_a_partial(product):
    from functools import partial

    def flatten(length, x):
        return jax.lax.reshape(x, (length(x.shape),))

    return jax.jit(partial(flatten, product))


@wrong(rejected_by="jaxs_product_is_no_shape", says="-1 asks nobody for the length.")
def asks_nobody(product):
    return jax.jit(lambda x: x.reshape(-1))


@wrong(rejected_by="jaxs_product_is_no_shape", says="Without `jit` the product is a number.", misses_the_point=True)
def flattens_without_jit(product):
    return lambda x: x.reshape(product(x.shape))


@wrong(rejected_by="jaxs_product_is_no_shape", says="The error is caught.")
def catches_the_type_error(product):
    def flatten(x):
        try:
            return x.reshape(product(x.shape))
        except TypeError:
            return x.ravel()

    return jax.jit(flatten)


@wrong(rejected_by="numpys_product_flattens", says="The numbers of x are multiplied, not those of its shape.")
def multiplies_the_numbers(product):
    return jax.jit(lambda x: x.reshape(product(x)))


@wrong(rejected_by="the_numbers_keep_their_order", says="The numbers come column by column.")
def column_by_column(product):
    return jax.jit(lambda x: x.T.reshape(product(x.shape)))


@wrong(rejected_by="the_flattening_is_jitted", says="Only the failing one is jitted.")
def jits_the_failing_one(product):
    if product is numpys_product:
        return lambda x: x.reshape(product(x.shape))
    return jax.jit(lambda x: x.reshape(product(x.shape)))


@hidden(
    stage="traces", idea="With `numpys_product` the function is jitted as well.", on="a matrix, with NumPy's product"
)
def the_flattening_is_jitted(answer, draw):
    """With `numpys_product` the returned function is traced by `jax.jit`."""
    seen = answer.then(given("numpys_product")).observe(draw.floats(2, 3))
    message = "The returned function should be jitted; in yours nothing is traced by `jax.jit`."
    expect_that(seen.traces > 0, message, seen.traces, "1 trace")


@hidden(
    idea="Other shapes: one axis, an axis of one, an empty axis.",
    on="arrays with one to three axes, or without elements",
)
def any_shape_is_flattened(answer, draw, reference):
    """Arrays of any shape are flattened."""
    for shape in ((draw.integer(1, 4), 2, 3), (4,), (1, 1), (0, 3)):
        x = draw.floats(*shape)
        expect_close(answer.then(given("numpys_product"))(x), reference.then(given("numpys_product"))(x))


# %% static_or_traced
@answer
def static_or_traced(operation, x):
    found = []

    @jax.jit
    def look(x):
        try:
            value = operation(x)
        except Exception:
            found.append("refused")
        else:
            found.append("traced" if isinstance(value, jax.Array) else "static")
        return x

    look(x)
    return found[0]


@alternative
def asks_for_a_tracer(operation, x):
    def look(x):
        nonlocal kind
        kind = "traced" if isinstance(operation(x), jax.core.Tracer) else "static"

    kind = ""
    try:
        jax.jit(lambda x: look(x))(x)
    except Exception:
        return "refused"
    return kind


@alternative
def by_make_jaxpr(operation, x):
    kinds = {}

    def look(x):
        kinds["kind"] = type(operation(x)).__name__
        return ()

    try:
        jax.make_jaxpr(look)(x)
    except Exception:
        return "refused"
    return "traced" if "Tracer" in kinds["kind"] else "static"


@wrong(
    rejected_by="every_class_of_exception_counts",
    says="Only a TypeError is caught; other exceptions have other classes.",
)
def catches_a_type_error(operation, x):
    found = []

    @jax.jit
    def look(x):
        try:
            found.append("traced" if isinstance(operation(x), jax.Array) else "static")
        except TypeError:
            found.append("refused")

    look(x)
    return found[0]


@wrong(rejected_by="every_class_of_exception_counts", says="Only JAX's errors are caught.")
def catches_jaxs_errors(operation, x):
    found = []

    @jax.jit
    def look(x):
        try:
            found.append("traced" if isinstance(operation(x), jax.Array) else "static")
        except (jax.errors.JAXTypeError, jax.errors.JAXIndexError):
            found.append("refused")

    look(x)
    return found[0]


@wrong(
    rejected_by="what_computes_nothing_is_told_apart",
    says="What leaves no operation in the program is taken for static.",
)
def counts_the_operations(operation, x):
    try:
        jaxpr = jax.make_jaxpr(operation)(x)
    except Exception:
        return "refused"
    return "traced" if jaxpr.eqns else "static"


@wrong(
    rejected_by="four_operations_are_told_apart",
    says="Outside of `jit` there is no tracer to refuse.",
    misses_the_point=True,
)
def looks_outside_of_jit(operation, x):
    try:
        value = operation(x)
    except Exception:
        return "refused"
    return "traced" if isinstance(value, jax.Array) else "static"


@wrong(rejected_by="four_operations_are_told_apart", says="What comes out of a jitted function is always an array.")
def looks_at_the_output(operation, x):
    try:
        value = jax.jit(operation)(x)
    except Exception:
        return "refused"
    return "traced" if isinstance(value, jax.Array) else "static"


@wrong(rejected_by="arrays_are_told_apart", says="What has a shape of its own is taken for traced.")
def everything_with_a_shape(operation, x):
    found = []

    @jax.jit
    def look(x):
        try:
            found.append("traced" if not isinstance(operation(x), np.generic) else "static")
        except TypeError:
            found.append("refused")

    look(x)
    return found[0]


@wrong(rejected_by="every_refusal_counts", says="Only NumPy's error is caught; `float` raises another one.")
def knows_one_error(operation, x):
    found = []

    @jax.jit
    def look(x):
        try:
            found.append("traced" if isinstance(operation(x), jax.Array) else "static")
        except jax.errors.TracerArrayConversionError:
            found.append("refused")

    look(x)
    return found[0]


@wrong(
    rejected_by="what_computes_nothing_is_told_apart", says="The name of the operation is read, and nothing is tried."
)
def reads_the_name(operation, x):
    name = operation.__name__
    if name in ("sine_by_numpy", "first_number"):
        return "refused"
    return "static" if "numpy" in name else "traced"


@hidden(
    idea="An operation that returns x as it is, and one that returns a shape.", on="an operation that computes nothing"
)
def what_computes_nothing_is_told_apart(answer, draw):
    """x as it is is traced, and its shape is static."""
    x = draw.floats(2, 3)
    for name, kind in (("unchanged", "traced"), ("shape_of", "static")):
        got = answer(given(name), x)
        expect_that(got == kind, f"`{name}` should be {kind}.", got, kind)


@hidden(
    idea="Operations that raise other exceptions than TypeError.",
    on="operations that can raise an IndexError or a ValueError",
)
def every_class_of_exception_counts(answer, draw):
    """An operation that raises an IndexError or a ValueError is refused, and x may suit it after all."""
    for name, x, kind in (
        ("positive_numbers", draw.floats(3), "refused"),
        ("four_columns", draw.floats(2, 3), "refused"),
        ("four_columns", draw.floats(2, 4), "traced"),
    ):
        got = answer(given(name), x)
        expect_that(got == kind, f"`{name}` should be {kind} for an x of shape {x.shape}.", got, kind)


@hidden(
    idea="Operations that the visible checks do not use, and another x.", on="other operations, for a matrix of floats"
)
def other_operations_are_told_apart(answer, draw):
    """Other operations are told apart as well."""
    x = draw.floats(2, draw.integer(2, 5))
    for name, kind in (
        ("wave", "traced"),
        ("norm", "traced"),
        ("first_number", "refused"),
        ("size_by_numpy", "static"),
        ("flatten_by_jax", "refused"),
    ):
        got = answer(given(name), x)
        expect_that(got == kind, f"`{name}` should be {kind}.", got, kind)
