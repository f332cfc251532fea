# %% [markdown]
# # Callbacks: Python in the middle of a JAX program
#
# **Core:** 8 exercises, about 60 minutes. **Beyond the core:** 10 exercises.
#
# Light that passes through a small round hole paints rings on a wall. How wide are
# they? The formula needs a function that SciPy has and JAX has not. A **callback** lets
# a compiled program call Python while it runs: to ask SciPy, to save something, or to
# report how it is getting on and be told to stop.
#
# After this lesson you can
#
# - choose among the three kinds of callback,
# - say which calls are dropped, repeated or put in order,
# - use a NumPy or SciPy function inside `jit`, `vmap` and `grad`,
# - watch a compiled loop from Python, and stop it.
#
# Some exercises reproduce an example of JAX's own documentation. Below each of these, a
# folded cell shows the example, its documented output and today's.
#
# You need the lessons `jit_and_tracing`, `vectorization` and `autodiff`, and
# `jax.debug.print` of the lesson `debugging`. [How to read a
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

start("callbacks")

# %%
from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize
import scipy.special
from jax.experimental import io_callback

from jaxguide.callbacks import callback_timeline, host_function
from jaxguide.clock import real_machine, simulated_machine
from jaxguide.data import rings
from jaxguide.explain import explain

# %% [markdown]
# ## The task: rings of light
#
# Someone has measured the light along a line from the middle outwards. Theory says that
# at a radius r it is (2 J₁(x) / x)² with x = r / width. J₁ is a *Bessel function*: a
# wave that slowly dies out. Which width fits the points?

# %%
radii, light = map(jnp.asarray, rings(80))


def draw_rings(curves):
    """Draw the measured light, and curves by their names; what is brighter than 0.3 is cut off."""
    _, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
    axes.plot(radii, light, ".", color="gray", label="measured")
    for name, curve in curves.items():
        axes.plot(radii, curve, label=name)
    axes.set(xlabel="radius", ylabel="light", ylim=(-0.02, 0.3))
    axes.legend()
    plt.show()


x = np.asarray(radii) / 2.5
draw_rings({"width 2.5, by SciPy": (2 * scipy.special.j1(x) / x) ** 2})

# %% [markdown]
# You know how to fit: gradient descent, in a compiled loop. But J₁ is computed by
# SciPy, in Python. At the end of this lesson it is a part of the program, with a
# derivative, and the loop tells you how it is doing.

# %% [markdown]
# ## Part 1. Three kinds of callback
#
# When JAX traces a function, Python runs it once, on tracers. After that only the
# compiled program runs, on the **device**. Python is the **host**; on your computer,
# both may be the same CPU. A callback is a call of a host function that is *in the
# program*, so that it happens each time the program runs, with the numbers of that run.
#
# `jax.debug.callback(function, *args)` is the simplest kind. It gives nothing back.

# %%
def greet(value):
    """Say what arrived on the host."""
    print("the host got", value)


@jax.jit
def double(x):
    """Double x, and show it to the host."""
    jax.debug.callback(greet, x)
    return 2 * x


print(double(4.0))
print(double(5.0))

# %% [markdown]
# ### Exercise: Three prints (2 points)
#
# Compute y = x + 1, print y in three ways, and return 2 * y.
#
# Each line reads `intermediate value: ` and y. One comes from Python's `print`, one
# from `jax.debug.print`, and one from a `print` of your own that `jax.debug.callback`
# calls. So under `jax.jit` the first shows a tracer, and only when JAX traces; the
# others show the number, at each call.
#
# ```python
# >>> print(three_prints(3))
# intermediate value: 4
# intermediate value: 4
# intermediate value: 4
# 8
# ```
#
# **Args:**
#
# - `x`: int, or int32[]; also under `jax.jit`.
#
# **Returns:** int, or int32[].

# %%
def three_prints(x):
    """Compute y = x + 1, print y in three ways, and return 2 * y."""
    ...


check(three_prints)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(three_prints)
# solution(three_prints)

# %% [markdown]
# <details>
# <summary>The document's example, today: External callbacks (S4-01, S4-02,
# S4-06)</summary>
#
# A tracer prints differently today (since 0.6.1; today's text since 0.8.2). And while
# `jax.debug.print` was made of `jax.debug.callback` once, it has been an operation of
# its own since 0.7.2.
#
# > ```python
# > @jax.jit
# > def f(x):
# >     y = x + 1
# >     print(f"intermediate value: {y}")
# >     return y * 2
# >
# >
# > result = f(2)
# >
# >
# > @jax.jit
# > def f(x):
# >     y = x + 1
# >     jax.debug.print("intermediate value: {}", y)
# >     return y * 2
# >
# >
# > result = f(2)
# > jax.effects_barrier()
# > print([one.primitive.name for one in jax.make_jaxpr(lambda y: jax.debug.print("{}", y))(3).eqns])
# > ```
#
# [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html)
# shows:
#
# > ```text
# > intermediate value: Traced<ShapedArray(int32[], weak_type=True)>with<DynamicJaxprTrace>
# > intermediate value: 3
# > (The print function used before is a wrapper around debug.callback.)
# > ```
#
# Today:
#
# > ```text
# > intermediate value: JitTracer(~int32[])
# > intermediate value: 3
# > ['debug_print']
# > ```
#
# </details>

# %% [markdown]
# Run your function twice under `jax.jit`. The tracer shows once:

# %%
print("returned", [jax.jit(three_prints)(n) for n in (3, 4)])

# %% [markdown]
# ### Which one?
#
# The three kinds differ in what JAX may do with the call.
#
# | kind | for a host function that | so the call |
# | --- | --- | --- |
# | `jax.pure_callback` | only computes a value from its arguments | may be dropped, repeated or moved |
# | `io_callback` | does something: it saves, reads, counts | runs, whether its value is used or not |
# | `jax.debug.callback` | watches, and gives nothing back | runs whenever the program comes by: once, twice or never |
#
# Calls come in any order, unless you pass `ordered=True` to `io_callback` or
# `jax.debug.callback`; more on that in Part 4.
#
# JAX cannot look into a host function. So `jax.grad` raises an error if a number that
# it differentiates goes to one of the first two. Such a number can only be shown to
# `jax.debug.callback`.
#
# Of what the first two give back, you must **promise** the shape and dtype: the program
# is compiled before the value is there. The promise is a `jax.ShapeDtypeStruct`, or any
# array or NumPy number with this shape and dtype, such as `np.int32(0)`. A broken
# promise is an error at run time; only a float64 is rounded to float32, as everywhere
# in JAX. An `io_callback` that gives nothing back has the promise None.

# %%
promise = jax.ShapeDtypeStruct((), jnp.float32)


def root_on_host(value):
    """Compute the square root with NumPy."""
    return np.sqrt(value)


@jax.jit
def add_root(x):
    """Add to x its square root, and greet the host."""
    io_callback(greet, None, x)
    return x + jax.pure_callback(root_on_host, promise, x)


print(add_root(jnp.float32(9.0)))

# %% [markdown]
# `value` in `root_on_host` is a small `jax.Array` on the CPU. NumPy and SciPy take it;
# so do `float(value)` and `int(value)`. Do not call `jnp` there: the program waits for
# the host function, and if the host function waits for JAX, both may wait for ever (a
# *deadlock*).
#
# Old pages use a module `host_callback`: `hcb.call(f, x, result_shape=promise)` for a
# value, and `hcb.id_tap(f, x)` for all else. JAX does not have it any more. Here are
# three host functions from such a page. One computes, one saves, one watches.

