# %% [markdown]
# # Jit and tracing
#
# `jax.jit` makes JAX code fast. To use it well, you must know what it does with your
# Python code: it **traces** it.
#
# After this lesson you can
#
# - say when compiling pays, and measure it,
# - see what your function sees while JAX traces it,
# - predict how often JAX will trace, and find out why it traces again,
# - repair code that branches, selects, keeps or leaks values under `jax.jit`,
# - keep static what must be static, and traced what should be traced.
#
# You need NumPy, and `jax.numpy` as in the lesson `arrays_and_layers`. It takes about
# an hour and a half, in four parts.

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

# %% [markdown]
# Run the cells from top to bottom. A cell with a function to write or to repair is an
# **exercise**: `check(...)` tells you what is right. If you are stuck,
# `hint(name_of_the_function)` gives a small hint, and tells how to get more. In a
# **prediction** you guess first; then the real answer is computed before your eyes.
#
# The lesson follows a page of JAX's documentation, "How to think in JAX", which it
# calls *the document*. Where today's JAX does something else than an older copy of it
# says, you will see both.

# %%
import time
from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxguide.tracing import draw_program, show_lines, watch_traces

# %% [markdown]
# ## Part 1. To jit or not to jit
#
# JAX normally runs **one operation at a time**: each is a small compiled program of its
# own. `jax.jit(f)` is a new function, which runs the whole of `f` as **one** program.

# %%
def wave(x):
    """Compute 2 sin(x) + 1: three operations."""
    return jnp.sin(x) * 2 + 1


fast_wave = jax.jit(wave)
x = jnp.linspace(0, 3, 4)
print(wave(x))
print(fast_wave(x))

# %% [markdown]
# How can you see it? `jax.make_jaxpr(f)(x)` lists the operations that `f` makes of `x`,
# one on each line. Its `eqns` (equations) are those lines.

# %%
listing = jax.make_jaxpr(wave)(x)
print(listing)
print(len(listing.eqns), "lines")

# %% [markdown]
# Here is another function, to try it on.

# %%
def decay(x):
    """Compute x³ exp(x), with three products."""
    return x * x * x * jnp.exp(x)


print(jax.make_jaxpr(decay)(x))

# %% [markdown]
# ### Exercise: One by one, or all at once (1 point)
#
# Count the operations that JAX is asked to run for one call: without `jax.jit`, and
# with it.
#
# **Args:**
#
# - `function`: a function of one array, such as `wave`.
# - `x`: float32[n].
#
# **Returns:** A tuple of two ints: the number of lines in the listing of the function,
# and in that of the jitted function. Lines inside another line's braces do not count.

# %%
def operations_to_run(function, x):
    """Count the operations that JAX is asked to run for one call: without `jax.jit`,
    and with it.
    """
    ...


check(operations_to_run)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(operations_to_run)
# solution(operations_to_run)

# %% [markdown]
# `draw_program` shows the operations as a picture: each arc is a value that goes from
# one operation to a later one.

# %%
draw_program(decay, x)

# %% [markdown]
# One program can be made better than many small ones: XLA, the compiler, *fuses*
# operations into one loop over the data, so that numbers in between are never written
# to memory.

# %%
compiled_text = jax.jit(decay).lower(x).compile().as_text()
print(compiled_text.count("HloModule"), "program,", compiled_text.count(" fusion("), "fused loop")

# %% [markdown]
# ### The document's example
#
# The document has this function. It "normalises the rows of a two-dimensional matrix",
# says the text: it subtracts the mean and divides by the standard deviation.

# %%
def norm(x):
    """Normalise, as the document does it."""
    x = x - x.mean(0)
    return x / x.std(0)


table = jnp.array([[1.0, 2.0, 3.0], [10.0, 30.0, 80.0]])
print(norm(table))

# %% [markdown]
# Do the rows look normalised? Then each would have the mean 0. Look at it, before you
# repair it.

