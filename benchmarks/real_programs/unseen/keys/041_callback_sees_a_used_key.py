# url: https://github.com/jax-ml/jax/issues/37795
# verdict: correct
# why: The used key is only logged by a callback, nothing is drawn from it any more.

# %% program
import jax

seen = []


def sample(key):
    a, b = jax.random.split(key)
    jax.debug.callback(lambda bits: seen.append(bits), jax.random.key_data(key))
    return jax.random.normal(a) + jax.random.normal(b)


def program(key):
    return jax.vmap(sample)(jax.random.split(key, 3))
