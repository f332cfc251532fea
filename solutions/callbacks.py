# %%
import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
import scipy.special

from jaxguide.clock import simulated_machine
from jaxguide.course.author import (
    StudentError,
    alternative,
    answer,
    expect_close,
    expect_that,
    given,
    hidden,
    input,
    wrong,
)


# %% three_prints
@answer(
    notice="Python's `print` ran once, with a tracer. The other two are in the program, and run with it.",
    another_way="`jax.debug.print` alone is enough for a text; `jax.debug.callback` can call anything, such as a "
    "plotting function.",
)
def three_prints(x):
    y = x + 1
    print(f"intermediate value: {y}")
    jax.debug.print("intermediate value: {}", y)
    jax.debug.callback(lambda value: print(f"intermediate value: {value}"), y)
    return y * 2


@alternative
@jax.jit
def jitted_and_ordered(x):
    y = x + 1
    jax.debug.callback(lambda value: print("intermediate value:", value), y, ordered=True)
    jax.debug.print("intermediate value: {y}", y=y, ordered=True)
    print("intermediate value:", y)
    return y + y


@alternative
def adds_a_jax_number(x):
    y = jnp.add(x, jnp.int32(1))  # no weak type
    print("intermediate value: " + repr(y))

    def show(y):
        print("intermediate value: " + str(int(y)))

    jax.debug.print("intermediate value: {}", y)
    jax.debug.callback(show, y)
    return 2 * y


@wrong(rejected_by="pythons_print_shows_a_tracer", says="Python does not print anything.", lacks="S4-01")
def no_print_of_pythons(x):
    y = x + 1
    jax.debug.print("intermediate value: {}", y)
    jax.debug.callback(lambda value: print(f"intermediate value: {value}"), y)
    return y * 2


@wrong(
    rejected_by="debug_print_shows_the_number",
    says="Two callbacks print, and `jax.debug.print` is left out.",
    lacks="S4-02",
)
def two_callbacks_of_its_own(x):
    y = x + 1
    print(f"intermediate value: {y}")
    for _ in range(2):
        jax.debug.callback(lambda value: print(f"intermediate value: {value}"), y)
    return y * 2


@wrong(
    rejected_by="a_print_on_the_host_shows_the_number",
    says="`jax.debug.print` prints twice, and no host function does.",
    lacks="S4-06",
)
def two_debug_prints(x):
    y = x + 1
    print(f"intermediate value: {y}")
    jax.debug.print("intermediate value: {}", y)
    jax.debug.print("intermediate value: {}", y)
    return y * 2


@wrong(rejected_by="debug_print_shows_the_number", says="An f-string writes the tracer into the text while tracing.")
def f_string_in_debug_print(x):
    y = x + 1
    print(f"intermediate value: {y}")
    jax.debug.print(f"intermediate value: {y}")
    jax.debug.callback(lambda value: print(f"intermediate value: {y}"), y)
    return y * 2


@wrong(rejected_by="debug_print_shows_the_number", says="All three prints are Python's.", misses_the_point=True)
def python_prints_thrice(x):
    y = x + 1
    print(f"intermediate value: {y}\n" * 3)
    return y * 2


@wrong(rejected_by="the_second_call_prints_two_lines", says="The line of the example is written down.")
def the_first_line_is_fixed(x):
    y = x + 1
    print(f"intermediate value: {y}")
    jax.debug.print("intermediate value: {}", y)
    jax.debug.callback(lambda value: print("intermediate value: 3"), y)
    return y * 2


@wrong(rejected_by="any_number_is_printed", says="The number is cut off.")
def prints_small_numbers_only(x):
    y = x + 1
    print(f"intermediate value: {y}")
    shown_y = jnp.minimum(y, 9)
    jax.debug.print("intermediate value: {}", shown_y)
    jax.debug.callback(lambda value: print(f"intermediate value: {value}"), shown_y)
    return y * 2


@wrong(rejected_by="returns_twice_the_sum", says="The result is made a float16.")
def halves_the_precision(x):
    y = x + 1
    print("intermediate value:", y)
    jax.debug.print("intermediate value: {}", y)
    jax.debug.callback(lambda y: print("intermediate value:", y), y)
    return jnp.asarray(y * 2, jnp.float16)


equivalent("0c688cea82", because="The result is finite.")


@hidden(
    stage="jit",
    kind="observed",
    idea="Numbers of more than 10, 0 and -1, and an int32 array.",
    on="a large number, 0, -1, and an int32 array",
)
def any_number_is_printed(answer, draw):
    """Large numbers, 0 and -1, and an int32 array are printed at run time."""
    for x in (draw.integer(10, 1000), 0, -1, jnp.int32(41)):
        seen, y = answer.jit.observe(x), int(x) + 1
        wanted = [f"intermediate value: {y}"] * 2
        expect_that(seen.lines[1:] == wanted, "The program should print its own number.", seen.lines, wanted)
        expect_close(number(seen.value), 2 * y)


# %% right_callback
@answer(
    notice="Each kind says what the host function is for, and from that JAX knows what it may do with the call.",
    another_way="An `io_callback` for the offset would work, too, but it would run where nobody needs the offset.",
)
def right_callback(width, step):
    offset = jax.pure_callback(offset_of, jax.ShapeDtypeStruct((), jnp.float32), step)
    io_callback(save_step, None, step)
    jax.debug.callback(look_at, width)
    return width**2 + offset


@alternative
def saves_in_order(width, step):
    jax.debug.callback(lambda width: look_at(width), width, ordered=True)
    io_callback(lambda step: (save_step(step), np.int32(0))[1], jax.ShapeDtypeStruct((), jnp.int32), step, ordered=True)
    return jnp.square(width) + jax.pure_callback(offset_of, np.float32(0), step)


@alternative
@jax.jit
def looks_by_debug_print(width, step):
    io_callback(save_step, None, step, ordered=True)
    jax.debug.print("looked at {:.2f}", width)
    return width * width + jax.pure_callback(offset_of, np.float32(0), step, vmap_method="sequential")


@wrong(
    rejected_by="one_of_each_kind",
    says="The save is only watched: `jax.debug.callback` is for what may be lost.",
    lacks="S4-04",
)
def saves_by_a_debug_callback(width, step):
    offset = jax.pure_callback(offset_of, np.float32(0), step)
    jax.debug.callback(save_step, step)
    jax.debug.callback(look_at, width)
    return width**2 + offset


@wrong(
    rejected_by="each_call_is_of_its_kind",
    says="The kinds are swapped: the value comes from an `io_callback`, and the save is pure.",
    lacks="S4-05",
)
def swaps_value_and_save(width, step):
    offset = io_callback(offset_of, np.float32(0), step)
    jax.pure_callback(lambda step: (save_step(step), np.int32(0))[1], np.int32(0), step)
    jax.debug.callback(look_at, width)
    return width**2 + offset


@wrong(rejected_by="one_of_each_kind", says="Everything is an `io_callback`, as on the old page.")
def io_for_the_value(width, step):
    offset = io_callback(offset_of, np.float32(0), step)
    io_callback(save_step, None, step)
    jax.debug.callback(look_at, width)
    return width**2 + offset


@wrong(rejected_by="it_has_a_slope", says="What an `io_callback` gets cannot be differentiated.")
def io_for_the_look(width, step):
    offset = jax.pure_callback(offset_of, np.float32(0), step)
    io_callback(save_step, None, step)
    io_callback(look_at, None, width)
    return width**2 + offset


@wrong(rejected_by="one_of_each_kind", says="A save whose value is not used is dropped if it is pure.")
def pure_for_the_save(width, step):
    offset = jax.pure_callback(offset_of, np.float32(0), step)
    jax.pure_callback(lambda step: (save_step(step), np.int32(0))[1], np.int32(0), step)
    jax.debug.callback(look_at, width)
    return width**2 + offset


@wrong(
    rejected_by="the_offset_is_added",
    says="The old module is imported under a name that JAX still has; there is no such function in it.",
    misses_the_point=True,
)
def imports_a_successor(width, step):
    import jax.experimental as hcb

    return width**2 + hcb.call(offset_of, step)


@wrong(
    rejected_by="one_of_each_kind", says="Python calls the host functions itself, with numbers.", misses_the_point=True
)
def calls_them_in_python(width, step):
    if not isinstance(width, jax.core.Tracer):
        look_at(width)
        save_step(step)
        return width**2 + offset_of(step)
    return width**2 + 0.5**step


@wrong(rejected_by="other_numbers_do_as_well", says="The step is believed to be an int, not an array.")
def expects_an_int(width, step):
    rate = 0.5**step if isinstance(step, int) else 0.5
    offset = jax.pure_callback(lambda step: (offset_of(step), np.float32(rate))[1], np.float32(0), step)
    io_callback(save_step, None, step)
    jax.debug.callback(look_at, width)
    return width**2 + offset


@hidden(
    stage="cost",
    required=True,
    idea="The step may be an int32 array, and there may be a batch of widths.",
    on="other widths and steps, arrays of one number, and a batch of widths",
)
def other_numbers_do_as_well(answer, draw):
    """For other widths and steps, and under vmap over widths, the calls are made with their numbers."""
    width, step = draw.integer(2, 40) / 4, draw.integer(2, 9)
    seen = answer.jit.observe(jnp.float32(width), jnp.int32(step))
    expect_close(seen.value, np.float32(width**2 + 0.5**step))
    wanted = sorted([f"computed for step {step}", f"saved step {step}", f"looked at {width:.2f}"])
    expect_that(sorted(seen.lines) == wanted, "Each host function should get its number.", seen.lines, wanted)


# %% sine_on_host
@answer(
    notice="`np.sin` of a float32 is a float32. A float64 would be rounded, as everywhere in JAX; any other dtype, or "
    "another shape, would break the promise.",
    another_way="`jnp.sin` is faster, has a derivative, and needs no host: use a callback only for what JAX has not.",
)
def sine_on_host(x, method=None):
    def host(value):
        return np.sin(value)

    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method=method)


@alternative
@partial(jax.jit, static_argnames="method")
def jitted(x, method=None):
    return jax.pure_callback(lambda v: np.sin(v).astype(np.float32), jax.typeof(x), x, vmap_method=method)


@alternative
def promises_x_itself(x, method=None):
    x = jnp.asarray(x)
    return jax.pure_callback(lambda v: np.sin(np.asarray(v)), x, x, vmap_method=method)


@wrong(
    rejected_by="alone_it_gives_the_sines",
    says="One number is promised, whatever the shape of x.",
    lacks="S4-13",
)
def promises_one_number(x, method=None):
    promise = jax.ShapeDtypeStruct((), jnp.float32)
    return jax.pure_callback(lambda v: np.sin(v), promise, x, vmap_method=method)


@wrong(
    rejected_by="under_jit_the_host_gives_the_sines",
    says="The host is asked, and what it gives is forgotten.",
    lacks="S4-14",
    misses_the_point=True,
)
def forgets_what_the_host_gives(x, method=None):
    jax.pure_callback(lambda v: np.sin(v), jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method=method)
    return jnp.sin(x)


@wrong(rejected_by="vmap_needs_a_method", says="The method is ignored.", lacks="S4-15")
def always_sequential(x, method=None):
    promise = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(lambda v: np.sin(v), promise, x, vmap_method="sequential")


@wrong(rejected_by="grad_is_refused", says="A derivative is added.", lacks="S4-17")
def with_a_derivative(x, method=None):
    @jax.custom_jvp
    def sine(x):
        return jax.pure_callback(lambda v: np.sin(v), jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method=method)

    sine.defjvp(lambda primals, tangents: (sine(*primals), jnp.cos(primals[0]) * tangents[0]))
    return sine(x)


@wrong(rejected_by="under_jit_the_host_gives_the_sines", says="NumPy is called directly, on a tracer.")
def numpy_on_a_tracer(x, method=None):
    return jnp.asarray(np.sin(x))


@wrong(
    rejected_by="under_jit_the_host_gives_the_sines",
    says="JAX's own sine is taken, and errors are raised by hand.",
    misses_the_point=True,
)
def jnp_instead(x, method=None):
    return jnp.sin(x)


@wrong(rejected_by="vmap_needs_a_method", says="JAX's error is raised by hand.")
def raises_by_hand(x, method=None):
    if method is None and x.ndim == 0 and isinstance(x, jax.core.Tracer):
        raise NotImplementedError(
            "vmap is only supported for the pure_callback primitive when vmap_method is one of 'sequential', "
            "'sequential_unrolled', 'expand_dims', 'broadcast_all', or 'legacy_vectorized'. Got vmap_method=None."
        )
    promise = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(lambda v: np.sin(v), promise, x, vmap_method=method)


@wrong(rejected_by="the_method_is_passed_on", says="Whatever the method is, the host is called for each row.")
def sequential_or_nothing(x, method=None):
    method = method and "sequential"
    return jax.pure_callback(lambda v: np.sin(v), jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method=method)


