# url: https://github.com/jax-md/jax-md/issues/99
# wrong: The carry's counter starts as an integer and comes back as float32 (it is multiplied by a float mask); scan needs the carry's dtypes to stay the same, so start it as a float or keep the arithmetic integer.

# %% fails
import jax
import jax.numpy as jnp

def fire_step(state, _):
    x, v, n_pos = state
    force = -x
    downhill = jnp.vdot(force, v) > 0
    n_pos = (n_pos + 1) * downhill.astype(jnp.float32)
    v = jnp.where(downhill, v, 0.0) + 0.1 * force
    return (x + 0.1 * v, v, n_pos), None

start = (jnp.ones(3), jnp.zeros(3), jnp.zeros((), jnp.int32))
print(jax.lax.scan(fire_step, start, None, length=5)[0][2])

# %% works
import jax
import jax.numpy as jnp

def fire_step(state, _):
    x, v, n_pos = state
    force = -x
    downhill = jnp.vdot(force, v) > 0
    n_pos = (n_pos + 1) * downhill.astype(n_pos.dtype)
    v = jnp.where(downhill, v, 0.0) + 0.1 * force
    return (x + 0.1 * v, v, n_pos), None

start = (jnp.ones(3), jnp.zeros(3), jnp.zeros((), jnp.int32))
print(jax.lax.scan(fire_step, start, None, length=5)[0][2])
