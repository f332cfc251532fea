# url: https://github.com/kingoflolz/mesh-transformer-jax/issues/173
# wrong: The network draws random numbers with hk.next_rng_key, but apply gets rng=None; pass a key.
# needs: haiku

# %% fails
import haiku as hk
import jax
import jax.numpy as jnp

def layer(x):
    noise = jax.random.normal(hk.next_rng_key(), x.shape)
    return hk.Linear(2)(x + 0.1 * noise)

net = hk.transform(layer)
x = jnp.ones((1, 3))
params = net.init(jax.random.PRNGKey(0), x)
print(net.apply(params, None, x).shape)

# %% works
import haiku as hk
import jax
import jax.numpy as jnp

def layer(x):
    noise = jax.random.normal(hk.next_rng_key(), x.shape)
    return hk.Linear(2)(x + 0.1 * noise)

net = hk.transform(layer)
x = jnp.ones((1, 3))
params = net.init(jax.random.PRNGKey(0), x)
print(net.apply(params, jax.random.PRNGKey(1), x).shape)
