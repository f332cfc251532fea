# url: https://github.com/jax-ml/jax/pull/19536
# verdict: correct
# why: One branch splits the key and draws, the other hands it back untouched; what comes out of cond was not drawn from.

# %% program
import jax
from jax import lax
import jax.numpy as jnp


def refresh(args):
    key, x = args
    key, sub = jax.random.split(key)
    return key, x + jax.random.normal(sub, x.shape)


def program(key):
    x, trace = jnp.zeros(2), []
    for i in range(4):
        key, x = lax.cond(i % 2 == 0, refresh, lambda args: args, (key, x))
        trace.append(x)
    return trace, jax.random.uniform(key)
