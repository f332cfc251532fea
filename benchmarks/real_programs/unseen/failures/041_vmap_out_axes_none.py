# url: https://github.com/jax-ml/jax/pull/21559
# wrong: out_axes=None promises that the second output is the same for every example, but it depends on the mapped input; map it too, or reduce it with a collective.

# %% fails
import jax
import jax.numpy as jnp

def energy_and_norm(x):
    return 0.5 * x ** 2, jnp.abs(x)

print(jax.vmap(energy_and_norm, out_axes=(0, None))(jnp.arange(3.0)))

# %% works
import jax
import jax.numpy as jnp

def energy_and_norm(x):
    return 0.5 * x ** 2, jnp.abs(x)

print(jax.vmap(energy_and_norm, out_axes=(0, 0))(jnp.arange(3.0)))
