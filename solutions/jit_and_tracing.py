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
    expect_raises,
    expect_that,
    given,
    hidden,
    wrong,
    wrong_value,
)
from jaxguide.tracing import program


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


@wrong(rejected_by="three_operations_become_one", says="What is inside the jitted operation is counted.")
def counts_what_is_inside(function, x):
    return program(function, x).equations, program(jax.jit(function), x).equations


@wrong(rejected_by="repeated_operations_count_each_time", says="Each kind of operation is counted once.")
def counts_the_kinds(function, x):
    kinds = [{str(e.primitive) for e in jax.make_jaxpr(f)(x).eqns} for f in (function, jax.jit(function))]
    return len(kinds[0]), len(kinds[1])


@wrong(rejected_by="three_operations_become_one", says="The jitted function is called instead of listed.")
def lists_the_result(function, x):
    return len(jax.make_jaxpr(function)(x).eqns), len(jax.jit(function)(x))


@hidden(idea="Any function of one array.")
def another_function_is_counted(answer, draw, reference):
    """For a function of many operations, of a matrix, the counts are right."""
    x = draw.floats(3, 5)
    got, wanted = answer(given("norm"), x), reference(given("norm"), x)
    right = [int(one) for one in got] == [int(one) for one in wanted]
    expect_that(right, "The operations are miscounted.", got, wanted)


# %% normalise_rows
@answer
def normalise_rows(X):
    X = X - X.mean(axis=1, keepdims=True)
    return X / X.std(axis=1, keepdims=True)


@alternative
@jax.jit
def on_its_side(X):
    sideways = X.T
    return ((sideways - sideways.mean(0)) / sideways.std(0)).T


alternative_value("row_by_row", jax.vmap(lambda row: (row - row.mean()) / row.std()))


@alternative
def with_new_axes(X):
    X = jnp.asarray(X)
    return (X - X.mean(1)[:, None]) / jnp.sqrt(X.var(1))[:, None]


@wrong(rejected_by="each_row_is_normalised", says="Only the means were mended.")
def forgets_the_second_line(X):
    X = X - X.mean(axis=1, keepdims=True)
    return X / X.std(0)


@wrong(rejected_by="each_row_is_normalised", says="Axis 0 still runs down the columns.")
def forgets_one_axis(X):
    return (X - X.mean(axis=0, keepdims=True)) / X.std(axis=0, keepdims=True)


@wrong(rejected_by="the_table_keeps_its_shape", says="The means of the rows are a row themselves and do not broadcast.")
def forgets_keepdims(X):
    X = X - X.mean(1)
    return X / X.std(1)


@wrong(rejected_by="jit_gives_the_same_numbers", says="NumPy needs the numbers, and a tracer has none.")
def asks_numpy(X):
    X = np.asarray(X)
    return jnp.asarray((X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True))


@hidden(idea="Any shape, any scale.")
def any_table_is_normalised(answer, draw, reference):
    """Tables of any shape are normalised, plain and jitted."""
    x = draw.integer(2, 9) * draw.floats(draw.integer(2, 6), 7) + draw.integer(-5, 5)
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
    return [plain / jitted, jnp.ceil((jitted_s[0] - jitted) / (plain - jitted)).astype(int)]


@wrong(rejected_by="the_documents_ratio", says="The first call, which compiles, is counted.")
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


@hidden(idea="Any times.")
def any_times(answer, draw, reference):
    """For other times the ratio and the number of calls are right."""
    for _ in range(3):
        plain = [9.0, *(3.0 + draw.generator.random(5))]
        jitted = [20.5 + 4 * draw.integer(2, 9), *(1.0 + draw.generator.random(5))]
        (ratio, calls), (wanted, wanted_calls) = answer(plain, jitted), reference(plain, jitted)
        message = "The ratio or the number of calls is wrong."
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
    chosen = jnp.signbit(x) & (x != 0)
    return x[chosen]


@wrong(rejected_by="the_negative_numbers_are_selected", says="The others become zeros, and stay.")
def puts_zeros(x):
    return jnp.where(x < 0, x, 0.0)


@wrong(rejected_by="the_negative_numbers_are_selected", says="The numbers lose their order.")
def sorts_them(x):
    return jnp.sort(x)[: int((x < 0).sum())]


@wrong(rejected_by="jit_refuses_the_mask", says="Under `jit` the error is caught.")
def catches_the_error(x):
    try:
        return x[x < 0]
    except jax.errors.NonConcreteBooleanIndexError:
        return x


@wrong(rejected_by="jit_refuses_the_mask", says="The size is fixed to 4, which happens to be right for these numbers.")
def fixes_the_size(x):
    return x[jnp.nonzero(x < 0, size=4)[0]]


@hidden(stage="jit", idea="Any number of negatives.")
def any_number_of_negatives(answer, draw, reference):
    """For other numbers the negative ones are selected, and under `jit` JAX refuses."""
    x = jnp.concatenate([jnp.array([-1.0, 0.0]), draw.floats(draw.integer(4, 9))])
    expect_close(answer(x), reference(x))
    expect_raises(answer.jit.observe_error(x), "NonConcreteBooleanIndexError")


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
    return jnp.where(count > 0, jnp.minimum(x, 0.0).sum() / count, 0.0)


@alternative
def means_with_where(x):
    return jax.lax.cond(jnp.any(x < 0), lambda v: jnp.mean(v, where=v < 0), lambda v: jnp.float32(0.0), x)


@alternative
def nan_to_zero(x):
    return jnp.nan_to_num(jnp.nanmean(jnp.where(x < 0, x, jnp.nan)))


@wrong(rejected_by="only_negatives_count", says="The zeros are counted, too.")
def divides_by_all(x):
    return jnp.where(x < 0, x, 0.0).mean()


@wrong(rejected_by="without_negatives_it_is_zero", says="Without negatives it divides 0 by 0.")
def divides_by_nothing(x):
    mask = x < 0
    return jnp.sum(jnp.where(mask, x, 0.0)) / jnp.sum(mask)


@wrong(rejected_by="the_mean_under_jit", says="A mask as an index needs the numbers.")
def still_selects(x):
    return jnp.nan_to_num(x[x < 0].mean())


@wrong(rejected_by="the_mean_under_jit", says="A Python `if` needs to know the count.")
def branches_on_the_count(x):
    mask = x < 0
    if mask.sum() == 0:
        return jnp.float32(0.0)
    return jnp.sum(jnp.where(mask, x, 0.0)) / mask.sum()


@hidden(stage="jit", idea="Any numbers.")
def any_numbers_under_jit(answer, draw, reference):
    """For other numbers, plain and jitted, it is the mean of the negatives."""
    x = draw.floats(draw.integer(5, 9)) - 0.5
    for one in (x, -jnp.abs(x), jnp.abs(x)):
        expect_close(answer.jit(one), reference(one))
