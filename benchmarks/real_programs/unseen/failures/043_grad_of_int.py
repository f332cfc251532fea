# url: https://github.com/jax-ml/jax/issues/2663
# wrong: The point of differentiation is an integer, which has no derivative; pass a float.

# %% fails
import jax
import jax.numpy as jnp

def potential(r):
    return (1.0 / r) ** 12 - (1.0 / r) ** 6

print(-jax.grad(potential)(2))

# %% works
import jax
import jax.numpy as jnp

def potential(r):
    return (1.0 / r) ** 12 - (1.0 / r) ** 6

print(-jax.grad(potential)(2.0))
