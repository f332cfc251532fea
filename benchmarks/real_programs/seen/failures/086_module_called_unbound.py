# url: https://github.com/google/flax/pull/999
# wrong: A linen module has no parameters of its own and cannot be called directly; use init to make the variables and apply to call it with them.

# %% fails
import jax.numpy as jnp
from flax import linen as nn

layer = nn.Dense(10)
print(layer(jnp.ones((5, 5))).shape)

# %% works
import jax
import jax.numpy as jnp
from flax import linen as nn

layer = nn.Dense(10)
variables = layer.init(jax.random.key(0), jnp.ones((5, 5)))
print(layer.apply(variables, jnp.ones((5, 5))).shape)
