# url: https://github.com/jax-ml/jax/pull/23771
# wrong: The two trees differ: the averaged model has one layer fewer in its list than the new one, so tree.map cannot pair the leaves.

# %% fails
import jax
import jax.numpy as jnp

def make(n_layers):
    return {"head": jnp.ones(2), "blocks": [jnp.ones((2, 2)) for _ in range(n_layers)]}

params, ema = make(4), make(3)
ema = jax.tree.map(lambda e, p: 0.9 * e + 0.1 * p, ema, params)
print(len(ema["blocks"]))

# %% works
import jax
import jax.numpy as jnp

def make(n_layers):
    return {"head": jnp.ones(2), "blocks": [jnp.ones((2, 2)) for _ in range(n_layers)]}

params, ema = make(4), make(4)
ema = jax.tree.map(lambda e, p: 0.9 * e + 0.1 * p, ema, params)
print(len(ema["blocks"]))
