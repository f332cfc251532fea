# url: https://github.com/PredictiveIntelligenceLab/Physics-informed-DeepONets/issues/3
# wrong: Keys and initial conditions are mapped together but differ in number; split as many keys as there are initial conditions.

# %% fails
import jax
import jax.numpy as jnp

def collocation(key, u0, n):
    rows = jax.random.choice(key, u0.shape[0], (2,))
    return u0[rows] * n

keys = jax.random.split(jax.random.PRNGKey(0), 10)
u0_train = jnp.ones((4, 7))
print(jax.vmap(collocation, in_axes=(0, 0, None))(keys, u0_train, 3).shape)

# %% works
import jax
import jax.numpy as jnp

def collocation(key, u0, n):
    rows = jax.random.choice(key, u0.shape[0], (2,))
    return u0[rows] * n

u0_train = jnp.ones((4, 7))
keys = jax.random.split(jax.random.PRNGKey(0), u0_train.shape[0])
print(jax.vmap(collocation, in_axes=(0, 0, None))(keys, u0_train, 3).shape)
