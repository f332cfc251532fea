# url: https://github.com/google/flax/pull/3114
# verdict: reuse
# wrong: Both dropout layers are given the same rng by hand, so the second drops exactly the units that the first has dropped already.
# needs: flax
# shows: float((np.asarray(out) == 0).mean()) < 0.62
# mend: drop_late(h, rng=rng) ==> drop_late(h, rng=late)
# mend: drop_early(x, rng=rng) ==> drop_early(x, rng=early)
# mend: def __call__(self, x, rng): ==> def __call__(self, x, rng, early=None, late=None):
# mend: jnp.ones((400,)), key) ==> jnp.ones((400,)), None, *jax.random.split(key))

# %% program
import flax.linen as nn
import jax
import jax.numpy as jnp


class Block(nn.Module):
    @nn.compact
    def __call__(self, x, rng):
        drop_early = nn.Dropout(0.5, deterministic=False)
        drop_late = nn.Dropout(0.5, deterministic=False)
        h = drop_early(x, rng=rng)  # first
        return drop_late(h, rng=rng)  # second


def program(key):
    return Block().apply({}, jnp.ones((400,)), key)