# %%
print("means of the rows:   ", norm(table).mean(axis=1))
print("means of the columns:", norm(table).mean(axis=0))

# %% [markdown]
# ### Repair: normalise the rows (2 points)
#
# Give each row the mean 0 and the standard deviation 1; it also works under `jax.jit`.
# Repair this.
#
# **Args:**
#
# - `x`: float32[n,m], no row with all numbers equal; its numbers may be tiny, so
#   nothing is added to the deviation.
#
# **Returns:** float32[n,m], a JAX array.

# %%
def normalise_rows(x):
    """Give each row the mean 0 and the standard deviation 1; it also works under
    `jax.jit`.
    """
    x = x - x.mean(0)
    return x / x.std(0)


check(normalise_rows)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(normalise_rows)
# solution(normalise_rows)

# %% [markdown]
# So the document's function normalises **columns**. Its other claim holds: plain and
# jitted calls agree, to rounding. Do not ask for equal bits: the compiler may add in
# another order.
#
# ### Does it pay?
#
# The document says that jitted code may be "orders of magnitude" faster. Its own
# numbers are 942 µs and 512 µs. See how it is on your computer, for a chain of sines.
# (`block_until_ready` waits until the result is there.)

# %%
def chain(x, links):
    """Take the sine of the sine of ..., `links` times."""
    for _ in range(links):
        x = jnp.sin(x)
    return x


