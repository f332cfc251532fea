# url: https://github.com/jax-ml/jax/pull/4312
# wrong: The jitted function replaces a global key by a traced one, which leaks out and fails at the next use; pass the key in and return the new one.

# %% fails
import jax

key = jax.random.key(0)

@jax.jit
def noisy(x):
    global key
    key, sub = jax.random.split(key)
    return x + jax.random.normal(sub)

print(noisy(1.0))
print(jax.random.normal(key))

# %% works
import jax

@jax.jit
def noisy(x, key):
    key, sub = jax.random.split(key)
    return x + jax.random.normal(sub), key

key = jax.random.key(0)
y, key = noisy(1.0, key)
print(y)
print(jax.random.normal(key))
