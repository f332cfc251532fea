# url: https://github.com/jax-ml/jax/issues/25953
# verdict: correct
# why: The pair is moved to a device as a whole; one key is used before the move, only the other one after it.

# %% program
import jax


def program(key):
    used, rest = jax.random.split(key)
    early = jax.random.normal(used, (3,))
    _, rest = jax.device_put((used, rest), jax.devices()[0])
    late = [jax.random.normal(k, (3,)) for k in jax.random.split(rest)]
    return early, late
