# %% [markdown]
# # Random depth
#
# A network may run a random number of layers for each example: **random depth**. JAX
# fixes all sizes before it runs. So what do you do when the size is a random number?
# This lesson follows one real question about it, and answers it.
#
# After this lesson you can
#
# - say why a value inside `jit` or `vmap` cannot become a size, and read the error,
# - run a different number of steps for each example, in two ways, and say which one has
#   a gradient,
# - compile once for all sizes, or a few times.
#
# You need NumPy and the lesson `random_numbers`: keys, `split`, `vmap`, `scan`. It
# takes about two hours.
#
# Types such as `float32[n,m]` are explained in [How to read a
# contract](arrays_and_layers.ipynb#How-to-read-a-contract), in the lesson
# `arrays_and_layers`.

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

start("random_depth")

# %%
import time
from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxguide.tracing import draw_program, show_lines

# %% [markdown]
# ## Part 1. Draw a depth
#
# The question came from a person with a network of at most 6 steps. For every example,
# the depth should be a random number from 1 to 6. They wrote
# `jax.random.randint(key, (), 1, MAX_DEPTH)`.

# %%
MAX_DEPTH = 6
for key in jax.random.split(jax.random.key(0), 5):
    print(jax.random.randint(key, (), 1, MAX_DEPTH))

# %% [markdown]
# Five numbers look fine. Look at many before you believe it.

# %% [markdown]
# ### Exercise: Which depths occur? (2 points)
#
# Draw `jax.random.randint(key, (), low, high)` once for each key; say which numbers
# came out.
#
# **Args:**
#
# - `keys`: `key<fry>[n]`.
# - `low`: int.
# - `high`: int, more than `low`.
#
# **Returns:** int32[m], the m different numbers that were drawn, in increasing order.

# %%
def depths_that_occur(keys, low, high):
    """Draw `jax.random.randint(key, (), low, high)` once for each key; say which
    numbers came out.
    """
    ...


check(depths_that_occur)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(depths_that_occur)
# solution(depths_that_occur)

# %% [markdown]
# So the network of the question would never have run 6 steps. No error says so: count
# before you trust a bound. From here on we draw with `draw_depth`.

# %%
def draw_depth(key):
    """Draw a depth from 1 to MAX_DEPTH."""
    return jax.random.randint(key, (), 1, MAX_DEPTH + 1)


print(draw_depth(jax.random.key(0)))

# %% [markdown]
# ### Bounds that are not known yet
#
# The question compiled its sampler with `static_argnums=(1, 2)`: the bounds are then
# **static**, Python numbers known when JAX compiles. Everything else that a compiled
# function gets is **traced**: known only when the program runs. A traced number cannot
# be used where a static one is needed.

# %%
@partial(jax.jit, static_argnums=(1, 2))
def get_rand_num(key, lower_bound, upper_bound):
    """Draw a number with static bounds."""
    key, subkey = jax.random.split(key)
    number = jax.random.randint(subkey, shape=(), minval=lower_bound, maxval=upper_bound)
    return number.astype(int)


print(get_rand_num(jax.random.key(0), 1, 6))
try:
    jax.jit(lambda high: get_rand_num(jax.random.key(0), 1, high))(6)
except ValueError as error:
    print(str(error)[:70])

# %% [markdown]
# Does `randint` need its bounds when it compiles? Only its *shape* must be static.

# %% [markdown]
# ### Exercise: Bounds may be traced (2 points)
#
# Repair this sampler: it must also work where its bounds are traced.
#
# Numbers from `low` to `high - 1` are equally likely. Each of them can come, also if
# they are many. One compiled program must serve all bounds.
#
# **Args:**
#
# - `key`: `key<fry>[]`.
# - `low`: int or int32[].
# - `high`: int or int32[], more than `low`; `high - low` fits into int32 too.
#
# **Returns:** int32[].