@wrong(rejected_by="one_number_none_and_infinity", says="Numbers are believed to be finite.")
def replaces_nan(x, method=None):
    host = lambda v: np.nan_to_num(np.sin(np.asarray(v)))
    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method=method)


@hidden(stage="jit", required=True, idea="One number, no numbers, NaN and infinity, and a batch of one row.")
def one_number_none_and_infinity(answer, draw):
    """One number, no numbers, NaN and infinity, and a batch of one row come out as NumPy gives them."""
    with np.errstate(invalid="ignore"):
        for x in (draw.floats(), jnp.zeros((0, 3)), jnp.float32([np.nan, np.inf, 3.0])):
            on = "one number, an empty array, NaN and infinity"
            expect_close(answer.jit(x), sines(x), "This should be what NumPy gives.", on=on)
    x = draw.floats(1, 3)
    mapped = answer.vmap(in_axes=(0, None))(x, "expand_dims")
    expect_close(mapped, sines(x), "A batch of one row should give one row.", on="a batch of one row")


@hidden(stage="jit", idea="A batch of batches.", on="a batch of batches, with every method")
def batches_of_batches(answer, draw):
    """It works under vmap twice."""
    x, mapped = draw.floats(2, 3, 4), answer.vmap(in_axes=(0, None)).vmap(in_axes=(0, None))
    for method in ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all"):
        expect_close(mapped(x, method), sines(x))


# %% ask_the_host
@answer(
    notice="Nothing in your Python code decides whether the call is made: the compiler sees that a value goes nowhere.",
    another_way="Without `jax.jit` every call is made, since nobody looks at what comes later.",
)
def ask_the_host(kind, how):
    def call(*row):
        if kind == "pure":
            return jax.pure_callback(print_something, np.int32(0), *row, vmap_method="sequential")
        return io_callback(print_something, np.int32(0), *row)

    @jax.jit
    def program():
        if how == "twice":
            return call() + call()
        if how == "rows":
            return jax.vmap(call)(jnp.arange(4))
        value = call()
        return value if how == "used" else 1.0

    return program()


@alternative
@partial(jax.jit, static_argnums=(0, 1))
def jitted_itself(kind, how):
    promise = jax.ShapeDtypeStruct((), jnp.int32)
    kinds = {
        "pure": partial(jax.pure_callback, print_something, promise, vmap_method="sequential"),
        "io": partial(io_callback, print_something, promise),
    }
    ways = {
        "used": lambda call: call(),
        "unused": lambda call: (call(), jnp.ones(()))[1],
        "twice": lambda call: sum(call() for _ in range(2)),
        "rows": lambda call: jax.vmap(lambda row: call(row))(jnp.arange(4)),
    }
    return ways[how](kinds[kind])


@wrong(
    rejected_by="a_used_pure_call_runs",
    says="The value is written down, and the call forgotten.",
    lacks="S4-18",
    misses_the_point=True,
)
def value_without_a_call(kind, how):
    def call(*row):
        if kind == "pure":
            return jax.pure_callback(print_something, np.int32(0), *row, vmap_method="sequential")
        return io_callback(print_something, np.int32(0), *row)

    @jax.jit
    def program():
        if how == "twice":
            return call() + call()
        if how == "rows":
            return jax.vmap(call)(jnp.arange(4))
        call()
        return jnp.int32(0) if how == "used" else 1.0

    return program()


@wrong(
    rejected_by="an_unused_pure_call_is_dropped",
    says="Without jit nothing is compiled, and nothing dropped.",
    lacks="S4-19",
)
def no_jit(kind, how):
    def call(*row):
        if kind == "pure":
            return jax.pure_callback(print_something, np.int32(0), *row, vmap_method="sequential")
        return io_callback(print_something, np.int32(0), *row)

    if how == "twice":
        return call() + call()
    if how == "rows":
        return jax.vmap(call)(jnp.arange(4))
    value = call()
    return value if how == "used" else jnp.float32(1)


@wrong(rejected_by="pure_calls_are_repeated", says="The call is made once, and its value doubled.", lacks="S4-20")
def doubles_the_value(kind, how):
    def call(*row):
        if kind == "pure":
            return jax.pure_callback(print_something, np.int32(0), *row, vmap_method="sequential")
        return io_callback(print_something, np.int32(0), *row)

    @jax.jit
    def program():
        if how == "twice":
            return 2 * call()
        if how == "rows":
            return jax.vmap(call)(jnp.arange(4))
        value = call()
        return value if how == "used" else 1.0

    return program()


@wrong(rejected_by="an_unused_io_call_runs", says="Both kinds are taken for pure.", lacks="S4-28")
def all_are_pure(kind, how):
    def call(*row):
        return jax.pure_callback(print_something, np.int32(0), *row, vmap_method="sequential")

    @jax.jit
    def program():
        if how == "twice":
            return call() + call()
        if how == "rows":
            return jax.vmap(call)(jnp.arange(4))
        value = call()
        return value if how == "used" else 1.0

    return program()


@wrong(rejected_by="an_unused_pure_call_is_dropped", says="Both kinds are taken for io.")
def all_are_io(kind, how):
    call = lambda *row: io_callback(print_something, np.int32(0), *row)

    @jax.jit
    def program():
        if how == "twice":
            return call() + call()
        if how == "rows":
            return jax.vmap(call)(jnp.arange(4))
        value = call()
        return value if how == "used" else 1.0

    return program()


@wrong(rejected_by="pure_calls_are_repeated", says="The rows are not mapped over: the host is called once.")
def one_call_for_all_rows(kind, how):
    def call():
        if kind == "pure":
            return jax.pure_callback(print_something, np.int32(0))
        return io_callback(print_something, np.int32(0))

    @jax.jit
    def program():
        if how == "twice":
            return call() + call()
        if how == "rows":
            return jax.vmap(lambda row: call())(jnp.arange(4))
        value = call()
        return value if how == "used" else 1.0

    return program()


@wrong(rejected_by="an_unused_pure_call_is_dropped", says="Python prints while it traces.", misses_the_point=True)
def prints_while_tracing(kind, how):
    counts = {"used": 1, "unused": 1, "twice": 2, "rows": 4}

    @jax.jit
    def program():
        values = [print_something() for _ in range(counts[how])]
        return {"used": values[0], "unused": 1.0, "twice": sum(values), "rows": jnp.array(values)}[how]

    return program()


@wrong(
    rejected_by="an_unused_pure_call_is_dropped",
    says="The unused call is left out by Python, not by the compiler.",
    misses_the_point=True,
)
def leaves_the_call_out(kind, how):
    if (kind, how) == ("pure", "unused"):
        return jnp.float32(1)

    def call(*row):
        if kind == "pure":
            return jax.pure_callback(print_something, np.int32(0), *row, vmap_method="sequential")
        return io_callback(print_something, np.int32(0), *row)

    @jax.jit
    def program():
        if how == "twice":
            return call() + call()
        if how == "rows":
            return jax.vmap(call)(jnp.arange(4))
        value = call()
        return value if how == "used" else 1.0

    return program()


equivalent("afc0bde689", because="NumPy's numbers from 0 to 3 are the same rows.")
equivalent("0c8e904bae", because="The values are 0, so their difference is their sum.")
equivalent("1a7e1a409a", because="Of an array as a promise only shape and dtype count.")
equivalent("6536d3b929", because="What the host gives is not negative.")


@wrong(rejected_by="io_calls_in_every_way", says="Calls of io are believed to be merged.")
def merges_io_calls(kind, how):
    def call(*row):
        if kind == "pure":
            return jax.pure_callback(print_something, np.int32(0), *row, vmap_method="sequential")
        return io_callback(print_something, np.int32(0), *row)

    @jax.jit
    def program():
        if how == "twice":
            return 2 * call() if kind == "io" else call() + call()
        if how == "rows":
            return jax.vmap(call)(jnp.arange(4))
        value = call()
        return value if how == "used" else 1.0

    return program()


@hidden(stage="jit", kind="observed", idea="Calls of io, used, twice and for rows.", on="io calls in the other ways")
def io_calls_in_every_way(answer):
    """Io calls run once if used, twice for two, and four times for four rows."""
    found = {how: len(lines_of(answer, "io", how)) for how in ("used", "twice", "rows")}
    wanted = {"used": 1, "twice": 2, "rows": 4}
    expect_that(found == wanted, "Io calls should run once, twice, and for each row.", found, wanted)


@hidden(stage="jit", kind="observed", idea="Each run makes its calls.", on="the same calls several times in a row")
def calls_in_turn(answer):
    """Used and unused in turn, it prints when used."""
    order = ("unused", "used", "unused", "used", "used")
    lines = [seen.lines for seen in answer.observe_calls([("pure", how) for how in order])]
    wanted = [["printing something"] if how == "used" else [] for how in order]
    expect_that(lines == wanted, "It should print in the calls whose value is used, and in no others.", lines, wanted)


# %% predict_same_question
@answer
def predict_same_question():
    return 1


# %% bessel_on_host
@answer(
    notice="After `jnp.broadcast_arrays` both arguments have the same axes, so a batch axis in front of each fits.",
    another_way='`vmap_method="expand_dims"` is as right, and does not repeat the orders that all rows share.',
)
def bessel_on_host(v, z):
    v, z = jnp.asarray(v), jnp.asarray(z)
    assert jnp.issubdtype(v.dtype, jnp.integer), "the order must be a whole number"
    v, z = jnp.broadcast_arrays(v, z.astype(jnp.result_type(float, z.dtype)))

    def host(v, z):
        return scipy.special.jv(v, z).astype(z.dtype)

    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, z.dtype), v, z, vmap_method="broadcast_all")


@alternative
def with_a_type_error(v, z):
    if jnp.result_type(v).kind != "i":
        raise TypeError("the order must be an integer")
    v, z = jnp.broadcast_arrays(v, jnp.float32(1) * z)
    host = lambda v, z: np.asarray(scipy.special.jv(np.asarray(v), np.asarray(z)), np.float32)
    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, jnp.float32), v, z, vmap_method="expand_dims")


@alternative
@jax.jit
def jitted_with_a_value_error(v, z):
    v, z = jnp.asarray(v), jnp.asarray(z)
    if v.dtype.kind not in "iu":
        raise ValueError("integer orders only")
    promise = jax.ShapeDtypeStruct(np.broadcast_shapes(v.shape, z.shape), jnp.float32)
    host = lambda v, z: scipy.special.jv(v, z).astype(np.float32)
    v, z = (jnp.broadcast_to(one, promise.shape) for one in (v, z))
    return jax.pure_callback(host, promise, v, z.astype(jnp.float32), vmap_method="legacy_vectorized")


@wrong(rejected_by="the_three_rules_hold", says="Any order is computed.", lacks="S4-33")
def any_order(v, z):
    v, z = jnp.broadcast_arrays(jnp.asarray(v), jnp.asarray(z, jnp.float32))
    host = lambda v, z: scipy.special.jv(v, z).astype(z.dtype)
    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, z.dtype), v, z, vmap_method="broadcast_all")


@wrong(rejected_by="the_three_rules_hold", says="The dtype of z is promised, also if z has whole numbers.")
def promises_the_dtype_of_z(v, z):
    v, z = jnp.asarray(v), jnp.asarray(z)
    assert jnp.issubdtype(v.dtype, jnp.integer)
    v, z = jnp.broadcast_arrays(v, z)
    host = lambda v, z: scipy.special.jv(v, z).astype(z.dtype)
    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, z.dtype), v, z, vmap_method="broadcast_all")


@wrong(rejected_by="the_three_rules_hold", says="The shape of z is promised, whatever that of v.")
def promises_the_shape_of_z(v, z):
    v, z = jnp.asarray(v), jnp.asarray(z)
    assert jnp.issubdtype(v.dtype, jnp.integer)
    z = z.astype(jnp.result_type(float, z.dtype))
    host = lambda v, z: scipy.special.jv(v, z).astype(z.dtype)
    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, z.dtype), v, z, vmap_method="broadcast_all")


@wrong(rejected_by="j1_alone", says="A Python number has no dtype: it is not made an array.", lacks="S4-34")
def expects_arrays(v, z):
    if not jnp.issubdtype(v.dtype, jnp.integer):
        raise TypeError("integer orders only")
    v, z = jnp.broadcast_arrays(v, z.astype(jnp.float32))
    host = lambda v, z: scipy.special.jv(v, z).astype(np.float32)
    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, z.dtype), v, z, vmap_method="broadcast_all")


@wrong(
    rejected_by="j1_under_jit",
    says="The values of the orders are asked for, and not their dtype.",
    lacks="S4-35",
    misses_the_point=True,
)
def asks_for_the_orders(v, z):
    if not (np.asarray(v) % 1 == 0).all():
        raise ValueError("whole orders only")
    v, z = jnp.broadcast_arrays(jnp.asarray(v), jnp.asarray(z, jnp.float32))
    host = lambda v, z: scipy.special.jv(v, z).astype(np.float32)
    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, z.dtype), v, z, vmap_method="broadcast_all")


