# url: https://github.com/jax-ml/jax/issues/15115
# wrong: jit treats self as an argument, and the trainer object is no JAX type; mark it static with static_argnums=0, or jit a function of arrays only.

# %% fails
import jax
import jax.numpy as jnp

class Trainer:
    def __init__(self, rate):
        self.rate = rate

    @jax.jit
    def opt(self, w, g):
        return w - self.rate * g

print(Trainer(0.1).opt(jnp.ones(2), jnp.ones(2)))

# %% works
from functools import partial
import jax
import jax.numpy as jnp

class Trainer:
    def __init__(self, rate):
        self.rate = rate

    @partial(jax.jit, static_argnums=0)
    def opt(self, w, g):
        return w - self.rate * g

print(Trainer(0.1).opt(jnp.ones(2), jnp.ones(2)))
