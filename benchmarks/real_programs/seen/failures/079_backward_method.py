# url: https://github.com/masteusz/projects-tracker/issues/43
# wrong: JAX has no loss.backward(): gradients come from transforming the loss function with jax.grad.

# %% fails
import jax.numpy as jnp

w = jnp.array([0.5, -0.5])
x = jnp.array([[1.0, 2.0], [3.0, 4.0]])
for _ in range(3):
    loss = jnp.mean((x @ w - 1.0) ** 2)
    loss.backward()
    w = w - 0.01 * w.grad
print(w)

# %% works
import jax
import jax.numpy as jnp

w = jnp.array([0.5, -0.5])
x = jnp.array([[1.0, 2.0], [3.0, 4.0]])
gradient = jax.grad(lambda w: jnp.mean((x @ w - 1.0) ** 2))
for _ in range(3):
    w = w - 0.01 * gradient(w)
print(w)
