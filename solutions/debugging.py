# %%
import logging

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify

from jaxguide.course.author import (
    alternative,
    answer,
    equivalent,
    expect_close,
    expect_that,
    given,
    hidden,
    input,
    wrong,
)


# %% shape_and_value
@answer(
    notice="An f-string is right for the shape and wrong for the value: only the shape is known while JAX traces.",
    another_way="`jax.debug.print` can show the shape, too, but then in every run.",
)
def shape_and_value(x):
    x = jnp.asarray(x)
    print(f"shape {x.shape} dtype {x.dtype}")
    jax.debug.print("value {}", x)
    return x


@alternative
def keyword_and_commas(x):
    print("shape", jnp.shape(x), "dtype", jnp.result_type(x))
    jax.debug.print("value {value}", value=x)
    return x


@alternative
@jax.jit
def jitted_with_a_callback(x):
    print(f"shape {x.shape} dtype {x.dtype}")
    jax.debug.callback(lambda value: print("value", value), x)
    return x


@wrong(rejected_by="both_lines_are_right", says="Both lines are printed while tracing.", misses_the_point=True)
def python_prints_both(x):
    x = jnp.asarray(x)
    print(f"shape {x.shape} dtype {x.dtype}")
    print(f"value {x}")
    return x


@wrong(
    rejected_by="python_prints_when_it_traces",
    says="The static facts are printed at each run.",
    misses_the_point=True,
    lacks="S0-03",
)
def debug_prints_both(x):
    x = jnp.asarray(x)
    jax.debug.print(f"shape {x.shape} dtype {x.dtype}", ordered=True)
    jax.debug.print("value {}", x, ordered=True)
    return x


@wrong(rejected_by="both_lines_are_right", says="An f-string puts the tracer into the text.", lacks="S0-01")
def f_string_with_debug_print(x):
    x = jnp.asarray(x)
    print(f"shape {x.shape} dtype {x.dtype}")
    jax.debug.print(f"value {x}")
    return x


@wrong(rejected_by="scalars_and_truth_values", says="The length is taken, which a scalar has not.")
def takes_the_length(x):
    x = jnp.asarray(x)
    print(f"shape ({len(x) if x.ndim else 1},) dtype {x.dtype}")
    jax.debug.print("value {}", x)
    return x


@hidden(stage="jit", idea="A scalar, and truth values.", on="a scalar, and an array of truth values")
def scalars_and_truth_values(answer):
    """A scalar and an array of truth values are described."""
    cases = ((np.float32(1.5), ["shape () dtype float32", "value 1.5"]),)
    cases += ((np.array([True, False]), ["shape (2,) dtype bool", "value [ True False]"]),)
    for x, wanted in cases:
        lines = answer.jit.observe(x).lines
        expect_that(lines == wanted, "The two lines should be about this x.", lines, wanted)


@wrong(rejected_by="anything_comes_back", says="What comes back has lost its sign.")
def returns_the_size(x):
    x = jnp.asarray(x)
    print(f"shape {x.shape} dtype {x.dtype}")
    jax.debug.print("value {}", x)
    return abs(x)


@hidden(idea="x comes back as it is.", on="negative whole numbers, NaN, and infinities")
def anything_comes_back(answer):
    """Negative numbers, NaN and infinities come back."""
    for x in (np.array([-3, 0, 7], np.int32), np.array([np.nan, -np.inf, -0.5], np.float32)):
        expect_close(answer(x), x, "The result should be x, as it is.")


@hidden(stage="jit", idea="Integers, and another length.", on="a vector of integers")
def any_array_is_described(answer, draw):
    """Any array is described."""
    n = draw.integer(2, 9)
    seen = answer.jit.observe(jnp.full((n,), 7, jnp.int32))
    wanted = [f"shape ({n},) dtype int32", f"value [{' '.join('7' * n)}]"]
    expect_that(seen.lines == wanted, "The two lines should be about this x.", seen.lines, wanted)


# %% predict_lines_of_half
@answer
def predict_lines_of_half():
    return 3


# %% see_sine
@answer(
    notice="Python's prints come first, all of them, while JAX traces; the program prints when it runs.",
    another_way="One `jax.debug.print` of both values makes one line in the program instead of two.",
)
def see_sine(x):
    print("print(x) ->", x)
    jax.debug.print("jax.debug.print(x) -> {x}", x=x)
    y = jnp.sin(x)
    print("print(y) ->", y)
    jax.debug.print("jax.debug.print(y) -> {y}", y=y)
    return y


@alternative
def positional_and_at_the_end(x):
    y = jnp.sin(x)
    print("print(x) ->", x)
    print("print(y) ->", y)
    jax.debug.print("jax.debug.print(x) -> {}\njax.debug.print(y) -> {}", x, y)
    return y


@alternative
@jax.jit
def jitted_and_ordered(x):
    print("print(x) ->", x)
    jax.debug.print("jax.debug.print(x) -> {}", x, ordered=True)
    y = jnp.sin(x)
    print("print(y) ->", y)
    jax.debug.print("jax.debug.print(y) -> {}", y, ordered=True)
    return y


@alternative
def converts_x_first(x):
    x = jnp.asarray(x, jnp.float32)
    print("print(x) ->", x)
    jax.debug.print("jax.debug.print(x) -> {}", x)
    y = jnp.sin(x)
    print("print(y) ->", y)
    jax.debug.print("jax.debug.print(y) -> {}", y)
    return y


@wrong(rejected_by="debug_prints_show_numbers", says="The second print has an f-string.", lacks="S0-04")
def repairs_one(x):
    print("print(x) ->", x)
    jax.debug.print("jax.debug.print(x) -> {}", x)
    y = jnp.sin(x)
    print("print(y) ->", y)
    jax.debug.print(f"jax.debug.print(y) -> {y}")
    return y


@wrong(
    rejected_by="debug_prints_show_numbers",
    says="`str.format` fills in the tracer, as an f-string does.",
    misses_the_point=True,
)
def format_instead(x):
    print("print(x) ->", x)
    jax.debug.print("jax.debug.print(x) -> {}".format(x))  # noqa: UP032
    y = jnp.sin(x)
    print("print(y) ->", y)
    jax.debug.print("jax.debug.print(y) -> {}".format(y))  # noqa: UP032
    return y


@wrong(rejected_by="pythons_prints_show_tracers", says="All prints are debug prints.")
def debug_prints_only(x):
    jax.debug.print("print(x) -> {}", x)
    jax.debug.print("jax.debug.print(x) -> {}", x)
    y = jnp.sin(x)
    jax.debug.print("print(y) -> {}", y)
    jax.debug.print("jax.debug.print(y) -> {}", y)
    return y


@wrong(rejected_by="under_vmap_each_example_is_printed", says="The example's numbers are written down.")
def writes_the_numbers_down(x):
    print("print(x) ->", x)
    y = jnp.sin(x)
    print("print(y) ->", y)
    jax.debug.callback(lambda x: print("jax.debug.print(x) -> 2.0"), x)
    jax.debug.callback(lambda y: print("jax.debug.print(y) -> 0.9092974066734314"), y)
    return y


@wrong(rejected_by="pythons_prints_show_tracers", says="What Python sees of y is left out.", lacks="S0-02")
def forgets_pythons_y(x):
    print("print(x) ->", x)
    jax.debug.print("jax.debug.print(x) -> {}", x)
    y = jnp.sin(x)
    jax.debug.print("jax.debug.print(y) -> {}", y)
    return y


@wrong(
    rejected_by="under_vmap_each_example_is_printed",
    says="It reaches into the tracer of `vmap` for the whole batch, by an attribute that is JAX's own.",
    lacks="S0-05",
)
def reaches_into_the_tracer(x):
    inside = x.val if "Vmap" in type(x).__name__ or "Batch" in type(x).__name__ else x
    print("print(x) ->", inside)
    jax.debug.print("jax.debug.print(x) -> {}", x)
    y = jnp.sin(x)
    print("print(y) ->", y)
    jax.debug.print("jax.debug.print(y) -> {}", y)
    return y


@wrong(rejected_by="any_number_is_seen", says="The sine of a table is believed to be good enough.")
def knows_two_sines(x):
    print("print(x) ->", x)
    jax.debug.print("jax.debug.print(x) -> {}", x)
    y = jnp.sin(x)
    print("print(y) ->", y)
    jax.debug.print("jax.debug.print(y) -> {}", jnp.where(x == 2, y, jnp.where(x < 2, y, 1.0)))
    return y


@hidden(idea="The sine of NaN and of an infinity is NaN.", on="NaN and an infinity")
def nan_has_a_sine(answer):
    """The sine of NaN, and of an infinity, is NaN."""
    x = np.array([np.nan, np.inf, 0.0], np.float32)
    expect_close(answer.vmap()(x), np.array([np.nan, np.nan, 0.0], np.float32), "The result should be the sine.")


@hidden(stage="jit", idea="Other numbers, in two calls.", on="positive numbers, in two calls in a row")
def any_number_is_seen(answer, draw, reference):
    """Any number is printed, at each run."""
    calls = [(draw.integer(9, 99) / 4,) for _ in range(2)]
    for got, wanted in zip(answer.jit.observe_calls(calls), reference.jit.observe_calls(calls), strict=True):
        lines, expected = (sorted(beginning(seen.lines, "jax.debug.print(")) for seen in (got, wanted))
        expect_that(lines == expected, "Each run should print its own numbers.", lines, expected)


# %% printed_sines
@answer(
    notice="`ordered=True` is needed in the loop only: under `vmap` the prints of x come first, in either case.",
    another_way="One print of both values keeps them together without a promise about the order of the steps.",
)
def printed_sines(how, xs, ordered):
    def one(x):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=ordered)
        y = jnp.sin(x)
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=ordered)
        return y

    return jax.vmap(one)(xs) if how == "vmap" else jax.lax.map(one, xs)


