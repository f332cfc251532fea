# url: https://github.com/jax-ml/jax/pull/27980
# cause: One call runs under another setting of a config context manager (numpy_rank_promotion), which is part of the tracing context.

# %% program
import jax
import jax.numpy as jnp

x = jnp.ones(3)


@jax.jit
def step(x):
    return x * x


def strict():
    with jax.numpy_rank_promotion("raise"):
        step(x)


calls = [(x,), strict]
