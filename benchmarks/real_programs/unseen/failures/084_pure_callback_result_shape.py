# url: https://github.com/jax-ml/jax/issues/19978
# wrong: The callback returns the transposed matrix, which is not of the declared shape; declare what the host function really returns.

# %% fails
import jax
import jax.numpy as jnp
import numpy as np

def host_transpose(x):
    return np.ascontiguousarray(np.asarray(x).T)

@jax.jit
def f(x):
    return jax.pure_callback(host_transpose, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

print(np.asarray(f(jnp.ones((2, 3)))))

# %% works
import jax
import jax.numpy as jnp
import numpy as np

def host_transpose(x):
    return np.ascontiguousarray(np.asarray(x).T)

@jax.jit
def f(x):
    return jax.pure_callback(host_transpose, jax.ShapeDtypeStruct(x.shape[::-1], x.dtype), x)

print(np.asarray(f(jnp.ones((2, 3)))))
