# %% check
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
    if isinstance(got, tuple | list):
        expect_that(len(got) == count, message, got)
        return list(got)
    expect_shape(got, (count,), message)
    return np.asarray(got).tolist()


def number(value):
    """Return a scalar of any kind as a Python float."""
    expect_shape(value, ())
    return float(np.asarray(value))


def numbers(value):
    """Return an array of numbers as nested lists of Python floats."""
    return np.asarray(value, dtype=np.float64).tolist()


def words(keys):
    """Return the words of typed keys, legacy keys, or a list of keys: uint32[..., 2]."""
    if isinstance(keys, tuple | list):
        return np.stack([words(key) for key in keys])
    return np.asarray(getattr(keys, "bits", keys))


def all_rows_differ(rows):
    """Return whether no two rows are equal."""
    rows = np.asarray(rows)
    return len(np.unique(rows.reshape(len(rows), -1), axis=0)) == len(rows)


def all_equal(vector):
    """Return whether all numbers of a vector are the same."""
    return len(np.unique(np.asarray(vector))) == 1


def repeated_places(draws, gap=0.0):
    """Return the pairs of places of a vector that hold the same number, up to `gap`.

    Two independent normal numbers of float32 are equal by chance 2**-23, so one pair proves nothing yet.
    """
    draws = np.asarray(draws)
    alike = np.abs(np.subtract.outer(draws, draws)) <= gap
    return [(i, j) for i, j in np.argwhere(alike).tolist() if i < j]


def expect_standard_normal(sample):
    """Expect the mean and the spread of standard normal numbers; the bounds are 7 standard deviations.

    For 120 numbers or more, the chance to be outside is below 5e-11.
    """
    values = np.asarray(sample, dtype=np.float64).ravel()
    mean, spread = values.mean(), values.std()
    message = "The numbers should be standard normal, with a mean near 0."
    expect_that(abs(mean) < 7 / np.sqrt(values.size), message, f"mean {mean:.3f}", "near 0")
    message = "The numbers should be standard normal, with a standard deviation near 1."
    expect_that(abs(spread - 1) < 7 / np.sqrt(2 * values.size), message, f"standard deviation {spread:.3f}", "near 1")


def keys_that_share_a_word(draw):
    """Return two keys that differ only in their first word, and two that differ only in their second."""
    first, second, third = (draw.integer(1, 2**32) for _ in range(3))
    pairs = (((first, second), (first ^ 1, second)), ((first, third), (first, third ^ 1)))
    return [[jax.random.wrap_key_data(jnp.array(key, dtype=jnp.uint32)) for key in pair] for pair in pairs]


# Said where only the numbers of the old setting are not right.
BEFORE = "With the setting before JAX 0.5.0 (`jax.threefry_partitionable(False)`) the numbers should be those of then."


def shared_places(pairs):
    """Return the places (i, j) at which all pairs of vectors hold the same number: a[i] == b[j].

    Two independent normal numbers of float32 are equal by chance 2**-23, so ask for two pairs: 2**-46 for each place.
    """
    equal = [np.equal.outer(np.ravel(np.asarray(a)), np.ravel(np.asarray(b))) for a, b in pairs]
    return np.argwhere(np.logical_and.reduce(equal)).tolist()


def strongest_echo(rows):
    """Return how strongly a row, shifted by any distance, repeats itself or another row (read in either direction).

    Rows of standardised independent numbers: every value compared is a sum of at most n products over sqrt(n), so for
    fair signs it is above 8 by chance 2 * exp(-32) = 3e-14 (Hoeffding).
    """
    rows = np.asarray(rows, dtype=np.float64)
    n = rows.shape[1]
    strongest = 0.0
    for i, row in enumerate(rows):
        own = np.correlate(row, row, "full")
        own[n - 1] = 0.0
        others = [np.correlate(row, other, "full") for j in range(i) for other in (rows[j], rows[j][::-1])]
        strongest = max([strongest, *(float(np.abs(values).max()) for values in [own, *others])])
    return strongest / np.sqrt(n)


# %% [markdown]
# # Random numbers
#
# NumPy keeps the state of its random generator in a hidden place. JAX gives the state
# to you: you hold it as a **key**. This lesson shows why, and how to use keys well.
#
# After this lesson you can
#
# - say why a hidden state is a problem for a compiler and for parallel work,
# - make keys, **split** them, **draw** from them, and see when a key is used twice,
# - draw many numbers at once with `jax.vmap`,
# - write random code that is right inside `jit`, `vmap` and `scan`: walks, layers,
#   dropout, shuffles, restarts.
#
# You need NumPy; you need no JAX yet. The lesson takes about two hours. It has four
# parts, and you can stop after each.

# %% [markdown]
# Run the cells from top to bottom. A cell with a function to write or to repair is an
# **exercise**: `check(...)` tells you what is right. If you are stuck,
# `hint(name_of_the_function)` gives a small hint, and tells how to get more. In a
# **prediction** you guess first; then the real answer is computed before your eyes. You
# get the point for guessing, right or wrong.
#
# Types such as `float32[n,m]` are explained in [How to read a
# contract](arrays_and_layers.ipynb#How-to-read-a-contract), in the lesson
# `arrays_and_layers`.

# %%
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

# %% [markdown]
# ## Part 1. NumPy: one hidden state
#
# A computer makes "random" numbers with a rule. The rule starts from a number, the
# **seed**. The seed decides every number that follows, so the numbers are called
# *pseudorandom*.
#
# NumPy's classic functions all share one hidden state. `np.random.seed` sets it.

# %%
np.random.seed(0)

# %% [markdown]
# You can look at the state. It is long: here are the first 460 characters.


# %%
def show_state():
    """Print the beginning of NumPy's hidden state."""
    print(str(np.random.get_state())[:460], "...")


show_state()

# %% [markdown]
# Seed again, and the state is the same again.

# %%
np.random.seed(0)
show_state()

# %% [markdown]
# Draw one number, and the state is another one. Nothing in the call says so: that is
# what "hidden" means.

# %%
_ = np.random.uniform()
show_state()


# %% exercise
@exercise(
    title="Look at the hidden state",
    points=2,
    reproduces=["S0-25", "S0-26", "S0-27", "S0-28"],
    hints=[
        "Which three things happen to the state, and in which order: set, change, read?",
        "`np.random.get_state()` returns a tuple: a name, the 624 words, the position, and two more values. "
        "https://docs.jax.dev/en/latest/random-numbers.html shows how it changes.",
        "np.random.seed(seed)\nfor _ in range(draws):\n    ____\nstate = np.random.get_state()\n"
        "return state[1], state[2]",
        "# Like it: how far do n more draws move the position in the state?\n"
        "def position_moved(n):\n"
        "    np.random.seed(1)\n"
        "    np.random.uniform()  # the first draw renews all 624 words\n"
        "    before = np.random.get_state()[2]\n"
        "    np.random.uniform(size=n)\n"
        "    return np.random.get_state()[2] - before\n\n"
        "print(position_moved(5))  # 10: each draw takes two words",
    ],
)
def numpy_state_after(seed, draws):
    """Seed NumPy's global generator, draw some numbers, and return the state that is left.

    Seed with `np.random.seed`, draw with `np.random.uniform`, read with `np.random.get_state`.

    Args:
        seed: int, the seed.
        draws: int, how many numbers to draw; 0 or more.

    Returns:
        A tuple `(words, position)`: the words of the state, uint32[624], and the position in them, an int.
    """
    ...


# %% check
@visible(numpy_state_after, stage="shape")
def state_has_624_words(answer):
    """The result is a pair: 624 words, and one position."""
    state, position = parts(answer(0, 0), 2)
    expect_shape(state, (624,))
    expect_shape(position, ())


@visible(numpy_state_after, stage="dtype")
def words_are_uint32(answer):
    """The words are unsigned integers of 32 bits."""
    expect_dtype(parts(answer(0, 0), 2)[0], "uint32")


@visible(
    numpy_state_after,
    idea="`np.random.seed` sets the whole hidden state, whatever it was before.",
    reproduces=["S0-25", "S0-26"],
)
def seeding_sets_the_state(answer):
    """After seed 0 and no draw, the state is the one that NumPy sets for seed 0."""
    answer(7, 3)
    state, position = parts(answer(0, 0), 2)
    message = "The words should be those that seed 0 sets."
    expect_that(np.array_equal(np.asarray(state), np.random.RandomState(0).get_state()[1]), message, state)
    seen = [np.asarray(state)[:5].tolist(), int(position)]
    expect_documented("S0-25", seen, message="The position should be that after seeding: 624.")
    expect_documented("S0-26", np.asarray(state)[:33].tolist(), message=message)


@visible(
    numpy_state_after,
    idea="Each draw changes the hidden state, so read the state after the draws.",
    reproduces=["S0-28"],
)
def a_draw_changes_the_state(answer):
    """After seed 0 and one draw, the state is another one."""
    state, position = parts(answer(0, 1), 2)
    message = "After a draw the state should be another one; yours is still that of the seed."
    expect_that(not np.array_equal(np.asarray(state), np.random.RandomState(0).get_state()[1]), message, state)
    message = "After one draw the state should be that of NumPy's generator."
    expect_documented("S0-28", [np.asarray(state)[:33].tolist(), int(position)], message=message)


@visible(numpy_state_after, idea="The same seed brings back the same state.", reproduces=["S0-27"])
def seeding_again_restores_the_state(answer):
    """Seed 0 gives the same state again after other draws."""
    answer(0, 1)
    state, _ = parts(answer(0, 0), 2)
    message = "Seeded with 0 again, the words should be those that seed 0 sets."
    expect_documented("S0-27", np.asarray(state)[:33].tolist(), message=message)


# %% [markdown]
# ### One by one, or all at once
#
# NumPy can draw a whole vector in one call.

# %%
np.random.seed(0)
print(np.random.uniform(size=3))

# %% [markdown]
# NumPy promises *sequential equivalence*: three single draws give the same three
# numbers.

# %%
np.random.seed(0)
print("individually:", np.stack([np.random.uniform() for _ in range(3)]))
np.random.seed(0)
print("all at once: ", np.random.uniform(size=3))


# %% exercise
@exercise(
    title="One by one, all at once",
    points=1,
    reproduces=["S0-29", "S0-30"],
    hints=[
        "After the first n draws, where does the hidden state stand? Where should it stand before the vector is drawn?",
        "Sequential equivalence: n single draws and one draw of size n start from the same state. "
        "https://docs.jax.dev/en/latest/random-numbers.html",
        "np.random.seed(seed)\none_by_one = np.array([np.random.uniform() for _ in range(n)])\n____\n"
        "at_once = np.random.uniform(size=n)\nreturn one_by_one, at_once",
        "# Like it: a table of dice at once, and row by row, from the same seed.\n"
        "def dice_table(seed):\n"
        "    np.random.seed(seed)\n"
        "    table = np.random.randint(1, 7, size=(2, 3))\n"
        "    np.random.seed(seed)  # back to the state from before the table\n"
        "    rows = [np.random.randint(1, 7, size=3) for _ in range(2)]\n"
        "    return table, np.stack(rows)\n\n"
        "print(np.array_equal(*dice_table(4)))  # True",
    ],
)
def one_by_one_and_at_once(seed, n):
    """Draw n uniform numbers in two ways, each time starting from the same seed.

    Args:
        seed: int, the seed for NumPy's global generator.
        n: int, how many numbers.

    Returns:
        A tuple of two arrays, float64[n] each: n single draws, and one draw of a vector of n numbers.
    """
    ...


# %% check
@visible(one_by_one_and_at_once, stage="shape")
def two_vectors_of_n_numbers(answer):
    """The result is two vectors of n numbers."""
    for n in (3, 4):
        for part in parts(answer(0, n), 2):
            expect_shape(part, (n,))


@visible(one_by_one_and_at_once, stage="dtype")
def numpy_draws_are_float64(answer):
    """NumPy draws numbers of type float64."""
    for part in parts(answer(0, 4), 2):
        expect_dtype(part, "float64")


@visible(one_by_one_and_at_once, idea="Each single draw moves the state on.")
def single_draws_differ(answer):
    """The numbers drawn one by one are all different."""
    one_by_one, _ = parts(answer(0, 4), 2)
    expect_that(
        all_rows_differ(one_by_one), "The single draws should be different numbers.", one_by_one, "different numbers"
    )


@visible(one_by_one_and_at_once, idea="A vector is drawn in one call.", reproduces=["S0-29"])
def the_vector_is_the_documented_one(answer):
    """For seed 0, the vector holds NumPy's first three numbers: 0.5488, 0.7152, 0.6028."""
    message = "The vector should hold the first three numbers after seed 0."
    expect_documented("S0-29", parts(answer(0, 3), 2)[1], message=message)


@visible(
    one_by_one_and_at_once,
    idea="In NumPy, n draws and one draw of n numbers are the same numbers, from the same state.",
    reproduces=["S0-30"],
)
def both_ways_agree(answer):
    """For seed 0, both ways give NumPy's first three numbers."""
    message = "Both ways should give the first three numbers after seed 0."
    expect_documented("S0-30", answer(0, 3), message=message)


# %% [markdown]
# ### The trouble with a hidden state
#
# Here is a function that draws twice. Python runs `bar()` first, then `baz()`.


# %%
def bar():
    """Draw one number."""
    return np.random.uniform()


def baz():
    """Draw one number."""
    return np.random.uniform()


def foo():
    """Add two draws."""
    return bar() + 2 * baz()


np.random.seed(0)
print(foo())

# %% [markdown]
# Now think of a compiler that runs `baz()` first. For a sum, the order should not
# matter. Or should it?


