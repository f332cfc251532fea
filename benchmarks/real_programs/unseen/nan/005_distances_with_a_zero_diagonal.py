# url: https://github.com/jax-ml/jax/issues/26248
# wrong: The diagonal of the distance matrix is the norm of a zero vector, whose gradient is 0/0.
# advice: Replace the zero squared distances by 1 before the root with where, and the result by 0 after it.

# %% fails
import jax
import jax.numpy as jnp


def energy(x):
    diff = x[:, None] - x[None, :]
    dist = jnp.linalg.norm(diff, axis=-1)  # guilty
    return jnp.sum(jnp.exp(-dist))


f = jax.grad(energy)
args = (jnp.array([[0.0, 0.0], [1.0, 0.5], [2.0, -1.0]]),)

# %% works
import jax
import jax.numpy as jnp


def energy(x):
    diff = x[:, None] - x[None, :]
    sq = jnp.sum(diff**2, axis=-1)
    dist = jnp.where(sq > 0, jnp.sqrt(jnp.where(sq > 0, sq, 1.0)), 0.0)
    return jnp.sum(jnp.exp(-dist))


f = jax.grad(energy)
args = (jnp.array([[0.0, 0.0], [1.0, 0.5], [2.0, -1.0]]),)
