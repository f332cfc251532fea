# url: https://github.com/jax-ml/jax/issues/15728
# wrong: in_specs describes two arguments, but the sharded function is called with one; pass both.

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(jax.devices(), ("cells",))
add_forcing = jax.shard_map(
    lambda field, forcing: field + 0.1 * forcing,
    mesh=mesh, in_specs=(P("cells"), P("cells")), out_specs=P("cells"),
)
field = jnp.arange(8.0)
print(add_forcing(field))

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(jax.devices(), ("cells",))
add_forcing = jax.shard_map(
    lambda field, forcing: field + 0.1 * forcing,
    mesh=mesh, in_specs=(P("cells"), P("cells")), out_specs=P("cells"),
)
field = jnp.arange(8.0)
print(add_forcing(field, jnp.ones(8)))
