# url: https://github.com/jax-ml/jax/issues/5798
# wrong: Below 1 the penalty is linear, but where differentiates both sides, and at a residual of exactly 0 the slope of the square root is infinite and is multiplied by 0.
# advice: Feed the square root a safe number with a second where inside.

# %% fails
import jax
import jax.numpy as jnp


def penalty(r):
    far = jnp.sqrt(r)  # guilty
    return jnp.where(r < 1.0, r, far)


def fit(theta, x, y):
    residual = jnp.abs(x * theta - y)
    return jax.vmap(penalty)(residual).mean()


f = jax.grad(fit)
args = (jnp.float32(2.0), jnp.array([1.0, 2.0, 3.0]), jnp.array([2.0, 3.0, 9.0]))

# %% works
import jax
import jax.numpy as jnp


def penalty(r):
    far = jnp.sqrt(jnp.where(r < 1.0, 1.0, r))
    return jnp.where(r < 1.0, r, far)


def fit(theta, x, y):
    residual = jnp.abs(x * theta - y)
    return jax.vmap(penalty)(residual).mean()


f = jax.grad(fit)
args = (jnp.float32(2.0), jnp.array([1.0, 2.0, 3.0]), jnp.array([2.0, 3.0, 9.0]))
