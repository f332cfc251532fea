# url: https://github.com/flatironinstitute/jax-finufft/issues/17
# wrong: The module jax.abstract_arrays was removed; ShapedArray is found in jax.core.

# %% fails
import jax.numpy as jnp
from jax.abstract_arrays import ShapedArray

def nufft_output_aval(points, n_modes, dtype=jnp.complex64):
    batch = points.shape[:-1]
    return ShapedArray(batch + (n_modes,), jnp.dtype(dtype))

print(nufft_output_aval(jnp.zeros((3, 100)), 16))

# %% works
import jax.numpy as jnp
from jax.core import ShapedArray

def nufft_output_aval(points, n_modes, dtype=jnp.complex64):
    batch = points.shape[:-1]
    return ShapedArray(batch + (n_modes,), jnp.dtype(dtype))

print(nufft_output_aval(jnp.zeros((3, 100)), 16))
