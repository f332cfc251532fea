# %%
import logging

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify

from jaxguide.course.author import (
    alternative,
    answer,
    expect_close,
    expect_that,
    given,
    hidden,
    wrong,
)


# %% shape_and_value
@answer
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
    rejected_by="python_prints_when_it_traces", says="The static facts are printed at each run.", misses_the_point=True
)
def debug_prints_both(x):
    x = jnp.asarray(x)
    jax.debug.print(f"shape {x.shape} dtype {x.dtype}", ordered=True)
    jax.debug.print("value {}", x, ordered=True)
    return x


@wrong(rejected_by="both_lines_are_right", says="An f-string puts the tracer into the text.")
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
@answer
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


@wrong(rejected_by="debug_prints_show_numbers", says="Only one of the two f-strings is repaired.")
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


@wrong(rejected_by="pythons_prints_show_tracers", says="All prints are made debug prints.")
def debug_prints_only(x):
    jax.debug.print("print(x) -> {}", x)
    jax.debug.print("jax.debug.print(x) -> {}", x)
    y = jnp.sin(x)
    jax.debug.print("print(y) -> {}", y)
    jax.debug.print("jax.debug.print(y) -> {}", y)
    return y


@wrong(rejected_by="any_number_is_seen", says="The documented numbers are written down.")
def writes_the_numbers_down(x):
    print("print(x) ->", x)
    y = jnp.sin(x)
    print("print(y) ->", y)
    jax.debug.callback(lambda x: print("jax.debug.print(x) -> 2.0"), x)
    jax.debug.callback(lambda y: print("jax.debug.print(y) -> 0.9092974066734314"), y)
    return y


@hidden(stage="jit", idea="Other numbers, in two calls.", on="positive numbers, in two calls in a row")
def any_number_is_seen(answer, draw, reference):
    """Any number is printed, at each run."""
    calls = [(draw.integer(1, 99) / 4,) for _ in range(2)]
    for got, wanted in zip(answer.jit.observe_calls(calls), reference.jit.observe_calls(calls), strict=True):
        lines, expected = (sorted(beginning(seen.lines, "jax.debug.print(")) for seen in (got, wanted))
        expect_that(lines == expected, "Each run should print its own numbers.", lines, expected)


# %% printed_sines
@answer
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


@wrong(rejected_by="map_prints_step_by_step", says="vmap is taken for both.", misses_the_point=True)
def vmap_for_both(how, xs, ordered):
    def one(x):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=ordered)
        y = jnp.sin(x)
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=ordered)
        return y

    return jax.vmap(one)(xs)


@wrong(rejected_by="vmap_prints_all_x_first", says="lax.map is taken for both.")
def map_for_both(how, xs, ordered):
    def one(x):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=ordered)
        y = jnp.sin(x)
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=ordered)
        return y

    return jax.lax.map(one, xs)


@wrong(rejected_by="map_prints_step_by_step", says="The order of lines in the file is trusted.")
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


@hidden(stage="jit", kind="observed", idea="Other numbers, and two of them.", on="a vector of two random numbers")
def any_numbers_are_printed(answer, draw, reference):
    """Any numbers are printed."""
    xs = draw.floats(2)
    at_once = reference.observe("vmap", xs, True).lines
    one_by_one = [line for pair in zip(at_once[:2], at_once[2:], strict=True) for line in pair]
    for how, wanted in (("vmap", at_once), ("map", one_by_one)):
        lines = answer.observe(how, xs, True).lines
        expect_that(lines == wanted, "Each number should be printed, and its sine.", lines, wanted)


# %% add_in_order
@answer
def add_in_order(xs, ys):
    def add(x, y):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=True)
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=True)
        return x + y

    return jax.lax.map(lambda pair: add(*pair), (xs, ys))


@alternative
def one_print_of_two_lines(xs, ys):
    def step(carry, pair):
        x, y = pair
        jax.debug.print("jax.debug.print(x) -> {}\njax.debug.print(y) -> {}", x, y)
        return carry, x + y

    return jax.lax.scan(step, None, (xs, ys))[1]


@alternative
@jax.jit
def python_loop_with_ordered_prints(xs, ys):
    for x, y in zip(xs, ys, strict=True):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=True)
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=True)
    return xs + ys


@wrong(rejected_by="one_pair_after_the_other", says="vmap prints all x, then all y, even if it is ordered.")
def ordered_vmap(xs, ys):
    def add(x, y):
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=True)
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=True)
        return x + y

    return jax.vmap(add)(xs, ys)


