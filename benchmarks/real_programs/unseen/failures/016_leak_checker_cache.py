# url: https://github.com/jax-ml/jax/pull/13022
# wrong: The vmapped function caches a traced intermediate in an object that outlives the call, which is what jax_check_tracer_leaks reports; return the value instead of storing it.

# %% fails
import jax
import jax.numpy as jnp
jax.config.update("jax_check_tracer_leaks", True)

class Cache:
    def __init__(self):
        self.store = {}

cache = Cache()

def features(x):
    h = jnp.tanh(x)
    cache.store["hidden"] = h
    return h.sum()

print(jax.vmap(features)(jnp.ones((3, 2))))

# %% works
import jax
import jax.numpy as jnp
jax.config.update("jax_check_tracer_leaks", True)

def features(x):
    h = jnp.tanh(x)
    return h.sum(), h

total, hidden = jax.vmap(features)(jnp.ones((3, 2)))
print(total, hidden.shape)
