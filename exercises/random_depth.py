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
# A network may run a random number of layers for each example: **random depth**. JAX fixes all sizes before it runs. So
# what do you do when the size is a random number? This lesson follows one real question about it, and answers it.
#
# After this lesson you can
#
# - say why a value inside `jit` or `vmap` cannot become a size, and read the error,
# - run a different number of steps for each example, in two ways, and say which one has a gradient,
# - compile once for all sizes, or a few times.
#
# You need NumPy and the lesson `random_numbers`: keys, `split`, `vmap`, `scan`. It takes about two hours.

# %%
from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxguide.tracing import draw_program, show_lines

# %% [markdown]
# ## Part 1. Draw a depth
#
# The question came from a person with a network of at most 6 steps. For every example, the depth should be a random
# number from 1 to 6. They wrote `jax.random.randint(key, (), 1, MAX_DEPTH)`.

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
        "`jax.vmap` maps over the keys; `jnp.unique` sorts and removes what comes twice. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.randint.html",
        "draws = jax.vmap(lambda key: ____)(keys)\nreturn jnp.unique(draws)",
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
    message = "For 150 keys and the bounds 1 and 6, exactly the numbers 1, 2, 3, 4, 5 are drawn."
    expect_documented("S3-09", answer(keys, 1, 6), part="today", message=message)
    message = "For 150 keys and the bounds 1 and 7, exactly the numbers 1, 2, 3, 4, 5, 6 are drawn."
    expect_documented("S3-09", answer(keys, 1, 7), part="documented", message=message)


@visible(depths_that_occur, idea="Draw from the keys that you are given: one number for each.")
def only_what_was_drawn(answer, draw):
    """Two keys give at most two numbers, those of `randint` with these keys."""
    for _ in range(3):
        keys = draw.keys(2)
        wanted = np.unique([int(jax.random.randint(key, (), 0, 50)) for key in keys])
        got = answer(keys, 0, 50)
        message = "These are not the numbers that `randint` draws with these keys."
        expect_that(np.array_equal(np.asarray(got), wanted), message, got, wanted.tolist())


# %% [markdown]
# So the network of the question would never have run 6 steps. No error says so: count before you trust a bound. From
# here on we draw with `draw_depth`.


# %%
def draw_depth(key):
    """Draw a depth from 1 to MAX_DEPTH."""
    return jax.random.randint(key, (), 1, MAX_DEPTH + 1)


print(draw_depth(jax.random.key(0)))

# %% [markdown]
# ### Bounds that are not known yet
#
# The question compiled its sampler with `static_argnums=(1, 2)`: the bounds are then **static**, Python numbers known
# when JAX compiles. Everything else that a compiled function gets is **traced**: known only when the program runs.
# A traced number cannot be used where a static one is needed.


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
    ],
)
def depth_between(key, low, high):
    """Repair this sampler: it must also work where its bounds are traced.

    Numbers from `low` to `high - 1` are equally likely. One compiled program must serve all bounds.

    Args:
        key: key<fry>[].
        low: int or int32[].
        high: int or int32[], more than `low`.

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
    """Over 300 keys, each of five numbers comes about 60 times."""
    got = np.asarray(answer.vmap(in_axes=(0, None, None))(draw.keys(300), 1, 6))
    counts = [int((got == number).sum()) for number in range(1, 6)]
    # The standard deviation of a count is 6.9; the bound is 7 of them: chance 1e-11 for all five.
    message = "The numbers 1, 2, 3, 4, 5 are not equally likely."
    expect_that(all(abs(count - 60) < 49 for count in counts), message, counts, "about 60 each")


@visible(depth_between, kind="relation", required=True, idea="All randomness comes from the key.")
def the_same_key_draws_the_same_depth(answer, draw):
    """The same key gives the same number again; other keys give others."""
    keys = draw.keys(8)
    first = [int(answer(key, 0, 10**6)) for key in keys]
    again = [int(answer(key, 0, 10**6)) for key in keys]
    expect_that(first == again, "The same key gave another number.", again, first)
    expect_that(len(set(first)) > 4, "Different keys gave the same number.", first, "different numbers")


@visible(depth_between, stage="jit", idea="Bounds are values: no shape depends on them.")
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
    expect_that(bool(inside.all()), "Some numbers are outside of their bounds.", got, "low <= number < low + 3")


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
# "Abstract tracer": inside `jit` an array has a shape and a dtype, but no numbers yet. `item()` asks for a number. In
# JAX an integer that the program computes is an *array without axes*, of shape `()`. It needs no Python number.


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
    ],
)
def as_integer(x):
    """Repair this: turn an array of one number into one integer. It must work under `jax.jit`.

    The part after the decimal point is cut off: 2.7 becomes 2, and -2.7 becomes -2.

    Args:
        x: float32[1].

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
)
def the_integer_survives_jit(answer):
    """Under `jax.jit`, zeros((1,)) becomes the integer 0 of type int32 and shape ()."""
    got = answer.jit(jnp.zeros((1,)))
    message = "Under `jax.jit` the result should be 0, an int32 of shape ()."
    expect_documented("S3-12", [int(np.asarray(got)), got.dtype.name, list(got.shape)], message=message)


