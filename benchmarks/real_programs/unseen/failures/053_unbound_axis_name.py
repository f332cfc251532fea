# url: https://github.com/jax-ml/jax/issues/3120
# wrong: The function sums over the axis 'batch', but the pmap around it does not give its axis that name; pass axis_name='batch'.

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp

def mean_gradient(g):
    return jax.lax.pmean(g, axis_name="batch")

print(jax.pmap(mean_gradient)(jnp.arange(8.0).reshape(4, 2)))

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp

def mean_gradient(g):
    return jax.lax.pmean(g, axis_name="batch")

print(jax.pmap(mean_gradient, axis_name="batch")(jnp.arange(8.0).reshape(4, 2)))
