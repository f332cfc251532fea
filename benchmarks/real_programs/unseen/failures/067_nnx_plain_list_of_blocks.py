# url: https://github.com/p-doom/jasmine/issues/228
# wrong: Since Flax 0.12 a plain Python list of modules counts as a static attribute and may not hold arrays; wrap it in nnx.List.
# needs: flax

# %% fails
import jax.numpy as jnp
from flax import nnx

class Transformer(nnx.Module):
    def __init__(self, width, depth, rngs):
        self.blocks = [nnx.Linear(width, width, rngs=rngs) for _ in range(depth)]
    def __call__(self, x):
        for block in self.blocks:
            x = x + nnx.relu(block(x))
        return x

print(Transformer(4, 2, nnx.Rngs(0))(jnp.ones((1, 4))).shape)

# %% works
import jax.numpy as jnp
from flax import nnx

class Transformer(nnx.Module):
    def __init__(self, width, depth, rngs):
        self.blocks = nnx.List([nnx.Linear(width, width, rngs=rngs) for _ in range(depth)])
    def __call__(self, x):
        for block in self.blocks:
            x = x + nnx.relu(block(x))
        return x

print(Transformer(4, 2, nnx.Rngs(0))(jnp.ones((1, 4))).shape)
