# url: https://github.com/deepmodeling/jax-fem/issues/65
# wrong: jax.tree_map is gone since JAX 0.6; call jax.tree.map.

# %% fails
import jax
import jax.numpy as jnp

residual = {"u": jnp.ones(3), "p": jnp.zeros(2)}
scaled = jax.tree_map(lambda r: 0.5 * r, residual)
print(scaled)

# %% works
import jax
import jax.numpy as jnp

residual = {"u": jnp.ones(3), "p": jnp.zeros(2)}
scaled = jax.tree.map(lambda r: 0.5 * r, residual)
print(scaled)
