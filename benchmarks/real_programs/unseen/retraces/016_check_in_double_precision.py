# url: https://github.com/jax-ml/jax/pull/5488
# cause: The x64 flag is part of the cache's key, and the gradient check switches it on around the call.

# %% program
import jax
import numpy as np

x = np.linspace(0, 1, 5)


@jax.jit
def step(x):
    return (x**2).sum()


def exact():
    with jax.enable_x64(True):
        step(x)


calls = [(x,), exact]
