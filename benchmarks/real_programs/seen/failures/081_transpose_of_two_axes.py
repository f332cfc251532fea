# url: https://tensor4all.org/tenferro-rs/getting-started/pytorch-jax-mapping.html
# wrong: PyTorch's transpose(1, 2) swaps two axes, JAX's wants the full permutation of all four; use jnp.swapaxes.

# %% fails
import jax.numpy as jnp

def heads_first(x, n_heads):
    batch, length, width = x.shape
    return x.reshape(batch, length, n_heads, width // n_heads).transpose(1, 2)

print(heads_first(jnp.ones((2, 5, 12)), 3).shape)

# %% works
import jax.numpy as jnp

def heads_first(x, n_heads):
    batch, length, width = x.shape
    return x.reshape(batch, length, n_heads, width // n_heads).swapaxes(1, 2)

print(heads_first(jnp.ones((2, 5, 12)), 3).shape)
