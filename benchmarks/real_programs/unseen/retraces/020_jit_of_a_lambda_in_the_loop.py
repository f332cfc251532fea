# url: https://github.com/jax-ml/jax/pull/19129
# cause: Each turn of the loop jits a new lambda, which the cache has never seen.

# %% program
import jax
import jax.numpy as jnp


def step(x):
    return jax.jit(lambda v: 2 * v + 1)(x)


calls = [(jnp.ones(3),), (jnp.ones(3),)]
