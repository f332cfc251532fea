# url: https://github.com/keras-team/keras-core/pull/651
# wrong: The sampler is given the bare integer seed, but jax.random functions want a key; make one with jax.random.key(seed).

# %% fails
import jax
import jax.numpy as jnp

def dropout(x, rate, seed):
    keep = jax.random.bernoulli(seed, 1.0 - rate, x.shape)
    return jnp.where(keep, x / (1.0 - rate), 0.0)

print(dropout(jnp.ones((2, 3)), 0.5, seed=1337))

# %% works
import jax
import jax.numpy as jnp

def dropout(x, rate, seed):
    keep = jax.random.bernoulli(jax.random.key(seed), 1.0 - rate, x.shape)
    return jnp.where(keep, x / (1.0 - rate), 0.0)

print(dropout(jnp.ones((2, 3)), 0.5, seed=1337))
