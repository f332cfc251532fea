# url: https://github.com/jax-ml/jax/pull/33496
# wrong: The variance is taken as mean of squares minus square of the mean; with a large offset in float32 rounding makes it negative, more than epsilon can repair, and its root is NaN.
# advice: Subtract the mean before squaring, or clamp the variance at 0.

# %% fails
import jax
import jax.numpy as jnp


def standardise(x, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    var = (x**2).mean(-1, keepdims=True) - mean**2
    inv = jax.lax.rsqrt(var + eps)  # guilty
    return (x - mean) * inv


def features(rows):
    return jax.vmap(standardise)(rows)


f = features
args = (jnp.array([[1.0, 2.0, 3.0], [4097.1, 4097.1, 4097.1]]),)

# %% works
import jax
import jax.numpy as jnp


def standardise(x, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    inv = jax.lax.rsqrt(var + eps)
    return (x - mean) * inv


def features(rows):
    return jax.vmap(standardise)(rows)


f = features
args = (jnp.array([[1.0, 2.0, 3.0], [4097.1, 4097.1, 4097.1]]),)
