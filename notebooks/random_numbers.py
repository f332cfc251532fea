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

start("random_numbers")

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

# %% [markdown]
# ### Exercise: Look at the hidden state (2 points)
#
# Seed NumPy's global generator, draw some numbers, and return the state that is left.
#
# Seed with `np.random.seed`, draw with `np.random.uniform`, read with
# `np.random.get_state`.
#
# **Args:**
#
# - `seed`: int, the seed.
# - `draws`: int, how many numbers to draw; 0 or more.
#
# **Returns:** A tuple `(words, position)`: the words of the state, uint32[624], and the
# position in them, an int.

# %%
def numpy_state_after(seed, draws):
    """Seed NumPy's global generator, draw some numbers, and return the state that is
    left.
    """
    ...


check(numpy_state_after)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(numpy_state_after)
# solution(numpy_state_after)

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

# %% [markdown]
# ### Exercise: One by one, all at once (1 point)
#
# Draw n uniform numbers in two ways, each time starting from the same seed.
#
# **Args:**
#
# - `seed`: int, the seed for NumPy's global generator.
# - `n`: int, how many numbers.
#
# **Returns:** A tuple of two arrays, float64[n] each: n single draws, and one draw of a
# vector of n numbers.

# %%
def one_by_one_and_at_once(seed, n):
    """Draw n uniform numbers in two ways, each time starting from the same seed."""
    ...


check(one_by_one_and_at_once)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(one_by_one_and_at_once)
# solution(one_by_one_and_at_once)

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

# %% [markdown]
# ### Predict: the other order (1 point)
#
# After `np.random.seed(0)`, `baz()` runs before `bar()`. Is `bar() + 2 * baz()` the
# same number as before?
#
# **Returns:** True or False.

# %%
def predict_same_sum():
    """After `np.random.seed(0)`, `baz()` runs before `bar()`."""
    ...


check(predict_same_sum)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_same_sum)
# solution(predict_same_sum)

# %% [markdown]
# The first call gets the first number of the hidden state, whoever makes it. Each
# function looks harmless alone, and still the order of the calls decides the result.

# %%
np.random.seed(0)
b = baz()
a = bar()
print("baz first:", a + 2 * b)

# %% [markdown]
# ### Exercise: Swap the order (2 points)
#
# Compute `bar() + 2 * baz()` with `bar` called first and with `baz` called first, each
# time after the same seed.
#
# **Args:**
#
# - `seed`: int, the seed for NumPy's global generator.
#
# **Returns:** A tuple `(bar_first, baz_first)` of two floats.

# %%
def both_orders(seed):
    """Compute `bar() + 2 * baz()` with `bar` called first and with `baz` called first,
    each time after the same seed.
    """
    ...


check(both_orders)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(both_orders)
# solution(both_orders)

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

# %% [markdown]
# ### Exercise: Describe a key (2 points)
#
# Describe one key, typed or legacy.
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
#
# **Returns:** A dict with five entries. "dtype": the name of its dtype, a str. "shape":
# its shape, a tuple of ints. "words": the two words behind it, uint32[2].
# "implementation": the name of the method behind it, a str. "printed": the text that
# `print(key)` shows, a str; spaces and line ends after it do not matter.

# %%
def describe_key(key):
    """Describe one key, typed or legacy."""
    ...


check(describe_key)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(describe_key)
# solution(describe_key)

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

# %% [markdown]
# ### Exercise: One seed, two libraries (1 point)
#
# Repair this: draw n uniform numbers with NumPy and n with JAX, both from the same
# seed.
#
# **Args:**
#
# - `seed`: int, the seed, for NumPy's global generator and for a JAX key.
# - `n`: int, how many numbers.
#
# **Returns:** A tuple: the first n numbers of `np.random.uniform`, float64[n], and n
# numbers of `jax.random.uniform` from the key of this seed, drawn in one call,
# float32[n].

# %%
def first_draws(seed, n):
    """Repair this: draw n uniform numbers with NumPy and n with JAX, both from the same
    seed.
    """
    np.random.seed(seed)
    from_numpy = np.random.uniform(size=n)
    from_jax = jnp.asarray(np.random.uniform(size=n))
    return from_numpy, from_jax


check(first_draws)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(first_draws)
# solution(first_draws)

# %% [markdown]
# ### Drawing from a key
#
# A random function *reads* its key. What happens if you give the same key to it again?

