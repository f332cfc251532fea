# url: https://github.com/jax-ml/jax/issues/16049
# wrong: jax.hessian uses forward mode over reverse mode, and a custom_vjp function has no forward-mode rule; use jacrev(jacrev(f)) or define a custom_jvp.

# %% fails
import jax
import jax.numpy as jnp

@jax.custom_vjp
def soft_abs(x):
    return jnp.sqrt(x * x + 1.0)

def fwd(x):
    return soft_abs(x), x

def bwd(x, g):
    return (g * x / jnp.sqrt(x * x + 1.0),)

soft_abs.defvjp(fwd, bwd)
print(jax.hessian(soft_abs)(0.5))

# %% works
import jax
import jax.numpy as jnp

@jax.custom_vjp
def soft_abs(x):
    return jnp.sqrt(x * x + 1.0)

def fwd(x):
    return soft_abs(x), x

def bwd(x, g):
    return (g * x / jnp.sqrt(x * x + 1.0),)

soft_abs.defvjp(fwd, bwd)
print(jax.jacrev(jax.jacrev(soft_abs))(0.5))
