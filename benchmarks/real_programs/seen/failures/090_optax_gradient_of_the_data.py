# url: https://github.com/google-deepmind/optax/issues/808
# wrong: The loss is differentiated with respect to its first argument, the targets, so the gradients are an array while the optimiser's state follows the parameter dict; take the gradient with respect to params.

# %% fails
import jax
import jax.numpy as jnp
import optax

params = {"weights": jnp.ones((3, 1))}

def loss(target, x):
    return jnp.mean((target - x @ params["weights"]) ** 2)

x = jnp.ones((4, 3))
optimizer = optax.adam(0.002)
opt_state = optimizer.init(params)
value, grads = jax.value_and_grad(loss)(jnp.zeros((4, 1)), x)
updates, opt_state = optimizer.update(grads, opt_state)
print(optax.apply_updates(params, updates))

# %% works
import jax
import jax.numpy as jnp
import optax

params = {"weights": jnp.ones((3, 1))}

def loss(params, target, x):
    return jnp.mean((target - x @ params["weights"]) ** 2)

x = jnp.ones((4, 3))
optimizer = optax.adam(0.002)
opt_state = optimizer.init(params)
value, grads = jax.value_and_grad(loss)(params, jnp.zeros((4, 1)), x)
updates, opt_state = optimizer.update(grads, opt_state)
print(optax.apply_updates(params, updates))
