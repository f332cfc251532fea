# url: https://github.com/google-deepmind/dm-haiku/pull/91
# verdict: correct
# why: The sequence hides the key and hands out a fresh subkey with each next().
# needs: haiku

# %% program
import haiku as hk
import jax
import jax.numpy as jnp


def program(key):
    net = hk.transform(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x))
    keys = hk.PRNGSequence(key)
    x = jnp.ones((16,))
    return [net.apply({}, next(keys), x) for _ in range(3)]