@wrong(rejected_by="j1_under_vmap", says="The host is called for each row, though SciPy takes them all.", lacks="S4-36")
def sequential(v, z):
    v, z = jnp.asarray(v), jnp.asarray(z)
    assert jnp.issubdtype(v.dtype, jnp.integer)
    v, z = jnp.broadcast_arrays(v, z.astype(jnp.result_type(float, z.dtype)))
    host = lambda v, z: scipy.special.jv(v, z).astype(z.dtype)
    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, z.dtype), v, z, vmap_method="sequential")


@wrong(rejected_by="j1_under_vmap", says="Nothing is said about a batch.")
def no_vmap_method(v, z):
    v, z = jnp.asarray(v), jnp.asarray(z)
    assert jnp.issubdtype(v.dtype, jnp.integer)
    v, z = jnp.broadcast_arrays(v, z.astype(jnp.result_type(float, z.dtype)))
    host = lambda v, z: scipy.special.jv(v, z).astype(z.dtype)
    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, z.dtype), v, z)


@wrong(rejected_by="orders_and_points_of_different_shapes", says="The batch axis of z pairs off with the orders.")
def batch_axis_meets_the_orders(v, z):
    v, z = jnp.asarray(v), jnp.asarray(z)
    assert jnp.issubdtype(v.dtype, jnp.integer)
    z = z.astype(jnp.result_type(float, z.dtype))
    host = lambda v, z: np.broadcast_to(scipy.special.jv(v, z), np.broadcast_shapes(v.shape, z.shape)).astype(z.dtype)
    promise = jax.ShapeDtypeStruct(jnp.broadcast_shapes(v.shape, z.shape), z.dtype)
    return jax.pure_callback(host, promise, v, z, vmap_method="broadcast_all")


@wrong(rejected_by="grad_of_j1_is_refused", says="A derivative is given.", lacks="S4-37")
def with_a_derivative(v, z):
    assert jnp.issubdtype(jnp.result_type(v), jnp.integer)
    slope = lambda v, z: (rule(v - 1, z) - rule(v + 1, z)) / 2
    rule = host_function(scipy.special.jv, elementwise=True, derivative=(None, slope))
    return rule(v, jnp.asarray(z, jnp.float32))


@wrong(rejected_by="j1_under_jit", says="SciPy is called on a tracer.", misses_the_point=True)
def scipy_on_a_tracer(v, z):
    if jnp.result_type(v).kind != "i":
        raise TypeError("integer orders only")
    return jnp.asarray(scipy.special.jv(np.asarray(v), np.asarray(z)), jnp.float32)


@wrong(rejected_by="tiny_values_and_negative_points", says="What is small is rounded away.")
def rounds_to_six_decimals(v, z):
    assert jnp.issubdtype(jnp.result_type(v), jnp.integer)
    v, z = jnp.broadcast_arrays(v, jnp.asarray(z, jnp.float32))
    host = lambda v, z: np.round(scipy.special.jv(v, z), 7).astype(np.float32)
    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, jnp.float32), v, z, vmap_method="expand_dims")


@wrong(rejected_by="a_float_is_no_order", says="A float that is whole is taken for an order.")
def takes_whole_floats(v, z):
    v = jnp.asarray(v)
    if v.dtype.kind == "f" and v.ndim:
        raise TypeError("integer orders only")
    v, z = jnp.broadcast_arrays(v.astype(int), jnp.asarray(z, jnp.float32))
    host = lambda v, z: scipy.special.jv(v, z).astype(np.float32)
    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, jnp.float32), v, z, vmap_method="expand_dims")


equivalent("0c5c34febd", because="JAX rounds a float64 to the float32 that was promised.")
equivalent("06acd02729", because="NumPy's function knows `jnp.integer`, too.")


@hidden(stage="jit", required=True, idea="2.0 is a float, too.", on="a whole float as the order, alone and under jit")
def a_float_is_no_order(answer):
    """A float order is refused, even if it is whole, under jit as well."""
    for way in (answer, answer.jit):
        error = way.observe_error(2.0, np.float32([0.5, 1.5])).error
        refused = error is not None and error.type_name in ("AssertionError", "TypeError", "ValueError")
        expect_that(refused, "A float order should raise an error.", error.type_name if error else "no error")


@hidden(
    stage="jit",
    required=True,
    idea="High orders at small points, where the values are tiny, and negative points.",
    on="high orders at small points, and negative points",
)
def tiny_values_and_negative_points(answer):
    """Tiny values are exact too, and negative points have their values."""
    v, z = np.array([6, 8, 5, 0], np.int32), np.float32([0.5, 1.0, -1.5, -2.0])
    message = "Tiny values and those at negative points should be SciPy's."
    expect_close(answer.jit(v, z), bessel_values(v, z), message, rtol=1e-4, atol=0.0)


@hidden(
    stage="jit",
    required=True,
    idea="A batch of orders with all points for each, and a batch of one.",
    on="a batch of orders, and a batch of one",
)
def a_batch_of_orders(answer):
    """Under vmap over v alone, each row has all points; a batch of one has one row."""
    z = np.float32([0.5, 1.5, 2.5, 3.5])
    for v in (np.array([0, 1, 2], np.int32), np.array([3], np.int32)):
        got = answer.vmap(in_axes=(0, None))(v, z)
        expect_close(got, bessel_values(v[:, None], z), "Row i should be the order v[i] at all points.", atol=1e-5)


@hidden(
    stage="jit",
    idea="Three orders and points, in one batch, compiled.",
    on="random orders and points in a batch, under `jax.jit`",
)
def any_orders(answer, draw):
    """Any orders and arguments, under jit and vmap over both."""
    v = np.array([draw.integer(0, 5) for _ in range(3)], np.int32)
    z = np.abs(draw.numpy(3)) + np.float32(0.5)
    expect_close(answer.vmap().jit(v, z), bessel_values(v, z), atol=1e-5)


# %% bessel
@answer(
    notice="The rule calls `bessel`, so its slope has a slope in turn. `jnp.where` computes both formulas, and chooses "
    "for each order.",
    another_way="J₋₁ is -J₁, so the second formula serves the order 0, too; and `host_function` takes the slope as "
    "`derivative=(None, slope)`.",
)
@jax.custom_jvp
def bessel(v, z):
    return scipy_jv(v, z)


@bessel.defjvp
def bessel_rule(primals, tangents):
    (v, z), (_, dz) = primals, tangents
    slope = jnp.where(v == 0, -bessel(v + 1, z), 0.5 * (bessel(v - 1, z) - bessel(v + 1, z)))
    return bessel(v, z), slope * dz


@alternative
def one_formula_for_all_orders(v, z):
    slope = lambda v, z: (function(v - 1, z) - function(v + 1, z)) / 2
    function = host_function(scipy.special.jv, elementwise=True, derivative=(None, slope))
    return function(v, z)


