# url: https://github.com/jax-ml/jax/issues/4585
# wrong: The one-argument jnp.where returns as many indices as there are hits, a number unknown under jit; give size=, or use argmax for the single peak.

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def peak_position(image):
    rows, cols = jnp.where(image == jnp.max(image))
    return rows[0], cols[0]

print(peak_position(jnp.arange(12.0).reshape(3, 4)))

# %% works
import jax
import jax.numpy as jnp

@jax.jit
def peak_position(image):
    return jnp.unravel_index(jnp.argmax(image), image.shape)

print(peak_position(jnp.arange(12.0).reshape(3, 4)))
