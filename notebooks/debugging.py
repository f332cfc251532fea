# %% [markdown]
# # Debugging: look into a running program
#
# **Core:** 8 exercises, about 55 minutes. **Beyond the core:** 8 exercises.
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
# This installs jaxguide where it is missing, as in Colab. It does nothing elsewhere.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("jaxguide") is None:
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "jaxguide"], check=True
    )
    importlib.invalidate_caches()

# %%
from jaxguide.lesson import check, hint, progress, solution, start

start("debugging")

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

# %% [markdown]
# ### Exercise: Shape and value (2 points)
#
# Print a line about the shape and dtype of x when it is traced, and one about its value
# at each run. Return x.
#
# ```python
# >>> compiled = jax.jit(shape_and_value)
# >>> compiled(jnp.arange(3.0))
# shape (3,) dtype float32
# value [0. 1. 2.]
# Array([0., 1., 2.], dtype=float32)
# >>> compiled(jnp.ones(3))
# value [1. 1. 1.]
# Array([1., 1., 1.], dtype=float32)
# ```
#
# **Args:**
#
# - `x`: an array, traced under `jax.jit`.
#
# **Returns:** x.

# %%
def shape_and_value(x):
    """Print a line about the shape and dtype of x when it is traced, and one about its
    value at each run.
    """
    ...


check(shape_and_value)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(shape_and_value)
# solution(shape_and_value)

# %% [markdown]
# <details>
# <summary>The document's example, today: Introduction to debugging (S0-01,
# S0-03)</summary>
#
# Documented and today's output agree; the page says both in words. The second call
# prints one line, since Python does not run.
#
# > ```python
# > @jax.jit
# > def g(x):
# >     print(f"shape {x.shape} dtype {x.dtype}")
# >     jax.debug.print("value {}", x)
# >     return x
# >
# >
# > for x in (jnp.arange(3.0), jnp.ones(3)):
# >     g(x).block_until_ready()
# > ```
#
# [Introduction to debugging](https://docs.jax.dev/en/latest/debugging.html)
# says:
#
# > For values under `jax.jit` and `jax.vmap` use `jax.debug.print()`; for static values,
# > such as dtypes and shapes, Python's `print()`. Python's `print` runs while JAX traces,
# > before there are any values.
#
# Today:
#
# > ```text
# > shape (3,) dtype float32
# > value [0. 1. 2.]
# > value [1. 1. 1.]
# > ```
#
# </details>

# %% [markdown]
# ### Predict: how often does Python print? (1 point)
#
# `half` is jitted and prints with Python's `print`. How many lines do these calls print
# in all?
#
# A fresh `half` gets 2.0, then 3.0, `jnp.arange(2.0)`, `jnp.arange(2.0) * 5`, and
# `jnp.arange(3.0)`.
#
# **Returns:** An int.

# %%
def predict_lines_of_half():
    """`half` is jitted and prints with Python's `print`."""
    ...


check(predict_lines_of_half)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_lines_of_half)
# solution(predict_lines_of_half)

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

# %% [markdown]
# ### Exercise: See the sine, in two ways (3 points)
#
# Compute y, the sine of x, and print first x and then y, each in two ways.
#
# Python's `print` writes `print(x) -> ` and what it sees of x. `jax.debug.print` writes
# `jax.debug.print(x) -> ` and the value of x. Likewise for y. What tracers look like is
# not up to you, so the example leaves it out.
#
# ```python
# >>> jax.jit(see_sine)(2.0)
# print(x) -> ...
# print(y) -> ...
# jax.debug.print(x) -> 2.0
# jax.debug.print(y) -> 0.90929...
# Array(0.9092..., dtype=float32, weak_type=True)
# ```
#
# **Args:**
#
# - `x`: float32[], traced under `jax.jit` or `jax.vmap`.
#
# **Returns:** float32[]: y.

# %%
def see_sine(x):
    """Compute y, the sine of x, and print first x and then y, each in two ways."""
    ...


