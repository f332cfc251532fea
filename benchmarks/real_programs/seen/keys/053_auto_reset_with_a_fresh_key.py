# url: https://github.com/google/brax/issues/174
# verdict: correct
# why: Every step splits the state's key in three and stores the first part back, whether the episode ends or not.

# %% program
import jax
import jax.numpy as jnp
from jax import lax


def start(key):
    return jax.random.uniform(key, (2,))


def step(state, _):
    pos, t, key = state
    key, wind_key, reset_key = jax.random.split(key, 3)
    pos = pos + 0.1 * jax.random.normal(wind_key, (2,))
    done = t == 3
    pos = jnp.where(done, start(reset_key), pos)
    return (pos, jnp.where(done, 0, t + 1), key), pos


def program(key):
    first_key, key = jax.random.split(key)
    return lax.scan(step, (start(first_key), 0, key), None, length=12)[1]
