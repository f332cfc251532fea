# %% [markdown]
# # Random depth
#
# **Core:** 8 exercises, about 60 minutes. **Beyond the core:** 7 exercises.
#
# A network may run its layers again and again, and a random number of times for each
# example: **random depth**. But JAX must know every size before it runs. What do you do
# if the size is a random number? This lesson follows one real question about it, and
# answers it.
#
# After this lesson you can
#
# - say why a number inside `jit` or `vmap` cannot become a size, and read the error,
# - let each example run its own number of steps, in two ways,
# - say which of the two has a gradient, and train a network with it.
#
# You need the lessons `jit_and_tracing` (tracers, static and traced, `scan`,
# `fori_loop`), `vectorization`, `autodiff` (`grad` and `jvp`) and `random_numbers`
# (keys). [How to read a contract](arrays_and_layers.ipynb#How-to-read-a-contract)
# explains the types in the tasks, such as `float32[n,m]`.

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
from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxguide.clock import real_machine
from jaxguide.data import moons
from jaxguide.explain import explain
from jaxguide.tracing import program

# %% [markdown]
# ## The question
#
# In 2023 somebody [asked](https://stackoverflow.com/questions/76838537), in short:
#
# > My network runs one block again and again. In training, each example should run it
# > a random number of times, from 1 to `MAX_ITERS`. I draw this number `k` with a
# > function `get_rand_num`, with another key for each example. My `react_forward` then
# > loops over `jnp.arange(k)`. Under `jax.vmap` that fails with a
# > `ConcretizationTypeError`, and no way to make an `int` of `k` helps. If I write
# > `k = 5` instead, all is well. What do others do?
#
# The answer there explains the error, and names two ways out in one sentence. In this
# lesson you write both, and train a network that may stop at any depth. Question and
# answer are the *document* of the folded cells below the exercises: these run its code,
# or code for what it says, with today's JAX.
#
# Here is a small copy of the network. It tells two half moons apart. A point becomes a
# row `x` of 8 numbers. The state `h` starts with zeros, and the **block** makes a new
# state of `h` and `x`, a number of times: that is the **depth**. The last state gives a
# score. If it is above 0, the network takes the point for one of the lower moon.

# %%
MAX_ITERS = 6
points, labels = moons(200)

_, axes = plt.subplots(figsize=(4, 2), layout="constrained")
axes.scatter(*points.T, c=labels, cmap="coolwarm", s=8)
axes.set(xticks=[], yticks=[])
plt.show()

# %%
def block(weights, h, x):
    """Run one step: weights[d,d], h[n,d], x[n,d] -> [n,d]; or rows [d] for [n,d]."""
    return jnp.tanh(h @ weights + x)


def embed(params, points):
    """Turn each point into a row of 8 numbers: points[b,2] -> [b,8]."""
    return points @ params["embed"] + params["shift"]


def first_params():
    """Return random parameters to begin with."""
    normal = np.random.RandomState(0).randn
    sizes = {"embed": (2, 8), "shift": (8,), "block": (8, 8), "head": (8,)}
    return {name: jnp.float32(0.3 * normal(*size)) for name, size in sizes.items()}


xs = embed(first_params(), points)
print(xs.shape, block(first_params()["block"], jnp.zeros_like(xs), xs).shape)

# %% [markdown]
# ## Part 1. A number for each example
#
# Each example needs a key of its own, and a depth that is drawn with it.

# %% [markdown]
# ### Exercise: A key and a depth for each example (2 points)
#
# From `key`, make a key for each example, and draw a depth from 1 to `most` with each
# of these.
#
# All depths are equally likely, `most` too. Depth i is one draw of `jax.random.randint`
# with key i, of shape `()`.
#
# ```python
# >>> keys, depths = keys_and_depths(jax.random.key(0), 8, 3)
# >>> keys.shape, depths
# ((8,), Array([2, 3, 1, 1, 1, 2, 2, 3], dtype=int32))
# ```
#
# **Args:**
#
# - `key`: `key<fry>[]`; it may be traced.
# - `count`: int, how many examples there are, 1 or more.
# - `most`: int, the greatest depth, 1 or more.
#
# **Returns:** A tuple `(keys, depths)`: `key<fry>[count]`, all of them different, and
# int32[count].

# %%
def keys_and_depths(key, count, most):
    """From `key`, make a key for each example, and draw a depth from 1 to `most` with
    each of these.
    """
    ...


check(keys_and_depths)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(keys_and_depths)
# solution(keys_and_depths)

# %% [markdown]
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-06)</summary>
#
# Still so: a key for each example, and vmapped draws are those of the keys alone. (The
# bounds are the question's; the next cell is about them.)
#
# > ```python
# > a = jnp.zeros((300, 32)).astype(int)
# > key = jax.random.key(0)
# > rndm_keys = jax.random.split(key, a.shape[0])
# >
# >
# > def draw_a_depth(key):
# >     return jax.random.randint(key, (), 1, MAX_ITERS)
# >
# >
# > depths = jax.vmap(draw_a_depth)(rndm_keys)
# > print(rndm_keys.shape, depths.shape, depths.dtype)
# > print(all(depths[i] == draw_a_depth(rndm_keys[i]) for i in range(9)))
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > Make as many subkeys as there are examples in the batch, and map over them: each
# > example gets its random number.
#
# Today:
#
# > ```text
# > (300,) (300,) int32
# > True
# > ```
#
# </details>

# %% [markdown]
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-09)</summary>
#
# With the question's bounds, 1 and `MAX_ITERS`, the greatest depth never comes. It was
# not so then either: `randint` leaves out its upper bound.
#
# > ```python
# > many = jax.random.split(jax.random.key(0), 3000)
# > draw_all = jax.vmap(jax.random.randint, in_axes=(0, None, None, None))
# > print(np.unique(draw_all(many, (), 1, MAX_ITERS)))
# > print(np.unique(draw_all(many, (), 1, MAX_ITERS + 1)))
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > depth ∈ [1, max_iters]
#
# Today:
#
# > ```text
# > [1 2 3 4 5]
# > [1 2 3 4 5 6]
# > ```
#
# </details>

