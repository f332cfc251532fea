# url: https://github.com/google-deepmind/mujoco/issues/1484
# wrong: A row without any contact divides 0 by 0, and jax_debug_nans stops at that NaN; divide by the number of contacts, at least one.

# %% fails
import jax
jax.config.update("jax_debug_nans", True)
import jax.numpy as jnp

@jax.jit
def mean_contact_depth(depth, touching):
    total = jnp.sum(jnp.where(touching, depth, 0.0), axis=1)
    return total / jnp.sum(touching, axis=1)

depth = jnp.array([[0.1, 0.2], [0.3, 0.4]])
print(mean_contact_depth(depth, jnp.array([[True, False], [False, False]])))

# %% works
import jax
jax.config.update("jax_debug_nans", True)
import jax.numpy as jnp

@jax.jit
def mean_contact_depth(depth, touching):
    total = jnp.sum(jnp.where(touching, depth, 0.0), axis=1)
    return total / jnp.maximum(jnp.sum(touching, axis=1), 1)

depth = jnp.array([[0.1, 0.2], [0.3, 0.4]])
print(mean_contact_depth(depth, jnp.array([[True, False], [False, False]])))
