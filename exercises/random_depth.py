# %% check
from jaxguide.course.author import (
    exercise,
    expect_close,
    expect_documented,
    expect_no_key_problem,
    expect_shape,
    expect_that,
    given,
    prediction,
    reveal,
    visible,
)


def parts(got, count):
    """Return the parts of a result that should be a tuple of `count` values."""
    message = f"Return a tuple of {count} values."
    is_tuple = isinstance(got, tuple | list) or hasattr(got, "children")  # a NamedTuple is a node with children
    expect_that(is_tuple and len(got) == count, message, got)
    return list(got)


def number(value):
    """Return a scalar of any kind as a Python float."""
    expect_shape(value, ())
    return float(np.asarray(value))


def run_loop(weights, x, depth):
    """Run the block `depth` times in a plain Python loop: what every other form must equal."""
    h = jnp.zeros_like(x)
    for _ in range(int(depth)):
        h = jnp.tanh(h @ weights + x)
    return h


# These weights turn the state at each step, so that no step leaves it nearly as it was.
TURN = ((0.0, 1.5, 0.0), (-1.5, 0.0, 0.0), (0.0, 0.0, -1.5))


def turning(draw, rows=2):
    """Return weights float32[3,3] that turn the state, and an input float32[rows,3]."""
    return jnp.float32(TURN) + 0.05 * draw.floats(3, 3), 0.3 * draw.floats(rows, 3)


def refused(seen, message):
    """Return the error that JAX should have raised itself in an observed call."""
    expect_that(seen.error is not None, f"{message}; yours returned a value.", seen.value, "JAX's own error")
    by_hand = seen.error.source.lstrip().startswith("raise ")
    expect_that(not by_hand, f"{message}; yours is raised by hand.", seen.error.source, "JAX's own error")
    return seen.error


# %% [markdown]
# # Random depth
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


# %% exercise
@exercise(
    title="A key and a depth for each example",
    points=2,
    core=True,
    minutes=4,
    reproduces=["S3-06", "S3-09"],
    hints=[
        "How many keys do you need? And what is the largest number that `randint(key, (), 1, 6)` can give?",
        "`split` makes the keys, `vmap` gives one to each draw, and `randint` leaves out its upper bound, as Python's "
        "`range` does. https://docs.jax.dev/en/latest/_autosummary/jax.random.randint.html",
        "keys = jax.random.split(key, ____)\n"
        "depths = jax.vmap(lambda one: jax.random.randint(one, (), 1, ____))(____)\nreturn keys, depths",
        """# Like it: make each picture of a batch brighter or darker, at random.
def brighten(picture_key, picture):
    return picture * jax.random.uniform(picture_key, (), minval=0.5, maxval=2)

pictures = jnp.ones((4, 3, 3))
picture_keys = jax.random.split(jax.random.key(0), len(pictures))
brighter = jax.vmap(brighten)(picture_keys, pictures)
print(brighter[:, 0, 0])  # four different numbers""",
    ],
)
def keys_and_depths(key, count, most):
    """From `key`, make a key for each example, and draw a depth from 1 to `most` with each of these.

    All depths are equally likely, `most` too. Depth i is one draw of `jax.random.randint` with key i, of shape `()`.

    >>> keys, depths = keys_and_depths(jax.random.key(0), 8, 3)
    >>> keys.shape, depths
    ((8,), Array([2, 3, 1, 1, 1, 2, 2, 3], dtype=int32))

    Args:
        key: key<fry>[]; it may be traced.
        count: int, how many examples there are, 1 or more.
        most: int, the greatest depth, 1 or more.

    Returns:
        A tuple `(keys, depths)`: key<fry>[count], all of them different, and int32[count].
    """
    ...


# %% check
@visible(keys_and_depths, stage="shape")
def one_key_and_one_depth_each(answer, draw):
    """There are as many keys and depths as examples."""
    for count in (5, 1):
        for part in parts(answer(draw.key(), count, 6), 2):
            expect_shape(part, (count,))


@visible(
    keys_and_depths,
    idea="A key for each example: then each draws its own number, as it would alone.",
    reproduces=["S3-06"],
    kind="relation",
    required=True,
)
def each_example_draws_with_its_key(answer, draw):
    """300 examples get 300 different keys, and each depth is what its key draws alone."""
    keys, depths = parts(answer(draw.key(), 300, 6), 2)
    words = keys.bits
    alone = [jax.vmap(lambda k, high=high: jax.random.randint(k, (), 1, high))(as_keys(words)) for high in (6, 7)]
    got = np.asarray(depths)
    found = {
        "different keys": len(np.unique(words, axis=0)),
        "depths": [list(got.shape), got.dtype.name],
        "as drawn alone": any(np.array_equal(got, np.asarray(one)) for one in alone),
    }
    message = "There should be 300 different keys, and each depth should be an int32 that `randint` draws with its key."
    expect_documented("S3-06", found, message=message)


@visible(
    keys_and_depths,
    idea="`randint` leaves out its upper bound, and says nothing if you forget it.",
    reproduces=["S3-09"],
    kind="relation",
    required=True,
)
def every_depth_comes_as_often(answer, draw):
    """Of 3,000 depths from 1 to 6, each comes about 500 times."""
    got = np.asarray(parts(answer(draw.key(), 3000, 6), 2)[1])
    depths, counts = np.unique(got, return_counts=True)
    message = "Of 3,000 depths up to 6, each from 1 to 6 should come about 500 times, and no other."
    if depths.tolist() == [1, 2, 3, 4, 5]:
        message = "Of 3,000 depths up to 6, each from 1 to 6 should come about 500 times; in yours, 6 never comes."
    expect_documented("S3-09", {"depths": depths.tolist()}, message=message)
    # The standard deviation of a count is 20.4; the bound is 7 of them: chance 1.5e-11 for all six.
    expect_that(bool((abs(counts - 500) < 143).all()), message, counts.tolist(), "six counts of about 500")


def as_keys(words):
    """Return keys of the words that were read from an answer's keys."""
    return jax.random.wrap_key_data(jnp.asarray(words))


@visible(keys_and_depths, kind="relation", required=True, idea="All randomness comes from the key.")
def another_key_gives_other_keys(answer, draw):
    """The same key gives the same keys and depths again, and another key gives other keys."""
    key = draw.key()
    first, again, other = (parts(answer(k, 40, 9), 2) for k in (key, key, draw.key()))
    message = "The same key should give the same keys and depths again."
    same = np.array_equal(first[0].bits, again[0].bits) and np.array_equal(np.asarray(first[1]), np.asarray(again[1]))
    expect_that(same, message, again, first)
    message = "Another key should give other keys; some of yours were there before."
    expect_that(not (first[0].bits[:, None] == other[0].bits).all(-1).any(), message, other[0], "other keys")


@visible(
    keys_and_depths, stage="jit", required=True, idea="A drawn number may stay in JAX: then the key may be traced."
)
def the_key_may_be_traced(answer, draw):
    """Under `jax.vmap` over keys, each gives what it gives by itself."""
    keys = draw.keys(3)
    drawn = np.asarray(parts(answer.vmap(in_axes=(0, None, None))(keys, 5, 6), 2)[1])
    alone = np.stack([np.asarray(parts(answer(key, 5, 6), 2)[1]) for key in keys])
    message = "With a traced key, the depths should be the same as without."
    expect_that(np.array_equal(drawn, alone), message, drawn, alone)


@visible(keys_and_depths, stage="keys", idea="The key that was split is not used again.")
def no_key_draws_twice(answer, draw):
    """No key is used for two things."""
    expect_no_key_problem(answer.key_use(draw.key(), 5, 6))


# %% documented S3-06
# Still so: a key for each example, and vmapped draws are those of the keys alone. (The
# bounds are the question's; the next cell is about them.)
a = jnp.zeros((300, 32)).astype(int)
key = jax.random.key(0)
rndm_keys = jax.random.split(key, a.shape[0])


def draw_a_depth(key):
    return jax.random.randint(key, (), 1, MAX_ITERS)


depths = jax.vmap(draw_a_depth)(rndm_keys)
print(rndm_keys.shape, depths.shape, depths.dtype)
print(all(depths[i] == draw_a_depth(rndm_keys[i]) for i in range(9)))

# documented
# Make as many subkeys as there are examples in the batch, and map over them: each
# example gets its random number.

# today
# (300,) (300,) int32
# True

# %% documented S3-09
# With the question's bounds, 1 and `MAX_ITERS`, the greatest depth never comes. It was
# not so then either: `randint` leaves out its upper bound.
many = jax.random.split(jax.random.key(0), 3000)
draw_all = jax.vmap(jax.random.randint, in_axes=(0, None, None, None))
print(np.unique(draw_all(many, (), 1, MAX_ITERS)))
print(np.unique(draw_all(many, (), 1, MAX_ITERS + 1)))

# documented
# depth ∈ [1, max_iters]

# today
# [1 2 3 4 5]
# [1 2 3 4 5 6]

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