check(see_sine)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(see_sine)
# solution(see_sine)

# %% [markdown]
# <details>
# <summary>The document's example, today: Introduction to debugging (S0-02, S0-04,
# S0-05)</summary>
#
# A tracer prints differently today. What counts has stayed: it shows a dtype and a
# shape, and no number. (The text changed in 0.4.36, 0.6.1, 0.7.0 and 0.8.2.) That vmap
# shows Python a tracer, too, the page says in words.
#
# > ```python
# > y = jax.jit(lambda x: see_sine(x))(2.0).block_until_ready()
# > ys = jax.vmap(lambda x: (print("under vmap:", x), x)[1])(jnp.arange(3.0))
# > ```
#
# [Introduction to debugging](https://docs.jax.dev/en/latest/debugging.html)
# shows:
#
# > ```text
# > print(x) -> Traced<ShapedArray(float32[], weak_type=True)>with<DynamicJaxprTrace(level=1/0)>
# > print(y) -> Traced<ShapedArray(float32[], weak_type=True)>with<DynamicJaxprTrace(level=1/0)>
# > jax.debug.print(x) -> 2.0
# > jax.debug.print(y) -> 0.9092974066734314
# > Inside `jax.vmap`, Python's `print` only shows the tracer, too.
# > ```
#
# Today:
#
# > ```text
# > print(x) -> JitTracer(~float32[])
# > print(y) -> JitTracer(~float32[])
# > jax.debug.print(x) -> 2.0
# > jax.debug.print(y) -> 0.9092974066734314
# > under vmap: VmapTracer(aval=float32[], batched=float32[3])
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: At once, or one by one (4 points)
#
# Compute y, the sine, for each number x, and print x and then y, each by a
# `jax.debug.print` of its own.
#
# The lines are `jax.debug.print(x) -> ` and x, then `jax.debug.print(y) -> ` and y.
#
# ```python
# >>> printed_sines("map", jnp.zeros(2), True)
# jax.debug.print(x) -> 0.0
# jax.debug.print(y) -> 0.0
# jax.debug.print(x) -> 0.0
# jax.debug.print(y) -> 0.0
# Array([0., 0.], dtype=float32)
# ```
#
# **Args:**
#
# - `how`: "vmap" for all numbers at once, by `jax.vmap`; "map" for one after the other,
#   by `jax.lax.map`.
# - `xs`: float32[n].
# - `ordered`: bool: whether the program promises the order of the prints. If not, the
#   order is left to the compiler.
#
# **Returns:** float32[n]: the sines.

# %%
def printed_sines(how, xs, ordered):
    """Compute y, the sine, for each number x, and print x and then y, each by a
    `jax.debug.print` of its own.
    """
    ...


check(printed_sines)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(printed_sines)
# solution(printed_sines)

