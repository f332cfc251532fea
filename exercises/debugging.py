# %% check
import re

from jaxguide.course.author import (
    StudentError,
    exercise,
    expect_close,
    expect_documented,
    expect_shape,
    expect_that,
    given,
    prediction,
    reveal,
    visible,
)


def parts(got, count):
    """Return the parts of a result that should be a tuple of `count` values."""
    message = f"Return a tuple of {count} values."
    is_tuple = isinstance(got, tuple | list) or hasattr(got, "children")  # a NamedTuple is a node with children
    expect_that(is_tuple and len(got) == count, message, got)
    return list(got)


def plain(value):
    """Return a scalar of any kind as a Python number, and what is a number already as it is."""
    return np.asarray(value).item()


def described(value):
    """Return a scalar array as the ledger has it: its value, dtype and weak type."""
    expect_shape(value, ())
    number = plain(value)
    number = number if np.isfinite(number) else str(number)
    return [number, str(getattr(value, "dtype", type(value))), bool(getattr(value, "weak_type", False))]


def texts(got):
    """Return a list or tuple of strings as a list."""
    right = isinstance(got, tuple | list) and all(isinstance(text, str) for text in got)
    expect_that(right, "Return a list of strings.", got)
    return list(got)


def beginning(lines, start):
    """Return the lines that begin with a text."""
    return [line for line in lines if line.startswith(start)]


def debugging_of(program):
    """Return how often the primitives of prints, callbacks and breakpoints are in a program."""
    return {name: count for name, count in program.primitives.items() if name.startswith("debug_")}


# %% [markdown]
# # Debugging: look into a running program
#
# A JAX program does not run line by line where you could watch it. So `print` shows
# tracers, `assert` fails for no reason, and a NaN comes out of nowhere. This lesson
# gives you tools that work inside `jit`, `vmap` and `grad`.
#
# After this lesson you can
#
# - print values and shapes at the right moment, and in the right order,
# - hand values to any Python function while the program runs,
# - stop a compiled program in a debugger, just where it goes wrong,
# - find out why a training run died, and mend it.
#
# Some exercises reproduce an example of JAX's own documentation. Below each of these, a
# folded cell shows the example, its documented output and today's.
#
# You need the lessons `jit_and_tracing`, `vectorization` and `autodiff`. [How to read a
# contract](arrays_and_layers.ipynb#How-to-read-a-contract) explains the types in the
# tasks, such as `float32[n,m]`.

# %%
import logging
from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from jax.experimental import checkify

from jaxguide.clock import real_machine
from jaxguide.course.breakpoints import scripted_breakpoints
from jaxguide.data import moons
from jaxguide.debug import capture, find_nan, record, recording
from jaxguide.tracing import program

# %% [markdown]
# ## The task: a run that dies
#
# This is a training run like that of the lesson `autodiff`: *logistic regression* on
# points of two half moons. A point's *score* is a weighted sum of its numbers. The
# score becomes a *chance*, between 0 and 1, that the point is on the lower moon. Points
# have three numbers now: their coordinates, and a fifth power, which lets the boundary
# bend.

# %%
points, labels = moons(200)
table = jnp.asarray(np.column_stack([points, (points[:, 0] - 0.5) ** 5]))
labels = jnp.asarray(labels)
untrained = {"w": jnp.zeros(3), "b": jnp.array(0.0)}


def cross_entropy(params, table, labels):
    """Return how bad the chances are on average, and the share of right guesses."""
    score = table @ params["w"] + params["b"]
    chance = 1 / (1 + jnp.exp(-score))
    loss = -jnp.mean(labels * jnp.log(chance) + (1 - labels) * jnp.log(1 - chance))
    return loss, jnp.mean((score > 0) == labels)


@partial(jax.jit, static_argnames=("loss", "steps"))
def fit(loss, params, table, labels, steps):
    """Train; return the parameters, and each step's loss and share of right guesses."""
    slopes_of = jax.value_and_grad(loss, has_aux=True)

    def step(params, _):
        (value, right), slopes = slopes_of(params, table, labels)
        norm = jnp.sqrt(sum(jnp.sum(one**2) for one in jax.tree.leaves(slopes)))
        record("norm", norm)  # This does nothing, until Part 4 makes use of it.
        params = jax.tree.map(lambda value, slope: value - 1.37 * slope, params, slopes)
        return params, (value, right)

    params, (losses, rights) = jax.lax.scan(step, params, length=steps)
    return params, losses, rights


_, losses, rights = fit(cross_entropy, untrained, table, labels, 200)
print("losses of steps 34 to 39:", losses[34:40])
print(f"right at step 36: {rights[36]:.0%}, at step 38: {rights[38]:.0%}")

# %% [markdown]
# Up to step 36, counted from 0, all is well. The loss of step 37 is NaN, and from there
# on everything is. What happened? All 200 steps are one compiled program, in which no
# Python code runs. First you need ways to look into it.

# %% [markdown]
# ## Part 1. Print
#
# While JAX traces your function, Python's `print` shows tracers. When the compiled
# program runs, it shows nothing, since Python does not run.


# %%
@jax.jit
def half(x):
    """Halve x, and print it the Python way."""
    print("half got", x)
    return x / 2


half(8.0)
_ = half(6.0)  # prints nothing

# %% [markdown]
# `jax.debug.print` does not print now. It writes a print **into the program**, which
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
# What is known while JAX traces is called **static**: shapes, dtypes, Python numbers.
# The rule of thumb: Python's `print` for static facts, `jax.debug.print` for values.


# %% exercise
@exercise(
    title="Shape and value",
    points=2,
    core=True,
    minutes=4,
    reproduces=["S0-01", "S0-03"],
    hints=[
        "Which of the two facts is known while JAX traces, and which only when the program runs?",
        "A tracer has `.shape` and `.dtype`, and Python's `print` can show them. Values need `jax.debug.print`. "
        "https://docs.jax.dev/en/latest/debugging.html",
        'print(f"shape {x.shape} dtype {x.dtype}")\n____("value {}", x)\nreturn x',
        """# Like it: print how many numbers v has when it is traced, and their sum.
@jax.jit
def sum_up(v):
    print("traced for", v.size, "numbers")  # static
    jax.debug.print("they make {}", v.sum())  # traced
    return v.sum()

print(sum_up(jnp.array([1.0, 2.0])))  # 3.0, after two lines
print(sum_up(jnp.array([5.0, 6.0])))  # 11.0, after one line: no new trace""",
    ],
)
def shape_and_value(x):
    """Print a line about the shape and dtype of x when it is traced, and one about its value at each run. Return x.

    >>> compiled = jax.jit(shape_and_value)
    >>> compiled(jnp.arange(3.0))
    shape (3,) dtype float32
    value [0. 1. 2.]
    Array([0., 1., 2.], dtype=float32)
    >>> compiled(jnp.ones(3))
    value [1. 1. 1.]
    Array([1., 1., 1.], dtype=float32)

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


@visible(shape_and_value, stage="jit", idea="The program prints at each run.", required=True)
def each_run_prints_its_value(answer):
    """Each call prints its own value."""
    calls = answer.jit.observe_calls([(jnp.arange(2.0),), (jnp.arange(2.0) + 5,)])
    for seen, wanted in zip(calls, ("value [0. 1.]", "value [5. 6.]"), strict=True):
        expect_that(wanted in seen.lines, "Each call should print its own value.", seen.lines, wanted)


# %% documented S0-01 S0-03
# Documented and today's output agree; the page says both in words. The second call
# prints one line, since Python does not run.
@jax.jit
def g(x):
    print(f"shape {x.shape} dtype {x.dtype}")
    jax.debug.print("value {}", x)
    return x


for x in (jnp.arange(3.0), jnp.ones(3)):
    g(x).block_until_ready()

# documented
# For values under `jax.jit` and `jax.vmap` use `jax.debug.print()`; for static values,
# such as dtypes and shapes, Python's `print()`. Python's `print` runs while JAX traces,
# before there are any values.

# today
# shape (3,) dtype float32
# value [0. 1. 2.]
# value [1. 1. 1.]


# %% exercise
@prediction(
    title="Predict: how often does Python print?",
    points=1,
    core=True,
    minutes=1,
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
@reveal(
    predict_lines_of_half,
    why="JAX traces once for each type: float32[], float32[2] and float32[3]. Other numbers of a known type run the "
    "program that is there, without Python.",
    shows="""fresh = jax.jit(lambda x: (print("Python runs, for", x), x / 2)[1])
for x in (2.0, 3.0, jnp.arange(2.0), jnp.arange(2.0) * 5, jnp.arange(3.0)):
    fresh(x)""",
)
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
# Python fills in an f-string while it traces. There is no value yet, so the tracer's
# text goes into the string, once and for all.


# %%
@jax.jit
def fifth(x):
    """Divide x by five, and print it twice."""
    jax.debug.print(f"f-string: {x}")
    jax.debug.print("value: {}", x)
    return x / 5


_ = fifth(10.0)

# %% [markdown]
# So give `jax.debug.print` a text with `{}`, and the values apart from it. Names work,
# too: `jax.debug.print("{y}", y=y)`.


# %% exercise
@exercise(
    title="See the sine, in two ways",
    points=3,
    core=True,
    minutes=4,
    reproduces=["S0-02", "S0-04", "S0-05"],
    hints=[
        "Who fills in an f-string, and when? Which of the four lines may show a tracer?",
        "`jax.debug.print` fills in the braces at run time, with the values that you hand over apart. "
        "https://docs.jax.dev/en/latest/debugging/print_breakpoint.html",
        'print("print(x) ->", x)\njax.debug.print("jax.debug.print(x) -> {}", ____)\ny = jnp.sin(x)\n'
        'print("print(y) ->", y)\n____\nreturn y',
        """# Like it: the width of a vector. f"{low} to {high}" would show tracers.
