# %% check
from jaxguide.course.author import (
    exercise,
    expect_close,
    expect_documented,
    expect_dtype,
    expect_equal,
    expect_no_key_problem,
    expect_shape,
    expect_that,
    given,
    prediction,
    reveal,
    visible,
)


def pair(got, message="Return a tuple of two values."):
    """Return the two parts of a result."""
    expect_that(isinstance(got, tuple | list) and len(got) == 2, message, got)
    return list(got)


def run_loop(weights, x, depth):
    """Run the block `depth` times in a plain Python loop: what every other form must equal."""
    h = jnp.zeros_like(x)
    for _ in range(int(depth)):
        h = jnp.tanh(h @ weights + x)
    return h


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


# %% exercise
@exercise(
    title="Which depths occur?",
    points=2,
    reproduces=["S3-09"],
    hints=[
        "How do you draw one number for each key without a Python loop?",
        "`jax.vmap` maps over the keys; `np.unique` sorts and removes what comes twice. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.randint.html",
        "draws = jax.vmap(lambda key: ____)(keys)\nreturn np.unique(draws)",
        "# Like it: throw 3 coins with each key; how often came 0, 1, 2, 3 heads?\n"
        "def count_heads(coin_key):\n"
        "    return jax.random.bernoulli(coin_key, shape=(3,)).sum()\n\n"
        "coin_keys = jax.random.split(jax.random.key(0), 100)\n"
        "heads = jax.vmap(count_heads)(coin_keys)\n"
        "print(heads.shape)  # (100,)\n"
        "print(np.bincount(heads))  # four numbers, about 12, 38, 38, 12",
    ],
)
def depths_that_occur(keys, low, high):
    """Draw `jax.random.randint(key, (), low, high)` once for each key; say which numbers came out.

    Args:
        keys: key<fry>[n].
        low: int.
        high: int, more than `low`.

    Returns:
        int32[m], the m different numbers that were drawn, in increasing order.
    """
    ...


# %% check
@visible(depths_that_occur, stage="shape", idea="Each number is named once.")
def each_number_is_named_once(answer, draw):
    """With low = 3 and high = 4 only one number can come out, so the result has one number."""
    expect_shape(answer(draw.keys(2), 3, 4), (1,))


@visible(depths_that_occur, stage="dtype")
def the_depths_are_int32(answer, draw):
    """The numbers are int32."""
    expect_dtype(answer(draw.keys(2), 3, 4), "int32")


@visible(
    depths_that_occur,
    idea="`randint` leaves out its upper bound, as Python's `range` does.",
    reproduces=["S3-09"],
)
def the_upper_bound_never_comes(answer, draw):
    """With the bounds 1 and 6 the depths are 1 to 5; only with 1 and 7 they are 1 to 6, as the question wanted."""
    keys = draw.keys(150)
    # One of six numbers is missing among 150 by chance 6 * (5/6)**150 = 8e-12.
    message = "For 150 keys and the bounds 1 and 6, the result should be the numbers 1, 2, 3, 4, 5."
    expect_documented("S3-09", answer(keys, 1, 6), part="today", message=message)
    message = "For 150 keys and the bounds 1 and 7, the result should be the numbers 1, 2, 3, 4, 5, 6."
    expect_documented("S3-09", answer(keys, 1, 7), part="documented", message=message)


@visible(depths_that_occur, idea="Draw from the keys that you are given: one number for each.")
def only_what_was_drawn(answer, draw):
    """Two keys give at most two numbers, those of `randint` with these keys."""
    for _ in range(3):
        keys = draw.keys(2)
        wanted = np.unique([int(jax.random.randint(key, (), 0, 50)) for key in keys])
        got = answer(keys, 0, 50)
        message = "The result should be the numbers that `randint` draws with these keys."
        expect_that(np.array_equal(np.asarray(got), wanted), message, got, wanted.tolist())


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


# %% exercise
@exercise(
    title="Bounds may be traced",
    points=2,
    reproduces=["S3-05"],
    hints=[
        "Which arguments of `randint` decide how big the result is, and which only decide its value?",
        "Values may be traced; shapes must be static. https://docs.jax.dev/en/latest/jit-compilation.html",
        "number = jax.random.randint(key, (), ____, ____)\nreturn number",
        "# Like it: a random point, with a radius that is known only when it runs.\n"
        "@jax.jit\n"
        "def point_within(key, radius):\n"
        '    print("Python runs: JAX compiles")  # printed once for both radii\n'
        "    return jax.random.uniform(key, (2,), minval=-radius, maxval=radius)\n\n"
        "near = point_within(jax.random.key(0), 1.0)\n"
        "far = point_within(jax.random.key(0), 50.0)\n"
        "print(np.abs(near).max() < 1, np.abs(far).max() < 50)  # True True",
    ],
)
def depth_between(key, low, high):
    """Repair this sampler: it must also work where its bounds are traced.

    Numbers from `low` to `high - 1` are equally likely. Each of them can come, also if they are many. One compiled
    program must serve all bounds.

    Args:
        key: key<fry>[].
        low: int or int32[].
        high: int or int32[], more than `low`; `high - low` fits into int32 too.

    Returns:
        int32[].
    """

    @partial(jax.jit, static_argnums=(1, 2))
    def get_rand_num(key, low, high):
        key, subkey = jax.random.split(key)
        return jax.random.randint(subkey, (), low, high).astype(int)

    return get_rand_num(key, low, high)


# %% check
@visible(depth_between, stage="shape")
def a_depth_is_one_number(answer, draw):
    """The result is one number."""
    expect_shape(answer(draw.key(), 1, 6), ())


@visible(
    depth_between,
    idea="JAX's default integer is int32; `high` is left out.",
    reproduces=["S3-05"],
    kind="relation",
    required=True,
)
def all_depths_below_high_occur(answer, draw):
    """Over 300 keys, the bounds 1 and 6 give the numbers 1 to 5, as int32."""
    got = np.asarray(answer.vmap(in_axes=(0, None, None))(draw.keys(300), 1, 6))
    message = "Over 300 keys, the bounds 1 and 6 should give the numbers 1, 2, 3, 4, 5, each an int32."
    expect_documented("S3-05", [np.unique(got).tolist(), got.dtype.name], message=message)


@visible(depth_between, kind="relation", required=True, idea="All numbers are equally likely.")
def depths_are_equally_likely(answer, draw):
    """Over 3000 keys, each of five numbers comes about 600 times."""
    got = np.asarray(answer.vmap(in_axes=(0, None, None))(draw.keys(3000), 1, 6))
    counts = [int((got == number).sum()) for number in range(1, 6)]
    # The standard deviation of a count is 21.9; the bound is 7 of them: chance 1e-11 for all five.
    message = "Each of the numbers 1, 2, 3, 4, 5 should come about 600 times."
    expect_that(all(abs(count - 600) < 153 for count in counts), message, counts, "about 600 each")


@visible(depth_between, kind="relation", required=True, idea="A key decides the number, and every number can come.")
def the_same_key_draws_the_same_depth(answer, draw):
    """The same keys give the same numbers again; other keys give others."""
    keys, mapped = draw.keys(300), answer.vmap(in_axes=(0, None, None))
    first = mapped(keys, 0, 10**6)
    expect_equal(mapped(keys, 0, 10**6), first, "The same keys should give the same numbers again.")
    # Fewer than 250 different numbers of 300 out of a million: impossible by chance.
    different = len(np.unique(np.asarray(first)))
    message = f"300 keys should draw about 300 different numbers out of a million; yours drew {different}."
    expect_that(different > 250, message, f"{different} different numbers", "about 300")


