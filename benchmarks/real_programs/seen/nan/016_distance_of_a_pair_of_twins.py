# url: https://github.com/jax-ml/jax/issues/2377
# wrong: Anchor and positive of one triplet are the same example, their distance is the root of 0, and its gradient is 0 times inf.
# advice: Add a small number under the root of the distance.

# %% fails
import jax
import jax.numpy as jnp


def embed(w, x):
    return jnp.tanh(x @ w)


def distance(a, b):
    return jnp.sqrt(jnp.sum((a - b) ** 2))  # guilty


def triplet(w, anchor, positive, negative):
    a, p, n = embed(w, anchor), embed(w, positive), embed(w, negative)
    return jnp.maximum(distance(a, p) - distance(a, n) + 1.0, 0.0)


f = jax.grad(lambda w, a, p, n: jax.vmap(triplet, in_axes=(None, 0, 0, 0))(w, a, p, n).mean())
args = (
    jnp.array([[0.2, 0.1], [0.4, 0.3]]),
    jnp.array([[1.0, 0.0], [0.5, 0.5]]),
    jnp.array([[0.9, 0.1], [0.5, 0.5]]),
    jnp.array([[0.0, 1.0], [0.0, 1.0]]),
)

# %% works
import jax
import jax.numpy as jnp


def embed(w, x):
    return jnp.tanh(x @ w)


def distance(a, b):
    return jnp.sqrt(jnp.sum((a - b) ** 2) + 1e-12)


def triplet(w, anchor, positive, negative):
    a, p, n = embed(w, anchor), embed(w, positive), embed(w, negative)
    return jnp.maximum(distance(a, p) - distance(a, n) + 1.0, 0.0)


f = jax.grad(lambda w, a, p, n: jax.vmap(triplet, in_axes=(None, 0, 0, 0))(w, a, p, n).mean())
args = (
    jnp.array([[0.2, 0.1], [0.4, 0.3]]),
    jnp.array([[1.0, 0.0], [0.5, 0.5]]),
    jnp.array([[0.9, 0.1], [0.5, 0.5]]),
    jnp.array([[0.0, 1.0], [0.0, 1.0]]),
)
