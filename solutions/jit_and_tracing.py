# %%
import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.clock import simulated_machine
from jaxguide.course.author import (
    alternative,
    answer,
    expect_close,
    expect_equal,
    expect_raises,
    expect_that,
    given,
    hidden,
    input,
    wrong,
)


# %% two_ways
@answer(
    notice="`jax.jit(function)` is a new function; `function` itself still runs one operation at a time.",
    another_way="`jax.jit(function)` made anew in each call costs little: JAX finds the compiled program of the same "
    "function again.",
)
def two_ways(function, x):
    plain = function(x)
    compiled = jax.jit(function)(x)
    return plain, compiled, np.allclose(plain, compiled, atol=1e-6)


@alternative
def with_a_decorator(function, x):
    @jax.jit
    def compiled(x):
        return function(x)

    results = [function(x), compiled(x)]
    return *results, bool(jnp.allclose(*results, atol=1e-6))


@alternative
def lowered_and_compiled(function, x):
    x = jnp.asarray(x)
    program = jax.jit(function).lower(x).compile()
    plain, compiled = function(x), program(x)
    return plain, compiled, np.allclose(np.asarray(plain), np.asarray(compiled), rtol=1e-5, atol=1e-6)


@alternative
def by_comparing_the_gap(function, x):
    compiled = jax.jit(function)(x)
    plain = function(x)
    return [plain, compiled, bool((jnp.abs(plain - compiled) <= 1e-6 + 1e-5 * jnp.abs(compiled)).all())]


@wrong(
    rejected_by="once_on_numbers_and_once_on_tracers",
    says="The first result comes from the compiled program, too.",
    misses_the_point=True,
    lacks="S1-17",
)
def jits_both(function, x):
    compiled = jax.jit(function)
    first, second = compiled(x), compiled(x)
    return first, second, np.allclose(first, second, atol=1e-6)


@wrong(rejected_by="once_on_numbers_and_once_on_tracers", says="Nothing is compiled.", lacks="S1-17")
def jits_neither(function, x):
    first, second = function(x), function(x)
    return first, second, np.allclose(first, second, atol=1e-6)


@wrong(rejected_by="once_on_numbers_and_once_on_tracers", says="Two programs are compiled where one would do.")
def jits_twice(function, x):
    first, second = jax.jit(lambda x: function(x))(x), jax.jit(lambda x: function(x))(x)
    return first, second, np.allclose(function(x), second, atol=1e-6)


@wrong(rejected_by="close_means_agreed", says="That they agree is taken for granted.", lacks="S1-18")
def takes_it_for_granted(function, x):
    return function(x), jax.jit(function)(x), True


@wrong(rejected_by="close_means_agreed", says="Two NaN are taken for equal.", lacks="S1-18")
def takes_nans_for_equal(function, x):
    plain, compiled = function(x), jax.jit(function)(x)
    return plain, compiled, np.allclose(plain, compiled, atol=1e-6, equal_nan=True)


@wrong(rejected_by="each_result_stands_in_its_place", says="The results stand in the wrong order.")
def turns_them_round(function, x):
    plain, compiled = function(x), jax.jit(function)(x)
    return compiled, plain, np.allclose(plain, compiled, atol=1e-6)


@wrong(rejected_by="each_result_stands_in_its_place", says="With such a tolerance all numbers agree.")
def tolerates_all(function, x):
    plain, compiled = function(x), jax.jit(function)(x)
    return plain, compiled, not np.isnan(plain).any() and np.allclose(plain, compiled, atol=10)


@wrong(rejected_by="the_tolerance_is_the_one_that_is_asked_for", says="The default of `atol`, 1e-8, is too strict.")
def leaves_the_tolerance_out(function, x):
    plain, compiled = function(x), jax.jit(function)(x)
    return plain, compiled, bool(jnp.isclose(compiled, plain).all())


@wrong(rejected_by="the_tolerance_is_the_one_that_is_asked_for", says="With 1e-5 too much is tolerated.")
def tolerates_ten_times_more(function, x):
    plain, compiled = function(x), jax.jit(function)(x)
    return plain, compiled, np.allclose(plain, compiled, atol=1e-5)


equivalent("450d34b1ad", because="For numbers that nearly agree it does not matter which of them sets the tolerance.")


@input
def is_traced(x):
    return 0 * x + isinstance(x, jax.core.Tracer)


@hidden(
    stage="traces",
    idea="A function that returns 1 on tracers, and 0 on numbers.",
    on="a function that tells in its result whether it is traced",
)
def each_result_stands_in_its_place(answer, draw):
    """The first result is the plain one, the second the compiled one; these two do not agree."""
    x = draw.floats(draw.integer(1, 5))
    plain, compiled, agree = parts(answer(given(is_traced), x), 3)
    expect_close([plain, compiled], [0 * x, 0 * x + 1], "The plain result comes first, then the compiled one.")
    expect_that(not agree, "Results that differ by 1 do not agree.", agree, expected=False)


@input
def slightly_more_if_traced(x):
    return 0 * x + 5e-7 * isinstance(x, jax.core.Tracer)


@input
def more_if_traced(x):
    return 0 * x + 2e-6 * isinstance(x, jax.core.Tracer)


@hidden(
    stage="traces",
    required=True,
    idea="The tolerance is 1e-6.",
    on="functions that give a little more on tracers than on numbers",
)
def the_tolerance_is_the_one_that_is_asked_for(answer, draw):
    """Zeros agree with 5e-7, and they do not agree with 2e-6."""
    x = draw.floats(3)
    agree = [bool(parts(answer(given(one), x), 3)[2]) for one in (slightly_more_if_traced, more_if_traced)]
    message = "Results that differ by 5e-7 agree, and those that differ by 2e-6 do not."
    expect_that(agree == [True, False], message, agree, [True, False])


@hidden(idea="A single row, whose deviation is 0.", on="a table of one row, or of other numbers")
def other_tables_go_both_ways(answer, draw):
    """For other tables both results are right; for one row they are NaN, and do not agree."""
    for rows in (1, draw.integer(3, 7)):
        x = draw.floats(rows, 3)
        plain, compiled, agree = parts(answer(given("norm"), x), 3)
        expect_close([plain, compiled], [norm(x)] * 2, rtol=1e-3, atol=1e-4)
        expect_that(bool(agree) == (rows > 1), "Numbers should agree, and NaN should not.", agree, rows > 1)


# %% seconds_per_run
@answer(
    notice="Two runs, two waits: the first run compiles and must be done before the clock is read, or its job is still "
    "in the queue.",
    another_way="Many runs and their mean even out a real clock; wait for each, or the jobs queue up.",
)
def seconds_per_run(start_machine):
    machine = start_machine()
    machine.run().block_until_ready()
    before = machine.clock()
    machine.run().block_until_ready()
    return machine.clock() - before


@alternative
def the_mean_of_five(start_machine):
    machine = start_machine()
    machine.run().block_until_ready()
    before = machine.clock()
    for _ in range(5):
        machine.run().block_until_ready()
    return (machine.clock() - before) / 5


@alternative
def the_shortest_of_three(start_machine):
    machine = start_machine()
    times = []
    for _ in range(3):
        before = machine.clock()
        jax.block_until_ready(machine.run())
        times.append(machine.clock() - before)
    return min(times)


@alternative
def times_one_run_after_three(start_machine):
    machine = start_machine()
    for _ in range(3):
        machine.run().block_until_ready()
    before = machine.clock()
    result = machine.run()
    result.block_until_ready()
    return np.float32(machine.clock() - before)


@wrong(
    rejected_by="the_times_are_honest",
    says="The call comes back before the work is done.",
    misses_the_point=True,
    lacks="S1-19",
)
def does_not_wait(start_machine):
    machine = start_machine()
    machine.run().block_until_ready()
    before = machine.clock()
    machine.run()
    return machine.clock() - before


@wrong(rejected_by="the_times_are_honest", says="The first call compiles.", lacks="S1-19")
def measures_the_compiler(start_machine):
    machine = start_machine()
    before = machine.clock()
    machine.run().block_until_ready()
    return machine.clock() - before


@wrong(rejected_by="the_times_are_honest", says="The job of the first run is still in the queue.")
def does_not_wait_for_the_first_run(start_machine):
    machine = start_machine()
    machine.run()
    before = machine.clock()
    machine.run().block_until_ready()
    return machine.clock() - before


@wrong(rejected_by="the_times_are_honest", says="The result is waited for after the clock was read.")
def waits_too_late(start_machine):
    machine = start_machine()
    machine.run().block_until_ready()
    before = machine.clock()
    result = machine.run()
    seconds = machine.clock() - before
    result.block_until_ready()
    return seconds


@wrong(rejected_by="the_times_are_honest", says="The compiler's time is spread over several runs, not left out.")
def hides_the_compiler_in_a_mean(start_machine):
    machine = start_machine()
    before = machine.clock()
    for _ in range(10):
        machine.run().block_until_ready()
    return (machine.clock() - before) / 10


@wrong(rejected_by="the_times_are_honest", says="NumPy cannot wait for these results: only `block_until_ready` does.")
def waits_by_converting(start_machine):
    machine = start_machine()
    np.asarray(machine.run())
    before = machine.clock()
    np.asarray(machine.run())
    return machine.clock() - before


@wrong(rejected_by="the_times_are_honest", says="The machine tells its time by `run` and `clock`, and nothing else.")
def reads_the_machines_attributes(start_machine):
    machine = start_machine()
    return machine.dispatch_s + machine.work_s


@wrong(rejected_by="another_machine_is_measured_as_honestly", says="The clock tells which of the known machines it is.")
def knows_the_machine_by_its_clock(start_machine):
    machine = start_machine()
    machine.run()
    return 942e-6 if machine.clock() < 1e-3 else 512e-6


@wrong(rejected_by="another_machine_is_measured_as_honestly", says="The known machines are told apart by their names.")
def knows_the_machine_by_its_name(start_machine):
    return 942e-6 if start_machine.__name__ == "plain_machine" else 512e-6


@wrong(rejected_by="another_machine_is_measured_as_honestly", says="A time of nanoseconds is rounded away.")
def keeps_eight_decimals(start_machine):
    machine = start_machine()
    machine.run().block_until_ready()
    before = machine.clock()
    machine.run().block_until_ready()
    return float(f"{machine.clock() - before:.8f}")


