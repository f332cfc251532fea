# url: https://github.com/google/flax/issues/3115
# verdict: correct
# why: Both dropout layers take keys from one stream, and make_rng folds in the layer's path and a counter.
# needs: flax

# %% program
import flax.linen as nn
import jax.numpy as jnp


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        a = nn.Dropout(0.5, deterministic=False)(x)
        b = nn.Dropout(0.5, deterministic=False)(x)
        return a, b


def program(key):
    return Net().apply({}, jnp.ones((24,)), rngs={"dropout": key})
