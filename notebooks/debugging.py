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

# %% [markdown]
# ### Exercise: Shape and value (2 points)
#
# Print a line about the shape and dtype of x when it is traced, and one about its value
# at each run. Return x.
#
# For `jnp.arange(3.0)` the lines are `shape (3,) dtype float32` and `value [0. 1. 2.]`.
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
# ### Prediction: How often does Python print? (1 point)
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

# %% [markdown]
# ### Exercise: See the sine (2 points)
#
# Repair this: `jax.debug.print` should show the numbers x and y. Leave Python's prints
# as they are.
#
# **Args:**
#
# - `x`: float32 array, traced under jit or vmap.
#
# **Returns:** The sine of x.

# %%
def see_sine(x):
    """Repair this: `jax.debug.print` should show the numbers x and y."""
    print("print(x) ->", x)
    jax.debug.print(f"jax.debug.print(x) -> {x}")
    y = jnp.sin(x)
    print("print(y) ->", y)
    jax.debug.print(f"jax.debug.print(y) -> {y}")
    return y


check(see_sine)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(see_sine)
# solution(see_sine)

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

# %% [markdown]
# ### Exercise: At once, and one by one (3 points)
#
# Compute the sine of each number, and print x and y for each, by one `jax.debug.print`
# for x and one for y.
#
# The lines are `jax.debug.print(x) -> ` and x, then `jax.debug.print(y) -> ` and y, the
# sine.
#
# **Args:**
#
# - `how`: "vmap" for all numbers at once, by `jax.vmap`; "map" for one after the other,
#   by `jax.lax.map`.
# - `xs`: float32[n].
# - `ordered`: bool, whether the order of the prints must be kept.
#
# **Returns:** float32[n], the sines.

# %%
def printed_sines(how, xs, ordered):
    """Compute the sine of each number, and print x and y for each, by one
    `jax.debug.print` for x and one for y.
    """
    ...


check(printed_sines)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(printed_sines)
# solution(printed_sines)

# %% [markdown]
# One more way out: put both values into **one** print. One print cannot be reordered
# with itself.

# %% [markdown]
# ### Exercise: Add in order (2 points)
#
# Repair this: for each pair it should print x first and then y, and then go on to the
# next pair.
#
# **Args:**
#
# - `xs`, `ys`: int32[n] or float32[n].
#
# **Returns:** The sums, of the same shape and dtype.

# %%
def add_in_order(xs, ys):
    """Repair this: for each pair it should print x first and then y, and then go on to
    the next pair.
    """

    def add(x, y):
        jax.debug.print("jax.debug.print(x) -> {}", x)
        jax.debug.print("jax.debug.print(y) -> {}", y)
        return x + y

    return jax.lax.map(lambda pair: add(*pair), (xs, ys))


check(add_in_order)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(add_in_order)
# solution(add_in_order)

# %% [markdown]
# ## Part 2. Under `grad`, and when it is off
#
# `jax.grad` runs your function forward, then goes back to collect slopes. A
# `jax.debug.print` of x prints on the way forward, once.

# %% [markdown]
# ### Exercise: Print under grad (2 points)
#
# Print x in two ways, first `print(x) -> ` by Python's print, then
# `jax.debug.print(x) -> `; return x squared.
#
# Do not use `jax.jit` here: the checks put jit and grad around it, in all orders.
#
# **Args:**
#
# - `x`: float, or float32[].
#
# **Returns:** float32[].

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

# %% [markdown]
# ### Exercise: Print the cotangent (3 points)
#
# Compute y = sin(x) and return y cubed. On the way back, print `cotangent of y: ` and
# the cotangent of y.
#
# The forward pass alone prints nothing, and the gradient stays as it is.
#
# **Args:**
#
# - `x`: float32[]; under jit and vmap too.
#
# **Returns:** float32[].

# %%
def sine_cubed(x):
    """Compute y = sin(x) and return y cubed."""
    ...


check(sine_cubed)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(sine_cubed)
# solution(sine_cubed)

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

# %% [markdown]
# ### Exercise: Find the debugging in a program (2 points)
#
# List what f's program holds of debugging. Do not run f.
#
# **Args:**
#
# - `f`: a function of one array, without inner `jax.jit`.
# - `x`: its argument.
#
# **Returns:** A tuple of two lists of str: the names of the primitives that have
# "debug" in their names, in order; and the program's effects as text.

# %%
def debugging_in(f, x):
    """List what f's program holds of debugging."""
    ...


check(debugging_in)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(debugging_in)
# solution(debugging_in)

