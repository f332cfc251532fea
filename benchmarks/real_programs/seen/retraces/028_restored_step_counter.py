# url: https://github.com/marin-community/marin/pull/8911
# cause: The optimizer's step counter is made on a single device while train_step returns it replicated over the mesh, so the second step differs from the first in this one leaf.

# %% program
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()[:4]), ("data",))
params = jax.device_put(np.ones((8, 2), np.float32), NamedSharding(mesh, P("data")))
state = {"params": params, "step": jnp.zeros((), jnp.int32)}


@jax.jit
def step(state):
    count = jax.lax.with_sharding_constraint(state["step"] + 1, NamedSharding(mesh, P()))
    return {"params": 0.9 * state["params"], "step": count}


def turn():
    state.update(step(dict(state)))


calls = [turn, turn, turn]
