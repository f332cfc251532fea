# url: https://github.com/mila-iqia/milabench/pull/394
# verdict: reuse
# wrong: A dummy key for the buffer's shapes is stored under the name of the run's key, therefore every seed trains with the same numbers.
# shows: np.array_equal(out[0], out[1])
# mend: rng = jax.random.key(0) ==> dummy = jax.random.key(0)
# mend: jax.eval_shape(jax.random.normal, rng) ==> jax.eval_shape(jax.random.normal, dummy)

# %% program
import jax
import jax.numpy as jnp


def train(rng):
    rng = jax.random.key(0)
    shape = jax.eval_shape(jax.random.normal, rng)
    buffer = jnp.zeros((4,) + shape.shape)
    return buffer + jax.random.normal(rng, buffer.shape)  # first # second


def program(key):
    return [train(k) for k in jax.random.split(key, 2)]
