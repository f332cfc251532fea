import jax.numpy as jnp


def unit_rows(x):
    length = jnp.linalg.norm(x, axis=1, keepdims=True)
    return x / jnp.where(length > 0, length, 1)
