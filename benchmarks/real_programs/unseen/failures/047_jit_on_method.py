# url: https://github.com/jax-ml/jax/issues/5595
# wrong: @jax.jit on a method makes `self` a traced argument, and an ordinary object is not a JAX type; mark self static (or register the class as a pytree).

# %% fails
import jax
import jax.numpy as jnp

class Oscillator:
    def __init__(self, omega):
        self.omega = omega
    @jax.jit
    def force(self, x):
        return -self.omega ** 2 * x

print(Oscillator(2.0).force(jnp.arange(3.0)))

# %% works
from functools import partial
import jax
import jax.numpy as jnp

class Oscillator:
    def __init__(self, omega):
        self.omega = omega
    @partial(jax.jit, static_argnums=0)
    def force(self, x):
        return -self.omega ** 2 * x

print(Oscillator(2.0).force(jnp.arange(3.0)))
