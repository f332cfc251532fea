# %% check
import re

from jaxguide.course.author import (
    exercise,
    expect_close,
    expect_different,
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


def words(keys):
    """Return the words of typed keys, legacy keys, or a list of keys: uint32[..., 2]."""
    if isinstance(keys, tuple | list):
        return np.stack([words(key) for key in keys])
    return np.asarray(getattr(keys, "bits", keys))


# Said where only the numbers of the old setting are not right.
BEFORE = "With the setting before JAX 0.5.0 (`jax.threefry_partitionable(False)`) the numbers should be those of then."


def clean_use(answer, *args, message="All keys should be made from `key`; yours come from a seed of their own."):
    """Return the uses of keys in a call, which should use no key twice and make none from a seed."""
    use = answer.key_use(*args)
    expect_no_key_problem(use)
    expect_that(all(one.kind != "seed" for one in use.uses), message, use, "no seed")
    return use.uses


def drawn(uses, *samplers):
    """Return the words of the keys that were drawn from by some samplers, in order."""
    return [one.bits for one in uses if one.kind == "draw" and one.sampler in samplers]


def redraw(bits, draw, shape, message):
    """Draw numbers of a shape again: all from one key, or each row, or each number, from one of several keys."""
    sizes = [int(np.prod(shape[:axes])) for axes in range(len(shape) + 1)]
    expect_that(len(bits) in sizes, message, f"{len(bits)} keys drawn from", f"{sizes[1]} keys")
    rest = shape[sizes.index(len(bits)) :]
    keys = [jax.random.wrap_key_data(jnp.array(one, dtype="uint32")) for one in bits]
    return np.stack([np.asarray(draw(key, rest)) for key in keys]).reshape(shape)


def expect_no_growth(answer, few, many, message):
    """Expect a program that is as long for the arguments `many`, about 40 of something, as for `few`, about 4."""
    short, long = (answer.program(*args).equations for args in (few, many))
    # A loop of Python adds several equations for each of the 36 more.
    expect_that(long < short + 36, message, f"{long} equations", f"{short} equations")


# %% [markdown]
# # Random numbers
#
# NumPy keeps the state of its random generator in a hidden place. JAX gives the state
# to you: you hold it as a **key**. That is more to write, and it is what makes random
# code that can be compiled, mapped over a batch, and restarted anywhere.
#
# After this lesson you can
#
# - say why a hidden state is a problem for a compiler and for parallel work,
# - **split** keys, **draw** from them and **fold** numbers into them, each once,
# - give each row of a batch and each round of a loop a key of its own,
# - find a key that is used twice, and write a sampler that uses none twice.
#
# Some exercises reproduce an example of JAX's own documentation. Below each of these, a
# folded cell shows the example, its documented output and today's.
#
# You need the lessons `jit_and_tracing` and `vectorization`; one exercise takes a
# gradient, as in the lesson `autodiff`. [How to read a
# contract](arrays_and_layers.ipynb#How-to-read-a-contract) explains the types in the
# tasks, such as `float32[n,m]`.

# %%
from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxguide.clock import real_machine
from jaxguide.keys import KeyStream, check_keys

# %% [markdown]
# ## The task: points in a banana
#
# Here is a *density*, which is large on a bent strip and small elsewhere. (The function
# returns its logarithm; you will see why.) You want random points that lie the closer
# together, the larger the density is. No function of JAX draws them for you. A random
# walk does, if it prefers large densities. At the end of this lesson, 200 such walks
# run at once, each of 300 steps with two draws a step.


# %%
def banana(place):
    """Return the logarithm of the density at a place[2]."""
    x, y = place
    return -(x**2) / 2 - 2 * (y + 1 - x**2) ** 2


def draw_banana(points=None):
    """Draw the density, and points on it."""
    xs, ys = np.linspace(-3, 3, 80), np.linspace(-3, 6, 80)
    _, axes = plt.subplots(figsize=(5, 3), layout="constrained")
    axes.contourf(xs, ys, np.exp(banana(np.meshgrid(xs, ys))), cmap="YlOrBr")
    if points is not None:
        axes.plot(*np.asarray(points).T, "k.", markersize=3)
    axes.set(xlim=(-3, 3), ylim=(-3, 6))
    plt.show()


draw_banana()

# %% [markdown]
# ## Part 1. A hidden state
#
# A computer makes "random" numbers with a rule that turns one *state* into the next.
# The state starts from a number, the **seed**. So the seed decides every number that
# follows.
#
# NumPy's classic functions all share one state, which you do not see.
# `np.random.seed` sets it, and each draw changes it. These two functions draw, and say
# so.


# %%
def bar():
    """Draw one number."""
    print("bar draws")
    return np.random.uniform()


def baz():
    """Draw one number."""
    print("baz draws")
    return np.random.uniform()


np.random.seed(0)
print(bar() + 2 * baz())

# %% [markdown]
# Think of a compiler that runs `baz()` first. For a sum, the order should not matter.
# Or should it?


# %% exercise
@prediction(
    title="Predict: the other order",
    points=1,
    core=True,
    minutes=1,
    hints=[
        "Which number does the first call get: always the same one?",
        "Both functions take the next number from one hidden state. https://docs.jax.dev/en/latest/random-numbers.html",
        "# A smaller case: the hidden state holds 1, then 5, and we compute bar() + 2 * baz().\n"
        "# `bar` first:  1 + 2 * 5 = 11\n# `baz` first:  5 + 2 * 1 = ____\nreturn ____  # True or False",
    ],
)
def predict_same_sum():
    """After `np.random.seed(0)`, `baz()` runs before `bar()`. Is `bar() + 2 * baz()` the same number as before?

    Returns:
        True or False.
    """
    ...


# %% check
@reveal(
    predict_same_sum,
    why="The first call gets the first number of the hidden state, whoever makes it.",
    shows="""np.random.seed(0)
b = baz()
print(bar() + 2 * b)""",
)
def sum_in_both_orders():
    """We computed the sum twice after the same seed, with `bar` first and with `baz` first, and compared."""
    np.random.seed(0)
    first = np.random.uniform() + 2 * np.random.uniform()
    np.random.seed(0)
    second = 2 * np.random.uniform() + np.random.uniform()
    return first == second


# %% [markdown]
# So with a hidden state nobody may change the order of draws. But a compiler wants to
# reorder, drop and merge operations, and many devices want to draw at the same time,
# without waiting in one line.
#
# Today's NumPy has `rng = np.random.default_rng(0)`, and then `rng.uniform()`. This
# state has a name, and you can pass it around. But each draw still *changes* it, so the
# order still decides.
#
# ## Part 2. A key in your hand
#
# JAX's random functions are pure: the state goes in as an argument, and is not changed.
# It is called a **key**. You make one from a seed. (Choose any seed, and write it down.
# Two runs that should differ need different seeds.)

# %%
key = jax.random.key(42)
print(key)
print("dtype:", key.dtype, " shape:", key.shape, " words:", jax.random.key_data(key))
print(jax.random.uniform(key, shape=(3,)))

# %% [markdown]
# A key is an array with a dtype of its own, `key<fry>`. This one has the shape `()`.
# (`fry` is short for *Threefry*, the rule behind it.) It stands for two words of 32
# bits. Older code has `jax.random.PRNGKey(42)`, a *legacy* key: the bare words,
# `uint32[2]`. Both kinds work everywhere, also in these exercises.
#
# There is no `jnp.random`. The functions are in `jax.random`. Their first argument is
# the key. For most, the second is the shape: `uniform(key, (3,))` is the same draw.


# %% exercise
@exercise(
    title="Five sources of random numbers",
    points=2,
    core=True,
    minutes=5,
    reproduces=["S0-23", "S0-24"],
    hints=[
        "Where does each source keep its state, and what sets it to the seed?",
        "`getattr(library, name)` is the function of that name. `str(error)` is what an error says. "
        "https://docs.jax.dev/en/latest/jax.random.html",
        'if source == "np.random.seed":\n    np.random.seed(seed)\n    return getattr(np.random, name)(size=3)\n'
        'if source == "default_rng":\n    return getattr(____, name)(size=3)\n'
        'if source == "jax":\n    return getattr(jax.random, name)(____, (3,))\n'
        'try:\n    if source == "jnp.random":\n        ____\n    return getattr(jax.random, name)(shape=(3,))\n'
        "except ____ as error:\n    return str(error)",
        """# Like it: five dice from two libraries, or what JAX says without a seed.
def five_dice(source, seed):
    if source == "NumPy":
        return np.random.default_rng(seed).integers(1, 7, size=5)
    try:
        if source == "no seed":
            return jax.random.key()
        return jax.random.randint(jax.random.key(seed), (5,), 1, 7)
    except TypeError as error:
        return f"JAX says: {error}"


print(five_dice("NumPy", 0), five_dice("JAX", 0))
print(five_dice("no seed", 0))""",
    ],
)
def seeded_draws(source, name, seed):
    """Draw three numbers from one of five sources, or return what the error says.

        source               where to find `uniform` and `normal`
        "np.random.seed"     `np.random`, after `np.random.seed(seed)`
        "default_rng"        `np.random.default_rng(seed)`
        "jax"                `jax.random`, called with the key of the seed
        "jax without a key"  `jax.random`, called with `shape=(3,)` alone: an error
        "jnp.random"         `jnp.random`, which does not exist: an error

    >>> seeded_draws("jax", "normal", 0)
    Array([ 1.6226422 ,  2.0252647 , -0.43359444], dtype=float32)

    Args:
        source: a str, one of these five.
        name: "uniform" or "normal".
        seed: int.

    Returns:
        NumPy's numbers, float64[3], or JAX's, float32[3]; for the last two sources a str, the message of the error
        that Python or JAX raises.
    """
    ...


# %% check
@visible(seeded_draws, idea="The seed decides all numbers of a source.", reproduces=["S0-23"])
def a_seed_gives_its_numbers_again(answer):
    """Each source gives the same numbers for a seed again, and others for another seed."""
    found = {}
    for source in ("np.random.seed", "default_rng", "jax"):
        first, other, again = (np.asarray(answer(source, "uniform", seed), np.float64) for seed in (0, 1, 0))
        found[source] = {"the same again": np.array_equal(first, again), "another seed": np.array_equal(first, other)}
        message = f"The result for {source!r} should be three numbers."
        expect_that(first.shape == (3,), message, first)
    found["NumPy's first"] = np.round(np.asarray(answer("np.random.seed", "uniform", 0), np.float64), 8).tolist()
    message = "Each source should give the same numbers for the same seed, and others for another."
    expect_documented("S0-23", found, message=message)


@visible(
    seeded_draws,
    idea="JAX's random functions need a key, live in `jax.random`, and follow another rule than NumPy's.",
    reproduces=["S0-24"],
)
def jax_is_not_numpy(answer):
    """JAX asks for a key, has no `jnp.random`, and gives other numbers than NumPy."""
    of_numpy, of_jax = (np.asarray(answer(source, "uniform", 0)) for source in ("np.random.seed", "jax"))
    found = {
        "without a key": str(answer("jax without a key", "uniform", 0)),
        "jnp.random": str(answer("jnp.random", "uniform", 0)),
        "the numbers of NumPy": bool(np.allclose(of_numpy, of_jax)),
    }
    said = answer("jax without a key", "normal", 0)
    message = "Without a key, the result should be what the error says, which names the function that was called."
    expect_that(str(said) == found["without a key"].replace("uniform", "normal"), message, said)
    message = "Return what the errors say, word by word, and for 'jax' the numbers that JAX draws."
    expect_documented("S0-24", found, message=message)


@visible(seeded_draws, idea="Seed the source with the seed, and draw once, by the name.")
def the_numbers_are_those_of_the_source(answer, draw):
    """For any seed and both names, the numbers are the first three of the source."""
    for seed in (0, draw.integer(1, 10_000)):
        for name in ("uniform", "normal"):
            wanted = {
                "np.random.seed": getattr(np.random.RandomState(seed), name)(size=3),
                "default_rng": getattr(np.random.default_rng(seed), name)(size=3),
                "jax": getattr(jax.random, name)(jax.random.key(seed), (3,)),
            }
            for source, numbers in wanted.items():
                message = f"With {source!r} it should be the first three {name} numbers of the seed."
                expect_close(answer(source, name, seed), numbers, message)


# %% documented S0-23 S0-24
# The page says so in words: the seed decides all numbers, and random numbers are the
# exception to JAX's likeness to NumPy. That is still so.
sources = "np.random.seed", "default_rng", "jax", "jax without a key", "jnp.random"
for source in sources:
    print(f"{source}: {seeded_draws(source, 'uniform', 0)}")
# documented
# A stream of pseudorandom numbers follows from its seed. Random numbers are the one
# place where JAX does not do as NumPy does.
# today
# np.random.seed: [0.5488135  0.71518937 0.60276338]
# default_rng: [0.63696169 0.26978671 0.04097352]
# jax: [0.947667   0.9785799  0.33229148]
# jax without a key: uniform() missing 1 required positional argument: 'key'
# jnp.random: module 'jax.numpy' has no attribute 'random'

# %% [markdown]
# ### Drawing from a key
#
# A random function *reads* its key. What happens if you give it the same key again?


# %% exercise
@prediction(
    title="Predict: the second draw",
    points=1,
    core=True,
    minutes=1,
    hints=[
        "Is there any place where JAX could remember that the key was used?",
        "A random function of JAX is a pure function: its result depends on its arguments only. "
        "https://docs.jax.dev/en/latest/random-numbers.html",
        "# A smaller case, a pure function: def f(x): return 3 * x + 1\n# f(2) is 7, and f(2) once more is ____\n"
        "return ____  # True or False",
    ],
)
def predict_second_draw():
    """With `key = jax.random.key(42)`: is `jax.random.normal(key) == jax.random.normal(key)`?

    Returns:
        True or False.
    """
    ...


# %% check
@reveal(
    predict_second_draw,
    why="A draw does not change the key, so the same key gives the same number, every time.",
    shows="""key = jax.random.key(42)
print(jax.random.normal(key), jax.random.normal(key))""",
)
def compare_two_draws():
    """We drew twice from `jax.random.key(42)` and compared the two numbers."""
    key = jax.random.key(42)
    return bool(jax.random.normal(key) == jax.random.normal(key))


# %% [markdown]
# The same number twice is rarely what you want. It gets worse: *different* random
# functions start from the same bits, too. Here are uniform and normal numbers from one
# key, as pairs, and then from two keys.


# %%
def draw_pairs(pairs):
    """Draw uniform against normal numbers, from each pair of keys."""
    _, all_axes = plt.subplots(1, len(pairs), figsize=(6, 2.3), layout="constrained")
    for axes, (title, (key_a, key_b)) in zip(all_axes, pairs.items(), strict=True):
        uniform = jax.random.uniform(key_a, (500,))
        axes.plot(uniform, jax.random.normal(key_b, (500,)), ".", markersize=2)
        axes.set(title=title, xlabel="uniform", ylabel="normal")
    plt.show()


key = jax.random.key(42)
halves = tuple(jax.random.split(jax.random.key(43)))
draw_pairs({"from one key": (key, key), "from two keys": halves})

# %% [markdown]
# `jax.random.split(key, n)` makes n new keys from one (two, without n). They are as
# independent of each other as draws are, and of equal standing. This gives the whole
# rule:
#
# > Use a key **once**: *draw* from it, or *split* it, or *fold* numbers into it (Part 3
# > shows how), each number once. The exception: you want the same numbers twice.
#
# So do not draw from a key that you have split. A key that you make again, from the
# same seed or in the same way from the same key, is the same key. And another shape
# does not help: today, `normal(key, (5,))` begins with the numbers of
# `normal(key, (3,))`. If you do want the same numbers twice, say so:
# `jax.random.clone(key)` is the same key, and tells checkers that its reuse is meant.
#
# `check_keys` runs a function and names the two lines that use one key.


# %%
def noisy_ruler(key):
    """Return marks that are shifted and scaled at random."""
    shift = jax.random.normal(key, (3,))
    scale = jax.random.uniform(key)
    return scale * jnp.arange(3.0) + shift


check_keys(noisy_ruler, jax.random.key(0))


# %% exercise
@exercise(
    title="Two independent samples",
    points=2,
    core=True,
    minutes=3,
    hints=[
        "How many draws are there? How many keys do you have?",
        "Split first; then draw only from the new keys. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.split.html",
        "key_a, key_b = ____\nreturn jax.random.normal(key_a, (n,)), jax.random.normal(key_b, (m,))",
        """# Like it: throw a dart. Its angle says nothing about its distance.
def throw_dart(key):
    angle_key, distance_key = jax.random.split(key)
    angle = jax.random.uniform(angle_key, maxval=360)
    return angle, jax.random.exponential(distance_key)


print(*throw_dart(jax.random.key(2)))""",
    ],
)
def two_samples(key, n, m):
    """Draw two samples of the standard normal distribution that have nothing to do with each other.

    Draw with `jax.random.normal`. The same key gives the same samples; another key gives other samples. No key is used
    twice.

    >>> a, b = two_samples(jax.random.key(0), 3, 5)
    >>> a.shape, b.shape
    ((3,), (5,))

    Args:
        key: key<fry>[] or uint32[2].
        n, m: ints, the sizes of the two samples, equal or not; 1 or more.

    Returns:
        A tuple of two arrays: float32[n] and float32[m].
    """
    ...


# %% check
@visible(two_samples, stage="shape")
def samples_have_sizes_n_and_m(answer, draw):
    """The samples have the sizes n and m, and are float32."""
    for n, m in ((3, 5), (4, 4)):
        for part, size in zip(parts(answer(draw.key(), n, m), 2), (n, m), strict=True):
            expect_shape(part, (size,))
            expect_dtype(part, "float32")


@visible(
    two_samples,
    kind="relation",
    required=True,
    idea="All randomness comes from the key: the same key gives the same result, and another key gives another.",
)
def the_key_decides_the_samples(answer, draw):
    """The same key gives the same samples again, and another key gives others."""
    key = draw.key()
    first, again, other = (parts(answer(one, 3, 5), 2) for one in (key, key, draw.key()))
    expect_equal(again, first, "The same key should give the same samples; yours were others.")
    for a, b in zip(first, other, strict=True):
        expect_different(a, b, "Another key should give another sample; yours is the same.")


@visible(
    two_samples,
    kind="relation",
    required=True,
    idea="Another shape is not another key: from one key, the longer draw begins with the shorter one.",
)
def the_two_samples_differ(answer, draw):
    """Neither sample begins with the other, whether their sizes are equal or not."""
    for n, m in ((4, 4), (3, 5), (5, 3)):
        a, b = (np.asarray(part)[: min(n, m)] for part in parts(answer(draw.key(), n, m), 2))
        expect_different(a, b, "The two samples should differ; yours begin with the same numbers.")


@visible(
    two_samples,
    stage="keys",
    idea="Each key serves once: for one draw, for one split, or for `fold_in` with different numbers.",
    required=True,
)
def each_key_is_used_once(answer, draw):
    """No key is used twice, and the samples are what `jax.random.normal` draws from the keys."""
    for n, m in ((3, 5), (4, 4)):
        key = draw.key()
        bits = drawn(clean_use(answer, key, n, m), "normal")
        got = np.concatenate(parts(answer(key, n, m), 2))
        message = "The samples should be what `jax.random.normal` draws, from two keys or in one draw."
        right = [redraw(bits, jax.random.normal, (n + m,), message)] if len(bits) != 2 else []
        for first, second in (bits, bits[::-1]) if len(bits) == 2 else ():
            a = redraw([first], jax.random.normal, (n,), message)
            right.append(np.concatenate([a, redraw([second], jax.random.normal, (m,), message)]))
        expect_that(any(np.allclose(got, one, atol=1e-5) for one in right), message, got, right[0])


# %% [markdown]
# ### One draw after the other
#
# If you do not know how many draws will come, split before each: one new key is for the
# draw, the other one goes on. The tree of `check_keys` shows which comes from which.


# %%
def two_dice(key):
    """Throw two dice."""
    key, first_key = jax.random.split(key)
    _, second_key = jax.random.split(key)
    first = jax.random.randint(first_key, (), 1, 7)  # from 1 to 6, of shape ()
    return first, jax.random.randint(second_key, (), 1, 7)


check_keys(two_dice, jax.random.key(0)).tree


# %% exercise
@exercise(
    title="Draw by draw",
    points=2,
    core=True,
    minutes=4,
    reproduces=["S0-41", "S0-42"],
    hints=[
        "After each draw, which of the two new keys is still unused?",
        "`key, subkey = jax.random.split(key)` drops the old key, keeps one new key and gives you one to use up. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.split.html",
        "draws = []\nfor i in range(n):\n    key, subkey = ____\n    value = jax.random.normal(____)\n"
        '    print(f"draw {i}: {value}")\n    draws.append(value)\nreturn jnp.stack(draws), ____',
        """# Like it: throw a die until a six comes, and return a key to go on with.
def throws_until_six(key):
    throws, face = 0, 0
    while face != 6:
        key, throw_key = jax.random.split(key)
        face = jax.random.randint(throw_key, (), 1, 7)
        throws += 1
    return throws, key


print(throws_until_six(jax.random.key(1)))""",
    ],
)
def draw_by_draw(key, n):
    """Draw n normal numbers, one after the other, print each, and return a key to go on with.

    In each round, split the key into two: the first new key goes on to the next round, the second is used for one
    `jax.random.normal`. Nothing else is split, and no key that was used is used again. Print all digits of a number, as
    `print` does.

    >>> draws, key = draw_by_draw(jax.random.key(0), 2)
    draw 0: -2.4424...
    draw 1: -1.2574...

    Args:
        key: key<fry>[] or uint32[2].
        n: int, how many numbers; 1 or more.

    Returns:
        A tuple `(draws, key)`: float32[n], and a key of the same kind that was not used yet: the one that goes on after
        the last round.
    """
    ...


# %% check
def printed_draws(observation):
    """Return the number and the value in each line `draw i: value`."""
    found = [re.fullmatch(r"draw (\d+): +(\S+)", line.strip()) for line in observation.lines]
    message = "Print a line `draw i: value` for each draw, and nothing else."
    expect_that(all(found), message, observation.lines, ["draw 0: ...", "draw 1: ..."])
    return [[int(one[1]), float(one[2])] for one in found]


@visible(draw_by_draw, stage="shape")
def n_draws_and_one_key(answer, draw):
    """The result is n numbers, and one key."""
    for n in (3, 1):
        draws, key = parts(answer(draw.key(), n), 2)
        expect_shape(draws, (n,))
        expect_dtype(draws, "float32")
        expect_that(words(key).shape == (2,), "The second part should be one key.", key)


@visible(draw_by_draw, idea="The first new key goes on, the second is used up by the draw.", reproduces=["S0-41"])
def three_lines_are_the_documented_ones(answer):
    """From key 42, three lines are printed, with the right draws."""
    key = jax.random.key(42)
    message = "The first new key should go on, and the second be drawn from, with `jax.random.normal`."
    expect_documented("S0-41", printed_draws(answer.observe(key, 3)), part="today", message=message)
    before = printed_draws(answer.documented_draws.observe(key, 3))
    expect_documented("S0-41", before, part="documented", message=BEFORE)


@visible(
    draw_by_draw,
    stage="keys",
    idea="A key that was split or drawn from is gone. The one that is left over is for whoever comes next.",
    reproduces=["S0-42"],
    required=True,
)
def no_used_key_is_used_again(answer):
    """In three rounds there are three splits into two and three draws, from six keys, and the returned key is new."""
    key = jax.random.key(42)
    use = answer.key_use(key, 3)
    expect_no_key_problem(use)
    kinds, used = [one.kind for one in use.uses], {one.bits for one in use.uses}
    found = {
        "splits": [one.count for one in use.uses if one.kind == "split"],
        "draws": kinds.count("draw"),
        "keys used": len(used),
        "the returned key is used": tuple(words(parts(answer(key, 3), 2)[1]).tolist()) in used,
    }
    message = "In three rounds there should be three splits, three draws, and a key left over that was not used."
    expect_documented("S0-42", found, message=message)


# %% documented S0-41 S0-42
# Each number is computed from the key and its own place alone since JAX 0.5.0, so that
# devices can draw without asking each other. This changed the numbers once, and not the
# rules. (`with jax.threefry_partitionable(False):` still gives the old ones.) The page
# says that `del` is for the reader: without it, you get the same draws.
key = jax.random.key(42)
for i in range(3):
    new_key, subkey = jax.random.split(key)
    del key  # used up by split; `del` only says so
    val = jax.random.normal(subkey)
    del subkey  # used up by normal
    print(f"draw {i}: {val}")
    key = new_key
# documented
# draw 0: 1.369469404220581
# draw 1: -0.19947023689746857
# draw 2: -2.298278331756592
# today
# draw 0: 0.6057640314102173
# draw 1: -0.21089035272598267
# draw 2: -0.3948981463909149

# %% [markdown]
# ## Part 3. Many keys at once
#
# NumPy's hidden state gives the same three numbers one by one as all at once: a draw of
# three is three draws in a line, and the third waits for the second. In JAX, three keys
# give other numbers than one key with the shape `(3,)`. In return, no number waits:
# each is computed from the key and its own place alone.


# %% exercise
@exercise(
    title="Three ways to n numbers",
    points=2,
    core=True,
    minutes=4,
    reproduces=["S0-47", "S0-48"],
    hints=[
        "How many keys does each way use? Which of the ways is a loop, and which one maps?",
        "What `split` returns is an array of keys, and `jax.vmap` maps over it as over any array. "
        "https://docs.jax.dev/en/latest/random-numbers.html",
        'if way == "all at once":\n    return jax.random.normal(key, ____)\nsubkeys = jax.random.split(key, n)\n'
        'if way == "individually":\n    return jnp.stack([____ for subkey in subkeys])\nreturn jax.vmap(____)(subkeys)',
        """# Like it: dice, in the same three ways.
def dice(way, key, n):
    if way == "all at once":
        return jax.random.randint(key, (n,), 1, 7)
    keys = jax.random.split(key, n)
    if way == "individually":
        return jnp.stack([jax.random.randint(k, (), 1, 7) for k in keys])
    return jax.vmap(lambda k: jax.random.randint(k, (), 1, 7))(keys)


for way in ("individually", "vectorized", "all at once"):
    print(way, dice(way, jax.random.key(3), 5))""",
    ],
)
def draw_three_ways(way, key, n):
    """Draw n numbers with `jax.random.normal`, in one of three ways.

    >>> draw_three_ways("individually", jax.random.key(0), 2)
    Array([ 1.0040143, -2.4424558], dtype=float32)

    Args:
        way: "individually": split the key into n subkeys, and draw one number from each; loop if you like.
            "vectorized": the same numbers, without a loop of Python or of `jax.lax`.
            "all at once": one draw of shape (n,), from the key itself.
        key: key<fry>[] or uint32[2].
        n: int, 1 or more.

    Returns:
        float32[n].
    """
    ...


# %% check
@visible(draw_three_ways, idea="n subkeys give other numbers than one key and the shape (n,).", reproduces=["S0-47"])
def single_draws_are_not_one_draw(answer):
    """From key 42, the three single draws and the draw of three are the right ones, and differ."""
    key = jax.random.key(42)
    message = "From key 42 it should be the draws of three subkeys, and one draw of three numbers from the key itself."
    for part, subject in (("today", answer), ("documented", answer.documented_draws)):
        found = [np.asarray(subject(way, key, 3)).tolist() for way in ("individually", "all at once")]
        expect_documented("S0-47", found, part=part, message=message if part == "today" else BEFORE)


@visible(
    draw_three_ways,
    stage="cost",
    idea="`vmap` draws from all keys in one operation, and gives the numbers of the loop.",
    reproduces=["S0-48"],
    required=True,
)
def the_mapped_draws_are_those_of_the_loop(answer):
    """Mapped over the subkeys of key 42, the draws are those of the loop; the program is as long for 40 as for 4."""
    key = jax.random.key(42)
    few, many = (("vectorized", key, n) for n in (4, 40))
    expect_no_growth(answer, few, many, "With 'vectorized', the program should be as long for 40 numbers as for 4.")
    loops = [name for name in ("scan", "while") if answer.program(*few).primitives.get(name)]
    message = "With 'vectorized', there should be no loop in the program, which draws one number after the other."
    expect_that(not loops, message, ", ".join(loops), "no scan, no while")
    message = "With 'vectorized', it should be the numbers of the three subkeys."
    expect_documented("S0-48", answer("vectorized", key, 3), part="today", message=message)
    before = answer.documented_draws("vectorized", key, 3)
    expect_documented("S0-48", before, part="documented", message=BEFORE)


@visible(draw_three_ways, idea="Each way has its keys, whatever n is.")
def any_key_and_count(answer, draw):
    """For any key and any n, each way gives its numbers."""
    for n in (1, 4):
        key = draw.key()
        one_by_one = np.stack([jax.random.normal(subkey) for subkey in jax.random.split(key, n)])
        for way in ("individually", "vectorized"):
            expect_close(answer(way, key, n), one_by_one, f"With {way!r}, number i should come from subkey i.")
        message = "With 'all at once', there should be one draw from the key itself."
        expect_close(answer("all at once", key, n), jax.random.normal(key, (n,)), message)


# %% documented S0-47 S0-48
# The numbers are others since JAX 0.5.0, and what they show is the same: three keys
# give other numbers than one, and `vmap` gives those of the loop.
key = jax.random.key(42)
subkeys = jax.random.split(key, 3)
print("individually:", np.stack([jax.random.normal(subkey) for subkey in subkeys]))
print("all at once: ", jax.random.normal(jax.random.key(42), shape=(3,)))
print("vectorized:", jax.vmap(jax.random.normal)(subkeys))
# documented
# individually: [-0.04838832  0.10796154 -1.2226542 ]
# all at once:  [ 0.18693547 -1.2806505  -1.5593132 ]
# vectorized: [-0.04838832  0.10796154 -1.2226542 ]
# today
# individually: [0.07592554 0.60576403 0.4323065 ]
# all at once:  [-0.02830462  0.46713185  0.29570296]
# vectorized: [0.07592554 0.60576403 0.4323065 ]

# %% [markdown]
# ### One key for all rows
#
# A function that draws is mapped like any other. But if the key is not mapped, all rows
# get the same numbers. *Dropout* sets entries of an array to zero at random; here it is
# for one row, and mapped over 8 rows, with one key for all and with a key for each. The
# zeros are dark.


# %%
def drop(key, row):
    """Set about half of the entries of a row to zero."""
    kept = jax.random.bernoulli(key, 0.5, row.shape)  # True with a chance of 0.5
    return jnp.where(kept, row, 0.0)


def draw_rows(batches):
    """Draw batches, a line of squares for each row."""
    _, all_axes = plt.subplots(len(batches), 1, figsize=(6, 2.5), layout="constrained")
    for axes, (title, batch) in zip(all_axes, batches.items(), strict=True):
        axes.imshow(batch, cmap="magma", aspect="auto")
        axes.set(title=title, xticks=[], yticks=[])
    plt.show()


ones = jnp.ones((8, 60))
same = jax.vmap(drop, in_axes=(None, 0))(jax.random.key(0), ones)
apart = jax.vmap(drop)(jax.random.split(jax.random.key(1), 8), ones)
draw_rows({"one key for all rows": same, "a key for each row": apart})

# %% [markdown]
# ### A key for a number
#
# A run stops at step 1204, and you want to go on from there without drawing all that
# came before. Or eight devices share a table, and each one makes its own rows. Then you
# want the key *for a number*: `jax.random.fold_in(key, number)` makes it directly.

# %%
key = jax.random.key(0)
for step in (1204, 1205):
    print(step, jax.random.normal(jax.random.fold_in(key, step)))

# %% [markdown]
# To go on after a stop, you need the seed, the number of the step, and what you have
# trained so far.
#
# Two numbers need two folds. For epoch 7 and step 1204, fold 7 into the key, and 1204
# into the result. (The sum of both would be the same for epoch 8 and step 1203.) And do
# not both split a key and fold into it: today, `fold_in(key, 1)` is one of its halves.


# %% exercise
@exercise(
    title="Noise for some rows",
    points=3,
    core=True,
    minutes=5,
    reproduces=["S0-31"],
    hints=[
        "Write a function for one row first. What does it need to know?",
        "`fold_in` takes a traced number, too, so that `jax.vmap` can map a function of one row over all rows. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.fold_in.html",
        "def of_one(row):\n    row_key = ____\n    return jax.random.normal(____, (4,))\n\nreturn jax.vmap(____)(rows)",
        """# Like it: the prizes behind some doors, which stay the same whoever opens them.
def prizes(key, doors):
    def behind(door):
        return jax.random.randint(jax.random.fold_in(key, door), (), 0, 1000)

    return jax.vmap(behind)(doors)


print(prizes(jax.random.key(0), jnp.array([3, 12, 5])))
print(prizes(jax.random.key(0), jnp.array([5])))  # the last one""",
    ],
)
def noise_for_rows(key, rows):
    """Make the noise for some rows of a huge table: four normal numbers a row, from the key and the row's number alone.

    A device calls this with the numbers of its rows, in any order. A row has the same noise whoever asks for it, and no
    keys are made for rows that nobody asks for. Different rows have keys of their own, and draw with
    `jax.random.normal`. It works under `jax.jit`, without a loop of Python or of `jax.lax` over the rows.

    >>> noise_for_rows(jax.random.key(0), jnp.array([1204, 7])).shape
    (2, 4)

    Args:
        key: key<fry>[] or uint32[2].
        rows: int32[k], one or more different numbers from 0 to 2**31 - 1; under `jax.jit` they are traced.

    Returns:
        float32[k,4].
    """
    ...


# %% check
@visible(noise_for_rows, stage="shape")
def four_numbers_for_each_row(answer, draw):
    """There are four numbers for each row."""
    for rows in ([3, 1, 2], [1204]):
        got = answer(draw.key(), jnp.array(rows))
        expect_shape(got, (len(rows), 4))
        expect_dtype(got, "float32")


@visible(
    noise_for_rows,
    kind="relation",
    required=True,
    idea="All randomness comes from the key and the row's number.",
)
def the_key_and_the_row_decide(answer, draw):
    """The same key and row give the same noise; another key gives another, and so does another row."""
    key, rows = draw.key(), jnp.array([5, 0, 2])
    first, again, other = (answer(one, rows) for one in (key, key, draw.key()))
    expect_equal(again, first, "The same key and rows should give the same noise; yours was another.")
    expect_different(other, first, "Another key should give other noise; yours is the same.")
    different = len(np.unique(np.asarray(first), axis=0)) == 3
    expect_that(different, "Different rows should have different noise; of yours some are equal.", first)


@visible(
    noise_for_rows,
    stage="keys",
    idea="The key and the row's number give a key for the row, and all numbers of the row come from it.",
    required=True,
)
def each_row_draws_from_its_own_key(answer, draw):
    """Each row draws from a key of its own, and there are no keys for other rows."""
    key, rows = draw.key(), jnp.array([5, 0, 70, 2])
    uses = clean_use(answer, key, rows)
    message = "Each row should draw its four numbers from keys of its own, with `jax.random.normal`."
    bits = drawn(uses, "normal")
    expect_that(len(bits) >= 4, message, f"{len(bits)} keys drawn from", "4 keys")
    wanted = redraw(bits, jax.random.normal, (4, 4), message)
    expect_close(answer(key, rows), wanted, "The noise should be what `jax.random.normal` draws.")
    made = sum({"split": one.count or 0, "fold_in": 1}.get(one.kind, 0) for one in uses)
    message = "No keys should be made for rows that nobody asks for."
    expect_that(made <= 40, message, f"{made} keys made for 4 rows", "a few for each row")


@visible(
    noise_for_rows,
    stage="keys",
    idea="Keys make all three possible: the numbers depend on nothing but the key and the row.",
    reproduces=["S0-31"],
    required=True,
)
def reproducible_parallel_and_vectorizable(answer, draw):
    """The noise is the same again and under jit, for each row alone and in another order, and the program is short."""
    key, rows = draw.key(), jnp.array([8, 2, 2**31 - 1, 5, 0, 1204])
    whole = np.asarray(answer(key, rows))

    def same(got, wanted):
        return bool(np.allclose(np.asarray(got), wanted, rtol=1e-5, atol=1e-6))

    programs = [answer.program(key, jnp.arange(n)) for n in (4, 40)]
    alone = all(same(answer(key, rows[i : i + 1]), whole[i : i + 1]) for i in range(6))
    found = {
        "reproducible": same(answer(key, rows), whole) and same(answer.jit(key, rows), whole),
        "parallel": alone and same(answer(key, rows[:3]), whole[:3]) and same(answer(key, rows[::-1]), whole[::-1]),
        "vectorizable": programs[1].equations < programs[0].equations + 36
        and not {"scan", "while"} & set(programs[0].primitives),
    }
    message = "The noise should be the same again and under `jax.jit`."
    expect_that(found["reproducible"], message, found)
    message = "A row should have the same noise alone, with other rows, and in another order."
    expect_that(found["parallel"], message, found)
    expect_that(found["vectorizable"], "The program should do all rows at once, without a loop.", found)
    expect_documented("S0-31", found)


# %% documented S0-31
# The page asks in words for draws that can be made again, in parallel, and all in one
# operation. A hidden state cannot grant all three at once; a key for each row can.
key, rows = jax.random.key(0), jnp.arange(8)
whole = noise_for_rows(key, rows)
shares = [noise_for_rows(key, share) for share in (rows[6:], rows[:6])]
print("reproducible:", (noise_for_rows(key, rows) == whole).all())
print("parallelizable:", jnp.allclose(jnp.concatenate(shares[::-1]), whole))
print("vectorizable:", jnp.allclose(jax.jit(noise_for_rows)(key, rows), whole))
# documented
# 1. reproducible, 2. parallelizable, 3. vectorizable
# today
# reproducible: True
# parallelizable: True
# vectorizable: True

# %% [markdown]
# ## Part 4. Keys in a loop
#
# `jax.lax.scan` traces its body once. So a key from outside is the *same* key in every
# round. A key must travel with the loop: as one key for each round in the data that it
# loops over, or in the carry, where each round splits it.

# %%
key, keys = jax.random.key(0), jax.random.split(jax.random.key(1), 3)


def split_and_draw(key, _):
    """Draw from one half of the carried key, and carry the other."""
    key, draw_key = jax.random.split(key)
    return key, jax.random.normal(draw_key)


same = jax.lax.scan(lambda carry, _: (carry, jax.random.normal(key)), 0, length=3)[1]
in_data = jax.lax.scan(lambda carry, k: (carry, jax.random.normal(k)), 0, keys)[1]
in_carry = jax.lax.scan(split_and_draw, jax.random.key(2), length=3)[1]
print("from outside:", same, "\nin the data: ", in_data, "\nin the carry:", in_carry)

# %% [markdown]
# Here is a loop that trains a linear model. To make the model robust, each step drops
# one in five inputs at random, divides the others by 0.8, so that their mean stays, and
# adds some noise. It runs without a complaint, and its error falls in training. Nobody
# would notice that something is wrong.


# %%
def error(w, x, y):
    """Return the mean squared error of a linear model w[d] on x[n,d], y[n]."""
    return jnp.mean((x @ w - y) ** 2)


# %% exercise
@exercise(
    title="Repair: a training loop that reuses a key",
    points=3,
    core=True,
    minutes=6,
    hints=[
        "How many draws does one step make, and how many keys do all steps need?",
        "Let `scan` loop over an array of keys, or carry a key and split it in each step. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html",
        "def step(w, step_key):\n    kept_key, noise_key = ____\n    ...\n\nreturn jax.lax.scan(step, w, ____)",
        """# Like it: a player who wins or loses, by a coin and a die in each round.
def play(key, rounds):
    def one_round(coins, round_key):
        coin_key, die_key = jax.random.split(round_key)
        stake = jax.random.randint(die_key, (), 1, 7)
        coins += jnp.where(jax.random.bernoulli(coin_key), stake, -stake)
        return coins, coins

    return jax.lax.scan(one_round, 50, jax.random.split(key, rounds))


print(play(jax.random.key(0), 6)[1])""",
    ],
)
def train_with_noise(key, w, x, y, steps):
    """Train a linear model with dropout and noise. The keys of this loop are wrong: repair them, and nothing else.

    `kept` is drawn with `jax.random.bernoulli` and the noise with `jax.random.normal`, anew for each number of x in
    each step. All of these draws are independent of each other, and all keys are made from `key`.

    >>> x, y = jnp.ones((3, 2)), jnp.ones(3)
    >>> w, errors = train_with_noise(jax.random.key(0), jnp.zeros(2), x, y, 5)
    >>> w.shape, errors.shape
    ((2,), (5,))

    Args:
        key: key<fry>[] or uint32[2].
        w: float32[d], the weights at the start.
        x: float32[n,d].
        y: float32[n].
        steps: int, 1 or more.

    Returns:
        A tuple `(w, errors)`: float32[d], the weights after all steps, and float32[steps], the error in each step. The
        program is as long for many steps as for one.
    """

    def step(w, _):
        kept = jax.random.bernoulli(key, 0.8, x.shape)
        noise = 0.1 * jax.random.normal(key, x.shape)
        seen = jnp.where(kept, x / 0.8, 0.0) + noise
        off, slope = jax.value_and_grad(error)(w, seen, y)
        return w - 0.05 * slope, off

    return jax.lax.scan(step, w, length=steps)


# %% check
def some_task(draw, n=3, d=2):
    """Return weights, inputs and targets."""
    return draw.floats(d), draw.floats(n, d), draw.floats(n)


def trained(w, x, y, kept, noises):
    """Return what the training comes to, as NumPy computes it."""
    w, errors = np.asarray(w, np.float64), []
    for mask, noise in zip(kept, noises, strict=True):
        seen = np.where(mask, np.asarray(x, np.float64) / 0.8, 0.0) + 0.1 * noise
        off = seen @ w - np.asarray(y, np.float64)
        errors.append(np.mean(off**2))
        w = w - 0.05 * 2 * (off @ seen) / len(off)
    return [np.float32(w), np.float32(errors)]


@visible(train_with_noise, stage="shape")
def weights_and_an_error_for_each_step(answer, draw):
    """The result is the weights, and an error for each step."""
    w, errors = parts(answer(draw.key(), *some_task(draw), 4), 2)
    expect_shape(w, (2,))
    expect_shape(errors, (4,))


@visible(
    train_with_noise,
    kind="relation",
    required=True,
    idea="All randomness comes from the key: the same key gives the same run, and another key gives another.",
)
def the_key_decides_the_run(answer, draw):
    """The same key gives the same errors again, and another key gives others."""
    key, task = draw.key(), some_task(draw)
    first, again, other = (parts(answer(one, *task, 4), 2)[1] for one in (key, key, draw.key()))
    expect_close(again, first, "The same key should give the same errors; yours were others.")
    expect_different(other, first, "Another key should give other errors; yours are the same.")


@visible(
    train_with_noise,
    stage="keys",
    required=True,
    idea="Each draw of each step needs a key of its own, which travels with the loop.",
)
def every_draw_has_its_own_key(answer, draw):
    """In five steps no key is used twice, and the weights and errors are those of ten independent draws."""
    key, task = draw.key(), some_task(draw)
    uses = clean_use(answer, key, *task, 5)
    message = "In each of 5 steps, there should be a draw of `kept` and one of the noise."
    shape = (5, 3, 2)
    # `bernoulli` is a comparison with `uniform`.
    kept = redraw(drawn(uses, "bernoulli", "uniform"), jax.random.uniform, shape, message) < 0.8
    noises = redraw(drawn(uses, "normal"), jax.random.normal, shape, message)
    message = "The weights and errors should be those of the five steps; change nothing but the keys."
    for got, wanted in zip(parts(answer(key, *task, 5), 2), trained(*task, kept, noises), strict=True):
        expect_close(got, wanted, message, rtol=1e-3, atol=1e-4)


@visible(
    train_with_noise, stage="cost", required=True, idea="`scan` is one loop in the program, for any number of steps."
)
def the_training_is_one_loop(answer, draw):
    """The program is as long for 40 steps as for 4."""
    few, many = ((draw.key(), *some_task(draw), steps) for steps in (4, 40))
    expect_no_growth(answer, few, many, "The program should be as long for 40 steps as for 4.")


# %% [markdown]
# What does `check_keys` say of your loop?

# %%
x, y = jnp.ones((3, 2)), jnp.ones(3)
check_keys(train_with_noise, jax.random.key(0), jnp.zeros(2), x, y, 4)

# %% [markdown]
# ### The sampler
#
# Now the points in the banana. The *Metropolis* rule is short: from where you are,
# propose a step in a random direction. If the density is larger there, go. If it is
# smaller, 0.3 times as large, say, go with a chance of 0.3; otherwise stay, and count
# the same place once more. After many steps, the places are spread as the density is.
#
# Densities can be so small that float32 cannot hold them. So one computes with their
# logarithms: go if `log(u) < log_density(proposal) - log_density(place)`, with a
# uniform number u.


# %% exercise
@exercise(
    title="A Metropolis sampler",
    points=4,
    core=True,
    minutes=7,
    hints=[
        "What must one step know of the step before? How many draws does it make?",
        "Carry the place through `jax.lax.scan`, which loops over keys; `jnp.where` goes or stays. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html",
        "def step(place, step_key):\n    noise_key, u_key = ____\n"
        "    proposal = place + size * jax.random.normal(noise_key, ____)\n    u = jax.random.uniform(u_key)\n"
        "    goes = jnp.log(u) < ____\n    place = jnp.where(goes, ____, place)\n    return place, place\n\n"
        "return jax.lax.scan(step, start, jax.random.split(key, steps))[1]",
        """# Like it: a flea that jumps left or right, but stays where it would leave the table.
def flea(key, start, jumps):
    def jump(place, jump_key):
        way_key, length_key = jax.random.split(jump_key)
        length = jax.random.uniform(length_key)
        target = place + jnp.where(jax.random.bernoulli(way_key), length, -length)
        place = jnp.where(jnp.abs(target) < 1, target, place)
        return place, place

    return jax.lax.scan(jump, start, jax.random.split(key, jumps))[1]


print(flea(jax.random.key(0), 0.0, 5))""",
    ],
)
def metropolis(key, log_density, start, steps, size):
    """Walk by the Metropolis rule, in one `jax.lax.scan`, and return the place after each step.

    Each step draws the noise with `jax.random.normal`, of the shape of the place, and a number u with
    `jax.random.uniform`. The proposal is the place plus `size` times the noise. Go there if
    `log(u) < log_density(proposal) - log_density(place)`, and stay otherwise. All draws have keys of their own, made
    from `key`.

    >>> metropolis(jax.random.key(0), banana, jnp.zeros(2), 50, 0.5).shape
    (50, 2)

    Args:
        key: key<fry>[] or uint32[2].
        log_density: a function from a place, float32[d], to the logarithm of the density there, float32[]. A constant
            may be missing, so that the values are very large or small; where the density is 0, it is -inf.
        start: float32[d], a place where the density is not 0.
        steps: int, 1 or more.
        size: float.

    Returns:
        float32[steps,d]: the place after each step, also if it is the same as before.
    """
    ...


# %% check
def expect_chain(answer, key, function, log_density, start, steps=12, size=0.8):
    """Expect a chain to be the one that the keys, which it drew from, lead to."""
    uses = clean_use(answer, key, function, start, steps, size)
    places = np.asarray(answer(key, function, start, steps, size))
    expect_shape(places, (steps, len(start)))
    message = f"In {steps} steps, there should be {steps} draws of the noise and {steps} of u."
    noises = redraw(drawn(uses, "normal"), jax.random.normal, (steps, len(start)), message)
    us = np.log(redraw(drawn(uses, "uniform", "bernoulli"), jax.random.uniform, (steps,), message))
    before = np.concatenate([np.asarray(start)[None], places[:-1]])
    proposals = (before + np.float32(size) * noises).astype(np.float32)
    gains = np.asarray(jax.vmap(log_density)(proposals) - jax.vmap(log_density)(before))
    went = np.isclose(places, proposals, rtol=1e-4, atol=1e-5).all(axis=1)
    # Where both sides are equal up to rounding, either will do.
    values = np.abs(np.asarray(jax.vmap(log_density)(before)))
    rounding = 1e-3 * np.maximum(1, np.abs(gains)) + np.where(np.isfinite(values), 1e-6 * values, 0)
    goes = np.where(np.abs(us - gains) < rounding, went, us < gains)
    wanted = np.where(goes[:, None], proposals, before).astype(np.float32)
    message = "It should go to the proposal if log(u) is less than the gain, and stay otherwise."
    expect_close(places, wanted, message, rtol=1e-4, atol=1e-5)


@visible(metropolis, stage="shape")
def one_place_for_each_step(answer, draw):
    """There is one place for each step."""
    for steps in (4, 1):
        got = answer(draw.key(), given("banana"), draw.floats(2), steps, 0.5)
        expect_shape(got, (steps, 2))
        expect_dtype(got, "float32")


@visible(
    metropolis,
    kind="relation",
    required=True,
    idea="All randomness comes from the key: the same key gives the same walk, and another key gives another.",
)
def the_key_decides_the_walk(answer, draw):
    """The same key gives the same walk again, and another key gives another."""
    key, args = draw.key(), (given("banana"), jnp.zeros(2), 12, 0.5)
    first, again, other = (answer(one, *args) for one in (key, key, draw.key()))
    expect_equal(again, first, "The same key should give the same walk; yours was another.")
    expect_different(other, first, "Another key should give another walk; yours is the same.")


@visible(
    metropolis,
    stage="keys",
    required=True,
    idea="Two draws in each step need two keys, and the place is carried from step to step.",
)
def each_step_goes_or_stays(answer, draw):
    """In the banana, each step goes or stays as its own two draws say."""
    expect_chain(answer, draw.key(), given("banana"), banana, draw.floats(2), steps=20)


@visible(metropolis, stage="cost", required=True, idea="`scan` is one loop in the program, for any number of steps.")
def the_chain_is_one_loop(answer, draw):
    """The program is as long for 40 steps as for 4."""
    few, many = ((draw.key(), given("banana"), draw.floats(2), steps, 0.5) for steps in (4, 40))
    expect_no_growth(answer, few, many, "The program should be as long for 40 steps as for 4.")


# %% [markdown]
# One chain is written; `jax.vmap` over keys makes 200 of them.
#
# Each picture should have a new key, however often you draw one. A `KeyStream` makes
# them for you: it keeps one key and counts, and each `next()` gives a new key. So it is
# a state that changes, but you hold it. Use it outside of compiled functions.


# %%
start = jnp.array([0.0, -1.0])
stream = KeyStream(7)


def chains(keys):
    """Walk one chain for each key: keys[c] -> float32[c,300,2]."""
    walk = partial(metropolis, log_density=banana, start=start, steps=300, size=0.8)
    return jax.vmap(walk)(keys)


# %% [markdown]
# Here is where the chains are after 300 steps.


# %%
def draw_chains():
    """Draw where 200 chains end."""
    if metropolis(jax.random.key(0), banana, start, 1, 0.8) is None:
        print("Write `metropolis` first: then this cell draws 200 points.")
        return
    draw_banana(chains(jax.random.split(stream.next(), 200))[:, -1])


draw_chains()

# %% [markdown]
# Run this last cell again: the stream has moved on, so there are 200 other points.
#
# And how long do the chains take: one after the other, mapped, and mapped and compiled?
# (`real_machine` runs a function, and its `clock()` tells the seconds.)


# %%
compiled_chains = jax.jit(chains)


def race_of_chains(c=5):
    """Print how long some chains take in three ways."""
    if metropolis(jax.random.key(0), banana, start, 1, 0.8) is None:
        print("Write `metropolis` first: then this cell times it.")
        return

    def loop(keys):
        return jnp.concatenate([chains(keys[i : i + 1]) for i in range(c)])

    ways = {"a loop": loop, "vmap": chains, "jit(vmap)": compiled_chains}
    for name, way in ways.items():
        machine = real_machine(way, jax.random.split(jax.random.key(1), c))
        machine.run().block_until_ready()
        before = machine.clock()
        machine.run().block_until_ready()
        milliseconds = 1000 * (machine.clock() - before)
        print(f"{name:>10}: {milliseconds:6.1f} ms for {c} chains of 300 steps")


race_of_chains()

# %% [markdown]
# The loop traces and compiles the scan anew for each chain, and `vmap` in each call;
# `jit` keeps the program. So jit the whole, on the outside.
#
# ## What to remember
#
# - NumPy hides one state, and the order of calls decides the numbers. In JAX the state
#   is a **key**, which you pass and which is never changed.
# - Use a key once: draw, or split, or fold numbers into it, each once. Another shape or
#   another random function is not another key.
# - Each row of a batch and each round of a loop needs a key of its own: split or fold,
#   then map or scan over the keys.
# - `fold_in` makes the key for a number directly, so that you can restart anywhere.
# - Nothing fails if you use a key twice. `check_keys` finds it.

# %% [markdown]
# ## More
#
# The rest is for another day. Pick what you need: no section builds on another.
#
# ### Shuffle, epoch by epoch
#
# Training goes over the data again and again, each time in another order, batch by
# batch. Inputs and labels must stay together. `jax.random.permutation(key, n)` gives
# the numbers 0 to n - 1 in a random order.

# %%
print(jax.random.permutation(jax.random.key(0), 5))


# %% exercise
@exercise(
    title="Batches of an epoch",
    points=3,
    minutes=5,
    hints=[
        "How many orders does an epoch need? What decides the order of epoch 7?",
        "`fold_in` makes the key of an epoch directly; an array of places picks rows, `inputs[order]`. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.permutation.html",
        "order = jax.random.permutation(____, inputs.shape[0])\norder = order.reshape(____)\n"
        "return inputs[order], labels[order]",
        """# Like it: heat and rain of some random days, another choice in each week.
def some_days(key, week, heat, rain):
    days = jax.random.randint(jax.random.fold_in(key, week), (3,), 0, len(rain))
    return heat[days], rain[days]


days = jnp.arange(7)
for week in (0, 1):
    print(some_days(jax.random.key(0), week, days + 20, days * 10))""",
    ],
)
def epoch_batches(key, epoch, inputs, labels, size):
    """Shuffle inputs and labels together, in an order for this epoch, and cut them into batches.

    The order is that of `jax.random.permutation`, drawn once, with the key that `jax.random.fold_in` makes for the
    epoch. So any epoch can be made without those before it.

    >>> inputs, labels = jnp.arange(8.0).reshape(4, 2), jnp.arange(4)
    >>> epoch_batches(jax.random.key(0), 7, inputs, labels, 2)[1].shape
    (2, 2)

    Args:
        key: key<fry>[] or uint32[2].
        epoch: int, or int32[], which is traced under `jax.jit`.
        inputs: float32[n,d].
        labels: int32[n].
        size: int, by which n can be divided.

    Returns:
        A tuple `(inputs, labels)`: float32[b,size,d] and int32[b,size], with b = n / size.
    """
    ...


# %% check
@visible(epoch_batches, stage="shape")
def batches_of_the_size(answer, draw):
    """For 12 rows and a size of 3 there are four batches."""
    inputs, labels = parts(answer(draw.key(), 2, draw.floats(12, 2), jnp.arange(12), 3), 2)
    expect_shape(inputs, (4, 3, 2))
    expect_shape(labels, (4, 3))
    expect_dtype(labels, "int32")


@visible(epoch_batches, idea="One order for both arrays, and a key for each epoch.")
def the_order_is_that_of_the_epoch(answer, draw):
    """For epochs 0, 1 and 7, rows and labels come in the order of the epoch."""
    key, inputs, labels = draw.key(), draw.floats(12, 2), 100 + jnp.arange(12)
    for epoch in (0, 1, 7):
        order = np.asarray(jax.random.permutation(jax.random.fold_in(key, epoch), 12)).reshape(4, 3)
        got_inputs, got_labels = parts(answer(key, epoch, inputs, labels, 3), 2)
        message = f"The labels should come in the order of epoch {epoch}: `permutation`, with the epoch's key."
        expect_close(got_labels, np.asarray(labels)[order], message)
        expect_close(got_inputs, np.asarray(inputs)[order], "Each row of the inputs should still have its label.")


@visible(epoch_batches, stage="keys", required=True, idea="The epoch's key is made from `key`, and draws one order.")
def one_order_for_each_epoch(answer, draw):
    """No key is used twice, and there is one draw."""
    uses = clean_use(answer, draw.key(), 7, draw.floats(6, 2), jnp.arange(6), 2)
    draws = [one.sampler for one in uses if one.kind == "draw"]
    expect_that(len(draws) == 1, "One order should be drawn.", draws, ["permutation"])


# %% [markdown]
# ### A tour of the hidden state
#
# NumPy lets you look at its hidden state. It is long: 624 words, and the position of
# the next one to use. `show_state` prints the beginning. (After a draw, look at the
# position, too: most draws only move it. The first one after seeding renews all words.)


# %%
def show_state():
    """Print the first 460 characters of NumPy's hidden state."""
    print(str(np.random.get_state())[:460], "...")


def loud_uniform(n=None):
    """Draw one number, or a vector of n numbers, and say so."""
    print("draw one number" if n is None else f"draw {n} numbers at once")
    return np.random.uniform(size=n)


# %% exercise
@exercise(
    title="A tour of the hidden state",
    points=3,
    minutes=7,
    reproduces=["S0-25", "S0-26", "S0-27", "S0-28", "S0-29", "S0-30", "S0-32", "S0-33"],
    why_so_many="They are one session of the page, in which each step shows what the one before it has left behind.",
    follows={"S0-30": ("S0-29", "the single draws are compared with the vector")},
    hints=[
        "Which lines must set the state anew, so that what comes next starts from the seed?",
        "`np.random.seed(seed)` sets the whole state, and `np.random.get_state()` returns it. Python evaluates "
        "`a() + b()` from left to right. https://docs.jax.dev/en/latest/random-numbers.html",
        "np.random.seed(seed)\nstate = np.random.get_state()\nshow_state()\nloud_uniform()\nshow_state()\n____\n"
        "show_state()\nvector = loud_uniform(3)\nnp.random.seed(seed)\nsingly = np.stack([____ for _ in range(3)])\n"
        "np.random.seed(seed)\nbar_first = ____\nnp.random.seed(seed)\nb = baz()\nbaz_first = ____\n"
        "return state, vector, singly, bar_first, baz_first",
        """# Like it: how far do five draws move the position, one by one and at once?
def moves():
    found = []
    for at_once in (False, True):
        np.random.seed(1)
        np.random.uniform()  # the first draw renews all words
        before = np.random.get_state()[2]
        np.random.uniform(size=5) if at_once else [np.random.uniform() for _ in range(5)]
        found.append(np.random.get_state()[2] - before)
    return found


print(moves())  # [10, 10]: each draw takes two words""",
    ],
)
def numpy_tour(seed):
    """Show what happens to NumPy's hidden state, in this order, with `show_state`, `loud_uniform`, `bar` and `baz`.

    1. Seed, read the state with `np.random.get_state()`, and show it.
    2. Draw one number, and show the state.
    3. Seed again, and show the state.
    4. Seed again, and draw a vector of three numbers.
    5. Seed again, and draw three single numbers.
    6. Seed again, and compute `bar() + 2 * baz()`, with `bar` called first.
    7. Seed again, and compute the same sum with `baz` called first.

    >>> state, vector, singly, bar_first, baz_first = numpy_tour(1)
    ('MT19937', array([         1, 1812433254, ...
    >>> vector
    array([4.17022005e-01, 7.20324493e-01, 1.14374817e-04])

    Args:
        seed: int.

    Returns:
        A tuple `(state, vector, singly, bar_first, baz_first)`: the state after the first seeding, as
        `np.random.get_state()` returns it; two arrays float64[3]; and two floats.
    """
    ...


# %% check
class Tour:
    """What one call of `numpy_tour` printed and returned, cut into the steps of the tour."""

    def __init__(self, answer, seed=0):
        seen = answer.observe(seed)
        self.state, self.vector, self.singly, *self.sums = parts(seen.value, 5)
        text = "\n".join(seen.lines)
        self.shown = re.findall(r"\('MT19937'.*?\.\.\.", text, re.DOTALL)
        calls = re.findall(r"draw one number|draw \d+ numbers at once|bar draws|baz draws", text)
        self.draws = [call for call in calls if call.startswith("draw ")]
        self.sum_calls = [call for call in calls if not call.startswith("draw ")]

    def shown_words(self, place):
        """Return the words in the state that was shown first, second or third."""
        expect_that(len(self.shown) == 3, "The state should be shown three times.", f"{len(self.shown)} times", "3")
        return [int(word) for word in re.findall(r"\b\d+\b", self.shown[place].split("[")[1])[:33]]


@visible(numpy_tour, idea="`np.random.seed` sets the whole hidden state.", reproduces=["S0-25"])
def seeding_sets_the_state(answer):
    """After seed 0, the state that is read begins with 0, 1, 1812433255, at position 624."""
    words_and_place = parts(Tour(answer).state, 5)[1:3]
    found = [np.asarray(words_and_place[0])[:5].tolist(), int(number(words_and_place[1]))]
    expect_documented("S0-25", found, message="The state should be read right after seeding.")


@visible(numpy_tour, idea="The state can be read as often as you like.", reproduces=["S0-26"])
def the_seeded_state_is_shown(answer):
    """The state that is shown first is that of the seed."""
    found = {"first": Tour(answer).shown_words(0)}
    expect_documented("S0-26", found, message="The state that is shown first should be that of the seed.")


@visible(numpy_tour, idea="A draw changes the hidden state.", reproduces=["S0-28"])
def a_draw_changes_the_state(answer):
    """The state that is shown second is that after one draw."""
    message = "The state that is shown second should be that after one draw."
    expect_documented("S0-28", {"second, after a draw": Tour(answer).shown_words(1)}, message=message)


@visible(numpy_tour, idea="The same seed brings back the same state.", reproduces=["S0-27"])
def seeding_again_restores_the_state(answer):
    """The state that is shown third is that of the seed again."""
    message = "The state that is shown third should be that of the seed again."
    expect_documented("S0-27", {"third, seeded again": Tour(answer).shown_words(2)}, message=message)


@visible(numpy_tour, idea="NumPy draws a whole vector in one call.", reproduces=["S0-29"])
def the_vector_comes_from_the_seed(answer):
    """The vector holds the first three numbers of seed 0."""
    found = np.asarray(Tour(answer).vector).tolist()
    expect_documented("S0-29", found, message="The vector should hold the first three numbers of the seed.")


@visible(numpy_tour, idea="In NumPy, n draws and one draw of n numbers are the same numbers.", reproduces=["S0-30"])
def single_draws_are_the_vector(answer):
    """Three single draws are the vector, and each of them is a draw."""
    tour = Tour(answer)
    same = bool(np.array_equal(np.asarray(tour.singly), np.asarray(tour.vector)))
    found = {"individually": np.round(np.asarray(tour.singly), 8).tolist(), "equal to all at once": same}
    found["draws"] = tour.draws[1:]
    message = "After the vector there should be three single draws by `loud_uniform()`, which are its numbers."
    expect_documented("S0-30", found, message=message)


@visible(numpy_tour, idea="`bar` gets the first number, `baz` the second.", reproduces=["S0-32"])
def bar_first_is_the_documented_sum(answer):
    """With `bar` first and seed 0, the sum is 1.979..."""
    tour = Tour(answer)
    found = {"sum": round(number(tour.sums[0]), 12), "called": tour.sum_calls[:2]}
    expect_documented("S0-32", found, message="With `bar` called first, it should be the sum after the seed.")


@visible(
    numpy_tour,
    idea="With a hidden state the result depends on the order of the calls, so nobody may change the order.",
    reproduces=["S0-33"],
)
def baz_first_is_another_sum(answer):
    """With `baz` first and seed 0, the sum `bar() + 2 * baz()` is another one."""
    tour = Tour(answer)
    found = {"sum": round(number(tour.sums[1]), 12), "called": tour.sum_calls[2:]}
    message = "With `baz` called first, it should be another sum: 2 times the first number, plus the second."
    expect_documented("S0-33", found, message=message)


# %% documented S0-25 S0-26 S0-27 S0-28 S0-29 S0-30 S0-32 S0-33
# Documented and today's output agree. The page says of the last line only that the
# order matters.
def print_truncated_random_state():
    full_random_state = np.random.get_state()
    print(str(full_random_state)[:460], "...")


np.random.seed(0)
print_truncated_random_state()
np.random.seed(0)
print_truncated_random_state()
_ = np.random.uniform()
print_truncated_random_state()
np.random.seed(0)
print(np.random.uniform(size=3))
np.random.seed(0)
print("individually:", np.stack([np.random.uniform() for _ in range(3)]))
np.random.seed(0)
print("all at once: ", np.random.uniform(size=3))
np.random.seed(0)
first, second = np.random.uniform(), np.random.uniform()
print(first + 2 * second)
print("baz first:", second + 2 * first)
# documented
# ('MT19937', array([         0,          1, 1812433255, 1900727105, 1208447044,
#        2481403966, 4042607538,  337614300, 3232553940, 1018809052, ...
# ('MT19937', array([         0,          1, 1812433255, 1900727105, 1208447044,
#        2481403966, 4042607538,  337614300, 3232553940, 1018809052, ...
# ('MT19937', array([2443250962, 1093594115, 1878467924, 2709361018, 1101979660,
#        3904844661,  676747479, 2085143622, 1056793272, 3812477442, ...
# [0.5488135  0.71518937 0.60276338]
# individually: [0.5488135  0.71518937 0.60276338]
# all at once:  [0.5488135  0.71518937 0.60276338]
# 1.9791922366721637
# today
# ('MT19937', array([         0,          1, 1812433255, 1900727105, 1208447044,
#        2481403966, 4042607538,  337614300, 3232553940, 1018809052, ...
# ('MT19937', array([         0,          1, 1812433255, 1900727105, 1208447044,
#        2481403966, 4042607538,  337614300, 3232553940, 1018809052, ...
# ('MT19937', array([2443250962, 1093594115, 1878467924, 2709361018, 1101979660,
#        3904844661,  676747479, 2085143622, 1056793272, 3812477442, ...
# [0.5488135  0.71518937 0.60276338]
# individually: [0.5488135  0.71518937 0.60276338]
# all at once:  [0.5488135  0.71518937 0.60276338]
# 1.9791922366721637
# baz first: 1.812816374227069

# %% [markdown]
# ### What is in a key
#
# A key is an array with a dtype that hides its words. `key_data` shows them. To save a
# key in a file, save its words; `wrap_key_data` makes the key again.

# %%
saved = np.asarray(jax.random.key_data(jax.random.key(42)))
print(saved)
print(jax.random.wrap_key_data(saved))
print(jax.random.key(42, impl="rbg"))  # another rule, fast on TPUs, with four words


# %% exercise
@exercise(
    title="Describe a key",
    points=2,
    minutes=4,
    reproduces=["S0-34", "S0-35", "S0-36"],
    hints=[
        "Which of the five entries are attributes of the key itself, and which need a function of `jax.random`?",
        "A key is an array of a special dtype; `key_data` and `key_impl` look behind it. "
        "https://docs.jax.dev/en/latest/jep/9263-typed-keys.html",
        'return {\n    "dtype": str(key.dtype),\n    "shape": key.shape,\n    "words": ____,\n'
        '    "implementation": str(jax.random.key_impl(key)),\n    "printed": str(key),\n}',
        """# Like it: describe a batch of keys: how many, and of which kind.
def describe_batch(keys):
    return {
        "keys": keys.shape[0],  # an attribute, as of any array
        "words each": jax.random.key_data(keys).shape[1],  # a function: the words are hidden
        "kind": str(jax.random.key_impl(keys)),
    }


print(describe_batch(jax.random.split(jax.random.key(0, impl="rbg"), 5)))
# {'keys': 5, 'words each': 4, 'kind': 'rbg'}""",
    ],
)
def describe_key(key):
    """Describe one key, typed or legacy.

    >>> describe_key(jax.random.key(7))["dtype"]
    'key<fry>'

    Args:
        key: key<fry>[] or key<rbg>[], or uint32[2].

    Returns:
        A dict with five entries. "dtype": the name of its dtype, a str. "shape": its shape, a tuple of ints.
        "words": all words behind it, uint32[2] or uint32[4]. "implementation": the name of the rule behind it, a str.
        "printed": the text that `print(key)` shows, a str; spaces and line ends after it do not matter.
    """
    ...


# %% check
@visible(describe_key, stage="shape")
def has_the_five_entries(answer):
    """The result is a dict with the five entries."""
    got = answer(jax.random.key(42))
    expect_that(isinstance(got, dict), "Return a dict.", got)
    names = ["dtype", "implementation", "printed", "shape", "words"]
    message = "The dict should have these five entries."
    expect_that(sorted(map(str, got)) == names, message, str(sorted(map(str, got))), names)


@visible(describe_key, reproduces=["S0-36"], idea="Two words of 32 bits stand behind a key; with another rule, four.")
def two_words_stand_behind_a_key(answer):
    """The words of key 42 are 0 and 42, of type uint32, used by the rule threefry2x32; rbg has four."""
    keys = {"key 42": jax.random.key(42), "with rbg": jax.random.key(42, impl="rbg")}
    found = {}
    for name, key in keys.items():
        got = answer(key)
        found[name] = [words(got["words"]).tolist(), str(got["words"].dtype), got["implementation"]]
    message = "For key 42 the words should be uint32 [0, 42] with threefry2x32, and [0, 42, 0, 42] with rbg."
    expect_documented("S0-36", found, message=message)


@visible(
    describe_key,
    idea="`print(key)` shows `str(key)`: of a typed key also the dtype, of a legacy key the bare words.",
    reproduces=["S0-34"],
)
def prints_as_documented(answer):
    """The text is what `print` shows."""
    legacy = jax.random.PRNGKey(42)
    printed = answer(legacy)["printed"]
    message = "It should be the text that `print(key)` shows for the legacy key 42."
    expect_that(isinstance(printed, str) and printed.strip() == str(legacy), message, printed, str(legacy))
    message = "It should be the text that `print(key)` shows for the key 42."
    expect_documented("S0-34", answer(jax.random.key(42))["printed"], message=message)


@visible(
    describe_key,
    idea="A typed key is one element of its own dtype; a legacy key is a plain vector of two words.",
    reproduces=["S0-35"],
)
def typed_and_legacy_keys_differ_in_type_only(answer):
    """A typed key and a legacy key of one seed have different dtypes and shapes, and the same words."""
    typed, legacy = answer(jax.random.key(42)), answer(jax.random.PRNGKey(42))
    same = np.array_equal(words(typed["words"]), words(legacy["words"]))
    facts = [typed["dtype"], list(typed["shape"]), legacy["dtype"], list(legacy["shape"]), same]
    message = "The dtypes and shapes of the two kinds of key should differ, and their words be the same."
    expect_documented("S0-35", facts, message=message)


# %% documented S0-34 S0-35 S0-36
# Documented and today's output agree. The page says in words that legacy keys are the
# old kind, and that a key is a pair of words.
key = jax.random.key(42)
print(key)
print(key.dtype, key.shape, jax.random.key_data(key), jax.random.key_impl(key))
print(jax.random.PRNGKey(42).dtype, jax.random.PRNGKey(42).shape)
# documented
# Array((), dtype=key<fry>) overlaying:
# [ 0 42]
# today
# Array((), dtype=key<fry>) overlaying:
# [ 0 42]
# key<fry> () [ 0 42] threefry2x32
# uint32 (2,)


# %% exercise
@exercise(
    title="Use a key twice",
    points=1,
    minutes=2,
    reproduces=["S0-37", "S0-38"],
    hints=[
        "Here the same number is wanted twice. Do you need a second key?",
        "Random functions read a key and do not change it. https://docs.jax.dev/en/latest/random-numbers.html",
        "first = jax.random.normal(key)\nsecond = ____\nreturn first, second, jax.random.key_data(key)",
        """# Like it: does a second throw of four dice with one key give other dice?
def throw_again(key):
    first_throw = jax.random.randint(key, (4,), 1, 7)
    second_throw = jax.random.randint(key, (4,), 1, 7)
    return (first_throw != second_throw).any()


print(throw_again(jax.random.key(5)))  # False""",
    ],
)
def use_key_twice(key):
    """Draw one normal number from the key, draw from the same key again, and read the key's words afterwards.

    Draw twice: do not give one number two times.

    >>> use_key_twice(jax.random.key(7))[2]
    Array([0, 7], dtype=uint32)

    Args:
        key: key<fry>[] or uint32[2].

    Returns:
        A tuple `(first, second, words)`: the two draws of `jax.random.normal`, float32[] each, and the words of the key
        after both draws, uint32[2].
    """
    ...


# %% check
def draws_from(answer, key):
    """Return how often a call draws from this very key."""
    bits = tuple(np.asarray(jax.random.key_data(key)).tolist())
    return sum(use.kind == "draw" and use.bits == bits for use in answer.key_use(key).uses)


@visible(use_key_twice, idea="One key, one number.")
def both_are_the_number_of_the_key(answer, draw):
    """Both draws are what `jax.random.normal` gives for the key, and the words are two uint32."""
    key = draw.key()
    first, second, after = parts(answer(key), 3)
    expect_dtype(after, "uint32")
    expect_shape(after, (2,))
    for one in (first, second):
        expect_close(one, jax.random.normal(key), "Both should be what `jax.random.normal` gives for the key.")


@visible(
    use_key_twice,
    stage="keys",
    idea="One key, one number: the result depends on the key and on nothing else.",
    reproduces=["S0-38"],
    required=True,
)
def one_key_gives_one_number(answer):
    """From key 42 there are two draws, and both give the same number."""
    key = jax.random.key(42)
    draws = draws_from(answer, key)
    expect_that(draws == 2, "There should be two draws from the key.", f"{draws} draws", "2 draws")
    for part, subject in (("today", answer), ("documented", answer.documented_draws)):
        message = "Both should be the number that `jax.random.normal` gives for the key 42."
        found = [number(one) for one in parts(subject(key), 3)[:2]]
        expect_documented("S0-38", found, part=part, message=message if part == "today" else BEFORE)


@visible(use_key_twice, stage="keys", idea="A draw reads the key and leaves it as it was.", reproduces=["S0-37"])
def the_key_is_not_changed(answer):
    """After a draw from key 42, its words are still 0 and 42."""
    key = jax.random.key(42)
    found = {"drawn from": draws_from(answer, key) > 0, "words afterwards": words(parts(answer(key), 3)[2]).tolist()}
    expect_documented("S0-37", found, message="After the draws, the words should still be those of the key.")


# %% documented S0-37 S0-38
# The number is another one since JAX 0.5.0. It still comes twice, and the key stays as
# it was.
key = jax.random.key(42)
print(jax.random.normal(key))
print(jax.random.normal(key))
print(jax.random.key_data(key))
# documented
# -0.18471177
# -0.18471177
# today
# -0.028304616
# -0.028304616
# [ 0 42]

# %% [markdown]
# ### What reuse does to the numbers
#
# How much do numbers from one key go together? And are both halves of a split as good
# as each other? `np.corrcoef(a, b)[0, 1]` is the correlation of two samples: 1 if they
# rise and fall together, near 0 if they are independent.


# %% exercise
@exercise(
    title="Measure reuse, and both halves of a split",
    points=2,
    minutes=5,
    reproduces=["S0-39", "S0-44"],
    hints=[
        "How many keys does each of the measurements need, and where do they come from?",
        "Reusing a key, even in different random functions, can give correlated numbers. "
        "https://docs.jax.dev/en/latest/random-numbers.html",
        "def correlation(a, b):\n    return float(np.corrcoef(a, b)[0, 1])\n\n"
        "one, other = jax.random.split(key)\nreused = correlation(jax.random.uniform(key, (n,)), ____)\n"
        "apart = correlation(jax.random.uniform(one, (n,)), ____)\n"
        "a, b = jax.random.normal(one, (n,)), ____\n"
        'return {\n    "reused": reused,\n    "apart": apart,\n    "means": (a.mean(), b.mean()),\n'
        '    "spreads": ____,\n    "halves": ____,\n}',
        """# Like it: how often do two rows of coins agree, from one key and from two?
def agreement(silver_key, gold_key):
    silver = jax.random.bernoulli(silver_key, shape=(1000,))
    gold = jax.random.bernoulli(gold_key, shape=(1000,))
    return (silver == gold).mean()


one_key, other_key = jax.random.split(jax.random.key(5))
print(agreement(one_key, one_key))  # 1.0: the same coins
print(agreement(one_key, other_key))  # near 0.5: independent coins""",
    ],
)
def reuse_and_halves(key, n):
    """Measure how draws from one key go together, and how those from the two halves of `jax.random.split(key)` do.

    >>> found = reuse_and_halves(jax.random.key(1), 100)
    >>> print(f"{found['reused']:.2f}")
    0.98

    Args:
        key: key<fry>[] or uint32[2].
        n: int, how many numbers to draw each time, in one draw; 2 or more.

    Returns:
        A dict of numbers and pairs of numbers:
        "reused": the correlation of `jax.random.uniform` and `jax.random.normal`, both from the key itself.
        "apart": the same, with the uniform numbers from the first half and the normal ones from the second.
        "means", "spreads": the means and the standard deviations (`np.std`) of normal numbers from the first half and
        from the second, two pairs. "halves": the correlation of these two samples.
    """
    ...


# %% check
def measured(answer, key, n):
    """Return what the answer measures, as Python floats, and what it should be."""
    got = answer(key, n)
    names = ["apart", "halves", "means", "reused", "spreads"]
    is_right = isinstance(got, dict) and sorted(map(str, got)) == names
    expect_that(is_right, "Return a dict with these five entries.", got, names)
    one, other = jax.random.split(key)
    a, b = (np.asarray(jax.random.normal(half, (n,)), np.float64) for half in (one, other))
    uniform, normal = jax.random.uniform(key, (n,)), jax.random.normal(key, (n,))
    wanted = {
        "reused": float(np.corrcoef(uniform, normal)[0, 1]),
        "apart": float(np.corrcoef(jax.random.uniform(one, (n,)), b)[0, 1]),
        "means": [a.mean(), b.mean()],
        "spreads": [a.std(), b.std()],
        "halves": float(np.corrcoef(a, b)[0, 1]),
    }
    found = {name: np.asarray(got[name], np.float64).tolist() for name in names}
    return found, wanted


def expect_near(found, wanted, names):
    """Expect measurements to be right to a thousandth."""
    for name in names:
        near = np.shape(found[name]) == np.shape(wanted[name]) and np.allclose(found[name], wanted[name], atol=1e-3)
        expect_that(near, f"{name!r} should be measured as the statement says.", found[name], wanted[name])


@visible(reuse_and_halves, idea="Reuse shows in the numbers, also of two different functions.", reproduces=["S0-39"])
def reuse_shows_and_splitting_cures(answer):
    """From key 42, the correlation is 0.98 with one key, and near 0 with two."""
    found, wanted = measured(answer, jax.random.key(42), 2000)
    expect_near(found, wanted, ("reused", "apart"))
    expect_documented("S0-39", {name: round(found[name], 2) for name in ("reused", "apart")})


@visible(reuse_and_halves, idea="Both halves of a split are as good as each other.", reproduces=["S0-44"])
def both_halves_are_equally_good(answer):
    """20,000 draws from each half of key 42 have mean 0, spread 1 and no correlation."""
    found, wanted = measured(answer, jax.random.key(42), 20_000)
    names = ("means", "spreads", "halves")
    expect_near(found, wanted, names)
    expect_documented("S0-44", {name: np.abs(np.round(found[name], 2)).tolist() for name in names})


@visible(reuse_and_halves, idea="Each measurement has its keys.")
def any_key_is_measured(answer, draw):
    """For any key and size, all of it is measured."""
    for n in (50, 300):
        expect_near(*measured(answer, draw.key(), n), ("reused", "apart", "means", "spreads", "halves"))


# %% documented S0-39 S0-44
# The page says this in words, and it holds today.
for name, value in reuse_and_halves(jax.random.key(42), 20_000).items():
    print(name, np.abs(np.round(value, 2)).tolist())
# documented
# One key in two random functions may give correlated numbers. Either part of a split
# may be called the key or the subkey: they are of equal standing.
# today
# reused 0.98
# apart 0.0
# means [0.0, 0.0]
# spreads [1.0, 1.01]
# halves 0.0

# %% [markdown]
# ### JAX's own watcher
#
# JAX can look for reuse, too. Inside `with jax.debug_key_reuse(True):` it raises an
# error at the second use of a typed key. It is experimental, and it sees nothing of
# legacy keys.

# %%
with jax.debug_key_reuse(True):
    key = jax.random.key(0)
    print("first: ", jax.random.normal(key))
    try:
        print("second:", jax.random.uniform(key))
    except jax.errors.KeyReuseError as error:
        print("KeyReuseError:", str(error).splitlines()[0])


# %% exercise
def draw_twice(key):
    """Draw two numbers from one key: the mistake."""
    return jax.random.normal(key), jax.random.uniform(key)


def split_then_draw(key):
    """Draw two numbers from two keys."""
    key_a, key_b = jax.random.split(key)
    return jax.random.normal(key_a), jax.random.uniform(key_b)


def fail_with_a_value_error(key):
    """Use a key once and fail for another reason."""
    raise ValueError(f"no good number: {jax.random.normal(key)}")


@exercise(
    title="Catch a reuse",
    points=2,
    minutes=3,
    reproduces=["S0-40"],
    hints=[
        "What happens inside `with jax.debug_key_reuse(True):` when a key is used twice, and how do you notice it?",
        "The watcher raises `jax.errors.KeyReuseError`. https://docs.jax.dev/en/latest/jax.experimental.key_reuse.html",
        "with jax.debug_key_reuse(True):\n    try:\n        function(key)\n    except ____:\n        return True\n"
        "return False",
        """# Like it: does a function make a NaN? JAX has a watcher for that too.
def makes_nan(function, x):
    try:
        with jax.debug_nans(True):
            function(x)
    except FloatingPointError:  # what this watcher raises
        return True
    return False


print(makes_nan(jax.lax.log, 1.0), makes_nan(jax.lax.log, -1.0))  # False True""",
    ],
)
def reuses_a_key(function, key):
    """Say whether JAX's own watcher finds a reused key in `function(key)`.

    >>> reuses_a_key(draw_twice, jax.random.key(0))
    True

    Args:
        function: a function of one key.
        key: key<fry>[], not used yet.

    Returns:
        A bool: True if `function(key)` raises `jax.errors.KeyReuseError` inside `with jax.debug_key_reuse(True):`,
        False if it does not. If it raises another error, return False or let the error through. The watcher is on
        inside this `with` only.
    """
    ...


# %% check
def caught(answer, function, key):
    """Return what the student's function says of a given function, which must be a bool."""
    got = answer(function, key)
    if not isinstance(got, bool):
        expect_dtype(got, "bool", "Return True or False.")
    return bool(got)


@visible(reuses_a_key, idea="The watcher works inside `with jax.debug_key_reuse(True):` only.", reproduces=["S0-40"])
def drawing_twice_is_reuse(answer):
    """Drawing twice from one key is found, and splitting first is clean."""
    key = jax.random.key(42)
    seen = {name: caught(answer, given(name), key) for name in ("draw_twice", "split_then_draw")}
    message = "For `draw_twice` it should be True, and for `split_then_draw` False."
    expect_documented("S0-40", seen, message=message)


@visible(reuses_a_key, idea="`jax.errors.KeyReuseError` is the one error that means reuse.")
def other_errors_are_no_reuse(answer, draw):
    """A function that fails for another reason is not said to reuse a key."""
    seen = answer.observe_error(given("fail_with_a_value_error"), draw.key())
    said_true = seen.error is None and bool(np.asarray(seen.value))
    message = "`fail_with_a_value_error` uses its key once and fails for another reason, so it should not be True."
    expect_that(not said_true, message, "True", "False, or the error let through")


# %% documented S0-40
# The page has only the rule. By default, JAX says nothing; its watcher raises an error.
key = jax.random.key(42)
print(jax.random.normal(key) == jax.random.normal(key))
for function in (draw_twice, split_then_draw):
    print(reuses_a_key(function, jax.random.key(42)))
# documented
# Never use a key twice, unless you want the same numbers twice.
# today
# True
# True
# False

# %% [markdown]
# ### One split, many keys
#
# `split` is a rule, not a draw: the same key gives the same new keys. It makes as many
# as you like, also in the shape of a table, `split(key, (2, 3))`. Python's `*` takes
# all the rest.

# %%
first, *others = jax.random.split(jax.random.key(0), 4)
print(first, len(others))


# %% exercise
@exercise(
    title="One key to keep, n to use",
    points=2,
    minutes=3,
    reproduces=["S0-43", "S0-45", "S0-46"],
    hints=[
        "How many new keys do you need in all?",
        "`jax.random.split(key, num)` makes any number of keys at once, and the old key is used up. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.split.html",
        "new_keys = jax.random.split(key, ____)\nreturn new_keys[0], new_keys[1:]",
        """# Like it: make keys for n training runs and two tests, in one go.
def training_and_tests(key, n):
    made = jax.random.split(key, n + 2)
    return made[:-2], made[-2:]


training, tests = training_and_tests(jax.random.key(0), 5)
print(training.shape, tests.shape)  # (5,) (2,)""",
    ],
)
def keep_one_key(key, n):
    """Split a key, in one go, into one key to keep and n keys to use.

    Make them with one call of `jax.random.split`. The first new key is the one to keep, the others follow in order.

    >>> next_key, subkeys = keep_one_key(jax.random.key(0), 3)
    >>> len(subkeys)
    3

    Args:
        key: key<fry>[] or uint32[2].
        n: int, how many keys to use; 1 or more.

    Returns:
        A tuple `(next_key, subkeys)`: one key of the same kind as `key`, and n such keys, in an array (key<fry>[n] or
        uint32[n,2]), a list or a tuple.
    """
    ...


# %% check
def new_keys(answer, key, n):
    """Return the words of the key to keep and of the n others: uint32[n+1,2]."""
    next_key, subkeys = parts(answer(key, n), 2)
    made = [words(next_key), words(subkeys)]
    message = f"With n = {n} there should be one key, and {n} keys."
    expect_that([one.shape for one in made] == [(2,), (n, 2)], message, (next_key, subkeys), f"1 key and {n} keys")
    return np.concatenate([made[0][None], made[1]])


@visible(keep_one_key, stage="shape", idea="One key to keep and n to use: n + 1 new keys.")
def one_key_and_n_keys(answer, draw):
    """The result is one key, and n keys."""
    for n in (3, 1):
        new_keys(answer, draw.key(), n)


@visible(keep_one_key, idea="`split` is a rule: the same key gives the same new keys.", reproduces=["S0-43"])
def the_same_keys_every_time(answer):
    """Key 42 gives the four keys of its split, in whatever order, and gives them again."""
    made = [sorted(map(tuple, new_keys(answer, jax.random.key(42), 3).tolist())) for _ in range(2)]
    found = {"four keys": [list(one) for one in made[0]], "the same again": made[0] == made[1]}
    expect_documented("S0-43", found, message="It should be the four keys of one split, and the same ones again.")


@visible(keep_one_key, idea="The short form `key, subkey = jax.random.split(key)`.", reproduces=["S0-45"])
def short_form_gives_the_documented_keys(answer):
    """For n = 1, key 42 gives the two keys of `split`, the first of them to keep."""
    key = jax.random.key(42)
    for part, subject in (("today", answer), ("documented", answer.documented_draws)):
        message = "It should be the keys of `jax.random.split(key)`, in their order." if part == "today" else BEFORE
        expect_documented("S0-45", new_keys(subject, key, 1).tolist(), part=part, message=message)


@visible(keep_one_key, idea="One split makes any number of keys, of the kind of the old one.", reproduces=["S0-46"])
def forty_two_subkeys(answer):
    """Key 42 gives 1 + 42 new keys, no two of them equal, and all of its own dtype."""
    key = jax.random.key(42)
    made = [tuple(row) for row in new_keys(answer, key, 42).tolist()]
    next_key, subkeys = parts(answer(key, 42), 2)
    keys = [one for one in (next_key, subkeys[0], subkeys[41]) if getattr(one, "impl", "")]
    kinds = {str(jax.random.wrap_key_data(one.bits, impl=one.impl).dtype) for one in keys}
    found = {"subkeys": len(made) - 1, "different keys": len(set(made)), "dtypes": sorted(kinds)}
    found["shape"] = list(next_key.shape)
    expect_documented("S0-46", found, message="It should be 43 different keys, all of the kind of the old one.")


@visible(keep_one_key, stage="keys", required=True, idea="Each key is used once, also by split.")
def the_old_key_is_split_once(answer, draw):
    """The old key is used once, by one call of split."""
    uses = clean_use(answer, draw.key(), 3)
    splits = [one.count for one in uses if one.kind == "split"]
    expect_that(splits == [4], "All keys should come from one call of `jax.random.split`.", splits, [4])


# %% documented S0-43 S0-45 S0-46
# The page shows no output. The words of the new keys are others since JAX 0.5.0.
key = jax.random.key(42)
print(jax.random.key_data(jax.random.split(key)).tolist())
key, subkey = jax.random.split(key)
print(jax.random.key_data(key), jax.random.key_data(subkey))
key, *forty_two_subkeys = jax.random.split(key, num=43)
print(len(forty_two_subkeys), key.dtype)
# documented
# no output
# today
# [[1832780943, 270669613], [64467757, 2916123636]]
# [1832780943  270669613] [  64467757 2916123636]
# 42 key<fry>

# %% [markdown]
# ### Good to know
#
# - `jax.random.choice` and `jax.random.categorical` pick from a list, by probability or
#   by its logarithm; `permutation` shuffles.
# - With several devices, jit a draw and say where its parts go; each device makes its
#   own part of the same numbers, and waits for no other:

# %%
mesh = jax.make_mesh((jax.device_count(),), ("d",))
spread_out = jax.NamedSharding(mesh, jax.P("d"))
draw = partial(jax.random.normal, shape=(8 * jax.device_count(),))
print(jax.jit(draw, out_shardings=spread_out)(jax.random.key(0)).sharding)

# %% [markdown]
# ## What to read next
#
# - [Pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html), the page
#   behind the documented examples
# - [The module `jax.random`](https://docs.jax.dev/en/latest/jax.random.html): all
#   distributions
# - [The design of JAX's random
#   numbers](https://docs.jax.dev/en/latest/jep/263-prng.html)
# - [Typed keys](https://docs.jax.dev/en/latest/jep/9263-typed-keys.html)
