# url: https://github.com/jax-ml/jax/issues/5554
# verdict: correct
# why: One split makes n + 1 keys; entry 0 goes on, the entries from 1 on are the batch, and the two slices do not overlap.

# %% program
import jax


def batch_of_keys(key, n):
    keys = jax.random.split(key, n + 1)
    return keys[0], keys[1:]


def program(key):
    out = []
    for n in (2, 3, 4):
        key, keys = batch_of_keys(key, n)
        out.append(jax.vmap(jax.random.normal)(keys))
    return out
