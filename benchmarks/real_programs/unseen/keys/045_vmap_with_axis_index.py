# url: https://github.com/jax-ml/jax/issues/7708
# verdict: correct
# why: The key is broadcast over the batch but each row folds its own index into it.

# %% program
import functools

import jax
import jax.numpy as jnp


def program(key):
    @functools.partial(jax.vmap, in_axes=(None, 0), axis_name="batch")
    def loss(key, x):
        key = jax.random.fold_in(key, jax.lax.axis_index("batch"))
        keep = jax.random.bernoulli(key, 0.5, x.shape)
        return jnp.where(keep, x, 0.0)

    return loss(key, jnp.ones((5, 8)))
