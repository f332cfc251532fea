# url: https://github.com/jax-ml/jax/issues/14597
# verdict: reuse
# wrong: The numerator and the chi-square of the t variate come from one key, so the first of the three squared normals is the numerator itself and t can never exceed sqrt(3).
# shows: np.abs(out).max() < 1.7321
# mend: k_num = k_den = key ==> k_num, k_den = jax.random.split(key)

# %% program
import jax
import jax.numpy as jnp


def program(key, n=2000, df=3):
    k_num = k_den = key
    numerator = jax.random.normal(k_num, (n,))  # first
    squares = jax.random.normal(k_den, (df, n)) ** 2  # second
    return numerator / jnp.sqrt(squares.sum(0) / df)
