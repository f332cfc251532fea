# url: https://tensor4all.org/tenferro-rs/getting-started/pytorch-jax-mapping.html
# wrong: PyTorch's dim= and keepdim= are called axis= and keepdims= in JAX.

# %% fails
import jax.numpy as jnp

def layer_norm(x):
    mean = x.sum(dim=-1, keepdim=True) / x.shape[-1]
    return x - mean

print(layer_norm(jnp.arange(6.0).reshape(2, 3)))

# %% works
import jax.numpy as jnp

def layer_norm(x):
    mean = x.sum(axis=-1, keepdims=True) / x.shape[-1]
    return x - mean

print(layer_norm(jnp.arange(6.0).reshape(2, 3)))