# %%
def offset_of(step):
    """Compute the offset that belongs to a step."""
    print(f"computed for step {int(step)}")
    return np.float32(0.5 ** int(step))


def save_step(step):
    """Save the step; printing stands for writing to a disk."""
    print(f"saved step {int(step)}")


def look_at(width):
    """Watch a width."""
    print(f"looked at {float(width):.2f}")

# %% [markdown]
# ### Repair: an old page (3 points)
#
# Port this from an old page, which knew one kind of callback for everything: take the
# kind that fits each call.
#
# `offset_of` computes, `save_step` saves and `look_at` watches; each is called once
# when the program runs. The result can be differentiated with respect to `width`. If a
# compiled program does not need the offset, `offset_of` is not called; `save_step`
# always is. The lines may come in any order.
#
# ```python
# >>> float(right_callback(2.0, 1))
# computed for step 1
# saved step 1
# looked at 2.00
# 4.5
# ```
#
# **Args:**
#
# - `width`: float32[].
# - `step`: int32[], or int.
#
# **Returns:** float32[]: the square of the width, plus the offset that belongs to the
# step.

# %%
def right_callback(width, step):
    """Port this from an old page, which knew one kind of callback for everything: take
    the kind that fits each call.
    """
    from jax.experimental import host_callback as hcb

    offset = hcb.call(offset_of, step, result_shape=jax.ShapeDtypeStruct((), jnp.float32))
    hcb.id_tap(lambda value, _: save_step(value), step)
    hcb.id_tap(lambda value, _: look_at(value), width)
    return width**2 + offset


check(right_callback)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(right_callback)
# solution(right_callback)

# %% [markdown]
# <details>
# <summary>The document's example, today: External callbacks (S4-04, S4-05)</summary>
#
# `host_callback` was deprecated; it stopped working in JAX 0.4.35, and since 0.8.0 it
# is gone. The rule that says which of its successors is for what still holds: it is
# what your code has shown.
#
# > ```python
# > try:
# >     import jax.experimental.host_callback
# > except ModuleNotFoundError as error:
# >     print(f"ModuleNotFoundError: {error}")
# > for kind in (jax.pure_callback, io_callback, jax.debug.callback):
# >     print(kind.__name__)
# > ```
#
# [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html)
# says:
#
# > Earlier versions had a single kind of callback, in `jax.experimental.host_callback`,
# > which is deprecated in favour of:
# > pure_callback: for pure functions, without side effects
# > io_callback: for impure functions, such as reading or writing data on a disk
# > debug.callback: for functions that should reflect what the compiled program executes
#
# Today:
#
# > ```text
# > ModuleNotFoundError: No module named 'jax.experimental.host_callback'
# > pure_callback
# > io_callback
# > debug_callback
# > ```
#
# </details>

# %% [markdown]
# ## Part 2. A value from the host
#
# A host function is written for one example, as any other. What should `vmap` make of
# it? JAX refuses to guess.

# %%
try:
    jax.vmap(lambda x: jax.pure_callback(root_on_host, promise, x))(jnp.ones(3))
except NotImplementedError as error:
    explanation = explain(error)
explanation

# %% [markdown]
# With `vmap_method=` you say it:
#
# - `"sequential"`: call the host once for each row,
# - `"expand_dims"`: call it once; arguments without a batch get a batch axis of
#   length 1,
# - `"broadcast_all"`: call it once; all arguments are repeated to the full batch.
#
# The last two need a host function that understands one more axis, in front of each
# argument. (In front: if one argument has fewer axes than another, they no longer pair
# off. So broadcast both to one shape before the call.) The default, None, refuses.
#
# Only `jax.pure_callback` has a `vmap_method`. Under `vmap`, an `io_callback` or
# `jax.debug.callback` calls the host once for each row.

# %% [markdown]
# ### Exercise: NumPy's sine (3 points)
#
# Compute the sine with NumPy, by `jax.pure_callback`: alone, under `jax.jit` and under
# `jax.vmap`.
#
# Under `jax.vmap`, `method` says what to do with a batch; with None, JAX refuses.
# `jax.grad` is refused, too: give no derivative. Let these errors of JAX pass.
#
# ```python
# >>> jax.vmap(partial(sine_on_host, method="sequential"))(jnp.array([0.0, 1.0]))
# Array([0.       , 0.8414...], dtype=float32)
# ```
#
# **Args:**
#
# - `x`: float32 array of any shape.
# - `method`: None, or what `vmap_method` may be.
#
# **Returns:** float32, of the shape of x.

# %%
def sine_on_host(x, method=None):
    """Compute the sine with NumPy, by `jax.pure_callback`: alone, under `jax.jit` and
    under `jax.vmap`.
    """
    ...


check(sine_on_host)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(sine_on_host)
# solution(sine_on_host)

# %% [markdown]
# <details>
# <summary>The document's example, today: External callbacks (S4-13, S4-14, S4-15,
# S4-17)</summary>
#
# Under `vmap` it warned until JAX 0.5, and called the host for each row. Since 0.6.0 it
# refuses; with `vmap_method="sequential"` the documented array comes back.
#
# > ```python
# > def f_host(x):
# >     return np.sin(x).astype(x.dtype)
# >
# >
# > def f(x, method=None):
# >     result_shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
# >     return jax.pure_callback(f_host, result_shape, x, vmap_method=method)
# >
# >
# > x = jnp.arange(5.0)
# > print(repr(f(x)))
# > print(repr(jax.jit(f)(x)))
# > try:
# >     jax.vmap(f)(x)
# > except NotImplementedError as error:
# >     print(f"NotImplementedError: {error}")
# > print(repr(jax.vmap(partial(f, method="sequential"))(x)))
# > try:
# >     jax.grad(f)(x)
# > except ValueError as error:
# >     print(f"ValueError: {error}")
# > ```
#
# [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html)
# shows:
#
# > ```text
# > Array([ 0.       ,  0.841471 ,  0.9092974,  0.14112  , -0.7568025], dtype=float32)
# > Array([ 0.       ,  0.841471 ,  0.9092974,  0.14112  , -0.7568025], dtype=float32)
# > DeprecationWarning: The default behavior of pure_callback under vmap will soon change.
# > Currently, the default behavior is to generate a sequential vmap (i.e. a loop), but in
# > the future the default will be to raise an error. To keep the current default, set
# > vmap_method='sequential'.
# > Array([ 0.       ,  0.841471 ,  0.9092974,  0.14112  , -0.7568025], dtype=float32)
# > ValueError: Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use
# > callbacks while taking gradients.
# > ```
#
# Today:
#
# > ```text
# > Array([ 0.       ,  0.841471 ,  0.9092974,  0.14112  , -0.7568025], dtype=float32)
# > Array([ 0.       ,  0.841471 ,  0.9092974,  0.14112  , -0.7568025], dtype=float32)
# > NotImplementedError: vmap is only supported for the pure_callback primitive when
# > vmap_method is one of 'sequential', 'sequential_unrolled', 'expand_dims',
# > 'broadcast_all', or 'legacy_vectorized'. Got vmap_method=None.
# > Array([ 0.       ,  0.841471 ,  0.9092974,  0.14112  , -0.7568025], dtype=float32)
# > ValueError: Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use
# > callbacks while taking gradients.
# > ```
#
# </details>

