# url: https://github.com/jax-ml/jax/issues/475
# wrong: The step size is far beyond the loss's curvature, so the iterates grow until they overflow and inf - inf makes NaN.
# first inf: return jnp.sum((w**2 - 1.0) ** 2)
# advice: Lower the learning rate or clip the gradient.

# %% fails
import jax
import jax.numpy as jnp


def loss(w):
    return jnp.sum((w**2 - 1.0) ** 2)


def f(w):
    for _ in range(12):
        w = w - 0.9 * jax.grad(loss)(w)  # guilty
    return w


args = (jnp.array([2.0, -1.5]),)

# %% works
import jax
import jax.numpy as jnp


def loss(w):
    return jnp.sum((w**2 - 1.0) ** 2)


def f(w):
    for _ in range(12):
        w = w - 0.02 * jax.grad(loss)(w)
    return w


args = (jnp.array([2.0, -1.5]),)
