# %% check
import re

from jaxguide.course.author import (
    exercise,
    expect_close,
    expect_documented,
    expect_dtype,
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


def number(value):
    """Return a scalar of any kind as a Python float."""
    expect_shape(value, ())
    return float(np.asarray(value))


# What only moves numbers, or changes their type.
MOVES = {"broadcast_in_dim", "concatenate", "convert_element_type", "copy", "dynamic_slice", "iota", "reshape", "slice"}
MOVES |= {"squeeze", "split", "unstack"}


def outside_of_jit(answer, *args):
    """Return the operations of a call that are in no jitted function of the answer, without those that move numbers."""
    return [name for name in answer.program(*args).unjitted if name not in MOVES]


def expect_nothing_outside(answer, *args):
    """Expect a call to compute nothing outside of the answer's jitted functions."""
    outside = outside_of_jit(answer, *args)
    message = "Everything should be computed in jitted functions; yours computes some of it outside."
    expect_that(not outside, message, f"outside: {', '.join(outside)}", "nothing outside")


def documented_inputs():
    """Return the arrays of the document in order: X, x of `get_negatives`, x, y, and then x2, y2."""
    draws = np.random.RandomState(1701)
    big = jnp.array(draws.rand(10000, 10))
    ten = jnp.array(draws.randn(10))
    return big, ten, draws.randn(3, 4), draws.randn(4), draws.randn(3, 4), draws.randn(4)


# %% [markdown]
# # Jit and tracing
#
# A simulation that takes thousands of small steps is slow in Python. `jax.jit` turns
# all of them into one compiled program. To do so, it **traces** your code: it runs it
# once, without numbers, and writes down what it does. Most surprises with JAX come from
# there.
#
# After this lesson you can
#
# - compile a simulation into one program, and measure what that saves,
# - say what your function sees while JAX traces it, and when JAX traces it again,
# - keep functions *pure*: nothing frozen, nothing leaked,
# - rewrite what `jit` refuses: selecting, branching, and loops of unknown length.
#
# Some exercises reproduce an example of JAX's own documentation. Below each of these, a
# folded cell shows the example, its documented output and today's.
#
# You need the lesson `arrays_and_layers`. [How to read a
# contract](arrays_and_layers.ipynb#How-to-read-a-contract) explains the types in the
# tasks, such as `float32[n,m]`.

# %%
from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxguide.clock import real_machine, simulated_machine
from jaxguide.explain import explain
from jaxguide.tracing import show_lines, side_effects, watch_traces

# %% [markdown]
# ## The task: a dish that paints itself
#
# Two chemicals spread in a flat dish. U is fed in from outside. Where U meets V, it
# turns into more V, and V decays. That is all, and yet it paints patterns as on a
# leopard or a coral: the *Gray–Scott model*.
#
# A dish is a `float32[2,n,m]`: how much of U and of V there is at each place. `feed`
# says how fast U flows in.


# %%
def spread(a):
    """Return what each place gains from its four neighbours; opposite edges meet."""
    above, below = jnp.roll(a, 1, 0), jnp.roll(a, -1, 0)
    return above + below + jnp.roll(a, 1, 1) + jnp.roll(a, -1, 1) - 4 * a


def step(dish, feed):
    """Return the dish a moment later."""
    u, v = dish
    reaction = u * v * v
    u = u + 0.16 * spread(u) - reaction + feed * (1 - u)
    v = v + 0.08 * spread(v) + reaction - (feed + 0.062) * v
    return jnp.stack([u, v])


def fresh_dish(n=128):
    """Fill a dish with U, and drop V in at 20 places."""
    u, v = np.ones((n, n), "float32"), np.zeros((n, n), "float32")
    for i, j in np.random.default_rng(0).integers(0, n - 8, (20, 2)):
        u[i : i + 8, j : j + 8] = 0.5
        v[i : i + 8, j : j + 8] = 0.25
    return jnp.array([u, v])


def show(images):
    """Draw images of V side by side, under their titles."""
    figure = plt.figure(figsize=(2.2 * len(images), 2.5), layout="constrained")
    for number, (title, image) in enumerate(images.items(), start=1):
        axes = figure.add_subplot(1, len(images), number)
        axes.imshow(image, cmap="magma", vmin=0, vmax=0.4)
        axes.set_title(title, fontsize=9)
        axes.axis("off")
    plt.show()


dish = fresh_dish()
show({"V at the start": dish[1], "one step later": step(dish, 0.03)[1]})

# %% [markdown]
# One step changes next to nothing. A pattern takes thousands of them, and each is made
# of dozens of small operations. At the end of this lesson they are one program, and you
# will see what it paints.

# %% [markdown]
# ## Part 1. One operation at a time, or all at once
#
# JAX normally runs **one operation at a time**: each sum and each product is a small
# program of its own, started by Python. `jax.jit(f)` is a new function that runs all of
# `f` as **one** program. The compiler can then *fuse* operations into one loop over the
# data, so that what comes in between is never written to memory.
#
# How does it find the operations? The first call runs your Python code with *tracers*,
# which stand in for arrays and have no numbers. Here is a function that notices.


# %%
def tell(x):
    """Say what arrives, and double it."""
    print("a tracer" if isinstance(x, jax.core.Tracer) else "numbers", "arrived")
    return 2 * x


twice = jax.jit(tell)
print(tell(jnp.arange(3.0)))
print(twice(jnp.arange(3.0)))
print(twice(jnp.arange(3.0) + 5))

# %% [markdown]
# In the last call nothing arrived, and the result is still right: your Python code did
# not run again, only the compiled program did.
#
# That program may add numbers in another order. So both ways agree up to *rounding*,
# and you compare them with a tolerance, never with `==`. Try it with this function.


# %%
def norm(x):
    """Give each column the mean 0 and the standard deviation 1."""
    x = x - x.mean(0)
    return x / x.std(0)


# %% exercise
@exercise(
    title="Two ways to run a function",
    points=2,
    core=True,
    minutes=4,
    reproduces=["S1-17", "S1-18"],
    hints=[
        "Which of the two results do you get by just calling the function?",
        "`jax.jit(function)` is a function: call it with x. `np.allclose` compares with a tolerance, and nothing is "
        "close to NaN. https://docs.jax.dev/en/latest/jit-compilation.html",
        "plain = ____\ncompiled = ____(function)(x)\nreturn plain, compiled, np.allclose(____, ____, atol=1e-6)",
        """# Like it: a function of two numbers, and how far apart the two ways are.
def gap(function, a, b):
    return abs(float(function(a, b)) - float(jax.jit(function)(a, b)))

print(gap(jnp.hypot, 3.0, 4.0) < 1e-5)  # True""",
    ],
)
def two_ways(function, x):
    """Call a function twice: one operation at a time, and compiled as one program. Do the results agree?

    >>> two_ways(norm, jnp.array([[1.0, 10.0], [3.0, 30.0]]))[2]
    True

    Args:
        function: a function of one array that returns an array, such as `norm`.
        x: its argument, such as a float32[n,m].

    Returns:
        A tuple `(plain, compiled, agree)`: what the function returns for x; what the function returns for x if all of
        it is compiled; and a bool, whether `np.allclose` finds these equal with `atol=1e-6`.
    """
    ...


# %% check
@visible(two_ways, idea="`jit` does not change what a function computes, up to rounding.")
def both_ways_give_the_columns(answer, draw):
    """For `norm` both results are the normalised columns."""
    for shape in ((3, 2), (5, 4)):
        x = 3 * draw.floats(*shape) + 10
        plain, compiled, _ = parts(answer(given(norm.__name__), x), 3)
        for got in (plain, compiled):
            expect_close(got, norm(x), rtol=1e-3, atol=1e-4)


@visible(
    two_ways,
    stage="traces",
    idea="Only `jax.jit` runs a function on tracers. A plain call runs it on numbers, one operation at a time.",
    reproduces=["S1-17"],
    required=True,
)
def once_on_numbers_and_once_on_tracers(answer):
    """`tell` is run once on numbers and, for one compiled program, once on tracers."""
    seen = answer.observe(given(tell.__name__), jnp.arange(3.0))
    found = {
        "run on numbers": seen.lines.count("numbers arrived"),
        "run on tracers": seen.lines.count("a tracer arrived"),
        "programs compiled": seen.compiles,
    }
    message = "`tell` should be run once on numbers, and once on tracers for one compiled program."
    expect_documented("S1-17", found, message=message)


@visible(
    two_ways,
    idea="`np.allclose` compares with a tolerance, and a NaN is not close to anything.",
    reproduces=["S1-18"],
)
def close_means_agreed(answer):
    """`norm` of 10,000 rows agrees; with a NaN in the table nothing does."""
    table = documented_inputs()[0]
    agree = [bool(parts(answer(given(norm.__name__), x), 3)[2]) for x in (table, table.at[7, 3].set(np.nan))]
    message = "`agree` should be True for 10,000 rows of numbers, and False with a NaN among them."
    expect_that(not agree[1], message, agree, [True, False])
    expect_documented("S1-18", {"agree": agree[0]}, message=message)


# %% documented S1-17 S1-18
# Documented and today's output agree. The page says that this function normalises the
# rows of a matrix; `mean(0)` and `std(0)` normalise its columns.
np.random.seed(1701)
X = jnp.array(np.random.rand(10000, 10))
print(np.allclose(norm(X), jax.jit(norm)(X), atol=1e-6))
# documented
# True

# %% [markdown]
# ### What does it save?
#
# Measure it, but beware of two traps. The first call of a jitted function also traces
# and compiles. And JAX does not wait: a call starts the work and comes back at once,
# with a result that is still being made (*asynchronous dispatch*).
# `result.block_until_ready()` waits for it. Until then, other work waits in a queue.
#
# Real clocks depend on luck. So here are two machines with a clock of their own, which
# behave like JAX and take the same time on every computer.


# %%
def plain_machine():
    """Start a machine that needs 20 µs to start a job, and 922 µs for the job."""
    return simulated_machine(dispatch_s=20e-6, work_s=922e-6)


def jitted_machine():
    """Start a machine that first compiles, for 30 ms; then a job needs 20 µs to start, and 492 µs."""
    return simulated_machine(compile_s=30e-3, dispatch_s=20e-6, work_s=492e-6)


machine = jitted_machine()
result = machine.run()
print(f"the call is back after {machine.clock():.6f} s")
result.block_until_ready()
print(f"the result is there after {machine.clock():.6f} s")


# %% exercise
@exercise(
    title="An honest stopwatch",
    points=3,
    core=True,
    minutes=6,
    reproduces=["S1-19"],
    hints=[
        "What does the very first call do that later ones do not? When a call comes back, is the work done?",
        "Run once before you measure, and wait for the result with `block_until_ready()` before you look at the clock. "
        "https://docs.jax.dev/en/latest/async_dispatch.html",
        "machine = start_machine()\nmachine.run().block_until_ready()\nbefore = machine.clock()\n____\n"
        "return machine.clock() - before",
        """# Like it: seconds until three jobs in a queue are done, compiling included.
def seconds_of_three(start_machine):
    fresh = start_machine()
    before = fresh.clock()
    results = [fresh.run() for _ in range(3)]
    for result in results:
        result.block_until_ready()
    return fresh.clock() - before

print(round(seconds_of_three(jitted_machine), 6))  # 0.031516: 0.03 + 0.00002 + 3 * 0.000492 + 0.00002""",
    ],
)
def seconds_per_run(start_machine):
    """Measure how long one run takes: from the call until its result is there, without compiling.

    >>> round(seconds_per_run(jitted_machine), 6)
    0.000512

    Args:
        start_machine: a function without arguments that starts a new machine, such as `jitted_machine`. A machine has
            `run()`, which starts the job and returns its result, and `clock()`, the time in seconds; of a result, only
            `block_until_ready()` waits. You may run a machine as often as you like.

    Returns:
        The seconds, a float.
    """
    ...


# %% check
@visible(
    seconds_per_run,
    idea="A call comes back before its work is done, and the first call compiles.",
    reproduces=["S1-19"],
    required=True,
)
def the_times_are_honest(answer):
    """A run takes 942 µs on `plain_machine`, and 512 µs on `jitted_machine`."""
    starts = (plain_machine, jitted_machine)
    found = [round(number(answer(given(start.__name__))) * 1e6) for start in starts]
    alike = {
        20: "as long as a call, which comes back before the work is done",
        30512: "as long as a first run, which compiles",
        1004: "as long as two jobs, one waiting for the other",
        984: "as long as two jobs: jobs queue, and the one before it was still running",
    }
    said = alike.get(found[1])
    message = f"One run of `jitted_machine` should take 512 µs; yours takes {found[1]} µs{f', {said}' if said else ''}."
    expect_that(not said, message, found, [942, 512])
    expect_documented("S1-19", found, message="One run should take 942 µs and, jitted, 512 µs.")


# %% [markdown]
# Now the same stopwatch on your own computer. `real_machine(f, x)` has the same two
# functions, and its job is `f(x)`.

# %%
table = jnp.array(np.random.default_rng(0).random((10_000, 10)))
compiled_norm = jax.jit(norm)


def here(function, *args):
    """Return the seconds of one call on this computer: the median of nine."""
    return float(np.median([seconds_per_run(partial(real_machine, function, *args)) for _ in range(9)]))


def compare_ways():
    """Print how long `norm` takes on this computer, plain and jitted."""
    if seconds_per_run(plain_machine) is None:
        print("Write `seconds_per_run` first: then this cell times `norm` on your computer.")
        return
    for way, function in {"one operation at a time": norm, "jitted": compiled_norm}.items():
        print(f"{way:>23}: {here(function, table) * 1e6:5.0f} µs")


compare_ways()

# %% [markdown]
# On a real computer the ratio depends on the work. Here a handful of operations go over
# a large table, and one program saves little. A simulation is made of many quick ones.

# %% documented S1-19
# Times depend on the computer, so that only the order of the two is to be expected. On
# the make-believe machines your stopwatch measures the documented times exactly.
for machine_of_the_page in (plain_machine, jitted_machine):
    print(f"{seconds_per_run(machine_of_the_page) * 1e6:.0f} μs")
# documented
# 942 μs ± 6.93 μs per loop (mean ± std. dev. of 7 runs, 1,000 loops each)
# 512 μs ± 2.88 μs per loop (mean ± std. dev. of 7 runs, 1,000 loops each)
# today
# 942 μs
# 512 μs

# %% [markdown]
# ## Part 2. What your function sees
#
# A tracer has a shape and a dtype, and no values. Each operation on it is written down
# in a program, a *jaxpr* (JAX expression). What Python does besides is not: the jaxpr
# of `tell` has a product, and no `print`. Each line between `let` and `in` is an
# operation: here `b` is the product of 2 and the argument `a`.

# %%
print(jax.make_jaxpr(tell)(jnp.arange(3.0)))

# %% [markdown]
# So what exactly does your function see? (`@jax.jit` above a `def` jits a function from
# the start: it is short for `f = jax.jit(f)` below.)


# %% exercise
@exercise(
    title="A look inside",
    points=2,
    core=True,
    minutes=4,
    reproduces=["S1-22", "S1-23"],
    hints=[
        "What makes the first call print tracers, and the second one print nothing?",
        "Put `@jax.jit` above the `def`, and print inside, with Python's own `print`. "
        "https://docs.jax.dev/en/latest/jit-compilation.html",
        '@____\ndef look_inside_jit(x, y):\n    print("Running f():")\n    print(f"x = {x}")\n    print(____)\n'
        '    result = jnp.dot(____)\n    print(f"result = {result}")\n    return result',
        """# Like it: the area of a frame, which tells what it sees while it is traced.
@jax.jit
def frame_area(inner, outer):
    print(f"outer = {outer}")
    area = outer**2 - inner**2
    print(f"area = {area}")
    return area

print(frame_area(1.0, 2.0))  # 3.0, after two lines with tracers
print(frame_area(2.0, 3.0))  # 5.0, and no other line""",
    ],
)
def look_inside_jit(x, y):
    """Jit this function, and let it print what it sees while it is traced.

    It prints four lines: `Running f():`, then `x = ...`, `y = ...` and `result = ...`, with what `print` shows of each.
    A second call with the same shapes and dtypes prints nothing.

    >>> look_inside_jit(jnp.ones((5, 2)), jnp.ones(2))
    Running f():
    x = ...
    y = ...
    result = ...
    Array([8., 8., 8., 8., 8.], dtype=float32)

    Args:
        x: float32[n,m].
        y: float32[m].

    Returns:
        float32[n]: the result, which is the dot product of x + 1 and y + 1.
    """
    ...


# %% check
@visible(look_inside_jit, idea="The recorded operations run on the numbers that you pass.")
def the_dot_product_is_right(answer, draw):
    """The result is the dot product of x + 1 and y + 1."""
    for n, m in ((2, 3), (3, 4)):
        x, y = draw.floats(n, m), draw.floats(m)
        expect_close(answer(x, y), (x + 1) @ (y + 1), rtol=1e-4, atol=1e-5)


@visible(
    look_inside_jit,
    stage="traces",
    idea="While it is traced, your code sees tracers: shapes and dtypes, no numbers.",
    reproduces=["S1-22"],
    required=True,
)
def the_first_call_prints_tracers(answer):
    """The first call prints the four lines, with tracers in them, and gives the numbers."""
    _, _, x, y, _, _ = documented_inputs()
    seen = answer.observe(x, y)
    message = "The first call should print four lines, from `Running f():` to `result = ...`, and these show tracers."
    expect_documented("S1-22", [*seen.lines, repr(jnp.asarray(seen.value))], message=message)


@visible(
    look_inside_jit,
    stage="traces",
    idea="A call with the same shapes and dtypes runs the compiled program, not your Python code.",
    reproduces=["S1-23"],
    required=True,
)
def the_second_call_prints_nothing(answer):
    """A second call with other numbers prints nothing, and gives their result."""
    _, _, x, y, x2, y2 = documented_inputs()
    second = answer.observe_calls([(x, y), (x2, y2)])[1]
    message = "A second call with the same shapes and dtypes should print nothing, and give the result of its numbers."
    expect_documented("S1-23", [*second.lines, repr(jnp.asarray(second.value))], message=message)


@visible(
    look_inside_jit,
    stage="cost",
    idea="What is computed outside of the jitted function runs one operation at a time, in every call.",
    required=True,
)
def the_look_is_one_program(answer, draw):
    """The sums and the dot product are in the jitted function."""
    expect_nothing_outside(answer, draw.floats(3, 2), draw.floats(2))


# %% documented S1-22 S1-23
# A tracer prints differently today. What counts has stayed: it shows a dtype and a
# shape, and no numbers. (The text changed in 0.4.36, 0.6.1, 0.7.0 and 0.8.2.)
np.random.seed(1701)
np.random.rand(10000, 10), np.random.randn(10)
x, y, x2, y2 = (np.random.randn(*shape) for shape in ((3, 4), (4,), (3, 4), (4,)))
fresh_look = jax.jit(lambda x, y: look_inside_jit(x, y))
print(repr(fresh_look(x, y)))
print(repr(fresh_look(x2, y2)))
# documented
# Running f():
#   x = Traced<ShapedArray(float32[3,4])>with<DynamicJaxprTrace(level=1/0)>
#   y = Traced<ShapedArray(float32[4])>with<DynamicJaxprTrace(level=1/0)>
#   result = Traced<ShapedArray(float32[3])>with<DynamicJaxprTrace(level=1/0)>
# Array([0.25773212, 5.3623195 , 5.403243  ], dtype=float32)
# Array([1.4344584, 4.3004413, 7.9897013], dtype=float32)
# today
# Running f():
# x = JitTracer(float32[3,4])
# y = JitTracer(float32[4])
# result = JitTracer(float32[3])
# Array([0.25773212, 5.3623195 , 5.403243  ], dtype=float32)
# Array([1.4344584, 4.3004413, 7.9897013], dtype=float32)

# %% [markdown]
# `show_lines` shows what a function sees at each of its lines, without any `print`.

# %%
show_lines(step, dish, 0.03)

# %% [markdown]
# Each line shows the types of the values, and the *primitives*, which are JAX's basic
# operations: a `roll` is made of slices and a `concatenate`.
#
# The feed is traced, too, although it is a Python number. Its type is *weak*: next to a
# float16 it would become float16. You will see that written as `float32[] weak`,
# `~float32[]` or `weak_type=True`. Its value is not recorded, so one program serves all
# feeds.
#
# ### When does it trace again?
#
# A program fits one shape and one dtype of each argument, weak or not. JAX keeps it,
# and runs it again when the same types come back. `watch_traces` counts the traces in a
# block, and says why there was another one.

# %%
fast_step = jax.jit(step)
with watch_traces() as traces:
    fast_step(dish, 0.03)
    fast_step(dish, 0.05)
    fast_step(dish[:, :64], 0.05)
    fast_step(dish, jnp.float32(0.05))
    fast_step(dish, 0.07)  # known from the first call
traces


# %% exercise
@prediction(
    title="Predict: how many traces?",
    points=1,
    core=True,
    minutes=1,
    hints=[
        "Which of the six arguments have a shape or a dtype that was not there before?",
        "Python numbers have a weak type, which counts as a type of its own; their value does not matter. "
        "https://docs.jax.dev/en/latest/jit-compilation.html",
        "# Two calls with jnp.ones(3) and jnp.ones(4) make 2 traces.\nreturn ____  # an int",
    ],
)
def predict_traces():
    """A new jitted function is called with these six arguments, one after the other. How often is it traced?

    `jnp.ones(3)`, `jnp.zeros(3)`, `jnp.ones((3, 1))`, `jnp.arange(3)`, `1.0`, `2.0`

    Returns:
        An int.
    """
    ...


# %% check
@reveal(
    predict_traces,
    why="float32[3], float32[3,1], int32[3] and a weak float32[] are four types. Zeros have the type of ones, and 2.0 "
    "has that of 1.0: values do not count.",
    shows="""with watch_traces() as six:
    doubled = jax.jit(lambda x: 2 * x)
    for value in (jnp.ones(3), jnp.zeros(3), jnp.ones((3, 1)), jnp.arange(3), 1.0, 2.0):
        doubled(value)
print(six)""",
)
def counted_traces():
    """We called it with the six, and counted how often its Python code ran."""
    ran = []
    fresh = jax.jit(lambda x: (ran.append(1), 2 * x)[1])
    for value in (jnp.ones(3), jnp.zeros(3), jnp.ones((3, 1)), jnp.arange(3), 1.0, 2.0):
        fresh(value)
    return len(ran)


# %% [markdown]
# ## Part 3. What jit refuses, and the ways out
#
# A program has fixed shapes, and a tracer has no numbers. So JAX refuses code that must
# know a number to go on. `explain` says what went wrong with an error, and what to do.

# %%
try:
    jax.jit(lambda x: x[x < 0])(jnp.array([1.0, -2.0, 3.0]))
except jax.errors.NonConcreteBooleanIndexError as error:
    print(type(error).__name__)
    explanation = explain(error)
explanation

# %% [markdown]
# How many numbers are negative? Nobody knows while tracing, so the shape of the result
# is not known either. There are two ways out:
#
# - **Keep the shape**, and make what you do not want harmless:
#   `jnp.where(x < 0, x, 0.0).sum()` adds up the negative numbers.
# - **Fix the shape**: say how many there are at most. `jnp.nonzero(mask, size=4,
#   fill_value=k)` returns the places of the first four that are true, and the place `k`
#   where there are no more of them. `jnp.extract(mask, x, size=4, fill_value=0)`
#   returns the numbers of x at these places. (An index beyond the end takes the last
#   number.)

# %%
loud = jnp.array([0.0, 7.0, 0.0, 0.0, 9.0])
print(jnp.nonzero(loud > 5, size=4, fill_value=-1)[0])


# %% exercise
@exercise(
    title="Select, with and without a fixed size",
    points=3,
    core=True,
    minutes=5,
    reproduces=["S1-20", "S1-21"],
    hints=[
        "What does NumPy give for `x[mask]`? And what does `jnp.nonzero` give you: numbers of x, or places?",
        "A mask as an index needs the numbers. With `size=`, `jnp.nonzero` or `jnp.extract` fix the shape, and "
        "`fill_value=` says what comes after the last. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.extract.html",
        "mask = x < 0\nif size is None:\n    return x[____]\nreturn jnp.extract(mask, x, size=____, fill_value=____)",
        """# Like it: the first few even numbers, and then -1.
def evens(numbers, size=None):
    mask = numbers % 2 == 0
    if size is None:
        return numbers[mask]
    return jnp.compress(mask, numbers, size=size, fill_value=-1)

numbers = jnp.array([3, 8, 5, 6])
print(evens(numbers), evens(numbers, 3))  # [8 6] [ 8  6 -1]
print(jax.jit(partial(evens, size=1))(numbers))  # [8]""",
    ],
)
def select_negatives(x, size=None):
    """Select the negative numbers, in their order: as many as there are, or a fixed number of them.

    Zero is not negative, of either sign, and NaN is not. Without a size, index with a mask: the result has as many
    numbers as are negative; under `jax.jit` JAX refuses the mask, and its error passes. With a size, it also works
    under `jax.jit`.

    >>> select_negatives(jnp.array([3.0, -1.0, -4.0]), 3)
    Array([-1., -4.,  0.], dtype=float32)

    Args:
        x: float32[n], a JAX array.
        size: None, or an int from 1 to n, also under `jax.jit`: no tracer.

    Returns:
        A JAX array: float32[k] with the k negative numbers, or float32[size] with the first of them, and with zeros
        after the last if there are fewer.
    """
    ...


# %% check
def expect_fixed(answer, x, size, wanted, message, **remarks):
    """Expect these numbers for a size."""
    expect_close(answer(x, size), jnp.array(wanted, dtype="float32"), message, **remarks)


@visible(select_negatives, idea="A mask selects where it is True.", reproduces=["S1-20"])
def the_negative_numbers_are_selected(answer):
    """Of ten numbers, the four negative ones are selected."""
    got = answer(documented_inputs()[1])
    expect_shape(got, (4,), "The result should hold the four negative numbers of the ten, and no others.")
    expect_dtype(got, "float32")
    expect_documented("S1-20", got, message="The result should hold the negative numbers in their order.")


@visible(
    select_negatives,
    idea="What is missing is filled with zeros. An index past the end is not an error: it picks the last number.",
)
def a_size_cuts_and_fills(answer):
    """With a size of 4, 2 or 1, the first ones come, and then zeros."""
    x = jnp.array([-2.0, 5.0, -1.0, 3.0])
    message = "There should be the first of -2 and -1, and then zeros, which stand for no number of x."
    for size, wanted in ((4, [-2, -1, 0, 0]), (2, [-2, -1]), (1, [-2])):
        expect_fixed(answer, x, size, wanted, message)


@visible(
    select_negatives,
    stage="jit",
    idea="The shape of the result depends on the numbers, and under `jit` there are none yet.",
    reproduces=["S1-21"],
    required=True,
)
def jit_refuses_the_mask(answer):
    """Without a size, `jax.jit` raises NonConcreteBooleanIndexError: the mask's values are not known."""
    message = (
        "Under `jax.jit` JAX should refuse the mask. Index the JAX array itself with the mask, and let errors pass."
    )
    expect_documented("S1-21", answer.jit.observe_error(documented_inputs()[1]), message=message)


@visible(
    select_negatives,
    stage="jit",
    idea="With a size, the shape is known before any number is, so tracers will do.",
    required=True,
)
def a_size_needs_no_numbers(answer, draw):
    """With a size of 3, it can be traced, and the program's result is a float32[3]."""
    program = answer.program(draw.floats(8), 3)
    message = "With a size, it should need no number of x in Python; yours asks for one, so that `jax.jit` would fail."
    expect_that(not program.needs_values, message)
    expect_that([one.shape for one in program.outputs] == [(3,)], "The result should be a float32[3].", program)


# %% documented S1-20 S1-21
# The text of the error names the type of the mask differently since 0.6.1.
np.random.seed(1701)
np.random.rand(10000, 10)
x = jnp.array(np.random.randn(10))
print(repr(select_negatives(x)))
try:
    jax.jit(select_negatives)(x)
except jax.errors.NonConcreteBooleanIndexError as error:
    print(f"{type(error).__name__}: {error}".splitlines()[0])
# documented
# Array([-0.10570311, -0.59403396, -0.8680282 , -0.23489487], dtype=float32)
# NonConcreteBooleanIndexError: Array boolean indices must be concrete; got ShapedArray(bool[10])
# today
# Array([-0.10570311, -0.59403396, -0.8680282 , -0.23489487], dtype=float32)
# NonConcreteBooleanIndexError: Array boolean indices must be concrete; got bool[10]

# %% [markdown]
# ### Which way to go?
#
# An `if` asks for one number, True or False. On a tracer it cannot decide.


# %%
def negate_if(x, neg):
    """Return -x if neg is true, else x."""
    return -x if neg else x


print(negate_if(1, True), negate_if(1, False))

# %% [markdown]
# Again there are ways out:
#
# - Make the argument **static**: it is then no tracer but the plain Python value, and
#   JAX makes one program for each value that it meets. You say which when you jit, by
#   place, `static_argnums=(1,)`, or by name, `static_argnames="neg"`; above a `def`,
#   `@partial(jax.jit, static_argnames="neg")`. A static value must be hashable: a
#   tuple, not a list or an array.
# - **Choose at run time**: `jnp.where(neg, a, b)` takes the one or the other, after
#   both were computed. `jax.lax.cond(neg, f, g, x)` runs only `f(x)` or only `g(x)`.
#   Both are in the program, and one program serves all.
#
# Static is right for what decides about shapes or options, and takes few values: each
# new one is compiled.


# %% exercise
@exercise(
    title="Three ways with a flag",
    points=3,
    core=True,
    minutes=4,
    reproduces=["S1-26", "S1-27", "S1-28"],
    hints=[
        "Which of the two arguments decides where Python goes? In which of the three ways does Python not decide?",
        "`jax.jit(f, static_argnums=(i,))` makes argument number i static; counting begins at 0. `jax.lax.cond` and "
        "`jnp.where` choose at run time. https://docs.jax.dev/en/latest/_autosummary/jax.lax.cond.html",
        'if how == "traced":\n    return jax.jit(negate_if)\nif how == "static":\n    return jax.jit(negate_if, ____)\n'
        "return jax.jit(lambda x, neg: ____)",
        """# Like it: the sum or the largest number of a vector, decided in two ways.
def reduced(v, total):
    return v.sum() if total else v.max()

when_jitted = jax.jit(reduced, static_argnames="total")
at_run_time = jax.jit(lambda v, total: jax.lax.cond(total, jnp.sum, jnp.max, v))
v = jnp.array([2.0, 5.0])
print(when_jitted(v, True), at_run_time(v, True))  # 7.0 7.0
print(when_jitted(v, False), at_run_time(v, False))  # 5.0 5.0""",
    ],
)
def jitted_negate_if(how):
    """Make a jitted `negate_if` in one of three ways.

    >>> jitted_negate_if("static")(1, True)
    Array(-1, dtype=int32, weak_type=True)

    Args:
        how: "traced": `neg` stays a tracer, so that a call fails, with JAX's own error about `neg`; let it.
            "static": `neg` is static, so that there is one program for each of its values.
            "at run time": `neg` is traced, and the program chooses, so that one program serves both values.

    Returns:
        A jitted function of `x`, a number or an array, and `neg`, a bool.
    """
    ...


# %% check
def described(value):
    """Return a scalar array's value, dtype and weak type."""
    expect_shape(value, ())
    return [int(np.asarray(value)), str(getattr(value, "dtype", type(value))), bool(getattr(value, "weak_type", False))]


FLAGS = [(1, True), (1, False), (1, True), (1, False)]


@visible(jitted_negate_if, idea="A static flag is a plain Python value.", reproduces=["S1-27"])
def the_static_flag_negates(answer):
    """If it is static, the call with 1 and True gives -1, as a weak int32."""
    message = "With `static`, the jitted function should give -1 for 1 and True, as a JAX array."
    expect_documented("S1-27", described(answer.then("static")(1, True)), message=message)


@visible(
    jitted_negate_if,
    stage="traces",
    idea="For another static value there is another program, and none for a value that was there before.",
    reproduces=["S1-28"],
)
def another_flag_another_program(answer):
    """If it is static, True, False, True and False are traced 1, 1, 0 and 0 times; False gives 1."""
    seen = answer.then("static").observe_calls(FLAGS)
    found = [described(seen[1].value), [one.traces for one in seen]]
    message = "With `static`, False should give 1, and each of the two flags should be traced once."
    expect_documented("S1-28", found, message=message)


@visible(jitted_negate_if, stage="jit", idea="A tracer has no truth value for Python's `if`.", reproduces=["S1-26"])
def the_traced_flag_is_refused(answer):
    """If it is traced, the call raises TracerBoolConversionError."""
    seen = answer.then("traced").observe_error(1, True)
    message = "With `traced`, where nothing is static, the call should fail; yours returned a value."
    expect_that(seen.error is not None, message, seen.value, "TracerBoolConversionError")
    message = "With `traced`, the error should be JAX's own, about the argument `neg`."
    expect_that("argument neg" in seen.error.message, message, seen.error.message, "an error about neg")
    expect_documented("S1-26", seen)


@visible(
    jitted_negate_if,
    stage="traces",
    idea="What is chosen at run time is in one program, which serves both flags.",
    required=True,
)
def one_program_for_both_flags(answer, draw):
    """If it is chosen at run time, four calls make one trace, and arrays are negated, too."""
    x = draw.floats(3)
    seen = answer.then("at run time").observe_calls([(x, neg) for _, neg in FLAGS])
    for one, (_, neg) in zip(seen, FLAGS, strict=True):
        expect_close(one.value, -x if neg else x)
    message = "At run time, one program should serve both flags."
    expect_that([one.traces for one in seen] == [1, 0, 0, 0], message, [one.traces for one in seen], [1, 0, 0, 0])


# %% documented S1-26 S1-27 S1-28
# Documented and today's output agree. That a new static value is compiled is said there
# in words; here the traces are counted, too: there are 2.
try:
    jax.jit(negate_if)(1, True)
except jax.errors.TracerBoolConversionError as error:
    print(f"{type(error).__name__}: {error}".splitlines()[0])
with watch_traces() as traces:
    static_flag = jax.jit(lambda x, neg: negate_if(x, neg), static_argnums=(1,))
    print(repr(static_flag(1, True)))
    print(repr(static_flag(1, False)))
print(traces.traces)
# documented
# TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].
# Array(-1, dtype=int32, weak_type=True)
# Array(1, dtype=int32, weak_type=True)
# today
# TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].
# Array(-1, dtype=int32, weak_type=True)
# Array(1, dtype=int32, weak_type=True)
# 2

# %% [markdown]
# All in all:
#
# | Python asks a tracer | instead |
# | --- | --- |
# | how many, `x[x < 0]` | keep the shape with `jnp.where`, or fix it with `size=` |
# | which way, `if neg:` | `jnp.where`, `jax.lax.cond`, or a static `neg` |
# | how often, `range(n)`, `while change > limit:` | a loop in the program: Part 4 |

# %% [markdown]
# ## Part 4. Pure functions, and loops in the program
#
# Python code runs only while it is traced. So jitted functions must be **pure**: the
# result depends on nothing but the arguments, and returning it is all that the function
# does. This one is not pure.

# %%
rate = 0.5
log = []


@jax.jit
def decayed(x):
    """Let x decay at the global rate, and note the result."""
    x = x - rate * x
    log.append(x)
    return x


print(decayed(8.0))
rate = 0.25
print(decayed(8.0), "although the rate is", rate)
print(log)

# %% [markdown]
# The rate is **frozen**: it was read while tracing, and never again. The tracer in the
# list **leaked**: it stands for no number, and after the trace it is of no use. And the
# second call noted nothing. None of this raises an error, and `jax.jit` of the same
# function would find the frozen program again. `side_effects` traces a function once
# more, and finds what leaks (not what is frozen):

# %%
print(side_effects(decayed, 8.0))

# %% [markdown]
# The cure is always the same. What changes is an *argument*; what you need outside is
# *returned*.
#
# ### Many steps, one program
#
# A Python loop over jitted steps starts a program for each step. And inside a jitted
# function, `for _ in range(n)` is *unrolled*: the program gets n times as long.
# `jax.lax.scan` is a loop **in** the program. `scan(body, carry, length=n)` runs
# `carry, out = body(carry, None)` n times; it returns the last `carry`, and all `out`
# as one array. (The None is in the place of data to loop over; here there are none.)
# `body` may read the arguments of a jitted function around it. n is part of the
# program, so it must be static.


# %%
def halve(x, _):
    """Halve x, and keep the half."""
    half = x / 2
    return half, half


print(jax.lax.scan(halve, 8.0, length=3))

# %% [markdown]
# If you do not need what comes in between, `jax.lax.fori_loop(0, n, body, state)` runs
# `state = body(i, state)` for each i; there n may be traced. And here is a film of the
# dish, impure in two ways.

# %% exercise
current_feed = 0.0
kept = []


@jax.jit
def step_and_keep(dish):
    """Make one step, and keep V."""
    dish = step(dish, current_feed)
    kept.append(dish[1])
    return dish


@exercise(
    title="Repair: a film of the dish",
    points=3,
    core=True,
    minutes=6,
    hints=[
        "What does a step use that is not an argument? What does it make that it does not return?",
        "The body of `jax.lax.scan` returns the new dish and what to keep; the feed is an argument of the function "
        "around it. https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html",
        '@partial(jax.jit, static_argnames="steps")\ndef film(dish, feed, steps):\n    def body(dish, _):\n'
        "        dish = step(dish, ____)\n        return dish, ____\n\n"
        "    return jax.lax.scan(body, ____, length=steps)",
        """# Like it: a savings account, with its balance after each year.
@partial(jax.jit, static_argnames="years")
def balances(start, interest, years):
    def year(money, _):
        money = money * (1 + interest)
        return money, money

    return jax.lax.scan(year, start, length=years)

last, all_of_them = balances(100.0, 0.1, 3)
print(last, all_of_them.shape)  # 133.1 (3,)""",
    ],
)
def film(dish, feed, steps):
    """Film V for some steps: make this pure, and put all steps into one jitted program.

    It is traced once for all feeds, and the program is as long for a thousand steps as for one. (Call it through
    `jax.jit`; do not compile it ahead of time.)

    >>> last, frames = film(jnp.ones((2, 4, 4)), 0.5, 2)
    >>> frames[:, 0, 0]
    Array([1.438   , 0.629844], dtype=float32)

    Args:
        dish: float32[2,n,m].
        feed: float, for all steps.
        steps: int, 0 or more, the same in most calls: it may be static.

    Returns:
        A tuple `(last, frames)`: float32[2,n,m], the dish after all steps; and float32[steps,n,m], V after each step.
    """
    global current_feed
    current_feed = feed
    kept.clear()
    for _ in range(steps):
        dish = step_and_keep(dish)
    return dish, kept


# %% check
def steps_by_numpy(dish, feed, count):
    """Return the dishes after each step, as NumPy computes them."""
    dish, dishes = np.asarray(dish, np.float64), []
    for _ in range(count):
        u, v = dish
        flow = [sum(np.roll(a, s, axis) for s in (1, -1) for axis in (0, 1)) - 4 * a for a in (u, v)]
        reaction = u * v * v
        new_u = u + 0.16 * flow[0] - reaction + feed * (1 - u)
        dish = np.stack([new_u, v + 0.08 * flow[1] + reaction - (feed + 0.062) * v])
        dishes.append(dish)
    return dishes


def random_dish(draw, n, m):
    """Return a dish with any amounts between 0 and 1."""
    return jnp.asarray(1 / (1 + jnp.exp(-draw.floats(2, n, m))))


@visible(film, stage="shape")
def one_frame_for_each_step(answer, draw):
    """There is one frame for each step."""
    _, frames = parts(answer(random_dish(draw, 3, 4), 0.05, 5), 2)
    expect_shape(frames, (5, 3, 4))


@visible(film, idea="A frame shows V after its step, and the feed is that of the call.")
def each_film_has_its_own_feed(answer, draw):
    """Two films in a row, with two feeds, show V after each step."""
    dish = random_dish(draw, 4, 4)
    for feed in (0.05, 0.5):
        last, frames = parts(answer(dish, feed, 3), 2)
        wanted = steps_by_numpy(dish, feed, 3)
        expect_close(frames, np.stack([one[1] for one in wanted]).astype("float32"), rtol=1e-4, atol=1e-5)
        expect_close(last, wanted[-1].astype("float32"), rtol=1e-4, atol=1e-5)


@visible(
    film, stage="traces", idea="A feed that is an argument may have any value; only the number of steps is static."
)
def one_trace_for_all_feeds(answer, draw):
    """Three films with three feeds need one trace."""
    dish = random_dish(draw, 4, 4)
    counts = [seen.traces for seen in answer.observe_calls([(dish, feed, 4) for feed in (0.02, 0.03, 0.04)])]
    expect_that(counts[0] > 0, "The film should be jitted; in yours nothing is traced by `jax.jit`.", counts, [1, 0, 0])
    expect_that(sum(counts[1:]) == 0, "A film with another feed should need no other trace.", counts, [1, 0, 0])


@visible(film, stage="cost", idea="`scan` is a loop in the program; a Python loop is unrolled.", required=True)
def the_loop_is_in_the_program(answer, draw):
    """The program has a loop, and is as long for 120 steps as for 31."""
    dish = random_dish(draw, 4, 4)
    short, long = (answer.program(dish, 0.05, steps) for steps in (31, 120))
    loops = short.primitives.get("scan", 0) + short.primitives.get("while", 0)
    expect_that(loops > 0, "There should be a loop in the program; yours has none.", short, "a scan")
    message = "The program should be as long for 120 steps as for 31."
    lengths = [short.equations, long.equations]
    expect_that(lengths[0] == lengths[1], message, f"{lengths[1]} equations for 120 steps", f"{lengths[0]}, as for 31")


# %% [markdown]
# Now let it paint. Each strip is a film of 4,000 steps, made of eight films in a row;
# they all run one program.


# %%
def is_repaired():
    """Return whether `film` returns its frames as an array."""
    return isinstance(film(dish, 0.03, 2)[1], jax.Array)


def draw_films():
    """Draw what two dishes look like now and then."""
    if not is_repaired():
        print("Repair `film` first: then this cell draws what the dish paints.")
        return
    for feed in (0.03, 0.055):
        painted, images = dish, {f"feed {feed}, start": dish[1]}
        for done in range(500, 4001, 500):
            painted, frames = film(painted, feed, 500)
            if done in (500, 1000, 2000, 4000):
                images[f"{done} steps"] = frames[-1]
        show(images)


draw_films()

# %% [markdown]
# ### Until it stands still
#
# How many steps does it take until nothing changes any more? Only the numbers know.
# `jax.lax.while_loop(goes_on, body, state)` runs `state = body(state)` as long as
# `goes_on(state)` is true. The state may be a tuple of arrays and numbers; its shapes
# and dtypes must stay. In `goes_on`, `a & b` stands for `a and b`.


# %%
def halve_and_count(state):
    """Halve x, and count it."""
    x, count = state
    return x / 2, count + 1


print(jax.lax.while_loop(lambda state: state[0] > 1, halve_and_count, (100.0, 0)))


# %% exercise
@exercise(
    title="Until it settles",
    points=3,
    core=True,
    minutes=5,
    hints=[
        "What must one round know about the round before, so that the loop can stop?",
        "Carry a tuple through `jax.lax.while_loop`: the dish, the largest change of the last step, and the number of "
        "steps. https://docs.jax.dev/en/latest/_autosummary/jax.lax.while_loop.html",
        "def goes_on(state):\n    _, change, steps = state\n    return (____) & (steps < most)\n\n"
        "def body(state):\n    dish, _, steps = state\n    after = step(dish, feed)\n"
        "    return after, ____, steps + 1\n\n"
        "dish, _, steps = jax.lax.while_loop(goes_on, body, (dish, jnp.inf, 0))\nreturn dish, steps",
        """# Like it: Newton's square root, until a round changes it by no more than `tolerance`.
@jax.jit
def root(a, tolerance):
    def goes_on(state):
        _, change = state
        return change > tolerance

    def body(state):
        x, _ = state
        better = (x + a / x) / 2
        return better, jnp.abs(better - x)

    return jax.lax.while_loop(goes_on, body, (a, jnp.inf))[0]

print(f"{root(2.0, 1e-4):.4f}")  # 1.4142""",
    ],
)
def settle(dish, feed, tolerance, most):
    """Make steps until one of them changes no number of the dish by more than a tolerance, with `jax.lax.while_loop`.

    After `most` steps it stops in any case. All of it is one jitted program, for all feeds, tolerances and `most`.

    >>> after, steps = settle(jnp.zeros((2, 4, 4)), 0.5, 0.01, 100)
    >>> int(steps)
    7

    Args:
        dish: float32[2,n,m].
        feed: float.
        tolerance: float.
        most: int, 0 or more.

    Returns:
        A tuple `(dish, steps)`: float32[2,n,m], the dish after the last step; and int32[], how many steps were made.
    """
    ...


# %% check
def settled(dish, feed, place, most=60):
    """Return a tolerance for which a dish settles after about `place` steps, those steps, and the dish then."""
    dishes = [np.asarray(dish, np.float64), *steps_by_numpy(dish, feed, most)]
    changes = np.abs(np.diff(dishes, axis=0)).max((1, 2, 3))
    least = np.minimum.accumulate(changes)
    steps = next(k for k in range(place, most) if changes[k] < 0.98 * least[k - 1]) + 1
    return float(np.sqrt(changes[steps - 1] * least[steps - 2])), steps, dishes[steps].astype("float32")


@visible(settle, idea="The step after which nothing changes any more is made, and counts.")
def it_stops_when_nothing_changes(answer, draw):
    """It stops after the first step that changes no number by more than the tolerance."""
    for place in (0, 2, 9):
        dish = random_dish(draw, 4, 4) if place else jnp.zeros((2, 4, 4))  # without V, only U changes
        tolerance, steps, wanted = settled(dish, 0.3, place or 4)
        got, count = parts(answer(dish, 0.3, tolerance, 1000), 2)
        message = f"It should make {steps} steps: the last of them is the first that changes nothing by more."
        expect_that(number(count) == steps, message, count, steps)
        expect_close(got, wanted, rtol=1e-4, atol=1e-5)


@visible(settle, idea="A loop that may never end needs a limit.")
def it_stops_after_most_steps(answer, draw):
    """It makes at most `most` steps."""
    dish = random_dish(draw, 4, 4)
    for most in (1, 3):
        got, count = parts(answer(dish, 0.05, 0.0, most), 2)
        expect_that(number(count) == most, f"It should make {most} steps, and no more.", count, most)
        expect_close(got, steps_by_numpy(dish, 0.05, most)[-1].astype("float32"), rtol=1e-4, atol=1e-5)


@visible(settle, stage="traces", idea="Tolerance and limit only take part in comparisons, so they can be traced.")
def one_trace_for_all_limits(answer, draw):
    """Calls with other feeds, tolerances and limits need no other trace."""
    dish = random_dish(draw, 4, 4)
    calls = [(dish, 0.3, 0.1, 5), (dish, 0.2, 0.01, 5), (dish, 0.2, 0.01, 50)]
    counts = [seen.traces for seen in answer.observe_calls(calls)]
    expect_that(counts[0] > 0, "It should be jitted; in yours nothing is traced by `jax.jit`.", counts, [1, 0, 0])
    message = "Other feeds, tolerances and limits should need no other trace."
    expect_that(sum(counts[1:]) == 0, message, counts, [1, 0, 0])


@visible(settle, stage="cost", idea="Only a loop in the program can stop by a number.", required=True)
def a_while_loop_is_in_the_program(answer, draw):
    """There is a `while` loop in the program."""
    program = answer.program(random_dish(draw, 4, 4), 0.3, 0.1, 5)
    message = "It should be traced, with a `while` loop in the program."
    expect_that(not program.needs_values and "while" in program.primitives, message, program, "a while loop")


# %% [markdown]
# Too little feed, and V starves; too much, and V is washed out. In between, the pattern
# goes on moving for a long time.


# %%
def draw_ends():
    """Draw dishes that stand still, or have made 4,000 steps."""
    if settle(dish, 0.03, 1e-5, 1) is None:
        print("Write `settle` first: then this cell shows when the dish stands still.")
        return
    ends = {feed: settle(dish, feed, 1e-5, 4000) for feed in (0.015, 0.03, 0.04, 0.055, 0.07)}
    show({f"feed {feed}: {int(steps)} steps": end[1] for feed, (end, steps) in ends.items()})


draw_ends()

# %% [markdown]
# And what did it save? Your stopwatch measures one step in three ways: one operation at
# a time, jitted, and as a part of a film.


# %%
def draw_times():
    """Draw how long one step takes in three ways."""
    if seconds_per_run(plain_machine) is None or not is_repaired():
        print("Write `seconds_per_run` and repair `film` first: then this cell draws the times of a step.")
        return
    micros = {
        "one operation at a time": 1e6 * here(step, dish, 0.03),
        "jitted": 1e6 * here(fast_step, dish, 0.03),
        "in a film of 100 steps": 1e6 * here(lambda: film(dish, 0.03, 100)[1]) / 100,
    }
    _, axes = plt.subplots(figsize=(6, 1.8), layout="constrained")
    bars = axes.barh(list(micros), list(micros.values()))
    axes.bar_label(bars, fmt=" %.0f µs")
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlabel("µs for one step")
    plt.show()


draw_times()

# %% [markdown]
# ## What to remember
#
# - `jit` runs a function as one program. Measure with a stopwatch that leaves out the
#   first call and waits for the result.
# - While it is traced, your code sees tracers: shapes and dtypes, no numbers. A new
#   shape, dtype or static value is traced anew; new numbers are not.
# - Be pure: what changes is an argument, what you need is returned. All else is frozen
#   or leaks.
# - Python cannot ask a tracer how many, which way or how often. Use `jnp.where` or
#   `size=`, `jax.lax.cond` or a static argument, `scan`, `fori_loop` and `while_loop`.

# %% [markdown]
# ## More
#
# The rest is for another day. Pick what you need: no section builds on another.
#
# ### How often was it traced?
#
# JAX keeps a compiled program for each *type* that a jitted function was called with:
# shape, dtype and weak type, and the keys of a dict or the length of a tuple. New
# numbers of a known type run the program that is already there. `watch_traces` counts
# from outside. But the function itself can tell, too.


# %% exercise
@exercise(
    title="Count the traces",
    points=2,
    minutes=3,
    reproduces=["S1-24"],
    hints=[
        "Your Python code runs only while JAX traces it. Which line in it would leave a mark each time?",
        "A side effect, such as appending to a list, happens once per trace. Make the jitted function before the loop, "
        "and only once. https://docs.jax.dev/en/latest/jit-compilation.html",
        "ran = []\n\n@jax.jit\ndef f(x):\n    ____\n    return x\n\nso_far = []\nfor x in arguments:\n    f(x)\n"
        "    so_far.append(____)\nreturn so_far",
        """# Like it: note the shapes for which a jitted function is traced.
noted = []

@jax.jit
def added_up(v):
    noted.append(v.shape)
    return v.sum()

for size in (2, 2, 5, 2):
    added_up(jnp.ones(size))
print(noted)  # [(2,), (5,)]""",
    ],
)
def traces_so_far(arguments):
    """Call a jitted function of your own with each argument in turn, and note how often it has been traced by then.

    Make a new jitted function in each call of `traces_so_far`.

    >>> traces_so_far([jnp.ones(3), jnp.zeros(3), jnp.ones(4)])
    [1, 1, 2]

    Args:
        arguments: a list of JAX arrays, NumPy arrays, Python numbers, and dicts or tuples of these.

    Returns:
        A list of ints, one for each argument: the number of traces when its call is done.
    """
    ...


# %% check
@visible(traces_so_far, idea="A new shape or a new dtype makes a trace; new numbers do not.", reproduces=["S1-24"])
def shapes_and_dtypes_are_traced_anew(answer):
    """For float32[3,4] twice, float32[2,4] and int32[3,4] the counts are 1, 1, 2 and 3, and there are 3 traces."""
    matrix = jnp.arange(12.0).reshape(3, 4)
    seen = answer.observe([matrix, matrix + 1, matrix[:2], matrix.astype(jnp.int32)])
    got = seen.value
    expect_that(isinstance(got, tuple | list) and len(got) == 4, "Return a list of four ints, one for each call.", got)
    counts = [number(one) for one in got]
    message = "The counts should be 1, 1, 2, 3; yours grow with each call."
    expect_that(counts != [1, 2, 3, 4], message, got, [1, 1, 2, 3])
    message = "The counts should be 1, 1, 2, 3: a new dtype is a new type, even if the shape is known."
    expect_that(counts != [1, 1, 2, 2], message, got, [1, 1, 2, 3], misconception="counts_the_shapes")
    message = "The counts should be 1, 1, 2, 3: float32[3,4], float32[2,4] and int32[3,4] make a trace each."
    expect_documented("S1-24", counts, message=message)
    message = "`jax.jit` should trace as often as the last count says: count the traces of a jitted function."
    expect_that(seen.traces == 3, message, f"{seen.traces} traces", "3 traces")


@visible(traces_so_far, idea="A Python number has a weak type, which is not the type of an array.")
def python_numbers_have_types_of_their_own(answer):
    """For float32 1 and 2, then the Python numbers 1.0, 2.0 and 1, the counts are 1, 1, 2, 2 and 3."""
    got = answer([jnp.float32(1), jnp.float32(2), 1.0, 2.0, 1])
    message = "The counts should be 1, 1, 2, 2, 3: 1.0 and 2.0 are weak float32, and 1 is weak int32."
    expect_that([number(one) for one in got] == [1, 1, 2, 2, 3], message, got, [1, 1, 2, 2, 3])


# %% documented S1-24
# This is still so. JAX runs the Python code for the first array, and again for a new
# shape and for a new dtype.
@jax.jit
def f(x):
    print("traced for", x.shape, x.dtype)
    return 2 * x


ones = jnp.ones((3, 4))
for x in (ones, ones + 1, ones[:2], ones.astype(jnp.int32)):
    f(x)

# documented
# A tracer stands for the shape and the dtype of an array, not for its values. JAX runs
# what it recorded for all inputs of that shape and dtype, without the Python code.

# today
# traced for (3, 4) float32
# traced for (2, 4) float32
# traced for (3, 4) int32


# %% [markdown]
# ### What JAX writes down
#
# While it traces, JAX writes a **jaxpr** (JAX expression): the operations on tracers,
# in order. Nothing else is in it: no `print`, no `if`, no Python loop, none of your
# names. `jax.make_jaxpr(f)(x)` traces `f` and returns its jaxpr, without running it.


# %%
def bell(x):
    """Compute exp(-x²)."""
    return jnp.exp(-(x**2))


print(jax.make_jaxpr(bell)(jnp.ones(3)))

# %% [markdown]
# A jaxpr is an object with a list of equations, `eqns`. The `primitive` of an equation
# is its operation, and has a `name`, such as `exp`.


# %%
def dot_of_sums(x, y):
    """Compute the dot product of x + 1 and y + 1."""
    return jnp.dot(x + 1, y + 1)


# %% exercise
@exercise(
    title="Read the record",
    points=1,
    minutes=3,
    reproduces=["S1-25"],
    hints=[
        "Which function gave the listing above? What did `print` make of its result?",
        "`jax.make_jaxpr(f)(*args)` traces f. `str` gives the text of what it returns, and each of its `eqns` has a "
        "`primitive` with a `name`. https://docs.jax.dev/en/latest/jaxpr.html",
        "jaxpr = jax.make_jaxpr(function)(____)\nreturn str(jaxpr), [____ for equation in jaxpr.eqns]",
        """# Like it: how many products a program has, and how many results.
def products_and_results(function, *args):
    jaxpr = jax.make_jaxpr(function)(*args)
    products = [e for e in jaxpr.eqns if e.primitive.name == "mul"]
    return len(products), len(jaxpr.out_avals)

print(products_and_results(lambda v: (v * v * v, v + 1), jnp.ones(3)))  # (2, 2)""",
    ],
)
def recorded_program(function, *args):
    """Trace a function, and return its jaxpr as text, together with the names of its operations.

    >>> text, names = recorded_program(dot_of_sums, jnp.ones((3, 4)), jnp.ones(4))
    >>> names
    ['add', 'add', 'dot_general']

    Args:
        function: a function of arrays.
        args: its arguments.

    Returns:
        A tuple `(text, names)`: the jaxpr as `str` writes it, and a list of the names of its operations in their order,
        one for each equation; what is inside an equation does not count.
    """
    ...


# %% check
@visible(recorded_program, idea="A jaxpr has inputs, operations and outputs, each with its type.", reproduces=["S1-25"])
def the_text_is_the_jaxpr(answer):
    """For `dot_of_sums` of float32[3,4] and float32[4], the text is that of its jaxpr."""
    text, _ = parts(answer(given(dot_of_sums.__name__), np.ones((3, 4)), np.ones(4)), 2)
    expect_that(isinstance(text, str), "The first value should be a str: write `str(jaxpr)`.", text)
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)  # the colours of a notebook
    message = "This should be the jaxpr of the plain function; yours calls a jitted one."
    jitted = "name=" in text or "jit[" in text
    expect_that(not jitted, message, text, misconception="lists_the_jitted_function")
    message = "This should be the text of the jaxpr of `dot_of_sums`."
    expect_documented("S1-25", text, message=message)