@visible(depth_between, stage="jit", idea="Bounds are values: no shape depends on them.", required=True)
def bounds_may_be_traced(answer, draw):
    """With traced bounds it gives the same numbers."""
    for low, high in ((1, 6), (2, 40)):
        key = draw.key()
        expect_close(answer.jit(key, low, high), answer(key, low, high))


@visible(depth_between, stage="jit", idea="Under `vmap`, every example can have bounds of its own.")
def every_example_may_have_its_own_bounds(answer, draw):
    """Mapped over keys and bounds, each number lies within its own bounds."""
    low = np.arange(300, dtype=np.int32)
    got = np.asarray(answer.vmap(in_axes=(0, 0, 0))(draw.keys(300), low, low + 3))
    inside = (got >= low) & (got < low + 3)
    expect_that(bool(inside.all()), "Each number should lie in its own bounds.", got, "low <= number < low + 3")


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


# %% exercise
@exercise(
    title="An integer that stays in JAX",
    points=1,
    reproduces=["S3-12"],
    hints=[
        "Which two things must change from float32[1] to int32[]: can arrays do both?",
        "`astype` changes the dtype, `reshape` the shape; both are JAX operations. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.reshape.html",
        "return x.astype(int).reshape(____)",
        "# Like it: six whole numbers become a table of float32, inside jit.\n"
        "def as_table(numbers):\n"
        "    return numbers.astype(float).reshape((2, 3))\n\n"
        "table = jax.jit(as_table)(jnp.arange(6))\n"
        "print(table.dtype, table.shape)  # float32 (2, 3)",
    ],
)
def as_integer(x):
    """Repair this: turn an array of one number into one integer. It must work under `jax.jit`.

    The part after the decimal point is cut off: 2.7 becomes 2, and -2.7 becomes -2.

    Args:
        x: float32[1], a number between the smallest and the largest int32.

    Returns:
        int32[].
    """
    return x.item().astype(int)


# %% check
@visible(as_integer, stage="shape", idea="The shape () has no axes: it is one number, not a list of one.")
def an_integer_has_no_axes(answer):
    """The result has no axes."""
    expect_shape(answer(jnp.zeros((1,))), ())


@visible(as_integer, stage="dtype")
def an_integer_is_int32(answer):
    """The result is an int32 array."""
    expect_dtype(answer(jnp.zeros((1,))), "int32")


@visible(as_integer, idea="`astype(int)` cuts off.")
def the_fraction_is_cut_off(answer):
    """2.7 becomes 2, and -2.7 becomes -2."""
    for number, wanted in ((2.7, 2), (-2.7, -2), (3.0, 3)):
        got = answer(jnp.array([number]))
        expect_equal(got, jnp.int32(wanted), f"{number} should become {wanted}.")


@visible(
    as_integer,
    stage="jit",
    idea="`item()` and `int()` ask for a number that is not there while tracing.",
    reproduces=["S3-12"],
    required=True,
)
def the_integer_survives_jit(answer):
    """Under `jax.jit`, zeros((1,)) becomes the integer 0 of type int32 and shape ()."""
    got = answer.jit(jnp.zeros((1,)))
    message = "Under `jax.jit` the result should be 0, an int32 of shape ()."
    expect_documented("S3-12", [int(np.asarray(got)), got.dtype.name, list(got.shape)], message=message)


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


# %% exercise
@exercise(
    title="Fails plain, fails compiled",
    points=3,
    reproduces=["S3-02", "S3-03", "S3-11"],
    hints=[
        "If the plain call raises, must the compiled call be tried as well?",
        "`type(error).__name__` is the name of an exception's class. `jax.jit(function)(*args)` traces the arguments. "
        "https://docs.jax.dev/en/latest/errors.html",
        "def name_of_failure(f):\n    try:\n        f(*args)\n    except Exception as error:\n        return ____\n"
        '    return ""\n\nreturn name_of_failure(function), name_of_failure(jax.jit(____))',
        "# Like it: does a function work plainly, and does its gradient?\n"
        "def works(f, x):\n"
        "    try:\n"
        "        f(x)\n"
        "    except Exception:\n"
        "        return False\n"
        "    return True\n\n"
        "def rounded(x):\n"
        "    return jnp.round(x).astype(int)\n\n"
        "print(works(rounded, 2.0), works(jax.grad(rounded), 2.0))  # True False",
    ],
)
def failure_names(function, *args):
    """Call a function plainly and under `jax.jit`, and say which exceptions they raise.

    Args:
        function: any function of the arguments.
        *args: the arguments; under `jax.jit` they must be traced.

    Returns:
        A tuple of two str: the name of the exception's class for the plain call, and for the
        compiled call; "" for a call that raises nothing.
    """
    ...


# %% check
@visible(failure_names, idea="Plain and compiled are two questions: answer both, whatever the exception is.")
def two_names_come_back(answer):
    """A function that stays in JAX fails neither way."""
    first, second = pair(answer(given("value_in_jax"), jnp.array(-2.0)), "Return a tuple of two names.")
    message = "For a call without an exception the name should be ''."
    expect_that((first, second) == ("", ""), message, (first, second), ("", ""))


@visible(
    failure_names,
    idea="`item()` gives a Python float, which has no `astype`: the example was wrong even without `jit`.",
    reproduces=["S3-02"],
)
def the_smallest_example_fails_twice(answer):
    """The question's example raises AttributeError when plain, and ConcretizationTypeError when compiled."""
    message = "For the smallest example, two exceptions should be named: each call fails with one of its own."
    expect_documented("S3-02", answer(given("smallest_example")), message=message)


@visible(
    failure_names,
    idea="Only values are traced. Shapes and dtypes are known while tracing, so Python may use them.",
    reproduces=["S3-03"],
)
def shapes_are_no_values(answer):
    """Compiled, float() of a value fails, and float() of a shape does not."""
    seen = [answer(given(name), jnp.array(x)) for name, x in (("value_to_float", 2.0), ("shape_to_float", [2.0, 1.0]))]
    message = "Compiled, `value_to_float` should fail (ConcretizationTypeError), and `shape_to_float` should not."
    expect_documented("S3-03", seen, message=message)


@visible(
    failure_names,
    idea="A traced value comes too late for Python: no conversion helps.",
    reproduces=["S3-11"],
)
def no_conversion_works(answer):
    """Compiled, item(), int(), a list index and range() all fail."""
    names = ("value_to_item", "value_to_int", "value_as_index", "value_as_range")
    message = "Plain, none of the four functions should fail; compiled, each of them should."
    expect_documented("S3-11", [answer(given(name), jnp.array(1)) for name in names], message=message)


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


# %% exercise
@prediction(
    title="Predict: runs of the Python code",
    points=1,
    hints=[
        "Does anything keep the result of the first call for the second one?",
        "`jax.vmap` traces at every call; only `jax.jit` keeps a program. "
        "https://docs.jax.dev/en/latest/automatic-vectorization.html",
        "# A smaller case: one call of jax.vmap(f) runs the Python code of f 1 time.\nreturn ____",
    ],
)
def predict_body_runs():
    """`mapped = jax.vmap(f)`, and `mapped(xs)` is called 3 times. How often does the Python code of `f` run?

    Returns:
        An int.
    """
    ...


# %% check
@reveal(predict_body_runs)
def runs_of_a_mapped_function():
    """We called `jax.vmap(f)` three times with the same array and counted the runs of `f`'s Python code."""
    runs = []
    mapped = jax.vmap(lambda x: runs.append(1) or 2 * x)
    for _ in range(3):
        mapped(jnp.ones(4))
    return len(runs)


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