# %% exercise
@prediction(
    title="Predict: the other order",
    points=1,
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
@reveal(predict_same_sum)
def sum_in_both_orders():
    """We computed the sum twice after the same seed, with `bar` first and with `baz` first, and compared."""
    np.random.seed(0)
    first = np.random.uniform() + 2 * np.random.uniform()
    np.random.seed(0)
    second = 2 * np.random.uniform() + np.random.uniform()
    return first == second


# %% [markdown]
# The first call gets the first number of the hidden state, whoever makes it. Each
# function looks harmless alone, and still the order of the calls decides the result.

# %%
np.random.seed(0)
b = baz()
a = bar()
print("baz first:", a + 2 * b)


# %% exercise
@exercise(
    title="Swap the order",
    points=2,
    reproduces=["S0-32", "S0-33"],
    hints=[
        "In which order does Python evaluate the two calls in `bar() + 2 * baz()`? How can you turn it round?",
        "The first call gets the first number of the hidden state, whoever makes it. "
        "https://docs.jax.dev/en/latest/random-numbers.html",
        "np.random.seed(seed)\nbar_first = bar() + 2 * baz()\nnp.random.seed(seed)\nb = baz()\na = bar()\n"
        "baz_first = ____\nreturn bar_first, baz_first",
        "# Like it: a width divided by a height. Each of the two is drawn first once.\n"
        "def width():\n"
        "    return np.random.uniform(1, 2)\n\n"
        "def height():\n"
        "    return np.random.uniform(1, 2)\n\n"
        "np.random.seed(3)\n"
        "width_first = width() / height()\n"
        "np.random.seed(3)\n"
        "h = height()  # now this call gets the first number\n"
        "print(width_first, width() / h)  # the second is the first upside down",
    ],
)
def both_orders(seed):
    """Compute `bar() + 2 * baz()` with `bar` called first and with `baz` called first, each time after the same seed.

    Args:
        seed: int, the seed for NumPy's global generator.

    Returns:
        A tuple `(bar_first, baz_first)` of two floats.
    """
    ...


# %% check
@visible(both_orders, stage="shape")
def two_sums(answer):
    """The result is two numbers."""
    for part in parts(answer(0), 2):
        expect_shape(part, ())


@visible(both_orders, idea="`bar` gets the first number, `baz` the second.", reproduces=["S0-32"])
def bar_first_is_the_documented_sum(answer):
    """With `bar` first and seed 0, the sum is 1.979..."""
    message = "With `bar` first, this should be the sum `bar() + 2 * baz()` after seed 0."
    expect_documented("S0-32", number(parts(answer(0), 2)[0]), message=message)


@visible(
    both_orders,
    idea="With a hidden state the result depends on the order of the calls, so nobody may change the order.",
    reproduces=["S0-33"],
)
def baz_first_is_another_sum(answer):
    """With `baz` first and seed 0, the sum is another one."""
    bar_first, baz_first = (number(part) for part in parts(answer(0), 2))
    message = "With `baz` first, the sum should be another one; yours are equal."
    expect_that(bar_first != baz_first, message, baz_first)
    message = "With `baz` first, this should be the sum `bar() + 2 * baz()` after seed 0."
    expect_documented("S0-33", [bar_first, baz_first], message=message, misconception="seeds_once")


# %% [markdown]
# ## Part 2. JAX: the state is yours
#
# JAX wants random numbers that are
#
# 1. **reproducible**: the same program gives the same numbers,
# 2. **parallel**: many machines can draw without waiting for each other,
# 3. **vectorised**: many numbers come from one fast operation.
#
# A hidden state spoils this. To be reproducible, all draws must wait in one line, in
# one fixed order. But a compiler (in JAX, `jax.jit`) wants to reorder, drop and merge
# operations, and many devices want to work at the same time.

# %% [markdown]
# So JAX has no hidden state. Here it does not follow NumPy at all: there is no
# `jnp.random`, and a random function without a key is an error.

# %%
print("jnp.random exists:", hasattr(jnp, "random"))
try:
    jax.random.uniform(shape=(3,))
except TypeError as error:
    print("TypeError:", error)

# %% [markdown]
# ### A key
#
# You make a **key** from a seed. A key is what NumPy's hidden state was, but you hold
# it in your hand.

# %%
key = jax.random.key(42)
print(key)

# %% [markdown]
# A key is an array with a dtype of its own, `key<fry>`. (`fry` is short for Threefry,
# the method behind it.) This key has shape `()`: it is one key. Behind it are two words
# of 32 bits.

# %%
print("dtype:", key.dtype)
print("shape:", key.shape)
print("words:", jax.random.key_data(key))
print("made by:", jax.random.key_impl(key))

# %% [markdown]
# In older code you will see `jax.random.PRNGKey`. It makes a *legacy* key: the two bare
# words. Both kinds work everywhere, also in these exercises. New code should use
# `jax.random.key`: then nobody takes a key for numbers.

# %%
legacy = jax.random.PRNGKey(42)
print("dtype:", legacy.dtype)
print("shape:", legacy.shape)
print("words:", jax.random.key_data(legacy))
print("same sample:", jax.random.normal(key) == jax.random.normal(legacy))


# %% exercise
@exercise(
    title="Describe a key",
    points=2,
    reproduces=["S0-34", "S0-35", "S0-36"],
    hints=[
        "Which of the five entries are attributes of the key itself, and which need a function of `jax.random`?",
        "A key is an array of a special dtype; `key_data` and `key_impl` look behind it. "
        "https://docs.jax.dev/en/latest/jep/9263-typed-keys.html",
        'return {\n    "dtype": str(key.dtype),\n    "shape": key.shape,\n    "words": ____,\n'
        '    "implementation": str(jax.random.key_impl(key)),\n    "printed": str(key),\n}',
        "# Like it: describe a batch of keys: how many, and of which kind.\n"
        "def describe_batch(keys):\n"
        "    words = jax.random.key_data(keys)  # a function: the words are hidden\n"
        "    return {\n"
        '        "keys": keys.shape[0],  # an attribute, as of any array\n'
        '        "words each": words.shape[1],\n'
        '        "kind": str(jax.random.key_impl(keys)),\n'
        "    }\n\n"
        'print(describe_batch(jax.random.split(jax.random.key(0, impl="rbg"), 5)))\n'
        "# {'keys': 5, 'words each': 4, 'kind': 'rbg'}",
    ],
)
def describe_key(key):
    """Describe one key, typed or legacy.

    Args:
        key: key<fry>[] or uint32[2].

    Returns:
        A dict with five entries. "dtype": the name of its dtype, a str. "shape": its shape, a tuple of ints.
        "words": the two words behind it, uint32[2]. "implementation": the name of the method behind it, a str.
        "printed": the text that `print(key)` shows, a str; spaces and line ends after it do not matter.
    """
    ...


# %% check
@visible(describe_key, stage="shape")
def has_the_five_entries(answer):
    """The result is a dict with the five entries."""
    got = answer(jax.random.key(42))
    names = ["dtype", "shape", "words", "implementation", "printed"]
    if not isinstance(got, dict):
        expect_shape(got, (), "Return a dict.")
    expect_that(isinstance(got, dict), "Return a dict.", got)
    expect_that(
        sorted(map(str, got)) == sorted(names),
        "The dict should have these five entries.",
        str(sorted(map(str, got))),
        names,
    )
    expect_shape(got["words"], (2,))


@visible(describe_key, stage="dtype", reproduces=["S0-36"], idea="Two words of 32 bits stand behind a key.")
def two_words_stand_behind_a_key(answer):
    """The words of key 42 are 0 and 42, of type uint32, used by the method threefry2x32."""
    got = answer(jax.random.key(42))
    expect_dtype(got["words"], "uint32")
    seen = [words(got["words"]).tolist(), got["words"].dtype.name, got["implementation"]]
    expect_documented(
        "S0-36", seen, message="For key 42 the words should be [0, 42], and the implementation threefry2x32."
    )


@visible(
    describe_key,
    idea="`print(key)` shows `str(key)`: of a typed key also the dtype, of a legacy key the bare words.",
    reproduces=["S0-34"],
)
def prints_as_documented(answer):
    """The text is what `print` shows."""
    message = "It should be the text that `print(key)` shows for the key 42."
    expect_documented("S0-34", answer(jax.random.key(42))["printed"], message=message)
    legacy = jax.random.PRNGKey(42)
    printed = answer(legacy)["printed"]
    message = "It should be the text that `print(key)` shows for the legacy key 42."
    expect_that(isinstance(printed, str) and printed.strip() == str(legacy), message, printed, str(legacy))


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


# %% [markdown]
# ### The same seed, two libraries
#
# In both libraries the seed decides all numbers: the same seed again, the same numbers
# again. But the methods differ, so the numbers differ too. A NumPy program does not
# give its old results in JAX, not even with the same seed.

# %%
for _ in range(2):
    np.random.seed(0)
    print("NumPy:", np.random.uniform(size=3))
    print("JAX:  ", jax.random.uniform(jax.random.key(0), (3,)))


# %% exercise
@exercise(
    title="One seed, two libraries",
    points=1,
    reproduces=["S0-23", "S0-24"],
    hints=[
        "The starter calls its second array `from_jax`. Who drew those numbers?",
        "In JAX you pass a key: `jax.random.uniform(key, shape)`. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.uniform.html",
        "np.random.seed(seed)\nfrom_numpy = np.random.uniform(size=n)\n"
        "from_jax = jax.random.uniform(____, (n,))\nreturn from_numpy, from_jax",
        "# Like it: throw five dice with NumPy and five with JAX, from the same seed.\n"
        "def five_dice(seed):\n"
        "    np.random.seed(seed)  # sets the hidden state\n"
        "    with_numpy = np.random.randint(1, 7, size=5)\n"
        "    key = jax.random.key(seed)  # is the state, for JAX\n"
        "    return with_numpy, jax.random.randint(key, (5,), 1, 7)\n\n"
        "print(*five_dice(0))  # other dice: the two libraries have other rules",
    ],
)
def first_draws(seed, n):
    """Repair this: draw n uniform numbers with NumPy and n with JAX, both from the same seed.

    Args:
        seed: int, the seed, for NumPy's global generator and for a JAX key.
        n: int, how many numbers.

    Returns:
        A tuple: the first n numbers of `np.random.uniform`, float64[n], and n numbers of `jax.random.uniform` from
        the key of this seed, drawn in one call, float32[n].
    """
    np.random.seed(seed)
    from_numpy = np.random.uniform(size=n)
    from_jax = jnp.asarray(np.random.uniform(size=n))
    return from_numpy, from_jax


# %% check
@visible(first_draws, stage="shape")
def two_vectors_of_n_draws(answer):
    """The result is two vectors of n numbers."""
    for n in (3, 4):
        for part in parts(answer(3, n), 2):
            expect_shape(part, (n,))


@visible(first_draws, stage="dtype")
def numpy_float64_jax_float32(answer):
    """NumPy draws float64 numbers, JAX float32 numbers."""
    from_numpy, from_jax = parts(answer(3, 4), 2)
    expect_dtype(from_numpy, "float64")
    expect_dtype(from_jax, "float32")


@visible(first_draws, idea="The same seed gives the same stream again, in each library.", reproduces=["S0-23"])
def the_seed_decides_both_streams(answer):
    """Called again with the same seed, both parts are the same."""
    first, other, again = answer(3, 4), answer(4, 4), answer(3, 4)
    message = "Another seed should give other JAX numbers; yours are the same."
    expect_different(other[1], first[1], message, misconception="fixed_key")
    same = [np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(first, again, strict=True)]
    message = "Called again with the same seed, both parts should be the same; of yours one was not."
    expect_documented("S0-23", same, message=message, misconception="forgets_to_seed_numpy")


@visible(
    first_draws,
    idea="JAX's generator is another method than NumPy's, so the same seed gives other numbers.",
    reproduces=["S0-24"],
)
def the_libraries_disagree(answer):
    """NumPy's and JAX's numbers for one seed are not the same."""
    from_numpy, from_jax = parts(answer(0, 3), 2)
    same = bool(np.allclose(np.asarray(from_numpy), np.asarray(from_jax), atol=1e-6))
    expect_documented("S0-24", same, message="With seed 0, NumPy and JAX gave the same numbers.")


@visible(first_draws, idea="Seed NumPy with the seed, make the JAX key from the seed, and draw once from each.")
def both_parts_come_from_the_seed(answer, draw):
    """Each part is what its library draws first from this seed."""
    for seed in (0, draw.integer(1, 10_000)):
        from_numpy, from_jax = parts(answer(seed, 3), 2)
        expect_close(
            from_numpy, np.random.RandomState(seed).uniform(size=3), "The first part should be NumPy's first draws."
        )
        wanted = jax.random.uniform(jax.random.key(seed), (3,))
        expect_close(from_jax, wanted, "The second part should be what JAX draws from the key of this seed.")


# %% [markdown]
# ### Drawing from a key
#
# A random function *reads* its key. What happens if you give the same key to it again?


# %% exercise
@prediction(
    title="Predict: the second draw",
    points=1,
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
@reveal(predict_second_draw)
def compare_two_draws():
    """We drew twice from `jax.random.key(42)` and compared the two numbers."""
    key = jax.random.key(42)
    return bool(jax.random.normal(key) == jax.random.normal(key))


# %% [markdown]
# See for yourself. The key is not changed by its use, so the same key gives the same
# number, every time.

# %%
key = jax.random.key(42)
print(jax.random.normal(key))
print(jax.random.normal(key))
print("words after two draws:", jax.random.key_data(key))

# %% [markdown]
# ### Why older texts show other numbers
#
# Texts written before 2025 show `-0.18471177` here. Since JAX 0.5.0 the default is
# `jax_threefry_partitionable=True`: each number is computed from the key and its own
# position only, so that every device can make its part without asking the others. This
# changed the numbers once. It did not change the rules.
#
# Inside `with jax.threefry_partitionable(False):` you get the old numbers.

# %%
with jax.threefry_partitionable(False):
    print("before 0.5.0:", jax.random.normal(key))
print("today:       ", jax.random.normal(key))


# %% exercise
@exercise(
    title="Use a key twice",
    points=1,
    reproduces=["S0-37", "S0-38"],
    hints=[
        "Here the same number is wanted twice. Do you need a second key?",
        "Random functions read a key and do not change it. https://docs.jax.dev/en/latest/random-numbers.html",
        "first = jax.random.normal(key)\nsecond = ____\nreturn first, second, jax.random.key_data(key)",
        "# Like it: does a second throw of four dice with one key give other dice?\n"
        "def throw_again(key):\n"
        "    first_throw = jax.random.randint(key, (4,), 1, 7)\n"
        "    second_throw = jax.random.randint(key, (4,), 1, 7)\n"
        "    return (first_throw != second_throw).any()\n\n"
        "print(throw_again(jax.random.key(5)))  # False",
    ],
)
def use_key_twice(key):
    """Draw one normal number from the key, draw from the same key again, and read the key's words afterwards.

    Draw twice: do not give one number two times.

    Args:
        key: key<fry>[] or uint32[2].

    Returns:
        A tuple `(first, second, words)`: the two draws of `jax.random.normal`, float32[] each, and the words of the key
        after both draws, uint32[2].
    """
    ...


# %% check
@visible(use_key_twice, stage="shape")
def two_numbers_and_two_words(answer, draw):
    """The result is two numbers and two words."""
    first, second, after = parts(answer(draw.key()), 3)
    expect_shape(first, ())
    expect_shape(second, ())
    expect_shape(after, (2,))


@visible(use_key_twice, stage="dtype")
def draws_are_float32(answer, draw):
    """The draws are float32, the words are uint32."""
    first, second, after = parts(answer(draw.key()), 3)
    expect_dtype(first, "float32")
    expect_dtype(second, "float32")
    expect_dtype(after, "uint32")


@visible(
    use_key_twice,
    idea="One key, one number: the result depends on the key and on nothing else.",
    reproduces=["S0-38"],
)
def one_key_gives_one_number(answer):
    """From key 42, both draws are -0.0283 today, and -0.1847 with the setting before JAX 0.5.0."""
    key = jax.random.key(42)
    first, second, _ = parts(answer(key), 3)
    expect_equal(second, first, "Both draws should be the same number.")
    message = "Both should be the number that `jax.random.normal` gives for the key 42."
    expect_documented("S0-38", numbers([first, second]), part="today", message=message)
    before = numbers(parts(answer.documented_draws(key), 3)[:2])
    expect_documented("S0-38", before, part="documented", message=BEFORE)


@visible(
    use_key_twice,
    idea="A draw reads the key and leaves it as it was.",
    reproduces=["S0-37"],
)
def the_key_is_not_changed(answer):
    """The words of key 42 are 0 and 42, before and after."""
    seen = words(parts(answer(jax.random.key(42)), 3)[2]).tolist()
    expect_documented("S0-37", seen, message="The words should be those of the key 42.")


# %% [markdown]
# ### Reuse: the great mistake
#
# The same number twice is rarely what you want. It gets worse: *different* random
# functions start from the same bits too. Draw uniform and normal numbers from one key,
# and they rise and fall together.

# %%
key = jax.random.key(42)
uniform = jax.random.uniform(key, (2000,))
normal = jax.random.normal(key, (2000,))
print("correlation:", np.corrcoef(uniform, normal)[0, 1])

# %% [markdown]
# The rule: **never use a key twice** (unless you want the same numbers twice). You get
# new keys with `jax.random.split`. Part 3 is about it; here is the idea.

# %%
key_a, key_b = jax.random.split(key)
uniform = jax.random.uniform(key_a, (2000,))
normal = jax.random.normal(key_b, (2000,))
print("correlation:", np.corrcoef(uniform, normal)[0, 1])


# %% exercise
@exercise(
    title="Measure the harm of reuse",
    points=2,
    reproduces=["S0-39"],
    hints=[
        "How many keys does the second measurement need, and where do they come from?",
        "Reusing a key, even in different random functions, can give correlated numbers. "
        "https://docs.jax.dev/en/latest/random-numbers.html",
        "def correlation(key_u, key_z):\n    u = jax.random.uniform(key_u, (n,))\n"
        "    z = jax.random.normal(key_z, (n,))\n    return float(np.corrcoef(u, z)[0, 1])\n\n"
        "reused = correlation(key, key)\napart = correlation(____)\nreturn reused, apart",
        "# Like it: how often do two rows of coins agree, from one key and from two?\n"
        "def agreement(silver_key, gold_key):\n"
        "    silver = jax.random.bernoulli(silver_key, shape=(1000,))\n"
        "    gold = jax.random.bernoulli(gold_key, shape=(1000,))\n"
        "    return (silver == gold).mean()\n\n"
        "one_key, other_key = jax.random.split(jax.random.key(5))\n"
        "print(agreement(one_key, one_key))  # 1.0: the same coins\n"
        "print(agreement(one_key, other_key))  # near 0.5: independent coins",
    ],
)
def reuse_correlation(key, n):
    """Measure how uniform and normal draws go together, from one key and from two.

    Args:
        key: key<fry>[] or uint32[2].
        n: int, how many numbers to draw each time.

    Returns:
        A tuple `(reused, apart)` of two numbers, each the correlation of n draws of `jax.random.uniform` with n draws
        of `jax.random.normal`. For `reused` both draws use `key` itself; for `apart` they use two independent keys
        made from `key`.
    """
    ...


# %% check
@visible(reuse_correlation, stage="shape")
def two_correlations(answer, draw):
    """The result is two numbers."""
    for part in parts(answer(draw.key(), 50), 2):
        expect_shape(part, ())


@visible(reuse_correlation, idea="For `reused`, both random functions get the key itself.")
def reused_is_the_correlation_from_one_key(answer, draw):
    """`reused` is the correlation of the two draws from the key itself."""
    key = draw.key()
    reused = number(parts(answer(key, 200), 2)[0])
    wanted = float(np.corrcoef(jax.random.uniform(key, (200,)), jax.random.normal(key, (200,)))[0, 1])
    message = "`reused` should be the correlation of the two draws from `key`."
    expect_that(abs(reused - wanted) < 1e-3, message, reused, wanted)


@visible(
    reuse_correlation,
    idea="Draws from two independent keys have nothing to do with each other.",
)
def apart_is_near_zero(answer, draw):
    """From two keys, 2000 uniform and 2000 normal draws have almost no correlation."""
    # The correlation of 2000 independent pairs has standard deviation 0.022: 0.15 is 6.7 of them, chance 2e-11.
    apart = [number(parts(answer(draw.key(), 2000), 2)[1]) for _ in range(3)]
    near = max(map(abs, apart)) < 0.15
    expect_that(near, "`apart` should be near zero.", max(apart, key=abs), "less than 0.15 from zero")
    # Two correlations of float32 are equal by chance 1e-6 at most, three of them 1e-12.
    message = "`apart` should be another number for each key; yours is the same for three."
    expect_that(len(set(apart)) > 1, message, apart[0], "another number for each key")


@visible(reuse_correlation, idea="Reuse shows in the numbers.", reproduces=["S0-39"])
def reuse_shows_and_splitting_cures(answer):
    """From key 42, the correlation is 98 percent with one key, and near zero with two keys."""
    reused, apart = map(number, parts(answer(jax.random.key(42), 2000), 2))
    expect_that(bool(np.isfinite(reused)), "`reused` should be 0.98.", reused, "0.98")
    message = "For the key 42, `reused` should be 0.98, and `apart` near zero."
    expect_documented("S0-39", [round(100 * reused), abs(apart) < 0.15], message=message)


@visible(reuse_correlation, stage="keys", idea="`apart` needs two new keys, and neither of them is `key` itself.")
def apart_draws_from_two_new_keys(answer, draw):
    """`apart` is the correlation of uniform draws and normal draws from two new keys made from `key`."""
    for key in (draw.key(), draw.key()):
        apart, use = number(parts(answer(key, 50), 2)[1]), answer.key_use(key, 50)
        old = tuple(np.asarray(jax.random.key_data(key)).tolist())
        given_up = {use.bits for use in use.uses if use.kind in ("split", "fold_in")}
        drawn = dict.fromkeys(use.bits for use in use.uses if use.kind == "draw")
        new = [bits for bits in drawn if bits not in given_up and bits != old]
        message = "The draws for `apart` should come from two new keys."
        expect_that(len(new) >= 2, message, f"{len(new)} new keys drawn from", "2 new keys")
        rows = [jax.random.wrap_key_data(jnp.asarray(bits, dtype=jnp.uint32)) for bits in new]
        u, z = ([np.asarray(sample(row, (50,))) for row in rows] for sample in (jax.random.uniform, jax.random.normal))
        found = [np.corrcoef(u[i], z[j])[0, 1] for i in range(len(new)) for j in range(len(new)) if i != j]
        message = (
            "`apart` should be the correlation of `jax.random.uniform` from one new key with `normal` from another."
        )
        expect_that(min(abs(apart - one) for one in found) < 1e-3, message, apart, round(float(found[0]), 4))


# %% [markdown]
# ### JAX can look for reuse
#
# By default JAX says nothing when you use a key twice. Inside
# `with jax.debug_key_reuse(True):` it watches typed keys and raises an error at the
# second use.

# %%
with jax.debug_key_reuse(True):
    key = jax.random.key(0)
    print("first: ", jax.random.normal(key))
    try:
        print("second:", jax.random.uniform(key))
    except jax.errors.KeyReuseError as error:
        print("KeyReuseError:", str(error).splitlines()[0])

# %% [markdown]
# This is a help, not a proof. It is experimental, and it sees nothing of legacy keys:
# the next cell reuses a legacy key and no error comes. (`check` looks at the bits of
# every key itself, so it finds both.)

# %%
with jax.debug_key_reuse(True):
    key = jax.random.PRNGKey(0)
    print("first: ", jax.random.normal(key))
    print("second:", jax.random.uniform(key))


# %% exercise
def draw_twice(key):
    """Draw two numbers from one key: the mistake."""
    return jax.random.normal(key), jax.random.uniform(key)


def split_then_draw(key):
    """Draw two numbers from two keys."""
    key_a, key_b = jax.random.split(key)
    return jax.random.normal(key_a), jax.random.uniform(key_b)


def split_and_draw_from_parent(key):
    """Split a key and draw from it all the same: the mistake in another form."""
    key_a, _ = jax.random.split(key)
    return jax.random.normal(key_a), jax.random.uniform(key)


def fold_then_draw(key):
    """Fold two numbers into a key and draw from the two new keys."""
    return jax.random.normal(jax.random.fold_in(key, 0)), jax.random.uniform(jax.random.fold_in(key, 1))


def shuffle_then_draw(key):
    """Shuffle with a key and draw from it once more: the mistake again."""
    return jax.random.permutation(key, 5), jax.random.normal(key)


def fail_with_a_value_error(key):
    """Use a key once and fail for another reason."""
    raise ValueError(f"no good number: {jax.random.normal(key)}")


def fail_with_a_type_error(key):
    """Use a key once and fail for another reason."""
    return jax.random.normal(key) + "1"


@exercise(
    title="Catch a reuse",
    points=2,
    reproduces=["S0-40"],
    hints=[
        "What happens inside `with jax.debug_key_reuse(True):` when a key is used twice, and how do you notice it?",
        "The watcher raises `jax.errors.KeyReuseError`. https://docs.jax.dev/en/latest/jax.experimental.key_reuse.html",
        "with jax.debug_key_reuse(True):\n    try:\n        function(key)\n    except ____:\n        return True\n"
        "return False",
        "# Like it: does a function make a NaN? JAX has a watcher for that too.\n"
        "def makes_nan(function, x):\n"
        "    try:\n"
        "        with jax.debug_nans(True):\n"
        "            function(x)\n"
        "    except FloatingPointError:  # what this watcher raises\n"
        "        return True\n"
        "    return False\n\n"
        "print(makes_nan(jax.lax.log, 1.0), makes_nan(jax.lax.log, -1.0))  # False True",
    ],
)
def reuses_a_key(function, key):
    """Say whether JAX's own watcher finds a reused key in `function(key)`.

    Args:
        function: a function of one key.
        key: key<fry>[].

    Returns:
        A bool: True if `function(key)` raises `jax.errors.KeyReuseError` inside `jax.debug_key_reuse(True)`, False if
        it does not. If it raises another error, return False or let the error through.
    """
    ...


# %% check
def caught(answer, name, key):
    """Return what the student's function says of a function of the book, which must be a bool."""
    got = answer(given(name), key)
    if not isinstance(got, bool):
        expect_dtype(got, "bool", "Return True or False.")
    return bool(got)


@visible(reuses_a_key, stage="shape")
def says_true_or_false(answer, draw):
    """The result is True or False."""
    caught(answer, "split_then_draw", draw.key())


@visible(
    reuses_a_key,
    idea="Never use a key twice: the watcher raises an error at the second use, and only then.",
)
def splitting_first_is_no_reuse(answer, draw):
    """Splitting first and drawing from the two new keys is clean."""
    clean = not caught(answer, "split_then_draw", draw.key())
    expect_that(clean, "`split_then_draw` uses each key once, so it should be False.", "True", "False")


@visible(reuses_a_key, idea="The watcher works inside `with jax.debug_key_reuse(True):` only.", reproduces=["S0-40"])
def drawing_twice_is_reuse(answer, draw):
    """Drawing twice from one key is found, and splitting first is clean."""
    key = jax.random.key(42)
    seen = [caught(answer, name, key) for name in ("draw_twice", "split_then_draw")]
    message = "For `draw_twice` it should be True, and for `split_then_draw` False."
    expect_documented("S0-40", seen, message=message)


@visible(reuses_a_key, idea="`jax.errors.KeyReuseError` is the one error that means reuse.")
def other_errors_are_no_reuse(answer, draw):
    """A function that fails for another reason is not said to reuse a key, and neither is another clean one."""
    for name in ("fail_with_a_value_error", "fail_with_a_type_error"):
        seen = answer.observe_error(given(name), draw.key())
        said_true = seen.error is None and bool(np.asarray(seen.value))
        message = f"`{name}` uses its key once and fails for another reason, so it should not be True."
        expect_that(not said_true, message, "True", "False, or the error let through")
    clean = not caught(answer, "fold_then_draw", draw.key())
    expect_that(clean, "`fold_then_draw` uses each key once, so it should be False.", "True", "False")


# %% [markdown]
# ## Part 3. Split, then draw
#
# `jax.random.split(key)` makes two new keys from one. Draw from one of them, keep the
# other for later, and forget the old key. Here `del` only makes the point that a key is
# used up.

# %%
key = jax.random.key(42)
for i in range(3):
    new_key, subkey = jax.random.split(key)
    del key  # used up by split
    val = jax.random.normal(subkey)
    del subkey  # used up by normal
    print(f"draw {i}: {val}")
    key = new_key  # not used yet: safe for the next round

# %% [markdown]
# The usual short form gives the same numbers: the name `key` moves on to the new key,
# and the old key is gone.

# %%
key = jax.random.key(42)
for i in range(3):
    key, subkey = jax.random.split(key)
    print(f"draw {i}: {jax.random.normal(subkey)}")

# %% [markdown]
# Before JAX 0.5.0 these were `1.369469404220581`, `-0.19947023689746857` and
# `-2.298278331756592`.

# %%
with jax.threefry_partitionable(False):
    key = jax.random.key(42)
    for i in range(3):
        key, subkey = jax.random.split(key)
        print(f"draw {i}: {jax.random.normal(subkey)}")


# %% exercise
@exercise(
    title="Draws in a row",
    points=2,
    reproduces=["S0-41", "S0-42"],
    hints=[
        "After each draw, which of the two new keys is still unused?",
        "`key, subkey = jax.random.split(key)` drops the old key, keeps one new key and gives you one to use up. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.split.html",
        "draws = []\nfor _ in range(n):\n    key, subkey = ____\n    draws.append(jax.random.normal(subkey))\n"
        "return jnp.stack(draws)",
        "# Like it: throw a die until a six comes. How many throws does it take?\n"
        "def throws_until_six(key):\n"
        "    throws, face = 0, 0\n"
        "    while face != 6:\n"
        "        key, throw_key = jax.random.split(key)  # one to keep, one to use up\n"
        "        face = jax.random.randint(throw_key, (), 1, 7)\n"
        "        throws += 1\n"
        "    return throws\n\n"
        "print(throws_until_six(jax.random.key(1)))",
    ],
)
def draws_in_a_row(key, n):
    """Draw n normal numbers, one after the other, and split the key before each draw.

    In each round split the key into two. The first new key goes on to the next round, the second is used for one draw
    of `jax.random.normal`.

    Args:
        key: key<fry>[] or uint32[2].
        n: int, how many numbers; 1 or more.

    Returns:
        The draws in their order, float32[n].
    """
    ...


# %% check
def long_form(key, n):
    """Draw in a row as the documented example does, with `del`."""
    draws = []
    for _ in range(n):
        new_key, subkey = jax.random.split(key)
        del key
        draws.append(jax.random.normal(subkey))
        del subkey
        key = new_key  # noqa: F841 (the next round uses it)
    return np.stack(draws)


@visible(draws_in_a_row, stage="shape")
def one_number_for_each_draw(answer, draw):
    """The result is a vector of n numbers."""
    for n in (3, 5):
        expect_shape(answer(draw.key(), n), (n,))


@visible(draws_in_a_row, stage="dtype")
def draws_in_a_row_are_float32(answer, draw):
    """The draws are float32."""
    expect_dtype(answer(draw.key(), 2), "float32")


@visible(
    draws_in_a_row,
    kind="relation",
    idea="A key that does not move on gives the same number again.",
)
def every_draw_is_new(answer, draw):
    """All draws are different."""
    got = answer(draw.key(), 5)
    # Two of 10 pairs are equal by chance 45 * 2**-46.
    expect_that(len(repeated_places(got)) < 2, "All draws should be different.", got, "different numbers")


@visible(
    draws_in_a_row,
    idea="The first new key goes on, the second is used up by the draw.",
    reproduces=["S0-41"],
)
def three_draws_are_the_documented_ones(answer):
    """From key 42, the three draws are those printed above, today and with the setting before JAX 0.5.0."""
    key = jax.random.key(42)
    message = "From key 42 it should be the three draws printed above."
    expect_documented("S0-41", answer(key, 3), part="today", message=message)
    expect_documented("S0-41", answer.documented_draws(key, 3), part="documented", message=BEFORE)


@visible(draws_in_a_row, idea="`del` is for the reader; the numbers do not depend on it.", reproduces=["S0-42"])
def the_long_form_gives_the_same(answer):
    """The loop with `del` gives the same draws, today and with the setting before JAX 0.5.0."""
    key = jax.random.key(42)
    today = np.allclose(np.asarray(answer(key, 3)), long_form(key, 3), rtol=1e-5)
    with jax.threefry_partitionable(False):
        wanted = long_form(key, 3)
    before = np.allclose(np.asarray(answer.documented_draws(key, 3)), wanted, rtol=1e-5)
    message = "It should be the draws of the loop with `del`, printed above."
    expect_documented("S0-42", [bool(today), bool(before)], message=message)


@visible(draws_in_a_row, stage="keys", idea="Each key is used once: by one split or by one draw.")
def no_key_is_used_twice_in_a_row(answer, draw):
    """No key is used twice."""
    expect_no_key_problem(answer.key_use(draw.key(), 3))


# %% [markdown]
# ### What split gives you
#
# `split` is deterministic: the same key gives the same new keys. It is not a draw, it
# is a rule.

# %%
key = jax.random.key(42)
print(jax.random.key_data(jax.random.split(key)))
print(jax.random.key_data(jax.random.split(key)))

# %% [markdown]
# The old setting had other new keys, and they were deterministic too.

# %%
with jax.threefry_partitionable(False):
    print(jax.random.key_data(jax.random.split(key)))

# %% [markdown]
# No new key is better than another. Which one you call `key` and which `subkey` does
# not matter: they are independent and of equal standing. Here are 20000 numbers from
# each half.

# %%
half_a, half_b = (np.asarray(jax.random.normal(k, (20_000,))) for k in jax.random.split(key))
print(f"means: {half_a.mean():.3f}, {half_b.mean():.3f}")
print(f"standard deviations: {half_a.std():.3f}, {half_b.std():.3f}")
print(f"correlation: {np.corrcoef(half_a, half_b)[0, 1]:.3f}")

# %% [markdown]
# One split can make as many keys as you like. Python's `*` takes all the rest.

# %%
key = jax.random.key(42)
key, *forty_two_subkeys = jax.random.split(key, num=43)
print(len(forty_two_subkeys), "subkeys, the first:", jax.random.key_data(forty_two_subkeys[0]))


# %% exercise
@exercise(
    title="One key to keep, n to use",
    points=2,
    reproduces=["S0-43", "S0-44", "S0-45", "S0-46"],
    hints=[
        "How many new keys do you need in all?",
        "`jax.random.split(key, num)` makes any number of keys at once, and the old key is used up. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.split.html",
        "new_keys = jax.random.split(key, ____)\nreturn new_keys[0], new_keys[1:]",
        "# Like it: make keys for n training runs and two tests, in one go.\n"
        "def training_and_tests(key, n):\n"
        "    made = jax.random.split(key, n + 2)\n"
        "    return made[:-2], made[-2:]\n\n"
        "training, tests = training_and_tests(jax.random.key(0), 5)\n"
        "print(training.shape, tests.shape)  # (5,) (2,)",
    ],
)
def keep_one_key(key, n):
    """Split a key, in one go, into one key to keep and n keys to use.

    Make them with one call of `jax.random.split`. The first new key is the one to keep, the others follow in order.

    Args:
        key: key<fry>[] or uint32[2].
        n: int, how many keys to use; 1 or more.

    Returns:
        A tuple `(next_key, subkeys)`: one key of the same kind as `key`, and n such keys, as an array (key<fry>[n] or
        uint32[n,2]) or as a list.
    """
    ...


# %% check
@visible(keep_one_key, stage="shape", idea="One key to keep and n to use: n + 1 new keys.")
def one_key_and_n_keys(answer, draw):
    """The result is one key, and n keys."""
    next_key, subkeys = parts(answer(draw.key(), 3), 2)
    expect_shape(next_key, ())
    if not isinstance(subkeys, tuple | list):
        expect_shape(subkeys, (3,))
    expect_that(len(subkeys) == 3, "There should be 3 subkeys.", subkeys, "3 keys")
    expect_that(words(subkeys).shape == (3, 2), "The subkeys should be 3 keys.", subkeys, "3 keys")


@visible(
    keep_one_key,
    idea="An old key that was split is used up: keep a new one.",
    reproduces=["S0-43", "S0-46"],
)
def all_keys_are_new_and_different(answer):
    """Key 42 gives 1 + 42 new keys, no two of them equal, and the same ones every time."""
    key = jax.random.key(42)
    next_key, subkeys = parts(answer(key, 42), 2)
    made = [tuple(row) for row in [words(next_key).tolist(), *words(subkeys).tolist()]]
    message = "The old key, which is used up, should not be among the new ones."
    expect_that((0, 42) not in made, message, "the key [0 42]", "new keys", misconception="keeps_the_old_key")
    message = f"All {len(made)} keys should be different; of yours {len(set(made))} are."
    different = len(set(made)) == len(made)
    expect_that(different, message, len(set(made)), len(made), misconception="the_same_subkey_n_times")
    again = parts(answer(key, 42), 2)
    same = np.array_equal(words(again[0]), words(next_key)) and np.array_equal(words(again[1]), words(subkeys))
    message = "It should be 42 subkeys and one key to keep, all different."
    expect_documented("S0-46", [len(made) - 1, len(set(made)), "key<fry>", list(next_key.shape)], message=message)
    message = "Called again with the same key, the new keys should be the same."
    expect_documented("S0-43", [bool(same), len(set(made)) == len(made)], message=message)


@visible(keep_one_key, idea="The short form `key, subkey = jax.random.split(key)`.", reproduces=["S0-45"])
def short_form_gives_the_documented_keys(answer):
    """For n = 1, key 42 gives the two keys printed above, today and with the setting before JAX 0.5.0."""
    key = jax.random.key(42)
    for part, subject in (("today", answer), ("documented", answer.documented_draws)):
        next_key, subkeys = parts(subject(key, 1), 2)
        message = "It should be the keys of `jax.random.split(key)`." if part == "today" else BEFORE
        seen = [words(next_key).tolist(), words(subkeys)[0].tolist()]
        expect_documented("S0-45", seen, part=part, message=message)


@visible(keep_one_key, idea="All new keys are of equal standing.", reproduces=["S0-44"])
def both_halves_are_equally_good(answer):
    """Draws from both new keys of key 42 have mean 0 and standard deviation 1, and no correlation."""
    next_key, subkeys = parts(answer(jax.random.key(42), 1), 2)
    rows = [jax.random.wrap_key_data(jnp.asarray(w)) for w in (words(next_key), words(subkeys)[0])]
    a, b = (np.asarray(jax.random.normal(row, (20_000,)), dtype=np.float64) for row in rows)
    # In tenths: with 20000 draws the correlation and the means have standard deviation 0.007.
    tenths = [round(10 * np.corrcoef(a, b)[0, 1]), [round(10 * x.mean()) for x in (a, b)]]
    seen = [*tenths, [round(10 * x.std()) for x in (a, b)]]
    message = "Draws from the two new keys of key 42 should be standard normal, and not go together."
    expect_documented("S0-44", seen, message=message)


@visible(keep_one_key, stage="keys", idea="Each key is used once, also by split.")
def the_old_key_is_split_once(answer, draw):
    """The old key is used once, by one call of split."""
    use = answer.key_use(draw.key(), 3)
    expect_no_key_problem(use)
    splits = sum(one.kind == "split" for one in use.uses)
    expect_that(splits == 1, "All keys should come from one call of `jax.random.split`.", f"{splits} calls", "1 call")


# %% [markdown]
# ### No sequential equivalence in JAX
#
# Remember NumPy: three single draws equal one draw of three. In JAX they do not, and
# nobody promises it.

# %%
key = jax.random.key(42)
subkeys = jax.random.split(key, 3)
print("individually:", np.stack([jax.random.normal(subkey) for subkey in subkeys]))
key = jax.random.key(42)
print("all at once: ", jax.random.normal(key, shape=(3,)))

# %% [markdown]
# To keep NumPy's promise, number 3 would have to wait for number 2. Without it, JAX
# computes all of them at the same time. Before 0.5.0 the numbers were others, and the
# two lines differed in the same way.

# %%
with jax.threefry_partitionable(False):
    subkeys = jax.random.split(key, 3)
    print("individually:", np.stack([jax.random.normal(subkey) for subkey in subkeys]))
    print("all at once: ", jax.random.normal(key, shape=(3,)))


# %% exercise
@exercise(
    title="Three draws, or a draw of three",
    points=1,
    reproduces=["S0-47"],
    hints=[
        "How many keys does each of the two ways use?",
        "In JAX, draws from n subkeys and one draw of shape (n,) are different numbers. "
        "https://docs.jax.dev/en/latest/random-numbers.html#lack-of-sequential-equivalence",
        "subkeys = jax.random.split(key, n)\nindividually = jnp.stack([____ for subkey in subkeys])\n"
        "return individually, jax.random.normal(key, (n,))",
        "# Like it: a random table, from a key for each row, and from one key.\n"
        "def tables(key, n):\n"
        "    row_keys = jax.random.split(key, n)\n"
        "    rows = [jax.random.uniform(row_key, (2,)) for row_key in row_keys]\n"
        "    return jnp.stack(rows), jax.random.uniform(key, (n, 2))\n\n"
        "by_row, at_once = tables(jax.random.key(0), 3)\n"
        "print(by_row)\n"
        "print(at_once)  # other numbers",
    ],
)
def individually_and_at_once(key, n):
    """Draw n normal numbers from n subkeys, and n numbers in one draw from the key itself.

    Here, to compare, `key` is used for both on purpose.

    Args:
        key: key<fry>[] or uint32[2].
        n: int, how many numbers.

    Returns:
        A tuple of two arrays, float32[n] each. The first: split `key` into n subkeys, and draw one number with
        `jax.random.normal` from each, in their order. The second: one draw of shape (n,) from `key`.
    """
    ...


# %% check
@visible(individually_and_at_once, stage="shape")
def two_vectors_of_length_n(answer, draw):
    """The result is two vectors of n numbers."""
    for n in (3, 4):
        for part in parts(answer(draw.key(), n), 2):
            expect_shape(part, (n,))


@visible(individually_and_at_once, stage="dtype")
def both_vectors_are_float32(answer, draw):
    """The draws are float32."""
    for part in answer(draw.key(), 4):
        expect_dtype(part, "float32")


@visible(
    individually_and_at_once,
    kind="relation",
    idea="Each subkey has its own number; the key itself has other numbers.",
)
def the_two_ways_differ(answer, draw):
    """The two ways give different numbers."""
    individually, at_once = parts(answer(draw.key(), 4), 2)
    message = "The single draws should be different numbers; yours are all the same."
    same = all_equal(individually) and all_equal(parts(answer(draw.key(), 4), 2)[0])
    expect_that(not same, message, individually, "different numbers", misconception="one_key_for_all_single_draws")
    expect_different(individually, at_once, "The two ways should give different numbers; yours are the same.")


@visible(individually_and_at_once, idea="n subkeys for n draws; one key for one draw.", reproduces=["S0-47"])
def both_ways_are_the_documented_ones(answer):
    """From key 42, both vectors are those printed above, today and with the setting before JAX 0.5.0."""
    key = jax.random.key(42)
    message = "From key 42 it should be the two vectors printed above."
    expect_documented("S0-47", answer(key, 3), part="today", message=message)
    expect_documented("S0-47", answer.documented_draws(key, 3), part="documented", message=BEFORE)


# %% [markdown]
# ### Many keys at once
#
# What `split` returns is an array of keys. `jax.vmap(f)` is `f` for all elements of an
# array at once: one vectorised operation instead of a loop. Its numbers are exactly
# those of the loop.

# %%
subkeys = jax.random.split(jax.random.key(42), 3)
print("vectorized:", jax.vmap(jax.random.normal)(subkeys))
with jax.threefry_partitionable(False):
    print("before 0.5.0:", jax.vmap(jax.random.normal)(jax.random.split(jax.random.key(42), 3)))

# %% [markdown]
# This is what keys buy: the same numbers one by one, in one vectorised operation, or
# compiled.

# %%
print("one by one:", np.stack([jax.random.normal(subkey) for subkey in subkeys]))
print("vmap:      ", jax.vmap(jax.random.normal)(subkeys))
print("jit:       ", jax.jit(jax.vmap(jax.random.normal))(subkeys))

# %% [markdown]
# The mapped function may draw more than one number from each key. What shape comes out
# then? (Python's `partial(f, shape=(2,))` is the function `f` with `shape=(2,)` already
# filled in.)


# %% exercise
@prediction(
    title="Predict: the shape",
    points=1,
    hints=[
        "What does the function give for one key? Where does `vmap` put the axis of the keys?",
        "`vmap` adds one axis, in front. https://docs.jax.dev/en/latest/automatic-vectorization.html",
        "return (____, ____)",
    ],
)
def predict_shape():
    """What is the shape of `jax.vmap(partial(jax.random.normal, shape=(2,)))(jax.random.split(key, 3))`?

    Returns:
        A tuple of ints.
    """
    ...


# %% check
@reveal(predict_shape)
def shape_of_mapped_draws():
    """We ran it with `key = jax.random.key(42)` and took the shape."""
    keys = jax.random.split(jax.random.key(42), 3)
    return jax.vmap(partial(jax.random.normal, shape=(2,)))(keys).shape


# %% exercise
@exercise(
    title="One draw for each key",
    points=2,
    reproduces=["S0-31", "S0-48"],
    hints=[
        "You have a function of one key. What makes a function of many keys out of it?",
        "`jax.vmap(f)` maps `f` over the first axis of its argument. "
        "https://docs.jax.dev/en/latest/automatic-vectorization.html",
        "return jax.vmap(____)(keys)",
        "# Like it: the larger of two random numbers for each key, all keys at once.\n"
        "def larger_of_two(key):\n"
        "    return jax.random.uniform(key, (2,)).max()\n\n"
        "five_keys = jax.random.split(jax.random.key(0), 5)\n"
        "print(jax.vmap(larger_of_two)(five_keys))  # five numbers",
    ],
)
def draw_per_key(keys):
    """Draw one normal number from each key, in one vectorised operation: without a Python loop.

    It must also work under `jax.jit`.

    Args:
        keys: key<fry>[n] or uint32[n,2].

    Returns:
        float32[n]: number i is `jax.random.normal(keys[i])`.
    """
    ...


# %% check
@visible(draw_per_key, stage="shape")
def one_number_for_each_key(answer, draw):
    """There is one number for each key."""
    for n in (3, 4):
        expect_shape(answer(draw.keys(n)), (n,))


@visible(draw_per_key, stage="dtype")
def numbers_are_float32(answer, draw):
    """The numbers are float32."""
    expect_dtype(answer(draw.keys(4)), "float32")


@visible(
    draw_per_key,
    idea="Each number belongs to one key.",
    reproduces=["S0-48"],
)
def numbers_are_those_of_the_loop(answer):
    """For the three subkeys of key 42 the numbers are those printed above, today and with the setting before 0.5.0."""
    subkeys = jax.random.split(jax.random.key(42), 3)
    message = "For the three subkeys of key 42 it should be the numbers printed above."
    expect_documented("S0-48", answer(subkeys), part="today", message=message)
    with jax.threefry_partitionable(False):
        subkeys = jax.random.split(jax.random.key(42), 3)
    expect_documented("S0-48", answer.documented_draws(subkeys), part="documented", message=BEFORE)


@visible(draw_per_key, stage="jit", kind="value", idea="Keys make all three true at once.", reproduces=["S0-31"])
def reproducible_compiled_and_vectorised(answer, draw):
    """The numbers are the same again, the same under `jit`, and the same one key at a time."""
    keys = draw.keys(4)
    got = np.asarray(answer(keys))
    each = [float(np.asarray(answer(keys[i : i + 1]))[0]) for i in range(4)]
    ways = (answer(keys), answer.jit(keys), each)
    same = [bool(np.allclose(got, np.asarray(way), rtol=1e-5, atol=1e-6)) for way in ways]
    message = "The numbers should be the same when called again, under `jax.jit`, and for one key at a time."
    expect_documented("S0-31", same, message=message)


@visible(
    draw_per_key,
    stage="cost",
    idea="A vectorised operation is one operation for any number of keys; a Python loop writes one for each key.",
    required=True,
)
def the_program_does_not_grow_with_the_keys(answer, draw):
    """The program is as long for 64 keys as for 4."""
    short, long = answer.program(draw.keys(4)).equations, answer.program(draw.keys(64)).equations
    message = "The program should be as long for 64 keys as for 4; yours grows with the keys."
    # A loop adds several equations for each of the 60 more, a scan in parallel (`associative_scan`) some in all.
    expect_that(long < short + 60, message, f"{long} equations for 64 keys", f"{short}, as for 4 keys")


# %% [markdown]
# ### One more thing about today's default
#
# This is not in the older texts. You draw two numbers from a key, and three numbers
# from the same key. What comes out?


# %% exercise
@prediction(
    title="Predict: a longer draw",
    points=1,
    hints=[
        "In today's default each number is computed from the key and its position. What differs between the two draws?",
        "The section on `jax_threefry_partitionable` above tells what each number is computed from. "
        "https://docs.jax.dev/en/latest/jep/263-prng.html",
        "# A smaller case: number i is rule(key, i).\n# a draw of one:  [rule(key, 0)]\n"
        "# a draw of two:  [____, rule(key, 1)]\nreturn ____  # True or False",
    ],
)
def predict_prefix():
    """Are the two numbers of `jax.random.normal(key, (2,))` also the first two of `jax.random.normal(key, (3,))`?

    Returns:
        True or False.
    """
    ...


# %% check
@reveal(predict_prefix)
def compare_with_the_longer_draw():
    """We drew two and three numbers from `jax.random.key(42)` and compared the first two."""
    key = jax.random.key(42)
    return bool((jax.random.normal(key, (2,)) == jax.random.normal(key, (3,))[:2]).all())


# %% [markdown]
# Today a longer draw begins with the shorter one. Before 0.5.0 it did not. So another
# *shape* does not make another draw: for other numbers you need another key.

# %%
key = jax.random.key(42)
print("today:       ", jax.random.normal(key, (2,)), jax.random.normal(key, (3,)))
with jax.threefry_partitionable(False):
    print("before 0.5.0:", jax.random.normal(key, (2,)), jax.random.normal(key, (3,)))

# %% [markdown]
# ## Part 4. Random programs
#
# Now you write code of the kind that real projects have. Often many answers are right:
# any way to make independent keys will do. So `check` looks at what must hold: the same
# key gives the same result, another key gives another result, and no key is used twice.


# %% exercise
@exercise(
    title="Two independent samples",
    points=2,
    hints=[
        "How many draws are there? How many keys do you have?",
        "Split first; then draw only from the new keys. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.split.html",
        "key_a, key_b = ____\nreturn jax.random.normal(key_a, (n,)), jax.random.normal(key_b, (m,))",
        "# Like it: throw a dart. Its angle says nothing about its distance.\n"
        "def throw_dart(key):\n"
        "    angle_key, distance_key = jax.random.split(key)\n"
        "    angle = jax.random.uniform(angle_key, maxval=360)\n"
        "    return angle, jax.random.exponential(distance_key)\n\n"
        "print(*throw_dart(jax.random.key(2)))",
    ],
)
def two_samples(key, n, m):
    """Draw two samples of the standard normal distribution that have nothing to do with each other.

    The same key gives the same samples; another key gives other samples. This holds for all sizes, equal or not. No
    key is used twice: not for two draws, not for a split and a draw, and not for both `split` and `fold_in` (below).

    Args:
        key: key<fry>[] or uint32[2].
        n, m: ints, the sizes of the two samples; 1 or more.

    Returns:
        A tuple of two arrays: float32[n] and float32[m].
    """
    ...


# %% check
@visible(two_samples, stage="shape")
def samples_have_sizes_n_and_m(answer, draw):
    """The samples have the sizes n and m."""
    for n, m in ((3, 5), (4, 4)):
        a, b = parts(answer(draw.key(), n, m), 2)
        expect_shape(a, (n,))
        expect_shape(b, (m,))


@visible(two_samples, stage="dtype")
def samples_are_float32(answer, draw):
    """The samples are float32."""
    for part in answer(draw.key(), 3, 5):
        expect_dtype(part, "float32")


@visible(
    two_samples,
    kind="relation",
    required=True,
    idea="All randomness comes from the key: the same key gives the same result.",
)
def same_key_same_samples(answer, draw):
    """The same key gives the same samples again."""
    key = draw.key()
    expect_equal(answer(key, 3, 5), answer(key, 3, 5), "The same key should give the same samples; yours were others.")


@visible(
    two_samples,
    kind="relation",
    required=True,
    idea="All randomness comes from the key: a seed inside the function would give the same numbers for every key.",
)
def other_key_other_samples(answer, draw):
    """Another key gives other samples."""
    first, second = answer(draw.key(), 3, 5), answer(draw.key(), 3, 5)
    for a, b in zip(first, second, strict=True):
        expect_different(a, b, "Another key should give another sample; yours is the same.")


@visible(
    two_samples,
    kind="relation",
    required=True,
    idea="Another shape is not another key: the longer draw begins with the shorter one.",
)
def neither_sample_begins_with_the_other(answer, draw):
    """The longer sample does not begin with the shorter one."""
    a, b = parts(answer(draw.key(), 3, 5), 2)
    expect_different(a, np.asarray(b)[:3], "The samples should differ; your second one begins with the first.")


@visible(
    two_samples,
    kind="relation",
    required=True,
    idea="The sizes do not tell the samples apart: they may be equal.",
)
def samples_of_equal_size_differ(answer, draw):
    """Two samples of equal size are different."""
    a, b = parts(answer(draw.key(), 4, 4), 2)
    expect_different(a, b, "The two samples should differ; yours are the same numbers.")


@visible(
    two_samples,
    kind="relation",
    required=True,
    idea="Two independent samples share no number, whatever their sizes.",
)
def no_number_is_in_both(answer, draw):
    """No number of the first sample is also in the second, for sizes of all kinds."""
    for n, m in ((4, 4), (3, 4), (4, 3), (2, 4), (4, 2), (103, 3), (1003, 3)):
        # At most 3009 places, each the same for two keys by chance 2**-46: 4e-11.
        pairs = [parts(answer(draw.key(), n, m), 2) for _ in range(2)]
        message = f"With n = {n} and m = {m}, no number should be in both samples; of yours some are."
        expect_that(not shared_places(pairs), message, pairs[-1][1], "numbers of its own")


@visible(
    two_samples,
    kind="relation",
    required=True,
    idea="`jax.random.normal` draws standard normal numbers.",
)
def samples_look_standard_normal(answer, draw):
    """Samples of 400 and 300 numbers have mean 0 and standard deviation 1."""
    for part in parts(answer(draw.key(), 400, 300), 2):
        expect_standard_normal(part)


@visible(
    two_samples,
    stage="keys",
    idea="Each key serves once: for one draw, for one split, or for `fold_in` with different numbers.",
    required=True,
)
def each_key_is_used_once(answer, draw):
    """No key is used twice."""
    expect_no_key_problem(answer.key_use(draw.key(), 3, 5))


# %% [markdown]
# ### A walk in a loop
#
# `jax.lax.scan(step, start, xs)` is a compiled loop. In each round, `step` gets the
# *carry* (what the round before handed on) and one element of `xs`. It returns the new
# carry and one output. Here it adds up numbers.


# %%
def add(total, x):
    """Add one number to the carry, and put the sum out."""
    return total + x, total + x


last, sums = jax.lax.scan(add, 0.0, jnp.array([1.0, 2.0, 3.0]))
print("last carry:", last, " outputs:", sums)

# %% [markdown]
# JAX runs the Python code of `step` only once, to learn what it does. So a key from
# outside is the *same* key in every round. A key must travel with the loop: in the
# carry, or as one key for each round in `xs`.

# %%
key = jax.random.key(0)
_, outputs = jax.lax.scan(lambda carry, x: (carry, jax.random.normal(key)), 0.0, jnp.arange(3))
print(outputs)


# %% exercise
@exercise(
    title="A random walk",
    points=3,
    hints=[
        "Which key does the body use in round 1, and which in round 2?",
        "What must change from round to round belongs into the carry, or into the scanned inputs. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html",
        "def step(carry, size):\n    position, key = carry\n    key, subkey = ____\n"
        "    position = position + size * jax.random.normal(subkey)\n    return (position, key), position\n\n"
        "_, path = jax.lax.scan(step, (0.0, key), step_sizes)\nreturn path",
        "# Like it: a player wins or loses a coin each round. Scan goes over the keys.\n"
        "def play(key, rounds):\n"
        "    def one_round(coins, round_key):\n"
        "        won = jax.random.bernoulli(round_key)\n"
        "        coins = coins + jnp.where(won, 1, -1)\n"
        "        return coins, coins\n\n"
        "    round_keys = jax.random.split(key, rounds)\n"
        "    return jax.lax.scan(one_round, 10, round_keys)[1]\n\n"
        "print(play(jax.random.key(0), 6))  # up or down by one, six times",
    ],
)
def random_walk(key, step_sizes):
    """Repair this walk, which always goes on in the direction of its first step.

    Position t is position t - 1 plus `step_sizes[t]` times a standard normal number; the walk starts at 0. The normal
    numbers come from the key only and are independent from step to step. The program must not grow with the number of
    steps: no Python loop. It must also work under `jax.jit`.

    Args:
        key: key<fry>[] or uint32[2].
        step_sizes: float32[n].

    Returns:
        The n positions after each step, float32[n].
    """

    def step(position, size):
        position = position + size * jax.random.normal(key)
        return position, position

    _, path = jax.lax.scan(step, 0.0, step_sizes)
    return path


# %% check
def noise_behind(path):
    """Return the normal numbers behind a walk with steps of size one: its differences."""
    return np.diff(np.asarray(path, dtype=np.float64), prepend=0.0)


@visible(random_walk, stage="shape")
def one_position_for_each_step(answer, draw):
    """There is one position for each step."""
    for n in (4, 5):
        expect_shape(answer(draw.key(), draw.floats(n)), (n,))


@visible(random_walk, stage="dtype")
def positions_are_float32(answer, draw):
    """The positions are float32."""
    expect_dtype(answer(draw.key(), draw.floats(4)), "float32")


@visible(
    random_walk,
    kind="relation",
    required=True,
    idea="Each step needs a key of its own: carried along from round to round, or one key for each step.",
)
def every_step_is_new(answer, draw):
    """Every step has a normal number of its own."""
    noise = noise_behind(answer(draw.key(), jnp.ones(5)))
    # Two of 10 pairs are that near by chance (10 * 6e-7)**2 / 2 = 2e-11.
    different = len(repeated_places(noise, gap=1e-6)) < 2
    expect_that(
        different,
        "Each step should have a normal number of its own; of yours some are equal.",
        noise,
        "five different numbers",
    )


@visible(random_walk, idea="Each position is the one before it plus a step.")
def steps_add_up(answer, draw):
    """Each position is the position before it plus the step size times the normal number."""
    key, sizes = draw.key(), draw.floats(5)
    noise = noise_behind(answer(key, jnp.ones(5)))
    wanted = np.cumsum(np.asarray(sizes) * noise).astype(np.float32)
    expect_close(
        answer(key, sizes),
        wanted,
        "Each position should be the one before plus the step size times the normal number.",
        rtol=1e-4,
        atol=1e-4,
    )


@visible(
    random_walk,
    kind="relation",
    required=True,
    idea="All randomness comes from the key.",
)
def same_key_same_walk_other_key_other_walk(answer, draw):
    """The same key gives the same walk, and another key gives another walk."""
    key, other, sizes = draw.key(), draw.key(), draw.floats(4)
    path = answer(key, sizes)
    expect_equal(answer(key, sizes), path, "The same key should give the same walk; yours was another.")
    expect_different(path, answer(other, sizes), "Another key should give another walk; yours is the same.")


@visible(
    random_walk,
    kind="relation",
    required=True,
    idea="`jax.random.normal` draws standard normal numbers.",
)
def numbers_behind_the_walk_are_standard_normal(answer, draw):
    """The numbers behind a walk of 300 steps have mean 0 and standard deviation 1."""
    expect_standard_normal(noise_behind(answer(draw.key(), jnp.ones(300))))


@visible(random_walk, stage="jit", idea="A function of keys and arrays can be compiled.")
def walks_the_same_under_jit(answer, draw):
    """Under `jax.jit` it gives the same walk."""
    key, sizes = draw.key(), draw.floats(4)
    expect_close(answer.jit(key, sizes), answer(key, sizes), rtol=1e-4, atol=1e-5)


@visible(
    random_walk,
    stage="keys",
    idea="In each round, a key is either split or drawn from, not both.",
    required=True,
)
def no_key_serves_two_rounds(answer, draw):
    """No key is used twice, in one round or in two."""
    expect_no_key_problem(answer.key_use(draw.key(), draw.floats(4)))


@visible(
    random_walk,
    stage="cost",
    idea="A scan is one operation for any number of rounds; a Python loop is written out round by round.",
)
def the_program_does_not_grow_with_the_steps(answer, draw):
    """The program is as long for 64 steps as for 4."""
    key = draw.key()
    short, long = (answer.program(key, draw.floats(n)).equations for n in (4, 64))
    message = "The program should be as long for 64 steps as for 4; yours grows with the steps."
    # A loop adds several equations for each of the 60 more, a scan in parallel (`associative_scan`) some in all.
    expect_that(long < short + 60, message, f"{long} equations for 64 steps", f"{short}, as for 4 steps")


# %% [markdown]
# ### A network of layers
#
# The start values of a network are random, and every layer needs a key of its own. With
# one key for all, a bigger layer begins with the numbers of a smaller one.

# %%
key = jax.random.key(0)
print("layer (2, 2):", jax.random.normal(key, (2, 2)).ravel())
print("layer (2, 3):", jax.random.normal(key, (2, 3)).ravel())


# %% exercise
@exercise(
    title="Start values for layers",
    points=2,
    hints=[
        "How many layers are there, and how many keys do you need? What if two layers have the same shape?",
        "One key for each layer: `jax.random.split(key, len(shapes))`. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.split.html",
        "keys = jax.random.split(key, len(shapes))\nreturn {\n"
        "    name: jax.random.normal(____, shape) / jnp.sqrt(shape[0])\n"
        "    for layer_key, (name, shape) in zip(keys, shapes.items())\n}",
        "# Like it: throw some dice for each player, with a key for each player.\n"
        "def throw_all(key, counts):\n"
        "    thrown = {}\n"
        "    for player, count in counts.items():\n"
        "        key, player_key = jax.random.split(key)\n"
        "        thrown[player] = jax.random.randint(player_key, (count,), 1, 7)\n"
        "    return thrown\n\n"
        'print(throw_all(jax.random.key(3), {"Ada": 4, "Ben": 4}))',
    ],
)
def init_layers(key, shapes):
    """Draw the start values of all layers of a network.

    The values of a layer of shape (rows, columns) are independent normal numbers with mean 0 and standard deviation
    1 / sqrt(rows). All layers are independent of each other, whatever their names and shapes. No key is used twice. The
    same key gives the same layers, in every run of Python (`hash(name)` would not: it changes from run to run).

    Args:
        key: key<fry>[] or uint32[2].
        shapes: a dict from the layer's name to its shape `(rows, columns)`, a tuple of two ints.

    Returns:
        A dict with the same names: for each one float32[rows,columns].
    """
    ...


# %% check
WIDE = {"wide": (64, 25)}
# The layers of one shape also have names of one length, with the same letters and the same first letter.
NETWORK = {"first": (5, 7), "hidden_12": (7, 7), "hidden_21": (7, 7), "last": (7, 3)}


def unscaled(layers):
    """Return the normal numbers behind the layers: name -> float64[rows * columns]."""
    arrays = {name: np.asarray(layer, dtype=np.float64) for name, layer in layers.items()}
    return {name: (array * np.sqrt(array.shape[0])).ravel() for name, array in arrays.items()}


def begin_alike(a, b):
    """Return whether one list of numbers begins with the other."""
    n = min(len(a), len(b))
    return np.allclose(a[:n], b[:n], rtol=1e-4, atol=1e-6)


@visible(init_layers, stage="shape")
def layers_have_their_names_and_shapes(answer, draw):
    """Each layer has its name and its shape."""
    for shapes in (WIDE, NETWORK):
        got = answer(draw.key(), shapes)
        if not isinstance(got, dict):
            expect_shape(got, (), "Return a dict.")
        same_names = isinstance(got, dict) and set(got) == set(shapes)
        expect_that(same_names, "The names should be those of `shapes`.", got, list(shapes))
        for name, shape in shapes.items():
            expect_shape(got[name], shape)


@visible(init_layers, stage="dtype")
def layers_are_float32(answer, draw):
    """The values are float32."""
    for layer in answer(draw.key(), NETWORK).values():
        expect_dtype(layer, "float32")


@visible(
    init_layers,
    kind="relation",
    required=True,
    idea="Another shape is not another key: the bigger layer would begin with the numbers of the smaller one.",
)
def layers_of_other_shape_are_unrelated(answer, draw):
    """No layer begins with the numbers of a layer of another shape."""
    layers = unscaled(answer(draw.key(), NETWORK))
    for a, b in (("first", "hidden_12"), ("first", "last"), ("hidden_12", "last"), ("hidden_21", "last")):
        message = f"The layers `{a}` and `{b}` should not begin with the same numbers (apart from the scale)."
        expect_that(not begin_alike(layers[a], layers[b]), message, layers[b][:3], "other numbers")


@visible(
    init_layers,
    kind="relation",
    required=True,
    idea="Each layer needs a key of its own, whatever its shape and its name.",
)
def layers_of_equal_shape_differ(answer, draw):
    """Two layers of the same shape are different."""
    got = answer(draw.key(), NETWORK)
    message = "The layers `hidden_12` and `hidden_21` should differ; yours hold the same numbers."
    expect_different(got["hidden_12"], got["hidden_21"], message)


@visible(
    init_layers,
    kind="relation",
    required=True,
    idea="All randomness comes from the key.",
)
def same_key_same_layers_other_key_other_layers(answer, draw):
    """The same key gives the same layers, and another key gives other layers."""
    key, other = draw.key(), draw.key()
    first, again, second = answer(key, NETWORK), answer(key, NETWORK), answer(other, NETWORK)
    expect_equal(again, first, "The same key should give the same layers; yours were others.")
    expect_different(second["first"], first["first"], "Another key should give another layer; yours is the same.")


@visible(
    init_layers,
    idea="The standard deviation of a layer with r rows is 1 / sqrt(r).",
)
def values_spread_as_they_should(answer, draw):
    """The standard deviation is 1 / sqrt(rows), and the mean is 0."""
    rows, _ = WIDE["wide"]
    layer = np.asarray(answer(draw.key(), WIDE)["wide"], dtype=np.float64) * np.sqrt(rows)
    # 1600 numbers: the spread has standard deviation 0.018, the mean 0.025. Both bounds are 7 of them: chance 5e-12.
    got, wanted = f"standard deviation {layer.std() / np.sqrt(rows):.3f}", f"{1 / np.sqrt(rows):.3f}"
    near = "no_scaling" if layer.std() > rows**0.5 / 2 else "scaled_by_the_columns"
    message = "The 1600 values of the layer should have the standard deviation 1 / sqrt(rows)."
    expect_that(abs(layer.std() - 1) < 0.125, message, got, wanted, misconception=near)
    message = "The 1600 values of the layer should have a mean near 0."
    expect_that(abs(layer.mean()) < 0.175, message, f"{layer.mean() / np.sqrt(rows):.3f}", "0")


@visible(
    init_layers,
    idea="`jax.random.normal` has no bounds: a few numbers are far from zero.",
)
def values_are_normal_numbers(answer, draw):
    """Some values are more than 2.35 standard deviations from zero, as normal numbers are."""
    layer = unscaled(answer(draw.key(), WIDE))["wide"]
    # 1.88 percent of normal numbers are: none of 1600 by chance 7e-14. Uniform numbers end at 1.73.
    message = "Of 1600 normal numbers some should be far from zero."
    farthest = float(np.abs(layer).max())
    expect_that(farthest > 2.35, message, f"{farthest:.2f} standard deviations at most", "more than 2.35")


@visible(
    init_layers,
    stage="keys",
    idea="A key is either split or drawn from, not both.",
)
def each_layer_has_its_own_key(answer, draw):
    """No key is used twice."""
    expect_no_key_problem(answer.key_use(draw.key(), NETWORK))


# %% [markdown]
# ### Dropout
#
# *Dropout* sets some entries of an array to zero, at random, and makes the others
# bigger, so that the sum stays about the same. Here it is for one row. `keep` is the
# chance that an entry stays.


# %%
def drop(key, row, keep):
    """Set entries of a row to zero at random and scale the others by 1 / keep."""
    kept = jax.random.bernoulli(key, keep, row.shape)
    return jnp.where(kept, row / keep, 0.0)


print(drop(jax.random.key(0), jnp.ones(8), 0.5))

# %% [markdown]
# Now a whole batch, with `jax.vmap`. `in_axes` says what is mapped: only the batch has
# rows (0); the key and `keep` are the same for all (None). Look at the rows: something
# is wrong.

# %%
print(jax.vmap(drop, in_axes=(None, 0, None))(jax.random.key(0), jnp.ones((3, 8)), 0.5))


# %% exercise
@exercise(
    title="Dropout for a batch",
    points=3,
    hints=[
        "`in_axes=(None, 0, None)` gives the same key to every row. What should each row get?",
        "Map over the keys too: an array of keys has an axis like any array. "
        "https://docs.jax.dev/en/latest/automatic-vectorization.html",
        "keys = jax.random.split(key, batch.shape[0])\n"
        "return jax.vmap(drop, in_axes=(____, 0, None))(keys, batch, keep)",
        "# Like it: turn rows round at random, each row by a coin of its own.\n"
        "def turn(key, row):\n"
        "    return jnp.where(jax.random.bernoulli(key), row[::-1], row)\n\n"
        "def turn_rows(key, table):\n"
        "    row_keys = jax.random.split(key, len(table))\n"
        "    return jax.vmap(turn)(row_keys, table)  # both along their first axis\n\n"
        "print(turn_rows(jax.random.key(0), jnp.tile(jnp.arange(5), (4, 1))))",
    ],
)
def dropout_rows(key, batch, keep):
    """Repair this: every entry of the batch must be dropped or kept on its own.

    An entry is kept with probability `keep` and is then divided by `keep`; otherwise it is 0, even if it was infinite
    or NaN. All choices are independent, between rows and within a row. No Python loop over the rows. It must also work
    under `jax.jit`.

    Args:
        key: key<fry>[] or uint32[2].
        batch: float32[n,d].
        keep: float, more than 0 and at most 1.

    Returns:
        float32[n,d].
    """
    return jax.vmap(drop, in_axes=(None, 0, None))(key, batch, keep)


# %% check
@visible(dropout_rows, stage="shape")
def batch_keeps_its_shape(answer, draw):
    """The result has the shape of the batch."""
    for n, d in ((3, 5), (4, 1000)):
        expect_shape(answer(draw.key(), draw.floats(n, d), 0.5), (n, d))


@visible(dropout_rows, stage="dtype")
def batch_stays_float32(answer, draw):
    """The result is float32."""
    expect_dtype(answer(draw.key(), draw.floats(3, 5), 0.5), "float32")


@visible(
    dropout_rows,
    idea="What stays is divided by `keep`, so that the sum stays about the same.",
)
def entries_are_zero_or_scaled(answer, draw):
    """Each entry is 0 or the old entry divided by `keep`."""
    key, batch = draw.key(), draw.floats(3, 5)
    expect_close(answer(key, batch, 1.0), batch, "With keep = 1 the batch should come back as it is.")
    got = answer(key, batch, 0.25)
    wanted = np.where(np.asarray(got) == 0, np.float32(0), np.asarray(batch) / np.float32(0.25))
    expect_close(got, wanted, "A kept entry should be the old entry divided by `keep`.")


@visible(
    dropout_rows,
    kind="relation",
    required=True,
    idea="Each entry has a choice of its own: the mask has the shape of the batch.",
)
def entries_of_a_row_are_dropped_apart(answer, draw):
    """Within a row, some entries are dropped and some stay."""
    # 4 rows of 1000 fair choices: one row all alike by chance 8 / 2**1000.
    kept = (np.asarray(answer(draw.key(), jnp.ones((4, 1000)), 0.5)) != 0).mean(axis=1)
    expect_that(
        bool(((kept > 0) & (kept < 1)).all()),
        "In each row some of 1000 entries should be dropped and some kept.",
        kept,
        "a mix in each row",
    )


@visible(
    dropout_rows,
    kind="relation",
    required=True,
    idea="Each row needs random choices of its own: a key for each row, or one draw for the whole batch.",
)
def rows_have_different_masks(answer, draw):
    """No two rows are dropped in the same places."""
    # 4 rows of 1000 fair choices: two equal rows by chance 6 / 2**1000.
    masks = np.asarray(answer(draw.key(), jnp.ones((4, 1000)), 0.5)) != 0
    expect_that(
        all_rows_differ(masks),
        "No two rows should be dropped in the same places; of yours some are.",
        "equal masks",
        "a mask for each row",
    )


@visible(
    dropout_rows,
    kind="relation",
    required=True,
    idea="Every entry is dropped or kept on its own: no row says anything about another row.",
)
def choices_do_not_repeat(answer, draw):
    """No row repeats the choices of another row, not even shifted, and the rows keep different numbers of entries."""
    signs = 2.0 * (np.asarray(answer(draw.key(), jnp.ones((4, 1000)), 0.5)) != 0) - 1
    # 28000 comparisons, each above 8 by chance 3e-14: 7e-10 in all.
    message = "No row should repeat the choices of another row, or its own, at other places; one of yours does."
    expect_that(strongest_echo(signs) < 8, message, "a shifted copy", "choices of its own")
    # 200 rows of 180 fair choices: all equally many by chance 0.06**199.
    kept = (np.asarray(answer(draw.key(), jnp.ones((200, 180)), 0.5)) != 0).sum(axis=1)
    message = "Rows should keep different numbers of entries; yours all keep the same number."
    expect_that(len(set(kept.tolist())) > 1, message, kept, "different numbers")


@visible(
    dropout_rows,
    kind="relation",
    required=True,
    idea="All randomness comes from the key.",
)
def same_key_same_mask_other_key_other_mask(answer, draw):
    """The same key gives the same result, and another key gives another result."""
    key, other, batch = draw.key(), draw.key(), jnp.ones((4, 1000))
    expect_equal(
        answer(key, batch, 0.5), answer(key, batch, 0.5), "The same key should give the same result; yours was another."
    )
    expect_different(
        answer(key, batch, 0.5), answer(other, batch, 0.5), "Another key should give another result; yours is the same."
    )


@visible(dropout_rows, stage="jit", idea="A function of keys and arrays can be compiled.")
def drops_the_same_under_jit(answer, draw):
    """Under `jax.jit` it gives the same result."""
    key, batch = draw.key(), draw.floats(3, 5)
    expect_close(answer.jit(key, batch, 0.5), answer(key, batch, 0.5))


@visible(dropout_rows, stage="keys", idea="One key for each row, or one draw for the whole batch.")
def no_key_serves_two_rows(answer, draw):
    """No key is used twice."""
    expect_no_key_problem(answer.key_use(draw.key(), draw.floats(3, 5), 0.5))


@visible(
    dropout_rows,
    stage="cost",
    idea="`vmap` is one operation for any number of rows; a Python loop is written out row by row.",
)
def the_program_does_not_grow_with_the_rows(answer, draw):
    """The program is as long for 64 rows as for 4."""
    key = draw.key()
    short, long = (answer.program(key, draw.floats(n, 5), 0.5).equations for n in (4, 64))
    message = "The program should be as long for 64 rows as for 4; yours grows with the rows."
    # A loop adds several equations for each of the 60 more, a scan in parallel (`associative_scan`) some in all.
    expect_that(long < short + 60, message, f"{long} equations for 64 rows", f"{short}, as for 4 rows")


# %% [markdown]
# ### Shuffle two arrays together
#
# Inputs and labels belong together: row i of one to row i of the other. A shuffle must
# keep the pairs. `jax.random.permutation(key, n)` gives the numbers 0 to n - 1 in a
# random order.

# %%
print(jax.random.permutation(jax.random.key(0), 5))


# %% exercise
@exercise(
    title="Shuffle inputs and labels",
    points=2,
    hints=[
        "Which order do the inputs get, and which order do the labels get? Are they the same order?",
        "Draw one order and use it for both. https://docs.jax.dev/en/latest/_autosummary/jax.random.permutation.html",
        "order = jax.random.permutation(key, ____)\nreturn inputs[order], labels[order]",
        "# Like it: k random days, some perhaps twice; heat and rain of the same days.\n"
        "def some_days(key, heat, rain, k):\n"
        "    days = jax.random.randint(key, (k,), 0, len(rain))\n"
        "    return heat[days], rain[days]\n\n"
        "week = jnp.arange(7)\n"
        "print(*some_days(jax.random.key(0), week + 20, week * 10, 3))",
    ],
)
def shuffle_together(key, inputs, labels):
    """Put the rows of `inputs` and the entries of `labels` into one new random order, the same for both.

    Rows and labels stay as they are, whatever numbers they hold. All orders are equally likely. The same key gives the
    same order; another key gives another order. It must also work under `jax.jit`.

    Args:
        key: key<fry>[] or uint32[2].
        inputs: float32[n,d].
        labels: int32[n].

    Returns:
        A tuple of the shuffled inputs, float32[n,d], and the shuffled labels, int32[n].
    """
    ...


# %% check
def numbered(n, d):
    """Return inputs whose rows tell their number, and labels that are the numbers of the rows."""
    return jnp.arange(n * d, dtype=jnp.float32).reshape(n, d), jnp.arange(n, dtype=jnp.int32)


@visible(shuffle_together, stage="shape")
def both_keep_their_shapes(answer, draw):
    """Inputs and labels keep their shapes."""
    inputs, labels = parts(answer(draw.key(), *numbered(20, 3)), 2)
    expect_shape(inputs, (20, 3))
    expect_shape(labels, (20,))


@visible(shuffle_together, stage="dtype")
def both_keep_their_dtypes(answer, draw):
    """Inputs and labels keep their dtypes."""
    inputs, labels = parts(answer(draw.key(), *numbered(20, 3)), 2)
    expect_dtype(inputs, "float32")
    expect_dtype(labels, "int32")


@visible(
    shuffle_together,
    idea="A shuffle is an order of all rows, not a choice with repetition.",
)
def every_label_comes_once(answer, draw):
    """Every label comes exactly once."""
    _, labels = parts(answer(draw.key(), *numbered(20, 3)), 2)
    message = "Every label should come exactly once."
    expect_that(np.array_equal(np.sort(np.asarray(labels)), np.arange(20)), message, labels, "0 to 19, each once")


@visible(
    shuffle_together,
    idea="One order for both arrays.",
)
def pairs_stay_together(answer, draw):
    """Each row of the inputs still has its label."""
    inputs, labels = numbered(20, 3)
    got_inputs, got_labels = parts(answer(draw.key(), inputs, labels), 2)
    rows_are_whole = bool((np.diff(np.asarray(got_inputs)) == 1).all())
    message = "The rows of the inputs should stay whole; yours are torn apart."
    expect_that(rows_are_whole, message, got_inputs, "whole rows", misconception="each_column_on_its_own")
    message = "Each row of the inputs should still have its label."
    expect_close(got_inputs, np.asarray(inputs)[np.asarray(got_labels)], message, misconception="two_orders")


@visible(
    shuffle_together,
    kind="relation",
    required=True,
    idea="The order comes from the key.",
)
def the_key_decides_the_order(answer, draw):
    """The same key gives the same order, and another key gives another order."""
    # Two orders of 20 rows are equal by chance 1 / 20! = 4e-19.
    key, data = draw.key(), numbered(20, 3)
    order, again, *others = (parts(answer(k, *data), 2)[1] for k in (key, key, *draw.keys(6)))
    expect_equal(
        again, order, "The same key should give the same order; yours was another.", misconception="numpys_hidden_state"
    )
    same = all(np.array_equal(np.asarray(other), np.asarray(order)) for other in others)
    message = "Different keys should give different orders; yours are all the same."
    expect_that(not same, message, order, "another order", misconception="a_fixed_seed_inside")
    expect_different(order, data[1], "The order should be a new one; yours is the old one.")


@visible(shuffle_together, stage="jit", idea="A function of keys and arrays can be compiled.")
def shuffles_the_same_under_jit(answer, draw):
    """Under `jax.jit` it gives the same order."""
    key, data = draw.key(), numbered(20, 3)
    expect_close(answer.jit(key, *data), answer(key, *data))


@visible(
    shuffle_together,
    stage="jit",
    kind="relation",
    required=True,
    idea="`jax.random.permutation` gives every order with the same chance.",
)
def all_orders_are_equally_likely(answer, draw):
    """Over 60000 keys, each of the 6 orders of 3 rows comes about 10000 times."""
    many = 60_000
    _, labels = parts(answer.vmap(in_axes=(0, None, None))(draw.keys(many), *numbered(3, 2)), 2)
    expect_shape(labels, (many, 3))
    orders, counts = np.unique(np.asarray(labels), axis=0, return_counts=True)
    expect_that(len(orders) == 6, "All 6 orders of 3 rows should come out.", orders, "all 6 orders")
    # Each count has standard deviation 91: 640 is 7 of them, chance 2e-11 for all six.
    fair = bool((np.abs(counts - many / 6) < 640).all())
    expect_that(fair, "All orders should be equally likely.", counts, "about 10000 each")


# %% [markdown]
# ### A stream that can restart
#
# A long training run stops in epoch 7, step 1204. You want to go on from there with the
# same random numbers, without drawing all that came before.
# `jax.random.fold_in(key, number)` makes the key for a number directly.

# %%
key = jax.random.key(0)
print(jax.random.key_data(jax.random.fold_in(key, 1204)))
print(jax.random.key_data(jax.random.fold_in(key, 1205)))


# %% exercise
@exercise(
    title="Noise for epoch and step",
    points=3,
    hints=[
        "Do epoch 1, step 2 and epoch 2, step 1 get different keys? And epoch 0, step 1000 and epoch 1, step 0?",
        "`fold_in` returns a key, and a key can be folded again. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.fold_in.html",
        "epoch_key = jax.random.fold_in(key, epoch)\nstep_key = ____\nreturn jax.random.normal(step_key, (3,))",
        "# Like it: the prize behind a door, from the whole address of the door.\n"
        "def prize(key, address):\n"
        "    for number in address:\n"
        "        key = jax.random.fold_in(key, number)  # a key from the key before\n"
        "    return jax.random.randint(key, (), 0, 1000)\n\n"
        "print(prize(jax.random.key(0), (12, 3, 4)))\n"
        "print(prize(jax.random.key(0), (12, 4, 3)))  # another door, another prize",
    ],
)
def noise_at(key, epoch, step):
    """Draw the noise of one training step, from the key and the two numbers alone.

    The noise is three independent standard normal numbers. The same key, epoch and step give the same noise. The noises
    of different steps, in one epoch or in two, are independent of each other, and so are those of different keys. This
    holds for all epochs and steps from 0 to 2**31 - 1. No key is used twice.

    Args:
        key: key<fry>[] or uint32[2].
        epoch, step: ints, or int32[]; under `jax.jit` and `jax.vmap` they are traced.

    Returns:
        float32[3].
    """
    ...


# %% check
@visible(noise_at, stage="shape")
def noise_has_three_numbers(answer, draw):
    """The noise is three numbers."""
    expect_shape(answer(draw.key(), 2, 5), (3,))


@visible(noise_at, stage="dtype")
def noise_is_float32(answer, draw):
    """The noise is float32."""
    expect_dtype(answer(draw.key(), 2, 5), "float32")


@visible(
    noise_at,
    kind="relation",
    required=True,
    idea="The key, the epoch and the step decide the noise; nothing else does.",
)
def a_restart_gives_the_same_noise(answer, draw):
    """The same key, epoch and step give the same noise, whatever came before; another key gives another noise."""
    key = draw.key()
    first = answer(key, 2, 5)
    answer(key, 0, 1)
    expect_equal(
        answer(key, 2, 5), first, "The same key, epoch and step should give the same noise; yours was another."
    )
    expect_different(answer(draw.key(), 2, 5), first, "Another key should give another noise; yours is the same.")


@visible(
    noise_at,
    kind="relation",
    required=True,
    idea="Both numbers count: another epoch is another key, and another step is another key.",
)
def each_number_counts(answer, draw):
    """Another step has other noise, and so has another epoch."""
    key = draw.key()
    expect_different(
        answer(key, 2, 5),
        answer(key, 2, 6),
        "Steps 5 and 6 of one epoch should have different noise; yours is the same.",
    )
    expect_different(
        answer(key, 2, 5), answer(key, 3, 5), "Step 5 of two epochs should have different noise; yours is the same."
    )


@visible(
    noise_at,
    kind="relation",
    required=True,
    idea="The order counts too: fold in one number, then the other, not what both make together.",
)
def swapped_numbers_do_not_meet(answer, draw):
    """Epoch 1, step 2 and epoch 2, step 1 have different noise."""
    key = draw.key()
    expect_different(
        answer(key, 1, 2), answer(key, 2, 1), "Swapped numbers should give different noise; yours is the same."
    )


@visible(
    noise_at,
    kind="relation",
    required=True,
    idea="Draw three numbers with `jax.random.normal`, from one key and one draw or from three keys.",
)
def three_independent_normal_numbers(answer, draw):
    """Over 60 epochs, the three numbers are standard normal and do not go together."""
    key = draw.key()
    noise = np.asarray([np.asarray(answer(key, epoch, 5)) for epoch in range(60)], dtype=np.float64)
    spread = noise.std(axis=0)
    expect_standard_normal(noise)
    # For 60 independent pairs a correlation of 0.75 is 7.3 standard deviations (Fisher): chance 1e-12 for three pairs.
    for i, j in ((0, 1), (0, 2), (1, 2)):
        alike = 1.0 if 0 in (spread[i], spread[j]) else abs(np.corrcoef(noise[:, i], noise[:, j])[0, 1])
        message = f"Numbers {i} and {j} of the noise should be independent; yours go together."
        expect_that(alike < 0.75, message, noise[0], "three independent numbers")


@visible(noise_at, stage="jit", idea="`fold_in` takes traced numbers; Python's range and shapes do not.")
def same_noise_under_jit(answer, draw):
    """Under `jax.jit`, with traced epoch and step, it gives the same noise."""
    key = draw.key()
    expect_close(answer.jit(key, 2, 5), answer(key, 2, 5))


FAR_STEPS = (10, 100, 128, 256, 1000, 1024, 10_000, 2**16, 100_000, 10**6, 1_000_003)
FAR_PAIRS = (
    *(((1, 0), (0, step)) for step in FAR_STEPS),
    ((0, 1000), (0, 1001)),
    ((0, 2**20), (0, 2**20 + 1)),
    ((0, 2**24), (0, 2**24 + 1)),
    ((0, 0), (0, 2**24)),
    ((0, 0), (1024, 0)),
    ((0, 0), (2**16, 0)),
    ((0, 0), (2**24, 0)),
)


@visible(
    noise_at,
    stage="jit",  # under jit: there no answer can count up to a far step
    kind="relation",
    required=True,
    idea="Epochs and steps go up to 2**31 - 1, so no formula puts both into one number: fold in one after the other.",
)
def long_epochs_do_not_meet(answer, draw):
    """Far steps and far epochs have noise of their own."""
    key, noise = draw.key(), answer.jit
    for first, second in FAR_PAIRS:
        message = "Epoch {}, step {} and epoch {}, step {} should have different noise.".format(*first, *second)
        expect_different(noise(key, *first), noise(key, *second), message)


@visible(noise_at, stage="keys", idea="Draw only from the key that belongs to this epoch and step.")
def no_key_is_used_for_two_things(answer, draw):
    """No key is used twice."""
    expect_no_key_problem(answer.key_use(draw.key(), 2, 5))


# %% [markdown]
# ### Split and fold_in do not mix
#
# Now you know two ways to make new keys from a key. Do they know of each other?


# %% exercise
@prediction(
    title="Predict: split and fold_in",
    points=1,
    hints=[
        "Both compute new words from the words of the key and a small number. Could it be the same rule?",
        "In today's default, key i of a split is computed from the key and i only. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.fold_in.html",
        "# A smaller case, with number 0 in place of 1:\n# split(key, 3)[0] is rule(key, 0)\n"
        "# fold_in(key, 0) is rule(key, ____)\nreturn ____  # True or False",
    ],
)
def predict_fold_in():
    """Is `jax.random.fold_in(key, 1)` the same key as `jax.random.split(key, 3)[1]`?

    Returns:
        True or False.
    """
    ...


# %% check
@reveal(predict_fold_in)
def compare_fold_in_with_split():
    """We made both from `jax.random.key(42)` and compared their words."""
    key = jax.random.key(42)
    folded, split = jax.random.fold_in(key, 1), jax.random.split(key, 3)[1]
    return bool((jax.random.key_data(folded) == jax.random.key_data(split)).all())


# %% [markdown]
# Look at the words. This is how today's default works. It was not so before 0.5.0, and
# nobody promises it. So: from one key, make new keys either with `split` or with
# `fold_in`, never with both. `check` holds you to it.

# %%
key = jax.random.key(42)
print("split:  ", jax.random.key_data(jax.random.split(key, 3)).tolist())
print("fold_in:", [jax.random.key_data(jax.random.fold_in(key, i)).tolist() for i in range(3)])
with jax.threefry_partitionable(False):
    print("split before 0.5.0:", jax.random.key_data(jax.random.split(key, 3)).tolist())


# %% exercise
@exercise(
    title="Workers and a shared draw",
    points=2,
    hints=[
        "Which of the workers has the same key as the shared draw?",
        "Use `split` or `fold_in` on one key, not both. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.split.html",
        "shared_key, *worker_keys = jax.random.split(key, ____)\n"
        "rows = jnp.stack([jax.random.normal(k) for k in worker_keys])\nreturn rows, jax.random.normal(shared_key)",
        "# Like it: n scores and a prize. No key is used for two things.\n"
        "def play_game(key, n):\n"
        "    prize_key, scores_key = jax.random.split(key)\n"
        "    score_keys = jax.random.split(scores_key, n)  # uses up scores_key\n"
        "    scores = [jax.random.randint(k, (), 0, 100) for k in score_keys]\n"
        "    return jnp.stack(scores), jax.random.uniform(prize_key)\n\n"
        "print(*play_game(jax.random.key(0), 4))",
    ],
)
def worker_noise(key, n):
    """Repair this: one number for each of n workers, and one more for all of them, all n + 1 independent.

    All numbers are standard normal. The same key gives the same numbers; another key gives other numbers. No key is
    used twice, and from one key new keys are made with `split` or with `fold_in`, not with both.

    Args:
        key: key<fry>[] or uint32[2].
        n: int, how many workers; 1 or more.

    Returns:
        A tuple `(rows, shared)`: float32[n] and float32[].
    """
    worker_keys = jax.random.split(key, n)
    shared_key = jax.random.fold_in(key, 0)
    return jax.vmap(jax.random.normal)(worker_keys), jax.random.normal(shared_key)


# %% check
@visible(worker_noise, stage="shape")
def n_numbers_and_one_more(answer, draw):
    """The result is n numbers, and one more."""
    for n in (4, 5):
        rows, shared = parts(answer(draw.key(), n), 2)
        expect_shape(rows, (n,))
        expect_shape(shared, ())


@visible(worker_noise, stage="dtype")
def all_numbers_are_float32(answer, draw):
    """All numbers are float32."""
    for part in answer(draw.key(), 4):
        expect_dtype(part, "float32")


@visible(
    worker_noise,
    kind="relation",
    required=True,
    idea="Each worker needs its own key.",
)
def workers_differ(answer, draw):
    """No two workers have the same number."""
    rows, _ = parts(answer(draw.key(), 5), 2)
    # Two of 10 pairs are equal by chance 45 * 2**-46.
    different = len(repeated_places(rows)) < 2
    expect_that(different, "No two workers should have the same number.", rows, "five different numbers")


@visible(
    worker_noise,
    kind="relation",
    required=True,
    idea="`fold_in(key, i)` can be the same key as `split(key, n)[i]`.",
)
def the_shared_number_is_no_workers_number(answer, draw):
    """The shared number is not the number of a worker."""
    for n in (4, 5):
        both = [parts(answer(draw.key(), n), 2) for _ in range(2)]
        # A worker has the shared number by chance 2**-23, the same worker with two keys by chance 2**-46.
        meets = [set(np.flatnonzero(np.asarray(rows) == np.asarray(shared)).tolist()) for rows, shared in both]
        same = meets[0] & meets[1]
        message = f"The shared number should be no worker's; yours is that of worker {min(same, default=None)}."
        expect_that(not same, message, tuple(both[-1]), "another number")


@visible(
    worker_noise,
    kind="relation",
    required=True,
    idea="All randomness comes from the key.",
)
def same_key_same_noise_other_key_other_noise(answer, draw):
    """The same key gives the same numbers, and another key gives other numbers."""
    key = draw.key()
    first, second, third = answer(key, 4), answer(draw.key(), 4), answer(draw.key(), 4)
    expect_equal(answer(key, 4), first, "The same key should give the same numbers; yours were others.")
    for a, b, c in zip(first, second, third, strict=True):
        # Three single numbers are all equal by chance 2**-46.
        same = np.array_equal(np.asarray(a), np.asarray(b)) and np.array_equal(np.asarray(a), np.asarray(c))
        expect_that(
            not same,
            "Different keys should give different numbers; yours are the same.",
            a,
            "other numbers for another key",
        )


@visible(
    worker_noise,
    kind="relation",
    required=True,
    idea="The shared number is a standard normal draw of its own.",
)
def the_shared_number_is_independent(answer, draw):
    """Over 120 keys, all numbers are standard normal, and the shared one does not go with the workers' numbers."""
    both = [parts(answer(draw.key(), 4), 2) for _ in range(120)]
    rows = np.asarray([np.asarray(rows) for rows, _ in both], dtype=np.float64)
    shared = np.asarray([np.asarray(shared) for _, shared in both], dtype=np.float64)
    expect_standard_normal(rows)
    expect_standard_normal(shared)
    # For 120 independent pairs a correlation of 0.6 is 7.5 standard deviations (Fisher): chance 4e-13 for all five.
    for other in (*rows.T, rows.sum(axis=1)):
        together = 0.0 if other.std() == 0 else float(np.corrcoef(other, shared)[0, 1])
        message = "The shared number should be independent of the workers' numbers; yours goes with them."
        expect_that(abs(together) < 0.6, message, f"correlation {together:.2f}", "near 0")


@visible(
    worker_noise,
    stage="keys",
    idea="Each key serves once: for one draw, for one split, or for `fold_in` with different numbers.",
)
def no_key_serves_two_workers(answer, draw):
    """No key is used twice, and none for both `split` and `fold_in`."""
    expect_no_key_problem(answer.key_use(draw.key(), 4))


# %% [markdown]
# ## What to remember
#
# - NumPy hides one state; the order of the calls decides the numbers.
# - In JAX the state is a **key**, and you pass it. A key is never changed. The same key
#   gives the same numbers.
# - Use each key once: **split** it, or **draw** from it, or **fold_in** numbers.
# - Another shape or another random function is not another key.
# - In `vmap` and `scan`, each row and each round needs a key of its own.
# - `fold_in` makes the key for a number directly; fold one number after the other,
#   never their sum.
# - Since JAX 0.5.0 the digits differ from older texts;
#   `jax.threefry_partitionable(False)` gives the old ones.

# %% [markdown]
# ## What to read next
#
# - [Pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html), the page
#   behind this lesson
# - [The module `jax.random`](https://docs.jax.dev/en/latest/jax.random.html): all
#   distributions
# - [The design of JAX's random
#   numbers](https://docs.jax.dev/en/latest/jep/263-prng.html)
# - [Typed keys](https://docs.jax.dev/en/latest/jep/9263-typed-keys.html), and why they
#   replaced the bare words