# %%
def depth_between(key, low, high):
    """Repair this sampler: it must also work where its bounds are traced."""

    @partial(jax.jit, static_argnums=(1, 2))
    def get_rand_num(key, low, high):
        key, subkey = jax.random.split(key)
        return jax.random.randint(subkey, (), low, high).astype(int)

    return get_rand_num(key, low, high)


check(depth_between)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(depth_between)
# solution(depth_between)

# %% [markdown]
# ## Part 2. Why a traced value cannot become a size
#
# This was the question's smallest example. It fails. The `try` shows how.

# %%
def smallest_example():
    """Make an array with one number, take the number out, make it an integer."""
    return jnp.zeros((1,)).item().astype(int)


try:
    jax.jit(smallest_example)()
except jax.errors.ConcretizationTypeError as error:
    print(type(error).__name__)
    print(str(error).splitlines()[0])

# %% [markdown]
# "Abstract tracer": inside `jit` an array has a shape and a dtype, but no numbers yet.
# `item()` asks for a number. In JAX an integer that the program computes is an *array
# without axes*, of shape `()`. It needs no Python number.

# %% [markdown]
# ### Exercise: An integer that stays in JAX (1 point)
#
# Repair this: turn an array of one number into one integer. It must work under
# `jax.jit`.
#
# The part after the decimal point is cut off: 2.7 becomes 2, and -2.7 becomes -2.
#
# **Args:**
#
# - `x`: float32[1], a number between the smallest and the largest int32.
#
# **Returns:** int32[].

# %%
def as_integer(x):
    """Repair this: turn an array of one number into one integer."""
    return x.item().astype(int)


check(as_integer)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(as_integer)
# solution(as_integer)

# %% [markdown]
# ### What fails, and what does not
#
# The question said: "`jit` requires that all manipulations be of the JAX type". Here
# are small functions to try it on.

# %%
def value_to_float(x):
    """Ask for the value of x."""
    return float(x) + 1.0


def shape_to_float(x):
    """Ask for the shape of x."""
    return float(x.shape[0]) + 1.0


def value_to_int(x):
    """Make a Python int."""
    return int(x)


def value_to_item(x):
    """Take the number out."""
    return x.item()


def value_as_index(x):
    """Look up a Python list."""
    return [10, 20, 30][x]


def value_as_range(x):
    """Count in Python."""
    return len(range(x))


def value_in_jax(x):
    """Stay in JAX."""
    return jnp.where(x > 0, x, -x)

# %% [markdown]
# ### Exercise: Fails plain, fails compiled (3 points)
#
# Call a function plainly and under `jax.jit`, and say which exceptions they raise.
#
# **Args:**
#
# - `function`: any function of the arguments.
# - `*args`: the arguments; under `jax.jit` they must be traced.
#
# **Returns:** A tuple of two str: the name of the exception's class for the plain call,
# and for the compiled call; "" for a call that raises nothing.

# %%
def failure_names(function, *args):
    """Call a function plainly and under `jax.jit`, and say which exceptions they raise.
    """
    ...


check(failure_names)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(failure_names)
# solution(failure_names)

# %% [markdown]
# So the sentence is half right. It is true of traced **values**. Python may do anything
# with what is **static**: shapes, dtypes, Python numbers. `show_lines` colours the two
# kinds.

# %%
def rows_and_sum(x):
    """Mix a static and a traced number."""
    rows = x.shape[0]
    total = x.sum()
    return total / rows


show_lines(rows_and_sum, jnp.ones((3, 2)))

# %% [markdown]
# ### Is `vmap` a hidden `jit`?
#
# The question also said "`vmap` uses `jit` implicitly". `jit` runs the Python code only
# when it meets new shapes or dtypes; later calls run the compiled program. If `vmap`
# used `jit`, it would do the same.

# %% [markdown]
# ### Predict: runs of the Python code (1 point)
#
# `mapped = jax.vmap(f)`, and `mapped(xs)` is called 3 times. How often does the Python
# code of `f` run?
#
# **Returns:** An int.

# %%
def predict_body_runs():
    """`mapped = jax.vmap(f)`, and `mapped(xs)` is called 3 times."""
    ...


