# url: https://github.com/jax-ml/jax/issues/7440
# wrong: The drag raises the velocity to the power 1.7; once the ball falls back the velocity is negative and a fractional power of it is NaN.
# advice: Raise the absolute value to the power and put the sign back.

# %% fails
import jax
import jax.numpy as jnp


def throw(v0):
    def step(state):
        t, v = state
        drag = 0.05 * v**1.7  # guilty
        return t + 1, v - 0.3 - drag

    return jax.lax.while_loop(lambda s: s[0] < 10, step, (0, v0))[1]


f = throw
args = (jnp.float32(1.5),)

# %% works
import jax
import jax.numpy as jnp


def throw(v0):
    def step(state):
        t, v = state
        drag = 0.05 * jnp.sign(v) * jnp.abs(v) ** 1.7
        return t + 1, v - 0.3 - drag

    return jax.lax.while_loop(lambda s: s[0] < 10, step, (0, v0))[1]


f = throw
args = (jnp.float32(1.5),)