@jax.jit
def width_of(v):
    low, high = v.min(), v.max()
    jax.debug.print("{low} to {high}", low=low, high=high)
    return high - low

print(width_of(jnp.array([3.0, 8.0, 5.0])))  # 5.0""",
    ],
)
def see_sine(x):
    """Compute y, the sine of x, and print first x and then y, each in two ways.

    Python's `print` writes `print(x) -> ` and what it sees of x. `jax.debug.print` writes `jax.debug.print(x) -> ` and
    the value of x. Likewise for y. What tracers look like is not up to you, so the example leaves it out.

    >>> jax.jit(see_sine)(2.0)
    print(x) -> ...
    print(y) -> ...
    jax.debug.print(x) -> 2.0
    jax.debug.print(y) -> 0.90929...
    Array(0.9092..., dtype=float32, weak_type=True)

    Args:
        x: float32[], traced under `jax.jit` or `jax.vmap`.

    Returns:
        float32[]: y.
    """
    ...


# %% check
@visible(see_sine, idea="Printing does not change the value.")
def the_sine_comes_back(answer, draw):
    """The result is the sine."""
    x = draw.floats(3)
    expect_close(answer.vmap()(x), np.sin(np.asarray(x)), rtol=1e-5, atol=1e-6)


@visible(
    see_sine,
    stage="jit",
    idea="While JAX traces, x and y are tracers: a dtype, a shape, no value.",
    reproduces=["S0-02"],
    required=True,
)
def pythons_prints_show_tracers(answer):
    """Under jit, Python's two prints show tracers."""
    lines = beginning(answer.jit.observe(2.0).lines, "print(")
    message = "Under jit, Python's `print` should print two lines, which show the tracers of x and y."
    expect_documented("S0-02", lines, message=message)


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
    expect_documented("S0-04", lines, message="`jax.debug.print` should show the numbers x and y, 2 and 0.909297.")


@visible(
    see_sine,
    stage="jit",
    idea="Under vmap, too, Python sees one tracer for all examples. The program prints each example.",
    reproduces=["S0-05"],
    required=True,
)
def under_vmap_each_example_is_printed(answer):
    """Under vmap of 0, 1, 2, Python's line about x shows a tracer, and `jax.debug.print` shows the three numbers."""
    lines = answer.vmap().observe(jnp.arange(3.0)).lines
    of_python = beginning(lines, "print(x) ->")
    message = "Under vmap of three numbers Python's `print` should print one line about x, which shows a tracer."
    expect_that(len(of_python) == 1, message, of_python, "one line")
    found = {
        "print": re.findall(r"\w+\[[\d,]*\]", of_python[0])[:1],
        "jax.debug.print": sorted(float(line.split()[-1]) for line in beginning(lines, "jax.debug.print(x) ->")),
    }
    message = "Under vmap, `print` should show a tracer of x, and `jax.debug.print` each of the three numbers."
    expect_documented("S0-05", found, message=message)


# %% documented S0-02 S0-04 S0-05
# A tracer prints differently today. What counts has stayed: it shows a dtype and a
# shape, and no number. (The text changed in 0.4.36, 0.6.1, 0.7.0 and 0.8.2.) That vmap
# shows Python a tracer, too, the page says in words.
y = jax.jit(lambda x: see_sine(x))(2.0).block_until_ready()
ys = jax.vmap(lambda x: (print("under vmap:", x), x)[1])(jnp.arange(3.0))

# documented
# print(x) -> Traced<ShapedArray(float32[], weak_type=True)>with<DynamicJaxprTrace(level=1/0)>
# print(y) -> Traced<ShapedArray(float32[], weak_type=True)>with<DynamicJaxprTrace(level=1/0)>
# jax.debug.print(x) -> 2.0
# jax.debug.print(y) -> 0.9092974066734314
# Inside `jax.vmap`, Python's `print` only shows the tracer, too.

# today
# print(x) -> JitTracer(~float32[])
# print(y) -> JitTracer(~float32[])
# jax.debug.print(x) -> 2.0
# jax.debug.print(y) -> 0.9092974066734314
# under vmap: VmapTracer(aval=float32[], batched=float32[3])

# %% [markdown]
# ### In which order?
#
# `jax.vmap` does each operation for all examples at once. `jax.lax.map` takes one
# example after the other, in a loop of the program. The numbers are the same, but when
# is what printed?


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
# Look closely at the second output: y may come **before** x, though x is printed first
# in the code! The two prints do not need each other, so the compiler may choose. With
# `jax.debug.print(..., ordered=True)` they come in the order of the code. The program
# notes this promise as an *ordered effect*; an effect is what a program does besides
# computing its result.
#
# Under `vmap`, each print runs for all examples before the next print does. That is the
# order of the code there, and `ordered=True` does not change it.


# %% exercise
@exercise(
    title="At once, or one by one",
    points=4,
    core=True,
    minutes=6,
    reproduces=["S0-06", "S0-07", "S0-08", "S0-11"],
    hints=[
        "What are the two ways to apply a function to each number of a vector? Who decides about the order?",
        "`jax.vmap(f)(xs)` and `jax.lax.map(f, xs)`; a print takes `ordered=`. "
        "https://docs.jax.dev/en/latest/debugging.html",
        'def one(x):\n    jax.debug.print("jax.debug.print(x) -> {}", x, ordered=____)\n    y = jnp.sin(x)\n'
        '    ...\n    return y\n\nreturn jax.vmap(one)(xs) if how == "vmap" else ____',
        """# Like it: the largest number of each row. Print each row's sum before it.
def peak(row):
    jax.debug.print("sum {}", row.sum(), ordered=True)
    top = row.max()
    jax.debug.print("    top {}", top, ordered=True)
    return top

rows = jnp.array([[1.0, 5.0], [4.0, 2.0]])
print(jax.vmap(peak)(rows))  # [5. 4.]: both sums came first, then both tops
print(jax.lax.map(peak, rows))  # [5. 4.]: one row came after the other""",
    ],
)
def printed_sines(how, xs, ordered):
    """Compute y, the sine, for each number x, and print x and then y, each by a `jax.debug.print` of its own.

    The lines are `jax.debug.print(x) -> ` and x, then `jax.debug.print(y) -> ` and y.

    >>> printed_sines("map", jnp.zeros(2), True)
    jax.debug.print(x) -> 0.0
    jax.debug.print(y) -> 0.0
    jax.debug.print(x) -> 0.0
    jax.debug.print(y) -> 0.0
    Array([0., 0.], dtype=float32)

    Args:
        how: "vmap" for all numbers at once, by `jax.vmap`; "map" for one after the other, by `jax.lax.map`.
        xs: float32[n].
        ordered: bool: whether the program promises the order of the prints. If not, the order is left to the compiler.

    Returns:
        float32[n]: the sines.
    """
    ...


# %% check
@visible(
    printed_sines,
    stage="jit",
    idea="vmap runs each step of the function for all examples, before the next step.",
    reproduces=["S0-06"],
    required=True,
)
def vmap_prints_all_x_first(answer):
    """Under vmap all x are printed, then all y."""
    lines = answer.observe("vmap", jnp.arange(3.0), False).lines
    expect_documented("S0-06", lines, message="Under vmap there should be a line for each x, then a line for each y.")


@visible(
    printed_sines,
    stage="jit",
    idea="`jax.lax.map` is a loop. Within a step the order is promised by `ordered=True` only.",
    reproduces=["S0-07"],
    required=True,
)
def ordered_prints_come_step_by_step(answer):
    """With "map" and ordered=True, x comes before y in each step, and the program promises it."""
    args = ("map", jnp.arange(3.0), True)
    effects = answer.program(*args).effects
    message = "With ordered=True, the effect of the prints in the program should be an ordered one."
    expect_that(effects == ["OrderedDebug"], message, effects, ["OrderedDebug"])
    message = "With ordered=True the order should be x, y, x, y, x, y."
    expect_documented("S0-07", answer.observe(*args).lines, message=message)


@visible(
    printed_sines,
    idea="How JAX evaluates is another matter than what it computes: the results are equal.",
    reproduces=["S0-08"],
)
def both_ways_give_the_sines(answer):
    """Both ways give the sines of 0, 1 and 2."""
    found = [answer(how, jnp.arange(3.0), True) for how in ("vmap", "map")]
    for got in found:
        expect_shape(got, (3,))
    expect_documented("S0-08", found, message="Both ways should give the sines: 0, 0.841471 and 0.909297.")


@visible(
    printed_sines,
    stage="jit",
    idea="Without `ordered=True` nothing is promised: JAX may reorder prints that do not need each other.",
    reproduces=["S0-11"],
    required=True,
)
def other_prints_may_be_reordered(answer):
    """With "map" and ordered=False, each step prints its x and its y, and the program promises no order."""
    args = ("map", jnp.arange(3.0), False)
    lines = answer.observe(*args).lines
    message = "With ordered=False, each step should still print its own x and y, in any order."
    steps = [sorted(line.partition(" -> ")[0] for line in lines[i : i + 2]) for i in range(0, len(lines), 2)]
    expect_that(steps == [["jax.debug.print(x)", "jax.debug.print(y)"]] * 3, message, lines)
    message = "With ordered=False the program should promise no order."
    expect_documented("S0-11", {"effects": answer.program(*args).effects}, message=message)


@visible(
    printed_sines,
    stage="traces",
    idea="`jax.lax.map` is one loop in the program. A Python loop writes the function down once for each number.",
    required=True,
)
def map_is_a_loop_of_the_program(answer):
    """With "map" the program has a loop, and with "vmap" it has none."""
    for how, wanted in (("map", True), ("vmap", False)):
        loops = {"scan", "while"} & answer.program(how, jnp.arange(3.0), True).primitives.keys()
        message = f'With "{how}" the program should have {"a" if wanted else "no"} loop.'
        expect_that(bool(loops) == wanted, message, ", ".join(loops) or "no loop", "a scan" if wanted else "no loop")