@visible(recorded_program, idea="Each equation of a jaxpr is one operation; its primitive has a name.")
def names_stand_in_their_order(answer):
    """The names are those of the operations, in the order in which they run."""
    _, names = parts(answer(given(bell.__name__), jnp.ones(3)), 2)
    wanted = [one.primitive.name for one in jax.make_jaxpr(bell)(jnp.ones(3)).eqns]
    expect_that(list(names) == wanted, "These should be the names of all operations, in their order.", names, wanted)


# %% documented S1-25
# The program is the same. Since JAX 0.6.1, the numbers in it show their types.
x = np.random.randn(3, 4)
y = np.random.randn(4)


def f(x, y):
    return jnp.dot(x + 1, y + 1)


jax.make_jaxpr(f)(x, y)

# documented
# { lambda ; a:f32[3,4] b:f32[4]. let
#     c:f32[3,4] = add a 1.0
#     d:f32[4] = add b 1.0
#     e:f32[3] = dot_general[
#       dimension_numbers=(([1], [0]), ([], []))
#       preferred_element_type=float32
#     ] c d
#   in (e,) }

# today
# { lambda ; a:f32[3,4] b:f32[4]. let
#     c:f32[3,4] = add a 1.0:f32[]
#     d:f32[4] = add b 1.0:f32[]
#     e:f32[3] = dot_general[
#       dimension_numbers=(([1], [0]), ([], []))
#       preferred_element_type=float32
#     ] c d
#   in (e,) }