# %% [markdown]
# <details>
# <summary>The document's example, today: Introduction to debugging (S0-06, S0-07,
# S0-08, S0-11)</summary>
#
# On CPU, y is printed before x in each step of `jax.lax.map` since JAX 0.5.3. The
# documented order comes with `ordered=True`, or with the XLA flag
# `--xla_cpu_enable_concurrency_optimized_scheduler=false`. So what the page says in
# words, that prints may come in another order, happens to its own example today.
#
# > ```python
# > def f(x):
# >     jax.debug.print("jax.debug.print(x) -> {}", x)
# >     y = jnp.sin(x)
# >     jax.debug.print("jax.debug.print(y) -> {}", y)
# >     return y
# >
# >
# > xs = jnp.arange(3.0)
# > mapped = jax.vmap(f)(xs)
# > jax.effects_barrier()
# > looped = jax.lax.map(f, xs)
# > jax.effects_barrier()
# > print(np.allclose(mapped, looped))
# > ```
#
# [Introduction to debugging](https://docs.jax.dev/en/latest/debugging.html)
# shows:
#
# > ```text
# > jax.debug.print(x) -> 0.0
# > jax.debug.print(x) -> 1.0
# > jax.debug.print(x) -> 2.0
# > jax.debug.print(y) -> 0.0
# > jax.debug.print(y) -> 0.8414709568023682
# > jax.debug.print(y) -> 0.9092974066734314
# > jax.debug.print(x) -> 0.0
# > jax.debug.print(y) -> 0.0
# > jax.debug.print(x) -> 1.0
# > jax.debug.print(y) -> 0.8414709568023682
# > jax.debug.print(x) -> 2.0
# > jax.debug.print(y) -> 0.9092974066734314
# > `vmap` and `lax.map` compute the same results in different ways. Prints that do not
# > depend on each other may come in another order.
# > ```
#
# Today:
#
# > ```text
# > jax.debug.print(x) -> 0.0
# > jax.debug.print(x) -> 1.0
# > jax.debug.print(x) -> 2.0
# > jax.debug.print(y) -> 0.0
# > jax.debug.print(y) -> 0.8414709568023682
# > jax.debug.print(y) -> 0.9092974066734314
# > jax.debug.print(y) -> 0.0
# > jax.debug.print(x) -> 0.0
# > jax.debug.print(y) -> 0.8414709568023682
# > jax.debug.print(x) -> 1.0
# > jax.debug.print(y) -> 0.9092974066734314
# > jax.debug.print(x) -> 2.0
# > True
# > ```
#
# </details>

# %% [markdown]
# ### Repair: x, then y (1 point)
#
# Add two numbers in a jitted function that prints x and then y. The order is left to
# the compiler: repair that.
#
# Two prints stay two prints.
#
# ```python
# >>> sum_in_order(1, 2)
# jax.debug.print(x) -> 1
# jax.debug.print(y) -> 2
# Array(3, dtype=int32, weak_type=True)
# ```
#
# **Args:**
#
# - `x`, `y`: numbers, or arrays of one shape.
#
# **Returns:** The sum, an array.

# %%
def sum_in_order(x, y):
    """Add two numbers in a jitted function that prints x and then y."""

    @jax.jit
    def add(x, y):
        jax.debug.print("jax.debug.print(x) -> {}", x)
        jax.debug.print("jax.debug.print(y) -> {}", y)
        return x + y

    return add(x, y)


check(sum_in_order)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(sum_in_order)
# solution(sum_in_order)

# %% [markdown]
# <details>
# <summary>The document's example, today: Introduction to debugging (S0-12)</summary>
#
# Documented and today's output agree.
#
# > ```python
# > @jax.jit
# > def f(x, y):
# >     jax.debug.print("jax.debug.print(x) -> {}", x, ordered=True)
# >     jax.debug.print("jax.debug.print(y) -> {}", y, ordered=True)
# >     return x + y
# >
# >
# > f(1, 2)
# > ```
#
# [Introduction to debugging](https://docs.jax.dev/en/latest/debugging.html)
# shows:
#
# > ```text
# > jax.debug.print(x) -> 1
# > jax.debug.print(y) -> 2
# > Array(3, dtype=int32, weak_type=True)
# > ```
#
# Today's JAX prints the same.
#
# </details>

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

# %% [markdown]
# ### Exercise: Log on the host (2 points)
#
# Log `Logged value: ` and the value of x at each run, and return x.
#
# A negative value is logged by `log.error`, any other by `log.warning`; NaN and -0.0
# are not negative.
#
# ```python
# >>> jax.jit(log_by_sign)(-1.0)
# ERROR:root:Logged value: -1.0
# Array(-1., dtype=float32, weak_type=True)
# ```
#
# **Args:**
#
# - `x`: float32[]; under `jax.jit`, `jax.vmap` and `jax.grad`, too.
#
# **Returns:** x.

# %%
def log_by_sign(x):
    """Log `Logged value: ` and the value of x at each run, and return x."""
    ...


check(log_by_sign)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(log_by_sign)
# solution(log_by_sign)