# %% documented S0-06 S0-07 S0-08 S0-11
# On CPU, y is printed before x in each step of `jax.lax.map` since JAX 0.5.3. The
# documented order comes with `ordered=True`, or with the XLA flag
# `--xla_cpu_enable_concurrency_optimized_scheduler=false`. So what the page says in
# words, that prints may come in another order, happens to its own example today.
def f(x):
    jax.debug.print("jax.debug.print(x) -> {}", x)
    y = jnp.sin(x)
    jax.debug.print("jax.debug.print(y) -> {}", y)
    return y


xs = jnp.arange(3.0)
mapped = jax.vmap(f)(xs)
jax.effects_barrier()
looped = jax.lax.map(f, xs)
jax.effects_barrier()
print(np.allclose(mapped, looped))

# documented
# jax.debug.print(x) -> 0.0
# jax.debug.print(x) -> 1.0
# jax.debug.print(x) -> 2.0
# jax.debug.print(y) -> 0.0
# jax.debug.print(y) -> 0.8414709568023682
# jax.debug.print(y) -> 0.9092974066734314
# jax.debug.print(x) -> 0.0
# jax.debug.print(y) -> 0.0
# jax.debug.print(x) -> 1.0
# jax.debug.print(y) -> 0.8414709568023682
# jax.debug.print(x) -> 2.0
# jax.debug.print(y) -> 0.9092974066734314
# `vmap` and `lax.map` compute the same results in different ways. Prints that do not
# depend on each other may come in another order.

# today
# jax.debug.print(x) -> 0.0
# jax.debug.print(x) -> 1.0
# jax.debug.print(x) -> 2.0
# jax.debug.print(y) -> 0.0
# jax.debug.print(y) -> 0.8414709568023682
# jax.debug.print(y) -> 0.9092974066734314
# jax.debug.print(y) -> 0.0
# jax.debug.print(x) -> 0.0
# jax.debug.print(y) -> 0.8414709568023682
# jax.debug.print(x) -> 1.0
# jax.debug.print(y) -> 0.9092974066734314
# jax.debug.print(x) -> 2.0
# True


# %% exercise
@exercise(
    title="Repair: x, then y",
    points=1,
    core=True,
    minutes=3,
    reproduces=["S0-12"],
    hints=[
        "What does the compiler know about the order of the two prints?",
        "`ordered=True` keeps the order of the prints that have it. https://docs.jax.dev/en/latest/debugging.html",
        'jax.debug.print("jax.debug.print(x) -> {}", x, ____)',
        """# Like it: halve a number three times. Print the step, then the number.
def halve_once(i, number):
    jax.debug.print("step {}", i, ordered=True)
    jax.debug.print("    from {}", number, ordered=True)
    return number / 2

print(jax.lax.fori_loop(0, 3, halve_once, 8.0))  # 1.0""",
    ],
)
def sum_in_order(x, y):
    """Add two numbers in a jitted function that prints x and then y. The order is left to the compiler: repair that.

    Two prints stay two prints.

    >>> sum_in_order(1, 2)
    jax.debug.print(x) -> 1
    jax.debug.print(y) -> 2
    Array(3, dtype=int32, weak_type=True)

    Args:
        x, y: numbers, or arrays of one shape.

    Returns:
        The sum, an array.
    """

    @jax.jit
    def add(x, y):
        jax.debug.print("jax.debug.print(x) -> {}", x)
        jax.debug.print("jax.debug.print(y) -> {}", y)
        return x + y

    return add(x, y)


# %% check
@visible(
    sum_in_order,
    stage="jit",
    idea="`ordered=True` keeps the order in which the prints stand in the program.",
    reproduces=["S0-12"],
    required=True,
)
def x_is_promised_before_y(answer):
    """For 1 and 2, two ordered prints show x and then y, and the sum is a weak int32 3."""
    seen, program = answer.observe(1, 2), answer.program(jnp.int32(1), jnp.int32(2))
    found = {
        "lines": seen.lines,
        "result": described(seen.value),
        "effects": program.effects,
        "prints": sum(debugging_of(program).values()),
    }
    message = "Two prints should show x and then y, in the order of the code, whatever the compiler does."
    expect_documented("S0-12", found, message=message)
    outside = sorted(name for name in program.unjitted if name.startswith("debug"))
    expect_that(not outside, "The function that prints should be jitted.", f"{', '.join(outside)} outside of jit")


@visible(sum_in_order, idea="Printing does not change the sum.")
def the_sum_is_right(answer, draw):
    """The result is the sum, of arrays, too."""
    x, y = draw.floats(3), draw.floats(3)
    expect_close(answer(x, y), np.asarray(x) + np.asarray(y))
    expect_close(answer(2.5, 4), np.float32(6.5))


# %% documented S0-12
# Documented and today's output agree.
@jax.jit
def f(x, y):
    jax.debug.print("jax.debug.print(x) -> {}", x, ordered=True)
    jax.debug.print("jax.debug.print(y) -> {}", y, ordered=True)
    return x + y


f(1, 2)

# documented
# jax.debug.print(x) -> 1
# jax.debug.print(y) -> 2
# Array(3, dtype=int32, weak_type=True)

# %% [markdown]
# Another way out is *one* print of both values: it cannot be reordered with itself.
# (Under `vmap`, a print is in the program once for each example, ordered or not. For
# thousands of rows, that is a long program.)
#
# ## Part 2. Any Python, with values
#
# `jax.debug.callback(function, *args)` hands values to a Python function of yours when
# the program runs; a print is one use of it. Your function runs on the *host*, outside
# of the program. There everything is allowed: files, plots, `logging`, and `if`,
# because there the values are known.


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
    core=True,
    minutes=4,
    reproduces=["S0-20", "S0-21", "S0-22"],
    hints=[
        "Where is the sign of x known: in the traced function, or in the Python function that the callback calls?",
        "`jax.debug.callback(f, x)` calls f with the value, so an `if` in f works. "
        "https://docs.jax.dev/en/latest/external-callbacks.html",
        'def log_value(value):\n    if value < 0:\n        log.error(f"Logged value: {value}")\n'
        "    else:\n        ____\n\n"
        "jax.debug.callback(____, x)\nreturn x",
        """# Like it: log a loss as information, and as critical if it is above 100.
def note_loss(loss):
    def write(number):  # runs on the host, and gets a value
        level = logging.CRITICAL if number > 100 else logging.INFO
        log.log(level, f"loss {number}")

    jax.debug.callback(write, loss)
    return loss / 2

print(jax.vmap(note_loss)(jnp.array([3.0, 250.0])))  # [  1.5 125. ]""",
    ],
)
def log_by_sign(x):
    """Log `Logged value: ` and the value of x at each run, and return x.

    A negative value is logged by `log.error`, any other by `log.warning`; NaN and -0.0 are not negative.

    >>> jax.jit(log_by_sign)(-1.0)
    ERROR:root:Logged value: -1.0
    Array(-1., dtype=float32, weak_type=True)

    Args:
        x: float32[]; under `jax.jit`, `jax.vmap` and `jax.grad`, too.

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
    idea="The callback is a part of the program, and gets the value of each run.",
    reproduces=["S0-20"],
    required=True,
)
def jit_logs_the_value(answer):
    """Under jit the call logs its value, once."""
    lines = answer.jit.observe(1.0).lines
    expect_documented("S0-20", {"jit": lines}, message="Under jit the value 1.0 should be logged, once, as a warning.")


@visible(
    log_by_sign,
    stage="jit",
    idea="Under vmap the callback runs once for each example, and knows its value.",
    reproduces=["S0-21"],
    required=True,
)
def vmap_logs_each_example(answer):
    """Under vmap each of five examples is logged, once."""
    lines = answer.vmap().observe(jnp.arange(5.0)).lines
    message = "Under vmap each of 0, 1, 2, 3, 4 should be logged, once, as a warning."
    # Only of an ordered callback JAX promises an order.
    expect_documented("S0-21", {"vmap": sorted(lines)}, message=message)


@visible(
    log_by_sign,
    stage="jit",
    kind="observed",
    idea="An `if` on the host decides for each value, also under vmap.",
    required=True,
)
def negative_values_are_errors(answer):
    """Under jit and vmap negative values are logged as errors, and others as warnings."""
    for one in (answer.jit.vmap(), answer.vmap().jit):
        lines = sorted(one.observe(jnp.array([-1.0, 2.0, -3.0])).lines)
        wanted = ["ERROR:root:Logged value: -1.0", "ERROR:root:Logged value: -3.0", "WARNING:root:Logged value: 2.0"]
        message = "Of -1, 2 and -3 the negative ones should be errors, and 2 a warning."
        expect_that(lines == wanted, message, lines, wanted)


@visible(
    log_by_sign,
    stage="gradient",
    kind="observed",
    idea="A debug callback has no part in the derivative; it runs on the way forward.",
    reproduces=["S0-22"],
    required=True,
)
def grad_logs_the_forward_value(answer):
    """Under grad the value is logged once, and the slope is 1."""
    seen = answer.grad().observe(1.0)
    expect_close(plain(seen.value), 1.0)
    expect_documented("S0-22", {"grad": seen.lines}, message="Under grad the value 1.0 should be logged, once.")


# %% documented S0-20 S0-21 S0-22
# Documented and today's output agree. (The page calls `logging.warning`, which writes
# to the terminal's error output; `log` writes the same lines where you see them.)
def log_value(x):
    log.warning(f"Logged value: {x}")


@jax.jit
def f(x):
    jax.debug.callback(log_value, x)
    return x


f(1.0).block_until_ready()
jax.effects_barrier()
ys = jax.vmap(f)(jnp.arange(5.0))
jax.effects_barrier()
slope = jax.grad(f)(1.0)

# documented
# WARNING:root:Logged value: 1.0
# WARNING:root:Logged value: 0.0
# WARNING:root:Logged value: 1.0
# WARNING:root:Logged value: 2.0
# WARNING:root:Logged value: 3.0
# WARNING:root:Logged value: 4.0
# WARNING:root:Logged value: 1.0

# %% [markdown]
# ## Part 3. Stop where it goes wrong
#
# `jax.debug.breakpoint()` stops the **compiled** program and opens a debugger, much
# like Python's `pdb`. It shows a prompt, `(jdb)`, and waits for you to type: `p x`
# prints an expression, `c` continues. In this notebook we give it the commands as a
# list, with `scripted_breakpoints`, so that nobody has to type. In a terminal you would
# leave that out, and type.


# %%
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
# `l` listed the code around the stop. `transcript.stops` counts the stops, and
# `transcript.answers` has what the debugger printed after each command. If commands run
# out, `c` is typed for you.
#
# Stopping in every call is tiring. Better stop only for a NaN or an infinity. Python's
# `if` cannot decide that: under `jit` there is no value yet. `jax.lax.cond(is_true, f,
# g, *args)` decides at run time, and runs `f(*args)` or `g(*args)`.


# %%
@jax.jit
def root_or_stop(x):
    """Take the square root, and stop before if x is negative."""

    def stop(x):
        jax.debug.breakpoint()

    def go_on(x):
        pass

    jax.lax.cond(x < 0, stop, go_on, x)
    return jnp.sqrt(x)


with scripted_breakpoints(["p x", "c"]) as transcript:
    print(root_or_stop(4.0), root_or_stop(-4.0))
print(transcript)

# %% [markdown]
# In the branch, `p` knows only what was handed to it. To ask for more, type `u`: it
# goes *up*, to the function around the branch, and knows that function's names.
#
# (Define such branches inside the function, as here. If two jitted functions share a
# branch with a breakpoint, JAX raises an error for the second one.)


# %% exercise
@exercise(
    title="Stop where it is not finite",
    points=3,
    core=True,
    minutes=6,
    reproduces=["S0-16", "S0-17"],
    hints=[
        "What decides at run time: `if`, or `jax.lax.cond`? What is not finite: NaN only?",
        "`jnp.isfinite(z)` is False for NaN and for infinities. "
        "https://docs.jax.dev/en/latest/debugging/print_breakpoint.html",
        "@jax.jit\ndef divide(x, y):\n    z = x / y\n\n    def stop(z):\n        jax.debug.breakpoint()\n\n"
        "    def go_on(z):\n        pass\n\n    jax.lax.cond(____, ____, ____, z)\n    return z\n\nreturn divide(x, y)",
        """# Like it: add up a vector, and stop in the debugger if the sum is above 10.