# %% [markdown]
# So a print is not free: the program leaves the device, waits for Python, and cannot be
# optimised across. When you do not need it, it should not be in the program at all. A
# Python `if` on a **static** flag does that: while JAX traces, it decides what is
# written down.

# %% [markdown]
# ### Exercise: No trace of it when it is off (2 points)
#
# Make a function that computes the sine, and prints `y ` and the sine if verbose is
# True.
#
# If verbose is False, its program is that of `jnp.sin`, and nothing else.
#
# **Args:**
#
# - `verbose`: bool.
#
# **Returns:** A function of x, float32[], that returns the sine; it may be put under
# jit.

# %%
def make_sine(verbose):
    """Make a function that computes the sine, and prints `y ` and the sine if verbose
    is True.
    """
    ...


check(make_sine)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(make_sine)
# solution(make_sine)

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

# %% [markdown]
# ### Exercise: Ask the debugger (2 points)
#
# Run program(x), type commands at its breakpoints, and return the result and the
# answers.
#
# **Args:**
#
# - `program`: a function that stops at a `jax.debug.breakpoint()`.
# - `x`: its argument.
# - `commands`: list of str, what to type.
#
# **Returns:** A tuple: what the program returned; and a list of str, the debugger's
# answer to each command.

# %%
def ask_debugger(program, x, commands):
    """Run program(x), type commands at its breakpoints, and return the result and the
    answers.
    """
    ...


check(ask_debugger)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(ask_debugger)
# solution(ask_debugger)

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

# %% [markdown]
# ### Exercise: Stop where it is not finite (3 points)
#
# Divide x by y in a function under jit, which stops in the debugger if the quotient is
# NaN or infinite.
#
# Give the debugger its commands by `scripted_breakpoints`: ask for the quotient, then
# for the divisor y.
#
# **Args:**
#
# - `x`, `y`: float.
#
# **Returns:** A tuple: the quotient, float32[]; and a list of the debugger's two
# answers, empty if it did not stop.

# %%
def divide_under_watch(x, y):
    """Divide x by y in a function under jit, which stops in the debugger if the
    quotient is NaN or infinite.
    """
    ...


check(divide_under_watch)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(divide_under_watch)
# solution(divide_under_watch)

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

# %% [markdown]
# ### Exercise: Find the cause (3 points)
#
# Run program(x), which may stop at one breakpoint, and look up names there, in all
# functions of the call stack.
#
# If several functions have a name, the one nearest to the stop counts. No name is more
# than 3 levels up.
#
# **Args:**
#
# - `program`: a function of x, such as `times_ten` or `standardised`.
# - `x`: its argument.
# - `names`: list of str.
#
# **Returns:** A dict from each name that was found to the debugger's answer; empty if
# it did not stop.

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

# %% [markdown]
# ### Exercise: Log on the host (2 points)
#
# Log `Logged value: ` and the value of x at each run, and return x.
#
# A negative value is logged by `log.error`, any other by `log.warning`.
#
# **Args:**
#
# - `x`: float32[]; under jit, vmap and grad too.
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

# %% [markdown]
# ### Exercise: Values on the host (3 points)
#
# Run program(look, x) with a function `look` of yours, and return the values that it
# looks at, in order.
#
# **Args:**
#
# - `program`: one of the functions above. It calls `look(value)` with tracers, and does
#   not use what it returns.
# - `x`: float.
#
# **Returns:** A list of float.

# %%
def values_seen(program, x):
    """Run program(look, x) with a function `look` of yours, and return the values that
    it looks at, in order.
    """
    ...


check(values_seen)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(values_seen)
# solution(values_seen)

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

# %% [markdown]
# ### Exercise: Report only what is bad (3 points)
#
# Print a line if x has elements that are NaN or infinite, at run time, and return x.
#
# The line for an x with 2 such elements among 3 is `not finite: 2 of 3`. Under vmap
# there is one line for each example that has some, and none for the others.
#
# **Args:**
#
# - `x`: float32[n].
#
# **Returns:** x.

# %%
def report_nonfinite(x):
    """Print a line if x has elements that are NaN or infinite, at run time, and return
    x.
    """
    ...


check(report_nonfinite)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(report_nonfinite)
# solution(report_nonfinite)

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

# %% [markdown]
# ### Exercise: An index out of bounds (3 points)
#
# Take table[i] in a function under jit, which checks at run time that i is less than
# the length of the table.
#
# **Args:**
#
# - `table`: float32[n].
# - `i`: int32[], 0 or more.
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
