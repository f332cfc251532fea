# url: https://github.com/google/brax/issues/321
# wrong: NumPy's np.stack tries to turn the traced positions into NumPy arrays; use jnp.stack inside jitted code.

# %% fails
import jax
import jax.numpy as jnp
import numpy as np

@jax.jit
def step(pos, vel, action):
    vel = vel + 0.1 * action
    pos = pos + 0.1 * vel
    obs = np.stack([pos, vel])
    return pos, vel, obs

print(step(jnp.zeros(3), jnp.zeros(3), jnp.ones(3))[2])

# %% works
import jax
import jax.numpy as jnp

@jax.jit
def step(pos, vel, action):
    vel = vel + 0.1 * action
    pos = pos + 0.1 * vel
    obs = jnp.stack([pos, vel])
    return pos, vel, obs

print(step(jnp.zeros(3), jnp.zeros(3), jnp.ones(3))[2])
