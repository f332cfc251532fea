# %% [markdown]
# # Jit and tracing
#
# **Core:** 8 exercises, about 60 minutes. **Beyond the core:** 7 exercises.
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

start("jit_and_tracing")

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

# %% [markdown]
# ### Exercise: Two ways to run a function (2 points)
#
# Call a function twice: one operation at a time, and compiled as one program. Do the
# results agree?
#
# ```python
# >>> two_ways(norm, jnp.array([[1.0, 10.0], [3.0, 30.0]]))[2]
# True
# ```
#
# **Args:**
#
# - `function`: a function of one array that returns an array, such as `norm`.
# - `x`: its argument, such as a float32[n,m].
#
# **Returns:** A tuple `(plain, compiled, agree)`: what the function returns for x; what
# the function returns for x if all of it is compiled; and a bool, whether `np.allclose`
# finds these equal with `atol=1e-6`.

# %%
def two_ways(function, x):
    """Call a function twice: one operation at a time, and compiled as one program."""
    ...


check(two_ways)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(two_ways)
# solution(two_ways)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-17, S1-18)</summary>
#
# Documented and today's output agree. The page says that this function normalises the
# rows of a matrix; `mean(0)` and `std(0)` normalise its columns.
#
# > ```python
# > np.random.seed(1701)
# > X = jnp.array(np.random.rand(10000, 10))
# > print(np.allclose(norm(X), jax.jit(norm)(X), atol=1e-6))
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > True
# > ```
#
# Today's JAX prints the same.
#
# </details>

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

# %% [markdown]
# ### Exercise: An honest stopwatch (3 points)
#
# Measure how long one run takes: from the call until its result is there, without
# compiling.
#
# ```python
# >>> round(seconds_per_run(jitted_machine), 6)
# 0.000512
# ```
#
# **Args:**
#
# - `start_machine`: a function without arguments that starts a new machine, such as
#   `jitted_machine`. A machine has `run()`, which starts the job and returns its
#   result, and `clock()`, the time in seconds; of a result, only `block_until_ready()`
#   waits. You may run a machine as often as you like.
#
# **Returns:** The seconds, a float.

# %%
def seconds_per_run(start_machine):
    """Measure how long one run takes: from the call until its result is there, without
    compiling.
    """
    ...


check(seconds_per_run)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(seconds_per_run)
# solution(seconds_per_run)

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

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-19)</summary>
#
# Times depend on the computer, so that only the order of the two is to be expected. On
# the make-believe machines your stopwatch measures the documented times exactly.
#
# > ```python
# > for machine_of_the_page in (plain_machine, jitted_machine):
# >     print(f"{seconds_per_run(machine_of_the_page) * 1e6:.0f} μs")
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > 942 μs ± 6.93 μs per loop (mean ± std. dev. of 7 runs, 1,000 loops each)
# > 512 μs ± 2.88 μs per loop (mean ± std. dev. of 7 runs, 1,000 loops each)
# > ```
#
# Today:
#
# > ```text
# > 942 μs
# > 512 μs
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: A look inside (2 points)
#
# Jit this function, and let it print what it sees while it is traced.
#
# It prints four lines: `Running f():`, then `x = ...`, `y = ...` and `result = ...`,
# with what `print` shows of each. A second call with the same shapes and dtypes prints
# nothing.
#
# ```python
# >>> look_inside_jit(jnp.ones((5, 2)), jnp.ones(2))
# Running f():
# x = ...
# y = ...
# result = ...
# Array([8., 8., 8., 8., 8.], dtype=float32)
# ```
#
# **Args:**
#
# - `x`: float32[n,m].
# - `y`: float32[m].
#
# **Returns:** float32[n]: the result, which is the dot product of x + 1 and y + 1.

# %%
def look_inside_jit(x, y):
    """Jit this function, and let it print what it sees while it is traced."""
    ...


