# url: https://github.com/jax-ml/jax/issues/2516
# wrong: A custom_jvp rule must return the pair (output, output tangent), and this one returns the tangent only.

# %% fails
import jax
import jax.numpy as jnp

@jax.custom_jvp
def log1pexp(x):
    return jnp.log(1.0 + jnp.exp(x))

@log1pexp.defjvp
def log1pexp_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return jax.nn.sigmoid(x) * t

print(jax.grad(log1pexp)(100.0))

# %% works
import jax
import jax.numpy as jnp

@jax.custom_jvp
def log1pexp(x):
    return jnp.log(1.0 + jnp.exp(x))

@log1pexp.defjvp
def log1pexp_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return log1pexp(x), jax.nn.sigmoid(x) * t

print(jax.grad(log1pexp)(100.0))
