# url: https://github.com/jax-ml/jax/issues/14239
# verdict: correct
# why: Every parameter's key is the root key with a hash of its own name folded in.

# %% program
import zlib

import jax


def named(key, name):
    return jax.random.fold_in(key, zlib.crc32(name.encode()))


def program(key):
    shapes = {"embed/w": (4, 3), "attn/w": (3, 3), "attn/b": (3,)}
    return {name: jax.random.normal(named(key, name), shape) for name, shape in shapes.items()}
