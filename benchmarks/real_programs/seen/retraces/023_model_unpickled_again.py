# url: https://github.com/pyro-ppl/numpyro/issues/514
# cause: The static model object is loaded from a pickle for each run; it has no equality of its own, so the copy is a stranger to the cache.

# %% program
import copy
import functools

import jax
import jax.numpy as jnp


class Model:
    def __init__(self, scale):
        self.scale = scale

    def potential(self, x):
        return 0.5 * jnp.sum((x / self.scale) ** 2)


@functools.partial(jax.jit, static_argnames="model")
def step(x, model):
    return x - 0.1 * jax.grad(model.potential)(x)


model = Model(2.0)
calls = [lambda: step(jnp.ones(3), model=model), lambda: step(jnp.ones(3), model=copy.deepcopy(model))]
