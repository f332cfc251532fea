# url: https://github.com/mlaux1/rl-blox/pull/157
# cause: The exploration rate is declared static although a schedule changes it in each step, so every value is compiled for itself.

# %% program
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, static_argnames=("epsilon",))
def step(q, u, epsilon):
    return jnp.where(u < epsilon, 0, jnp.argmax(q))


def epsilon_at(t):
    return max(0.1, 1.0 - 0.3 * t)


q, u = jnp.arange(4.0), jnp.float32(0.5)
calls = [lambda t=t: step(q, u, epsilon=epsilon_at(t)) for t in range(3)]