# %% [markdown]
# ## Part 2. What Python may know
#
# The depths are there. Why can no loop use one of them? Remember: while JAX traces a
# function, a **static** value is known to Python, and a **traced** one is not. Shapes,
# dtypes and Python numbers are static. Under `jax.jit` all arrays that come in are
# traced; under `jax.vmap`, those that are mapped. What is computed from a tracer is a
# tracer. And a number drawn with a traced key is one, too.
#
# The question says that `jit` wants everything to be "of the JAX type". Is that so?
# Find out with seven functions of a line each: six use an array in Python, and one
# stays in JAX. Then call them plainly and under `jax.jit`.

# %% [markdown]
# ### Exercise: As Python would use it (3 points)
#
# Return a function that uses an array in Python or, for the last kind, stays in JAX.
#
# ```python
# kind                  takes        returns
# "int of a draw"       key<fry>[]   an int
# "item"                float32[1]   a float
# "float"               float32[]    a float
# "float of the shape"  float32[n]   a float
# "list index"          int32[]      an int
# "range"               int32[]      an int
# "JAX integer"         float32[1]   int32[]
# ```
#
# The first draws `randint(key, (), 1, 5)`, and makes an `int` of it. The next two give
# their number, by the method `item` and by `float`; the fourth gives n, by `float`.
# "list index" looks up `[10, 20, 30]`, and "range" adds up Python's `range` of its
# argument. "JAX integer" gives its number without the fraction.
#
# An int or a float is Python's here. Called plainly, all seven work. Under `jax.jit`
# (the first one: under `jax.vmap` over keys) some fail: let JAX's errors pass.
#
# ```python
# >>> python_uses("item")(jnp.array([2.5])), python_uses("range")(jnp.array(4))
# (2.5, 6)
# >>> jax.jit(python_uses("JAX integer"))(jnp.array([-2.5]))
# Array(-2, dtype=int32)
# ```
#
# **Args:**
#
# - `kind`: one of the kinds above.
#
# **Returns:** A function of one argument.

# %%
def python_uses(kind):
    """Return a function that uses an array in Python or, for the last kind, stays in
    JAX.
    """
    ...


check(python_uses)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(python_uses)
# solution(python_uses)

# %% [markdown]
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-01)</summary>
#
# The error is the one that the question means; its class is called
# `ConcretizationTypeError`. A Python number would come out only without `vmap`.
#
# > ```python
# > def generate_random(key):
# >     return int(jax.random.randint(key, (), 1, 5))
# >
# >
# > try:
# >     jax.vmap(generate_random)(jax.random.split(jax.random.key(0), 300))
# > except jax.errors.ConcretizationTypeError as error:
# >     print(f"{type(error).__name__}: {error}".partition(" This")[0])
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > Converting the number from a `jax.Array` to an `int32` causes a ConcretizationError.
#
# Today:
#
# > ```text
# > ConcretizationTypeError: Abstract tracer value encountered where concrete value is
# > expected: traced array with shape int32[]
# > The problem arose with the `int` function. ...
# > ```
#
# </details>

# %% [markdown]
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-02)</summary>
#
# This fails in any case: without `jit`, `item` gives a Python float, and that has no
# `astype`.
#
# > ```python
# > def t():
# >     return jnp.zeros((1,)).item().astype(int)
# >
# >
# > for way in (t, jax.jit(t)):
# >     try:
# >         way()
# >     except (AttributeError, jax.errors.ConcretizationTypeError) as error:
# >         print(type(error).__name__, *str(error).splitlines()[:2], sep="\n")
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > This minimal example reproduces the error.
#
# Today:
#
# > ```text
# > AttributeError
# > 'float' object has no attribute 'astype'
# > ConcretizationTypeError
# > Abstract tracer value encountered where concrete value is expected: traced array
# > with shape float32[1]
# > This occurred in the item() method of jax.Array
# > ```
#
# </details>

# %% [markdown]
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-03)</summary>
#
# Too strict, then and now: it is true of values that are traced. Python may compute
# with a shape.
#
# > ```python
# > print(jax.jit(lambda x: float(x.shape[0]) + 1)(jnp.ones(3)))
# > try:
# >     jax.jit(lambda x: float(x) + 1)(1.0)
# > except jax.errors.ConcretizationTypeError as error:
# >     print(type(error).__name__)
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > JIT requires that all manipulations be of the JAX type.
#
# Today:
#
# > ```text
# > 4.0
# > ConcretizationTypeError
# > ```
#
# </details>

# %% [markdown]
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-11)</summary>
#
# Still so, whatever asks for the Python number.
#
# > ```python
# > uses = int, lambda x: x.item(), lambda i: [10, 20, 30][i], lambda n: len(range(n))
# > for use in uses:
# >     try:
# >         jax.jit(use)(1)
# >     except jax.errors.JAXTypeError as error:
# >         print(type(error).__name__)
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > Traced values are known at run time, and Python's integers at compile time. So
# > inside of a JAX transformation, no traced value can be made a static integer.
#
# Today:
#
# > ```text
# > ConcretizationTypeError
# > ConcretizationTypeError
# > TracerIntegerConversionError
# > TracerIntegerConversionError
# > ```
#
# </details>

# %% [markdown]
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-12)</summary>
#
# The answer shows no output. This is today's.
#
# > ```python
# > @jax.jit
# > def t():
# >     return jnp.zeros((1,)).astype(int).reshape(())
# >
# >
# > t()
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > An array without axes is how JAX writes an integer at run time.
#
# Today:
#
# > ```text
# > Array(0, dtype=int32)
# > ```
#
# </details>

# %% [markdown]
# Here are your seven functions under `jax.jit`.

# %%
def print_uses():
    """Print what each function gives under `jit`, or the name of its error."""
    arguments = {
        "int of a draw": jax.random.key(0),
        "item": jnp.ones(1),
        "float": jnp.array(1.0),
        "float of the shape": jnp.ones(3),
        "list index": jnp.array(1),
        "range": jnp.array(1),
        "JAX integer": jnp.ones(1),
    }
    if None in map(python_uses, arguments):
        print("Write `python_uses` first: then this cell calls the seven functions.")
        return
    for kind, argument in arguments.items():
        use = python_uses(kind)
        try:
            print(f"{kind:18}", jax.jit(lambda value, use=use: use(value))(argument))
        except jax.errors.JAXTypeError as error:
            print(f"{kind:18}", type(error).__name__)


print_uses()