# %% [markdown]
# ### JAX takes you at your word
#
# "Pure" is a promise of yours, and nobody checks it. So what happens to a host function
# that is not pure, such as this one?

# %%
def print_something(*anything):
    """Print, and return 0: not pure at all."""
    print("printing something")
    return np.int32(0)

# %% [markdown]
# ### Exercise: Used or not (3 points)
#
# Call `print_something` by a callback, in a function under `jax.jit`, and return what
# that function returns.
#
# ```python
# >>> ask_the_host("pure", "used")
# printing something
# Array(0, dtype=int32)
# ```
#
# **Args:**
#
# - `kind`: "pure" for `jax.pure_callback`, "io" for `io_callback`, which is not
#   ordered.
# - `how`: what the jitted function does. "used": it makes the call and returns its
#   value. "unused": it makes the call and returns 1.0. "twice": it makes the same call
#   twice and returns the sum of the values. "rows": it makes the call for each row of
#   `jnp.arange(4)`, by `jax.vmap`, and returns the four values.
#
# **Returns:** int32[], int32[4] for "rows", or float32[] 1.0 for "unused".

# %%
def ask_the_host(kind, how):
    """Call `print_something` by a callback, in a function under `jax.jit`, and return
    what that function returns.
    """
    ...


check(ask_the_host)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(ask_the_host)
# solution(ask_the_host)

# %% [markdown]
# <details>
# <summary>The document's example, today: External callbacks (S4-18, S4-19, S4-20,
# S4-28)</summary>
#
# All of this is still so: the first program prints, the second does not, and an
# `io_callback` prints although its value is not used. How often a pure function runs is
# not promised; two equal calls are two calls today.
#
# > ```python
# > @jax.jit
# > def f1():
# >     return jax.pure_callback(print_something, np.int32(0))
# >
# >
# > @jax.jit
# > def f2():
# >     jax.pure_callback(print_something, np.int32(0))
# >     return 1.0
# >
# >
# > for program in (f1, f2):
# >     print(program.__name__)
# >     program().block_until_ready()
# > for how in ("twice", "rows"):
# >     print(how)
# >     ask_the_host("pure", how).block_until_ready()
# > print("unused, by io_callback")
# > ask_the_host("io", "unused").block_until_ready()
# > jax.effects_barrier()
# > ```
#
# [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html)
# shows:
#
# > ```text
# > f1 prints "printing something", f2 prints nothing.
# > A function that is passed to pure_callback may be dropped, or called several times.
# > The compiler does not remove an io_callback whose output is not used.
# > ```
#
# Today:
#
# > ```text
# > f1
# > printing something
# > f2
# > twice
# > printing something
# > printing something
# > rows
# > printing something
# > printing something
# > printing something
# > printing something
# > unused, by io_callback
# > printing something
# > ```
#
# </details>

# %% [markdown]
# Here are all eight, each below its name:

# %%
def show_calls():
    """Make each call of `ask_the_host` once."""
    for kind in ("pure", "io"):
        for how in ("used", "unused", "twice", "rows"):
            print(f"{kind}, {how}:")
            jax.block_until_ready(ask_the_host(kind, how))
            jax.effects_barrier()


show_calls()

# %%
def same_in_each_step(host, x):
    """Ask the host the same thing in each of three steps, and add up what it says."""

    def step(total, _):
        return total + jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x), None

    return jax.lax.scan(step, jnp.float32(0), length=3)[0]

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
# ## Part 3. SciPy in JAX: Bessel functions
#
# SciPy has all Bessel functions: `scipy.special.jv(v, z)` is J of the order v at z. The
# old page wrapped it with `vectorized=True`, to say that SciPy takes whole batches.
# That argument is gone, but JAX does not say so. It hands what it does not know on to
# the *host function*, which fails when the program runs. JAX then logs a traceback, and
# raises a `JaxRuntimeError`, whose last line we print here:

# %%
try:
    jax.pure_callback(root_on_host, promise, jnp.float32(9.0), vectorized=True).block_until_ready()
except Exception as error:
    print(type(error).__name__, "...", str(error).strip().splitlines()[-1])

# %% [markdown]
# ### Exercise: SciPy's Bessel function (4 points)
#
# Repair this: SciPy's Bessel function J_v(z), alone, under `jax.jit` and under
# `jax.vmap`.
#
# An order v whose dtype is not an integer type raises an AssertionError, TypeError or
# ValueError. A z of whole numbers gives float32. The shapes of v and z are broadcast,
# under `vmap` too, where the host is called once for the whole batch. Give no
# derivative: `jax.grad` is refused by JAX.
#
# ```python
# >>> bessel_on_host(1, jnp.array([0, 2]))
# Array([0.       , 0.5767248], dtype=float32)
# ```
#
# **Args:**
#
# - `v`: int32 array or int, the order.
# - `z`: float32 or int32 array, or float or int.
#
# **Returns:** float32, of the broadcast shape of v and z.

# %%
def bessel_on_host(v, z):
    """Repair this: SciPy's Bessel function J_v(z), alone, under `jax.jit` and under
    `jax.vmap`.
    """

    def host(v, z):
        return scipy.special.jv(v, z)

    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, z.dtype), v, z, vectorized=True)


check(bessel_on_host)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(bessel_on_host)
# solution(bessel_on_host)

# %% [markdown]
# <details>
# <summary>The document's example, today: External callbacks (S4-33, S4-34, S4-35,
# S4-36, S4-37)</summary>
#
# Until JAX 0.5, `vectorized=True` worked and warned. From 0.6.0 to 0.9.2 it raised a
# ValueError that named `vmap_method`; since 0.10.0 it goes to the host function, which
# fails. With `vmap_method="broadcast_all"` the documented numbers come out.
#
# > ```python
# > def jv(v, z, **options):
# >     v, z = jnp.asarray(v), jnp.asarray(z)
# >     assert jnp.issubdtype(v.dtype, jnp.integer)
# >     z = z.astype(jnp.result_type(float, z.dtype))
# >     result = jax.ShapeDtypeStruct(jnp.broadcast_shapes(v.shape, z.shape), z.dtype)
# >     return jax.pure_callback(lambda v, z: scipy.special.jv(v, z).astype(z.dtype), result, v, z, **options)
# >
# >
# > z = jnp.arange(5.0)
# > try:
# >     jv(1, z, vectorized=True).block_until_ready()
# > except Exception as error:
# >     print(type(error).__name__, "...", str(error).strip().splitlines()[-1])
# > j1 = partial(jv, 1, vmap_method="broadcast_all")
# > print(j1(z))
# > print(jax.jit(j1)(z))
# > print(jax.vmap(j1)(z))
# > try:
# >     jax.grad(j1)(z)
# > except ValueError as error:
# >     print(f"ValueError: {error}")
# > ```
#
# [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html)
# shows:
#
# > ```text
# > [ 0.          0.44005057  0.5767248   0.33905897 -0.06604332]
# > DeprecationWarning: The vectorized argument of jax.pure_callback is deprecated and
# > setting it will soon raise an error. To avoid an error in the future, and to suppress
# > this warning, please use the vmap_method argument instead.
# > (and the same numbers and warning under jit and under vmap)
# > ValueError: Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use
# > callbacks while taking gradients.
# > ```
#
# Today:
#
# > ```text
# > JaxRuntimeError ... TypeError: ... got an unexpected keyword argument 'vectorized'
# > [ 0.          0.44005057  0.5767248   0.33905897 -0.06604332]
# > [ 0.          0.44005057  0.5767248   0.33905897 -0.06604332]
# > [ 0.          0.44005057  0.5767248   0.33905897 -0.06604332]
# > ValueError: Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use
# > callbacks while taking gradients.
# > ```
#
# </details>

