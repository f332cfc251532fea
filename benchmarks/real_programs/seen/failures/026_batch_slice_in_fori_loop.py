# url: https://github.com/jax-ml/jax/issues/1879
# wrong: i is traced in fori_loop, so ratings[i*b:(i+1)*b] has no static bounds; take the batch with lax.dynamic_slice_in_dim, whose size is static.

# %% fails
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.jit, static_argnums=2)
def epoch(bias, ratings, batch):
    def update(i, bias):
        part = ratings[i * batch:(i + 1) * batch]
        return bias + 0.1 * jnp.mean(part - bias)
    return jax.lax.fori_loop(0, ratings.size // batch, update, bias)

print(epoch(0.0, jnp.arange(12.0), 4))

# %% works
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.jit, static_argnums=2)
def epoch(bias, ratings, batch):
    def update(i, bias):
        part = jax.lax.dynamic_slice_in_dim(ratings, i * batch, batch)
        return bias + 0.1 * jnp.mean(part - bias)
    return jax.lax.fori_loop(0, ratings.size // batch, update, bias)

print(epoch(0.0, jnp.arange(12.0), 4))
