# url: https://github.com/jax-ml/jax/issues/16845
# verdict: reuse
# wrong: The group means and the noise around them come from one key, so that they are the same numbers and the variance doubles.
# shows: np.corrcoef(out[0].ravel(), (out[1] - out[0]).ravel())[0, 1] > 0.99
# mend: k_mean = key ==> k_mean, key = jax.random.split(key)

# %% program
import jax
import jax.numpy as jnp


def program(key):
    eye = jnp.eye(2)
    k_mean = key
    means = jax.random.multivariate_normal(k_mean, jnp.zeros(2), eye, shape=(500,))  # first
    data = jax.random.multivariate_normal(key, means, eye)  # second
    return means, data