# %% exercise
@exercise(
    title="As Python would use it",
    points=3,
    core=True,
    minutes=6,
    reproduces=["S3-01", "S3-02", "S3-03", "S3-11", "S3-12"],
    why_so_many="Each is a function of a line, and together they answer one claim of the question.",
    hints=[
        "Which of the functions need the value of a tracer, and which only its shape or its dtype?",
        "Write each as if there were no `jit`. For the last, `astype` changes the dtype, and `reshape` the shape. "
        "https://docs.jax.dev/en/latest/errors.html#jax.errors.ConcretizationTypeError",
        'return {\n    "int of a draw": lambda key: int(____),\n    "item": lambda x: x.item(),\n'
        '    "float": lambda x: ____,\n    "float of the shape": lambda x: float(x.shape[____]),\n'
        '    "list index": lambda i: [10, 20, 30][____],\n    "range": lambda n: sum(____),\n'
        '    "JAX integer": lambda x: x.astype(____).reshape(____),\n}[kind]',
        """# Like it: three functions that look at a vector, and what they do under `jit`.
looks = {
    "is it long?": lambda x: len(x) > 2,
    "is it full?": lambda x: bool(x.all()),
    "in JAX": lambda x: x.all(),
}
for name, look in looks.items():
    try:
        print(name, look(jnp.ones(3)), jax.jit(look)(jnp.ones(3)))
    except jax.errors.TracerBoolConversionError:
        print(name, "a tracer has no truth value")  # the second one""",
    ],
)
def python_uses(kind):
    """Return a function that uses an array in Python or, for the last kind, stays in JAX.

        kind                  takes        returns
        "int of a draw"       key<fry>[]   an int
        "item"                float32[1]   a float
        "float"               float32[]    a float
        "float of the shape"  float32[n]   a float
        "list index"          int32[]      an int
        "range"               int32[]      an int
        "JAX integer"         float32[1]   int32[]

    The first draws `randint(key, (), 1, 5)`, and makes an `int` of it. The next two give their number, by the method
    `item` and by `float`; the fourth gives n, by `float`. "list index" looks up `[10, 20, 30]`, and "range" adds up
    Python's `range` of its argument. "JAX integer" gives its number without the fraction.

    An int or a float is Python's here. Called plainly, all seven work. Under `jax.jit` (the first one: under `jax.vmap`
    over keys) some fail: let JAX's errors pass.

    >>> python_uses("item")(jnp.array([2.5])), python_uses("range")(jnp.array(4))
    (2.5, 6)
    >>> jax.jit(python_uses("JAX integer"))(jnp.array([-2.5]))
    Array(-2, dtype=int32)

    Args:
        kind: one of the kinds above.

    Returns:
        A function of one argument.
    """
    ...


# %% check
def plainly(answer, kind, argument):
    """Return the Python number that a function gives when it is called plainly."""
    got = answer.then(kind)(argument)
    message = f'Called plainly, the function of "{kind}" should return a Python number.'
    expect_that(type(got) in (int, float), message, got)
    return got


def refusal(answer, kind, argument):
    """Return JAX's error for a function under `jax.jit`."""
    message = f'Under `jax.jit`, the function of "{kind}" should fail, with JAX\'s own error'
    return refused(answer.then(kind).jit.observe_error(argument), message)


@visible(
    python_uses,
    idea="A number drawn with a traced key is traced, and `int` comes too early for it.",
    reproduces=["S3-01"],
    required=True,
)
def an_int_of_a_draw(answer, draw):
    """Plainly it is an int from 1 to 4; under `vmap` over keys, `int` raises ConcretizationTypeError."""
    for key in draw.keys(3):
        wanted = int(jax.random.randint(key, (), 1, 5))
        got = plainly(answer, "int of a draw", key)
        message = 'The function of "int of a draw" should return what `randint(key, (), 1, 5)` draws.'
        expect_that(got == wanted and isinstance(got, int), message, got, wanted)
    seen = answer.then("int of a draw").vmap().observe_error(draw.keys(3))
    message = 'Under `jax.vmap`, the function of "int of a draw" should fail, with JAX\'s own error'
    error = refused(seen, message)
    expect_documented("S3-01", seen, message=f"{message}: ConcretizationTypeError.")
    expect_that("`int` function" in error.message, f"{message} about `int`.", error.message)


@visible(
    python_uses,
    idea="`item` asks for a Python number, and a tracer has none.",
    reproduces=["S3-02"],
    required=True,
)
def an_item(answer):
    """Plainly it is a Python float; under `jit`, `item` raises ConcretizationTypeError."""
    expect_that(plainly(answer, "item", jnp.array([2.5])) == 2.5, 'The function of "item" should give 2.5 for [2.5].')
    error = refusal(answer, "item", jnp.zeros((1,)))
    found = {
        "plainly": plainly(answer, "item", jnp.zeros((1,))),
        "under jit": error.type_name,
        "in `item`": "This occurred in the item() method of jax.Array" in error.message,
    }
    message = 'Under `jax.jit`, the function of "item" should fail in the method `item`: ConcretizationTypeError.'
    expect_documented("S3-02", found, message=message)


@visible(
    python_uses,
    idea="Values are traced, shapes are not: Python may do anything with a shape.",
    reproduces=["S3-03"],
    required=True,
)
def a_float_of_a_value_and_of_a_shape(answer):
    """Under `jit`, `float` of a value raises ConcretizationTypeError, and `float` of a shape works."""
    plain = [plainly(answer, "float", jnp.float32(0.25)), plainly(answer, "float of the shape", jnp.ones(4))]
    expect_that(plain == [0.25, 4.0] and isinstance(plain[1], float), "Plainly, these should be 0.25 and 4.0.", plain)
    error = refusal(answer, "float", jnp.float32(2))
    found = {
        "float(x)": [error.type_name, "`float` function" in error.message],
        "float(x.shape[0])": number(answer.then("float of the shape").jit(jnp.ones(3))),
    }
    message = "Under `jax.jit`, `float` of the value should fail, and `float` of the shape should be 3.0 for ones(3)."
    expect_documented("S3-03", found, message=message)


@visible(
    python_uses,
    idea="A Python list and `range` need a Python int: they ask the tracer for one, by `__index__`.",
    reproduces=["S3-11"],
    required=True,
)
def an_index_and_a_range(answer):
    """Plainly these are 30 and 10 for 2 and 5; under `jit` both raise TracerIntegerConversionError."""
    plain = [plainly(answer, "list index", jnp.array(2)), plainly(answer, "range", jnp.array(5))]
    expect_that(plain == [30, 10], "Plainly, index 2 should give 30, and the sum of `range` of 5 is 10.", plain)
    found = {}
    for kind in ("list index", "range"):
        error = refusal(answer, kind, jnp.array(1))
        found[kind] = [error.type_name, error.message.startswith("The __index__() method was called on traced array")]
    message = "Under `jax.jit`, the list index and the range should fail: TracerIntegerConversionError."
    expect_documented("S3-11", found, message=message)


@visible(
    python_uses,
    idea="In JAX an integer is an array without axes, of shape (). No Python number is needed.",
    reproduces=["S3-12"],
    required=True,
)
def an_integer_in_jax(answer):
    """Under `jit`, zeros((1,)) becomes 0, an int32 of shape (); fractions are cut off."""
    integer = answer.then("JAX integer").jit
    got = integer(jnp.zeros((1,)))
    message = 'Under `jax.jit`, the function of "JAX integer" should give 0 for zeros((1,)), an int32 of shape ().'
    found = [np.asarray(got).tolist(), np.asarray(got).dtype.name, list(np.shape(got))]
    expect_documented("S3-12", found, message=message)
    for value, wanted in ((2.7, 2), (-2.7, -2), (3.0, 3)):
        got = integer(jnp.array([value]))
        expect_that(number(got) == wanted, f"{value} should become {wanted}.", got, wanted)


# %% documented S3-01
# The error is the one that the question means; its class is called
# `ConcretizationTypeError`. A Python number would come out only without `vmap`.
def generate_random(key):
    return int(jax.random.randint(key, (), 1, 5))


try:
    jax.vmap(generate_random)(jax.random.split(jax.random.key(0), 300))
except jax.errors.ConcretizationTypeError as error:
    print(f"{type(error).__name__}: {error}".partition(" This")[0])

# documented
# Converting the number from a `jax.Array` to an `int32` causes a ConcretizationError.

# today
# ConcretizationTypeError: Abstract tracer value encountered where concrete value is
# expected: traced array with shape int32[]
# The problem arose with the `int` function. ...


# %% documented S3-02
# This fails in any case: without `jit`, `item` gives a Python float, and that has no
# `astype`.
def t():
    return jnp.zeros((1,)).item().astype(int)


for way in (t, jax.jit(t)):
    try:
        way()
    except (AttributeError, jax.errors.ConcretizationTypeError) as error:
        print(type(error).__name__, *str(error).splitlines()[:2], sep="\n")

# documented
# This minimal example reproduces the error.

# today
# AttributeError
# 'float' object has no attribute 'astype'
# ConcretizationTypeError
# Abstract tracer value encountered where concrete value is expected: traced array
# with shape float32[1]
# This occurred in the item() method of jax.Array

# %% documented S3-03
# Too strict, then and now: it is true of values that are traced. Python may compute
# with a shape.
print(jax.jit(lambda x: float(x.shape[0]) + 1)(jnp.ones(3)))
try:
    jax.jit(lambda x: float(x) + 1)(1.0)
except jax.errors.ConcretizationTypeError as error:
    print(type(error).__name__)

# documented
# JIT requires that all manipulations be of the JAX type.

# today
# 4.0
# ConcretizationTypeError

# %% documented S3-11
# Still so, whatever asks for the Python number.
uses = int, lambda x: x.item(), lambda i: [10, 20, 30][i], lambda n: len(range(n))
for use in uses:
    try:
        jax.jit(use)(1)
    except jax.errors.JAXTypeError as error:
        print(type(error).__name__)

# documented
# Traced values are known at run time, and Python's integers at compile time. So
# inside of a JAX transformation, no traced value can be made a static integer.

# today
# ConcretizationTypeError
# ConcretizationTypeError
# TracerIntegerConversionError
# TracerIntegerConversionError


# %% documented S3-12
# The answer shows no output. This is today's.
@jax.jit
def t():
    return jnp.zeros((1,)).astype(int).reshape(())


t()

# documented
# An array without axes is how JAX writes an integer at run time.

# today
# Array(0, dtype=int32)


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


