# url: https://github.com/jax-ml/jax/issues/29859
# wrong: The sharded axis of 12 is split into 3 x 4, and in an explicit mesh JAX does not guess which part stays sharded; say so with out_sharding.

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, PartitionSpec as P

mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Explicit))
jax.set_mesh(mesh)
chains = jax.sharding.reshard(jnp.ones((12, 1)), P("x"))
print(jnp.reshape(chains, (3, 4, 1)).shape)

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, PartitionSpec as P

mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Explicit))
jax.set_mesh(mesh)
chains = jax.sharding.reshard(jnp.ones((12, 1)), P("x"))
print(jnp.reshape(chains, (3, 4, 1), out_sharding=P(None, "x", None)).shape)
