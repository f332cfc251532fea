# url: https://github.com/jax-ml/jax/pull/5853
# wrong: A Python list cannot be indexed with a traced integer; put the values in a jnp array (or choose among functions with lax.switch).

# %% fails
import jax
import jax.numpy as jnp

learning_rates = [0.1, 0.03, 0.01, 0.003]

@jax.jit
def update(w, grad, phase):
    return w - learning_rates[phase] * grad

print(update(jnp.ones(3), jnp.arange(3.0), 2))

# %% works
import jax
import jax.numpy as jnp

learning_rates = jnp.array([0.1, 0.03, 0.01, 0.003])

@jax.jit
def update(w, grad, phase):
    return w - learning_rates[phase] * grad

print(update(jnp.ones(3), jnp.arange(3.0), 2))
