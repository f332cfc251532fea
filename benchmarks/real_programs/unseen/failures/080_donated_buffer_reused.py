# url: https://github.com/jax-ml/jax/issues/9675
# wrong: The state was donated to the first call and its buffer is gone; go on with the returned state (or do not donate).

# %% fails
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.jit, donate_argnums=0)
def train_step(w, batch):
    return w - 0.1 * batch.mean() * w

w = jnp.ones(1024)
w_new = train_step(w, jnp.arange(4.0))
print(jnp.linalg.norm(w_new - w))

# %% works
from functools import partial
import jax
import jax.numpy as jnp

@jax.jit
def train_step(w, batch):
    return w - 0.1 * batch.mean() * w

w = jnp.ones(1024)
w_new = train_step(w, jnp.arange(4.0))
print(jnp.linalg.norm(w_new - w))
