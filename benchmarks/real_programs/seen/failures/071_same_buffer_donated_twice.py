# url: https://github.com/jax-ml/jax/pull/2936
# wrong: The target network is the very same array as the online one, and one buffer cannot be donated twice; start the target from a copy.

# %% fails
import jax
import jax.numpy as jnp

def dqn_update(online, target, g):
    online = online - 0.1 * g
    return online, 0.9 * target + 0.1 * online

dqn_update = jax.jit(dqn_update, donate_argnums=(0, 1))
online = jnp.ones(5)
target = online
print(dqn_update(online, target, 1.0))

# %% works
import jax
import jax.numpy as jnp

def dqn_update(online, target, g):
    online = online - 0.1 * g
    return online, 0.9 * target + 0.1 * online

dqn_update = jax.jit(dqn_update, donate_argnums=(0, 1))
online = jnp.ones(5)
target = jnp.copy(online)
print(dqn_update(online, target, 1.0))
