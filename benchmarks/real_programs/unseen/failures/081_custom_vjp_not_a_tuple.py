# url: https://github.com/jax-ml/jax/pull/5571
# wrong: The backward rule returns one cotangent instead of a tuple with one entry per argument; return (g_x,).

# %% fails
import jax
import jax.numpy as jnp

@jax.custom_vjp
def clipped(x):
    return x

def fwd(x):
    return x, None

def bwd(_, g):
    return jnp.clip(g, -1.0, 1.0)

clipped.defvjp(fwd, bwd)
print(jax.grad(lambda x: 5.0 * clipped(x))(2.0))

# %% works
import jax
import jax.numpy as jnp

@jax.custom_vjp
def clipped(x):
    return x

def fwd(x):
    return x, None

def bwd(_, g):
    return (jnp.clip(g, -1.0, 1.0),)

clipped.defvjp(fwd, bwd)
print(jax.grad(lambda x: 5.0 * clipped(x))(2.0))