@wrong(rejected_by="another_machine_is_measured_as_honestly", says="The time is cut off at an hour.")
def gives_up_after_an_hour(start_machine):
    machine = start_machine()
    machine.run().block_until_ready()
    before = machine.clock()
    machine.run().block_until_ready()
    return min(machine.clock() - before, 3600.0)


for mutant in ("04cb1b8d26", "2b1f5a9710", "3f4abc8db4"):
    equivalent(mutant, because="An array without axes, which holds the same number, is accepted for a float.")


@input
def slow_machine():
    return simulated_machine(compile_s=8.0, dispatch_s=0.25, work_s=3.5)


@input
def machine_in_no_hurry():
    return simulated_machine(dispatch_s=7.0, work_s=0.125)


@input
def machine_of_nanoseconds():
    return simulated_machine(compile_s=5e-6, dispatch_s=2.25e-9, work_s=7.5e-9)


@input
def machine_of_hours():
    return simulated_machine(compile_s=60.0, dispatch_s=30.0, work_s=7200.0)


@hidden(
    idea="A machine with other times.",
    on="a machine with other times than those in the lesson, from nanoseconds to hours",
)
def another_machine_is_measured_as_honestly(answer):
    """For other machines the time is honest, too."""
    for start, wanted in (
        (slow_machine, 3.75),
        (machine_in_no_hurry, 7.125),
        (machine_of_nanoseconds, 9.75e-9),
        (machine_of_hours, 7230.0),
    ):
        seconds = answer(given(start))
        right = abs(number(seconds) - wanted) < 1e-4 * wanted
        expect_that(right, "One run should take as long as on this machine.", seconds, f"{wanted:g} s")


# %% look_inside_jit
@answer(
    notice="The prints are not in the program: they ran with the Python code, while it was traced.",
    another_way="`jax.debug.print` prints the numbers each time that the program runs (the lesson `debugging`).",
)
@jax.jit
def look_inside_jit(x, y):
    print("Running f():")
    print(f"  x = {x}")
    print(f"  y = {y}")
    result = jnp.dot(x + 1, y + 1)
    print(f"  result = {result}")
    return result


@alternative
def with_a_helper_inside(x, y):
    return _look(x, y)


@jax.jit
def _look(x, y):
    result = (x + 1) @ (y + 1)
    print("Running f():", f"x = {x}", f"y = {y}", f"result = {result}", sep="\n")
    return result


@alternative
@partial(jax.jit, keep_unused=True)
def with_a_partial(x, y):
    print("Running f():")
    for name, value in {"x": x, "y": y}.items():
        print(name, "=", value)
    result = jnp.einsum("nm,m->n", x + 1, y + 1)
    print("result =", result)
    return result


@wrong(
    rejected_by="the_first_call_prints_tracers",
    says="Without `jit` the numbers are printed.",
    misses_the_point=True,
)
def looks_without_jit(x, y):
    print("Running f():")
    print(f"x = {x}")
    print(f"y = {y}")
    result = jnp.dot(x + 1, y + 1)
    print(f"result = {result}")
    return result


@wrong(rejected_by="the_first_call_prints_tracers", says="The result is not printed.", lacks="S1-22")
@jax.jit
def keeps_the_result_to_itself(x, y):
    print("Running f():")
    print(f"x = {x}")
    print(f"y = {y}")
    return jnp.dot(x + 1, y + 1)


@wrong(
    rejected_by="the_second_call_prints_nothing",
    says="It is jitted anew in each call, and so it is traced anew.",
    lacks="S1-23",
)
def jits_in_each_call(x, y):
    def look(x, y):
        print("Running f():")
        print(f"x = {x}")
        print(f"y = {y}")
        result = jnp.dot(x + 1, y + 1)
        print(f"result = {result}")
        return result

    return jax.jit(look)(x, y)


@wrong(rejected_by="the_first_call_prints_tracers", says="The prints stand outside of the jitted function.")
def prints_outside(x, y):
    result = jax.jit(lambda x, y: jnp.dot(x + 1, y + 1))(x, y)
    print(f"Running f():\nx = {x}\ny = {y}\nresult = {result}")
    return result


@wrong(rejected_by="the_look_is_one_program", says="The jitted function only prints, and gives the sums.")
def multiplies_outside(x, y):
    return jnp.dot(*_printed(x, y))


@jax.jit
def _printed(x, y):
    print(f"Running f():\nx = {x}\ny = {y}\nresult = {jnp.dot(x + 1, y + 1)}")
    return x + 1, y + 1


@wrong(rejected_by="the_dot_product_is_right", says="The 1 is added to the product, not to x and y.")
@jax.jit
def adds_one_afterwards(x, y):
    print(f"Running f():\nx = {x}\ny = {y}")
    result = jnp.dot(x, y) + 1
    print(f"result = {result}")
    return result


@wrong(rejected_by="any_shapes_are_seen", says="What was printed once is written down, for all shapes.")
@jax.jit
def writes_it_down(x, y):
    print("Running f():\nx = JitTracer(float32[3,4])\ny = JitTracer(float32[4])\nresult = JitTracer(float32[3])")
    return jnp.dot(x + 1, y + 1)


@hidden(
    stage="traces",
    idea="Other shapes are traced anew, and printed anew.",
    on="three calls, the second with another shape",
)
def any_shapes_are_seen(answer, draw):
    """For another shape it prints again, with tracers of that shape."""
    n, m = draw.integer(5, 8), draw.integer(2, 4)
    sizes = [(n, m), (n + 1, m), (n, m)]
    seen = answer.observe_calls([(draw.floats(a, b), draw.floats(b)) for a, b in sizes])
    traced = [one.traces > 0 for one in seen]
    expect_that(traced == [True, True, False], "A new shape should be traced, and an old one should not.", traced)
    for one, (a, b), again in zip(seen, sizes, (False, False, True), strict=True):
        named = all(f"float32[{shape}]" in " ".join(one.lines) for shape in (f"{a},{b}", b, a))
        expect_that(named != again, "Each new shape should be printed, and an old one not again.", one.lines)


# %% predict_traces
@answer
def predict_traces():
    return 4


# %% select_negatives
@answer(
    notice="`size` is a Python int, so that the shape of the result is known before any number of x is.",
    another_way="`x[jnp.nonzero(x < 0, size=size)[0]]` is shorter, but fills what is missing with copies of `x[0]`.",
)
def select_negatives(x, size=None):
    if size is None:
        return x[x < 0]
    return jnp.extract(x < 0, x, size=size, fill_value=0)


@alternative
def by_places(x, size=None):
    mask = x < 0
    if size is None:
        return x[jnp.nonzero(mask)[0]] if not isinstance(x, jax.core.Tracer) else x[mask]
    places = jnp.nonzero(mask, size=size, fill_value=len(x))[0]
    return x.at[places].get(mode="fill", fill_value=0.0)


@alternative
def compressed(x, size=None):
    mask = jnp.less(x, 0.0)
    return x[mask] if size is None else jnp.compress(mask, x, size=size, fill_value=0)


@alternative
def with_a_zero_at_the_end(x, size=None):
    mask = x < 0
    if size is None:
        return x[mask]
    (places,) = jnp.where(mask, size=size, fill_value=-1)
    return jnp.append(x, jnp.float32(0))[places]


@alternative
def sorted_by_the_mask(x, size=None):
    mask = x < 0
    if size is None:
        return x[mask]
    order = jnp.argsort(~mask, stable=True)
    kept = jnp.where(mask[order], x[order], 0.0)
    return jnp.pad(kept, (0, size))[:size]


@wrong(
    rejected_by="the_negative_numbers_are_selected",
    says="The positive numbers are selected.",
    lacks="S1-20",
)
def selects_the_positive_ones(x, size=None):
    return x[x > 0] if size is None else jnp.extract(x > 0, x, size=size, fill_value=0)


@wrong(
    rejected_by="jit_refuses_the_mask",
    says="Under `jit` the error is caught.",
    misses_the_point=True,
    lacks="S1-21",
)
def catches_the_error(x, size=None):
    if size is not None:
        return jnp.extract(x < 0, x, size=size, fill_value=0)
    try:
        return x[x < 0]
    except jax.errors.NonConcreteBooleanIndexError:
        return jnp.where(x < 0, x, 0)


@wrong(rejected_by="jit_refuses_the_mask", says="The error is not JAX's own.", lacks="S1-21")
def raises_an_error_of_its_own(x, size=None):
    if size is not None:
        return jnp.extract(x < 0, x, size=size, fill_value=0)
    if isinstance(x, jax.core.Tracer):
        raise TypeError("Array boolean indices must be concrete; got bool[10]")
    return x[x < 0]


@wrong(rejected_by="the_negative_numbers_are_selected", says="The others become zeros, and stay.")
def puts_zeros(x, size=None):
    kept = jnp.where(x < 0, x, 0.0)
    return kept if size is None else kept[:size]


@wrong(rejected_by="a_size_cuts_and_fills", says="Without `fill_value`, the place 0 is taken for what is missing.")
def fills_with_the_first(x, size=None):
    return x[x < 0] if size is None else x[jnp.nonzero(x < 0, size=size)[0]]


@wrong(
    rejected_by="a_size_cuts_and_fills",
    says="The place -1 takes the last number of x, and so does a place beyond the end: neither is an error.",
)
def fills_with_the_last(x, size=None):
    return x[x < 0] if size is None else x[jnp.nonzero(x < 0, size=size, fill_value=-1)[0]]


equivalent("ffc271f878", because="Without `fill_value`, `jnp.extract` fills with zeros.")


@wrong(rejected_by="a_size_needs_no_numbers", says="It selects first, and that needs the numbers of the mask.")
def selects_before_it_fills(x, size=None):
    chosen = x[x < 0]
    return chosen if size is None else jnp.pad(chosen[:size], (0, max(0, size - len(chosen))))


@wrong(rejected_by="zeros_and_nan_are_left_out", says="-0.0 has the sign of a negative number, and is none.")
def looks_at_the_sign(x, size=None):
    mask = jnp.signbit(x)
    return x[mask] if size is None else jnp.extract(mask, x, size=size, fill_value=0)


