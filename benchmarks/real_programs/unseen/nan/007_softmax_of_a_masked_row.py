# url: https://github.com/jax-ml/jax/pull/30167
# wrong: A padded query has all of its keys masked with -inf, so its softmax is 0/0.
# advice: Mask with a large finite number, or give the fully masked rows a dummy key and zero their output.

# %% fails
import jax
import jax.numpy as jnp


def attend(q, k, mask):
    scores = jnp.where(mask, q @ k.T, -jnp.inf)
    weights = jax.nn.softmax(scores, axis=-1)  # guilty
    return weights @ k


f = attend
args = (jnp.ones((2, 3)), jnp.eye(3), jnp.array([[True, True, False], [False, False, False]]))

# %% works
import jax
import jax.numpy as jnp


def attend(q, k, mask):
    scores = jnp.where(mask, q @ k.T, -1e9)
    weights = jax.nn.softmax(scores, axis=-1)
    return jnp.where(mask.any(-1, keepdims=True), weights @ k, 0.0)


f = attend
args = (jnp.ones((2, 3)), jnp.eye(3), jnp.array([[True, True, False], [False, False, False]]))
