# url: https://github.com/Quantinuum/qnlp_lorenz_etal_2021_resources/issues/2
# wrong: math.cos and math.sin want Python floats, not traced angles; use jnp.cos and jnp.sin.

# %% fails
import math
import jax
import jax.numpy as jnp

def rx(theta):
    c, s = math.cos(theta / 2), math.sin(theta / 2)
    return jnp.array([[c, -1j * s], [-1j * s, c]])

@jax.jit
def cost(theta):
    state = rx(theta) @ jnp.array([1.0, 0.0])
    return jnp.abs(state[1]) ** 2

print(cost(0.7))

# %% works
import jax
import jax.numpy as jnp

def rx(theta):
    c, s = jnp.cos(theta / 2), jnp.sin(theta / 2)
    return jnp.array([[c, -1j * s], [-1j * s, c]])

@jax.jit
def cost(theta):
    state = rx(theta) @ jnp.array([1.0, 0.0])
    return jnp.abs(state[1]) ** 2

print(cost(0.7))
