# url: https://github.com/jax-ml/jax/issues/24406
# wrong: vmap always maps keyword arguments over axis 0, whatever in_axes says; pass the shared weights by position with in_axes=None, or close over them.

# %% fails
import jax
import jax.numpy as jnp

def weighted(x, y, weights):
    return jnp.sum(weights * (x - y) ** 2)

x, y = jnp.ones((5, 3)), jnp.zeros((5, 3))
print(jax.vmap(weighted)(x, y, weights=jnp.array([1.0, 2.0, 3.0])))

# %% works
import jax
import jax.numpy as jnp

def weighted(x, y, weights):
    return jnp.sum(weights * (x - y) ** 2)

x, y = jnp.ones((5, 3)), jnp.zeros((5, 3))
print(jax.vmap(weighted, in_axes=(0, 0, None))(x, y, jnp.array([1.0, 2.0, 3.0])))
