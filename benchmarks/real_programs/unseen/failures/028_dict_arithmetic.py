# url: https://github.com/google/brax/issues/155
# wrong: Parameters are a dict, and a dict cannot be scaled or added as a whole; apply the formula leaf by leaf with jax.tree.map.

# %% fails
import jax.numpy as jnp

target = {"w": jnp.zeros(3), "b": jnp.zeros(1)}
online = {"w": jnp.ones(3), "b": jnp.ones(1)}
tau = 0.05
target = (1 - tau) * target + tau * online
print(target)

# %% works
import jax
import jax.numpy as jnp

target = {"w": jnp.zeros(3), "b": jnp.zeros(1)}
online = {"w": jnp.ones(3), "b": jnp.ones(1)}
tau = 0.05
target = jax.tree.map(lambda t, o: (1 - tau) * t + tau * o, target, online)
print(target)
