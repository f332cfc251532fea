# url: https://github.com/jax-ml/jax/pull/5398
# wrong: / gives a float even when it divides evenly, and a shape consists of integers; use //.

# %% fails
import jax.numpy as jnp

def split_heads(x, n_heads):
    batch, length, width = x.shape
    return x.reshape(batch, length, n_heads, width / n_heads)

print(split_heads(jnp.ones((2, 5, 12)), 3).shape)

# %% works
import jax.numpy as jnp

def split_heads(x, n_heads):
    batch, length, width = x.shape
    return x.reshape(batch, length, n_heads, width // n_heads)

print(split_heads(jnp.ones((2, 5, 12)), 3).shape)
