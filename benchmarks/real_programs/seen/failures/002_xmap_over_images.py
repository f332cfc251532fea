# url: https://github.com/jax-ml/jax/issues/5847
# wrong: xmap and the whole module jax.experimental.maps were removed; map over the batch axis with jax.vmap.

# %% fails
import jax
import jax.numpy as jnp

def sample_one(image, coords):
    return jax.scipy.ndimage.map_coordinates(image, coords, order=1)

sample_batch = jax.experimental.maps.xmap(
    sample_one,
    in_axes=(["b", ...], ["b", ...]),
    out_axes=["b", ...],
)
images = jnp.arange(50.0).reshape(2, 5, 5)
coords = jnp.full((2, 2, 3), 1.5)
print(sample_batch(images, coords))

# %% works
import jax
import jax.numpy as jnp

def sample_one(image, coords):
    return jax.scipy.ndimage.map_coordinates(image, list(coords), order=1)

sample_batch = jax.vmap(sample_one)
images = jnp.arange(50.0).reshape(2, 5, 5)
coords = jnp.full((2, 2, 3), 1.5)
print(sample_batch(images, coords))
