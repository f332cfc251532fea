# url: https://github.com/gchq/coreax/issues/332
# cause: One caller passes the old raw key (two uint32 words), the other a typed key, which have different types.

# %% program
import jax
import jax.numpy as jnp


@jax.jit
def step(key, x):
    return x + jax.random.normal(key, x.shape)


x = jnp.zeros(4)
calls = [(jax.random.PRNGKey(0), x), (jax.random.key(0), x)]
