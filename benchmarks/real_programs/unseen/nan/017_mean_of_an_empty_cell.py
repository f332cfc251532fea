# url: https://docs.jax.dev/en/latest/faq.html#gradients-contain-nan-where-using-where
# wrong: A grid cell has no weight and its mean is 0/0; where hides that in the value, but the gradient multiplies where's 0 by the quotient's infinite slope.
# advice: Put a safe denominator into the division with a second where.

# %% fails
import jax
import jax.numpy as jnp


def cell_means(weights, values):
    total = jnp.sum(weights * values, axis=1)
    count = jnp.sum(weights, axis=1)
    means = jnp.where(count > 0, total / count, 0.0)  # guilty
    return jnp.sum(means)


f = jax.grad(cell_means)
args = (jnp.array([[1.0, 2.0], [0.0, 0.0]]), jnp.ones((2, 2)))

# %% works
import jax
import jax.numpy as jnp


def cell_means(weights, values):
    total = jnp.sum(weights * values, axis=1)
    count = jnp.sum(weights, axis=1)
    means = jnp.where(count > 0, total / jnp.where(count > 0, count, 1.0), 0.0)
    return jnp.sum(means)


f = jax.grad(cell_means)
args = (jnp.array([[1.0, 2.0], [0.0, 0.0]]), jnp.ones((2, 2)))
