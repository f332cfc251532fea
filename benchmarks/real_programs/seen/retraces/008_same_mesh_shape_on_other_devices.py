# url: https://github.com/jax-ml/jax/issues/19638
# cause: The second half of the devices forms a mesh of the same shape and names; the trace is shared, but an executable belongs to particular devices.
# kind: recompile

# %% program
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

devices = np.array(jax.devices())


def on(half):
    mesh = Mesh(half, ("x",))
    return jax.device_put(np.arange(8.0, dtype=np.float32), NamedSharding(mesh, P("x")))


@jax.jit
def step(x):
    return x + 1


calls = [(on(devices[:2]),), (on(devices[2:4]),)]
