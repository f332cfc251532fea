# %% [markdown]
# # Callbacks: Python in the middle of a JAX program
#
# A compiled JAX program is not Python any more. A **callback** goes back to Python in
# the middle of it: to print, to save something, or to call SciPy.
#
# After this lesson you can
#
# - choose between the three kinds of callback, and say which calls are dropped,
#   repeated or reordered,
# - put a NumPy or SciPy function inside `jit`, `vmap` and `scan`, with one host call
#   for a whole batch,
# - keep side effects in order,
# - give a host function a derivative, to any order, and handle its exceptions.
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

start("callbacks")

# %% [markdown]
# Run the cells from top to bottom. `check(...)` tells you what is right.
# `hint(name_of_the_function)` helps a little, and tells how to get more. In a
# **prediction** you guess first; then the real answer is computed.
#
# Types such as `float32[n,m]` are explained in [How to read a
# contract](arrays_and_layers.ipynb#How-to-read-a-contract), in the lesson
# `arrays_and_layers`.

# %%
import importlib
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jax.experimental import io_callback

# %% [markdown]
# ## Part 1. Why callbacks?
#
# Under `jax.jit`, Python runs your function once, with placeholders called **tracers**,
# and writes down a program. After that only the program runs. A plain `print` belongs
# to Python: it prints the placeholder, and only once.

# %%
@jax.jit
def half(x):
    """Halve x, and print it the Python way."""
    print("x is", x)
    return x / 2


half(8.0)
_ = half(6.0)  # prints nothing: Python does not run again

# %% [markdown]
# `jax.debug.print` writes the print *into the program*. It shows the number, at every
# call.

# %%
@jax.jit
def half_again(x):
    """Halve x, and print it when the program runs."""
    jax.debug.print("x is {}", x)
    return x / 2


half_again(8.0)
_ = half_again(6.0)

# %% [markdown]
# ### Exercise: Two prints (1 point)
#
# Compute y = x + 1, print it in two ways, and return 2 * y.
#
# Both lines read `intermediate value: ` and y. One comes from Python's `print`, the
# other from `jax.debug.print`.
#
# **Args:**
#
# - `x`: int, or int32[]; traced under `jax.jit`.
#
# **Returns:** int, or int32[].

# %%
def print_both_ways(x):
    """Compute y = x + 1, print it in two ways, and return 2 * y."""
    ...


check(print_both_ways)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(print_both_ways)
# solution(print_both_ways)

# %% [markdown]
# The tracer's text is not a promise. Up to JAX 0.6.0 it read
# `Traced<ShapedArray(int32[], weak_type=True)>with<DynamicJaxprTrace>`; since 0.8.2 it
# is `JitTracer(~int32[])`. The tilde means *weak type*: the dtype came from a Python
# number.

# %% [markdown]
# ### Three kinds
#
# | kind | the host function | JAX may |
# | --- | --- | --- |
# | `jax.pure_callback` | only computes a value | drop it, repeat it, move it |
# | `jax.experimental.io_callback` | does something: saves, counts, reads | not drop it because nobody uses its result |
# | `jax.debug.callback` | watches; gives nothing back | do with it what it does with the code around it |
#
# "Host" is the Python process; "device" is where the arrays are computed. A callback
# that returns a value must *promise* its shape and dtype first, because the program is
# compiled before the value is there.

# %%
promise = jax.ShapeDtypeStruct((), jnp.float32)


@jax.jit
def add_host_root(x):
    """Add x and its square root, computed by NumPy."""
    return x + jax.pure_callback(lambda value: np.sqrt(value, dtype=np.float32), promise, x)


add_host_root(9.0)

# %%
def describe(value):
    """Say what kind of array this is, and where it is."""
    kind = "jax.Array" if isinstance(value, jax.Array) else type(value).__name__
    if isinstance(value, jax.core.Tracer):
        return f"tracer {value.dtype}{list(value.shape)}"
    place = f" on {next(iter(value.devices())).platform}" if isinstance(value, jax.Array) else ""
    return f"{kind} {value.dtype}{list(value.shape)}{place}"

# %% [markdown]
# ### Exercise: What the host gets (2 points)
#
# Hand x to all three kinds of callback, and note what each host function gets.
#
# **Args:**
#
# - `x`: float32 or int32 array of any shape.
#
# **Returns:** A dict: "pure_callback", "io_callback" and "debug.callback", each with
# the text that `describe` gives for the argument of the host function.

