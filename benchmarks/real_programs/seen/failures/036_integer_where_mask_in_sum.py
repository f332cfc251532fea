# url: https://github.com/jax-ml/jax/pull/25290
# wrong: The where= argument of a reduction must be boolean, and the mask holds 0 and 1 as integers; convert it with astype(bool).

# %% fails
import jax.numpy as jnp

tokens = jnp.array([[5, 7, 0, 0], [3, 2, 9, 0]])
losses = jnp.arange(8.0).reshape(2, 4)
mask = (tokens != 0).astype(jnp.int32)
print(jnp.mean(losses, axis=1, where=mask))

# %% works
import jax.numpy as jnp

tokens = jnp.array([[5, 7, 0, 0], [3, 2, 9, 0]])
losses = jnp.arange(8.0).reshape(2, 4)
mask = tokens != 0
print(jnp.mean(losses, axis=1, where=mask))