# %% [markdown]
# ### Static and traced operations
#
# Not only values are static or traced: operations are, too. Python runs a static
# operation once, while JAX traces. A traced operation goes into the program, and runs
# in every call.
#
# The shape of a tracer is static: a tuple of ints. Whether what you compute from it
# stays static depends on the library that computes it.


# %% exercise
@exercise(
    title="Flatten, with two libraries",
    points=3,
    minutes=4,
    reproduces=["S1-29", "S1-30", "S1-31"],
    hints=[
        "Which of the two arguments can be a tracer? What must be done with the other one?",
        "Under `jit`, what NumPy computes from a shape is a number, and what `jnp` computes is a tracer. "
        "https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html#static-vs-traced-operations",
        '@partial(jax.jit, static_argnames="____")\ndef flatten_by(library, x):\n    print(f"x = {x}")\n'
        '    print(f"x.shape = {x.shape}")\n    if library == "np":\n        size = ____\n'
        '        print(f"np.prod(x.shape) = {size}")\n    else:\n        size = ____\n'
        '        print(f"jnp.array(x.shape).prod() = {size}")\n    return x.reshape(____)',
        """# Like it: pad a vector to an even length, and show what the function sees.
@partial(jax.jit, static_argnames="loud")
def to_even_length(v, loud):
    missing = len(v) % 2
    if loud:
        print(f"v = {v}")
        print(f"len(v) % 2 = {missing}")
    return jnp.pad(v, (0, missing))

print(to_even_length(jnp.ones(3), loud=True).tolist())  # [1.0, 1.0, 1.0, 0.0]""",
    ],
)
def flatten_by(library, x):
    """Flatten an array to a length that NumPy or JAX computes. Jit this function, and let it show what it sees.

    While JAX traces it, it prints three lines: `x = ...`, `x.shape = ...`, and the product of the shape, which is
    `np.prod(x.shape) = ...` for "np" and `jnp.array(x.shape).prod() = ...` for "jnp". Then it passes the product to
    `x.reshape`. With one of the libraries that fails; let it.

    >>> flatten_by("np", jnp.ones((2, 2)))
    x = JitTracer(float32[2,2])
    x.shape = (2, 2)
    np.prod(x.shape) = 4
    Array([1., 1., 1., 1.], dtype=float32)

    Args:
        library: "np" or "jnp".
        x: an array with one axis or more.

    Returns:
        The elements of x, row by row, in a vector.
    """
    ...


