# url: https://github.com/jax-ml/jax/issues/101
# wrong: np.asarray of a JAX array is a read-only view of an immutable buffer; make a writable copy with np.array.

# %% fails
import jax.numpy as jnp
import numpy as np

weights = jnp.ones((3, 3))
host = np.asarray(weights)
host[0, :] = 0.0
print(host.sum())

# %% works
import jax.numpy as jnp
import numpy as np

weights = jnp.ones((3, 3))
host = np.array(weights)
host[0, :] = 0.0
print(host.sum())
