# url: https://github.com/jax-ml/jax/pull/8843
# wrong: lax functions do not promote dtypes, so an int32 and a float32 array cannot be added; cast first, or use jnp.add.

# %% fails
import jax.numpy as jnp
from jax import lax

counts = jnp.arange(4)
rates = jnp.full(4, 0.25)
print(lax.add(counts, rates))

# %% works
import jax.numpy as jnp
from jax import lax

counts = jnp.arange(4)
rates = jnp.full(4, 0.25)
print(lax.add(counts.astype(rates.dtype), rates))
