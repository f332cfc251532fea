# url: https://github.com/jax-ml/jax/issues/27808
# wrong: A result of 6 entries cannot be split evenly over 4 devices; pad it, or replicate the output with P().

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
from functools import partial
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(jax.devices(), ("data",))

@partial(jax.jit, out_shardings=NamedSharding(mesh, P("data")))
def row_norms(x):
    return jnp.linalg.norm(x, axis=1)

print(row_norms(jnp.ones((6, 3))))

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
from functools import partial
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(jax.devices(), ("data",))

@partial(jax.jit, out_shardings=NamedSharding(mesh, P()))
def row_norms(x):
    return jnp.linalg.norm(x, axis=1)

print(row_norms(jnp.ones((6, 3))))
