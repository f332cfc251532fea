# url: https://github.com/JoeyTeng/jaxrenderer/issues/18
# wrong: The config option jax_array no longer exists, because jax.Array is the only array type now; delete the line.

# %% fails
import jax
import jax.numpy as jnp

jax.config.update("jax_array", True)

@jax.jit
def shade(normals, light):
    return jnp.clip(normals @ light, 0.0, 1.0)

print(shade(jnp.eye(3), jnp.array([0.0, 0.6, 0.8])))

# %% works
import jax
import jax.numpy as jnp

@jax.jit
def shade(normals, light):
    return jnp.clip(normals @ light, 0.0, 1.0)

print(shade(jnp.eye(3), jnp.array([0.0, 0.6, 0.8])))
