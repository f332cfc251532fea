# url: https://github.com/jax-ml/jax/issues/5201
# wrong: The learning rate is a scalar and has no axis 0 to map over; say in_axes=(0, 0, None).

# %% fails
import jax
import jax.numpy as jnp

def sgd(w, g, lr):
    return w - lr * g

print(jax.vmap(sgd)(jnp.ones((4, 2)), jnp.ones((4, 2)), 0.1))

# %% works
import jax
import jax.numpy as jnp

def sgd(w, g, lr):
    return w - lr * g

print(jax.vmap(sgd, in_axes=(0, 0, None))(jnp.ones((4, 2)), jnp.ones((4, 2)), 0.1))