# %%
def what_arrives(x):
    """Hand x to all three kinds of callback, and note what each host function gets."""
    ...


check(what_arrives)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(what_arrives)
# solution(what_arrives)

# %% [markdown]
# ### Old pages
#
# Pages from before 2024 use `jax.experimental.host_callback`. The guide calls it
# deprecated. Is it still there? Before you copy from an old page, ask your own JAX.
# `importlib` imports a module by its name:

# %%
print(importlib.import_module("jax.experimental").__name__)

# %% [markdown]
# ### Exercise: Is it still there? (1 point)
#
# Say whether the installed packages have this module, or this name in a module.
#
# **Args:**
#
# - `path`: str, such as "jax.pure_callback" (a name in a module),
#   "jax.experimental.pjit" or "json" (modules).
#
# **Returns:** True or False; never an exception.

# %%
def is_there(path):
    """Say whether the installed packages have this module, or this name in a module."""
    ...


check(is_there)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(is_there)
# solution(is_there)

# %% [markdown]
# ### What stands in the program
#
# `jax.make_jaxpr(f)(x)` shows the program that f traces to, its **jaxpr**. Each line is
# an *equation*; it names a *primitive*.

# %%
jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)

# %%
def calls_pure(x):
    """Double x, on the host."""
    return jax.pure_callback(lambda value: np.asarray(value) * 2, jax.ShapeDtypeStruct((), jnp.float32), x)


def calls_io(x):
    """Note x, on the host."""
    io_callback(lambda value: None, None, x)
    return x + 1


def calls_debug(x):
    """Watch x."""
    jax.debug.callback(lambda value: None, x)
    return x


def prints_debug(x):
    """Print x."""
    jax.debug.print("{}", x)
    return x


def wave_twice(x):
    """Take the sine twice."""
    return jnp.sin(jnp.sin(x) * 2)

# %% [markdown]
# ### Exercise: Look into the program (2 points)
#
# List the primitives in the program that f traces to.
#
# **Args:**
#
# - `f`: a function of one array, without inner `jax.jit`.
# - `x`: its argument.
#
# **Returns:** A list of str: the name of the primitive of each equation, in order.

# %%
def primitive_names(f, x):
    """List the primitives in the program that f traces to."""
    ...


check(primitive_names)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(primitive_names)
# solution(primitive_names)

# %% [markdown]
# ## Part 2. `pure_callback`: a value from the host
#
# Here is NumPy's sine inside a JAX program. The guide's code, as it was written, works
# alone and under `jit`.

# %%
def guides_sin(x):
    """Compute the sine with NumPy, as the guide does."""
    return jax.pure_callback(lambda v: np.sin(v).astype(v.dtype), jax.ShapeDtypeStruct(x.shape, x.dtype), x)


guides_sin(jnp.arange(5.0)), jax.jit(guides_sin)(jnp.arange(5.0))

# %% [markdown]
# Under `vmap` it warned until JAX 0.5, and then called the host for each row. Since
# 0.6.0 it refuses:

# %%
try:
    jax.vmap(guides_sin)(jnp.arange(5.0))
except NotImplementedError as error:
    print(error)

# %% [markdown]
# You must say what to do with a batch: `vmap_method=`
#
# - `"sequential"`: call the host once for each row,
# - `"expand_dims"`: one call; arguments without a batch get a batch axis of length 1,
# - `"broadcast_all"`: one call; all arguments are repeated to the full batch.
#
# The last two need a host function that understands an extra axis in front of each
# argument.

# %% [markdown]
# ### Exercise: A sine from NumPy (2 points)
#
# Repair this, so that it works alone, under jit, and under vmap.
#
# NumPy computes the sine, on the host.
#
# **Args:**
#
# - `x`: a float32 array of any shape.
#
# **Returns:** float32, of the shape of x.

# %%
def host_sine(x):
    """Repair this, so that it works alone, under jit, and under vmap."""

    def host(value):
        return np.sin(value).astype(value.dtype)

    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


check(host_sine)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(host_sine)
# solution(host_sine)

# %% [markdown]
# ### How often does the host work?
#
# Every call leaves the compiled program, waits for Python, and comes back. So count the
# calls. Here `noisy_sine` prints the shape of what it gets.
#
# If you must wait for a result y, write `jax.block_until_ready(y)`. The method
# `y.block_until_ready()` does the same, but a tracer does not have it. `check` traces
# some answers, to look into their program.