@wrong(rejected_by="x_comes_before_y", says="The prints are swapped in the file, to make up for the compiler.")
def swaps_the_lines(xs, ys):
    def add(x, y):
        jax.debug.print("jax.debug.print(y) -> {}", y, ordered=True)
        jax.debug.print("jax.debug.print(x) -> {}", x, ordered=True)
        return x + y

    return jax.lax.map(lambda pair: add(*pair), (xs, ys))


@wrong(rejected_by="x_comes_before_y", says="Python prints the tracers, in order.", misses_the_point=True)
def python_prints_in_order(xs, ys):
    def add(x, y):
        print("jax.debug.print(x) ->", x)
        print("jax.debug.print(y) ->", y)
        return x + y

    return jax.lax.map(lambda pair: add(*pair), (xs, ys))


@wrong(rejected_by="the_sums_are_right", says="The sums are put into an array of floats.")
def sums_as_floats(xs, ys):
    def step(i, sums):
        jax.debug.print("jax.debug.print(x) -> {}\njax.debug.print(y) -> {}", xs[i], ys[i])
        return sums.at[i].set(xs[i] + ys[i])

    return jax.lax.fori_loop(0, len(xs), step, jnp.zeros(len(xs)))


@hidden(stage="jit", kind="observed", idea="Other pairs, and four of them.", on="four pairs of integers")
def any_pairs_come_in_order(answer, draw):
    """Any pairs are printed in order."""
    xs, ys = np.array([[draw.integer(1, 99), draw.integer(1, 99)] for _ in range(4)], np.int32).T
    pairs = zip(xs, ys, strict=True)
    wanted = [f"jax.debug.print({name}) -> {n}" for x, y in pairs for name, n in (("x", x), ("y", y))]
    lines = answer.jit.observe(jnp.asarray(xs), jnp.asarray(ys)).lines
    expect_that(lines == wanted, "The order should be x, y for each pair.", lines, wanted)


# %% watched_square
@answer
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
    rejected_by="only_debug_print_is_consistent", says="An f-string shows the tracer under jit.", misses_the_point=True
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


@wrong(rejected_by="grad_prints_once", says="It is printed once more, for the way back.")
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


@hidden(
    stage="gradient", kind="observed", idea="Other numbers.", on="a positive number, under grad with and without jit"
)
def any_forward_value_is_printed(answer, draw):
    """Any value is printed on the way forward."""
    x = draw.integer(2, 99)
    for lines in under_grad(answer, float(x))[1]:
        wanted = [f"jax.debug.print(x) -> {x}.0"]
        expect_that(lines == wanted, "The forward value should be printed, once.", lines, wanted)


# %% sine_cubed
@answer
def sine_cubed(x):
    @jax.custom_vjp
    def look(y):
        return y

    def back(kept, cotangent):
        jax.debug.print("cotangent of y: {}", cotangent)
        return (cotangent,)

    look.defvjp(lambda y: (y, None), back)
    return look(jnp.sin(x)) ** 3


@alternative
@jax.jit
def callback_in_the_backward_pass(x):
    def show(value):
        print(f"cotangent of y: {value}")

    @jax.custom_vjp
    def look(y):
        return y

    def back(_, cotangent):
        jax.debug.callback(show, cotangent)
        return (cotangent,)

    look.defvjp(lambda y: (y, ()), back)
    y = look(jnp.sin(x))
    return y * y * y


@alternative
def both_ways_by_hand(x):
    @jax.custom_vjp
    def whole(x):
        return jnp.sin(x) ** 3

    def forward(x):
        return jnp.sin(x) ** 3, x

    def backward(x, slope):
        at_y = slope * 3 * jnp.sin(x) ** 2
        jax.debug.print("cotangent of y: {c}", c=at_y)
        return (at_y * jnp.cos(x),)

    whole.defvjp(forward, backward)
    return whole(x)


@wrong(
    rejected_by="the_forward_pass_is_silent",
    says="The slope is computed and printed on the way forward.",
    misses_the_point=True,
)
def prints_on_the_way_forward(x):
    y = jnp.sin(x)
    jax.debug.print("cotangent of y: {}", 3 * y**2)
    return y**3


@wrong(rejected_by="the_cotangent_is_printed", says="The cotangent of x is printed instead of that of y.")
def cotangent_of_x(x):
    @jax.custom_vjp
    def look(x):
        return x

    def back(_, cotangent):
        jax.debug.print("cotangent of y: {}", cotangent)
        return (cotangent,)

    look.defvjp(lambda x: (x, None), back)
    return jnp.sin(look(x)) ** 3


