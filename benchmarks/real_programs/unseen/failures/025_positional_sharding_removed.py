# url: https://github.com/patrick-kidger/equinox/issues/738
# wrong: PositionalSharding was removed from JAX; make a Mesh and use NamedSharding with a PartitionSpec.

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import numpy as np

devices = np.array(jax.devices()).reshape(4, 1)
sharding = jax.sharding.PositionalSharding(devices)
batch = jax.device_put(jax.numpy.ones((8, 3)), sharding)
print(batch.sharding)

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("batch",))
sharding = NamedSharding(mesh, P("batch", None))
batch = jax.device_put(jax.numpy.ones((8, 3)), sharding)
print(batch.sharding)