# %%
def noisy_sine(value):
    """Compute the sine with NumPy, on the host, and print the shape of the argument."""
    print("host got", np.shape(value))
    return np.sin(value).astype(np.float32)

# %% [markdown]
# ### Exercise: In a loop, and all at once (3 points)
#
# Compute the sines of all numbers in two ways, with `noisy_sine` on the host.
#
# One way is `jax.lax.scan`, with one host call for each number. The other makes one
# host call for all numbers.
#
# **Args:**
#
# - `xs`: float32[n]; may be traced.
#
# **Returns:** A tuple of two float32[n].

# %%
def sines_two_ways(xs):
    """Compute the sines of all numbers in two ways, with `noisy_sine` on the host."""
    ...


check(sines_two_ways)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(sines_two_ways)
# solution(sines_two_ways)

# %% [markdown]
# ### JAX takes you at your word
#
# "Pure" is a promise of yours: only the result counts. So when nobody uses the result,
# the compiler drops the call.

# %%
def print_something():
    """Print, and return 0: not pure at all."""
    print("printing something")
    return np.int32(0)

# %% [markdown]
# ### Exercise: Used or not (2 points)
#
# Call `print_something` through `jax.pure_callback`, in a function under `jax.jit`.
#
# JAX can trace it: if you wait for the result, use `jax.block_until_ready`.
#
# **Args:**
#
# - `used`: bool. If True, that function returns the callback's value. If False, it
#   makes the call and returns 1.0.
#
# **Returns:** What the function returned: int32[] 0, or float32[] 1.0.

# %%
def used_or_dropped(used):
    """Call `print_something` through `jax.pure_callback`, in a function under
    `jax.jit`.
    """
    ...


check(used_or_dropped)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(used_or_dropped)
# solution(used_or_dropped)

# %% [markdown]
# ### Count for yourself
#
# A list in Python counts host calls. Wait for all callbacks before you read it:
# `jax.effects_barrier()`.

# %%
def scalar_like(x):
    """Promise a number with the dtype of x."""
    return jax.ShapeDtypeStruct((), x.dtype)


def never_used(host, x):
    """Call the host, and forget what it says."""
    jax.pure_callback(host, scalar_like(x), x)
    return x


def never_used_io(host, x):
    """The same with io_callback."""
    io_callback(host, scalar_like(x), x)
    return x


def twice_alike(host, x):
    """Ask the same thing twice."""
    return jax.pure_callback(host, scalar_like(x), x) + jax.pure_callback(host, scalar_like(x), x)


def for_four_rows(host, x):
    """Ask for each of four rows."""
    call = partial(jax.pure_callback, host, scalar_like(x), vmap_method="sequential")
    return jax.vmap(call)(x + jnp.arange(4.0))


def same_in_each_step(host, x):
    """Ask the same thing in each of three steps."""
    return jax.lax.scan(lambda total, _: (total + jax.pure_callback(host, scalar_like(x), x), None), x, length=3)[0]

# %% [markdown]
# ### Exercise: Count the host calls (3 points)
#
# Run a program under `jax.jit` once, and count how often it calls the host.
#
# **Args:**
#
# - `program`: a function of a host function and x. The host function takes a number and
#   returns it as it is.
# - `x`: float32[].
#
# **Returns:** int, the number of host calls.

# %%
def host_calls(program, x):
    """Run a program under `jax.jit` once, and count how often it calls the host."""
    ...


check(host_calls)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(host_calls)
# solution(host_calls)

# %% [markdown]
# ### Predict: the same question in each step (1 point)
#
# `same_in_each_step` asks the host the same thing in each of three steps. How many host
# calls are there under jit?
#
# **Returns:** An int.

# %%
def predict_same_question():
    """`same_in_each_step` asks the host the same thing in each of three steps."""
    ...


check(predict_same_question)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_same_question)
# solution(predict_same_question)

# %% [markdown]
# ### When the host function fails
#
# An exception on the host stops the whole program. It arrives as a `JaxRuntimeError`
# where Python waits for the result, perhaps far from your call. A `try` around the
# callback does not see it: Python passes there while tracing. So catch it **in the host
# function**, and return a value that says so.

# %% [markdown]
# ### Exercise: An exception becomes a value (3 points)
#
# Repair this: the inverse that `np.linalg.inv` gives, or NaN everywhere where it raises
# an exception.
#
# It works under jit and vmap. In a batch, each matrix counts for itself.
#
# **Args:**
#
# - `a`: float32[n,n].
#
# **Returns:** float32[n,n].