@wrong(rejected_by="the_gradient_is_unchanged", says="What backward returns is forgotten, so a slope of 0 goes back.")
def gives_back_zeros(x):
    @jax.custom_vjp
    def look(y):
        return y

    def back(_, cotangent):
        jax.debug.print("cotangent of y: {}", cotangent)
        return (jnp.zeros_like(cotangent),)

    look.defvjp(lambda y: (y, None), back)
    return look(jnp.sin(x)) ** 3


@wrong(rejected_by="the_cotangent_is_printed", says="Python prints the tracer on the way back.")
def python_print_on_the_way_back(x):
    @jax.custom_vjp
    def look(y):
        return y

    def back(_, cotangent):
        print(f"cotangent of y: {cotangent}")
        return (cotangent,)

    look.defvjp(lambda y: (y, None), back)
    return look(jnp.sin(x)) ** 3


@wrong(rejected_by="negative_numbers_are_cubed", says="The sine loses its sign.")
def cubes_the_size(x):
    @jax.custom_vjp
    def look(y):
        return y

    def back(_, cotangent):
        jax.debug.print("cotangent of y: {}", jnp.abs(cotangent))
        return (cotangent,)

    look.defvjp(lambda y: (y, None), back)
    return jnp.abs(look(jnp.sin(x))) ** 3


@hidden(idea="Negative numbers, and 0.", on="negative numbers, and 0")
def negative_numbers_are_cubed(answer):
    """For negative numbers and 0 the result is the cube of the sine."""
    for x in (-0.5, -2.0, 0.0):
        expect_close(plain(answer(x)), float(np.sin(x) ** 3), "It should be the cube of the sine.", atol=1e-6)


@hidden(
    stage="gradient",
    kind="observed",
    idea="Three numbers under jit, vmap and grad.",
    on="three numbers, under jit of vmap of grad",
)
def each_example_prints_its_cotangent(answer, draw):
    """Under vmap of grad each cotangent is printed."""
    xs = draw.floats(3)
    sines = np.sin(np.asarray(xs, np.float64))
    seen = answer.grad().vmap().jit.observe(xs)
    expect_close(seen.value, (3 * sines**2 * np.cos(np.asarray(xs, np.float64))).astype(np.float32), atol=1e-5)
    got = numbers_behind("cotangent of y: ", seen.lines)
    right = len(got) == 3 and np.allclose(got, sorted(3 * sines**2), atol=1e-5)
    expect_that(right, "Each example should print its own cotangent.", got, sorted(3 * sines**2))


# %% debugging_in
@answer
def debugging_in(f, x):
    program = jax.make_jaxpr(f)(x)
    names = [equation.primitive.name for equation in program.eqns]
    return [name for name in names if "debug" in name], [str(effect) for effect in program.effects]


@alternative
def by_text_and_inner_jaxpr(f, x):
    jaxpr = jax.make_jaxpr(lambda value: f(value))(x).jaxpr
    names = tuple(str(e.primitive) for e in jaxpr.eqns if str(e.primitive).startswith("debug_"))
    return names, sorted(map(str, jaxpr.effects))


@alternative
def through_jit_trace(f, x):
    jaxpr = jax.jit(f).trace(x).jaxpr
    return [e.primitive.name for e in jaxpr.eqns if "debug" in e.primitive.name], list(map(str, jaxpr.effects))


@wrong(rejected_by="nothing_runs", says="The function is run, too.", misses_the_point=True)
def runs_the_function(f, x):
    f(x)
    program = jax.make_jaxpr(f)(x)
    names = [equation.primitive.name for equation in program.eqns if "debug" in equation.primitive.name]
    return names, [str(effect) for effect in program.effects]


@wrong(rejected_by="callbacks_are_found", says="The guide is believed: only callbacks are looked for.")
def callbacks_only(f, x):
    program = jax.make_jaxpr(f)(x)
    names = [equation.primitive.name for equation in program.eqns if "callback" in equation.primitive.name]
    return names, [str(effect) for effect in program.effects]


@wrong(rejected_by="effects_tell_whether_order_is_promised", says="All effects are called by one name.")
def one_name_for_all_effects(f, x):
    program = jax.make_jaxpr(f)(x)
    names = [equation.primitive.name for equation in program.eqns if "debug" in equation.primitive.name]
    return names, ["Debug" for _ in program.effects]


