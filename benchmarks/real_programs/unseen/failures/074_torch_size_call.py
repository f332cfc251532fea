# url: https://github.com/wkentaro/pytorch-for-numpy-users/pull/15
# wrong: x.size is the number of elements in JAX and NumPy, not a method as in PyTorch; use x.shape[0].

# %% fails
import jax.numpy as jnp

def accuracy(logits, targets):
    return jnp.sum(logits.argmax(-1) == targets) / logits.size(0)

print(accuracy(jnp.eye(3), jnp.array([0, 1, 1])))

# %% works
import jax.numpy as jnp

def accuracy(logits, targets):
    return jnp.sum(logits.argmax(-1) == targets) / logits.shape[0]

print(accuracy(jnp.eye(3), jnp.array([0, 1, 1])))
