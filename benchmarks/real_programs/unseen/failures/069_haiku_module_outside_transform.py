# url: https://github.com/google-deepmind/deepmind-research/issues/171
# wrong: Haiku modules can only be created inside a function given to hk.transform; wrap the construction and the call in one.
# needs: haiku

# %% fails
import haiku as hk
import jax
import jax.numpy as jnp

model = hk.nets.MLP([8, 5])
params = hk.transform(lambda x: model(x)).init(jax.random.PRNGKey(0), jnp.ones((1, 4)))
print(jax.tree.map(jnp.shape, params))

# %% works
import haiku as hk
import jax
import jax.numpy as jnp

model = hk.transform(lambda x: hk.nets.MLP([8, 5])(x))
params = model.init(jax.random.PRNGKey(0), jnp.ones((1, 4)))
print(jax.tree.map(jnp.shape, params))
