# url: https://github.com/google-deepmind/dm-haiku/issues/84
# wrong: The module creates its parameters inside a plain jax.jit within the transformed function, so init returns leaked tracers; leave the inner jit out and jit net.init and net.apply from outside.
# needs: haiku

# %% fails
import haiku as hk
import jax
import jax.numpy as jnp

def forward(x):
    layer = hk.Linear(3)
    return jax.jit(lambda h: jax.nn.relu(layer(h)))(x)

net = hk.transform(forward)
params = net.init(jax.random.PRNGKey(0), jnp.ones((5, 2)))
print(net.apply(params, None, jnp.ones((5, 2))).shape)

# %% works
import haiku as hk
import jax
import jax.numpy as jnp

def forward(x):
    layer = hk.Linear(3)
    return jax.nn.relu(layer(x))

net = hk.transform(forward)
params = jax.jit(net.init)(jax.random.PRNGKey(0), jnp.ones((5, 2)))
print(jax.jit(net.apply)(params, None, jnp.ones((5, 2))).shape)