# %%
def inverse_or_nan(a):
    """Repair this: the inverse that `np.linalg.inv` gives, or NaN everywhere where it
    raises an exception.
    """
    try:
        return jax.pure_callback(np.linalg.inv, jax.ShapeDtypeStruct(a.shape, a.dtype), a)
    except np.linalg.LinAlgError:
        return jnp.full(a.shape, jnp.nan)


check(inverse_or_nan)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(inverse_or_nan)
# solution(inverse_or_nan)

# %% [markdown]
# ## Part 3. Side effects: `io_callback` and `debug.callback`
#
# Here the host keeps a state: NumPy's generator. Each call takes the next numbers of
# one stream. (For real random numbers in JAX, use keys; this is a toy.)

# %%
def uniform_like(generator, x):
    """Draw the next numbers of a generator, in the shape of x, and print that shape."""
    print(f"generating {x.dtype}{list(x.shape)}")
    return generator.uniform(size=x.shape).astype(x.dtype)

# %% [markdown]
# ### Exercise: A stream on the host (3 points)
#
# Draw three vectors from one stream on the host, with `uniform_like` in an
# `io_callback`.
#
# The stream is `np.random.default_rng(seed)`. Draw in this order: for x as a whole,
# under jit; for each number of x, by vmap; for each number of x, in a scan, with an
# ordered callback. Wait for each result before the next.
#
# **Args:**
#
# - `seed`: int.
# - `x`: float32[n].
#
# **Returns:** A tuple of three float32[n].

# %%
def draws_from_the_host(seed, x):
    """Draw three vectors from one stream on the host, with `uniform_like` in an
    `io_callback`.
    """
    ...


check(draws_from_the_host)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(draws_from_the_host)
# solution(draws_from_the_host)

# %% [markdown]
# ### What each kind can do
#
# The guide has a table of what each kind supports. Let us not believe it, but measure.
# These functions make one call of each kind.

# %%
def by_pure(host, x):
    """Call the host by pure_callback."""
    return jax.pure_callback(host, jax.ShapeDtypeStruct((), x.dtype), x)


def by_pure_sequential(host, x):
    """The same, with what was the default before 0.6.0."""
    return jax.pure_callback(host, jax.ShapeDtypeStruct((), x.dtype), x, vmap_method="sequential")


def by_io(host, x):
    """Call the host by io_callback."""
    return io_callback(host, jax.ShapeDtypeStruct((), x.dtype), x)


def by_io_ordered(host, x):
    """Call the host by io_callback, in order."""
    return io_callback(host, jax.ShapeDtypeStruct((), x.dtype), x, ordered=True)


def by_debug(host, x):
    """Call the host by debug.callback."""
    return jax.debug.callback(host, x)

# %% [markdown]
# And these are the situations. Each runs a function f that makes a call.

# %%
def value_used(f):
    """Use the value: 1 call."""
    return f(jnp.float32(1.0)) + 1


def under_jit(f):
    """Compile: 1 call."""
    return jax.jit(f)(1.0)


def under_vmap(f):
    """Map over three rows: 3 calls."""
    return jax.vmap(f)(jnp.arange(3.0))


def under_grad(f):
    """Differentiate: 1 call."""
    return jax.grad(lambda x: x if (y := f(x)) is None else y)(1.0)


def in_loops(f):
    """Call in a scan of three steps, and in a while loop of three steps: 6 calls."""
    jax.block_until_ready(jax.lax.scan(lambda carry, x: (carry, f(x)), None, jnp.arange(3.0)))

    def body(x):
        y = f(x)
        return x + 1 if y is None else x + 1 + 0 * y

    return jax.lax.while_loop(lambda x: x < 3, body, 0.0)


def value_unused(f):
    """Compile a call whose value nobody uses: 1 call if it is guaranteed."""
    return jax.jit(lambda x: (f(x), x)[1])(1.0)


def same_in_scan_under_grad(f):
    """Differentiate a scan of three steps which makes the same call in each: 3 calls if guaranteed."""

    def step(total, _):
        f(jnp.float32(1.0))
        return total * 2, None

    return jax.grad(lambda x: jax.lax.scan(step, x, length=3)[0])(1.0)


def vmap_of_scan(f):
    """Map a scan of three steps over two rows: 6 calls."""
    return jax.vmap(lambda row: jax.lax.scan(lambda carry, x: (carry, f(x)), None, row)[1])(jnp.ones((2, 3)))


