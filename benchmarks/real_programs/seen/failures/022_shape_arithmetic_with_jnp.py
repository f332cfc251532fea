# url: https://github.com/jax-ml/jax/issues/4449
# wrong: Under jit every jnp operation gives a traced value, even jnp.ceil of a static shape, so the result cannot be a shape; do shape arithmetic with Python or NumPy.

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def pad_to_blocks(x):
    n_blocks = jnp.ceil(x.size / 4).astype(int)
    padded = jnp.zeros(n_blocks * 4)
    return padded.at[: x.size].set(x)

print(pad_to_blocks(jnp.arange(6.0)))

# %% works
import math
import jax
import jax.numpy as jnp

@jax.jit
def pad_to_blocks(x):
    n_blocks = math.ceil(x.size / 4)
    padded = jnp.zeros(n_blocks * 4)
    return padded.at[: x.size].set(x)

print(pad_to_blocks(jnp.arange(6.0)))
