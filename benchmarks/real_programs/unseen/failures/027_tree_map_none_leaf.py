# url: https://github.com/google-deepmind/optax/issues/1093
# wrong: None is an empty subtree, not a leaf, so a tree with None for the frozen weight does not match the full tree; treat None as a leaf with is_leaf and handle it in the function.

# %% fails
import jax
import jax.numpy as jnp

grads = {"frozen": None, "head": jnp.ones(3)}
params = {"frozen": jnp.ones(3), "head": jnp.full(3, 2.0)}
decayed = jax.tree.map(lambda g, p: g + 1e-2 * p, grads, params)
print(decayed)

# %% works
import jax
import jax.numpy as jnp

grads = {"frozen": None, "head": jnp.ones(3)}
params = {"frozen": jnp.ones(3), "head": jnp.full(3, 2.0)}
decayed = jax.tree.map(lambda g, p: None if g is None else g + 1e-2 * p,
                       grads, params, is_leaf=lambda t: t is None)
print(decayed)
