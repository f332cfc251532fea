# url: https://github.com/jax-ml/jax/issues/9952
# cause: With x64 on, numpy's data stays float64 while the jnp data was made as float32, so np and jnp batches have different dtypes.

# %% program
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)


@jax.jit
def step(x):
    return jnp.tanh(x).sum()


calls = [(jnp.ones(4, jnp.float32),), (np.ones(4),)]
