# url: https://github.com/jax-ml/jax/issues/11706
# wrong: jax.ops.index_update was removed long ago; write x.at[idx].set(value).

# %% fails
import jax
import jax.numpy as jnp

batch = jnp.zeros((4, 2))
predicted = jnp.array([1.0, 2.0])
batch = jax.ops.index_update(batch, jax.ops.index[2, :], predicted)
print(batch)

# %% works
import jax.numpy as jnp

batch = jnp.zeros((4, 2))
predicted = jnp.array([1.0, 2.0])
batch = batch.at[2, :].set(predicted)
print(batch)
