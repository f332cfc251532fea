# url: https://github.com/google/flax/issues/4973
# verdict: reuse
# wrong: nn.vmap is told not to split the params stream, so all members of the ensemble are initialised with the same weights.
# needs: flax
# shows: bool((out == out[0]).all())
# mend: split_rngs={"params": False} ==> split_rngs={"params": True}

# %% program
import flax.linen as nn
import jax
import jax.numpy as jnp


def noise_init(key, shape, dtype=jnp.float32):
    return 0.1 * jax.random.normal(key, shape, dtype)  # first # second


def program(key):
    Ensemble = nn.vmap(
        nn.Dense, in_axes=None, axis_size=4, variable_axes={"params": 0}, split_rngs={"params": False}
    )
    variables = Ensemble(3, kernel_init=noise_init).init(key, jnp.ones((2, 5)))
    return variables["params"]["kernel"]
