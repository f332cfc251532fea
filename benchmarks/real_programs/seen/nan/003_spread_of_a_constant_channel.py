# url: https://github.com/jax-ml/jax/issues/11716
# wrong: One channel is constant over the batch, its standard deviation is 0, and the root in std has an infinite slope there; the epsilon is added too late.
# advice: Take the root of the variance plus epsilon.

# %% fails
import jax
import jax.numpy as jnp


def normalise(x):
    centred = x - x.mean(0)
    spread = x.std(0)  # guilty
    return centred / (spread + 1e-5)


def loss(scale, x):
    return jnp.sum(normalise(x * scale) ** 3)


f = jax.grad(loss)
args = (jnp.ones(2), jnp.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]]))

# %% works
import jax
import jax.numpy as jnp


def normalise(x):
    centred = x - x.mean(0)
    return centred / jnp.sqrt(x.var(0) + 1e-5)


def loss(scale, x):
    return jnp.sum(normalise(x * scale) ** 3)


f = jax.grad(loss)
args = (jnp.ones(2), jnp.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]]))
