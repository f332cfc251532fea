# url: https://github.com/kora-labs/chromax/issues/16
# verdict: reuse
# wrong: Individual i of generation g uses the number g + i, so individual i + 1 of one generation and individual i of the next have the same key.
# shows: np.array_equal(out[0][1:], out[1][:-1])
# mend: jax.random.fold_in(key, generation + i) ==> jax.random.fold_in(jax.random.fold_in(key, generation), i)

# %% program
import jax
import jax.numpy as jnp


def cross(key):
    return jax.random.bernoulli(key, 0.5, (40,))  # first # second


def program(key):
    def breed(generation):
        keys = jax.vmap(lambda i: jax.random.fold_in(key, generation + i))(jnp.arange(6))
        return jax.vmap(cross)(keys)

    return breed(0), breed(1)
