# url: https://github.com/jax-ml/jax/pull/22098
# wrong: Python's `and` asks for the truth value of the traced comparison; combine arrays with & (or jnp.logical_and).

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def inside_well(x, half_width):
    inside = x > -half_width and x < half_width
    return jnp.where(inside, 0.0, 10.0)

print(inside_well(0.3, 0.5))

# %% works
import jax
import jax.numpy as jnp

@jax.jit
def inside_well(x, half_width):
    inside = (x > -half_width) & (x < half_width)
    return jnp.where(inside, 0.0, 10.0)

print(inside_well(0.3, 0.5))
