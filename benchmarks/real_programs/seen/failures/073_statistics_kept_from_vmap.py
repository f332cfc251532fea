# url: https://github.com/jax-ml/jax/pull/9246
# wrong: compute_stats appends a per-example tracer to a list outside the mapped function, and the leak checker reports it; return the statistics as a second output.

# %% fails
import jax
import jax.numpy as jnp

stats = []

def normalise(x):
    mean = jnp.mean(x)
    stats.append(mean)
    return x - mean

with jax.checking_leaks():
    y = jax.vmap(normalise)(jnp.arange(6.0).reshape(2, 3))
print(y, stats)

# %% works
import jax
import jax.numpy as jnp

def normalise(x):
    mean = jnp.mean(x)
    return x - mean, mean

with jax.checking_leaks():
    y, stats = jax.vmap(normalise)(jnp.arange(6.0).reshape(2, 3))
print(y, stats)
