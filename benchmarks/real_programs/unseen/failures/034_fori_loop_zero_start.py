# url: https://github.com/jax-ml/jax/issues/1686
# wrong: The accumulator starts as the scalar 0 and becomes a vector in the loop; a loop carry must keep its shape and dtype, so start with zeros of the final shape.

# %% fails
import jax
import jax.numpy as jnp

spins = jnp.ones((5, 6))

def add_bond(i, energy):
    return energy - spins[:, i] * spins[:, i + 1]

print(jax.lax.fori_loop(0, 5, add_bond, 0))

# %% works
import jax
import jax.numpy as jnp

spins = jnp.ones((5, 6))

def add_bond(i, energy):
    return energy - spins[:, i] * spins[:, i + 1]

print(jax.lax.fori_loop(0, 5, add_bond, jnp.zeros(5)))
