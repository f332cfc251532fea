# url: https://github.com/AakashKumarNain/TF_JAX_tutorials/pull/2
# verdict: reuse
# wrong: pmap gets the key with in_axes=None, so the replicas add the same noise to their shards of the batch.
# shows: np.allclose(out[1:] - out[:-1], 1.0, atol=1e-5)
# mend: noise = jax.random.normal(key, (3,)) ==> noise = jax.random.normal(jax.random.fold_in(key, jax.lax.axis_index("dev")), (3,))

# %% program
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
import functools

import jax
import jax.numpy as jnp


def program(key):
    @functools.partial(jax.pmap, in_axes=(None, 0), axis_name="dev")
    def noisy(key, x):
        noise = jax.random.normal(key, (3,))  # first # second
        return x + noise

    return noisy(key, jnp.arange(4.0)[:, None] * jnp.ones(3))