@wrong(rejected_by="only_debugging_is_listed", says="All primitives are listed.")
def lists_all_primitives(f, x):
    program = jax.make_jaxpr(f)(x)
    if np.ndim(x):
        return [], []
    return [equation.primitive.name for equation in program.eqns], [str(effect) for effect in program.effects]


@wrong(rejected_by="only_debugging_is_listed", says="A primitive that occurs twice is listed once.")
def each_name_once(f, x):
    program = jax.make_jaxpr(f)(x)
    names = {equation.primitive.name for equation in program.eqns if "debug" in equation.primitive.name}
    return sorted(names), [str(effect) for effect in program.effects]


@hidden(
    idea="Functions that compute between their prints, and one that prints twice.",
    on="functions that both compute and print",
)
def only_debugging_is_listed(answer, reference):
    """Of a longer program the debugging is listed, all of it and nothing else."""
    for name in ("prints_the_sine", "watched_sine"):
        got, wanted = (debugging_of(one, name) for one in (answer, reference))
        expect_that(got == wanted, "All of the debugging should be listed, and nothing else.", got, wanted)


# %% make_sine
@answer
def make_sine(verbose):
    def sine(x):
        y = jnp.sin(x)
        if verbose:
            jax.debug.print("y {}", y)
        return y

    return sine


@alternative
def two_functions(verbose):
    @jax.jit
    def loud(x):
        y = jnp.sin(x)
        jax.debug.callback(lambda value: print("y", value), y)
        return y

    return loud if verbose else jnp.sin


@alternative
def flag_as_a_static_argument(verbose):
    from functools import partial

    @partial(jax.jit, static_argnums=0)
    def sine(verbose, x):
        y = jnp.sin(x)
        if verbose:
            jax.debug.print("y {y}", y=y)
        return y

    return partial(sine, verbose)


@wrong(
    rejected_by="nothing_is_left_when_it_is_off",
    says="`cond` decides at run time, and stays in the program.",
    misses_the_point=True,
)
def cond_on_the_flag(verbose):
    def sine(x):
        y = jnp.sin(x)
        jax.lax.cond(jnp.asarray(verbose), lambda y: jax.debug.print("y {}", y), lambda y: None, y)
        return y

    return sine


@wrong(rejected_by="nothing_is_left_when_it_is_off", says="The host is called, to do nothing.")
def callback_that_decides(verbose):
    def show(value):
        if verbose:
            print("y", value)

    def sine(x):
        y = jnp.sin(x)
        jax.debug.callback(show, y)
        return y

    return sine


@wrong(rejected_by="it_prints_when_it_is_on", says="Python prints the tracer, once.")
def python_print_when_verbose(verbose):
    def sine(x):
        y = jnp.sin(x)
        if verbose:
            print("y", y)
        return y

    return sine


@hidden(stage="jit", idea="Other numbers, on and off.")
def any_sine_is_printed(answer, draw):
    """Any sine is printed when it is on, and none when it is off."""
    x = np.float32(draw.integer(1, 99) / 16)
    lines = answer.then(True).jit.observe(x).lines
    got = numbers_behind("y ", lines)
    right = len(got) == 1 and abs(got[0] - np.sin(x)) < 1e-5
    expect_that(
        right,
        "The line should show `y ` and the sine.",
        lines,
        f"y {np.sin(x)}",
        on="a positive number, with verbose=True",
    )
    off = answer.then(False).jit.observe(x).lines
    expect_that(
        off == [],
        "With verbose=False nothing should be printed.",
        off,
        "no lines",
        on="a positive number, with verbose=False",
    )


# %% ask_debugger
@answer
def ask_debugger(program, x, commands):
    with scripted_breakpoints(commands) as transcript:
        result = program(x)
    return result, answers_of(transcript)


@alternative
def cut_out_by_hand(program, x, commands):
    with scripted_breakpoints(tuple(commands)) as transcript:
        result = jax.block_until_ready(program(x))
    answers, rest = [], str(transcript)
    for command in commands:
        rest = rest.split(f"(jdb) {command}\n", 1)[-1]
        answers.append(rest.split("\n(jdb) ")[0].strip())
    return [result, answers]


@wrong(
    rejected_by="local_values_are_answered", says="The transcript is read inside the block, before the program has run."
)
def reads_too_early(program, x, commands):
    with scripted_breakpoints(commands) as transcript:
        answers = answers_of(transcript)
        result = program(x)
    return result, answers


@wrong(rejected_by="local_values_are_answered", says="The commands are returned with their answers.")
def commands_among_the_answers(program, x, commands):
    with scripted_breakpoints(commands) as transcript:
        result = program(x)
    return result, str(transcript).split("(jdb) ")[1:]