# %% exercise
@prediction(
    title="Predict: runs of the Python code",
    points=1,
    core=True,
    minutes=1,
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
@reveal(
    predict_body_runs,
    why="`vmap` is not a hidden `jit`: it traces the function at each call, and keeps nothing. Both trace, and "
    "that is why the question's code fails under `vmap` alone.",
    shows="""runs = []
mapped = jax.vmap(lambda x: (runs.append(1), 2 * x)[1])
for _ in range(3):
    mapped(jnp.ones(4))
print(len(runs))""",
)
def runs_of_a_mapped_function():
    """We called `jax.vmap(f)` three times with the same array and counted the runs of `f`'s Python code."""
    runs = []
    mapped = jax.vmap(lambda x: (runs.append(1), 2 * x)[1])
    for _ in range(3):
        mapped(jnp.ones(4))
    return len(runs)


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


# %% exercise
@exercise(
    title="The question's function",
    points=3,
    core=True,
    minutes=6,
    reproduces=["S3-07", "S3-08"],
    hints=[
        "What goes into the second call of `model` as its state? And what must not happen if `k` is given?",
        "`jax.lax.stop_gradient` goes around what the first phase gives. Draw `k` only if it is None. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.stop_gradient.html",
        "if k is None:\n    k = jax.random.randint(key, (), 1, ____)\n"
        "h = ____(model(x, k, jnp.zeros_like(x)))\nreturn model(x, ____, h)",
        """# Like it: money grows for some years, then for the others; only the later years count for the slope.
def money_after(rate, free_years, years=5):
    money = 1.0
    for year in range(years):
        if year == free_years:
            money = jax.lax.stop_gradient(money)
        money = money * rate
    return money

print(money_after(2.0, 3), jax.grad(money_after)(2.0, 3))  # 32.0 32.0: 8 * 2 * 2.0, not 5 * 2.0**4""",
    ],
)
def react_forward(key, x, k=None):
    """Run the network of the question on one example: k steps without a gradient, then the others with one.

    If `k` is None, draw it from 1 to MAX_ITERS, here in this function, by one call of `jax.random.randint` with the
    key, and make no `int` of it. Start with a state of zeros. Run all steps by `model`, in two calls.

    It need not work under `jax.vmap` while `k` is drawn: let JAX's error pass. With a given `k` it does work.

    >>> react_forward(jax.random.key(0), jnp.zeros((2, 8)), 4).shape
    (2, 8)

    Args:
        key: key<fry>[].
        x: float32[n,8].
        k: None, or an int from 0 to MAX_ITERS.

    Returns:
        float32[n,8], the state after all MAX_ITERS steps.
    """
    ...


# %% check
def two_phases(x, k):
    """Return what `react_forward` should give, by plain loops."""
    h = jax.lax.stop_gradient(run_loop(WEIGHTS, x, k))
    for _ in range(MAX_ITERS - k):
        h = jnp.tanh(h @ WEIGHTS + x)
    return h


def slopes_for(x, ks):
    """Return the gradients of the sum of the last state with respect to x, for each k."""
    return [np.asarray(jax.grad(lambda x, k=k: two_phases(x, k).sum())(x)) for k in ks]


@visible(react_forward, idea="k steps and MAX_ITERS - k more: MAX_ITERS steps in all, whatever k is.")
def all_steps_are_run(answer, draw):
    """With any k, given or drawn, the state is that after MAX_ITERS steps."""
    x = draw.floats(2, 8)
    for k in (None, 0, 4, MAX_ITERS):
        expect_close(answer(draw.key(), x, k), run_loop(WEIGHTS, x, MAX_ITERS), rtol=1e-4, atol=1e-5)


@visible(
    react_forward,
    stage="gradient",
    idea="`stop_gradient` keeps the value, and cuts the gradient: what came before counts as a constant.",
    required=True,
)
def the_first_steps_are_constants(answer, draw):
    """With k given, the gradient with respect to x is that of the last MAX_ITERS - k steps."""
    x = draw.floats(2, 8)
    for k, wanted in zip((0, 2, 5), slopes_for(x, (0, 2, 5)), strict=True):
        got = answer.sum.grad(1)(draw.key(), x, k)
        expect_close(got, wanted, f"With k = {k}, {MAX_ITERS - k} steps should have a gradient.", rtol=1e-3, atol=1e-4)


@visible(react_forward, stage="gradient", idea="Without a given k, the key decides.", required=True)
def the_key_draws_k(answer, draw):
    """Without k, the gradient is that of the k which the key draws."""
    x = draw.floats(1, 8)
    wanted = slopes_for(x, range(MAX_ITERS + 1))
    for key in draw.keys(14):
        k = int(jax.random.randint(key, (), 1, MAX_ITERS + 1))
        message = f"This key draws k = {k} by `randint`, so {MAX_ITERS - k} steps should have a gradient."
        expect_close(answer.sum.grad(1)(key, x), wanted[k], message, rtol=1e-3, atol=1e-4)


@visible(
    react_forward,
    stage="jit",
    idea="`arange` needs its length before anything runs; the error names the argument, and where k was made.",
    reproduces=["S3-07"],
    required=True,
)
def the_question_fails_as_documented(answer, draw):
    """Under `vmap` with drawn k, `jnp.arange` raises ConcretizationTypeError, and names the line that made k."""
    seen = answer.vmap(in_axes=(0, 0)).observe_error(draw.keys(3), jnp.ones((3, 2, 8)))
    message = "Under `jax.vmap`, with k drawn, it should fail in the `jnp.arange` of `model`, with JAX's own error"
    error = refused(seen, message)
    lines = f"{error.type_name}: {error.message}".splitlines()
    expect_documented("S3-07", lines, message=f"{message}, about a k that was drawn in `react_forward`.")


@visible(
    react_forward,
    stage="jit",
    idea="A Python number stays static under `vmap`, so `arange` may use it.",
    reproduces=["S3-08"],
    required=True,
)
def a_given_k_works_under_vmap(answer, draw):
    """Under `vmap` with k = 5, 300 examples give (300, 32, 8), with the right states, in a program of fixed length."""
    mapped = answer.vmap(in_axes=(0, 0, None))
    xs = draw.floats(300, 32, 8)
    got = mapped(draw.keys(300), xs, 5)
    few, many = (mapped.program(draw.keys(b), jnp.ones((b, 2, 8)), 5).equations for b in (4, 40))
    found = {
        "shape": list(np.shape(got)),
        "right": np.shape(got) == xs.shape and examples_alike(got, run_loop(WEIGHTS, xs, MAX_ITERS)),
        "grows with the batch": many >= few + 36,
    }
    message = "Under `jax.vmap` with k = 5, 300 examples of 32 rows should give their states, of shape (300, 32, 8)."
    expect_documented("S3-08", found, message=message)


def examples_alike(got, wanted):
    """Return how many examples are equal, up to float32's rounding."""
    got = np.asarray(got)
    expect_that(got.shape == wanted.shape, "The states have another shape.", str(got.shape), str(wanted.shape))
    return sum(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(got, np.asarray(wanted), strict=True))


# %% documented S3-07
# The same error today. A full stop is gone (since 0.4.31), the address of the page is
# another one, and newer releases say `VmapTracer`.
@partial(jax.jit, static_argnums=(1, 2))
def get_rand_num(key, lower_bound, upper_bound):
    key, subkey = jax.random.split(key)
    random_number = jax.random.randint(subkey, (), lower_bound, upper_bound)
    return random_number.astype(int)


def react_forward_of_the_page(key, x):
    k = get_rand_num(key, 1, MAX_ITERS)
    intermediate_array = jax.lax.stop_gradient(model(x, k, jnp.zeros_like(x)))
    return model(x, MAX_ITERS - k, intermediate_array)


rndm_keys = jax.random.split(jax.random.key(0), 300)
a = jnp.ones((300, 32, 8))
try:
    jax.vmap(react_forward_of_the_page, in_axes=(0, 0))(rndm_keys, a)
except jax.errors.ConcretizationTypeError as error:
    print(f"{type(error).__name__}: {error}")

# documented
# ConcretizationTypeError: Abstract tracer value encountered where concrete value is
# expected: traced array with shape int32[].
# It arose in the jnp.arange argument 'stop'
# This BatchTracer with object id 140406974192336 was created on line:
#   <ipython-input-32-d6ff062f5054>:8 (react_forward)
# See
# https://jax.readthedocs.io/en/latest/errors.html#jax.errors.ConcretizationTypeError

# today
# ConcretizationTypeError: Abstract tracer value encountered where concrete value is
# expected: traced array with shape int32[]
# It arose in the jnp.arange argument 'stop'
# This ...Tracer with object id ... was created on line:
#   ... (react_forward_of_the_page)
# See https://docs.jax.dev/en/latest/...errors.html#jax.errors.ConcretizationTypeError


# %% documented S3-08
# Still so: any Python number works.
def react_forward_with_5(key, x):
    k = 5
    intermediate_array = jax.lax.stop_gradient(model(x, k, jnp.zeros_like(x)))
    return model(x, MAX_ITERS - k, intermediate_array)


rndm_keys = jax.random.split(jax.random.key(0), 300)
a = jnp.ones((300, 32, 8))
print(jax.vmap(react_forward_with_5, in_axes=(0, 0))(rndm_keys, a).shape)

# documented
# With `k = 5`, or any other hard-coded integer, it works perfectly.

# today
# (300, 32, 8)

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


# %% exercise
@exercise(
    title="Mask the rest",
    points=3,
    core=True,
    minutes=5,
    reproduces=["S3-14"],
    hints=[
        "What does an example do in the rounds after its depth?",
        "`jnp.where(condition, new, old)` chooses between two states that both exist. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.where.html",
        "def step(h, i):\n    return jnp.where(____, block(weights, h, x), h), None\n\n"
        "h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))\nreturn h",
        """# Like it: n steps of Newton's method for the root of a, n at most 20.
def newton(a, n):
    def step(root, i):
        better = (root + a / root) / 2
        return jnp.where(i < n, better, root), None

    return jax.lax.scan(step, a, jnp.arange(20))[0]

root_of = jax.jit(newton)
print(root_of(9.0, 1), root_of(9.0, 15))  # 5.0 3.0
print(jax.jit(jax.grad(newton))(9.0, 1))  # 0.5""",
    ],
)
def masked_depth(weights, x, depth):
    """Run `block` `depth` times on a state of zeros, where `depth` is traced.

    It works under `jax.jit` and `jax.vmap`, and has the gradient of a plain loop with respect to `weights` and `x`. The
    loop is in the program: no loop of Python's over the steps, which would write the block out MAX_ITERS times.

    >>> masked_depth(jnp.eye(2), jnp.array([[0.5, -0.5]]), 1)
    Array([[ 0.46211717, -0.46211717]], dtype=float32)

    Args:
        weights: float32[d,d].
        x: float32[n,d].
        depth: int32[], from 0 to MAX_ITERS.

    Returns:
        float32[n,d], the last state.
    """
    ...


# %% check
def twelve_examples(draw):
    """Return weights, 12 inputs, and 12 depths in which 1 to MAX_ITERS all occur."""
    depths = draw.generator.permutation(np.arange(12, dtype=np.int32) % MAX_ITERS + 1)
    return turning(draw)[0], 0.3 * draw.floats(12, 2, 3), jnp.asarray(depths)


def loops(weights, xs, depths):
    """Return what the plain Python loop gives for each example."""
    return np.stack([run_loop(weights, x, depth) for x, depth in zip(xs, depths, strict=True)])


def compared_three_ways(answer, draw):
    """Count the examples that equal their loops under vmap, jit of vmap, vmap of jit; and those a step longer."""
    weights, xs, depths = twelve_examples(draw)
    axes = (None, 0, 0)
    ways = (answer.vmap(in_axes=axes), answer.vmap(in_axes=axes).jit, answer.jit.vmap(in_axes=axes))
    results = [way(weights, xs, depths) for way in ways]
    alike = [examples_alike(got, loops(weights, xs, depths)) for got in results]
    return {"equal": alike, "a step longer": examples_alike(results[0], loops(weights, xs, depths + 1))}


TWELVE = "Of 12 examples under vmap, jit(vmap) and vmap(jit), each should equal the plain loop of its own depth."


def message_of_twelve(found):
    """Return the message for what `compared_three_ways` found."""
    return f"{TWELVE} In yours, every example equals a loop of one step more." if found["a step longer"] else TWELVE


@visible(masked_depth, stage="shape")
def the_state_has_the_shape_of_x(answer, draw):
    """The state has the shape of the input."""
    expect_shape(answer(draw.floats(3, 3), draw.floats(2, 3), jnp.array(2)), (2, 3))


@visible(masked_depth, idea="After its own depth, an example keeps its state.")
def each_depth_equals_the_loop(answer, draw):
    """Compiled, for the depths 0, 1, 3 and 6, it equals a plain Python loop."""
    weights, x = turning(draw)
    for depth in (0, 1, 3, 6):
        got = answer.jit(weights, x, jnp.int32(depth))
        message = f"With depth {depth}, this should be the state of a plain loop."
        expect_close(got, run_loop(weights, x, depth), message, rtol=1e-4, atol=1e-5)


@visible(masked_depth, stage="jit", idea="Every example has its own mask.", reproduces=["S3-14"], kind="value")
def twelve_examples_equal_their_loops(answer, draw):
    """Under vmap, jit(vmap) and vmap(jit), 12 of 12 examples equal their loops."""
    found = compared_three_ways(answer, draw)
    expect_documented("S3-14", {"masked": found}, message=message_of_twelve(found))


@visible(
    masked_depth, stage="gradient", idea="The number of rounds is static, so the way back is known.", required=True
)
def the_masked_form_has_a_gradient(answer, draw):
    """The gradients with respect to the weights and x are those of a plain loop."""
    program = answer.program(draw.floats(3, 3), draw.floats(2, 3), jnp.int32(2))
    message = "The program should have no loop with a traced number of rounds: such a loop has no reverse gradient."
    expect_that(not program.primitives.get("while"), message, "while", "scan")
    weights, x = turning(draw)
    for depth in (0, 2, 5):
        total = jax.grad(lambda w, x, depth=depth: run_loop(w, x, depth).sum(), argnums=(0, 1))
        got = answer.sum.grad((0, 1)).jit(weights, x, jnp.int32(depth))
        message = f"With depth {depth}, the gradients should be those of a plain loop."
        expect_close(tuple(got), total(weights, x), message, rtol=1e-3, atol=1e-4)


@visible(masked_depth, stage="cost", idea="A scan has its body in the program once.", required=True)
def the_loop_is_in_the_program(answer, draw):
    """The program does not hold a block for each step."""
    products = answer.program(draw.floats(3, 3), draw.floats(2, 3), jnp.int32(2)).primitives.get("dot_general", 0)
    message = f"The loop should be in the program; yours holds {products} matrix products, one for each step."
    expect_that(products < MAX_ITERS, message, f"{products} products", "1")


# %% documented S3-14
# The answer names this way, and shows no code. Here it is in the place of the scan that
# failed, for 12 examples with depths from 1 to 5, against loops of Python's.
def iterate_masked(x, iters_to_do):
    def loop_body(h, i):
        return jnp.where(i < iters_to_do, block(WEIGHTS, h, x), h), None

    return jax.lax.scan(loop_body, jnp.zeros_like(x), jnp.arange(MAX_ITERS))[0]


a_dozen = jnp.sin(jnp.arange(12 * 32 * 8.0)).reshape(12, 32, 8)
k_of_each = np.arange(12) % 5 + 1
zeros = jnp.zeros((32, 8))
looped = [model(a_dozen[i], int(k_of_each[i]), zeros) for i in range(12)]
mapped = jax.vmap(iterate_masked)(a_dozen, k_of_each)
print(np.allclose(mapped, jnp.stack(looped), atol=1e-5))

# documented
# Create a padded array of the maximum size.

# today
# True

# %% [markdown]
# **B: a loop that counts at run time.** `jax.lax.fori_loop(start, stop, body, state)`
# runs `state = body(i, state)` for each i; its `stop` may be traced. It needs no
# greatest number of rounds. (The answer wrote `jax.fori_loop`; it is in `jax.lax`.)


# %%
def double_counted(start, rounds):
    """Double a number `rounds` times."""
    return jax.lax.fori_loop(0, rounds, lambda i, value: 2 * value, start)


print(jax.vmap(double_counted, in_axes=(None, 0))(1, jnp.array([1, 3, 10])))


# %% exercise
@exercise(
    title="Count at run time",
    points=3,
    core=True,
    minutes=4,
    reproduces=["S3-15"],
    hints=[
        "What is the largest depth here: does the loop need to know one?",
        "`fori_loop` with a traced `stop` becomes a `while` loop. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html",
        "def body(i, h):\n    return block(weights, h, x)\n\n"
        "return jax.lax.fori_loop(0, ____, body, jnp.zeros_like(x))",
        """# Like it: the n-th Fibonacci number, with n known only when it runs.
def fibonacci(n):
    def step(i, two):
        return two[1], two[0] + two[1]

    return jax.lax.fori_loop(0, n, step, (0, 1))[0]

print(jax.vmap(fibonacci)(jnp.array([1, 10, 30])))  # 1, 55 and 832040""",
    ],
)
def counted_depth(weights, x, depth):
    """Run `block` `depth` times on a state of zeros, where `depth` is traced and has no upper bound.

    It works under `jax.jit` and `jax.vmap`. One compiled program serves all depths.

    >>> counted_depth(jnp.eye(2), jnp.array([[0.5, -0.5]]), 1000)
    Array([[ 0.88122535, -0.88122535]], dtype=float32)

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
    weights, x = turning(draw)
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
    found = compared_three_ways(answer, draw)
    expect_documented("S3-15", {"counted": found}, message=message_of_twelve(found))


@visible(counted_depth, stage="cost", idea="A traced bound makes a `while` loop, a static one a `scan`.", required=True)
def the_program_counts_at_run_time(answer, draw):
    """The program is a `while` loop."""
    primitives = answer.program(draw.floats(3, 3), draw.floats(2, 3), jnp.int32(2)).primitives
    message = "The program should have a `while` loop: without it, the number of steps is fixed."
    expect_that(primitives.get("while", 0) > 0, message, ", ".join(sorted(primitives)), "while")


# %% documented S3-15
# Named in the same sentence, as `jax.fori_loop` and `jax.scan`; both are in `jax.lax`.
# Again for 12 examples with depths from 1 to 5, against loops of Python's:
def iterate_counted(x, iters_to_do):
    def loop_body(i, h):
        return block(WEIGHTS, h, x)

    return jax.lax.fori_loop(0, iters_to_do, loop_body, jnp.zeros_like(x))


a_dozen = jnp.sin(jnp.arange(12 * 32 * 8.0)).reshape(12, 32, 8)
k_of_each = np.arange(12) % 5 + 1
zeros = jnp.zeros((32, 8))
looped = [model(a_dozen[i], int(k_of_each[i]), zeros) for i in range(12)]
mapped = jax.vmap(iterate_counted)(a_dozen, k_of_each)
print(np.allclose(mapped, jnp.stack(looped), atol=1e-5))

# documented
# Use `jax.fori_loop` in place of `jax.scan`.

# today
# True

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


# %% exercise
@exercise(
    title="Which loop has which derivative?",
    points=3,
    core=True,
    minutes=4,
    reproduces=["S3-16"],
    hints=[
        "If n is a Python number, is the bound of the loop still traced? Make sure that it is.",
        "`jax.grad` is reverse, `jax.jvp` forward. Inside `jax.jit`, n is traced. "
        "https://docs.jax.dev/en/latest/advanced-autodiff.html",
        "reverse = jax.jit(jax.grad(power))\nforward = jax.jit(lambda w, n: jax.jvp(____, (w,), (1.0,))[1])\n"
        "slopes = []\nfor derivative in (reverse, forward):\n    try:\n        slopes.append(float(derivative(w, n)))\n"
        "    except ValueError:\n        slopes.append(None)\nreturn tuple(slopes)",
        """# Like it: the slope of a wave in time t, both ways, with traced k.
def wave(k, t):
    return jnp.sin(k * t)

def slope_forward(k, t):
    value, slope = jax.jvp(lambda s: wave(k, s), (t,), (1.0,))
    return slope

slope_reverse = jax.grad(wave, argnums=1)
print(jax.jit(slope_forward)(3.0, 0.0))  # 3.0
print(jax.jit(slope_reverse)(3.0, 0.0))  # 3.0""",
    ],
)
def derivatives(power, w, n):
    """Take the derivative of `power(w, n)` with respect to `w`, in reverse and forward mode, with traced `n`.

    (An argument of a jitted function is traced.)

    >>> derivatives(power_masked, 2.0, 3)
    (12.0, 12.0)

    Args:
        power: a function of a float and a number of rounds, such as `power_masked`.
        w: float.
        n: int, the number of rounds; it must be traced.

    Returns:
        A tuple `(reverse, forward)`: for each, the derivative as a float or a float32[], or None where JAX raises
        ValueError.
    """
    ...


