# url: https://github.com/mlcommons/algorithmic-efficiency/pull/672
# verdict: correct
# why: init gets two halves for its two streams, and training goes on with the third part of the same split.
# needs: flax

# %% program
import flax.linen as nn
import jax
import jax.numpy as jnp


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Dense(6)(x)
        return nn.Dropout(0.3, deterministic=False)(x)


def program(key):
    params_rng, dropout_rng, train_rng = jax.random.split(key, 3)
    net = Net()
    params = net.init({"params": params_rng, "dropout": dropout_rng}, jnp.ones((2, 3)))
    return [net.apply(params, jnp.ones((2, 3)), rngs={"dropout": k}) for k in jax.random.split(train_rng, 3)]
