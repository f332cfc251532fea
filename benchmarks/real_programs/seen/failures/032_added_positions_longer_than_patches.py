# url: https://github.com/prs-eth/thera/issues/10
# wrong: 100 position embeddings cannot be added to 64 patches, the shapes (2, 64, 8) and (100, 8) do not broadcast; take as many positions as there are patches.

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def embed(patches, projection, positions):
    return patches @ projection + positions

patches = jnp.ones((2, 64, 12))
positions = jnp.ones((100, 8))
print(embed(patches, jnp.ones((12, 8)), positions).shape)

# %% works
import jax
import jax.numpy as jnp

@jax.jit
def embed(patches, projection, positions):
    return patches @ projection + positions[: patches.shape[1]]

patches = jnp.ones((2, 64, 12))
positions = jnp.ones((100, 8))
print(embed(patches, jnp.ones((12, 8)), positions).shape)
