# %% [markdown]
# # Random numbers
#
# **Core:** 9 exercises, about 55 minutes. **Beyond the core:** 7 exercises.
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

# %% [markdown]
# ### Exercise: Five sources of random numbers (2 points)
#
# Draw three numbers from one of five sources, or return what the error says.
#
# ```python
# source               where to find `uniform` and `normal`
# "np.random.seed"     `np.random`, after `np.random.seed(seed)`
# "default_rng"        `np.random.default_rng(seed)`
# "jax"                `jax.random`, called with the key of the seed
# "jax without a key"  `jax.random`, called with `shape=(3,)` alone: an error
# "jnp.random"         `jnp.random`, which does not exist: an error
# ```
#
# ```python
# >>> seeded_draws("jax", "normal", 0)
# Array([ 1.6226422 ,  2.0252647 , -0.43359444], dtype=float32)
# ```
#
# **Args:**
#
# - `source`: a str, one of these five.
# - `name`: "uniform" or "normal".
# - `seed`: int.
#
# **Returns:** NumPy's numbers, float64[3], or JAX's, float32[3]; for the last two
# sources a str, the message of the error that Python or JAX raises.

# %%
def seeded_draws(source, name, seed):
    """Draw three numbers from one of five sources, or return what the error says."""
    ...


check(seeded_draws)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(seeded_draws)
# solution(seeded_draws)

# %% [markdown]
# <details>
# <summary>The document's example, today: Pseudorandom numbers (S0-23, S0-24)</summary>
#
# The page says so in words: the seed decides all numbers, and random numbers are the
# exception to JAX's likeness to NumPy. That is still so.
#
# > ```python
# > sources = "np.random.seed", "default_rng", "jax", "jax without a key", "jnp.random"
# > for source in sources:
# >     print(f"{source}: {seeded_draws(source, 'uniform', 0)}")
# > ```
#
# [Pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html)
# says:
#
# > A stream of pseudorandom numbers follows from its seed. Random numbers are the one
# > place where JAX does not do as NumPy does.
#
# Today:
#
# > ```text
# > np.random.seed: [0.5488135  0.71518937 0.60276338]
# > default_rng: [0.63696169 0.26978671 0.04097352]
# > jax: [0.947667   0.9785799  0.33229148]
# > jax without a key: uniform() missing 1 required positional argument: 'key'
# > jnp.random: module 'jax.numpy' has no attribute 'random'
# > ```
#
# </details>

# %% [markdown]
# ### Drawing from a key
#
# A random function *reads* its key. What happens if you give it the same key again?

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

# %% [markdown]
# ### Exercise: Two independent samples (2 points)
#
# Draw two samples of the standard normal distribution that have nothing to do with each
# other.
#
# Draw with `jax.random.normal`. The same key gives the same samples; another key gives
# other samples. No key is used twice.
#
# ```python
# >>> a, b = two_samples(jax.random.key(0), 3, 5)
# >>> a.shape, b.shape
# ((3,), (5,))
# ```
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `n`, `m`: ints, the sizes of the two samples, equal or not; 1 or more.
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

# %% [markdown]
# ### Exercise: Draw by draw (2 points)
#
# Draw n normal numbers, one after the other, print each, and return a key to go on
# with.
#
# In each round, split the key into two: the first new key goes on to the next round,
# the second is used for one `jax.random.normal`. Nothing else is split, and no key that
# was used is used again. Print all digits of a number, as `print` does.
#
# ```python
# >>> draws, key = draw_by_draw(jax.random.key(0), 2)
# draw 0: -2.4424...
# draw 1: -1.2574...
# ```
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `n`: int, how many numbers; 1 or more.
#
# **Returns:** A tuple `(draws, key)`: float32[n], and a key of the same kind that was
# not used yet: the one that goes on after the last round.

# %%
def draw_by_draw(key, n):
    """Draw n normal numbers, one after the other, print each, and return a key to go on
    with.
    """
    ...


check(draw_by_draw)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(draw_by_draw)
# solution(draw_by_draw)

