# url: https://github.com/jax-ml/jax/issues/8732
# wrong: The matrix has equal singular values, and the derivative of the singular vectors divides by the differences of their squares, although the product u @ v is smooth.
# advice: Avoid differentiating the vectors (use a polar iteration or a rule of one's own), or break the tie.

# %% fails
import jax
import jax.numpy as jnp


def nearest_rotation(m):
    u, _, vt = jnp.linalg.svd(m)  # guilty
    return u @ vt


def alignment(m, target):
    return jnp.sum((nearest_rotation(m) - target) ** 2)


f = jax.grad(alignment)
args = (2.0 * jnp.eye(3), jnp.eye(3)[::-1])

# %% works
import jax
import jax.numpy as jnp


def nearest_rotation(m):
    for _ in range(20):
        m = 0.5 * (m + jnp.linalg.inv(m).T)
    return m


def alignment(m, target):
    return jnp.sum((nearest_rotation(m) - target) ** 2)


f = jax.grad(alignment)
args = (2.0 * jnp.eye(3), jnp.eye(3)[::-1])
