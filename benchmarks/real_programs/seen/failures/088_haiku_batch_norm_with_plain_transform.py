# url: https://github.com/google-deepmind/dm-haiku/issues/397
# wrong: BatchNorm keeps running averages in Haiku state, which hk.transform does not handle; use hk.transform_with_state.

# %% fails
import haiku as hk
import jax
import jax.numpy as jnp

def forward(x):
    x = hk.Linear(8)(x)
    x = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.99)(x, is_training=True)
    return hk.Linear(1)(jax.nn.relu(x))

net = hk.transform(forward)
params = net.init(jax.random.PRNGKey(0), jnp.ones((4, 3)))
print(net.apply(params, None, jnp.ones((4, 3))).shape)

# %% works
import haiku as hk
import jax
import jax.numpy as jnp

def forward(x):
    x = hk.Linear(8)(x)
    x = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.99)(x, is_training=True)
    return hk.Linear(1)(jax.nn.relu(x))

net = hk.transform_with_state(forward)
params, state = net.init(jax.random.PRNGKey(0), jnp.ones((4, 3)))
out, state = net.apply(params, state, None, jnp.ones((4, 3)))
print(out.shape)
