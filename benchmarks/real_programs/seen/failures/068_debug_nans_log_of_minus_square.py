# url: https://github.com/jax-ml/jax/issues/25299
# wrong: The logarithm gets minus a square, a negative number, and its NaN is caught by jax_debug_nans; the sign is wrong (use log of the square, away from zero).

# %% fails
import jax
jax.config.update("jax_debug_nans", True)
import jax.numpy as jnp

@jax.jit
def log_energy(x):
    return jnp.sum(jnp.log(-jnp.square(x)))

print(log_energy(jnp.array([2.0, 0.5])))

# %% works
import jax
jax.config.update("jax_debug_nans", True)
import jax.numpy as jnp

@jax.jit
def log_energy(x):
    return jnp.sum(jnp.log(jnp.square(x)))

print(log_energy(jnp.array([2.0, 0.5])))
