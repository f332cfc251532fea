# url: https://github.com/mila-iqia/milabench/pull/394
# verdict: correct
# why: eval_shape only asks for shapes, so the initializer draws with the key just once.

# %% program
import jax
import jax.numpy as jnp


def init(key):
    k1, k2 = jax.random.split(key)
    return {"w": jax.random.normal(k1, (4, 3)), "v": jax.random.normal(k2, (3,))}


def program(key):
    shapes = jax.eval_shape(init, key)
    moments = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
    return moments, init(key)
