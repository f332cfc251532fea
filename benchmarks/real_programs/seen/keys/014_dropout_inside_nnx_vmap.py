# url: https://github.com/google/flax/issues/4195
# verdict: reuse
# wrong: The model is broadcast by vmap and its random state with it, so each example of the batch loses the same units.
# needs: flax
# shows: bool((out == out[0]).all())
# mend: key = rngs.dropout()  # one for the batch ==> key = jax.random.split(rngs.dropout(), 6)
# mend: in_axes=(None, 0))(key ==> in_axes=(0, 0))(key

# %% program
import jax
import jax.numpy as jnp
from flax import nnx


def program(key):
    rngs = nnx.Rngs(dropout=key)
    drop = nnx.Dropout(0.5, deterministic=False)

    def infer(key, x):
        return drop(x, rngs=nnx.RngStream(key, tag="dropout"))  # first # second

    key = rngs.dropout()  # one for the batch
    return jax.vmap(infer, in_axes=(None, 0))(key, jnp.ones((6, 32)))
