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

# %%
from jaxguide.lesson import check, hint, solution, start

start("debugging")

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

# %%
# Exercise: Shape and value (2 points)
def shape_and_value(x):
    """Print a line about the shape and dtype of x when it is traced, and one about its value at each run. Return x.

    For `jnp.arange(3.0)` the lines are `shape (3,) dtype float32` and `value [0. 1. 2.]`.

    Args:
        x: an array, traced under `jax.jit`.

    Returns:
        x.
    """
    ...


check(shape_and_value)

# %%
# How often does Python print? (1 point)
def predict_lines_of_half():
    """`half` is jitted and prints with Python's `print`. How many lines do these calls print in all?

    A fresh `half` gets 2.0, then 3.0, `jnp.arange(2.0)`, `jnp.arange(2.0) * 5`, and `jnp.arange(3.0)`.

    Returns:
        An int.
    """
    ...


check(predict_lines_of_half)

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

# %%
# Exercise: See the sine (2 points)
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


check(see_sine)

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

# %%
# Exercise: At once, and one by one (3 points)
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


check(printed_sines)

# %% [markdown]
# One more way out: put both values into **one** print. One print cannot be reordered with itself.

# %%
# Exercise: Add in order (2 points)
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


check(add_in_order)
