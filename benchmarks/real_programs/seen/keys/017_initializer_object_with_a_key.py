# url: https://github.com/keras-team/keras-core/issues/650
# verdict: reuse
# wrong: The initializer object carries the key itself and is shared by the projections, so queries and keys start with identical matrices.
# shows: np.array_equal(out["query"], out["key"])
# mend: return jax.random.normal(self.key, shape) ==> self.key, sub = jax.random.split(self.key); return jax.random.normal(sub, shape)

# %% program
import jax


class RandomNormal:
    def __init__(self, key):
        self.key = key

    def __call__(self, shape):
        return jax.random.normal(self.key, shape) * 0.02  # first # second


def program(key):
    init = RandomNormal(key)
    return {name: init((6, 6)) for name in ("query", "key", "value")}
