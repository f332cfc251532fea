# url: https://github.com/jax-ml/jax/pull/3152
# wrong: The mesh axis is called "batch" and the collective asks for "devices"; use the same name in pmean.

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(jax.devices(), ("batch",))

def mean_gradient(w, x):
    g = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return jax.lax.pmean(g, "devices")

f = jax.shard_map(mean_gradient, mesh=mesh, in_specs=(P(), P("batch")), out_specs=P())
print(f(jnp.ones(3), jnp.ones((8, 3))))

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(jax.devices(), ("batch",))

def mean_gradient(w, x):
    g = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return jax.lax.pmean(g, "batch")

f = jax.shard_map(mean_gradient, mesh=mesh, in_specs=(P(), P("batch")), out_specs=P())
print(f(jnp.ones(3), jnp.ones((8, 3))))