# %% [markdown]
# So the sentence is half right: what is *traced* must stay in JAX. What is static may
# be anything of Python's.
#
# The question goes on: "`vmap` uses `jit` implicitly". If so, it would keep a program,
# and run it again without your Python code.

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
# (The exercise "Look inside" of the lesson `vectorization` counts them, too.)
#
# ### The question's own function
#
# `model` runs the block some number of times, beginning with the state `h`. It loops as
# in the question: a `scan` over `jnp.arange`, whose numbers it does not need.

# %%
WEIGHTS = jnp.float32(0.3 * np.random.RandomState(1).randn(8, 8))


def model(x, iters_to_do, h):
    """Run the block some times: x[n,8], how often, a state h[n,8] -> a new state."""

    def loop_body(h, _):
        return block(WEIGHTS, h, x), None

    return jax.lax.scan(loop_body, h, jnp.arange(iters_to_do))[0]


print(model(jnp.ones((1, 8)), 2, jnp.zeros((1, 8)))[0, :3])

# %% [markdown]
# `react_forward` uses it twice, and here k is no depth: MAX_ITERS steps are run in any
# case. The first k count as constants for the gradient: `jax.lax.stop_gradient(h)`
# passes on the value of `h`, and lets no gradient through. The other `MAX_ITERS - k`
# are trained. So k shows in the gradient alone. Compare values and slopes without and
# with it:

# %%
print(jax.value_and_grad(lambda w: w * w)(3.0))
print(jax.value_and_grad(lambda w: w * jax.lax.stop_gradient(w))(3.0))

# %% [markdown]
# ### Exercise: The question's function (3 points)
#
# Run the network of the question on one example: k steps without a gradient, then the
# others with one.
#
# If `k` is None, draw it from 1 to MAX_ITERS, here in this function, by one call of
# `jax.random.randint` with the key, and make no `int` of it. Start with a state of
# zeros. Run all steps by `model`, in two calls.
#
# It need not work under `jax.vmap` while `k` is drawn: let JAX's error pass. With a
# given `k` it does work.
#
# ```python
# >>> react_forward(jax.random.key(0), jnp.zeros((2, 8)), 4).shape
# (2, 8)
# ```
#
# **Args:**
#
# - `key`: `key<fry>[]`.
# - `x`: float32[n,8].
# - `k`: None, or an int from 0 to MAX_ITERS.
#
# **Returns:** float32[n,8], the state after all MAX_ITERS steps.

# %%
def react_forward(key, x, k=None):
    """Run the network of the question on one example: k steps without a gradient, then
    the others with one.
    """
    ...


check(react_forward)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(react_forward)
# solution(react_forward)

# %% [markdown]
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-07)</summary>
#
# The same error today. A full stop is gone (since 0.4.31), the address of the page is
# another one, and newer releases say `VmapTracer`.
#
# > ```python
# > @partial(jax.jit, static_argnums=(1, 2))
# > def get_rand_num(key, lower_bound, upper_bound):
# >     key, subkey = jax.random.split(key)
# >     random_number = jax.random.randint(subkey, (), lower_bound, upper_bound)
# >     return random_number.astype(int)
# >
# >
# > def react_forward_of_the_page(key, x):
# >     k = get_rand_num(key, 1, MAX_ITERS)
# >     intermediate_array = jax.lax.stop_gradient(model(x, k, jnp.zeros_like(x)))
# >     return model(x, MAX_ITERS - k, intermediate_array)
# >
# >
# > rndm_keys = jax.random.split(jax.random.key(0), 300)
# > a = jnp.ones((300, 32, 8))
# > try:
# >     jax.vmap(react_forward_of_the_page, in_axes=(0, 0))(rndm_keys, a)
# > except jax.errors.ConcretizationTypeError as error:
# >     print(f"{type(error).__name__}: {error}")
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# shows:
#
# > ```text
# > ConcretizationTypeError: Abstract tracer value encountered where concrete value is
# > expected: traced array with shape int32[].
# > It arose in the jnp.arange argument 'stop'
# > This BatchTracer with object id 140406974192336 was created on line:
# >   <ipython-input-32-d6ff062f5054>:8 (react_forward)
# > See
# > https://jax.readthedocs.io/en/latest/errors.html#jax.errors.ConcretizationTypeError
# > ```
#
# Today:
#
# > ```text
# > ConcretizationTypeError: Abstract tracer value encountered where concrete value is
# > expected: traced array with shape int32[]
# > It arose in the jnp.arange argument 'stop'
# > This ...Tracer with object id ... was created on line:
# >   ... (react_forward_of_the_page)
# > See https://docs.jax.dev/en/latest/...errors.html#jax.errors.ConcretizationTypeError
# > ```
#
# </details>

# %% [markdown]
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-08)</summary>
#
# Still so: any Python number works.
#
# > ```python
# > def react_forward_with_5(key, x):
# >     k = 5
# >     intermediate_array = jax.lax.stop_gradient(model(x, k, jnp.zeros_like(x)))
# >     return model(x, MAX_ITERS - k, intermediate_array)
# >
# >
# > rndm_keys = jax.random.split(jax.random.key(0), 300)
# > a = jnp.ones((300, 32, 8))
# > print(jax.vmap(react_forward_with_5, in_axes=(0, 0))(rndm_keys, a).shape)
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > With `k = 5`, or any other hard-coded integer, it works perfectly.
#
# Today:
#
# > ```text
# > (300, 32, 8)
# > ```
#
# </details>

# %% [markdown]
# Here is your function as the question called it, and what `explain` says of its error.

# %%
def explain_the_question():
    """Map your function over 3 examples, and explain the error."""
    keys, xs = jax.random.split(jax.random.key(0), 3), jnp.ones((3, 2, 8))
    try:
        if jax.vmap(react_forward)(keys, xs) is None:
            print("Write `react_forward` first: then this cell explains its error.")
    except jax.errors.ConcretizationTypeError as error:
        return explain(error)


explain_the_question()

# %% [markdown]
# (The repair that it shows is for an array of values. A loop needs another one: Part
# 3.)
#
# The rule behind it: **every JAX array has a static shape.** Under `vmap` one program
# serves all examples, and a program has one shape for each of its arrays. An array of k
# numbers, with another k in each example, does not exist. The number k itself does: it
# can be compared, added, and used to choose.

# %% [markdown]
# ## Part 3. Two ways out
#
# From here on, k is the depth: an example runs k steps, and no more.
#
# **A: run the greatest number of steps, and mask.** Every example runs MAX_ITERS steps.
# After its own depth, it keeps its old state: `jnp.where` chooses. No size is traced.
# Here is the idea on plain numbers.