check(look_inside_jit)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(look_inside_jit)
# solution(look_inside_jit)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-22, S1-23)</summary>
#
# A tracer prints differently today. What counts has stayed: it shows a dtype and a
# shape, and no numbers. (The text changed in 0.4.36, 0.6.1, 0.7.0 and 0.8.2.)
#
# > ```python
# > np.random.seed(1701)
# > np.random.rand(10000, 10), np.random.randn(10)
# > x, y, x2, y2 = (np.random.randn(*shape) for shape in ((3, 4), (4,), (3, 4), (4,)))
# > fresh_look = jax.jit(lambda x, y: look_inside_jit(x, y))
# > print(repr(fresh_look(x, y)))
# > print(repr(fresh_look(x2, y2)))
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > Running f():
# >   x = Traced<ShapedArray(float32[3,4])>with<DynamicJaxprTrace(level=1/0)>
# >   y = Traced<ShapedArray(float32[4])>with<DynamicJaxprTrace(level=1/0)>
# >   result = Traced<ShapedArray(float32[3])>with<DynamicJaxprTrace(level=1/0)>
# > Array([0.25773212, 5.3623195 , 5.403243  ], dtype=float32)
# > Array([1.4344584, 4.3004413, 7.9897013], dtype=float32)
# > ```
#
# Today:
#
# > ```text
# > Running f():
# > x = JitTracer(float32[3,4])
# > y = JitTracer(float32[4])
# > result = JitTracer(float32[3])
# > Array([0.25773212, 5.3623195 , 5.403243  ], dtype=float32)
# > Array([1.4344584, 4.3004413, 7.9897013], dtype=float32)
# > ```
#
# </details>

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

# %% [markdown]
# ### Predict: how many traces? (1 point)
#
# A new jitted function is called with these six arguments, one after the other. How
# often is it traced?
#
# `jnp.ones(3)`, `jnp.zeros(3)`, `jnp.ones((3, 1))`, `jnp.arange(3)`, `1.0`, `2.0`
#
# **Returns:** An int.

# %%
def predict_traces():
    """A new jitted function is called with these six arguments, one after the other."""
    ...


check(predict_traces)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_traces)
# solution(predict_traces)

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

# %% [markdown]
# ### Exercise: Select, with and without a fixed size (3 points)
#
# Select the negative numbers, in their order: as many as there are, or a fixed number
# of them.
#
# Zero is not negative, of either sign, and NaN is not. Without a size, index with a
# mask: the result has as many numbers as are negative; under `jax.jit` JAX refuses the
# mask, and its error passes. With a size, it also works under `jax.jit`.
#
# ```python
# >>> select_negatives(jnp.array([3.0, -1.0, -4.0]), 3)
# Array([-1., -4.,  0.], dtype=float32)
# ```
#
# **Args:**
#
# - `x`: float32[n], a JAX array.
# - `size`: None, or an int from 1 to n, also under `jax.jit`: no tracer.
#
# **Returns:** A JAX array: float32[k] with the k negative numbers, or float32[size]
# with the first of them, and with zeros after the last if there are fewer.

# %%
def select_negatives(x, size=None):
    """Select the negative numbers, in their order: as many as there are, or a fixed
    number of them.
    """
    ...


check(select_negatives)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(select_negatives)
# solution(select_negatives)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-20, S1-21)</summary>
#
# The text of the error names the type of the mask differently since 0.6.1.
#
# > ```python
# > np.random.seed(1701)
# > np.random.rand(10000, 10)
# > x = jnp.array(np.random.randn(10))
# > print(repr(select_negatives(x)))
# > try:
# >     jax.jit(select_negatives)(x)
# > except jax.errors.NonConcreteBooleanIndexError as error:
# >     print(f"{type(error).__name__}: {error}".splitlines()[0])
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > Array([-0.10570311, -0.59403396, -0.8680282 , -0.23489487], dtype=float32)
# > NonConcreteBooleanIndexError: Array boolean indices must be concrete; got ShapedArray(bool[10])
# > ```
#
# Today:
#
# > ```text
# > Array([-0.10570311, -0.59403396, -0.8680282 , -0.23489487], dtype=float32)
# > NonConcreteBooleanIndexError: Array boolean indices must be concrete; got bool[10]
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: Three ways with a flag (3 points)
#
# Make a jitted `negate_if` in one of three ways.
#
# ```python
# >>> jitted_negate_if("static")(1, True)
# Array(-1, dtype=int32, weak_type=True)
# ```
#
# **Args:**
#
# - `how`: "traced": `neg` stays a tracer, so that a call fails, with JAX's own error
#   about `neg`; let it. "static": `neg` is static, so that there is one program for
#   each of its values. "at run time": `neg` is traced, and the program chooses, so that
#   one program serves both values.
#
# **Returns:** A jitted function of `x`, a number or an array, and `neg`, a bool.

