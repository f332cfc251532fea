# url: https://github.com/jax-md/jax-md/issues/311
# wrong: There is no jax.config submodule any more; use the object: jax.config.update("jax_enable_x64", True).

# %% fails
from jax.config import config
config.update("jax_enable_x64", True)
import jax.numpy as jnp

print(jnp.arange(3.0).dtype)

# %% works
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp

print(jnp.arange(3.0).dtype)