check(predict_body_runs)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_body_runs)
# solution(predict_body_runs)

# %% [markdown]
# So `vmap` is no `jit`. What both have in common is *tracing*: inside, the mapped
# arrays are tracers, and their values cannot become Python numbers. That is why the
# question's code fails under `vmap` alone.

# %% [markdown]
# ### The network of the question
#
# Here is a small copy of it. One **block** mixes the state `h` with the input `x`. The
# network runs the block `depth` times, in a `scan` over `jnp.arange(depth)`. Tokens
# (whole numbers) become rows of 8 numbers first.

# %%
WEIGHTS = jnp.asarray(0.3 * np.random.default_rng(1).normal(size=(8, 8)), dtype="float32")
TABLE = jnp.asarray(np.random.default_rng(2).normal(size=(5, 8)), dtype="float32")


def block(weights, h, x):
    """Run one step: weights[d,d], h[n,d], x[n,d] -> [n,d]."""
    return jnp.tanh(h @ weights + x)


tokens = jnp.zeros((300, 32)).astype(int)
print(tokens.shape, "->", TABLE[tokens].shape)

# %% [markdown]
# ### Exercise: A fixed depth works (2 points)
#
# Run `block` the same number of times for every example of a batch.
#
# Each example starts with a state of zeros: h = 0, then `depth` times h =
# block(weights, h, x).
#
# **Args:**
#
# - `weights`: float32[d,d], the same for all.
# - `xs`: float32[b,n,d], one input [n,d] for each example.
# - `depth`: int, static; 0 or more.
#
# **Returns:** float32[b,n,d], the last state of each example.

# %%
def run_fixed(weights, xs, depth):
    """Run `block` the same number of times for every example of a batch."""
    ...


check(run_fixed)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(run_fixed)
# solution(run_fixed)

# %% [markdown]
# ### A depth for each example
#
# Each example should get a depth of its own, so it needs a **key** of its own.

# %% [markdown]
# ### Exercise: One key for each example (2 points)
#
# Make a key for each example, and draw a depth from 1 to MAX_DEPTH with each of them,
# by `draw_depth`.
#
# **Args:**
#
# - `key`: `key<fry>[]`.
# - `tokens`: int32[b,n]: b examples of n tokens.
#
# **Returns:** A tuple of two arrays: the keys, `key<fry>[b]`, and the depths int32[b].

# %%
def depths_for_batch(key, tokens):
    """Make a key for each example, and draw a depth from 1 to MAX_DEPTH with each of
    them, by `draw_depth`.
    """
    ...


check(depths_for_batch)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(depths_for_batch)
# solution(depths_for_batch)

# %% [markdown]
# ### Now both together fail
#
# `react_forward` is the question's function, and the rest are small relatives. Under
# `vmap` most of them get one depth per example. Read the error: which line, which
# function, what does it need?

# %%
def int_of_a_draw(key):
    """Draw a number and make it a Python int."""
    return int(jax.random.randint(key, (), 1, 5))


def int_of_a_constant(x):
    """Multiply by a Python int that comes from no mapped array."""
    return x * int(jnp.arange(3).sum())


def react_forward(key, x):
    """Run a random number of steps: fails under vmap."""
    k = draw_depth(key)
    h, _ = jax.lax.scan(lambda h, _: (block(WEIGHTS, h, x), None), jnp.zeros_like(x), jnp.arange(k))
    return h


def arange_to(n):
    """Count to n."""
    return jnp.arange(n)


def arange_from_zero(n):
    """Count from 0 to n."""
    return jnp.arange(0, n)


def scan_to(n):
    """Run n rounds."""
    return jax.lax.scan(lambda c, _: (c + 1, None), 0, length=n)


def zeros_of(n):
    """Make n zeros."""
    return jnp.zeros(n)


print(react_forward(jax.random.key(0), TABLE[tokens[0]]).shape, "one example: no vmap, no jit, no problem")