# %% check
def slopes(got):
    """Return the two derivatives: a float or None each."""
    return [None if part is None else number(part) for part in parts(got, 2)]


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
        wanted = (13.5 if "masked" in power else None, 13.5)
        message = f"For `{power}`, w = 1.5 and n = 4, the pair should be {wanted}."
        if wanted[0] is None and got[0] is not None:
            message += " A loop with a traced n has no reverse derivative: is yours traced?"
        same = [x is y if None in (x, y) else np.isclose(x, y) for x, y in zip(got, wanted, strict=True)]
        expect_that(all(same), message, tuple(got), wanted)
        seen.append(["ValueError" if part is None else "" for part in got])
    message = "Masked loops should have both derivatives, counted loops the forward one, with None for reverse."
    expect_documented("S3-16", seen, message=message)


@visible(derivatives, idea="JAX differentiates the function that it is given; no formula is needed.")
def any_loop_is_differentiated(answer):
    """For `double_counted` and three rounds the forward derivative is 8, and there is no reverse one."""
    seen = slopes(answer(given("double_counted"), 1.5, 3))
    message = "`double_counted` is w * 2**n: the pair should be (None, 8.0)."
    expect_that(seen[0] is None and seen[1] == 8.0, message, tuple(seen), (None, 8.0))


