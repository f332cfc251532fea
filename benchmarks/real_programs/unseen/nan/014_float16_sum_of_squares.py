# url: https://github.com/jax-ml/jax/issues/21187
# wrong: The squares of activations around 300 exceed 65504, the largest float16, so the mean square is inf.
# advice: Compute the statistics in float32 and cast back.

# %% fails
import jax.numpy as jnp


def rms_norm(x):
    mean_sq = jnp.mean(x * x, axis=-1, keepdims=True)  # guilty
    return x / jnp.sqrt(mean_sq)


def f(x):
    y = rms_norm(x)
    return jnp.log(jnp.abs(y))


args = (jnp.full((2, 8), 300.0, jnp.float16),)

# %% works
import jax.numpy as jnp


def rms_norm(x):
    x32 = x.astype(jnp.float32)
    mean_sq = jnp.mean(x32 * x32, axis=-1, keepdims=True)
    return (x32 / jnp.sqrt(mean_sq)).astype(x.dtype)


def f(x):
    y = rms_norm(x)
    return jnp.log(jnp.abs(y))


args = (jnp.full((2, 8), 300.0, jnp.float16),)