@wrong(rejected_by="zeros_and_nan_are_left_out", says="What is not 0 or more is taken for negative, also a NaN.")
def whatever_is_not_positive(x, size=None):
    mask = ~(x >= 0)
    return x[mask] if size is None else jnp.extract(mask, x, size=size, fill_value=0)


@wrong(rejected_by="a_jax_array_comes_back", says="NumPy selects, and a NumPy array comes back.")
def numpy_selects(x, size=None):
    if size is not None:
        return jnp.extract(x < 0, x, size=size, fill_value=0)
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
    x = jnp.array([jnp.nan, 0.0, -0.0, -jnp.inf, jnp.inf, -1e-30, -2.0])
    expect_equal(answer(x), jnp.array([-jnp.inf, -1e-30, -2.0]), "Only what is less than 0 should be selected.")
    wanted = jnp.array([-jnp.inf, -1e-30, -2.0, 0.0, 0.0])
    expect_equal(answer(x, 5), wanted, "Only what is less than 0 should be selected.")


@hidden(idea="No negative number, or nothing but negative numbers.", on="only positive numbers, or only negative ones")
def none_or_all_are_selected(answer):
    """If no number is negative only zeros come, and if all are, the first ones."""
    for x, wanted in (
        (jnp.array([1.0, 2.0]), []),
        (jnp.array([-3.0, -4.0]), [-3.0, -4.0]),
        (jnp.array([-5.0]), [-5.0]),
    ):
        expect_equal(answer(x), jnp.array(wanted, dtype="float32"))
        for size in range(1, len(x) + 1):
            expect_equal(answer(x, size), jnp.array([*wanted, 0.0, 0.0][:size], dtype="float32"))


@hidden(stage="jit", idea="Other numbers: under `jit` their count is not known.")
def any_number_of_negatives(answer, draw, reference):
    """For other numbers the negative ones are selected, and under `jit` JAX refuses."""
    x = jnp.concatenate([jnp.array([-1.0, 0.0]), draw.floats(draw.integer(4, 9))])
    for size in (None, draw.integer(1, len(x))):
        expect_close(answer(x, size), reference(x, size), on="other numbers, with a zero among them")
    expect_raises(answer.jit.observe_error(x), "NonConcreteBooleanIndexError", on="other numbers, under `jax.jit`")


# %% jitted_negate_if
@answer(
    notice="`lax.cond` takes two functions and what they get; each becomes a branch of the one program.",
    another_way="`jnp.where(neg, -x, x)` computes both, which costs nothing for so little work.",
)
def jitted_negate_if(how):
    if how == "traced":
        return jax.jit(negate_if)
    if how == "static":
        return jax.jit(negate_if, static_argnums=(1,))
    return jax.jit(lambda x, neg: jax.lax.cond(neg, lambda x: -x, lambda x: x, x))


@alternative
def by_name_and_where(how):
    names = {"traced": None, "static": "neg"}
    if how in names:
        return jax.jit(negate_if, static_argnames=names[how])
    return jax.jit(lambda x, neg: jnp.where(neg, -x, x))


@alternative
def with_decorators(how):
    @jax.jit
    def traced(x, neg):
        return -x if neg else x

    @partial(jax.jit, static_argnums=1)
    def static(x, neg):
        if neg:
            return -x
        return x

    @jax.jit
    def chosen(x, neg):
        return x * (1 - 2 * neg)

    return {"traced": traced, "static": static}.get(how, chosen)


@alternative
def with_select(how):
    options = {"static_argnames": ("neg",)} if how == "static" else {}
    if how != "at run time":
        return partial(jax.jit, **options)(negate_if)
    return jax.jit(lambda x, neg: jax.lax.select(neg, -jnp.asarray(x), jnp.asarray(x)))


def _chosen(x, neg):
    return jnp.where(neg, -x, x)


@wrong(
    rejected_by="the_traced_flag_is_refused",
    says="The flag is static in two of the three ways.",
    misses_the_point=True,
    lacks="S1-26",
)
def static_for_the_traced_one(how):
    return jax.jit(_chosen) if how == "at run time" else jax.jit(negate_if, static_argnums=1)


@wrong(
    rejected_by="the_traced_flag_is_refused",
    says="The traced flag is chosen at run time, and not refused.",
    lacks="S1-26",
)
def refuses_nothing(how):
    return jax.jit(negate_if, static_argnums=1) if how == "static" else jax.jit(_chosen)


@wrong(rejected_by="the_static_flag_negates", says="The result is a strong int32, as of an array.", lacks="S1-27")
def makes_it_strong(how):
    if how == "static":
        return jax.jit(
            lambda x, neg: jnp.asarray(x, jnp.asarray(x).dtype) * jnp.int32(-1) if neg else x, static_argnums=1
        )
    return jax.jit(negate_if) if how == "traced" else jax.jit(_chosen)


@wrong(
    rejected_by="another_flag_another_program",
    says="It is jitted anew in each call, so that each call is traced.",
    lacks="S1-28",
)
def jits_the_flag_anew(how):
    if how == "static":
        return lambda x, neg: jax.jit(lambda x: -x if neg else x)(x)
    return jax.jit(negate_if) if how == "traced" else jax.jit(_chosen)


@wrong(rejected_by="another_flag_another_program", says="Without `jit` Python decides, and nothing is traced.")
def leaves_jit_out(how):
    if how == "static":
        return lambda x, neg: jnp.asarray(negate_if(x, neg))
    return jax.jit(negate_if) if how == "traced" else jax.jit(_chosen)


@wrong(rejected_by="computed_flags_choose", says="x is static as well, and an array cannot be.")
def makes_all_static(how):
    if how == "static":
        return jax.jit(lambda x, neg: int(negate_if(x, neg)), static_argnums=(0, 1))
    return jax.jit(negate_if) if how == "traced" else jax.jit(_chosen)


@wrong(rejected_by="every_number_is_negated", says="Of an infinity, the part that should count for nothing is NaN.")
def mixes_both(how):
    if how == "at run time":
        return jax.jit(lambda x, neg: neg * -x + (1 - neg) * x)
    return jax.jit(negate_if, static_argnums=1) if how == "static" else jax.jit(negate_if)


@wrong(rejected_by="every_number_is_negated", says="A sign that is a float makes floats of integers.")
def has_a_float_sign(how):
    if how == "at run time":
        return jax.jit(lambda x, neg: jnp.where(neg, -1.0, 1.0) * x)
    return jax.jit(negate_if, static_argnums=1) if how == "static" else jax.jit(negate_if)


@wrong(rejected_by="every_number_is_negated", says="Twice a large number is more than a float32 can hold.")
def takes_away_twice(how):
    if how == "at run time":
        return jax.jit(lambda x, neg: x - jnp.where(neg, x + x, 0))
    return jax.jit(negate_if, static_argnums=1) if how == "static" else jax.jit(negate_if)


equivalent("6cc3ebd5f3", because="Of the three words only `traced` is not before `traced` in the alphabet.")


@hidden(idea="Infinities, NaN, the largest numbers, and integers.", on="large numbers, integers, infinities or NaN")
def every_number_is_negated(answer):
    """At run time, large numbers, integers, infinities and NaN are negated, too."""
    x = jnp.array([jnp.inf, -jnp.inf, jnp.nan, 3e38, -3e38, 0.5])
    for numbers in (x, jnp.array([2**30, -7, 0], dtype="int32"), jnp.array([3e38, 1.0])):
        for neg in (True, False):
            expect_close(answer.then("at run time")(numbers, neg), -numbers if neg else numbers)


@wrong(rejected_by="one_program_for_both_flags", says="A static flag makes a program for each of its values.")
def static_at_run_time(how):
    return jax.jit(negate_if) if how == "traced" else jax.jit(negate_if, static_argnums=1)


@hidden(
    stage="traces", idea="Arrays and flags that a program has computed.", on="arrays, with flags that are JAX arrays"
)
def computed_flags_choose(answer, draw):
    """At run time the flag may be an array; if it is static, x may be one."""
    x = draw.floats(2, 3)
    for neg in (True, False):
        wanted = -x if neg else x
        expect_close(answer.then("at run time")(x, jnp.array(neg)), wanted)
        expect_close(answer.then("static")(x, neg), wanted)


# %% film
@answer(
    notice="All that `body` needs comes in by the dish or is an argument of `film`; all that is kept goes out.",
    another_way="A Python loop over a jitted `step` gives the same frames, but starts a program for each step.",
)
@partial(jax.jit, static_argnames="steps")
def film(dish, feed, steps):
    def body(dish, _):
        dish = step(dish, feed)
        return dish, dish[1]

    return jax.lax.scan(body, dish, length=steps)


@alternative
def with_a_jitted_helper(dish, feed, steps):
    return _filmed(dish, feed, jnp.zeros(steps))


@jax.jit
def _filmed(dish, feed, blanks):
    def body(dish, _blank):
        after = step(dish, feed)
        return after, after[1]

    return jax.lax.scan(body, dish, blanks)


@alternative
@partial(jax.jit, static_argnums=2)
def writes_frames_in_place(dish, feed, steps):
    if steps == 0:
        return dish, jnp.zeros((0, *dish.shape[1:]))

    def body(k, state):
        dish, frames = state
        dish = step(dish, feed)
        return dish, frames.at[k].set(dish[1])

    return jax.lax.fori_loop(0, steps, body, (dish, jnp.zeros((steps, *dish.shape[1:]))))


@alternative
@partial(jax.jit, static_argnames="steps")
def keeps_whole_dishes(dish, feed, steps):
    def body(dish, _):
        dish = step(dish, feed)
        return dish, dish

    last, dishes = jax.lax.scan(body, jnp.asarray(dish), None, steps)
    return [last, dishes[:, 1]]


@wrong(rejected_by="each_film_has_its_own_feed", says="The feed is still read from outside, and frozen.")
def keeps_the_global_feed(dish, feed, steps):
    global feed_outside
    feed_outside = feed
    return _with_the_global_feed(dish, steps)


@partial(jax.jit, static_argnames="steps")
def _with_the_global_feed(dish, steps):
    def body(dish, _):
        dish = step(dish, feed_outside)
        return dish, dish[1]

    return jax.lax.scan(body, dish, length=steps)