@jax.jit
def add_up(v):
    total = v.sum()

    def stop(total):
        jax.debug.breakpoint()

    jax.lax.cond(total > 10, stop, lambda total: None, total)
    return total

with scripted_breakpoints(["p total", "c"]) as talk:
    print(add_up(jnp.array([4.0, 9.0])))  # 13.0
print(talk.answers[0])  # Array(13., dtype=float32)""",
    ],
)
def watched_quotient(x, y):
    """Divide x by y in a jitted function, which stops in the debugger if the quotient is NaN or infinite.

    It stops once, and for a finite quotient not at all. There is one breakpoint in the program, behind a
    `jax.lax.cond`.

    >>> with scripted_breakpoints(["c"]) as transcript:
    ...     quotients = watched_quotient(2.0, 1.0), watched_quotient(2.0, 0.0)
    >>> quotients[0], transcript.stops
    (Array(2., dtype=float32, weak_type=True), 1)

    Args:
        x, y: float.

    Returns:
        float32[]: the quotient.
    """
    ...


# %% check
def stopped(answer, x, y):
    """Return a quotient with its dtype and weak type, and how often it stopped."""
    value, stops, _ = answer.at_breakpoints("c")(x, y)
    return [*described(value), stops]


@visible(watched_quotient, idea="The breakpoint has no part in what is computed.")
def the_quotient_is_right(answer):
    """The quotients are those of x and y."""
    for x, y in ((2.0, 1.0), (-3.0, 4.0)):
        expect_close(plain(answer(x, y)), x / y, f"{x:g} / {y:g} should be {x / y:g}.", rtol=1e-6)


@visible(
    watched_quotient,
    stage="jit",
    idea="A condition of the running program decides whether it stops.",
    reproduces=["S0-16"],
    required=True,
)
def finite_quotients_do_not_stop(answer):
    """For 2 / 1 it does not stop, and the program has a breakpoint behind a `cond`."""
    found = {"2 / 1": stopped(answer, 2.0, 1.0)}
    # Only now: a breakpoint that is traced in `program` first keeps tracers of that trace.
    primitives = answer.program(2.0, 1.0).primitives
    found["in the program"] = [primitives.get(name, 0) for name in ("cond", "debug_callback")]
    message = "For 2 / 1 the quotient should be 2, and nothing should stop; one breakpoint should be behind one `cond`."
    expect_documented("S0-16", found, message=message)


@visible(
    watched_quotient,
    stage="jit",
    idea="2 / 0 is infinite, and 0 / 0 is NaN; neither is finite.",
    reproduces=["S0-17"],
    required=True,
)
def others_stop_once(answer):
    """For 2 / 0 and 0 / 0 it stops once, and goes on to the quotient."""
    found = {"2 / 0": stopped(answer, 2.0, 0.0), "0 / 0": stopped(answer, 0.0, 0.0)}
    message = "For 2 / 0 and for 0 / 0 the program should stop once, and the quotients should be inf and NaN."
    expect_documented("S0-17", found, message=message)


@visible(
    watched_quotient,
    stage="traces",
    idea="Without jit there is no need for a breakpoint in the program: Python could stop, and look.",
    required=True,
)
def the_quotient_is_under_jit(answer):
    """The quotient is computed in a function under jit."""
    program = answer.program(2.0, 1.0)
    message = "The division should be in a function under jit; yours is outside."
    expect_that("div" not in program.unjitted, message, sorted(program.unjitted), "nothing outside")


# %% documented S0-16 S0-17
# Documented and today's output agree; where the page says that it pauses, the debugger
# is told to print `z`, two functions up.
def breakpoint_if_nonfinite(x):
    is_finite = jnp.isfinite(x).all()

    def true_fn(x):
        pass

    def false_fn(x):
        jax.debug.breakpoint()

    jax.lax.cond(is_finite, true_fn, false_fn, x)


@jax.jit
def f(x, y):
    z = x / y
    breakpoint_if_nonfinite(z)
    return z


with scripted_breakpoints(["u", "u", "p z", "c"]) as transcript:
    print(repr(f(2.0, 1.0)), "after", transcript.stops, "stops")
    print(repr(f(2.0, 0.0)), "after", transcript.stops, "stop")
print(transcript.answers[2])

# documented
# f(2., 1.) # ==> No breakpoint
# Array(2., dtype=float32, weak_type=True)
# f(2., 0.) # ==> Pauses during execution

# today
# Array(2., dtype=float32, weak_type=True) after 0 stops
# Array(inf, dtype=float32, weak_type=True) after 1 stop
# Array(inf, dtype=float32)

# %% [markdown]
# `jaxguide.course.breakpoints` has such a function, ready to use, also for pytrees:
# `breakpoint_if_nonfinite(z)`. (Under `vmap`, a `cond` runs both branches for every
# row, so that yours would stop for all of them. The helper stops at the bad rows only.)
#
# ## Part 4. Why did the run die?
#
# You could stop at the first loss that is not finite. But which of the values before it
# is to blame? `find_nan(f, *args)` runs the program of `f` equation by equation, and
# says which line made the first NaN or infinity, and from what. Here a vector of equal
# numbers cannot be standardised:


# %%
def standardised(x):
    """Subtract the mean and divide by the spread."""
    spread = x.std()
    return (x - x.mean()) / spread


find_nan(standardised, jnp.ones(3))

# %% [markdown]
# (`operands at [0]` are the numbers at that place of the arrays.)
#
# `find_nan` looks into loops and gradients, too. JAX itself has `jax.debug_nans(True)`:
# a jitted function whose result has a NaN then raises an error. It says less, but you
# can switch it on for a whole script, to learn which call to give to `find_nan`. Both
# cost time, so use them to search, and not in every run.

# %%
try:
    with jax.debug_nans(True):
        jax.jit(standardised)(jnp.ones(3))
except FloatingPointError as error:
    print(f"{type(error).__name__}: {str(error).splitlines()[0]}")

# %% [markdown]
# Now it is your turn. Which line makes the first infinity in
# `fit(cross_entropy, untrained, table, labels, 60)`? Find it, and mend the loss. A
# tool knows the line; it cannot know what you mean. If you follow its advice, and only
# keep a number away from the edge, the run lives. But then a point that is surely on
# the wrong side costs no more for being further off, and pulls no weight.
#
# In the formula, the loss of a point with the label 1 is `log(1 + exp(-score))`, and
# that of one with the label 0 is `log(1 + exp(score))`. Which function of NumPy, and so
# of `jax.numpy`, computes `log(exp(a) + exp(b))`, also for an `a` of 200?


