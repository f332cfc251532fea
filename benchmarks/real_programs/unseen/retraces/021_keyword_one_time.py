# url: https://github.com/jax-ml/jax/pull/19129
# cause: The same argument is passed by position first and by keyword then, which are different signatures.

# %% program
import jax
import jax.numpy as jnp


@jax.jit
def step(x, scale):
    return x * scale


x, s = jnp.ones(3), jnp.float32(2)
calls = [lambda: step(x, s), lambda: step(x, scale=s)]