# %% [markdown]
# <details>
# <summary>The document's example, today: Pseudorandom numbers (S0-41, S0-42)</summary>
#
# Each number is computed from the key and its own place alone since JAX 0.5.0, so that
# devices can draw without asking each other. This changed the numbers once, and not the
# rules. (`with jax.threefry_partitionable(False):` still gives the old ones.) The page
# says that `del` is for the reader: without it, you get the same draws.
#
# > ```python
# > key = jax.random.key(42)
# > for i in range(3):
# >     new_key, subkey = jax.random.split(key)
# >     del key  # used up by split; `del` only says so
# >     val = jax.random.normal(subkey)
# >     del subkey  # used up by normal
# >     print(f"draw {i}: {val}")
# >     key = new_key
# > ```
#
# [Pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html)
# shows:
#
# > ```text
# > draw 0: 1.369469404220581
# > draw 1: -0.19947023689746857
# > draw 2: -2.298278331756592
# > ```
#
# Today:
#
# > ```text
# > draw 0: 0.6057640314102173
# > draw 1: -0.21089035272598267
# > draw 2: -0.3948981463909149
# > ```
#
# </details>

# %% [markdown]
# ## Part 3. Many keys at once
#
# NumPy's hidden state gives the same three numbers one by one as all at once: a draw of
# three is three draws in a line, and the third waits for the second. In JAX, three keys
# give other numbers than one key with the shape `(3,)`. In return, no number waits:
# each is computed from the key and its own place alone.

# %% [markdown]
# ### Exercise: Three ways to n numbers (2 points)
#
# Draw n numbers with `jax.random.normal`, in one of three ways.
#
# ```python
# >>> draw_three_ways("individually", jax.random.key(0), 2)
# Array([ 1.0040143, -2.4424558], dtype=float32)
# ```
#
# **Args:**
#
# - `way`: "individually": split the key into n subkeys, and draw one number from each;
#   loop if you like. "vectorized": the same numbers, without a loop of Python or of
#   `jax.lax`. "all at once": one draw of shape (n,), from the key itself.
# - `key`: `key<fry>[]` or uint32[2].
# - `n`: int, 1 or more.
#
# **Returns:** float32[n].

# %%
def draw_three_ways(way, key, n):
    """Draw n numbers with `jax.random.normal`, in one of three ways."""
    ...


check(draw_three_ways)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(draw_three_ways)
# solution(draw_three_ways)

# %% [markdown]
# <details>
# <summary>The document's example, today: Pseudorandom numbers (S0-47, S0-48)</summary>
#
# The numbers are others since JAX 0.5.0, and what they show is the same: three keys
# give other numbers than one, and `vmap` gives those of the loop.
#
# > ```python
# > key = jax.random.key(42)
# > subkeys = jax.random.split(key, 3)
# > print("individually:", np.stack([jax.random.normal(subkey) for subkey in subkeys]))
# > print("all at once: ", jax.random.normal(jax.random.key(42), shape=(3,)))
# > print("vectorized:", jax.vmap(jax.random.normal)(subkeys))
# > ```
#
# [Pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html)
# shows:
#
# > ```text
# > individually: [-0.04838832  0.10796154 -1.2226542 ]
# > all at once:  [ 0.18693547 -1.2806505  -1.5593132 ]
# > vectorized: [-0.04838832  0.10796154 -1.2226542 ]
# > ```
#
# Today:
#
# > ```text
# > individually: [0.07592554 0.60576403 0.4323065 ]
# > all at once:  [-0.02830462  0.46713185  0.29570296]
# > vectorized: [0.07592554 0.60576403 0.4323065 ]
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: Noise for some rows (3 points)
#
# Make the noise for some rows of a huge table: four normal numbers a row, from the key
# and the row's number alone.
#
# A device calls this with the numbers of its rows, in any order. A row has the same
# noise whoever asks for it, and no keys are made for rows that nobody asks for.
# Different rows have keys of their own, and draw with `jax.random.normal`. It works
# under `jax.jit`, without a loop of Python or of `jax.lax` over the rows.
#
# ```python
# >>> noise_for_rows(jax.random.key(0), jnp.array([1204, 7])).shape
# (2, 4)
# ```
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `rows`: int32[k], one or more different numbers from 0 to `2**31` - 1; under
#   `jax.jit` they are traced.
#
# **Returns:** float32[k,4].

# %%
def noise_for_rows(key, rows):
    """Make the noise for some rows of a huge table: four normal numbers a row, from the
    key and the row's number alone.
    """
    ...


check(noise_for_rows)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(noise_for_rows)
# solution(noise_for_rows)