# %% exercise
@exercise(
    title="Repair: the run that died",
    points=4,
    core=True,
    minutes=7,
    hints=[
        "What is the largest float32 below 1? What is `chance` for the score 17, and what does `find_nan(fit, "
        "cross_entropy, untrained, table, labels, 60)` say about the logarithm?",
        "`jnp.logaddexp(a, b)` is log(exp(a) + exp(b)), and exp(0) is 1. `jax.nn.softplus` and `jax.nn.log_sigmoid` "
        "are made of it. https://docs.jax.dev/en/latest/_autosummary/jax.numpy.logaddexp.html",
        'def loss(params, table, labels):\n    score = table @ params["w"] + params["b"]\n'
        "    if_one, if_zero = jnp.logaddexp(0.0, -score), jnp.logaddexp(0.0, ____)\n"
        "    return jnp.mean(jnp.where(labels == 1, ____, ____)), jnp.mean((score > 0) == labels)",
        """# Like it: the logarithm of a mean of exponentials, without any of them.
def log_mean_exp(a):
    return jax.scipy.special.logsumexp(a) - jnp.log(len(a))

a = jnp.array([1000.0, 1000.0])
print(jnp.log(jnp.mean(jnp.exp(a))), log_mean_exp(a))  # inf 1000.0
print(jax.grad(log_mean_exp)(a))  # [0.5 0.5]""",
    ],
)
def mended_run(params, table, labels, steps):
    """Find the line that kills the run, and compute the same loss in another way.

    The losses of steps 0 to 36 stay as they are, up to rounding. Each point costs, and pulls, what it should: with the
    label 0 and the score 200, it costs 200, and the slope of its loss with respect to the score is 1.

    >>> _, losses, _ = mended_run(untrained, table, labels, 200)
    >>> print(f"{losses[36]:.3f}, then {losses[199]:.3f}")
    0.177, then 0.067

    Args:
        params: a dict of "w" float32[d] and "b" float32[].
        table: float32[n,d].
        labels: int32[n], each of them 0 or 1.
        steps: int.

    Returns:
        A tuple `(params, losses, rights)`, as `fit` returns it: the parameters after the last step; and twice
        float32[steps], the loss and the share of right guesses before each step.
    """

    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        chance = 1 / (1 + jnp.exp(-score))
        value = -jnp.mean(labels * jnp.log(chance) + (1 - labels) * jnp.log(1 - chance))
        return value, jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


# %% check
def one_step(params, table, labels):
    """Return the loss and the parameters after one step, as NumPy computes them in float64."""
    w, b, x, y = (np.asarray(one, np.float64) for one in (params["w"], params["b"], table, labels))
    score = x @ w + b
    pull = (np.exp(-np.logaddexp(0, -score)) - y) / len(y)
    after = {"w": (w - 1.37 * pull @ x).astype("float32"), "b": np.float32(b - 1.37 * pull.sum())}
    return np.float32(np.mean(np.logaddexp(0, np.where(y == 1, -score, score)))), after


def scored(scores, labels):
    """Return parameters, a table and labels for which the points have these scores."""
    params = {"w": jnp.array([2.0, 0.0]), "b": jnp.array(0.0)}
    return params, jnp.stack([jnp.array(scores) / 2, jnp.ones(len(scores))], axis=1), jnp.array(labels)


@visible(mended_run, idea="The loss is the same loss, so the run is the same run.")
def the_first_losses_are_unchanged(answer):
    """The losses of steps 0 to 36 are as before."""
    _, losses, _ = parts(answer(untrained, table, labels, 37), 3)
    expect_shape(losses, (37,), "There should be a loss for each of the 37 steps.")
    wanted = fit(cross_entropy, untrained, table, labels, 37)[1]
    message = "The losses of steps 0 to 36 should be as before: the data, the rate and the loss stay the same."
    expect_close(losses, wanted, message, rtol=1e-3, atol=1e-4)


@visible(mended_run, idea="A run lives if the loss and its slope are finite for every score.", required=True)
def the_run_lives(answer):
    """All 200 losses, and the parameters at the end, are finite, and the loss goes on falling."""
    params, losses, rights = parts(answer(untrained, table, labels, 200), 3)
    message = "All 200 losses should be finite."
    expect_that(bool(np.isfinite(losses).all()), message, f"{np.isfinite(losses).sum()} of them are", "200")
    finite = all(np.isfinite(one).all() for one in (params["w"], params["b"]))
    expect_that(finite, "The parameters should be finite at the end.", params)
    expect_close(losses[199], np.float32(0.06704), "The last loss should be about 0.067.", rtol=0.02)
    expect_close(rights[199], np.float32(0.995), "In the end, 199 of 200 guesses should be right.", atol=0.006)


@visible(
    mended_run, idea="In log(1 + exp(score)), a large score stays a large loss, and its slope stays 1.", required=True
)
def sure_mistakes_cost_and_pull(answer):
    """For points with the scores 200 and -200 on the wrong side, loss and step are right."""
    for scores, sides in (([200.0, -1.0], [0, 0]), ([-200.0, 1.0], [1, 0]), ([200.0, -200.0], [1, 0])):
        args = scored(scores, sides)
        after, losses, _ = parts(answer(*args, 1), 3)
        value, wanted = one_step(*args)
        message = f"For the scores {scores} and the labels {sides}, the loss should be {value:.6g}."
        expect_close(losses[0], value, message, rtol=1e-4, atol=1e-6)
        message = f"For the scores {scores} and the labels {sides}, the step should follow the slope of that loss."
        expect_close(after, wanted, message, rtol=1e-4, atol=1e-5)


# %% [markdown]
# Why at step 37? There a score is above 16.6 for the first time. In float32, `chance`
# is then 1, `1 - chance` is 0, and its logarithm is minus infinity; times `1 - labels`,
# which is 0, that makes NaN. (`jnp.nan_to_num` of the loss would not help: on the way
# back, 0 meets infinity again, and the slopes are NaN.)
#
# To watch the run, use `record(name, value)`. It puts a callback into the program, but
# only inside a `with recording()` block, for which JAX traces `fit` once more;
# outside, it leaves nothing there. That is why `fit` could hold one all the time. Now
# the norm of the slopes comes out of it. Does anything announce the NaN?


# %%
def draw_runs():
    """Draw the losses of both runs, and the norm of the slopes in the mended one."""
    with recording() as rec:
        _, mended, _ = mended_run(untrained, table, labels, 200)
    _, broken, _ = fit(cross_entropy, untrained, table, labels, 200)
    if not np.isfinite(mended).all():
        print("Repair `mended_run` first: then this cell draws both runs.")
        return
    _, axes = plt.subplots(2, sharex=True, figsize=(6, 4), layout="constrained")
    above, below = axes
    above.semilogy(mended, label="mended")
    above.semilogy(broken, "--", linewidth=3, label="broken")
    above.set_ylabel("loss")
    above.legend()
    below.semilogy(rec["norm"])
    below.set(xlabel="step", ylabel="norm of the slopes")
    plt.show()


draw_runs()

# %% [markdown]
# The loss and the slopes are small, and fall, until the broken run ends: nothing
# announces it.
#
# What would it cost to print in every step? The compiled program leaves its loop for
# Python each time:


# %%
def loud_cross_entropy(params, table, labels):
    """Do as `cross_entropy` does, and print the loss."""
    loss, right = cross_entropy(params, table, labels)
    jax.debug.print("loss {}", loss)
    return loss, right


def microseconds_for_a_step(loss, steps=30):
    """Return how long a step takes on this computer, by the median of five runs."""
    machine = real_machine(fit, loss, untrained, table, labels, steps)
    machine.run()[1].block_until_ready()
    times = []
    for _ in range(5):
        before = machine.clock()
        machine.run()[1].block_until_ready()
        times.append(machine.clock() - before)
    return 1e6 * np.median(times) / steps


with capture() as lines:  # so that 180 lines do not fill the page
    quiet = microseconds_for_a_step(cross_entropy)
    loud = microseconds_for_a_step(loud_cross_entropy)
print(f"a step: {quiet:.0f} µs, with a print: {loud:.0f} µs")
print(f"{loud / quiet:.1f} times as long, for {len(lines)} lines")

# %% [markdown]
# So take prints out when you have found the mistake, or put them behind a
# `jax.lax.cond` that prints every hundredth step.
#
# ## What to remember
#
# - Python's `print` shows tracers, once for each trace; `jax.debug.print` shows values,
#   at each run. No f-strings.
# - Only `ordered=True` promises an order.
# - `jax.debug.callback` does anything with values on the host, and `if` works there.
# - `jax.debug.breakpoint` stops the compiled program; behind a `jax.lax.cond` it stops
#   for bad values only.
# - `find_nan` finds the line of the first NaN. A mend keeps the value *and* the slope.
# - `record` watches a run, and leaves nothing in the program when nobody listens.

# %% [markdown]
# ## More
#
# The rest is for another day. Pick what you need: no section builds on another.
#
# ### Under grad
#
# `jax.grad` runs your function forward, then goes back to collect slopes. What does a
# print of x show then, and how often? What Python's `print` shows depends on what is
# around: a `GradTracer`, in which you see the number, or a tracer of `jit`, without
# one.


