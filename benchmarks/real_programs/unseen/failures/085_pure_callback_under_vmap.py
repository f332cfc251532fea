# url: https://github.com/jax-ml/jax/issues/17187
# wrong: pure_callback under vmap must be told how to batch the host function; pass vmap_method (for example "sequential").

# %% fails
import jax
import jax.numpy as jnp
import numpy as np

def host_root(x):
    return np.sqrt(np.asarray(x)).astype(np.float32)

def root(x):
    return jax.pure_callback(host_root, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

print(jax.vmap(root)(jnp.arange(4.0)))

# %% works
import jax
import jax.numpy as jnp
import numpy as np

def host_root(x):
    return np.sqrt(np.asarray(x)).astype(np.float32)

def root(x):
    return jax.pure_callback(host_root, jax.ShapeDtypeStruct(x.shape, x.dtype), x,
                             vmap_method="sequential")

print(jax.vmap(root)(jnp.arange(4.0)))
