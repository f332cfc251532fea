# url: https://github.com/google/flax/pull/4216
# verdict: correct
# why: Each call of the stream folds its counter into the key, so the calls of the same expression give different keys.
# needs: flax

# %% program
import jax
from flax import nnx


def program(key):
    rngs = nnx.Rngs(params=key)
    return [jax.random.normal(rngs.params(), (4,)) for _ in range(3)]