@alternative
def jitted_vmap_and_a_scan(how, xs, ordered):
    def one(x):
        y = jnp.sin(x)
        jax.debug.print("jax.debug.print(x) -> {x}", x=x, ordered=ordered)
        jax.debug.print("jax.debug.print(y) -> {y}", y=y, ordered=ordered)
        return y

    if how == "vmap":
        return jax.jit(jax.vmap(one))(xs)
    return jax.lax.scan(lambda carry, x: (carry, one(x)), None, xs)[1]


@alternative
def jitted_as_a_whole(how, xs, ordered):
    def one(x):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=ordered)
        jax.debug.print("jax.debug.print(y) -> {}", jnp.sin(x), ordered=ordered)
        return jnp.sin(x)

    return {"vmap": jax.jit(lambda xs: jax.vmap(one)(xs)), "map": jax.jit(lambda xs: jax.lax.map(one, xs))}[how](xs)


@wrong(rejected_by="vmap_prints_all_x_first", says="The whole vectors are printed.")
def prints_vectors(how, xs, ordered):
    jax.debug.print("jax.debug.print(x) -> {}", xs, ordered=ordered)
    ys = jnp.sin(xs)
    jax.debug.print("jax.debug.print(y) -> {}", ys, ordered=ordered)
    return ys


@wrong(rejected_by="ordered_prints_come_step_by_step", says="`jax.vmap` is taken for both.", misses_the_point=True)
def vmap_for_both(how, xs, ordered):
    def one(x):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=ordered)
        y = jnp.sin(x)
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=ordered)
        return y

    return jax.vmap(one)(xs)


@wrong(rejected_by="vmap_prints_all_x_first", says="`jax.lax.map` is taken for both.", lacks="S0-06")
def map_for_both(how, xs, ordered):
    def one(x):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=ordered)
        y = jnp.sin(x)
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=ordered)
        return y

    return jax.lax.map(one, xs)


@wrong(rejected_by="ordered_prints_come_step_by_step", says="The order of lines in the code is trusted.", lacks="S0-07")
def never_ordered(how, xs, ordered):
    def one(x):
        jax.debug.print("jax.debug.print(x) -> {}", x)
        y = jnp.sin(x)
        jax.debug.print("jax.debug.print(y) -> {}", y)
        return y

    return jax.vmap(one)(xs) if how == "vmap" else jax.lax.map(one, xs)


@wrong(rejected_by="map_is_a_loop_of_the_program", says="A Python loop is not `lax.map`: its program grows with n.")
def python_loop_for_map(how, xs, ordered):
    def one(x):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=ordered)
        y = jnp.sin(x)
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=ordered)
        return y

    return jax.vmap(one)(xs) if how == "vmap" else jnp.stack([one(x) for x in xs])


@wrong(rejected_by="other_prints_may_be_reordered", says="The order is always promised.", lacks="S0-11")
def always_ordered(how, xs, ordered):
    def one(x):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=True)
        y = jnp.sin(x)
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=True)
        return y

    return jax.vmap(one)(xs) if how == "vmap" else jax.lax.map(one, xs)


@wrong(rejected_by="both_ways_give_the_sines", says="The function returns x instead of y.", lacks="S0-08")
def returns_x(how, xs, ordered):
    def one(x):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=ordered)
        y = jnp.sin(x)
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=ordered)
        return x

    return jax.vmap(one)(xs) if how == "vmap" else jax.lax.map(one, xs)


@wrong(rejected_by="map_is_a_loop_of_the_program", says="A loop goes over the numbers, and each is mapped alone.")
def a_loop_in_vmap(how, xs, ordered):
    def one(x):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=ordered)
        y = jnp.sin(x)
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=ordered)
        return y

    if how == "vmap":
        for x in xs:
            jax.debug.print("jax.debug.print(x) -> {}", x, ordered=ordered)
        step = lambda i, ys: ys.at[i].set(jnp.sin(xs[i]))
        ys = jax.lax.fori_loop(0, len(xs), step, xs)
        for y in ys:
            jax.debug.print("jax.debug.print(y) -> {}", y, ordered=ordered)
        return ys
    return jax.lax.map(one, xs)


@hidden(
    idea="No promise about the order is no licence to leave prints out.",
    on="one number, with ordered=False",
    stage="jit",
)
def one_number_is_printed_and_computed(answer, draw):
    """One number is printed, and its sine, in either way."""
    xs = draw.floats(1)
    for how in ("vmap", "map"):
        seen = answer.observe(how, xs, False)
        expect_close(seen.value, np.sin(np.asarray(xs)), rtol=1e-5, atol=1e-6)
        starts = sorted(line.partition(" -> ")[0] for line in seen.lines)
        message = "There should be one line for x and one for y."
        expect_that(starts == ["jax.debug.print(x)", "jax.debug.print(y)"], message, seen.lines)


@hidden(stage="jit", kind="observed", idea="Other numbers, and two of them.", on="a vector of two random numbers")
def any_numbers_are_printed(answer, draw, reference):
    """Any numbers are printed."""
    xs = draw.floats(2)
    at_once = reference.observe("vmap", xs, True).lines
    one_by_one = [line for pair in zip(at_once[:2], at_once[2:], strict=True) for line in pair]
    for how, wanted in (("vmap", at_once), ("map", one_by_one)):
        lines = answer.observe(how, xs, True).lines
        expect_that(lines == wanted, "Each number should be printed, and its sine.", lines, wanted)


equivalent("8cf363db3d", because='`how` is "vmap" or "map", and nothing else.')


# %% sum_in_order
@answer(
    notice="Both prints need `ordered=True`: an ordered print is only ordered with respect to other ordered ones.",
    another_way="One print of both values needs no promise, since it cannot be reordered with itself.",
)
def sum_in_order(x, y):
    @jax.jit
    def add(x, y):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=True)
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=True)
        return x + y

    return add(x, y)


@alternative
def by_ordered_callbacks(x, y):
    def tell(name):
        return lambda value: print(f"jax.debug.print({name}) -> {value}")

    @jax.jit
    def add(x, y):
        jax.debug.callback(tell("x"), x, ordered=True)
        jax.debug.callback(tell("y"), y, ordered=True)
        return jnp.add(x, y)

    return add(x, y)


@alternative
@jax.jit
def jitted_as_a_whole(x, y):
    total = x + y
    jax.debug.print("jax.debug.print(x) -> {x}", x=x, ordered=True)
    jax.debug.print("jax.debug.print(y) -> {y}", y=y, ordered=True)
    return total


@wrong(rejected_by="x_is_promised_before_y", says="The prints are swapped, to make up for the compiler.", lacks="S0-12")
def swaps_the_lines(x, y):
    @jax.jit
    def add(x, y):
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=True)
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=True)
        return x + y

    return add(x, y)


@wrong(rejected_by="x_is_promised_before_y", says="The order holds, but without `jit` Python keeps it anyway.")
def prints_outside_of_jit(x, y):
    jax.debug.print("jax.debug.print(x) -> {}", x, ordered=True)
    jax.debug.print("jax.debug.print(y) -> {}", y, ordered=True)
    return jnp.add(x, y)


@wrong(rejected_by="x_is_promised_before_y", says="Only one of the prints is ordered.", lacks="S0-12")
def orders_one(x, y):
    @jax.jit
    def add(x, y):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=True)
        jax.debug.print("jax.debug.print(y) -> {}", y)
        return x + y

    return add(x, y)


@wrong(rejected_by="x_is_promised_before_y", says="One print with two lines is one print.", lacks="S0-12")
def one_print_of_two_lines(x, y):
    @jax.jit
    def add(x, y):
        jax.debug.print("jax.debug.print(x) -> {}\njax.debug.print(y) -> {}", x, y, ordered=True)
        return x + y

    return add(x, y)


@wrong(rejected_by="x_is_promised_before_y", says="Python prints the tracers, in order.", misses_the_point=True)
def python_prints_in_order(x, y):
    @jax.jit
    def add(x, y):
        print("jax.debug.print(x) ->", x)
        print("jax.debug.print(y) ->", y)
        return x + y

    return add(x, y)


@wrong(rejected_by="the_sum_is_right", says="Nothing is jitted, so that Python adds Python's numbers.")
def without_jit(x, y):
    jax.debug.print("jax.debug.print(x) -> {}", x, ordered=True)
    jax.debug.print("jax.debug.print(y) -> {}", y, ordered=True)
    return x + y


@wrong(rejected_by="x_is_promised_before_y", says="The sum is made a float.", lacks="S0-12")
def adds_as_floats(x, y):
    @jax.jit
    def add(x, y):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=True)
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=True)
        return jnp.float32(x) + y

    return add(x, y)


@wrong(rejected_by="each_run_prints_its_numbers", says="The numbers of the example are written down.")
def writes_the_numbers_down(x, y):
    @jax.jit
    def add(x, y):
        jax.debug.print("jax.debug.print(x) -> {}", 1, ordered=True)
        jax.debug.print("jax.debug.print(y) -> {}", 2, ordered=True)
        return x + y

    return add(x, y)


@hidden(idea="A sum with NaN is NaN.", on="NaN, and an infinity")
def nan_is_added(answer):
    """NaN and infinities are added, too."""
    x, y = np.array([np.nan, np.inf, -1.0], np.float32), np.ones(3, np.float32)
    expect_close(answer(x, y), x + y, "The result should be the sum.")


@hidden(
    stage="jit", kind="observed", idea="Other numbers, in two calls.", on="other whole numbers, in two calls in a row"
)
def each_run_prints_its_numbers(answer, draw):
    """Each call prints its own numbers, in order."""
    calls = [(draw.integer(3, 99), draw.integer(3, 99)) for _ in range(2)]
    for seen, (x, y) in zip(answer.observe_calls(calls), calls, strict=True):
        wanted = [f"jax.debug.print(x) -> {x}", f"jax.debug.print(y) -> {y}"]
        expect_that(seen.lines == wanted, "Each call should print its own x and then its own y.", seen.lines, wanted)


