# url: https://github.com/jax-ml/jax/issues/101
# wrong: JAX arrays are immutable, so a buffer made with jnp.zeros cannot be filled by assignment; fill a NumPy array, or use .at[...].set(...).

# %% fails
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
train = jnp.zeros((6, 4))
for i in range(3):
    train[2 * i:2 * i + 2, :] = rng.normal(size=(2, 4))
print(train.shape)

# %% works
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
train = jnp.zeros((6, 4))
for i in range(3):
    train = train.at[2 * i:2 * i + 2, :].set(rng.normal(size=(2, 4)))
print(train.shape)
