# url: https://github.com/jax-ml/jax/issues/5186
# wrong: jnp.arange needs a concrete length because it is the shape of the result, but n_pix is traced; pass it as a static argument.

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def aperture(n_pix, radius):
    y = jnp.arange(n_pix) - (n_pix - 1) / 2
    r = jnp.hypot(y[:, None], y[None, :])
    return jax.nn.sigmoid(4.0 * (radius - r))

print(aperture(8, 2.5).sum())

# %% works
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.jit, static_argnums=0)
def aperture(n_pix, radius):
    y = jnp.arange(n_pix) - (n_pix - 1) / 2
    r = jnp.hypot(y[:, None], y[None, :])
    return jax.nn.sigmoid(4.0 * (radius - r))

print(aperture(8, 2.5).sum())
