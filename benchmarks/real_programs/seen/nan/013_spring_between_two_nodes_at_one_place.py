# url: https://github.com/jax-ml/jax/issues/3058
# wrong: Two nodes of the cloth lie on each other, so the direction of their spring is 0/0 and the force is NaN from the first time step on.
# advice: Divide by the length plus a small number or by a where-guarded length.

# %% fails
import jax
import jax.numpy as jnp

edges = jnp.array([[0, 1], [1, 2]])


def forces(x):
    d = x[edges[:, 1]] - x[edges[:, 0]]
    length = jnp.sqrt(jnp.sum(d**2, -1, keepdims=True))
    unit = d / length  # guilty
    pull = (length - 1.0) * unit
    return jnp.zeros_like(x).at[edges[:, 0]].add(pull).at[edges[:, 1]].add(-pull)


def simulate(x):
    def step(carry, _):
        x, v = carry
        v = 0.9 * v + 0.1 * forces(x)
        return (x + 0.1 * v, v), None

    return jax.lax.scan(step, (x, jnp.zeros_like(x)), None, length=5)[0][0]


f = simulate
args = (jnp.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]]),)

# %% works
import jax
import jax.numpy as jnp

edges = jnp.array([[0, 1], [1, 2]])


def forces(x):
    d = x[edges[:, 1]] - x[edges[:, 0]]
    length = jnp.sqrt(jnp.sum(d**2, -1, keepdims=True))
    unit = d / jnp.maximum(length, 1e-6)
    pull = (length - 1.0) * unit
    return jnp.zeros_like(x).at[edges[:, 0]].add(pull).at[edges[:, 1]].add(-pull)


def simulate(x):
    def step(carry, _):
        x, v = carry
        v = 0.9 * v + 0.1 * forces(x)
        return (x + 0.1 * v, v), None

    return jax.lax.scan(step, (x, jnp.zeros_like(x)), None, length=5)[0][0]


f = simulate
args = (jnp.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]]),)
