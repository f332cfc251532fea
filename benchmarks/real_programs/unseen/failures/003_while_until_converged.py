# url: https://docs.jax.dev/en/latest/201/control-flow.html
# wrong: A Python `while` over a residual that is computed under jit needs the residual's value; use jax.lax.while_loop with the iterate and the residual as carry.

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def jacobi(A, b, tol=1e-5):
    d = jnp.diag(A)
    x = jnp.zeros_like(b)
    while jnp.linalg.norm(A @ x - b) > tol:
        x = (b - A @ x + d * x) / d
    return x

A = jnp.array([[4.0, 1.0], [1.0, 3.0]])
b = jnp.array([1.0, 2.0])
print(jacobi(A, b))

# %% works
import jax
import jax.numpy as jnp

@jax.jit
def jacobi(A, b, tol=1e-5):
    d = jnp.diag(A)
    def unfinished(x):
        return jnp.linalg.norm(A @ x - b) > tol
    def sweep(x):
        return (b - A @ x + d * x) / d
    return jax.lax.while_loop(unfinished, sweep, jnp.zeros_like(b))

A = jnp.array([[4.0, 1.0], [1.0, 3.0]])
b = jnp.array([1.0, 2.0])
print(jacobi(A, b))
