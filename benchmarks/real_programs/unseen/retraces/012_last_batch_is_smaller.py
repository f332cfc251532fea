# url: https://github.com/patrick-kidger/diffrax/issues/111
# cause: The data set's size is no multiple of the batch size, so the last batch has another shape.

# %% program
import jax
import jax.numpy as jnp
import numpy as np

data = np.ones((10, 3), np.float32)


@jax.jit
def step(w, batch):
    return w - 0.1 * jax.grad(lambda w: ((batch @ w) ** 2).mean())(w)


calls = [(jnp.ones(3), data[i : i + 4]) for i in range(0, 10, 4)]