# %%
def jitted_negate_if(how):
    """Make a jitted `negate_if` in one of three ways."""
    ...


check(jitted_negate_if)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(jitted_negate_if)
# solution(jitted_negate_if)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-26, S1-27,
# S1-28)</summary>
#
# Documented and today's output agree. That a new static value is compiled is said there
# in words; here the traces are counted, too: there are 2.
#
# > ```python
# > try:
# >     jax.jit(negate_if)(1, True)
# > except jax.errors.TracerBoolConversionError as error:
# >     print(f"{type(error).__name__}: {error}".splitlines()[0])
# > with watch_traces() as traces:
# >     static_flag = jax.jit(lambda x, neg: negate_if(x, neg), static_argnums=(1,))
# >     print(repr(static_flag(1, True)))
# >     print(repr(static_flag(1, False)))
# > print(traces.traces)
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].
# > Array(-1, dtype=int32, weak_type=True)
# > Array(1, dtype=int32, weak_type=True)
# > ```
#
# Today:
#
# > ```text
# > TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].
# > Array(-1, dtype=int32, weak_type=True)
# > Array(1, dtype=int32, weak_type=True)
# > 2
# > ```
#
# </details>

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

# %% [markdown]
# ### Repair: a film of the dish (3 points)
#
# Film V for some steps: make this pure, and put all steps into one jitted program.
#
# It is traced once for all feeds, and the program is as long for a thousand steps as
# for one. (Call it through `jax.jit`; do not compile it ahead of time.)
#
# ```python
# >>> last, frames = film(jnp.ones((2, 4, 4)), 0.5, 2)
# >>> frames[:, 0, 0]
# Array([1.438   , 0.629844], dtype=float32)
# ```
#
# **Args:**
#
# - `dish`: float32[2,n,m].
# - `feed`: float, for all steps.
# - `steps`: int, 0 or more, the same in most calls: it may be static.
#
# **Returns:** A tuple `(last, frames)`: float32[2,n,m], the dish after all steps; and
# float32[steps,n,m], V after each step.

# %%
current_feed = 0.0
kept = []


@jax.jit
def step_and_keep(dish):
    """Make one step, and keep V."""
    dish = step(dish, current_feed)
    kept.append(dish[1])
    return dish


def film(dish, feed, steps):
    """Film V for some steps: make this pure, and put all steps into one jitted program.
    """
    global current_feed
    current_feed = feed
    kept.clear()
    for _ in range(steps):
        dish = step_and_keep(dish)
    return dish, kept


check(film)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(film)
# solution(film)

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

# %% [markdown]
# ### Exercise: Until it settles (3 points)
#
# Make steps until one of them changes no number of the dish by more than a tolerance,
# with `jax.lax.while_loop`.
#
# After `most` steps it stops in any case. All of it is one jitted program, for all
# feeds, tolerances and `most`.
#
# ```python
# >>> after, steps = settle(jnp.zeros((2, 4, 4)), 0.5, 0.01, 100)
# >>> int(steps)
# 7
# ```
#
# **Args:**
#
# - `dish`: float32[2,n,m].
# - `feed`: float.
# - `tolerance`: float.
# - `most`: int, 0 or more.
#
# **Returns:** A tuple `(dish, steps)`: float32[2,n,m], the dish after the last step;
# and int32[], how many steps were made.

# %%
def settle(dish, feed, tolerance, most):
    """Make steps until one of them changes no number of the dish by more than a
    tolerance, with `jax.lax.while_loop`.
    """
    ...


check(settle)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(settle)
# solution(settle)

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

# %% [markdown]
# ### Exercise: Count the traces (2 points, beyond the core)
#
# Call a jitted function of your own with each argument in turn, and note how often it
# has been traced by then.
#
# Make a new jitted function in each call of `traces_so_far`.
#
# ```python
# >>> traces_so_far([jnp.ones(3), jnp.zeros(3), jnp.ones(4)])
# [1, 1, 2]
# ```
#
# **Args:**
#
# - `arguments`: a list of JAX arrays, NumPy arrays, Python numbers, and dicts or tuples
#   of these.
#
# **Returns:** A list of ints, one for each argument: the number of traces when its call
# is done.