# %% [markdown]
# ### What fails, and what does not
#
# The question said: "`jit` requires that all manipulations be of the JAX type". Here are small functions to try it on.


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
    expect_that((first, second) == ("", ""), "A call without an exception has the name ''.", (first, second), ("", ""))


@visible(
    failure_names,
    idea="`item()` gives a Python float, which has no `astype`: the example was wrong even without `jit`.",
    reproduces=["S3-02"],
)
def the_smallest_example_fails_twice(answer):
    """The question's example raises AttributeError when plain, and ConcretizationTypeError when compiled."""
    message = "The smallest example fails in both ways, each with an exception of its own."
    expect_documented("S3-02", answer(given("smallest_example")), message=message)


@visible(
    failure_names,
    idea="Only values are traced. Shapes and dtypes are known while tracing, so Python may use them.",
    reproduces=["S3-03"],
)
def shapes_are_no_values(answer):
    """Compiled, float() of a value fails, and float() of a shape does not."""
    seen = [answer(given(name), jnp.array(x)) for name, x in (("value_to_float", 2.0), ("shape_to_float", [2.0, 1.0]))]
    message = "Compiled, `value_to_float` fails (ConcretizationTypeError), and `shape_to_float` does not."
    expect_documented("S3-03", seen, message=message)


@visible(
    failure_names,
    idea="A traced value comes too late for Python: no conversion helps.",
    reproduces=["S3-11"],
)
def no_conversion_works(answer):
    """Compiled, item(), int(), a list index and range() all fail."""
    names = ("value_to_item", "value_to_int", "value_as_index", "value_as_range")
    message = "Plain, none of the four functions fails; compiled, each of them does."
    expect_documented("S3-11", [answer(given(name), jnp.array(1)) for name in names], message=message)


# %% [markdown]
# So the sentence is half right. It is true of traced **values**. Python may do anything with what is **static**: shapes,
# dtypes, Python numbers. `show_lines` colours the two kinds.


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
# The question also said "`vmap` uses `jit` implicitly". `jit` runs the Python code only when it meets new shapes or
# dtypes; later calls run the compiled program. If `vmap` used `jit`, it would do the same.


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


# %% exercise
@exercise(
    title="Count the runs",
    points=2,
    reproduces=["S3-04"],
    hints=[
        "Where must the counter stand to be increased by every run of the Python code?",
        "A Python side effect happens when the Python code runs, that is, while tracing. "
        "https://docs.jax.dev/en/latest/jit-compilation.html",
        "def count(transform):\n    runs = 0\n\n    def counted(x):\n        nonlocal runs\n        runs += 1\n"
        "        return function(x)\n\n    mapped = transform(____)\n    for xs in batches:\n        mapped(xs)\n"
        "    return runs",
    ],
)
def body_runs(function, batches):
    """Count how often the Python code of a function runs under `vmap` alone, and under `jit` of `vmap`.

    Transform once, then call with one batch after the other.

    Args:
        function: a function of one number.
        batches: a list of arrays with one axis.

    Returns:
        A tuple of two ints: the runs under `jax.vmap(function)`, and those under
        `jax.jit(jax.vmap(function))`.
    """
    ...


# %% check
@visible(
    body_runs,
    idea="`vmap` traces at each call. `jit` traces at the first call of each shape and dtype.",
    reproduces=["S3-04"],
)
def vmap_is_no_hidden_jit(answer):
    """Two calls with the same shape: 2 runs under `vmap`, 1 run under `jit` of `vmap`."""
    seen = answer(given("value_in_jax"), [jnp.ones(4), jnp.zeros(4)])
    message = "Two calls with the same shape are 2 runs under `vmap` and 1 run under `jit(vmap)`."
    expect_documented("S3-04", seen, message=message)


@visible(body_runs, idea="A new shape or dtype is traced again, by `jit` too.")
def new_shapes_are_traced_again(answer):
    """Batches of three shapes, five in all: 5 runs and 3 runs."""
    batches = [jnp.ones(n) for n in (2, 3, 2, 5, 3)]
    seen = [int(part) for part in pair(answer(given("value_in_jax"), batches))]
    message = "Of five batches with the lengths 2, 3, 2, 5, 3 `vmap` runs the code for each, `jit` for each new length."
    expect_that(seen == [5, 3], message, seen, [5, 3])


