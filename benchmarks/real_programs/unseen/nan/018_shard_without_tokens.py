# url: https://github.com/huggingface/transformers/pull/18297
# wrong: Each device divides by the number of its own tokens, which is 0 on the device that got only padding.
# advice: Sum losses and counts over the devices with psum and divide once.

# %% fails
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()[:4]), ("data",))


def mean_loss(loss, mask):
    local = jnp.sum(loss * mask) / jnp.sum(mask)  # guilty
    return jax.lax.pmean(local, "data")


f = jax.shard_map(mean_loss, mesh=mesh, in_specs=P("data"), out_specs=P())
args = (jnp.ones(8), jnp.array([1.0, 1, 1, 1, 1, 0, 0, 0]))

# %% works
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()[:4]), ("data",))


def mean_loss(loss, mask):
    total = jax.lax.psum(jnp.sum(loss * mask), "data")
    return total / jax.lax.psum(jnp.sum(mask), "data")


f = jax.shard_map(mean_loss, mesh=mesh, in_specs=P("data"), out_specs=P())
args = (jnp.ones(8), jnp.array([1.0, 1, 1, 1, 1, 0, 0, 0]))
