# url: https://github.com/jax-ml/jax/issues/2783
# wrong: float() of a value that is being differentiated would lose its derivative, so JAX refuses; keep the JAX value and use jnp.where.

# %% fails
import jax
import jax.numpy as jnp

def huber(x, delta=1.0):
    size = abs(float(x))
    if size <= delta:
        return 0.5 * x ** 2
    return delta * (size - 0.5 * delta)

print(jax.grad(huber)(jnp.float32(3.0)))

# %% works
import jax
import jax.numpy as jnp

def huber(x, delta=1.0):
    size = jnp.abs(x)
    return jnp.where(size <= delta, 0.5 * x ** 2, delta * (size - 0.5 * delta))

print(jax.grad(huber)(jnp.float32(3.0)))
