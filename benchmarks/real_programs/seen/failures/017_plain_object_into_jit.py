# url: https://github.com/jax-ml/jax/issues/14740
# wrong: A plain Python object is not a pytree, so jit cannot take it as an argument; register the class as a pytree (for example a NamedTuple or a registered dataclass).

# %% fails
import jax
import jax.numpy as jnp

class Body:
    def __init__(self, mass, velocity):
        self.mass = mass
        self.velocity = velocity

@jax.jit
def kinetic_energy(body):
    return 0.5 * body.mass * jnp.sum(body.velocity ** 2)

print(kinetic_energy(Body(2.0, jnp.array([1.0, 2.0]))))

# %% works
from typing import NamedTuple
import jax
import jax.numpy as jnp

class Body(NamedTuple):
    mass: float
    velocity: jax.Array

@jax.jit
def kinetic_energy(body):
    return 0.5 * body.mass * jnp.sum(body.velocity ** 2)

print(kinetic_energy(Body(2.0, jnp.array([1.0, 2.0]))))
