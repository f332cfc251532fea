# url: https://github.com/cgiovanetti/LINX/issues/13
# cause: The order of the series is a static argument, and the loop over orders calls the function with another value each time.

# %% program
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, static_argnames="order")
def step(x, order):
    total = jnp.zeros_like(x)
    for n in range(1, order + 1):
        total += x**n / n**order
    return total


calls = [lambda: step(jnp.ones(4), order=3), lambda: step(jnp.ones(4), order=4)]