def vmap_of_while(f):
    """Map a while loop over rows that need 0, 1 and 2 steps: 3 calls."""
    return jax.vmap(lambda n: jax.lax.while_loop(lambda x: x < n, lambda x: x + 1 + 0 * f(x), 0.0))(jnp.arange(3.0))

# %% [markdown]
# ### Exercise: Measure the table (4 points)
#
# Make one kind of call in one situation, and report what happened.
#
# **Args:**
#
# - `kind`: a function of a host function and x that calls it on x: `by_pure`, `by_io`,
#   `by_debug`...
# - `situation`: a function of f, a function of x that makes the call: `under_jit`,
#   `in_loops`...
#
# **Returns:** A tuple `(calls, error)`: how often the host was called, and "", or
# "Class: message" of the exception that JAX raised, of whatever class.

# %%
def try_out(kind, situation):
    """Make one kind of call in one situation, and report what happened."""
    ...


check(try_out)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(try_out)
# solution(try_out)

# %% [markdown]
# Here is the whole table: how often each kind runs, beside how often plain Python would
# call the host. Numbers in **bold** differ from that, and `≠` marks where the guide
# says something else. Look at the two rows under `grad` with a scan: there even the
# "guaranteed" `io_callback` does not run in each step.
#
# | situation | Python | `pure_callback` | `io_callback` | + `ordered=True` | `debug.callback` | + `ordered=True` |
# | --- | --- | --- | --- | --- | --- | --- |
# | gives a value back | yes | yes | yes | yes | no | no |
# | `jit` | 1 | 1 | 1 | 1 | 1 | 1 |
# | `vmap` over 3 rows | 3 | refused (a) ≠ | 3 | refused (b) | 3 | 3 |
# | the same, `vmap_method="sequential"` | 3 | 3 | - | - | - | - |
# | `grad` | 1 | refused (c) | refused (d) | refused (d) | 1 | 1 |
# | `scan` of 3 steps | 3 | 3 | 3 | 3 | 3 | 3 |
# | `while_loop` of 3 steps | 3 | 3 | 3 | 3 | 3 | 3 |
# | 2 calls in each of 3 steps of a `map` | 6, in order | 6 | 6 | 6, in order | 6 | 6, in order |
# | value not used | 1 | **0** | 1 | 1 | 1 | 1 |
# | constant argument, in a scan of 3 | 3 | **1** | 3 | 3 | 3 | 3 |
# | value not used, in a scan of 3 under `grad` | 3 | **0** | **0** ≠ | **0** ≠ | 3 | 3 |
# | the same, constant argument | 3 | **0** | **1** ≠ | **1** ≠ | **1** | **1** |
# | `vmap` of `cond`: 1 of 3 rows calls | 1 | **3** | refused (e) | refused (e) | **3** | **3** |
# | `vmap` of `while_loop`: rows of 0, 1 and 2 steps | 3 | **6** | refused (f) | refused (g) | **6** | **6** |
# | `checkpoint` under `grad` | 1 | **2** | refused (h) | refused (h) | **2** | **2** |
#
# Without `ordered=True`, the six calls of the `map` may come in any order.
# `pure_callback` has `vmap_method="sequential"` in all rows but the third. This is what
# JAX says when it refuses:
#
# - (a)
#   `NotImplementedError: vmap is only supported for the pure_callback primitive when vmap_method is one of`
#   ...
# - (b) ``ValueError: Cannot `vmap` ordered IO callback.``
# - (c) `ValueError: Pure callbacks do not support JVP.`
# - (d) `ValueError: IO callbacks do not support JVP.`
# - (e) `NotImplementedError: IO effect not supported in vmap-of-cond.`
# - (f)
#   `Exception: Unordered IO effects not supported in while_loop with batched predicate`
# - (g) `Exception: Ordered IO effects not supported in vmap.`
# - (h) `NotImplementedError: Effects not supported in` ..., which goes on in other
#   words since JAX 0.11.
#
# All this was measured on a CPU, and is the same with JAX 0.10.2, 0.11.2 and 0.12.0.1.

# %% [markdown]
# ### Order by effect, not by luck
#
# On a CPU, calls often come in order by chance. `ordered=True` makes the order a part
# of the program: each call waits for the one before.

# %%
def note_total(total):
    """Print a running total."""
    print(f"total {float(total):.1f}")

