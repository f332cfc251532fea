# url: https://github.com/jax-ml/jax/issues/170
# wrong: The dropout layer gets rng=None because no key was passed from the top; pass a PRNG key to the apply function.

# %% fails
import jax
import jax.numpy as jnp

def dropout(x, rate=0.4, rng=None):
    keep = jax.random.bernoulli(rng, 1 - rate, x.shape)
    return jnp.where(keep, x / (1 - rate), 0.0)

def apply(params, x, rng=None):
    return dropout(jnp.tanh(x @ params), rng=rng)

print(apply(jnp.ones((3, 2)), jnp.ones((4, 3))).shape)

# %% works
import jax
import jax.numpy as jnp

def dropout(x, rate=0.4, rng=None):
    keep = jax.random.bernoulli(rng, 1 - rate, x.shape)
    return jnp.where(keep, x / (1 - rate), 0.0)

def apply(params, x, rng=None):
    return dropout(jnp.tanh(x @ params), rng=rng)

print(apply(jnp.ones((3, 2)), jnp.ones((4, 3)), rng=jax.random.key(0)).shape)
