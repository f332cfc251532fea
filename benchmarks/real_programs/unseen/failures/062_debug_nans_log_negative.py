# url: https://github.com/jax-ml/jax/issues/25701
# wrong: The logarithm of a negative number is NaN, which jax_debug_nans turns into an error; clip the argument or work with log-probabilities.

# %% fails
import jax
import jax.numpy as jnp
jax.config.update("jax_debug_nans", True)

@jax.jit
def log_evidence(weights):
    return jnp.log(jnp.sum(weights) - 3.0)

print(log_evidence(jnp.array([0.5, 0.7])))

# %% works
import jax
import jax.numpy as jnp
jax.config.update("jax_debug_nans", True)

@jax.jit
def log_evidence(weights):
    return jnp.log(jnp.maximum(jnp.sum(weights) - 3.0, 1e-6))

print(log_evidence(jnp.array([0.5, 0.7])))
