# url: https://github.com/jax-ml/jax/issues/25186
# wrong: The number of Euler steps arrives as a traced integer, and Python's range() needs a real one; use lax.fori_loop, or mark the argument static.

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def euler(height, velocity, n_steps):
    dt = 0.01
    for _ in range(n_steps):
        height = height + dt * velocity
        velocity = velocity - dt * 9.81
    return height, velocity

print(euler(10.0, 0.0, 50))

# %% works
import jax
import jax.numpy as jnp

@jax.jit
def euler(height, velocity, n_steps):
    dt = 0.01
    def step(_, state):
        h, v = state
        return h + dt * v, v - dt * 9.81
    return jax.lax.fori_loop(0, n_steps, step, (height, velocity))

print(euler(10.0, 0.0, 50))
