# url: https://github.com/jax-ml/jax/issues/19376
# wrong: jax.random.normal takes one key, not an array of eight; map over the keys with vmap.

# %% fails
import jax

keys = jax.random.split(jax.random.PRNGKey(0), 8)
print(jax.random.normal(keys, shape=(8,)))

# %% works
import jax

keys = jax.random.split(jax.random.PRNGKey(0), 8)
print(jax.vmap(jax.random.normal)(keys))
