# url: https://github.com/Physical-Intelligence/openpi/issues/607
# wrong: The last batch has 19 examples and cannot be split evenly over 4 devices; drop or pad the last batch.

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("batch",))
data = np.ones((19, 10), np.float32)
batch = jax.device_put(data, NamedSharding(mesh, P("batch")))
print(batch.shape)

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("batch",))
data = np.ones((19, 10), np.float32)
data = np.pad(data, ((0, -len(data) % 4), (0, 0)))
batch = jax.device_put(data, NamedSharding(mesh, P("batch")))
print(batch.shape)