# %% check
@visible(flatten_by, idea="NumPy multiplies while JAX traces: the length is a plain number.", reproduces=["S1-31"])
def numpys_product_flattens(answer):
    """With NumPy, ones of shape (2, 3) become six ones, and the function is traced by `jax.jit`."""
    seen = answer.observe("np", jnp.ones((2, 3)))
    expect_shape(seen.value, (6,))
    expect_documented("S1-31", seen.value)
    message = "The function should be jitted; in yours nothing was traced by `jax.jit`."
    expect_that(seen.traces > 0, message, f"{seen.traces} traces", "1 trace")


@visible(
    flatten_by,
    stage="cost",
    idea="What is done outside of the jitted function runs one operation at a time, in every call.",
    required=True,
)
def the_flattening_is_jitted(answer, draw):
    """With NumPy, the reshaping is in the jitted function."""
    outside = answer.program("np", draw.floats(2, 3)).unjitted.keys() - {"convert_element_type", "copy"}
    message = "x should be reshaped in a jitted function; yours does it outside."
    expect_that(not outside, message, f"outside: {', '.join(outside)}", "nothing outside")


@visible(flatten_by, idea="`reshape` keeps the order of the elements, row by row.")
def the_elements_keep_their_order(answer, draw):
    """With NumPy, the elements of any array come row by row."""
    x = draw.floats(2, 3, 2)
    expect_close(answer("np", x), x.ravel())


