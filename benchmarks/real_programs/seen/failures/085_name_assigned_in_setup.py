# url: https://github.com/google/flax/issues/847
# wrong: A submodule is frozen once it is made, so its name cannot be set afterwards; in setup the name is that of the attribute, so write self.dense = nn.Dense(...).

# %% fails
import jax
import jax.numpy as jnp
from flax import linen as nn

class Classifier(nn.Module):
    def setup(self):
        self.layer = nn.Dense(3)
        self.layer.name = "dense"
    def __call__(self, x):
        return self.layer(x)

print(Classifier().init(jax.random.key(0), jnp.ones((1, 2))))

# %% works
import jax
import jax.numpy as jnp
from flax import linen as nn

class Classifier(nn.Module):
    def setup(self):
        self.dense = nn.Dense(3)
    def __call__(self, x):
        return self.dense(x)

print(Classifier().init(jax.random.key(0), jnp.ones((1, 2))))
