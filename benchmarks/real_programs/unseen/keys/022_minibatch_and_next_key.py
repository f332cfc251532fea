# url: https://github.com/thomaspinder/GPJax/pull/99
# verdict: reuse
# wrong: The minibatch is chosen with the carried key, which is split only afterwards; choice splits it inside too, so the next key was already drawn from.
# shows: np.array_equal(out[0], out[1] % 256)
# mend: rows = jax.random.choice(key, 256, (8,)) ==> key, sub = jax.random.split(key); rows = jax.random.choice(sub, 256, (8,))

# %% program
import jax


def program(key):
    rows = jax.random.choice(key, 256, (8,))  # first
    _, key = jax.random.split(key)  # second
    worker_seeds = jax.random.bits(key, (8,))
    return rows, worker_seeds
