# url: https://github.com/mlcommons/algorithmic-efficiency/issues/664
# wrong: Dropout is active but apply gets no 'dropout' key; pass rngs={'dropout': key}.
# needs: flax

# %% fails
import flax.linen as nn
import jax
import jax.numpy as jnp

class UNetBlock(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.Dense(6)(x))
        return nn.Dropout(0.1, deterministic=not train)(x)

block = UNetBlock()
x = jnp.ones((2, 3))
variables = block.init(jax.random.key(0), x, train=False)
print(block.apply(variables, x, train=True).shape)

# %% works
import flax.linen as nn
import jax
import jax.numpy as jnp

class UNetBlock(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.Dense(6)(x))
        return nn.Dropout(0.1, deterministic=not train)(x)

block = UNetBlock()
x = jnp.ones((2, 3))
variables = block.init(jax.random.key(0), x, train=False)
print(block.apply(variables, x, train=True, rngs={"dropout": jax.random.key(1)}).shape)