@visible(
    flatten_by,
    stage="jit",
    idea="What `jnp` computes under `jit` is a tracer, and a shape must be known while JAX traces.",
    reproduces=["S1-29"],
    required=True,
)
def jaxs_product_is_no_shape(answer):
    """With JAX, `reshape` raises a TypeError: a shape must be made of concrete numbers."""
    seen = answer.observe_error("jnp", jnp.ones((2, 3)))
    message = 'With "jnp" the call should fail, because the product is a tracer; yours returned a value.'
    expect_that(seen.error is not None, message, seen.value, "TypeError")
    message = 'With "jnp" the call should fail in `x.reshape(product)`, with JAX\'s own error; yours failed otherwise.'
    expect_documented("S1-29", seen, message=message)
    expect_that("became a tracer" in seen.error.message, message, seen.error.message, "JAX's TypeError")


@visible(
    flatten_by,
    stage="traces",
    idea="x is traced, its shape is static, and what `jnp` makes of the shape is traced again.",
    reproduces=["S1-30"],
    required=True,
)
def three_lines_tell_what_is_traced(answer):
    """With JAX, for float32[2,3], the three lines show a tracer, the shape, and a tracer."""
    seen = answer.observe_error("jnp", jnp.ones((2, 3)))
    message = 'With "jnp" three lines should be printed, before the call fails: a tracer, the shape, and a tracer.'
    expect_documented("S1-30", seen.lines, message=message)