# %%
def double_masked(start, rounds):
    """Double a number in the first rounds of five."""

    def step(value, i):
        return jnp.where(i < rounds, 2 * value, value), value

    return jax.lax.scan(step, start, jnp.arange(5))


for rounds in (1, 3):
    last, seen = double_masked(1, rounds)
    print("rounds:", rounds, " values before each:", seen, " last:", last)

# %% [markdown]
# ### Exercise: Mask the rest (3 points)
#
# Run `block` `depth` times on a state of zeros, where `depth` is traced.
#
# It works under `jax.jit` and `jax.vmap`, and has the gradient of a plain loop with
# respect to `weights` and `x`. The loop is in the program: no loop of Python's over the
# steps, which would write the block out MAX_ITERS times.
#
# ```python
# >>> masked_depth(jnp.eye(2), jnp.array([[0.5, -0.5]]), 1)
# Array([[ 0.46211717, -0.46211717]], dtype=float32)
# ```
#
# **Args:**
#
# - `weights`: float32[d,d].
# - `x`: float32[n,d].
# - `depth`: int32[], from 0 to MAX_ITERS.
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
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-14)</summary>
#
# The answer names this way, and shows no code. Here it is in the place of the scan that
# failed, for 12 examples with depths from 1 to 5, against loops of Python's.
#
# > ```python
# > def iterate_masked(x, iters_to_do):
# >     def loop_body(h, i):
# >         return jnp.where(i < iters_to_do, block(WEIGHTS, h, x), h), None
# >
# >     return jax.lax.scan(loop_body, jnp.zeros_like(x), jnp.arange(MAX_ITERS))[0]
# >
# >
# > a_dozen = jnp.sin(jnp.arange(12 * 32 * 8.0)).reshape(12, 32, 8)
# > k_of_each = np.arange(12) % 5 + 1
# > zeros = jnp.zeros((32, 8))
# > looped = [model(a_dozen[i], int(k_of_each[i]), zeros) for i in range(12)]
# > mapped = jax.vmap(iterate_masked)(a_dozen, k_of_each)
# > print(np.allclose(mapped, jnp.stack(looped), atol=1e-5))
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > Create a padded array of the maximum size.
#
# Today:
#
# > ```text
# > True
# > ```
#
# </details>

# %% [markdown]
# **B: a loop that counts at run time.** `jax.lax.fori_loop(start, stop, body, state)`
# runs `state = body(i, state)` for each i; its `stop` may be traced. It needs no
# greatest number of rounds. (The answer wrote `jax.fori_loop`; it is in `jax.lax`.)

# %%
def double_counted(start, rounds):
    """Double a number `rounds` times."""
    return jax.lax.fori_loop(0, rounds, lambda i, value: 2 * value, start)


print(jax.vmap(double_counted, in_axes=(None, 0))(1, jnp.array([1, 3, 10])))

# %% [markdown]
# ### Exercise: Count at run time (3 points)
#
# Run `block` `depth` times on a state of zeros, where `depth` is traced and has no
# upper bound.
#
# It works under `jax.jit` and `jax.vmap`. One compiled program serves all depths.
#
# ```python
# >>> counted_depth(jnp.eye(2), jnp.array([[0.5, -0.5]]), 1000)
# Array([[ 0.88122535, -0.88122535]], dtype=float32)
# ```
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
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-15)</summary>
#
# Named in the same sentence, as `jax.fori_loop` and `jax.scan`; both are in `jax.lax`.
# Again for 12 examples with depths from 1 to 5, against loops of Python's:
#
# > ```python
# > def iterate_counted(x, iters_to_do):
# >     def loop_body(i, h):
# >         return block(WEIGHTS, h, x)
# >
# >     return jax.lax.fori_loop(0, iters_to_do, loop_body, jnp.zeros_like(x))
# >
# >
# > a_dozen = jnp.sin(jnp.arange(12 * 32 * 8.0)).reshape(12, 32, 8)
# > k_of_each = np.arange(12) % 5 + 1
# > zeros = jnp.zeros((32, 8))
# > looped = [model(a_dozen[i], int(k_of_each[i]), zeros) for i in range(12)]
# > mapped = jax.vmap(iterate_counted)(a_dozen, k_of_each)
# > print(np.allclose(mapped, jnp.stack(looped), atol=1e-5))
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > Use `jax.fori_loop` in place of `jax.scan`.
#
# Today:
#
# > ```text
# > True
# > ```
#
# </details>

# %% [markdown]
# `program` shows what became of the two loops. `double_masked` is a `scan`, with a
# known number of rounds; `select_n` is what `where` becomes, and names the value for
# False first. A `fori_loop` is two things: with a static `stop` it becomes a `scan`,
# too; with a traced one it is a `while`, which asks before each round whether to go on.

# %%
program(double_masked, 1, jnp.array(3))

# %%
program(double_counted, 1, jnp.array(3))

# %% [markdown]
# ### What do they cost?
#
# The mask runs MAX_ITERS rounds, however few are needed. The `while` can stop early,
# but a batch is done when its last example is. So under `vmap` it runs as many rounds
# as the *deepest* example needs; the others wait. In a batch of eight, one is nearly
# always deep, and little is saved. But if you *sort* a long queue of examples by
# depth first, and cut it into batches then, the examples of a batch are alike. Here
# are the rounds for 200 examples, and the time on your computer.

# %%
def seconds_for(run):
    """Return how long something takes on this computer: the best of several times."""
    clock, times = real_machine(run).clock, []
    for _ in range(8):  # the first one compiles
        before = clock()
        jax.block_until_ready(run())
        times.append(clock() - before)
    return min(times)


def cost_of(way_out, depths):
    """Return the rounds and the seconds for examples in batches of eight."""
    weights, xs = jnp.eye(128), jnp.ones((8, 128, 128))
    batches = jnp.asarray(depths.reshape(-1, 8))
    mapped = jax.jit(jax.vmap(way_out, in_axes=(None, 0, 0)))
    seconds = seconds_for(lambda: [mapped(weights, xs, batch) for batch in batches])
    return int(batches.max(1).sum()), len(batches) * MAX_ITERS, seconds