# %% documented S3-16
# Question and answer do not speak of gradients; we added this, since training needs
# them. JAX says why a counted loop has none.
for power in (power_masked, power_counted):
    try:
        print(jax.jit(jax.grad(power))(2.0, 3))
    except ValueError as error:
        print(f"ValueError: {error}")

# documented
# Create a padded array of the maximum size, or use `jax.fori_loop` in place of
# `jax.scan`.

# today
# 12.0
# ValueError: Reverse-mode differentiation does not work for lax.while_loop or
# lax.fori_loop with dynamic start/stop values. ...

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


# %% exercise
@exercise(
    title="Repair: a loss with random depth",
    points=3,
    core=True,
    minutes=5,
    hints=[
        "Which of the two ways out can be run backwards?",
        "Use a loop with a static number of rounds, and a mask. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html",
        "def last_state(x, depth):\n    def step(h, i):\n        return jnp.where(i < ____, ____, h), None\n\n"
        "    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(____))[0]",
        """# Like it: a mean over accounts, each with years of its own, and its slope.
def mean_money(rate, years):
    def one(n):
        def step(i, money):
            return jnp.where(i < n, money * (1 + rate), money)

        return jax.lax.fori_loop(0, 10, step, 1.0)  # 10: the most years

    return jnp.mean(jax.vmap(one)(years))

slope = jax.jit(jax.grad(mean_money))
print(slope(1.0, jnp.array([1, 2])))  # 2.5, the mean of 1 and 4""",
    ],
)
def loss_at_depths(params, points, labels, depths):
    """Compute the loss of the network, where each point runs the block as often as its own depth says.

    The value below is right, but `jax.grad` of it fails: repair it. The gradient with respect to all of `params` is
    that of plain loops, also under `jax.jit`.

    >>> two = points[:2], labels[:2], jnp.array([0, 6])
    >>> jax.grad(loss_at_depths)(first_params(), *two)["block"].shape
    (8, 8)

    Args:
        params: a dict as in `first_params`: "embed" float32[2,d], "shift" float32[d], "block" float32[d,d] and "head"
            float32[d].
        points: float32[b,2].
        labels: int32[b], 0 or 1.
        depths: int32[b], each from 0 to MAX_ITERS.

    Returns:
        float32[]: `mean_loss` of the scores.
    """

    def last_state(x, depth):
        def body(i, h):
            return block(params["block"], h, x)

        return jax.lax.fori_loop(0, depth, body, jnp.zeros_like(x))

    states = jax.vmap(last_state)(embed(params, points), depths)
    return mean_loss(states @ params["head"], labels)


# %% check
def some_params(draw, d=4):
    """Return random parameters with d numbers in a row."""
    weights = 0.8 * draw.floats(d, d)
    return {"embed": draw.floats(2, d), "shift": draw.floats(d), "block": weights, "head": draw.floats(d)}


def loss_by_loops(params, points, labels, depths):
    """Return the loss, by plain loops."""
    xs = points @ params["embed"] + params["shift"]
    states = jnp.stack([run_loop(params["block"], x, depth) for x, depth in zip(xs, depths, strict=True)])
    scores = states @ params["head"]
    return jnp.mean(jnp.logaddexp(0.0, jnp.where(labels == 1, -scores, scores)))


def five_points(draw):
    """Return parameters, five points, their labels and depths."""
    depths = draw.generator.permutation(np.array([0, 1, 3, 5, 6], np.int32))
    return some_params(draw), draw.floats(5, 2), jnp.array([0, 1, 1, 0, 1]), jnp.asarray(depths)


@visible(loss_at_depths, stage="shape")
def the_loss_is_one_number(answer, draw):
    """The loss is one number."""
    expect_shape(answer.jit(*five_points(draw)), ())


@visible(loss_at_depths, idea="Every example has its own depth.")
def the_loss_is_that_of_plain_loops(answer, draw):
    """Compiled, the loss equals that of plain loops."""
    args = five_points(draw)
    message = "This should be the loss of plain loops, each as long as its depth says."
    expect_close(answer.jit(*args), loss_by_loops(*args), message, rtol=1e-4)


@visible(loss_at_depths, stage="gradient", idea="A traced number of rounds has no reverse gradient.", required=True)
def the_gradient_is_that_of_plain_loops(answer, draw):
    """`jax.grad` gives the gradient of plain loops, also compiled."""
    params, points, labels, depths = five_points(draw)
    wanted = jax.grad(lambda p: loss_by_loops(p, points, labels, depths))(params)
    got = answer.grad().jit(params, points, labels, depths)
    expect_close(got, wanted, "This should be the gradient of the loss by plain loops.", rtol=1e-3, atol=1e-4)


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


# %% exercise
@exercise(
    title="Four refusals",
    points=2,
    minutes=4,
    reproduces=["S3-13"],
    hints=[
        "Would these four functions be hard to write, if n were a Python number?",
        "`scan(step, start, length=n)` runs `step` n times. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html",
        'return {\n    "arange": lambda n: jnp.arange(n),\n    "arange from 0": lambda n: jnp.arange(0, ____),\n'
        '    "scan": lambda n: jax.lax.scan(lambda c, _: (c + 1, None), ____, length=____)[0],\n'
        '    "zeros": lambda n: ____,\n}[use]',
        """# Like it: two more that need a size.
uses = {"ones": lambda n: jnp.ones((2, n)), "tile": lambda n: jnp.tile(jnp.array([1, 2]), n)}
for name, use in uses.items():
    print(name, use(2).shape)
    try:
        jax.jit(use)(2)
    except TypeError as error:
        print(str(error)[:20])  # Shapes must be 1D se, then another""",
    ],
)
def as_size(use):
    """Return a function that uses a number as a size, in one of four ways.

        use              returns for n
        "arange"         int32[n], by `jnp.arange(n)`
        "arange from 0"  int32[n], by `jnp.arange(0, n)`
        "scan"           int32[], by `jax.lax.scan`
        "zeros"          float32[n], by `jnp.zeros(n)`

    Here n is an int or an int32[], 0 or more. "scan" adds 1 to 0, n times, with `length=n`, and returns n. Called
    plainly, all of them work. Under `jax.vmap`, none does: let JAX's errors pass.

    >>> as_size("arange from 0")(3), int(as_size("scan")(4))
    (Array([0, 1, 2], dtype=int32), 4)

    Args:
        use: "arange", "arange from 0", "scan" or "zeros".

    Returns:
        A function of n.
    """
    ...


# %% check
USES = {
    "arange": (np.arange, "It arose in the jnp.arange argument 'stop'"),
    "arange from 0": (np.arange, "It arose in the jnp.arange argument 'stop'"),
    "scan": (lambda n: np.int32(n), "The `length` argument to `scan` expects a concrete `int` value."),
    "zeros": (np.zeros, "Shapes must be 1D sequences of concrete values of integer type"),
}


@visible(as_size, idea="With a Python number, or a number that is not traced, a size is known.")
def plain_sizes_work(answer):
    """For 3, 1 and 0, and for an array of 2, each function gives what it should."""
    for use, (wanted, _) in USES.items():
        dtype = "float32" if use == "zeros" else "int32"
        for n in (3, 1, 0):
            got = answer.then(use)(n)
            expect_close(got, np.asarray(wanted(n)).astype(dtype), f'The function of "{use}" should work for n = {n}.')
        expect_close(answer.then(use)(jnp.array(2)), np.asarray(wanted(2)).astype(dtype))


