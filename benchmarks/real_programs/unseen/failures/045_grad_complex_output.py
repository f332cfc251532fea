# url: https://github.com/netket/netket/pull/1874
# wrong: The log-amplitude is complex for real parameters, and grad needs a real scalar; differentiate real and imaginary parts separately (or use holomorphic=True with complex parameters).

# %% fails
import jax
import jax.numpy as jnp

def log_psi(theta):
    return jnp.log(jnp.cos(theta[0]) + jnp.exp(1j * theta[1]) * jnp.sin(theta[0]))

print(jax.grad(log_psi)(jnp.array([0.3, 0.7])))

# %% works
import jax
import jax.numpy as jnp

def log_psi(theta):
    return jnp.log(jnp.cos(theta[0]) + jnp.exp(1j * theta[1]) * jnp.sin(theta[0]))

theta = jnp.array([0.3, 0.7])
print(jax.grad(lambda t: log_psi(t).real)(theta) + 1j * jax.grad(lambda t: log_psi(t).imag)(theta))
