# url: https://github.com/jax-ml/jax/issues/26019
# verdict: correct
# why: The chain replaces one four-way split; each split consumes the key that is rebound in the same line.

# %% program
import jax


def program(key):
    key, key_state = jax.random.split(key)
    key, key_w = jax.random.split(key)
    key, key_hh = jax.random.split(key)
    key, key_kk = jax.random.split(key)
    w = jax.random.normal(key_w, (6,))
    hh = jax.random.normal(key_hh, (6,))
    kk = jax.random.normal(key_kk, (6,))
    return w, hh, kk, jax.random.normal(key_state, (6,)), jax.random.normal(key, (6,))