def draw_costs():
    """Draw what 200 examples cost in three ways."""
    one = jnp.eye(2), jnp.ones((1, 2)), 1
    if masked_depth(*one) is None or counted_depth(*one) is None:
        print("Write both ways out first: then this cell draws what they cost.")
        return
    depths = np.random.RandomState(0).randint(1, MAX_ITERS + 1, 200)
    _, all_rounds, seconds = cost_of(masked_depth, depths)
    costs = {"masked": (all_rounds, seconds)}
    for name, queue in {"counted": depths, "counted, sorted": np.sort(depths)}.items():
        costs[name] = cost_of(counted_depth, queue)[::2]
    _, axes = plt.subplots(figsize=(6, 1.8), layout="constrained")
    bars = axes.barh(list(costs), [rounds for rounds, _ in costs.values()])
    labels = [f" {n} rounds, {1e3 * seconds:.0f} ms" for n, seconds in costs.values()]
    axes.bar_label(bars, labels)
    axes.invert_yaxis()
    axes.margins(x=0.5)
    axes.set_xlabel("rounds")
    plt.show()


draw_costs()

# %% [markdown]
# ## Part 4. Train with random depth
#
# Training needs a gradient. Which of the loops have one? There are two kinds.
# **Reverse** mode, `jax.grad`, goes back through all steps, from the last to the first.
# **Forward** mode pushes a change along with each step: `jax.jvp(f, (w,), (1.0,))`
# gives the value at w, and how it changes. Here are four ways to multiply 1 by w, n
# times.

# %%
def power_masked(w, n):
    """Mask a scan of 8 rounds."""

    def step(p, i):
        return jnp.where(i < n, p * w, p), None

    return jax.lax.scan(step, 1.0, jnp.arange(8))[0]


def power_masked_fori(w, n):
    """Mask a fori_loop of 8 rounds."""
    return jax.lax.fori_loop(0, 8, lambda i, p: jnp.where(i < n, p * w, p), 1.0)


def power_counted(w, n):
    """Count with a fori_loop of n rounds."""
    return jax.lax.fori_loop(0, n, lambda i, p: p * w, 1.0)


def power_while(w, n):
    """Go on while there are rounds left."""
    goes_on, body = lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * w)
    return jax.lax.while_loop(goes_on, body, (0, 1.0))[1]


print(power_masked(2.0, 3), power_masked_fori(2.0, 3))
print(power_counted(2.0, 3), power_while(2.0, 3))
print(jax.jvp(lambda w: power_masked(w, 3), (2.0,), (1.0,)))

# %% [markdown]
# ### Exercise: Which loop has which derivative? (3 points)
#
# Take the derivative of `power(w, n)` with respect to `w`, in reverse and forward mode,
# with traced `n`.
#
# (An argument of a jitted function is traced.)
#
# ```python
# >>> derivatives(power_masked, 2.0, 3)
# (12.0, 12.0)
# ```
#
# **Args:**
#
# - `power`: a function of a float and a number of rounds, such as `power_masked`.
# - `w`: float.
# - `n`: int, the number of rounds; it must be traced.
#
# **Returns:** A tuple `(reverse, forward)`: for each, the derivative as a float or a
# float32[], or None where JAX raises ValueError.

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
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-16)</summary>
#
# Question and answer do not speak of gradients; we added this, since training needs
# them. JAX says why a counted loop has none.
#
# > ```python
# > for power in (power_masked, power_counted):
# >     try:
# >         print(jax.jit(jax.grad(power))(2.0, 3))
# >     except ValueError as error:
# >         print(f"ValueError: {error}")
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > Create a padded array of the maximum size, or use `jax.fori_loop` in place of
# > `jax.scan`.
#
# Today:
#
# > ```text
# > 12.0
# > ValueError: Reverse-mode differentiation does not work for lax.while_loop or
# > lax.fori_loop with dynamic start/stop values. ...
# > ```
#
# </details>

# %% [markdown]
# Here is your table of all four.

# %%
def print_slopes():
    """Print both derivatives of each loop."""
    for power in (power_masked, power_masked_fori, power_counted, power_while):
        pair = derivatives(power, 2.0, 3)
        if pair is None:
            print("Write `derivatives` first: then this cell prints those of the loops.")
            return
        print(f"{power.__name__:18} reverse: {pair[0]}  forward: {pair[1]}")


print_slopes()

# %% [markdown]
# Why has a counted loop no reverse derivative? To go back, reverse mode must keep the
# state of every round, in an array, and an array has a static size. Forward mode goes
# along with the rounds, and keeps none.
#
# So now repair the loss of the network, and train it.

# %%
def mean_loss(scores, labels):
    """Return the mean cross-entropy of scores[b] for labels[b], which are 0 or 1."""
    return jnp.mean(jnp.logaddexp(0.0, jnp.where(labels == 1, -scores, scores)))

# %% [markdown]
# ### Repair: a loss with random depth (3 points)
#
# Compute the loss of the network, where each point runs the block as often as its own
# depth says.
#
# The value below is right, but `jax.grad` of it fails: repair it. The gradient with
# respect to all of `params` is that of plain loops, also under `jax.jit`.
#
# ```python
# >>> two = points[:2], labels[:2], jnp.array([0, 6])
# >>> jax.grad(loss_at_depths)(first_params(), *two)["block"].shape
# (8, 8)
# ```
#
# **Args:**
#
# - `params`: a dict as in `first_params`: "embed" float32[2,d], "shift" float32[d],
#   "block" float32[d,d] and "head" float32[d].
# - `points`: float32[b,2].
# - `labels`: int32[b], 0 or 1.
# - `depths`: int32[b], each from 0 to MAX_ITERS.
#
# **Returns:** float32[]: `mean_loss` of the scores.

# %%
def loss_at_depths(params, points, labels, depths):
    """Compute the loss of the network, where each point runs the block as often as its
    own depth says.
    """

    def last_state(x, depth):
        def body(i, h):
            return block(params["block"], h, x)

        return jax.lax.fori_loop(0, depth, body, jnp.zeros_like(x))

    states = jax.vmap(last_state)(embed(params, points), depths)
    return mean_loss(states @ params["head"], labels)


check(loss_at_depths)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(loss_at_depths)
# solution(loss_at_depths)

# %% [markdown]
# Now train two networks for 1000 steps: one always runs 6 steps, and in the other each
# point runs a random number of them, drawn anew in each step of training. Then let both
# stop early.