# %% exercise
@exercise(
    title="A fixed depth works",
    points=2,
    reproduces=["S3-08"],
    hints=[
        "What does one example need, and what do all examples share?",
        "`jax.lax.scan(step, start, xs)` runs once for each element of `xs`; `in_axes` says what is mapped. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html",
        "def one(x):\n    step = lambda h, _: (block(weights, h, x), None)\n"
        "    h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(____))\n    return h\n\nreturn jax.vmap(____)(xs)",
        "# Like it: each cup of a batch cools for some minutes, in the same room.\n"
        "def cool(room, cups, minutes):\n"
        "    def one(cup):\n"
        "        step = lambda heat, _: ((heat + room) / 2, None)\n"
        "        heat, _ = jax.lax.scan(step, cup, length=minutes)\n"
        "        return heat\n\n"
        "    return jax.vmap(one)(cups)\n\n"
        "print(cool(20.0, jnp.array([100.0, 60.0, 20.0]), 2))  # [40. 30. 20.]",
    ],
)
def run_fixed(weights, xs, depth):
    """Run `block` the same number of times for every example of a batch.

    Each example starts with a state of zeros: h = 0, then `depth` times h = block(weights, h, x).

    Args:
        weights: float32[d,d], the same for all.
        xs: float32[b,n,d], one input [n,d] for each example.
        depth: int, static; 0 or more.

    Returns:
        float32[b,n,d], the last state of each example.
    """
    ...


# %% check
@visible(
    run_fixed,
    stage="shape",
    idea="A Python number is static: `arange` may use it.",
    reproduces=["S3-08"],
)
def the_batch_of_the_question_runs(answer):
    """For 300 examples of 32 tokens and the depth 5, the result has the shape (300, 32, 8)."""
    got = answer(WEIGHTS, TABLE[np.zeros((300, 32), int)], 5)
    expect_shape(got, np.shape(got))
    message = "For 300 examples of 32 tokens the result should have the shape (300, 32, 8)."
    expect_documented("S3-08", list(np.shape(got)), message=message)


@visible(run_fixed, idea="Start with zeros, and run the block `depth` times.")
def fixed_depth_equals_the_loop(answer, draw):
    """Each example equals a plain Python loop, for the depths 0 and 3."""
    weights, xs = draw.floats(3, 3), draw.floats(4, 2, 3)
    for depth in (0, 3):
        wanted = jnp.stack([run_loop(weights, x, depth) for x in xs])
        expect_close(
            answer(weights, xs, depth), wanted, f"With depth {depth}, this should be the last state of a loop."
        )


# %% [markdown]
# ### A depth for each example
#
# Each example should get a depth of its own, so it needs a **key** of its own.


# %% exercise
@exercise(
    title="One key for each example",
    points=2,
    reproduces=["S3-06"],
    hints=[
        "How many examples are there: which axis of the tokens counts them?",
        "`split` makes the keys, `vmap` gives one to each example. https://docs.jax.dev/en/latest/random-numbers.html",
        "keys = jax.random.split(key, tokens.shape[____])\nreturn keys, jax.vmap(____)(keys)",
        "# Like it: make each picture of a batch brighter or darker, at random.\n"
        "def brighten(picture_key, picture):\n"
        "    return picture * jax.random.uniform(picture_key, (), minval=0.5, maxval=2)\n\n"
        "pictures = jnp.ones((4, 3, 3))\n"
        "picture_keys = jax.random.split(jax.random.key(0), len(pictures))\n"
        "brighter = jax.vmap(brighten)(picture_keys, pictures)\n"
        "print(picture_keys.shape, brighter.shape)  # (4,) (4, 3, 3)\n"
        "print(np.asarray(brighter)[:, 0, 0])  # four different numbers",
    ],
)
def depths_for_batch(key, tokens):
    """Make a key for each example, and draw a depth from 1 to MAX_DEPTH with each of them, by `draw_depth`.

    Args:
        key: key<fry>[].
        tokens: int32[b,n]: b examples of n tokens.

    Returns:
        A tuple of two arrays: the keys, key<fry>[b], and the depths int32[b].
    """
    ...


# %% check
@visible(depths_for_batch, stage="shape", idea="The first axis counts the examples.")
def one_key_and_one_depth_each(answer, draw):
    """There are as many keys and depths as examples."""
    for part in pair(answer(draw.key(), jnp.zeros((5, 2), int))):
        expect_shape(part, (5,))


@visible(
    depths_for_batch,
    idea="300 different keys give all depths.",
    reproduces=["S3-06"],
    kind="relation",
    required=True,
)
def the_batch_gets_all_depths(answer, draw):
    """300 examples get 300 different keys, and 300 depths in which 1 to 6 all occur."""
    keys, depths = pair(answer(draw.key(), np.zeros((300, 32)).astype(np.int32)))
    depths = np.asarray(depths)
    different = len(np.unique(keys.bits, axis=0))
    seen = [different, list(depths.shape), depths.dtype.name, np.unique(depths).tolist()]
    expect_documented(
        "S3-06", seen, message="There should be 300 different keys, and 300 depths int32 with 1 to 6 among them."
    )


@visible(depths_for_batch, kind="relation", required=True, idea="`vmap` gives what single draws give.")
def depths_come_from_the_keys(answer, draw):
    """Each depth is what `draw_depth` gives for the key of its example."""
    keys, depths = pair(answer(draw.key(), jnp.zeros((5, 2), int)))
    wanted = jnp.stack([draw_depth(jax.random.wrap_key_data(bits)) for bits in keys.bits])
    expect_equal(depths, wanted, "The depths should be those that `draw_depth` gives for the returned keys.")


@visible(depths_for_batch, kind="relation", required=True, idea="All randomness comes from the key.")
def another_key_gives_other_keys(answer, draw):
    """The same key gives the same keys, and another key gives others."""
    key, tokens = draw.key(), jnp.zeros((5, 2), int)
    first, again, other = (pair(answer(k, tokens))[0] for k in (key, key, draw.key()))
    expect_equal(again, first, "The same key should give the same keys again.")
    message = "Another key should give other keys; some of yours were there before."
    expect_that(not (first.bits[:, None] == other.bits).all(-1).any(), message, other, "other keys")


@visible(depths_for_batch, stage="keys", idea="The key that was split is not used again.")
def no_key_draws_twice(answer, draw):
    """No key is used for two things."""
    expect_no_key_problem(answer.key_use(draw.key(), jnp.zeros((5, 2), int)))


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


# %% exercise
@exercise(
    title="Read the complaint",
    points=3,
    reproduces=["S3-01", "S3-07", "S3-13"],
    hints=[
        "What is the first thing that an error message says, and what the second?",
        "`str(error).splitlines()` are the lines of a message. https://docs.jax.dev/en/latest/errors.html",
        "try:\n    jax.vmap(function)(*batches)\nexcept Exception as error:\n"
        '    return type(error).__name__, ____\nreturn "", []',
        "# Like it: why a function has no gradient, in the first sentence.\n"
        "def reason(f, x):\n"
        "    try:\n"
        "        jax.grad(f)(x)\n"
        "    except TypeError as error:\n"
        '        return str(error).split(".")[0]\n'
        '    return "it has a gradient"\n\n'
        "print(reason(jnp.sum, jnp.ones(3)))  # it has a gradient\n"
        "print(reason(jnp.sin, jnp.ones(3)))",
    ],
)
def complaint_under_vmap(function, *batches):
    """Map a function over batches, and return how it complains.

    Args:
        function: any function of one example.
        *batches: arrays; every one is mapped over its first axis.

    Returns:
        A tuple `(name, lines)`: the name of the exception's class, a str, and a list of the first
        two lines of its message, or of its only line. Without an exception: `("", [])`.
    """
    ...


# %% check
DEPTHS = np.array([2, 1, 3], np.int32)


