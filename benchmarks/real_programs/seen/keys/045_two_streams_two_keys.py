# url: https://github.com/google/flax/pull/3497
# verdict: correct
# why: make_rng is called twice on each stream; each call counts up, and the two streams were given different keys.
# needs: flax

# %% program
import flax.linen as nn
import jax


class TwoStreams(nn.Module):
    @nn.compact
    def __call__(self):
        a = [jax.random.normal(self.make_rng("stream1"), (4,)) for _ in range(2)]
        b = [jax.random.normal(self.make_rng("stream2"), (4,)) for _ in range(2)]
        return a, b


def program(key):
    k1, k2 = jax.random.split(key)
    return TwoStreams().apply({}, rngs={"stream1": k1, "stream2": k2})
