# url: https://github.com/uwplasma/vmex/pull/321
# cause: The retry puts one leaf of the carry on the device explicitly; this leaf is now committed, which is another cache entry with equal shapes.
# kind: recompile

# %% program
import jax
import jax.numpy as jnp


@jax.jit
def step(carry):
    return jax.tree.map(lambda x: 0.5 * x, carry)


def seeded(axis):
    return {"axis": axis, "modes": jnp.ones((3, 2))}


fresh = jnp.zeros(4)
retried = jax.device_put(jnp.zeros(4), jax.devices()[0])
calls = [(seeded(fresh),), (seeded(retried),)]