@wrong(
    rejected_by="the_loop_is_in_the_program",
    says="A Python loop over jitted steps is pure, and starts a program for each step.",
    misses_the_point=True,
)
def loops_in_python(dish, feed, steps):
    frames = []
    for _ in range(steps):
        dish = _one_step(dish, feed)
        frames.append(dish[1])
    return dish, jnp.stack(frames) if frames else jnp.zeros((0, *dish.shape[1:]))


_one_step = jax.jit(step)


@wrong(rejected_by="the_loop_is_in_the_program", says="Under `jit` a Python loop is unrolled.")
@partial(jax.jit, static_argnames="steps")
def unrolls_the_loop(dish, feed, steps):
    frames = []
    for _ in range(steps):
        dish = step(dish, feed)
        frames.append(dish[1])
    return dish, jnp.stack(frames) if frames else jnp.zeros((0, *dish.shape[1:]))


@wrong(rejected_by="each_film_has_its_own_feed", says="A frame shows V before its step.")
@partial(jax.jit, static_argnames="steps")
def films_before_the_step(dish, feed, steps):
    return jax.lax.scan(lambda dish, _: (step(dish, feed), dish[1]), dish, length=steps)


@wrong(rejected_by="each_film_has_its_own_feed", says="The frames show U.")
@partial(jax.jit, static_argnames="steps")
def films_the_other_chemical(dish, feed, steps):
    def body(dish, _):
        dish = step(dish, feed)
        return dish, dish[0]

    return jax.lax.scan(body, dish, length=steps)


@wrong(rejected_by="one_trace_for_all_feeds", says="A static feed is compiled for each of its values.")
@partial(jax.jit, static_argnames=("feed", "steps"))
def makes_the_feed_static(dish, feed, steps):
    def body(dish, _):
        dish = step(dish, feed)
        return dish, dish[1]

    return jax.lax.scan(body, dish, length=steps)


@wrong(rejected_by="one_frame_for_each_step", says="The frames are appended to a list, and only one trace does that.")
@partial(jax.jit, static_argnames="steps")
def still_appends_to_a_list(dish, feed, steps):
    frames = []

    def body(dish, _):
        dish = step(dish, feed)
        frames.append(1.0)
        return dish, None

    last, _ = jax.lax.scan(body, dish, length=steps)
    return last, jnp.array(frames)


@wrong(
    rejected_by="short_films_and_other_dishes", says="The first step is made outside of the loop, whatever the number."
)
@partial(jax.jit, static_argnames="steps")
def always_makes_one_step(dish, feed, steps):
    def body(dish, _):
        dish = step(dish, feed)
        return dish, dish[1]

    first, frame = body(dish, None)
    last, frames = jax.lax.scan(body, first, length=max(steps - 1, 0))
    return last, jnp.concatenate([frame[None], frames])


@wrong(rejected_by="the_loop_is_in_the_program", says="The loop is in the program, but unrolled as a whole.")
@partial(jax.jit, static_argnames="steps")
def unrolls_the_scan(dish, feed, steps):
    def body(dish, _):
        dish = step(dish, feed)
        return dish, dish[1]

    return jax.lax.scan(body, dish, length=steps, unroll=True)