# %% [markdown]
# <details>
# <summary>The document's example, today: Pseudorandom numbers (S0-31)</summary>
#
# The page asks in words for draws that can be made again, in parallel, and all in one
# operation. A hidden state cannot grant all three at once; a key for each row can.
#
# > ```python
# > key, rows = jax.random.key(0), jnp.arange(8)
# > whole = noise_for_rows(key, rows)
# > shares = [noise_for_rows(key, share) for share in (rows[6:], rows[:6])]
# > print("reproducible:", (noise_for_rows(key, rows) == whole).all())
# > print("parallelizable:", jnp.allclose(jnp.concatenate(shares[::-1]), whole))
# > print("vectorizable:", jnp.allclose(jax.jit(noise_for_rows)(key, rows), whole))
# > ```
#
# [Pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html)
# says:
#
# > 1. reproducible, 2. parallelizable, 3. vectorizable
#
# Today:
#
# > ```text
# > reproducible: True
# > parallelizable: True
# > vectorizable: True
# > ```
#
# </details>

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

# %% [markdown]
# ### Repair: a training loop that reuses a key (3 points)
#
# Train a linear model with dropout and noise. The keys of this loop are wrong: repair
# them, and nothing else.
#
# `kept` is drawn with `jax.random.bernoulli` and the noise with `jax.random.normal`,
# anew for each number of x in each step. All of these draws are independent of each
# other, and all keys are made from `key`.
#
# ```python
# >>> x, y = jnp.ones((3, 2)), jnp.ones(3)
# >>> w, errors = train_with_noise(jax.random.key(0), jnp.zeros(2), x, y, 5)
# >>> w.shape, errors.shape
# ((2,), (5,))
# ```
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `w`: float32[d], the weights at the start.
# - `x`: float32[n,d].
# - `y`: float32[n].
# - `steps`: int, 1 or more.
#
# **Returns:** A tuple `(w, errors)`: float32[d], the weights after all steps, and
# float32[steps], the error in each step. The program is as long for many steps as for
# one.

# %%
def train_with_noise(key, w, x, y, steps):
    """Train a linear model with dropout and noise."""

    def step(w, _):
        kept = jax.random.bernoulli(key, 0.8, x.shape)
        noise = 0.1 * jax.random.normal(key, x.shape)
        seen = jnp.where(kept, x / 0.8, 0.0) + noise
        off, slope = jax.value_and_grad(error)(w, seen, y)
        return w - 0.05 * slope, off

    return jax.lax.scan(step, w, length=steps)


check(train_with_noise)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(train_with_noise)
# solution(train_with_noise)

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

# %% [markdown]
# ### Exercise: A Metropolis sampler (4 points)
#
# Walk by the Metropolis rule, in one `jax.lax.scan`, and return the place after each
# step.
#
# Each step draws the noise with `jax.random.normal`, of the shape of the place, and a
# number u with `jax.random.uniform`. The proposal is the place plus `size` times the
# noise. Go there if `log(u) < log_density(proposal) - log_density(place)`, and stay
# otherwise. All draws have keys of their own, made from `key`.
#
# ```python
# >>> metropolis(jax.random.key(0), banana, jnp.zeros(2), 50, 0.5).shape
# (50, 2)
# ```
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `log_density`: a function from a place, float32[d], to the logarithm of the density
#   there, float32[]. A constant may be missing, so that the values are very large or
#   small; where the density is 0, it is -inf.
# - `start`: float32[d], a place where the density is not 0.
# - `steps`: int, 1 or more.
# - `size`: float.
#
# **Returns:** float32[steps,d]: the place after each step, also if it is the same as
# before.

# %%
def metropolis(key, log_density, start, steps, size):
    """Walk by the Metropolis rule, in one `jax.lax.scan`, and return the place after
    each step.
    """
    ...


check(metropolis)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(metropolis)
# solution(metropolis)

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