def complaint(got):
    """Return the name and the two lines of a complaint."""
    name, lines = pair(got, "Return a tuple: a name, and a list of lines.")
    expect_that(isinstance(name, str), "The first part should be the class's name, a str.", name)
    message = "The second part should be a list of the first two lines of the message."
    expect_that(isinstance(lines, list) and len(lines) == 2, message, lines)
    return name, lines[0], lines[1]


@visible(complaint_under_vmap, idea="Under `vmap` alone, only what comes from a mapped array is traced.")
def no_complaint_is_empty(answer):
    """Without an error there is no complaint: in JAX, and for a Python int of what is not mapped."""
    for function in ("value_in_jax", "int_of_a_constant"):
        got = pair(answer(given(function), jnp.ones(3)), "Return a tuple: a name, and a list of lines.")
        message = f"`{function}` works under `vmap`: its complaint should be ('', [])."
        expect_that(got == ["", []], message, tuple(got), ("", []))


@visible(
    complaint_under_vmap,
    idea="A random number is traced when its key is.",
    reproduces=["S3-01"],
)
def int_of_a_draw_fails(answer, draw):
    """int() of a mapped draw raises ConcretizationTypeError; the question left out "Type"."""
    name, _, second = complaint(answer(given("int_of_a_draw"), draw.keys(3)))
    message = "For int() of a mapped draw, ConcretizationTypeError and two lines should be reported."
    expect_documented("S3-01", [name, second.partition(". ")[0] + "."], part="today", message=message)
    expect_documented("S3-01", name.replace("TypeError", "Error"), part="documented", message=message)


@visible(
    complaint_under_vmap,
    idea="`arange` needs its length before anything runs; the error names the argument.",
    reproduces=["S3-07"],
)
def the_question_fails_as_documented(answer, draw):
    """The question's function raises its documented error; only a full stop is gone since JAX 0.4.31."""
    name, first, second = complaint(answer(given("react_forward"), draw.keys(3), jnp.ones((3, 2, 8))))
    message = "For the question's function, ConcretizationTypeError and two lines should be reported."
    expect_documented("S3-07", [name, first, second], part="today", message=message)
    expect_documented("S3-07", [name, first + ".", second], part="documented", message=message)


@visible(
    complaint_under_vmap,
    idea="Every JAX array has a static shape: no function makes an array of traced length.",
    reproduces=["S3-13"],
)
def no_size_can_be_traced(answer):
    """arange, scan and zeros all refuse a traced length, each in its own words."""
    seen = []
    for function in ("arange_to", "arange_from_zero", "scan_to", "zeros_of"):
        name, first, second = complaint(answer(given(function), DEPTHS))
        seen.append([name, (first if function == "zeros_of" else second)[:50].rstrip()])
    message = (
        "ConcretizationTypeError of `arange` and `scan`, and TypeError of `zeros`, should be reported, with two lines."
    )
    expect_documented("S3-13", seen, message=message)


@visible(complaint_under_vmap, idea="Catch every exception, whatever its class.")
def static_bounds_cannot_be_mapped(answer, draw):
    """The sampler with static bounds raises ValueError for mapped bounds."""
    name, first, _ = complaint(answer(given("get_rand_num"), draw.keys(3), DEPTHS[:3], DEPTHS[:3] + 3))
    is_read = name == "ValueError" and first.startswith("Non-hashable static arguments")
    expect_that(is_read, "For `get_rand_num` with mapped bounds, ValueError should be reported.", name, "ValueError")


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


# %% exercise
@exercise(
    title="Repair A: mask the rest",
    points=3,
    reproduces=["S3-14"],
    hints=[
        "What does an example do in the rounds after its depth?",
        "`jnp.where(condition, new, old)` chooses between two states that both exist. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.where.html",
        "def step(h, i):\n    return jnp.where(____, block(weights, h, x), h), None\n\n"
        "h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))\nreturn h",
        "# Like it: n steps of Newton's method for the root of a, n at most 20.\n"
        "def newton(a, n):\n"
        "    def step(root, i):\n"
        "        better = (root + a / root) / 2\n"
        "        return jnp.where(i < n, better, root), None\n\n"
        "    return jax.lax.scan(step, a, jnp.arange(20))[0]\n\n"
        "root_of = jax.jit(newton)\n"
        "print(root_of(9.0, 1), root_of(9.0, 15))  # 5.0 3.0\n"
        "print(jax.jit(jax.grad(newton))(9.0, 1))  # 0.5",
    ],
)
def masked_depth(weights, x, depth):
    """Run `block` `depth` times on a state of zeros, where `depth` is traced.

    It must work under `jax.jit` and `jax.vmap`, and have the gradient of the plain loop, by `weights` and by `x`. The
    program holds the block once, not MAX_DEPTH times.

    Args:
        weights: float32[d,d].
        x: float32[n,d].
        depth: int32[], from 0 to MAX_DEPTH.

    Returns:
        float32[n,d], the last state.
    """
    ...


# %% check
# These weights turn the state at each step, so that no step leaves it nearly as it was.
TURN = ((0.0, 1.5, 0.0), (-1.5, 0.0, 0.0), (0.0, 0.0, -1.5))


def twelve_examples(draw):
    """Return weights, 12 inputs, and 12 depths in which 1 to MAX_DEPTH all occur."""
    depths = draw.generator.permutation(np.arange(12, dtype=np.int32) % MAX_DEPTH + 1)
    return np.float32(TURN) + np.float32(0.05) * draw.numpy(3, 3), 0.3 * draw.floats(12, 2, 3), depths


def loops(weights, xs, depths):
    """Return what the plain Python loop gives for each example."""
    return np.stack([run_loop(weights, x, depth) for x, depth in zip(xs, depths, strict=True)])


def examples_alike(got, wanted):
    """Return how many examples are equal, up to float32's rounding."""
    got = np.asarray(got)
    expect_that(got.shape == wanted.shape, "The states have another shape.", str(got.shape), str(wanted.shape))
    return sum(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(got, wanted, strict=True))


def compare_three_ways(answer, draw, example):
    """Compare with the loop under vmap, jit of vmap, vmap of jit; as a control, with loops of one step more."""
    weights, xs, depths = twelve_examples(draw)
    axes = (None, 0, 0)
    ways = (answer.vmap(in_axes=axes), answer.vmap(in_axes=axes).jit, answer.jit.vmap(in_axes=axes))
    results = [way(weights, xs, depths) for way in ways]
    wanted = loops(weights, xs, depths)
    counts = [examples_alike(got, wanted) for got in results]
    control = examples_alike(results[0], loops(weights, xs, depths + 1))
    message = "Of 12 examples under vmap, jit(vmap) and vmap(jit), each should equal the plain loop of its own depth."
    if control == 12:
        message += " In yours, every example equals a loop of one step more."
    expect_documented(example, [counts, control], message=message)


@visible(masked_depth, stage="shape")
def the_state_has_the_shape_of_x(answer, draw):
    """The state has the shape of the input."""
    expect_shape(answer(draw.floats(3, 3), draw.floats(2, 3), jnp.array(2)), (2, 3))


@visible(masked_depth, idea="After its own depth, an example keeps its state.")
def each_depth_equals_the_loop(answer, draw):
    """Compiled, for the depths 0, 1, 3 and 6, it equals a plain Python loop."""
    weights, x = draw.floats(3, 3), draw.floats(2, 3)
    for depth in (0, 1, 3, 6):
        got = answer.jit(weights, x, jnp.int32(depth))
        message = f"With depth {depth}, this should be the state of a plain loop."
        expect_close(got, run_loop(weights, x, depth), message)


@visible(
    masked_depth,
    stage="jit",
    idea="Every example has its own mask.",
    reproduces=["S3-14"],
    kind="value",
)
def twelve_examples_equal_their_loops(answer, draw):
    """Under vmap, jit(vmap) and vmap(jit), 12 of 12 examples equal their loops."""
    compare_three_ways(answer, draw, "S3-14")


