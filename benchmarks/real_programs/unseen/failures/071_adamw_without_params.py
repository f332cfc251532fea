# url: https://github.com/patrick-kidger/equinox/issues/607
# wrong: AdamW's weight decay needs the current parameters; pass them as the third argument of update.
# needs: optax

# %% fails
import jax
import jax.numpy as jnp
import optax

def loss(w):
    return jnp.sum((w - 1.0) ** 2)

optim = optax.adamw(1e-2)
w = jnp.zeros(3)
state = optim.init(w)
updates, state = optim.update(jax.grad(loss)(w), state)
print(optax.apply_updates(w, updates))

# %% works
import jax
import jax.numpy as jnp
import optax

def loss(w):
    return jnp.sum((w - 1.0) ** 2)

optim = optax.adamw(1e-2)
w = jnp.zeros(3)
state = optim.init(w)
updates, state = optim.update(jax.grad(loss)(w), state, w)
print(optax.apply_updates(w, updates))
