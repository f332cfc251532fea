# url: https://github.com/AI-Hypercomputer/maxtext/pull/4174
# cause: The warm-up call uses a dummy batch on one device, the loader's batches are sharded over the data axis.

# %% program
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()[:4]), ("data",))


@jax.jit
def step(batch):
    return jax.tree.map(lambda x: (x * 2.0).sum(0), batch)


dummy = {"image": jnp.zeros((8, 3)), "label": jnp.zeros((8,))}
loaded = jax.device_put({"image": np.ones((8, 3), np.float32), "label": np.ones(8, np.float32)}, NamedSharding(mesh, P("data")))
calls = [(dummy,), (loaded,)]
