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


def numbers_behind(start, lines):
    """Return the numbers in lines that begin with a text, in rising order."""
    expect_that(all(line.startswith(start) for line in lines), f"The lines should begin with `{start}`.", lines)
    numbers = []
    for line in lines:
        try:
            numbers.append(float(line.removeprefix(start)))
        except ValueError:
            expect_that(False, f"A number should stand behind `{start}`.", line)
    return sorted(numbers)


def tracer_in(line):
    """Write the tracer in a line as today's JAX does: its text is no promise, and neither is whether it is weak."""
    return re.sub(r"-> \w*Trac\w+\W+~?(?:\w+\W)*?(\w+\[[\d,]*\]).*", r"-> JitTracer(~\1)", line)


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
# A JAX program does not run line by line where you can watch. So `print` shows strange
# things, `assert` fails for no reason, and a NaN comes out of nowhere. This lesson
# gives you tools that work inside `jit`, `vmap` and `grad`.
#
# After this lesson you can
#
# - print values and shapes at the right moment, and in the right order,
# - print gradients on their way back,
# - stop a compiled program in a debugger, and find out where a NaN came from,
# - log, collect and check values at run time, and leave no trace of it when it is off.
#
# You need NumPy, and should have met `jit`, `vmap` and `grad`. The lesson takes about
# two hours. It has four parts.

# %% [markdown]
# Run the cells from top to bottom. `check(...)` tells you what is right.
# `hint(name_of_the_function)` helps a little, and tells how to get more. In a
# **prediction** you guess first; then the real answer is computed.
#
# Types such as `float32[n,m]` are explained in [How to read a
# contract](arrays_and_layers.ipynb#How-to-read-a-contract), in the lesson
# `arrays_and_layers`.

# %%
import logging

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify

# %% [markdown]
# ## Part 1. Print
#
# Under `jax.jit`, Python runs your function once, with placeholders called **tracers**.
# A tracer has a shape and a dtype, but no value yet. Python's steps are written down as
# a program. Then the program runs, and later calls run it again without Python.


# %%
@jax.jit
def half(x):
    """Halve x, and print it the Python way."""
    print("half got", x)
    return x / 2


half(8.0)
_ = half(6.0)  # prints nothing: Python does not run again

# %% [markdown]
# `jax.debug.print` does not print now. It writes a print *into the program*, which
# shows the value at every run.


# %%
@jax.jit
def third(x):
    """Divide x by three, and print it when the program runs."""
    jax.debug.print("third got {}", x)
    return x / 3


third(9.0)
_ = third(6.0)

# %% [markdown]
# What is known while tracing is called **static**: shapes, dtypes, Python numbers. What
# is known only at run time is **traced**. `show_lines` marks the two, line by line.

# %%
from jaxguide.tracing import show_lines


def centred(x):
    """Subtract the mean."""
    count = x.shape[0]
    total = x.sum()
    return x - total / count


show_lines(centred, jnp.arange(3.0))

# %% [markdown]
# The rule of thumb: Python's `print` for static facts, `jax.debug.print` for traced
# values.


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
        "# Like it: print how many numbers v has when it is traced, and their sum.\n"
        "@jax.jit\n"
        "def sum_up(v):\n"
        '    print("traced for", v.size, "numbers")  # static\n'
        '    jax.debug.print("they make {}", v.sum())  # traced\n'
        "    return v.sum()\n\n"
        "print(sum_up(jnp.array([1.0, 2.0])))  # 3.0, after two lines\n"
        "print(sum_up(jnp.array([5.0, 6.0])))  # 11.0, after one line: no new trace",
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
    required=True,
)
def both_lines_are_right(answer):
    """Under jit the first call prints the shape and dtype, and the value."""
    seen = answer.jit.observe(jnp.arange(3.0))
    expect_documented(
        "S0-01", seen.lines, message="Under jit the first call should print the two lines of the example."
    )


@visible(
    shape_and_value,
    stage="jit",
    kind="observed",
    idea="Python's `print` runs once for each shape and dtype: only then does JAX trace.",
    reproduces=["S0-03"],
    required=True,
)
def python_prints_when_it_traces(answer):
    """The line about the shape is printed when JAX traces, and not at other calls."""
    calls = answer.jit.observe_calls([(2.0,), (3.0,), (jnp.arange(2.0),)])
    counts = [len(beginning(seen.lines, "shape ")) for seen in calls]
    message = "For 2.0, 3.0 and a vector the shape should be printed once, not at all, and once."
    expect_documented("S0-03", counts, message=message)


@visible(shape_and_value, stage="jit", idea="The program prints at each run.")
def each_run_prints_its_value(answer):
    """Each call prints its own value."""
    calls = answer.jit.observe_calls([(jnp.arange(2.0),), (jnp.arange(2.0) + 5,)])
    for seen, wanted in zip(calls, ("value [0. 1.]", "value [5. 6.]"), strict=True):
        expect_that(wanted in seen.lines, "Each call should print its own value.", seen.lines, wanted)


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
# An f-string is made by Python, while tracing. There is no value yet, so the tracer's
# text goes into the string.


# %%
@jax.jit
def fifth(x):
    """Divide x by five, and print it twice."""
    jax.debug.print(f"f-string: {x}")
    jax.debug.print("value: {}", x)
    return x / 5


_ = fifth(10.0)

# %% [markdown]
# Give `jax.debug.print` a text with `{}` and the values apart from it. Names work too:
# `"{y}", y=y`.


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
        '# Like it: the width of a vector. f"{low} to {high}" would show tracers.\n'
        "@jax.jit\n"
        "def width_of(v):\n"
        "    low, high = v.min(), v.max()\n"
        '    jax.debug.print("{low} to {high}", low=low, high=high)\n'
        "    return high - low\n\n"
        "print(width_of(jnp.array([3.0, 8.0, 5.0])))  # 5.0",
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
    lines = [tracer_in(line) for line in beginning(answer.jit.observe(2.0).lines, "print(")]
    message = "Python's two prints should show the tracers of x and y, as before."
    expect_documented("S0-02", lines, part="today", message=message)
    expect_documented("S0-02", [as_before_0_4_36(line) for line in lines], part="documented", message=message)


@visible(
    see_sine,
    stage="jit",
    idea="The program knows the numbers when it runs. An f-string is filled in before.",
    reproduces=["S0-04"],
    required=True,
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
    message = "Under vmap of three numbers Python's `print` should print two lines, and `jax.debug.print` six."
    expect_documented("S0-05", {"print": len(of_python), "debug.print": len(of_program)}, message=message)
    numbers = any(re.search(r"-> -?[\d.]+$", line) for line in of_python)
    expect_that(not numbers, "Under vmap Python's `print` should show tracers.", of_python, "two tracers")


# %% [markdown]
# The text of a tracer is no promise. In 2024 it was
# `Traced<ShapedArray(float32[], weak_type=True)>with<DynamicJaxprTrace(level=1/0)>`;
# since JAX 0.8.2 it is `JitTracer(~float32[])`. The facts in it are the same.

# %% [markdown]
# ### In which order?
#
# `jax.vmap` works on all examples at once: first all x, then all y. `jax.lax.map` takes
# one example after the other.


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
# Look closely at the second output. In each step y may come **before** x, though x is
# computed first! The two prints do not need each other, so the compiler may choose
# their order. On CPU it does so since JAX 0.5.3; the guide, written before, shows x
# first.
#
# `jax.debug.print(..., ordered=True)` keeps the order in which the prints stand in the
# program.


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
        "# Like it: the largest number of each row. Print each row's sum before it.\n"
        "def peak(row):\n"
        '    jax.debug.print("sum {}", row.sum(), ordered=True)\n'
        "    top = row.max()\n"
        '    jax.debug.print("    top {}", top, ordered=True)\n'
        "    return top\n\n"
        "rows = jnp.array([[1.0, 5.0], [4.0, 2.0]])\n"
        "print(jax.vmap(peak)(rows))  # [5. 4.]: both sums came first, then both tops\n"
        "print(jax.lax.map(peak, rows))  # [5. 4.]: one row came after the other",
    ],
)
def printed_sines(how, xs, ordered):
    """Compute the sine of each number, and print x and y for each, by one `jax.debug.print` for x and one for y.

    The lines are `jax.debug.print(x) -> ` and x, then `jax.debug.print(y) -> ` and y, the sine.

    Args:
        how: "vmap" for all numbers at once, by `jax.vmap`; "map" for one after the other, by `jax.lax.map`.
        xs: float32[n].
        ordered: bool, whether the order of the prints must be kept.

    Returns:
        float32[n], the sines.
    """
    ...


