# url: https://github.com/pmelchior/scarlet2/issues/87
# wrong: The tree of step sizes comes first and holds None, an empty subtree, where the others hold an array; map with is_leaf=lambda x: x is None so that None counts as a leaf.

# %% fails
import jax
import jax.numpy as jnp

sources = {"spectrum": jnp.ones(3), "morphology": jnp.ones((4, 4))}
steps = {"spectrum": 0.1, "morphology": None}
gradient = jax.tree.map(jnp.ones_like, sources)

moved = jax.tree.map(lambda s, p, g: p if s is None else p - s * g, steps, sources, gradient)
print(moved["spectrum"])

# %% works
import jax
import jax.numpy as jnp

sources = {"spectrum": jnp.ones(3), "morphology": jnp.ones((4, 4))}
steps = {"spectrum": 0.1, "morphology": None}
gradient = jax.tree.map(jnp.ones_like, sources)

moved = jax.tree.map(lambda s, p, g: p if s is None else p - s * g, steps, sources, gradient,
                     is_leaf=lambda x: x is None)
print(moved["spectrum"])
