# url: https://github.com/jax-ml/jax/pull/18444
# verdict: correct
# why: The custom rule draws the mask in the forward pass only and saves the mask, not the key.

# %% program
import jax
import jax.numpy as jnp


@jax.custom_vjp
def drop(x, key):
    return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), 2 * x, 0.0)


def forward(x, key):
    mask = jax.random.bernoulli(key, 0.5, x.shape)
    return jnp.where(mask, 2 * x, 0.0), mask


def backward(mask, g):
    return jnp.where(mask, 2 * g, 0.0), None


drop.defvjp(forward, backward)


def program(key):
    k1, k2 = jax.random.split(key)
    return jax.grad(lambda x: (drop(x, k1) * drop(3 * x, k2)).sum())(jnp.ones(16))
