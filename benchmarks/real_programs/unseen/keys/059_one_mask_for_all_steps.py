# url: https://github.com/google/flax/issues/2194
# verdict: correct
# why: The recurrent mask is drawn once, outside of the scan, and all steps shall use it; the input's masks have keys of their own.

# %% program
import jax
import jax.numpy as jnp


def program(key):
    k_state, k_inputs = jax.random.split(key)
    mask = jax.random.bernoulli(k_state, 0.5, (6,))

    def cell(h, k):
        x = jax.random.bernoulli(k, 0.5, (6,)) * 1.0
        return jnp.tanh(h * mask + x), mask

    return jax.lax.scan(cell, jnp.zeros(6), jax.random.split(k_inputs, 5))
