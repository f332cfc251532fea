# url: https://github.com/jax-ml/jax/pull/18951
# wrong: The time step is a scalar and has no axis that P("x") could split; its spec must be P().

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(jax.devices(), ("x",))

def advance(*args):
    u, dt = args
    return u - dt * u ** 3

step = jax.shard_map(advance, mesh=mesh, in_specs=(P("x"), P("x")), out_specs=P("x"))
print(step(jnp.linspace(0, 1, 8), 0.1))

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(jax.devices(), ("x",))

def advance(*args):
    u, dt = args
    return u - dt * u ** 3

step = jax.shard_map(advance, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"))
print(step(jnp.linspace(0, 1, 8), 0.1))