# %% log_by_sign
@answer(
    notice="The `if` is in the function that runs on the host, where x is a number, also for each row of a `vmap`.",
    another_way="A `jax.lax.cond` with a callback in each branch works under `jit`, but under `vmap` both run.",
)
def log_by_sign(x):
    def log_value(value):
        if value < 0:
            log.error(f"Logged value: {value}")
        else:
            log.warning(f"Logged value: {value}")

    jax.debug.callback(log_value, x)
    return x


@alternative
def level_by_number(x):
    def log_value(value):
        log.log(logging.ERROR if float(value) < 0 else logging.WARNING, "Logged value: %s", float(value))

    jax.debug.callback(log_value, x, ordered=True)
    return x


@alternative
@jax.jit
def the_sign_goes_along(x):
    def log_value(negative, value):
        (log.error if negative else log.warning)(f"Logged value: {value}")

    jax.debug.callback(log_value, x < 0, x)
    return x


@wrong(rejected_by="jit_logs_the_value", says="The tracer is logged, while tracing.", misses_the_point=True)
def logs_while_tracing(x):
    log.warning(f"Logged value: {x}")
    return x


@wrong(rejected_by="jit_logs_the_value", says="A Python `if` in the traced function needs a value.")
def if_in_the_traced_function(x):
    if x < 0:
        jax.debug.callback(lambda value: log.error(f"Logged value: {value}"), x)
    else:
        jax.debug.callback(lambda value: log.warning(f"Logged value: {value}"), x)
    return x


@wrong(rejected_by="vmap_logs_each_example", says="Under vmap a cond runs both branches.", lacks="S0-21")
def cond_of_two_callbacks(x):
    jax.lax.cond(
        x < 0,
        lambda x: jax.debug.callback(lambda value: log.error(f"Logged value: {value}"), x),
        lambda x: jax.debug.callback(lambda value: log.warning(f"Logged value: {value}"), x),
        x,
    )
    return x


@wrong(rejected_by="jit_logs_the_value", says="Under jit, an unused `pure_callback` is dropped.", lacks="S0-20")
def unused_pure_callback(x):
    def log_value(value):
        log.warning(f"Logged value: {value}")
        return np.int32(0)

    promise = jax.ShapeDtypeStruct((), jnp.int32)
    jax.pure_callback(log_value, promise, jax.lax.stop_gradient(x), vmap_method="sequential")
    return x


@wrong(rejected_by="grad_logs_the_forward_value", says="An `io_callback` has no derivative.", lacks="S0-22")
def io_callback_for_logs(x):
    from jax.experimental import io_callback

    def log_value(value):
        (log.error if value < 0 else log.warning)(f"Logged value: {value}")

    io_callback(log_value, None, x)
    return x


@wrong(rejected_by="negative_values_are_errors", says="The absolute value is logged.")
def logs_the_size(x):
    def log_value(value):
        (log.error if value < 0 else log.warning)(f"Logged value: {abs(value)}")

    jax.debug.callback(log_value, x)
    return x


@hidden(idea="x comes back as it is.", on="NaN, -0.0 and an infinity")
def any_value_comes_back(answer):
    """NaN, -0.0 and infinities come back."""
    for x in (np.nan, -0.0, -np.inf):
        expect_close(answer(jnp.float32(x)), np.float32(x), "The result should be x, as it is.")


@wrong(rejected_by="negative_values_are_errors", says="Everything is a warning.")
def always_a_warning(x):
    jax.debug.callback(lambda value: log.warning(f"Logged value: {value}"), x)
    return x


@wrong(rejected_by="combined_transformations_log", says="NaN is not negative: every comparison with it is False.")
def not_a_number_is_an_error(x):
    def log_value(value):
        if value >= 0:
            log.warning(f"Logged value: {value}")
        else:
            log.error(f"Logged value: {value}")

    jax.debug.callback(log_value, x)
    return x


@hidden(
    stage="gradient",
    kind="observed",
    required=True,
    idea="NaN, -0.0 and infinities, under jit, vmap and grad.",
    on="a batch with NaN, -0.0 and infinities, under grad",
)
def combined_transformations_log(answer, draw):
    """Under jit of vmap of grad each value is logged by its sign."""
    xs = np.array([draw.integer(1, 99), -draw.integer(1, 99), np.nan, -0.0, np.inf, -np.inf], np.float32)
    seen = answer.grad().vmap().jit.observe(xs)
    wanted = sorted(f"{'ERROR' if x < 0 else 'WARNING'}:root:Logged value: {x}" for x in xs)
    expect_that(
        sorted(seen.lines) == wanted,
        "Each value should be logged by its sign; NaN and -0.0 are not negative.",
        seen.lines,
        wanted,
    )


