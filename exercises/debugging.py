# %% check
import re

from jaxguide.course.author import (
    exercise,
    expect_close,
    expect_documented,
    expect_that,
    given,
    prediction,
    reveal,
    visible,
)


def parts(got, count):
    """Return the parts of a result that should be a tuple of `count` values."""
    message = f"Return a tuple of {count} values."
    expect_that(isinstance(got, tuple | list) and len(got) == count, message, got)
    return list(got)


def plain(value):
    """Return a scalar of any kind as a Python number, and what is a number already as it is."""
    return np.asarray(value).item()


def texts(got):
    """Return a list or tuple of strings as a list."""
    right = isinstance(got, tuple | list) and all(isinstance(text, str) for text in got)
    expect_that(right, "Return a list of strings.", got)
    return list(got)


def beginning(lines, start):
    """Return the lines that begin with a text."""
    return [line for line in lines if line.startswith(start)]


def as_before_0_4_36(line):
    """Write the tracer in a printed line as JAX did before 0.4.36."""
    found = re.search(r"\w+\((~?)(\w+\[[\d,]*\])\)", line)
    if not found:
        return line
    weak = ", weak_type=True" if found[1] else ""
    return f"{line[: found.start()]}Traced<ShapedArray({found[2]}{weak})>with<DynamicJaxprTrace(level=1/0)>"


# %% [markdown]
# # Debugging: look into a JAX program
#
# A JAX program does not run line by line where you can watch. So `print` shows strange things, `assert` fails for no
# reason, and a NaN comes out of nowhere. This lesson gives you tools that work inside `jit`, `vmap` and `grad`.
#
# After this lesson you can
#
# - print values and shapes at the right moment, and in the right order,
# - print gradients on their way back,
# - stop a compiled program in a debugger, and find out where a NaN came from,
# - log, collect and check values at run time, and leave no trace of it when it is off.
#
# You need NumPy, and should have met `jit`, `vmap` and `grad`. The lesson takes about two hours. It has four parts.

# %% [markdown]
# Run the cells from top to bottom. `check(...)` tells you what is right. `hint(name_of_the_function)` helps a little,
# and a second time a little more. In a **prediction** you guess first; then the real answer is computed.

# %%
import logging

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify

# %% [markdown]
# ## Part 1. Print
#
# Under `jax.jit`, Python runs your function once, with placeholders called **tracers**. A tracer has a shape and a
# dtype, but no value yet. Python's steps are written down as a program. Then the program runs, and later calls run it
# again without Python.


# %%
@jax.jit
def half(x):
    """Halve x, and print it the Python way."""
    print("half got", x)
    return x / 2


half(8.0)
_ = half(6.0)  # prints nothing: Python does not run again

# %% [markdown]
# `jax.debug.print` does not print now. It writes a print *into the program*, which shows the value at every run.


# %%
@jax.jit
def third(x):
    """Divide x by three, and print it when the program runs."""
    jax.debug.print("third got {}", x)
    return x / 3


third(9.0)
_ = third(6.0)

# %% [markdown]
# What is known while tracing is called **static**: shapes, dtypes, Python numbers. What is known only at run time is
# **traced**. `show_lines` marks the two, line by line.

# %%
from jaxguide.tracing import show_lines


def centred(x):
    """Subtract the mean."""
    count = x.shape[0]
    total = x.sum()
    return x - total / count


show_lines(centred, jnp.arange(3.0))

# %% [markdown]
# The rule of thumb: Python's `print` for static facts, `jax.debug.print` for traced values.


# %% exercise
@exercise(
    title="Shape and value",
    points=2,
    reproduces=["S0-01", "S0-03"],
    hints=[
        "Which of the two facts is known while JAX traces, and which only when the program runs?",
        "A tracer has `.shape` and `.dtype`, and Python's `print` can show them. Values need `jax.debug.print`. "
        "https://docs.jax.dev/en/latest/debugging.html",
        'print(f"shape {x.shape} dtype {x.dtype}")\n____("value {}", x)\nreturn x',
    ],
)
def shape_and_value(x):
    """Print a line about the shape and dtype of x when it is traced, and one about its value at each run. Return x.

    For `jnp.arange(3.0)` the lines are `shape (3,) dtype float32` and `value [0. 1. 2.]`.

    Args:
        x: an array, traced under `jax.jit`.

    Returns:
        x.
    """
    ...


