# url: https://github.com/jax-ml/jax/issues/26296
# wrong: Inside jit the loss is a tracer, which has no digits to format; print it with jax.debug.print and braces in the template.

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def train_step(w, x, y):
    loss, g = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    print(f"loss {loss:.4f}")
    return w - 0.1 * g

print(train_step(jnp.zeros(2), jnp.eye(2), jnp.ones(2)))

# %% works
import jax
import jax.numpy as jnp

@jax.jit
def train_step(w, x, y):
    loss, g = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    jax.debug.print("loss {loss:.4f}", loss=loss)
    return w - 0.1 * g

print(train_step(jnp.zeros(2), jnp.eye(2), jnp.ones(2)))
