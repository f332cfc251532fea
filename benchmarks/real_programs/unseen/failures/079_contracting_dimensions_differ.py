# url: https://github.com/danijar/dreamerv3/issues/32
# wrong: The stored weights expect 12 input features and the observation now has 10; the inner dimensions of the matrix product must agree, so rebuild the weights for the new observation.

# %% fails
import jax
import jax.numpy as jnp

def encoder(params, obs):
    flat = jnp.concatenate([v.reshape(v.shape[0], -1) for v in obs.values()], axis=-1)
    return jax.nn.silu(flat @ params["kernel"])

saved = {"kernel": jnp.ones((12, 4))}
obs = {"inventory": jnp.ones((2, 6)), "health": jnp.ones((2, 4))}
print(encoder(saved, obs).shape)

# %% works
import jax
import jax.numpy as jnp

def encoder(params, obs):
    flat = jnp.concatenate([v.reshape(v.shape[0], -1) for v in obs.values()], axis=-1)
    return jax.nn.silu(flat @ params["kernel"])

obs = {"inventory": jnp.ones((2, 6)), "health": jnp.ones((2, 4))}
params = {"kernel": jnp.ones((6 + 4, 4))}
print(encoder(params, obs).shape)