# %% check
@visible(shape_and_value, idea="Printing does not change the value.")
def x_comes_back(answer):
    """The result is x."""
    expect_close(answer(jnp.arange(3.0)), np.arange(3, dtype=np.float32))


@visible(
    shape_and_value,
    stage="jit",
    idea="Python's `print` for static facts, `jax.debug.print` for traced values.",
    reproduces=["S0-01"],
)
def both_lines_are_right(answer):
    """Under jit the first call prints the shape and dtype, and the value."""
    seen = answer.jit.observe(jnp.arange(3.0))
    expect_documented("S0-01", seen.lines, message="Under jit the first call prints other lines.")


@visible(
    shape_and_value,
    stage="jit",
    kind="observed",
    idea="Python's `print` runs once for each shape and dtype: only then does JAX trace.",
    reproduces=["S0-03"],
)
def python_prints_when_it_traces(answer):
    """The line about the shape is printed when JAX traces, and not at other calls."""
    calls = answer.jit.observe_calls([(2.0,), (3.0,), (jnp.arange(2.0),)])
    counts = [len(beginning(seen.lines, "shape ")) for seen in calls]
    message = "How often is the shape printed for 2.0, 3.0 and a vector? JAX traces for the first and the third."
    expect_documented("S0-03", counts, message=message)


@visible(shape_and_value, stage="jit", idea="The program prints at each run.")
def each_run_prints_its_value(answer):
    """Each call prints its own value."""
    calls = answer.jit.observe_calls([(jnp.arange(2.0),), (jnp.arange(2.0) + 5,)])
    for seen, wanted in zip(calls, ("value [0. 1.]", "value [5. 6.]"), strict=True):
        expect_that(wanted in seen.lines, "A call does not print its own value.", seen.lines, wanted)


# %% exercise
@prediction(
    title="How often does Python print?",
    points=1,
    hints=[
        "For which of the calls is there a program already?",
        "JAX keeps one program for each shape and dtype. https://docs.jax.dev/en/latest/jit-compilation.html",
        "# A smaller case: the calls with 2.0 and 3.0 print one line.\nreturn ____  # a number",
    ],
)
def predict_lines_of_half():
    """`half` is jitted and prints with Python's `print`. How many lines do these calls print in all?

    A fresh `half` gets 2.0, then 3.0, `jnp.arange(2.0)`, `jnp.arange(2.0) * 5`, and `jnp.arange(3.0)`.

    Returns:
        An int.
    """
    ...


# %% check
@reveal(predict_lines_of_half)
def count_lines_of_half():
    """We made the five calls, with a new jitted function that counts how often Python runs it."""
    lines = []

    @jax.jit
    def half_of(x):
        lines.append(1)
        return x / 2

    for x in (2.0, 3.0, jnp.arange(2.0), jnp.arange(2.0) * 5, jnp.arange(3.0)):
        half_of(x)
    return len(lines)


# %% [markdown]
# ### The trap: f-strings
#
# An f-string is made by Python, while tracing. There is no value yet, so the tracer's text goes into the string.


# %%
@jax.jit
def fifth(x):
    """Divide x by five, and print it twice."""
    jax.debug.print(f"f-string: {x}")
    jax.debug.print("value: {}", x)
    return x / 5


_ = fifth(10.0)

# %% [markdown]
# Give `jax.debug.print` a text with `{}` and the values apart from it. Names work too: `"{y}", y=y`.


# %% exercise
@exercise(
    title="See the sine",
    points=2,
    reproduces=["S0-02", "S0-04", "S0-05"],
    hints=[
        "Who fills in an f-string, and when?",
        "`jax.debug.print` fills in the braces at run time, with the values that you hand over apart. "
        "https://docs.jax.dev/en/latest/debugging/print_breakpoint.html",
        'jax.debug.print("jax.debug.print(x) -> {x}", ____)',
    ],
)
def see_sine(x):
    """Repair this: `jax.debug.print` should show the numbers x and y. Leave Python's prints as they are.

    Args:
        x: float32 array, traced under jit or vmap.

    Returns:
        The sine of x.
    """
    print("print(x) ->", x)
    jax.debug.print(f"jax.debug.print(x) -> {x}")
    y = jnp.sin(x)
    print("print(y) ->", y)
    jax.debug.print(f"jax.debug.print(y) -> {y}")
    return y


# %% check
@visible(see_sine, idea="Printing does not change the value.")
def the_sine_comes_back(answer, draw):
    """The result is the sine."""
    x = draw.floats(3)
    expect_close(answer(x), np.sin(np.asarray(x)))