# %%
def traces_so_far(arguments):
    """Call a jitted function of your own with each argument in turn, and note how often
    it has been traced by then.
    """
    ...


check(traces_so_far)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(traces_so_far)
# solution(traces_so_far)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-24)</summary>
#
# This is still so. JAX runs the Python code for the first array, and again for a new
# shape and for a new dtype.
#
# > ```python
# > @jax.jit
# > def f(x):
# >     print("traced for", x.shape, x.dtype)
# >     return 2 * x
# >
# >
# > ones = jnp.ones((3, 4))
# > for x in (ones, ones + 1, ones[:2], ones.astype(jnp.int32)):
# >     f(x)
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# says:
#
# > A tracer stands for the shape and the dtype of an array, not for its values. JAX runs
# > what it recorded for all inputs of that shape and dtype, without the Python code.
#
# Today:
#
# > ```text
# > traced for (3, 4) float32
# > traced for (2, 4) float32
# > traced for (3, 4) int32
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: Read the record (1 point, beyond the core)
#
# Trace a function, and return its jaxpr as text, together with the names of its
# operations.
#
# ```python
# >>> text, names = recorded_program(dot_of_sums, jnp.ones((3, 4)), jnp.ones(4))
# >>> names
# ['add', 'add', 'dot_general']
# ```
#
# **Args:**
#
# - `function`: a function of arrays.
# - `args`: its arguments.
#
# **Returns:** A tuple `(text, names)`: the jaxpr as `str` writes it, and a list of the
# names of its operations in their order, one for each equation; what is inside an
# equation does not count.

# %%
def recorded_program(function, *args):
    """Trace a function, and return its jaxpr as text, together with the names of its
    operations.
    """
    ...


