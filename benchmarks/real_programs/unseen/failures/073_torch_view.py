# url: https://github.com/samuela/torch2jax/pull/20
# wrong: PyTorch's tensor.view(...) reshapes, JAX's view reinterprets the dtype; use reshape.

# %% fails
import jax.numpy as jnp

features = jnp.ones((2, 3, 4))
flat = features.view(features.shape[0], -1)
print(flat.shape)

# %% works
import jax.numpy as jnp

features = jnp.ones((2, 3, 4))
flat = features.reshape(features.shape[0], -1)
print(flat.shape)
