# url: https://github.com/jax-ml/jax/pull/18856
# wrong: The mesh has two axis names but the device array has one dimension; reshape the devices to two dimensions.

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax

mesh = jax.sharding.Mesh(jax.devices(), ("data", "model"))
print(mesh.shape)

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import numpy as np

mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))
print(mesh.shape)
