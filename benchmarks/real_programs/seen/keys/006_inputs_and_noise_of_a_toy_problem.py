# url: https://github.com/thomaspinder/GPJax/pull/191
# verdict: reuse
# wrong: The inputs and the observation noise come from the same key; the noise grows steadily with x and the toy regression learns a trend that is not there.
# shows: np.array_equal(np.argsort(out[0]), np.argsort(out[1] - np.sin(out[0])))
# mend: x = jax.random.uniform(key, (60,), ==> key, sub = jax.random.split(key); x = jax.random.uniform(sub, (60,),

# %% program
import jax
import jax.numpy as jnp


def program(key):
    x = jax.random.uniform(key, (60,), minval=-0.1, maxval=0.1)  # first
    y = jnp.sin(x) + 0.5 * jax.random.normal(key, x.shape)  # second
    return x, y