# %% [markdown]
# <details>
# <summary>The document's example, today: Introduction to debugging (S0-20, S0-21,
# S0-22)</summary>
#
# Documented and today's output agree. (The page calls `logging.warning`, which writes
# to the terminal's error output; `log` writes the same lines where you see them.)
#
# > ```python
# > def log_value(x):
# >     log.warning(f"Logged value: {x}")
# >
# >
# > @jax.jit
# > def f(x):
# >     jax.debug.callback(log_value, x)
# >     return x
# >
# >
# > f(1.0).block_until_ready()
# > jax.effects_barrier()
# > ys = jax.vmap(f)(jnp.arange(5.0))
# > jax.effects_barrier()
# > slope = jax.grad(f)(1.0)
# > ```
#
# [Introduction to debugging](https://docs.jax.dev/en/latest/debugging.html)
# shows:
#
# > ```text
# > WARNING:root:Logged value: 1.0
# > WARNING:root:Logged value: 0.0
# > WARNING:root:Logged value: 1.0
# > WARNING:root:Logged value: 2.0
# > WARNING:root:Logged value: 3.0
# > WARNING:root:Logged value: 4.0
# > WARNING:root:Logged value: 1.0
# > ```
#
# Today's JAX prints the same.
#
# </details>

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

# %% [markdown]
# ### Exercise: Stop where it is not finite (3 points)
#
# Divide x by y in a jitted function, which stops in the debugger if the quotient is NaN
# or infinite.
#
# It stops once, and for a finite quotient not at all. There is one breakpoint in the
# program, behind a `jax.lax.cond`.
#
# ```python
# >>> with scripted_breakpoints(["c"]) as transcript:
# ...     quotients = watched_quotient(2.0, 1.0), watched_quotient(2.0, 0.0)
# >>> quotients[0], transcript.stops
# (Array(2., dtype=float32, weak_type=True), 1)
# ```
#
# **Args:**
#
# - `x`, `y`: float.
#
# **Returns:** float32[]: the quotient.

# %%
def watched_quotient(x, y):
    """Divide x by y in a jitted function, which stops in the debugger if the quotient
    is NaN or infinite.
    """
    ...


check(watched_quotient)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(watched_quotient)
# solution(watched_quotient)

# %% [markdown]
# <details>
# <summary>The document's example, today: Introduction to debugging (S0-16,
# S0-17)</summary>
#
# Documented and today's output agree; where the page says that it pauses, the debugger
# is told to print `z`, two functions up.
#
# > ```python
# > def breakpoint_if_nonfinite(x):
# >     is_finite = jnp.isfinite(x).all()
# >
# >     def true_fn(x):
# >         pass
# >
# >     def false_fn(x):
# >         jax.debug.breakpoint()
# >
# >     jax.lax.cond(is_finite, true_fn, false_fn, x)
# >
# >
# > @jax.jit
# > def f(x, y):
# >     z = x / y
# >     breakpoint_if_nonfinite(z)
# >     return z
# >
# >
# > with scripted_breakpoints(["u", "u", "p z", "c"]) as transcript:
# >     print(repr(f(2.0, 1.0)), "after", transcript.stops, "stops")
# >     print(repr(f(2.0, 0.0)), "after", transcript.stops, "stop")
# > print(transcript.answers[2])
# > ```
#
# [Introduction to debugging](https://docs.jax.dev/en/latest/debugging.html)
# shows:
#
# > ```text
# > f(2., 1.) # ==> No breakpoint
# > Array(2., dtype=float32, weak_type=True)
# > f(2., 0.) # ==> Pauses during execution
# > ```
#
# Today:
#
# > ```text
# > Array(2., dtype=float32, weak_type=True) after 0 stops
# > Array(inf, dtype=float32, weak_type=True) after 1 stop
# > Array(inf, dtype=float32)
# > ```
#
# </details>

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