# %% [markdown]
# ### Exercise: Batches of an epoch (3 points, beyond the core)
#
# Shuffle inputs and labels together, in an order for this epoch, and cut them into
# batches.
#
# The order is that of `jax.random.permutation`, drawn once, with the key that
# `jax.random.fold_in` makes for the epoch. So any epoch can be made without those
# before it.
#
# ```python
# >>> inputs, labels = jnp.arange(8.0).reshape(4, 2), jnp.arange(4)
# >>> epoch_batches(jax.random.key(0), 7, inputs, labels, 2)[1].shape
# (2, 2)
# ```
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `epoch`: int, or int32[], which is traced under `jax.jit`.
# - `inputs`: float32[n,d].
# - `labels`: int32[n].
# - `size`: int, by which n can be divided.
#
# **Returns:** A tuple `(inputs, labels)`: float32[b,size,d] and int32[b,size], with b =
# n / size.

# %%
def epoch_batches(key, epoch, inputs, labels, size):
    """Shuffle inputs and labels together, in an order for this epoch, and cut them into
    batches.
    """
    ...


check(epoch_batches)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(epoch_batches)
# solution(epoch_batches)

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

# %% [markdown]
# ### Exercise: A tour of the hidden state (3 points, beyond the core)
#
# Show what happens to NumPy's hidden state, in this order, with `show_state`,
# `loud_uniform`, `bar` and `baz`.
#
# 1. Seed, read the state with `np.random.get_state()`, and show it.
# 2. Draw one number, and show the state.
# 3. Seed again, and show the state.
# 4. Seed again, and draw a vector of three numbers.
# 5. Seed again, and draw three single numbers.
# 6. Seed again, and compute `bar() + 2 * baz()`, with `bar` called first.
# 7. Seed again, and compute the same sum with `baz` called first.
#
# ```python
# >>> state, vector, singly, bar_first, baz_first = numpy_tour(1)
# ('MT19937', array([         1, 1812433254, ...
# >>> vector
# array([4.17022005e-01, 7.20324493e-01, 1.14374817e-04])
# ```
#
# **Args:**
#
# - `seed`: int.
#
# **Returns:** A tuple `(state, vector, singly, bar_first, baz_first)`: the state after
# the first seeding, as `np.random.get_state()` returns it; two arrays float64[3]; and
# two floats.

# %%
def numpy_tour(seed):
    """Show what happens to NumPy's hidden state, in this order, with `show_state`,
    `loud_uniform`, `bar` and `baz`.
    """
    ...


check(numpy_tour)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(numpy_tour)
# solution(numpy_tour)

# %% [markdown]
# <details>
# <summary>The document's example, today: Pseudorandom numbers (S0-25, S0-26, S0-27,
# S0-28, S0-29, S0-30, S0-32, S0-33)</summary>
#
# Documented and today's output agree. The page says of the last line only that the
# order matters.
#
# > ```python
# > def print_truncated_random_state():
# >     full_random_state = np.random.get_state()
# >     print(str(full_random_state)[:460], "...")
# >
# >
# > np.random.seed(0)
# > print_truncated_random_state()
# > np.random.seed(0)
# > print_truncated_random_state()
# > _ = np.random.uniform()
# > print_truncated_random_state()
# > np.random.seed(0)
# > print(np.random.uniform(size=3))
# > np.random.seed(0)
# > print("individually:", np.stack([np.random.uniform() for _ in range(3)]))
# > np.random.seed(0)
# > print("all at once: ", np.random.uniform(size=3))
# > np.random.seed(0)
# > first, second = np.random.uniform(), np.random.uniform()
# > print(first + 2 * second)
# > print("baz first:", second + 2 * first)
# > ```
#
# [Pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html)
# shows:
#
# > ```text
# > ('MT19937', array([         0,          1, 1812433255, 1900727105, 1208447044,
# >        2481403966, 4042607538,  337614300, 3232553940, 1018809052, ...
# > ('MT19937', array([         0,          1, 1812433255, 1900727105, 1208447044,
# >        2481403966, 4042607538,  337614300, 3232553940, 1018809052, ...
# > ('MT19937', array([2443250962, 1093594115, 1878467924, 2709361018, 1101979660,
# >        3904844661,  676747479, 2085143622, 1056793272, 3812477442, ...
# > [0.5488135  0.71518937 0.60276338]
# > individually: [0.5488135  0.71518937 0.60276338]
# > all at once:  [0.5488135  0.71518937 0.60276338]
# > 1.9791922366721637
# > ```
#
# Today:
#
# > ```text
# > ('MT19937', array([         0,          1, 1812433255, 1900727105, 1208447044,
# >        2481403966, 4042607538,  337614300, 3232553940, 1018809052, ...
# > ('MT19937', array([         0,          1, 1812433255, 1900727105, 1208447044,
# >        2481403966, 4042607538,  337614300, 3232553940, 1018809052, ...
# > ('MT19937', array([2443250962, 1093594115, 1878467924, 2709361018, 1101979660,
# >        3904844661,  676747479, 2085143622, 1056793272, 3812477442, ...
# > [0.5488135  0.71518937 0.60276338]
# > individually: [0.5488135  0.71518937 0.60276338]
# > all at once:  [0.5488135  0.71518937 0.60276338]
# > 1.9791922366721637
# > baz first: 1.812816374227069
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: Describe a key (2 points, beyond the core)
#
# Describe one key, typed or legacy.
#
# ```python
# >>> describe_key(jax.random.key(7))["dtype"]
# 'key<fry>'
# ```
#
# **Args:**
#
# - `key`: `key<fry>[]` or `key<rbg>[]`, or uint32[2].
#
# **Returns:** A dict with five entries. "dtype": the name of its dtype, a str. "shape":
# its shape, a tuple of ints. "words": all words behind it, uint32[2] or uint32[4].
# "implementation": the name of the rule behind it, a str. "printed": the text that
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
# <details>
# <summary>The document's example, today: Pseudorandom numbers (S0-34, S0-35,
# S0-36)</summary>
#
# Documented and today's output agree. The page says in words that legacy keys are the
# old kind, and that a key is a pair of words.
#
# > ```python
# > key = jax.random.key(42)
# > print(key)
# > print(key.dtype, key.shape, jax.random.key_data(key), jax.random.key_impl(key))
# > print(jax.random.PRNGKey(42).dtype, jax.random.PRNGKey(42).shape)
# > ```
#
# [Pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html)
# shows:
#
# > ```text
# > Array((), dtype=key<fry>) overlaying:
# > [ 0 42]
# > ```
#
# Today:
#
# > ```text
# > Array((), dtype=key<fry>) overlaying:
# > [ 0 42]
# > key<fry> () [ 0 42] threefry2x32
# > uint32 (2,)
# > ```
#
# </details>

