# url: https://github.com/jax-ml/jax/issues/19638
# wrong: The weights live on the first two devices and the batch on the last two, and one jitted computation must run on one set of devices; move one of them with device_put.

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

actors = NamedSharding(Mesh(jax.devices()[:2], ("x",)), P("x"))
learners = NamedSharding(Mesh(jax.devices()[2:], ("x",)), P("x"))
weights = jax.device_put(jnp.ones((4, 2)), actors)
batch = jax.device_put(jnp.ones((6, 4)), learners)
print(jax.jit(jnp.dot)(batch, weights))

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

actors = NamedSharding(Mesh(jax.devices()[:2], ("x",)), P("x"))
learners = NamedSharding(Mesh(jax.devices()[2:], ("x",)), P("x"))
weights = jax.device_put(jnp.ones((4, 2)), actors)
batch = jax.device_put(jnp.ones((6, 4)), learners)
print(jax.jit(jnp.dot)(batch, jax.device_put(weights, learners)))
