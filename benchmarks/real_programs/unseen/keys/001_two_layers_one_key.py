# url: https://github.com/jax-ml/jax/issues/2009
# verdict: reuse
# wrong: Both weight matrices are drawn with the same key, so the two layers start out identical.
# shows: np.array_equal(out[0], out[1])
# mend: k_out = key ==> k_out = jax.random.fold_in(key, 1)
# mend: k_in = key ==> k_in = jax.random.fold_in(key, 0)

# %% program
import jax


def program(key):
    k_in = key
    k_out = key
    w_in = jax.random.uniform(k_in, (16, 16), minval=-0.1, maxval=0.1)  # first
    w_out = jax.random.uniform(k_out, (16, 16), minval=-0.1, maxval=0.1)  # second
    return w_in, w_out
