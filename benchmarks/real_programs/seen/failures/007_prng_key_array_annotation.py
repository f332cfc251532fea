# url: https://github.com/kora-labs/chromax/issues/14
# wrong: jax.random.PRNGKeyArray is gone; a key is an ordinary jax.Array in annotations.

# %% fails
import jax
import jax.numpy as jnp

def meiosis(parent: jax.Array, key: jax.random.PRNGKeyArray) -> jax.Array:
    crossover = jax.random.bernoulli(key, 0.5, parent.shape[:1])
    return jnp.where(crossover, parent[:, 0], parent[:, 1])

genome = jnp.arange(10).reshape(5, 2) % 2
print(meiosis(genome, jax.random.key(3)))

# %% works
import jax
import jax.numpy as jnp

def meiosis(parent: jax.Array, key: jax.Array) -> jax.Array:
    crossover = jax.random.bernoulli(key, 0.5, parent.shape[:1])
    return jnp.where(crossover, parent[:, 0], parent[:, 1])

genome = jnp.arange(10).reshape(5, 2) % 2
print(meiosis(genome, jax.random.key(3)))
