# url: https://github.com/jax-ml/jax/issues/4274
# cause: None is an empty subtree; when the mask is an array the structure of the arguments is another one.

# %% program
import jax
import jax.numpy as jnp


@jax.jit
def step(batch):
    x, mask = batch["x"], batch["mask"]
    return x.sum() if mask is None else (x * mask).sum()


x = jnp.ones(4)
calls = [({"x": x, "mask": None},), ({"x": x, "mask": jnp.ones(4)},)]
