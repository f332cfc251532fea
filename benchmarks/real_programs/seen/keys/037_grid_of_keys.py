# url: https://github.com/jax-ml/jax/issues/177
# verdict: correct
# why: The 12 keys are reshaped to a 3 by 4 grid and mapped over twice, each cell has its own.

# %% program
import jax
import jax.numpy as jnp


def program(key):
    keys = jax.random.split(key, 12).reshape(3, 4)
    temperature = jnp.array([0.1, 1.0, 10.0])

    def cell(key, t):
        return t * jax.random.normal(key, (2,))

    return jax.vmap(jax.vmap(cell, in_axes=(0, None)))(keys, temperature)
