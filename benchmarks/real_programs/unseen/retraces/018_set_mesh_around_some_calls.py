# url: https://github.com/jax-ml/jax/issues/6483
# cause: The evaluation runs under set_mesh and the training does not; the current mesh belongs to the tracing context.

# %% program
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
import jax
import numpy as np

mesh = jax.make_mesh((4,), ("x",))
x = np.ones(8, np.float32)


@jax.jit
def step(x):
    return x * 2


def evaluate():
    with jax.set_mesh(mesh):
        step(x)


calls = [(x,), evaluate]
