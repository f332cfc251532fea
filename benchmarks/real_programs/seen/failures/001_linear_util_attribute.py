# url: https://github.com/jax-md/jax-md/issues/305
# wrong: jax.linear_util was removed from the public namespace (it lives on as jax.extend.linear_util, for interpreters only); this code needs nothing of it and can call jax.make_jaxpr.

# %% fails
import jax
import jax.numpy as jnp

def count_primitives(energy_fn, positions):
    wrapped = jax.linear_util.wrap_init(energy_fn)
    jaxpr = jax.make_jaxpr(wrapped.call_wrapped)(positions)
    return len(jaxpr.eqns)

def soft_sphere(positions):
    r = jnp.linalg.norm(positions, axis=-1)
    return jnp.sum(jnp.where(r < 1.0, (1.0 - r) ** 2, 0.0))

print(count_primitives(soft_sphere, jnp.ones((4, 2)) * 0.3))

# %% works
import jax
import jax.numpy as jnp

def count_primitives(energy_fn, positions):
    jaxpr = jax.make_jaxpr(energy_fn)(positions)
    return len(jaxpr.eqns)

def soft_sphere(positions):
    r = jnp.linalg.norm(positions, axis=-1)
    return jnp.sum(jnp.where(r < 1.0, (1.0 - r) ** 2, 0.0))

print(count_primitives(soft_sphere, jnp.ones((4, 2)) * 0.3))
