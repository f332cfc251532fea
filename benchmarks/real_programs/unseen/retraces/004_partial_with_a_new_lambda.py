# url: https://github.com/jax-ml/jax/issues/14183
# cause: The Partial is a pytree whose structure holds the function, and each call wraps a new lambda.

# %% program
import jax
import jax.numpy as jnp
from jax.tree_util import Partial


@jax.jit
def step(activation, x):
    return activation(x)


def turn():
    step(Partial(lambda v: jnp.maximum(v, 0.0)), jnp.ones(5))


calls = [turn, turn]
