# url: https://github.com/google/flax/issues/1491
# wrong: The variance of a constant input is 0 (the layer computes it as the difference of two large means) and with epsilon=0 its rsqrt is inf, which is multiplied by 0.
# advice: Leave epsilon at 1e-5 (and use_fast_variance=False for inputs far from zero).
# needs: flax

# %% fails
import flax.linen as nn
import jax.numpy as jnp

norm = nn.LayerNorm(epsilon=0.0)


def f(x):
    return norm.apply({"params": {"scale": jnp.ones(4), "bias": jnp.zeros(4)}}, x)  # guilty


args = (jnp.full((2, 4), 1000.0),)

# %% works
import flax.linen as nn
import jax.numpy as jnp

norm = nn.LayerNorm(epsilon=1e-5, use_fast_variance=False)


def f(x):
    return norm.apply({"params": {"scale": jnp.ones(4), "bias": jnp.zeros(4)}}, x)


args = (jnp.full((2, 4), 1000.0),)
