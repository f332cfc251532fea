# url: https://github.com/pnkraemer/probdiffeq/pull/740
# wrong: The keyword of jnp.reshape is shape; newshape was removed.

# %% fails
import jax.numpy as jnp

def unravel_state(flat, n_derivatives):
    return jnp.reshape(flat, newshape=(n_derivatives, -1), order="F")

print(unravel_state(jnp.arange(6.0), 3))

# %% works
import jax.numpy as jnp

def unravel_state(flat, n_derivatives):
    return jnp.reshape(flat, shape=(n_derivatives, -1), order="F")

print(unravel_state(jnp.arange(6.0), 3))