# %% [markdown]
# ### Predict: the second draw (1 point)
#
# With `key = jax.random.key(42)`: is
# `jax.random.normal(key) == jax.random.normal(key)`?
#
# **Returns:** True or False.

# %%
def predict_second_draw():
    """With `key = jax.random.key(42)`: is
    `jax.random.normal(key) == jax.random.normal(key)`?
    """
    ...


check(predict_second_draw)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_second_draw)
# solution(predict_second_draw)

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

# %% [markdown]
# ### Exercise: Use a key twice (1 point)
#
# Draw one normal number from the key, draw from the same key again, and read the key's
# words afterwards.
#
# Draw twice: do not give one number two times.
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
#
# **Returns:** A tuple `(first, second, words)`: the two draws of `jax.random.normal`,
# float32[] each, and the words of the key after both draws, uint32[2].

# %%
def use_key_twice(key):
    """Draw one normal number from the key, draw from the same key again, and read the
    key's words afterwards.
    """
    ...


check(use_key_twice)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(use_key_twice)
# solution(use_key_twice)

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

# %% [markdown]
# ### Exercise: Measure the harm of reuse (2 points)
#
# Measure how uniform and normal draws go together, from one key and from two.
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `n`: int, how many numbers to draw each time.
#
# **Returns:** A tuple `(reused, apart)` of two numbers, each the correlation of n draws
# of `jax.random.uniform` with n draws of `jax.random.normal`. For `reused` both draws
# use `key` itself; for `apart` they use two independent keys made from `key`.

# %%
def reuse_correlation(key, n):
    """Measure how uniform and normal draws go together, from one key and from two."""
    ...


check(reuse_correlation)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(reuse_correlation)
# solution(reuse_correlation)

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

# %% [markdown]
# ### Exercise: Catch a reuse (2 points)
#
# Say whether JAX's own watcher finds a reused key in `function(key)`.
#
# **Args:**
#
# - `function`: a function of one key.
# - `key`: `key<fry>[]`.
#
# **Returns:** A bool: True if `function(key)` raises `jax.errors.KeyReuseError` inside
# `jax.debug_key_reuse(True)`, False if it does not. If it raises another error, return
# False or let the error through.

# %%
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


def reuses_a_key(function, key):
    """Say whether JAX's own watcher finds a reused key in `function(key)`."""
    ...


check(reuses_a_key)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(reuses_a_key)
# solution(reuses_a_key)

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

# %% [markdown]
# ### Exercise: Draws in a row (2 points)
#
# Draw n normal numbers, one after the other, and split the key before each draw.
#
# In each round split the key into two. The first new key goes on to the next round, the
# second is used for one draw of `jax.random.normal`.
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `n`: int, how many numbers; 1 or more.
#
# **Returns:** The draws in their order, float32[n].

# %%
def draws_in_a_row(key, n):
    """Draw n normal numbers, one after the other, and split the key before each draw.
    """
    ...


check(draws_in_a_row)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(draws_in_a_row)
# solution(draws_in_a_row)

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

# %% [markdown]
# ### Exercise: One key to keep, n to use (2 points)
#
# Split a key, in one go, into one key to keep and n keys to use.
#
# Make them with one call of `jax.random.split`. The first new key is the one to keep,
# the others follow in order.
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `n`: int, how many keys to use; 1 or more.
#
# **Returns:** A tuple `(next_key, subkeys)`: one key of the same kind as `key`, and n
# such keys, as an array (`key<fry>[n]` or uint32[n,2]) or as a list.

# %%
def keep_one_key(key, n):
    """Split a key, in one go, into one key to keep and n keys to use."""
    ...


check(keep_one_key)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(keep_one_key)
# solution(keep_one_key)

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

# %% [markdown]
# ### Exercise: Three draws, or a draw of three (1 point)
#
# Draw n normal numbers from n subkeys, and n numbers in one draw from the key itself.
#
# Here, to compare, `key` is used for both on purpose.
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `n`: int, how many numbers.
#
# **Returns:** A tuple of two arrays, float32[n] each. The first: split `key` into n
# subkeys, and draw one number with `jax.random.normal` from each, in their order. The
# second: one draw of shape (n,) from `key`.

# %%
def individually_and_at_once(key, n):
    """Draw n normal numbers from n subkeys, and n numbers in one draw from the key
    itself.
    """
    ...