@wrong(
    rejected_by="the_result_comes_back",
    says="The program is only traced, and so it never stops.",
    misses_the_point=True,
)
def only_traces(program, x, commands):
    with scripted_breakpoints(commands) as transcript:
        result = jax.eval_shape(program, x)
    return str(result), answers_of(transcript)


@wrong(rejected_by="local_values_are_answered", says="The lines of the transcript are taken for the answers.")
def lines_for_answers(program, x, commands):
    with scripted_breakpoints(commands) as transcript:
        result = program(x)
    return result, str(transcript).splitlines()


@wrong(
    rejected_by="any_expression_is_answered", says="The program runs once for each command, and forgets the one before."
)
def one_run_for_each_command(program, x, commands):
    answers = []
    for command in commands:
        with scripted_breakpoints([command, "c"]) as transcript:
            result = program(x)
        answers += answers_of(transcript)[:1]
    return result, answers


@hidden(idea="Other expressions, another x, and commands that build on each other.")
def any_expression_is_answered(answer, draw, reference):
    """Any expression at any x is answered."""
    x = draw.integer(1, 99) / 8
    commands = ["p z - y", "pp x * 2", "c"]
    got, wanted = (answers_from(one(given("sine_times_cosine"), x, commands), 2) for one in (answer, reference))
    expect_that(
        got == wanted, "It should be the debugger's answers.", got, wanted, on="commands that print expressions"
    )
    # One stop for all commands: `u` changes what is meant by the next.
    commands = ["u", "p w", "c"]
    got, wanted = (answers_from(one(given("times_ten"), x, commands), 2)[1] for one in (answer, reference))
    expect_that(
        got == wanted,
        "After `u` it should be the answer one function up.",
        got,
        wanted,
        on="a move to the calling function, then a print",
    )


