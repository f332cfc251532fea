# url: https://github.com/jax-ml/jax/issues/4712
# cause: The static config has no __eq__ and __hash__ of its own, so a new object with the same content counts as another value.

# %% program
import functools

import jax
import jax.numpy as jnp


class Config:
    def __init__(self, depth):
        self.depth = depth


@functools.partial(jax.jit, static_argnums=0)
def step(config, x):
    for _ in range(config.depth):
        x = jnp.tanh(x)
    return x


calls = [(Config(3), jnp.ones(4)), (Config(3), jnp.ones(4))]