# %% [markdown]
# ### Repair: the run that died (4 points)
#
# Find the line that kills the run, and compute the same loss in another way.
#
# The losses of steps 0 to 36 stay as they are, up to rounding. Each point costs, and
# pulls, what it should: with the label 0 and the score 200, it costs 200, and the slope
# of its loss with respect to the score is 1.
#
# ```python
# >>> _, losses, _ = mended_run(untrained, table, labels, 200)
# >>> print(f"{losses[36]:.3f}, then {losses[199]:.3f}")
# 0.177, then 0.067
# ```
#
# **Args:**
#
# - `params`: a dict of "w" float32[d] and "b" float32[].
# - `table`: float32[n,d].
# - `labels`: int32[n], each of them 0 or 1.
# - `steps`: int.
#
# **Returns:** A tuple `(params, losses, rights)`, as `fit` returns it: the parameters
# after the last step; and twice float32[steps], the loss and the share of right guesses
# before each step.

# %%
def mended_run(params, table, labels, steps):
    """Find the line that kills the run, and compute the same loss in another way."""

    def loss(params, table, labels):
        score = table @ params["w"] + params["b"]
        chance = 1 / (1 + jnp.exp(-score))
        value = -jnp.mean(labels * jnp.log(chance) + (1 - labels) * jnp.log(1 - chance))
        return value, jnp.mean((score > 0) == labels)

    return fit(loss, params, table, labels, steps)


check(mended_run)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(mended_run)
# solution(mended_run)

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

# %% [markdown]
# ### Exercise: Print under grad (2 points, beyond the core)
#
# Print x in two ways, first `print(x) -> ` by Python's print, then
# `jax.debug.print(x) -> `; return x squared.
#
# Leave `jit` and `grad` to those who call it.
#
# ```python
# >>> jax.grad(watched_square)(3.0)
# print(x) -> ...
# jax.debug.print(x) -> 3.0
# Array(6., dtype=float32, weak_type=True)
# ```
#
# **Args:**
#
# - `x`: float, or float32[].
#
# **Returns:** x squared: float32[]; if x is a float, a float will do.

# %%
def watched_square(x):
    """Print x in two ways, first `print(x) -> ` by Python's print, then
    `jax.debug.print(x) -> `; return x squared.
    """
    ...


check(watched_square)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(watched_square)
# solution(watched_square)

# %% [markdown]
# <details>
# <summary>The document's example, today: Introduction to debugging (S0-09,
# S0-10)</summary>
#
# Documented and today's output agree. With `jit` in addition, `jax.debug.print` shows
# the same, while Python's `print` loses the number. (Since JAX 0.8.2 its text for plain
# `grad` is a `GradTracer`, with the number in it.)
#
# > ```python
# > def f(x):
# >     print("print(x) ->", x)
# >     jax.debug.print("jax.debug.print(x) -> {}", x)
# >     return x**2
# >
# >
# > for slope_of in (jax.grad(f), jax.grad(jax.jit(f)), jax.jit(jax.grad(f))):
# >     slope_of(1.0).block_until_ready()
# >     jax.effects_barrier()
# > ```
#
# [Introduction to debugging](https://docs.jax.dev/en/latest/debugging.html)
# shows:
#
# > ```text
# > jax.debug.print(x) -> 1.0
# > Under `grad`, `jax.debug.print()` only prints on the forward pass. It behaves like
# > Python's `print()`, but stays the same if `jax.jit` is applied during the call.
# > ```
#
# Today:
#
# > ```text
# > print(x) -> GradTracer(primal=1.0, typeof(tangent)=f32[])
# > jax.debug.print(x) -> 1.0
# > print(x) -> JitTracer(~float32[])
# > jax.debug.print(x) -> 1.0
# > print(x) -> GradTracer(primal=JitTracer(~float32[]), typeof(tangent)=f32[])
# > jax.debug.print(x) -> 1.0
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: Collect values (3 points, beyond the core)
#
# Run program(look, x) with a function `look` of yours, and return the values that it
# looks at.
#
# ```python
# >>> values_seen(in_while, 3.0)
# [3.0, 2.0, 1.0]
# ```
#
# **Args:**
#
# - `program`: a function such as those above. It calls `look(value)` with tracers, does
#   not use what that returns, and may use any of JAX's transformations and loops.
# - `x`: float.
#
# **Returns:** A list of Python floats, and no arrays: of a loop in the order of its
# steps; of one step, and of the rows of a `jax.vmap`, in any order.

