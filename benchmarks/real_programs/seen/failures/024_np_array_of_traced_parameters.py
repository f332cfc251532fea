# url: https://github.com/pyro-ppl/numpyro/issues/570
# wrong: np.array over traced parameters asks each for its number, which a traced value does not have; build the vector with jnp.array or jnp.stack.

# %% fails
import numpy as np
import jax
import jax.numpy as jnp

def tether_log_density(params, times):
    row = np.array([params["pos"], params["rate"]])
    mean = row[0] * jnp.exp(-row[1] * times)
    return -jnp.sum((mean - 1.0) ** 2)

params = {"pos": 2.0, "rate": 0.3}
print(jax.grad(tether_log_density)(params, jnp.arange(5.0)))

# %% works
import jax
import jax.numpy as jnp

def tether_log_density(params, times):
    row = jnp.array([params["pos"], params["rate"]])
    mean = row[0] * jnp.exp(-row[1] * times)
    return -jnp.sum((mean - 1.0) ** 2)

params = {"pos": 2.0, "rate": 0.3}
print(jax.grad(tether_log_density)(params, jnp.arange(5.0)))