# %% exercise
@exercise(
    title="Print under grad",
    points=2,
    minutes=3,
    reproduces=["S0-09", "S0-10"],
    hints=[
        "Which of the two prints is a part of the program, and so does not mind what is around it?",
        "`jax.debug.print` prints the forward value. https://docs.jax.dev/en/latest/debugging.html",
        'print("print(x) ->", x)\njax.debug.print(____, x)\nreturn x**2',
        """# Like it: watch a root in both ways, and take the slope of three roots.
def three_roots(x):
    root = jnp.sqrt(x)
    print("Python sees", root)  # under grad: a tracer
    jax.debug.print("the program has {}", root)  # the forward value: 2.0
    return 3 * root

print(jax.grad(three_roots)(4.0))  # 0.75""",
    ],
)
def watched_square(x):
    """Print x in two ways, first `print(x) -> ` by Python's print, then `jax.debug.print(x) -> `; return x squared.

    Leave `jit` and `grad` to those who call it.

    >>> jax.grad(watched_square)(3.0)
    print(x) -> ...
    jax.debug.print(x) -> 3.0
    Array(6., dtype=float32, weak_type=True)

    Args:
        x: float, or float32[].

    Returns:
        x squared: float32[]; if x is a float, a float will do.
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
    required=True,
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


# %% documented S0-09 S0-10
# Documented and today's output agree. With `jit` in addition, `jax.debug.print` shows
# the same, while Python's `print` loses the number. (Since JAX 0.8.2 its text for plain
# `grad` is a `GradTracer`, with the number in it.)
def f(x):
    print("print(x) ->", x)
    jax.debug.print("jax.debug.print(x) -> {}", x)
    return x**2


for slope_of in (jax.grad(f), jax.grad(jax.jit(f)), jax.jit(jax.grad(f))):
    slope_of(1.0).block_until_ready()
    jax.effects_barrier()

# documented
# jax.debug.print(x) -> 1.0
# Under `grad`, `jax.debug.print()` only prints on the forward pass. It behaves like
# Python's `print()`, but stays the same if `jax.jit` is applied during the call.

# today
# print(x) -> GradTracer(primal=1.0, typeof(tangent)=f32[])
# jax.debug.print(x) -> 1.0
# print(x) -> JitTracer(~float32[])
# jax.debug.print(x) -> 1.0
# print(x) -> GradTracer(primal=JitTracer(~float32[]), typeof(tangent)=f32[])
# jax.debug.print(x) -> 1.0

# %% [markdown]
# To see what comes back, use `record_gradient(name, y)`. It returns y as it is, and
# records the slope of the result with respect to y. Here it shows why deep chains of
# `tanh` learn slowly: for large w, little of the slope arrives at the first layers.


# %%
from jaxguide.debug import record_gradient


def deep(w):
    """Apply tanh twelve times."""
    for _ in range(12):
        w = record_gradient("slope", jnp.tanh(1.2 * w))
    return w.sum()


def draw_slopes():
    """Draw the slope that arrives at each layer, for three weights."""
    with recording() as rec:
        jax.grad(deep)(jnp.array([0.1, 0.7, 2.0]))
    _, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
    names = ["w = 0.1", "w = 0.7", "w = 2"]
    axes.semilogy(range(12, 0, -1), rec["slope"], "o-", label=names)
    axes.set(xlabel="layer", ylabel="slope that arrives")
    axes.legend()
    plt.show()


draw_slopes()

# %% [markdown]
# ### Values on the host
#
# You want all values of a loop in a Python list. A plain `seen.append(x)` would keep
# **tracers**: that is called a *leak*. And a call may return before its callbacks have
# run: `jax.effects_barrier()` waits for all of them.
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
    """Look at x, x - 1, ... while it is above 0."""

    def step(x):
        look(x)
        return x - 1

    return jax.lax.while_loop(lambda x: x > 0, step, x)


in_while(lambda x: print("a tracer:", x), 3.0)


# %% exercise
@exercise(
    title="Collect values",
    points=3,
    minutes=5,
    reproduces=["S0-19"],
    hints=[
        "Which function must append to the list: one that JAX traces, or one that runs on the host?",
        "`jax.debug.callback` runs under every transformation; `jax.effects_barrier()` waits until all callbacks have "
        "run. https://docs.jax.dev/en/latest/_autosummary/jax.debug.callback.html",
        "seen = []\n\ndef look(value):\n"
        "    jax.debug.callback(lambda number: seen.append(____), value, ordered=True)\n\n"
        "program(look, x)\njax.effects_barrier()\nreturn seen",
        """# Like it: keep in a dict, by the step, what a loop makes of a number.
heights = {}

def keep(i, height):  # runs on the host, and gets values
    heights[int(i)] = float(height)

def fall(i, height):
    jax.debug.callback(keep, i, height)
    return height / 2

jax.lax.fori_loop(0, 3, fall, 8.0)
jax.effects_barrier()  # wait until `keep` has run three times
print(sorted(heights.items()))  # [(0, 8.0), (1, 4.0), (2, 2.0)]""",
    ],
)
def values_seen(program, x):
    """Run program(look, x) with a function `look` of yours, and return the values that it looks at.

    >>> values_seen(in_while, 3.0)
    [3.0, 2.0, 1.0]

    Args:
        program: a function such as those above. It calls `look(value)` with tracers, does not use what that returns,
            and may use any of JAX's transformations and loops.
        x: float.

    Returns:
        A list of Python floats, and no arrays: of a loop in the order of its steps; of one step, and of the rows of a
        `jax.vmap`, in any order.
    """
    ...


# %% check
def seen_by(answer, program, x):
    """Return the values that a student's function saw: a list of floats."""
    got = answer(given(program), x)
    right = isinstance(got, tuple | list) and all(isinstance(value, float) for value in got)
    expect_that(right, "Return a list of Python floats.", got)
    return list(got)


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


# %% documented S0-19
# That is still so. The page refers to a table of callbacks on the page *External
# callbacks*, which the lesson `callbacks` is about.
for name, program_of in {"jit": in_jit, "vmap": in_vmap, "grad": in_grad, "scan": in_scan, "while": in_while}.items():
    print(name, end=":")
    program_of(lambda x: jax.debug.callback(lambda value: print(f" {value}", end=""), x, ordered=True), 3.0)
    jax.effects_barrier()
    print()

# documented
# `jax.debug.callback()` is compatible with `jax.jit()`, `jax.vmap()`, `jax.grad()` and
# other transformations.

# today
# jit: 3.0
# vmap: 3.0 2.0 1.0
# grad: 3.0
# scan: 3.0 2.0 1.0
# while: 3.0 2.0 1.0

# %% [markdown]
# ### Ask the debugger
#
# The debugger has more commands than `p` and `c`: `pp` prints nicely, `w` shows where
# you are, `u` and `d` go up and down the call stack. `help` lists them all, and `help
# u` explains one. (Commands such as `q` end the whole program; `scripted_breakpoints`
# refuses them.)


# %% exercise
@exercise(
    title="Stop and ask",
    points=2,
    minutes=5,
    reproduces=["S0-13", "S0-14"],
    hints=[
        "Where must the breakpoint be, so that y and z have values? When is the transcript complete?",
        "`with scripted_breakpoints(commands) as transcript:` types the commands at the stops of what runs in it. "
        "https://docs.jax.dev/en/latest/debugging/print_breakpoint.html",
        "@jax.jit\ndef f(x):\n    y, z = ____\n    jax.debug.breakpoint()\n    return y * z\n\n"
        "with scripted_breakpoints(____) as transcript:\n    value = f(x)\nreturn value, ____",
        """# Like it: stop in the middle of a mean, and ask for what is there.
@jax.jit
def mean_of(v):
    total, count = v.sum(), v.size
    jax.debug.breakpoint()
    return total / count

with scripted_breakpoints(["p total", "p count"]) as talk:
    print(mean_of(jnp.array([1.0, 5.0])))  # 3.0
print(talk.answers)  # ['Array(6., dtype=float32)', '2', '']: the last belongs to `c`""",
    ],
)
def stop_and_ask(x, commands):
    """Multiply y, the sine of x, by z, its cosine, in a jitted function that stops before it multiplies; ask it there.

    At the stop, x, y and z can be asked for by these names. Do not wait for the product: all of it can be traced, too.

    >>> product, answers = stop_and_ask(2.0, ["p x", "p x + 1", "c"])
    >>> product
    Array(-0.378401..., dtype=float32, weak_type=True)
    >>> answers
    ['Array(2., dtype=float32)', 'Array(3., dtype=float32)', '']

    Args:
        x: float.
        commands: a list of str: what to type at the stop; the last is "c".

    Returns:
        A tuple `(product, answers)`: float32[], y times z; and a list of str, what the debugger printed after each
        command, without blanks at the ends.
    """
    ...


# %% check
def answers_from(got, count):
    """Return the debugger's answers to the first `count` commands."""
    answers = texts(parts(got, 2)[1])
    message = f"There should be an answer to each of the {count} commands."
    expect_that(len(answers) >= count, message, answers)
    return answers[:count]


@visible(
    stop_and_ask,
    stage="traces",
    idea="The breakpoint is in the compiled program, and so it stops each run of it.",
    required=True,
)
def the_jitted_program_stops(answer):
    """There is one breakpoint in the program, in a function under jit, and before the product."""
    program = answer.program(2.0, ["c"])
    message = "One breakpoint should be in a function under jit."
    found = program.primitives.get("debug_callback", 0), program.unjitted.get("debug_callback", 0)
    expect_that(found == (1, 0), message, f"{found[0]} breakpoints, {found[1]} of them outside of jit", "1, inside")
    order = list(program.primitives)  # in which they first occur
    message = "The program should stop before it multiplies."
    expect_that("mul" not in order[: order.index("debug_callback")], message, " ".join(order), "no mul before")


@visible(
    stop_and_ask,
    idea="At the stop the local variables have their values, and expressions of them, too.",
    reproduces=["S0-13"],
    required=True,
)
def local_values_are_answered(answer):
    """The debugger shows x, y, z and y * z, and the program goes on to y * z."""
    got = answer(2.0, ["p x", "p y", "p z", "pp y * z", "c"])
    answers = answers_from(got, 4)
    found = [re.fullmatch(r"Array\((-?[\d.]+), dtype=float32\)", text) for text in answers]
    message = "It should be the debugger's answers to p x, p y, p z and pp y * z, and then y * z."
    expect_that(all(found), message, answers)
    value = described(parts(got, 2)[0])
    expect_documented("S0-13", [*(float(one[1]) for one in found), value[0]], message=message)


@visible(stop_and_ask, idea="`help` lists the commands, and `help p` explains one.", reproduces=["S0-14"])
def help_lists_the_commands(answer):
    """`help` lists the debugger's commands, and `help p` explains `p`."""
    lists, explains = answers_from(answer(2.0, ["help", "help p", "c"]), 2)
    found = {"help": sorted(lists.rpartition("=")[2].split()), "help p": " ".join(explains.split())}
    expect_documented("S0-14", found, message="It should be what the debugger prints for `help` and for `help p`.")