# %%
def values_seen(program, x):
    """Run program(look, x) with a function `look` of yours, and return the values that
    it looks at.
    """
    ...


check(values_seen)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(values_seen)
# solution(values_seen)

# %% [markdown]
# <details>
# <summary>The document's example, today: Introduction to debugging (S0-19)</summary>
#
# That is still so. The page refers to a table of callbacks on the page *External
# callbacks*, which the lesson `callbacks` is about.
#
# > ```python
# > for name, program_of in {"jit": in_jit, "vmap": in_vmap, "grad": in_grad, "scan": in_scan, "while": in_while}.items():
# >     print(name, end=":")
# >     program_of(lambda x: jax.debug.callback(lambda value: print(f" {value}", end=""), x, ordered=True), 3.0)
# >     jax.effects_barrier()
# >     print()
# > ```
#
# [Introduction to debugging](https://docs.jax.dev/en/latest/debugging.html)
# says:
#
# > `jax.debug.callback()` is compatible with `jax.jit()`, `jax.vmap()`, `jax.grad()` and
# > other transformations.
#
# Today:
#
# > ```text
# > jit: 3.0
# > vmap: 3.0 2.0 1.0
# > grad: 3.0
# > scan: 3.0 2.0 1.0
# > while: 3.0 2.0 1.0
# > ```
#
# </details>

# %% [markdown]
# ### Ask the debugger
#
# The debugger has more commands than `p` and `c`: `pp` prints nicely, `w` shows where
# you are, `u` and `d` go up and down the call stack. `help` lists them all, and `help
# u` explains one. (Commands such as `q` end the whole program; `scripted_breakpoints`
# refuses them.)

# %% [markdown]
# ### Exercise: Stop and ask (2 points, beyond the core)
#
# Multiply y, the sine of x, by z, its cosine, in a jitted function that stops before it
# multiplies; ask it there.
#
# At the stop, x, y and z can be asked for by these names. Do not wait for the product:
# all of it can be traced, too.
#
# ```python
# >>> product, answers = stop_and_ask(2.0, ["p x", "p x + 1", "c"])
# >>> product
# Array(-0.378401..., dtype=float32, weak_type=True)
# >>> answers
# ['Array(2., dtype=float32)', 'Array(3., dtype=float32)', '']
# ```
#
# **Args:**
#
# - `x`: float.
# - `commands`: a list of str: what to type at the stop; the last is "c".
#
# **Returns:** A tuple `(product, answers)`: float32[], y times z; and a list of str,
# what the debugger printed after each command, without blanks at the ends.

# %%
def stop_and_ask(x, commands):
    """Multiply y, the sine of x, by z, its cosine, in a jitted function that stops
    before it multiplies; ask it there.
    """
    ...


check(stop_and_ask)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(stop_and_ask)
# solution(stop_and_ask)

