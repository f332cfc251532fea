# url: https://github.com/jeertmans/DiffeRT/issues/280
# wrong: The scan's carry starts the same on every device but becomes different on each one inside shard_map; make the initial carry varying over the mesh axis (jax.lax.pcast/pvary, or derive it from the sharded input).

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("i",))

def path_length(points):
    def step(total, p):
        return total + jnp.linalg.norm(p), None
    return jax.lax.scan(step, jnp.zeros(()), points)[0][None]

print(jax.shard_map(path_length, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(jnp.ones((8, 3))))

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("i",))

def path_length(points):
    def step(total, p):
        return total + jnp.linalg.norm(p), None
    return jax.lax.scan(step, jnp.zeros_like(points[0, 0]) + 0 * points[0, 0], points)[0][None]

print(jax.shard_map(path_length, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(jnp.ones((8, 3))))