check(individually_and_at_once)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(individually_and_at_once)
# solution(individually_and_at_once)

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

# %% [markdown]
# ### Predict: the shape (1 point)
#
# What is the shape of
# `jax.vmap(partial(jax.random.normal, shape=(2,)))(jax.random.split(key, 3))`?
#
# **Returns:** A tuple of ints.

# %%
def predict_shape():
    """What is the shape of
    `jax.vmap(partial(jax.random.normal, shape=(2,)))(jax.random.split(key, 3))`?
    """
    ...


check(predict_shape)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_shape)
# solution(predict_shape)

# %% [markdown]
# ### Exercise: One draw for each key (2 points)
#
# Draw one normal number from each key, in one vectorised operation: without a Python
# loop.
#
# It must also work under `jax.jit`.
#
# **Args:**
#
# - `keys`: `key<fry>[n]` or uint32[n,2].
#
# **Returns:** float32[n]: number i is `jax.random.normal(keys[i])`.

# %%
def draw_per_key(keys):
    """Draw one normal number from each key, in one vectorised operation: without a
    Python loop.
    """
    ...


check(draw_per_key)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(draw_per_key)
# solution(draw_per_key)

# %% [markdown]
# ### One more thing about today's default
#
# This is not in the older texts. You draw two numbers from a key, and three numbers
# from the same key. What comes out?

# %% [markdown]
# ### Predict: a longer draw (1 point)
#
# Are the two numbers of `jax.random.normal(key, (2,))` also the first two of
# `jax.random.normal(key, (3,))`?
#
# **Returns:** True or False.

# %%
def predict_prefix():
    """Are the two numbers of `jax.random.normal(key, (2,))` also the first two of
    `jax.random.normal(key, (3,))`?
    """
    ...


check(predict_prefix)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_prefix)
# solution(predict_prefix)

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

# %% [markdown]
# ### Exercise: Two independent samples (2 points)
#
# Draw two samples of the standard normal distribution that have nothing to do with each
# other.
#
# The same key gives the same samples; another key gives other samples. This holds for
# all sizes, equal or not. No key is used twice: not for two draws, not for a split and
# a draw, and not for both `split` and `fold_in` (below).
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `n`, `m`: ints, the sizes of the two samples; 1 or more.
#
# **Returns:** A tuple of two arrays: float32[n] and float32[m].

# %%
def two_samples(key, n, m):
    """Draw two samples of the standard normal distribution that have nothing to do with
    each other.
    """
    ...


check(two_samples)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(two_samples)
# solution(two_samples)

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

# %% [markdown]
# ### Exercise: A random walk (3 points)
#
# Repair this walk, which always goes on in the direction of its first step.
#
# Position t is position t - 1 plus `step_sizes[t]` times a standard normal number; the
# walk starts at 0. The normal numbers come from the key only and are independent from
# step to step. The program must not grow with the number of steps: no Python loop. It
# must also work under `jax.jit`.
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `step_sizes`: float32[n].
#
# **Returns:** The n positions after each step, float32[n].

# %%
def random_walk(key, step_sizes):
    """Repair this walk, which always goes on in the direction of its first step."""

    def step(position, size):
        position = position + size * jax.random.normal(key)
        return position, position

    _, path = jax.lax.scan(step, 0.0, step_sizes)
    return path


check(random_walk)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(random_walk)
# solution(random_walk)

# %% [markdown]
# ### A network of layers
#
# The start values of a network are random, and every layer needs a key of its own. With
# one key for all, a bigger layer begins with the numbers of a smaller one.

# %%
key = jax.random.key(0)
print("layer (2, 2):", jax.random.normal(key, (2, 2)).ravel())
print("layer (2, 3):", jax.random.normal(key, (2, 3)).ravel())

# %% [markdown]
# ### Exercise: Start values for layers (2 points)
#
# Draw the start values of all layers of a network.
#
# The values of a layer of shape (rows, columns) are independent normal numbers with
# mean 0 and standard deviation 1 / sqrt(rows). All layers are independent of each
# other, whatever their names and shapes. No key is used twice. The same key gives the
# same layers, in every run of Python (`hash(name)` would not: it changes from run to
# run).
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `shapes`: a dict from the layer's name to its shape `(rows, columns)`, a tuple of
#   two ints.
#
# **Returns:** A dict with the same names: for each one float32[rows,columns].

