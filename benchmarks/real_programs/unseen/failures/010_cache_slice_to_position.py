# url: https://github.com/AakashKumarNain/mistral_jax/issues/1
# wrong: cache[:pos] has a length that depends on the traced position; keep the whole cache and mask the entries from pos on.

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def attend(query, cache, pos):
    keys = cache[:pos]
    return jax.nn.softmax(keys @ query) @ keys

cache = jnp.arange(24.0).reshape(6, 4) / 10
print(attend(jnp.ones(4), cache, 3))

# %% works
import jax
import jax.numpy as jnp

@jax.jit
def attend(query, cache, pos):
    seen = jnp.arange(cache.shape[0]) < pos
    scores = jnp.where(seen, cache @ query, -jnp.inf)
    return jax.nn.softmax(scores) @ cache

cache = jnp.arange(24.0).reshape(6, 4) / 10
print(attend(jnp.ones(4), cache, 3))
