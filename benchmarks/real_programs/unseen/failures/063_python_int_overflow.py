# url: https://github.com/jax-ml/jax/pull/5952
# wrong: The time stamp does not fit into int32, JAX's default integer; enable x64, or keep offsets from a start time.

# %% fails
import jax.numpy as jnp

start_ns = 1_700_000_000_000_000_000
ticks = jnp.array([0, 5, 9]) + start_ns
print(ticks)

# %% works
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp

start_ns = 1_700_000_000_000_000_000
ticks = jnp.array([0, 5, 9]) + start_ns
print(ticks)
