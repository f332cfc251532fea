# url: https://github.com/jax-ml/jax/issues/4802
# wrong: The rule multiplies with the tangent twice, so the output tangent is quadratic in it and cannot be transposed for grad; the tangent must enter linearly.

# %% fails
import jax
import jax.numpy as jnp

@jax.custom_jvp
def newton_sqrt(x):
    y = x
    for _ in range(20):
        y = 0.5 * (y + x / y)
    return y

@newton_sqrt.defjvp
def newton_sqrt_jvp(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    root = newton_sqrt(x)
    slope = 0.5 * x_dot / root
    return root, slope * x_dot

print(jax.grad(newton_sqrt)(9.0))

# %% works
import jax
import jax.numpy as jnp

@jax.custom_jvp
def newton_sqrt(x):
    y = x
    for _ in range(20):
        y = 0.5 * (y + x / y)
    return y

@newton_sqrt.defjvp
def newton_sqrt_jvp(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    root = newton_sqrt(x)
    slope = 0.5 / root
    return root, slope * x_dot

print(jax.grad(newton_sqrt)(9.0))