@visible(
    masked_depth, stage="gradient", idea="The number of rounds is static, so the way back is known.", required=True
)
def the_masked_form_has_a_gradient(answer, draw):
    """There is no loop whose number of rounds is traced, so it can be run backwards."""
    program = answer.program(draw.floats(3, 3), draw.floats(2, 3), jnp.int32(2))
    message = "The program should have no loop with a traced number of rounds: such a loop has no reverse gradient."
    expect_that(not program.primitives.get("while"), message, "while", "scan")


@visible(masked_depth, stage="cost", idea="A scan holds its body once.", required=True)
def the_block_is_in_the_program_once(answer, draw):
    """The program does not hold a block for each step."""
    products = answer.program(draw.floats(3, 3), draw.floats(2, 3), jnp.int32(2)).primitives.get("dot_general", 0)
    message = f"The program should hold the block once; yours holds {products} matrix products."
    expect_that(products < MAX_DEPTH, message, f"{products} products", "1")


# %% [markdown]
# **Repair B: a loop that counts at run time.**
# `jax.lax.fori_loop(start, stop, body, state)` calls `body(i, state)` for each i. Its
# `stop` may be traced. (The answer wrote `jax.fori_loop`; it lives in `jax.lax`.)


# %%
def double_rounds(start, rounds):
    """Double a number `rounds` times."""
    return jax.lax.fori_loop(0, rounds, lambda i, number: 2 * number, start)


print(jax.vmap(double_rounds, in_axes=(None, 0))(1, jnp.array([1, 3, 10])))


# %% exercise
@exercise(
    title="Repair B: count at run time",
    points=3,
    reproduces=["S3-15"],
    hints=[
        "What is the largest depth here: does the loop need to know one?",
        "`fori_loop` with a traced `stop` becomes a `while` loop. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html",
        "def body(i, h):\n    return block(weights, h, x)\n\n"
        "return jax.lax.fori_loop(0, ____, body, jnp.zeros_like(x))",
        "# Like it: the n-th Fibonacci number, with n known only when it runs.\n"
        "def fibonacci(n):\n"
        "    def step(i, two):\n"
        "        return two[1], two[0] + two[1]\n\n"
        "    return jax.lax.fori_loop(0, n, step, (0, 1))[0]\n\n"
        "print(jax.vmap(fibonacci)(jnp.array([1, 10, 30])))  # 1, 55 and 832040",
    ],
)
def counted_depth(weights, x, depth):
    """Run `block` `depth` times on a state of zeros, where `depth` is traced and has no upper bound.

    It must work under `jax.jit` and `jax.vmap`. One compiled program serves all depths.

    Args:
        weights: float32[d,d].
        x: float32[n,d].
        depth: int32[], 0 or more; it may be 10 or 1000.

    Returns:
        float32[n,d], the last state.
    """
    ...


# %% check
@visible(counted_depth, stage="shape")
def the_counted_state_has_the_shape_of_x(answer, draw):
    """The state has the shape of the input."""
    expect_shape(answer(draw.floats(3, 3), draw.floats(2, 3), jnp.array(2)), (2, 3))


@visible(counted_depth, idea="The loop runs as often as `depth` says, without an upper bound.")
def any_depth_equals_the_loop(answer, draw):
    """Compiled, for the depths 0, 1, 5 and 23, it equals a plain Python loop."""
    # The state must not come to rest: then a step more or less would not be seen.
    weights, x = np.float32(TURN) + np.float32(0.05) * draw.numpy(3, 3), 0.3 * draw.floats(2, 3)
    for depth in (0, 1, 5, 23):
        got = answer.jit(weights, x, jnp.int32(depth))
        message = f"With depth {depth}, this should be the state of a plain loop."
        expect_close(got, run_loop(weights, x, depth), message, rtol=1e-3, atol=1e-3)


@visible(
    counted_depth,
    stage="jit",
    idea="Under `vmap` the loop runs until the last example is done; the others keep their state.",
    reproduces=["S3-15"],
    kind="value",
)
def twelve_counted_examples_equal_their_loops(answer, draw):
    """Under vmap, jit(vmap) and vmap(jit), 12 of 12 examples equal their loops."""
    compare_three_ways(answer, draw, "S3-15")


@visible(counted_depth, stage="cost", idea="A traced bound makes a `while` loop, a static one a `scan`.", required=True)
def the_program_counts_at_run_time(answer, draw):
    """The program is a `while` loop that holds the block once."""
    primitives = answer.program(draw.floats(3, 3), draw.floats(2, 3), jnp.int32(2)).primitives
    message = "The program should have a `while` loop: without it, the number of steps is fixed."
    expect_that(primitives.get("while", 0) > 0, message, ", ".join(sorted(primitives)), "while")


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


# %% exercise
@exercise(
    title="Make it fast: one switch for all rows",
    points=2,
    hints=[
        "How many flags are there, and how many does the starter give to `vmap`?",
        "A flag that is not mapped stays one flag, and its `cond` stays a `cond`. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.cond.html",
        "return jax.vmap(choose, in_axes=(____, ____))(flag, xs)",
        """# Like it: a number chooses a branch, for each row or once for all rows.
from jaxguide.tracing import program

def run_branch(row, which):
    return jax.lax.switch(which, (jnp.cos, jnp.negative, jnp.exp), row)


rows, each = jnp.ones((4, 3)), jnp.array([0, 1, 2, 0])
mapped = program(jax.vmap(run_branch), rows, each).primitives
shared = program(jax.vmap(run_branch, in_axes=(0, None)), rows, 2).primitives
print("cond" in mapped, "cond" in shared)  # False True""",
    ],
)
def one_switch_for_all(flag, xs):
    """Apply `choose` to all rows with one flag.

    The body below gives the right rows, but always pays for both branches.

    Args:
        flag: bool[].
        xs: float32[b,d].

    Returns:
        float32[b,d]: row i is `choose(flag, xs[i])`. The program has one `cond`, and no `select_n`. It works under
        `jax.jit`.
    """
    return jax.vmap(choose)(jnp.full(len(xs), flag), xs)


# %% check
@visible(one_switch_for_all, idea="One flag decides for all rows.")
def the_flag_decides_for_all_rows(answer, draw):
    """With the flag set all rows are `costly`, without it all are negated."""
    xs = draw.floats(4, 3)
    x = np.asarray(xs)
    for flag, wanted in ((True, np.sin(x) * np.exp(x)), (False, -x)):
        expect_close(
            answer(jnp.array(flag), xs),
            wanted,
            f"With the flag {flag}, row i should be `choose(flag, xs[i])`.",
            atol=1e-5,
        )


@visible(one_switch_for_all, stage="jit", idea="A traced flag has no value for Python's `if`; `cond` needs none.")
def the_flag_may_be_traced(answer, draw):
    """It works under `jax.jit`."""
    xs = draw.floats(4, 3)
    expect_close(answer.jit(jnp.array(False), xs), -np.asarray(xs))


@visible(
    one_switch_for_all,
    stage="cost",
    idea="A flag without a batch axis keeps the `cond`; a mapped one makes a select.",
    required=True,
)
def only_one_branch_is_run(answer, draw):
    """The program has one `cond`, and selects nothing."""
    found = answer.program(jnp.array(True), draw.floats(4, 3)).primitives
    seen = {name: found.get(name, 0) for name in ("cond", "select_n")}
    message = "The program should select nothing; yours runs both branches for all rows, and then selects."
    expect_that(seen["select_n"] == 0, message, seen, {"cond": 1, "select_n": 0})
    message = f"One flag should need one `cond`; your program for four rows has {seen['cond']}."
    expect_that(seen["cond"] == 1, message, seen, {"cond": 1, "select_n": 0})


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


