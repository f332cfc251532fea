# url: https://github.com/jax-ml/jax/issues/1328
# wrong: JAX arrays are immutable, so there is no out= argument to write into; assign the returned array.

# %% fails
import jax.numpy as jnp

amplitudes = jnp.zeros(4)
phases = jnp.linspace(0.0, 1.0, 4)
jnp.exp(phases, out=amplitudes)
print(amplitudes)

# %% works
import jax.numpy as jnp

phases = jnp.linspace(0.0, 1.0, 4)
amplitudes = jnp.exp(phases)
print(amplitudes)
