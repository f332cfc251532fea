# url: https://github.com/pymc-devs/pymc/issues/5927
# wrong: The new shape arrives as a traced array, but reshape needs Python integers at compile time; pass it as a static tuple.

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def group_means(effects, shape):
    return effects.reshape(shape).mean(axis=1)

effects = jnp.arange(12.0)
print(group_means(effects, jnp.array([3, 4])))

# %% works
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.jit, static_argnames="shape")
def group_means(effects, shape):
    return effects.reshape(shape).mean(axis=1)

effects = jnp.arange(12.0)
print(group_means(effects, (3, 4)))
