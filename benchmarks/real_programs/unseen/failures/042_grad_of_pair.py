# url: https://github.com/jax-ml/jax/issues/6213
# wrong: The loss returns a pair, so its output is not a scalar; tell grad that the second part is auxiliary with has_aux=True.

# %% fails
import jax
import jax.numpy as jnp

def loss_and_residual(w, x, y):
    residual = x @ w - y
    return jnp.mean(residual ** 2), residual

x, y = jnp.ones((4, 2)), jnp.arange(4.0)
print(jax.grad(loss_and_residual)(jnp.zeros(2), x, y))

# %% works
import jax
import jax.numpy as jnp

def loss_and_residual(w, x, y):
    residual = x @ w - y
    return jnp.mean(residual ** 2), residual

x, y = jnp.ones((4, 2)), jnp.arange(4.0)
grads, residual = jax.grad(loss_and_residual, has_aux=True)(jnp.zeros(2), x, y)
print(grads)
