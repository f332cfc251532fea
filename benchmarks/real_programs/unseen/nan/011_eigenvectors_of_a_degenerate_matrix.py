# url: https://github.com/jax-ml/jax/issues/4646
# wrong: Two eigenvalues are equal, and the derivative of the eigenvectors divides by their difference.
# advice: Break the symmetry with a small diagonal perturbation or use only the eigenvalues, whose gradient is finite.

# %% fails
import jax
import jax.numpy as jnp


def projection(m):
    _, vectors = jnp.linalg.eigh(m)  # guilty
    return vectors[0, -1] ** 2


f = jax.grad(projection)
args = (jnp.diag(jnp.array([4.0, 1.0, 1.0])),)

# %% works
import jax
import jax.numpy as jnp


def projection(m):
    _, vectors = jnp.linalg.eigh(m + jnp.diag(jnp.array([0.0, 1e-2, 2e-2])))
    return vectors[0, -1] ** 2


f = jax.grad(projection)
args = (jnp.diag(jnp.array([4.0, 1.0, 1.0])),)