# %% documented S0-13 S0-14
# The page shows a picture of the dialogue, which is lost. This is what it looks like
# today, with commands as the page explains them.
@jax.jit
def f(x):
    y, z = jnp.sin(x), jnp.cos(x)
    jax.debug.breakpoint()
    return y * z


with scripted_breakpoints(["p x", "p y", "p z", "pp y * z", "help", "help p", "c"]) as transcript:
    f(2.0)
print(transcript)

# documented
# f(2.) # ==> Pauses during execution
# Use the `help` command to print all available commands.

# today
# Entering jdb:
# (jdb) p x
# Array(2., dtype=float32)
# (jdb) p y
# Array(0.9092974, dtype=float32)
# (jdb) p z
# Array(-0.41614684, dtype=float32)
# (jdb) pp y * z
# Array(-0.37840125, dtype=float32)
# (jdb) help
#
# Documented commands (type help <topic>):
# ========================================
# EOF  c     continue  down  help  list  pp  quit  up  where
# bt   cont  d         exit  l     p     q   u     w
#
# (jdb) help p
# p expression
#     Evaluates and prints the value of an expression
#
# (jdb) c

# %% [markdown]
# ### Up and down the call stack
#
# The function that stops may not be the one to blame. `u` goes up to the function that
# called it, and there `p` knows that function's names. A name that a function does not
# have is answered with `*** NameError: ...`.


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


def over(a, b):
    """Divide a by b, and stop if that is not finite."""
    q = a / b

    def stop(q):
        jax.debug.breakpoint()

    jax.lax.cond(jnp.isfinite(q).all(), lambda q: None, stop, q)
    return q


@jax.jit
def watched_standardised(x):
    """Subtract the mean and divide by the spread."""
    spread = x.std()
    return over(x - x.mean(), spread)


with scripted_breakpoints(["p spread", "u", "u", "p spread", "c"]) as transcript:
    watched_standardised(jnp.ones(3))
print(transcript)


# %% exercise
@exercise(
    title="Find the cause",
    points=3,
    minutes=5,
    reproduces=["S0-15"],
    hints=[
        "If a name is not in the function that stopped, where is it? Which command leads there?",
        "`u` goes one function up. At the outermost it stays there. You may ask for all names at each level, and keep "
        "the first answer that is no error. https://docs.jax.dev/en/latest/debugging/print_breakpoint.html",
        'commands = []\nfor _ in range(6):\n    commands += [f"p {name}" for name in names] + [____]\n'
        'with scripted_breakpoints([*commands, "c"]) as transcript:\n    program(x)\nfound = {}\n'
        "for command, text in zip(commands, transcript.answers):\n"
        '    if command != "u" and not text.startswith(____):\n        found.setdefault(command[2:], text)\n'
        "return found",
        """# Like it: how many functions up is a name? Ask for it, go up, ask again, ...
def levels_up(stopping, x, name):
    with scripted_breakpoints([f"p {name}", "u"] * 4) as talk:  # then `c` is typed
        stopping(x)
    asked = talk.answers[:8:2]  # each second answer is that to a "u"
    missing = [text.startswith("***") for text in asked]  # "***": an error
    return missing.index(False)

print(levels_up(times_ten, 1.0, "k"))  # 0
print(levels_up(times_ten, 1.0, "w"))  # 1""",
    ],
)
def values_at_stop(program, x, names):
    """Run program(x), which may stop at one breakpoint, and look up names there, in all functions of the call stack.

    If several functions have a name, the one nearest to the stop counts. No name is more than 3 levels up.

    >>> values_at_stop(times_ten, 2.0, ["k", "w", "nothing"])
    {'k': 'Array(21., dtype=float32)', 'w': 'Array(20., dtype=float32)'}

    Args:
        program: a function of x, such as `times_ten` or `watched_standardised`.
        x: its argument.
        names: a list of str.

    Returns:
        A dict from each name that was found to the debugger's answer, in any order; empty if it did not stop.
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
    required=True,
)
def the_call_stack_is_searched(answer):
    """k is in the function that stopped, and w in the one that called it."""
    got = found_by(answer, "times_ten", 2.0, ["k", "w"])
    expect_documented("S0-15", got, message="k should be 21, where `times_ten` stops, and w 20, one level up.")


@visible(values_at_stop, idea="Names belong to the function that they are in; the nearest one counts.")
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
    got = found_by(answer, "watched_standardised", np.ones(3, np.float32), ["q", "spread"])
    wanted = {"q": "Array([nan, nan, nan], dtype=float32)", "spread": "Array(0., dtype=float32)"}
    expect_that(got == wanted, "q should be NaN, and the spread 0.", got, wanted)


@visible(values_at_stop, idea="Where nothing stops, nobody answers.")
def nothing_is_found_without_a_stop(answer):
    """Without a stop the dict is empty."""
    got = found_by(answer, "watched_standardised", np.arange(3, dtype=np.float32), ["q", "spread"])
    expect_that(got == {}, "For 0, 1, 2, where nothing stops, the dict should be empty.", got, "{}")


# %% documented S0-15
# That is still so; here `k` is asked for where it stops, and `w` one function up.
with scripted_breakpoints(["p k", "u", "p w", "c"]) as transcript:
    times_ten(2.0)
print(transcript)

# documented
# The prompt is like that of Python's `pdb`, and lets you inspect the values in the call
# stack. `jax.debug.breakpoint()` is an application of `jax.debug.callback()` that
# captures information about the call stack.

# today
# Entering jdb:
# (jdb) p k
# Array(21., dtype=float32)
# (jdb) u
# ...
# (jdb) p w
# Array(20., dtype=float32)
# (jdb) c

# %% [markdown]
# ### A print of your own, which can be off
#
# A print is in the program, and costs time at each run. When you do not need it, it
# should not be there at all. A Python `if` on a **static** flag does that: it decides
# while JAX traces, and what it leaves out is not written down. `program` counts what
# is in there:

# %%
print(program(third, 9.0).primitives)


# %% exercise
@exercise(
    title="Build a print",
    points=3,
    minutes=4,
    reproduces=["S0-18"],
    hints=[
        "Which function of JAX hands a value to Python code when the program runs? Who fills in the text then?",
        "`jax.debug.callback(f, x)` calls f with the value, and f may print `form.format(value)`. A Python `if` "
        "decides while JAX traces. https://docs.jax.dev/en/latest/_autosummary/jax.debug.callback.html",
        "def show(x):\n    if ____:\n        jax.debug.callback(lambda value: print(____), x)\n    return x\n\n"
        "return show",
        """# Like it: a counter of runs, which can be off.
runs = []

def counted(function, on):
    def run(x):
        if on:  # Python decides, while JAX traces
            jax.debug.callback(lambda: runs.append(1))
        return function(x)

    return jax.jit(run)

for on in (True, False):
    sine = counted(jnp.sin, on)
    sine(1.0), sine(2.0)
jax.effects_barrier()
print(len(runs))  # 2""",
    ],
)
def own_debug_print(form, on):
    """Make a function that returns its argument, and prints its value when the program runs, if it is on.

    Do not call `jax.debug.print`: build it from `jax.debug.callback`. If it is off, it leaves nothing in the program.

    >>> show = own_debug_print("x is {}", True)
    >>> jax.jit(show)(2.0)
    x is 2.0
    Array(2., dtype=float32, weak_type=True)

    Args:
        form: str, with one pair of braces for the value, as in `str.format`.
        on: bool.

    Returns:
        A function of one array; `jax.jit`, `jax.vmap` and `jax.grad` may be around it.
    """
    ...


# %% check
@visible(own_debug_print, idea="Printing does not change the value.")
def the_argument_comes_back(answer, draw):
    """On or off, the function returns its argument, and its slope is 1."""
    x = draw.floats(3)
    for on in (True, False):
        show = answer.then("{}", on)
        expect_close(show(x), x)
        expect_close(plain(show.grad()(0.5)), 1.0)


@visible(
    own_debug_print,
    stage="jit",
    idea="A debug callback runs under every transformation, and a print is a use of it.",
    reproduces=["S0-18"],
    required=True,
)
def it_prints_by_a_callback(answer):
    """Under jit, vmap and grad it prints the values, by a callback in the program."""
    show = answer.then("x is {}", True)
    found = {
        "in the program": debugging_of(show.program(2.0)),
        "jit": show.jit.observe(2.0).lines,
        "vmap": show.vmap().observe(jnp.arange(2.0)).lines,
        "grad": show.grad().observe(3.0).lines,
    }
    message = "By one `debug_callback` in the program, it should print 2 under jit, 0 and 1 under vmap, 3 under grad."
    expect_documented("S0-18", found, message=message)


@visible(
    own_debug_print,
    stage="cost",
    idea="A callback that does nothing, a `cond` or a `where` stay in the program, and cost time at each run.",
    required=True,
)
def nothing_is_left_when_it_is_off(answer):
    """Off, it prints nothing, and its program is empty."""
    show = answer.then("x is {}", False)
    primitives, lines = show.program(2.0).primitives, show.jit.observe(2.0).lines
    message = "If it is off, the program should be empty, and nothing be printed."
    expect_that(not primitives and not lines, message, f"{sorted(primitives)}, {lines}", "[], []")


# %% documented S0-18
# Since JAX 0.7.2, `jax.debug.print` has an operation of its own. The breakpoint is
# still made with the callback.
def uses_print(x):
    jax.debug.print("{}", x)


def uses_breakpoint(x):
    jax.debug.breakpoint()


for function in (uses_print, uses_breakpoint, own_debug_print("{}", True)):
    print(program(function, 1.0).primitives)

# documented
# Both `jax.debug.print()` and `jax.debug.breakpoint()` are implemented using the more
# flexible `jax.debug.callback()`.

