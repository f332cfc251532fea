# url: https://github.com/jax-ml/jax/issues/4617
# wrong: With nondiff_argnums the backward rule receives those arguments first, so it needs three parameters (power, residual, cotangent).

# %% fails
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.custom_vjp, nondiff_argnums=(1,))
def scaled_power(x, power):
    return x ** power

def forward(x, power):
    return x ** power, x

def backward(x, g):
    return (g * 3 * x ** 2,)

scaled_power.defvjp(forward, backward)
print(jax.grad(scaled_power)(2.0, 3))

# %% works
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.custom_vjp, nondiff_argnums=(1,))
def scaled_power(x, power):
    return x ** power

def forward(x, power):
    return x ** power, x

def backward(power, x, g):
    return (g * power * x ** (power - 1),)

scaled_power.defvjp(forward, backward)
print(jax.grad(scaled_power)(2.0, 3))