# %% [markdown]
# ### Exercise: Read the complaint (3 points)
#
# Map a function over batches, and return how it complains.
#
# **Args:**
#
# - `function`: any function of one example.
# - `*batches`: arrays; every one is mapped over its first axis.
#
# **Returns:** A tuple `(name, lines)`: the name of the exception's class, a str, and a
# list of the first two lines of its message, or of its only line. Without an exception:
# `("", [])`.

# %%
def complaint_under_vmap(function, *batches):
    """Map a function over batches, and return how it complains."""
    ...


check(complaint_under_vmap)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(complaint_under_vmap)
# solution(complaint_under_vmap)

# %% [markdown]
# The message of `scan` already says what to do: "use `while_loop` or `fori_loop`". The
# answer to the question named two repairs, without code. You write both now.
#
# ## Part 3. Two repairs
#
# **Repair A: run the largest number of steps, and mask.** Every example runs MAX_DEPTH
# steps. After its own depth, an example keeps its old state. `jnp.where` chooses;
# nothing has a traced size. Here is the idea on plain numbers.

# %%
def double_some_rounds(start, rounds):
    """Double a number in `rounds` of 5 rounds."""

    def step(number, i):
        return jnp.where(i < rounds, 2 * number, number), number

    return jax.lax.scan(step, start, jnp.arange(5))


for rounds in (1, 3):
    last, seen = double_some_rounds(1, rounds)
    print("rounds:", rounds, " numbers:", seen, " last:", last)

# %% [markdown]
# ### Repair A: mask the rest (3 points)
#
# Run `block` `depth` times on a state of zeros, where `depth` is traced.
#
# It must work under `jax.jit` and `jax.vmap`, and have the gradient of the plain loop,
# by `weights` and by `x`. The program holds the block once, not MAX_DEPTH times.
#
# **Args:**
#
# - `weights`: float32[d,d].
# - `x`: float32[n,d].
# - `depth`: int32[], from 0 to MAX_DEPTH.
#
# **Returns:** float32[n,d], the last state.

# %%
def masked_depth(weights, x, depth):
    """Run `block` `depth` times on a state of zeros, where `depth` is traced."""
    ...


check(masked_depth)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(masked_depth)
# solution(masked_depth)

# %% [markdown]
# **Repair B: a loop that counts at run time.**
# `jax.lax.fori_loop(start, stop, body, state)` calls `body(i, state)` for each i. Its
# `stop` may be traced. (The answer wrote `jax.fori_loop`; it lives in `jax.lax`.)

# %%
def double_rounds(start, rounds):
    """Double a number `rounds` times."""
    return jax.lax.fori_loop(0, rounds, lambda i, number: 2 * number, start)


print(jax.vmap(double_rounds, in_axes=(None, 0))(1, jnp.array([1, 3, 10])))

# %% [markdown]
# ### Repair B: count at run time (3 points)
#
# Run `block` `depth` times on a state of zeros, where `depth` is traced and has no
# upper bound.
#
# It must work under `jax.jit` and `jax.vmap`. One compiled program serves all depths.
#
# **Args:**
#
# - `weights`: float32[d,d].
# - `x`: float32[n,d].
# - `depth`: int32[], 0 or more; it may be 10 or 1000.
#
# **Returns:** float32[n,d], the last state.

# %%
def counted_depth(weights, x, depth):
    """Run `block` `depth` times on a state of zeros, where `depth` is traced and has no
    upper bound.
    """
    ...


check(counted_depth)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(counted_depth)
# solution(counted_depth)

# %% [markdown]
# `draw_program` shows what a function became. The static loop is a `scan`; the counted
# one is a `while`.

# %%
draw_program(double_some_rounds, 1, jnp.array(3))

# %%
draw_program(double_rounds, 1, jnp.array(3))

# %% [markdown]
# ### What do they cost?
#
# The masked form runs all rounds for everybody. The counted form runs until the
# *longest* example of the batch is done. So one long example makes the whole batch
# slow. Ratios are fair where seconds are not: each bar is a time, divided by that of
# the masked form.