# %%
def fit(depths_of, steps=1000):
    """Train with your loss, at the depths that `depths_of` draws with a key."""

    def training_step(params, key):
        of_this_step = points, labels, depths_of(key)
        value, slopes = jax.value_and_grad(loss_at_depths)(params, *of_this_step)
        return jax.tree.map(jnp.subtract, params, slopes), value

    def run(params):
        keys = jax.random.split(jax.random.key(0), steps)
        return jax.lax.scan(training_step, params, keys)

    return jax.jit(run)(first_params())


def accuracy(params, depth):
    """Return the part of the points that a network gets right at a depth."""
    xs = embed(params, points)
    h = jnp.zeros_like(xs)
    for _ in range(depth):
        h = block(params["block"], h, xs)
    return float(jnp.mean((h @ params["head"] > 0) == (labels == 1)))


def draw_training():
    """Train two networks; draw their losses, and how good they are at each depth."""
    always = jnp.full(200, MAX_ITERS)
    try:
        jax.grad(loss_at_depths)(first_params(), points, labels, always)
        keys_and_depths(jax.random.key(0), 200, MAX_ITERS)[1].shape
    except (TypeError, ValueError):
        print("Write `keys_and_depths` and repair the loss: then this cell trains.")
        return
    ways = {"always 6": lambda key: always}
    ways["random depth"] = lambda key: keys_and_depths(key, 200, MAX_ITERS)[1]
    _, (left, right) = plt.subplots(1, 2, figsize=(7, 2.6), layout="constrained")
    depths = range(1, MAX_ITERS + 1)
    for name, depths_of in ways.items():
        params, losses = fit(depths_of)
        left.semilogy(losses, linewidth=0.8, label=name)
        right.plot(depths, [accuracy(params, k) for k in depths], "o-", label=name)
    left.set(xlabel="steps of training", ylabel="loss")
    right.set(xlabel="it stops after … rounds", ylabel="accuracy")
    left.legend()
    right.legend()
    plt.show()


draw_training()

# %% [markdown]
# After all 6 steps both are good. But the network that always ran 6 is much worse if
# you stop it after one. Trained with random depth, it gives a good answer early, and
# you may stop it at any time: that is what random depth is for. Its loss is greater,
# and jumps, since it has to do well at every depth, and each step of training draws
# others.

# %% [markdown]
# ## What to remember
#
# - Shapes, lengths and Python numbers are **static**. Numbers computed or drawn inside
#   `jit` or `vmap` are **traced**: they come too late for `int`, `item`, `range` and
#   `arange`.
# - If a size is random, run the greatest size with a **mask**: it costs all rounds, and
#   has a gradient. Or **count** at run time, with a traced `fori_loop`: it stops with
#   the deepest example, and has no reverse gradient.
# - A static `fori_loop` is a `scan`, a traced one a `while`.
# - `randint` leaves out its upper bound.
# - To train with random depth, draw a depth for each example, and mask.

# %% [markdown]
# ## More
#
# The rest is for another day. Pick what you need: no section builds on another.
#
# ### No size can be traced
#
# `jnp.arange(k)` is not alone: every function that must know a size refuses a tracer,
# each in its own words. Some of them say what to do instead.

# %% [markdown]
# ### Exercise: Four refusals (2 points, beyond the core)
#
# Return a function that uses a number as a size, in one of four ways.
#
# ```python
# use              returns for n
# "arange"         int32[n], by `jnp.arange(n)`
# "arange from 0"  int32[n], by `jnp.arange(0, n)`
# "scan"           int32[], by `jax.lax.scan`
# "zeros"          float32[n], by `jnp.zeros(n)`
# ```
#
# Here n is an int or an int32[], 0 or more. "scan" adds 1 to 0, n times, with
# `length=n`, and returns n. Called plainly, all of them work. Under `jax.vmap`, none
# does: let JAX's errors pass.
#
# ```python
# >>> as_size("arange from 0")(3), int(as_size("scan")(4))
# (Array([0, 1, 2], dtype=int32), 4)
# ```
#
# **Args:**
#
# - `use`: "arange", "arange from 0", "scan" or "zeros".
#
# **Returns:** A function of n.

# %%
def as_size(use):
    """Return a function that uses a number as a size, in one of four ways."""
    ...


check(as_size)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(as_size)
# solution(as_size)

# %% [markdown]
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-13)</summary>
#
# Still so. Each has its own words, and `scan` says what to do instead.
#
# > ```python
# > def count_one(count, _):
# >     return count + 1, None
# >
# >
# > def count_up_to(n):
# >     return jax.lax.scan(count_one, 0, length=n)[0]
# >
# >
# > for use in (jnp.arange, lambda n: jnp.arange(0, n), count_up_to, jnp.zeros):
# >     try:
# >         jax.vmap(use)(jnp.array([2, 1, 3]))
# >     except TypeError as error:
# >         print(type(error).__name__, *str(error).splitlines()[:2], sep="\n")
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > JAX arrays must have static shapes. A random integer that is passed to `jnp.arange`
# > would give an array of dynamic shape, and such code cannot run under transformations
# > like `jit` and `vmap`.
#
# Today:
#
# > ```text
# > ConcretizationTypeError
# > Abstract tracer value encountered where concrete value is expected: traced array
# > with shape int32[]
# > It arose in the jnp.arange argument 'stop'
# > ConcretizationTypeError
# > Abstract tracer value encountered where concrete value is expected: traced array
# > with shape int32[]
# > It arose in the jnp.arange argument 'stop'
# > ConcretizationTypeError
# > Abstract tracer value encountered where concrete value is expected: traced array
# > with shape int32[]
# > The `length` argument to `scan` expects a concrete `int` value. For scan-like
# > iteration with a dynamic length, use `while_loop` or `fori_loop`.
# > TypeError
# > Shapes must be 1D sequences of concrete values of integer type, got ...
# > If using `jit`, try using `static_argnums` or applying `jit` to smaller
# > subfunctions.
# > ```
#
# </details>

# %% [markdown]
# ### Sizes that are known outside
#
# Often the size is known before `jit`, as the length of a text. Then there is no error,
# but each new length is a new shape, and is compiled anew. **Buckets** help: pad to the
# next power of two, and mask. Then 1000 lengths need 11 programs.

# %%
@jax.jit
def sum_of_exp(padded, n):
    """Add up exp of the first n entries: padded[m], n int -> float."""
    return jnp.where(jnp.arange(len(padded)) < n, jnp.exp(padded), 0.0).sum()


