# url: https://github.com/deepmodeling/DMFF/issues/82
# wrong: argnums=2 names the integer pair list, which has no gradient; the parameters are argument 3.

# %% fails
import jax
import jax.numpy as jnp

def nonbonded(positions, box, pairs, params):
    r = positions[pairs[:, 0]] - positions[pairs[:, 1]]
    d = jnp.sqrt(jnp.sum(r ** 2, -1))
    return jnp.sum(params["charge"][pairs[:, 0]] * params["charge"][pairs[:, 1]] / d)

positions = jnp.arange(9.0).reshape(3, 3)
pairs = jnp.array([[0, 1], [1, 2]])
params = {"charge": jnp.array([1.0, -1.0, 0.5])}
print(jax.grad(nonbonded, argnums=2)(positions, jnp.eye(3), pairs, params))

# %% works
import jax
import jax.numpy as jnp

def nonbonded(positions, box, pairs, params):
    r = positions[pairs[:, 0]] - positions[pairs[:, 1]]
    d = jnp.sqrt(jnp.sum(r ** 2, -1))
    return jnp.sum(params["charge"][pairs[:, 0]] * params["charge"][pairs[:, 1]] / d)

positions = jnp.arange(9.0).reshape(3, 3)
pairs = jnp.array([[0, 1], [1, 2]])
params = {"charge": jnp.array([1.0, -1.0, 0.5])}
print(jax.grad(nonbonded, argnums=3)(positions, jnp.eye(3), pairs, params))