# %% documented S1-29
# It still fails. A tracer prints differently, and JAX blames another operation: since
# 0.6.1, making an array of plain numbers is not an operation any more.
@jax.jit
def f(x):
    return x.reshape(jnp.array(x.shape).prod())


x = jnp.ones((2, 3))
try:
    f(x)
except TypeError as error:
    print(f"TypeError: {error}")

# documented
# TypeError: Shapes must be 1D sequences of concrete values of integer type, got
# [Traced<ShapedArray(int32[])>with<DynamicJaxprTrace(level=1/0)>].
# If using `jit`, try using `static_argnums` or applying `jit` to smaller subfunctions.
# The error occurred while tracing the function f at
# /tmp/ipykernel_2935/1983583872.py:4 for jit. This value became a tracer due to JAX
# operations on these lines:
#
#   operation a:i32[2] = convert_element_type[new_dtype=int32 weak_type=False] b
#     from line /tmp/ipykernel_2935/1983583872.py:6 (f)

# today
# TypeError: Shapes must be 1D sequences of concrete values of integer type, got
# [JitTracer(int32[])].
# If using `jit`, try using `static_argnums` or applying `jit` to smaller subfunctions.
# The error occurred while tracing the function f at ... for jit. This value became a
# tracer due to JAX operations on these lines:
#
#   operation a:i32[] = reduce_prod[axes=(0,)] b
#     from line ... (f)


