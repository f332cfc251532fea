# url: https://github.com/jax-ml/jax/issues/21331
# wrong: pure_callback no longer knows vectorized=True and hands the keyword on to the host function; say vmap_method="expand_dims" (or another method).

# %% fails
import jax
import jax.numpy as jnp
import numpy as np

def host_hermite(x):
    return np.polynomial.hermite.hermval(np.asarray(x), [0.0, 0.0, 1.0]).astype(np.float32)

@jax.jit
def hermite(x):
    out = jax.ShapeDtypeStruct(x.shape, jnp.float32)
    return jax.pure_callback(host_hermite, out, x, vectorized=True)

print(hermite(jnp.linspace(0.0, 1.0, 4)))

# %% works
import jax
import jax.numpy as jnp
import numpy as np

def host_hermite(x):
    return np.polynomial.hermite.hermval(np.asarray(x), [0.0, 0.0, 1.0]).astype(np.float32)

@jax.jit
def hermite(x):
    out = jax.ShapeDtypeStruct(x.shape, jnp.float32)
    return jax.pure_callback(host_hermite, out, x, vmap_method="expand_dims")

print(hermite(jnp.linspace(0.0, 1.0, 4)))