# %% check
@visible(printed_sines, idea="Printing does not change the values.")
def the_sines_come_back(answer, draw):
    """The result is the sines."""
    xs = draw.floats(3)
    expect_close(answer("vmap", xs, True), np.sin(np.asarray(xs)))


@visible(
    printed_sines,
    stage="jit",
    idea="vmap runs each step of the function for all examples, before the next step.",
    reproduces=["S0-06"],
    required=True,
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
    idea="`jax.lax.map` is a loop. Within a step the order is promised by `ordered=True` only.",
    reproduces=["S0-07"],
    required=True,
)
def map_prints_step_by_step(answer):
    """Under jax.lax.map x and y are printed step by step; with ordered=True x comes before y."""
    unordered, ordered = (answer.observe("map", jnp.arange(3.0), kept).lines for kept in (False, True))
    expect_documented(
        "S0-07", ordered, part="documented", message="With ordered=True the order should be x, y, x, y, x, y."
    )
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
    """vmap and jax.lax.map give the same numbers, and print in another order."""
    mapped, looped = (answer.observe(how, jnp.arange(3.0), True) for how in ("vmap", "map"))
    expect_close(looped.value, np.sin(np.arange(3, dtype=np.float32)))
    same = {
        "result": bool(np.allclose(np.asarray(mapped.value), np.asarray(looped.value), atol=1e-6)),
        "order": mapped.lines == looped.lines,
    }
    expect_documented("S0-08", same, message="The results should be equal, and the orders of the lines differ.")


@visible(
    printed_sines,
    stage="traces",
    idea="`jax.lax.map` is one loop in the program. A Python loop writes the function down once for each number.",
)
def map_is_a_loop_of_the_program(answer):
    """Under "map" the program has a loop."""
    primitives = answer.program("map", jnp.arange(3.0), True).primitives
    message = 'For "map" the program should have a loop.'
    expect_that({"scan", "while"} & {*primitives}, message, sorted(primitives))


# %% [markdown]
# One more way out: put both values into **one** print. One print cannot be reordered
# with itself.


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
        "# Like it: halve a number three times. Print the step, then the number.\n"
        "def halve_once(i, number):\n"
        '    jax.debug.print("step {}", i, ordered=True)\n'
        '    jax.debug.print("    from {}", number, ordered=True)\n'
        "    return number / 2\n\n"
        "print(jax.lax.fori_loop(0, 3, halve_once, 8.0))  # 1.0",
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
    expect_close(answer(jnp.array([1, 2]), jnp.array([30, 40])), np.array([31, 42], np.int32))