@wrong(rejected_by="the_loop_is_in_the_program", says="Two steps in a round: an even number needs a longer body.")
@partial(jax.jit, static_argnames="steps")
def makes_two_steps_in_a_round(dish, feed, steps):
    in_a_round = 1 + (steps % 2 == 0)

    def body(dish, _):
        frames = []
        for _ in range(in_a_round):
            dish = step(dish, feed)
            frames.append(dish[1])
        return dish, jnp.stack(frames)

    last, frames = jax.lax.scan(body, dish, length=steps // in_a_round)
    return last, frames.reshape(steps, *dish.shape[1:])


@wrong(rejected_by="the_dish_stays_usable", says="The dish is donated, so that the film uses it up.")
@partial(jax.jit, static_argnames="steps", donate_argnames="dish")
def uses_up_the_dish(dish, feed, steps):
    def body(dish, _):
        dish = step(dish, feed)
        return dish, dish[1]

    return jax.lax.scan(body, dish, length=steps)


@wrong(rejected_by="a_long_film_is_complete", says="There is room for 256 frames, and a longer film is cut.")
def has_room_for_256(dish, feed, steps):
    last, frames = _filmed_to(dish, feed, min(steps, 256))
    return last, frames[jnp.minimum(jnp.arange(steps), 255)]


@partial(jax.jit, static_argnums=2)
def _filmed_to(dish, feed, steps):
    def body(k, state):
        dish, frames = state
        dish = step(dish, feed)
        return dish, frames.at[k].set(dish[1])

    return jax.lax.fori_loop(0, steps, body, (dish, jnp.zeros((256, *dish.shape[1:]))))


equivalent("e87c78bf25", because="An index beyond the end takes the last plane, which is `dish[1]`.")


@hidden(idea="The dish of the call may be used again.", on="a dish that is used again after the film")
def the_dish_stays_usable(answer, draw):
    """The dish that is given stays as it was."""
    dish = random_dish(draw, 4, 4)
    (kept, _, _) = answer.observe(dish, 0.05, 4).arguments
    message = "The dish that the film is given should stay usable; yours is used up, as a donated argument is."
    expect_that(hasattr(kept, "shape"), message, kept, "a float32[2,4,4]")
    expect_equal(kept, dish)


@hidden(
    stage="cost",
    kind="value",
    required=True,
    idea="As many frames as there are steps, however many.",
    on="a film of more than 500 steps",
)
def a_long_film_is_complete(answer, draw):
    """A film of hundreds of steps has a frame for each, and the last dish is that after all steps."""
    dish, steps = random_dish(draw, 2, 2).at[0].set(0), draw.integer(600, 700)  # without U, V decays to the end
    last, frames = parts(answer(dish, 0.0, steps), 2)
    wanted = steps_by_numpy(dish, 0.0, steps)
    expect_shape(frames, (steps, 2, 2))
    expect_close(frames, np.stack([one[1] for one in wanted]).astype("float32"), rtol=1e-3, atol=0)
    expect_close(last, wanted[-1].astype("float32"), rtol=1e-3, atol=0)


@hidden(
    idea="No step at all, and one; a dish with sides of different lengths.",
    on="a film of no step, of one, or of several, in a dish that is no square",
)
def short_films_and_other_dishes(answer, draw):
    """For no step and for one the film is right, and so it is in other dishes."""
    dish = random_dish(draw, 3, draw.integer(4, 7))
    for steps in (0, 1, draw.integer(5, 9)):
        last, frames = parts(answer(dish, 0.04, steps), 2)
        wanted = [np.asarray(dish), *steps_by_numpy(dish, 0.04, steps)]
        expect_shape(frames, (steps, *dish.shape[1:]))
        if steps:
            expect_close(frames, np.stack([one[1] for one in wanted[1:]]).astype("float32"), rtol=1e-4, atol=1e-5)
        expect_close(last, wanted[-1].astype("float32"), rtol=1e-4, atol=1e-5)


# %% settle
@answer(
    notice="The change of the last step is part of the state; it starts with infinity, so that the first step is made.",
    another_way="`fori_loop` up to `most` with `jnp.where` gives the same dish, but goes on computing to the end.",
)
@jax.jit
def settle(dish, feed, tolerance, most):
    def goes_on(state):
        _, change, steps = state
        return (change > tolerance) & (steps < most)

    def body(state):
        dish, _, steps = state
        after = step(dish, feed)
        return after, jnp.abs(after - dish).max(), steps + 1

    dish, _, steps = jax.lax.while_loop(goes_on, body, (dish, jnp.inf, 0))
    return dish, steps


@alternative
@jax.jit
def carries_the_dish_before(dish, feed, tolerance, most):
    def goes_on(state):
        before, after, steps = state
        moves = jnp.any(jnp.abs(after - before) > tolerance)
        return jnp.logical_and(jnp.logical_or(steps == 0, moves), steps < most)

    def body(state):
        _, dish, steps = state
        return dish, step(dish, feed), steps + 1

    _, dish, steps = jax.lax.while_loop(goes_on, body, (dish, dish, jnp.int32(0)))
    return dish, steps


@alternative
def with_a_flag(dish, feed, tolerance, most):
    return _settled(jnp.asarray(dish), feed, tolerance, most)


@jax.jit
def _settled(dish, feed, tolerance, most):
    def body(state):
        after = step(state["dish"], feed)
        still = jnp.all(jnp.abs(after - state["dish"]) <= tolerance)
        return {"dish": after, "goes": ~still & (state["steps"] + 1 < most), "steps": state["steps"] + 1}

    start = {"dish": dish, "goes": jnp.asarray(most > 0), "steps": jnp.int32(0)}
    end = jax.lax.while_loop(lambda state: state["goes"], body, start)
    return end["dish"], end["steps"]


@wrong(
    rejected_by="a_while_loop_is_in_the_program",
    says="Python asks for the change after each step.",
    misses_the_point=True,
)
def loops_until_python_knows(dish, feed, tolerance, most):
    steps, change = 0, np.inf
    while change > tolerance and steps < most:
        after = _next_dish(dish, feed)
        dish, change, steps = after, float(jnp.abs(after - dish).max()), steps + 1
    return dish, jnp.int32(steps)


_next_dish = jax.jit(step)


@wrong(rejected_by="it_stops_when_nothing_changes", says="It goes on to the end, whatever changes.")
@jax.jit
def goes_on_to_the_end(dish, feed, tolerance, most):
    return jax.lax.fori_loop(0, most, lambda _, dish: step(dish, feed), dish), jnp.asarray(most)


def _until(dish, feed, tolerance, most, size=lambda gap: jnp.abs(gap).max(), start=jnp.inf):
    def body(state):
        dish, _, steps = state
        after = step(dish, feed)
        return after, size(after - dish), steps + 1

    dish, _, steps = jax.lax.while_loop(lambda s: (s[1] > tolerance) & (s[2] < most), body, (dish, start, 0))
    return dish, steps


@wrong(rejected_by="it_stops_when_nothing_changes", says="The step that changes nothing more is not counted.")
@jax.jit
def does_not_count_the_last(dish, feed, tolerance, most):
    dish, steps = _until(dish, feed, tolerance, most)
    return dish, jnp.where(steps < most, steps - 1, steps)


@wrong(rejected_by="it_stops_when_nothing_changes", says="One step more is made than needed.")
@jax.jit
def makes_one_more(dish, feed, tolerance, most):
    dish, steps = _until(dish, feed, tolerance, most)
    return jnp.where(steps < most, step(dish, feed), dish), jnp.where(steps < most, steps + 1, steps)


@wrong(rejected_by="it_stops_when_nothing_changes", says="The mean change is small long before the largest is.")
@jax.jit
def takes_the_mean_change(dish, feed, tolerance, most):
    return _until(dish, feed, tolerance, most, lambda gap: jnp.abs(gap).mean())


@wrong(rejected_by="it_stops_when_nothing_changes", says="Only V is watched.")
@jax.jit
def watches_one_chemical(dish, feed, tolerance, most):
    return _until(dish, feed, tolerance, most, lambda gap: jnp.abs(gap[1]).max())


@wrong(rejected_by="it_stops_when_nothing_changes", says="The loop starts with a change of 0, so that it never runs.")
@jax.jit
def starts_with_no_change(dish, feed, tolerance, most):
    return _until(dish, feed, tolerance, most, start=0.0)


@wrong(rejected_by="a_dish_that_only_decays", says="Where a number falls, the change is taken for none.")
@jax.jit
def forgets_what_falls(dish, feed, tolerance, most):
    return _until(dish, feed, tolerance, most, jnp.max)


@wrong(rejected_by="it_stops_after_most_steps", says="It makes one step more than `most`.")
@jax.jit
def makes_most_and_one(dish, feed, tolerance, most):
    return _until(dish, feed, tolerance, most + 1)


@wrong(rejected_by="no_step_is_made_if_none_is_allowed", says="The first step is made before anything is asked.")
@jax.jit
def always_makes_a_step(dish, feed, tolerance, most):
    return _until(dish, feed, tolerance, jnp.maximum(most, 1))


@wrong(rejected_by="one_trace_for_all_limits", says="A static limit is compiled for each of its values.")
@partial(jax.jit, static_argnames="most")
def makes_most_static(dish, feed, tolerance, most):
    return _until(dish, feed, tolerance, most)


@wrong(rejected_by="a_dish_that_stands_still", says="It goes on unless all changes are less than the tolerance.")
@jax.jit
def must_change_by_less(dish, feed, tolerance, most):
    def goes_on(state):
        before, after, steps = state
        still = (steps > 0) & jnp.all(jnp.abs(after - before) < tolerance)
        return ~still & (steps < most)

    start = (dish, dish, jnp.int32(0))
    _, dish, steps = jax.lax.while_loop(goes_on, lambda s: (s[1], step(s[1], feed), s[2] + 1), start)
    return dish, steps


@wrong(rejected_by="a_dish_that_stands_still", says="It has a limit of its own, besides `most`.")
@jax.jit
def has_a_limit_of_its_own(dish, feed, tolerance, most):
    return _until(dish, feed, tolerance, jnp.minimum(most, 1024))


@hidden(idea="A limit of 0.", on="a limit of no step")
def no_step_is_made_if_none_is_allowed(answer, draw):
    """With most = 0 the dish comes back as it was."""
    dish = random_dish(draw, 3, 5)
    got, steps = parts(answer(dish, 0.05, 0.1, 0), 2)
    expect_close([got, jnp.int32(number(steps))], [dish, jnp.int32(0)], "With `most` 0, no step should be made.")


@hidden(idea="A dish in which V only decays.", on="a dish without U and a feed of 0, or any other dish")
def a_dish_that_only_decays(answer, draw):
    """As long as V falls, it goes on; and other dishes settle, too."""
    only_v = jnp.stack([jnp.zeros((3, 4)), jnp.full((3, 4), 0.8)])
    for dish, feed, place in ((only_v, 0.0, 5), (random_dish(draw, 4, 6), 0.4, draw.integer(3, 12))):
        tolerance, count, wanted = settled(dish, feed, place)
        got, steps = parts(answer(dish, feed, tolerance, 500), 2)
        message = "It should stop where nothing changes by more than the tolerance."
        expect_that(number(steps) == count, message, steps, count)
        expect_close(got, wanted, rtol=1e-4, atol=1e-5)


@hidden(
    idea="A tolerance of 0, with a dish that does not change at all, and one that never stands still.",
    on="a tolerance of 0, with a dish that never changes, or changes for very long",
)
def a_dish_that_stands_still(answer):
    """With a tolerance of 0, one step is made where nothing changes, and 1,200 where something always does."""
    plain = jnp.stack([jnp.ones((3, 4)), jnp.zeros((3, 4))])
    only_v = jnp.stack([jnp.zeros((3, 4)), jnp.full((3, 4), 0.8)])
    for dish, feed, wanted in ((plain, 0.25, 1), (only_v, 0.0, 1200)):
        got, steps = parts(answer(dish, feed, 0.0, 1200), 2)
        message = (
            f"It should make {wanted} steps." if wanted > 1 else "After one step without a change, it should stop."
        )
        expect_that(number(steps) == wanted, message, steps, wanted)
        expect_close(got, steps_by_numpy(dish, feed, wanted)[-1].astype("float32"), rtol=1e-3, atol=1e-6)


# %% traces_so_far
@answer(
    notice="`append` runs once per trace, not once per call. The function is defined inside, so each call of "
    "`traces_so_far` counts from 0.",
    another_way="`watch_traces` needs no line in the function, but counts the traces of every jitted function in "
    "its block.",
)
def traces_so_far(arguments):
    ran = []

    @jax.jit
    def same(x):
        ran.append("traced")
        return x

    so_far = []
    for x in arguments:
        same(x)
        so_far.append(len(ran))
    return so_far


@alternative
def counts_up(arguments):
    count = 0

    def leaves(x):
        nonlocal count
        count += 1
        return jax.tree.map(lambda leaf: 2 * leaf, x)

    jitted = jax.jit(leaves)
    return tuple(jitted(x) is not None and count for x in arguments)


@alternative
def watched(arguments):
    from jaxguide.tracing import watch_traces

    @jax.jit
    def f(x):
        return x

    so_far = []
    with watch_traces() as traces:
        for x in arguments:
            f(x)
            so_far.append(traces.traces)
    return so_far


@wrong(
    rejected_by="shapes_and_dtypes_are_traced_anew",
    says="The traces are computed from the types, and nothing is traced.",
    lacks="S1-24",
)
def by_their_types(arguments):
    types = [str(jax.tree.map(lambda leaf: jax.typeof(jnp.asarray(leaf)), x)) for x in arguments]
    return [len(set(types[: i + 1])) for i in range(len(types))]


@wrong(rejected_by="shapes_and_dtypes_are_traced_anew", says="A jitted function is made for each argument.")
def a_new_function_for_each(arguments):
    ran = []
    so_far = []
    for x in arguments:
        jax.jit(lambda v: (ran.append(1), v)[1])(x)
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
        ran.append(x)
        so_far.append(len(ran))
    return so_far


@wrong(rejected_by="shapes_and_dtypes_are_traced_anew", says="A new dtype is forgotten.")
def counts_the_shapes(arguments):
    shapes = [jnp.shape(x) for x in arguments]
    return [len(set(shapes[: i + 1])) for i in range(len(shapes))]


@wrong(
    rejected_by="python_numbers_have_types_of_their_own",
    says="Python numbers become NumPy arrays, whose types are strong.",
)
def makes_arrays_first(arguments):
    ran = []
    f = jax.jit(lambda x: (ran.append(1), x)[1])
    so_far = []
    for x in arguments:
        f(jax.tree.map(np.asarray, x))
        so_far.append(len(ran))
    return so_far


@wrong(rejected_by="python_numbers_have_types_of_their_own", says="Python numbers are made static.")
def python_numbers_are_static(arguments):
    ran = []
    f = jax.jit(lambda x, n: (ran.append(1), x)[1], static_argnums=1)
    so_far = []
    for x in arguments:
        f(*((0.0, x) if isinstance(x, float | int) else (x, None)))
        so_far.append(len(ran))
    return so_far


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
_counted = jax.jit(lambda x: (_runs.append(1), x)[1])


@wrong(
    rejected_by="dicts_and_tuples_are_counted", says="A dict or tuple is taken apart, and its structure is forgotten."
)
def takes_dicts_apart(arguments):
    ran = []
    f = jax.jit(lambda *leaves: (ran.append(1), leaves)[1])
    so_far = []
    for x in arguments:
        f(*jax.tree.leaves(x))
        so_far.append(len(ran))
    return so_far


@wrong(rejected_by="other_types_are_counted", says="NumPy's float64 is taken for a type of its own.")
def knows_float64(arguments):
    ran = []

    @partial(jax.jit, static_argnums=1)
    def f(x, dtype):
        ran.append(dtype)
        return x

    so_far = []
    for x in arguments:
        f(x, getattr(x, "dtype", None))
        so_far.append(len(ran))
    return so_far


@hidden(idea="A second call: its function is a new one.", on="two calls with the same arguments")
def a_second_call_starts_anew(answer, draw):
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
    """Truth values, complex numbers and scalars are counted right, and no argument gives no count."""
    for arguments in ([], [True, False, 1, 2], [1j, 2.0, np.float64(3.0), jnp.float32(1)]):
        got, wanted = ([int(one) for one in subject(arguments)] for subject in (answer, reference))
        expect_that(got == wanted, "The counts should be those of these types.", got, wanted)


@hidden(
    stage="traces",
    idea="Two dicts with other keys, or a tuple and a dict with the same parts, have other structures.",
    on="dicts and tuples of vectors and Python numbers",
)
def dicts_and_tuples_are_counted(answer, draw):
    """Dicts and tuples of the same structure and types share a trace, and the last count is the number of traces."""
    pair = (draw.floats(2), 1.0)
    named = {"a": draw.floats(2), "b": 3.0}
    arguments = [
        pair,
        (pair[1], pair[0]),
        (draw.floats(2), 2.0),
        named,
        {"a": pair[0], "c": 3.0},
        {**named, "b": 4.0},
        (),
    ]
    seen = answer.observe(arguments)
    got, wanted = [int(one) for one in seen.value], [1, 2, 2, 3, 4, 4, 5]
    expect_that(got == wanted, "The counts should be those of these structures.", got, wanted)
    message = "`jax.jit` should trace as often as the last count says."
    expect_that(seen.traces == wanted[-1], message, f"{seen.traces} traces", f"{wanted[-1]} traces")


@hidden(idea="NumPy's float64, which is traced as float32.", on="a NumPy array of float64, among other arguments")
def numpy_arrays_are_traced_as_float32(answer, draw, reference):
    """NumPy arrays of float64, and new shapes in any order, are counted right."""
    n = draw.integer(2, 6)
    strong, wide = draw.floats(n), draw.numpy(n, dtype="float64")
    arguments = [strong, wide, draw.floats(1, n), 3.0, draw.numpy(n), strong > 0, draw.floats(0), draw.floats(1)]
    got, wanted = ([int(one) for one in subject(arguments)] for subject in (answer, reference))
    expect_that(got == wanted, "The counts should be those of these types.", got, wanted)


# %% recorded_program
@answer(
    notice="`jnp.dot`, `jnp.matmul` and `@` all become `dot_general`. The types in the text are all that a tracer "
    "knows.",
    another_way="`jax.jit(function).trace(*args).jaxpr` is the same, and the traced function can be compiled next.",
)
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
    rejected_by="the_text_is_the_jaxpr",
    says="The jitted function is listed: its program is one line.",
    misses_the_point=True,
    lacks="S1-25",
)
def lists_the_jitted_function(function, *args):
    jaxpr = jax.make_jaxpr(jax.jit(function))(*args)
    return str(jaxpr), [equation.primitive.name for equation in jaxpr.eqns]