for values in (np.zeros(5, "float32"), np.zeros(7, "float32"), np.zeros(9, "float32")):
    n = len(values)
    bucket = 2 ** (n - 1).bit_length()
    print(n, "in", bucket, sum_of_exp(np.pad(values, (0, bucket - n)), n))

# %% [markdown]
# ### Bounds: static or traced?
#
# The question's `get_rand_num` was jitted, with its bounds static. So each new pair of
# bounds is compiled, and bounds that are traced, or differ between examples, are
# refused. Does `randint` need to know its bounds? They decide about the value that
# comes out, and about no shape.

# %% [markdown]
# ### Exercise: The question's sampler (3 points, beyond the core)
#
# Return the jitted sampler of the question, with static bounds, or with traced ones.
#
# It is a function of `key`, `lower_bound` and `upper_bound`. It splits the key in two,
# and draws one int32 with the second of the new keys, by `jax.random.randint`: from the
# lower bound to the upper one, which is left out.
#
# ```python
# >>> rand_num_sampler("traced")(jax.random.key(0), 1, 6)
# Array(3, dtype=int32)
# ```
#
# **Args:**
#
# - `bounds`: "static": one program for each pair of bounds, and traced bounds are
#   refused by JAX's own error. "traced": one program for all bounds, which may be
#   traced, too.
#
# **Returns:** A jitted function.

# %%
def rand_num_sampler(bounds):
    """Return the jitted sampler of the question, with static bounds, or with traced
    ones.
    """
    ...


check(rand_num_sampler)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(rand_num_sampler)
# solution(rand_num_sampler)

# %% [markdown]
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-05)</summary>
#
# No output is shown. With today's numbers, 300 keys give the five depths about equally
# often, and a traced bound is refused.
#
# > ```python
# > @partial(jax.jit, static_argnums=(1, 2))
# > def get_rand_num(key, lower_bound, upper_bound):
# >     key, subkey = jax.random.split(key)
# >     random_number = jax.random.randint(subkey, (), lower_bound, upper_bound)
# >     return random_number.astype(int)
# >
# >
# > rndm_keys = jax.random.split(jax.random.key(0), 300)
# > numbers = jax.vmap(lambda key: get_rand_num(key, 1, MAX_ITERS))(rndm_keys)
# > print(numbers.dtype, np.bincount(numbers))
# > try:
# >     jax.jit(lambda bound: get_rand_num(rndm_keys[0], 1, bound))(MAX_ITERS)
# > except ValueError as error:
# >     print(f"ValueError: {error}")
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > Jit the sampler, with its bounds static.
#
# Today:
#
# > ```text
# > int32 [ 0 64 62 59 64 51]
# > ValueError: Non-hashable static arguments are not supported. ...
# > ```
#
# </details>

# %% [markdown]
# ### Two phases, with a traced k
#
# `react_forward` fails under `vmap`, since its loops need k as a size. Now write both
# phases without one. A single loop of MAX_ITERS steps will do, if each step knows
# whether it counts.

# %% [markdown]
# ### Exercise: Two phases (3 points, beyond the core)
#
# Run `block` MAX_ITERS times from zeros; only the last MAX_ITERS - k steps count for
# the gradient.
#
# k is traced. For the gradient with respect to the weights, the first k steps count as
# constants. It works under `jax.jit` and `jax.vmap`.
#
# ```python
# >>> slope = jax.grad(two_phase_loss)
# >>> slope(jnp.eye(2), jnp.ones((1, 2)), MAX_ITERS)
# Array([[0., 0.],
#        [0., 0.]], dtype=float32)
# ```
#
# **Args:**
#
# - `weights`: float32[d,d].
# - `x`: float32[n,d].
# - `k`: int32[], from 0 to MAX_ITERS.
#
# **Returns:** float32[], the mean of the squares of the last state.

# %%
def two_phase_loss(weights, x, k):
    """Run `block` MAX_ITERS times from zeros; only the last MAX_ITERS - k steps count
    for the gradient.
    """
    ...


check(two_phase_loss)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(two_phase_loss)
# solution(two_phase_loss)

# %% [markdown]
# <details>
# <summary>The document's example, today: Generating random numbers under JIT
# (S3-10)</summary>
#
# The output does not depend on k, so it cannot tell whether k was honoured. The
# gradient can: here, that of the sum of the output with respect to the first weight.
#
# > ```python
# > def output_of(weights, x, k):
# >     h = jnp.zeros_like(x)
# >     for i in range(MAX_ITERS):
# >         h = jax.lax.stop_gradient(h) if i == k else h
# >         h = block(weights, h, x)
# >     return h.sum()
# >
# >
# > for k in (1, 3, 5):
# >     value, slope = jax.value_and_grad(output_of)(WEIGHTS, jnp.ones((2, 8)), k)
# >     print(f"{value:.4f}, slope {slope[0, 0]:.4f}")
# > ```
#
# [Generating random numbers under JIT](https://stackoverflow.com/questions/76838537)
# says:
#
# > After k passes whose gradient is not tracked, run MAX_ITERS - k passes, and track
# > their gradient.
#
# Today:
#
# > ```text
# > 11.2388, slope 0.0687
# > 11.2388, slope 0.0731
# > 11.2388, slope 0.1960
# > ```
#
# </details>

# %% [markdown]
# ### A trap: the mask and the gradient
#
# A masked entry is not used, but its derivative is computed all the same. The root has
# an infinite slope at 0, and 0 times infinity is NaN.

# %%
padded = jnp.array([4.0, 9.0, 0.0, 0.0])
print(jax.grad(lambda x: jnp.where(jnp.arange(4) < 2, jnp.sqrt(x), 0.0).sum())(padded))

# %% [markdown]
# If you mask the input instead, `jnp.sqrt(jnp.where(used, x, 0.0))`, reverse mode is
# fine: on its way back, it meets `where` after the root, and that cuts off what is not
# used. But forward mode goes through `where` first and then through the root, and there
# it multiplies 0 by infinity, for whatever entry it pushes a change along:

# %%
used = jnp.arange(4) < 2
print(jax.jacrev(lambda x: jnp.sqrt(jnp.where(used, x, 0.0)).sum())(padded))
print(jax.jacfwd(lambda x: jnp.sqrt(jnp.where(used, x, 0.0)).sum())(padded))