# %% [markdown]
# <details>
# <summary>The document's example, today: Introduction to debugging (S0-13,
# S0-14)</summary>
#
# The page shows a picture of the dialogue, which is lost. This is what it looks like
# today, with commands as the page explains them.
#
# > ```python
# > @jax.jit
# > def f(x):
# >     y, z = jnp.sin(x), jnp.cos(x)
# >     jax.debug.breakpoint()
# >     return y * z
# >
# >
# > with scripted_breakpoints(["p x", "p y", "p z", "pp y * z", "help", "help p", "c"]) as transcript:
# >     f(2.0)
# > print(transcript)
# > ```
#
# [Introduction to debugging](https://docs.jax.dev/en/latest/debugging.html)
# shows:
#
# > ```text
# > f(2.) # ==> Pauses during execution
# > Use the `help` command to print all available commands.
# > ```
#
# Today:
#
# > ```text
# > Entering jdb:
# > (jdb) p x
# > Array(2., dtype=float32)
# > (jdb) p y
# > Array(0.9092974, dtype=float32)
# > (jdb) p z
# > Array(-0.41614684, dtype=float32)
# > (jdb) pp y * z
# > Array(-0.37840125, dtype=float32)
# > (jdb) help
# >
# > Documented commands (type help <topic>):
# > ========================================
# > EOF  c     continue  down  help  list  pp  quit  up  where
# > bt   cont  d         exit  l     p     q   u     w
# >
# > (jdb) help p
# > p expression
# >     Evaluates and prints the value of an expression
# >
# > (jdb) c
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: Find the cause (3 points, beyond the core)
#
# Run program(x), which may stop at one breakpoint, and look up names there, in all
# functions of the call stack.
#
# If several functions have a name, the one nearest to the stop counts. No name is more
# than 3 levels up.
#
# ```python
# >>> values_at_stop(times_ten, 2.0, ["k", "w", "nothing"])
# {'k': 'Array(21., dtype=float32)', 'w': 'Array(20., dtype=float32)'}
# ```
#
# **Args:**
#
# - `program`: a function of x, such as `times_ten` or `watched_standardised`.
# - `x`: its argument.
# - `names`: a list of str.
#
# **Returns:** A dict from each name that was found to the debugger's answer, in any
# order; empty if it did not stop.

# %%
def values_at_stop(program, x, names):
    """Run program(x), which may stop at one breakpoint, and look up names there, in all
    functions of the call stack.
    """
    ...


check(values_at_stop)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(values_at_stop)
# solution(values_at_stop)

# %% [markdown]
# <details>
# <summary>The document's example, today: Introduction to debugging (S0-15)</summary>
#
# That is still so; here `k` is asked for where it stops, and `w` one function up.
#
# > ```python
# > with scripted_breakpoints(["p k", "u", "p w", "c"]) as transcript:
# >     times_ten(2.0)
# > print(transcript)
# > ```
#
# [Introduction to debugging](https://docs.jax.dev/en/latest/debugging.html)
# says:
#
# > The prompt is like that of Python's `pdb`, and lets you inspect the values in the call
# > stack. `jax.debug.breakpoint()` is an application of `jax.debug.callback()` that
# > captures information about the call stack.
#
# Today:
#
# > ```text
# > Entering jdb:
# > (jdb) p k
# > Array(21., dtype=float32)
# > (jdb) u
# > ...
# > (jdb) p w
# > Array(20., dtype=float32)
# > (jdb) c
# > ```
#
# </details>

# %% [markdown]
# ### A print of your own, which can be off
#
# A print is in the program, and costs time at each run. When you do not need it, it
# should not be there at all. A Python `if` on a **static** flag does that: it decides
# while JAX traces, and what it leaves out is not written down. `program` counts what
# is in there:

# %%
print(program(third, 9.0).primitives)

# %% [markdown]
# ### Exercise: Build a print (3 points, beyond the core)
#
# Make a function that returns its argument, and prints its value when the program runs,
# if it is on.
#
# Do not call `jax.debug.print`: build it from `jax.debug.callback`. If it is off, it
# leaves nothing in the program.
#
# ```python
# >>> show = own_debug_print("x is {}", True)
# >>> jax.jit(show)(2.0)
# x is 2.0
# Array(2., dtype=float32, weak_type=True)
# ```
#
# **Args:**
#
# - `form`: str, with one pair of braces for the value, as in `str.format`.
# - `on`: bool.
#
# **Returns:** A function of one array; `jax.jit`, `jax.vmap` and `jax.grad` may be
# around it.

# %%
def own_debug_print(form, on):
    """Make a function that returns its argument, and prints its value when the program
    runs, if it is on.
    """
    ...


