# url: https://github.com/AakashKumarNain/TF_JAX_tutorials/issues/4
# verdict: reuse
# wrong: The key is built from the same seed in every turn of the loop, so that each batch is flipped alike.
# shows: np.array_equal(out[0], out[1]) and np.array_equal(out[1], out[2])
# mend: step_key = jax.random.key(0) ==> step_key = jax.random.fold_in(key, turn)

# %% program
import jax


def program(key):
    flips = []
    for turn in range(3):
        step_key = jax.random.key(0)
        flips.append(jax.random.bernoulli(step_key, 0.5, (64,)))  # first # second
    return flips