# %%
def init_layers(key, shapes):
    """Draw the start values of all layers of a network."""
    ...


check(init_layers)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(init_layers)
# solution(init_layers)

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

# %% [markdown]
# ### Exercise: Dropout for a batch (3 points)
#
# Repair this: every entry of the batch must be dropped or kept on its own.
#
# An entry is kept with probability `keep` and is then divided by `keep`; otherwise it
# is 0, even if it was infinite or NaN. All choices are independent, between rows and
# within a row. No Python loop over the rows. It must also work under `jax.jit`.
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `batch`: float32[n,d].
# - `keep`: float, more than 0 and at most 1.
#
# **Returns:** float32[n,d].

# %%
def dropout_rows(key, batch, keep):
    """Repair this: every entry of the batch must be dropped or kept on its own."""
    return jax.vmap(drop, in_axes=(None, 0, None))(key, batch, keep)


check(dropout_rows)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(dropout_rows)
# solution(dropout_rows)

# %% [markdown]
# ### Shuffle two arrays together
#
# Inputs and labels belong together: row i of one to row i of the other. A shuffle must
# keep the pairs. `jax.random.permutation(key, n)` gives the numbers 0 to n - 1 in a
# random order.

# %%
print(jax.random.permutation(jax.random.key(0), 5))

# %% [markdown]
# ### Exercise: Shuffle inputs and labels (2 points)
#
# Put the rows of `inputs` and the entries of `labels` into one new random order, the
# same for both.
#
# Rows and labels stay as they are, whatever numbers they hold. All orders are equally
# likely. The same key gives the same order; another key gives another order. It must
# also work under `jax.jit`.
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `inputs`: float32[n,d].
# - `labels`: int32[n].
#
# **Returns:** A tuple of the shuffled inputs, float32[n,d], and the shuffled labels,
# int32[n].

# %%
def shuffle_together(key, inputs, labels):
    """Put the rows of `inputs` and the entries of `labels` into one new random order,
    the same for both.
    """
    ...


check(shuffle_together)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(shuffle_together)
# solution(shuffle_together)

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

# %% [markdown]
# ### Exercise: Noise for epoch and step (3 points)
#
# Draw the noise of one training step, from the key and the two numbers alone.
#
# The noise is three independent standard normal numbers. The same key, epoch and step
# give the same noise. The noises of different steps, in one epoch or in two, are
# independent of each other, and so are those of different keys. This holds for all
# epochs and steps from 0 to `2**31` - 1. No key is used twice.
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `epoch`, `step`: ints, or int32[]; under `jax.jit` and `jax.vmap` they are traced.
#
# **Returns:** float32[3].

# %%
def noise_at(key, epoch, step):
    """Draw the noise of one training step, from the key and the two numbers alone."""
    ...


check(noise_at)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(noise_at)
# solution(noise_at)

# %% [markdown]
# ### Split and fold_in do not mix
#
# Now you know two ways to make new keys from a key. Do they know of each other?

# %% [markdown]
# ### Predict: split and fold_in (1 point)
#
# Is `jax.random.fold_in(key, 1)` the same key as `jax.random.split(key, 3)[1]`?
#
# **Returns:** True or False.

# %%
def predict_fold_in():
    """Is `jax.random.fold_in(key, 1)` the same key as `jax.random.split(key, 3)[1]`?"""
    ...


check(predict_fold_in)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_fold_in)
# solution(predict_fold_in)

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

# %% [markdown]
# ### Exercise: Workers and a shared draw (2 points)
#
# Repair this: one number for each of n workers, and one more for all of them, all n + 1
# independent.
#
# All numbers are standard normal. The same key gives the same numbers; another key
# gives other numbers. No key is used twice, and from one key new keys are made with
# `split` or with `fold_in`, not with both.
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `n`: int, how many workers; 1 or more.
#
# **Returns:** A tuple `(rows, shared)`: float32[n] and float32[].

# %%
def worker_noise(key, n):
    """Repair this: one number for each of n workers, and one more for all of them, all
    n + 1 independent.
    """
    worker_keys = jax.random.split(key, n)
    shared_key = jax.random.fold_in(key, 0)
    return jax.vmap(jax.random.normal)(worker_keys), jax.random.normal(shared_key)


check(worker_noise)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(worker_noise)
# solution(worker_noise)

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
