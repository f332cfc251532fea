# url: https://github.com/jax-ml/jax/issues/16902
# wrong: jnp.DeviceArray was removed; annotate and test with jax.Array.

# %% fails
from typing import NamedTuple
import jax.numpy as jnp

class State(NamedTuple):
    count: jnp.DeviceArray
    mean: jnp.DeviceArray

print(State(jnp.array(0), jnp.zeros(2)))

# %% works
from typing import NamedTuple
import jax
import jax.numpy as jnp

class State(NamedTuple):
    count: jax.Array
    mean: jax.Array

print(State(jnp.array(0), jnp.zeros(2)))
