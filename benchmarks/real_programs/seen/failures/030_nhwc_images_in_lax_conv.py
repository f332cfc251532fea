# url: https://github.com/jax-ml/jax/issues/3289
# wrong: lax.conv expects the channels second (NCHW), but the images carry them last; transpose the images or state the layout in dimension_numbers.

# %% fails
import jax
import jax.numpy as jnp

images = jnp.ones((2, 16, 16, 3))
filters = jnp.ones((8, 3, 3, 3))
features = jax.lax.conv(images, filters, (1, 1), "SAME")
print(features.shape)

# %% works
import jax
import jax.numpy as jnp

images = jnp.ones((2, 16, 16, 3))
filters = jnp.ones((8, 3, 3, 3))
features = jax.lax.conv(jnp.transpose(images, (0, 3, 1, 2)), filters, (1, 1), "SAME")
print(features.shape)
