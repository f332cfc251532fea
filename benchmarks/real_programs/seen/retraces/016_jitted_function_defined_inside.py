# url: https://github.com/jax-ml/jax/issues/2251
# cause: The jitted helper is defined inside the simulate function, so that each call makes a new function with an empty cache.

# %% program
import functools

import jax
import jax.numpy as jnp


def step(infected, rate, days=5):
    @functools.partial(jax.jit, static_argnums=1)
    def advance(start, days):
        return jax.lax.scan(lambda s, _: (s + rate * s * (1 - s), s), start, None, length=days)

    return advance(infected, days)


calls = [(jnp.float32(0.01), 0.3), (jnp.float32(0.02), 0.3)]
