# url: https://github.com/google-deepmind/distrax/issues/7
# wrong: tanh of a large action rounds to exactly 1 in float32, so the correction takes the log of 0 and the log-density is infinite.
# advice: Use the stable form 2 * (log 2 - x - softplus(-2 x)) of the action before tanh.

# %% fails
import jax
import jax.numpy as jnp


def squash_correction(raw):
    action = jnp.tanh(raw)
    return jnp.log(1.0 - action**2)  # guilty


def log_prob(raw, mean, log_std):
    z = (raw - mean) * jnp.exp(-log_std)
    gauss = -0.5 * z**2 - log_std - 0.9189385
    return (gauss - squash_correction(raw)).sum(-1)


f = jax.vmap(log_prob, in_axes=(0, None, None))
args = (jnp.array([[0.3, -0.2], [0.1, 12.0]]), jnp.zeros(2), jnp.full(2, 1.5))

# %% works
import jax
import jax.numpy as jnp


def squash_correction(raw):
    return 2.0 * (jnp.log(2.0) - raw - jax.nn.softplus(-2.0 * raw))


def log_prob(raw, mean, log_std):
    z = (raw - mean) * jnp.exp(-log_std)
    gauss = -0.5 * z**2 - log_std - 0.9189385
    return (gauss - squash_correction(raw)).sum(-1)


f = jax.vmap(log_prob, in_axes=(0, None, None))
args = (jnp.array([[0.3, -0.2], [0.1, 12.0]]), jnp.zeros(2), jnp.full(2, 1.5))
