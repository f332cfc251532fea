# url: https://github.com/pyro-ppl/numpyro/pull/263
# verdict: reuse
# wrong: The handler gives its key to the distribution, which splits it, and then splits the same key for the next site.
# shows: np.array_equal(out[0], out[1])
# mend: self.rng, = jax.random.split(rng, 1) ==> self.rng, rng = jax.random.split(rng)

# %% program
import jax


class Seed:
    def __init__(self, rng):
        self.rng = rng

    def next(self):
        rng = self.rng
        self.rng, = jax.random.split(rng, 1)  # first
        return rng


def student_parts(rng, shape):
    k_normal, k_chi = jax.random.split(rng)  # second
    return jax.random.normal(k_normal, shape), jax.random.gamma(k_chi, 2.0, shape)


def program(key):
    seed = Seed(key)
    heavy, _ = student_parts(seed.next(), (6,))
    plain = jax.random.normal(seed.next(), (6,))
    return heavy, plain
