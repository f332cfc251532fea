# url: https://github.com/jax-ml/jax/issues/9933
# wrong: pmap maps over the leading axis of every leaf, and the parameters carry no device axis; replicate them, or pass them with in_axes=None.

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp

def local_loss(params, batch):
    return jnp.mean((batch @ params["kernel"] + params["bias"]) ** 2)

params = {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}
batch = jnp.ones((4, 5, 3))
print(jax.pmap(local_loss)(params, batch))

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp

def local_loss(params, batch):
    return jnp.mean((batch @ params["kernel"] + params["bias"]) ** 2)

params = {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}
batch = jnp.ones((4, 5, 3))
print(jax.pmap(local_loss, in_axes=(None, 0))(params, batch))