# %% exercise
@exercise(
    title="Which loop has a gradient?",
    points=3,
    reproduces=["S3-16"],
    hints=[
        "If n is a Python number, is the bound of the loop still traced? Make sure that it is.",
        "`jax.grad` is reverse, `jax.jvp` forward. Inside `jax.jit`, n is traced. "
        "https://docs.jax.dev/en/latest/advanced-autodiff.html",
        "reverse = jax.jit(jax.grad(power))\nforward = jax.jit(lambda w, n: jax.jvp(____, (w,), (1.0,))[1])\n"
        "slopes = []\nfor derivative in (reverse, forward):\n    try:\n        slopes.append(float(derivative(w, n)))\n"
        "    except ValueError:\n        slopes.append(None)\nreturn tuple(slopes)",
        "# Like it: the slope of a wave in time t, both ways, with traced k.\n"
        "def wave(k, t):\n"
        "    return jnp.sin(k * t)\n\n"
        "def slope_forward(k, t):\n"
        "    value, slope = jax.jvp(lambda s: wave(k, s), (t,), (1.0,))\n"
        "    return slope\n\n"
        "slope_reverse = jax.grad(wave, argnums=1)\n"
        "print(jax.jit(slope_forward)(3.0, 0.0))  # 3.0\n"
        "print(jax.jit(slope_reverse)(3.0, 0.0))  # 3.0",
    ],
)
def derivatives(power, w, n):
    """Take the derivative of `power(w, n)` with respect to `w`, in reverse and forward mode, with traced `n`.

    Args:
        power: a function of a float and a number of rounds.
        w: float.
        n: int, the number of rounds; it must be traced.

    Returns:
        A tuple `(reverse, forward)`: for each, the derivative as a float, or None where JAX raises
        ValueError.
    """
    ...


# %% check
def slopes(got):
    """Return the two derivatives: a float or None each."""
    return [None if part is None else float(np.asarray(part)) for part in pair(got)]


@visible(derivatives, stage="value", idea="A loop with a known number of rounds can be run backwards.")
def the_masked_slope_is_right(answer):
    """For a masked loop both modes give 3 * w**2 for three rounds."""
    seen = slopes(answer(given("power_masked"), 2.0, 3))
    expect_that(
        None not in seen and np.allclose(seen, 12.0), "For w = 2, n = 3 both should be 12.", tuple(seen), (12.0, 12.0)
    )


@visible(
    derivatives,
    idea="Reverse mode must keep every round's state; a traced number of rounds cannot say how many.",
    reproduces=["S3-16"],
)
def only_static_loops_go_backwards(answer):
    """Both masked loops have both derivatives; both counted loops have the forward one only."""
    seen = []
    for power in ("power_masked", "power_masked_fori", "power_counted", "power_while"):
        got = slopes(answer(given(power), 1.5, 4))
        right = [part is not None and bool(np.isclose(part, 4 * 1.5**3)) for part in got]
        seen.append(
            ["" if ok else "ValueError" if part is None else "wrong" for ok, part in zip(right, got, strict=True)]
        )
    message = "Masked loops should have both derivatives, counted loops the forward one, with None for reverse."
    expect_documented("S3-16", seen, message=message)


@visible(derivatives, idea="JAX differentiates the function that it is given; no formula is needed.")
def any_loop_is_differentiated(answer):
    """For `double_rounds` and three rounds the forward derivative is 8, and there is no reverse one."""
    seen = slopes(answer(given("double_rounds"), 1.5, 3))
    message = "`double_rounds` is w * 2**n: the pair should be (None, 8.0)."
    expect_that(seen[0] is None and seen[1] == 8.0, message, tuple(seen), (None, 8.0))


# %% [markdown]
# JAX says why: "Reverse-mode differentiation does not work for lax.while_loop or
# lax.fori_loop with dynamic start/stop values". To go backwards it must store every
# round's state, in an array; and an array has a static size.


# %% exercise
@exercise(
    title="Train with random depth",
    points=3,
    hints=[
        "Which of the two repairs can be run backwards?",
        "Use a loop with a static number of rounds and a mask. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html",
        "def state(x, depth):\n    step = lambda h, i: (jnp.where(i < ____, block(weights, h, x), h), None)\n"
        "    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(____))[0]",
        "# Like it: a mean over accounts, each with years of its own, and its slope.\n"
        "def mean_money(rate, years):\n"
        "    def one(n):\n"
        "        def step(i, money):\n"
        "            return jnp.where(i < n, money * (1 + rate), money)\n\n"
        "        return jax.lax.fori_loop(0, 10, step, 1.0)  # 10: the most years\n\n"
        "    return jnp.mean(jax.vmap(one)(years))\n\n"
        "slope = jax.jit(jax.grad(mean_money))\n"
        "print(slope(1.0, jnp.array([1, 2])))  # 2.5, the mean of 1 and 4",
    ],
)
def depth_loss(weights, xs, depths):
    """Repair this loss: `jax.grad` of it must work, also under `jax.jit`.

    Every example runs `block` as often as its own depth says, from a state of zeros. The loss is the mean of the
    squares of all last states. The gradient is that of plain loops, by `weights` and by `xs`.

    Args:
        weights: float32[d,d].
        xs: float32[b,n,d].
        depths: int32[b], each from 0 to MAX_DEPTH.

    Returns:
        float32[].
    """

    def state(x, depth):
        return jax.lax.fori_loop(0, depth, lambda i, h: block(weights, h, x), jnp.zeros_like(x))

    return jnp.mean(jax.vmap(state)(xs, depths) ** 2)


# %% check
def loop_loss(weights, xs, depths):
    """Return the loss by plain loops."""
    return jnp.mean(jnp.stack([run_loop(weights, x, depth) for x, depth in zip(xs, depths, strict=True)]) ** 2)


@jax.jit
def loop_gradient(weights, xs):
    """Return the gradient by plain loops."""
    return jax.grad(loop_loss)(weights, xs, DEPTHS)


@visible(depth_loss, stage="shape")
def the_loss_is_one_number(answer, draw):
    """The loss is one number."""
    expect_shape(answer.jit(draw.floats(3, 3), draw.floats(3, 2, 3), DEPTHS), ())


@visible(depth_loss, idea="Every example has its own depth.")
def the_loss_is_that_of_plain_loops(answer, draw):
    """Compiled, the loss equals that of plain loops."""
    weights, xs = draw.floats(3, 3), draw.floats(3, 2, 3)
    expect_close(
        answer.jit(weights, xs, DEPTHS),
        loop_loss(weights, xs, DEPTHS),
        "This should be the loss of plain loops.",
        rtol=1e-4,
    )


@visible(depth_loss, stage="gradient", idea="A traced number of rounds has no reverse gradient.", required=True)
def the_gradient_is_that_of_plain_loops(answer, draw):
    """`jax.grad` gives the gradient of plain loops, also compiled."""
    weights, xs = draw.floats(3, 3), draw.floats(3, 2, 3)
    wanted = loop_gradient(weights, xs)
    message = "This should be the gradient of the loss by plain loops."
    expect_close(answer.grad().jit(weights, xs, DEPTHS), wanted, message, rtol=1e-3, atol=1e-4)


# %% [markdown]
# ### The question's second half
#
# The question ran k steps without a gradient, and then MAX_DEPTH - k steps with one.
# `jax.lax.stop_gradient` passes its value on and lets no gradient through.

# %%
print(jax.value_and_grad(lambda w: w * w)(3.0))
print(jax.value_and_grad(lambda w: w * jax.lax.stop_gradient(w))(3.0))


