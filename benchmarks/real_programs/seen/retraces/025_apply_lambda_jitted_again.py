# url: https://github.com/google/flax/issues/386
# cause: The prediction helper jits a fresh lambda around model.apply for each parameter update.
# needs: flax

# %% program
import flax.linen as nn
import jax
import jax.numpy as jnp

model = nn.Dense(2)
params = model.init(jax.random.key(0), jnp.ones((1, 3)))


def step(params, x):
    predict = jax.jit(lambda p, x: model.apply(p, x))
    return predict(params, x)


calls = [(params, jnp.ones((4, 3))), (jax.tree.map(lambda p: 0.9 * p, params), jnp.ones((4, 3)))]