# %% [markdown]
# ### Exercise: Notes in order (3 points)
#
# Repair this: running totals in a scan, and each total noted by `note_total`, surely
# and in order.
#
# Use an `io_callback` that promises the order.
#
# **Args:**
#
# - `xs`: float32[n].
#
# **Returns:** float32[n], the running totals.

# %%
def noted_totals(xs):
    """Repair this: running totals in a scan, and each total noted by `note_total`,
    surely and in order.
    """

    def note(total):
        note_total(total)
        return total

    def step(total, x):
        total = total + x
        jax.pure_callback(note, total, total)
        return total, total

    return jax.lax.scan(step, jnp.float32(0.0), xs)[1]


check(noted_totals)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(noted_totals)
# solution(noted_totals)

# %% [markdown]
# When does the host work? `callback_timeline` runs a program once and draws each call
# on the host, numbered as they began. Of the three callbacks below one is ordered, one
# is not, and one has a result that nobody uses.

# %%
from jaxguide.callbacks import callback_timeline


def look_at(value):
    """Take a value, and do nothing with it."""


def square_on_host(value):
    """Square with NumPy, on the host."""
    return np.square(value)


def three_in_each_step(xs):
    """Add up xs in a scan, with three callbacks in each step."""

    def step(total, x):
        jax.pure_callback(square_on_host, x, x)
        io_callback(look_at, None, total, ordered=True)
        jax.debug.callback(look_at, x)
        return total + x, None

    return jax.lax.scan(step, 0.0, xs)[0]


callback_timeline(three_in_each_step, jnp.arange(4.0))

# %% [markdown]
# Run the cell again: the times are new, and the numbers may be. All that the program
# promises is the order along the lane that says "ordered". `square_on_host` has no box:
# JAX dropped the call, because nobody uses the squares.

# %% [markdown]
# ### A derivative, or a reason
#
# JAX cannot look into a host function, so it has no derivative for it. It says so, in
# its own words.

# %%
def host_sine_of(x):
    """Compute the sine on the host."""
    return jax.pure_callback(lambda v: np.sin(np.asarray(v)), jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def host_noise_like(x):
    """Draw numbers on the host, in the shape of x."""
    promise = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return io_callback(lambda v: np.full(v.shape, 0.5, v.dtype), promise, x)


def says_hello(x):
    """Say hello on the host, and return x: the host gets nothing of x."""
    io_callback(lambda: print("hello"), None)
    return x


def cube(x):
    """Compute x * x * x."""
    return x * x * x

# %% [markdown]
# ### Exercise: A derivative, or a reason (2 points)
#
# Differentiate the sum of f(x), or say why that cannot be done.
#
# **Args:**
#
# - `f`: a function of one array that returns an array.
# - `x`: a float32 array.
#
# **Returns:** The gradient, a float32 array in the shape of x; or, if JAX raises a
# ValueError, its message, a str.

# %%
def gradient_or_reason(f, x):
    """Differentiate the sum of f(x), or say why that cannot be done."""
    ...


check(gradient_or_reason)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(gradient_or_reason)
# solution(gradient_or_reason)

# %% [markdown]
# ### `debug.callback`: watch what really happens
#
# A debug callback gives nothing back, so it never stands in the way of a
# transformation.

# %%
def log_value(x):
    """Log a value: here, print it."""
    print("log:", x)

# %% [markdown]
# ### Exercise: Log and pass on (2 points)
#
# Log the value of x as `log_value` does, whenever the program runs, and return x.
#
# It works under jit, vmap and grad.
#
# **Args:**
#
# - `x`: float32[], traced under the transformations.
#
# **Returns:** x.

# %%
def log_and_pass(x):
    """Log the value of x as `log_value` does, whenever the program runs, and return x.
    """
    ...


check(log_and_pass)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(log_and_pass)
# solution(log_and_pass)

# %% [markdown]
# A debug callback does what the code around it does. If JAX computes something twice,
# it is logged twice. `jax.checkpoint` saves memory: it forgets what it computed, and
# computes it again for the gradient.

# %%
def plainly(f, x):
    """Run f."""
    return jax.jit(f)(x)


def gradient_of(f, x):
    """Differentiate f."""
    return jax.grad(f)(x)


def gradient_of_checkpoint(f, x):
    """Differentiate f, computing it again instead of keeping what it computed."""
    return jax.grad(jax.checkpoint(f))(x)


def shape_only(f, x):
    """Ask for the shape of the result alone."""
    return jax.eval_shape(f, x)

# %% [markdown]
# ### Exercise: What a debug callback sees (2 points)
#
# Run f(x) = sin(x) under a transformation, with a debug callback in f, and report what
# the callback saw.
#
# The debug callback gets x. Its host function returns 42.
#
# **Args:**
#
# - `transform`: a function of f and x that runs f: `plainly`, `gradient_of`...
# - `x`: float32[].
#
# **Returns:** A tuple `(seen, came_back)`: a list of float, one for each host call;
# and, as a str, what `jax.debug.callback` itself returned in f.

# %%
def what_debug_sees(transform, x):
    """Run f(x) = sin(x) under a transformation, with a debug callback in f, and report
    what the callback saw.
    """
    ...


check(what_debug_sees)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(what_debug_sees)
# solution(what_debug_sees)

# %%
def watch_positive(x):
    """Watch x, if it is positive."""
    jax.lax.cond(x > 0, lambda: jax.debug.callback(lambda value: None, x), lambda: None)
    return x

# %% [markdown]
# ### Predict: watching one of three (1 point)
#
# `jax.vmap(watch_positive)` gets the rows -1, 0 and 1. How many host calls are there?
#
# **Returns:** An int.

# %%
def predict_watched_rows():
    """`jax.vmap(watch_positive)` gets the rows -1, 0 and 1."""
    ...


check(predict_watched_rows)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_watched_rows)
# solution(predict_watched_rows)

