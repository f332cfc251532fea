# url: https://github.com/google-deepmind/dm-haiku/issues/321
# wrong: hk.next_rng_key works only inside a function that hk.transform runs; outside, use an ordinary JAX key.

# %% fails
import haiku as hk
import jax.numpy as jnp

net = hk.transform(lambda x: hk.Linear(1)(x))
params = net.init(hk.next_rng_key(), jnp.ones((1, 1)))
print(net.apply(params, None, jnp.ones((1, 1))))

# %% works
import haiku as hk
import jax
import jax.numpy as jnp

net = hk.transform(lambda x: hk.Linear(1)(x))
params = net.init(jax.random.PRNGKey(0), jnp.ones((1, 1)))
print(net.apply(params, None, jnp.ones((1, 1))))
