# url: https://github.com/PlasmaControl/DESC/issues/1781
# cause: The default of alpha is the integer 0 while later calls pass a float, and Python ints and floats have different abstract types.

# %% program
import jax
import jax.numpy as jnp


@jax.jit
def step(x, alpha=0):
    return x * (1 + alpha)


calls = [(jnp.ones(5), 0), (jnp.ones(5), 0.5), (jnp.ones(5), 1)]