# %% [markdown]
# So `vmap` is no `jit`. What both have in common is *tracing*: inside, the mapped arrays are tracers, and their values
# cannot become Python numbers. That is why the question's code fails under `vmap` alone.

# %% [markdown]
# ### The network of the question
#
# Here is a small copy of it. One **block** mixes the state `h` with the input `x`. The network runs the block `depth`
# times, in a `scan` over `jnp.arange(depth)`. Tokens (whole numbers) become rows of 8 numbers first.

# %%
WEIGHTS = 0.3 * jax.random.normal(jax.random.key(1), (8, 8))
TABLE = jax.random.normal(jax.random.key(2), (5, 8))


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
    message = "For 300 examples of 32 tokens the result has the shape (300, 32, 8)."
    expect_documented("S3-08", list(np.shape(got)), message=message)


@visible(run_fixed, idea="Start with zeros, and run the block `depth` times.")
def fixed_depth_equals_the_loop(answer, draw):
    """Each example equals a plain Python loop, for the depths 0, 1 and 3."""
    weights, xs = draw.floats(3, 3), draw.floats(4, 2, 3)
    for depth in (0, 1, 3):
        wanted = jnp.stack([run_loop(weights, x, depth) for x in xs])
        expect_close(answer(weights, xs, depth), wanted, f"With depth {depth} this is not the last state.")


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
    for part in pair(answer(draw.key(), jnp.zeros((4, 7), int))):
        expect_shape(part, (4,))


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
        "S3-06", seen, message="Expected 300 different keys, and 300 depths int32 with 1 to 6 among them."
    )


@visible(depths_for_batch, kind="relation", required=True, idea="`vmap` gives what single draws give.")
def depths_come_from_the_keys(answer, draw):
    """Each depth is what `draw_depth` gives for the key of its example."""
    keys, depths = pair(answer(draw.key(), jnp.zeros((5, 2), int)))
    wanted = jnp.stack([draw_depth(jax.random.wrap_key_data(bits)) for bits in keys.bits])
    expect_equal(depths, wanted, "The depths are not those that `draw_depth` gives for the returned keys.")


@visible(depths_for_batch, kind="relation", required=True, idea="All randomness comes from the key.")
def another_key_gives_other_keys(answer, draw):
    """The same key gives the same keys, and another key gives others."""
    key, tokens = draw.key(), jnp.zeros((5, 2), int)
    first, again, other = (pair(answer(k, tokens))[0] for k in (key, key, draw.key()))
    expect_equal(again, first, "The same key gave other keys.")
    message = "Another key gave keys that were there before."
    expect_that(not (first.bits[:, None] == other.bits).all(-1).any(), message, other, "other keys")


@visible(depths_for_batch, stage="keys", idea="The key that was split is not used again.")
def no_key_draws_twice(answer, draw):
    """No key is used for two things."""
    expect_no_key_problem(answer.key_use(draw.key(), jnp.zeros((4, 2), int)))


# %% [markdown]
# ### Now both together fail
#
# `react_forward` is the question's function, and the rest are small relatives. Under `vmap` each of them gets one depth
# per example. Read the error: which line, which function, what does it need?


# %%
def int_of_a_draw(key):
    """Draw a number and make it a Python int."""
    return int(jax.random.randint(key, (), 1, 5))


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
    ],
)
def complaint_under_vmap(function, *batches):
    """Map a function over batches, and return how it complains.

    Args:
        function: any function of one example.
        *batches: arrays; every one is mapped over its first axis.

    Returns:
        A tuple `(name, lines)`: the name of the exception's class, a str, and a list of the first
        two lines of its message. Without an exception: `("", [])`.
    """
    ...


# %% check
DEPTHS = np.array([2, 1, 3], np.int32)


def complaint(got):
    """Return the name and the two lines of a complaint."""
    name, lines = pair(got, "Return a tuple: a name, and a list of lines.")
    expect_that(isinstance(name, str), "The first part is the class's name, a str.", name)
    message = "The second part is a list of the first two lines of the message."
    expect_that(isinstance(lines, list) and len(lines) == 2, message, lines)
    return name, lines[0], lines[1]


@visible(complaint_under_vmap, idea="What stays in JAX works under `vmap`.")
def no_complaint_is_empty(answer):
    """A function that stays in JAX has no complaint."""
    got = pair(answer(given("value_in_jax"), jnp.ones(3)), "Return a tuple: a name, and a list of lines.")
    expect_that(got == ["", []], "A function that works has the complaint ('', []).", tuple(got), ("", []))


