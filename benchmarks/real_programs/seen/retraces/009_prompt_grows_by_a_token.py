# url: https://github.com/jax-ml/jax/issues/2521
# cause: The array is one element longer in each call, and each length is a shape of its own.

# %% program
import jax
import jax.numpy as jnp

state = {"tokens": jnp.array([3, 1])}


@jax.jit
def step(tokens):
    return (tokens.sum() * 7 + 1) % 11


def generate():
    token = step(state["tokens"])
    state["tokens"] = jnp.append(state["tokens"], token)


calls = [generate, generate, generate]
