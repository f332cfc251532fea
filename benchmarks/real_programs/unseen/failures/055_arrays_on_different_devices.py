# url: https://github.com/Physical-Intelligence/openpi/issues/261
# wrong: Image and kernel were put on different devices on purpose, and a computation cannot mix committed arrays from two places; move one of them with device_put.

# %% fails
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp

devices = jax.devices()
image = jax.device_put(jnp.ones((4, 4)), devices[0])
kernel = jax.device_put(jnp.ones((4, 2)), devices[1])
print((image @ kernel).shape)

# %% works
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp

devices = jax.devices()
image = jax.device_put(jnp.ones((4, 4)), devices[0])
kernel = jax.device_put(jnp.ones((4, 2)), devices[1])
print((image @ jax.device_put(kernel, devices[0])).shape)
