# url: https://github.com/google-deepmind/optax/issues/366
# wrong: The loss takes the batch first, so jax.grad differentiates with respect to the data and the optimizer gets an array instead of a tree like params; put params first or pass argnums.
# needs: optax

# %% fails
import jax
import jax.numpy as jnp
import optax

def loss(x, y, params):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

x, y = jnp.ones((8, 2)), jnp.zeros(8)
params = {"w": jnp.zeros(2), "b": jnp.zeros(())}
opt = optax.adam(1e-2)
state = opt.init(params)
grads = jax.grad(loss)(x, y, params)
updates, state = opt.update(grads, state)
print(optax.apply_updates(params, updates))

# %% works
import jax
import jax.numpy as jnp
import optax

def loss(x, y, params):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

x, y = jnp.ones((8, 2)), jnp.zeros(8)
params = {"w": jnp.zeros(2), "b": jnp.zeros(())}
opt = optax.adam(1e-2)
state = opt.init(params)
grads = jax.grad(loss, argnums=2)(x, y, params)
updates, state = opt.update(grads, state)
print(optax.apply_updates(params, updates))
