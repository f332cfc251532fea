# url: https://github.com/google/flax/issues/977
# wrong: The module keeps its users' states in the collection "lstm_states", and apply is given only "params" and nothing mutable; pass that collection too.

# %% fails
import jax
import jax.numpy as jnp
from flax import linen as nn

class Recurrent(nn.Module):
    users: int = 3
    @nn.compact
    def __call__(self, x):
        outputs = self.variable("lstm_states", "user_outputs", jnp.zeros, (self.users, 4))
        return nn.Dense(4)(x) + outputs.value

model = Recurrent()
variables = model.init(jax.random.key(0), jnp.ones((3, 2)))
print(model.apply({"params": variables["params"]}, jnp.ones((3, 2))).shape)

# %% works
import jax
import jax.numpy as jnp
from flax import linen as nn

class Recurrent(nn.Module):
    users: int = 3
    @nn.compact
    def __call__(self, x):
        outputs = self.variable("lstm_states", "user_outputs", jnp.zeros, (self.users, 4))
        return nn.Dense(4)(x) + outputs.value

model = Recurrent()
variables = model.init(jax.random.key(0), jnp.ones((3, 2)))
print(model.apply(variables, jnp.ones((3, 2))).shape)