def seconds(function, x, repeats):
    """Time some calls, one by one, the first call included."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(x).block_until_ready()
        times.append(time.perf_counter() - start)
    return times


print("jitted calls:", [f"{s * 1e6:.0f} µs" for s in seconds(jax.jit(partial(chain, links=8)), x, 5)])

# %% [markdown]
# The first call is far slower than the others: it traces and compiles. Now without the
# first calls: how many times as long as the jitted call does the plain call take?

# %%
def plot_ratios(chains=(1, 2, 4, 8, 16, 32)):
    """Plot how many times as long as the jitted call the plain call takes."""
    x = jnp.ones(1000)
    ratios = []
    for links in chains:
        link = partial(chain, links=links)
        plain, jitted = seconds(link, x, 30), seconds(jax.jit(link), x, 30)
        ratios.append(np.median(plain[1:]) / np.median(jitted[1:]))
    _, axes = plt.subplots(figsize=(5, 2.4), layout="constrained")
    axes.plot(chains, ratios, "o-")
    axes.axhline(1, color="grey", linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_xticks(chains, [str(links) for links in chains])
    axes.set_xlabel("operations in the chain")
    axes.set_ylabel("plain time / jitted time")
    plt.show()


plot_ratios()

# %% [markdown]
# One operation gains nothing: it was one program before. The more operations, the more
# `jit` saves. (The numbers wander on a busy computer.) But the price of the first call
# must be earned back.

# %% [markdown]
# ### Exercise: When does it pay? (2 points)
#
# Tell from measured times how much `jax.jit` saves, and after how many calls.
#
# The typical time of a call is the median without the first call of the list.
#
# **Args:**
#
# - `plain_s`: list of seconds of several calls, in order; the first is the very first
#   call.
# - `jitted_s`: the same for the jitted function: its first call also traces and
#   compiles. Its typical time is the shorter one.
#
# **Returns:** A tuple `(ratio, calls)`: the typical plain time divided by the typical
# jitted time, a float; and the smallest number of calls, an int, for which the jitted
# calls, the first included, take no longer in all than as many typical plain calls.

# %%
def what_jit_saves(plain_s, jitted_s):
    """Tell from measured times how much `jax.jit` saves, and after how many calls."""
    ...


check(what_jit_saves)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(what_jit_saves)
# solution(what_jit_saves)

# %% [markdown]
# So jit what is called often, or is long. A call that is made once gains nothing.
#
# ### What jit refuses
#
# A program has fixed shapes: `jit` must know the shape of every array **before** it
# knows any number. Not all code can live with that.

# %% [markdown]
# ### Exercise: How many will there be? (1 point)
#
# Select the negative numbers, in their order, with a mask as the index.
#
# It works without `jax.jit`. Under `jax.jit` JAX refuses; let its error pass.
#
# **Args:**
#
# - `x`: float32[n], a JAX array.
#
# **Returns:** float32[k], a JAX array: the k numbers that are less than 0. Zero is not,
# of either sign, and NaN is not.

# %%
def negatives(x):
    """Select the negative numbers, in their order, with a mask as the index."""
    ...


check(negatives)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(negatives)
# solution(negatives)

# %% [markdown]
# Here is the error. (Up to JAX 0.6.0 the message said `got ShapedArray(bool[3])`; now
# it is `got bool[3]`.)

# %%
try:
    jax.jit(lambda x: x[x < 0])(jnp.array([1.0, -2.0, 3.0]))
except jax.errors.NonConcreteBooleanIndexError as error:
    print("NonConcreteBooleanIndexError:", str(error).splitlines()[0])

# %% [markdown]
# What to do? Often you do not need the selected numbers themselves, but their sum, or
# mean. Then **keep the shape**, and make the others harmless: `jnp.where(mask, x, 0.0)`
# has as many numbers as x.

# %%
x = jnp.array([3.0, -1.0, 2.0, -5.0])
print(x[x > 2.5], "  shape", x[x > 2.5].shape)
print(jnp.where(x > 2.5, x, 0.0), "  shape", jnp.where(x > 2.5, x, 0.0).shape)

# %% [markdown]
# ### Make it jit-safe: the mean of the negatives (3 points)
#
# Return the mean of the negative numbers; 0 where there are none. Repair this: it must
# work under `jax.jit`.
#
# The other numbers do not count, whatever they are: zeros, infinity or NaN. With minus
# infinity the mean is that.
#
# **Args:**
#
# - `x`: float32[n].
#
# **Returns:** float32[].

# %%
def mean_of_negatives(x):
    """Return the mean of the negative numbers; 0 where there are none."""
    chosen = x[x < 0]
    if len(chosen) == 0:
        return jnp.float32(0.0)
    return chosen.mean()


check(mean_of_negatives)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(mean_of_negatives)
# solution(mean_of_negatives)

# %% [markdown]
# ## Part 2. What your function sees
#
# How can a function run on no numbers? `jax.jit` calls it with **tracers**. A tracer
# stands in for an array: it has a shape and a dtype, and no values. Each operation on
# it is written down. That is called *tracing*.

# %%
@jax.jit
def tell(v):
    """Print what arrives, and multiply it by ten."""
    print("v is", v)
    return 10 * v


print(tell(jnp.arange(3)))
print(tell(jnp.arange(3) + 5))

# %% [markdown]
# The first call printed a tracer, and still gave numbers: after tracing, the recorded
# operations were compiled and run. The second call printed nothing. Your Python code
# did not run; the compiled program did.

# %% [markdown]
# ### Exercise: A look inside (2 points)
#
# Jit this function, and let it print what it sees while it is traced.
#
# It prints four lines: `Running f():`, then `x = ...`, `y = ...` and `result = ...`,
# with what `print` shows of each. A second call with the same shapes prints nothing, as
# with `tell` above.
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
# (In older texts a tracer is printed as
# `Traced<ShapedArray(float32[3,4])>with<DynamicJaxprTrace(level=1/0)>`. Since JAX 0.8.2
# it is `JitTracer(float32[3,4])`.)
#
# `show_lines` shows the same for each line of a function, without any `print`: what is
# traced, and what is plain Python (*static*).

# %%
def scaled_sum(x, y):
    """Add two arrays and divide by how many numbers there are."""
    total = x + y
    count = len(x)
    return total / count


show_lines(scaled_sum, jnp.ones(4), jnp.ones(4))

# %% [markdown]
# ### When does it trace again?
#
# A recorded program fits one shape and one dtype of each argument. (A Python number is
# traced, too: as a scalar of a weak type.) `watch_traces` counts the traces in a block,
# and says why there was one more.

# %%
@jax.jit
def double(x):
    """Return 2 x."""
    return 2 * x


with watch_traces() as traces:
    for value in (jnp.ones(3), jnp.zeros(3), jnp.ones(4)):
        double(value)
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
# ### Exercise: Count the traces (2 points)
#
# Call one new jitted function of your own with each argument, and tell how often it has
# been traced by then.
#
# **Args:**
#
# - `arguments`: a list of JAX arrays, NumPy arrays and Python numbers.
#
# **Returns:** A list of ints, one for each argument: how many traces there were when
# its call was done.

# %%
def traces_so_far(arguments):
    """Call one new jitted function of your own with each argument, and tell how often
    it has been traced by then.
    """
    ...


check(traces_so_far)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(traces_so_far)
# solution(traces_so_far)

# %% [markdown]
# ### What is written down
#
# The recorded program is called a **jaxpr** (JAX expression). You have seen one in
# Part 1. It has the operations on tracers, and nothing else: no `print`, no `if`, no
# loop, no names of yours.

# %%
def with_side_effects(x, y):
    """Do some things that will not be written down."""
    print("this is printed once, while tracing")
    result = [x, y]
    for _ in range(2):
        result.append(result[-1] * result[-2])
    return result[-1] if len(result) > 3 else x


draw_program(with_side_effects, 2.0, 3.0)

# %% [markdown]
# In Python a jaxpr is an object. Each of its `eqns` has a `primitive`, the kind of
# operation, and that has a `name`.

# %%
print(listing.eqns[0].primitive.name, "is the first of", len(listing.eqns))

# %% [markdown]
# The document shows the program of the next function. `jnp.dot` becomes the operation
# `dot_general`.

# %%
def dot_of_sums(x, y):
    """Compute the dot product of x + 1 and y + 1."""
    return jnp.dot(x + 1, y + 1)

# %% [markdown]
# ### Exercise: Read the record (1 point)
#
# Trace a function, and return its jaxpr as text, together with the names of its
# operations.
#
# **Args:**
#
# - `function`: a function of arrays.
# - `args`: its arguments.
#
# **Returns:** A tuple `(text, names)`: the jaxpr as `str` gives it; and a list of the
# names of its operations, in the order in which they stand there, such as
# `["add", "add", "dot_general"]`.

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
# (Up to JAX 0.6.0 the numbers in a jaxpr had no type: `add a 1.0`. Now it is
# `add a 1.0:f32[]`.)
#
# ### Frozen values
#
# What a function takes from **outside**, a global name or a variable of the function
# around it, is read while it is traced. Then it is frozen.

# %%
gain = 10.0


@jax.jit
def amplified(x):
    """Multiply by the global `gain`."""
    return x * gain


print(amplified(2.0))
gain = 1000.0
print(amplified(2.0), "although gain is", gain)

# %% [markdown]
# No error, no warning: just an old number.

# %% [markdown]
# ### Repair: the frozen rate (2 points)
#
# Make one step for each rate: x becomes x - rate * x. This uses the wrong rates: repair
# it.
#
# The step, or all of them together, stays jitted, so that nothing is computed outside
# of `jax.jit`. It is traced once for all rates.
#
# **Args:**
#
# - `x`: float32[n].
# - `rates`: a list of floats, one or more.
#
# **Returns:** float32[n]: x after all steps.

# %%
def steps_with_rates(x, rates):
    """Make one step for each rate: x becomes x - rate * x."""
    rate = 0.0

    @jax.jit
    def step(x):
        return x - rate * x

    for k in range(len(rates)):
        rate = rates[k]
        x = step(x)
    return x


check(steps_with_rates)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(steps_with_rates)
# solution(steps_with_rates)

# %% [markdown]
# ### Tracers that escape
#
# The opposite mistake: to carry a tracer **out** of the function, by a list or a
# global. It stands for no number, and when the trace is over, it is of no use.

# %%
kept = []


@jax.jit
def keep_and_sum(x):
    """Append the squares to a list outside, and return their sum."""
    squares = x**2
    kept.append(squares)
    return squares.sum()


print(keep_and_sum(jnp.arange(3.0)))
print(kept)
try:
    kept[0] + 1
except jax.errors.UnexpectedTracerError as error:
    print("UnexpectedTracerError:", str(error).splitlines()[0])

# %% [markdown]
# ### Repair: the leak (2 points)
#
# Run x through some layers; return the sum of the last one, and all layers. This leaks
# tracers: repair it.
#
# The model stays jitted.
#
# **Args:**
#
# - `x`: float32[n].
# - `weights`: a list of floats, one for each layer; one or more.
#
# **Returns:** A tuple `(total, layers)`: float32[], and a list of one float32[n] for
# each layer.

# %%
def sum_and_layers(x, weights):
    """Run x through some layers; return the sum of the last one, and all layers."""
    saved = []

    @jax.jit
    def model(x):
        for weight in weights:
            x = jnp.tanh(weight * x)
            saved.append(x)
        return x.sum()

    total = model(x)
    return total, saved


check(sum_and_layers)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(sum_and_layers)
# solution(sum_and_layers)

# %% [markdown]
# ### A new function each time
#
# `jax.jit` keeps its programs with the *function*. A `lambda`, a `partial` or an inner
# `def` that is made anew is a new function: nothing is remembered.

# %%
with watch_traces() as traces:
    for shift in (1.0, 2.0, 3.0):
        jax.jit(lambda v, shift=shift: v + shift)(jnp.ones(3))
traces

# %% [markdown]
# ### Make it fast: four calls, one trace (2 points)
#
# Compute factor * x + 1 with a jitted function. This is traced in each call: make it
# one trace for all of them.
#
# **Args:**
#
# - `x`: float32[n].
# - `factor`: float.
#
# **Returns:** float32[n].

# %%
def louder(x, factor):
    """Compute factor * x + 1 with a jitted function."""
    return jax.jit(lambda v: factor * v + 1)(x)


check(louder)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(louder)
# solution(louder)

# %% [markdown]
# ## Part 3. Static values
#
# While Python traces, an `if` must know where to go. On a tracer it cannot.

# %%
def negate_if(x, neg):
    """Return -x if neg is true, else x."""
    return -x if neg else x


print(negate_if(1, True), negate_if(1, False))
show_lines(negate_if, jnp.array(1), jnp.array(True))

# %% [markdown]
# One way out: declare the argument **static**. Then it is no tracer but the plain
# Python value, and `jit` makes one program for each value that it meets. You name
# static arguments when you jit: by place, `static_argnums=(1,)`, or by name,
# `static_argnames="neg"`.

# %% [markdown]
# ### Exercise: Traced or static? (2 points)
#
# Jit `negate_if`, with a static or a traced `neg`.
#
# **Args:**
#
# - `static`: True or False, whether `neg` is to be static.
#
# **Returns:** The jitted `negate_if`, a function of x and neg. If `static` is False,
# all its arguments are traced, and a call
#
# - `fails`: let it.

# %%
def jit_negate_if(static):
    """Jit `negate_if`, with a static or a traced `neg`."""
    ...


check(jit_negate_if)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(jit_negate_if)
# solution(jit_negate_if)

# %% [markdown]
# The other way out: keep the flag traced, and compute with it. `jnp.where(neg, -x, x)`
# evaluates both and picks; one program serves both flags. It also works for a flag that
# another program has computed.

# %%
pick = jax.jit(lambda x, neg: jnp.where(neg, -x, x))
with watch_traces() as traces:
    print(pick(1, True), pick(1, False))
traces

# %% [markdown]
# ### What static costs
#
# Each new static value is traced **and compiled**: see the reasons below. So make
# static what decides about shapes or about Python's way, and little else. A static
# value must be hashable: a tuple, not a list.

# %%
power = jax.jit(lambda x, n: x**n, static_argnums=(1,))
with watch_traces() as traces:
    for n in (2, 3, 2):
        power(1.5, n)
traces

# %% [markdown]
# ### Make it jit-safe: which one is static? (3 points)
#
# Add `width` neighbours at each place, times a scale. Jit this function, all of it: one
# program for each width.
#
# It is called as it is, and not put into another `jax.jit`.
#
# **Args:**
#
# - `x`: float32[n].
# - `width`: int, from 1 to n.
# - `scale`: float; every call may bring another one.
#
# **Returns:** float32[n-width+1]: number i is the scale times the sum of
# `x[i : i + width]`.

# %%
def moving_sum(x, width, scale):
    """Add `width` neighbours at each place, times a scale."""
    window = jnp.ones(width)
    return scale * jnp.convolve(x, window, mode="valid")


check(moving_sum)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(moving_sum)
# solution(moving_sum)

# %% [markdown]
# ### A loop of unknown length
#
# `range(n)` needs a Python int. With a static n it works: the loop is *unrolled* while
# tracing, so that the program grows with n, and each n has its own.

# %%
def halves(x, n):
    """Halve x n times, with a Python loop."""
    for _ in range(n):
        x = x / 2
    return x


draw_program(partial(halves, n=4), 1.0)

# %% [markdown]
# `jax.lax.fori_loop(start, stop, body, value)` is a loop **inside** the program. It
# runs `value = body(i, value)` for each i. `stop` may be traced, and `value` may be a
# tuple; its shapes and dtypes must stay.

# %%
halve_often = jax.jit(lambda x, n: jax.lax.fori_loop(0, n, lambda i, value: value / 2, x))
with watch_traces() as traces:
    print([float(halve_often(1.0, n)) for n in (0, 1, 4, 10)])
traces

# %% [markdown]
# ### Make it fast: one program for every n (3 points)
#
# Add up the first n powers of each number: x + x² + ... + xⁿ. Make it work under
# `jax.jit`, with a traced n.
#
# One program serves every n, and its length does not depend on n. n may be 0, and a
# number of x may be 1.
#
# **Args:**
#
# - `x`: float32[m].
# - `n`: int32[], or a Python int; 0 or more.
#
# **Returns:** float32[m].

# %%
def sum_of_powers(x, n):
    """Add up the first n powers of each number: x + x² + ..."""
    total, power = jnp.zeros_like(x), jnp.ones_like(x)
    for _ in range(n):
        power = power * x
        total = total + power
    return total


check(sum_of_powers)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(sum_of_powers)
# solution(sum_of_powers)

# %% [markdown]
# ## Part 4. Static and traced operations
#
# Not only values are static or traced: **operations** are. A static operation is done
# by Python, once, while tracing. A traced one is written into the program and done in
# each call.
#
# The shape of a tracer is static: a plain tuple of ints. But what you do with it may
# make it traced again.

# %% [markdown]
# ### Exercise: Three lines (1 point)
#
# Jit this function, and let it print what is traced.
#
# It prints three lines: `x = ...`, `x.shape = ...` and
# `jnp.array(x.shape).prod() = ...`, with what `print` shows of each, and returns the
# last one.
#
# **Args:**
#
# - `x`: a JAX array with one axis or more.
#
# **Returns:** int32[]: `jnp.array(x.shape).prod()`.

# %%
def three_lines(x):
    """Jit this function, and let it print what is traced."""
    ...


check(three_lines)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(three_lines)
# solution(three_lines)

# %% [markdown]
# So `jnp` on a shape makes a tracer, and the shape of a result must not be one. Here
# are two ways to multiply the numbers of a shape.

# %%
def numpys_product(shape):
    """Multiply with NumPy: a static operation."""
    return np.prod(shape)


def jaxs_product(shape):
    """Multiply with JAX: a traced operation."""
    return jnp.array(shape).prod()

# %% [markdown]
# ### Exercise: Flatten, with two libraries (2 points)
#
# Make a jitted function that flattens an array; its new length is computed by
# `product`, while it is traced.
#
# **Args:**
#
# - `product`: a function that multiplies the numbers of a shape: `numpys_product` or
#   `jaxs_product`. Its result goes into `reshape` as it is. One of the two fails; let
#   it.
#
# **Returns:** A jitted function: an array with one axis or more -> the same numbers in
# a vector.

# %%
def flatten_with(product):
    """Make a jitted function that flattens an array; its new length is computed by
    `product`, while it is traced.
    """
    ...


check(flatten_with)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(flatten_with)
# solution(flatten_with)

# %% [markdown]
# Here is the failing one, line by line. (The document's message blames the operation
# `convert_element_type`; since JAX 0.6.1 it is `reduce_prod`: an array made of plain
# numbers is no operation of its own any more.)

# %%
def flatten_by_jax(x):
    """Flatten, with a length that is traced."""
    length = jnp.array(x.shape).prod()
    return x.reshape(length)


show_lines(flatten_by_jax, jnp.ones((2, 3)))

# %% [markdown]
# That gives the rule: **`np` for what should stay static, `jnp` for what should be
# traced.** NumPy cannot do more: it does not know tracers.

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


def half(x):
    """Divide by two."""
    return x / 2


def unchanged(x):
    """Return x as it is."""
    return x


def shape_of(x):
    """Return the shape of x, a tuple."""
    return x.shape


def positive_numbers(x):
    """Select by a mask."""
    return x[x > 0]


def four_columns(x):
    """Refuse anything that has not four columns."""
    if x.shape[-1] != 4:
        raise ValueError("four columns are needed")
    return x

# %% [markdown]
# ### Transfer: static, traced or refused? (3 points)
#
# Find out how an operation behaves under `jax.jit`, where x is a tracer.
#
# **Args:**
#
# - `operation`: a function of one array, such as `size_by_numpy`. It may return what it
#   gets, or a tuple of ints, and it may raise any exception.
# - `x`: an array.
#
# **Returns:** A str: "static" if its result is a plain Python or NumPy value, "traced"
# if it is a tracer, "refused" if it raises an exception, of whatever class.

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
# See it line by line: the size is computed once, by NumPy. Only the sum and the
# division are in the program.

# %%
def mean(x):
    """Compute the mean: a static size, and a traced sum."""
    size = np.prod(x.shape)
    total = jnp.sum(x)
    return total / size


show_lines(mean, jnp.ones((2, 3)))

# %% [markdown]
# ## What to remember
#
# - `jit` runs a function as one program. It pays for what is long or called often; the
#   first call traces and compiles.
# - While it traces, your code sees tracers: shapes and dtypes, no numbers. Prints and
#   appends happen once for each trace.
# - A new shape, dtype, static value or function object is traced anew; new numbers are
#   not.
# - Values from outside are frozen; tracers must not escape. Pass arguments, return
#   results.
# - No selecting by mask, no `if` on a tracer: use `jnp.where`, `fori_loop`, or a static
#   argument, which costs a compile for each value.
# - `np` for what is static, `jnp` for what is traced.

# %% [markdown]
# ## What to read next
#
# - [How to think in
#   JAX](https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html), the page behind
#   this lesson
# - [Just-in-time compilation](https://docs.jax.dev/en/latest/jit-compilation.html):
#   when not to jit, and caching
# - [JAX errors](https://docs.jax.dev/en/latest/errors.html): each error with its causes
#   and repairs
# - [Control flow](https://docs.jax.dev/en/latest/control-flow.html): `cond`, `scan`,
#   `while_loop`
# - [The jaxpr language](https://docs.jax.dev/en/latest/jaxpr.html)
