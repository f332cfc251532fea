# url: https://github.com/uwplasma/vmex/pull/325
# cause: jax.default_device is part of the cache's key, and one of the two callers sets it.

# %% program
import jax
import numpy as np

x = np.ones(4, np.float32)


@jax.jit
def step(x):
    return x + 1


def trial():
    with jax.default_device(jax.devices("cpu")[-1]):
        step(x)


calls = [(x,), trial]
