# url: https://github.com/matthias-wright/flaxmodels/issues/3
# verdict: reuse
# wrong: The layers draw their weights with a key stored as a module attribute instead of the one given to the initializer, so both layers are equal.
# needs: flax
# shows: np.array_equal(out["first"]["kernel"], out["second"]["kernel"])
# mend: jax.random.normal(self.init_key, shape) ==> jax.random.normal(rng, shape)

# %% program
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp


class Net(nn.Module):
    init_key: Any

    @nn.compact
    def __call__(self, x):
        weights = lambda rng, shape, dtype: jax.random.normal(self.init_key, shape)  # first # second
        x = nn.Dense(5, kernel_init=weights, name="first")(x)
        return nn.Dense(5, kernel_init=weights, name="second")(x)


def program(key):
    return Net(init_key=key).init(key, jnp.ones((1, 5)))["params"]