@visible(
    see_sine,
    stage="jit",
    idea="While JAX traces, x and y are tracers: a dtype, a shape, no value. The tilde means a weak type.",
    reproduces=["S0-02"],
)
def pythons_prints_show_tracers(answer):
    """Under jit, Python's two prints show tracers."""
    lines = beginning(answer.jit.observe(2.0).lines, "print(")
    message = "Python's two prints should show the tracers of x and y, as before."
    expect_documented("S0-02", lines, part="today", message=message)
    expect_documented("S0-02", [as_before_0_4_36(line) for line in lines], part="documented", message=message)


@visible(
    see_sine,
    stage="jit",
    idea="The program knows the numbers when it runs. An f-string is filled in before.",
    reproduces=["S0-04"],
)
def debug_prints_show_numbers(answer):
    """Under jit, the two debug prints show the numbers 2 and sin(2)."""
    lines = beginning(answer.jit.observe(2.0).lines, "jax.debug.print(")
    expect_documented("S0-04", sorted(lines), message="`jax.debug.print` should show the numbers x and y.")


@visible(
    see_sine,
    stage="jit",
    idea="Under vmap too Python sees one tracer for all examples. The program prints each example.",
    reproduces=["S0-05"],
)
def under_vmap_each_example_is_printed(answer):
    """Under vmap of three numbers, Python prints two lines, and the program three for x and three for y."""
    lines = answer.vmap().observe(jnp.arange(3.0)).lines
    of_python, of_program = beginning(lines, "print("), beginning(lines, "jax.debug.print(")
    message = "Under vmap of three numbers: two lines from Python's `print`, six from `jax.debug.print`."
    expect_documented("S0-05", {"print": len(of_python), "debug.print": len(of_program)}, message=message)
    tracers = all("Tracer" in line for line in of_python)
    expect_that(tracers, "Under vmap Python's `print` shows tracers.", of_python)


# %% [markdown]
# The text of a tracer is no promise. In 2024 it was
# `Traced<ShapedArray(float32[], weak_type=True)>with<DynamicJaxprTrace(level=1/0)>`; since JAX 0.8.2 it is
# `JitTracer(~float32[])`. The facts in it are the same.

# %% [markdown]
# ### In which order?
#
# `jax.vmap` works on all examples at once: first all x, then all y. `jax.lax.map` takes one example after the other.


# %%
def watched_sine(x):
    """Compute the sine, and print x and y."""
    jax.debug.print("x {}", x)
    y = jnp.sin(x)
    jax.debug.print("    y {}", y)
    return y


_ = jax.vmap(watched_sine)(jnp.arange(3.0))

# %%
_ = jax.lax.map(watched_sine, jnp.arange(3.0))

# %% [markdown]
# Look closely at the second output. In each step y may come **before** x, though x is computed first! The two prints
# do not need each other, so the compiler may choose their order. On CPU it does so since JAX 0.5.3; the guide, written
# before, shows x first.
#
# `jax.debug.print(..., ordered=True)` keeps the order in which the prints stand in the program.


# %% exercise
@exercise(
    title="At once, and one by one",
    points=3,
    reproduces=["S0-06", "S0-07", "S0-08"],
    hints=[
        "What are the two ways to apply a function to each number of a vector?",
        "`jax.vmap(f)(xs)` and `jax.lax.map(f, xs)`; a print takes `ordered=`. "
        "https://docs.jax.dev/en/latest/debugging.html",
        'def one(x):\n    jax.debug.print("jax.debug.print(x) -> {}", x, ordered=____)\n    y = jnp.sin(x)\n'
        '    ...\n    return y\n\nreturn jax.vmap(one)(xs) if how == "vmap" else ____',
    ],
)
def printed_sines(how, xs, ordered):
    """Compute the sine of each number, and print x and y for each, by `jax.debug.print`.

    The lines are `jax.debug.print(x) -> ` and x, then `jax.debug.print(y) -> ` and y, the sine.

    Args:
        how: "vmap" for all numbers at once, by `jax.vmap`; "map" for one after the other, by `jax.lax.map`.
        xs: float32[n].
        ordered: bool, whether the order of the prints is kept.

    Returns:
        float32[n], the sines.
    """
    ...


# %% check
@visible(printed_sines, idea="Both ways compute the same.")
def both_give_the_sines(answer, draw):
    """Both ways give the sines."""
    xs = draw.floats(4)
    for how in ("vmap", "map"):
        expect_close(answer(how, xs, True), np.sin(np.asarray(xs)))