@wrong(rejected_by="the_text_is_the_jaxpr", says="`make_jaxpr` returns a function, which was not called.")
def forgets_to_call(function, *args):
    jaxpr = jax.make_jaxpr(function)(*args)
    return str(jax.make_jaxpr(function)), [equation.primitive.name for equation in jaxpr.eqns]


@wrong(rejected_by="names_stand_in_their_order", says="Each name is kept once, in the order of the alphabet.")
def each_name_once(function, *args):
    jaxpr = jax.make_jaxpr(function)(*args)
    return str(jaxpr), sorted({equation.primitive.name for equation in jaxpr.eqns})


@wrong(rejected_by="another_program_is_listed", says="The function's name decides, and nothing is traced.")
def knows_the_two_by_name(function, *args):
    if function.__name__ == "bell":
        return str(jax.make_jaxpr(function)(*args)), [e.primitive.name for e in jax.make_jaxpr(function)(*args).eqns]
    return str(jax.make_jaxpr(function)(*args)), ["add", "add", "dot_general"]


@wrong(rejected_by="what_is_inside_does_not_count", says="The names are those before a `[` or a variable in the text.")
def looks_for_names_in_the_text(function, *args):
    import re

    text = str(jax.make_jaxpr(function)(*args))
    lines = [line.partition("] = " if "] = " in line else " = ")[2] for line in text.splitlines()]
    return text, [re.split(r"[\[ ]", line)[0] for line in lines if line]


@wrong(rejected_by="what_is_inside_does_not_count", says="The operations of the inner program are counted in.")
def looks_inside_equations(function, *args):
    def names(jaxpr):
        for equation in jaxpr.eqns:
            yield equation.primitive.name
            for value in equation.params.values():
                yield from names(value) if hasattr(value, "eqns") else ()

    jaxpr = jax.make_jaxpr(function)(*args)
    return str(jaxpr), list(names(jaxpr))


@wrong(rejected_by="another_function_of_this_name_is_listed", says="A program is kept under the function's name.")
def keeps_it_under_the_name(function, *args):
    kept = _listings.setdefault(f"{function.__name__}{jax.tree.map(jnp.shape, args)}", [])
    if not kept:
        jaxpr = jax.make_jaxpr(function)(*args)
        kept += [str(jaxpr), [equation.primitive.name for equation in jaxpr.eqns]]
    return tuple(kept)


_listings = {}


@input
def calls_a_jitted_function(x):
    return jnp.cos(jax.jit(lambda v: jnp.exp(v) * 2)(x))


@input
def bell(x):
    return jnp.sin(x) + x


def expect_program(answer, reference, function, *args):
    """Expect the text and the names of a program."""
    (text, names), (wanted, wanted_names) = (parts(one(function, *args), 2) for one in (answer, reference))
    text, wanted = (re.sub(r"\x1b\[[0-9;]*m", "", one) for one in (text, wanted))
    expect_that(text.split() == wanted.split(), "The text should be that of the jaxpr.", text, wanted)
    message = "The names should be those of the operations, in their order."
    expect_that(list(names) == list(wanted_names), message, names, wanted_names)


@input
def two_results(x, n):
    return jnp.tanh(x).sum() * n, x - n


@input
def nothing_to_do(x):
    return x


@hidden(
    idea="A function of two arguments with two results, and one that does nothing.",
    on="a function with two results, or without an operation",
)
def another_program_is_listed(answer, draw, reference):
    """For other functions the text and the names are right."""
    for function, *args in ((two_results, draw.floats(draw.integer(2, 9), 1), 2.0), (nothing_to_do, draw.floats(0))):
        expect_program(answer, reference, given(function), *args)


@hidden(
    idea="A function that calls a jitted one: this is one equation, with a program inside.",
    on="a function that calls a jitted one",
)
def what_is_inside_does_not_count(answer, draw, reference):
    """A call of a jitted function is one operation, whatever is inside."""
    expect_program(answer, reference, given(calls_a_jitted_function), draw.floats(4))


@hidden(
    idea="Two functions of one name, and numbers of another dtype.",
    on="another function with the name `bell`, or `bell` with other dtypes",
)
def another_function_of_this_name_is_listed(answer, draw, reference):
    """A function that has the name of another one, and arguments that have the shapes of others, are traced anew."""
    x = draw.floats(3)
    for function, argument in ((given("bell"), x), (given(bell), x), (given("bell"), jnp.arange(3))):
        expect_program(answer, reference, function, argument)


# %% flatten_by
@answer(
    notice="The shape is static in both cases; `jnp` turns it into a tracer, and `np` does not. `library` is "
    "static, so a Python `if` may look at it.",
    another_way="`x.size` and `math.prod(x.shape)` are static, too, and `x.reshape(-1)` needs no product at all.",
)
@partial(jax.jit, static_argnames="library")
def flatten_by(library, x):
    print(f"x = {x}")
    print(f"x.shape = {x.shape}")
    if library == "np":
        size = np.prod(x.shape)
        print(f"np.prod(x.shape) = {size}")
    else:
        size = jnp.array(x.shape).prod()
        print(f"jnp.array(x.shape).prod() = {size}")
    return x.reshape(size)


@alternative
def jits_one_for_each_library(library, x):
    return _by_numpy(x) if library == "np" else _by_jax(x)


@jax.jit
def _by_numpy(x):
    size = np.array(x.shape).prod()
    print("x =", x)
    print("x.shape =", x.shape)
    print("np.prod(x.shape) =", size)
    return jnp.reshape(x, (size,))


@jax.jit
def _by_jax(x):
    size = jnp.prod(jnp.asarray(x.shape))
    print(f"x = {x}\nx.shape = {x.shape}\njnp.array(x.shape).prod() = {size}")
    return jnp.reshape(x, (size,))


@alternative
@partial(jax.jit, static_argnums=0)
def looks_the_product_up(library, x):
    import math

    label, product = {
        "np": ("np.prod(x.shape)", math.prod),
        "jnp": ("jnp.array(x.shape).prod()", lambda shape: jnp.array(shape).prod()),
    }[library]
    size = product(x.shape)
    for name, value in (("x", x), ("x.shape", x.shape), (label, size)):
        print(f"{name} = {value}")
    return jax.lax.reshape(x, (size,))


@wrong(
    rejected_by="numpys_product_flattens",
    says="Without `jit` all three lines show numbers, and nothing fails.",
    misses_the_point=True,
)
def flattens_without_jit(library, x):
    x = jnp.asarray(x)
    print(f"x = {x}")
    print(f"x.shape = {x.shape}")
    size = np.prod(x.shape) if library == "np" else jnp.array(x.shape).prod()
    print(f"np.prod(x.shape) = {size}" if library == "np" else f"jnp.array(x.shape).prod() = {size}")
    return x.reshape(size)


@wrong(
    rejected_by="jaxs_product_is_no_shape", says="The product is shown, but -1 lets JAX find the length.", lacks="S1-29"
)
@partial(jax.jit, static_argnames="library")
def shows_the_product_alone(library, x):
    print(f"x = {x}")
    print(f"x.shape = {x.shape}")
    size = np.prod(x.shape) if library == "np" else jnp.array(x.shape).prod()
    print(f"np.prod(x.shape) = {size}" if library == "np" else f"jnp.array(x.shape).prod() = {size}")
    return x.reshape(-1)


@wrong(
    rejected_by="jaxs_product_is_no_shape",
    says="The error is raised by hand, and the shape is never asked for.",
    lacks="S1-29",
)
@partial(jax.jit, static_argnames="library")
def raises_by_hand(library, x):
    print(f"x = {x}")
    print(f"x.shape = {x.shape}")
    if library == "np":
        print(f"np.prod(x.shape) = {np.prod(x.shape)}")
        return x.reshape(np.prod(x.shape))
    size = jnp.array(x.shape).prod()
    print(f"jnp.array(x.shape).prod() = {size}")
    raise TypeError(f"Shapes must be 1D sequences of concrete values of integer type, got [{size}].")


@wrong(rejected_by="jaxs_product_is_no_shape", says="The error is caught.")
@partial(jax.jit, static_argnames="library")
def catches_the_type_error(library, x):
    print(f"x = {x}")
    print(f"x.shape = {x.shape}")
    size = np.prod(x.shape) if library == "np" else jnp.array(x.shape).prod()
    print(f"np.prod(x.shape) = {size}" if library == "np" else f"jnp.array(x.shape).prod() = {size}")
    try:
        return x.reshape(size)
    except TypeError:
        return x.ravel()


