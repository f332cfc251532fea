# url: https://github.com/google/flax/pull/3722
# verdict: correct
# why: Forking folds the stream's counter in first, so neither the forked streams nor the original's next key repeat.
# needs: flax

# %% program
import jax
from flax import nnx


def program(key):
    rngs = nnx.Rngs(noise=key)
    first = jax.random.normal(rngs.noise(), (3,))
    forked = rngs.fork(split=4)
    keys = forked.noise.key[...] if hasattr(forked.noise, "key") else forked["noise"]
    members = jax.vmap(lambda k: jax.random.normal(k, (3,)))(keys)
    return first, members, jax.random.normal(rngs.noise(), (3,))
