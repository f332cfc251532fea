# url: https://github.com/jax-ml/jax/issues/30095
# wrong: out_sharding is a feature of explicit meshes, and this mesh axis is of type Auto; make the axis Explicit, or constrain the sample with device_put and a NamedSharding.

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
from jax.sharding import AxisType, PartitionSpec as P

mesh = jax.make_mesh((4,), ("S",), axis_types=(AxisType.Auto,))
jax.set_mesh(mesh)
walkers = jax.random.normal(jax.random.key(1), (100,), out_sharding=P("S"))
print(walkers.sharding)

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
from jax.sharding import AxisType, PartitionSpec as P

mesh = jax.make_mesh((4,), ("S",), axis_types=(AxisType.Explicit,))
jax.set_mesh(mesh)
walkers = jax.random.normal(jax.random.key(1), (100,), out_sharding=P("S"))
print(walkers.sharding)
