# url: https://github.com/google/flax/issues/1303
# wrong: init returned {"params": ...} already, and wrapping it in {"params": ...} once more hides the kernel one level too deep; pass variables["params"], or the variables as they are.

# %% fails
import jax
import jax.numpy as jnp
from flax import linen as nn

class SmallCNN(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(4, (3,))(x))
        return nn.Dense(2)(x.reshape(x.shape[0], -1))

model = SmallCNN()
parameters = model.init(jax.random.key(0), jnp.ones((2, 10, 1)))
print(model.apply({"params": parameters}, jnp.ones((2, 10, 1))).shape)

# %% works
import jax
import jax.numpy as jnp
from flax import linen as nn

class SmallCNN(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(4, (3,))(x))
        return nn.Dense(2)(x.reshape(x.shape[0], -1))

model = SmallCNN()
parameters = model.init(jax.random.key(0), jnp.ones((2, 10, 1)))["params"]
print(model.apply({"params": parameters}, jnp.ones((2, 10, 1))).shape)