@visible(
    as_size,
    stage="jit",
    idea="Every JAX array has a static shape: no function makes an array of a traced length.",
    reproduces=["S3-13"],
    required=True,
)
def no_size_can_be_traced(answer):
    """Under `vmap`, arange, scan and zeros all refuse a traced n, each in its own words."""
    found = {}
    for use, (_, phrase) in USES.items():
        message = f'Under `jax.vmap`, the function of "{use}" should fail, with JAX\'s own error'
        error = refused(answer.then(use).vmap().observe_error(np.array([2, 1, 3], np.int32)), message)
        found[use] = [error.type_name, phrase if phrase in error.message else error.message.splitlines()[0]]
    message = "Under `jax.vmap`, `arange` and `scan` should raise ConcretizationTypeError, and `zeros` TypeError."
    expect_documented("S3-13", found, message=message)


# %% documented S3-13
# Still so. Each has its own words, and `scan` says what to do instead.
def count_one(count, _):
    return count + 1, None


def count_up_to(n):
    return jax.lax.scan(count_one, 0, length=n)[0]


for use in (jnp.arange, lambda n: jnp.arange(0, n), count_up_to, jnp.zeros):
    try:
        jax.vmap(use)(jnp.array([2, 1, 3]))
    except TypeError as error:
        print(type(error).__name__, *str(error).splitlines()[:2], sep="\n")

# documented
# JAX arrays must have static shapes. A random integer that is passed to `jnp.arange`
# would give an array of dynamic shape, and such code cannot run under transformations
# like `jit` and `vmap`.

# today
# ConcretizationTypeError
# Abstract tracer value encountered where concrete value is expected: traced array
# with shape int32[]
# It arose in the jnp.arange argument 'stop'
# ConcretizationTypeError
# Abstract tracer value encountered where concrete value is expected: traced array
# with shape int32[]
# It arose in the jnp.arange argument 'stop'
# ConcretizationTypeError
# Abstract tracer value encountered where concrete value is expected: traced array
# with shape int32[]
# The `length` argument to `scan` expects a concrete `int` value. For scan-like
# iteration with a dynamic length, use `while_loop` or `fori_loop`.
# TypeError
# Shapes must be 1D sequences of concrete values of integer type, got ...
# If using `jit`, try using `static_argnums` or applying `jit` to smaller
# subfunctions.

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


# %% exercise
@exercise(
    title="The question's sampler",
    points=3,
    minutes=4,
    reproduces=["S3-05"],
    hints=[
        "Which of the three arguments must Python know? For which of the two samplers?",
        "`jax.jit(f, static_argnums=(1, 2))` makes the bounds static. Values may be traced; shapes must not. "
        "https://docs.jax.dev/en/latest/jit-compilation.html",
        "def get_rand_num(key, lower_bound, upper_bound):\n    _, subkey = ____\n"
        "    return jax.random.randint(____, (), lower_bound, upper_bound)\n\n"
        'return jax.jit(get_rand_num, static_argnums=____ if bounds == "static" else ())',
        """# Like it: a random point, with a radius that is known only when it runs.
@jax.jit
def point_within(key, radius):
    print("Python runs: JAX traces")  # printed once for both radii
    return jax.random.uniform(key, (2,), minval=-radius, maxval=radius)

near = point_within(jax.random.key(0), 1.0)
far = point_within(jax.random.key(0), 50.0)
print(np.abs(near).max() < 1, np.abs(far).max() < 50)  # True True""",
    ],
)
def rand_num_sampler(bounds):
    """Return the jitted sampler of the question, with static bounds, or with traced ones.

    It is a function of `key`, `lower_bound` and `upper_bound`. It splits the key in two, and draws one int32 with the
    second of the new keys, by `jax.random.randint`: from the lower bound to the upper one, which is left out.

    >>> rand_num_sampler("traced")(jax.random.key(0), 1, 6)
    Array(3, dtype=int32)

    Args:
        bounds: "static": one program for each pair of bounds, and traced bounds are refused by JAX's own error.
            "traced": one program for all bounds, which may be traced, too.

    Returns:
        A jitted function.
    """
    ...


# %% check
def split_and_drawn(keys, low, high):
    """Return what the sampler should draw with each key."""
    return np.asarray(jax.vmap(lambda key: jax.random.randint(jax.random.split(key)[1], (), low, high))(keys))


@visible(rand_num_sampler, idea="The key is split first; the second new key draws.")
def both_draw_as_the_question_did(answer, draw):
    """Both samplers draw what `randint` draws with the second new key, as an int32."""
    for bounds in ("static", "traced"):
        for low, high in ((1, 6), (-3, 40)):
            key = draw.key()
            got = answer.then(bounds)(key, low, high)
            expect_close(got, split_and_drawn(key[None], low, high)[0], "It should be the draw of the second new key.")


@visible(
    rand_num_sampler,
    stage="traces",
    idea="Static bounds are Python numbers, known when JAX compiles: each pair of them has a program.",
    reproduces=["S3-05"],
    required=True,
)
def static_bounds_have_programs_of_their_own(answer, draw):
    """If they are static, 300 keys draw 1 to 5; each pair of bounds is traced once, and traced bounds are refused."""
    sampler = answer.then("static")
    drawn = np.asarray(sampler.vmap(in_axes=(0, None, None))(draw.keys(300), 1, 6))
    calls = [(draw.key(), 1, 6), (draw.key(), 1, 7), (draw.key(), 1, 6)]
    message = "With `static`, a bound that is traced should be refused by JAX's own error"
    upper = refused(sampler.vmap(in_axes=(0, None, 0)).observe_error(draw.keys(3), 1, np.arange(6, 9)), message)
    lower = refused(sampler.vmap(in_axes=(0, 0, None)).observe_error(draw.keys(3), np.arange(3), 6), message)
    same_words = all(error.message.startswith("Non-hashable static arguments") for error in (lower, upper))
    found = {
        "drawn": [np.unique(drawn).tolist(), drawn.dtype.name],
        "compiled": [one.compiles > 0 for one in sampler.observe_calls(calls)],
        "traced bound": [upper.type_name, same_words],
    }
    message = "With `static`, each new pair of bounds should be compiled, and a traced one refused: ValueError."
    expect_documented("S3-05", found, message=message)


@visible(rand_num_sampler, stage="traces", idea="Bounds decide about no shape, so they may be traced.", required=True)
def traced_bounds_share_a_program(answer, draw):
    """If they are traced, other bounds compile nothing, and each example may have its own."""
    sampler = answer.then("traced")
    calls = [(draw.key(), 1, 6), (draw.key(), 2, 9), (draw.key(), -3, 40)]
    compiled = [one.compiles for one in sampler.observe_calls(calls)]
    message = "With `traced`, the first call should be compiled; in yours nothing is jitted."
    seen = sampler.observe(*calls[0])
    expect_that(seen.traces > 0, message, f"{seen.traces} traces", "1 trace")
    message = "With `traced`, other bounds should compile nothing."
    expect_that(sum(compiled[1:]) == 0, message, f"compilations: {compiled}", "none after the first call")
    low = np.arange(50, dtype=np.int32)
    got = np.asarray(sampler.vmap(in_axes=(0, 0, 0))(draw.keys(50), low, low + 3))
    inside = bool(((got >= low) & (got < low + 3)).all())
    expect_that(inside, "Each number should lie in its own bounds.", got, "low <= number < low + 3")


# %% documented S3-05
# No output is shown. With today's numbers, 300 keys give the five depths about equally
# often, and a traced bound is refused.
@partial(jax.jit, static_argnums=(1, 2))
def get_rand_num(key, lower_bound, upper_bound):
    key, subkey = jax.random.split(key)
    random_number = jax.random.randint(subkey, (), lower_bound, upper_bound)
    return random_number.astype(int)


rndm_keys = jax.random.split(jax.random.key(0), 300)
numbers = jax.vmap(lambda key: get_rand_num(key, 1, MAX_ITERS))(rndm_keys)
print(numbers.dtype, np.bincount(numbers))
try:
    jax.jit(lambda bound: get_rand_num(rndm_keys[0], 1, bound))(MAX_ITERS)
except ValueError as error:
    print(f"ValueError: {error}")

# documented
# Jit the sampler, with its bounds static.

# today
# int32 [ 0 64 62 59 64 51]
# ValueError: Non-hashable static arguments are not supported. ...


# %% [markdown]
# ### Two phases, with a traced k
#
# `react_forward` fails under `vmap`, since its loops need k as a size. Now write both
# phases without one. A single loop of MAX_ITERS steps will do, if each step knows
# whether it counts.


# %% exercise
@exercise(
    title="Two phases",
    points=3,
    minutes=5,
    reproduces=["S3-10"],
    hints=[
        "In which rounds does the gradient pass, and in which does it stop? Does a round know its number?",
        "`jnp.where` may choose between a state and the same state behind `stop_gradient`. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.stop_gradient.html",
        "def step(h, i):\n    h = block(weights, h, x)\n"
        "    return jnp.where(____, jax.lax.stop_gradient(h), h), None\n\n"
        "h, _ = jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(MAX_ITERS))\nreturn jnp.mean(h**2)",
        """# Like it: all entries count, but those below a limit get no gradient.
def energy(x, limit):
    fixed = jax.lax.stop_gradient(x)
    return jnp.sum(jnp.where(x < limit, fixed, x) ** 2)

entries = jnp.array([1.0, 2.0, 3.0])
print(jax.jit(energy)(entries, 2.5))  # 14.0
print(jax.jit(jax.grad(energy))(entries, 2.5))  # [0. 0. 6.]""",
    ],
)
def two_phase_loss(weights, x, k):
    """Run `block` MAX_ITERS times from zeros; only the last MAX_ITERS - k steps count for the gradient.

    k is traced. For the gradient with respect to the weights, the first k steps count as constants. It works under
    `jax.jit` and `jax.vmap`.

    >>> slope = jax.grad(two_phase_loss)
    >>> slope(jnp.eye(2), jnp.ones((1, 2)), MAX_ITERS)
    Array([[0., 0.],
           [0., 0.]], dtype=float32)

    Args:
        weights: float32[d,d].
        x: float32[n,d].
        k: int32[], from 0 to MAX_ITERS.

    Returns:
        float32[], the mean of the squares of the last state.
    """
    ...