@visible(
    printed_sines,
    stage="jit",
    idea="vmap runs each step of the function for all examples, before the next step.",
    reproduces=["S0-06"],
)
def vmap_prints_all_x_first(answer):
    """Under vmap all x are printed, then all y."""
    unordered, ordered = (answer.observe("vmap", jnp.arange(3.0), kept).lines for kept in (False, True))
    message = "Under vmap there should be a line for each x, then a line for each y."
    # Without `ordered` no order is promised, under vmap neither.
    expect_documented("S0-06", sorted(unordered), message=message)
    expect_documented("S0-06", ordered, message=message)


@visible(
    printed_sines,
    stage="jit",
    idea="lax.map is a loop. Within a step the order is promised by `ordered=True` only.",
    reproduces=["S0-07"],
)
def map_prints_step_by_step(answer):
    """Under lax.map x and y are printed step by step; with ordered=True x comes before y."""
    unordered, ordered = (answer.observe("map", jnp.arange(3.0), kept).lines for kept in (False, True))
    expect_documented("S0-07", ordered, part="documented", message="With ordered=True: x, y, x, y, x, y.")
    steps = [line for i in range(0, len(unordered), 2) for line in sorted(unordered[i : i + 2], reverse=True)]
    message = "With ordered=False each step should still print its own x and y."
    expect_documented("S0-07", steps, part="today", message=message)


@visible(
    printed_sines,
    stage="jit",
    idea="The order of evaluation is a detail of how JAX computes; the result is the same.",
    reproduces=["S0-08"],
)
def the_result_is_the_same_and_the_order_is_not(answer):
    """vmap and lax.map give the same numbers, and print in another order."""
    mapped, looped = (answer.observe(how, jnp.arange(3.0), True) for how in ("vmap", "map"))
    same = {
        "result": bool(np.array_equal(np.asarray(mapped.value), np.asarray(looped.value))),
        "order": mapped.lines == looped.lines,
    }
    expect_documented("S0-08", same, message="The results should be equal, and the orders of the lines differ.")


# %% [markdown]
# One more way out: put both values into **one** print. One print cannot be reordered with itself.


# %% exercise
@exercise(
    title="Add in order",
    points=2,
    reproduces=["S0-12"],
    hints=[
        "Which prints may the compiler reorder: those inside one step, or the steps themselves?",
        "`ordered=True` keeps the order of the prints; under vmap that is all x, then all y. "
        "https://docs.jax.dev/en/latest/debugging.html",
        'jax.debug.print("jax.debug.print(x) -> {}", x, ____)',
    ],
)
def add_in_order(xs, ys):
    """Repair this: for each pair it should print x first and then y, and then go on to the next pair.

    Args:
        xs, ys: int32[n] or float32[n].

    Returns:
        The sums, of the same shape and dtype.
    """

    def add(x, y):
        jax.debug.print("jax.debug.print(x) -> {}", x)
        jax.debug.print("jax.debug.print(y) -> {}", y)
        return x + y

    return jax.lax.map(lambda pair: add(*pair), (xs, ys))


# %% check
@visible(add_in_order, idea="Printing does not change the sums.")
def the_sums_are_right(answer, draw):
    """The result is the sums."""
    xs, ys = draw.floats(3), draw.floats(3)
    expect_close(answer(xs, ys), np.asarray(xs) + np.asarray(ys))


@visible(
    add_in_order,
    stage="jit",
    idea="`ordered=True` keeps the order in which the prints stand in the program.",
    reproduces=["S0-12"],
)
def x_comes_before_y(answer):
    """For 1 and 2 it prints x, then y, and the sum is 3."""
    seen = answer.jit.observe(jnp.array([1]), jnp.array([2]))
    message = "It should print x, then y, and return [3]."
    expect_documented("S0-12", {"lines": seen.lines, "result": np.asarray(seen.value).tolist()}, message=message)


@visible(add_in_order, stage="jit", idea="A loop takes one pair after the other; vmap takes all pairs at once.")
def one_pair_after_the_other(answer):
    """Three pairs are printed one after the other."""
    lines = answer.jit.observe(jnp.array([1, 2, 3]), jnp.array([10, 20, 30])).lines
    wanted = [f"jax.debug.print({name}) -> {n * i}" for i in (1, 2, 3) for name, n in (("x", 1), ("y", 10))]
    expect_that(lines == wanted, "The order should be x, y, x, y, x, y.", lines, wanted)
