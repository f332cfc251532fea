# url: https://github.com/jax-ml/jax/issues/15358
# wrong: JAX sorts a dictionary's keys when it flattens it, and 0 and "head" cannot be compared; use keys of one type.

# %% fails
import jax
import jax.numpy as jnp

def init_layers(sizes):
    layers = {i: jnp.ones((n, m)) for i, (n, m) in enumerate(zip(sizes[:-1], sizes[1:]))}
    layers["head"] = jnp.zeros((sizes[-1], 1))
    return layers

layers = init_layers([3, 4, 4])
shrunk = jax.tree.map(lambda w: 0.9 * w, layers)
print(sorted(str(k) for k in shrunk))

# %% works
import jax
import jax.numpy as jnp

def init_layers(sizes):
    layers = {f"layer{i}": jnp.ones((n, m)) for i, (n, m) in enumerate(zip(sizes[:-1], sizes[1:]))}
    layers["head"] = jnp.zeros((sizes[-1], 1))
    return layers

layers = init_layers([3, 4, 4])
shrunk = jax.tree.map(lambda w: 0.9 * w, layers)
print(sorted(str(k) for k in shrunk))
