# url: https://github.com/jax-ml/jax/issues/2072
# cause: The double loop over data sizes calls the function with a new pair of shapes each time.

# %% program
import jax
import jax.numpy as jnp


@jax.jit
def step(x, y):
    return jnp.mean(x.T @ y)


pairs = [(i, j) for i in (3, 2) for j in (3, 2)]
calls = [(jnp.ones((5, i)), jnp.ones((5, j))) for i, j in pairs]
