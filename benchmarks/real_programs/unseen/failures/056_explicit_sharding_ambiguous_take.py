# url: https://github.com/marin-community/marin/pull/2288
# wrong: On a mesh with explicit axes, indexing a sharded table with sharded indices has no unique output sharding; say it with .at[...].get(out_sharding=...).

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, PartitionSpec as P

mesh = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Explicit,))
jax.set_mesh(mesh)
table = jax.device_put(jnp.ones((8, 4)), P("x", None))
tokens = jax.device_put(jnp.arange(8), P("x"))
print(jax.typeof(table[tokens]))

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, PartitionSpec as P

mesh = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Explicit,))
jax.set_mesh(mesh)
table = jax.device_put(jnp.ones((8, 4)), P("x", None))
tokens = jax.device_put(jnp.arange(8), P("x"))
print(jax.typeof(table.at[tokens].get(out_sharding=P("x", None))))
