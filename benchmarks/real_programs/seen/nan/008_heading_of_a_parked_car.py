# url: https://github.com/jax-ml/jax/issues/15407
# wrong: The car starts at rest, and arctan2 has no derivative at (0, 0): both partial derivatives are 0/0.
# advice: Give arctan2 a harmless direction with where while the speed is 0.

# %% fails
import jax
import jax.numpy as jnp


def drive(steer):
    def step(carry, s):
        vel, cost = carry
        heading = jnp.arctan2(vel[1], vel[0])  # guilty
        vel = vel + 0.1 * jnp.array([jnp.cos(heading + s), jnp.sin(heading + s)])
        return (vel, cost + heading**2), heading

    start = jnp.zeros(2) * steer[0]
    return jax.lax.scan(step, (start, 0.0), steer)[0][1]


f = jax.grad(drive)
args = (jnp.array([0.1, 0.2, 0.3]),)

# %% works
import jax
import jax.numpy as jnp


def drive(steer):
    def step(carry, s):
        vel, cost = carry
        still = jnp.all(vel == 0)
        safe = jnp.where(still, jnp.array([1.0, 0.0]), vel)
        heading = jnp.arctan2(safe[1], safe[0])
        vel = vel + 0.1 * jnp.array([jnp.cos(heading + s), jnp.sin(heading + s)])
        return (vel, cost + heading**2), heading

    start = jnp.zeros(2) * steer[0]
    return jax.lax.scan(step, (start, 0.0), steer)[0][1]


f = jax.grad(drive)
args = (jnp.array([0.1, 0.2, 0.3]),)