@alternative
@jax.jit
def value_with_a_jvp_of_its_own(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    function.defjvp(lambda primals, tangents: (function(*primals), tangents[1] * slope(*primals)))

    def slope(v, z):  # J_(-1) is -J_1, so one formula serves all orders
        return (function(v - 1, z) - function(v + 1, z)) / 2

    return function(v, z)


@wrong(rejected_by="the_gradient_asks_the_host", says="There is no rule.", misses_the_point=True)
def no_rule(v, z):
    return scipy_jv(v, z + 0)


@wrong(
    rejected_by="the_gradient_asks_the_host",
    says="J is added up as a power series, and the host is not asked.",
    lacks="S4-10",
    misses_the_point=True,
)
def a_power_series(v, z):
    v, z = jnp.broadcast_arrays(jnp.asarray(v), jnp.asarray(z, jnp.float32))

    def series(v, z):
        k = jnp.arange(12)
        factorial = lambda n: jnp.round(jax.scipy.special.factorial(n.astype(jnp.float32)))
        return jnp.sum((-1.0) ** k / (factorial(k) * factorial(k + v)) * (z / 2) ** (2 * k + v))

    return jnp.vectorize(series)(v, z)


@wrong(
    rejected_by="slopes_follow_the_recurrence", says="The slopes of high orders are believed to be 0.", lacks="S4-38"
)
def stops_at_order_two(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    @function.defjvp
    def rule(primals, tangents):
        (v, z), (_, dz) = primals, tangents
        slope = jnp.where(v > 2, 0.0, 0.5 * (function(v - 1, z) - function(v + 1, z)))
        return function(v, z), slope * dz

    return function(v, z)


@wrong(
    rejected_by="the_rule_chooses_for_each_order",
    says="Python's `if` cannot choose for each of several orders.",
    lacks="S4-39",
)
def python_if_on_the_order(v, z):
    @partial(jax.custom_jvp, nondiff_argnums=(0,))
    def function(v, z):
        return scipy_jv(v, z)

    @function.defjvp
    def rule(v, primals, tangents):
        (z,), (dz,) = primals, tangents
        slope = -function(v + 1, z)
        if v != 0:
            slope = 0.5 * (function(v - 1, z) - function(v + 1, z))
        return function(v, z), slope * dz

    return function(v, z)


@wrong(rejected_by="the_slope_of_j1_at_two", says="z is believed to be a vector.", lacks="S4-40")
def for_vectors_only(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    @function.defjvp
    def rule(primals, tangents):
        (v, z), (_, dz) = primals, tangents
        slope = 0.5 * (function(v - 1, z) - function(v + 1, z))
        return function(v, z), jnp.stack([a * b for a, b in zip(slope, dz, strict=True)])

    return function(v, z)


@wrong(
    rejected_by="the_second_derivative_of_j1_at_two",
    says="The rule calls SciPy's function, which has no rule.",
    lacks="S4-41",
    misses_the_point=True,
)
def rule_calls_the_host(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    @function.defjvp
    def rule(primals, tangents):
        (v, z), (_, dz) = primals, tangents
        return function(v, z), 0.5 * (scipy_jv(v - 1, z) - scipy_jv(v + 1, z)) * dz

    return function(v, z)


@wrong(rejected_by="slopes_follow_the_recurrence", says="The sign of the slope of J₀ is forgotten.")
def plus_j1_for_order_zero(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    @function.defjvp
    def rule(primals, tangents):
        (v, z), (_, dz) = primals, tangents
        slope = jnp.where(v == 0, function(v + 1, z), 0.5 * (function(v - 1, z) - function(v + 1, z)))
        return function(v, z), slope * dz

    return function(v, z)


@wrong(rejected_by="slopes_follow_the_recurrence", says="The half is forgotten.")
def without_the_half(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    @function.defjvp
    def rule(primals, tangents):
        (v, z), (_, dz) = primals, tangents
        slope = jnp.where(v == 0, -function(v + 1, z), function(v - 1, z) - function(v + 1, z))
        return function(v, z), slope * dz

    return function(v, z)


@wrong(rejected_by="slopes_follow_the_recurrence", says="A difference quotient on the host is not exact.")
def finite_differences(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    @function.defjvp
    def rule(primals, tangents):
        (v, z), (_, dz) = primals, tangents
        return function(v, z), (function(v, z + 1e-2) - function(v, z - 1e-2)) / 2e-2 * dz

    return function(v, z)


@wrong(rejected_by="any_point_has_a_slope", says="The formula divides by z, and z may be 0.")
def divides_by_z(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    # J_v' = v / z * J_v - J_(v+1)
    function.defjvp(lambda primals, tangents: (function(*primals), tangents[1] * slope(*primals)))

    def slope(v, z):
        return v / z * function(v, z) - function(v + 1, z)

    return function(v, z)


equivalent("d1c07961af", because="J₋₁ is -J₁, so one formula serves all orders.")


@hidden(
    stage="gradient",
    kind="value",
    required=True,
    idea="High orders, where slopes are tiny, negative points, and second derivatives of J₀.",
)
def orders_zero_and_high(answer):
    """Tiny slopes are exact, at negative points too, and J₀ has its second derivative."""
    slope = answer.grad(argnums=1)
    for v, z in ((5, 1.0), (7, 1.5), (3, -2.0)):
        wanted = np.float32(scipy.special.jvp(v, z))
        message = f"The slope of J_{v} at {z} should be {wanted:.6g}."
        expect_close(
            slope(v, np.float32(z)),
            wanted,
            message,
            rtol=1e-3,
            atol=0.0,
            on="higher orders, at positive and negative points",
        )
    for order, deep in ((2, slope.grad(argnums=1)), (3, slope.grad(argnums=1).grad(argnums=1))):
        wanted = np.float32(scipy.special.jvp(0, 1.5, order))
        message = f"The derivative of J₀ of order {order} at 1.5 should be {wanted:.6g}."
        on = "second and third derivatives at order 0"
        expect_close(deep(0, np.float32(1.5)), wanted, message, atol=1e-5, on=on)


@hidden(
    stage="gradient",
    kind="value",
    idea="The point 0, and points up to 5.",
    on="several orders at random points, and the point 0",
)
def any_point_has_a_slope(answer, draw):
    """The slope is right at any point."""
    z = np.float32(draw.integer(1, 40) / 8)
    for v, at in ((0, z), (4, z), (1, np.float32(0.0))):
        expect_close(answer.grad(argnums=1)(v, at), np.float32(scipy.special.jvp(v, float(at))), atol=1e-5)


# %% fit_with_progress
@answer(
    notice="The answer of the host is a part of the loop's state, so the condition of the loop can read it.",
    another_way="A Python loop of jitted steps can print and stop, too; but it starts a program for each step, and "
    "waits for each loss that it prints.",
)
def fit_with_progress(loss, report, width, rate, most):
    def goes_on(state):
        _, step, stop = state
        return (step < most) & ~stop

    def body(state):
        width, step, _ = state
        width, step = width - rate * jax.grad(loss)(width), step + 1

        def ask():
            return io_callback(report, jax.ShapeDtypeStruct((), bool), step, loss(width), ordered=True)

        return width, step, jax.lax.cond(step % 10 == 0, ask, lambda: False)

    width, step, _ = jax.lax.while_loop(goes_on, body, (jnp.float32(width), jnp.int32(0), False))
    return width, step


@alternative
@partial(jax.jit, static_argnums=(0, 1))
def ten_steps_in_a_row(loss, report, width, rate, most):
    def descend(i, width):
        return width - rate * jax.grad(loss)(width)

    def body(state):
        width, step, _ = state
        more = jnp.minimum(10, most - step)
        width, step = jax.lax.fori_loop(0, more, descend, width), step + more
        ask = lambda _: io_callback(report, np.bool_(0), step, loss(width), ordered=True)
        return width, step, jax.lax.cond(more == 10, ask, lambda _: jnp.zeros((), bool), 0)

    start = (jnp.asarray(width, jnp.float32), jnp.int32(0), jnp.zeros((), bool))
    return jax.lax.while_loop(lambda state: ~state[2] & (state[1] < most), body, start)[:2]


@wrong(
    rejected_by="the_reports_are_ordered",
    says="The order is left to chance.",
)
def leaves_the_order_to_chance(loss, report, width, rate, most):
    def body(state):
        width, step, _ = state
        width, step = width - rate * jax.grad(loss)(width), step + 1
        ask = lambda: io_callback(report, jax.ShapeDtypeStruct((), bool), step, loss(width))
        return width, step, jax.lax.cond(step % 10 == 0, ask, lambda: False)

    start = (jnp.float32(width), jnp.int32(0), False)
    return jax.lax.while_loop(lambda state: (state[1] < most) & ~state[2], body, start)[:2]


@wrong(rejected_by="it_stops_when_it_is_told_to", says="A debug callback gives nothing back, and cannot stop the loop.")
def reports_by_a_debug_callback(loss, report, width, rate, most):
    def body(state):
        width, step = state
        width, step = width - rate * jax.grad(loss)(width), step + 1
        tell = lambda: jax.debug.callback(report, step, loss(width), ordered=True)
        jax.lax.cond(step % 10 == 0, tell, lambda: None)
        return width, step

    return jax.lax.while_loop(lambda state: state[1] < most, body, (jnp.float32(width), jnp.int32(0)))


@wrong(rejected_by="it_stops_when_it_is_told_to", says="What the host answers is not looked at.")
def does_not_listen(loss, report, width, rate, most):
    def body(state):
        width, step = state
        width, step = width - rate * jax.grad(loss)(width), step + 1
        ask = lambda: io_callback(report, jax.ShapeDtypeStruct((), bool), step, loss(width), ordered=True)
        jax.lax.cond(step % 10 == 0, ask, lambda: False)
        return width, step

    return jax.lax.while_loop(lambda state: state[1] < most, body, (jnp.float32(width), jnp.int32(0)))


@wrong(rejected_by="every_tenth_step_is_reported", says="Each step is reported.")
def reports_each_step(loss, report, width, rate, most):
    def body(state):
        width, step, _ = state
        width, step = width - rate * jax.grad(loss)(width), step + 1
        stop = io_callback(report, jax.ShapeDtypeStruct((), bool), step, loss(width), ordered=True)
        return width, step, stop

    start = (jnp.float32(width), jnp.int32(0), False)
    return jax.lax.while_loop(lambda state: (state[1] < most) & ~state[2], body, start)[:2]


@wrong(rejected_by="every_tenth_step_is_reported", says="The loss before the step is reported.")
def reports_the_loss_before(loss, report, width, rate, most):
    def body(state):
        width, step, _ = state
        value, slope = jax.value_and_grad(loss)(width)
        width, step = width - rate * slope, step + 1
        ask = lambda: io_callback(report, jax.ShapeDtypeStruct((), bool), step, value, ordered=True)
        return width, step, jax.lax.cond(step % 10 == 0, ask, lambda: False)

    start = (jnp.float32(width), jnp.int32(0), False)
    return jax.lax.while_loop(lambda state: (state[1] < most) & ~state[2], body, start)[:2]


@wrong(rejected_by="every_tenth_step_is_reported", says="Counting begins at 0: the first step is reported.")
def reports_the_first_step(loss, report, width, rate, most):
    def body(state):
        width, step, _ = state
        width = width - rate * jax.grad(loss)(width)
        ask = lambda: io_callback(report, jax.ShapeDtypeStruct((), bool), step, loss(width), ordered=True)
        return width, step + 1, jax.lax.cond(step % 10 == 0, ask, lambda: False)

    start = (jnp.float32(width), jnp.int32(0), False)
    return jax.lax.while_loop(lambda state: (state[1] < most) & ~state[2], body, start)[:2]


@wrong(rejected_by="one_loop_is_in_the_program", says="The loop is Python's.", misses_the_point=True)
def python_loop(loss, report, width, rate, most):
    width, step, slope = jnp.float32(width), 0, jax.grad(loss)
    while step < most:
        width, step = width - rate * slope(width), step + 1
        if step % 10 == 0 and report(np.int32(step), np.asarray(loss(width))):
            break
    return width, jnp.int32(step)


@wrong(rejected_by="most_steps_are_made", says="One step is made in any case.")
def at_least_one_step(loss, report, width, rate, most):
    def body(state):
        width, step, _ = state
        width, step = width - rate * jax.grad(loss)(width), step + 1
        ask = lambda: io_callback(report, jax.ShapeDtypeStruct((), bool), step, loss(width), ordered=True)
        return width, step, jax.lax.cond(step % 10 == 0, ask, lambda: False)

    start = body((jnp.float32(width), jnp.int32(0), False))
    return jax.lax.while_loop(lambda state: (state[1] < most) & ~state[2], body, start)[:2]


@wrong(rejected_by="another_loss_is_fitted", says="The loss of the example is known by heart.")
def knows_the_loss(loss, report, width, rate, most):
    def body(state):
        width, step, _ = state
        width, step = width - rate * 2 * (width - 1), step + 1
        ask = lambda: io_callback(report, jax.ShapeDtypeStruct((), bool), step, loss(width), ordered=True)
        return width, step, jax.lax.cond(step % 10 == 0, ask, lambda: False)

    start = (jnp.float32(width), jnp.int32(0), False)
    return jax.lax.while_loop(lambda state: (state[1] < most) & ~state[2], body, start)[:2]


@wrong(rejected_by="it_stops_when_it_is_told_to", says="It stops by a loss of its own choice.")
def stops_by_itself(loss, report, width, rate, most):
    def body(state):
        width, step, _ = state
        width, step = width - rate * jax.grad(loss)(width), step + 1
        ask = lambda: io_callback(report, jax.ShapeDtypeStruct((), bool), step, loss(width), ordered=True)
        jax.lax.cond(step % 10 == 0, ask, lambda: False)
        return width, step, loss(width) < 1e-8

    start = (jnp.float32(width), jnp.int32(0), False)
    return jax.lax.while_loop(lambda state: (state[1] < most) & ~state[2], body, start)[:2]


equivalent("0e4f2c1aa1", because="A Python float becomes a float32 in the loop.")
equivalent("e8c201831c", because="NumPy's int32 becomes an int32 in the loop.")


@input
def stop_at_twenty(step, loss):
    print(f"step {int(step)}: loss {float(loss):.6f}")
    return np.bool_(int(step) == 20)


@input
def stop_below_two(step, loss):
    print(f"step {int(step)}: loss {float(loss):.6f}")
    return np.bool_(float(loss) < 2)


@input
def bowl(width):
    return 0.5 * width**2 + 1


@hidden(
    stage="jit",
    kind="observed",
    required=True,
    idea="The host's answer decides.",
    on="a report that says stop",
)
def it_stops_when_it_is_told_to(answer):
    """When `report` returns True, it stops there."""
    for report, start, stop in ((stop_at_twenty, 3.0, 20), (stop_below_two, 8.0, 30), (stop_below_two, 1.0, 10)):
        seen = answer.observe(given("square_loss"), given(report), start, 0.03, 100)
        width, steps = parts(seen.value, 2)
        told = list(range(10, stop + 1, 10))
        expect_that(number(steps) == stop, "It should stop when `report` returns True.", steps, stop)
        expect_that(reported(seen.lines)[0] == told, "Every tenth step up to the last should be reported.", seen.lines)
        expect_close(width, descended(start, 0.03, stop, slope_of_square), rtol=1e-4)


@hidden(
    required=True,
    idea="Any loss can be fitted.",
    on="a loss that is not in the lesson, and another rate",
)
def another_loss_is_fitted(answer, draw):
    """Another loss is fitted, with another rate."""
    start, most = draw.integer(2, 40) / 4, draw.integer(3, 40)
    width, steps = parts(answer(given(bowl), given("print_report"), start, 0.125, most), 2)
    expect_close(width, descended(start, 0.125, most, lambda width: width), rtol=1e-4)
    expect_that(number(steps) == most, f"There should be {most} steps.", steps, most)


# %% what_arrives
@answer(
    notice="Inside the program x is a tracer; only the host function sees an array, and it is a JAX array.",
    another_way="NumPy functions take such an array as it is; where they do not, write `np.asarray(value)`.",
)
def what_arrives(x):
    seen = {}

    def note(kind, value):
        seen[kind] = describe(value)
        return np.asarray(value)

    promise = jax.ShapeDtypeStruct(x.shape, x.dtype)
    jax.block_until_ready(jax.pure_callback(partial(note, "pure_callback"), promise, x))
    jax.block_until_ready(io_callback(partial(note, "io_callback"), promise, x))
    jax.debug.callback(partial(lambda kind, value: seen.update({kind: describe(value)}), "debug.callback"), x)
    jax.effects_barrier()
    return seen


@alternative
def under_jit_with_small_promises(x):
    seen = {}

    def note(kind, value):
        seen[kind] = describe(value)
        return np.int32(0)

    @jax.jit
    def run(x):
        jax.debug.callback(lambda value: (note("debug.callback", value), None)[1], x)
        io_callback(lambda value: (note("io_callback", value), None)[1], None, x)
        return jax.pure_callback(partial(note, "pure_callback"), jax.ShapeDtypeStruct((), jnp.int32), x)

    run(x).block_until_ready()
    jax.effects_barrier()
    return seen


@wrong(
    rejected_by="the_host_gets_an_array_on_the_cpu",
    says="The argument is described while tracing.",
    misses_the_point=True,
    lacks="S4-03",
)
def describes_the_tracer(x):
    seen = {}

    @jax.jit
    def run(x):
        for kind in ("pure_callback", "io_callback", "debug.callback"):
            seen[kind] = describe(x)
        return x

    run(x)
    return seen


@wrong(rejected_by="the_host_gets_an_array_on_the_cpu", says="The argument is turned into a NumPy array first.")
def converts_first(x):
    seen = {}

    def note(kind, value):
        seen[kind] = describe(np.asarray(value))
        return np.asarray(value)

    promise = jax.ShapeDtypeStruct(x.shape, x.dtype)
    jax.block_until_ready(jax.pure_callback(partial(note, "pure_callback"), promise, x))
    jax.block_until_ready(io_callback(partial(note, "io_callback"), promise, x))
    jax.debug.callback(lambda value: seen.update({"debug.callback": describe(np.asarray(value))}), x)
    jax.effects_barrier()
    return seen


@wrong(rejected_by="the_host_gets_an_array_on_the_cpu", says="Under jit an unused pure callback never runs.")
def loses_the_pure_callback(x):
    seen = {"pure_callback": "nothing"}

    def note(kind, value):
        seen[kind] = describe(value)

    @jax.jit
    def run(x):
        jax.pure_callback(lambda v: (note("pure_callback", v), np.asarray(v))[1], jax.typeof(x), x)
        io_callback(partial(note, "io_callback"), None, x)
        jax.debug.callback(partial(note, "debug.callback"), x)
        return x

    run(x).block_until_ready()
    jax.effects_barrier()
    return seen


@wrong(
    rejected_by="the_host_gets_an_array_on_the_cpu",
    says="The documented text is written down, and no host is called.",
)
def writes_down_the_text(x):
    text = f"jax.Array {x.dtype}{list(x.shape)} on cpu"
    return dict.fromkeys(("pure_callback", "io_callback", "debug.callback"), text)


@alternative
def in_one_program(x):
    seen = {}

    def note(kind, value):
        seen[kind] = describe(value)
        return np.int32(0)

    @jax.jit
    def run(x):
        jax.debug.callback(partial(note, "debug.callback"), x)
        asked = io_callback(partial(note, "io_callback"), np.int32(0), x)
        return asked, jax.pure_callback(partial(note, "pure_callback"), np.int32(0), x)

    jax.block_until_ready(run(x))
    jax.effects_barrier()
    return {kind: seen[kind] for kind in ("pure_callback", "io_callback", "debug.callback")}


@wrong(rejected_by="all_three_kinds_are_called", says="`describe` is called in Python, and no host is called.")
def calls_describe_itself(x):
    return {kind: describe(jnp.asarray(x)) for kind in ("pure_callback", "io_callback", "debug.callback")}


@hidden(idea="A matrix of whole numbers, and a single number.", on="a matrix of integers, and a single integer")
def any_array_arrives(answer):
    """A matrix and a single number arrive as they are."""
    for shape in ((2, 4), ()):
        got = arrived(answer, np.ones(shape, np.int32))
        text = f"jax.Array int32{list(shape)} on cpu"
        message = f"Each host function should get a {text}."
        expect_that(all(one == text for one in got.values()), message, got, text)


@hidden(
    stage="cost",
    required=True,
    idea="All three kinds are called: what the host gets is seen on the host.",
    on="a vector of three floats",
)
def all_three_kinds_are_called(answer):
    """The program holds a call of each kind."""
    try:
        seen = answer.program(np.ones(3, np.float32)).primitives
    except StudentError as raised:
        if any(one in str(raised) for one in ("block_until_ready", "KeyError")):
            return  # waiting by this method cannot be traced, nor reading what a host function would have noted
        raise
    missing = [name for name in ("pure_callback", "io_callback", "debug_callback") if name not in seen]
    expect_that(not missing, "There should be a call of each kind.", f"no {', '.join(missing)}", "all three")


# %% sines_two_ways
@answer(
    notice="In the scan `noisy_sine` gets single numbers, and under `vmap` the whole batch: one promise serves both.",
    another_way="`jax.lax.map` is the same scan; and one callback on all of `xs`, without `vmap`, is one call, too.",
)
def sines_two_ways(xs):
    def one(x):
        promise = jax.ShapeDtypeStruct(x.shape, jnp.float32)
        return jax.pure_callback(noisy_sine, promise, x, vmap_method="expand_dims")

    _, looped = jax.lax.scan(lambda carry, x: (carry, one(x)), None, xs)
    return looped, jax.vmap(one)(xs)


@alternative
@jax.jit
def map_and_a_whole_vector(xs):
    looped = jax.lax.map(lambda x: jax.pure_callback(noisy_sine, jax.ShapeDtypeStruct((), xs.dtype), x), xs)
    return looped, jax.pure_callback(noisy_sine, jax.ShapeDtypeStruct(xs.shape, xs.dtype), xs)


@alternative
def broadcast_all_of_them(xs):
    call = partial(jax.pure_callback, noisy_sine, jax.ShapeDtypeStruct((), jnp.float32), vmap_method="broadcast_all")
    return jax.lax.scan(lambda carry, x: (carry, call(x)), 0, xs)[1], jax.vmap(call)(xs)


@wrong(
    rejected_by="one_host_call_for_the_batch", says="`sequential` calls the host for each row.", misses_the_point=True
)
def sequential_batch(xs):
    call = partial(jax.pure_callback, noisy_sine, jax.ShapeDtypeStruct((), jnp.float32), vmap_method="sequential")
    return jax.lax.scan(lambda carry, x: (carry, call(x)), 0, xs)[1], jax.vmap(call)(xs)


@wrong(rejected_by="the_scan_stays_a_loop", says="A Python loop is written out in the program.")
def python_loop(xs):
    call = partial(jax.pure_callback, noisy_sine, jax.ShapeDtypeStruct((), jnp.float32), vmap_method="expand_dims")
    return jnp.stack([call(x) for x in xs]), jax.vmap(call)(xs)


@wrong(rejected_by="one_host_call_for_the_batch", says="The result of the batch is used for both.")
def one_call_for_both(xs):
    call = partial(jax.pure_callback, noisy_sine, jax.ShapeDtypeStruct((), jnp.float32), vmap_method="expand_dims")
    sines = jax.vmap(call)(xs)
    return jax.lax.scan(lambda carry, x: (carry, x), 0, sines)[1], sines


@wrong(rejected_by="both_ways_give_sines", says="The sines are added up.")
def adds_them_up(xs):
    call = partial(jax.pure_callback, noisy_sine, jax.ShapeDtypeStruct((), jnp.float32), vmap_method="expand_dims")
    _, looped = jax.lax.scan(lambda carry, x: (carry, call(x)), 0, xs)
    return looped, jnp.cumsum(jax.vmap(call)(xs))


@wrong(rejected_by="any_length", says="A batch of one is taken for no batch.")
def squeezes_one_number(xs):
    call = partial(jax.pure_callback, noisy_sine, jax.ShapeDtypeStruct((), jnp.float32), vmap_method="expand_dims")
    return jax.lax.scan(lambda carry, x: (carry, call(x)), 0, xs)[1], jnp.squeeze(jax.vmap(call)(xs))


equivalent("0ec5fb5d6e", because="A call with all numbers needs no `vmap`.")
equivalent("fb9c8f5249", because="Both vectors hold the same sines.")


@hidden(idea="Three numbers, and one number.", on="a vector of three numbers, and of one")
def any_length(answer, draw):
    """For three numbers and for one both ways give sines."""
    for n in (3, 1):
        xs = draw.floats(n)
        for part in parts(answer(xs), 2):
            expect_close(part, np.sin(np.asarray(xs)), "Both vectors should hold the sines.")


@wrong(rejected_by="the_scan_gives_the_documented_sines", says="The scan gives what it starts from.", lacks="S4-16")
def passes_the_numbers_on(xs):
    call = partial(jax.pure_callback, noisy_sine, jax.ShapeDtypeStruct((), jnp.float32), vmap_method="expand_dims")
    return jax.lax.scan(lambda carry, x: (call(x), x), jnp.float32(0), xs)[1], jax.vmap(call)(xs)


# %% try_call
@answer(
    notice="The exceptions have many classes, down to `Exception` itself, so all of them are caught. The list is read "
    "after `jax.effects_barrier()`.",
    another_way="Counting calls would not tell in which order they came.",
)
def try_call(kind, situation):
    seen = []

    def host(value):
        seen.append(float(value))
        return np.asarray(value)

    try:
        jax.block_until_ready(situation(lambda x: kind(host, x)))
        jax.effects_barrier()
    except Exception as error:
        return seen, f"{type(error).__name__}: {error}"
    return seen, ""


@alternative
def error_in_a_variable(kind, situation):
    seen, text = [], ""

    def host(value):
        seen.append(np.float32(value))
        return value

    try:
        jax.tree.map(lambda leaf: leaf.block_until_ready(), situation(partial(kind, host)))
    except BaseException as error:
        text = type(error).__name__ + ": " + str(error)
    jax.effects_barrier()
    return [seen, text]


@wrong(
    rejected_by="the_row_of_pure_callback",
    says="The page is believed: a pure call is mapped without `vmap_method`.",
    lacks="S4-07",
)
def believes_that_pure_calls_are_mapped(kind, situation):
    if kind is by_pure and situation is under_vmap:
        kind = by_pure_sequential
    seen, text = [], ""

    def host(value):
        seen.append(float(value))
        return np.asarray(value)

    try:
        jax.block_until_ready(situation(lambda x: kind(host, x)))
        jax.effects_barrier()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    return seen, text


@wrong(
    rejected_by="the_row_of_io_callback",
    says="An io call whose value is not used is believed to be dropped.",
    lacks="S4-08",
)
def believes_that_io_calls_are_dropped(kind, situation):
    seen, text = [], ""

    def host(value):
        seen.append(float(value))
        return np.asarray(value)

    try:
        jax.block_until_ready(situation(lambda x: kind(host, x)))
        jax.effects_barrier()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    return ([], "") if kind is by_io and situation is value_unused else (seen, text)


@wrong(
    rejected_by="the_row_of_debug_callback",
    says="A debug callback is believed to run in each step.",
    lacks="S4-09",
)
def believes_that_debug_calls_run_in_each_step(kind, situation):
    seen, text = [], ""

    def host(value):
        seen.append(float(value))
        return np.asarray(value)

    try:
        jax.block_until_ready(situation(lambda x: kind(host, x)))
        jax.effects_barrier()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    return seen * 3 if situation is same_in_scan_under_grad else seen, text


@wrong(rejected_by="an_ordered_call_is_not_mapped", says="The order is left out where JAX refuses it.", lacks="S4-11")
def leaves_the_order_out(kind, situation):
    seen, text = [], ""

    def host(value):
        seen.append(float(value))
        return np.asarray(value)

    try:
        jax.block_until_ready(situation(lambda x: (by_io if kind is by_io_ordered else kind)(host, x)))
        jax.effects_barrier()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    return seen, text


@wrong(
    rejected_by="mapped_loops_are_complicated", says="The numbers are sorted, and their order is lost.", lacks="S4-12"
)
def sorts_the_numbers(kind, situation):
    seen, text = [], ""

    def host(value):
        seen.append(float(value))
        return np.asarray(value)

    try:
        jax.block_until_ready(situation(lambda x: kind(host, x)))
        jax.effects_barrier()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    return sorted(seen), text


@wrong(
    rejected_by="an_ordered_call_is_not_mapped", says="The class of the exception is left out.", misses_the_point=True
)
def message_only(kind, situation):
    seen = []

    def host(value):
        seen.append(float(value))
        return np.asarray(value)

    try:
        jax.block_until_ready(situation(lambda x: kind(host, x)))
        jax.effects_barrier()
    except Exception as error:
        return seen, str(error)
    return seen, ""


@wrong(rejected_by="mapped_loops_are_complicated", says="Only a few classes of exceptions are caught.")
def catches_some_classes(kind, situation):
    seen = []

    def host(value):
        seen.append(float(value))
        return np.asarray(value)

    try:
        jax.block_until_ready(situation(lambda x: kind(host, x)))
        jax.effects_barrier()
    except (ValueError, NotImplementedError, TypeError) as error:
        return seen, f"{type(error).__name__}: {error}"
    return seen, ""


@wrong(rejected_by="other_kinds_of_calls", says="The kinds and situations of the lesson are known by name.")
def knows_them_by_name(kind, situation):
    known = ("by_pure", "by_pure_sequential", "by_io", "by_io_ordered", "by_debug")
    seen, text = [], ""

    def host(value):
        seen.append(float(value))
        return np.asarray(value)

    try:
        jax.block_until_ready(situation(lambda x: kind(host, x)))
        jax.effects_barrier()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    return (seen, text) if kind.__name__ in known else (seen[:1], text)


@wrong(rejected_by="other_kinds_of_calls", says="The situation is run twice, once to warm up.")
def warms_up(kind, situation):
    seen, text = [], ""

    def host(value):
        seen.append(float(value))
        return np.asarray(value)

    try:
        if situation in (value_used, under_jit, under_vmap, under_grad, in_loops, value_unused, vmap_of_scan):
            jax.block_until_ready(situation(lambda x: kind(lambda value: np.asarray(value), x)))
        else:
            jax.block_until_ready(situation(lambda x: kind(host, x)))
        seen.clear()
        jax.block_until_ready(situation(lambda x: kind(host, x)))
        jax.effects_barrier()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    return seen, text


@input
def twice_by_io(host, x):
    first = io_callback(host, jax.ShapeDtypeStruct((), x.dtype), x, ordered=True)
    return first + io_callback(host, jax.ShapeDtypeStruct((), x.dtype), -x, ordered=True)


@input
def loudly(f):
    print("run")
    return jax.jit(lambda x: f(x) + f(2 * x))(4.0)


@input
def raises_an_error_of_its_own(f):
    f(jnp.float32(3.0))
    raise KeyError("stop")


@hidden(
    idea="Any kind in any situation is tried, once.",
    on="a kind of call and situations that are not in the lesson",
)
def other_kinds_of_calls(answer):
    """Two calls are seen as two, in order; a situation is run once; and any exception is reported."""
    seen = answer.observe(given(twice_by_io), given(loudly))
    numbers, error = parts(seen.value, 2)
    right = [number(one) for one in numbers] == [4, -4, 8, -8] and error == ""
    expect_that(right, "There should be four calls, in order, and no error.", seen.value, "four calls")
    expect_that(seen.lines == ["run"], "The situation should be run once.", seen.lines, "once")
    numbers, error = parts(answer(given("by_io"), given(raises_an_error_of_its_own)), 2)
    right = [number(one) for one in numbers] == [3] and error.startswith("KeyError: ")
    expect_that(right, "The call should be seen, and the exception reported with its class.", error, "KeyError: ...")


@hidden(idea="`by_debug` in `vmap_of_scan`.", on="a debug callback in vmap of scan")
def any_pair(answer):
    """Another pair is tried as well."""
    seen, error = tried(answer, "by_debug", "vmap_of_scan")
    expect_that((sorted(seen), error) == ([0, 1, 10, 11], ""), "There should be 4 calls, and no error.", [seen, error])


# %% host_stream
@answer(
    notice="The stream is opened in Python, and asked by the program: each call takes what comes next.",
    another_way="`jax.lax.map` with an ordered callback is the same scan. For random numbers, use `jax.random`: keys "
    "need no order at all.",
)
def host_stream(how, open_stream, x):
    draw = open_stream()

    def like(row, ordered=False):
        return io_callback(draw, jax.ShapeDtypeStruct(row.shape, row.dtype), row, ordered=ordered)

    if how == "whole":
        return jax.jit(like)(x)
    if how == "mapped":
        return jax.vmap(like)(x)
    if how == "mapped, ordered":
        return jax.vmap(partial(like, ordered=True))(x)
    if how == "scan":
        return jax.lax.scan(lambda carry, row: (carry, like(row, True)), None, x)[1]
    return jax.grad(lambda x: like(x).sum())(x)


@alternative
def a_table_of_ways(how, open_stream, x):
    draw, x = open_stream(), jnp.asarray(x)
    like = jax.jit(lambda x: io_callback(draw, x, x))
    in_order = jax.jit(lambda x: io_callback(draw, x, x, ordered=True))
    ways = {
        "whole": like,
        "mapped": jax.jit(jax.vmap(like)),
        "mapped, ordered": jax.vmap(in_order),
        "scan": partial(jax.lax.map, in_order),
        "slope": jax.grad(lambda x: jnp.sum(like(x))),
    }
    return ways[how](x)


def _stream(how, open_stream, x):
    draw = open_stream()

    def like(row, ordered=False):
        return io_callback(draw, jax.ShapeDtypeStruct(row.shape, row.dtype), row, ordered=ordered)

    ways = {
        "whole": jax.jit(like),
        "mapped": jax.vmap(like),
        "mapped, ordered": jax.vmap(partial(like, ordered=True)),
        "scan": partial(jax.lax.map, partial(like, ordered=True)),
        "slope": jax.grad(lambda x: like(x).sum()),
    }
    return ways[how](x)


@wrong(rejected_by="the_whole_vector_is_drawn_at_once", says="The vector is drawn number by number.", lacks="S4-21")
def the_whole_number_by_number(how, open_stream, x):
    if how == "whole":
        draw = open_stream()
        return jax.jit(jax.vmap(lambda row: io_callback(draw, row, row)))(x)
    return _stream(how, open_stream, x)


@wrong(rejected_by="mapped_numbers_are_drawn_singly", says="The mapped numbers are drawn in one call.", lacks="S4-22")
def maps_by_one_call(how, open_stream, x):
    return _stream("whole" if how == "mapped" else how, open_stream, x)


@wrong(
    rejected_by="mapped_numbers_have_no_order",
    says="An ordered loop takes the place of `vmap`, and promises what nobody asked for.",
    lacks="S4-23",
)
def a_scan_for_vmap(how, open_stream, x):
    return _stream("scan" if how == "mapped" else how, open_stream, x)


@wrong(rejected_by="ordered_calls_are_not_mapped", says="The order is forgotten.", lacks="S4-24")
def forgets_the_order_of_the_mapped(how, open_stream, x):
    return _stream("mapped" if how == "mapped, ordered" else how, open_stream, x)


@wrong(rejected_by="the_scan_draws_in_order", says="The order in the scan is left to chance.", lacks="S4-25")
def scan_without_order(how, open_stream, x):
    if how == "scan":
        draw = open_stream()
        return jax.lax.scan(lambda carry, row: (carry, io_callback(draw, row, row)), None, x)[1]
    return _stream(how, open_stream, x)


@wrong(
    rejected_by="a_stream_has_no_slope",
    says="The stream is hidden from the derivative, which is then 0.",
    lacks="S4-26",
)
def stops_the_gradient(how, open_stream, x):
    if how == "slope":
        draw = open_stream()
        return jax.grad(lambda x: io_callback(draw, x, jax.lax.stop_gradient(x)).sum())(x)
    return _stream(how, open_stream, x)


@wrong(rejected_by="ordered_calls_are_not_mapped", says="JAX's errors are raised by hand.")
def raises_by_hand(how, open_stream, x):
    if how == "mapped, ordered":
        raise ValueError("Cannot `vmap` ordered IO callback.")
    if how == "slope":
        raise ValueError("IO callbacks do not support JVP.")
    return _stream(how, open_stream, x)


@wrong(rejected_by="ordered_calls_are_not_mapped", says="JAX's errors are caught, and zeros returned.")
def catches_errors(how, open_stream, x):
    try:
        return _stream(how, open_stream, x)
    except ValueError:
        return jnp.zeros_like(x)


@wrong(
    rejected_by="the_whole_vector_is_drawn_at_once",
    says="A pure callback draws, though each draw changes the stream.",
)
def pure_callback_for_a_stream(how, open_stream, x):
    draw = open_stream()
    like = lambda x: jax.pure_callback(draw, x, x, vmap_method="sequential")
    if how in ("mapped", "mapped, ordered"):
        return jax.vmap(like)(x)
    if how == "scan":
        return jax.lax.map(like, x)
    return like(x) if how == "whole" else jax.grad(lambda x: like(x).sum())(x)


@wrong(
    rejected_by="the_scan_draws_in_order",
    says="Python loops over the numbers, and calls the host for each.",
    misses_the_point=True,
)
def python_loops(how, open_stream, x):
    if how in ("mapped", "scan"):
        draw = open_stream()
        return jnp.stack([io_callback(draw, row, row) for row in jnp.asarray(x)])
    return _stream(how, open_stream, x)


@wrong(rejected_by="no_python_loop_draws", says="Python loops over what should be mapped.")
def loops_over_the_mapped(how, open_stream, x):
    if how == "mapped":
        draw = open_stream()
        return jnp.stack([io_callback(draw, row, row) for row in jnp.asarray(x)])
    return _stream(how, open_stream, x)


@wrong(rejected_by="the_whole_vector_is_drawn_at_once", says="NumPy draws alone, without JAX.", misses_the_point=True)
def no_callback_at_all(how, open_stream, x):
    draw, x = open_stream(), np.asarray(x)
    if how == "whole":
        return jax.jit(lambda x: x)(draw(x))
    if how in ("mapped", "scan"):
        return jnp.asarray(np.stack([draw(row) for row in x]))
    return _stream(how, fresh_stream, x)


@wrong(rejected_by="another_stream_is_read", says="Python draws while it traces, before anything runs.")
def knows_the_stream(how, open_stream, x):
    after = {"mapped": stream_after_five, "scan": stream_after_ten}.get(how, fresh_stream)
    return _stream(how, after if open_stream in (stream_after_five, stream_after_ten) else fresh_stream, x)


equivalent("bbd4d52548", because="The slope is refused before anything is added up.")
equivalent("35e862f3cb", because="The slope is refused before anything is added up.")
equivalent("6e357d0a45", because="The slope is refused before anything is added up.")
equivalent("8a076ac231", because="An array of NumPy has the same numbers.")
equivalent("8e19ba1c45", because="The slope is positive.")


@input
def tickets():
    machine = iter(range(1, 1000))

    def draw(x):
        print("tickets", np.shape(x))
        return np.reshape([next(machine) for _ in range(np.size(x))], np.shape(x)).astype(np.float32)

    return draw


@hidden(
    required=True,
    idea="Any stream can be read, by vectors of one number or many.",
    on="a stream that is not in the lesson, and one number or several",
)
def another_stream_is_read(answer, draw):
    """Another stream is read from its beginning, in one call for all numbers, or in one for each."""
    for n in (1, draw.integer(2, 9)):
        x, wanted = draw.floats(n), np.arange(1, n + 1, dtype=np.float32)
        for how in ("whole", "mapped", "scan"):
            lines = [f"tickets ({n},)"] if how == "whole" else ["tickets ()"] * n
            seen = answer.observe(how, given(tickets), x)
            expect_that(seen.lines == lines, "The host should be called once for all, or once for each.", seen.lines)
            got = np.asarray(seen.value)
            expect_that(got.shape == (n,), "There should be a number for each of x.", got)
            if how == "mapped":
                got = np.sort(got)
            expect_close(got, wanted, "The numbers should be those of the stream.")


# %% log_and_greet
@answer(
    notice="The `io_callback` gets nothing that is differentiated, so `grad` leaves it alone. The debug callback may "
    "get anything.",
    another_way="`jax.lax.stop_gradient(x)` hides x from `grad`, so that an `io_callback` may get it.",
)
@jax.jit
def log_and_greet(x):
    jax.debug.callback(log_value, x)
    io_callback(say_hello, None)
    return x


@alternative
def logs_by_debug_print(x):
    @jax.jit
    def run(x):
        io_callback(lambda: (say_hello(), np.int32(0))[1], np.int32(0))
        jax.debug.print("log: {}", x)
        return x

    return run(x)


@wrong(
    rejected_by="it_logs_alone",
    says="A pure callback that nobody needs is dropped.",
)
@jax.jit
def a_pure_callback_for_the_log(x):
    jax.pure_callback(lambda v: (log_value(v), np.int32(0))[1], np.int32(0), x, vmap_method="sequential")
    io_callback(say_hello, None)
    return x


@wrong(rejected_by="it_logs_alone", says="Python logs the tracer.", lacks="S4-30", misses_the_point=True)
@jax.jit
def logs_the_tracer(x):
    log_value(x)
    io_callback(say_hello, None)
    return x


@wrong(rejected_by="it_logs_each_row", says="The line is written down, for all numbers.", lacks="S4-31")
@jax.jit
def writes_the_line_down(x):
    jax.debug.callback(lambda value: print("log: 1.0"), x)
    io_callback(say_hello, None)
    return x


@wrong(
    rejected_by="it_logs_under_grad",
    says="What is in a checkpoint is computed again for the gradient, and logged again.",
    lacks="S4-32",
)
@jax.jit
def logs_in_a_checkpoint(x):
    jax.checkpoint(lambda x: (jax.debug.callback(log_value, x), jnp.sin(x))[1])(x)
    io_callback(say_hello, None)
    return x


@wrong(rejected_by="it_greets_under_grad", says="The greeting is only watched, by a debug callback.", lacks="S4-27")
@jax.jit
def greets_by_a_debug_callback(x):
    jax.debug.callback(log_value, x)
    jax.debug.callback(say_hello)
    return x


@wrong(rejected_by="it_logs_under_grad", says="The greeting gets x, and so it has no derivative.")
@jax.jit
def greets_with_x(x):
    jax.debug.callback(log_value, x)
    io_callback(lambda value: say_hello(), None, x)
    return x


@wrong(rejected_by="it_logs_under_grad", says="An io_callback that gets x has no derivative.")
@jax.jit
def logs_by_an_io_callback(x):
    io_callback(log_value, None, x)
    io_callback(say_hello, None)
    return x


@wrong(rejected_by="both_calls_are_jitted", says="Nothing is jitted.")
def without_jit(x):
    jax.debug.callback(log_value, x)
    io_callback(say_hello, None)
    return x


@hidden(
    stage="gradient",
    kind="observed",
    idea="`jit` of `vmap` of `grad`, for three rows.",
    on="three numbers, under jit of vmap of grad",
)
def it_logs_under_jit_of_vmap_of_grad(answer, draw):
    """Under jit of vmap of grad each row is logged."""
    xs = np.array([draw.integer(1, 99) for _ in range(3)], np.float32)
    seen = answer.grad().vmap().jit.observe(xs)
    expect_close(seen.value, np.ones(3, np.float32))
    wanted = sorted(f"log: {x}" for x in xs)
    expect_that(log_lines(seen) == wanted, "Each row should be logged once.", seen.lines, wanted)


# %% what_debug_sees
@answer(
    notice="JAX decides how often f is computed, and the callback runs as often.",
    another_way="`jax.debug.print` shows the same; but a list can be counted.",
)
def what_debug_sees(transform, x):
    seen, came_back = [], []

    def host(value):
        seen.append(float(value))
        return 42

    def f(x):
        came_back.append(str(jax.debug.callback(host, x)))
        return jnp.sin(x)

    jax.block_until_ready(transform(f, x))
    jax.effects_barrier()
    return seen, came_back[0]


@alternative
def notes_numpy_numbers(transform, x):
    seen, text = [], ""

    def f(x):
        nonlocal text
        text = repr(jax.debug.callback(lambda value: (seen.append(value), 42)[1], x))
        return jnp.sin(x)

    transform(f, x)
    jax.effects_barrier()
    return [np.float32(value) for value in seen], text


@wrong(rejected_by="it_mirrors_what_runs", says="Python counts while it traces.", misses_the_point=True, lacks="S4-29")
def counts_traces(transform, x):
    seen = []

    def f(value):
        seen.append(float(x))
        return jnp.sin(value)

    transform(f, x)
    return seen, "None"


@wrong(rejected_by="it_mirrors_what_runs", says="The host's 42 is expected to come back.")
def expects_42(transform, x):
    seen = []

    def f(x):
        jax.debug.callback(lambda value: seen.append(float(value)), x)
        return jnp.sin(x)

    jax.block_until_ready(transform(f, x))
    jax.effects_barrier()
    return seen, "42"


@wrong(rejected_by="it_mirrors_what_runs", says="The result is watched instead of x.")
def watches_the_sine(transform, x):
    seen = []

    def f(x):
        y = jnp.sin(x)
        jax.debug.callback(lambda value: seen.append(float(value)), y)
        return y

    jax.block_until_ready(transform(f, x))
    jax.effects_barrier()
    return seen, "None"


equivalent("952a64c26a", because="What the host function returns is dropped.")
equivalent("f0b32488f3", because="What the host function returns is dropped.")


@hidden(idea="Positive and negative x, 0, and a shape alone.")
def any_x_is_seen(answer, draw):
    """Positive x, negative x and 0 are seen, and None comes back."""
    for x in (draw.integer(2, 99) / 4, -0.5, 0.0):
        calls, came_back = debug_saw(answer, given("gradient_of_checkpoint"), x)
        expect_that(
            calls == 2,
            "Under grad of checkpoint there should be 2 calls.",
            calls,
            2,
            on="a positive x, a negative x, and 0",
        )
        expect_that(
            came_back == "None",
            "Nothing should come back: 'None'.",
            came_back,
            "None",
            on="a positive x, a negative x, and 0",
        )
    got = debug_saw(answer, given("shape_only"), 2.0)
    expect_that(
        got == (0, "None"),
        "For a shape alone there should be no call.",
        got,
        (0, "None"),
        on="a transformation that asks for the shape alone",
    )


@wrong(rejected_by="another_transformation", says="The transformations of the lesson are known by name.")
def knows_them_by_name(transform, x):
    counts = {"plainly": 1, "gradient_of": 1, "gradient_of_checkpoint": 2, "shape_only": 0}
    return [float(x)] * counts.get(transform.__name__, 1), "None"


@input
def three_times(f, x):
    values = [jax.jit(f)(x) for _ in range(3)]
    print(f"f(x) = {float(values[0]):.3f}")
    return sum(values)


@hidden(
    required=True, idea="Whatever runs f, the callback goes along.", on="a transformation that is not in the lesson"
)
def another_transformation(answer):
    """For another transformation, each run of f is seen."""
    lines = answer.observe(given(three_times), np.float32(0.25)).lines
    expect_that(lines == ["f(x) = 0.247"], "f should compute the sine of x.", lines, "f(x) = 0.247")
    calls, came_back = debug_saw(answer, given(three_times), 0.25)
    expect_that((calls, came_back) == (3, "None"), "There should be a call for each run of f.", calls, 3)


# %% inverse_or_nan
@answer(
    notice="`sequential` calls NumPy for each matrix, so that one singular matrix does not spoil the others.",
    another_way="One call for the whole batch is faster; the host function then loops, with `try` in the loop.",
)
def inverse_or_nan(a):
    def host(a):
        a = np.asarray(a)
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return np.full(a.shape, np.nan, a.dtype)

    return jax.pure_callback(host, jax.ShapeDtypeStruct(a.shape, a.dtype), a, vmap_method="sequential")


@alternative
def loops_over_the_batch_on_the_host(a):
    def host(batch):
        batch = np.asarray(batch)
        result = np.full_like(batch, np.nan)
        for index in np.ndindex(batch.shape[:-2]):
            try:
                result[index] = np.linalg.inv(batch[index])
            except np.linalg.LinAlgError:
                continue  # it is NaN already
        return result

    return jax.pure_callback(host, jax.typeof(jnp.asarray(a)), a, vmap_method="broadcast_all")


@wrong(
    rejected_by="tiny_and_stretched_matrices", says="The determinant of a matrix of small numbers may come out as 0."
)
def asks_for_the_determinant(a):
    def host(a):
        a = np.asarray(a)
        return np.linalg.inv(a) if np.linalg.det(a) != 0 else np.full(a.shape, np.nan, np.float32)

    promise = jax.ShapeDtypeStruct(a.shape, jnp.float32)
    return jax.pure_callback(host, promise, a, vmap_method="sequential")


@wrong(rejected_by="numpy_inverts_it", says="The host is asked for nothing, and JAX inverts.")
def asks_and_forgets(a):
    jax.pure_callback(lambda a: np.asarray(a), a, a, vmap_method="sequential")
    inverse = jnp.linalg.inv(a)
    return jnp.where(jnp.isfinite(inverse).all(), inverse, jnp.nan)


@wrong(rejected_by="tiny_and_stretched_matrices", says="The rank is counted up to a tolerance, and NumPy inverts more.")
def asks_for_the_rank_first(a):
    def host(a):
        a = np.asarray(a)
        if np.linalg.matrix_rank(a) < len(a):
            return np.full(a.shape, np.nan, np.float32)
        return np.linalg.inv(a)

    promise = jax.ShapeDtypeStruct(a.shape, jnp.float32)
    return jax.pure_callback(host, promise, a, vmap_method="sequential")


@wrong(rejected_by="a_singular_matrix_gets_nan", says="The exception is caught around the callback.")
def catches_outside(a):
    call = partial(jax.pure_callback, np.linalg.inv, vmap_method="sequential")
    try:
        return call(jax.ShapeDtypeStruct(a.shape, a.dtype), a)
    except np.linalg.LinAlgError:
        return jnp.full(a.shape, jnp.nan)


@wrong(rejected_by="under_jit_it_gives_nan_too", says="Without jit the exception can be caught; under jit not.")
def catches_every_exception_outside(a):
    call = partial(jax.pure_callback, np.linalg.inv, vmap_method="sequential")
    try:
        return jax.block_until_ready(call(jax.ShapeDtypeStruct(a.shape, a.dtype), a))
    except Exception:
        return jnp.full(a.shape, jnp.nan)


@wrong(rejected_by="in_a_batch_each_counts_for_itself", says="One call for the batch: NumPy raises for all matrices.")
def one_call_spoils_all(a):
    def host(a):
        a = np.asarray(a)
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return np.full(a.shape, np.nan, a.dtype)

    return jax.pure_callback(host, jax.ShapeDtypeStruct(a.shape, a.dtype), a, vmap_method="broadcast_all")


@wrong(rejected_by="numpy_inverts_it", says="JAX's own inverse is taken, and no host is asked.", misses_the_point=True)
def jnp_instead(a):
    inverse = jnp.linalg.inv(a)
    return jnp.where(jnp.isfinite(inverse).all(), inverse, jnp.nan)


@wrong(rejected_by="a_singular_matrix_gets_nan", says="A pseudo-inverse is always there.")
def pseudo_inverse(a):
    promise = jax.ShapeDtypeStruct(a.shape, a.dtype)
    return jax.pure_callback(lambda a: np.linalg.pinv(np.asarray(a)), promise, a, vmap_method="sequential")


@hidden(
    stage="jit",
    required=True,
    idea="Matrices of tiny numbers, or with a large and a tiny one: NumPy inverts them.",
    on="a diagonal matrix with very small entries",
)
def tiny_and_stretched_matrices(answer):
    """Tiny and stretched matrices get the inverse that NumPy gives."""
    for numbers in ((1e-25, 1e-25), (1.0, 1e-9)):
        matrix = np.diag(np.float32(numbers))
        expect_close(answer.jit(matrix), np.linalg.inv(matrix), "This matrix should get its inverse.", rtol=1e-4)


@hidden(stage="jit", required=True, idea="Matrices of one number, a batch of one, and a batch of batches.")
def one_number_and_one_matrix(answer):
    """A matrix of one number and a batch of one matrix are inverted, and a batch of batches is."""
    expect_close(answer.jit(np.float32([[4.0]])), np.float32([[0.25]]), on="a matrix of one number")
    expect_close(
        answer.jit(np.float32([[0.0]])),
        np.float32([[np.nan]]),
        "The matrix [[0]] should give NaN.",
        on="a singular matrix of one number",
    )
    expect_close(
        answer.vmap()(REGULAR[None]),
        np.linalg.inv(REGULAR)[None],
        "A batch of one should give one inverse.",
        on="a batch of one matrix",
    )
    got = np.asarray(answer.vmap().vmap()(np.stack([REGULAR, SINGULAR])[None]))
    nan = np.isnan(got).all(axis=(2, 3)).tolist()
    expect_that(
        nan == [[False, True]],
        "Only the singular matrix should give NaN.",
        nan,
        [[False, True]],
        on="a batch of batches of matrices",
    )


@hidden(idea="Matrices of three by three, regular and singular.")
def any_size(answer):
    """It works for 3 by 3 matrices, regular and singular."""
    regular = np.array([[2, 0, 1], [0, 4, 0], [0, 0, 1]], np.float32)
    expect_close(answer(regular), np.linalg.inv(regular), on="a regular matrix of 3 rows and 3 columns")
    expect_close(
        answer(np.ones((3, 3), np.float32)),
        np.full((3, 3), np.nan, np.float32),
        on="a singular matrix of 3 rows and 3 columns",
    )


# %% callback_cost
@answer(
    notice="Two sizes are enough for a line. The larger they differ, the less the clock's noise counts.",
    another_way="Many sizes and a straight line by `np.polyfit` even out a real clock.",
)
def callback_cost(start_machine):
    def seconds(size):
        machine = start_machine(size)
        machine.run().block_until_ready()
        before = machine.clock()
        machine.run().block_until_ready()
        return machine.clock() - before

    small, large = 4, 2**24
    per_byte = (seconds(large) - seconds(small)) / (large - small)
    return seconds(small) - small * per_byte, per_byte


@alternative
def a_line_through_many(start_machine):
    sizes, times = [2**k for k in range(4, 25, 4)], []
    for size in sizes:
        machine = start_machine(size)
        jax.block_until_ready(machine.run())
        before = machine.clock()
        for _ in range(3):
            machine.run().block_until_ready()
        times.append((machine.clock() - before) / 3)
    per_byte, per_call = np.polyfit(sizes, times, 1)
    return per_call, per_byte


@wrong(
    rejected_by="the_costs_of_the_slow_link", says="One size cannot tell the two costs apart.", misses_the_point=True
)
def one_size(start_machine):
    machine = start_machine(2**20)
    machine.run().block_until_ready()
    before = machine.clock()
    machine.run().block_until_ready()
    seconds = machine.clock() - before
    return seconds, seconds / 2**20


@wrong(rejected_by="the_costs_of_the_slow_link", says="The call comes back before its result is there.")
def does_not_wait(start_machine):
    def seconds(size):
        machine = start_machine(size)
        machine.run().block_until_ready()
        before = machine.clock()
        machine.run()
        return machine.clock() - before

    return seconds(4), (seconds(2**24) - seconds(4)) / (2**24 - 4)


@wrong(rejected_by="the_costs_of_the_slow_link", says="The first call compiles.")
def measures_the_compiler(start_machine):
    def seconds(size):
        machine = start_machine(size)
        before = machine.clock()
        machine.run().block_until_ready()
        return machine.clock() - before

    per_byte = (seconds(2**24) - seconds(4)) / (2**24 - 4)
    return seconds(4) - 4 * per_byte, per_byte


@wrong(rejected_by="other_links_are_measured", says="The few bytes of the small call are taken for none.")
def few_bytes_are_none(start_machine):
    def seconds(size):
        machine = start_machine(size)
        machine.run().block_until_ready()
        before = machine.clock()
        machine.run().block_until_ready()
        return machine.clock() - before

    return seconds(64), (seconds(2**24) - seconds(64)) / 2**24


equivalent("2a4369c6b2", because="The times lie on a line, so any two sizes give it.")
equivalent("1a56bec35c", because="The times lie on a line, so any two sizes give it.")
equivalent("241577551b", because="The times lie on a line, so any two sizes give it.")
equivalent("5b346f4f24", because="The times lie on a line, so any two sizes give it.")
equivalent("2971517bc9", because="4 bytes are nothing beside 2**24.")
equivalent("3f60ea1ae6", because="4 bytes are nothing beside 2**24.")
equivalent("5bfccd070c", because="Any two sizes that lie far apart will do.")
equivalent("6d4b4a6eca", because="Any two sizes that lie far apart will do.")
equivalent("8d6d31aae8", because="Any two sizes that lie far apart will do.")


@input
def slow_bytes(size):
    return simulated_machine(compile_s=1.0, dispatch_s=1e-6, work_s=1e-6 + 2e-6 * size)


@input
def slow_calls(size):
    return simulated_machine(dispatch_s=0.25, work_s=0.5 + 1e-7 * size)


@hidden(idea="Other links cost otherwise.", on="links with dear bytes, or with dear calls")
def other_links_are_measured(answer):
    """Links with other costs are measured as well."""
    expect_costs(answer(given(slow_bytes)), 2e-6, 2e-6)
    expect_costs(answer(given(slow_calls)), 0.75, 1e-7)


# %% is_copied
@answer(
    notice="What happens on the host stays in Python's memory: a list takes the address, and the program's value is a "
    "dummy.",
    another_way="A change of the host's array would show it, too, but it is read-only.",
)
def is_copied(look, x):
    seen = []

    def host(value):
        seen.append(look(value))
        return np.int32(0)

    promise = jax.ShapeDtypeStruct((), jnp.int32)
    jax.jit(lambda x: jax.pure_callback(host, promise, x))(x).block_until_ready()
    own = x.unsafe_buffer_pointer()
    return own, seen[0], own != seen[0]


@alternative
def returns_the_array_itself(look, x):
    found = {}

    @jax.jit
    def run(x):
        def host(value):
            found["host"] = look(value)
            return np.asarray(value)

        return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    jax.block_until_ready(run(x))
    own = np.asarray(x).ctypes.data
    return [own, found["host"], np.bool_(own != found["host"])]


@wrong(rejected_by="the_host_gets_a_copy", says="The page is believed: nothing is copied.", lacks="S4-42")
def believes_the_page(look, x):
    seen = []

    def host(value):
        seen.append(look(value))
        return np.int32(0)

    promise = jax.ShapeDtypeStruct((), jnp.int32)
    jax.jit(lambda x: jax.pure_callback(host, promise, x))(x).block_until_ready()
    return x.unsafe_buffer_pointer(), seen[0], False


@wrong(
    rejected_by="the_host_gets_a_copy",
    says="The address is looked up outside of the host function.",
    misses_the_point=True,
)
def looks_outside_the_host(look, x):
    own, hosts = x.unsafe_buffer_pointer(), look(x)
    return own, hosts, own != hosts


@wrong(rejected_by="the_host_gets_a_copy", says="Nobody uses the value, so the host function never runs.")
def the_value_is_not_used(look, x):
    seen = []

    @jax.jit
    def run(x):
        jax.pure_callback(lambda value: (seen.append(look(value)), np.int32(0))[1], np.int32(0), x)
        return x

    run(x).block_until_ready()
    own, hosts = x.unsafe_buffer_pointer(), seen[0] if seen else 0
    return own, hosts, own != hosts


@wrong(rejected_by="the_host_gets_a_copy", says="`id` is taken for the address of the numbers.")
def ids_for_addresses(look, x):
    seen = []

    def host(value):
        look(value)
        seen.append(id(value))
        return np.int32(0)

    promise = jax.ShapeDtypeStruct((), jnp.int32)
    jax.jit(lambda x: jax.pure_callback(host, promise, x))(x).block_until_ready()
    return id(x), seen[0], id(x) != seen[0]


@wrong(rejected_by="the_look_decides", says="An address is made up, which differs from that of x.")
def makes_an_address_up(look, x):
    seen = []

    def host(value):
        seen.append(look(value))
        return np.int32(0)

    promise = jax.ShapeDtypeStruct((), jnp.int32)
    jax.jit(lambda x: jax.pure_callback(host, promise, x))(x).block_until_ready()
    own = x.unsafe_buffer_pointer()
    return own, seen[0] if seen[0] > 4096 else own + 64, True


@wrong(rejected_by="the_look_decides", says="`look` gets a copy that the answer has made.")
def copies_itself(look, x):
    seen = []

    def host(value):
        seen.append(look(np.array(value)))
        return np.int32(0)

    jax.jit(lambda x: jax.pure_callback(host, np.int32(0), x))(x).block_until_ready()
    return x.unsafe_buffer_pointer(), seen[0], True


equivalent("e84480331d", because="The host gets a copy without `jit`, too.")
equivalent("1879dfb887", because="The value of the callback is a dummy.")


@input
def low_address(value):
    print("the host sees", "another copy" if np.asarray(value).flags.owndata else 64)
    return 64


@hidden(kind="relation", required=True, idea="What `look` returns is the address.", on="another function to look with")
def the_look_decides(answer):
    """With a function that returns a fixed address, this is the host's."""
    seen = answer.observe(given(low_address), jnp.ones(777))
    own, hosts, copied = parts(seen.value, 3)
    message = "The host's address should be the one that `look` returns."
    expect_that(number(hosts) == 64 and bool(copied), message, hosts)
    message = "`look` should be called once, with what the host function gets."
    expect_that(seen.lines == ["the host sees 64"], message, seen.lines, "the host sees 64")
    expect_that(number(own) > 4096, "The first value should be the address of x.", own)


# %% solve_with_scipy
@answer(
    notice="SciPy's `x` is a vector of one number, which would break the promise of a single number.",
    another_way="If the solver's steps are in JAX, such as those of `jax.scipy.optimize.minimize`, nothing leaves the "
    "program, and there is a derivative.",
)
def solve_with_scipy(start, radii, light, most):
    promise = {
        "width": jax.ShapeDtypeStruct((), jnp.float32),
        "steps": jax.ShapeDtypeStruct((), jnp.int32),
        "ok": jax.ShapeDtypeStruct((), jnp.bool_),
    }

    def host(start, radii, light):
        found = scipy.optimize.minimize(
            loss_on_host,
            np.asarray(start),
            args=(np.asarray(radii), np.asarray(light)),
            method="Nelder-Mead",
            options={"maxiter": most},
        )
        return {"width": np.float32(found.x[0]), "steps": np.int32(found.nit), "ok": np.bool_(found.success)}

    return jax.pure_callback(host, promise, jnp.float32(start), radii, light, vmap_method="sequential")


@alternative
def arrays_for_a_promise(start, radii, light, most):
    promise = {"ok": np.bool_(0), "steps": np.int32(0), "width": np.float32(0)}

    def host(*arguments):
        start, radii, light = map(np.asarray, arguments)
        options = {"method": "Nelder-Mead", "options": {"maxiter": most}}
        found = scipy.optimize.minimize(lambda width: loss_on_host(width, radii, light), [float(start)], **options)
        return {
            name: np.asarray(value, promise[name].dtype)
            for name, value in (("width", found.x.item()), ("steps", found.nit), ("ok", found.success))
        }

    return jax.pure_callback(host, promise, start, radii, light, vmap_method="sequential_unrolled")


@wrong(rejected_by="the_rings_are_fitted", says="SciPy's `x` has an axis, and a single number was promised.")
def breaks_the_promise(start, radii, light, most):
    promise = {"width": np.float32(0), "steps": np.int32(0), "ok": np.bool_(0)}

    def host(start, radii, light):
        args = (np.asarray(radii), np.asarray(light))
        found = scipy.optimize.minimize(
            loss_on_host, np.asarray(start), args=args, method="Nelder-Mead", options={"maxiter": most}
        )
        return {"width": found.x, "steps": found.nit, "ok": found.success}

    return jax.pure_callback(host, promise, jnp.float32(start), radii, light, vmap_method="sequential")


@wrong(rejected_by="a_fit_that_ends_too_early_says_so", says="A fit is believed to be always there.")
def always_ok(start, radii, light, most):
    promise = {"width": np.float32(0), "steps": np.int32(0)}

    def host(start, radii, light):
        args = (np.asarray(radii), np.asarray(light))
        found = scipy.optimize.minimize(
            loss_on_host, np.asarray(start), args=args, method="Nelder-Mead", options={"maxiter": most}
        )
        return {"width": np.float32(found.x[0]), "steps": np.int32(found.nit)}

    found = jax.pure_callback(host, promise, jnp.float32(start), radii, light, vmap_method="sequential")
    return {**found, "ok": jnp.ones(jnp.shape(start), bool)}


@wrong(rejected_by="a_fit_that_ends_too_early_says_so", says="The option `maxiter` is left out.")
def without_a_limit(start, radii, light, most):
    promise = {"width": np.float32(0), "steps": np.int32(0), "ok": np.bool_(0)}

    def host(start, radii, light):
        args = (np.asarray(radii), np.asarray(light))
        found = scipy.optimize.minimize(loss_on_host, np.asarray(start), args=args, method="Nelder-Mead")
        return {"width": np.float32(found.x[0]), "steps": np.int32(found.nit), "ok": np.bool_(found.success)}

    return jax.pure_callback(host, promise, jnp.float32(start), radii, light, vmap_method="sequential")


@wrong(
    rejected_by="each_row_is_a_fit",
    says="The data are closed over, and not passed to the host: under `vmap` they are tracers.",
    misses_the_point=True,
)
def closes_over_the_data(start, radii, light, most):
    promise = {"width": np.float32(0), "steps": np.int32(0), "ok": np.bool_(0)}

    def host(start):
        args = (np.asarray(radii), np.asarray(light))
        found = scipy.optimize.minimize(
            loss_on_host, np.asarray(start), args=args, method="Nelder-Mead", options={"maxiter": most}
        )
        return {"width": np.float32(found.x[0]), "steps": np.int32(found.nit), "ok": np.bool_(found.success)}

    return jax.pure_callback(host, promise, jnp.float32(start), vmap_method="sequential")


@wrong(rejected_by="each_row_is_a_fit", says="Nothing is said about a batch.")
def no_vmap_method(start, radii, light, most):
    promise = {"width": np.float32(0), "steps": np.int32(0), "ok": np.bool_(0)}

    def host(start, radii, light):
        args = (np.asarray(radii), np.asarray(light))
        found = scipy.optimize.minimize(
            loss_on_host, np.asarray(start), args=args, method="Nelder-Mead", options={"maxiter": most}
        )
        return {"width": np.float32(found.x[0]), "steps": np.int32(found.nit), "ok": np.bool_(found.success)}

    return jax.pure_callback(host, promise, jnp.float32(start), radii, light)


@wrong(rejected_by="each_row_is_a_fit", says="SciPy is called in Python, on numbers, and not by a program.")
def no_callback(start, radii, light, most):
    args, options = (np.asarray(radii), np.asarray(light)), {"maxiter": most}
    found = scipy.optimize.minimize(loss_on_host, np.float32(start), args=args, method="Nelder-Mead", options=options)
    return {"width": jnp.float32(found.x[0]), "steps": jnp.int32(found.nit), "ok": jnp.asarray(found.success)}


@wrong(rejected_by="other_rings_are_fitted", says="The lesson's own measurements are fitted, whatever the data.")
def fits_the_lessons_rings(start, radii, light, most):
    promise, own = {"width": np.float32(0), "steps": np.int32(0), "ok": np.bool_(0)}, rings(80)

    def host(start, radii, light):
        args = (np.asarray(own[0]), np.asarray(light))
        found = scipy.optimize.minimize(
            loss_on_host, np.asarray(start), args=args, method="Nelder-Mead", options={"maxiter": most}
        )
        return {"width": np.float32(found.x[0]), "steps": np.int32(found.nit), "ok": np.bool_(found.success)}

    return jax.pure_callback(host, promise, jnp.float32(start), radii, light, vmap_method="sequential")


equivalent("014be0e00e", because="JAX rounds a float64 to the float32 that was promised.")
equivalent("03c86f215f", because="SciPy's `success` is a bool.")
equivalent("0c70686c02", because="JAX takes an int for the int32 that was promised.")


@hidden(required=True, idea="Other radii, and any limit.", on="rings of another width at other radii, and one step")
def other_rings_are_fitted(answer, draw):
    """Other rings are fitted; with one step the fit says that it has failed."""
    radii = np.linspace(0.2, 9, 80).astype(np.float32)
    x = radii / 2
    light = ((2 * scipy.special.j1(x) / x) ** 2).astype(np.float32)
    for most in (60, 1):
        expect_solution(answer(1.5, radii, light, most), solved(1.5, radii, light, most))
