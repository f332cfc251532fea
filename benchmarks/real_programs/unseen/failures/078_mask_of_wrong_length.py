# url: https://github.com/jax-ml/jax/issues/7329
# wrong: The boolean mask has another length than the axis that it indexes; it must have one entry per element.

# %% fails
import jax.numpy as jnp

ages = jnp.array([23, 35, 41, 19])
is_adult = jnp.array([True, True, False])
print(ages[is_adult])

# %% works
import jax.numpy as jnp

ages = jnp.array([23, 35, 41, 19])
is_adult = jnp.array([True, True, False, True])
print(ages[is_adult])
