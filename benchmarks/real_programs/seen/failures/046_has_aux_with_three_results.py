# url: https://github.com/jax-ml/jax/issues/5776
# wrong: With has_aux=True the function must return exactly a pair (loss, aux); put the further results into one tuple or dict.

# %% fails
import jax
import jax.numpy as jnp

def loss_fn(w, x, y):
    logits = x @ w
    loss = jnp.mean((logits - y) ** 2)
    return loss, logits, jnp.max(jnp.abs(w))

grads, aux = jax.grad(loss_fn, has_aux=True)(jnp.ones(3), jnp.eye(3), jnp.zeros(3))
print(grads, aux)

# %% works
import jax
import jax.numpy as jnp

def loss_fn(w, x, y):
    logits = x @ w
    loss = jnp.mean((logits - y) ** 2)
    return loss, (logits, jnp.max(jnp.abs(w)))

grads, aux = jax.grad(loss_fn, has_aux=True)(jnp.ones(3), jnp.eye(3), jnp.zeros(3))
print(grads, aux)
