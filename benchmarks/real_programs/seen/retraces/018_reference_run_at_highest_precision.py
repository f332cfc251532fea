# url: https://github.com/jax-ml/jax/pull/6143
# cause: The comparison runs under default_matmul_precision, which belongs to the tracing context.

# %% program
import jax
import jax.numpy as jnp

a = jnp.ones((4, 4))


@jax.jit
def step(a):
    return a @ a.T


def reference():
    with jax.default_matmul_precision("highest"):
        return step(a)


calls = [(a,), reference]