# %% [markdown]
# ## Part 4. SciPy in JAX: the Bessel function
#
# JAX has no `scipy.special.jv`, the Bessel function J_v(z). SciPy has. The picture
# shows J_0, J_1 and J_2.

# %%
import matplotlib.pyplot as plt

z = np.linspace(0, 12, 200)
_, axes = plt.subplots(figsize=(6, 2.5))
for order in range(3):
    axes.plot(z, scipy.special.jv(order, z), label=f"J_{order}")
axes.set_xlabel("z")
_ = axes.legend()

# %% [markdown]
# The guide wraps it with `vectorized=True`. That argument was removed in 0.6.0. Up to
# 0.9.2 an error said so; since 0.10 it is handed on **to the host function**, which
# fails when the program runs:

# %%
try:
    jax.pure_callback(lambda value: value, promise, 1.0, vectorized=True).block_until_ready()
except Exception as error:
    print(type(error).__name__, "...", str(error).strip().splitlines()[-1])

# %% [markdown]
# ### Exercise: SciPy's Bessel function (3 points)
#
# Repair this: SciPy's Bessel function J_v(z), alone, under jit and under vmap.
#
# v must have an integer dtype; otherwise it raises an AssertionError, TypeError or
# ValueError. z may be int or float32; the result is float32, and its shape is that of v
# and z, broadcast: under vmap too, where v and z may have different shapes. No
# derivative is asked for yet.
#
# **Args:**
#
# - `v`: int32 array, the order.
# - `z`: int32 or float32 array.
#
# **Returns:** float32, of the broadcast shape.

# %%
def host_bessel(v, z):
    """Repair this: SciPy's Bessel function J_v(z), alone, under jit and under vmap."""
    v, z = jnp.asarray(v), jnp.asarray(z)
    assert jnp.issubdtype(v.dtype, jnp.integer)
    z = z.astype(jnp.result_type(float, z.dtype))

    def host(v, z):
        return scipy.special.jv(v, z).astype(z.dtype)

    promise = jax.ShapeDtypeStruct(jnp.broadcast_shapes(v.shape, z.shape), z.dtype)
    return jax.pure_callback(host, promise, v, z, vectorized=True)


check(host_bessel)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(host_bessel)
# solution(host_bessel)

# %% [markdown]
# ### A derivative for it
#
# JAX cannot look into SciPy, but mathematics can:
#
# - the slope of `J_0(z)` is `-J_1(z)`,
# - the slope of `J_v(z)` is `(J_{v-1}(z) - J_{v+1}(z)) / 2` for the other orders.
#
# `jax.custom_jvp` takes the rule from you. It gets the point and the step, `primals`
# and `tangents`, and returns the value, and the slope **times the step**. Here is one
# for `np.exp`:

# %%
@jax.custom_jvp
def host_exp(x):
    """Compute exp(x) on the host."""
    return jax.pure_callback(lambda v: np.exp(np.asarray(v)), jax.ShapeDtypeStruct(x.shape, x.dtype), x)


@host_exp.defjvp
def host_exp_rule(primals, tangents):
    (x,), (dx,) = primals, tangents
    return host_exp(x), host_exp(x) * dx