# %%
def cost_of(run, rounds):
    """Return the best time of five calls of a compiled, mapped function."""
    mapped = jax.jit(jax.vmap(run))
    start = jnp.ones((len(rounds), 64, 64)) / 64
    jax.block_until_ready(mapped(start, rounds))
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        jax.block_until_ready(mapped(start, rounds))
        times.append(time.perf_counter() - begin)
    return min(times)


def masked_rounds(h, n):
    """Multiply n times of 200, masked."""
    return jax.lax.fori_loop(0, 200, lambda i, h: jnp.where(i < n, h @ h, h), h)


def counted_rounds(h, n):
    """Multiply n times."""
    return jax.lax.fori_loop(0, n, lambda i, h: h @ h, h)


batches = {"all 10": [10] * 8, "one 200": [10] * 7 + [200], "all 200": [200] * 8}
ratios = [cost_of(counted_rounds, jnp.array(n)) / cost_of(masked_rounds, jnp.array(n)) for n in batches.values()]
figure, axes = plt.subplots(figsize=(5, 2.5))
axes.bar(list(batches), ratios)
axes.axhline(1.0, color="gray", linestyle="--")
axes.set(xlabel="rounds of the 8 examples", ylabel="counted / masked", title="Time, as a ratio")
plt.show()

# %% [markdown]
# ### A `cond` that stays a `cond`
#
# `jax.lax.cond` runs one of two branches. Under `vmap`, rows may choose differently. So
# JAX runs **both** branches for all rows, and then selects: in the program there is no
# `cond` any more, and a `select_n` is the last row. (The `select_n` and `stop_gradient`
# rows before it are for gradients only.)

# %%
def costly(x):
    """Stand for something that takes long: x[d] -> [d]."""
    return jnp.sin(x) * jnp.exp(x)


def choose(flag, x):
    """Run `costly` only if the flag is set: flag[], x[d] -> [d]."""
    return jax.lax.cond(flag, costly, jnp.negative, x)


draw_program(jax.vmap(choose), jnp.array([True, False]), jnp.ones((2, 3)))

# %% [markdown]
# ### Make it fast: one switch for all rows (2 points)
#
# Apply `choose` to all rows with one flag.
#
# The body below gives the right rows, but always pays for both branches.
#
# **Args:**
#
# - `flag`: bool[].
# - `xs`: float32[b,d].
#
# **Returns:** float32[b,d]: row i is `choose(flag, xs[i])`. The program has one `cond`,
# and no `select_n`. It works under `jax.jit`.

# %%
def one_switch_for_all(flag, xs):
    """Apply `choose` to all rows with one flag."""
    return jax.vmap(choose)(jnp.full(len(xs), flag), xs)


check(one_switch_for_all)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(one_switch_for_all)
# solution(one_switch_for_all)

# %% [markdown]
# ## Part 4. Gradients
#
# Four ways to multiply 1 by w, n times. Two know at most how many rounds there are; two
# find out as they run. Training needs the **reverse** gradient, `jax.grad`. The
# **forward** one, `jax.jvp`, pushes a change through the loop.

# %%
def power_masked(w, n):
    """Mask a scan of 8 rounds."""
    return jax.lax.scan(lambda p, i: (jnp.where(i < n, p * w, p), None), 1.0, jnp.arange(8))[0]


def power_masked_fori(w, n):
    """Mask a fori_loop of 8 rounds."""
    return jax.lax.fori_loop(0, 8, lambda i, p: jnp.where(i < n, p * w, p), 1.0)


def power_counted(w, n):
    """Count with a fori_loop of n rounds."""
    return jax.lax.fori_loop(0, n, lambda i, p: p * w, 1.0)


def power_while(w, n):
    """Go on while there are rounds left."""
    return jax.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * w), (0, 1.0))[1]


print([float(power(2.0, 3)) for power in (power_masked, power_masked_fori, power_counted, power_while)])

