# url: https://github.com/jax-ml/jax/issues/2087
# verdict: correct
# why: The names are unusual (the second half is carried, the first is drawn from) but each key is used once.

# %% program
import jax


def program(key):
    throws = []
    for _ in range(6):
        new_key, key = jax.random.split(key)
        throws.append(jax.random.randint(new_key, (3,), 1, 7))
    return throws
