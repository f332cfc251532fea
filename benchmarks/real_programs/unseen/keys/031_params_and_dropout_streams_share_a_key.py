# url: https://github.com/p-doom/jasmine/pull/36
# verdict: reuse
# wrong: The params stream and the noise stream are seeded with one key; the first key taken from each is the same.
# needs: flax
# shows: np.array_equal(out[0], out[1])
# mend: rngs={"params": key, "noise": key} ==> rngs=dict(zip(("params", "noise"), jax.random.split(key)))

# %% program
import flax.linen as nn
import jax


class Embed(nn.Module):
    @nn.compact
    def __call__(self):
        table = jax.random.normal(self.make_rng("params"), (7,))  # first
        noise = jax.random.normal(self.make_rng("noise"), (7,))  # second
        return table, noise


def program(key):
    return Embed().apply({}, rngs={"params": key, "noise": key})