# %% documented S1-30
# The lines still show a tracer, a tuple and a tracer. Only the text of a tracer has
# changed, most recently in JAX 0.8.2.
@jax.jit
def f(x):
    print(f"x = {x}")
    print(f"x.shape = {x.shape}")
    print(f"jnp.array(x.shape).prod() = {jnp.array(x.shape).prod()}")


f(jnp.ones((2, 3)))

# documented
# x = Traced<ShapedArray(float32[2,3])>with<DynamicJaxprTrace(level=1/0)>
# x.shape = (2, 3)
# jnp.array(x.shape).prod() =
# Traced<ShapedArray(int32[])>with<DynamicJaxprTrace(level=1/0)>

# today
# x = JitTracer(float32[2,3])
# x.shape = (2, 3)
# jnp.array(x.shape).prod() = JitTracer(int32[])


# %% documented S1-31
# This works as it did: NumPy's product is a number, also while JAX traces.
@jax.jit
def f(x):
    return x.reshape((np.prod(x.shape),))


f(jnp.ones((2, 3)))

# documented
# Array([1., 1., 1., 1., 1., 1.], dtype=float32)


# %% [markdown]
# Here is where it fails with JAX. `show_lines` says of each line what is traced, and
# what is static.


# %%
def flatten_by_jax(x):
    """Flatten, with a length that is traced."""
    length = jnp.array(x.shape).prod()
    return x.reshape(length)


show_lines(flatten_by_jax, jnp.ones((2, 3)))

# %% [markdown]
# Hence the rule: **`np` for what should stay static, `jnp` for what should be traced.**
# NumPy cannot do more: it needs numbers, and a tracer has none.


# %%
def size_by_numpy(x):
    """Multiply the shape with NumPy."""
    return np.prod(x.shape)


def size_by_jax(x):
    """Multiply the shape with JAX."""
    return jnp.array(x.shape).prod()


def sine_by_numpy(x):
    """Take the sine with NumPy."""
    return np.sin(x)


def sine_by_jax(x):
    """Take the sine with JAX."""
    return jnp.sin(x)


def zeros_by_numpy(x):
    """Make zeros of the shape of x with NumPy."""
    return np.zeros(x.shape)


def zeros_by_jax(x):
    """Make zeros of the shape of x with JAX."""
    return jnp.zeros(x.shape)


def first_number(x):
    """Ask for the first number of x, as a Python float."""
    return float(x.ravel()[0])


# %% exercise
@exercise(
    title="Transfer: static, traced or refused?",
    points=3,
    minutes=5,
    reproduces=["S1-32"],
    hints=[
        "Where must you look at the result of the operation: outside of a jitted function, or inside?",
        "Inside `jax.jit` a traced value is a `jax.Array`, and a static one is not; exceptions can be caught. "
        "https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html#static-vs-traced-operations",
        "found = []\n\n@jax.jit\ndef look(x):\n    try:\n        value = operation(x)\n    except ____:\n"
        '        found.append("refused")\n    else:\n        found.append("traced" if ____ else "static")\n'
        "    return x\n\nlook(x)\nreturn found[0]",
        """# Like it: which values inside a jitted function are JAX arrays there?
noted = {}

@jax.jit
def probe(v):
    for name, value in {"v": v, "shape": v.shape, "twice": 2 * v}.items():
        noted[name] = isinstance(value, jax.Array)
    return v

probe(jnp.ones(3))
print(noted)  # {'v': True, 'shape': False, 'twice': True}""",
    ],
)
def static_or_traced(operation, x):
    """Find out how an operation behaves under `jax.jit`, where x is a tracer.

    >>> static_or_traced(size_by_numpy, jnp.ones((2, 3)))
    'static'

    Args:
        operation: a function of one array, such as `size_by_numpy`. It may also return x itself or a tuple of ints, and
            it may raise any exception.
        x: a JAX array or a NumPy array.

    Returns:
        "static" if the result is a plain Python or NumPy value, "traced" if it is a tracer, "refused" if the
        operation raises an exception.
    """
    ...


# %% check
def kinds_told(answer, *operations):
    """Return what the answer says of some operations on a small array."""
    return [answer(given(one.__name__), jnp.ones((2, 3))) for one in operations]


@visible(
    static_or_traced,
    idea="NumPy's operations are static, and refuse tracers; JAX's operations are traced.",
    reproduces=["S1-32"],
)
def four_operations_are_told_apart(answer):
    """The size is static by NumPy and traced by JAX; the sine is refused by NumPy and traced by JAX."""
    got = kinds_told(answer, size_by_numpy, size_by_jax, sine_by_numpy, sine_by_jax)
    message = "The size by NumPy is static, the size by JAX traced, the sine by NumPy refused, the sine by JAX traced."
    expect_documented("S1-32", got, message=message)


@visible(static_or_traced, idea="A NumPy array is static. Under `jit`, even zeros that JAX makes are traced.")
def arrays_are_told_apart(answer):
    """Zeros are static by NumPy and traced by JAX."""
    got = kinds_told(answer, zeros_by_numpy, zeros_by_jax)
    message = "The zeros by NumPy should be static, and those by JAX traced."
    expect_that(got == ["static", "traced"], message, got, ["static", "traced"])


@visible(static_or_traced, idea="`float` needs a number, and a tracer has none. The error has a class of its own.")
def every_refusal_counts(answer):
    """A Python float of a tracer is refused."""
    got = kinds_told(answer, first_number)
    expect_that(got == ["refused"], "`float` of a tracer raises an error, so it should be refused.", got, ["refused"])


# %% documented S1-32
# The rule still holds. In the program, NumPy's product is the number 6.0. JAX's product
# is an operation, `reduce_prod`, which runs in each call.
def f(x):
    static = np.prod(x.shape)
    traced = jnp.prod(jnp.array(x.shape))
    return x * static, x * traced


jax.make_jaxpr(f)(jnp.ones((2, 3)))

# documented
# Import both `numpy` as `np` and `jax.numpy` as `jnp`. Use `np` for operations that
# should be static, done once while compiling, and `jnp` for those that should be
# traced, compiled and done at run time.

# today
# { lambda a:i32[2]; b:f32[2,3]. let
#     c:i32[] = reduce_prod[axes=(0,)] a
#     d:f32[2,3] = mul b 6.0:f32[]
#     e:f32[] = convert_element_type[new_dtype=float32 weak_type=False] c
#     f:f32[2,3] = mul b e
#   in (d, f) }


# %% [markdown]
# ### A new function each time
#
# `jax.jit` keeps its programs with the *function*. A `lambda`, a `partial` or an inner
# `def` that is made in each call is a new function each time, and JAX traces it anew.

# %%
with watch_traces() as traces:
    for shift in (1.0, 2.0, 3.0):
        jax.jit(lambda v, shift=shift: v + shift)(jnp.ones(3))
traces


