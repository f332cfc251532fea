# url: https://github.com/jax-ml/jax/issues/475
# wrong: The gradient of the norm is 0/0 at the origin although the value is fine; guard the square root (double where) so that its derivative is never taken at 0.

# %% fails
import jax
import jax.numpy as jnp
jax.config.update("jax_debug_nans", True)

def spring_energy(x, rest=1.0):
    length = jnp.sqrt(jnp.sum(x ** 2))
    return 0.5 * (length - rest) ** 2

print(jax.grad(spring_energy)(jnp.zeros(3)))

# %% works
import jax
import jax.numpy as jnp
jax.config.update("jax_debug_nans", True)

def spring_energy(x, rest=1.0):
    sq = jnp.sum(x ** 2)
    length = jnp.where(sq > 0, jnp.sqrt(jnp.where(sq > 0, sq, 1.0)), 0.0)
    return 0.5 * (length - rest) ** 2

print(jax.grad(spring_energy)(jnp.zeros(3)))
