# url: https://github.com/jax-ml/jax/pull/17307
# verdict: correct
# why: The key is unwrapped to its two words for a checkpoint and wrapped again; from there on only the wrapped copy is used.

# %% program
import jax
import numpy as np


def program(key):
    key, before_key = jax.random.split(key)
    before = jax.random.normal(before_key, (4,))
    saved = {"rng": np.asarray(jax.random.key_data(key)), "step": 1}
    restored = jax.random.wrap_key_data(saved["rng"], impl=jax.random.key_impl(key))
    restored, after_key = jax.random.split(restored)
    return before, jax.random.normal(after_key, (4,)), jax.random.normal(restored, (4,))