# %% [markdown]
# ### Exercise: Use a key twice (1 point, beyond the core)
#
# Draw one normal number from the key, draw from the same key again, and read the key's
# words afterwards.
#
# Draw twice: do not give one number two times.
#
# ```python
# >>> use_key_twice(jax.random.key(7))[2]
# Array([0, 7], dtype=uint32)
# ```
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
# <details>
# <summary>The document's example, today: Pseudorandom numbers (S0-37, S0-38)</summary>
#
# The number is another one since JAX 0.5.0. It still comes twice, and the key stays as
# it was.
#
# > ```python
# > key = jax.random.key(42)
# > print(jax.random.normal(key))
# > print(jax.random.normal(key))
# > print(jax.random.key_data(key))
# > ```
#
# [Pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html)
# shows:
#
# > ```text
# > -0.18471177
# > -0.18471177
# > ```
#
# Today:
#
# > ```text
# > -0.028304616
# > -0.028304616
# > [ 0 42]
# > ```
#
# </details>

# %% [markdown]
# ### What reuse does to the numbers
#
# How much do numbers from one key go together? And are both halves of a split as good
# as each other? `np.corrcoef(a, b)[0, 1]` is the correlation of two samples: 1 if they
# rise and fall together, near 0 if they are independent.

# %% [markdown]
# ### Exercise: Measure reuse, and both halves of a split (2 points, beyond the core)
#
# Measure how draws from one key go together, and how those from the two halves of
# `jax.random.split(key)` do.
#
# ```python
# >>> found = reuse_and_halves(jax.random.key(1), 100)
# >>> print(f"{found['reused']:.2f}")
# 0.98
# ```
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `n`: int, how many numbers to draw each time, in one draw; 2 or more.
#
# **Returns:** A dict of numbers and pairs of numbers: "reused": the correlation of
# `jax.random.uniform` and `jax.random.normal`, both from the key itself. "apart": the
# same, with the uniform numbers from the first half and the normal ones from the
# second. "means", "spreads": the means and the standard deviations (`np.std`) of normal
# numbers from the first half and from the second, two pairs. "halves": the correlation
# of these two samples.

# %%
def reuse_and_halves(key, n):
    """Measure how draws from one key go together, and how those from the two halves of
    `jax.random.split(key)` do.
    """
    ...


