# url: https://github.com/jax-ml/jax/issues/18605
# wrong: The vectors of one shard are so short that the squared length underflows to 0 in float32, and the projection divides by it.
# advice: Scale by the largest component first, or guard the denominator.

# %% fails
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()[:4]), ("shard",))


def angle_rate(pos, vel):
    cross = pos[:, 0] * vel[:, 1] - pos[:, 1] * vel[:, 0]
    return cross / jnp.sum(pos**2, axis=-1)  # guilty


f = jax.shard_map(angle_rate, mesh=mesh, in_specs=(P("shard"), P("shard")), out_specs=P("shard"))
args = (jnp.array([[1.0, 0.0], [0.5, 0.5], [2.0, 1.0], [1e-30, 1e-30]]), jnp.ones((4, 2)))

# %% works
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()[:4]), ("shard",))


def angle_rate(pos, vel):
    size = jnp.max(jnp.abs(pos), axis=-1, keepdims=True)
    unit = pos / size
    cross = unit[:, 0] * vel[:, 1] - unit[:, 1] * vel[:, 0]
    return cross / jnp.sum(unit**2, axis=-1) / size[:, 0]


f = jax.shard_map(angle_rate, mesh=mesh, in_specs=(P("shard"), P("shard")), out_specs=P("shard"))
args = (jnp.array([[1.0, 0.0], [0.5, 0.5], [2.0, 1.0], [1e-30, 1e-30]]), jnp.ones((4, 2)))
