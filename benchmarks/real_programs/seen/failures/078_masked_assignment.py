# url: https://github.com/probml/probml-notebooks/pull/70
# wrong: JAX arrays cannot be assigned to in place; write the masked scores with jnp.where, which also works under jit.

# %% fails
import jax
import jax.numpy as jnp

def masked_softmax(scores, valid_len):
    mask = jnp.arange(scores.shape[-1])[None] < valid_len[:, None]
    scores[~mask] = -1e6
    return jax.nn.softmax(scores, axis=-1)

print(masked_softmax(jnp.ones((2, 4)), jnp.array([2, 3])))

# %% works
import jax
import jax.numpy as jnp

def masked_softmax(scores, valid_len):
    mask = jnp.arange(scores.shape[-1])[None] < valid_len[:, None]
    scores = jnp.where(mask, scores, -1e6)
    return jax.nn.softmax(scores, axis=-1)

print(masked_softmax(jnp.ones((2, 4)), jnp.array([2, 3])))
