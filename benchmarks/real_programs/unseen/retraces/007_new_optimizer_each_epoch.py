# url: https://github.com/google/flax/issues/5548
# cause: The optimizer holds optax functions that are made anew each epoch and compare by identity, so the graph definition differs.
# needs: flax, optax

# %% program
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))


@nnx.jit
def step(model, optimizer, x):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean())(model)
    optimizer.update(model, grads)


def epoch():
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    step(model, optimizer, jnp.ones((4, 3)))


calls = [epoch, epoch]
