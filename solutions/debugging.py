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


@wrong(rejected_by="both_lines_are_right", says="Both lines are printed while tracing.")
def python_prints_both(x):
    x = jnp.asarray(x)
    print(f"shape {x.shape} dtype {x.dtype}")
    print(f"value {x}")
    return x


@wrong(rejected_by="python_prints_when_it_traces", says="The static facts are printed at each run.")
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


@hidden(stage="jit", idea="Any shape, any dtype.")
def any_array_is_described(answer, draw):
    """Any array is described."""
    n = draw.integer(2, 9)
    seen = answer.jit.observe(jnp.full((n,), 7, jnp.int32))
    wanted = [f"shape ({n},) dtype int32", f"value [{' '.join('7' * n)}]"]
    expect_that(seen.lines == wanted, "Other lines are printed.", seen.lines, wanted)


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


@wrong(rejected_by="debug_prints_show_numbers", says="Only one of the two f-strings is repaired.")
def repairs_one(x):
    print("print(x) ->", x)
    jax.debug.print("jax.debug.print(x) -> {}", x)
    y = jnp.sin(x)
    print("print(y) ->", y)
    jax.debug.print(f"jax.debug.print(y) -> {y}")
    return y


@wrong(rejected_by="debug_prints_show_numbers", says="`str.format` fills in the tracer, as an f-string does.")
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


@hidden(stage="jit", idea="Each run prints its own numbers.")
def any_number_is_seen(answer, draw, reference):
    """Any number is printed, at each run."""
    calls = [(draw.integer(1, 99) / 4,) for _ in range(2)]
    for got, wanted in zip(answer.jit.observe_calls(calls), reference.jit.observe_calls(calls), strict=True):
        lines, expected = (sorted(beginning(seen.lines, "jax.debug.print(")) for seen in (got, wanted))
        expect_that(lines == expected, "Other numbers are printed.", lines, expected)


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


@wrong(rejected_by="map_prints_step_by_step", says="vmap is taken for both.")
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


@hidden(stage="jit", kind="observed", idea="Each number is printed, and its sine.")
def any_numbers_are_printed(answer, draw, reference):
    """Any numbers are printed."""
    xs = draw.floats(2)
    for how in ("vmap", "map"):
        got, wanted = (one.observe(how, xs, True) for one in (answer, reference))
        expect_that(got.lines == wanted.lines, "Other lines are printed.", got.lines, wanted.lines)


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


@wrong(rejected_by="x_comes_before_y", says="Python prints the tracers, in order.")
def python_prints_in_order(xs, ys):
    def add(x, y):
        print("jax.debug.print(x) ->", x)
        print("jax.debug.print(y) ->", y)
        return x + y

    return jax.lax.map(lambda pair: add(*pair), (xs, ys))


@hidden(stage="jit", kind="observed", idea="Any pairs are printed in order.")
def any_pairs_come_in_order(answer, draw):
    """Any pairs are printed in order."""
    xs, ys = np.array([[draw.integer(1, 99), draw.integer(1, 99)] for _ in range(4)], np.int32).T
    pairs = zip(xs, ys, strict=True)
    wanted = [f"jax.debug.print({name}) -> {n}" for x, y in pairs for name, n in (("x", x), ("y", y))]
    lines = answer.jit.observe(jnp.asarray(xs), jnp.asarray(ys)).lines
    expect_that(lines == wanted, "The lines come in another order.", lines, wanted)
