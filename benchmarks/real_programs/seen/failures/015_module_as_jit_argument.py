# url: https://github.com/google/flax/issues/853
# wrong: A linen module is not a pytree and cannot be an ordinary argument of a jitted function; mark it static (or close over it) and pass only params and data.

# %% fails
import jax
import jax.numpy as jnp
from flax import linen as nn

class Classifier(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(nn.relu(nn.Dense(8)(x)))

@jax.jit
def eval_step(model, params, batch):
    logits = model.apply({"params": params}, batch["x"])
    return jnp.mean(jnp.argmax(logits, -1) == batch["y"])

model = Classifier()
batch = {"x": jnp.ones((4, 5)), "y": jnp.zeros(4, int)}
params = model.init(jax.random.key(0), batch["x"])["params"]
print(eval_step(model, params, batch))

# %% works
from functools import partial
import jax
import jax.numpy as jnp
from flax import linen as nn

class Classifier(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(nn.relu(nn.Dense(8)(x)))

@partial(jax.jit, static_argnums=0)
def eval_step(model, params, batch):
    logits = model.apply({"params": params}, batch["x"])
    return jnp.mean(jnp.argmax(logits, -1) == batch["y"])

model = Classifier()
batch = {"x": jnp.ones((4, 5)), "y": jnp.zeros(4, int)}
params = model.init(jax.random.key(0), batch["x"])["params"]
print(eval_step(model, params, batch))
