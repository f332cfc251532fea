# url: https://github.com/google-deepmind/mujoco/issues/2306
# cause: The initial time is a weakly typed zero; after the first step it is a strongly typed float32.

# %% program
import collections

import jax
import jax.numpy as jnp
import numpy as np

Data = collections.namedtuple("Data", "time q v")
state = {"data": Data(jnp.asarray(0.0), jnp.zeros(2), jnp.ones(2))}


@jax.jit
def step(data):
    dt = np.float32(0.01)
    return Data(data.time + dt, data.q + dt * data.v, 0.99 * data.v)


def turn():
    state["data"] = step(state["data"])


calls = [turn, turn, turn]
