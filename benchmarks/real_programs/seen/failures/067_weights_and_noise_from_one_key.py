# url: https://github.com/jax-ml/jax/pull/17626
# wrong: The same key draws the weights and then the noise, so the two are dependent, and the checker stops it; split the key and use one half for each.

# %% fails
import jax
jax.config.update("jax_debug_key_reuse", True)

key = jax.random.key(0)
weights = jax.random.uniform(key, (3,))
noise = jax.random.normal(key, (3,))
print(weights + noise)

# %% works
import jax
jax.config.update("jax_debug_key_reuse", True)

key_w, key_n = jax.random.split(jax.random.key(0))
weights = jax.random.uniform(key_w, (3,))
noise = jax.random.normal(key_n, (3,))
print(weights + noise)
