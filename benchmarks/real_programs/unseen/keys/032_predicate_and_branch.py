# url: https://github.com/jax-ml/jax/pull/8953
# verdict: reuse
# wrong: The coin that selects the branch and the branch's own draw use one key, so an accepted jump is always negative.
# shows: bool((out[1][out[0]] < 0).all()) and bool(out[0].any())
# mend: heads = jax.random.uniform(key) < 0.5 ==> key, sub = jax.random.split(key); heads = jax.random.uniform(sub) < 0.5

# %% program
import jax
from jax import lax


def jump(key):
    heads = jax.random.uniform(key) < 0.5  # first
    value = lax.cond(heads, lambda k: jax.random.normal(k), lambda k: 0.0, key)  # second
    return heads, value


def program(key):
    return jax.vmap(jump)(jax.random.split(key, 64))
