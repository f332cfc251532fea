# url: https://github.com/jax-ml/jax/issues/24740
# wrong: Under vmap the orbit is a tracer, so `if |z| > 2` cannot pick a Python branch; count the steps with jnp.where (or lax.while_loop) instead of returning early.

# %% fails
import jax
import jax.numpy as jnp

def escape_time(c, max_steps=20):
    z = jnp.zeros_like(c)
    for step in range(max_steps):
        z = z * z + c
        if jnp.abs(z) > 2.0:
            return step
    return max_steps

points = jnp.array([0.1 + 0.2j, 1.0 + 1.0j, -0.75 + 0.1j])
print(jax.vmap(escape_time)(points))

# %% works
import jax
import jax.numpy as jnp

def escape_time(c, max_steps=20):
    z = jnp.zeros_like(c)
    count = jnp.full(c.shape, max_steps)
    for step in range(max_steps):
        z = jnp.where(jnp.abs(z) > 2.0, z, z * z + c)
        count = jnp.where((jnp.abs(z) > 2.0) & (count == max_steps), step, count)
    return count

points = jnp.array([0.1 + 0.2j, 1.0 + 1.0j, -0.75 + 0.1j])
print(jax.vmap(escape_time)(points))
