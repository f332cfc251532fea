# url: https://github.com/patrick-kidger/diffrax/issues/742
# wrong: The time step is too long for the stiff right hand side, so explicit Euler oscillates until it overflows.
# advice: Take a smaller dt or an implicit solver.

# %% fails
import jax
import jax.numpy as jnp


def f(y0):
    def euler(y, _):
        y = y + 0.1 * (-50.0 * (y**3 - y))  # guilty
        return y, y

    return jax.lax.scan(euler, y0, None, length=20)[0]


args = (jnp.float32(2.0),)

# %% works
import jax
import jax.numpy as jnp


def f(y0):
    def euler(y, _):
        y = y + 0.002 * (-50.0 * (y**3 - y))
        return y, y

    return jax.lax.scan(euler, y0, None, length=1000)[0]


args = (jnp.float32(2.0),)
