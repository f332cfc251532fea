import jax.numpy as jnp


def unit_rows(x):
    return x / jnp.linalg.norm(x, axis=0, keepdims=True)
