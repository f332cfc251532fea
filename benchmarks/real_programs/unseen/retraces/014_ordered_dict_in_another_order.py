# url: https://github.com/jax-ml/jax/pull/26069
# cause: Plain dicts are sorted, but an OrderedDict keeps its order as part of the structure, and the loader fills it in another order.

# %% program
from collections import OrderedDict

import jax
import jax.numpy as jnp


@jax.jit
def step(batch):
    return (batch["x"] * batch["y"]).sum()


x, y = jnp.ones(3), jnp.ones(3)
calls = [(OrderedDict(x=x, y=y),), (OrderedDict(y=y, x=x),)]
