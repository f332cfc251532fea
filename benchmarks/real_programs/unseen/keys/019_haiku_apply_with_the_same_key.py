# url: https://github.com/google-deepmind/dm-haiku/issues/585
# verdict: reuse
# wrong: apply gets the same key in each training step, so the dropout mask never changes.
# needs: haiku
# shows: np.array_equal(out[0], out[1])
# mend: net.apply({}, key, x) ==> net.apply({}, jax.random.fold_in(key, i), x)

# %% program
import haiku as hk
import jax
import jax.numpy as jnp


def program(key):
    net = hk.transform(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x))
    x = jnp.ones((64,))
    return [net.apply({}, key, x) for i in range(3)]  # first # second
