# url: https://github.com/brainpy/BrainPy/issues/465
# wrong: One branch returns the last spike time as it was (int32), the other a float32 time; both branches must return the same dtypes.

# %% fails
import jax
import jax.numpy as jnp

def on_spike(t, last, d):
    return jnp.full_like(d, t), 1.0 - 0.9 * d

def nothing(t, last, d):
    return last, d

last_spike = jnp.zeros(3, jnp.int32)
depression = jnp.ones(3)
spike = jnp.array([False, True, False])
print(jax.lax.cond(jnp.any(spike), on_spike, nothing, 10.0, last_spike, depression))

# %% works
import jax
import jax.numpy as jnp

def on_spike(t, last, d):
    return jnp.full_like(d, t), 1.0 - 0.9 * d

def nothing(t, last, d):
    return last, d

last_spike = jnp.zeros(3, jnp.float32)
depression = jnp.ones(3)
spike = jnp.array([False, True, False])
print(jax.lax.cond(jnp.any(spike), on_spike, nothing, 10.0, last_spike, depression))