# %% [markdown]
# ### A derivative for it
#
# JAX cannot look into SciPy, but mathematics can. Write J(v, z) for the Bessel function
# of the order v at z. Its slope in z is
#
# - `-J(1, z)` for the order 0,
# - `(J(v - 1, z) - J(v + 1, z)) / 2` for all other orders.
#
# `jax.custom_jvp` takes such a rule from you, as in the lesson `autodiff`. The rule
# gets the point and the step, and returns the value, and the slope **times the step**.
# An argument that is an int, such as the order, has a step that means nothing: leave it
# out. This is the rule for NumPy's exponential:

# %%
@jax.custom_jvp
def host_exp(x):
    """Compute exp(x) on the host."""
    return jax.pure_callback(np.exp, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


@host_exp.defjvp
def host_exp_rule(primals, tangents):
    """Return the value, and the slope times the step."""
    (x,), (dx,) = primals, tangents
    return host_exp(x), host_exp(x) * dx


print(jax.grad(host_exp)(jnp.float32(1.0)), jax.grad(jax.grad(host_exp))(jnp.float32(1.0)))

# %% [markdown]
# The rule calls `host_exp`, which has a rule, and not NumPy, which has none. That is
# why there is a second derivative. It does not call itself for ever: only `grad` uses
# the rule, once for each derivative.
#
# The helper `host_function` makes a JAX function of a NumPy or SciPy function, with
# promise and `vmap_method`. `elementwise=True` says that the function works number by
# number, so that it takes any shapes that broadcast. Here is one without a rule:

# %%
scipy_jv = host_function(scipy.special.jv, elementwise=True)
print(scipy_jv(1, jnp.arange(3.0)))

# %% [markdown]
# ### Exercise: Differentiable to any order (4 points)
#
# Give `scipy_jv` a rule: J_v(z), differentiable in z to any order, also under `jax.jit`
# and `jax.vmap`.
#
# ```python
# >>> print(jax.grad(bessel, argnums=1)(1, 2.0), jax.hessian(bessel, argnums=1)(1, 2.0))
# -0.06447162 -0.4003078
# ```
#
# **Args:**
#
# - `v`: int32 array or int: the order, or several, each 0 or more.
# - `z`: float32 array, or float.
#
# **Returns:** float32, of the broadcast shape of v and z.

# %%
def bessel(v, z):
    """Give `scipy_jv` a rule: J_v(z), differentiable in z to any order, also under
    `jax.jit` and `jax.vmap`.
    """
    ...


check(bessel)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(bessel)
# solution(bessel)

# %% [markdown]
# <details>
# <summary>The document's example, today: External callbacks (S4-10, S4-38, S4-39,
# S4-40, S4-41)</summary>
#
# With `vmap_method` in place of `vectorized` all of it comes out as documented, without
# the warnings.
#
# > ```python
# > def jv(v, z):
# >     v, z = jnp.asarray(v), jnp.asarray(z)
# >     z = z.astype(jnp.result_type(float, z.dtype))
# >     result = jax.ShapeDtypeStruct(jnp.broadcast_shapes(v.shape, z.shape), z.dtype)
# >     return jax.pure_callback(
# >         lambda v, z: scipy.special.jv(v, z).astype(z.dtype), result, v, z, vmap_method="broadcast_all"
# >     )
# >
# >
# > jv = jax.custom_jvp(jv)
# >
# >
# > @jv.defjvp
# > def jv_rule(primals, tangents):
# >     (v, z), (_, z_dot) = primals, tangents
# >     jv_minus_1, jv_plus_1 = jv(v - 1, z), jv(v + 1, z)
# >     djv_dz = jnp.where(v == 0, -jv_plus_1, 0.5 * (jv_minus_1 - jv_plus_1))
# >     return jv(v, z), z_dot * djv_dz
# >
# >
# > j1 = partial(jv, 1)
# > print(jax.grad(j1)(2.0))
# > print(repr(jax.hessian(j1)(2.0)))
# > ```
#
# [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html)
# shows:
#
# > ```text
# > pure_callback can be used with custom_jvp to make it compatible with autodiff.
# > d J_v(z) = -J_1(z) for v = 0, and (J_{v-1}(z) - J_{v+1}(z)) / 2 otherwise
# > -0.06447162
# > Array(-0.4003078, dtype=float32, weak_type=True)
# > ```
#
# Today:
#
# > ```text
# > -0.06447162
# > Array(-0.4003078, dtype=float32, weak_type=True)
# > ```
#
# </details>

# %% [markdown]
# `host_function` takes a slope, too, and then makes the rule for you. Its `verify`
# compares the slope with finite differences, on the host, in float64. (All radii are
# above 0, so that the slope of J₁ may divide by z.)

# %%
j0 = host_function(scipy.special.j0, elementwise=True, derivative=lambda z: -j1(z))
j1 = host_function(scipy.special.j1, elementwise=True, derivative=lambda z: j0(z) - j1(z) / z)


def ring(width):
    """Compute the light at all radii, for a ring of this width."""
    x = radii / width
    return (2 * j1(x) / x) ** 2


def ring_loss(width):
    """Compute how far a ring of this width is from the measured light."""
    return jnp.mean((ring(width) - light) ** 2)


print(j1.verify(jnp.float32(2.0)))
print("slope of the loss at width 2.5:", jax.grad(ring_loss)(2.5))

# %% [markdown]
# ## Part 4. Watch a compiled loop, and stop it
#
# The fit is a loop: `width = width - rate * slope`, again and again. As one compiled
# `while_loop` it is fast, and silent. An `io_callback` in the loop can report to
# Python, and bring an answer back: go on, or stop.
#
# Are the reports made in the order of the steps? Without a promise, JAX may run two
# callbacks in any order. With `io_callback(..., ordered=True)` each call waits for the
# one before. (There is a price: JAX then refuses to `vmap` the program, because rows
# have no order.)
#
# A call that is made only now and then belongs in one branch of a `jax.lax.cond`:

# %%
def say_even(number):
    """Say that a number is even, and whether it is large."""
    print(f"{int(number)} is even")
    return np.bool_(int(number) > 5)


def next_number(state):
    """Add 1, and ask the host about even numbers."""
    number, _ = state
    number = number + 1

    def ask():
        return io_callback(say_even, jax.ShapeDtypeStruct((), bool), number, ordered=True)

    return number, jax.lax.cond(number % 2 == 0, ask, lambda: False)


print(jax.lax.while_loop(lambda state: ~state[1], next_number, (0, False)))

# %% [markdown]
# (`~a` stands for "not a", and `a & b` for "a and b", where Python's words would need a
# value.)

# %%
def print_report(step, loss):
    """Report a loss, and go on."""
    print(f"step {int(step)}: loss {float(loss):.4f}")
    return np.bool_(False)


def square_loss(width):
    """Compute a loss that is least at a width of 1."""
    return (width - 1) ** 2

# %% [markdown]
# ### Exercise: A fit that reports (4 points)
#
# Fit a width by gradient descent, in one `jax.lax.while_loop` that reports every tenth
# step and can be stopped.
#
# A step is `width = width - rate * slope`, where slope is the derivative of the loss at
# the width before the step. After the steps 10, 20, 30 and so on, and no others, the
# program calls `report(step, loss)` by an ordered `io_callback`: with the number of the
# step, and the loss at the width after it. If `report` returns True, it stops;
# otherwise after `most` steps.
#
# ```python
# >>> width, steps = fit_with_progress(square_loss, print_report, 3.0, 0.05, 25)
# step 10: loss 0.4863
# step 20: loss 0.0591
# >>> print(f"{width:.4f}", steps)
# 1.1436 25
# ```
#
# **Args:**
#
# - `loss`: a function of float32[] that returns float32[], such as `ring_loss`.
# - `report`: a host function of int32[] and float32[] that returns a NumPy bool, such
#   as `print_report`.
# - `width`: float, the width to start from.
# - `rate`: float.
# - `most`: int, 0 or more.
#
# **Returns:** A tuple `(width, steps)`: float32[], the width after the last step; and
# int32[], how many steps were made.

# %%
def fit_with_progress(loss, report, width, rate, most):
    """Fit a width by gradient descent, in one `jax.lax.while_loop` that reports every
    tenth step and can be stopped.
    """
    ...


check(fit_with_progress)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(fit_with_progress)
# solution(fit_with_progress)

# %% [markdown]
# Now fit the rings. The reports go into a list, and `report` says stop when the loss
# has fallen by less than a thousandth since the report before.

# %%
def fit_rings(start, rate):
    """Fit the rings; return the width, the number of steps, and the reports."""
    reports = []

    def report(step, loss):
        reports.append((int(step), float(loss)))
        return np.bool_(len(reports) > 1 and reports[-1][1] > 0.999 * reports[-2][1])

    width, steps = jax.block_until_ready(fit_with_progress(ring_loss, report, start, rate, 500))
    return float(width), int(steps), reports


def draw_fit():
    """Draw the fitted rings, and the reports."""
    if fit_with_progress(square_loss, print_report, 1.0, 0.0, 0) is None:
        print("Write `fit_with_progress` first: then this cell fits the rings.")
        return
    width, steps, reports = fit_rings(2.5, 1.0)
    draw_rings({"width 2.5": ring(2.5), f"width {width:.3f}, after {steps} steps": ring(width)})
    _, axes = plt.subplots(figsize=(6, 2), layout="constrained")
    axes.semilogy(*zip(*reports, strict=True), "o-")
    axes.set(xlabel="step", ylabel="loss")
    plt.show()


draw_fit()

# %% [markdown]
# The rings were made with a width of 1.3. And what did each step cost?
# `callback_timeline` runs a program once, and draws the calls on the host, with a row
# for each place in the program that makes them. Here are ten steps of the fit and their
# report. In each step SciPy is asked three times, for J₁ and for what its slope needs;
# the last two calls are those of the report, for the loss and to print it.

# %%
def show_ten_steps():
    """Return the host calls of ten steps."""
    if fit_with_progress(square_loss, print_report, 1.0, 0.0, 0) is None:
        return print("Write `fit_with_progress` first: then this cell draws its calls on the host.")
    return callback_timeline(lambda start: fit_with_progress(ring_loss, print_report, start, 1.0, 10)[0], 2.5)


show_ten_steps()

# %% [markdown]
# "As text" says how long each host function **took**. From the end of one call to the
# start of the next, the program goes to the host and back: on an idle CPU, that costs
# some 50 µs for each call, however little it computes. On a GPU or TPU it costs more:
# the data travel, and the device waits. So call the host for what JAX does not have,
# and make few calls, with much to do in each. ("The cost of a call" below measures it.)

# %% [markdown]
# ## What to remember
#
# - `jax.pure_callback` for values, `io_callback` for effects, `jax.debug.callback` for
#   watching.
# - A pure call may be dropped, moved or repeated. An io call runs even if its value is
#   not used (but do not rely on that in a loop that `jax.grad` differentiates: see "The
#   table of callbacks" below). Only `ordered=True` promises an order.
# - Promise the right shape and dtype, and say with `vmap_method` how to call for a
#   batch.
# - Give a host function a slope in terms of functions that have one: by
#   `jax.custom_jvp`, or with `host_function`.
# - On the host use NumPy, never `jnp`. Each call leaves the program: make few.

# %% [markdown]
# ## More
#
# The rest is for another day. Pick what you need: no section builds on another.
#
# ### What arrives on the host
#
# NumPy functions take what arrives on the host. But what is it: a tracer, a NumPy
# array, or something else? See for yourself.

# %%
def describe(value):
    """Say what kind of array this is, and where it is; print that, and return it."""
    kind = "jax.Array" if isinstance(value, jax.Array) else type(value).__name__
    if isinstance(value, jax.core.Tracer):
        kind = "tracer"
    text = f"{kind} {value.dtype}{list(value.shape)}"
    if kind == "jax.Array":
        text += f" on {next(iter(value.devices())).platform}"
    print(text)
    return text

# %% [markdown]
# ### Exercise: What the host gets (2 points, beyond the core)
#
# Hand x to all three kinds of callback, and let `describe` say what each host function
# gets.
#
# ```python
# >>> what_arrives(jnp.ones((2, 1)))["io_callback"]
# jax.Array float32[2, 1] on cpu
# jax.Array float32[2, 1] on cpu
# jax.Array float32[2, 1] on cpu
# 'jax.Array float32[2, 1] on cpu'
# ```
#
# **Args:**
#
# - `x`: float32 or int32 array of any shape, with one number or more.
#
# **Returns:** A dict: "pure_callback", "io_callback" and "debug.callback", each with
# the text that `describe` returns for the argument of the host function.

# %%
def what_arrives(x):
    """Hand x to all three kinds of callback, and let `describe` say what each host
    function gets.
    """
    ...


check(what_arrives)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(what_arrives)
# solution(what_arrives)

# %% [markdown]
# <details>
# <summary>The document's example, today: External callbacks (S4-03)</summary>
#
# This is still so, for all three kinds.
#
# > ```python
# > what_arrives(jnp.ones(3))
# > ```
#
# [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html)
# says:
#
# > The value of y at run time is passed back to the host process as a CPU `jax.Array`.
#
# Today:
#
# > ```text
# > jax.Array float32[3] on cpu
# > jax.Array float32[3] on cpu
# > jax.Array float32[3] on cpu
# > {...}
# > ```
#
# </details>

# %% [markdown]
# ### In a loop, and all at once
#
# How often does the host work? In a loop of the program, once for each step. But you
# may be able to hand it all the work in one call. Here `noisy_sine` says what it gets.

# %%
def noisy_sine(value):
    """Compute the sine with NumPy, on the host, and print the shape of the argument."""
    print("host got", np.shape(value))
    return np.sin(value).astype(np.float32)

# %% [markdown]
# ### Exercise: In a loop, and all at once (3 points, beyond the core)
#
# Compute the sines of all numbers in two ways, with `noisy_sine` on the host.
#
# One way is `jax.lax.scan`, with one host call for each number. The other makes one
# host call for all numbers.
#
# ```python
# >>> sines_two_ways(jnp.array([0.0, 0.0]))[0]
# host got ()
# host got ()
# host got (2,)
# Array([0., 0.], dtype=float32)
# ```
#
# **Args:**
#
# - `xs`: float32[n], n > 0; also under `jax.jit`.
#
# **Returns:** A tuple of two float32[n]: the sines from the scan, and those from one
# call.

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
# <details>
# <summary>The document's example, today: External callbacks (S4-16)</summary>
#
# Documented and today's output agree.
#
# > ```python
# > def f(x):
# >     return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
# >
# >
# > def body_fun(_, x):
# >     return _, f(x)
# >
# >
# > jax.lax.scan(body_fun, None, jnp.arange(5.0))[1]
# > ```
#
# [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html)
# shows:
#
# > ```text
# > Array([ 0.       ,  0.841471 ,  0.9092974,  0.14112  , -0.7568025], dtype=float32)
# > ```
#
# Today's JAX prints the same.
#
# </details>

# %% [markdown]
# ### The table of callbacks
#
# JAX's documentation has a table of what each kind supports. Let us not believe it, but
# try. These functions make one call of each kind.

# %%
def by_pure(host, x, method=None):
    """Call the host by pure_callback."""
    return jax.pure_callback(host, jax.ShapeDtypeStruct((), x.dtype), x, vmap_method=method)


def by_pure_sequential(host, x):
    """Call the host by pure_callback, under vmap once for each row: the default until JAX 0.5."""
    return by_pure(host, x, "sequential")


def by_io(host, x, ordered=False):
    """Call the host by io_callback."""
    return io_callback(host, jax.ShapeDtypeStruct((), x.dtype), x, ordered=ordered)


def by_io_ordered(host, x):
    """Call the host by io_callback, in order."""
    return by_io(host, x, True)


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
    """Map a scan of two steps over two rows: 4 calls."""
    rows = jnp.array([[0.0, 1.0], [10.0, 11.0]])
    return jax.vmap(lambda row: jax.lax.scan(lambda carry, x: (carry, f(x)), None, row)[1])(rows)


def vmap_of_while(f):
    """Map a while loop over rows that need 0, 1 and 2 steps: 3 calls."""
    return jax.vmap(lambda n: jax.lax.while_loop(lambda x: x < n, lambda x: x + 1 + 0 * f(x), 0.0))(jnp.arange(3.0))

# %% [markdown]
# ### Exercise: Try the table out (4 points, beyond the core)
#
# Make one kind of call in one situation, and say what the host saw and what JAX
# refused.
#
# The host function returns the number that it gets. The situation is run once.
#
# ```python
# >>> try_call(by_io, under_vmap)
# ([0.0, 1.0, 2.0], '')
# ```
#
# **Args:**
#
# - `kind`: a function of a host function and x that calls it on x, such as `by_io`.
# - `situation`: a function of f, where f is a function of x that makes the call, such
#   as `under_vmap`.
#
# **Returns:** A tuple `(seen, error)`: a list of the floats that the host function got,
# in the order of its calls; and "", or "Class: message" of the exception that was
# raised, whatever its class.

# %%
def try_call(kind, situation):
    """Make one kind of call in one situation, and say what the host saw and what JAX
    refused.
    """
    ...


check(try_call)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(try_call)
# solution(try_call)

# %% [markdown]
# <details>
# <summary>The document's example, today: External callbacks (S4-07, S4-08, S4-09,
# S4-11, S4-12)</summary>
#
# One cell of the table has changed: without a `vmap_method`, `pure_callback` refuses
# `vmap` since JAX 0.6.0. What the page calls complicated is the order, and a refusal.
#
# > ```python
# > print(try_call(by_pure, under_vmap)[1].split(" when")[0])
# > print(try_call(by_pure_sequential, under_vmap))
# > print(try_call(by_io_ordered, under_vmap))
# > print(try_call(by_io, vmap_of_scan))
# > print(try_call(by_io, vmap_of_while)[1])
# > ```
#
# [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html)
# says:
#
# >                  value  jit  vmap        grad   scan/while  guaranteed
# > pure_callback    yes    yes  yes         no(1)  yes         no
# > io_callback      yes    yes  yes/no(2)   no     yes(3)      yes
# > debug.callback   no     yes  yes         yes    yes         no
# > 1: can be used with custom_jvp to be compatible with autodiff
# > 2: compatible with vmap only when ordered=False
# > 3: vmap of scan/while_loop of io_callback has complicated semantics, which may change
#
# Today:
#
# > ```text
# > NotImplementedError: vmap is only supported for the pure_callback primitive
# > ([0.0, 1.0, 2.0], '')
# > ([], 'ValueError: Cannot `vmap` ordered IO callback.')
# > ([0.0, 10.0, 1.0, 11.0], '')
# > Exception: Unordered IO effects not supported in while_loop with batched predicate
# > ```
#
# </details>

# %% [markdown]
# Here is the whole table: how often each kind runs, beside how often plain Python would
# call the host. Numbers in **bold** differ from that, and `≠` marks where the
# documentation says something else. Look at the two rows under `grad` with a scan:
# there even the "guaranteed" `io_callback` does not run in each step.
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
# ### A stream on the host
#
# A host function may have a state: a file that is read on and on, a sensor, NumPy's
# generator. Each call takes what comes next, so each call counts, and their order, too.
# This is how you read data into a compiled loop. (For random numbers in JAX, use keys;
# here they stand for any data.)

# %%
def uniform_like(generator, x):
    """Draw the next numbers of a generator, in the shape of x, and print that shape."""
    print(f"generating {x.dtype}{list(x.shape)}")
    return generator.uniform(size=x.shape).astype(x.dtype)


def fresh_stream():
    """Open a stream of random numbers: return a host function of x that draws as many as x has."""
    return partial(uniform_like, np.random.default_rng(0))


def stream_after_five():
    """Open the stream after its first five numbers."""
    generator = np.random.default_rng(0)
    generator.uniform(size=5)
    return partial(uniform_like, generator)


def stream_after_ten():
    """Open the stream after its first ten numbers."""
    generator = np.random.default_rng(0)
    generator.uniform(size=10)
    return partial(uniform_like, generator)

# %% [markdown]
# ### Exercise: A stream on the host (4 points, beyond the core)
#
# Open a stream on the host, and draw numbers for x from it by `io_callback`, in one of
# five ways.
#
# Two of the ways JAX refuses; let its errors pass.
#
# ```python
# >>> host_stream("mapped", fresh_stream, jnp.zeros(2))
# generating float32[]
# generating float32[]
# Array([0.6369617 , 0.26978672], dtype=float32)
# ```
#
# **Args:**
#
# - `how`: "whole": in one call for x as a whole, under `jax.jit`. "mapped": in one call
#   for each number of x, by `jax.vmap`. "mapped, ordered": the same with an ordered
#   callback. "scan": in an ordered call for each number of x, in a `jax.lax.scan`.
#   "slope": the derivative of the sum of "whole" with respect to x, by `jax.grad`.
# - `open_stream`: a function without arguments that returns a host function, such as
#   `fresh_stream`. The host function gets a float32 array and returns one of that
#   shape. Open one stream in each call.
# - `x`: float32[n].
#
# **Returns:** float32[n].

# %%
def host_stream(how, open_stream, x):
    """Open a stream on the host, and draw numbers for x from it by `io_callback`, in
    one of five ways.
    """
    ...


check(host_stream)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(host_stream)
# solution(host_stream)

# %% [markdown]
# <details>
# <summary>The document's example, today: External callbacks (S4-21, S4-22,
# S4-23)</summary>
#
# Documented and today's output agree. That mapped calls may run in any order cannot be
# seen on a CPU, where they come in turn; what shows is that nothing promises an order.
#
# > ```python
# > global_rng = np.random.default_rng(0)
# >
# >
# > def host_side_random_like(x):
# >     print(f"generating {x.dtype}{list(x.shape)}")
# >     return global_rng.uniform(size=x.shape).astype(x.dtype)
# >
# >
# > @jax.jit
# > def numpy_random_like(x):
# >     return io_callback(host_side_random_like, x, x)
# >
# >
# > x = jnp.zeros(5)
# > print(repr(numpy_random_like(x)))
# > print(repr(jax.vmap(numpy_random_like)(x)))
# > ```
#
# [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html)
# shows:
#
# > ```text
# > generating float32[5]
# > Array([0.6369617 , 0.26978672, 0.04097353, 0.01652764, 0.8132702 ], dtype=float32)
# > generating float32[]
# > generating float32[]
# > generating float32[]
# > generating float32[]
# > generating float32[]
# > Array([0.91275555, 0.60663575, 0.72949654, 0.543625  , 0.9350724 ], dtype=float32)
# > ```
#
# Today's JAX prints the same.
#
# </details>

# %% [markdown]
# <details>
# <summary>The document's example, today: External callbacks (S4-24, S4-25,
# S4-26)</summary>
#
# Documented and today's output agree. The scan goes on where the mapped calls above
# have stopped: the refused calls draw nothing.
#
# > ```python
# > draw = stream_after_ten()
# >
# >
# > def numpy_random_like_ordered(x):
# >     return io_callback(draw, x, x, ordered=True)
# >
# >
# > def body_fun(_, x):
# >     return _, numpy_random_like_ordered(x)
# >
# >
# > x = jnp.zeros(5)
# > try:
# >     jax.vmap(numpy_random_like_ordered)(x)
# > except ValueError as error:
# >     print(f"ValueError: {error}")
# > print(repr(jax.lax.scan(body_fun, None, jnp.arange(5.0))[1]))
# > try:
# >     jax.grad(lambda x: io_callback(draw, x, x))(x)
# > except ValueError as error:
# >     print(f"ValueError: {error}")
# > ```
#
# [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html)
# shows:
#
# > ```text
# > ValueError: Cannot `vmap` ordered IO callback.
# > generating float32[]
# > generating float32[]
# > generating float32[]
# > generating float32[]
# > generating float32[]
# > Array([0.81585354, 0.0027385 , 0.8574043 , 0.03358557, 0.72965544], dtype=float32)
# > ValueError: IO callbacks do not support JVP.
# > ```
#
# Today's JAX prints the same.
#
# </details>

# %% [markdown]
# ### Log, and greet
#
# Under `vmap` and `grad`, the kinds differ most. A debug callback goes along with both.
# An `io_callback` refuses to be differentiated only if what it gets is differentiated.

# %%
def log_value(x):
    """Log a value: here, print it."""
    print("log:", x)


def say_hello():
    """Say hello."""
    print("hello")

# %% [markdown]
# ### Exercise: Log and greet (3 points, beyond the core)
#
# Log x by `log_value`, greet by `say_hello`, and return x. Jit this function.
#
# The log works alone, under `vmap` and under `grad`. The greeting is an `io_callback`,
# and still allows `grad`.
#
# ```python
# >>> print(jax.grad(log_and_greet)(1.0))
# hello
# log: 1.0
# 1.0
# ```
#
# **Args:**
#
# - `x`: float32[], or float.
#
# **Returns:** float32[]: x.

# %%
def log_and_greet(x):
    """Log x by `log_value`, greet by `say_hello`, and return x."""
    ...


check(log_and_greet)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(log_and_greet)
# solution(log_and_greet)

# %% [markdown]
# <details>
# <summary>The document's example, today: External callbacks (S4-27, S4-30, S4-31,
# S4-32)</summary>
#
# Documented and today's output agree. The order of the lines is not promised.
#
# > ```python
# > @jax.jit
# > def f(x):
# >     jax.debug.callback(log_value, x)
# >     return x
# >
# >
# > @jax.jit
# > def g(x):
# >     io_callback(say_hello, None)
# >     return x
# >
# >
# > for run in (lambda: f(1.0), lambda: jax.vmap(f)(jnp.arange(5.0)), lambda: jax.grad(f)(1.0), lambda: jax.grad(g)(1.0)):
# >     jax.block_until_ready(run())
# >     jax.effects_barrier()
# > ```
#
# [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html)
# shows:
#
# > ```text
# > log: 1.0
# > log: 0.0
# > log: 1.0
# > log: 2.0
# > log: 3.0
# > log: 4.0
# > log: 1.0
# > hello
# > ```
#
# Today's JAX prints the same.
#
# </details>

# %% [markdown]
# ### What a debug callback sees
#
# A debug callback does what the code around it does. If JAX computes something twice,
# it is called twice. `jax.checkpoint` saves memory: it forgets what it computed, and
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
# ### Exercise: What a debug callback sees (2 points, beyond the core)
#
# Run f(x) = sin(x) under a transformation, with a debug callback in f, and report what
# the callback saw.
#
# The debug callback gets x. Its host function returns 42.
#
# ```python
# >>> what_debug_sees(gradient_of, 0.5)
# ([0.5], 'None')
# ```
#
# **Args:**
#
# - `transform`: a function of f and x that runs f, such as `gradient_of`.
# - `x`: float32[], or float.
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

# %% [markdown]
# <details>
# <summary>The document's example, today: External callbacks (S4-29)</summary>
#
# This is still so: the callback mirrors what JAX runs, and gives nothing back.
#
# > ```python
# > for transform in (plainly, gradient_of_checkpoint, shape_only):
# >     print(transform.__name__, what_debug_sees(transform, 1.0))
# > ```
#
# [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html)
# says:
#
# > debug.callback makes almost no assumptions about the function that it calls, so that
# > what it does reflects exactly what JAX does while the program runs. It cannot return
# > any value to the program.
#
# Today:
#
# > ```text
# > plainly ([1.0], 'None')
# > gradient_of_checkpoint ([1.0, 1.0], 'None')
# > shape_only ([], 'None')
# > ```
#
# </details>

# %% [markdown]
# ### When the host function fails
#
# An exception on the host stops the whole program. It arrives as a `JaxRuntimeError`
# where Python waits for the result, perhaps far from your call. A `try` around the
# callback does not see it: Python passes there while tracing. So catch it **in the host
# function**, and return a value that says so.

# %% [markdown]
# ### Repair: an exception becomes a value (3 points, beyond the core)
#
# Repair this: the inverse that `np.linalg.inv` gives, or NaN everywhere where it raises
# an exception.
#
# It works under jit and vmap. In a batch, each matrix counts for itself.
#
# ```python
# >>> inverse_or_nan(jnp.zeros((2, 2)))
# Array([[nan, nan],
#        [nan, nan]], dtype=float32)
# ```
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
# ### What a call costs
#
# A host call takes a time of its own, and more for each byte that goes there and back.
# Both can be measured without knowing anything else: time calls with few bytes, and
# with many. These make-believe machines have a clock of their own, and behave like JAX:
# the first run of a machine compiles, and a result must be waited for.

# %%
def slow_link(size):
    """Start a machine whose job is a host call with so many bytes: 50 µs, and 0.25 ns for each byte."""
    return simulated_machine(compile_s=0.03, dispatch_s=20e-6, work_s=30e-6 + 0.25e-9 * size)


def sine_call(size):
    """Start the real machine: NumPy's sine of so many bytes, on the host."""
    x = jnp.ones(size // 4)
    host = jax.jit(lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
    return real_machine(host, x)


def sine_native(size):
    """Start the real machine: JAX's sine of so many bytes, in the program."""
    return real_machine(jax.jit(jnp.sin), jnp.ones(size // 4))

# %% [markdown]
# ### Exercise: The cost of a call (3 points, beyond the core)
#
# Measure what a host call costs: the seconds for each call, and for each byte.
#
# The time of a call is the first, plus the second times the number of bytes. It lasts
# until the result is there; compiling does not count.
#
# ```python
# >>> per_call, per_byte = callback_cost(slow_link)
# >>> f"{per_call * 1e6:.2f} µs, {per_byte * 1e9:.2f} ns"
# '50.00 µs, 0.25 ns'
# ```
#
# **Args:**
#
# - `start_machine`: a function of the number of bytes, a multiple of 4 from 4 to
#   `2**25`, that starts a new machine, such as `slow_link`. A machine has `run()`,
#   which makes the call and returns its result, and `clock()`, the time in seconds; of
#   a result, only `block_until_ready()` waits.
#
# **Returns:** A tuple `(per_call, per_byte)` of floats, in seconds.

# %%
def callback_cost(start_machine):
    """Measure what a host call costs: the seconds for each call, and for each byte."""
    ...


check(callback_cost)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(callback_cost)
# solution(callback_cost)

# %% [markdown]
# Now the real thing: a host call against the same work in the program, by size. The
# lines are what your two numbers predict.

# %%
def draw_costs():
    """Draw the times of host calls and of JAX's own sine, and what `callback_cost` predicts."""
    if callback_cost(slow_link) is None:
        print("Write `callback_cost` first: then this cell measures on your computer.")
        return
    sizes = [4**exponent for exponent in range(2, 12)]
    _, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
    for name, start in {"host call": sine_call, "in the program": sine_native}.items():
        times = []
        for size in sizes:
            machine = start(size)
            machine.run().block_until_ready()
            before = machine.clock()
            for _ in range(5):
                machine.run().block_until_ready()
            times.append((machine.clock() - before) / 5)
        per_call, per_byte = callback_cost(start)
        (points,) = axes.loglog(sizes, times, "o", label=name)
        axes.loglog(sizes, [abs(per_call + per_byte * size) for size in sizes], color=points.get_color())
    axes.set(xlabel="bytes", ylabel="seconds")
    axes.legend()
    plt.show()


draw_costs()

# %% [markdown]
# ### Does the host get a copy?
#
# Two arrays share their memory if they begin at the same address. The address of a JAX
# array is `x.unsafe_buffer_pointer()`.

# %%
def say_address(value):
    """Print the address of an array on the host, and return it."""
    address = np.asarray(value).ctypes.data
    print("the host sees", address)
    return address

# %% [markdown]
# ### Exercise: Is it a copy? (2 points, beyond the core)
#
# Find out whether the host function of a `jax.pure_callback` under `jax.jit` gets x
# itself, or a copy.
#
# The host function hands what it gets to `look`, once, and notes the address that
# `look` returns.
#
# ```python
# >>> own, hosts, copied = is_copied(say_address, jnp.ones(4))
# the host sees ...
# >>> copied == (own != hosts)
# True
# ```
#
# **Args:**
#
# - `look`: a function of an array that returns its address, such as `say_address`.
# - `x`: float32[n], a JAX array on the CPU.
#
# **Returns:** A tuple `(own, hosts, copied)`: two ints, the address of x and the
# address that `look` returned; and a bool, whether they differ.

# %%
def is_copied(look, x):
    """Find out whether the host function of a `jax.pure_callback` under `jax.jit` gets
    x itself, or a copy.
    """
    ...


check(is_copied)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(is_copied)
# solution(is_copied)

# %% [markdown]
# <details>
# <summary>The document's example, today: External callbacks (S4-42)</summary>
#
# The page gives no numbers. Fast it is, but not zero-copy: on jax 0.4.35 and today the
# host sees another address.
#
# > ```python
# > print("copied:", is_copied(say_address, jnp.ones(4))[2])
# > ```
#
# [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html)
# says:
#
# > Each call of jv passes the input from the device to the host, and the output back,
# > which can be costly on accelerators; on a single CPU JAX usually does this in a fast,
# > zero-copy way.
#
# Today:
#
# > ```text
# > the host sees ...
# > copied: True
# > ```
#
# </details>

# %% [markdown]
# ### A solver from SciPy
#
# A host function may return several values: the promise is then a *pytree*, such as a
# dict, with a shape and dtype for each. So a whole solver of SciPy fits into a JAX
# program, and says whether it got there.

# %%
def loss_on_host(width, radii, light):
    """Compute how far a ring of this width is from measured light, with NumPy and SciPy."""
    x = radii / width
    return float(np.mean(((2 * scipy.special.j1(x) / x) ** 2 - light) ** 2))


found = scipy.optimize.minimize(
    loss_on_host, 2.5, args=(np.asarray(radii), np.asarray(light)), method="Nelder-Mead", options={"maxiter": 50}
)
print(found.x, found.nit, found.success)

# %% [markdown]
# ### Exercise: Fit with SciPy (3 points, beyond the core)
#
# Fit the width of a ring with `scipy.optimize.minimize`, on the host: alone, under
# `jax.jit` and under `jax.vmap`.
#
# Minimise `loss_on_host` by the method "Nelder-Mead" with the option "maxiter" set to
# `most`; all else stays as it is. Under `jax.vmap`, each row is a fit of its own.
#
# ```python
# >>> solve_with_scipy(2.5, radii, light, 50)["ok"]
# Array(True, dtype=bool)
# ```
#
# **Args:**
#
# - `start`: float32[], or float: the width to start from.
# - `radii`: float32[n], above 0.
# - `light`: float32[n].
# - `most`: int, 1 or more, also under `jax.jit`: no tracer.
#
# **Returns:** A dict: "width", float32[], SciPy's `x`; "steps", int32[], its `nit`; and
# "ok", bool[], its `success`.

# %%
def solve_with_scipy(start, radii, light, most):
    """Fit the width of a ring with `scipy.optimize.minimize`, on the host: alone, under
    `jax.jit` and under `jax.vmap`.
    """
    ...


check(solve_with_scipy)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(solve_with_scipy)
# solution(solve_with_scipy)

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
