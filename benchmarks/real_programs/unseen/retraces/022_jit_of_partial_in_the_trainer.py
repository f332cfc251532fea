# url: https://github.com/energnn/energnn/pull/75
# cause: The trainer builds jax.jit(partial(...)) anew in each training step, and partial objects compare by identity.

# %% program
import functools

import jax
import jax.numpy as jnp


def update(params, batch, rate):
    return params - rate * batch.mean(0)


def step(params, batch):
    return jax.jit(functools.partial(update, rate=0.1))(params, batch)


calls = [(jnp.ones(2), jnp.ones((4, 2))), (jnp.ones(2), jnp.ones((4, 2)))]
