# url: https://github.com/google/flax/issues/4950
# verdict: reuse
# wrong: The dropout stream is not split over the scanned axis (split_rngs is False), so every time step drops the same units.
# needs: flax
# shows: bool((out == out[0]).all())
# mend: split_rngs={"dropout": False} ==> split_rngs={"dropout": True}

# %% program
import flax.linen as nn
import jax
import jax.numpy as jnp


class Step(nn.Module):
    @nn.compact
    def __call__(self, carry, x):
        return carry, nn.Dropout(0.5, deterministic=False)(x)  # first # second


class Model(nn.Module):
    @nn.compact
    def __call__(self, xs):
        return nn.scan(Step, variable_broadcast="params", split_rngs={"dropout": False})()(0.0, xs)[1]


def program(key):
    return Model().apply({}, jnp.ones((6, 32)), rngs={"dropout": key})
