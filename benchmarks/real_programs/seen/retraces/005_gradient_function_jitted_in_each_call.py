# url: https://github.com/patrick-kidger/equinox/pull/71
# cause: jax.grad returns a new function on each call and jit is applied to that new function every time.

# %% program
import jax
import jax.numpy as jnp


def update(w, x):
    return jnp.mean((x @ w) ** 2)


def step(w, x):
    grads = jax.jit(jax.grad(update))(w, x)
    return w - 0.1 * grads


calls = [(jnp.ones(3), jnp.ones((5, 3))), (jnp.zeros(3), jnp.ones((5, 3)))]
