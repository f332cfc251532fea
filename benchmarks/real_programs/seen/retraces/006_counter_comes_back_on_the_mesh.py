# url: https://github.com/jax-ml/jax/issues/31250
# cause: The counter enters on one device; the constraint in the function puts the result on the mesh, and this sharding is new in the second call.

# %% program
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()[:2]), ("device",))
state = {"n": jnp.array(0, jnp.int32)}


@jax.jit
def step(n):
    return jax.lax.with_sharding_constraint(n, NamedSharding(mesh, P())) + 1


def turn():
    state["n"] = step(state["n"])


calls = [turn, turn, turn]