# %% watched_quotient
@answer(
    notice="Both branches are in the program, and the breakpoint in one of them; which one runs, the numbers decide.",
    another_way="`breakpoint_if_nonfinite(z)` does the same in one line, and under `vmap` for each row.",
)
def watched_quotient(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y

        def stop(z):
            jax.debug.breakpoint()

        def go_on(z):
            pass

        jax.lax.cond(jnp.isfinite(z), go_on, stop, z)
        return z

    return divide(x, y)


@alternative
def by_the_helper(x, y):
    from jaxguide.course.breakpoints import breakpoint_if_nonfinite

    @jax.jit
    def divide(x, y):
        z = x / y
        breakpoint_if_nonfinite(z)
        return z

    return divide(x, y)


@alternative
def closures_without_arguments(x, y):
    def divide(x, y):
        z = jnp.divide(x, y)
        bad = jnp.isnan(z) | jnp.isinf(z)
        jax.lax.cond(bad, lambda: jax.debug.breakpoint(), lambda: None)
        return z

    return jax.jit(divide)(x, y)


@alternative
@jax.jit
def jitted_as_a_whole(x, y):
    z = x / y

    def stop(values):
        jax.debug.breakpoint(ordered=True)
        return values

    return jax.lax.cond(z - z == 0, lambda values: values, stop, z)


@wrong(rejected_by="the_quotient_is_right", says="A Python `if` needs a value while JAX traces.")
def python_if(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y
        if not jnp.isfinite(z):
            jax.debug.breakpoint()
        return z

    return divide(x, y)


@wrong(rejected_by="finite_quotients_do_not_stop", says="It stops in every call.", misses_the_point=True, lacks="S0-16")
def always_stops(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y
        jax.debug.breakpoint()
        return z

    return divide(x, y)


@wrong(rejected_by="others_stop_once", says="Only NaN is looked for.", lacks="S0-17")
def nan_only(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y

        def stop(z):
            jax.debug.breakpoint()

        jax.lax.cond(jnp.isnan(z), stop, lambda z: None, z)
        return z

    return divide(x, y)


@wrong(rejected_by="finite_quotients_do_not_stop", says="The two branches of `cond` are swapped.")
def branches_swapped(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y

        def stop(z):
            jax.debug.breakpoint()

        jax.lax.cond(jnp.isfinite(z), stop, lambda z: None, z)
        return z

    return divide(x, y)


@wrong(rejected_by="finite_quotients_do_not_stop", says="A `where` computes both sides, and so it stops in any case.")
def where_instead_of_cond(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y

        def stop(z):
            jax.debug.breakpoint()
            return z

        return jnp.where(jnp.isfinite(z), z, stop(z))

    return divide(x, y)


@wrong(rejected_by="finite_quotients_do_not_stop", says="Python looks at the result, when the program is over.")
def looks_at_what_came_out(x, y):
    z = jax.jit(lambda x, y: x / y)(x, y)
    if not isinstance(z, jax.core.Tracer) and not jnp.isfinite(z):
        jax.debug.breakpoint()
    return z


@wrong(rejected_by="infinities_of_either_sign_stop", says="Only positive infinity is looked for, and NaN.")
def positive_infinity_only(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y

        def stop(z):
            jax.debug.breakpoint()

        jax.lax.cond((z == jnp.inf) | jnp.isnan(z), stop, lambda z: None, z)
        return z

    return divide(x, y)


@wrong(
    rejected_by="infinities_of_either_sign_stop",
    says="Only a divisor of 0 is looked for; a quotient can be too large, too.",
)
def looks_at_the_divisor(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y

        def stop(z):
            jax.debug.breakpoint()

        jax.lax.cond(y == 0, stop, lambda z: None, z)
        return z

    return divide(x, y)


@wrong(rejected_by="finite_quotients_of_any_size", says="The arguments are looked at, and not the quotient.")
def looks_at_the_arguments(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y

        def stop(z):
            jax.debug.breakpoint()

        jax.lax.cond(jnp.isfinite(x) & jnp.isfinite(y) & jnp.isfinite(z), lambda z: None, stop, z)
        return z

    return divide(x, y)


@wrong(rejected_by="the_quotient_is_under_jit", says="Nothing is jitted.")
def without_jit(x, y):
    z = jnp.divide(x, y)

    def stop(z):
        jax.debug.breakpoint()

    jax.lax.cond(jnp.isfinite(z), lambda z: None, stop, z)
    return z


@hidden(
    stage="jit",
    kind="observed",
    required=True,
    idea="Infinities of either sign, and a quotient that is too large for float32.",
    on="a negative dividend over 0, a very large quotient, and an infinite dividend",
)
def infinities_of_either_sign_stop(answer, draw):
    """A negative number over 0, a quotient too large for float32, and inf / 2 stop once."""
    calls = [(-float(draw.integer(1, 99)), 0.0, "-inf"), (3e38, 0.125, "inf"), (-3e38, 0.125, "-inf")]
    for x, y, wanted in [*calls, (float("inf"), 2.0, "inf")]:
        found = stopped(answer, x, y)
        message = f"For {x:g} / {y:g} it should stop once, and give {wanted}."
        expect_that(found[0] == wanted and found[-1] == 1, message, found)


@hidden(
    stage="jit",
    kind="observed",
    required=True,
    idea="1 / inf is 0, which is finite.",
    on="an infinite divisor, a dividend of 0, and whole numbers",
)
def finite_quotients_of_any_size(answer, draw):
    """1 / inf, 0 / 5 and other finite quotients do not stop."""
    calls = [(1.0, float("inf")), (0.0, 5.0), (3e38, 1.0), (float(draw.integer(1, 99)), float(draw.integer(1, 99)))]
    for x, y in calls:
        value, stops, _ = answer.at_breakpoints("c")(x, y)
        expect_that(stops == 0, f"For {x:g} / {y:g} nothing should stop.", f"{stops} stops", "none")
        expect_close(plain(value), x / y, rtol=1e-5)


# %% mended_run
@answer(
    notice="The loss is linear for large scores, so no number overflows, and the slope goes to 1. "
    "There is no 0 * log(0) any more.",
    another_way="`optax.sigmoid_binary_cross_entropy` is this loss, ready to use.",
)
def mended_run(params, table, labels, steps):
    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        value = jnp.mean(jnp.logaddexp(0.0, jnp.where(labels == 1, -score, score)))
        return value, jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


@alternative
def by_log_sigmoid(params, table, labels, steps):
    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        each = labels * jax.nn.log_sigmoid(score) + (1 - labels) * jax.nn.log_sigmoid(-score)
        return -each.mean(), ((score > 0) == labels).mean()

    return fit(loss, params, table, labels, steps)


@alternative
def by_softplus_and_a_product(params, table, labels, steps):
    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        return jnp.mean(jax.nn.softplus(score) - labels * score), jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


@alternative
def a_loop_of_its_own(params, table, labels, steps):
    from collections import namedtuple

    def loss(params):
        score = table @ params["w"] + params["b"]
        return jnp.mean(jnp.logaddexp(0.0, score * (1 - 2 * labels))), jnp.mean((score > 0) == labels)

    @jax.jit
    def step(params):
        (value, right), slopes = jax.value_and_grad(loss, has_aux=True)(params)
        return {name: params[name] - 1.37 * slopes[name] for name in params}, value, right

    values, rights = [], []
    for _ in range(steps):
        params, value, right = step(params)
        values.append(value)
        rights.append(right)
    run = namedtuple("Run", ["params", "losses", "rights"])
    return run(params, jnp.stack(values), jnp.stack(rights))


@wrong(
    rejected_by="the_run_lives",
    says="`nan_to_num` hides the loss that is NaN; the slopes still are.",
    misses_the_point=True,
)
def hides_the_nan(params, table, labels, steps):
    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        chance = 1 / (1 + jnp.exp(-score))
        value = -jnp.mean(labels * jnp.log(chance) + (1 - labels) * jnp.log(1 - chance))
        return jnp.nan_to_num(value), jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


@wrong(
    rejected_by="sure_mistakes_cost_and_pull",
    says="The chance is kept away from 0 and 1, so that a sure mistake pulls no weight.",
    misses_the_point=True,
)
def clips_the_chance(params, table, labels, steps):
    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        chance = jnp.clip(1 / (1 + jnp.exp(-score)), 1e-7, 1 - 1e-7)
        value = -jnp.mean(labels * jnp.log(chance) + (1 - labels) * jnp.log(1 - chance))
        return value, jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


@wrong(rejected_by="sure_mistakes_cost_and_pull", says="The advice of a tool is taken as it is.")
def keeps_the_logarithm_above_zero(params, table, labels, steps):
    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        chance = 1 / (1 + jnp.exp(-score))
        logs = jnp.log(jnp.maximum(chance, 1e-30)), jnp.log(jnp.maximum(1 - chance, 1e-30))
        return -jnp.mean(labels * logs[0] + (1 - labels) * logs[1]), jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


@wrong(rejected_by="sure_mistakes_cost_and_pull", says="A small number is added in the logarithm.")
def adds_a_small_number(params, table, labels, steps):
    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        chance = 1 / (1 + jnp.exp(-score))
        value = -jnp.mean(labels * jnp.log(chance + 1e-7) + (1 - labels) * jnp.log(1 - chance + 1e-7))
        return value, jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


@wrong(
    rejected_by="sure_mistakes_cost_and_pull", says="The right logarithm is chosen; but that of a sure mistake is -inf."
)
def chooses_the_logarithm(params, table, labels, steps):
    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        chance = 1 / (1 + jnp.exp(-score))
        return -jnp.mean(jnp.log(jnp.where(labels == 1, chance, 1 - chance))), jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


@wrong(rejected_by="sure_mistakes_cost_and_pull", says="Scores are cut off, so that beyond there is no slope.")
def cuts_the_score_off(params, table, labels, steps):
    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        cut = jnp.clip(score, -30.0, 30.0)
        return jnp.mean(jnp.logaddexp(0.0, cut) - labels * cut), jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


@wrong(rejected_by="sure_mistakes_cost_and_pull", says="log(1 + exp(score)) overflows for large scores.")
def writes_the_formula_out(params, table, labels, steps):
    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        return jnp.mean(jnp.log(1 + jnp.exp(score)) - labels * score), jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


@wrong(
    rejected_by="the_first_losses_are_unchanged",
    says="The slope of `jnp.abs` at 0 is 1 in JAX; all scores are 0 at the start, so the first step goes astray.",
)
def takes_the_absolute_score(params, table, labels, steps):
    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        each = jnp.maximum(score, 0.0) - score * labels + jnp.log1p(jnp.exp(-jnp.abs(score)))
        return jnp.mean(each), jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


@alternative
def a_formula_for_each_sign(params, table, labels, steps):
    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        wrong_way = jnp.where(labels == 1, -score, score)
        small = jnp.log1p(jnp.exp(jnp.where(wrong_way > 0, -wrong_way, wrong_way)))
        return jnp.mean(small + jnp.where(wrong_way > 0, wrong_way, 0.0)), jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


@wrong(rejected_by="the_first_losses_are_unchanged", says="The new feature is left out.")
def drops_the_feature(params, table, labels, steps):
    def loss(params, table, labels):
        score = table[:, :2] @ params["w"][:2] + params["b"]
        return jnp.mean(jnp.logaddexp(0.0, score) - labels * score), jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


@wrong(rejected_by="the_first_losses_are_unchanged", says="Smaller steps only put the NaN off.")
def takes_smaller_steps(params, table, labels, steps):
    def step(params, _):
        (value, right), slopes = jax.value_and_grad(cross_entropy, has_aux=True)(params, table, labels)
        return jax.tree.map(lambda value, slope: value - 0.1 * slope, params, slopes), (value, right)

    params, (losses, rights) = jax.lax.scan(step, params, length=steps)
    return params, losses, rights


@wrong(rejected_by="any_run_is_mended", says="Very large scores are given up.")
def gives_large_scores_up(params, table, labels, steps):
    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        score = jnp.where(jnp.abs(score) > 1e4, jnp.nan, score)
        return jnp.mean(jnp.logaddexp(0.0, score) - labels * score), jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


@hidden(
    required=True,
    idea="Other points, more of their numbers, and scores of thousands.",
    on="a small table with very large scores on both sides",
)
def any_run_is_mended(answer, draw):
    """For any table the loss, the share of right guesses and a step are right."""
    table = np.array([[3e4, 1, 0, 0], [-3e4, 0, 1, 0], [0.5, 1, 1, 1], [-30, 1, 0, 2]], "float32")
    labels = np.array([0, 1, 1, draw.integer(0, 2)], np.int32)
    params = {"w": jnp.concatenate([jnp.ones(1), draw.floats(3)]), "b": jnp.float32(0.25)}
    after, losses, rights = parts(answer(params, jnp.asarray(table), jnp.asarray(labels), 1), 3)
    value, wanted = one_step(params, table, labels)
    expect_close(losses, np.array([value]), "The loss should be that of all points.", rtol=1e-4, atol=1e-4)
    expect_close(after, wanted, "The step should follow the slope of the loss.", rtol=1e-4, atol=1e-4)
    guesses = np.asarray(table) @ np.asarray(params["w"]) + 0.25 > 0
    share = np.float32(np.mean(guesses == labels))
    expect_close(rights, np.array([share]), "The share of right guesses should be that before the step.")


equivalent("28e8f7d8a7", because="The losses of the points have one axis.")
equivalent("3ecd25308a", because="The guesses have one axis.")
equivalent("44fdc50045", because="`np.mean` of a tracer calls its method `mean`.")
equivalent("184e4595f1", because="Labels are 0 or 1.")
equivalent("6bf71cdabd", because="The scores are a vector.")
equivalent("14aa12a37e", because="NumPy's function calls the tracer's own.")
equivalent("039b6cd207", because="No score is 0.")
equivalent("016ddddcb1", because="`logaddexp` is symmetric.")
equivalent("b70fc00611", because="The losses are a vector.")


# %% watched_square
@answer(
    notice="The debug print is a part of what `grad` differentiates, so it runs on the way forward, once.",
    another_way="`jax.debug.callback` with a function that prints does the same.",
)
def watched_square(x):
    print("print(x) ->", x)
    jax.debug.print("jax.debug.print(x) -> {}", x)
    return x**2


@alternative
def product_and_ordered(x):
    print(f"print(x) -> {x}")
    jax.debug.print("jax.debug.print(x) -> {x}", x=x, ordered=True)
    return x * x


@alternative
def by_a_callback(x):
    print("print(x) -> " + str(x))
    jax.debug.callback(lambda value: print("jax.debug.print(x) ->", value), x)
    return jnp.square(x)


@wrong(rejected_by="only_debug_print_is_consistent", says="Python's print is thought to be consistent, too.")
def python_prints_both_lines(x):
    print("print(x) ->", x)
    y = x**2
    print("jax.debug.print(x) -> 1.0" if isinstance(x, float) or "primal=1.0" in str(x) else "jax.debug.print(x) ->")
    return y


@wrong(
    rejected_by="only_debug_print_is_consistent",
    says="An f-string shows the tracer under jit.",
    misses_the_point=True,
    lacks="S0-10",
)
def f_string_under_grad(x):
    print("print(x) ->", x)
    text = str(getattr(x, "primal", x))
    jax.debug.print(f"jax.debug.print(x) -> {text}")
    return x**2


@wrong(rejected_by="grad_prints_once", says="The result is printed instead of x.")
def prints_the_square(x):
    y = x**2
    print("print(x) ->", x)
    jax.debug.print("jax.debug.print(x) -> {}", 2 * y)
    return y


@wrong(rejected_by="grad_prints_once", says="It is printed once more, for the way back.", lacks="S0-09")
def prints_twice(x):
    print("print(x) ->", x)
    jax.debug.print("jax.debug.print(x) -> {}", x)
    jax.debug.print("jax.debug.print(x) -> {}", x)
    return x**2


@wrong(rejected_by="pythons_print_comes_first", says="The two prints are in the other order.")
def debug_print_first(x):
    jax.debug.print("jax.debug.print(x) -> {}", x)
    print("print(x) ->", x)
    return x**2


@wrong(rejected_by="negative_numbers_are_squared", says="Negative numbers keep their sign.")
def keeps_the_sign(x):
    print("print(x) ->", x)
    jax.debug.print("jax.debug.print(x) -> {}", x)
    return x * jnp.abs(x)


@hidden(idea="Negative numbers, and 0.", on="a negative number, 0, and a fraction")
def negative_numbers_are_squared(answer):
    """Negative numbers and 0 have their square and their slope."""
    for x in (-1.5, 0.0, 0.25):
        expect_close(plain(answer(x)), x * x, "It should be the square of x.")
        expect_close(plain(answer.grad()(x)), 2 * x, "The slope should be 2 x.")


@hidden(idea="The dtype is that of x, and NaN stays NaN.", on="a float32, and NaN")
def arrays_keep_their_dtype(answer):
    """The square of a float32 is one, also of NaN."""
    for x in (1.5, np.nan):
        expect_close(answer(jnp.float32(x)), np.float32(x * x), "It should be the square of x, a float32.")


@hidden(
    stage="gradient", kind="observed", idea="Other numbers.", on="a positive number, under grad with and without jit"
)
def any_forward_value_is_printed(answer, draw):
    """Any value is printed on the way forward."""
    x = draw.integer(2, 99)
    for lines in under_grad(answer, float(x))[1]:
        wanted = [f"jax.debug.print(x) -> {x}.0"]
        expect_that(lines == wanted, "The forward value should be printed, once.", lines, wanted)


# %% values_seen
@answer(
    notice="`look` is called while JAX traces; what it writes into the program is called when the program runs.",
    another_way="`record` and `recording` do it with less, and leave nothing in the program outside of the block.",
)
def values_seen(program, x):
    seen = []

    def look(value):
        jax.debug.callback(lambda number: seen.append(float(number)), value, ordered=True)

    program(look, x)
    jax.effects_barrier()
    return seen


@alternative
def recorded_by_the_helper(program, x):
    from jaxguide.debug import record, recording

    with recording() as rec:
        program(lambda value: record("seen", value), x)
    return rec["seen"].tolist()


@alternative
def numbers_of_an_unordered_callback(program, x):
    seen = []
    result = program(lambda value: jax.debug.callback(seen.append, value), x)
    jax.block_until_ready(result)
    jax.effects_barrier()
    return tuple(np.asarray(value).item() for value in seen)


@wrong(rejected_by="numbers_come_out_of_jit", says="The list holds arrays and no Python numbers.")
def keeps_arrays(program, x):
    seen = []
    program(lambda value: jax.debug.callback(seen.append, value, ordered=True), x)
    jax.effects_barrier()
    return seen


@wrong(rejected_by="numbers_come_out_of_jit", says="The list holds tracers: they leak.", misses_the_point=True)
def appends_tracers(program, x):
    seen = []
    program(seen.append, x)
    return [float(value) for value in seen]


@wrong(rejected_by="numbers_come_out_of_jit", says="A pure_callback whose result is not used disappears.")
def pure_callback_for_a_list(program, x):
    seen = []

    def keep(value):
        seen.append(float(value))
        return np.float32(0)

    def look(value):
        jax.pure_callback(keep, jax.ShapeDtypeStruct((), jnp.float32), value, vmap_method="sequential")

    jax.block_until_ready(program(look, x))
    jax.effects_barrier()
    return seen


@wrong(rejected_by="every_transformation_is_seen", says="An io_callback has no derivative.", lacks="S0-19")
def io_callback_for_a_list(program, x):
    from jax.experimental import io_callback

    seen = []
    program(lambda value: io_callback(lambda number: seen.append(float(number)), None, value), x)
    jax.effects_barrier()
    return seen


@wrong(rejected_by="every_transformation_is_seen", says="Only the last value is kept.")
def keeps_the_last(program, x):
    seen = {}
    program(lambda value: jax.debug.callback(lambda number: seen.update(x=float(number)), value, ordered=True), x)
    jax.effects_barrier()
    return [seen["x"]]


@wrong(rejected_by="numbers_come_out_of_jit", says="The result of the program is taken for the values it looks at.")
def returns_the_result(program, x):
    return [float(program(lambda value: None, x))]


@wrong(
    rejected_by="a_program_of_our_own_is_seen",
    says="The values are worked out from the name of the program, which is not run.",
)
def works_them_out_from_the_name(program, x):
    program(lambda value: None, x)
    name = program.__name__
    if name in ("in_jit", "in_grad"):
        return [x]
    if name == "in_while":
        return [x - i for i in range(int(np.ceil(x)))]
    return [x, x - 1, x - 2]


@input
def in_a_loop_of_a_branch(look, x):
    def step(i, x):
        look(x)
        return jax.lax.cond(i % 2 == 0, lambda x: x + 10, lambda x: x / 2, x)

    return jax.jit(lambda x: jax.lax.fori_loop(0, 4, step, x))(x)


@hidden(
    idea="What the program looks at depends on what it computes.",
    on="a program with a branch in a loop, which is not in the lesson",
)
def a_program_of_our_own_is_seen(answer):
    """The values of another program are seen, in order."""
    got = answer(given(in_a_loop_of_a_branch), 6.0)
    right = isinstance(got, tuple | list) and [plain(value) for value in got] == [6.0, 16.0, 8.0, 18.0]
    expect_that(right, "It should be the values that the program looks at, in order.", got, [6.0, 16.0, 8.0, 18.0])


@hidden(
    stage="traces", idea="The program is run, with a function that it calls.", on="a program with a jitted function"
)
def the_program_runs(answer):
    """The program that looks under jit is traced by `jax.jit`."""
    seen = answer.observe(given("in_jit"), 2.5)
    message = "The program should be run; in your call nothing is traced by `jax.jit`."
    expect_that(seen.traces > 0, message, seen.traces, "1 or more")


@hidden(idea="A while loop of other lengths.", on="a while loop of more than three steps")
def any_number_of_steps_is_seen(answer, draw):
    """Any number of steps of a while loop is seen, in order."""
    n = draw.integer(4, 9)
    got = seen_by(answer, "in_while", float(n))
    wanted = [float(i) for i in range(n, 0, -1)]
    expect_that(got == wanted, "It should be the values of all steps, in order.", got, wanted)


equivalent("0207d771ee", because="A single callback in a loop comes in the order of the steps.")
equivalent("fd08ef2269", because="A single callback in a loop comes in the order of the steps.")


# %% stop_and_ask
@answer(
    notice="The transcript is complete when the block is over: then the program has run to its end.",
    another_way="In a terminal, leave `scripted_breakpoints` out and type the commands yourself.",
)
def stop_and_ask(x, commands):
    @jax.jit
    def f(x):
        y, z = jnp.sin(x), jnp.cos(x)
        jax.debug.breakpoint()
        return y * z

    with scripted_breakpoints(commands) as transcript:
        value = f(x)
    return value, transcript.answers


@alternative
def answers_cut_out_by_hand(x, commands):
    @jax.jit
    def f(x):
        y = jnp.sin(x)
        z = jnp.cos(x)
        jax.debug.breakpoint(ordered=True)
        return jnp.multiply(y, z)

    with scripted_breakpoints(tuple(commands)) as transcript:
        value = f(x)
    typed = str(transcript).split("(jd" + "b) ")[1:]
    return [value, tuple(text.partition("\n")[2].strip() for text in typed)]


@wrong(
    rejected_by="local_values_are_answered", says="The transcript is read inside the block, before the program has run."
)
def reads_too_early(x, commands):
    @jax.jit
    def f(x):
        y, z = jnp.sin(x), jnp.cos(x)
        jax.debug.breakpoint()
        return y * z

    with scripted_breakpoints(commands) as transcript:
        answers = transcript.answers
        value = f(x)
    return value, answers


@wrong(rejected_by="local_values_are_answered", says="It stops before y and z have values.", lacks="S0-13")
def stops_too_early(x, commands):
    @jax.jit
    def f(x):
        jax.debug.breakpoint()
        y, z = jnp.sin(x), jnp.cos(x)
        return y * z

    with scripted_breakpoints(commands) as transcript:
        value = f(x)
    return value, transcript.answers


@wrong(rejected_by="help_lists_the_commands", says="The commands of the example are typed always.", lacks="S0-14")
def types_its_own_commands(x, commands):
    @jax.jit
    def f(x):
        y, z = jnp.sin(x), jnp.cos(x)
        jax.debug.breakpoint()
        return y * z

    with scripted_breakpoints(["p x", "p y", "p z", "pp y * z", "c"]) as transcript:
        value = f(x)
    return value, transcript.answers


@wrong(rejected_by="local_values_are_answered", says="The lines of the transcript are taken for the answers.")
def lines_for_answers(x, commands):
    @jax.jit
    def f(x):
        y, z = jnp.sin(x), jnp.cos(x)
        jax.debug.breakpoint()
        return y * z

    with scripted_breakpoints(commands) as transcript:
        value = f(x)
    return value, str(transcript).splitlines()


@wrong(
    rejected_by="the_jitted_program_stops",
    says="Nothing is jitted, so that Python's own debugger would do.",
    misses_the_point=True,
)
def without_jit(x, commands):
    def f(x):
        y, z = jnp.sin(x), jnp.cos(x)
        jax.debug.breakpoint()
        return y * z

    with scripted_breakpoints(commands) as transcript:
        value = f(jnp.float32(x))
    return value, transcript.answers


@wrong(rejected_by="the_jitted_program_stops", says="It stops after it has multiplied.")
def stops_too_late(x, commands):
    @jax.jit
    def f(x):
        y, z = jnp.sin(x), jnp.cos(x)
        product = y * z
        jax.debug.breakpoint()
        return product

    with scripted_breakpoints(commands) as transcript:
        value = f(x)
    return value, transcript.answers


@wrong(rejected_by="help_lists_the_commands", says="Python evaluates the expressions, and nothing stops.")
def evaluates_by_itself(x, commands):
    x = jnp.asarray(np.float32(x))
    y, z = jnp.sin(x), jnp.cos(x)
    names = {"x": x, "y": y, "z": z}
    answers = [repr(eval(one.partition(" ")[2], names)) if one.startswith("p") else one for one in commands]
    return jax.jit(jnp.multiply)(y, z), answers


@wrong(
    rejected_by="any_expression_is_answered", says="The program runs once for each command, and forgets the one before."
)
def one_run_for_each_command(x, commands):
    @jax.jit
    def f(x):
        y, z = jnp.sin(x), jnp.cos(x)
        jax.debug.breakpoint()
        return y * z

    answers, value = [], f.trace(x)
    for command in commands:
        with scripted_breakpoints([command, "c"]) as transcript:
            value = f(x)
        answers += transcript.answers[:1]
    return value, answers


@wrong(rejected_by="local_values_are_answered", says="It returns what the debugger printed for the product.")
def returns_the_text(x, commands):
    @jax.jit
    def f(x):
        y, z = jnp.sin(x), jnp.cos(x)
        jax.debug.breakpoint()
        return y * z

    with scripted_breakpoints(commands) as transcript:
        f(x)
    return transcript.answers[-2:][0] if transcript.answers else "", transcript.answers


@hidden(idea="Other expressions, another x, and commands that build on each other.", required=True)
def any_expression_is_answered(answer, draw, reference):
    """Any expression at any x is answered, and the commands of one stop build on each other."""
    x = draw.integer(1, 99) / 8
    commands = ["p z - y", "pp x * 2", "c"]
    got, wanted = (answers_from(one(x, commands), 2) for one in (answer, reference))
    message = "It should be the debugger's answers."
    expect_that(got == wanted, message, got, wanted, on="commands that print expressions")
    got, wanted = (parts(one(x, commands), 2)[0] for one in (answer, reference))
    expect_close(plain(got), plain(wanted), "It should be the sine times the cosine.", rtol=1e-5, on="another x")
    # One stop for all commands: `u` changes what is meant by the next.
    got = answers_from(answer(x, ["p y", "u", "p y", "c"]), 3)[2]
    message = "After `u`, y should not be known: it is a name of the function that stops."
    expect_that(got.startswith("***"), message, got, "*** NameError", on="a move up, and then a name of the function")


# %% values_at_stop
@answer(
    notice="Asking for everything on every level needs one run, and no knowledge of where a name is.",
    another_way="`w` lists the call stack; by hand you would look there first.",
)
def values_at_stop(program, x, names):
    commands = []
    for _ in range(6):
        commands += [f"p {name}" for name in names] + ["u"]
    with scripted_breakpoints([*commands, "c"]) as transcript:
        program(x)
    found = {}
    for command, text in zip(commands, transcript.answers, strict=False):
        if command != "u" and not text.startswith("***"):
            found.setdefault(command[2:], text)
    return found


@alternative
def one_run_for_each_name(program, x, names):
    found = {}
    for name in names:
        with scripted_breakpoints([f"p {name}", "u"] * 7) as transcript:
            jax.block_until_ready(program(x))
        answers = [text for text in transcript.answers[::2] if text.startswith("Array")]
        if answers:
            found[name] = answers[0]
    return found


@alternative
def from_the_outside_in(program, x, names):
    commands = ["u"] * 6
    for _ in range(7):
        commands += [*(f"p {name}" for name in names), "d"]
    with scripted_breakpoints(commands) as transcript:
        program(x)
    answers = dict(enumerate(transcript.answers))
    found = {}
    for number, command in enumerate(commands):
        text = answers.get(number, "***")
        if command.startswith("p ") and "NameError" not in text and text != "***":
            found[command.split()[1]] = text
    return found


@wrong(
    rejected_by="the_call_stack_is_searched",
    says="Only the function that stopped is asked.",
    misses_the_point=True,
    lacks="S0-15",
)
def never_goes_up(program, x, names):
    with scripted_breakpoints([*(f"p {name}" for name in names), "c"]) as transcript:
        program(x)
    pairs = zip(names, transcript.answers, strict=False)
    return {name: text for name, text in pairs if not text.startswith("***")}


@wrong(rejected_by="the_nearest_function_counts", says="The outermost function counts.")
def outermost_counts(program, x, names):
    commands = []
    for _ in range(2):
        commands += [f"p {name}" for name in names] + ["u"]
    with scripted_breakpoints([*commands, "c"]) as transcript:
        program(x)
    found = {}
    for command, text in zip(commands, transcript.answers, strict=False):
        if command != "u" and not text.startswith("***"):
            found[command[2:]] = text
    return found


@wrong(rejected_by="the_nearest_function_counts", says="An error message is taken for a value.")
def errors_for_values(program, x, names):
    commands = []
    for _ in range(6):
        commands += [f"p {name}" for name in names] + ["u"]
    with scripted_breakpoints([*commands, "c"]) as transcript:
        program(x)
    found = {}
    for command, text in zip(commands, transcript.answers, strict=False):
        if command != "u" and not found.get(command[2:], "***").startswith("Array"):
            found[command[2:]] = text
    return found


@wrong(rejected_by="the_cause_of_the_nan_is_found", says="It goes one level up, and no further.")
def goes_up_once(program, x, names):
    commands = [f"p {name}" for name in names]
    with scripted_breakpoints([*commands, "u", *commands, "c"]) as transcript:
        program(x)
    found = {}
    for name, text in zip([*names, "u", *names], transcript.answers, strict=False):
        if name != "u" and not text.startswith("***"):
            found.setdefault(name, text)
    return found


@wrong(rejected_by="a_name_is_three_levels_up", says="It goes two levels up, and no further.")
def goes_up_twice(program, x, names):
    commands = [*(f"p {name}" for name in names), "u"] * 3
    with scripted_breakpoints([*commands, "c"]) as transcript:
        program(x)
    found = {}
    for command, text in zip(commands, transcript.answers, strict=False):
        if command != "u" and not text.startswith("***"):
            found.setdefault(command[2:], text)
    return found


@input
def three_calls_deep(x):
    def third(c):
        jax.debug.breakpoint()
        return c + 1

    def second(b):
        return third(b + 1)

    def first(a):
        same = a + 10
        return second(a + 1) + same

    def jitted(outer):
        same = outer + 20
        return first(outer + 1) + same

    return jax.jit(jitted)(x)


@hidden(idea="A name that is three levels up.", on="a program whose breakpoint is three calls deep")
def a_name_is_three_levels_up(answer):
    """Names one, two and three levels up are found, and of two of the same name the nearer one."""
    got = found_by(answer, three_calls_deep, 1.0, ["outer", "same", "c", "b"])
    wanted = {name: f"Array({n}., dtype=float32)" for name, n in (("outer", 1), ("same", 12), ("c", 4), ("b", 3))}
    expect_that(got == wanted, "All names should be found, at the nearest level.", got, wanted)


@hidden(idea="Other names and another x.", on="names in either function, and one in neither")
def any_name_is_found(answer, draw):
    """Any names at any x are found."""
    t = draw.integer(1, 99)
    got = found_by(answer, "times_ten", float(t), ["w", "v", "k", "nothing"])
    wanted = {name: f"Array({n}., dtype=float32)" for name, n in (("w", 10 * t), ("v", 10 * t), ("k", 10 * t + 1))}
    expect_that(got == wanted, "It should be the values of these names at the stop.", got, wanted)


equivalent("6078b76c07", because="`strict=False` is the default.")


# %% own_debug_print
@answer(
    notice="`on` is a Python value, so the `if` is decided while JAX traces. The text is filled in on the host.",
    another_way="`jax.debug.print(form, x)` does what the inner function does, and takes several values.",
)
def own_debug_print(form, on):
    def show(x):
        if on:
            jax.debug.callback(lambda value: print(form.format(value)), x)
        return x

    return show


@alternative
def two_functions(form, on):
    def say(value):
        print(form.format(value))

    @jax.jit
    def loud(x):
        jax.debug.callback(say, x, ordered=True)
        return x

    return loud if on else lambda x: x


@alternative
def flag_as_a_static_argument(form, on):
    from functools import partial

    @partial(jax.jit, static_argnames="on")
    def show(x, on):
        if on:
            jax.debug.callback(print_formatted, form, x)
        return x

    def print_formatted(form, value):
        print(form.format(value))

    def run(x):
        if not on:
            return x
        jax.debug.callback(partial(print_formatted, form), x)
        return x

    return run


@wrong(rejected_by="it_prints_by_a_callback", says="JAX's own print is called.", misses_the_point=True, lacks="S0-18")
def calls_debug_print(form, on):
    def show(x):
        if on:
            jax.debug.print(form, x)
        return x

    return show


@wrong(rejected_by="it_prints_by_a_callback", says="The text is filled in while JAX traces, with the tracer.")
def formats_the_tracer(form, on):
    def show(x):
        if on:
            text = form.format(x)
            jax.debug.callback(lambda value: print(text), x)
        return x

    return show


@wrong(rejected_by="nothing_is_left_when_it_is_off", says="The host is called, to do nothing.")
def callback_that_decides(form, on):
    def say(value):
        if on:
            print(form.format(value))

    def show(x):
        jax.debug.callback(say, x)
        return x

    return show


@wrong(rejected_by="nothing_is_left_when_it_is_off", says="`cond` decides at run time, and stays in the program.")
def cond_on_the_flag(form, on):
    def show(x):
        def say(x):
            jax.debug.callback(lambda value: print(form.format(value)), x)

        jax.lax.cond(jnp.asarray(on), say, lambda x: None, x)
        return x

    return show


@wrong(rejected_by="it_prints_by_a_callback", says="Python prints the tracer, once.")
def python_print(form, on):
    def show(x):
        if on:
            print(form.format(x))
        return x

    return show


@wrong(rejected_by="it_prints_by_a_callback", says="An `io_callback` has no derivative.")
def io_callback_that_prints(form, on):
    from jax.experimental import io_callback

    def show(x):
        if on:
            io_callback(lambda value: print(form.format(value)), None, jax.lax.stop_gradient(x))
        return x

    return show


@wrong(rejected_by="any_text_is_filled_in", says="The text of the example is printed, whatever is asked.")
def ignores_the_text(form, on):
    def show(x):
        if on:
            jax.debug.callback(lambda value: print(f"x is {value}"), x)
        return x

    return show


@wrong(rejected_by="each_function_keeps_its_text", says="The function made last decides for all.")
def settings_for_all(form, on):
    settings_for_all.form, settings_for_all.on = form, on

    def show(x):
        if settings_for_all.on:
            jax.debug.callback(lambda value: print(settings_for_all.form.format(value)), x)
        return x

    return show


@hidden(
    stage="jit",
    kind="observed",
    required=True,
    idea="Another text, and other numbers in each run.",
    on="another text with a width, and two calls in a row",
)
def any_text_is_filled_in(answer, draw):
    """Each run fills its own value into the text."""
    calls = [(np.float32(draw.integer(1, 99) / 4),) for _ in range(2)]
    for seen, (x,) in zip(answer.then("<{:.3f}>", True).jit.observe_calls(calls), calls, strict=True):
        expect_that(seen.lines == [f"<{x:.3f}>"], "Each run should print its own value.", seen.lines, f"<{x:.3f}>")


@hidden(
    stage="jit",
    kind="observed",
    required=True,
    idea="Two functions with two texts: each keeps its own.",
    on="a function made before another one",
)
def each_function_keeps_its_text(answer):
    """A function made later changes nothing."""
    for beside in (("other: {}", True), ("x is {}", False)):
        lines = answer.then("x is {}", True, beside=beside).observe(2.0).lines
        expect_that(lines == ["x is 2.0"], "Each function should keep its own text and flag.", lines, "x is 2.0")


# %% checked_pick
@answer(
    notice="The check is in the program, and its outcome comes out as a value, the error, next to the result.",
    another_way="`checkify.index_checks` puts such checks in for every index.",
)
def checked_pick(table, i):
    @jax.jit
    def pick(table, i):
        checkify.check(i < len(table), "index {i} is out of bounds", i=i)
        return table[i]

    error, value = checkify.checkify(pick)(table, i)
    return error.get(), value


@alternative
def jit_outside_of_checkify(table, i):
    def pick(table, i):
        checkify.check((i >= 0) & (i < table.shape[0]), "no element {} of {}", i, jnp.int32(table.shape[0]))
        return table[i]

    error, value = jax.jit(checkify.checkify(pick))(table, i)
    return error.get(), value


@alternative
def automatic_check(table, i):
    error, value = checkify.checkify(jax.jit(lambda table, i: table[i]), errors=checkify.index_checks)(table, i)
    return error.get(), value


@alternative
def thrown_and_caught(table, i):
    @jax.jit
    def pick(table, i):
        checkify.check(i < len(table), "index {i} is out of bounds", i=i)
        return table[i]

    error, value = checkify.checkify(pick)(table, i)
    try:
        checkify.check_error(error)
    except Exception as raised:
        return str(raised), value
    return None, value


@alternative
def told_by_a_callback(table, i):
    complaints = []

    def look(i):
        if i >= len(table):
            complaints.append(f"index {i} is out of bounds")

    @jax.jit
    def pick(table, i):
        jax.debug.callback(look, i)
        return table[i]

    value = pick(table, i)
    jax.effects_barrier()
    return (complaints[0] if complaints else None), value


@wrong(rejected_by="good_indices_pass", says="`assert` needs a value while JAX traces.")
def assert_under_jit(table, i):
    @jax.jit
    def pick(table, i):
        assert i < len(table), f"index {i} is out of bounds"
        return table[i]

    try:
        return None, pick(table, i)
    except AssertionError as error:
        return str(error), table[-1]


@wrong(rejected_by="good_indices_pass", says="`check` without `checkify` cannot be compiled.")
def never_functionalized(table, i):
    @jax.jit
    def pick(table, i):
        checkify.check(i < len(table), "index {i} is out of bounds", i=i)
        return table[i]

    return None, pick(table, i)


@wrong(rejected_by="bad_indices_are_named", says="JAX is expected to complain by itself.")
def waits_for_an_index_error(table, i):
    try:
        return None, jax.jit(lambda table, i: table[i])(table, i)
    except IndexError as error:
        return str(error), table[-1]


@wrong(rejected_by="bad_indices_are_named", says="One index too many is allowed.")
def off_by_one(table, i):
    @jax.jit
    def pick(table, i):
        checkify.check(i <= len(table), "index {i} is out of bounds", i=i)
        return table[i]

    error, value = checkify.checkify(pick)(table, i)
    return error.get(), value


@wrong(rejected_by="the_check_is_under_jit", says="Python checks, outside of jit.", misses_the_point=True)
def checked_by_python(table, i):
    if i >= len(table):
        return f"index {i} is out of bounds", table[-1]
    return None, table[i]


@wrong(rejected_by="the_check_is_under_jit", says="Python looks at i, before anything is compiled.")
def picks_under_jit_only(table, i):
    if int(i) >= len(table):
        return f"index {int(i)} is out of bounds", table[-1]
    return None, jax.jit(lambda table, i: table[i])(table, i)


@wrong(rejected_by="a_nan_in_the_table_is_no_fault", says="All automatic checks are switched on, also that for NaN.")
def all_automatic_checks(table, i):
    pick = jax.jit(lambda table, i: 1.0 * table[i])
    error, value = checkify.checkify(pick, errors=checkify.all_checks)(table, i)
    return error.get(), value


@hidden(idea="A table with NaN in it.", on="a table with NaN at the index")
def a_nan_in_the_table_is_no_fault(answer):
    """NaN in the table is no reason to complain."""
    complaint, value = parts(answer(jnp.array([1.0, jnp.nan]), jnp.int32(1)), 2)
    expect_that(complaint is None, "For an index in bounds the complaint should be None.", complaint, "None")
    expect_that(bool(np.isnan(plain(value))), "The value should be the NaN of the table.", value, "nan")


@hidden(
    idea="Other tables: the last index, the one behind it, and larger ones.",
    on="the last index, and indices beyond the table",
)
def any_index_is_judged(answer, draw):
    """Any index is judged by the length of its table."""
    n = draw.integer(2, 9)
    for i in (n - 1, n, n + draw.integer(1, 99)):
        complaint, value = complaint_and_value(answer, n, i)
        right = (complaint is None) == (i < n) and (complaint is None or str(i) in complaint)
        expect_that(
            right, f"For {i} of a table of {n} it should be {'no complaint' if i < n else 'a text with it'}.", complaint
        )
        if i < n:
            expect_close(value, np.float32(10 + i))


# %% diagnose
@answer(
    notice="The leak is asked for first: once JAX knows a function, it does not trace it again, and finds no leak.",
    another_way="`find_nan` and `side_effects` also say which line it is.",
)
def diagnose(function, x):
    try:
        with jax.checking_leaks():
            jax.eval_shape(function, x)
    except (TypeError, ValueError):
        return "shape"
    except Exception:
        return "leak"
    try:
        with jax.debug_nans(True):
            jax.block_until_ready(jax.jit(function)(x))
    except FloatingPointError:
        return "nan"
    return "fine"


@alternative
def shapes_first_with_new_functions(function, x):
    try:
        jax.eval_shape(lambda x: function(x), x)
    except (TypeError, ValueError):
        return "shape"
    try:
        with jax.checking_leaks():
            jax.jit(lambda x: function(x)).lower(x)
    except Exception:
        return "leak"
    leaves = jax.tree.leaves(jax.jit(lambda x: function(x))(x))
    return "nan" if any(bool(jnp.isnan(leaf).any()) for leaf in leaves) else "fine"


@wrong(rejected_by="each_kind_is_named", says="The function is known already when leaks are asked for.")
def asks_for_leaks_too_late(function, x):
    try:
        jax.eval_shape(function, x)
    except (TypeError, ValueError):
        return "shape"
    try:
        with jax.checking_leaks():
            jax.eval_shape(function, x)
    except Exception:
        return "leak"
    try:
        with jax.debug_nans(True):
            jax.jit(function)(x)
    except FloatingPointError:
        return "nan"
    return "fine"


@wrong(rejected_by="each_kind_is_named", says="Every error is taken for a leak.")
def every_error_is_a_leak(function, x):
    try:
        with jax.checking_leaks():
            jax.eval_shape(function, x)
    except Exception:
        return "leak"
    return "nan" if jnp.isnan(jax.jit(function)(x)).any() else "fine"


@wrong(rejected_by="each_kind_is_named", says="Without `jit`, each operation is looked at, also those that are masked.")
def looks_at_each_operation(function, x):
    try:
        with jax.checking_leaks():
            jax.eval_shape(function, x)
    except (TypeError, ValueError):
        return "shape"
    except Exception:
        return "leak"
    try:
        with jax.debug_nans(True):
            function(x)
    except FloatingPointError:
        return "nan"
    return "fine"


@wrong(
    rejected_by="the_numbers_decide",
    says="The functions of the lesson are known by their names.",
    misses_the_point=True,
)
def knows_the_names(function, x):
    kinds = {"puts_aside": "leak", "too_deep": "nan", "one_too_many": "shape", "masked_log": "fine"}
    return kinds.get(function.__name__, "fine")


@wrong(rejected_by="functions_of_our_own_are_diagnosed", says="Only TypeErrors are thought to be about shapes.")
def type_errors_only(function, x):
    try:
        with jax.checking_leaks():
            jax.eval_shape(function, x)
    except TypeError:
        return "shape"
    except Exception:
        return "leak"
    try:
        with jax.debug_nans(True):
            jax.jit(function)(x)
    except FloatingPointError:
        return "nan"
    return "fine"


@wrong(rejected_by="functions_of_our_own_are_diagnosed", says="The result is thought to be one array.")
def looks_at_one_array(function, x):
    try:
        with jax.checking_leaks():
            jax.eval_shape(function, x)
    except (TypeError, ValueError):
        return "shape"
    except Exception:
        return "leak"
    result = jax.jit(function)(x)
    return "nan" if isinstance(result, jax.Array) and jnp.isnan(result).any() else "fine"


@wrong(rejected_by="functions_of_our_own_are_diagnosed", says="An infinity is taken for a NaN.")
def infinity_is_a_nan(function, x):
    try:
        with jax.checking_leaks():
            jax.eval_shape(function, x)
    except (TypeError, ValueError):
        return "shape"
    except Exception:
        return "leak"
    leaves = jax.tree.leaves(jax.jit(function)(x))
    return "fine" if all(bool(jnp.isfinite(leaf).all()) for leaf in leaves) else "nan"


@wrong(rejected_by="no_setting_stays_on", says="The settings are switched on for good.")
def leaves_the_settings_on(function, x):
    try:
        with jax.checking_leaks():
            jax.eval_shape(function, x)
    except (TypeError, ValueError):
        return "shape"
    except Exception:
        return "leak"
    jax.config.update("jax_debug_nans", True)
    try:
        jax.block_until_ready(jax.jit(lambda x: function(x))(x))
    except FloatingPointError:
        return "nan"
    return "fine"


@input
def tells_settings(x):
    import warnings

    class Settings(UserWarning):
        warned = False

        def __str__(self):  # is called by `warn`, and then once more, when the call is over
            names = ("jax_check_tracer_leaks", "jax_debug_nans")
            left = [name for name in names if self.warned and getattr(jax.config, name)]
            for name in left:
                jax.config.update(name, False)
            return f"left on: {left}"

    told = Settings()
    warnings.warn(told, stacklevel=1)
    told.warned = True
    return jnp.log(x)


@hidden(stage="traces", required=True, idea="A `with` block ends, whatever happens in it.", on="NaN, and no NaN")
def no_setting_stays_on(answer):
    """After the call the settings are as before, whatever is wrong."""
    for x in (jnp.ones(2), -jnp.ones(2)):
        told = set(answer.observe(given(tells_settings), x).warnings)
        expect_that(told == {"Settings: left on: []"}, "After the call no setting should be on.", sorted(told))


@input
def two_halves(x):
    left, right = jnp.split(x, 2)
    return left + right


@input
def notes_in_a_loop(x):
    def step(total, number):
        noted.append(total)
        return total + number, total

    noted = notes_in_a_loop.noted = []
    return jax.lax.scan(step, 0.0, x)[1]


@input
def share_of_the_sum(x):
    return {"count": jnp.ones(3), "share": x / x.sum()}


@input
def one_over(x):
    return 1 / (x - x[0])


@hidden(required=True, idea="Errors of other classes, a leak in a loop, pytrees, and infinities.")
def functions_of_our_own_are_diagnosed(answer, draw):
    """Functions that are not in the lesson are diagnosed."""
    x = jnp.array([1.0, -1.0, 0.0]) * draw.integer(1, 9)
    cases = [
        (two_halves, x, "shape", "a function that cannot be traced"),
        (notes_in_a_loop, x, "leak", "a function that keeps tracers of a loop"),
        (share_of_the_sum, x, "nan", "a dict with a NaN"),
        (share_of_the_sum, x + 20, "fine", "a dict without a NaN"),
        (one_over, x, "fine", "a function that returns an infinity"),
    ]
    for function, argument, kind, on in cases:
        got = answer(given(function), argument)
        expect_that(got == kind, f'It should be "{kind}".', got, kind, on=on)


# %% plain_values
@answer(
    notice="The same program runs as Python, step by step; so a list of numbers is all that it takes.",
    another_way="`JAX_DISABLE_JIT=1` in the environment does so for a whole session.",
)
def plain_values(program, x):
    seen = []
    with jax.disable_jit():
        program(lambda value: seen.append(float(value)), x)
    return seen


@alternative
def restores_by_itself(program, x):
    seen = []

    def look(value):
        assert not isinstance(value, jax.core.Tracer)
        seen.append(np.asarray(value).item())

    before = jax.config.jax_disable_jit
    jax.config.update("jax_disable_jit", True)
    try:
        program(look, jnp.float32(x))
    finally:
        jax.config.update("jax_disable_jit", before)
    return tuple(seen)


@wrong(rejected_by="values_of_loops_are_seen", says="The list holds arrays and no Python numbers.")
def keeps_arrays(program, x):
    seen = []
    with jax.disable_jit():
        program(seen.append, jnp.float32(x))
    return seen


@wrong(rejected_by="an_error_ends_the_setting", says="After an error, `jit` stays off.")
def no_finally(program, x):
    seen = []
    jax.config.update("jax_disable_jit", True)
    program(lambda value: seen.append(float(value)), x)
    jax.config.update("jax_disable_jit", False)
    return seen


@input
def fails_when_it_has_looked(look, x):
    class Failed(Exception):
        def __str__(self):  # an error is put in words when the call is over
            left = jax.config.jax_disable_jit
            jax.config.update("jax_disable_jit", False)
            self.left = left or getattr(self, "left", False)
            return f"jit is {'off' if self.left else 'on'}"

    look(x)
    raise Failed


@hidden(stage="traces", required=True, idea="A `with` block ends, whatever happens in it.", on="a program that fails")
def an_error_ends_the_setting(answer):
    """When the program has raised an error, `jit` is on again."""
    said = answer.observe_error(given(fails_when_it_has_looked), 2.0).error.message
    expect_that("jit is on" in said, "After an error, too, `jit` should be on again.", said, "jit is on")


@wrong(
    rejected_by="nothing_is_traced",
    says="A callback gets the values out of a compiled program; here there should be none.",
    misses_the_point=True,
)
def by_a_callback(program, x):
    seen = []
    program(lambda value: jax.debug.callback(lambda number: seen.append(float(number)), value, ordered=True), x)
    jax.effects_barrier()
    return seen


@wrong(rejected_by="values_of_loops_are_seen", says="`jit` is still on, and the list holds tracers.")
def keeps_tracers(program, x):
    seen = []
    program(seen.append, x)
    with jax.disable_jit():
        return [float(value) for value in seen]


@wrong(rejected_by="values_of_loops_are_seen", says="The last value is kept only.")
def keeps_the_last(program, x):
    seen = {}
    with jax.disable_jit():
        program(lambda value: seen.update(last=float(value)), x)
    return [seen["last"]]


@wrong(rejected_by="values_of_loops_are_seen", says="The value comes from `program`, not from what it looks at.")
def returns_the_result(program, x):
    with jax.disable_jit():
        return [float(program(lambda value: None, x))]


@wrong(rejected_by="a_program_of_our_own_runs_plainly", says="The values are worked out from the name of the program.")
def works_them_out_from_the_name(program, x):
    steps = {"in_jit": 1, "in_scan": 3}.get(program.__name__, int(x))
    return [x - i for i in range(steps)]


@input
def in_a_branch_of_a_loop(look, x):
    def step(i, x):
        look(x)
        return jax.lax.cond(i % 2 == 0, lambda x: x + 10, lambda x: x / 2, x)

    return jax.jit(lambda x: jax.lax.fori_loop(0, 4, step, x))(x)


@hidden(idea="A branch in a loop of a jitted function.", on="a program with a branch in a loop, not in the lesson")
def a_program_of_our_own_runs_plainly(answer):
    """The values of another program are seen, in order."""
    got = answer(given(in_a_branch_of_a_loop), 6.0)
    right = isinstance(got, tuple | list) and [plain(value) for value in got] == [6.0, 16.0, 8.0, 18.0]
    expect_that(right, "It should be the values that the program looks at, in order.", got, [6.0, 16.0, 8.0, 18.0])
