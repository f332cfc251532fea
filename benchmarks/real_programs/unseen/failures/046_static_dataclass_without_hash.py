# url: https://github.com/jax-ml/jax/issues/3701
# wrong: A static argument must be hashable, and a plain dataclass is not; declare it with frozen=True.

# %% fails
from dataclasses import dataclass
from functools import partial
import jax
import jax.numpy as jnp

@dataclass
class Config:
    depth: int
    width: float

@partial(jax.jit, static_argnums=1)
def run(x, config):
    for _ in range(config.depth):
        x = jnp.tanh(config.width * x)
    return x

print(run(jnp.ones(2), Config(depth=3, width=0.5)))

# %% works
from dataclasses import dataclass
from functools import partial
import jax
import jax.numpy as jnp

@dataclass(frozen=True)
class Config:
    depth: int
    width: float

@partial(jax.jit, static_argnums=1)
def run(x, config):
    for _ in range(config.depth):
        x = jnp.tanh(config.width * x)
    return x

print(run(jnp.ones(2), Config(depth=3, width=0.5)))
