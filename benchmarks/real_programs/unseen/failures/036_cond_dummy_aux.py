# url: https://github.com/jax-ml/jax/issues/2660
# wrong: The branches return dicts with different keys, so their pytree structures differ; return dummy entries with the same keys in the cheap branch.

# %% fails
import jax
import jax.numpy as jnp

def full(x):
    return jnp.sum(x), {"mean": jnp.mean(x), "max": jnp.max(x)}

def dummy(x):
    return jnp.array(0.0), {}

print(jax.lax.cond(True, full, dummy, jnp.arange(3.0)))

# %% works
import jax
import jax.numpy as jnp

def full(x):
    return jnp.sum(x), {"mean": jnp.mean(x), "max": jnp.max(x)}

def dummy(x):
    return jnp.array(0.0), {"mean": jnp.array(0.0), "max": jnp.array(0.0)}

print(jax.lax.cond(True, full, dummy, jnp.arange(3.0)))
