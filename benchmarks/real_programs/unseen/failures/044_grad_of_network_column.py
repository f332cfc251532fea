# url: https://github.com/jax-ml/jax/pull/39557
# wrong: The network returns an array of shape (1,), not a scalar; index or squeeze the output before differentiating.

# %% fails
import jax
import jax.numpy as jnp

def network(params, t):
    hidden = jnp.tanh(params["w1"] * t + params["b1"])
    return hidden @ params["w2"]

params = {"w1": jnp.ones(4), "b1": jnp.zeros(4), "w2": jnp.ones((4, 1))}
du_dt = jax.grad(network, argnums=1)
print(du_dt(params, 0.3))

# %% works
import jax
import jax.numpy as jnp

def network(params, t):
    hidden = jnp.tanh(params["w1"] * t + params["b1"])
    return (hidden @ params["w2"])[0]

params = {"w1": jnp.ones(4), "b1": jnp.zeros(4), "w2": jnp.ones((4, 1))}
du_dt = jax.grad(network, argnums=1)
print(du_dt(params, 0.3))