@visible(
    add_in_order,
    stage="jit",
    idea="`ordered=True` keeps the order in which the prints stand in the program.",
    reproduces=["S0-12"],
    required=True,
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


# %% [markdown]
# ## Part 2. Under `grad`, and when it is off
#
# `jax.grad` runs your function forward, then goes back to collect slopes. A
# `jax.debug.print` of x prints on the way forward, once.


# %% exercise
@exercise(
    title="Print under grad",
    points=2,
    reproduces=["S0-09", "S0-10"],
    hints=[
        "Which of the two prints is a part of the program, and so does not mind what is around it?",
        "`jax.debug.print` prints the forward value. https://docs.jax.dev/en/latest/debugging.html",
        'print("print(x) ->", x)\njax.debug.print(____, x)\nreturn x**2',
        "# Like it: watch a root in both ways, and take the slope of three roots.\n"
        "def three_roots(x):\n"
        "    root = jnp.sqrt(x)\n"
        '    print("Python sees", root)  # under grad: a tracer\n'
        '    jax.debug.print("the program has {}", root)  # the forward value: 2.0\n'
        "    return 3 * root\n\n"
        "print(jax.grad(three_roots)(4.0))  # 0.75",
    ],
)
def watched_square(x):
    """Print x in two ways, first `print(x) -> ` by Python's print, then `jax.debug.print(x) -> `; return x squared.

    Do not use `jax.jit` here: the checks put jit and grad around it, in all orders.

    Args:
        x: float, or float32[].

    Returns:
        float32[].
    """
    ...


# %% check
def under_grad(answer, x):
    """Return the lines under grad, grad of jit, and jit of grad: those of print, those of debug.print."""
    seen = [one.observe(x).lines for one in (answer.grad(), answer.jit.grad(), answer.grad().jit)]
    return [[beginning(lines, start) for lines in seen] for start in ("print(", "jax.debug.print(")]


@visible(watched_square, idea="Printing changes neither the value nor the slope.")
def the_square_comes_back(answer):
    """The result is the square, and the slope 2 x."""
    expect_close(plain(answer(3.0)), 9.0)
    expect_close(plain(answer.grad()(3.0)), 6.0)


@visible(
    watched_square,
    stage="gradient",
    kind="observed",
    idea="The print belongs to the forward pass; nothing is printed on the way back.",
    reproduces=["S0-09"],
    required=True,
)
def grad_prints_once(answer):
    """Under grad, debug.print prints one line: the value of x."""
    lines = under_grad(answer, 1.0)[1][0]
    expect_documented("S0-09", lines, message="Under grad `jax.debug.print` should print 1.0, once.")


@visible(
    watched_square,
    stage="gradient",
    kind="observed",
    idea="Where nothing is traced, each print prints when its line is reached.",
)
def pythons_print_comes_first(answer):
    """Alone, Python's print comes first, then debug.print."""
    lines = answer.observe(1.0).lines
    starts = [line.partition(" ->")[0] for line in lines]
    message = "Without jit there should be two lines: first that of Python's `print`."
    expect_that(starts == ["print(x)", "jax.debug.print(x)"], message, lines)


@visible(
    watched_square,
    stage="gradient",
    kind="observed",
    idea="What Python's print shows depends on the transformations around; what the program prints does not.",
    reproduces=["S0-10"],
    required=True,
)
def only_debug_print_is_consistent(answer):
    """debug.print shows 1.0 with and without jit; Python's print shows it under plain grad only."""
    of_python, of_program = under_grad(answer, 1.0)
    shown = {
        "debug.print": [any("1.0" in line for line in lines) for lines in of_program],
        "print": [any("1.0" in line for line in lines) for lines in of_python],
    }
    message = "Under grad, grad of jit and jit of grad, debug.print should show 1.0 always, and print at first only."
    expect_documented("S0-10", shown, message=message)


# %% [markdown]
# ### The way back
#
# What flows back through a value y is its **cotangent**: the slope of the result with
# respect to y. `record_gradient(name, y)` returns y as it is, and records that slope.
# Here it shows why deep chains of `tanh` learn slowly: for large w, little of the slope
# arrives at the first layers.

# %%
import matplotlib.pyplot as plt

from jaxguide.debug import record_gradient, recording


def deep(w):
    """Apply tanh twelve times."""
    for _ in range(12):
        w = record_gradient("slope", jnp.tanh(1.2 * w))
    return w.sum()


with recording() as rec:
    jax.grad(deep)(jnp.array([0.1, 0.7, 2.0]))
_, axes = plt.subplots(figsize=(6, 2.5))
axes.semilogy(range(12, 0, -1), rec["slope"], "o-", label=["w = 0.1", "w = 0.7", "w = 2"])
axes.set_xlabel("layer")
axes.set_ylabel("slope that arrives")
_ = axes.legend()

# %% [markdown]
# How can code run on the way back? `jax.custom_vjp` lets you write both ways yourself.
# `forward` returns the value and what to keep. `backward` gets that, and the cotangent
# of the result; it returns one cotangent for each argument.


# %%
@jax.custom_vjp
def turn_around(x):
    """Return x; on the way back change the sign."""
    return x


def forward(x):
    return x, None


def backward(kept, cotangent):
    return (-cotangent,)


turn_around.defvjp(forward, backward)
print(jax.grad(lambda x: 3 * turn_around(x))(1.0))


# %% exercise
@exercise(
    title="Print the cotangent",
    points=3,
    hints=[
        "Which of the two functions of a `custom_vjp` runs on the way back, and what does it get?",
        "A function that returns its argument, and prints in its `backward`, can stand around y. "
        "https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html",
        "@jax.custom_vjp\ndef look(y):\n    return y\n\n\ndef back(kept, cotangent):\n"
        '    jax.debug.print("cotangent of y: {}", ____)\n    return ____\n\n\n'
        "look.defvjp(lambda y: (y, None), back)\n\n\ndef sine_cubed(x):\n    y = look(jnp.sin(x))\n    return y**3",
        "# Like it: on the way back, say how large the cotangents of a layer are.\n"
        "@jax.custom_vjp\n"
        "def watch(layer):\n"
        "    return layer\n\n"
        "def tell(kept, arrived):\n"
        '    jax.debug.print("the largest is {}", jnp.abs(arrived).max())\n'
        "    return (arrived,)  # a tuple, with one entry for each argument\n\n"
        "watch.defvjp(lambda layer: (layer, None), tell)\n"
        "slope = jax.grad(lambda w: (watch(2 * w) ** 2).sum())\n"
        "print(slope(jnp.array([1.0, 3.0])))  # [ 8. 24.], and the largest is 12.0",
    ],
)
def sine_cubed(x):
    """Compute y = sin(x) and return y cubed. On the way back, print `cotangent of y: ` and the cotangent of y.

    The forward pass alone prints nothing, and the gradient stays as it is.

    Args:
        x: float32[]; under jit and vmap too.

    Returns:
        float32[].
    """
    ...


# %% check
@visible(sine_cubed, idea="Looking does not change what is computed.")
def the_cube_comes_back(answer):
    """The result is the cube of the sine."""
    for x in (0.5, 1.25):
        expect_close(plain(answer(x)), float(np.sin(x) ** 3), atol=1e-6)


@visible(
    sine_cubed,
    stage="gradient",
    kind="value",
    idea="`backward` returns the cotangent that it got: a tuple, with one entry for each argument.",
    required=True,
)
def the_gradient_is_unchanged(answer):
    """The slope is 3 sin(x)**2 cos(x)."""
    for x in (0.5, 1.25):
        expect_close(plain(answer.grad()(x)), float(3 * np.sin(x) ** 2 * np.cos(x)), atol=1e-6)


@visible(
    sine_cubed,
    stage="gradient",
    kind="observed",
    idea="There is no cotangent unless somebody asks for slopes.",
    required=True,
)
def the_forward_pass_is_silent(answer):
    """Without grad nothing is printed."""
    lines = answer.observe(0.5).lines + answer.jit.observe(0.5).lines
    expect_that(lines == [], "The forward pass should print nothing.", lines, "no lines")


@visible(
    sine_cubed,
    stage="gradient",
    kind="observed",
    idea="The cotangent of y is the slope of y**3 at y: 3 y**2.",
    required=True,
)
def the_cotangent_is_printed(answer):
    """Under grad, with and without jit, the cotangent is printed once."""
    for one in (answer.grad(), answer.grad().jit, answer.jit.grad()):
        got = numbers_behind("cotangent of y: ", one.observe(0.5).lines)
        wanted = 3 * np.sin(0.5) ** 2
        right = len(got) == 1 and abs(got[0] - wanted) < 1e-5
        expect_that(right, "The cotangent of y should be printed, once.", got, f"[{wanted:.6f}]")


# %% [markdown]
# ### What a print costs
#
# A print stands in the program. Its lines are *equations*, each with a *primitive*.
# Here is that of `noted_third`:

# %%
from jaxguide.tracing import draw_program


def noted_third(x):
    """Divide x by three, and print it."""
    jax.debug.print("x {}", x, ordered=True)
    return x / 3


draw_program(noted_third, 9.0)

# %% [markdown]
# `jax.make_jaxpr(f)(x)` gives you the program as an object. It also notes the
# *effects*: what the program does besides computing.

# %%
program = jax.make_jaxpr(noted_third)(9.0)
print("first primitive:", program.eqns[0].primitive.name)
print("effects:", [str(effect) for effect in program.effects])


# %%
def prints(x):
    """Print x."""
    jax.debug.print("{}", x)
    return x


def prints_in_order(x):
    """Print x, in order."""
    jax.debug.print("{}", x, ordered=True)
    return x


def prints_by_hand(x):
    """Print x by a callback."""
    jax.debug.callback(lambda value: print(value), x)
    return x


def calls_back(x):
    """Hand x to Python."""
    jax.debug.callback(lambda value: None, x)
    return x


def stops(x):
    """Stop in the debugger."""
    jax.debug.breakpoint()
    return x


def prints_the_sine(x):
    """Compute the sine, and print it."""
    y = jnp.sin(x)
    jax.debug.print("{} {}", x, y)
    return jnp.cos(y)


# %% [markdown]
# The guide says that print and breakpoint are both made with `jax.debug.callback`. Is
# that what stands in the program?


# %% exercise
@exercise(
    title="Find the debugging in a program",
    points=2,
    reproduces=["S0-11", "S0-18"],
    hints=[
        "What does `jax.make_jaxpr(f)(x)` return, and where in it are equations and effects?",
        "It has `.eqns`, each with `.primitive.name`, and a set `.effects`. https://docs.jax.dev/en/latest/jaxpr.html",
        "program = jax.make_jaxpr(f)(x)\nnames = [equation.primitive.name for equation in ____]\n"
        'return [name for name in names if "debug" in name], [str(effect) for effect in ____]',
        "# Like it: the steps of a program with two inputs, and the number of effects.\n"
        "def steps_of_two(f, x):\n"
        "    made = jax.make_jaxpr(f)(x)  # traces f, and does not run it\n"
        "    steps = [step for step in made.eqns if len(step.invars) == 2]\n"
        "    return [step.primitive.name for step in steps], len(made.effects)\n\n"
        "print(steps_of_two(lambda x: prints_in_order(3 * x) + x, 1.0))\n"
        "# (['mul', 'add'], 1)",
    ],
)
def debugging_in(f, x):
    """List what f's program holds of debugging. Do not run f.

    Args:
        f: a function of one array, without inner `jax.jit`.
        x: its argument.

    Returns:
        A tuple of two lists of str: the names of the primitives that have "debug" in their names, in order; and the
        program's effects as text.
    """
    ...


# %% check
SENT_BY_THE_KEY = ("prints_the_sine", "watched_sine", "times_ten")


def debugging_of(answer, name):
    """Return the primitives and the effects of a given function."""
    return tuple(texts(part) for part in parts(answer(given(name), 1.0), 2))


@visible(debugging_in, idea="`jax.make_jaxpr` traces f and does not run it.")
def nothing_runs(answer):
    """The function is not run, and only debugging is listed."""
    seen = answer.observe(given("prints"), 1.0)
    expect_that(seen.lines == [], "Nothing should be printed: f should be traced, and not run.", seen.lines, "no lines")
    got = [texts(part) for part in parts(answer(given("centred"), np.ones(3, np.float32)), 2)]
    expect_that(got == [[], []], "For `centred`, which has no debugging, both lists should be empty.", got, "[], []")


@visible(
    debugging_in,
    idea="The guide is right about the breakpoint. Since JAX 0.7.2 print has a primitive of its own.",
    reproduces=["S0-18"],
)
def callbacks_are_found(answer):
    """print, callback and breakpoint are found in the program."""
    today, before = [], []
    for name in ("prints", "calls_back", "stops"):
        today += debugging_of(answer, name)[0]
        before += debugging_of(answer, name if name != "prints" else "prints_by_hand")[0]
    message = "It should be the primitives of `prints`, `calls_back` and `stops`."
    expect_documented("S0-18", today, part="today", message=message)
    message = "It should be the primitives of `prints_by_hand`, `calls_back` and `stops`."
    expect_documented("S0-18", before, part="documented", message=message)


@visible(
    debugging_in,
    idea="Only an ordered effect promises an order: without it JAX may reorder prints that do not need each other.",
    reproduces=["S0-11"],
)
def effects_tell_whether_order_is_promised(answer):
    """The effect of an ordered print is another one."""
    seen = {
        "ordered=False": debugging_of(answer, "prints")[1],
        "ordered=True": debugging_of(answer, "prints_in_order")[1],
    }
    expect_documented("S0-11", seen, message="It should be the effects of `prints` and `prints_in_order`.")


# %% [markdown]
# So a print is not free: the program leaves the device, waits for Python, and cannot be
# optimised across. When you do not need it, it should not be in the program at all. A
# Python `if` on a **static** flag does that: while JAX traces, it decides what is
# written down.


# %% exercise
@exercise(
    title="No trace of it when it is off",
    points=2,
    hints=[
        "When is the decision made: while JAX traces, or at each run?",
        "A Python `if` decides while tracing, `jax.lax.cond` at run time; only the first leaves nothing behind. "
        "https://docs.jax.dev/en/latest/control-flow.html",
        'def sine(x):\n    y = jnp.sin(x)\n    if ____:\n        jax.debug.print("y {}", y)\n    return y\n\n'
        "return sine",
        "# Like it: a mean with a flag. Its program prints only with the flag.\n"
        "def mean_of(v, loud):\n"
        "    mean = v.mean()\n"
        "    if loud:  # Python decides, while JAX traces\n"
        '        jax.debug.print("mean {}", mean)\n'
        "    return mean\n\n"
        "def program_of(loud):\n"
        "    return str(jax.make_jaxpr(lambda v: mean_of(v, loud))(jnp.ones(3)))\n\n"
        'print("debug" in program_of(True), "debug" in program_of(False))  # True False',
    ],
)
def make_sine(verbose):
    """Make a function that computes the sine, and prints `y ` and the sine if verbose is True.

    If verbose is False, its program is that of `jnp.sin`, and nothing else.

    Args:
        verbose: bool.

    Returns:
        A function of x, float32[], that returns the sine; it may be put under jit.
    """
    ...


# %% check
@visible(make_sine, idea="Printing does not change the value.")
def both_compute_the_sine(answer):
    """Both functions compute the sine."""
    for verbose in (True, False):
        expect_close(answer.then(verbose)(np.float32(0.5)), np.sin(np.float32(0.5)))


@visible(make_sine, stage="jit", idea="The print shows the value at each run.", required=True)
def it_prints_when_it_is_on(answer):
    """With verbose=True each call under jit prints the sine."""
    for seen in answer.then(True).jit.observe_calls([(np.float32(0.0),), (np.float32(0.0),)]):
        expect_that(seen.lines == ["y 0.0"], "Each call should print the sine.", seen.lines, "y 0.0")


@visible(
    make_sine,
    stage="cost",
    idea="A `cond`, a `where`, or a host function that does nothing stay in the program and cost time at each run.",
    required=True,
)
def nothing_is_left_when_it_is_off(answer):
    """With verbose=False the program is one sine."""
    seen = answer.observe(False)
    got = answer.then(False).program(np.float32(0.5)).primitives
    message = "With verbose=False the program should be one sine, and nothing be printed."
    expect_that(dict(got) == {"sin": 1} and seen.lines == [], message, dict(got), "{'sin': 1}")


# %% [markdown]
# ## Part 3. Stop
#
# `jax.debug.breakpoint()` pauses the **compiled** program, and opens a debugger much
# like Python's `pdb`. In a terminal you type commands at its prompt, `(jdb)`. Here we
# give the commands as a list, so that the notebook runs without you:
# `scripted_breakpoints`. Without it, a program that stops waits for somebody to type.

# %%
from jaxguide.debug import scripted_breakpoints


@jax.jit
def sine_times_cosine(x):
    """Multiply the sine by the cosine, and stop before."""
    y, z = jnp.sin(x), jnp.cos(x)
    jax.debug.breakpoint()
    return y * z


with scripted_breakpoints(["p x", "p y", "l", "c"]) as transcript:
    sine_times_cosine(2.0)
print(transcript)

# %% [markdown]
# `p` prints an expression, `l` lists the code, `c` continues. `str(transcript)` is this
# text, and `transcript.stops` counts the stops. This function cuts out what the
# debugger answered:


# %%
def answers_of(transcript):
    """Return what the debugger answered to each command: a list of str."""
    typed = str(transcript).split("(jdb) ")[1:]
    return [text.partition("\n")[2].strip() for text in typed]


answers_of(transcript)[:2]


# %% exercise
@exercise(
    title="Ask the debugger",
    points=2,
    reproduces=["S0-13", "S0-14"],
    hints=[
        "When is the transcript complete: inside of the `with` block, or after it?",
        "`with scripted_breakpoints(commands) as transcript:` types the commands at the stops of what runs in it. "
        "https://docs.jax.dev/en/latest/debugging/print_breakpoint.html",
        "with scripted_breakpoints(____) as transcript:\n    result = program(x)\nreturn result, ____",
        "# Like it: how many commands are typed until a program is at its end?\n"
        "def count_commands(stopping, x, typed):\n"
        "    with scripted_breakpoints(typed) as talk:\n"
        "        stopping(x)\n"
        '    return str(talk).count("(jdb) ")  # after the block the talk is complete\n\n'
        'print(count_commands(sine_times_cosine, 2.0, ["p x", "p y", "c"]))  # 3',
    ],
)
def ask_debugger(program, x, commands):
    """Run program(x), type commands at its breakpoints, and return the result and the answers.

    Args:
        program: a function that stops at a `jax.debug.breakpoint()`.
        x: its argument.
        commands: list of str, what to type.

    Returns:
        A tuple: what the program returned; and a list of str, the debugger's answer to each command.
    """
    ...


# %% check
def answers_from(got, count):
    """Return the debugger's answers to the first `count` commands."""
    answers = texts(parts(got, 2)[1])
    message = f"There should be an answer to each of the {count} commands."
    expect_that(len(answers) >= count, message, answers)
    return answers[:count]


@visible(ask_debugger, idea="The program goes on behind the stop, and returns its result.")
def the_result_comes_back(answer):
    """The first value is what the program returned."""
    got = parts(answer(given("sine_times_cosine"), 2.0, ["p x", "c"]), 2)
    expect_that(isinstance(got[1], tuple | list), "Return the result and a list of answers.", got)
    expect_close(plain(got[0]), float(np.sin(2.0) * np.cos(2.0)), atol=1e-6)


@visible(
    ask_debugger,
    idea="At the stop the local variables have their values, and expressions of them too.",
    reproduces=["S0-13"],
)
def local_values_are_answered(answer):
    """The debugger shows x, y, z and y * z."""
    commands = ["p x", "p y", "p z", "p y * z", "c"]
    got = answers_from(answer(given("sine_times_cosine"), 2.0, commands), 4)
    expect_documented("S0-13", got, message="It should be the debugger's answers to p x, p y, p z and p y * z.")


@visible(ask_debugger, idea="`help` lists the commands, and `help p` explains one.", reproduces=["S0-14"])
def help_lists_the_commands(answer):
    """`help` lists the debugger's commands."""
    text = answers_from(answer(given("sine_times_cosine"), 2.0, ["help", "c"]), 1)[0]
    expect_documented(
        "S0-14", sorted(text.rpartition("=")[2].split()), message="It should be the debugger's list of commands."
    )


# %% [markdown]
# More commands: `pp` prints nicely, `w` shows where you are, `u` and `d` go up and down
# the call stack. Ask for help on each:

# %%
with scripted_breakpoints(["help", "help u", "help w", "c"]) as transcript:
    sine_times_cosine(2.0)
print(transcript)

# %% [markdown]
# ### Stop only if something is wrong
#
# A stop at every call is tiring. We want one only for a NaN or an infinity. Under jit a
# Python `if` cannot decide that: there is no value yet.
# `jax.lax.cond(is_true, f, g, *args)` decides at run time: it runs `f(*args)` or
# `g(*args)`.


# %%
@jax.jit
def root_or_stop(x):
    """Take the square root, and stop before if x is negative."""

    def stop(x):
        jax.debug.breakpoint()

    jax.lax.cond(x < 0, stop, lambda x: None, x)
    return jnp.sqrt(x)


with scripted_breakpoints(["p x", "c"]) as transcript:
    root_or_stop(4.0)
    root_or_stop(-4.0)
print(transcript)


# %% exercise
@exercise(
    title="Stop where it is not finite",
    points=3,
    reproduces=["S0-16", "S0-17"],
    hints=[
        "What decides at run time: `if`, or `jax.lax.cond`? What is not finite: NaN only?",
        "`jnp.isfinite(z)` is False for NaN and for infinities. At the stop, `u` goes up to the function that called. "
        "https://docs.jax.dev/en/latest/debugging.html",
        "@jax.jit\ndef divide(x, y):\n    z = x / y\n\n    def stop(z, y):\n        jax.debug.breakpoint()\n\n"
        "    jax.lax.cond(____, lambda z, y: None, stop, z, y)\n    return z\n\n"
        'with scripted_breakpoints(["p z", "p y", "c"]) as transcript:\n    z = divide(x, y)\n'
        "return z, answers_of(transcript)[:2]",
        "# Like it: add up a vector, and stop in the debugger if the sum is above 10.\n"
        "@jax.jit\n"
        "def add_up(v):\n"
        "    total = v.sum()\n\n"
        "    def stop(total):\n"
        "        jax.debug.breakpoint()\n\n"
        "    jax.lax.cond(total > 10, stop, lambda total: None, total)\n"
        "    return total\n\n"
        'with scripted_breakpoints(["p total", "c"]) as talk:\n'
        "    print(add_up(jnp.array([4.0, 9.0])))  # 13.0\n"
        "print(answers_of(talk)[0])  # what the debugger says about the total",
    ],
)
def divide_under_watch(x, y):
    """Divide x by y in a function under jit, which stops in the debugger if the quotient is NaN or infinite.

    Give the debugger its commands by `scripted_breakpoints`: ask for the quotient, then for the divisor y.

    Args:
        x, y: float.

    Returns:
        A tuple: the quotient, float32[]; and a list of the debugger's two answers, empty if it did not stop.
    """
    ...


# %% check
def without_weak_types(answers):
    """Return the answers without the note of a weak type."""
    return [text.replace(", weak_type=True", "") for text in texts(answers)]


@visible(divide_under_watch, idea="A finite quotient needs no stop.", reproduces=["S0-16"])
def finite_values_do_not_stop(answer):
    """For 2 / 1 it does not stop."""
    quotient, answers = parts(answer(2.0, 1.0), 2)
    message = "For 2 / 1 the quotient should be 2, and nothing should stop."
    expect_documented("S0-16", [plain(quotient), len(texts(answers))], message=message)


@visible(
    divide_under_watch,
    idea="At the stop the debugger shows what was divided by what.",
    reproduces=["S0-17"],
)
def an_infinity_stops(answer):
    """For 2 / 0 it stops, and shows the quotient and the divisor."""
    quotient, answers = parts(answer(2.0, 0.0), 2)
    expect_that(np.isinf(plain(quotient)), "For 2 / 0 the quotient should be inf.", quotient, "inf")
    message = "For 2 / 0 the debugger should show the quotient inf, and the divisor 0."
    expect_documented("S0-17", without_weak_types(answers), message=message)


@visible(
    divide_under_watch,
    stage="traces",
    idea="Without jit there is no need for a breakpoint in the program: Python could stop, and look.",
)
def the_quotient_is_under_jit(answer):
    """The quotient is computed in a function under jit."""
    seen = answer.observe(2.0, 1.0)
    message = "It should happen in a function under jit; in yours nothing is traced by `jax.jit`."
    expect_that(seen.traces > 0, message, seen.traces, "1 or more")


@visible(divide_under_watch, idea="NaN is not finite either; and negative infinity is not.")
def nan_and_minus_infinity_stop(answer):
    """For 0 / 0 and -3 / 0 it stops too."""
    for x, text in ((0.0, "nan"), (-3.0, "-inf")):
        answers = without_weak_types(parts(answer(x, 0.0), 2)[1])
        wanted = [f"Array({text}, dtype=float32)", "Array(0., dtype=float32)"]
        expect_that(answers == wanted, f"{x} / 0 should stop, and show {text}.", answers, wanted)


# %% [markdown]
# `jaxguide.debug.breakpoint_if_nonfinite(z)` is the guide's function, ready to use. It
# stops inside a helper of its own; `u` twice leads to your function. Here a vector of
# equal numbers cannot be standardised: its spread is 0.

# %%
from jaxguide.debug import breakpoint_if_nonfinite


def over(a, b):
    """Divide a by b, and stop if that is not finite."""
    q = a / b
    breakpoint_if_nonfinite(q)
    return q


@jax.jit
def standardised(x):
    """Subtract the mean and divide by the spread."""
    spread = x.std()
    return over(x - x.mean(), spread)


with scripted_breakpoints(["p x", "u", "u", "p q", "c"]) as transcript:
    standardised(jnp.ones(3))
print(transcript)


# %%
def plus_one(v):
    """Add one, stop, and double."""
    k = v + 1
    jax.debug.breakpoint()
    return 2 * k


@jax.jit
def times_ten(t):
    """Multiply by ten, and go on in `plus_one`."""
    w, v = 10 * t, t - 1
    return plus_one(w) + v


# %% [markdown]
# If you ask for a name that the function does not have, the debugger answers
# `*** NameError: ...`. Then go up.


# %% exercise
@exercise(
    title="Find the cause",
    points=3,
    reproduces=["S0-15"],
    hints=[
        "If a name is not in the function that stopped, where is it? Which command leads there?",
        "`u` goes one function up. At the outermost it stays there. You may ask for all names at each level, and keep "
        "the first answer that is no error. https://docs.jax.dev/en/latest/debugging/print_breakpoint.html",
        'commands = []\nfor _ in range(6):\n    commands += [f"p {name}" for name in names] + [____]\n'
        'with scripted_breakpoints([*commands, "c"]) as transcript:\n    program(x)\nfound = {}\n'
        "for command, text in zip(commands, answers_of(transcript)):\n"
        '    if command != "u" and not text.startswith(____):\n        found.setdefault(command[2:], text)\n'
        "return found",
        "# Like it: how many functions up is a name? Ask for it, go up, ask again, ...\n"
        "def levels_up(stopping, x, name):\n"
        '    with scripted_breakpoints([f"p {name}", "u"] * 4 + ["c"]) as talk:\n'
        "        stopping(x)\n"
        '    asked = answers_of(talk)[:8:2]  # each second answer is that to a "u"\n'
        '    missing = [text.startswith("***") for text in asked]  # "***": an error\n'
        "    return missing.index(False)\n\n"
        'print(levels_up(times_ten, 1.0, "k"))  # 0\n'
        'print(levels_up(times_ten, 1.0, "w"))  # 1',
    ],
)
def values_at_stop(program, x, names):
    """Run program(x), which may stop at one breakpoint, and look up names there, in all functions of the call stack.

    If several functions have a name, the one nearest to the stop counts. No name is more than 3 levels up.

    Args:
        program: a function of x, such as `times_ten` or `standardised`.
        x: its argument.
        names: list of str.

    Returns:
        A dict from each name that was found to the debugger's answer; empty if it did not stop.
    """
    ...


# %% check
def found_by(answer, program, x, names):
    """Return the answers that a student's function found: a dict from str to str."""
    got = answer(given(program), x, names)
    right = isinstance(got, dict) and all(isinstance(text, str) for pair in got.items() for text in pair)
    expect_that(right, "Return a dict from names to answers, both str.", got)
    return got


@visible(
    values_at_stop,
    idea="`u` leads from the function that stopped to the one that called it.",
    reproduces=["S0-15"],
)
def the_call_stack_is_searched(answer):
    """k stands where it stopped, and w in the function that called."""
    got = found_by(answer, "times_ten", 2.0, ["k", "w"])
    expect_documented("S0-15", got, message="k should be 21, where `times_ten` stops, and w 20, one level up.")


@visible(values_at_stop, idea="Names belong to the function in which they stand; the nearest one counts.")
def the_nearest_function_counts(answer):
    """v is looked up in the function that stopped."""
    got = found_by(answer, "times_ten", 2.0, ["v", "no_such_name"])
    wanted = {"v": "Array(20., dtype=float32)"}
    expect_that(
        got == wanted, "v should be 20, as where it stopped, and `no_such_name` should not be found.", got, wanted
    )


@visible(values_at_stop, idea="0 / 0 is NaN: the spread of equal numbers is 0.")
def the_cause_of_the_nan_is_found(answer):
    """For equal numbers, the quotient is NaN because the spread is 0."""
    got = found_by(answer, "standardised", np.ones(3, np.float32), ["q", "spread"])
    wanted = {"q": "Array([nan, nan, nan], dtype=float32)", "spread": "Array(0., dtype=float32)"}
    expect_that(got == wanted, "q should be NaN, and the spread 0.", got, wanted)


@visible(values_at_stop, idea="Where nothing stops, nobody answers.")
def nothing_is_found_without_a_stop(answer):
    """Without a stop the dict is empty."""
    got = found_by(answer, "standardised", np.arange(3, dtype=np.float32), ["q", "spread"])
    expect_that(got == {}, "For 0, 1, 2, where nothing stops, the dict should be empty.", got, "{}")


# %% [markdown]
# ### Without stopping
#
# `find_nan` runs the program equation by equation, and says which line made the first
# NaN, and from what.

# %%
from jaxguide.debug import find_nan


def standardised_quietly(x):
    """Subtract the mean and divide by the spread."""
    spread = x.std()
    return (x - x.mean()) / spread


find_nan(standardised_quietly, jnp.ones(3))

# %% [markdown]
# JAX itself has `jax.debug_nans(True)`: every jitted function then raises an error if
# its result has a NaN. It costs time, so switch it on only to search.

# %%
try:
    with jax.debug_nans(True):
        jax.jit(standardised_quietly)(jnp.ones(3))
except FloatingPointError as error:
    print(str(error).splitlines()[0])
# %% [markdown]
# ## Part 4. Watch, collect, check
#
# `jax.debug.callback(function, *args)` hands values to any Python function when the
# program runs. In that function everything is allowed: files, plots, `logging`, and
# `if`, because there the values are known.


# %%
class PrintingHandler(logging.Handler):
    """Print each record of a logger."""

    def emit(self, record):
        print(self.format(record))


def make_logger():
    """Make a logger that writes as `logging.warning` does in a terminal."""
    handler = PrintingHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s:%(name)s:%(message)s"))
    logger = logging.Logger("root")
    logger.addHandler(handler)
    return logger


log = make_logger()
log.warning("Nothing has happened yet")


# %%
@jax.jit
def fourth(x):
    """Divide x by four, and say on the host whether it is large."""

    def look(value):
        print(value, "is large" if value > 100 else "is small")

    jax.debug.callback(look, x)
    return x / 4


fourth(8.0)
_ = fourth(800.0)


# %% exercise
@exercise(
    title="Log on the host",
    points=2,
    reproduces=["S0-20", "S0-21", "S0-22"],
    hints=[
        "Where is the sign of x known: in the traced function, or in the Python function that the callback calls?",
        "`jax.debug.callback(f, x)` calls f with the value, so an `if` in f works. "
        "https://docs.jax.dev/en/latest/external-callbacks.html",
        'def log_value(value):\n    if value < 0:\n        log.error(f"Logged value: {value}")\n'
        "    else:\n        ____\n\n"
        "jax.debug.callback(____, x)\nreturn x",
        "# Like it: log a loss as information, and as critical if it is above 100.\n"
        "def note_loss(loss):\n"
        "    def write(number):  # runs on the host, and gets a value\n"
        "        level = logging.CRITICAL if number > 100 else logging.INFO\n"
        '        log.log(level, f"loss {number}")\n\n'
        "    jax.debug.callback(write, loss)\n"
        "    return loss / 2\n\n"
        "print(jax.vmap(note_loss)(jnp.array([3.0, 250.0])))  # [  1.5 125. ]",
    ],
)
def log_by_sign(x):
    """Log `Logged value: ` and the value of x at each run, and return x.

    A negative value is logged by `log.error`, any other by `log.warning`.

    Args:
        x: float32[]; under jit, vmap and grad too.

    Returns:
        x.
    """
    ...


# %% check
@visible(log_by_sign, idea="Logging does not change the value.")
def the_value_comes_back(answer):
    """The result is x."""
    for x in (1.0, -2.5):
        expect_that(plain(answer(x)) == x, "The result should be x.", answer(x), x)


@visible(
    log_by_sign,
    stage="jit",
    kind="observed",
    idea="The callback is a part of the program, and gets the value of each run.",
    reproduces=["S0-20"],
    required=True,
)
def jit_logs_each_value(answer):
    """Under jit each call logs its value."""
    first, second = answer.jit.observe_calls([(1.0,), (2.5,)])
    expect_documented("S0-20", "\n".join(first.lines), message="Under jit the value 1.0 should be logged, once.")
    wanted = ["WARNING:root:Logged value: 2.5"]
    expect_that(second.lines == wanted, "The second call should log its own value.", second.lines, wanted)


@visible(
    log_by_sign,
    stage="jit",
    kind="observed",
    idea="On the host `if` sees a value. Under vmap the callback runs once for each example.",
    reproduces=["S0-21"],
)
def vmap_logs_each_example(answer):
    """Under vmap each example is logged once, by its sign."""
    seen = answer.jit.vmap().observe(jnp.arange(5.0))
    expect_documented("S0-21", sorted(seen.lines), message="Under vmap each of the five values should be logged once.")
    seen = answer.jit.vmap().observe(jnp.array([-1.0, 2.0]))
    wanted = ["ERROR:root:Logged value: -1.0", "WARNING:root:Logged value: 2.0"]
    message = "-1 should be logged as an error, and 2 as a warning."
    expect_that(sorted(seen.lines) == wanted, message, seen.lines, wanted)


@visible(
    log_by_sign,
    stage="gradient",
    kind="observed",
    idea="A debug callback has no part in the derivative; it runs on the way forward.",
    reproduces=["S0-22"],
)
def grad_logs_the_forward_value(answer):
    """Under grad the value is logged once, and the slope is 1."""
    seen = answer.grad().observe(1.0)
    expect_close(plain(seen.value), 1.0)
    expect_documented("S0-22", "\n".join(seen.lines), message="Under grad the value 1.0 should be logged, once.")


# %% [markdown]
# ### Collect values
#
# You want all values of a loop in a Python list, to plot them. A plain `seen.append(x)`
# would keep **tracers**: that is called a *leak*. And a call may return before its
# callbacks have run: `jax.effects_barrier()` waits for all of them.
#
# Here are programs that show you their values: each calls `look(value)` while JAX
# traces it.


# %%
def in_jit(look, x):
    """Look at x under jit."""

    def f(x):
        look(x)
        return x + 1

    return jax.jit(f)(x)


def in_vmap(look, x):
    """Look at x, x - 1 and x - 2, under vmap."""

    def f(x):
        look(x)
        return x + 1

    return jax.vmap(f)(x - jnp.arange(3.0))


def in_grad(look, x):
    """Look at x under grad."""

    def f(x):
        look(x)
        return x**2

    return jax.grad(f)(x)


def in_scan(look, x):
    """Look at x, x - 1 and x - 2, in a loop of three steps."""

    def step(x, _):
        look(x)
        return x - 1, None

    return jax.lax.scan(step, x, length=3)[0]


def in_while(look, x):
    """Look at x, x - 1, ... while it is above 0: how often, only the running program knows."""

    def step(x):
        look(x)
        return x - 1

    return jax.lax.while_loop(lambda x: x > 0, step, x)


# %%
leaked = []
in_while(leaked.append, 3.0)
print(leaked)


# %% exercise
@exercise(
    title="Values on the host",
    points=3,
    reproduces=["S0-19"],
    hints=[
        "Which function must append to the list: one that JAX traces, or one that runs on the host?",
        "`jax.debug.callback` runs under every transformation; `jax.effects_barrier()` waits until all callbacks have "
        "run. https://docs.jax.dev/en/latest/_autosummary/jax.debug.callback.html",
        "seen = []\n\ndef look(value):\n"
        "    jax.debug.callback(lambda number: seen.append(____), value, ordered=True)\n\n"
        "program(look, x)\njax.effects_barrier()\nreturn seen",
        "# Like it: keep in a dict, by the step, what a loop makes of a number.\n"
        "heights = {}\n\n"
        "def keep(i, height):  # runs on the host, and gets values\n"
        "    heights[int(i)] = float(height)\n\n"
        "def fall(i, height):\n"
        "    jax.debug.callback(keep, i, height)\n"
        "    return height / 2\n\n"
        "jax.lax.fori_loop(0, 3, fall, 8.0)\n"
        "jax.effects_barrier()  # wait until `keep` has run three times\n"
        "print(sorted(heights.items()))  # [(0, 8.0), (1, 4.0), (2, 2.0)]",
    ],
)
def values_seen(program, x):
    """Run program(look, x) with a function `look` of yours, and return the values that it looks at, in order.

    Args:
        program: one of the functions above. It calls `look(value)` with tracers, and does not use what it returns.
        x: float.

    Returns:
        A list of float.
    """
    ...


# %% check
def seen_by(answer, program, x):
    """Return the values that a student's function saw, as a list of Python numbers."""
    got = answer(given(program), x)
    expect_that(isinstance(got, tuple | list), "Return a list of numbers.", got)
    return [plain(value) for value in got]


@visible(values_seen, idea="A tracer has no value. Only a callback gets one, when the program runs.")
def numbers_come_out_of_jit(answer):
    """Under jit the number 2.5 is seen."""
    got = seen_by(answer, "in_jit", 2.5)
    expect_that(got == [2.5], "It should be the one value that the program looks at: 2.5.", got, "[2.5]")


@visible(
    values_seen,
    idea="A debug callback works under every transformation: once for each example, and once for each step.",
    reproduces=["S0-19"],
)
def every_transformation_is_seen(answer):
    """Under jit, vmap, grad, scan and while the values are seen."""
    programs = ("in_jit", "in_vmap", "in_grad", "in_scan", "in_while")
    got = {name.removeprefix("in_"): seen_by(answer, name, 3.0) for name in programs}
    # Of the examples of a vmap no order is asked.
    got["vmap"] = sorted(got["vmap"])
    expect_documented("S0-19", got, message="It should be the values that the five programs look at for x = 3.")


# %% [markdown]
# The helper `record` does the same with less: it puts a callback into the program only
# inside of a `recording()` block. Here it watches how a step size that is a little too
# large makes gradient descent swing.

# %%
from jaxguide.debug import record


@jax.jit
def descend(w):
    """Take fifteen steps of gradient descent on (w - 3)**2."""

    def step(w, _):
        record("w", w)
        return w - 0.9 * jax.grad(lambda w: (w - 3) ** 2)(w), None

    return jax.lax.scan(step, w, length=15)[0]


with recording() as rec:
    descend(0.0)
_, axes = plt.subplots(figsize=(6, 2.5))
axes.plot(rec["w"], "o-")
axes.axhline(3, color="gray", linewidth=1)
axes.set_xlabel("step")
_ = axes.set_ylabel("w")

# %% [markdown]
# ### A report for bad examples only
#
# Say something only if there is a NaN: `jax.lax.cond` did that above. But look what
# happens under vmap. For a batch there are many answers to the question, so JAX runs
# **both** branches for all examples, and selects afterwards.


# %%
def report_with_cond(x):
    """Print x if it is not finite."""
    jax.lax.cond(jnp.isfinite(x), lambda x: None, lambda x: jax.debug.print("not finite: {}", x), x)
    return x


print("alone:")
report_with_cond(1.0)
print("under vmap:")
_ = jax.vmap(report_with_cond)(jnp.array([1.0, jnp.nan, 2.0]))

# %% [markdown]
# Three reports, and one bad example! The program shows why: alone it has a `cond`, and
# under vmap none. The print stands there without any condition.

# %%
draw_program(report_with_cond, 1.0)

# %%
draw_program(jax.vmap(report_with_cond), jnp.ones(3))


# %% exercise
@exercise(
    title="Report only what is bad",
    points=3,
    hints=[
        "Where can a condition stand so that vmap does not see it?",
        "The callback runs once for each example. On the host, a Python `if` decides for this example. "
        "https://docs.jax.dev/en/latest/external-callbacks.html",
        'def say(count):\n    if ____:\n        print(f"not finite: {count} of {x.size}")\n\n'
        "jax.debug.callback(say, (~jnp.isfinite(x)).sum())\nreturn x",
        "# Like it: cut numbers off at 5, and say for which examples that was needed.\n"
        "def cut_off(v):\n"
        "    def warn(top):\n"
        "        if top > 5:  # on the host: no part of the program, vmap or not\n"
        '            print(f"cut off: {top}")\n\n'
        "    jax.debug.callback(warn, v.max())\n"
        "    return jnp.minimum(v, 5.0)\n\n"
        "print(jax.vmap(cut_off)(jnp.array([[1.0, 7.0], [2.0, 3.0]])))  # one warning",
    ],
)
def report_nonfinite(x):
    """Print a line if x has elements that are NaN or infinite, at run time, and return x.

    The line for an x with 2 such elements among 3 is `not finite: 2 of 3`. Under vmap there is one line for each
    example that has some, and none for the others.

    Args:
        x: float32[n].

    Returns:
        x.
    """
    ...


# %% check
@visible(report_nonfinite, idea="Looking does not change the value.")
def the_vector_comes_back(answer):
    """The result is x."""
    x = np.array([1.0, 2.0, 3.0], np.float32)
    expect_close(answer(x), x)
    x[1] = np.nan
    same = np.array_equal(np.asarray(answer(x)), x, equal_nan=True)
    expect_that(same, "A vector with NaN should come back as it is.", answer(x), "[1. nan 3.]")


@visible(
    report_nonfinite, stage="jit", idea="Under jit a condition on a value needs the value: on the host.", required=True
)
def bad_elements_are_counted(answer):
    """Under jit the elements that are not finite are counted, at each run."""
    bad, good = (np.array(values, np.float32) for values in ([np.nan, 1, -np.inf, 2], [1, 2, 3, 4]))
    first, second, third = answer.jit.observe_calls([(bad,), (good,), (bad,)])
    for seen in (first, third):
        message = "Of NaN, 1, -inf and 2 it should report two."
        expect_that(seen.lines == ["not finite: 2 of 4"], message, seen.lines, "not finite: 2 of 4")
    expect_that(second.lines == [], "For a finite vector nothing should be printed.", second.lines, "no lines")


@visible(
    report_nonfinite,
    stage="jit",
    idea="Under vmap a `cond` becomes a select: both branches run for all examples, the print too.",
    required=True,
)
def only_bad_examples_are_reported(answer):
    """Under vmap only the examples that are not finite are reported."""
    xs = np.ones((4, 3), np.float32)
    xs[1, 0] = xs[3, 1] = xs[3, 2] = np.nan
    wanted = ["not finite: 1 of 3", "not finite: 2 of 3"]
    for one in (answer.vmap(), answer.vmap().jit):
        lines = one.observe(xs).lines
        message = "There should be one line for each of the two bad examples of four."
        expect_that(sorted(lines) == wanted, message, lines, wanted)


# %% [markdown]
# ### Checks that survive jit
#
# Under jit, `assert x > 0` fails with an error about tracers, even if x is 5. And JAX
# itself is silent where NumPy would complain: an index out of bounds is moved to the
# last element.

# %%
jnp.arange(5.0)[7]

# %% [markdown]
# `checkify.check(condition, text, **values)` is an assertion inside the program.
# `checkify.checkify(f)` makes f return two things: an error, and the result.
# `error.get()` is the text, or None; `error.throw()` raises it.


# %%
@jax.jit
def reciprocal(x):
    """Divide one by x; x must not be 0."""
    checkify.check(x != 0, "I cannot divide by {x}", x=x)
    return 1 / x


checked = checkify.checkify(reciprocal)
for x in (4.0, 0.0):
    error, y = checked(x)
    print("error:", error.get(), "  result:", y)


# %% exercise
@exercise(
    title="An index out of bounds",
    points=3,
    hints=[
        "Who decides whether the index is right: Python while tracing, or the program when it runs?",
        "`checkify.check` inside, `checkify.checkify` outside. "
        "https://docs.jax.dev/en/latest/debugging/checkify_guide.html",
        '@jax.jit\ndef pick(table, i):\n    checkify.check(____, "index {i} is out of bounds", i=i)\n'
        "    return table[i]\n\n"
        "error, value = ____(pick)(table, i)\nreturn error.get(), value",
        "# Like it: mix two numbers. The running program checks that the share is fair.\n"
        "@jax.jit\n"
        "def mix(a, b, share):\n"
        '    checkify.check(share <= 1, "a share of {share} is too much", share=share)\n'
        "    return share * a + (1 - share) * b\n\n"
        "for share in (0.5, 2.0):\n"
        "    complaint, mixed = checkify.checkify(mix)(10.0, 20.0, share)\n"
        "    print(complaint.get(), mixed)  # None 15.0, then a text and 0.0",
    ],
)
def checked_pick(table, i):
    """Take table[i] in a function under jit, which checks at run time that i is less than the length of the table.

    Args:
        table: float32[n].
        i: int32[], 0 or more.

    Returns:
        A tuple: None if i is in bounds, else a text that names i, such as `index 7 is out of bounds`; and table[i],
        any number where there is none.
    """
    ...


# %% check
def complaint_and_value(answer, n, i):
    """Return the complaint, None or a text, and the value, for a table 10, 11, 12, ..."""
    complaint, value = parts(answer(jnp.arange(n) + np.float32(10), jnp.int32(i)), 2)
    right = complaint is None or isinstance(complaint, str)
    expect_that(right, "The first value should be None or a text.", complaint)
    return complaint, value


@visible(checked_pick, idea="Inside the bounds there is nothing to complain about. Counting begins at 0.")
def good_indices_pass(answer):
    """For 0 and 4 of 5 there is no complaint, and the value is right."""
    for i in (0, 4):
        complaint, value = complaint_and_value(answer, 5, i)
        expect_that(
            complaint is None,
            f"For {i}, which is in bounds of a table of 5, the complaint should be None.",
            complaint,
            "None",
        )
        expect_close(value, np.float32(10 + i))


@visible(checked_pick, idea="An assertion of the running program is functional: it comes out as a value.")
def bad_indices_are_named(answer):
    """For 5 and 7 of 5 the complaint names the index."""
    for i in (5, 7):
        complaint, _ = complaint_and_value(answer, 5, i)
        named = complaint is not None and str(i) in complaint
        expect_that(
            named, f"For {i}, which is out of bounds of a table of 5, a text should name it.", complaint, f"... {i} ..."
        )


@visible(
    checked_pick,
    stage="traces",
    idea="The point of checkify: the check is made by a compiled program, where no Python runs.",
    required=True,
)
def the_check_is_under_jit(answer):
    """The table is read in a function under jit."""
    seen = answer.observe(jnp.arange(3.0), jnp.int32(1))
    message = "It should happen in a function under jit; in yours nothing is traced by `jax.jit`."
    expect_that(seen.traces > 0, message, seen.traces, "1 or more")


# %% [markdown]
# checkify can put such checks in for you, and for NaN and division by zero too:

# %%
automatic = checkify.checkify(jax.jit(lambda x: jnp.log(x) / x), errors=checkify.float_checks)
error, _ = automatic(-1.0)
print(error.get().strip().splitlines()[0])

# %% [markdown]
# ## What to remember
#
# - Python's `print` shows tracers, once for each trace; `jax.debug.print` shows values,
#   at each run. No f-strings.
# - Only `ordered=True` promises an order.
# - Under grad a print shows the forward value. To see the cotangent, print in the
#   `backward` of a `custom_vjp`.
# - Switch debugging off by a static flag, so that nothing is left in the program.
# - `jax.debug.breakpoint` stops the compiled program; `u` leads to whoever called.
#   Behind a `cond` it stops for bad values only.
# - `jax.debug.callback` does anything with values on the host, and `if` works there,
#   also for each example of a vmap.
# - `checkify` is the `assert` of compiled programs. `find_nan` finds the line of the
#   first NaN.

# %% [markdown]
# ## What to read next
#
# - [Introduction to debugging](https://docs.jax.dev/en/latest/debugging.html), the page
#   behind this lesson
# - [Printing and
#   breakpoints](https://docs.jax.dev/en/latest/debugging/print_breakpoint.html): all
#   commands
# - [The checkify guide](https://docs.jax.dev/en/latest/debugging/checkify_guide.html)
# - [Flags for debugging](https://docs.jax.dev/en/latest/debugging/flags.html):
#   `jax_debug_nans`, `jax_disable_jit`
# - The lesson `callbacks`: the other two kinds of callback, and which calls are
#   dropped, repeated or reordered