# today
# {'debug_print': 1}
# {'debug_callback': 1}
# {'debug_callback': 1}

# %% [markdown]
# ### Checks that survive jit
#
# Under jit, `assert x > 0` fails with an error about tracers, even if x is 5. And JAX
# is silent where NumPy would complain: an index out of bounds is moved to the last
# element.

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
    minutes=4,
    hints=[
        "Who decides whether the index is right: Python while tracing, or the program when it runs?",
        "`checkify.check` inside, `checkify.checkify` outside. "
        "https://docs.jax.dev/en/latest/debugging/checkify_guide.html",
        '@jax.jit\ndef pick(table, i):\n    checkify.check(____, "index {i} is out of bounds", i=i)\n'
        "    return table[i]\n\n"
        "error, value = ____(pick)(table, i)\nreturn error.get(), value",
        """# Like it: mix two numbers. The running program checks that the share is fair.
@jax.jit
def mix(a, b, share):
    checkify.check(share <= 1, "a share of {share} is too much", share=share)
    return share * a + (1 - share) * b

for share in (0.5, 2.0):
    complaint, mixed = checkify.checkify(mix)(10.0, 20.0, share)
    print(complaint.get(), mixed)  # None 15.0, then a text and 0.0""",
    ],
)
def checked_pick(table, i):
    """Take table[i] in a function under jit, which checks at run time that i is less than the length of the table.

    >>> checked_pick(jnp.array([10.0, 11.0]), jnp.int32(1))
    (None, Array(11., dtype=float32))

    Args:
        table: float32[n], n at least 1; NaN is a number like any other.
        i: int32[], from 0 to a billion.

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
    """The table is read in a function under jit, and only a run of it knows whether i is in bounds."""
    args = jnp.arange(3.0), jnp.int32(1)
    seen = answer.observe(*args)
    message = "It should happen in a function under jit; in yours nothing is traced by `jax.jit`."
    expect_that(seen.traces > 0, message, seen.traces, "1 or more")
    try:
        primitives = answer.program(*args).primitives
    except StudentError:
        return  # To choose between None and a text, Python needs the outcome of a run, which a trace has not.
    message = "The program should check i when it runs; in yours Python knows about i before."
    checks = [name for name in primitives if "check" in name or "callback" in name]
    expect_that(bool(checks), message, sorted(primitives), "a check of i")


# %% [markdown]
# checkify can put such checks in for you, and for NaN and division by zero, too:

# %%
log_over_x = jax.jit(lambda x: jnp.log(x) / x)
error, _ = checkify.checkify(log_over_x, errors=checkify.float_checks)(-1.0)
print(error.get().strip().splitlines()[0])

# %% [markdown]
# ### What kind of trouble is it?
#
# Three questions that you can ask JAX, before you look at any code:
#
# - `jax.eval_shape(f, x)` traces `f` and computes nothing: do the shapes and dtypes fit
#   together? If not, it raises a TypeError or a ValueError.
# - `with jax.checking_leaks():` raises an error when a trace ends and one of its
#   tracers is still alive. (It must be a new trace, and is slow.)
# - `with jax.debug_nans(True):` raises a FloatingPointError if the result of a jitted
#   function has a NaN.


# %%
def puts_aside(x):
    """Double x, and put it aside."""
    puts_aside.seen = x
    return 2 * x


def too_deep(x):
    """Take the logarithm of numbers below 0."""
    return jnp.log(x - x.max() - 1)


def one_too_many(x):
    """Add a vector that is one number too long."""
    return x + jnp.ones(len(x) + 1)


def masked_log(x):
    """Take the logarithm where there is one, and 0 elsewhere."""
    return jnp.where(x > 0, jnp.log(x), 0.0)


# %% exercise
@exercise(
    title="Diagnose",
    points=3,
    minutes=5,
    hints=[
        "Which of the three questions can be asked without any number? Which one only counts for a new trace?",
        "Ask for leaks first, while JAX does not know the function yet. Catch the errors of each question. "
        "https://docs.jax.dev/en/latest/debugging/flags.html",
        "try:\n    with jax.checking_leaks():\n        ____\nexcept (TypeError, ValueError):\n"
        '    return "shape"\nexcept Exception:\n    return "leak"\n'
        'try:\n    with jax.debug_nans(True):\n        jax.jit(____)(x)\nexcept ____:\n    return "nan"\nreturn "fine"',
        """# Like it: does a function divide by zero, if `jax.debug_infs` is asked?
def has_infinity(function, x):
    try:
        with jax.debug_infs(True):
            jax.jit(function)(x)
    except FloatingPointError:
        return True
    return False

print([has_infinity(lambda x: 1 / x, jnp.float32(x)) for x in (2, 0)])  # [False, True]""",
    ],
)
def diagnose(function, x):
    """Say what is wrong with a function, by asking JAX. Any setting that you switch on ends with the call.

    >>> diagnose(one_too_many, jnp.ones(3))
    'shape'

    Args:
        function: a function of one array that returns an array, or a pytree of arrays, such as `puts_aside`; it is
            not jitted, and has not been called before.
        x: float32[n], its argument.

    Returns:
        "shape" if it cannot be traced, since shapes or dtypes do not fit; "leak" if a tracer outlives the trace; "nan"
        if the jitted function returns a NaN; else "fine". At most one of the three is wrong.
    """
    ...


# %% check
@visible(diagnose, idea="Each kind of trouble has a question of its own.")
def each_kind_is_named(answer):
    """The four functions of the lesson are a leak, a NaN, a wrong shape, and fine."""
    kinds = {puts_aside: "leak", too_deep: "nan", one_too_many: "shape", masked_log: "fine"}
    for function, kind in kinds.items():
        got = answer(given(function.__name__), jnp.array([2.0, -1.0, 1.0]))
        expect_that(
            isinstance(got, str) and got == kind, f'For `{function.__name__}` it should be "{kind}".', got, kind
        )


@visible(diagnose, idea="A NaN depends on the numbers; the function alone does not tell.", required=True)
def the_numbers_decide(answer):
    """`standardised` is fine for 0, 1, 2, and a NaN for equal numbers."""
    for x, kind in ((jnp.arange(3.0), "fine"), (jnp.ones(3), "nan")):
        got = answer(given(standardised.__name__), x)
        expect_that(got == kind, f'For `standardised` of {np.asarray(x)} it should be "{kind}".', got, kind)


# %% [markdown]
# ### Without jit at all
#
# `with jax.disable_jit():` runs everything operation by operation, loops included: no
# trace, no tracers. Then Python's own tools work: `print`, an `if`, a list, and
# `breakpoint()` with `pdb`. It is slow, and the values differ a little from those of
# the compiled program; and `vmap` and `grad` still show you tracers of theirs.


# %% exercise
@exercise(
    title="Plain values",
    points=2,
    minutes=3,
    hints=[
        "What must be switched off, so that `look` gets numbers and not tracers?",
        "`jax.disable_jit()` works for `jit`, `scan`, `cond` and `while_loop`. "
        "https://docs.jax.dev/en/latest/debugging/flags.html",
        "seen = []\nwith ____:\n    program(lambda value: seen.append(____), x)\nreturn seen",
        """# Like it: an assertion about the value of a jitted function.
@jax.jit
def root(x):
    assert x >= 0, f"{x} has no root"
    return jnp.sqrt(x)

with jax.disable_jit():
    print(root(9.0))  # 3.0; without the first line, the assertion is an error about tracers""",
    ],
)
def plain_values(program, x):
    """Run program(look, x) without `jit`, and return the values that it looks at, in order.

    `look` is a plain Python function of yours: no callback is needed. The setting ends with the call, also if the
    program raises an error.

    >>> plain_values(in_scan, 3.0)
    [3.0, 2.0, 1.0]

    Args:
        program: a function of `look` and x without `vmap` and `grad`, such as `in_jit`, `in_scan` or `in_while`.
        x: float.

    Returns:
        A list of Python floats, and no arrays.
    """
    ...


# %% check
@visible(plain_values, idea="Without `jit`, a loop of `jax.lax` is a loop of Python.")
def values_of_loops_are_seen(answer):
    """Under jit, scan and while the values are seen, in order."""
    for name, wanted in (("in_jit", [3.0]), ("in_scan", [3.0, 2.0, 1.0]), ("in_while", [3.0, 2.0, 1.0])):
        got = seen_by(answer, name, 3.0)
        expect_that(got == wanted, f"For `{name}` and 3 it should be {wanted}.", got, wanted)


@visible(
    plain_values, stage="traces", idea="`jax.disable_jit` leaves no trace, so that Python sees numbers.", required=True
)
def nothing_is_traced(answer):
    """Nothing is traced by `jax.jit`, and `look` gets numbers."""
    seen = answer.observe(given("in_jit"), 3.0)
    expect_that(seen.traces == 0, "Nothing should be traced by `jax.jit`.", f"{seen.traces} traces", "none")


# %% [markdown]
# ### Read a traceback
#
# JAX hides its own frames from tracebacks, and says so in the last lines. The last line
# of *yours* is where to look. To see all frames, set the environment variable
# `JAX_TRACEBACK_FILTERING=off`. An error in a callback comes out when the program's
# result is used, which may be many lines later; `jax.effects_barrier()` brings it
# nearer.
#
# ## What to read next
#
# - [Introduction to debugging](https://docs.jax.dev/en/latest/debugging.html), the page
#   behind the documented examples
# - [Printing and
#   breakpoints](https://docs.jax.dev/en/latest/debugging/print_breakpoint.html): all
#   commands
# - [The checkify guide](https://docs.jax.dev/en/latest/debugging/checkify_guide.html)
# - [Flags for debugging](https://docs.jax.dev/en/latest/debugging/flags.html):
#   `jax_debug_nans`, `jax_disable_jit`
# - The lesson `callbacks`: the other two kinds of callback, and which calls are
#   dropped, repeated or reordered
