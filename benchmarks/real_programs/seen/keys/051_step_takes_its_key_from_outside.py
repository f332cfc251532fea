# url: https://github.com/epignatelli/navix/issues/70
# verdict: correct
# why: The state holds no key; the scan feeds each step one of the keys, and the step's cond uses it in one branch only.

# %% program
import jax
import jax.numpy as jnp
from jax import lax


def env_step(x, key):
    slip = lambda: x + jax.random.choice(key, jnp.array([-1, 1]))
    x = lax.cond(x % 2 == 0, slip, lambda: x + 1)
    return x, x


def program(key):
    reset_key, step_key = jax.random.split(key)
    start = jax.random.randint(reset_key, (), 0, 10)
    return lax.scan(env_step, start, jax.random.split(step_key, 10))[1]
