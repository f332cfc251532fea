# url: https://github.com/jax-ml/jax/pull/12173
# verdict: correct
# why: The key is written to a checkpoint as integers and wrapped again; only the restored one is drawn from.

# %% program
import jax
import numpy as np


def program(key):
    key, saved = jax.random.split(key)
    checkpoint = {"rng": np.asarray(jax.random.key_data(saved)), "impl": str(jax.random.key_impl(saved))}
    now = jax.random.normal(key, (3,))
    restored = jax.random.wrap_key_data(checkpoint["rng"], impl=jax.random.key_impl(saved))
    return now, jax.random.normal(restored, (3,))
