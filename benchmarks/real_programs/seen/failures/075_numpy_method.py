# url: https://github.com/jax-ml/jax/issues/1961
# wrong: .numpy() belongs to PyTorch and TensorFlow tensors; a JAX array is converted with np.asarray.

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def predict(x):
    return jax.nn.softmax(x @ jnp.eye(3))

probabilities = predict(jnp.arange(6.0).reshape(2, 3))
labels = probabilities.numpy().argmax(axis=1)
print(labels)

# %% works
import jax
import jax.numpy as jnp
import numpy as np

@jax.jit
def predict(x):
    return jax.nn.softmax(x @ jnp.eye(3))

probabilities = predict(jnp.arange(6.0).reshape(2, 3))
labels = np.asarray(probabilities).argmax(axis=1)
print(labels)
