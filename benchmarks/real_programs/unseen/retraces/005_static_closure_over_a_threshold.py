# url: https://github.com/jax-ml/jax/issues/14183
# cause: The static argument is a closure made anew for each call, and functions hash by identity.

# %% program
import functools

import jax
import jax.numpy as jnp


def clipper(limit):
    def clip(x):
        return jnp.clip(x, -limit, limit)

    return clip


@functools.partial(jax.jit, static_argnames="fn")
def step(x, fn):
    return fn(x).mean()


calls = [lambda: step(jnp.ones(6), fn=clipper(2.0)), lambda: step(jnp.ones(6), fn=clipper(2.0))]
