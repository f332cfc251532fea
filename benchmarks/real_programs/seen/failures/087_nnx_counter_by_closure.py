# url: https://github.com/google/flax/pull/4725
# wrong: The jitted function changes a counter that it only closes over, and NNX forbids to mutate a variable from another trace level; pass the module as an argument of the function.

# %% fails
import jax
import jax.numpy as jnp
from flax import nnx

class Counter(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.array(0))
    def __call__(self, x):
        self.count.set_value(self.count[...] + 1)
        return x * 2

counter = Counter()

@nnx.jit
def forward(x):
    return counter(x)

print(forward(jnp.ones(2)))

# %% works
import jax
import jax.numpy as jnp
from flax import nnx

class Counter(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.array(0))
    def __call__(self, x):
        self.count.set_value(self.count[...] + 1)
        return x * 2

counter = Counter()

@nnx.jit
def forward(counter, x):
    return counter(x)

print(forward(counter, jnp.ones(2)))