# %% exercise
@prediction(
    title="Predict: does k change the output?",
    points=1,
    hints=[
        "How many steps are there in all, for k = 1 and for k = 4?",
        "`stop_gradient` does not change values. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.stop_gradient.html",
        "# A smaller case: 1 step and 2 more, or 2 steps and 1 more: 3 steps in all.\nreturn ____  # True or False",
    ],
)
def predict_output_depends_on_k():
    """k steps without a gradient, then 6 - k with one. Is the *output* for k = 1 another one than for k = 4?

    Returns:
        True or False.
    """
    ...


# %% check
@reveal(predict_output_depends_on_k)
def outputs_for_two_k():
    """We ran both phases for k = 1 and k = 4 and compared the outputs."""
    x = jnp.ones((1, 8))

    def both(k):
        h = jax.lax.stop_gradient(run_loop(WEIGHTS, x, k))
        for _ in range(MAX_DEPTH - k):
            h = block(WEIGHTS, h, x)
        return h

    return not np.allclose(both(1), both(4))


# %% exercise
@exercise(
    title="Two phases",
    points=3,
    reproduces=["S3-10"],
    hints=[
        "In which rounds does the gradient pass, and in which does it stop? Does a round know its number?",
        "`jnp.where` may choose between a state and the same state behind `stop_gradient`. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.stop_gradient.html",
        "def step(h, i):\n    h = block(weights, h, x)\n"
        "    return jnp.where(____, jax.lax.stop_gradient(h), h), None\n\n"
        "h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_DEPTH))\nreturn jnp.mean(h**2)",
        "# Like it: all entries count, but those below a limit get no gradient.\n"
        "def energy(x, limit):\n"
        "    fixed = jax.lax.stop_gradient(x)\n"
        "    return jnp.sum(jnp.where(x < limit, fixed, x) ** 2)\n\n"
        "entries = jnp.array([1.0, 2.0, 3.0])\n"
        "print(jax.jit(energy)(entries, 2.5))  # 14.0\n"
        "print(jax.jit(jax.grad(energy))(entries, 2.5))  # [0. 0. 6.]",
    ],
)
def two_phase_loss(weights, x, k):
    """Run `block` MAX_DEPTH times from zeros; only the last MAX_DEPTH - k steps count for the gradient.

    k is traced. For `jax.grad` by the weights, the first k steps count as constants. It must work under `jax.jit` and
    `jax.vmap`.

    Args:
        weights: float32[d,d].
        x: float32[n,d].
        k: int32[], from 0 to MAX_DEPTH.

    Returns:
        float32[], the mean of the squares of the last state.
    """
    ...


# %% check
def two_phase_loop(weights, x, k):
    """Return the two-phase loss by plain loops."""
    h = jax.lax.stop_gradient(run_loop(weights, x, k))
    for _ in range(MAX_DEPTH - k):
        h = jnp.tanh(h @ weights + x)
    return jnp.mean(h**2)


@jax.jit
def two_phase_gradients(weights, x):
    """Return the gradients by plain loops for k = 1 to 5."""
    return jnp.stack([jax.grad(two_phase_loop)(weights, x, k) for k in range(1, MAX_DEPTH)])


@visible(two_phase_loss, stage="shape")
def the_two_phase_loss_is_one_number(answer, draw):
    """The loss is one number."""
    expect_shape(answer.jit(draw.floats(3, 3), draw.floats(2, 3), jnp.int32(2)), ())


@visible(two_phase_loss, idea="There are MAX_DEPTH steps in all, whatever k is.")
def the_value_is_that_of_six_steps(answer, draw):
    """The loss is that of 6 plain steps."""
    weights, x = draw.floats(3, 3), draw.floats(2, 3)
    wanted = jnp.mean(run_loop(weights, x, MAX_DEPTH) ** 2)
    expect_close(answer.jit(weights, x, jnp.int32(2)), wanted, "This should be the loss of MAX_DEPTH steps.", rtol=1e-3)


@visible(
    two_phase_loss,
    stage="gradient",
    idea="`stop_gradient` keeps the value and cuts the gradient: only the gradient depends on k.",
    reproduces=["S3-10"],
    required=True,
)
def only_the_gradient_depends_on_k(answer, draw):
    """For k = 1 to 5 the losses are equal and the gradients are five different ones: those of plain loops."""
    weights, x = np.float32(TURN) + np.float32(0.05) * draw.numpy(3, 3), 0.3 * draw.floats(2, 3)
    ks = np.arange(1, 6, dtype=np.int32)
    values = np.asarray(answer.vmap(in_axes=(None, None, 0)).jit(weights, x, ks))
    gradients = np.asarray(answer.grad().vmap(in_axes=(None, None, 0)).jit(weights, x, ks))
    wanted = np.asarray(two_phase_gradients(weights, x))
    alike = int(np.isclose(values, float(two_phase_loop(weights, x, 0)), rtol=1e-4).sum())
    right = examples_alike(gradients, wanted)
    message = "The gradients should be those of k steps without a gradient and MAX_DEPTH - k steps with one."
    expect_documented("S3-10", [alike, right], message=message)


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


# %% exercise
@exercise(
    title="A mask without nan",
    points=3,
    hints=[
        "Which numbers does `sqrt` see, although nobody wants their roots?",
        "Mask twice: give the function a harmless number where it does not count, then mask its result. "
        "https://docs.jax.dev/en/latest/faq.html#gradients-contain-nan-where-using-where",
        "used = jnp.arange(x.shape[0]) < n\nsafe = jnp.where(used, x, ____)\n"
        "return jnp.where(used, jnp.sqrt(safe), 0.0).sum()",
        "# Like it: the sum of all 1 / x, without those where x is 0.\n"
        "def sum_of_inverses(x):\n"
        "    is_zero = x == 0\n"
        "    inverses = 1 / jnp.where(is_zero, 5.0, x)  # 5.0: anything but 0\n"
        "    return jnp.where(is_zero, 0.0, inverses).sum()\n\n"
        "print(jax.grad(sum_of_inverses)(jnp.array([0.5, 0.0])))  # [-4.  0.]",
    ],
)
def sum_of_roots(x, n):
    """Repair this: its gradient must be finite, whatever stands behind the first n entries.

    The result is the sum of the roots of the first n entries. The other entries are padding; their gradient is 0.

    Args:
        x: float32[m]; the first n entries are positive, perhaps tiny; the others anything, also 0, negative or NaN.
        n: int32[], traced, from 0 to m.

    Returns:
        float32[].
    """
    return jnp.where(jnp.arange(x.shape[0]) < n, jnp.sqrt(x), 0.0).sum()


# %% check
@visible(sum_of_roots, stage="shape")
def the_sum_is_one_number(answer):
    """The sum is one number."""
    expect_shape(answer(jnp.ones(4), jnp.int32(2)), ())


@visible(sum_of_roots, idea="Only the first n entries count.")
def only_the_first_roots_count(answer):
    """For 4, 9, 0, -1 and n = 2 the sum is 5; with n = 0 it is 0."""
    x = jnp.array([4.0, 9.0, 0.0, -1.0])
    expect_close(answer(x, jnp.int32(2)), np.float32(5.0), "The roots of 4 and 9 should be added: 2 and 3.")
    expect_close(answer(x, jnp.int32(0)), np.float32(0.0), "Where no entry counts, the sum should be 0.")


@visible(
    sum_of_roots, stage="gradient", idea="Mask the input too: the function must not see the padding.", required=True
)
def the_gradient_is_finite(answer):
    """The gradient is 1/4, 1/6, and 0 for the padding, plain and compiled."""
    x = jnp.array([4.0, 9.0, 0.0, -1.0])
    for way in (answer.grad(), answer.grad().jit):
        got = way(x, jnp.int32(2))
        message = "The padding's gradient should be 0, and that of the first two 1/4 and 1/6."
        if not np.isfinite(np.asarray(got)).all():
            message = "The gradient should be finite, and yours holds nan or infinity."
        expect_close(got, np.array([1 / 4, 1 / 6, 0, 0], np.float32), message)


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


