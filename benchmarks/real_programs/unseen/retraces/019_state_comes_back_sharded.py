# url: https://github.com/keras-team/keras/pull/21559
# cause: The state goes in unsharded and comes back sharded over the mesh, so the second step sees another sharding.

# %% program
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()[:4]), ("x",))
state = {"w": jnp.ones(8)}


@functools.partial(jax.jit, out_shardings=NamedSharding(mesh, P("x")))
def step(w):
    return w * 0.9


def turn():
    state["w"] = step(state["w"])


calls = [turn, turn, turn]