check(recorded_program)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(recorded_program)
# solution(recorded_program)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-25)</summary>
#
# The program is the same. Since JAX 0.6.1, the numbers in it show their types.
#
# > ```python
# > x = np.random.randn(3, 4)
# > y = np.random.randn(4)
# >
# >
# > def f(x, y):
# >     return jnp.dot(x + 1, y + 1)
# >
# >
# > jax.make_jaxpr(f)(x, y)
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > { lambda ; a:f32[3,4] b:f32[4]. let
# >     c:f32[3,4] = add a 1.0
# >     d:f32[4] = add b 1.0
# >     e:f32[3] = dot_general[
# >       dimension_numbers=(([1], [0]), ([], []))
# >       preferred_element_type=float32
# >     ] c d
# >   in (e,) }
# > ```
#
# Today:
#
# > ```text
# > { lambda ; a:f32[3,4] b:f32[4]. let
# >     c:f32[3,4] = add a 1.0:f32[]
# >     d:f32[4] = add b 1.0:f32[]
# >     e:f32[3] = dot_general[
# >       dimension_numbers=(([1], [0]), ([], []))
# >       preferred_element_type=float32
# >     ] c d
# >   in (e,) }
# > ```
#
# </details>

# %% [markdown]
# ### Static and traced operations
#
# Not only values are static or traced: operations are, too. Python runs a static
# operation once, while JAX traces. A traced operation goes into the program, and runs
# in every call.
#
# The shape of a tracer is static: a tuple of ints. Whether what you compute from it
# stays static depends on the library that computes it.

# %% [markdown]
# ### Exercise: Flatten, with two libraries (3 points, beyond the core)
#
# Flatten an array to a length that NumPy or JAX computes. Jit this function, and let it
# show what it sees.
#
# While JAX traces it, it prints three lines: `x = ...`, `x.shape = ...`, and the
# product of the shape, which is `np.prod(x.shape) = ...` for "np" and
# `jnp.array(x.shape).prod() = ...` for "jnp". Then it passes the product to
# `x.reshape`. With one of the libraries that fails; let it.
#
# ```python
# >>> flatten_by("np", jnp.ones((2, 2)))
# x = JitTracer(float32[2,2])
# x.shape = (2, 2)
# np.prod(x.shape) = 4
# Array([1., 1., 1., 1.], dtype=float32)
# ```
#
# **Args:**
#
# - `library`: "np" or "jnp".
# - `x`: an array with one axis or more.
#
# **Returns:** The elements of x, row by row, in a vector.

# %%
def flatten_by(library, x):
    """Flatten an array to a length that NumPy or JAX computes."""
    ...


check(flatten_by)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(flatten_by)
# solution(flatten_by)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-29)</summary>
#
# It still fails. A tracer prints differently, and JAX blames another operation: since
# 0.6.1, making an array of plain numbers is not an operation any more.
#
# > ```python
# > @jax.jit
# > def f(x):
# >     return x.reshape(jnp.array(x.shape).prod())
# >
# >
# > x = jnp.ones((2, 3))
# > try:
# >     f(x)
# > except TypeError as error:
# >     print(f"TypeError: {error}")
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > TypeError: Shapes must be 1D sequences of concrete values of integer type, got
# > [Traced<ShapedArray(int32[])>with<DynamicJaxprTrace(level=1/0)>].
# > If using `jit`, try using `static_argnums` or applying `jit` to smaller subfunctions.
# > The error occurred while tracing the function f at
# > /tmp/ipykernel_2935/1983583872.py:4 for jit. This value became a tracer due to JAX
# > operations on these lines:
# >
# >   operation a:i32[2] = convert_element_type[new_dtype=int32 weak_type=False] b
# >     from line /tmp/ipykernel_2935/1983583872.py:6 (f)
# > ```
#
# Today:
#
# > ```text
# > TypeError: Shapes must be 1D sequences of concrete values of integer type, got
# > [JitTracer(int32[])].
# > If using `jit`, try using `static_argnums` or applying `jit` to smaller subfunctions.
# > The error occurred while tracing the function f at ... for jit. This value became a
# > tracer due to JAX operations on these lines:
# >
# >   operation a:i32[] = reduce_prod[axes=(0,)] b
# >     from line ... (f)
# > ```
#
# </details>

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-30)</summary>
#
# The lines still show a tracer, a tuple and a tracer. Only the text of a tracer has
# changed, most recently in JAX 0.8.2.
#
# > ```python
# > @jax.jit
# > def f(x):
# >     print(f"x = {x}")
# >     print(f"x.shape = {x.shape}")
# >     print(f"jnp.array(x.shape).prod() = {jnp.array(x.shape).prod()}")
# >
# >
# > f(jnp.ones((2, 3)))
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > x = Traced<ShapedArray(float32[2,3])>with<DynamicJaxprTrace(level=1/0)>
# > x.shape = (2, 3)
# > jnp.array(x.shape).prod() =
# > Traced<ShapedArray(int32[])>with<DynamicJaxprTrace(level=1/0)>
# > ```
#
# Today:
#
# > ```text
# > x = JitTracer(float32[2,3])
# > x.shape = (2, 3)
# > jnp.array(x.shape).prod() = JitTracer(int32[])
# > ```
#
# </details>

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-31)</summary>
#
# This works as it did: NumPy's product is a number, also while JAX traces.
#
# > ```python
# > @jax.jit
# > def f(x):
# >     return x.reshape((np.prod(x.shape),))
# >
# >
# > f(jnp.ones((2, 3)))
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# shows:
#
# > ```text
# > Array([1., 1., 1., 1., 1., 1.], dtype=float32)
# > ```
#
# Today's JAX prints the same.
#
# </details>

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

# %% [markdown]
# ### Transfer: static, traced or refused? (3 points, beyond the core)
#
# Find out how an operation behaves under `jax.jit`, where x is a tracer.
#
# ```python
# >>> static_or_traced(size_by_numpy, jnp.ones((2, 3)))
# 'static'
# ```
#
# **Args:**
#
# - `operation`: a function of one array, such as `size_by_numpy`. It may also return x
#   itself or a tuple of ints, and it may raise any exception.
# - `x`: a JAX array or a NumPy array.
#
# **Returns:** "static" if the result is a plain Python or NumPy value, "traced" if it
# is a tracer, "refused" if the operation raises an exception.

# %%
def static_or_traced(operation, x):
    """Find out how an operation behaves under `jax.jit`, where x is a tracer."""
    ...


check(static_or_traced)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(static_or_traced)
# solution(static_or_traced)

