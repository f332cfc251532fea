# url: https://github.com/alonfnt/pcax/issues/3
# wrong: n_components was computed with jnp and is a JAX array, which cannot be hashed as a static argument; convert it with int().

# %% fails
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.jit, static_argnames="n_components")
def fit(x, n_components):
    _, s, vt = jnp.linalg.svd(x - x.mean(0), full_matrices=False)
    return s[:n_components], vt[:n_components]

x = jnp.arange(12.0).reshape(4, 3) ** 2
n_components = jnp.minimum(x.shape[0], 2)
print(fit(x, n_components=n_components)[1].shape)

# %% works
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.jit, static_argnames="n_components")
def fit(x, n_components):
    _, s, vt = jnp.linalg.svd(x - x.mean(0), full_matrices=False)
    return s[:n_components], vt[:n_components]

x = jnp.arange(12.0).reshape(4, 3) ** 2
n_components = int(jnp.minimum(x.shape[0], 2))
print(fit(x, n_components=n_components)[1].shape)
