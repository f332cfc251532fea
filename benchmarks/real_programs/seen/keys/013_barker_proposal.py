# url: https://github.com/pyro-ppl/numpyro/issues/1949
# verdict: reuse
# wrong: The size of Barker's proposal and the coin for its sign use the same key; on a flat density the coin always turns the step to the same side and the walk drifts.
# shows: bool((np.diff(out, axis=0) <= 0).all())
# mend: k_size = k_sign = key ==> k_size, k_sign = jax.random.split(key)

# %% program
import jax
import jax.numpy as jnp
from jax import lax


def log_density(x):
    return 0.0 * jnp.sum(x)


def step(x, key):
    k_size = k_sign = key
    z = jax.random.normal(k_size, x.shape)  # first
    coin = jax.random.uniform(k_sign, x.shape)  # second
    forward = coin < jax.nn.sigmoid(jax.grad(log_density)(x) * z)
    x = x + jnp.where(forward, z, -z)
    return x, x


def program(key):
    return lax.scan(step, jnp.zeros(3), jax.random.split(key, 30))[1]