# %% [markdown]
# <details>
# <summary>The document's example, today: How to think in JAX (S1-32)</summary>
#
# The rule still holds. In the program, NumPy's product is the number 6.0. JAX's product
# is an operation, `reduce_prod`, which runs in each call.
#
# > ```python
# > def f(x):
# >     static = np.prod(x.shape)
# >     traced = jnp.prod(jnp.array(x.shape))
# >     return x * static, x * traced
# >
# >
# > jax.make_jaxpr(f)(jnp.ones((2, 3)))
# > ```
#
# [How to think in JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html)
# says:
#
# > Import both `numpy` as `np` and `jax.numpy` as `jnp`. Use `np` for operations that
# > should be static, done once while compiling, and `jnp` for those that should be
# > traced, compiled and done at run time.
#
# Today:
#
# > ```text
# > { lambda a:i32[2]; b:f32[2,3]. let
# >     c:i32[] = reduce_prod[axes=(0,)] a
# >     d:f32[2,3] = mul b 6.0:f32[]
# >     e:f32[] = convert_element_type[new_dtype=float32 weak_type=False] c
# >     f:f32[2,3] = mul b e
# >   in (d, f) }
# > ```
#
# </details>

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

# %% [markdown]
# ### Make it fast: four calls, one trace (2 points, beyond the core)
#
# Compute factor * x + 1, all of it jitted. JAX traces this in each call: let all calls
# share one trace.
#
# ```python
# >>> louder(jnp.array([1.0, 2.0]), 3.0)
# Array([4., 7.], dtype=float32)
# ```
#
# **Args:**
#
# - `x`: float32[n].
# - `factor`: a float.
#
# **Returns:** float32[n].

# %%
def louder(x, factor):
    """Compute factor * x + 1, all of it jitted."""
    return jax.jit(lambda v: factor * v + 1)(x)


check(louder)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(louder)
# solution(louder)

# %% [markdown]
# ### Methods
#
# `@jax.jit` above a method jits a function whose first argument is `self`. JAX tries to
# trace it like any other argument, and fails: an object is not an array.

# %% [markdown]
# ### Repair: a jitted method (3 points, beyond the core)
#
# Run one step of a `Simulation` for each feed. Its method `step`, above, fails: mend
# it.
#
# It should stay a method that is called as it is below, and all that it computes should
# be jitted, with one trace for all feeds.
#
# ```python
# >>> jit_method([1.0, 3.0], jnp.array([2.0, 4.0]))
# [Array([2., 3.], dtype=float32), Array([4. , 4.5], dtype=float32)]
# ```
#
# **Args:**
#
# - `feeds`: a list of floats, the feed of each step.
# - `u`: float32[n], the water in n ponds.
#
# **Returns:** A list of float32[n]: the water after each step.

# %%
class Simulation:
    """Ponds that lose half of their water in each step, and are fed."""

    def __init__(self, feed):
        self.feed = feed

    @jax.jit
    def step(self, u):
        """Return the water after one step."""
        return u / 2 + self.feed


def jit_method(feeds, u):
    """Run one step of a `Simulation` for each feed."""
    simulation = Simulation(feed=0.0)
    waters = []
    for feed in feeds:
        simulation.feed = feed
        u = simulation.step(u)
        waters.append(u)
    return waters


check(jit_method)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(jit_method)
# solution(jit_method)

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

# %% [markdown]
# ### Make it jit-safe: which one is static? (3 points, beyond the core)
#
# Add up `width` neighbours at each place, times a scale. Jit this function, all of it:
# one program for each width.
#
# ```python
# >>> moving_sum(jnp.arange(5.0), 3, 2.0)
# Array([ 6., 12., 18.], dtype=float32)
# ```
#
# **Args:**
#
# - `x`: float32[n].
# - `width`: int, from 1 to n.
# - `scale`: a float, which may be another one in each call.
#
# **Returns:** float32[n-width+1]: number i is the scale times the sum of
# `x[i : i + width]`.

# %%
def moving_sum(x, width, scale):
    """Add up `width` neighbours at each place, times a scale."""
    window = jnp.ones(width)
    return scale * jnp.convolve(x, window, mode="valid")


check(moving_sum)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(moving_sum)
# solution(moving_sum)

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
