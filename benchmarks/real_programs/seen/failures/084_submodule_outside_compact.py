# url: https://github.com/google/flax/issues/3637
# wrong: The helper creates a Dense layer, but the method that calls it is not decorated with @nn.compact; submodules may be created only in setup or in a compact method.

# %% fails
import jax
import jax.numpy as jnp
from flax import linen as nn

class Upsampler(nn.Module):
    width: int = 4
    def __call__(self, x):
        return self._embed(x) + nn.Dense(self.width)(x)
    def _embed(self, x):
        return nn.Dense(self.width)(x)

params = Upsampler().init(jax.random.key(0), jnp.zeros((3, 4)))
print(jax.tree.map(jnp.shape, params))

# %% works
import jax
import jax.numpy as jnp
from flax import linen as nn

class Upsampler(nn.Module):
    width: int = 4
    @nn.compact
    def __call__(self, x):
        return self._embed(x) + nn.Dense(self.width)(x)
    def _embed(self, x):
        return nn.Dense(self.width)(x)

params = Upsampler().init(jax.random.key(0), jnp.zeros((3, 4)))
print(jax.tree.map(jnp.shape, params))