# %% check
def two_phase_loop(weights, x, k):
    """Return the two-phase loss by plain loops."""
    h = jax.lax.stop_gradient(run_loop(weights, x, k))
    for _ in range(MAX_ITERS - k):
        h = jnp.tanh(h @ weights + x)
    return jnp.mean(h**2)


@jax.jit
def two_phase_gradients(weights, x):
    """Return the gradients by plain loops for k = 1 to 5."""
    return jnp.stack([jax.grad(two_phase_loop)(weights, x, k) for k in range(1, MAX_ITERS)])


@visible(two_phase_loss, stage="shape")
def the_two_phase_loss_is_one_number(answer, draw):
    """The loss is one number."""
    expect_shape(answer.jit(draw.floats(3, 3), draw.floats(2, 3), jnp.int32(2)), ())


@visible(two_phase_loss, idea="There are MAX_ITERS steps in all, whatever k is.")
def the_value_is_that_of_six_steps(answer, draw):
    """The loss is that of 6 plain steps."""
    weights, x = turning(draw)
    wanted = jnp.mean(run_loop(weights, x, MAX_ITERS) ** 2)
    expect_close(answer.jit(weights, x, jnp.int32(2)), wanted, "This should be the loss of MAX_ITERS steps.", rtol=1e-3)


@visible(
    two_phase_loss,
    stage="gradient",
    idea="`stop_gradient` keeps the value and cuts the gradient: only the gradient depends on k.",
    reproduces=["S3-10"],
    required=True,
)
def only_the_gradient_depends_on_k(answer, draw):
    """For k = 1 to 5 the losses are equal and the gradients are five different ones: those of plain loops."""
    weights, x = turning(draw)
    ks = np.arange(1, 6, dtype=np.int32)
    values = np.asarray(answer.vmap(in_axes=(None, None, 0)).jit(weights, x, ks))
    gradients = np.asarray(answer.grad().vmap(in_axes=(None, None, 0)).jit(weights, x, ks))
    wanted = np.asarray(two_phase_gradients(weights, x))
    alike = int(np.isclose(values, float(two_phase_loop(weights, x, 0)), rtol=1e-4).sum())
    right = examples_alike(gradients, wanted)
    message = "The gradients should be those of k steps without a gradient and MAX_ITERS - k steps with one."
    expect_documented("S3-10", {"losses alike": alike, "gradients right": right}, message=message)


# %% documented S3-10
# The output does not depend on k, so it cannot tell whether k was honoured. The
# gradient can: here, that of the sum of the output with respect to the first weight.
def output_of(weights, x, k):
    h = jnp.zeros_like(x)
    for i in range(MAX_ITERS):
        h = jax.lax.stop_gradient(h) if i == k else h
        h = block(weights, h, x)
    return h.sum()


for k in (1, 3, 5):
    value, slope = jax.value_and_grad(output_of)(WEIGHTS, jnp.ones((2, 8)), k)
    print(f"{value:.4f}, slope {slope[0, 0]:.4f}")

# documented
# After k passes whose gradient is not tracked, run MAX_ITERS - k passes, and track
# their gradient.

# today
# 11.2388, slope 0.0687
# 11.2388, slope 0.0731
# 11.2388, slope 0.1960

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


# %% exercise
@exercise(
    title="Repair: a mask without NaN",
    points=3,
    minutes=4,
    hints=[
        "Which numbers does `sqrt` see, although nobody wants their roots?",
        "Mask twice: give the function a harmless number where it does not count, then mask its result. "
        "https://docs.jax.dev/en/latest/faq.html#gradients-contain-nan-where-using-where",
        "def total(x):\n    used = jnp.arange(x.shape[0]) < n\n    safe = jnp.where(used, x, ____)\n"
        "    return jnp.where(used, jnp.sqrt(safe), 0.0).sum()",
        """# Like it: the sum of all 1 / x, without those where x is 0.
def sum_of_inverses(x):
    is_zero = x == 0
    inverses = 1 / jnp.where(is_zero, 5.0, x)  # 5.0: anything but 0
    return jnp.where(is_zero, 0.0, inverses).sum()

print(jax.grad(sum_of_inverses)(jnp.array([0.5, 0.0])))  # [-4.  0.]
print(jax.jacfwd(sum_of_inverses)(jnp.array([0.5, 0.0])))  # [-4.  0.]""",
    ],
)
def slopes_of_roots(x, n):
    """Add up the roots of the first n entries, and take the derivative in reverse and in forward mode.

    The other entries are padding, and leave no trace in the sum; their derivative is 0. Below, the padding spoils the
    derivative in reverse mode: repair `total`, so that all its derivatives are right, the second ones, too.

    >>> total, reverse, forward = slopes_of_roots(jnp.array([4.0, 0.0, -1.0]), 1)
    >>> total, forward
    (Array(2., dtype=float32), Array([0.25, 0.  , 0.  ], dtype=float32))

    Args:
        x: float32[m]; the first n entries are positive, perhaps tiny; the others anything, also 0, negative or NaN.
        n: int32[], traced, from 0 to m.

    Returns:
        A tuple of float32[], the sum; float32[m], its derivative by `jax.jacrev`; and float32[m], the same by
        `jax.jacfwd`.
    """

    def total(x):
        return jnp.where(jnp.arange(x.shape[0]) < n, jnp.sqrt(x), 0.0).sum()

    return total(x), jax.jacrev(total)(x), jax.jacfwd(total)(x)


# %% check
@visible(slopes_of_roots, stage="shape")
def a_sum_and_two_derivatives(answer):
    """The sum is one number; the derivatives have an entry for each of x."""
    total, reverse, forward = parts(answer(jnp.ones(4), jnp.int32(2)), 3)
    expect_shape(total, ())
    expect_shape(reverse, (4,))
    expect_shape(forward, (4,))


@visible(slopes_of_roots, idea="Only the first n entries count.")
def only_the_first_roots_count(answer):
    """For 4, 9, 0, -1 and n = 2 the sum is 5; with n = 0 it is 0."""
    x = jnp.array([4.0, 9.0, 0.0, -1.0])
    for n, wanted in ((2, 5.0), (0, 0.0)):
        total = parts(answer(x, jnp.int32(n)), 3)[0]
        expect_close(total, np.float32(wanted), f"For n = {n} the sum of the roots should be {wanted}.")


@visible(
    slopes_of_roots,
    stage="gradient",
    idea="Mask the input with a harmless number, and the result: then no mode meets an infinite slope.",
    required=True,
)
def both_derivatives_are_finite(answer):
    """Both derivatives are 1/4, 1/6, and 0 for the padding, plain and compiled."""
    x = jnp.array([4.0, 9.0, 0.0, -1.0])
    for way in (answer, answer.jit):
        _, *derivatives = parts(way(x, jnp.int32(2)), 3)
        for mode, got in zip(("reverse", "forward"), derivatives, strict=True):
            message = f"In {mode} mode, the padding's derivative should be 0, and that of the first two 1/4 and 1/6."
            if not np.isfinite(np.asarray(got)).all():
                message = f"The derivative in {mode} mode should be finite, and yours has NaN or infinity in it."
            expect_close(got, np.array([1 / 4, 1 / 6, 0, 0], np.float32), message)


@visible(
    slopes_of_roots,
    stage="gradient",
    idea="What hides NaN in the results leaves it in the function: the next derivative finds it.",
    required=True,
)
def the_next_derivative_is_finite(answer):
    """The gradient of all that is returned is that of the roots and their slopes, and 0 for the padding."""
    got = answer.sum.grad()(jnp.array([4.0, 0.25, 0.0, -1.0]), jnp.int32(2))
    # Of the root: 1 / 2√x. Of each of the two slopes: -1 / 4x√x.
    wanted = np.float32([1 / 4 - 1 / 16, 1 - 4, 0, 0])
    message = "Taken once more, the derivative of your result should be finite: `total` still has NaN in it."
    if np.isfinite(np.asarray(got)).all():
        message = "Taken once more, the derivative of your result should be that of the roots and their slopes."
    expect_close(got, wanted, message)


@visible(slopes_of_roots, stage="cost", idea="Forward mode pushes a change of each entry along.", required=True)
def one_derivative_is_in_forward_mode(answer):
    """The program pushes 7 changes through 7 roots at once, as `jax.jacfwd` does."""
    results = answer.program(jnp.ones(7), jnp.int32(3)).results
    message = "One of the derivatives should be taken in forward mode, by `jax.jacfwd`; in yours nothing is."
    expect_that(results.get("float32[7,7]", 0) > 0, message)


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


