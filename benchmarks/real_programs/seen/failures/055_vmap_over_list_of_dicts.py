# url: https://github.com/jax-ml/jax/issues/7430
# wrong: vmap maps over an axis of each array, not over the items of a list; stack the parameter dicts into one dict of arrays first.

# %% fails
import jax
import jax.numpy as jnp

def line(x, params):
    return params["a"] * x + params["b"]

ensemble = [{"a": 3.0, "b": 4.0}, {"a": 1.0, "b": 0.0}]
print(jax.vmap(line)(jnp.array([2.0, 2.0]), ensemble))

# %% works
import jax
import jax.numpy as jnp

def line(x, params):
    return params["a"] * x + params["b"]

ensemble = [{"a": 3.0, "b": 4.0}, {"a": 1.0, "b": 0.0}]
stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *ensemble)
print(jax.vmap(line)(jnp.array([2.0, 2.0]), stacked))
