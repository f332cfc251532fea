# url: https://github.com/jax-ml/jax/issues/2066
# verdict: correct
# why: The permutation is drawn once and applied to both arrays, which belong together.

# %% program
import jax
import jax.numpy as jnp


def program(key):
    images, labels = jnp.arange(20.0).reshape(10, 2), jnp.arange(10)
    epochs = []
    for _ in range(3):
        key, sub = jax.random.split(key)
        order = jax.random.permutation(sub, 10)
        epochs.append((images[order], labels[order]))
    return epochs
