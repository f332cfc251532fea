# url: https://github.com/jax-ml/jax/issues/21723
# wrong: The weight decay squares the norm of each layer; the layer that was initialised to zeros has norm 0, whose derivative is 0/0, and squaring afterwards does not help.
# advice: Sum the squares instead of squaring the norm.

# %% fails
import jax
import jax.numpy as jnp


def decay(params):
    total = 0.0
    for layer in params:
        size = jnp.linalg.norm(layer["w"])  # guilty
        total += 1e-2 * size**2
    return total


def loss(params, x):
    for layer in params:
        x = jnp.tanh(x @ layer["w"])
    return x.sum() + decay(params)


f = jax.grad(loss)
args = ([{"w": jnp.full((2, 2), 0.3)}, {"w": jnp.zeros((2, 2))}], jnp.ones(2))

# %% works
import jax
import jax.numpy as jnp


def decay(params):
    total = 0.0
    for layer in params:
        total += 1e-2 * jnp.sum(layer["w"] ** 2)
    return total


def loss(params, x):
    for layer in params:
        x = jnp.tanh(x @ layer["w"])
    return x.sum() + decay(params)


f = jax.grad(loss)
args = ([{"w": jnp.full((2, 2), 0.3)}, {"w": jnp.zeros((2, 2))}], jnp.ones(2))
