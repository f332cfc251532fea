# url: https://github.com/jax-ml/jax/pull/19577
# verdict: correct
# why: jax.checkpoint draws the same bits a second time for the gradient, which is what the derivative of the first draw needs.
# repeats: the checkpointed block is evaluated again in the backward pass.

# %% program
import jax
import jax.numpy as jnp
from jax import lax


def program(key):
    @jax.checkpoint
    def block(x, k):
        return jnp.tanh(x + 0.1 * jax.random.normal(k, x.shape)), None

    def loss(x):
        return lax.scan(block, x, jax.random.split(key, 4))[0].sum()

    return jax.grad(loss)(jnp.ones(5))
