# url: https://github.com/jax-ml/jax/issues/744
# wrong: scan walks the leading axis of arrays, and a Python list of integers is a tree of scalars without any axis; pass jnp.arange.

# %% fails
import collections
import jax
import jax.numpy as jnp

Walker = collections.namedtuple("Walker", "x y")

def stride(walker, step):
    return Walker(walker.x + 1, walker.y + step), walker.y

last, track = jax.lax.scan(stride, Walker(jnp.array(0), jnp.array(0)), list(range(5)))
print(last, track)

# %% works
import collections
import jax
import jax.numpy as jnp

Walker = collections.namedtuple("Walker", "x y")

def stride(walker, step):
    return Walker(walker.x + 1, walker.y + step), walker.y

last, track = jax.lax.scan(stride, Walker(jnp.array(0), jnp.array(0)), jnp.arange(5))
print(last, track)
