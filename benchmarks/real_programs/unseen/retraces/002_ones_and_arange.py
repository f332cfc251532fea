# url: https://github.com/jax-ml/jax/issues/4274
# cause: jnp.ones gives float32 and jnp.arange int32, so the dtype of the argument changes.

# %% program
import jax
import jax.numpy as jnp


@jax.jit
def step(x):
    return (x * x).sum()


calls = [(jnp.ones(8),), (jnp.arange(8),)]