@visible(
    complaint_under_vmap,
    idea="A random number is traced when its key is.",
    reproduces=["S3-01"],
)
def int_of_a_draw_fails(answer, draw):
    """int() of a mapped draw raises ConcretizationTypeError; the question left out "Type"."""
    name, _, second = complaint(answer(given("int_of_a_draw"), draw.keys(3)))
    message = "int() of a mapped draw raises ConcretizationTypeError, and the second line names the `int` function."
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
    message = "The question's function raises ConcretizationTypeError: it arose in the jnp.arange argument 'stop'."
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
    message = "`arange` and `scan` raise ConcretizationTypeError, `zeros` raises TypeError, each with two lines."
    expect_documented("S3-13", seen, message=message)


# %% [markdown]
# The message of `scan` already says what to do: "use `while_loop` or `fori_loop`". The answer to the question named two
# repairs, without code. You write both now.
#
# ## Part 3. Two repairs
#
# **Repair A: run the largest number of steps, and mask.** Every example runs MAX_DEPTH steps. After its own depth, an
# example keeps its old state. `jnp.where` chooses; nothing has a traced size. Here is the idea on plain numbers.


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
    ],
)
def masked_depth(weights, x, depth):
    """Run `block` `depth` times on a state of zeros, where `depth` is traced.

    It must work under `jax.jit` and `jax.vmap`, and have a gradient. The program holds the block once, not MAX_DEPTH
    times.

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
        message = "Every example ran one step too many."
    elif len({round(float(np.abs(h).sum()), 3) for h in np.asarray(results[0])}) == 1:
        message = "All examples have the same state."
    expect_documented(example, [counts, control], message=message)


@visible(masked_depth, stage="shape")
def the_state_has_the_shape_of_x(answer, draw):
    """The state has the shape of the input."""
    expect_shape(answer(draw.floats(3, 3), draw.floats(2, 3), jnp.array(2)), (2, 3))


@visible(masked_depth, idea="After its own depth, an example keeps its state.")
def each_depth_equals_the_loop(answer, draw):
    """For the depths 0, 1, 3 and 6 it equals a plain Python loop."""
    weights, x = draw.floats(3, 3), draw.floats(2, 3)
    for depth in (0, 1, 3, 6):
        got = answer(weights, x, jnp.int32(depth))
        expect_close(got, run_loop(weights, x, depth), f"With depth {depth} this is not the state of a plain loop.")


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


@visible(masked_depth, stage="gradient", idea="The number of rounds is static, so the way back is known.")
def the_masked_form_has_a_gradient(answer, draw):
    """There is no loop whose number of rounds is traced, so it can be run backwards."""
    program = answer.program(draw.floats(3, 3), draw.floats(2, 3), jnp.int32(2))
    message = "The program has a loop with a traced number of rounds: it has no reverse gradient."
    expect_that(not program.primitives.get("while"), message, "while", "scan")


@visible(masked_depth, stage="cost", idea="A scan holds its body once.")
def the_block_is_in_the_program_once(answer, draw):
    """The program does not hold a block for each step."""
    products = answer.program(draw.floats(3, 3), draw.floats(2, 3), jnp.int32(2)).primitives.get("dot_general", 0)
    message = "The loop was written out: the program holds a matrix product for each step."
    expect_that(products < MAX_DEPTH, message, f"{products} products", "1")


# %% [markdown]
# **Repair B: a loop that counts at run time.** `jax.lax.fori_loop(start, stop, body, state)` calls `body(i, state)`
# for each i. Its `stop` may be traced. (The answer wrote `jax.fori_loop`; it lives in `jax.lax`.)


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
    """For the depths 0, 1, 5 and 23 it equals a plain Python loop."""
    # Small weights: 23 steps must not make rounding grow.
    weights, x = 0.5 * draw.floats(3, 3), draw.floats(2, 3)
    for depth in (0, 1, 5, 23):
        got = answer(weights, x, jnp.int32(depth))
        message = f"With depth {depth} this is not the state of a plain loop."
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


@visible(counted_depth, stage="cost", idea="A traced bound makes a `while` loop, a static one a `scan`.")
def the_program_counts_at_run_time(answer, draw):
    """The program is a `while` loop that holds the block once."""
    primitives = answer.program(draw.floats(3, 3), draw.floats(2, 3), jnp.int32(2)).primitives
    message = "The program has no `while` loop: the number of steps is fixed."
    expect_that(primitives.get("while", 0) > 0, message, ", ".join(sorted(primitives)), "while")


# %% [markdown]
# `draw_program` shows what a function became. The static loop is a `scan`; the counted one is a `while`.

# %%
draw_program(double_some_rounds, 1, 3)

# %%
draw_program(double_rounds, 1, 3)
