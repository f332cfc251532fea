# url: https://github.com/jax-ml/jax/pull/8953
# verdict: correct
# why: Both branches close over the key, but only one of them runs.

# %% program
import jax
from jax import lax


def program(key):
    k_coin, k_value = jax.random.split(key)
    heads = jax.random.bernoulli(k_coin)
    return lax.cond(
        heads,
        lambda: jax.random.normal(k_value, (4,)),
        lambda: jax.random.cauchy(k_value, (4,)),
    )