# %% exercise
@exercise(
    title="Make it fast: one switch for all rows",
    points=2,
    minutes=4,
    hints=[
        "How many flags are there, and how many does the starter give to `vmap`?",
        "A flag that is not mapped stays one flag, and its `cond` stays a `cond`. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.cond.html",
        "return jax.vmap(choose, in_axes=(____, ____))(flag, xs)",
        """# Like it: a number chooses a branch, for each row or once for all rows.
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

    >>> one_switch_for_all(jnp.array(False), jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    Array([[-1., -2.],
           [-3., -4.]], dtype=float32)

    Args:
        flag: bool[].
        xs: float32[b,d].

    Returns:
        float32[b,d]: row i is `choose(flag, xs[i])`. The program has one `cond`, with both branches in it, and no
        `select_n`. It works under `jax.jit`.
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
    # The slope of `costly` is infinite there. Outside of the `cond` it is taken all the same, and times 0 it is NaN.
    got = answer.sum.grad(1)(jnp.array(False), jnp.full((2, 3), 1000.0))
    message = (
        "Without the flag, all slopes should be -1; yours has a trace of `costly`, which is outside of the `cond`."
    )
    expect_close(got, jnp.full((2, 3), -1.0), message)


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


# %% exercise
@exercise(
    title="Drop path",
    points=3,
    minutes=6,
    hints=[
        "How many decisions are there for b examples and l layers? How many keys do you need, if one call draws for "
        "all examples?",
        "Split the key into one for each layer, and scan over the layers and the keys together: `xs` may be a tuple. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html",
        "def step(h, layer_and_key):\n    layer, layer_key = layer_and_key\n"
        "    kept = jax.random.bernoulli(layer_key, ____, (len(h), 1))\n"
        "    return h + jnp.where(kept, ____, 0.0), None\n\n"
        "return jax.lax.scan(step, x, (layers, jax.random.split(key, ____)))[0]",
        """# Like it: walkers who go a step in each minute, or rest, each as he likes.
def walk(key, starts, minutes):
    def minute(places, minute_key):
        goes = jax.random.bernoulli(minute_key, 0.5, places.shape)
        return places + jnp.where(goes, 1.0, 0.0), None

    return jax.lax.scan(minute, starts, jax.random.split(key, minutes))[0]

print(walk(jax.random.key(0), jnp.zeros(4), 10))  # four numbers, about 5""",
    ],
)
def drop_path(key, layers, x, keep):
    """Run all layers of a residual network, where each example skips each layer with probability 1 - keep.

    A layer makes `h + branch(layer, h) / keep` of the state h where it is kept, and leaves h where it is skipped. The
    state starts with x. All decisions are independent, and come from the key. The program is as long for many layers as
    for two.

    >>> drop_path(jax.random.key(0), jnp.ones((1, 2, 2)), jnp.ones((1, 2)), 1.0)
    Array([[1.9640276, 1.9640276]], dtype=float32)

    Args:
        key: key<fry>[].
        layers: float32[l,d,d], with l of 1 or more.
        x: float32[b,d].
        keep: a float above 0, at most 1.

    Returns:
        float32[b,d], the state after the last layer.
    """
    ...


# %% check
def kept_in(answer, draw, b, layers, keep):
    """Return which of two layers each of b equal examples kept, read from its result: 0 to 3, or -1 for neither."""
    x = jnp.ones((b, 2))
    got = np.asarray(answer(draw.key(), layers, x, keep))
    ways = []
    for first, second in ((0, 0), (1, 0), (0, 1), (1, 1)):
        h = np.ones(2, np.float32)
        for kept, layer in zip((first, second), np.asarray(layers), strict=True):
            h = h + kept * np.tanh(h @ layer) / keep
        ways.append(h)
    close = [np.isclose(got, way, rtol=1e-4).all(1) for way in ways]
    return np.select(close, range(4), -1)


TWO_LAYERS = jnp.float32([[[0.5, 0.0], [0.0, 0.25]], [[0.75, 0.0], [0.0, 1.0]]])


@visible(drop_path, stage="shape")
def the_dropped_state_has_the_shape_of_x(answer, draw):
    """The state has the shape of x."""
    expect_shape(answer(draw.key(), draw.floats(2, 3, 3), draw.floats(4, 3), 0.5), (4, 3))


@visible(drop_path, idea="If everything is kept, it is the plain network.")
def nothing_is_dropped_if_all_is_kept(answer, draw):
    """With keep = 1 the state is that of the plain network."""
    layers, x = draw.floats(3, 3, 3), draw.floats(4, 3)
    wanted = x
    for layer in layers:
        wanted = wanted + jnp.tanh(wanted @ layer)
    expect_close(answer(draw.key(), layers, x, 1.0), wanted, rtol=1e-4, atol=1e-5)


@visible(
    drop_path,
    kind="relation",
    required=True,
    idea="Each example and each layer has a decision of its own, and a scale.",
)
def all_ways_through_two_layers_occur(answer, draw):
    """With keep = 0.5, 4,000 equal examples go each of the four ways through two layers about 1,000 times."""
    ways, counts = np.unique(kept_in(answer, draw, 4000, TWO_LAYERS, 0.5), return_counts=True)
    message = "Each state should come from keeping or skipping each layer, and what is kept be divided by `keep`."
    expect_that(-1 not in ways, message, f"{counts[0]} of 4000 states are of another kind")
    # The standard deviation of a count is 27.4; the bound is 7 of them: chance 1e-11 for all four.
    even = len(counts) == 4 and bool((abs(counts - 1000) < 192).all())
    found = dict(zip((("neither", "first", "second", "both")[way] for way in ways), counts.tolist(), strict=True))
    message = "Each of the four ways (keep neither layer, one of them, or both) should come about 1,000 times."
    expect_that(even, message, found, "four counts of about 1000")


@visible(drop_path, stage="keys", idea="Each layer draws with a key of its own.")
def each_layer_has_its_key(answer, draw):
    """No key is used for two things."""
    expect_no_key_problem(answer.key_use(draw.key(), draw.floats(3, 2, 2), draw.floats(4, 2), 0.5))


@visible(drop_path, stage="cost", idea="A scan over the layers has the layer in the program once.", required=True)
def the_layers_are_in_a_loop(answer, draw):
    """The program is as long for 40 layers as for 4, and for 40 examples as for 4."""
    sizes = ((4, 4), (40, 4), (4, 40))
    lengths = [answer.program(draw.key(), draw.floats(n, 3, 3), draw.floats(b, 3), 0.5).equations for n, b in sizes]
    message = "The program should be as long for 40 layers as for 4."
    expect_that(lengths[1] < lengths[0] + 36, message, f"{lengths[1]} equations", f"{lengths[0]}, as for 4")
    message = "The program should be as long for 40 examples as for 4."
    expect_that(lengths[2] < lengths[0] + 36, message, f"{lengths[2]} equations", f"{lengths[0]}, as for 4")


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


# %% exercise
@exercise(
    title="Repair: remember less",
    points=2,
    minutes=4,
    hints=[
        "What should be computed again: all steps at once, or each step for itself?",
        "`jax.checkpoint` goes around the function of one step. "
        "https://docs.jax.dev/en/latest/gradient-checkpointing.html",
        "def step(h, _):\n    return gated_step(weights, h), None\n\n"
        "return jnp.sum(jax.lax.scan(____(step), x, length=____)[0] ** 2)",
        """# Like it: an infinite-looking product, whose factors are computed again for the gradient.
def long_product(w, n):
    factor = jax.checkpoint(lambda p, i: p * (1 + jnp.exp(-w * i)))
    return jax.lax.scan(lambda p, i: (factor(p, i), None), 1.0, jnp.arange(1.0, n))[0]

print(jax.grad(long_product)(1.0, 20.0))  # about -1.8""",
    ],
)
def remember_less(weights, x, steps):
    """Run `gated_step` some times, and add up the squares of the last state. Let the gradient keep less.

    The value below is right, and so is its gradient, but of each step that keeps five arrays: repair it, so that it
    keeps one, the state. The gradient stays as it is, with respect to both `weights` and `x`, and the loop stays in the
    program.

    >>> remember_less(jnp.zeros((2, 2)), jnp.ones((1, 2)), 5)
    Array(2., dtype=float32)

    Args:
        weights: float32[d,d].
        x: float32[n,d].
        steps: int, static; 1 or more.

    Returns:
        float32[].
    """

    def step(h, _):
        return gated_step(weights, h), None

    return jnp.sum(jax.lax.scan(step, x, length=steps)[0] ** 2)


# %% check
def loss_of_steps(weights, x, steps):
    """Return the sum of squares after some steps, by a plain loop."""
    for _ in range(steps):
        mixed = jnp.tanh(x @ weights)
        x = x + jnp.sin(mixed) * mixed
    return jnp.sum(x**2)


@visible(remember_less, idea="`jax.checkpoint` does not change a value.")
def the_value_stays(answer, draw):
    """The value is that of a plain loop."""
    weights, x = draw.floats(3, 3), draw.floats(2, 3)
    for steps in (1, 4):
        expect_close(answer(weights, x, steps), loss_of_steps(weights, x, steps), rtol=1e-3)


@visible(remember_less, stage="gradient", idea="What is not kept is computed again: the gradient stays.")
def the_gradient_stays(answer, draw):
    """The gradients with respect to the weights and x are those of a plain loop."""
    weights, x = 0.5 * draw.floats(3, 3), draw.floats(2, 3)
    wanted = jax.grad(loss_of_steps, argnums=(0, 1))(weights, x, 4)
    expect_close(tuple(answer.grad((0, 1))(weights, x, 4)), wanted, rtol=1e-3, atol=1e-3)


@visible(
    remember_less, stage="cost", idea="Around each step, `checkpoint` keeps the state of each step.", required=True
)
def one_array_is_kept(answer, draw):
    """The gradient of 37 steps keeps one array of 37 states, and its program has two loops."""
    program = answer.grad((0, 1)).program(draw.floats(3, 3), draw.floats(2, 3), 37)
    steps = ("float32[36,", "float32[37,", "float32[38,")
    kept = sum(count for kind, count in program.results.items() if kind.startswith(steps))
    message = "The gradient of 37 steps should keep one array of 37 states, and no other of this length."
    expect_that(kept <= 1, message, f"{kept} arrays with a first axis of 37", "1")
    products = program.primitives.get("dot_general", 0)
    message = "The loop should be in the program; yours writes the steps out."
    expect_that(products < 37, message, f"{products} products", "4")


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