# %% [markdown]
# ### Exercise: Which loop has a gradient? (3 points)
#
# Take the derivative of `power(w, n)` with respect to `w`, in reverse and forward mode,
# with traced `n`.
#
# **Args:**
#
# - `power`: a function of a float and a number of rounds.
# - `w`: float.
# - `n`: int, the number of rounds; it must be traced.
#
# **Returns:** A tuple `(reverse, forward)`: for each, the derivative as a float, or
# None where JAX raises ValueError.

# %%
def derivatives(power, w, n):
    """Take the derivative of `power(w, n)` with respect to `w`, in reverse and forward
    mode, with traced `n`.
    """
    ...


check(derivatives)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(derivatives)
# solution(derivatives)

# %% [markdown]
# JAX says why: "Reverse-mode differentiation does not work for lax.while_loop or
# lax.fori_loop with dynamic start/stop values". To go backwards it must store every
# round's state, in an array; and an array has a static size.

# %% [markdown]
# ### Exercise: Train with random depth (3 points)
#
# Repair this loss: `jax.grad` of it must work, also under `jax.jit`.
#
# Every example runs `block` as often as its own depth says, from a state of zeros. The
# loss is the mean of the squares of all last states. The gradient is that of plain
# loops, by `weights` and by `xs`.
#
# **Args:**
#
# - `weights`: float32[d,d].
# - `xs`: float32[b,n,d].
# - `depths`: int32[b], each from 0 to MAX_DEPTH.
#
# **Returns:** float32[].

# %%
def depth_loss(weights, xs, depths):
    """Repair this loss: `jax.grad` of it must work, also under `jax.jit`."""

    def state(x, depth):
        return jax.lax.fori_loop(0, depth, lambda i, h: block(weights, h, x), jnp.zeros_like(x))

    return jnp.mean(jax.vmap(state)(xs, depths) ** 2)


check(depth_loss)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(depth_loss)
# solution(depth_loss)

# %% [markdown]
# ### The question's second half
#
# The question ran k steps without a gradient, and then MAX_DEPTH - k steps with one.
# `jax.lax.stop_gradient` passes its value on and lets no gradient through.

# %%
print(jax.value_and_grad(lambda w: w * w)(3.0))
print(jax.value_and_grad(lambda w: w * jax.lax.stop_gradient(w))(3.0))

# %% [markdown]
# ### Predict: does k change the output? (1 point)
#
# k steps without a gradient, then 6 - k with one. Is the *output* for k = 1 another one
# than for k = 4?
#
# **Returns:** True or False.

# %%
def predict_output_depends_on_k():
    """k steps without a gradient, then 6 - k with one."""
    ...


check(predict_output_depends_on_k)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_output_depends_on_k)
# solution(predict_output_depends_on_k)

# %% [markdown]
# ### Exercise: Two phases (3 points)
#
# Run `block` MAX_DEPTH times from zeros; only the last MAX_DEPTH - k steps count for
# the gradient.
#
# k is traced. For `jax.grad` by the weights, the first k steps count as constants. It
# must work under `jax.jit` and `jax.vmap`.
#
# **Args:**
#
# - `weights`: float32[d,d].
# - `x`: float32[n,d].
# - `k`: int32[], from 0 to MAX_DEPTH.
#
# **Returns:** float32[], the mean of the squares of the last state.

# %%
def two_phase_loss(weights, x, k):
    """Run `block` MAX_DEPTH times from zeros; only the last MAX_DEPTH - k steps count
    for the gradient.
    """
    ...


check(two_phase_loss)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(two_phase_loss)
# solution(two_phase_loss)

# %% [markdown]
# So the output cannot tell whether k was honoured; the gradient can. Test what depends
# on the thing that you test.
#
# ### A trap: the mask and the gradient
#
# A masked entry is not used, but its gradient is still computed. The root has an
# infinite slope at 0, and 0 * infinity is nan.

# %%
padded = jnp.array([4.0, 9.0, 0.0, 0.0])
print(jax.grad(lambda x: jnp.where(jnp.arange(4) < 2, jnp.sqrt(x), 0.0).sum())(padded))

