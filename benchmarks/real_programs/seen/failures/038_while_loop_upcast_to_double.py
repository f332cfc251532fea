# url: https://github.com/jax-ml/jax/issues/833
# wrong: The loop starts in float32, but the float64 coefficients turn the result into float64, and a while_loop carry may not change its dtype; give everything one dtype.

# %% fails
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np

coefficients = np.array([0.5, 0.25])

def minimise(position):
    def unfinished(state):
        return jnp.max(jnp.abs(state)) > 1e-3
    def move(state):
        return state * coefficients
    return jax.lax.while_loop(unfinished, move, position)

print(minimise(jnp.ones(2, jnp.float32)))

# %% works
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np

coefficients = np.array([0.5, 0.25])

def minimise(position):
    def unfinished(state):
        return jnp.max(jnp.abs(state)) > 1e-3
    def move(state):
        return state * coefficients
    return jax.lax.while_loop(unfinished, move, position.astype(jnp.float64))

print(minimise(jnp.ones(2, jnp.float32)))
