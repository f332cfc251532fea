# url: https://github.com/jax-ml/jax/pull/23860
# wrong: A string cannot be traced; declare the option static with static_argnames.

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def reduce_loss(errors, reduction):
    return errors.mean() if reduction == "mean" else errors.sum()

print(reduce_loss(jnp.arange(4.0), "mean"))

# %% works
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.jit, static_argnames="reduction")
def reduce_loss(errors, reduction):
    return errors.mean() if reduction == "mean" else errors.sum()

print(reduce_loss(jnp.arange(4.0), reduction="mean"))