check(reuse_and_halves)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(reuse_and_halves)
# solution(reuse_and_halves)

# %% [markdown]
# <details>
# <summary>The document's example, today: Pseudorandom numbers (S0-39, S0-44)</summary>
#
# The page says this in words, and it holds today.
#
# > ```python
# > for name, value in reuse_and_halves(jax.random.key(42), 20_000).items():
# >     print(name, np.abs(np.round(value, 2)).tolist())
# > ```
#
# [Pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html)
# says:
#
# > One key in two random functions may give correlated numbers. Either part of a split
# > may be called the key or the subkey: they are of equal standing.
#
# Today:
#
# > ```text
# > reused 0.98
# > apart 0.0
# > means [0.0, 0.0]
# > spreads [1.0, 1.01]
# > halves 0.0
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: Catch a reuse (2 points, beyond the core)
#
# Say whether JAX's own watcher finds a reused key in `function(key)`.
#
# ```python
# >>> reuses_a_key(draw_twice, jax.random.key(0))
# True
# ```
#
# **Args:**
#
# - `function`: a function of one key.
# - `key`: `key<fry>[]`, not used yet.
#
# **Returns:** A bool: True if `function(key)` raises `jax.errors.KeyReuseError` inside
# `with jax.debug_key_reuse(True):`, False if it does not. If it raises another error,
# return False or let the error through. The watcher is on inside this `with` only.

# %%
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


def reuses_a_key(function, key):
    """Say whether JAX's own watcher finds a reused key in `function(key)`."""
    ...


check(reuses_a_key)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(reuses_a_key)
# solution(reuses_a_key)

# %% [markdown]
# <details>
# <summary>The document's example, today: Pseudorandom numbers (S0-40)</summary>
#
# The page has only the rule. By default, JAX says nothing; its watcher raises an error.
#
# > ```python
# > key = jax.random.key(42)
# > print(jax.random.normal(key) == jax.random.normal(key))
# > for function in (draw_twice, split_then_draw):
# >     print(reuses_a_key(function, jax.random.key(42)))
# > ```
#
# [Pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html)
# says:
#
# > Never use a key twice, unless you want the same numbers twice.
#
# Today:
#
# > ```text
# > True
# > True
# > False
# > ```
#
# </details>

# %% [markdown]
# ### One split, many keys
#
# `split` is a rule, not a draw: the same key gives the same new keys. It makes as many
# as you like, also in the shape of a table, `split(key, (2, 3))`. Python's `*` takes
# all the rest.

# %%
first, *others = jax.random.split(jax.random.key(0), 4)
print(first, len(others))

# %% [markdown]
# ### Exercise: One key to keep, n to use (2 points, beyond the core)
#
# Split a key, in one go, into one key to keep and n keys to use.
#
# Make them with one call of `jax.random.split`. The first new key is the one to keep,
# the others follow in order.
#
# ```python
# >>> next_key, subkeys = keep_one_key(jax.random.key(0), 3)
# >>> len(subkeys)
# 3
# ```
#
# **Args:**
#
# - `key`: `key<fry>[]` or uint32[2].
# - `n`: int, how many keys to use; 1 or more.
#
# **Returns:** A tuple `(next_key, subkeys)`: one key of the same kind as `key`, and n
# such keys, in an array (`key<fry>[n]` or uint32[n,2]), a list or a tuple.

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
# <details>
# <summary>The document's example, today: Pseudorandom numbers (S0-43, S0-45,
# S0-46)</summary>
#
# The page shows no output. The words of the new keys are others since JAX 0.5.0.
#
# > ```python
# > key = jax.random.key(42)
# > print(jax.random.key_data(jax.random.split(key)).tolist())
# > key, subkey = jax.random.split(key)
# > print(jax.random.key_data(key), jax.random.key_data(subkey))
# > key, *forty_two_subkeys = jax.random.split(key, num=43)
# > print(len(forty_two_subkeys), key.dtype)
# > ```
#
# [Pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html)
# shows:
#
# > ```text
# > no output
# > ```
#
# Today:
#
# > ```text
# > [[1832780943, 270669613], [64467757, 2916123636]]
# > [1832780943  270669613] [  64467757 2916123636]
# > 42 key<fry>
# > ```
#
# </details>

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
