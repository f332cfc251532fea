# url: https://github.com/jax-ml/jax/pull/16028
# wrong: jax.random.key wants an integer seed and gets a key; split the key it already has.

# %% fails
import jax

def make_dataset(rng, n):
    key = jax.random.key(rng)
    return jax.random.normal(key, (n, 2))

master = jax.random.key(42)
train_rng, test_rng = jax.random.split(master)
print(make_dataset(train_rng, 4).shape)

# %% works
import jax

def make_dataset(rng, n):
    return jax.random.normal(rng, (n, 2))

master = jax.random.key(42)
train_rng, test_rng = jax.random.split(master)
print(make_dataset(train_rng, 4).shape)