# %% exercise
@exercise(
    title="Make it fast: four calls, one trace",
    points=2,
    minutes=3,
    hints=[
        "Which object does `jax.jit` get in the second call: the same as in the first, or a new one?",
        "Jit once, outside of the calls, for example with `@jax.jit` above the `def`; pass the factor as an argument. "
        "https://docs.jax.dev/en/latest/jit-compilation.html#jit-and-caching",
        "____\ndef louder(x, factor):\n    return ____",
        """# Like it: distances from any centre, by a function that is jitted once.
distances = jax.jit(lambda points, centre: jnp.abs(points - centre).sum(1))

points = jnp.arange(6.0).reshape(3, 2)
with watch_traces() as counted:
    for centre in (points[0], points[2]):
        print(distances(points, centre).tolist())
print(counted.traces)  # 1""",
    ],
)
def louder(x, factor):
    """Compute factor * x + 1, all of it jitted. JAX traces this in each call: let all calls share one trace.

    >>> louder(jnp.array([1.0, 2.0]), 3.0)
    Array([4., 7.], dtype=float32)

    Args:
        x: float32[n].
        factor: a float.

    Returns:
        float32[n].
    """
    return jax.jit(lambda v: factor * v + 1)(x)


# %% check
@visible(louder, idea="The factor is an argument like any other.")
def each_call_has_its_own_factor(answer, draw):
    """Each call gives factor * x + 1, with its own factor."""
    for factor in (2.0, -0.5, 3.0):
        x = draw.floats(3)
        expect_close(answer(x, factor), factor * x + 1)


@visible(
    louder,
    stage="traces",
    idea="`jit` remembers by function: a lambda or partial made in each call is a new function each time.",
    required=True,
)
def four_calls_one_trace(answer, draw):
    """Four calls with four factors make one trace."""
    x = draw.floats(3)
    counts = [seen.traces for seen in answer.observe_calls([(x, factor) for factor in (2.0, 3.0, -1.0, 0.5)])]
    not_jitted = "The function should stay jitted; in yours nothing was traced by `jax.jit`."
    expect_that(sum(counts) > 0, not_jitted, counts, "one trace", misconception="without_jit")
    message = "Four calls with four factors should make one trace; yours are traced again."
    expect_that(sum(counts[1:]) == 0, message, f"traces: {counts}", "traces: [1, 0, 0, 0]")


# %% [markdown]
# ### Methods
#
# `@jax.jit` above a method jits a function whose first argument is `self`. JAX tries to
# trace it like any other argument, and fails: an object is not an array.


# %% exercise
class Simulation:
    """Ponds that lose half of their water in each step, and are fed."""

    def __init__(self, feed):
        self.feed = feed

    @jax.jit
    def step(self, u):
        """Return the water after one step."""
        return u / 2 + self.feed


@exercise(
    title="Repair: a jitted method",
    points=3,
    minutes=5,
    hints=[
        "Which two values does a step need? Which of them may change between calls?",
        "JAX reads a static `self` while it traces, and freezes its `feed`. What changes should be a traced argument. "
        "https://docs.jax.dev/en/latest/faq.html#how-to-use-jit-with-methods",
        "@jax.jit\ndef after_step(u, feed):\n    return ____\n\nclass Simulation:\n    ...\n\n"
        "    def step(self, u):\n        return after_step(u, ____)",
        """# Like it: an account whose rate may change; the interest is computed by a jitted function.
class Account:
    def __init__(self, rate):
        self.rate = rate

    def after_a_year(self, money):
        return Account._grown(money, self.rate)

    @staticmethod
    @jax.jit
    def _grown(money, rate):
        return money * (1 + rate)

account = Account(0.5)
print(account.after_a_year(10.0))  # 15.0
account.rate = 1.0
print(account.after_a_year(10.0))  # 20.0""",
    ],
)
def jit_method(feeds, u):
    """Run one step of a `Simulation` for each feed. Its method `step`, above, fails: mend it.

    It should stay a method that is called as it is below, and all that it computes should be jitted, with one trace for
    all feeds.

    >>> jit_method([1.0, 3.0], jnp.array([2.0, 4.0]))
    [Array([2., 3.], dtype=float32), Array([4. , 4.5], dtype=float32)]

    Args:
        feeds: a list of floats, the feed of each step.
        u: float32[n], the water in n ponds.

    Returns:
        A list of float32[n]: the water after each step.
    """
    simulation = Simulation(feed=0.0)
    waters = []
    for feed in feeds:
        simulation.feed = feed
        u = simulation.step(u)
        waters.append(u)
    return waters


# %% check
def waters_expected(feeds, u):
    """Return what `jit_method` should give."""
    waters = []
    for feed in feeds:
        u = u / 2 + jnp.float32(feed)
        waters.append(u)
    return waters


@visible(jit_method, idea="What jit reads from an object while tracing is frozen, unless it is an argument.")
def each_step_has_its_feed(answer, draw):
    """Each step adds the feed that is set at that time."""
    u, feeds = draw.floats(3), [0.5, 2.0, -1.0]
    waters = parts(answer(feeds, u), 3)
    frozen = waters_expected([feeds[0]] * 3, u)
    message = "Each step should add its own feed; yours added the first feed again."
    same = all(np.allclose(np.asarray(one), np.asarray(other)) for one, other in zip(waters, frozen, strict=True))
    expect_that(not same, message, waters, waters_expected(feeds, u))
    expect_close(waters, waters_expected(feeds, u))


@visible(jit_method, stage="traces", idea="A feed that is a traced argument needs no new program.", required=True)
def one_trace_for_all_feeds(answer, draw):
    """Three steps with three feeds make one trace."""
    seen = answer.observe([0.5, 2.0, -1.0], draw.floats(3))
    message = "The step should be jitted; in yours nothing was traced by `jax.jit`."
    expect_that(seen.traces > 0, message, f"{seen.traces} traces", "1 trace", misconception="drops_jit")
    message = "Three feeds should share one trace; yours are traced again."
    expect_that(seen.traces == 1, message, f"{seen.traces} traces", "1 trace")


# %% [markdown]
# ### What a static argument costs
#
# Each new static value is traced **and compiled**. So make an argument static only if
# it decides about a shape, or about an `if` or a loop of Python's. A static value must
# be hashable: a tuple, not a list.

# %%
power = jax.jit(lambda x, n: x**n, static_argnums=(1,))
with watch_traces() as traces:
    for n in (2, 3, 2):
        power(1.5, n)
traces


# %% exercise
@exercise(
    title="Make it jit-safe: which one is static?",
    points=3,
    minutes=4,
    hints=[
        "Which of `width` and `scale` decides about a shape? What happens for a new `scale` if it is static?",
        "`@partial(jax.jit, static_argnames=...)` above a `def` jits it with static arguments. "
        "https://docs.jax.dev/en/latest/jit-compilation.html#marking-arguments-as-static",
        '@partial(jax.jit, static_argnames="____")\ndef moving_sum(x, width, scale):\n'
        "    window = jnp.ones(width)\n    return scale * ____",
        """# Like it: some points from 0 on. `count` makes the shape, `step` does not.
@partial(jax.jit, static_argnums=0)
def points_apart(count, step):
    return jnp.arange(count) * step

with watch_traces() as counted:
    print(points_apart(3, 0.5).tolist())  # [0.0, 0.5, 1.0]
    print(points_apart(3, 2.0).tolist())  # [0.0, 2.0, 4.0]
print(counted.traces)  # 1""",
    ],
)
def moving_sum(x, width, scale):
    """Add up `width` neighbours at each place, times a scale. Jit this function, all of it: one program for each width.

    >>> moving_sum(jnp.arange(5.0), 3, 2.0)
    Array([ 6., 12., 18.], dtype=float32)

    Args:
        x: float32[n].
        width: int, from 1 to n.
        scale: a float, which may be another one in each call.

    Returns:
        float32[n-width+1]: number i is the scale times the sum of `x[i : i + width]`.
    """
    window = jnp.ones(width)
    return scale * jnp.convolve(x, window, mode="valid")


# %% check
@visible(moving_sum, stage="shape", idea="`width` decides about the shape of an array, so it must be static.")
def one_sum_for_each_place(answer, draw):
    """There are n - width + 1 sums."""
    for n, width in ((6, 2), (6, 3)):
        expect_shape(answer(draw.floats(n), width, 1.5), (n - width + 1,))


@visible(moving_sum, idea="Each call computes with its own width and scale.")
def neighbours_are_added_and_scaled(answer, draw):
    """Each number is the scale times the sum of its neighbours."""
    for width, scale in ((2, 1.5), (3, -2.0), (3, 0.5)):
        x = draw.floats(6)
        wanted = scale * np.convolve(np.asarray(x, np.float64), np.ones(width), "valid")
        expect_close(answer(x, width, scale), jnp.asarray(wanted, dtype=jnp.float32), rtol=1e-4, atol=1e-5)


@visible(
    moving_sum,
    stage="traces",
    idea="Static is what decides about shapes. A number that only takes part in the sums should be traced.",
    required=True,
)
def one_trace_for_each_width(answer, draw):
    """A new width makes a trace; a new scale makes none."""
    x = draw.floats(6)
    calls = [(x, 2, 1.5), (x, 2, 2.5), (x, 3, 3.5), (x, 3, 4.5), (x, 2, 5.5)]
    counts = [seen.traces for seen in answer.observe_calls(calls)]
    found, wanted = f"traces: {counts}", "traces: [1, 0, 1, 0, 0]"
    message = "The function should be jitted; in yours the first call was not traced by `jax.jit`."
    expect_that(counts[0] > 0, message, found, wanted)
    message = "A new scale should make no trace; yours does."
    expect_that(counts[1] == counts[3] == 0, message, found, wanted)
    message = "A width that was there before should make no trace; yours does."
    expect_that(counts[4] == 0, message, found, wanted)


@visible(
    moving_sum,
    stage="cost",
    idea="What stays outside of `jit` runs one operation at a time, in every call.",
    required=True,
)
def the_moving_sum_is_one_program(answer, draw):
    """The sums and the product are both in the jitted program."""
    expect_nothing_outside(answer, draw.floats(6), 2, 1.5)


# %% [markdown]
# ## What to read next
#
# - [Just-in-time compilation](https://docs.jax.dev/en/latest/jit-compilation.html):
#   when not to jit, and caching
# - [JAX errors](https://docs.jax.dev/en/latest/errors.html): each error with its causes
#   and repairs
# - [Control flow](https://docs.jax.dev/en/latest/control-flow.html): `cond`, `scan`,
#   `while_loop`
# - [How to think in
#   JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html), the page behind
#   the documented examples