@wrong(
    rejected_by="three_lines_tell_what_is_traced",
    says="NumPy's product is printed for both, and it is static.",
    lacks="S1-30",
)
@partial(jax.jit, static_argnames="library")
def prints_numpys_product(library, x):
    print(f"x = {x}")
    print(f"x.shape = {x.shape}")
    size = np.prod(x.shape)
    print(f"np.prod(x.shape) = {size}" if library == "np" else f"jnp.array(x.shape).prod() = {size}")
    return x.reshape(size if library == "np" else jnp.array(x.shape).prod())


@wrong(
    rejected_by="three_lines_tell_what_is_traced", says="`jax.debug.print` prints when the program runs, and none does."
)
@partial(jax.jit, static_argnames="library")
def debug_prints(library, x):
    size = np.prod(x.shape) if library == "np" else jnp.array(x.shape).prod()
    jax.debug.print("x = {}", x)
    jax.debug.print("x.shape = {}", x.shape)
    jax.debug.print("np.prod(x.shape) = {}" if library == "np" else "jnp.array(x.shape).prod() = {}", size)
    return x.reshape(size)


@wrong(rejected_by="numpys_product_flattens", says="JAX multiplies for both libraries.", lacks="S1-31")
@partial(jax.jit, static_argnames="library")
def jax_for_both(library, x):
    print(f"x = {x}")
    print(f"x.shape = {x.shape}")
    size = jnp.array(x.shape).prod()
    print(f"np.prod(x.shape) = {size}" if library == "np" else f"jnp.array(x.shape).prod() = {size}")
    return x.reshape(size)


@wrong(rejected_by="numpys_product_flattens", says="A traced `library` is refused: a str is not an array.")
@jax.jit
def library_is_not_static(library, x):
    print(f"x = {x}")
    print(f"x.shape = {x.shape}")
    size = np.prod(x.shape) if library == "np" else jnp.array(x.shape).prod()
    print(f"np.prod(x.shape) = {size}" if library == "np" else f"jnp.array(x.shape).prod() = {size}")
    return x.reshape(size)


@wrong(rejected_by="the_flattening_is_jitted", says="The jitted function gives the length, and x is reshaped outside.")
def reshapes_outside(library, x):
    if library == "jnp":
        return _by_jax(x)
    _length(x)
    return x.ravel()


@jax.jit
def _length(x):
    print(f"x = {x}\nx.shape = {x.shape}\nnp.prod(x.shape) = {np.prod(x.shape)}")
    return np.prod(x.shape)


equivalent("19868aefd4", because="A shape has one axis.")
equivalent("805ce07039", because="`jnp` comes before `np` in the alphabet.")
equivalent("45072a7c23", because="A shape has one axis.")


@wrong(rejected_by="the_elements_keep_their_order", says="The elements come column by column.")
@partial(jax.jit, static_argnames="library")
def column_by_column(library, x):
    print(f"x = {x}")
    print(f"x.shape = {x.shape}")
    size = np.prod(x.shape) if library == "np" else jnp.array(x.shape).prod()
    print(f"np.prod(x.shape) = {size}" if library == "np" else f"jnp.array(x.shape).prod() = {size}")
    return x.T.reshape(size)


@wrong(rejected_by="numpy_shows_what_is_traced", says="A jitted function is made, and traced, in every call.")
def jits_in_every_call(library, x):
    @jax.jit
    def flatten(x):
        print(f"x = {x}")
        print(f"x.shape = {x.shape}")
        size = np.prod(x.shape) if library == "np" else jnp.array(x.shape).prod()
        print(f"np.prod(x.shape) = {size}" if library == "np" else f"jnp.array(x.shape).prod() = {size}")
        return x.reshape(size)

    return flatten(x)


@wrong(rejected_by="numpy_shows_what_is_traced", says="With NumPy the product is not shown.")
@partial(jax.jit, static_argnames="library")
def shows_one_product(library, x):
    print(f"x = {x}")
    print(f"x.shape = {x.shape}")
    if library == "np":
        return x.reshape(np.prod(x.shape))
    print(f"jnp.array(x.shape).prod() = {jnp.array(x.shape).prod()}")
    return x.reshape(jnp.array(x.shape).prod())


@hidden(
    stage="traces",
    idea="With NumPy, too, three lines are printed in the first call, and none in a second one.",
    on="two calls with matrices of one shape, with NumPy",
)
def numpy_shows_what_is_traced(answer, draw, reference):
    """With NumPy the first call prints a tracer, the shape and a number, and a second call prints nothing."""
    n = draw.integer(2, 6)
    calls = [("np", draw.floats(n, 3)), ("np", draw.floats(n, 3))]
    first, second = answer.observe_calls(calls)
    got, wanted = ([" ".join(line.split()) for line in one.lines] for one in (first, reference.observe(*calls[0])))
    expect_that(got == wanted, 'With "np" the three lines should be those of this shape.', got, wanted)
    expect_that(not second.lines, "A second call should print nothing.", second.lines, "no lines")


@hidden(
    idea="Other shapes and dtypes: one axis, an axis of one, an empty axis, integers.",
    on="arrays with one to three axes, without elements, of integers, or with NaN",
)
def any_shape_is_flattened(answer, draw, reference):
    """Arrays of any shape are flattened."""
    for shape in ((draw.integer(1, 4), 2, 3), (4,), (1,), (1, 1), (0, 3)):
        x = draw.floats(*shape)
        expect_close(answer("np", x), reference("np", x))
    for x in (jnp.arange(6).reshape(2, 3), jnp.array([[jnp.nan, 1.0], [-jnp.inf, 2.0]])):
        expect_close(answer("np", x), reference("np", x))


# %% static_or_traced
@answer(
    notice="You must look inside: whatever leaves a jitted function is an array. And any exception is a refusal, "
    "not only one of JAX's.",
    another_way="`jax.make_jaxpr` traces as `jit` does but compiles nothing, so it finds out faster.",
)
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
    rejected_by="what_computes_nothing_is_told_apart",
    says="What has no dtype, such as a tuple, is not expected, and counts as refused.",
)
def asks_for_a_dtype(operation, x):
    found = []

    @jax.jit
    def look(x):
        try:
            value = operation(x)
            value.dtype  # noqa: B018
            found.append("traced" if isinstance(value, jax.Array) else "static")
        except Exception:
            found.append("refused")

    look(x)
    return found[0]