# %% [markdown]
# ### Exercise: A mask without nan (3 points)
#
# Repair this: its gradient must be finite, whatever stands behind the first n entries.
#
# The result is the sum of the roots of the first n entries. The other entries are
# padding; their gradient is 0.
#
# **Args:**
#
# - `x`: float32[m]; the first n entries are positive, perhaps tiny; the others
#   anything, also 0, negative or NaN.
# - `n`: int32[], traced, from 0 to m.
#
# **Returns:** float32[].

# %%
def sum_of_roots(x, n):
    """Repair this: its gradient must be finite, whatever stands behind the first n
    entries.
    """
    return jnp.where(jnp.arange(x.shape[0]) < n, jnp.sqrt(x), 0.0).sum()


check(sum_of_roots)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(sum_of_roots)
# solution(sum_of_roots)

# %% [markdown]
# ## Part 5. Few compilations, and other sizes
#
# Sometimes the size is known outside of `jit`, as the length of a text. Each new length
# is a new shape, and so a new compilation. **Buckets** help: pad to the next power of
# two. Then 1000 lengths need 11 programs.

# %%
@jax.jit
def sum_of_exp(padded, n):
    """Add up exp of the first n entries: padded[m], n int -> float."""
    return jnp.where(jnp.arange(padded.shape[0]) < n, jnp.exp(padded), 0.0).sum()


print(sum_of_exp(jnp.array([0.0, 1.0, 0.0, 0.0]), 2))

# %% [markdown]
# ### Exercise: Buckets (3 points)
#
# Add up exp of all values by `sum_of_exp`, padded to the next power of two: 1, 2, 4, 8,
# and so on.
#
# Lengths that pad to the same size must share one compiled program. This function
# itself runs outside of `jit`.
#
# **Args:**
#
# - `values`: a NumPy array float32[n], n at least 1.
#
# **Returns:** float32[].

# %%
def sum_in_bucket(values):
    """Add up exp of all values by `sum_of_exp`, padded to the next power of two: 1, 2,
    4, 8, and so on.
    """
    ...


check(sum_in_bucket)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(sum_in_bucket)
# solution(sum_in_bucket)

# %% [markdown]
# ### Choose k of n
#
# The same thought works for other random sizes. "Choose k of n items" gives an array of
# k items: impossible with traced k. A **mask** of n booleans has a static shape, and
# says the same.

# %% [markdown]
# ### Exercise: Choose k of n, with traced k (3 points)
#
# Choose k of the n items at random: all sets of k items are equally likely.
#
# It must work under `jax.jit` and `jax.vmap`, with traced k.
#
# **Args:**
#
# - `key`: `key<fry>[]`.
# - `items`: float32[n].
# - `k`: int32[], from 0 to n.
#
# **Returns:** bool[n], True for the k chosen items.

# %%
def choose_k(key, items, k):
    """Choose k of the n items at random: all sets of k items are equally likely."""
    ...


check(choose_k)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(choose_k)
# solution(choose_k)

# %% [markdown]
# ## What to remember
#
# - Shapes, lengths and Python numbers are **static**. Values inside `jit` or `vmap` are
#   **traced**, and come too late for `int()`, `item()`, `range` and `arange`.
# - `vmap` is no hidden `jit`; both trace.
# - A size that is random: use the largest size and a **mask** (reverse gradient), or
#   count at run time with `fori_loop` (no reverse gradient; stops with the longest
#   example).
# - A mask hides values, not gradients: give the function harmless inputs.
# - `randint` leaves out its upper bound.
# - Sizes known outside of `jit`: pad to powers of two, and compile a few times only.

# %% [markdown]
# ## What to read next
#
# - [JAX errors](https://docs.jax.dev/en/latest/errors.html): every error of this
#   lesson, with its way out
# - [Control flow](https://docs.jax.dev/en/latest/control-flow.html): `scan`,
#   `fori_loop`, `while_loop`, and gradients
# - [Just-in-time compilation](https://docs.jax.dev/en/latest/jit-compilation.html):
#   static arguments
# - [Pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html)
