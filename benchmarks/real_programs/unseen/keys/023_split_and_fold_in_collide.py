# url: https://github.com/jax-ml/jax/pull/13341
# verdict: reuse
# wrong: With the default generator fold_in(key, i) is the i-th child of split(key), so the evaluation key is one of the training keys.
# shows: np.array_equal(out[0][2], out[1])
# mend: jax.random.split(key, 4) ==> jax.random.split(jax.random.fold_in(key, 1000), 4)

# %% program
import jax


def program(key):
    train_keys = jax.random.split(key, 4)  # first
    eval_key = jax.random.fold_in(key, 2)  # second
    train = jax.vmap(lambda k: jax.random.normal(k, (5,)))(train_keys)
    return train, jax.random.normal(eval_key, (5,))
