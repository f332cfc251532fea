# url: https://github.com/jax-ml/jax/issues/1534
# wrong: The carry starts as None but the body returns an array, so its structure changes in the first step; start with an array of the right shape.

# %% fails
import jax
import jax.numpy as jnp

def running_max(best, x):
    best = x if best is None else jnp.maximum(best, x)
    return best, best

print(jax.lax.scan(running_max, None, jnp.array([1.0, 4.0, 2.0])))

# %% works
import jax
import jax.numpy as jnp

def running_max(best, x):
    best = jnp.maximum(best, x)
    return best, best

print(jax.lax.scan(running_max, -jnp.inf, jnp.array([1.0, 4.0, 2.0])))
