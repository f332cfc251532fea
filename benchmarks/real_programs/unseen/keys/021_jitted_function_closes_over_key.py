# url: https://github.com/jax-ml/jax/issues/20704
# verdict: reuse
# wrong: The jitted function takes its key from the enclosing scope, so each call returns the same sample.
# shows: np.array_equal(out[0], out[1])
# mend: def sample(): ==> def sample(key):
# mend: return sample(), sample() ==> return sample(*jax.random.split(key)[:1]), sample(*jax.random.split(key)[1:])

# %% program
import jax


def program(key):
    @jax.jit
    def sample():
        return jax.random.bits(key, (4,))  # first # second

    return sample(), sample()
