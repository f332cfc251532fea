# url: https://github.com/micdoh/XLRON/pull/34
# verdict: reuse
# wrong: The epochs' scan hands the key on that it has just used, so each epoch visits the rows in the same order.
# shows: bool((out == out[0]).all())
# mend: order = jax.random.permutation(rng, 20) ==> rng, sub = jax.random.split(rng); order = jax.random.permutation(sub, 20)

# %% program
import jax


def program(rng):
    def epoch(rng, _):
        order = jax.random.permutation(rng, 20)  # first # second
        return rng, order

    return jax.lax.scan(epoch, rng, None, length=3)[1]
