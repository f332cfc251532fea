# url: https://github.com/google-deepmind/mujoco_playground/issues/56
# verdict: reuse
# wrong: reset is vmapped over the randomized systems with in_axes=None for the key, hence all environments start in the same state.
# shows: bool((out == out[0]).all())
# mend: in_axes=(0, None) ==> in_axes=(0, 0)
# mend: jnp.arange(5.0), rng) ==> jnp.arange(5.0), jax.random.split(rng, 5))

# %% program
import jax
import jax.numpy as jnp


def reset(friction, rng):
    start = jax.random.uniform(rng, (3,), minval=-1, maxval=1)  # first # second
    return start + 0 * friction


def program(rng):
    reset_all = jax.vmap(reset, in_axes=(0, None))
    return reset_all(jnp.arange(5.0), rng)
