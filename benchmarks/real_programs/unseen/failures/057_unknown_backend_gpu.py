# url: https://github.com/danijar/dreamerv3/issues/18
# wrong: The program asks for GPU devices where JAX has only the CPU backend (a CPU-only jaxlib or no GPU); ask for the default devices, or install the CUDA build.

# %% fails
import jax
import jax.numpy as jnp

platform = "gpu"
policy_device = jax.devices(platform)[0]
print(jax.device_put(jnp.ones(2), policy_device))

# %% works
import jax
import jax.numpy as jnp

policy_device = jax.devices()[0]
print(jax.device_put(jnp.ones(2), policy_device))
