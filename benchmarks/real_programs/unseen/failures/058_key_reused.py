# url: https://github.com/jax-ml/jax/issues/192
# wrong: The same key draws both the weights and the noise, so the two are correlated, and the key-reuse checker stops at the second use; split the key.

# %% fails
import jax
import jax.numpy as jnp

with jax.debug_key_reuse(True):
    key = jax.random.key(0)
    weights = jax.random.normal(key, (3,))
    noise = jax.random.normal(key, (3,))
    print(weights + 0.1 * noise)

# %% works
import jax
import jax.numpy as jnp

with jax.debug_key_reuse(True):
    key_w, key_n = jax.random.split(jax.random.key(0))
    weights = jax.random.normal(key_w, (3,))
    noise = jax.random.normal(key_n, (3,))
    print(weights + 0.1 * noise)
