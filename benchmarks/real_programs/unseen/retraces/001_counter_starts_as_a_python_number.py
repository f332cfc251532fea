# url: https://github.com/jax-ml/jax/issues/3163
# cause: The first call gets the Python number 0 (weakly typed), later ones the strongly typed array that step returned.

# %% program
import jax
import jax.numpy as jnp

state = {"x": 0.0}


@jax.jit
def step(x, dx):
    return x + jnp.sin(dx)


def turn():
    state["x"] = step(state["x"], jnp.float32(0.1))


calls = [turn, turn, turn]
