# url: https://docs.jax.dev/en/latest/notebooks/shard_map.html
# wrong: out_specs=P() claims that every device holds the same loss, but each has only its own part; add a psum or pmean over the axis.

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))

def local_loss(w, x):
    return jnp.mean((x @ w) ** 2)

loss = jax.shard_map(local_loss, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
print(loss(jnp.ones(3), jnp.ones((8, 3))))

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))

def local_loss(w, x):
    return jax.lax.pmean(jnp.mean((x @ w) ** 2), "data")

loss = jax.shard_map(local_loss, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
print(loss(jnp.ones(3), jnp.ones((8, 3))))
