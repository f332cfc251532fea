# url: https://github.com/jax-ml/jax/issues/21824
# wrong: functools.lru_cache hashes its argument, and a traced value has no hash; call the cached function with concrete numbers only, or do without the cache inside jit.

# %% fails
import functools
import jax
import jax.numpy as jnp

@functools.lru_cache
def decay_table(rate):
    return jnp.exp(-rate * jnp.arange(5.0))

@jax.jit
def convolve(signal, rate):
    return jnp.convolve(signal, decay_table(rate))

print(convolve(jnp.ones(4), 0.5))

# %% works
import jax
import jax.numpy as jnp

def decay_table(rate):
    return jnp.exp(-rate * jnp.arange(5.0))

@jax.jit
def convolve(signal, rate):
    return jnp.convolve(signal, decay_table(rate))

print(convolve(jnp.ones(4), 0.5))