# %% exercise
@exercise(
    title="Buckets",
    points=3,
    hints=[
        "To which lengths are arrays of length 3, 4 and 5 padded?",
        "A traced n costs no compilation, a new shape does. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.pad.html",
        "size = 1\nwhile size < ____:\n    size *= 2\nreturn sum_of_exp(np.pad(values, (0, ____)), len(values))",
        "# Like it: the largest of some numbers, padded to a multiple of 100.\n"
        "@jax.jit\n"
        "def largest_of(filled, n):\n"
        '    print("compiled for", filled.shape)  # printed twice, not three times\n'
        "    used = jnp.arange(filled.shape[0]) < n\n"
        "    return jnp.where(used, filled, -jnp.inf).max()\n\n"
        "def largest(numbers):\n"
        "    extra = -len(numbers) % 100  # 97 for 3 numbers, 0 for 100\n"
        "    return largest_of(np.pad(numbers, (0, extra)), len(numbers))\n\n"
        "for length in (3, 100, 101):\n"
        "    print(largest(-np.ones(length, np.float32)))  # -1.0",
    ],
)
def sum_in_bucket(values):
    """Add up exp of all values by `sum_of_exp`, padded to the next power of two: 1, 2, 4, 8, and so on.

    Lengths that pad to the same size must share one compiled program. This function itself runs outside of `jit`.

    Args:
        values: a NumPy array float32[n], n at least 1.

    Returns:
        float32[].
    """
    ...


# %% check
@visible(sum_in_bucket, stage="shape")
def the_bucket_sum_is_one_number(answer):
    """The result is one number."""
    expect_shape(answer(np.ones(3, np.float32)), ())


@visible(sum_in_bucket, idea="exp(0) is 1: padding that is not masked counts.")
def padding_does_not_count(answer, draw):
    """For the lengths 1, 4 and 5 the result is the sum of exp of the values."""
    for n in (1, 4, 5):
        values = draw.numpy(n)
        expect_close(answer(values), np.exp(values).sum(), f"With {n} values, this should be the sum of their exp.")


@visible(sum_in_bucket, stage="traces", idea="A new shape is a new program; a new number n is not.", required=True)
def lengths_of_a_bucket_share_a_program(answer, draw):
    """For the lengths 5, 6, 7 and 8 there is no compilation after the first call, nor for 25 after 17."""
    seen = answer.observe_calls([(draw.numpy(n),) for n in (5, 6, 7, 8)])
    later = sum(one.compiles for one in seen[1:])
    message = "The lengths 6, 7 and 8 should need no new program after 5: all pad to 8, and n is an argument."
    expect_that(later == 0, message, f"{later} compilations", "0")
    later = answer.observe_calls([(draw.numpy(n),) for n in (17, 25)])[1].compiles
    message = "The length 25 should need no new program after 17: both pad to 32."
    expect_that(later == 0, message, f"{later} compilations", "0")


@visible(sum_in_bucket, stage="cost", idea="A bucket is at most twice as long as what is in it.")
def a_small_bucket_for_few_values(answer, draw):
    """Four values are padded to 4, and 9 values are compiled again, as a bucket of 16."""
    seen = answer.observe_calls([(draw.numpy(4),), (draw.numpy(9),)])
    message = "Four values should be added up by a compiled program; nothing was compiled."
    expect_that(seen[0].compiles > 0, message, "no program", "a program for 4")
    message = "9 values should have a program of their own, for 16; yours shared that of 4 values."
    expect_that(seen[1].compiles > 0, message, "no new program", "a program for 16")


# %% [markdown]
# ### Choose k of n
#
# The same thought works for other random sizes. "Choose k of n items" gives an array of
# k items: impossible with traced k. A **mask** of n booleans has a static shape, and
# says the same.


# %% exercise
@exercise(
    title="Choose k of n, with traced k",
    points=3,
    hints=[
        "If the n items stand in a random order, which of them do you take?",
        "A random permutation gives every item a random place; take the places below k. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.permutation.html",
        "places = jax.random.permutation(key, ____)\nreturn places < ____",
        "# Like it: mark the k largest of n numbers, with traced k.\n"
        "def mark_largest(x, k):\n"
        "    places = jnp.argsort(jnp.argsort(-x))  # 0 for the largest number\n"
        "    return places < k\n\n"
        "numbers = jnp.array([5.0, 1.0, 7.0, 3.0])\n"
        "print(jax.jit(mark_largest)(numbers, 2))  # [ True False  True False]",
    ],
)
def choose_k(key, items, k):
    """Choose k of the n items at random: all sets of k items are equally likely.

    It must work under `jax.jit` and `jax.vmap`, with traced k.

    Args:
        key: key<fry>[].
        items: float32[n].
        k: int32[], from 0 to n.

    Returns:
        bool[n], True for the k chosen items.
    """
    ...


# %% check
@visible(choose_k, stage="shape")
def one_boolean_for_each_item(answer, draw):
    """There is one boolean for each item."""
    expect_shape(answer(draw.key(), jnp.zeros(5), jnp.int32(2)), (5,))


@visible(choose_k, stage="dtype")
def the_mask_is_boolean(answer, draw):
    """The result is an array of booleans."""
    expect_dtype(answer(draw.key(), jnp.zeros(5), jnp.int32(2)), "bool")


@visible(choose_k, kind="relation", required=True, idea="Exactly k are chosen, not k on average.")
def exactly_k_are_chosen(answer, draw):
    """For k = 0 to 5 of 5 items, exactly k are chosen, also of equal items."""
    # Choices of each item on its own meet all six counts by chance 0.02, and eight times in a row 3e-14.
    for k in [*range(6)] * 8:
        got = int(np.asarray(answer(draw.key(), jnp.zeros(5), jnp.int32(k))).sum())
        expect_that(got == k, f"With k = {k}, exactly {k} items should be chosen.", got, k)


@visible(choose_k, stage="jit", kind="relation", required=True, idea="A traced k is no size: the mask has n entries.")
def every_example_has_its_own_k(answer, draw):
    """Under jit of vmap, with k from 0 to 5, every example has exactly its own k."""
    ks = np.arange(6000, dtype=np.int32) % 6
    got = np.asarray(answer.vmap(in_axes=(0, None, 0)).jit(draw.keys(6000), jnp.zeros(5), ks)).sum(axis=1)
    expect_that(np.array_equal(got, ks), "Each example should have its own number of items.", got[:6], ks[:6].tolist())


@visible(choose_k, stage="jit", kind="relation", required=True, idea="Every set of k items has the same chance.")
def all_pairs_are_equally_likely(answer, draw):
    """Over 6000 keys, each of the 10 pairs of 5 items comes about 600 times."""
    ks = np.full(6000, 2, np.int32)
    got = np.asarray(answer.vmap(in_axes=(0, None, 0)).jit(draw.keys(6000), jnp.arange(5.0), ks))
    sets, counts = np.unique(got, axis=0, return_counts=True)
    # The standard deviation of a count is 23.2; the bound is 7 of them: chance 3e-11 for all ten.
    message = "Each of the ten pairs of items should come about 600 times."
    seen = sorted(counts.tolist())
    expect_that(len(sets) == 10 and seen[0] > 437 and seen[-1] < 763, message, seen, "ten counts of about 600")


@visible(choose_k, stage="keys", idea="The key is used once.")
def the_key_chooses_once(answer, draw):
    """No key is used twice."""
    expect_no_key_problem(answer.key_use(draw.key(), jnp.zeros(5), jnp.int32(2)))


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