@wrong(
    rejected_by="four_operations_are_told_apart",
    says="Outside of `jit` there is no tracer to refuse.",
    misses_the_point=True,
    lacks="S1-32",
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


@wrong(rejected_by="each_question_is_asked_anew", says="What JAX has traced before leaves no new note.")
def keeps_one_list_for_all(operation, x):
    _looks(operation, x)
    return _notes[-1]


_notes = []


@partial(jax.jit, static_argnames="operation")
def _looks(operation, x):
    try:
        _notes.append(("static", "traced")[isinstance(operation(x), jax.Array)])
    except Exception:
        _notes.append("refused")
    return x


@wrong(rejected_by="each_question_is_asked_anew", says="What was found for one type is told for all types.")
def remembers_the_operation(operation, x):
    if operation not in _remembered:
        _looks(operation, x)
        _remembered[operation] = _notes[-1]
    return _remembered[operation]


_remembered = {}


@wrong(
    rejected_by="what_computes_nothing_is_told_apart", says="The name of the operation is read, and nothing is tried."
)
def reads_the_name(operation, x):
    name = operation.__name__
    if name in ("sine_by_numpy", "first_number"):
        return "refused"
    return "static" if "numpy" in name else "traced"


@input
def unchanged(x):
    return x


@input
def shape_of(x):
    return x.shape


@input
def half(x):
    return x / 2


@input
def positive_numbers(x):
    return x[x > 0]


@input
def four_columns(x):
    if x.shape[-1] != 4:
        raise ValueError("four columns are needed")
    return x


@hidden(
    idea="An operation that returns x as it is, and one that returns a shape.", on="an operation that computes nothing"
)
def what_computes_nothing_is_told_apart(answer, draw):
    """x as it is is traced, and its shape is static."""
    for x in (draw.floats(2, 3), draw.numpy(3, dtype="float64"), jnp.float32(2)):
        got = [answer(given(one), x) for one in (unchanged, shape_of, half)]
        message = "x itself should be traced, its shape static, and half of x traced."
        expect_that(got == ["traced", "static", "traced"], message, got, ["traced", "static", "traced"])


@hidden(
    idea="Operations that raise other exceptions than TypeError.",
    on="operations that can raise an IndexError or a ValueError",
)
def every_class_of_exception_counts(answer, draw):
    """An operation that raises an IndexError or a ValueError is refused, and x may suit it after all."""
    for operation, x, kind in (
        (positive_numbers, draw.floats(3), "refused"),
        (four_columns, draw.floats(2, 3), "refused"),
        (four_columns, draw.floats(2, 4), "traced"),
    ):
        got = answer(given(operation), x)
        expect_that(got == kind, f"The operation should be {kind} for this x.", got, kind)


@input
def shape_of_integers(x):
    return x.shape if x.dtype == "int32" else x / 2


@hidden(
    idea="Operations that were asked before, with the same array, or with one of another type.",
    on="an operation that was asked before, and another one in between, or with another dtype",
)
def each_question_is_asked_anew(answer, draw):
    """Whatever was asked before, the answer is that of this operation and this type."""
    x, k = draw.floats(2, 3), jnp.arange(6).reshape(2, 3)
    asked = [(size_by_numpy, x), (size_by_jax, x), (sine_by_numpy, x), (size_by_numpy, x), (size_by_jax, x)]
    asked += [(shape_of_integers, x), (shape_of_integers, k), (shape_of_integers, x)]
    got = [seen.value for seen in answer.observe_calls([(given(operation), one) for operation, one in asked])]
    wanted = ["static", "traced", "refused", "static", "traced", "traced", "static", "traced"]
    expect_that(got == wanted, "Each answer should be that of its operation and its x.", got, wanted)


# %% louder
@answer(
    notice="The function is made and jitted once, and what changes is an argument. A call makes nothing new.",
    another_way="`jax.jit(helper)(x, factor)` in each call is fine, too, if `helper` is defined only once: JAX "
    "finds its programs by the function that you jit.",
)
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


@hidden(
    stage="cost",
    required=True,
    idea="The product and the sum are both in the jitted program.",
    on="a vector and one factor",
)
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


@hidden(idea="Another factor, another length, and a NaN.", on="a longer vector with a NaN, and another factor")
def any_factor(answer, draw, reference):
    """For another length and factor the result is right."""
    x, factor = draw.floats(5).at[1].set(jnp.nan), float(draw.integer(2, 99)) / 8
    expect_close(answer(x, factor), reference(x, factor))


# %% jit_method
@answer(
    notice="The object stays outside of `jit`; the numbers that a step needs go in as arguments. So a new feed is "
    "just a new number.",
    another_way="If the class is registered as a pytree, `@jax.jit` works on the method itself, and `feed` is "
    "traced as a part of `self`. That pays for objects with many arrays.",
)
def jit_method(feeds, u):
    simulation = Simulation(feed=0.0)
    waters = []
    for feed in feeds:
        simulation.feed = feed
        u = simulation.step(u)
        waters.append(u)
    return waters


class Simulation:
    def __init__(self, feed):
        self.feed = feed

    def step(self, u):
        return _after_step(u, self.feed)


@jax.jit
def _after_step(u, feed):
    return u / 2 + feed


@alternative
def with_a_static_method(feeds, u):
    simulation = WithAStaticMethod(feed=0.0)
    waters = []
    for feed in feeds:
        simulation.feed = feed
        u = simulation.step(u)
        waters.append(u)
    return waters


class WithAStaticMethod:
    def __init__(self, feed):
        self.feed = feed

    def step(self, u):
        return self._step(u, feed=self.feed)

    @staticmethod
    @jax.jit
    def _step(u, feed):
        return 0.5 * u + feed


@alternative
def self_is_a_pytree(feeds, u):
    simulation = AsPytree(feed=0.0)
    waters = []
    for feed in feeds:
        simulation.feed = feed
        u = simulation.step(u)
        waters.append(u)
    return waters


@jax.tree_util.register_pytree_node_class
class AsPytree:
    def __init__(self, feed):
        self.feed = feed

    def tree_flatten(self):
        return (self.feed,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)

    @jax.jit
    def step(self, u):
        return u / 2 + self.feed


@alternative
def self_is_a_dataclass(feeds, u):
    simulation = AsDataclass(feed=0.0)
    waters = []
    for feed in feeds:
        simulation.feed = feed
        u = simulation.step(u)
        waters.append(u)
    return waters


class AsDataclass:
    def __init__(self, feed):
        self.feed = feed

    @jax.jit
    def step(self, u):
        return u / 2 + self.feed


jax.tree_util.register_dataclass(AsDataclass, data_fields=["feed"], meta_fields=[])


@alternative
def jitted_for_each_object(feeds, u):
    simulation = JittedForEachObject(feed=0.0)
    waters = []
    for feed in feeds:
        simulation.feed = feed
        u = simulation.step(u)
        waters.append(u)
    return waters


class JittedForEachObject:
    def __init__(self, feed):
        self.feed = feed
        self._step = jax.jit(lambda u, feed: u / 2 + feed)

    def step(self, u):
        return self._step(u, self.feed)


@wrong(
    rejected_by="each_step_has_its_feed",
    says="A static `self` is compared by identity: the same object means the old program, with its old feed.",
)
def a_static_self(feeds, u):
    simulation = WithStaticSelf(feed=0.0)
    waters = []
    for feed in feeds:
        simulation.feed = feed
        u = simulation.step(u)
        waters.append(u)
    return waters


class WithStaticSelf:
    def __init__(self, feed):
        self.feed = feed

    @partial(jax.jit, static_argnums=0)
    def step(self, u):
        return u / 2 + self.feed


@wrong(
    rejected_by="each_step_has_its_feed",
    says="The bound method is jitted once for each object, and its feed is frozen with the first step.",
)
def jits_the_bound_method(feeds, u):
    simulation = WithABoundMethod(feed=0.0)
    waters = []
    for feed in feeds:
        simulation.feed = feed
        u = simulation.step(u)
        waters.append(u)
    return waters


class WithABoundMethod:
    def __init__(self, feed):
        self.feed = feed
        self.step = jax.jit(self._step)

    def _step(self, u):
        return u / 2 + self.feed


@wrong(rejected_by="one_trace_for_all_feeds", says="A static feed is right, but each feed is traced and compiled.")
def a_static_feed(feeds, u):
    simulation = WithStaticFeed(feed=0.0)
    waters = []
    for feed in feeds:
        simulation.feed = feed
        u = simulation.step(u)
        waters.append(u)
    return waters


class WithStaticFeed:
    def __init__(self, feed):
        self.feed = feed

    def step(self, u):
        return self._step(u, self.feed)

    @partial(jax.jit, static_argnums=(0, 2))
    def _step(self, u, feed):
        return u / 2 + feed


@wrong(
    rejected_by="one_trace_for_all_feeds",
    says="Without `jit` the method works, one operation at a time.",
    misses_the_point=True,
)
def drops_jit(feeds, u):
    simulation = WithoutJit(feed=0.0)
    waters = []
    for feed in feeds:
        simulation.feed = feed
        u = simulation.step(u)
        waters.append(u)
    return waters


class WithoutJit:
    def __init__(self, feed):
        self.feed = feed

    def step(self, u):
        return u / 2 + self.feed


@wrong(
    rejected_by="one_trace_for_all_feeds",
    says="A function is made and jitted in each step, so each step is traced.",
    misses_the_point=True,
)
def jits_in_the_method(feeds, u):
    simulation = JittedInTheMethod(feed=0.0)
    waters = []
    for feed in feeds:
        simulation.feed = feed
        u = simulation.step(u)
        waters.append(u)
    return waters


class JittedInTheMethod:
    def __init__(self, feed):
        self.feed = feed

    def step(self, u):
        return jax.jit(lambda u: u / 2 + self.feed)(u)


@wrong(rejected_by="the_step_is_one_program", says="Only the halving is jitted, and the feed is added outside.")
def jits_the_halving_alone(feeds, u):
    simulation = HalfJitted(feed=0.0)
    waters = []
    for feed in feeds:
        simulation.feed = feed
        u = simulation.step(u)
        waters.append(u)
    return waters


class HalfJitted:
    def __init__(self, feed):
        self.feed = feed

    def step(self, u):
        return _half(u) + self.feed


_half = jax.jit(lambda u: u / 2)


equivalent("028ec34b12", because="The feed is set again before each step.")


@hidden(
    stage="cost",
    required=True,
    idea="The halving and the feeding are both in the jitted program.",
    on="two feeds and a vector",
)
def the_step_is_one_program(answer, draw):
    """Nothing is computed outside of the jitted function."""
    expect_nothing_outside(answer, [0.5, 2.0], draw.floats(3))


@hidden(
    idea="A feed of 0, the same feed again, no feed at all, one pond, and one without end.",
    on="no feed, equal feeds or a feed of 0, in several calls, with an infinity among the numbers",
)
def any_feeds(answer, draw):
    """For no feed, equal feeds and a feed of 0, and in a second call, each step adds its own feed."""
    u = draw.floats(draw.integer(1, 5)).at[0].set(jnp.inf)
    for feeds in ([], [1.5, 1.5, 0.0], [float(draw.integer(2, 99)) / 8, 0.0, -2.0]):
        expect_close(answer(feeds, u), waters_expected(feeds, u), "Each step should add its own feed.")


# %% moving_sum
@answer(
    notice="`width` makes the shape of `window`, so it must be known while JAX traces. `scale` only multiplies, so "
    "any number will do, in the same program.",
    another_way="`width` could be traced if the result had a fixed shape: take the widest window, and mask what is "
    "too far.",
)
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


@wrong(
    rejected_by="the_moving_sum_is_one_program",
    says="Only the product is jitted, and the sums are not.",
    misses_the_point=True,
)
def jits_only_the_product(x, width, scale):
    return _scaled(jnp.convolve(x, jnp.ones(width), mode="valid"), scale)


_scaled = jax.jit(lambda sums, scale: scale * sums)


@wrong(rejected_by="the_moving_sum_is_one_program", says="The sums are jitted, and the product is not.")
def scales_outside(x, width, scale):
    return scale * _sums(x, width)


_sums = jax.jit(lambda x, width: jnp.convolve(x, jnp.ones(width), mode="valid"), static_argnums=1)


@wrong(rejected_by="each_place_has_its_own_sum", says="A number that has left the window still spoils its sum.")
@partial(jax.jit, static_argnames="width")
def moves_the_window(x, width, scale):
    def move(total, k):
        total = total + x[k + width] - x[k]
        return total, total

    first = x[:width].sum()
    _, others = jax.lax.scan(move, first, jnp.arange(len(x) - width))
    return scale * jnp.concatenate([first[None], others])


@wrong(rejected_by="each_place_has_its_own_sum", says="NaN is taken for 0.")
@partial(jax.jit, static_argnames="width")
def takes_nan_for_0(x, width, scale):
    return scale * sum(jnp.nan_to_num(x[i : len(x) - width + 1 + i]) for i in range(width))


equivalent("0c0b6eaf14", because="The window is a constant of the program, whoever makes it.")
equivalent("5867c58790", because="The convolution of x with the window is that of the window with x.")


@hidden(
    idea="A large number, an infinity or a NaN at the start, which later windows do not hold.",
    on="a vector that starts with a large number, an infinity or a NaN",
)
def each_place_has_its_own_sum(answer, draw):
    """Numbers that are not in a window have no part in its sum."""
    small = 0.5 + np.abs(draw.numpy(7))
    for first in (1e8, np.inf, np.nan):
        x = np.array([first, *small], "float32")
        for width in (2, 3):
            wanted = [1.5 * x[i : i + width].sum(dtype="float64") for i in range(len(x) - width + 1)]
            got = answer(jnp.asarray(x), width, 1.5)
            expect_close(got, np.array(wanted, "float32"), "A sum holds its own numbers alone.", rtol=1e-4, atol=0)


@hidden(idea="A width of 1, of n, and others; a scale of 0, of 1, or below 0.")
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