check(own_debug_print)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(own_debug_print)
# solution(own_debug_print)

# %% [markdown]
# <details>
# <summary>The document's example, today: Introduction to debugging (S0-18)</summary>
#
# Since JAX 0.7.2, `jax.debug.print` has an operation of its own. The breakpoint is
# still made with the callback.
#
# > ```python
# > def uses_print(x):
# >     jax.debug.print("{}", x)
# >
# >
# > def uses_breakpoint(x):
# >     jax.debug.breakpoint()
# >
# >
# > for function in (uses_print, uses_breakpoint, own_debug_print("{}", True)):
# >     print(program(function, 1.0).primitives)
# > ```
#
# [Introduction to debugging](https://docs.jax.dev/en/latest/debugging.html)
# says:
#
# > Both `jax.debug.print()` and `jax.debug.breakpoint()` are implemented using the more
# > flexible `jax.debug.callback()`.
#
# Today:
#
# > ```text
# > {'debug_print': 1}
# > {'debug_callback': 1}
# > {'debug_callback': 1}
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: An index out of bounds (3 points, beyond the core)
#
# Take table[i] in a function under jit, which checks at run time that i is less than
# the length of the table.
#
# ```python
# >>> checked_pick(jnp.array([10.0, 11.0]), jnp.int32(1))
# (None, Array(11., dtype=float32))
# ```
#
# **Args:**
#
# - `table`: float32[n], n at least 1; NaN is a number like any other.
# - `i`: int32[], from 0 to a billion.
#
# **Returns:** A tuple: None if i is in bounds, else a text that names i, such as
# `index 7 is out of bounds`; and table[i], any number where there is none.

# %%
def checked_pick(table, i):
    """Take table[i] in a function under jit, which checks at run time that i is less
    than the length of the table.
    """
    ...


check(checked_pick)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(checked_pick)
# solution(checked_pick)

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

# %% [markdown]
# ### Exercise: Diagnose (3 points, beyond the core)
#
# Say what is wrong with a function, by asking JAX. Any setting that you switch on ends
# with the call.
#
# ```python
# >>> diagnose(one_too_many, jnp.ones(3))
# 'shape'
# ```
#
# **Args:**
#
# - `function`: a function of one array that returns an array, or a pytree of arrays,
#   such as `puts_aside`; it is not jitted, and has not been called before.
# - `x`: float32[n], its argument.
#
# **Returns:** "shape" if it cannot be traced, since shapes or dtypes do not fit; "leak"
# if a tracer outlives the trace; "nan" if the jitted function returns a NaN; else
# "fine". At most one of the three is wrong.

# %%
def diagnose(function, x):
    """Say what is wrong with a function, by asking JAX."""
    ...


check(diagnose)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(diagnose)
# solution(diagnose)

# %% [markdown]
# ### Without jit at all
#
# `with jax.disable_jit():` runs everything operation by operation, loops included: no
# trace, no tracers. Then Python's own tools work: `print`, an `if`, a list, and
# `breakpoint()` with `pdb`. It is slow, and the values differ a little from those of
# the compiled program; and `vmap` and `grad` still show you tracers of theirs.

# %% [markdown]
# ### Exercise: Plain values (2 points, beyond the core)
#
# Run program(look, x) without `jit`, and return the values that it looks at, in order.
#
# `look` is a plain Python function of yours: no callback is needed. The setting ends
# with the call, also if the program raises an error.
#
# ```python
# >>> plain_values(in_scan, 3.0)
# [3.0, 2.0, 1.0]
# ```
#
# **Args:**
#
# - `program`: a function of `look` and x without `vmap` and `grad`, such as `in_jit`,
#   `in_scan` or `in_while`.
# - `x`: float.
#
# **Returns:** A list of Python floats, and no arrays.

# %%
def plain_values(program, x):
    """Run program(look, x) without `jit`, and return the values that it looks at, in
    order.
    """
    ...


check(plain_values)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(plain_values)
# solution(plain_values)

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
