# url: https://github.com/jax-ml/jax/pull/8067
# verdict: correct
# why: The backward pass of a checkpointed layer computes the same mask again, as it must.
# repeats: jax.checkpoint evaluates the layer a second time with the same key.

# %% program
import jax
import jax.numpy as jnp


@jax.checkpoint
def layer(key, x):
    keep = jax.random.bernoulli(key, 0.5, x.shape)
    return jnp.sin(jnp.where(keep, 2 * x, 0.0))


def program(key):
    k1, k2 = jax.random.split(key)
    return jax.grad(lambda x: layer(k2, layer(k1, x)).sum())(jnp.ones(10))
