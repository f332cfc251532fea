# url: https://github.com/google/flax/pull/5344
# verdict: correct
# why: fork(split=...) takes a new key from the stream, so the stream and the members do not share keys.
# needs: flax

# %% program
import jax
from flax import nnx


def program(key):
    rngs = nnx.Rngs(noise=key)
    members = rngs.fork(split=3)
    theirs = jax.vmap(lambda k: jax.random.normal(k, (4,)))(members.noise.key[...])
    return theirs, jax.random.normal(rngs.noise(), (4,))
