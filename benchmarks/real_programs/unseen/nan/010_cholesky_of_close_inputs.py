# url: https://github.com/jax-ml/jax/issues/775
# wrong: The inputs of the Gaussian process are close together, so in float32 the kernel matrix is not positive definite, and cholesky returns NaN instead of raising.
# advice: Add jitter (noise) to the diagonal before the factorization.

# %% fails
import jax.numpy as jnp


def log_det(x):
    gram = jnp.exp(-0.5 * (x[:, None] - x[None, :]) ** 2)
    chol = jnp.linalg.cholesky(gram)  # guilty
    return 2 * jnp.sum(jnp.log(jnp.diagonal(chol)))


f = log_det
args = (jnp.linspace(0.0, 1.0, 30),)

# %% works
import jax.numpy as jnp


def log_det(x):
    gram = jnp.exp(-0.5 * (x[:, None] - x[None, :]) ** 2)
    chol = jnp.linalg.cholesky(gram + 1e-3 * jnp.eye(x.size))
    return 2 * jnp.sum(jnp.log(jnp.diagonal(chol)))


f = log_det
args = (jnp.linspace(0.0, 1.0, 30),)
