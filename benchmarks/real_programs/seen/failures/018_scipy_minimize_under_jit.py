# url: https://github.com/SharmaLlama/ticktack/issues/19
# wrong: scipy.optimize.minimize is ordinary NumPy code and cannot run on traced values inside a jitted function; minimise outside jit, or with jax.scipy.optimize.minimize.

# %% fails
import jax
import jax.numpy as jnp
from scipy.optimize import minimize

@jax.jit
def equilibrate(production):
    def misfit(content):
        return jnp.sum((0.3 * content - production) ** 2)
    return minimize(misfit, production, method="BFGS").x

print(equilibrate(jnp.array([1.88, 2.0])))

# %% works
import jax
import jax.numpy as jnp
from jax.scipy.optimize import minimize

@jax.jit
def equilibrate(production):
    def misfit(content):
        return jnp.sum((0.3 * content - production) ** 2)
    return minimize(misfit, production, method="BFGS").x

print(equilibrate(jnp.array([1.88, 2.0])))
