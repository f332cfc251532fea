# url: https://github.com/jax-ml/jax/issues/4308
# wrong: The function returns a pair, so its pullback takes a pair of cotangents of the same structure, not one number; use has_aux=True for the output that needs no cotangent.

# %% fails
import jax
import jax.numpy as jnp

def noisy(x, key):
    key, sub = jax.random.split(key)
    return x * jax.random.normal(sub), jnp.float32(2.0) * x

out, pull = jax.vjp(lambda x: noisy(x, jax.random.key(0)), 5.0)
print(pull(1.0))

# %% works
import jax
import jax.numpy as jnp

def noisy(x, key):
    key, sub = jax.random.split(key)
    return x * jax.random.normal(sub), jnp.float32(2.0) * x

out, pull, scaled = jax.vjp(lambda x: noisy(x, jax.random.key(0)), 5.0, has_aux=True)
print(pull(1.0))
