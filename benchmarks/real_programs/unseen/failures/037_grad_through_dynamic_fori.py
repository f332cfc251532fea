# url: https://github.com/dynamiqs/dynamiqs/pull/917
# wrong: The loop's upper bound is traced, so fori_loop becomes a while_loop, which has no reverse mode; use static bounds or scan.

# %% fails
import jax
import jax.numpy as jnp

def cost(alpha, n):
    def body(k, acc):
        return acc + alpha ** 2 / (k + 1.0)
    return jax.lax.fori_loop(0, n, body, 0.0)

print(jax.jit(jax.grad(cost))(0.5, 6))

# %% works
import jax
import jax.numpy as jnp

def cost(alpha, n):
    def body(k, acc):
        return acc + alpha ** 2 / (k + 1.0)
    return jax.lax.fori_loop(0, n, body, 0.0)

print(jax.jit(jax.grad(cost), static_argnums=1)(0.5, 6))
