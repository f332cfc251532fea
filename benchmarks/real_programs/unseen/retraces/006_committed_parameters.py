# url: https://github.com/jax-ml/jax/issues/15924
# cause: The restored parameters were put on a device explicitly, and a committed array has another cache entry than an uncommitted one.
# kind: recompile

# %% program
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def step(w):
    return w * 0.9


fresh = jnp.zeros(3)
restored = jax.device_put(np.zeros(3, np.float32), jax.devices()[0])
calls = [(fresh,), (restored,)]