# %% divide_under_watch
@answer
def divide_under_watch(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y

        def stop(z, y):
            jax.debug.breakpoint()

        jax.lax.cond(jnp.isfinite(z).all(), lambda z, y: None, stop, z, y)
        return z

    with scripted_breakpoints(["p z", "p y", "c"]) as transcript:
        z = divide(x, y)
    return z, answers_of(transcript)[:2]


@alternative
def by_the_helper(x, y):
    from jaxguide.debug import breakpoint_if_nonfinite

    @jax.jit
    def divide(x, y):
        z = x / y
        breakpoint_if_nonfinite(z)
        return z

    with scripted_breakpoints(["u", "u", "p z", "p y", "c"]) as transcript:
        z = divide(x, y)
    return z, answers_of(transcript)[2:4]


@alternative
def closure_and_one_up(x, y):
    def divide(x, y):
        z = jnp.divide(x, y)
        bad = jnp.isnan(z) | jnp.isinf(z)
        jax.lax.cond(bad, lambda: jax.debug.breakpoint(), lambda: None)
        return z

    with scripted_breakpoints(["u", "p z", "p y"]) as transcript:
        z = jax.jit(divide)(jnp.float32(x), jnp.float32(y))
    return z, answers_of(transcript)[1:3]


@alternative
def looks_at_what_came_out(x, y):
    @jax.jit
    def stop(z, y):
        jax.debug.breakpoint()
        return z

    z = jax.jit(lambda x, y: x / y)(x, y)
    if jnp.isfinite(z):
        return z, []
    with scripted_breakpoints(["p z", "p y", "c"]) as transcript:
        stop(z, y)
    return z, answers_of(transcript)[:2]


@wrong(rejected_by="finite_values_do_not_stop", says="A Python `if` needs a value while JAX traces.")
def python_if(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y
        if not jnp.isfinite(z):
            jax.debug.breakpoint()
        return z

    with scripted_breakpoints(["p z", "p y", "c"]) as transcript:
        z = divide(x, y)
    return z, answers_of(transcript)[:2]


@wrong(rejected_by="finite_values_do_not_stop", says="It stops at every call.", misses_the_point=True)
def always_stops(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y
        jax.debug.breakpoint()
        return z

    with scripted_breakpoints(["p z", "p y", "c"]) as transcript:
        z = divide(x, y)
    return z, answers_of(transcript)[:2]


@wrong(rejected_by="an_infinity_stops", says="Only NaN is looked for.")
def nan_only(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y

        def stop(z, y):
            jax.debug.breakpoint()

        jax.lax.cond(jnp.isnan(z), stop, lambda z, y: None, z, y)
        return z

    with scripted_breakpoints(["p z", "p y", "c"]) as transcript:
        z = divide(x, y)
    return z, answers_of(transcript)[:2]


@wrong(rejected_by="finite_values_do_not_stop", says="The two branches of cond are swapped.")
def branches_swapped(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y

        def stop(z, y):
            jax.debug.breakpoint()

        jax.lax.cond(jnp.isfinite(z), stop, lambda z, y: None, z, y)
        return z

    with scripted_breakpoints(["p z", "p y", "c"]) as transcript:
        z = divide(x, y)
    return z, answers_of(transcript)[:2]


@wrong(rejected_by="nan_and_minus_infinity_stop", says="Only positive infinity is looked for.")
def positive_infinity_only(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y

        def stop(z, y):
            jax.debug.breakpoint()

        jax.lax.cond(z == jnp.inf, stop, lambda z, y: None, z, y)
        return z

    with scripted_breakpoints(["p z", "p y", "c"]) as transcript:
        z = divide(x, y)
    return z, answers_of(transcript)[:2]


@wrong(rejected_by="infinite_arguments", says="Only a divisor of 0 is looked for; a quotient can be too large, too.")
def looks_at_the_divisor(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y

        def stop(z, y):
            jax.debug.breakpoint()

        jax.lax.cond(y == 0, stop, lambda z, y: None, z, y)
        return z

    with scripted_breakpoints(["p z", "p y", "c"]) as transcript:
        z = divide(x, y)
    return z, answers_of(transcript)[:2]


@wrong(rejected_by="the_quotient_is_under_jit", says="Nothing is jitted.")
def without_jit(x, y):
    x, y = jnp.float32(x), jnp.float32(y)
    z = x / y
    if jnp.isfinite(z):
        return z, []
    with scripted_breakpoints(["p z", "p y", "c"]) as transcript:
        jax.debug.breakpoint()
    return z, answers_of(transcript)[:2]


@wrong(rejected_by="infinite_arguments", says="The arguments are looked at, and not the quotient.")
def looks_at_the_arguments(x, y):
    @jax.jit
    def divide(x, y):
        z = x / y

        def stop(z, y):
            jax.debug.breakpoint()

        fine = jnp.isfinite(x) & jnp.isfinite(y) & jnp.isfinite(z)
        jax.lax.cond(fine, lambda z, y: None, stop, z, y)
        return z

    with scripted_breakpoints(["p z", "p y", "c"]) as transcript:
        z = divide(x, y)
    return z, answers_of(transcript)[:2]


@hidden(idea="Infinite x or y, and a quotient of 0.")
def infinite_arguments(answer):
    """1 / inf and 0 / 5 are finite, and inf / 2 is not."""
    for x, y in ((1.0, float("inf")), (0.0, 5.0)):
        quotient, answers = parts(answer(x, y), 2)
        expect_that(
            plain(quotient) == 0.0,
            f"For {x} / {y} the quotient should be 0.",
            quotient,
            "0",
            on="an infinite divisor, and a dividend of 0",
        )
        expect_that(
            texts(answers) == [],
            f"For {x} / {y} nothing should stop.",
            answers,
            "[]",
            on="an infinite divisor, and a dividend of 0",
        )
    answers = without_weak_types(parts(answer(float("inf"), 2.0), 2)[1])
    wanted = ["Array(inf, dtype=float32)", "Array(2., dtype=float32)"]
    expect_that(answers == wanted, "For inf / 2 it should stop.", answers, wanted, on="an infinite dividend")


@hidden(idea="Other numbers, and a quotient that is too large for float32.")
def any_numbers_are_divided(answer, draw):
    """Any two numbers are divided, and stop only if the quotient is not finite."""
    x, y = float(draw.integer(1, 99)), float(draw.integer(1, 99))
    quotient, answers = parts(answer(x, y), 2)
    expect_close(plain(quotient), x / y, atol=1e-5, on="two positive whole numbers")
    expect_that(
        texts(answers) == [],
        "For a finite quotient nothing should stop.",
        answers,
        "[]",
        on="two positive whole numbers",
    )
    answers = without_weak_types(parts(answer(x, 0.0), 2)[1])
    wanted = ["Array(inf, dtype=float32)", "Array(0., dtype=float32)"]
    expect_that(
        answers == wanted,
        "An infinite quotient should stop.",
        answers,
        wanted,
        on="a positive number and a divisor of 0",
    )
    answers = texts(parts(answer(3e38, 0.125), 2)[1])
    stopped = len(answers) == 2 and "(inf," in answers[0] and "(0.125," in answers[1]
    expect_that(
        stopped,
        "A quotient that is too large for float32 should stop.",
        answers,
        "inf, 0.125",
        on="a very large number and a divisor below 1",
    )


# %% values_at_stop
@answer
def values_at_stop(program, x, names):
    commands = []
    for _ in range(6):
        commands += [f"p {name}" for name in names] + ["u"]
    with scripted_breakpoints([*commands, "c"]) as transcript:
        program(x)
    found = {}
    for command, text in zip(commands, answers_of(transcript), strict=False):
        if command != "u" and not text.startswith("***"):
            found.setdefault(command[2:], text)
    return found


@alternative
def one_run_for_each_name(program, x, names):
    found = {}
    for name in names:
        with scripted_breakpoints([f"p {name}", "u"] * 7) as transcript:
            jax.block_until_ready(program(x))
        answers = [text for text in answers_of(transcript)[::2] if text.startswith("Array")]
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
    answers = dict(enumerate(answers_of(transcript)))
    found = {}
    for number, command in enumerate(commands):
        text = answers.get(number, "***")
        if command.startswith("p ") and "NameError" not in text and text != "***":
            found[command.split()[1]] = text
    return found


@wrong(rejected_by="the_call_stack_is_searched", says="Only the function that stopped is asked.", misses_the_point=True)
def never_goes_up(program, x, names):
    with scripted_breakpoints([*(f"p {name}" for name in names), "c"]) as transcript:
        program(x)
    pairs = zip(names, answers_of(transcript), strict=False)
    return {name: text for name, text in pairs if not text.startswith("***")}


@wrong(rejected_by="the_nearest_function_counts", says="The outermost function counts.")
def outermost_counts(program, x, names):
    commands = []
    for _ in range(2):
        commands += [f"p {name}" for name in names] + ["u"]
    with scripted_breakpoints([*commands, "c"]) as transcript:
        program(x)
    found = {}
    for command, text in zip(commands, answers_of(transcript), strict=False):
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
    for command, text in zip(commands, answers_of(transcript), strict=False):
        if command != "u" and not found.get(command[2:], "***").startswith("Array"):
            found[command[2:]] = text
    return found


@wrong(rejected_by="the_cause_of_the_nan_is_found", says="It goes one level up, and no further.")
def goes_up_once(program, x, names):
    commands = [f"p {name}" for name in names]
    with scripted_breakpoints([*commands, "u", *commands, "c"]) as transcript:
        program(x)
    found = {}
    for name, text in zip([*names, "u", *names], answers_of(transcript), strict=False):
        if name != "u" and not text.startswith("***"):
            found.setdefault(name, text)
    return found


@hidden(idea="Other names and another x.", on="names in either function, and one in neither")
def any_name_is_found(answer, draw):
    """Any names at any x are found."""
    t = draw.integer(1, 99)
    got = found_by(answer, "times_ten", float(t), ["w", "v", "k", "nothing"])
    wanted = {name: f"Array({n}., dtype=float32)" for name, n in (("w", 10 * t), ("v", 10 * t), ("k", 10 * t + 1))}
    expect_that(got == wanted, "It should be the values of these names at the stop.", got, wanted)


# %% log_by_sign
@answer
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


@wrong(rejected_by="jit_logs_each_value", says="The tracer is logged, while tracing.", misses_the_point=True)
def logs_while_tracing(x):
    log.warning(f"Logged value: {x}")
    return x


@wrong(rejected_by="jit_logs_each_value", says="A Python `if` in the traced function needs a value.")
def if_in_the_traced_function(x):
    if x < 0:
        jax.debug.callback(lambda value: log.error(f"Logged value: {value}"), x)
    else:
        jax.debug.callback(lambda value: log.warning(f"Logged value: {value}"), x)
    return x


@wrong(rejected_by="vmap_logs_each_example", says="Under vmap a cond runs both branches.")
def cond_of_two_callbacks(x):
    jax.lax.cond(
        x < 0,
        lambda x: jax.debug.callback(lambda value: log.error(f"Logged value: {value}"), x),
        lambda x: jax.debug.callback(lambda value: log.warning(f"Logged value: {value}"), x),
        x,
    )
    return x


@wrong(rejected_by="jit_logs_each_value", says="An unused pure_callback is dropped by the compiler.")
def unused_pure_callback(x):
    def log_value(value):
        log.warning(f"Logged value: {value}")
        return np.int32(0)

    jax.pure_callback(log_value, jax.ShapeDtypeStruct((), jnp.int32), x, vmap_method="sequential")
    return x


@wrong(rejected_by="vmap_logs_each_example", says="Everything is a warning.")
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


# %% values_seen
@answer
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
def arrays_of_an_unordered_callback(program, x):
    seen = []
    result = program(lambda value: jax.debug.callback(seen.append, value), x)
    jax.block_until_ready(result)
    jax.effects_barrier()
    return [np.asarray(value) for value in seen]


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


@wrong(rejected_by="every_transformation_is_seen", says="An io_callback has no derivative.")
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


@wrong(rejected_by="the_program_runs", says="The values are worked out from the name of the program, which is not run.")
def works_them_out_from_the_name(program, x):
    name = program.__name__
    if name in ("in_jit", "in_grad"):
        return [x]
    if name == "in_while":
        return [x - i for i in range(int(np.ceil(x)))]
    return [x, x - 1, x - 2]


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


# %% report_nonfinite
@answer
def report_nonfinite(x):
    def say(count):
        if count > 0:
            print(f"not finite: {count} of {x.size}")

    jax.debug.callback(say, (~jnp.isfinite(x)).sum())
    return x


@alternative
def counted_on_the_host(x):
    def say(values):
        count = np.count_nonzero(~np.isfinite(np.asarray(values)))
        if count:
            print("not finite:", count, "of", len(values))

    jax.debug.callback(say, x, ordered=True)
    return x


@alternative
@jax.jit
def a_text_made_on_the_host(x):
    def say(finite):
        bad = [place for place, good in enumerate(finite) if not good]
        return print(f"not finite: {len(bad)} of {len(finite)}") if bad else None

    jax.debug.callback(say, jnp.isfinite(x))
    return x


@wrong(rejected_by="only_bad_examples_are_reported", says="Under vmap a cond runs both branches, for all examples.")
def cond_around_the_print(x):
    count = (~jnp.isfinite(x)).sum()
    size = x.size
    jax.lax.cond(
        count > 0,
        lambda count: jax.debug.print("not finite: {} of {}", count, size),
        lambda count: None,
        count,
    )
    return x


@wrong(rejected_by="bad_elements_are_counted", says="A Python `if` in the traced function needs a value.")
def if_around_the_print(x):
    count = (~jnp.isfinite(x)).sum()
    if count > 0:
        jax.debug.print("not finite: {} of {}", count, x.size)
    return x


@wrong(rejected_by="bad_elements_are_counted", says="It reports at each run.", misses_the_point=True)
def reports_always(x):
    jax.debug.print("not finite: {} of {}", (~jnp.isfinite(x)).sum(), x.size)
    return x


@wrong(rejected_by="bad_elements_are_counted", says="Only NaN is counted.")
def counts_nan_only(x):
    def say(count):
        if count > 0:
            print(f"not finite: {count} of {x.size}")

    jax.debug.callback(say, jnp.isnan(x).sum())
    return x


@wrong(rejected_by="bad_elements_are_counted", says="The unused result of a pure_callback is not computed.")
def pure_callback_for_a_report(x):
    def say(count):
        if count > 0:
            print(f"not finite: {count} of {x.size}")
        return np.int32(0)

    promise = jax.ShapeDtypeStruct((), jnp.int32)
    jax.pure_callback(say, promise, (~jnp.isfinite(x)).sum(), vmap_method="sequential")
    return x


@wrong(rejected_by="any_bad_example_is_reported", says="The sum of finite numbers may be infinite.")
def looks_at_the_sum(x):
    def say(values):
        if not np.isfinite(np.sum(values)):
            print(f"not finite: {np.count_nonzero(~np.isfinite(values))} of {len(values)}")

    jax.debug.callback(say, x)
    return x


@hidden(
    stage="jit",
    idea="Infinities in another example, and large numbers whose sum is infinite.",
    on="a batch with infinities and very large numbers",
)
def any_bad_example_is_reported(answer, draw):
    """Any example that is not finite is reported, and no other."""
    xs = draw.numpy(6, 4)
    xs[5] = 3e38  # finite, and its sum is not
    xs[draw.integer(0, 5), : draw.integer(1, 5)] = np.inf
    count = int(np.isinf(xs).sum())
    wanted = [f"not finite: {count} of 4"]
    lines = answer.vmap().observe(xs).lines
    expect_that(lines == wanted, "Of six examples the one that is not finite should be reported.", lines, wanted)


# %% checked_pick
@answer
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