# %% [markdown]
# ### Repair: a mask without NaN (3 points, beyond the core)
#
# Add up the roots of the first n entries, and take the derivative in reverse and in
# forward mode.
#
# The other entries are padding, and leave no trace in the sum; their derivative is 0.
# Below, the padding spoils the derivative in reverse mode: repair `total`, so that all
# its derivatives are right, the second ones, too.
#
# ```python
# >>> total, reverse, forward = slopes_of_roots(jnp.array([4.0, 0.0, -1.0]), 1)
# >>> total, forward
# (Array(2., dtype=float32), Array([0.25, 0.  , 0.  ], dtype=float32))
# ```
#
# **Args:**
#
# - `x`: float32[m]; the first n entries are positive, perhaps tiny; the others
#   anything, also 0, negative or NaN.
# - `n`: int32[], traced, from 0 to m.
#
# **Returns:** A tuple of float32[], the sum; float32[m], its derivative by
# `jax.jacrev`; and float32[m], the same by `jax.jacfwd`.

# %%
def slopes_of_roots(x, n):
    """Add up the roots of the first n entries, and take the derivative in reverse and
    in forward mode.
    """

    def total(x):
        return jnp.where(jnp.arange(x.shape[0]) < n, jnp.sqrt(x), 0.0).sum()

    return total(x), jax.jacrev(total)(x), jax.jacfwd(total)(x)


check(slopes_of_roots)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(slopes_of_roots)
# solution(slopes_of_roots)

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


program(jax.vmap(choose), jnp.array([True, False]), jnp.ones((2, 3)))

# %% [markdown]
# ### Make it fast: one switch for all rows (2 points, beyond the core)
#
# Apply `choose` to all rows with one flag.
#
# The body below gives the right rows, but always pays for both branches.
#
# ```python
# >>> one_switch_for_all(jnp.array(False), jnp.array([[1.0, 2.0], [3.0, 4.0]]))
# Array([[-1., -2.],
#        [-3., -4.]], dtype=float32)
# ```
#
# **Args:**
#
# - `flag`: bool[].
# - `xs`: float32[b,d].
#
# **Returns:** float32[b,d]: row i is `choose(flag, xs[i])`. The program has one `cond`,
# with both branches in it, and no `select_n`. It works under `jax.jit`.

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
# ### Stochastic depth as it is used
#
# In deep *residual* networks, each layer adds something to its input. There, random
# depth has another form, called *drop path*: in training, each example skips each layer
# with some probability. What a kept layer adds is divided by the probability to keep
# it: so a layer adds as much on average as if nothing were dropped.

# %%
def branch(layer, h):
    """Return what a layer adds: layer[d,d], h[b,d] -> [b,d]."""
    return jnp.tanh(h @ layer)

# %% [markdown]
# ### Exercise: Drop path (3 points, beyond the core)
#
# Run all layers of a residual network, where each example skips each layer with
# probability 1 - keep.
#
# A layer makes `h + branch(layer, h) / keep` of the state h where it is kept, and
# leaves h where it is skipped. The state starts with x. All decisions are independent,
# and come from the key. The program is as long for many layers as for two.
#
# ```python
# >>> drop_path(jax.random.key(0), jnp.ones((1, 2, 2)), jnp.ones((1, 2)), 1.0)
# Array([[1.9640276, 1.9640276]], dtype=float32)
# ```
#
# **Args:**
#
# - `key`: `key<fry>[]`.
# - `layers`: float32[l,d,d], with l of 1 or more.
# - `x`: float32[b,d].
# - `keep`: a float above 0, at most 1.
#
# **Returns:** float32[b,d], the state after the last layer.

# %%
def drop_path(key, layers, x, keep):
    """Run all layers of a residual network, where each example skips each layer with
    probability 1 - keep.
    """
    ...


check(drop_path)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(drop_path)
# solution(drop_path)

# %% [markdown]
# ### Remember less
#
# Reverse mode keeps, for each step, what it needs to go back. Look at the arrays with a
# first axis of 100 in the gradient of 100 steps: five of them.

# %%
def gated_step(weights, h):
    """Run one step of a deeper kind: weights[d,d], h[n,d] -> [n,d]."""
    mixed = jnp.tanh(h @ weights)
    return h + jnp.sin(mixed) * mixed


def deep_loss(weights, x):
    """Run 100 steps, and return the sum of squares."""

    def step(h, _):
        return gated_step(weights, h), None

    return jnp.sum(jax.lax.scan(step, x, length=100)[0] ** 2)


of_the_gradient = program(jax.grad(deep_loss), jnp.eye(3), jnp.ones((2, 3)))
print(of_the_gradient.results["float32[100,2,3]"])

# %% [markdown]
# `jax.checkpoint(f)` is `f`, with one difference: for its gradient, it keeps only the
# arguments, and computes the rest again. That takes a little more time, and much less
# memory: deep networks are trained like that.

# %% [markdown]
# ### Repair: remember less (2 points, beyond the core)
#
# Run `gated_step` some times, and add up the squares of the last state. Let the
# gradient keep less.
#
# The value below is right, and so is its gradient, but of each step that keeps five
# arrays: repair it, so that it keeps one, the state. The gradient stays as it is, with
# respect to both `weights` and `x`, and the loop stays in the program.
#
# ```python
# >>> remember_less(jnp.zeros((2, 2)), jnp.ones((1, 2)), 5)
# Array(2., dtype=float32)
# ```
#
# **Args:**
#
# - `weights`: float32[d,d].
# - `x`: float32[n,d].
# - `steps`: int, static; 1 or more.
#
# **Returns:** float32[].

# %%
def remember_less(weights, x, steps):
    """Run `gated_step` some times, and add up the squares of the last state."""

    def step(h, _):
        return gated_step(weights, h), None

    return jnp.sum(jax.lax.scan(step, x, length=steps)[0] ** 2)


check(remember_less)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(remember_less)
# solution(remember_less)

# %% [markdown]
# ## What to read next
#
# - [The question](https://stackoverflow.com/questions/76838537), with its answer
# - [JAX errors](https://docs.jax.dev/en/latest/errors.html): every error of this
#   lesson, with its way out
# - [Control flow](https://docs.jax.dev/en/latest/control-flow.html): `scan`,
#   `fori_loop`, `while_loop`, and gradients
# - [Gradient checkpointing](https://docs.jax.dev/en/latest/gradient-checkpointing.html):
#   what to keep, and what to compute again
