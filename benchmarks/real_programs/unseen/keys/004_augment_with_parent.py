# url: https://github.com/AakashKumarNain/TF_JAX_tutorials/issues/4
# verdict: reuse
# wrong: The rotations are drawn with the parent key instead of the subkey, and the parent is what the next epoch's keys are split from.
# shows: np.array_equal(out[0], np.bitwise_xor(*jax.random.key_data(out[1]).T))
# mend: jax.random.bits(key, (2,)) ==> jax.random.bits(subkey, (2,))
# mend: jax.random.split(key, 2)  # second ==> jax.random.split(key, 2)

# %% program
import jax


def program(key):
    key, subkey = jax.random.split(key)
    rotations = jax.random.bits(key, (2,))  # first
    next_keys = jax.random.split(key, 2)  # second
    return rotations, next_keys
