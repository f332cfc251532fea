# url: https://github.com/jax-ml/jax/pull/1133
# verdict: reuse
# wrong: Model and data loader wrap the same key in generators of their own, which hand out the same sequence of keys.
# shows: np.array_equal(out[0], out[1])
# mend: data_keys = Keys(key) ==> data_keys = Keys(jax.random.split(key)[1])
# mend: model_keys = Keys(key) ==> model_keys = Keys(jax.random.split(key)[0])

# %% program
import jax


class Keys:
    def __init__(self, key):
        self._key = key

    def __next__(self):
        self._key, sub = jax.random.split(self._key)
        return sub


def program(key):
    model_keys = Keys(key)
    data_keys = Keys(key)
    weights = jax.random.normal(next(model_keys), (9,))  # first
    inputs = jax.random.normal(next(data_keys), (9,))  # second
    return weights, inputs