print("slope at 1:", jax.grad(host_exp)(jnp.float32(1.0)))
print("second derivative at 1:", jax.grad(jax.grad(host_exp))(jnp.float32(1.0)))

# %% [markdown]
# The rule calls `host_exp` again, and not NumPy. That is why it can be differentiated
# again.

# %%
from jaxguide.callbacks import host_function

scipy_jv = host_function(scipy.special.jv, elementwise=True)

# %% [markdown]
# ### Exercise: Differentiable to any order (4 points)
#
# Repair this: J_v(z), differentiable in z to any order, under jit and vmap.
#
# `scipy_jv` calls SciPy on the host; it works under jit and vmap, and has no
# derivative.
#
# **Args:**
#
# - `v`: int32 array, the order, 0 or more.
# - `z`: float32 array.
#
# **Returns:** float32, of the broadcast shape.

# %%
def bessel(v, z):
    """Repair this: J_v(z), differentiable in z to any order, under jit and vmap."""
    return scipy_jv(v, z)


check(bessel)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(bessel)
# solution(bessel)

# %% [markdown]
# The helper `host_function` takes a NumPy or SciPy function and a derivative, and does
# all of this for you. `verify` compares the derivative with finite differences.

# %%
j1 = host_function(scipy.special.j1, elementwise=True)
j0 = host_function(scipy.special.j0, elementwise=True, derivative=lambda z: -j1(z))
print(jax.grad(j0)(2.0))
j0.verify(jnp.float32(2.0))

# %% [markdown]
# ### What it costs
#
# Each host call takes the data from the device to the host and back. The guide says
# that on one CPU this is "fast" and often "zero-copy". Look at the ratio of times, not
# at the times.

# %%
import time

sizes = [10**exponent for exponent in range(2, 7)]
on_host = jax.jit(host_sine_of)
ratios = []
for size in sizes:
    x = jnp.ones(size)
    seconds = []
    for function in (on_host, jax.jit(jnp.sin)):
        function(x).block_until_ready()  # compile first
        start = time.perf_counter()
        for _ in range(10):
            function(x).block_until_ready()
        seconds.append(time.perf_counter() - start)
    ratios.append(seconds[0] / seconds[1])
_, axes = plt.subplots(figsize=(6, 2.5))
axes.loglog(sizes, ratios, "o-")
axes.set_xlabel("numbers in x")
_ = axes.set_ylabel("time by callback / by jnp.sin")

# %% [markdown]
# "Zero-copy" can be looked up: is the array that the host gets in the same place in
# memory? `x.unsafe_buffer_pointer()` is the address of a JAX array, and
# `array.ctypes.data` that of a NumPy array.

# %% [markdown]
# ### Exercise: Is it zero-copy? (2 points)
#
# Look up where the numbers of x are in memory: for JAX, for NumPy, and for the host
# function of a callback.
#
# **Args:**
#
# - `x`: float32[n], a JAX array on the CPU.
#
# **Returns:** A dict of three int: "device", the address of x; "view", that of
# `np.asarray(x)`; "host", that of the array which a host function gets for x, in a
# `jax.pure_callback` under jit.

# %%
def addresses(x):
    """Look up where the numbers of x are in memory: for JAX, for NumPy, and for the
    host function of a callback.
    """
    ...


check(addresses)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(addresses)
# solution(addresses)

# %% [markdown]
# ## What to remember
#
# - `pure_callback` for values, `io_callback` for effects, `debug.callback` for
#   watching.
# - A pure call may be dropped, moved out of a loop, or repeated. An io call runs even
#   if its result is not used; but measure before you trust it in a loop that is
#   differentiated.
# - `vmap_method` decides how often the host works for a batch. Since 0.6.0 you must
#   give it.
# - Only `ordered=True` promises an order, and so JAX refuses to map an ordered
#   `io_callback`.
# - Promise the right shape and dtype. Catch exceptions in the host function.
# - A host function has no derivative until you give it one, in terms of itself, with
#   `jax.custom_jvp`.
# - Each call leaves the compiled program: make few of them.

# %% [markdown]
# ## What to read next
#
# - [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html), the
#   page behind this lesson
# - [`jax.pure_callback`](https://docs.jax.dev/en/latest/_autosummary/jax.pure_callback.html)
#   and its `vmap_method`
# - [Custom derivative
#   rules](https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html)
# - [Debugging](https://docs.jax.dev/en/latest/debugging/index.html): `jax.debug.print`
#   and more
