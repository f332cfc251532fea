# url: https://github.com/jax-ml/jax/issues/13137
# wrong: pmap needs one device for each entry of the leading axis, and there are 8 entries for 1 device; reshape to the number of devices, or use vmap.

# %% fails
import jax
import jax.numpy as jnp

def flip(image):
    return image[:, ::-1]

images = jnp.arange(8 * 2 * 3.0).reshape(8, 2, 3)
print(jax.pmap(flip)(images).shape)

# %% works
import jax
import jax.numpy as jnp

def flip(image):
    return image[:, ::-1]

images = jnp.arange(8 * 2 * 3.0).reshape(8, 2, 3)
print(jax.vmap(flip)(images).shape)
