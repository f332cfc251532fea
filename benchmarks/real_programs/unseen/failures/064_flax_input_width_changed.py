# url: https://github.com/google/flax/issues/2941
# wrong: The parameters were made for inputs with 5 features and are applied to inputs with 3; initialise with the shape that is used later.
# needs: flax

# %% fails
import flax.linen as nn
import jax
import jax.numpy as jnp

class Regressor(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.relu(nn.Dense(8)(x)))

model = Regressor()
variables = model.init(jax.random.key(0), jnp.ones((1, 5)))
print(model.apply(variables, jnp.ones((4, 3))).shape)

# %% works
import flax.linen as nn
import jax
import jax.numpy as jnp

class Regressor(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.relu(nn.Dense(8)(x)))

model = Regressor()
variables = model.init(jax.random.key(0), jnp.ones((1, 3)))
print(model.apply(variables, jnp.ones((4, 3))).shape)
