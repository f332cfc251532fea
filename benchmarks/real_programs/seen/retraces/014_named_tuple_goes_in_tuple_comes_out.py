# url: https://github.com/jax-ml/jax/issues/6455
# cause: The first call gets a named tuple, the function returns a plain tuple, and this other tree structure is what the second call gets.

# %% program
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Momentum(NamedTuple):
    mean: jax.Array
    count: jax.Array


state = {"m": Momentum(jnp.zeros(3), jnp.array(0, jnp.int32))}


@jax.jit
def step(m):
    mean, count = m
    return 0.9 * mean + 0.1, count + 1


def turn():
    state["m"] = step(state["m"])


calls = [turn, turn, turn]
